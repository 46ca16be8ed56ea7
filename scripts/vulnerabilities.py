"""Is a known vulnerability in what is deployed or in what it is built with? Asks the package index's advisories by pip-audit.

    python -m scripts.vulnerabilities PIP_AUDIT LOCK_FILE...

Exit code 2 for a vulnerability that is not in `ACCEPTED`. What could not be asked about is said in so many words and fails
nothing: an index without advisories, or no network, is no finding, and no proof either.
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


def told(one: Audited) -> list[str]:
    """Say it, one line a thing; the first is always about how much was asked."""
    if one.because is not None:
        return [f"{one.lock}: not audited: {one.because}"]
    asked = one.clean + len({line.split(":")[0] for line in (*one.findings, *one.accepted)})
    lines = [f"{one.lock}: {asked} packages audited, {len(one.findings)} known vulnerabilities"]
    if one.unknown:
        names = ", ".join(one.unknown[:3]) + (f" and {len(one.unknown) - 3} more" if len(one.unknown) > 3 else "")
        lines.append(
            f"{one.lock}: not audited: the index gives no advisories for {len(one.unknown)} packages ({names})"
        )
    return [*lines, *(f"VULNERABLE {line}" for line in one.findings), *one.accepted]


def main(tool: str, locks: Sequence[str]) -> int:
    """Audit each file and print what is known. Returns the exit code."""
    results = [ask(tool, lock) for lock in locks]
    for one in results:
        print("\n".join(told(one)))
    return 2 if any(one.findings for one in results) else 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or not all(Path(lock).is_file() for lock in sys.argv[2:]):
        print("usage: python -m scripts.vulnerabilities PIP_AUDIT LOCK_FILE...", file=sys.stderr)
        sys.exit(1)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
