"""What is read of a table beside its own metrics: who else writes it, what autoscaling did, at the price of how many calls."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.unit.fakes import NOW, FakeBackfills, FakeMetrics, FakeTables, observer, series
from unthrottle.backfills import Backfill, BackfillsUnavailable
from unthrottle.errors import Refused, UnthrottleError
from unthrottle.evidence.read_table import read_table
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import (
    Billing,
    BulkOperation,
    Capacity,
    IndexSettings,
    ScalingTarget,
    TableEvidence,
    TableSettings,
    Way,
)
from unthrottle.settings import Settings

NAME = "dagy-runs-develop"
TABLE = TableSettings(
    name=NAME,
    arn=f"arn:aws:dynamodb:eu-west-1:111122223333:table/{NAME}",
    status="ACTIVE",
    billing=Billing.PROVISIONED,
    capacity=Capacity(read=10, write=100),
    indexes=tuple(
        IndexSettings(name=name, status="ACTIVE", capacity=Capacity(read=10, write=50))
        for name in ("by-day", "by-status")
    ),
)
PLAIN = replace(TABLE, name="orders", arn=TABLE.arn.replace(NAME, "orders"))
SHORT = "WriteProvisionedThroughputThrottleEvents"
CONSUMED = "ConsumedWriteCapacityUnits"
Known = dict[tuple[str, str], Series]


def steps(*given: tuple[int, float]) -> Series:
    """A Sum of each minute of three hours: (for so many minutes, so much)."""
    return series(*(value for minutes, value in given for _ in range(minutes)))


def jumped(table: str = NAME, *, before: float = 600, after: float = 1200, minutes: int = 10) -> Known:
    """Writes that jump so many minutes ago and are throttled since."""
    return {
        (CONSUMED, table): steps((180 - minutes, before), (minutes, after)),
        ("WriteThrottleEvents", table): series(*(None,) * (180 - minutes), *(30.0,) * minutes),
    }


def read(known: Known, tables: FakeTables, *, table: str = NAME, dagy: FakeBackfills | None = None) -> TableEvidence:
    seen = observer(metrics=FakeMetrics(known), tables=tables)
    return read_table(seen, Settings(), NOW, table=table, backfills=dagy or FakeBackfills())


def running(minutes_ago: float) -> Backfill:
    return Backfill(
        id="bf-1",
        state="running",
        flow="f",
        environment="develop",
        requested_by="anna",
        started_at=NOW - timedelta(minutes=minutes_ago),
        runs_total=1,
        runs_dispatched=0,
        dispatch_rate_per_minute=1.0,
    )


# --- who else writes ---------------------------------------------------------------------------------------------


def test_the_writes_of_other_regions_and_of_the_scheduler_ride_along_in_the_same_call() -> None:
    metrics = FakeMetrics(
        {
            (CONSUMED, f"{NAME}/Customer"): steps((180, 5)),
            (CONSUMED, f"{NAME}/GlobalTable"): steps((180, 7)),
            (CONSUMED, "dagy-schedules-develop"): steps((180, 9)),
        }
    )
    tables = FakeTables(replace(TABLE, replicas=("us-east-1",)))
    found = read_table(observer(metrics=metrics, tables=tables), Settings(), NOW, table=NAME).writers
    assert len(metrics.calls) == 1
    assert (found.customer, found.replicated, found.schedules) == tuple(steps((180, value)) for value in (5, 7, 9))
    assert found.schedules_table == "dagy-schedules-develop"


@pytest.mark.parametrize(
    ("described", "beside"),
    [
        pytest.param(PLAIN, 0, id="a table that is not dagy's"),
        pytest.param(replace(PLAIN, replicas=("us-east-1",)), 2, id="with replicas"),
        pytest.param(TABLE, 1, id="dagy's"),
        pytest.param(replace(TABLE, name="dagy-schedules-develop"), 0, id="the schedules table itself"),
    ],
)
def test_nothing_is_read_beside_a_table_that_nobody_else_writes(described: TableSettings, beside: int) -> None:
    metrics, tables = FakeMetrics(), FakeTables(described)
    found = read_table(observer(metrics=metrics, tables=tables), Settings(), NOW, table=described.name)
    assert len(metrics.calls[0]) == 14 * 3 + beside
    assert (found.writers.replicated is not None) is bool(described.replicas)


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        pytest.param({}, False, id="nothing to see"),
        pytest.param(jumped(), True, id="doubled, and throttled"),
        pytest.param(jumped(after=1100), False, id="less than doubled with what was refused"),
        pytest.param(jumped(after=1170), True, id="doubled with what was refused"),
        pytest.param(jumped(minutes=30), True, id="half an hour ago"),
        pytest.param({(CONSUMED, NAME): steps((170, 600), (10, 1200))}, False, id="not throttled"),
        pytest.param(
            {
                (CONSUMED, NAME): steps((170, 600), (10, 1200)),
                ("WriteThrottleEvents", NAME): series(30.0, *(None,) * 10),
            },
            False,
            id="throttled eleven minutes ago",
        ),
        pytest.param(
            {(CONSUMED, NAME): steps((170, 600), (10, 1200)), (SHORT, f"{NAME}/by-day"): series(5.0)},
            True,
            id="throttled by an index",
        ),
        pytest.param(
            {(CONSUMED, NAME): steps((180, 600)), (SHORT, f"{NAME}/by-day"): series(*(600.0,) * 10)},
            True,
            id="doubled with what an index refused",
        ),
        pytest.param({("WriteThrottleEvents", NAME): series(30.0)}, False, id="consumption was not measured"),
    ],
)
def test_bulk_operations_are_asked_for_only_where_throttled_writes_have_jumped(known: Known, asked: bool) -> None:
    tables = FakeTables(TABLE)
    found = read(known, tables)
    assert ("bulk_operations" in tables.calls) is asked
    assert found.writers.bulk == (() if asked else None)


@pytest.mark.parametrize(
    ("minutes_ago", "asked"),
    [
        pytest.param(10, False, id="a backfill began with the jump: it explains it"),
        pytest.param(25, False, id="a quarter of an hour before"),
        pytest.param(26, True, id="longer before"),
        pytest.param(8, False, id="two minutes after"),
        pytest.param(7, True, id="three minutes after"),
    ],
)
def test_where_a_backfill_began_with_the_jump_no_bulk_operation_is_looked_for(minutes_ago: float, asked: bool) -> None:
    tables = FakeTables(TABLE)
    read(jumped(), tables, dagy=FakeBackfills(running(minutes_ago)))
    assert ("bulk_operations" in tables.calls) is asked


def test_while_dagy_cannot_be_asked_bulk_operations_are_looked_for() -> None:
    class Silent(FakeBackfills):
        def running(self, environment: str | None = None) -> tuple[Backfill, ...]:
            raise BackfillsUnavailable("it answered 503")

    tables = FakeTables(TABLE)
    read(jumped(), tables, dagy=Silent())
    assert "bulk_operations" in tables.calls


class Asked(FakeTables):
    """Remembers the time that was asked for, or refuses."""

    def __init__(self, *tables: TableSettings, refusal: UnthrottleError | None = None) -> None:
        super().__init__(*tables)
        self.refusal = refusal
        self.span: tuple[datetime, datetime] | None = None

    def bulk_operations(self, table: str, since: datetime, until: datetime) -> tuple[BulkOperation, ...]:
        self.span = (since, until)
        if self.refusal is not None:
            raise self.refusal
        return super().bulk_operations(table, since, until)


@pytest.mark.parametrize("minutes", [10, 40])
def test_bulk_operations_are_those_that_began_from_a_quarter_of_an_hour_before_the_jump_on(minutes: int) -> None:
    tables = Asked(TABLE)
    read(jumped(minutes=minutes), tables)
    onset = NOW - timedelta(minutes=minutes)
    assert tables.span == (onset - timedelta(minutes=15), onset + timedelta(minutes=2))


def test_bulk_operations_that_may_not_be_read_are_a_gap_and_no_end() -> None:
    found = read(jumped(), Asked(TABLE, refusal=Refused("no right to it", code="AccessDenied")))
    assert found.writers.bulk is None
    assert found.gaps == (f"Whether a bulk operation of DynamoDB writes {NAME} could not be read: no right to it",)


# --- what autoscaling did ----------------------------------------------------------------------------------------


def scaled(*indexes: str | None) -> tuple[ScalingTarget, ...]:
    return tuple(ScalingTarget(way=Way.WRITE, index=index, minimum=1, maximum=9) for index in indexes)


def refused_by(**events: float) -> Known:
    names = {"table": NAME, "by_day": f"{NAME}/by-day", "by_status": f"{NAME}/by-status"}
    return {(SHORT, names[unit]): series(count) for unit, count in events.items()}


@pytest.mark.parametrize(
    ("targets", "known", "asked"),
    [
        pytest.param(scaled(None), {}, ["scaling_activities"], id="nothing is short: the table's"),
        pytest.param(scaled(None), refused_by(table=5), ["scaling_activities"], id="the table is short"),
        pytest.param(
            scaled(None, "by-day"), refused_by(by_day=5), ["scaling_activities by-day"], id="only the index is short"
        ),
        pytest.param(
            scaled(None, "by-day"),
            refused_by(table=5, by_day=9),
            ["scaling_activities by-day"],
            id="both: the more throttled one",
        ),
        pytest.param(
            scaled(None, "by-day", "by-status"),
            refused_by(table=5, by_day=7, by_status=9),
            ["scaling_activities by-status"],
            id="of three the one that is throttled most",
        ),
        pytest.param(
            scaled(None),
            refused_by(table=5, by_day=9),
            ["scaling_activities"],
            id="the more throttled one is not scaled",
        ),
        pytest.param(scaled(None), refused_by(by_day=5), [], id="what is short is not scaled"),
        pytest.param(scaled("by-day"), {}, [], id="nothing is short and the table is not scaled"),
        pytest.param((), refused_by(table=5), [], id="nothing is scaled"),
    ],
)
def test_what_autoscaling_did_is_read_of_what_is_short(
    targets: tuple[ScalingTarget, ...], known: Known, asked: list[str]
) -> None:
    tables = FakeTables(TABLE)
    tables.targets = targets
    read(known, tables)
    assert [call for call in tables.calls if call.startswith("scaling_activities")] == asked


def test_throttles_older_than_half_an_hour_do_not_choose_whose_activities_are_read() -> None:
    tables = FakeTables(TABLE)
    tables.targets = scaled(None, "by-day")
    read({(SHORT, f"{NAME}/by-day"): series(5.0, *(None,) * 30)}, tables)
    assert "scaling_activities" in tables.calls
