"""Draw Slack messages and the demo's page as PNG files, for the README and docs. Run by `make pictures`.

The messages are those the bot really posted in a rehearsal. Needs node, npm and Chromium; nothing of this is deployed.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sandbox.demo.page import page
from sandbox.demo.story import CHAPTERS, FOLDER, posted, tell
from sandbox.rehearsal import rehearse
from sandbox.scenario import load

HERE = Path(__file__).resolve().parent
PICTURES = HERE.parent / "docs" / "pictures"
MOST_BYTES = 400_000


def main() -> int:
    """Draw everything; return the exit code."""
    chromium = sys.argv[1] if len(sys.argv) > 1 else shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.stderr.write(
            "No Chromium was found, so nothing was drawn. Install it, or name it: make pictures CHROMIUM=/path/to/it\n"
        )
        return 2
    PICTURES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        wanted = _wanted()
        (folder / "messages.json").write_text(json.dumps(wanted), encoding="utf-8")
        _run(
            "node_modules/.bin/esbuild",
            "draw.jsx",
            "--bundle",
            "--platform=node",
            "--format=cjs",
            f"--outfile={folder}/draw.cjs",
        )
        _run(
            "node",
            f"{folder}/draw.cjs",
            f"{folder}/messages.json",
            name,
            "node_modules/slack-blocks-to-jsx/dist/style.css",
        )
        for picture in wanted:
            _shoot(chromium, folder / f"{picture['name']}.html", picture["name"], picture["width"])
        return _demo(chromium, folder)


def _wanted() -> list[dict[str, Any]]:
    calls = rehearse(load(FOLDER / "pool.yaml"))["slack"]
    healed = posted(calls)
    asked = rehearse(load(FOLDER / "table.yaml"), mode="approve")["slack"]
    return [
        _picture("message", 640, [_line(list(reversed(calls)), "🟢")]),
        _picture("message-phone", 380, [_line(list(reversed(calls)), "🟢")]),
        _picture("recovery", 640, [_line(healed, "#5 ")]),
        _picture("diagnosis", 640, [_line(healed, "#2 ")]),
        _picture("approval", 640, [_line(asked, "🟠"), _line(asked, "#3 ")]),
    ]


def _picture(name: str, width: int, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    shown = [{"blocks": one["blocks"], "time": int(str(one["ts"]).partition(".")[0]) * 1000} for one in messages]
    return {"name": name, "width": width, "messages": shown}


def _line(messages: Sequence[Mapping[str, Any]], start: str) -> Mapping[str, Any]:
    return next(one for one in messages if str(one["text"]).startswith(start))


def _demo(chromium: str, folder: Path) -> int:
    """Draw the demo's page at both widths, and look at it as a browser test: nothing may be wider than the window."""
    from io import StringIO  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415

    html = folder / "demo.html"
    probe = (
        "<script>addEventListener('load',()=>{document.title="
        "'wide:'+[...document.querySelectorAll('body *')].filter(e=>e.getBoundingClientRect().right>innerWidth+1"
        "&&!e.closest('.tablewrap')).length+' charts:'+document.querySelectorAll('svg').length+' messages:'+"
        "document.querySelectorAll('.msg').length})</script>"
    )
    text = page(tell(Console(file=StringIO()), CHAPTERS))
    html.write_text(text, encoding="utf-8")
    probed = folder / "probed.html"
    probed.write_text(text.replace("</body>", f"{probe}</body>"), encoding="utf-8")
    failed = 0
    for width in (380, 1400):
        dom = _chromium(chromium, f"--window-size={width},2000", "--dump-dom", probed.as_uri())
        found = re.search(r"<title>wide:(\d+) charts:(\d+) messages:(\d+)</title>", dom)
        if found is None or found[1] != "0" or int(found[2]) < 6 or int(found[3]) < 10:
            sys.stderr.write(f"The demo's page at {width} px: {found[0] if found else 'it did not load'}\n")
            failed = 2
        _shoot(chromium, html, f"demo-{width}", width, height=1500, scale=1.0)
    return failed


def _shoot(chromium: str, html: Path, name: str, width: int, *, height: int | None = None, scale: float = 1.25) -> None:
    tall = height or _height(chromium, html, width)
    target = PICTURES / f"{name}.png"
    _chromium(
        chromium,
        f"--force-device-scale-factor={scale}",
        f"--window-size={width},{tall}",
        "--virtual-time-budget=2000",
        f"--screenshot={target}",
        html.as_uri(),
    )
    size = target.stat().st_size
    sys.stdout.write(f"{target.relative_to(HERE.parent)}  {width} px wide, {size:,} bytes\n")
    if size > MOST_BYTES:
        sys.stderr.write(f"{name}.png is larger than {MOST_BYTES:,} bytes; show less in it.\n")


def _height(chromium: str, html: Path, width: int) -> int:
    probed = html.with_suffix(".height.html")
    script = "<script>document.title='height:'+Math.ceil(document.body.getBoundingClientRect().height)</script>"
    probed.write_text(html.read_text(encoding="utf-8").replace("</body>", f"{script}</body>"), encoding="utf-8")
    found = re.search(
        r"<title>height:(\d+)", _chromium(chromium, f"--window-size={width},400", "--dump-dom", probed.as_uri())
    )
    return int(found[1]) + 8 if found else 800


def _chromium(chromium: str, *arguments: str) -> str:
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)  # noqa: S603  our own arguments
    return done.stdout


def _run(*command: str) -> None:
    subprocess.run(command, check=True, cwd=HERE, stdout=sys.stderr)  # noqa: S603  our own arguments


if __name__ == "__main__":
    raise SystemExit(main())
