"""Is a known vulnerability in what is deployed or in what it is built with? Asks the package index's advisories by pip-audit.

    python -m scripts.vulnerabilities [--strict] PIP_AUDIT LOCK_FILE...

Exit code 2 for a vulnerability that is not in `ACCEPTED`. What could not be asked about is said in so many words, at the end
in capitals, and fails nothing: an index without advisories, or no network, is no finding, and no proof either. With --strict it
is exit code 3.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACCEPTED: Mapping[str, str] = {}
"""Advisories that do not concern us, by id, each with the reason."""
PATIENCE_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What came of one lock file. `because`: why nothing could be asked at all."""

    lock: str
    clean: int = 0
    findings: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    because: str | None = None
    accepted: tuple[str, ...] = ()


def audited(lock: str, document: Mapping[str, Any]) -> Audited:
    """Read pip-audit's own answer (its format `json`)."""
    findings: list[str] = []
    unknown: list[str] = []
    accepted: list[str] = []
    clean = 0
    for one in document.get("dependencies", []):
        if "skip_reason" in one:
            unknown.append(str(one["name"]))
            continue
        clean += not one.get("vulns")
        for known in one.get("vulns", []):
            fixed = ", ".join(known.get("fix_versions", [])) or "no version yet"
            line = f"{one['name']} {one['version']}: {known['id']}, mended in {fixed}"
            reason = next(
                (ACCEPTED[name] for name in (known["id"], *known.get("aliases", [])) if name in ACCEPTED), None
            )
            (findings if reason is None else accepted).append(line if reason is None else f"{line}; accepted: {reason}")
    return Audited(lock=lock, clean=clean, findings=tuple(findings), unknown=tuple(unknown), accepted=tuple(accepted))


def ask(tool: str, lock: str) -> Audited:
    """Run pip-audit on a lock file. It downloads and installs nothing."""
    command = [
        tool,
        "--require-hashes",
        "--disable-pip",
        "--requirement",
        lock,
        "--format",
        "json",
        "--progress-spinner",
        "off",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Audited(lock=lock, because=f"{type(error).__name__}: {error}"[:300])
    try:
        document = json.loads(done.stdout)
    except json.JSONDecodeError:
        last = (done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]
        return Audited(lock=lock, because=last[:300])
    return audited(lock, document)


def _asked(one: Audited) -> int:
    return one.clean + len({line.split(":")[0] for line in (*one.findings, *one.accepted)})


def told(one: Audited) -> list[str]:
    """Say it, one line a thing; the first is always about how much was asked."""
    if one.because is not None:
        return [f"{one.lock}: not audited: {one.because}"]
    lines = [f"{one.lock}: {_asked(one)} packages audited, {len(one.findings)} known vulnerabilities"]
    if one.unknown:
        names = ", ".join(one.unknown[:3]) + (f" and {len(one.unknown) - 3} more" if len(one.unknown) > 3 else "")
        lines.append(
            f"{one.lock}: not audited: the index gives no advisories for {len(one.unknown)} packages ({names})"
        )
    return [*lines, *(f"VULNERABLE {line}" for line in one.findings), *one.accepted]


def summary(results: Sequence[Audited]) -> list[str]:
    """Say at the end, so that nobody reads past it, what the audit does not prove. Nothing where all was asked about."""
    blind = [one.lock for one in results if one.because is not None]
    unknown = sum(len(one.unknown) for one in results)
    if not blind and not unknown:
        return []
    asked = sum(_asked(one) for one in results)
    left = ", ".join(filter(None, [f"{unknown} packages without advisories" * bool(unknown), *blind]))
    head = "THE AUDIT IS INCOMPLETE" if asked else "NOTHING WAS AUDITED, AND NOTHING IS PROVEN"
    lines = [
        f"{head}: {asked} packages were audited; left out: {left}.",
        "Run `make audit` where the package index is pypi.org itself, which has advisories.",
    ]
    rule = "!" * max(map(len, lines))
    return [rule, *lines, rule]


def main(tool: str, locks: Sequence[str], *, is_strict: bool = False) -> int:
    """Audit each file and print what is known. Returns the exit code."""
    results = [ask(tool, lock) for lock in locks]
    for one in results:
        print("\n".join(told(one)))
    warned = summary(results)
    if warned:
        print("\n".join(warned))
    if any(one.findings for one in results):
        return 2
    return 3 if is_strict and warned else 0


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--strict"]
    if len(given) < 2 or not all(Path(lock).is_file() for lock in given[1:]):
        print("usage: python -m scripts.vulnerabilities [--strict] PIP_AUDIT LOCK_FILE...", file=sys.stderr)
        sys.exit(1)
    sys.exit(main(given[0], given[1:], is_strict="--strict" in sys.argv))
