"""What is read of a table, at the price of how many calls, and what could not be read of it."""

from dataclasses import replace

import pytest

from tests.unit.fakes import NOW, FakeBackfills, FakeMetrics, FakeTables, observer, series
from tests.unit.looked import NAME, TABLE, flat
from unthrottle.backfills import Backfill, BackfillsUnavailable
from unthrottle.evidence.environment import environment_of, environments, is_dagys
from unthrottle.evidence.read_table import read_table
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


class Tagged(FakeTables):
    """A table with tags."""

    def __init__(self, table: TableSettings, *, tags: dict[str, str]) -> None:
        super().__init__(table)
        self._tags = tags

    def tags(self, arn: str) -> dict[str, str]:
        super().tags(arn)
        return self._tags


def test_a_table_with_its_indexes_takes_four_calls_and_five_with_autoscaling() -> None:
    """Table, metrics of all units at once, bounds, tags; and what autoscaling did, where there is any."""
    metrics, tables = FakeMetrics(), FakeTables(TABLE)
    found = read_table(observer(metrics=metrics, tables=tables), SETTINGS, NOW, table=NAME, backfills=FakeBackfills())

    assert (len(metrics.calls), tables.calls) == (1, [f"describe {NAME}", "tags", "scaling"])
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
        ("dagy-runs-eu-prod", "dagy-", "eu-prod"),
        ("dagy-new-thing-prod", "dagy-", None),
        ("dagy-new-thing-eu-prod", "dagy-", None),
        ("dagy-runs-", "dagy-", None),
        ("dagy-runs", "dagy-", None),
        ("orders-develop", "dagy-", None),
        ("dagy-runs-develop", "", None),
        ("runs-develop", "", "develop"),
    ],
)
def test_the_environment_is_read_from_the_names_that_dagy_gives(
    table: str, prefix: str, environment: str | None
) -> None:
    """The end of any other name is no environment: of eu-prod it would make prod."""
    assert environment_of(table, prefix) == environment


def test_a_tables_environment_is_that_of_its_name_or_of_its_tag() -> None:
    """Where the two differ both count: what follows dagy-runs- need not be an environment."""
    prod = {"unthrottle:environment": "prod"}
    assert environments("dagy-runs-develop", {}, SETTINGS) == ("develop",)
    assert environments("dagy-runs-prod", prod, SETTINGS) == ("prod",)
    assert environments("dagy-runs-archive", prod, SETTINGS) == ("archive", "prod")
    assert environments("dagy-runs", prod, SETTINGS) == ("prod",)
    assert environments("dagy-runs", {"unthrottle:environment": ""}, SETTINGS) == ()


def test_without_a_prefix_dagys_tables_are_known_by_their_names() -> None:
    """Every table of the account begins with nothing."""
    bare = replace(SETTINGS, table_prefix="")
    assert (is_dagys("runs-develop", bare), is_dagys("orders", bare)) == (True, False)
    assert (is_dagys("dagy-orders", SETTINGS), is_dagys("orders-develop", SETTINGS)) == (True, False)


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


@pytest.mark.parametrize(
    ("table", "tags", "found"),
    [
        pytest.param("dagy-runs-develop", {}, ["bf-develop"], id="by its name"),
        pytest.param("dagy-runs-eu-prod", {}, ["bf-eu-prod"], id="by its name, which ends in another one's"),
        pytest.param(
            "dagy-new-thing-eu-prod", {}, ["bf-develop", "bf-prod", "bf-eu-prod"], id="no name of dagy's: all"
        ),
        pytest.param("dagy-runs", {}, ["bf-develop", "bf-prod", "bf-eu-prod"], id="no environment in its name: all"),
        pytest.param("dagy-runs", {"unthrottle:environment": "prod"}, ["bf-prod"], id="by its tag"),
        pytest.param("dagy-runs-archive", {"unthrottle:environment": "prod"}, ["bf-prod"], id="its tag knows better"),
        pytest.param("dagy-runs-test", {}, [], id="of an environment without one"),
        pytest.param("orders", {"unthrottle:environment": "prod"}, [], id="a table that is not dagy's"),
    ],
)
def test_running_backfills_are_those_of_the_tables_environment_and_all_where_it_is_unknown(
    table: str, tags: dict[str, str], found: list[str]
) -> None:
    """ "None is running" must not be said of an environment that nobody asked for."""
    running = [replace(BACKFILL, id=f"bf-{name}", environment=name) for name in ("develop", "prod", "eu-prod")]
    tables = Tagged(replace(TABLE, name=table), tags=tags)
    seen = read_table(observer(tables=tables), SETTINGS, NOW, table=table, backfills=FakeBackfills(*running))
    assert isinstance(seen.backfills, RunningBackfills)
    assert [one.id for one in seen.backfills.backfills] == found


def test_a_tagged_tables_scheduler_is_that_of_its_environment() -> None:
    """The schedules table of the same environment is read beside it; where that is unknown there is none to read."""
    for tags, schedules in (({}, None), ({"unthrottle:environment": "prod"}, "dagy-schedules-prod")):
        tables = Tagged(replace(TABLE, name="dagy-new-thing"), tags=tags)
        seen = read_table(observer(tables=tables), SETTINGS, NOW, table="dagy-new-thing")
        assert seen.writers.schedules_table == schedules
