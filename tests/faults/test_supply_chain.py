"""What is deployed is pinned to the byte, and can be listed."""

import json
import re
from pathlib import Path

import pytest

from scripts.sbom import (
    ALLOWED,
    ALLOWED_TOOLS,
    EXCEPTIONS,
    Package,
    document,
    is_allowed,
    locked_hashes,
    main,
    objections,
    packages,
)
from scripts.vulnerabilities import audited, summary, told
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


def component(licence: str, *, name: str = "six", version: str = "1.17.0") -> dict[str, object]:
    one = Package(name=name, version=version, licence=licence, where="RespondFunction")
    (found,) = document([one], locked_hashes())["components"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("licence", "said"),
    [
        ("MIT", {"license": {"id": "MIT"}}),
        ("Apache-2.0 OR BSD-3-Clause", {"expression": "Apache-2.0 OR BSD-3-Clause"}),
        ("Some words of its own", {"license": {"name": "Some words of its own"}}),
    ],
)
def test_a_bill_says_a_licence_by_its_id_an_expression_as_one_and_words_as_words(licence: str, said: object) -> None:
    """CycloneDX 1.5, licenseChoice: several licences, or exactly one expression."""
    assert component(licence)["licenses"] == [said]


def test_a_bill_has_the_hashes_that_the_lock_allows_and_none_for_another_version() -> None:
    lock = (ROOT / "functions" / "respond" / "requirements.lock").read_text(encoding="utf-8")
    block = re.split(r"^(?=[A-Za-z])", lock.partition("six==")[2], maxsplit=1, flags=re.MULTILINE)[0]
    wanted = re.findall(r"sha256:([0-9a-f]{64})", block)
    found = component("MIT")["hashes"]
    assert found == [{"alg": "SHA-256", "content": each} for each in sorted(wanted)]
    assert len(wanted) >= 2
    assert "hashes" not in component("MIT", version="1.16.0")


def test_every_deployed_package_has_a_hash_and_every_component_a_reference_of_its_own() -> None:
    hashes = locked_hashes()
    listed = [
        Package(name=name, version=version, licence="MIT", where=folder)
        for folder in LOCKED
        for name, version in (
            one.split("==") for one in wanted_by((ROOT / folder / "requirements.lock").read_text(encoding="utf-8"))
        )
    ]
    bill = document(listed, hashes)
    references = [one["bom-ref"] for one in bill["components"]]
    assert all(one["hashes"] for one in bill["components"])
    assert len(set(references)) == len(references) == len(listed)
    assert bill["dependencies"] == [{"ref": "unthrottle", "dependsOn": references}]
    assert bill["metadata"]["component"]["version"] in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$id": "http://cyclonedx.invalid/schema/bom.schema.json",
    "properties": {
        "components": {"items": {"properties": {"licenses": {"items": {"properties": {"license": {"properties": {
            "id": {"$ref": "spdx.SNAPSHOT.schema.json"}}}}}}}}}
    },
}  # fmt: skip


def test_a_bill_that_the_schema_does_not_take_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The schema refers to SPDX's list of licences, which lies beside it."""
    schema, output = tmp_path / "bom.schema.json", tmp_path / "sbom.json"
    schema.write_text(json.dumps(SCHEMA))
    (tmp_path / "spdx.SNAPSHOT.schema.json").write_text(json.dumps({"$schema": SCHEMA["$schema"], "enum": ["ISC"]}))
    place = built(tmp_path / "built", "License: ISC")
    asked = [str(place), "--output", str(output), "--schema", str(schema)]
    assert main(asked) == 0
    assert objections(json.loads(output.read_text()), schema) == []
    output.unlink()
    (tmp_path / "spdx.SNAPSHOT.schema.json").write_text(json.dumps({"$schema": SCHEMA["$schema"], "enum": ["MIT"]}))
    assert main(asked) == 3
    assert not output.exists()
    assert "$.components[0].licenses[0].license.id" in capsys.readouterr().err


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
    """Every `pip install` of a make target names a lock, but for ourselves."""
    text = "\n".join(
        (ROOT / file).read_text(encoding="utf-8")
        for file in ("Makefile", "layers/unthrottle/Makefile", "functions/respond/Makefile")
    )
    installs = [line.replace("\\\n", " ") for line in re.findall(r"pip install(?:[^\n\\]|\\\n)*", text)]
    assert len(installs) >= 6
    for line in installs:
        assert "--require-hashes" in line or "--editable ." in line, line


@pytest.mark.parametrize("part", sorted(file.stem.split("-")[1] for file in ROOT.glob("requirements-*.txt")))
def test_each_lock_is_renewed_installed_and_audited_by_make(part: str) -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (renewed,) = re.findall(r"for part in ([a-z0-9 ]+); do \$\(AUDIT_VENV\)/bin/uv", text)
    assert part in renewed.split()
    assert f"--requirement requirements-{part}.lock" in text
    assert "requirements-*.lock" in text


