"""What is deployed is pinned to the byte, and can be listed."""

import json
import re
from pathlib import Path

import pytest

from scripts.sbom import ALLOWED, document, is_allowed, main, packages
from scripts.vulnerabilities import audited, told
from scripts.vulnerabilities import main as audit

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


def wanted_by(text: str) -> set[str]:
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", text, re.MULTILINE)
    return {f"{name.lower().replace('_', '-').replace('.', '-')}=={version}" for name, version in found}


@pytest.mark.parametrize("part", sorted(file.stem.split("-")[1] for file in ROOT.glob("requirements-*.txt")))
def test_our_tools_are_locked_with_hashes_too(part: str) -> None:
    """A red test here means: `make locks`."""
    lock = (ROOT / f"requirements-{part}.lock").read_text(encoding="utf-8")
    asked = (ROOT / f"requirements-{part}.txt").read_text(encoding="utf-8")
    for other in re.findall(r"^-r (\S+)", asked, re.MULTILINE):
        asked += (ROOT / other).read_text(encoding="utf-8")
    assert wanted_by(asked) <= wanted_by(lock)
    blocks = re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)
    assert blocks[0] == ""
    assert all("--hash=sha256:" in block for block in blocks[1:])


def test_nothing_is_installed_without_its_hash() -> None:
    """Every `pip install` of a make target names a lock, but for ourselves and for what is only compared with."""
    text = "\n".join(
        (ROOT / file).read_text(encoding="utf-8")
        for file in ("Makefile", "layers/unthrottle/Makefile", "functions/respond/Makefile")
    )
    installs = [line.replace("\\\n", " ") for line in re.findall(r"pip install(?:[^\n\\]|\\\n)*", text)]
    assert len(installs) >= 6
    for line in installs:
        assert "--require-hashes" in line or "--editable ." in line or "c7n==" in line, line


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR BSD-3-Clause", True),
        ("GPL-3.0-only OR MIT", True),
        ("BSD-3-Clause AND MIT", True),
        ("BSD-3-Clause AND GPL-2.0-only", False),
        ("GPL-3.0-only", False),
        ("unknown", False),
        ("", False),
    ],
)
def test_a_licence_counts_as_allowed_only_where_all_of_it_is(licence: str, allowed: bool) -> None:
    assert is_allowed(licence, ALLOWED) is allowed


def built(folder: Path, licence: str) -> Path:
    info = folder / "UnthrottleLayer" / "python" / "some_thing-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: some_thing\nVersion: 1.2\n{licence}\n\nx")
    return folder


@pytest.mark.parametrize(("licence", "code"), [("License: MIT License", 0), ("License: AGPLv3", 2), ("", 2)])
def test_a_package_with_another_licence_fails_the_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], licence: str, code: int
) -> None:
    assert main([str(built(tmp_path, licence)), "--licences"]) == code
    assert ("NOT ALLOWED" in capsys.readouterr().out) is bool(code)


def test_the_documents_table_is_of_the_packages_that_are_locked() -> None:
    """A red test here means: `make build`, then `python -m scripts.sbom .aws-sam/build --write-docs`."""
    text = (ROOT / "docs" / "supply-chain.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Za-z0-9._-]+) \| ([0-9][^ ]*) \| ([^|]+) \| ([A-Za-z]+) \|$", text, re.MULTILINE)
    locked = {
        one for folder in LOCKED for one in wanted_by((ROOT / folder / "requirements.lock").read_text(encoding="utf-8"))
    }
    assert wanted_by("\n".join(f"{name}=={version}" for name, version, _, _ in rows)) == locked
    assert all(is_allowed(licence.strip(), ALLOWED) for _, _, licence, _ in rows)


KNOWN = {
    "dependencies": [
        {"name": "urllib3", "version": "2.8.0", "vulns": []},
        {"name": "six", "skip_reason": "Dependency not found on PyPI"},
        {
            "name": "boto3",
            "version": "1.0",
            "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["1.1"]}],
        },
    ]
}


def test_a_known_vulnerability_is_told_with_what_mends_it() -> None:
    lines = told(audited("a.lock", KNOWN))
    assert lines[0] == "a.lock: 2 packages audited, 1 known vulnerabilities"
    assert lines[-1] == "VULNERABLE boto3 1.0: PYSEC-1, mended in 1.1"


def test_what_was_not_audited_is_said_in_so_many_words() -> None:
    assert "a.lock: not audited: the index gives no advisories for 1 packages (six)" in told(audited("a.lock", KNOWN))


def auditor(folder: Path, script: str) -> str:
    tool = folder / "pip-audit"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return str(tool)


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        (f"echo '{json.dumps(KNOWN)}'; exit 1", 2, "VULNERABLE boto3"),
        ("echo '{\"dependencies\": []}'", 0, "0 packages audited"),
        ("echo 'requests.exceptions.ConnectionError: no network' >&2; exit 1", 0, "not audited: requests.exceptions"),
        ("exit 1", 0, "not audited: pip-audit said nothing"),
    ],
)
def test_only_a_finding_fails_the_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], script: str, code: int, words: str
) -> None:
    assert audit(auditor(tmp_path, script), ["a.lock"]) == code
    assert words in capsys.readouterr().out


def test_without_the_auditor_nothing_is_audited_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit("/nowhere/pip-audit", ["a.lock"]) == 0
    assert "not audited: FileNotFoundError" in capsys.readouterr().out


def test_an_accepted_advisory_fails_nothing_and_its_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scripts.vulnerabilities.ACCEPTED", {"CVE-1": "not called here"})
    found = audited("a.lock", KNOWN)
    assert found.findings == ()
    assert "accepted: not called here" in told(found)[-1]
