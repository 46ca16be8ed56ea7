"""Measure everything and print it: `python -m bench [--quick] [--json FILE] [--html FILE] [--write-docs]`.

Everything is measured now, on this machine; nothing is remembered. The seed makes the same incidents again.
`--only accuracy,calls` measures some parts: diagnosis, accuracy, time, calls, cold, storms, scale.
"""

import argparse
import json
import logging
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import calls, cold, custodian, diagnosis, scale, side_by_side, storms, times
from bench.arena import OURS
from bench.docs import OF_README, write_docs, write_readme
from bench.page import page
from bench.section import Goal, Section

SEED = 20_261_129
COUNT, QUICK_COUNT = 1_008, 42
DIAGNOSES, QUICK_DIAGNOSES = 1_000, 100
PARTS = ("diagnosis", "accuracy", "time", "calls", "storms", "scale", "cold")
ORDER = ("diagnosis", "accuracy", "named", "time", "calls", "storms", "scale", "cold", "imports", "run")
LONGEST_MINUTES, LONGEST_QUICK_MINUTES = 15.0, 2.0
CORES = 2
ROOT = Path(__file__).parent.parent


def main(arguments: list[str]) -> int:
    """Measure and print; 0 also where a figure is not reached, for that is a finding and no failure."""
    given = _parser().parse_args(arguments)
    # Custodian's and moto's warnings are about their own business, and would break the tables.
    logging.getLogger().addHandler(logging.NullHandler())
    console = Console(highlight=False, width=150)
    began, spent = time.perf_counter(), _processor_seconds()
    wanted = tuple(given.only.split(",")) if given.only else PARTS
    sections = _measured(given, wanted)
    seconds, cpu = time.perf_counter() - began, _processor_seconds() - spent
    header = _header(given, seconds)
    if set(wanted) == set(PARTS):
        sections.append(_run(given, seconds, cpu))
    console.print(" · ".join(f"{name} {value}" for name, value in header.items()))
    for section in sections:
        _print(console, section)
    _print_goals(console, sections)
    if given.json:
        document = {**header, "sections": {section.key: section.as_json() for section in sections}}
        Path(given.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if given.html:
        Path(given.html).write_text(page(header, sections), encoding="utf-8")
    if given.write_docs:
        write_docs(ROOT / "docs" / "benchmarks.md", header, sections)
        console.print("docs/benchmarks.md now holds these figures.")
        if write_readme(ROOT / "README.md", header, sections):
            console.print("README.md now holds a few of them.")
        else:
            console.print(f"README.md is left as it is: its figures need the parts {', '.join(OF_README)}.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what is claimed of Unthrottle.")
    parser.add_argument("--quick", action="store_true", help="fewer incidents and smaller accounts, under two minutes")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, help="how many incidents are played side by side")
    parser.add_argument("--only", default="", help=f"parts, separated by commas: {', '.join(PARTS)}")
    parser.add_argument("--json", help="write everything to this file")
    parser.add_argument("--html", help="write a page with charts to this file")
    parser.add_argument(
        "--write-docs", action="store_true", help="put the figures into docs/benchmarks.md and README.md"
    )
    return parser


def _measured(given: argparse.Namespace, wanted: tuple[str, ...]) -> list[Section]:
    """Measure the wanted parts. What counts calls may run beside other things; what measures time runs alone."""
    unknown = set(wanted) - set(PARTS)
    if unknown:
        raise SystemExit(
            f"There is no part {', '.join(sorted(unknown))}. Nothing was measured. Parts: {', '.join(PARTS)}."
        )
    quick, seed, found = given.quick, given.seed, dict[str, Section]()
    count = given.count or (QUICK_COUNT if quick else COUNT)
    if "diagnosis" in wanted:
        found["diagnosis"] = diagnosis.measure(seed, QUICK_DIAGNOSES if quick else DIAGNOSES, side_by_side.WORKERS)
    played: side_by_side.Results = {}
    if "accuracy" in wanted:
        sections, played = side_by_side.measure(seed, count, with_named=not quick)
        found |= {section.key: section for section in sections}
    with ProcessPoolExecutor(side_by_side.WORKERS, mp_context=get_context("spawn")) as workers:
        beside = {}
        if "storms" in wanted:
            beside["storms"] = workers.submit(storms.measure, seed, quick=quick)
        if "calls" in wanted:
            beside["calls"] = workers.submit(calls.measure, quick=quick)
        if "time" in wanted:
            beside["time"] = workers.submit(times.measure, list(played.get(OURS, [])))
        found |= {name: running.result() for name, running in beside.items()}
    if "scale" in wanted:
        found["scale"] = scale.measure(quick=quick)
    if "cold" in wanted:
        found |= {section.key: section for section in cold.measure(quick=quick)}
    return [found[name] for name in ORDER if name in found]


def _run(given: argparse.Namespace, seconds: float, cpu: float) -> Section:
    """Say what the run itself took, on the clock and of the processors."""
    most, name = (LONGEST_QUICK_MINUTES, "quick") if given.quick else (LONGEST_MINUTES, "full")
    load = os.getloadavg()[2]
    why_not = f"it needed {cpu / 60:.1f} min of processor time, so {cpu / 60 / CORES:.1f} min on two cores at the least"
    if load > CORES + 0.5:
        why_not += f"; others used this machine meanwhile (load {load:.1f} on {os.cpu_count()} cores)"
    return Section(
        key="run",
        title="The run itself",
        columns=["run", "took", "processor time", "cores", "load of 15 minutes"],
        rows=[[name, f"{seconds / 60:.1f} min", f"{cpu / 60:.1f} min", str(os.cpu_count()), f"{load:.1f}"]],
        goals=[
            Goal(
                text=f"{name} run under {most:.0f} minutes on two cores",
                found=f"{seconds / 60:.1f} min",
                reached=seconds < 60 * most,
                why_not=why_not,
            )
        ],
        data={"seconds": seconds, "processor_seconds": cpu, "load": load},
    )


def _processor_seconds() -> float:
    """Read the processor time of this process and of its workers that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _header(given: argparse.Namespace, seconds: float) -> dict[str, str]:
    versions = {name: metadata.version(name) for name in ("boto3", "moto", "aws-durable-execution-sdk-python")}
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "seed": str(given.seed),
        "mode": "quick" if given.quick else "full",
        "Unthrottle": f"{metadata.version('unthrottle')} ({_commit()})",
        "Python": platform.python_version(),
        **versions,
        "c7n": custodian.version() or "not installed",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}",
        "took": f"{seconds / 60:.1f} min",
    }


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  a fixed command
    except FileNotFoundError:
        return "no git"
    return told.stdout.strip() or "no commit"


def _print(console: Console, section: Section) -> None:
    table = Table(title=section.title, title_justify="left")
    for number, column in enumerate(section.columns):
        table.add_column(column, justify="right" if number else "left")
    for row in section.rows:
        table.add_row(*row)
    console.print()
    console.print(table)
    for note in section.notes:
        console.print(f"  {note}")


def _print_goals(console: Console, sections: list[Section]) -> None:
    table = Table(title="Figures to reach", title_justify="left")
    for column in ("figure", "found", "", "why not"):
        table.add_column(column)
    for goal in (goal for section in sections for goal in section.goals):
        table.add_row(
            goal.text, goal.found, "reached" if goal.reached else "NOT REACHED", "" if goal.reached else goal.why_not
        )
    console.print()
    console.print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
