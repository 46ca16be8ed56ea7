"""What is read of a table, at the price of how many calls, and what could not be read of it."""

from dataclasses import replace

import pytest

from tests.unit.fakes import NOW, FakeBackfills, FakeMetrics, FakeTables, observer, series
from tests.unit.looked import NAME, TABLE, flat
from unthrottle.backfills import Backfill, BackfillsUnavailable
from unthrottle.evidence.read_table import environment_of, read_table
from unthrottle.evidence.table import BackfillsUnknown, RunningBackfills, ScalingTarget, TableSettings, Throttle, Way
from unthrottle.settings import Settings

SETTINGS = Settings()
BACKFILL = Backfill(
    id="bf-1",
    state="running",
    flow="f",
    environment="develop",
    requested_by="anna",
    started_at=NOW,
    runs_total=1,
    runs_dispatched=0,
    dispatch_rate_per_minute=1.0,
)


def test_a_table_with_its_indexes_takes_four_calls_and_five_with_autoscaling() -> None:
    """Table, metrics of all units at once, bounds, tags; and what autoscaling did, where there is any."""
    metrics, tables = FakeMetrics(), FakeTables(TABLE)
    found = read_table(observer(metrics=metrics, tables=tables), SETTINGS, NOW, table=NAME, backfills=FakeBackfills())

    assert (len(metrics.calls), tables.calls) == (1, [f"describe {NAME}", "scaling", "tags"])
    assert [unit.index for unit in found.units] == [None, "by-status"]
    assert all(unit.consumed[way].is_empty for unit in found.units for way in Way)

    tables.targets = (ScalingTarget(way=Way.WRITE, index=None, minimum=1, maximum=9),)
    tables.calls.clear()
    read_table(observer(metrics=metrics, tables=tables), SETTINGS, NOW, table=NAME, backfills=FakeBackfills())
    assert len(tables.calls) + 1 == 5


def test_hot_keys_are_asked_for_only_where_a_key_range_is_throttled() -> None:
    """Contributor Insights costs calls; only key-range throttles of the last half hour need it, for that unit."""
    old = series(5.0, *(None,) * 30)
    new = series(5.0, *(None,) * 29)
    for refused, calls in ((old, 0), (new, 1)):
        metrics = FakeMetrics({("WriteKeyRangeThroughputThrottleEvents", f"{NAME}/by-status"): refused})
        tables = FakeTables(TABLE)
        read_table(observer(metrics=metrics, tables=tables), SETTINGS, NOW, table=NAME)
        assert tables.calls.count("hot_keys") == calls


def test_each_metric_lands_where_it_belongs() -> None:
    """Reads, writes, and the four causes must not be mixed up, for the table and for each index."""
    names = {f"{way.value.capitalize()}{cause}ThrottleEvents": (way, cause) for way in Way for cause in ("", *Throttle)}
    known = {
        (name, place): flat(float(number + 100 * bool("/" in place)))
        for number, name in enumerate(names, start=1)
        for place in (NAME, f"{NAME}/by-status")
    }
    found = read_table(observer(metrics=FakeMetrics(known), tables=FakeTables(TABLE)), SETTINGS, NOW, table=NAME)

    for unit, more in zip(found.units, (0, 100), strict=True):
        for number, (way, cause) in enumerate(names.values(), start=1):
            read = unit.throttle_events[way] if cause == "" else unit.throttles[way][Throttle(cause)]
            assert read.peak() == number + more


@pytest.mark.parametrize(
    ("table", "prefix", "environment"),
    [
        ("dagy-runs-develop", "dagy-", "develop"),
        ("dagy-task-runs-develop", "dagy-", "develop"),
        ("dagy-rate-limits-eu-west", "dagy-", "eu-west"),
        ("dagy-new-thing-prod", "dagy-", "prod"),
        ("dagy-runs-", "dagy-", None),
        ("dagy-runs", "dagy-", None),
        ("orders-develop", "dagy-", None),
        ("dagy-runs-develop", "", None),
    ],
)
def test_a_tables_environment_is_the_end_of_its_name(table: str, prefix: str, environment: str | None) -> None:
    """Only dagy's tables have one; anything else is not asked about."""
    assert environment_of(table, prefix) == environment


def test_what_dagy_does_not_say_is_unknown_and_not_none_running() -> None:
    """A silent dagy must not look like one without backfills."""

    def asked(backfills: FakeBackfills | None, table: TableSettings = TABLE) -> object:
        seen = observer(tables=FakeTables(table))
        return read_table(seen, SETTINGS, NOW, table=table.name, backfills=backfills).backfills

    class Silent(FakeBackfills):
        def running(self, environment: str | None = None) -> tuple[Backfill, ...]:
            raise BackfillsUnavailable("timed out")

    assert asked(FakeBackfills(BACKFILL, replace(BACKFILL, id="x", environment="prod"))) == RunningBackfills(
        backfills=(BACKFILL,)
    )
    assert asked(Silent()) == BackfillsUnknown(reason="timed out")
    assert asked(None) == BackfillsUnknown(reason="dagy is not configured", configured=False)
    assert asked(None, replace(TABLE, name="orders")) == RunningBackfills(backfills=())
