"""What is in the built functions, and under which licences? A bill of materials (CycloneDX 1.5), and a check of licences.

    python -m scripts.sbom .aws-sam/build --output sbom.json     what was built, from the packages' own metadata
    python -m scripts.sbom .aws-sam/build --licences             one line a package; fails on a licence that is not allowed
    python -m scripts.sbom .aws-sam/build --write-docs           the table in docs/supply-chain.md
    python -m scripts.sbom --licences --tools .venv pictures/package-lock.json      the same of what we build and test with

Reads `*.dist-info/METADATA` under a folder, and what npm's lock files say of each package; a Python package without metadata
is not listed, and our own code is the main component.
"""

import argparse
import json
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import referencing

from sandbox.faults.tables import replaced

ROOT = Path(__file__).parents[1]
ALLOWED = frozenset(
    {"MIT", "MIT-0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "PSF-2.0", "0BSD", "Unlicense"}
)
"""Licences of what is deployed: they ask for a notice and nothing else."""
EXCEPTIONS: Mapping[str, str] = {
    "Artistic License": "its terms are for who passes it on, changed; we do neither",
    "CC0-1.0": "asks for nothing",
    "CNRI-Python": "a licence of Python's own, of a part of a package; nothing is passed on",
    "LGPL-3.0-only": "inside setuptools, which builds; nothing of ours is linked with it or passed on",
    "MPL-2.0": "asks for the source of changed files of its own; none is changed or passed on",
    "Zlib": "asks for a notice, where the source is passed on",
}
"""Also allowed in tools, which nobody is given, each with the reason."""
ALLOWED_TOOLS = ALLOWED | EXCEPTIONS.keys()
SPOKEN = {
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "dual license": "Apache-2.0 OR BSD-3-Clause",  # python-dateutil: "Dual License" in words, both in its classifiers
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "lgplv3": "LGPL-3.0-only",
    "lgplv3 (lib)": "LGPL-3.0-only",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "mpl 2.0": "MPL-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
}
"""SPDX's names for what packages say in words."""
LOOKED_UP = {
    "cloudsplaining": "BSD-3-Clause",  # its classifier says MIT, the licence it brings says this
    "contextlib2": "PSF-2.0 AND Apache-2.0",  # the second for its type hints
    "cookiecutter": "BSD-3-Clause",
    "packaging": "Apache-2.0 OR BSD-2-Clause",  # "either of the licenses"; later versions say so in their metadata
}
"""Read in the licence that a package brings, where its metadata says nothing, or not how its licences go together."""
DOCUMENT = ROOT / "docs" / "supply-chain.md"
LOCKS = (ROOT / "layers" / "unthrottle" / "requirements.lock", ROOT / "functions" / "respond" / "requirements.lock")
_EXPRESSION = re.compile(r" (?:OR|AND|WITH) ")
_PARTS = re.compile(r"(\(|\)|,| AND | OR )")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Package:
    """One package that is built in. `where` names the function or layer, or the environment of a tool."""

    name: str
    version: str
    licence: str
    where: str


def packages(built: Path) -> list[Package]:
    """List what is built into a folder, or is in npm's lock file; a package in two places is listed for each."""
    return sorted(set(_of_npm(built) if built.is_file() else _found(built)))


def _found(built: Path) -> Iterator[Package]:
    for file in built.rglob("*.dist-info/METADATA"):
        head = HeaderParser().parsestr(file.read_text(encoding="utf-8"))
        name = str(head["Name"])
        if name != "unthrottle":
            where = file.relative_to(built).parts[0]
            yield Package(name=name, version=str(head["Version"]), licence=_licence(name, head), where=where)


def _licence(name: str, head: Message) -> str:
    """Say a package's licence in SPDX's words, as far as it says it: by an expression, in words, or by classifiers."""
    if head["License-Expression"]:
        return str(head["License-Expression"])
    if name in LOOKED_UP:
        return LOOKED_UP[name]
    classifiers = [line.rsplit("::", 1)[-1].strip() for line in head.get_all("Classifier", []) if "License ::" in line]
    short = str(head["License"] or "").strip()
    said = short if 0 < len(short) < 40 and short != "UNKNOWN" else ", ".join(classifiers)
    return SPOKEN.get(said.lower(), said) or "unknown"


def _of_npm(lock: Path) -> Iterator[Package]:
    """List the packages of a package-lock.json (version 3); the licence is in it, so that nothing need be installed."""
    for path, one in json.loads(lock.read_text(encoding="utf-8"))["packages"].items():
        if path:  # "" is the project itself
            licence = str(one.get("license") or "unknown").strip("()")
            name = path.rsplit("node_modules/", 1)[-1]
            yield Package(name=name, version=str(one["version"]), licence=licence, where=lock.parent.name)


def is_allowed(licence: str, allowed: frozenset[str]) -> bool:
    """Say whether a licence (SPDX, or several in words) lets us: one of alternatives, and all that apply together.

    What is no expression is not allowed.
    """
    left = [part.strip() for part in _PARTS.split(licence) if part.strip()][::-1]
    return _any_of(left, allowed) and not left


def _any_of(left: list[str], allowed: frozenset[str]) -> bool:
    """Take alternatives off the end of what is *left*, which is read from there; AND binds more closely (SPDX 2.3)."""
    found = _all_of(left, allowed)
    while left and left[-1] == "OR":
        left.pop()
        found = _all_of(left, allowed) or found
    return found


def _all_of(left: list[str], allowed: frozenset[str]) -> bool:
    found = _one(left, allowed)
    while left and left[-1] in {"AND", ","}:
        left.pop()
        found = _one(left, allowed) and found
    return found


def _one(left: list[str], allowed: frozenset[str]) -> bool:
    word = left.pop() if left else ""
    if word != "(":
        return word in allowed
    found = _any_of(left, allowed)
    return bool(left) and left.pop() == ")" and found


def table(found: Sequence[Package]) -> str:
    """Write the packages as Markdown, by place and name."""
    lines = ["| package | version | licence | built into |", "|---|---|---|---|"]
    lines += [
        f"| {one.name} | {one.version} | {one.licence} | {one.where} |"
        for one in sorted(found, key=lambda one: (one.where, one.name.lower()))
    ]
    return "\n".join(lines)


def locked_hashes(locks: Sequence[Path] = LOCKS) -> dict[str, tuple[str, ...]]:
    """Read the SHA-256 that locks allow for a package, by its purl: pip installed a file that has one of them."""
    found: dict[str, tuple[str, ...]] = {}
    for lock in locks:
        for block in re.split(r"^(?=[A-Za-z0-9])", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            name, version = re.split(r"==|[\s;\\]", block, maxsplit=2)[:2]
            found[_purl(name, version)] = tuple(sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", block)))
    return found


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"


def document(found: Sequence[Package], hashes: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """Write the bill of materials. The same build gives the same text: no time, no random serial number.

    *hashes* are by purl: those of every file of the package that the lock allows, of which one was installed.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = {"type": "application", "bom-ref": "unthrottle", "name": "unthrottle", "version": project["version"]}
    components = [_component(one, (hashes or {}).get(_purl(one.name, one.version), ())) for one in found]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        "dependencies": [{"ref": "unthrottle", "dependsOn": [one["bom-ref"] for one in components]}],
    }


def _component(one: Package, hashes: Sequence[str]) -> dict[str, Any]:
    purl = _purl(one.name, one.version)
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"{one.where}/{purl}",
        "name": one.name,
        "version": one.version,
        "purl": purl,
        "licenses": [_licence_choice(one.licence)],
        "properties": [{"name": "unthrottle:built-into", "value": one.where}],
    }
    return component | ({"hashes": [{"alg": "SHA-256", "content": each} for each in hashes]} if hashes else {})


def _licence_choice(licence: str) -> dict[str, Any]:
    """CycloneDX has three ways: SPDX's id of one licence, an expression of several, a name in words."""
    if _EXPRESSION.search(licence):
        return {"expression": licence}
    return {"license": {"id" if licence in ALLOWED else "name": licence}}


def objections(bill: Mapping[str, Any], schema: Path) -> list[str]:
    """Hold a bill against CycloneDX's own schema; the schemas it refers to lie beside it."""
    rules = json.loads(schema.read_text(encoding="utf-8"))
    beside = rules["$id"].rsplit("/", 1)[0]
    registry: referencing.Registry[Any] = referencing.Registry().with_resources(
        (f"{beside}/{file.name}", referencing.Resource.from_contents(json.loads(file.read_text(encoding="utf-8"))))
        for file in sorted(schema.parent.glob("*.schema.json"))
        if file.name.startswith(("spdx", "jsf"))
    )
    validator = jsonschema.Draft7Validator(rules, registry=registry)
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(bill)]


def main(arguments: Sequence[str]) -> int:
    """Write the bill or the licences. Returns the exit code: 1 when nothing was built, 2 for a licence not allowed.

    3: the bill is not what CycloneDX's schema asks for; nothing is written then.
    """
    parser = argparse.ArgumentParser(prog="python -m scripts.sbom")
    parser.add_argument("built", type=Path, nargs="+", help="a folder with packages, or npm's package-lock.json")
    parser.add_argument("--licences", action="store_true")
    parser.add_argument("--tools", action="store_true", help="allow what is allowed in tools that nobody is given")
    parser.add_argument("--output", type=Path, help="write the bill there and not to the screen")
    parser.add_argument("--schema", type=Path, help="hold the bill against CycloneDX's JSON schema")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the table of licences into docs/supply-chain.md"
    )
    wanted = parser.parse_args(arguments)
    everything = {place: packages(place) for place in wanted.built}
    for place, found in everything.items():
        if not found:
            print(f"There are no packages under {place}. Nothing was written; run `make build` first.", file=sys.stderr)
            return 1
    if wanted.tools:
        return max([_tools(place, found) for place, found in everything.items()])
    found = sorted({one for some in everything.values() for one in some})
    if wanted.write_docs:
        DOCUMENT.write_text(replaced(DOCUMENT.read_text(encoding="utf-8"), "licences", table(found)), encoding="utf-8")
    elif not wanted.licences:
        return _bill(found, wanted.output, wanted.schema)
    print("\n".join(f"{one.name} {one.version}: {one.licence} ({one.where})" for one in found))
    return _judged(found, ALLOWED)


def _bill(found: Sequence[Package], output: Path | None, schema: Path | None) -> int:
    bill = document(found, locked_hashes())
    wrong = [] if schema is None else objections(bill, schema)
    if wrong:
        print("\n".join(["The bill is no CycloneDX 1.5; nothing was written.", *wrong]), file=sys.stderr)
        return 3
    text = json.dumps(bill, indent=2) + "\n"
    if output is None:
        print(text, end="")
    else:
        output.write_text(text, encoding="utf-8")
        print(f"{output}: {len(found)} packages{'' if schema is None else ', as the schema of CycloneDX 1.5 asks for'}")
    return 0


def _tools(place: Path, found: Sequence[Package]) -> int:
    """Print an environment's packages by licence, and why those are allowed that would not be in what is deployed."""
    by_licence: defaultdict[str, list[str]] = defaultdict(list)
    for one in found:
        by_licence[one.licence].append(one.name)
    print(f"{place}:")
    for licence, names in sorted(by_licence.items(), key=lambda each: (-len(each[1]), each[0])):
        why = [] if is_allowed(licence, ALLOWED) else sorted(name for name in EXCEPTIONS if name in licence)
        reasons = "".join(f"  [{name}: {EXCEPTIONS[name]}]" for name in why)
        print(f"  {licence} ({len(names)}): {', '.join(names)}{reasons}")
    return _judged(found, ALLOWED_TOOLS)


def _judged(found: Sequence[Package], allowed: frozenset[str]) -> int:
    bad = [one for one in found if not is_allowed(one.licence, allowed)]
    for one in bad:
        print(f"NOT ALLOWED  {one.name} {one.version}: {one.licence} ({one.where})")
    print(f"{len(found)} packages, {len(bad)} with a licence that is not allowed")
    return 2 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
