"""Would the tests notice if the code were wrong? Mutation testing of what must not be wrong.

Each mutant (`scripts.mutation`) is one small change of one module. It is killed when a test that runs the changed statement
fails with it, or does not end; one that survives shows a line nobody checks. Which tests run a statement is measured first.
Tests are loaded once; each mutant is a fork with the changed function put in its place, or, where the change acts at
import, a fork that loads everything anew. No file is changed. Drawn examples are the same each time.

What was measured is kept in .build/mutants and measured again only when the module or the test that decided has changed
(--anew: all of it). Changes that no test can notice are listed with the reason in scripts/mutants-equivalent.txt.

Why not a library: mutmut 3 changes neither constants of a module nor methods of dataclasses, where half of what decides
here stands; cosmic-ray changes the files in place and starts a test run for each mutant, seconds instead of a tenth of one.

    python -m scripts.mutants [GROUP ...] [--most N] [--seed S] [--anew] [--list-survivors] [--write-docs]
"""

import argparse
import os
import random
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.mutant_runs import Measured, Saved, measure, remembered
from scripts.mutation import Mutant, mutants

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "layers" / "unthrottle"
EQUIVALENT = ROOT / "scripts" / "mutants-equivalent.txt"
DOCS = ROOT / "docs" / "faults.md"
UNIT = ("tests/unit", "tests/edges")
SAFETY = (
    "tests/safety/test_reopen.py",
    "tests/safety/test_reopen_muted.py",
    "tests/safety/test_returned.py",
    "tests/safety/test_wishes_and_agreements.py",
    "tests/safety/test_worse_than_before.py",
)
PLANS = (
    "tests/causes/test_plans.py",
    "tests/causes/test_plan_edges.py",
    "tests/causes/test_plan_least.py",
    "tests/causes/test_cap_hogs.py",
)
ACTIONS = ("tests/faults/test_action_edges.py", "tests/adapters/test_actor.py", *PLANS)
GROUPS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "guardrails": (("guardrails.py",), (*UNIT, "tests/faults/test_guardrail_edges.py")),
    "verification": (("verification.py", "symptom.py", "pressure.py"), (*UNIT, *SAFETY)),
    "give-back": (
        ("sweep.py", "reopen.py", "actions/same.py", "alarm_mutes.py"),
        (*UNIT, *SAFETY, "tests/adapters/test_many_places.py", "tests/safety/test_reopen_muted.py"),
    ),
    "lease": (
        ("lease.py",),
        ("tests/edges/test_lease.py", "tests/edges/test_lease_ends.py", "tests/safety/test_wishes_and_agreements.py"),
    ),
    "actions": (
        (
            "actions/__init__.py",
            "actions/cap_concurrency.py",
            "actions/cap_event_source.py",
            "actions/cancel_backfill.py",
            "actions/raise_capacity.py",
            "actions/switch_to_on_demand.py",
            "actions/scaling_bounds.py",
            "actions/tell_of_writer.py",
        ),
        (*UNIT, *ACTIONS, *SAFETY),
    ),
    "front door": (
        (
            "slack_front.py",
            "slack_door.py",
            "slack_grammar.py",
            "adapters/slack_light.py",
            "control.py",
            "requested.py",
        ),
        (
            *UNIT,
            *SAFETY,
            "tests/slack/test_door.py",
            "tests/slack/test_front_door.py",
            "tests/slack/test_grammar.py",
            "tests/slack/test_known_requests.py",
            "tests/fuzz/test_front_door.py",
        ),
    ),
    "causes": (("causes/*.py",), ("tests/causes", "tests/edges")),
    "leases seen to": (("returned.py", "drift.py"), (*UNIT, *SAFETY)),
    "planning": (("plan.py", "actions/planning.py", "actions/cap_hogs.py"), (*UNIT, *ACTIONS, *SAFETY)),
}
"""What is mutated (in the library), and the tests that may notice: files, or folders with all their tests. Rehearsals of whole
incidents are not among them: each takes seconds, and what only they notice is noticed late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One module's figures."""

    module: str
    made: int
    equivalent: int
    killed: int
    is_whole: bool
    """Whether every change of the module was tried."""

    @property
    def counted(self) -> int:
        return self.made - self.equivalent

    def __str__(self) -> str:
        rate = f"{100 * self.killed / self.counted:.1f} %" if self.counted else "-"
        survived = self.counted - self.killed
        return f"| {self.module} | {self.made} | {self.equivalent} | {self.killed} | {survived} | {rate} |"


HEAD = "| module | made | equivalent | killed | survived | rate |\n|---|---:|---:|---:|---:|---:|"


def equivalents() -> dict[str, str]:
    """Read the changes that make no difference: `key => reason`, one a line."""
    found = {}
    for line in EQUIVALENT.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            key, _, reason = line.partition(" => ")
            found[key.strip()] = reason.strip()
    return found