def test_the_licences_of_every_environment_and_of_every_npm_lock_are_looked_at() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = text.partition("\nlicences:")[2].partition("\n\n")[0]
    environments = re.findall(r"^(\w*VENV) := \.venv", text, re.MULTILINE)
    assert len(environments) == 5
    assert [name for name in environments if f"$({name})" not in recipe] == []
    (folders,) = re.findall(r"^NPM_LOCKS := .*, ([^)]+)\)", text, re.MULTILINE)
    ours = [
        str(file.parent.relative_to(ROOT))
        for file in ROOT.rglob("package-lock.json")
        if "node_modules" not in file.parts and not file.relative_to(ROOT).parts[0].startswith(".")
    ]
    assert sorted(folders.split()) == sorted(ours)


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR BSD-3-Clause", True),
        ("GPL-3.0-only OR MIT", True),
        ("BSD-3-Clause AND MIT", True),
        ("BSD-3-Clause AND GPL-2.0-only", False),
        ("GPL-2.0-only AND (Apache-2.0 OR MIT)", False),
        ("(GPL-2.0-only AND Apache-2.0) OR MIT", True),
        ("MIT AND (GPL-2.0-only OR (ISC AND 0BSD))", True),
        ("MIT, BSD-3-Clause", True),
        ("MIT, GPL-2.0-only", False),
        ("(MIT", False),
        ("MIT)", False),
        ("MIT AND", False),
        ("MIT MIT", False),
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


def node(folder: Path, **licences: str | None) -> Path:
    inside = {
        f"node_modules/a/node_modules/{name}": {"version": "2.0.0", "license": licences[name]} for name in licences
    }
    lock = folder / "drawings" / "package-lock.json"
    lock.parent.mkdir()
    lock.write_text(json.dumps({"lockfileVersion": 3, "packages": {"": {"name": "ours"}, **inside}}))
    return lock


@pytest.mark.parametrize(
    ("licence", "code"), [("MIT", 0), ("(MIT OR GPL-2.0-only)", 0), ("MPL-2.0", 0), ("GPL-2.0-only", 2), (None, 2)]
)
def test_npms_packages_are_judged_by_what_the_lock_file_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], licence: str | None, code: int
) -> None:
    lock = node(tmp_path, ws=licence)
    assert packages(lock)[0].name == "ws"
    assert main(["--licences", "--tools", str(lock)]) == code
    assert ("NOT ALLOWED  ws 2.0.0" in capsys.readouterr().out) is bool(code)


def test_what_is_allowed_in_tools_only_is_listed_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = node(tmp_path, ws="MIT", pyodide="MPL-2.0")
    assert main(["--licences", "--tools", str(lock)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  MIT (1): ws" in lines
    assert f"  MPL-2.0 (1): pyodide  [MPL-2.0: {EXCEPTIONS['MPL-2.0']}]" in lines


def test_one_environment_with_a_licence_that_is_not_allowed_fails_them_all(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    bad, good = built(tmp_path / "bad", "License: AGPLv3"), node(tmp_path / "one", ws="MIT")
    assert main(["--licences", "--tools", str(bad), str(good)]) == 2
    assert main(["--licences", "--tools", str(good), str(bad)]) == 2


@pytest.mark.parametrize(
    ("name", "metadata", "licence"),
    [
        ("networkx", "License: UNKNOWN\nClassifier: License :: OSI Approved :: BSD License", "BSD-3-Clause"),
        ("cloudsplaining", "Classifier: License :: OSI Approved :: MIT License", "BSD-3-Clause"),
        ("packaging", "Classifier: License :: OSI Approved :: BSD License", "Apache-2.0 OR BSD-2-Clause"),
        ("packaging", "License-Expression: GPL-3.0-only", "GPL-3.0-only"),
        ("other", "License: UNKNOWN", "unknown"),
    ],
)
def test_a_licence_looked_up_by_hand_stands_until_the_package_itself_says_one(
    tmp_path: Path, name: str, metadata: str, licence: str
) -> None:
    info = tmp_path / "lib" / "x.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1\n{metadata}\n\nx")
    (found,) = packages(tmp_path)
    assert found.licence == licence


def test_what_is_deployed_may_have_no_licence_of_the_exceptions() -> None:
    assert not ALLOWED & EXCEPTIONS.keys()
    assert ALLOWED | EXCEPTIONS.keys() == ALLOWED_TOOLS


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


@pytest.mark.parametrize(
    ("document", "head"),
    [
        ({"dependencies": [KNOWN["dependencies"][1]]}, "NOTHING WAS AUDITED, AND NOTHING IS PROVEN: 0 packages"),
        ({"dependencies": KNOWN["dependencies"][:2]}, "THE AUDIT IS INCOMPLETE: 1 packages were audited; left out: 1 "),
    ],
)
def test_an_index_without_advisories_is_told_at_the_end_in_capitals_and_fails_only_when_strict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: object, head: str
) -> None:
    tool = auditor(tmp_path, f"echo '{json.dumps(document)}'")
    assert audit(tool, ["a.lock"]) == 0
    *_, above, said, where, below = capsys.readouterr().out.splitlines()
    assert said.startswith(head)
    assert "pypi.org" in where
    assert set(above) == set(below) == {"!"}
    assert audit(tool, ["a.lock"], is_strict=True) == 3


def test_a_whole_audit_has_nothing_to_add_and_a_finding_counts_more_than_what_was_left_out(tmp_path: Path) -> None:
    whole = {"dependencies": [KNOWN["dependencies"][0]]}
    assert summary([audited("a.lock", whole)]) == []
    assert audit(auditor(tmp_path, f"echo '{json.dumps(whole)}'"), ["a.lock"], is_strict=True) == 0
    assert audit(auditor(tmp_path, f"echo '{json.dumps(KNOWN)}'"), ["a.lock"], is_strict=True) == 2


def test_without_the_auditor_nothing_is_audited_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit("/nowhere/pip-audit", ["a.lock"]) == 0
    assert "not audited: FileNotFoundError" in capsys.readouterr().out


def test_an_accepted_advisory_fails_nothing_and_its_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scripts.vulnerabilities.ACCEPTED", {"CVE-1": "not called here"})
    found = audited("a.lock", KNOWN)
    assert found.findings == ()
    assert "accepted: not called here" in told(found)[-1]
