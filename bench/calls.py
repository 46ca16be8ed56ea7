"""How many AWS calls does a diagnosis take, what do they cost, and how long must one wait for them?

Counted at the gate, in rehearsals of accounts of different size, from the incident's start to the call that changes
something. Calls follow each other, so their number is also that of the round trips on the critical path. Prices are those of
the public price list for us-east-1 (CloudWatch: GetMetricData 0.01 USD per 1,000 metrics requested, or analysed by a Metrics
Insights query; GetMetricStatistics and others 0.01 USD per 1,000 requests; the control planes of Lambda, DynamoDB and STS are
free). Lambda's own time and the operations of the durable function are left out: docs/costs.md has them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from moto import mock_aws

from bench import custodian
from bench.documents import Document, scenario
from bench.growth import Fit, fit
from bench.section import Curve, Goal, Section
from bench.stage import Stage, credentials
from sandbox.aws.gate import Call
from sandbox.model.world import TickFacts
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.isolation import isolated, simulated_time
from sandbox.rehearsal.rehearse import Rehearsal
from unthrottle.actions.switch_to_on_demand import PRICE_PER_MILLION
from unthrottle.evidence.table import Way

FUNCTIONS = (100, 377, 1_000, 10_000, 20_000)
TABLES = (10, 100, 2_500)
QUICK_FUNCTIONS = (100, 377, 1_000)
QUICK_TABLES = (10, 100)
CUSTODIAN_UP_TO = 1_000
"""Beyond that Custodian's calls are put on the fitted line: playing 40,000 calls shows nothing new."""
CUSTODIAN_TABLES = 100
CALL_S = 0.08
_METRIC_PRICE, _REQUEST_PRICE = 0.01 / 1_000, 0.01 / 1_000
_ITEM_WRITE, _ITEM_READ = PRICE_PER_MILLION[Way.WRITE] / 1_000_000, PRICE_PER_MILLION[Way.READ] / 1_000_000
_MINUTES, _BEGINS = 24, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """The calls of the bot from the first one about an incident to its action."""

    calls: int
    """With the Observer's and Actor's rights: those that depend on the account's size."""
    all_calls: int
    """With those to its own table, to STS and so on."""
    dollars: float
    cause: str | None

    @property
    def seconds(self) -> float:
        """Wall time of the calls one after the other, 80 ms each."""
        return self.all_calls * CALL_S


def measure(*, quick: bool) -> Section:
    """Count at each size."""
    section = Section(
        key="calls",
        title="AWS calls and dollars from alarm to action",
        columns=["account", "cause", "calls to look and act", "with its own table", "USD", "80 ms a call", "Custodian"],
    )
    pools = {size: ours(pool(size)) for size in (QUICK_FUNCTIONS if quick else FUNCTIONS)}
    rival: dict[int, int] = {}
    has_rival = custodian.version() is not None
    if has_rival:
        rival = {size: theirs(pool(size), "aws.lambda") for size in pools if size <= CUSTODIAN_UP_TO}
    tables = {size: ours(many_tables(size)) for size in (QUICK_TABLES if quick else TABLES)}
    line = fit(list(rival.items())) if len(rival) > 1 else None
    for size, path in pools.items():
        section.rows.append(_row(f"{size:,} functions", path, _of_rival(size, rival, line)))
    emulated = [size for size in tables if has_rival and size <= CUSTODIAN_TABLES]
    rival_tables = {size: theirs(many_tables(size), "aws.dynamodb-table") for size in emulated}
    line_tables = fit(list(rival_tables.items())) if len(rival_tables) > 1 else None
    for size, path in tables.items():
        section.rows.append(_row(f"{size:,} tables", path, _of_rival(size, rival_tables, line_tables)))
    _growth(section, {size: path.calls for size, path in pools.items()}, "functions", 10_000)
    _growth(section, {size: path.calls for size, path in tables.items()}, "tables", 2_500)
    if line is not None:
        section.notes.append(f"Growth of Custodian's calls with functions: {line.in_words(' calls')}")
    if line_tables is not None:
        section.notes.append(f"Growth of Custodian's calls with tables: {line_tables.in_words(' calls')}")
    section.notes.append(
        "Calls follow each other, so that they are also the round trips on the critical path. Custodian's are one run of one "
        "policy with a reservation and a metrics filter, before it acts, and as the emulator pages. USD: without "
        "Lambda's own time and the durable function's operations."
    )
    section.curves += [_curve("functions", pools, rival), _curve("tables", tables, rival_tables)]
    section.goals = _goals(pools, tables, rival)
    section.data = {
        "functions": {str(size): _data(path) for size, path in pools.items()},
        "tables": {str(size): _data(path) for size, path in tables.items()},
        "custodian": {str(size): calls for size, calls in rival.items()},
        "custodian_tables": {str(size): calls for size, calls in rival_tables.items()},
    }
    return section


