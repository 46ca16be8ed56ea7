"""What is in the built functions? A software bill of materials in CycloneDX 1.5, and the licences.

    python -m scripts.sbom .aws-sam/build > sbom.json      what was built, from the packages' own metadata
    python -m scripts.sbom .aws-sam/build --licences       one line a package; fails on a licence that is not allowed
    python -m scripts.sbom .aws-sam/build --write-docs     the table in docs/supply-chain.md
    python -m scripts.sbom .venv --licences --tools        the same of what we build and test with

Reads `*.dist-info/METADATA` under the folder; whatever has none is not listed, and our own code is the main component.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

from sandbox.faults.tables import replaced

ALLOWED = frozenset({"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "PSF-2.0", "0BSD", "Unlicense"})
"""Licences of what is deployed: they ask for a notice and nothing else."""
ALLOWED_TOOLS = ALLOWED | {"MPL-2.0", "Artistic License", "CNRI-Python", "Zlib", "CC0-1.0", "LGPL-3.0-only"}
"""Also allowed in tools, which nobody is given."""
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
    "mit-0": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "mpl 2.0": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
}
"""SPDX's names for what packages say in words."""
LOOKED_UP = {"cookiecutter": "BSD-3-Clause"}
"""Of packages whose metadata does not say: read in the licence they bring."""
DOCUMENT = Path(__file__).parents[1] / "docs" / "supply-chain.md"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Package:
    """One package that is built in. `where` names the function or layer."""

    name: str
    version: str
    licence: str
    where: str


def packages(built: Path) -> list[Package]:
    """List what is built in, by name; a package in two places is listed for each."""
    return sorted(set(_found(built)))


def _found(built: Path) -> Iterator[Package]:
    for file in built.rglob("*.dist-info/METADATA"):
        head = HeaderParser().parsestr(file.read_text(encoding="utf-8"))
        classifiers = [
            line.rsplit("::", 1)[-1].strip() for line in head.get_all("Classifier", []) if "License ::" in line
        ]
        short = str(head["License"] or "").strip()
        licence = str(head["License-Expression"] or "") or (short if 0 < len(short) < 40 else ", ".join(classifiers))
        where = file.relative_to(built).parts[0]
        if str(head["Name"]) == "unthrottle":
            continue
        spdx = SPOKEN.get(licence.lower(), licence) or LOOKED_UP.get(str(head["Name"]), "unknown")
        yield Package(name=str(head["Name"]), version=str(head["Version"]), licence=spdx, where=where)


def is_allowed(licence: str, allowed: frozenset[str]) -> bool:
    """Say whether a licence (SPDX, or several in words) lets us: one of alternatives, or all that apply together."""
    words = licence.replace("(", " ").replace(")", " ")
    return any(all(part.strip() in allowed for part in re.split(" AND |, ", way)) for way in words.split(" OR "))


def table(found: Sequence[Package]) -> str:
    """Write the packages as Markdown, by place and name."""
    lines = ["| package | version | licence | built into |", "|---|---|---|---|"]
    lines += [
        f"| {one.name} | {one.version} | {one.licence} | {one.where} |"
        for one in sorted(found, key=lambda one: (one.where, one.name.lower()))
    ]
    return "\n".join(lines)


def document(found: Sequence[Package]) -> dict[str, object]:
    """Write the bill of materials. The same build gives the same text: no time, no random serial number."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "unthrottle"}},
        "components": [
            {
                "type": "library",
                "name": one.name,
                "version": one.version,
                "purl": f"pkg:pypi/{one.name.lower().replace('_', '-')}@{one.version}",
                "licenses": [{"license": {"name": one.licence}}],
                "properties": [{"name": "unthrottle:built-into", "value": one.where}],
            }
            for one in found
        ],
    }


def main(arguments: Sequence[str]) -> int:
    """Print the bill or the licences. Returns the exit code: 1 when nothing was built, 2 for a licence not allowed."""
    parser = argparse.ArgumentParser(prog="python -m scripts.sbom")
    parser.add_argument("built", type=Path)
    parser.add_argument("--licences", action="store_true")
    parser.add_argument("--tools", action="store_true", help="allow what is allowed in tools that nobody is given")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the table of licences into docs/supply-chain.md"
    )
    wanted = parser.parse_args(arguments)
    found = packages(wanted.built)
    if not found:
        print(
            f"There are no packages under {wanted.built}. Nothing was written; run `make build` first.", file=sys.stderr
        )
        return 1
    if wanted.write_docs:
        DOCUMENT.write_text(replaced(DOCUMENT.read_text(encoding="utf-8"), "licences", table(found)), encoding="utf-8")
    elif not wanted.licences:
        print(json.dumps(document(found), indent=2))
        return 0
    return _licences(found, ALLOWED_TOOLS if wanted.tools else ALLOWED, quiet=wanted.tools)


def _licences(found: Sequence[Package], allowed: frozenset[str], *, quiet: bool) -> int:
    bad = [one for one in found if not is_allowed(one.licence, allowed)]
    if not quiet:
        print("\n".join(f"{one.name} {one.version}: {one.licence} ({one.where})" for one in found))
    for one in bad:
        print(f"NOT ALLOWED  {one.name} {one.version}: {one.licence} ({one.where})")
    print(f"{len(found)} packages, {len(bad)} with a licence that is not allowed")
    return 2 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
