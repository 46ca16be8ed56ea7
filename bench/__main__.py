"""Print the figures: AWS calls until the action by size of account, time of a rehearsed day, sizes and start times.

Everything is measured now, on this machine; nothing is remembered. `--quick` leaves out the two largest accounts.
"""

import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sandbox.rehearsal import rehearse
from sandbox.scenario import Scenario, load

ROOT = Path(__file__).parent.parent
SCENARIOS = ROOT / "tests" / "scenarios"
HANDLERS = ("intake", "respond", "slack", "sweep", "audit")


def main() -> None:
    """Measure and print."""
    quick = "--quick" in sys.argv[1:]
    console = Console(highlight=False)
    console.print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}")
    _calls(console, quick=quick)
    _day(console)
    _starts(console)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    console.print(f"Peak memory of this benchmark: {peak:,.0f} MB")


def _calls(console: Console, *, quick: bool) -> None:
    """Count the AWS calls made with the Observer or Actor role until the first change."""
    table = Table(title="AWS calls until the action", title_justify="left")
    for column in ("what", "functions or indexes", "cause", "calls", "wall time of the rehearsal"):
        table.add_column(column, justify="right" if column in {"functions or indexes", "calls"} else "left")
    sizes = (362, 1_000) if quick else (362, 1_000, 10_000, 10_050)
    for size in sizes:
        _row(table, "pool", size, _pool(size))
    for indexes in (0, 1, 20):
        _row(table, "table", indexes, _table(indexes))
    console.print(table)


def _row(table: Table, what: str, size: int, scenario: Scenario) -> None:
    before = time.perf_counter()
    outcome = rehearse(scenario)
    seconds = time.perf_counter() - before
    for incident in outcome["incidents"][:1]:
        calls = outcome["aws_calls_until_action"].get(incident["id"])
        table.add_row(what, f"{size:,}", incident["cause"], str(calls), f"{seconds:.1f} s")


def _pool(functions: int) -> Scenario:
    """Make an account in which one of `functions` functions holds the pool; 28 others suffer."""
    return _scenario(
        {
            "version": 1,
            "name": f"{functions} functions",
            "minutes": 45,
            "settings": {"Mode": "auto"},
            "functions": [
                {
                    "name": "batch-processor",
                    "trigger": {"type": "eventbridge"},
                    "duration_ms": 45000,
                    "demand": [[0, 20], [30, 2000]],
                },
                {"name": "pipe-{i:02d}", "count": 28, "trigger": {"type": "msk", "partitions": 3}, "demand": [[0, 3]]},
                {"name": "quiet-{i:05d}", "count": functions - 29, "trigger": {"type": "api"}, "demand": [[0, 0.001]]},
            ],
        }
    )


def _table(indexes: int) -> Scenario:
    """Make a provisioned table out of write capacity, with some indexes."""
    return _scenario(
        {
            "version": 1,
            "name": f"a table with {indexes} indexes",
            "minutes": 45,
            "settings": {"Mode": "auto"},
            "tables": [
                {
                    "name": "dagy-runs-develop",
                    "billing": "provisioned",
                    "read": 100,
                    "write": 50,
                    "demand": {"write": [[0, 20], [20, 120]], "read": [[0, 40]]},
                    "indexes": [{"name": f"by-{number}", "read": 50, "write": 200} for number in range(indexes)],
                }
            ],
        }
    )


def _scenario(document: dict[str, Any]) -> Scenario:
    import json  # noqa: PLC0415  only here: JSON is YAML, so the real loader reads it
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(json.dumps(document), encoding="utf-8")
        return load(file)


def _day(console: Console) -> None:
    """Time the 362-function day of the post-mortem: 1,440 simulated minutes."""
    scenario = load(SCENARIOS / "pool-hog-one-function.yaml")
    before = time.perf_counter()
    outcome = rehearse(scenario)
    seconds = time.perf_counter() - before
    incident = outcome["incidents"][0]
    lost = outcome["final"]["throttled_minutes"]["lambda"]
    console.print(
        f"The 362-function day: {scenario.minutes:,} minutes rehearsed in {seconds:.1f} s; alarm at minute "
        f"{incident['opened_minute']}, capped at minute {incident['acted_minute']}, recovered at minute "
        f"{incident['recovered_minute']}, {lost} minutes with throttled victims."
    )


def _starts(console: Console) -> None:
    """Time a new process that imports each handler, against one that imports boto3 and makes a client."""
    base = _median(_runs("import boto3; boto3.client('dynamodb', region_name='eu-west-1')"))
    console.print(f"import boto3 and one client: {base * 1000:,.0f} ms (median of 5 new processes)")
    for name in HANDLERS:
        code = f"import runpy; runpy.run_path({str(ROOT / 'functions' / name / 'app.py')!r})"
        seconds = _median(_runs(code))
        console.print(f"import of functions/{name}: {seconds * 1000:,.0f} ms, {seconds / base:.2f} x")


def _runs(code: str) -> Iterator[float]:
    for _ in range(6):
        before = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603  our own code
        yield time.perf_counter() - before


def _median(values: Iterator[float]) -> float:
    kept = sorted(list(values)[1:])  # the first one warms the disk's cache
    return kept[len(kept) // 2]


if __name__ == "__main__":
    main()
