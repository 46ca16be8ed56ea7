"""What is deployed is pinned to the byte, and can be listed."""

import json
import re
from pathlib import Path

import pytest

from scripts.sbom import document, main, packages

ROOT = Path(__file__).resolve().parents[2]
LOCKED = ["layers/unthrottle", "functions/respond"]


@pytest.mark.parametrize("folder", LOCKED)
def test_the_lock_pins_what_the_requirements_pin_with_hashes(folder: str) -> None:
    wanted = re.findall(
        r"^([A-Za-z0-9._-]+==\S+)", (ROOT / folder / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    lock = (ROOT / folder / "requirements.lock").read_text(encoding="utf-8")
    assert re.findall(r"^([A-Za-z0-9._-]+==\S+)", lock, re.MULTILINE) == wanted
    blocks = re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)[1:]
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}$", block, re.MULTILINE) for block in blocks)


def test_a_bill_of_materials_lists_each_package_with_version_and_licence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    info = tmp_path / "UnthrottleLayer" / "python" / "some_thing-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: some_thing\nVersion: 1.2\nLicense-Expression: MIT\n\nx"
    )
    (found,) = packages(tmp_path)
    assert (found.name, found.version, found.licence, found.where) == ("some_thing", "1.2", "MIT", "UnthrottleLayer")
    assert main([str(tmp_path)]) == 0
    bill = json.loads(capsys.readouterr().out)
    assert bill == document([found])
    assert bill["components"][0]["purl"] == "pkg:pypi/some-thing@1.2"


def test_without_a_build_there_is_no_bill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "make build" in capsys.readouterr().err