def _of_rival(size: int, measured: Mapping[int, int], line: Fit | None) -> str:
    """Write the calls of the rival: measured, or where the emulator would take too long by the fitted line."""
    if size in measured:
        return f"{measured[size]:,}"
    return "-" if line is None else f"{line.base + line.slope * size:,.0f} (fit)"


def _curve(what: str, paths: Mapping[int, Path], rival: Mapping[int, int]) -> Curve:
    lines: dict[str, list[tuple[float, float]]] = {"Unthrottle": [(size, path.calls) for size, path in paths.items()]}
    if rival:
        lines["Cloud Custodian"] = list(rival.items())
    return Curve(title=f"Calls until the action, by {what}", x=what, y="calls", lines=lines)


def _row(account: str, path: Path, other: str) -> list[str]:
    return [
        account,
        str(path.cause),
        f"{path.calls:,}",
        f"{path.all_calls:,}",
        f"{path.dollars:.5f}",
        f"{path.seconds:.1f} s",
        other,
    ]


def _data(path: Path) -> dict[str, Any]:
    return {
        "calls": path.calls,
        "all_calls": path.all_calls,
        "dollars": path.dollars,
        "seconds": path.seconds,
        "cause": path.cause,
    }


def _growth(section: Section, calls: Mapping[int, int], what: str, up_to: int) -> None:
    points = [(float(size), float(number)) for size, number in calls.items() if size <= up_to]
    section.notes.append(
        f"Growth of calls with {what}, up to {max(size for size, _ in points):,.0f}: {fit(points).in_words(' calls')}"
    )


def _goals(pools: Mapping[int, Path], tables: Mapping[int, Path], rival: Mapping[int, int]) -> list[Goal]:
    points = [(float(size), float(path.calls)) for size, path in pools.items() if size <= 10_000]
    shape = fit(points)
    slowest = max(path.seconds for size, path in (*pools.items(), *tables.items()) if size <= 10_000)
    goals = [
        Goal(
            text=f"calls to the action constant up to {max(size for size, _ in points):,.0f} functions",
            found=shape.in_words(),
            reached=shape.shape == "constant",
            why_not="see the table",
        ),
        Goal(
            text="alarm to action under 5 s of wall time with 80 ms per AWS call, up to 10,000 functions and any tables",
            found=f"{slowest:.1f} s",
            reached=slowest < 5,
            why_not="every step of the workflow is written down before the next begins",
        ),
    ]
    if 377 in rival:
        ratio = rival[377] / pools[377].calls
        goals.append(
            Goal(
                text="at least 100 x fewer calls than Cloud Custodian at 377 functions",
                found=f"{rival[377]:,} against {pools[377].calls}: {ratio:.0f} x",
                reached=ratio >= 100,
                why_not="see the calls by name in the JSON",
            )
        )
    return goals


def pool(functions: int) -> Document:
    """Make an account in which one of *functions* functions holds the pool; 28 others suffer."""
    return {
        "version": 1,
        "name": f"{functions} functions",
        "minutes": _MINUTES,
        "settings": {"Mode": "auto"},
        "functions": [
            {
                "name": "batch-processor",
                "trigger": {"type": "eventbridge"},
                "duration_ms": 45_000,
                "demand": [[0, 20], [_BEGINS, 2000]],
            },
            {"name": "pipe-{i:02d}", "count": 28, "trigger": {"type": "msk", "partitions": 3}, "demand": [[0, 3]]},
            {"name": "quiet-{i:05d}", "count": functions - 29, "trigger": {"type": "api"}, "demand": [[0, 0.001]]},
        ],
    }


