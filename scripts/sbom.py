"""What is in the built functions? A software bill of materials in CycloneDX 1.5, and the licences.

    python -m scripts.sbom .aws-sam/build > sbom.json      what was built, from the packages' own metadata
    python -m scripts.sbom .aws-sam/build --licences       one line a package

Reads `*.dist-info/METADATA` under the folder; whatever has none is not listed, and our own code is the main component.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path


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
        yield Package(name=str(head["Name"]), version=str(head["Version"]), licence=licence or "unknown", where=where)


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
    """Print the bill or the licences. Returns the exit code: 1 when nothing was built."""
    parser = argparse.ArgumentParser(prog="python -m scripts.sbom")
    parser.add_argument("built", type=Path)
    parser.add_argument("--licences", action="store_true")
    wanted = parser.parse_args(arguments)
    found = packages(wanted.built)
    if not found:
        print(
            f"There are no packages under {wanted.built}. Nothing was written; run `make build` first.", file=sys.stderr
        )
        return 1
    if wanted.licences:
        print("\n".join(f"{one.name} {one.version}: {one.licence} ({one.where})" for one in found))
    else:
        print(json.dumps(document(found), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
