"""A page in a real Chromium, where there is one, without a network."""

import os
import shutil
import subprocess
from pathlib import Path

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")


def dom_of(file: Path, profile: Path, *options: str) -> str | None:
    """Return what stands in the page once it is loaded; None where there is no Chromium, which fails in CI."""
    if BROWSER is None:
        assert "CI" not in os.environ, "CI has no Chromium: .ci/run installs it"
        return None
    return subprocess.run(
        [
            BROWSER,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={profile}",
            *options,
            "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    ).stdout
