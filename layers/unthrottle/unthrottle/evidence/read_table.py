"""Read the evidence about a DynamoDB table and all its indexes: the look at DynamoDB.

The table and every index are always read together, since a short index throttles the table's writes while the table's own
metrics look healthy (AWS DynamoDB guide, GSI back pressure). ThrottledRequests is not read: it exists by operation only and
does not tell the cause.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from unthrottle.backfills import BackfillsRefused, BackfillsUnavailable
from unthrottle.errors import NotAllowed, Refused, TryAgain
from unthrottle.evidence import writers
from unthrottle.evidence.environment import environments, is_dagys
from unthrottle.evidence.series import Series, empty
from unthrottle.evidence.table import (
    BackfillsUnknown,
    Billing,
    HotKeys,
    RunningBackfills,
    ScalingActivity,
    ScalingTarget,
    TableEvidence,
    TableSettings,
    Throttle,
    UnitMetrics,
    Way,
)
from unthrottle.ports import Backfills, MetricQuery, Observer
from unthrottle.settings import Settings

WINDOW = timedelta(hours=3)
RECENT = timedelta(minutes=30)
MOST_SCALED = 1
"""Throttled units whose scaling activities are read, each by a call of its own: the most throttled one. With a second one a
table that is also asked about bulk operations and switches would take nine calls until the action."""
DAY = timedelta(hours=24)
"""AWS counts switches to on-demand over a rolling day (AWS DynamoDB guide, constraints)."""

_UNIT_METRICS: tuple[tuple[str, str], ...] = tuple(
    (f"{way.value[0]}{key}", f"{way.value.capitalize()}{name}")
    for way in Way
    for key, name in (
        ("all", "ThrottleEvents"),
        *((f"t{number}", f"{cause.value}ThrottleEvents") for number, cause in enumerate(Throttle)),
    )
) + tuple(
    (f"{way.value[0]}{key}", f"{prefix}{way.value.capitalize()}CapacityUnits")
    for way in Way
    for key, prefix in (("used", "Consumed"), ("had", "Provisioned"))
)


def read_table(
    observer: Observer,
    settings: Settings,
    now: datetime,
    *,
    table: str,
    index: str | None = None,
    backfills: Backfills | None = None,
) -> TableEvidence:
    """Look at a table. `index` is the one the alarm named. Raises NotFound, TryAgain, NotAllowed, Refused.

    dagy failing is not an error: the evidence then says that its backfills are unknown.
    """
    end = now.replace(second=0, microsecond=0)
    start = end - WINDOW
    described = observer.tables.describe(table)
    tags = observer.tables.tags(described.arn)
    environment = next(iter(environments(table, tags, settings)), None) if is_dagys(table, settings) else None
    beside = writers.queries(described, settings, environment)
    units, others = _read(observer, described, beside, start, end)
    scaling = observer.tables.scaling(table)
    running = _ask_dagy(backfills, settings, table, tags)
    bulk, gaps = writers.read_bulk(observer.tables, table, writers.jumped_at(units, end), running)
    hot = tuple(
        keys
        for unit in units
        if _events_by(unit, Throttle.KEY_RANGE, end) > 0
        for keys in (observer.tables.hot_keys(table, unit.index, end - RECENT, end),)
        if keys is not None
    )
    return TableEvidence(
        start=start,
        end=end,
        settings=described,
        units=units,
        tags=tags,
        scaling=scaling,
        activities=_activities(observer, table, units, scaling, end),
        backfills=running,
        hot_keys=hot,
        writers=writers.writers(others, writers.schedules_of(table, settings, environment), bulk),
        alarmed_index=index,
        switches=_switches(observer, described, end),
        gaps=gaps,
    )


def _activities(
    observer: Observer,
    table: str,
    units: tuple[UnitMetrics, ...],
    scaling: tuple[ScalingTarget, ...],
    end: datetime,
) -> tuple[ScalingActivity, ...]:
    """Read what autoscaling did to what is short and scaled; to the table where nothing is short. AWS lists each apart."""
    scaled = {target.index for target in scaling}
    short = sorted(units, key=lambda unit: -_events_by(unit, Throttle.PROVISIONED, end))
    asked = [unit.index for unit in short if _events_by(unit, Throttle.PROVISIONED, end) > 0]
    asked = [index for index in asked or [None] if index in scaled][:MOST_SCALED]
    return tuple(one for index in asked for one in observer.tables.scaling_activities(table, index))


def _switches(observer: Observer, described: TableSettings, end: datetime) -> tuple[datetime, ...] | None:
    """Count the switches of the last day, only where there was one: AWS allows four, and tells the last."""
    last = described.on_demand_since
    if described.billing is Billing.ON_DEMAND or last is None or end - last >= DAY:
        return ()
    try:
        return observer.tables.switches(described.name, end - DAY)
    except (NotAllowed, Refused, TryAgain):
        return None


def read_units(observer: Observer, table: TableSettings, start: datetime, end: datetime) -> tuple[UnitMetrics, ...]:
    """Read the metrics of a table and its indexes over [start, end): the same measurement, for verification."""
    return _read(observer, table, [], start, end)[0]


def _read(
    observer: Observer, table: TableSettings, beside: list[MetricQuery], start: datetime, end: datetime
) -> tuple[tuple[UnitMetrics, ...], dict[str, Series]]:
    """Read the units, and what else is asked `beside` them, in one call; the series come by their ids, too."""
    names: list[str | None] = [None, *(index.name for index in table.indexes)]
    queries = [
        MetricQuery(
            id=f"u{number}{key}",
            namespace="AWS/DynamoDB",
            name=metric,
            stat="Average" if metric.startswith("Provisioned") else "Sum",
            dimensions=(("TableName", table.name),)
            + ((("GlobalSecondaryIndexName", name),) if name is not None else ()),
        )
        for number, name in enumerate(names)
        for key, metric in _UNIT_METRICS
    ]
    answer = observer.metrics.read([*queries, *beside], start=start, end=end).series
    missing = empty(start, end)

    def series(number: int, key: str) -> Series:
        return answer.get(f"u{number}{key}", missing)

    units = tuple(
        UnitMetrics(
            index=name,
            consumed={way: series(number, f"{way.value[0]}used") for way in Way},
            provisioned={way: series(number, f"{way.value[0]}had") for way in Way},
            throttle_events={way: series(number, f"{way.value[0]}all") for way in Way},
            throttles={
                way: {cause: series(number, f"{way.value[0]}t{place}") for place, cause in enumerate(Throttle)}
                for way in Way
            },
        )
        for number, name in enumerate(names)
    )
    return units, answer


def _events_by(unit: UnitMetrics, reason: Throttle, end: datetime) -> float:
    return sum(unit.throttles[way][reason].between(end - RECENT, end).sum() for way in Way)


def _ask_dagy(
    backfills: Backfills | None, settings: Settings, table: str, tags: Mapping[str, str]
) -> BackfillsUnknown | RunningBackfills:
    """Ask for the running backfills of the table's environment, or for all where neither name nor tag says which it is."""
    if not is_dagys(table, settings):
        return RunningBackfills(backfills=())
    if backfills is None:
        return BackfillsUnknown(reason="dagy is not configured", configured=False)
    here = environments(table, tags, settings)
    try:
        running = backfills.running(here[0] if len(here) == 1 else None)
    except (BackfillsUnavailable, BackfillsRefused) as error:
        return BackfillsUnknown(reason=str(error))
    return RunningBackfills(backfills=tuple(one for one in running if not here or one.environment in here))


__all__ = ["HotKeys", "read_table", "read_units"]