def many_tables(count: int) -> Document:
    """Make an account with *count* tables, one of them out of write capacity."""
    quiet = {"billing": "provisioned", "read": 10, "write": 10, "demand": {"write": [[0, 1]], "read": [[0, 1]]}}
    return {
        "version": 1,
        "name": f"{count} tables",
        "minutes": _MINUTES,
        "settings": {"Mode": "auto"},
        "tables": [
            {
                "name": "dagy-runs-develop",
                "billing": "provisioned",
                "read": 100,
                "write": 50,
                "demand": {"write": [[0, 20], [_BEGINS, 300]], "read": [[0, 40]]},
            },
            *({"name": f"dagy-quiet-{number:04d}", **quiet} for number in range(count - 1)),
        ],
    }


def ours(document: Document) -> Path:
    """Rehearse, and count the first incident's calls until its action."""
    calls: list[Call] = []

    def watch(rehearsal: Rehearsal, _: TickFacts) -> None:
        calls[:] = rehearsal.gate.calls

    outcome = rehearse(scenario(document), watch=watch)
    first = outcome["incidents"][0]
    before = critical_path(calls)
    return Path(
        calls=outcome["aws_calls_until_action"][first["id"]],
        all_calls=len(before),
        dollars=dollars(before, len(scenario(document).expanded_functions())),
        cause=first["cause"],
    )


def critical_path(calls: Sequence[Call]) -> list[Call]:
    """List the bot's calls from the intake's first one to the change, which is the last. Without a change: to the end."""
    opened = next((i for i, call in enumerate(calls) if call.role == "intake"), len(calls))
    acted = next((i for i, call in enumerate(calls) if is_change(call)), len(calls) - 1)
    return [call for call in calls[opened : acted + 1] if call.role in {"intake", "respond", "observer", "actor"}]


def is_change(call: Call) -> bool:
    """Say whether it is the Actor's change."""
    return call.role == "actor" and call.operation.startswith(("Put", "Update"))


def theirs(document: Document, resource: str) -> int:
    """Run Custodian's policies of one resource when the incident is seen, and count its calls until it acts."""
    played = scenario(document)
    with simulated_time(played.start) as clock, isolated(), mock_aws(), credentials():
        stage = Stage(played)
        with stage.gate:
            for minute in range(_BEGINS + 5):
                clock.move_to(played.start + timedelta(minutes=minute, seconds=10))
                stage.world.tick(minute)
            custodian.run(resource)
            reads = ("Get", "List", "Describe")
            return sum(call.operation.startswith(reads) for call in stage.gate.calls)


def dollars(calls: Iterable[Call], functions: int) -> float:
    """Price calls by the public list. Requests to control planes are free.

    A Metrics Insights query costs by the metrics it analyses: one for each of the account's *functions*.
    """
    total = 0.0
    for call in calls:
        match call.call:
            case "cloudwatch.GetMetricData":
                asked = call.parameters["MetricDataQueries"]
                analysed = sum(functions if "SELECT" in query.get("Expression", "") else 1 for query in asked)
                total += _METRIC_PRICE * analysed
            case "cloudwatch.GetMetricStatistics" | "cloudwatch.ListMetrics" | "cloudwatch.DescribeAlarms":
                total += _REQUEST_PRICE
            case "dynamodb.TransactWriteItems":
                total += 2 * _ITEM_WRITE * len(call.parameters["TransactItems"])
            case "dynamodb.PutItem" | "dynamodb.UpdateItem":
                total += 3 * _ITEM_WRITE  # an incident's record is about 3 KB
            case "dynamodb.GetItem" | "dynamodb.Query":
                total += _ITEM_READ
    return total