def _of(patterns: Sequence[str]) -> Iterator[Mutant]:
    inside = LIBRARY / "unthrottle"
    for pattern in patterns:
        for file in sorted(inside.glob(pattern)):
            name = ".".join(file.relative_to(LIBRARY).with_suffix("").parts)
            yield from mutants(file, name.removesuffix(".__init__"))


def _tests(named: Sequence[str]) -> list[str]:
    files = [
        file
        for name in named
        for file in (sorted(Path(name).glob("test_*.py")) if Path(name).is_dir() else [Path(name)])
    ]
    return list(dict.fromkeys(str(file) for file in files if file.exists()))


def _rows(wanted: Sequence[Mutant], measured: Measured, same: dict[str, str]) -> tuple[list[Row], list[Mutant]]:
    rows: list[Row] = []
    survivors: list[Mutant] = []
    for file in dict.fromkeys(mutant.file for mutant in wanted):
        of_file = [mutant for mutant in wanted if mutant.file == file]
        mine = [mutant for mutant in of_file if mutant.key in measured]
        alive = [mutant for mutant in mine if measured[mutant.key] is None]
        equal = [mutant for mutant in alive if mutant.key in same]
        name = str(file.relative_to(LIBRARY / "unthrottle"))
        killed = len(mine) - len(alive)
        is_whole = len(mine) == len(of_file)
        rows.append(Row(module=name, made=len(mine), equivalent=len(equal), killed=killed, is_whole=is_whole))
        survivors.extend(mutant for mutant in alive if mutant.key not in same)
    return rows, survivors


def _tell_stale(every: Sequence[Mutant], measured: Measured, same: Mapping[str, str]) -> None:
    """Name what is listed as equivalent and is noticed, or is no change of its module any more."""
    for mutant in every:
        if mutant.key in same and measured.get(mutant.key) is not None:
            print(f"listed as equivalent, but {measured[mutant.key]} notices it: {mutant.key}", flush=True)
    made = {mutant.key for mutant in every}
    modules = {key.split(" | ")[0] for key in made}
    for key in same:
        if key not in made and key.split(" | ")[0] in modules:
            print(f"listed as equivalent, but there is no such change any more: {key}", flush=True)


def _write_docs(rows: Sequence[Row]) -> None:
    """Put the figures into the page; rows of modules that were not measured now, or not wholly, stay."""
    text = DOCS.read_text(encoding="utf-8")
    begin, end = "<!-- mutants: begin -->\n", "<!-- mutants: end -->"
    before, rest = text.split(begin, 1)
    kept, after = rest.split(end, 1)
    known = {match[1]: line for line in kept.splitlines() if (match := re.match(r"\| ([\w/]+\.py) \|", line))}
    known.update({row.module: str(row) for row in rows if row.is_whole and row.made})
    table = "\n".join((HEAD, *known.values(), str(_total(known.values()))))
    DOCS.write_text(f"{before}{begin}{table}\n{end}{after}", encoding="utf-8")


def _total(lines: Iterable[str]) -> Row:
    """Add up the rows of the page."""
    figures = [[int(one) for one in line.split("|")[2:5]] for line in lines]
    made, equivalent, killed = (sum(column) for column in zip(*figures, strict=True))
    return Row(module="all", made=made, equivalent=equivalent, killed=killed, is_whole=True)


def main(arguments: Sequence[str]) -> int:
    """Mutate and test. Prints a line for each survivor, and a table."""
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants")
    parser.add_argument("group", nargs="*", choices=[*GROUPS, []], help="all, if none is named")
    parser.add_argument("--most", type=int, default=0, help="at most so many mutants of a group, drawn by the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only modules whose path holds this")
    parser.add_argument("--anew", action="store_true", help="believe nothing that was measured before")
    parser.add_argument("--list-survivors", action="store_true", help="run nothing; tell what the last run found")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/faults.md")
    asked = parser.parse_args(arguments)
    os.chdir(ROOT)
    same, rows = equivalents(), []
    for name in asked.group or GROUPS:
        patterns, named = GROUPS[name]
        every = [mutant for mutant in _of(patterns) if asked.only in str(mutant.file)]
        if asked.most and len(every) > asked.most:
            every = random.Random(asked.seed).sample(every, asked.most)  # noqa: S311
            asked.write_docs = False  # a sample is no figure
        if not every:
            continue
        saved = Saved(ROOT / ".build" / "mutants" / f"{name.replace(' ', '-')}.json", anew=asked.anew)
        began = time.monotonic()
        measured = remembered(every, saved) if asked.list_survivors else measure(every, _tests(named), saved)
        figures, survivors = _rows(every, measured, same)
        rows.extend(figures)
        for mutant in survivors:
            print(f"survived  {mutant.where}  {mutant.key}", flush=True)
        if not asked.list_survivors:
            print(f"{name}: {len(every)} mutants, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        _tell_stale(every, measured, same)
    print(HEAD + "\n" + "\n".join(str(row) for row in rows if row.made))
    if asked.write_docs:
        _write_docs(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
