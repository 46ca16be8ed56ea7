"""Who else may be writing a table: which metrics are read of it, and when is DynamoDB asked for bulk loads?

The metrics ride along in the call that reads the table. Bulk operations cost a call of their own, asked only where writes
are throttled and have just jumped while no backfill began with them. Judges nobody.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from statistics import median

from unthrottle.errors import NotAllowed, Refused, TryAgain
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import (
    BackfillsUnknown,
    BulkOperation,
    OtherWriters,
    RunningBackfills,
    TableSettings,
    UnitMetrics,
    Way,
)
from unthrottle.ports import MetricQuery, Tables
from unthrottle.settings import Settings

JUMPED = 2.0
"""As the causes: load that at least doubled has jumped."""
LATEST = timedelta(minutes=10)
BEGAN_BEFORE = timedelta(minutes=15)
"""How much earlier than the jump a writer may have begun: it has to read its input first."""
BEGAN_AFTER = timedelta(minutes=2)
"""How much later it may seem to: clocks and minutes do not meet exactly."""

_NAMESPACE, _WRITTEN = "AWS/DynamoDB", "ConsumedWriteCapacityUnits"


def queries(table: TableSettings, settings: Settings, environment: str | None) -> list[MetricQuery]:
    """Name the metrics that tell who else writes: at most three, none for a plain table.

    A global table's writes are counted by their Source, Customer or GlobalTable (AWS DynamoDB guide, metrics and dimensions).
    """
    found = []
    if table.replicas:
        found += [_query(f"w{key}", table.name, ("Source", key)) for key in ("Customer", "GlobalTable")]
    schedules = schedules_of(table.name, settings, environment)
    if schedules is not None:
        found.append(_query("wSchedules", schedules))
    return found


def schedules_of(table: str, settings: Settings, environment: str | None) -> str | None:
    """Name dagy's schedules table beside another table of dagy's; its scheduler writes there at each tick."""
    name = None if environment is None else f"{settings.table_prefix}schedules-{environment}"
    return None if name == table else name


def _query(key: str, table: str, *more: tuple[str, str]) -> MetricQuery:
    return MetricQuery(
        id=key, namespace=_NAMESPACE, name=_WRITTEN, stat="Sum", dimensions=(("TableName", table), *more)
    )


def writers(
    answer: Mapping[str, Series],
    schedules: str | None,
    bulk: tuple[BulkOperation, ...] | None,
) -> OtherWriters:
    """Put together what was read."""
    return OtherWriters(
        customer=answer.get("wCustomer"),
        replicated=answer.get("wGlobalTable"),
        schedules_table=schedules,
        schedules=answer.get("wSchedules"),
        bulk=bulk,
    )


def jumped_at(units: Iterable[UnitMetrics], end: datetime) -> datetime | None:
    """Return the first minute of a rise to at least twice, where writes are throttled now; None where there is none.

    Coarser than the causes' own look: it only decides whether a further call is worth it.
    """
    every = tuple(units)
    whole = next((unit for unit in every if unit.index is None), None)
    if whole is None or not any(_refused(unit, end) for unit in every):
        return None
    used = whole.consumed[Way.WRITE]
    wanted = [
        None if value is None else value + max((_events(unit, used.time_of(at)) for unit in every), default=0.0)
        for at, value in enumerate(used.values)
    ]
    edge = end - LATEST
    before = [value for at, value in enumerate(wanted) if value is not None and used.time_of(at) < edge]
    now = [value for at, value in enumerate(wanted) if value is not None and used.time_of(at) >= edge]
    if not before or not now or max(now) < JUMPED * median(before):
        return None
    middle, onset = (median(before) + max(now)) / 2, None
    for at in reversed(range(len(wanted))):
        value = wanted[at]
        if value is not None and value < middle and onset is not None:
            break
        if value is not None and value >= middle:
            onset = used.time_of(at)
    return onset


def _refused(unit: UnitMetrics, end: datetime) -> bool:
    return unit.throttle_events[Way.WRITE].between(end - LATEST, end).sum() > 0 or any(
        series.between(end - LATEST, end).sum() > 0 for series in unit.throttles[Way.WRITE].values()
    )


def _events(unit: UnitMetrics, moment: datetime) -> float:
    reasons = sum(series.at(moment) or 0.0 for series in unit.throttles[Way.WRITE].values())
    return max(reasons, unit.throttle_events[Way.WRITE].at(moment) or 0.0)


def read_bulk(
    tables: Tables, table: str, onset: datetime | None, backfills: BackfillsUnknown | RunningBackfills
) -> tuple[tuple[BulkOperation, ...] | None, tuple[str, ...]]:
    """Ask for bulk loads that began with the jump, unless there is none or a backfill began with it. Returns gaps, too."""
    if onset is None or _began_with(onset, backfills):
        return None, ()
    try:
        return tables.bulk_operations(table, onset - BEGAN_BEFORE, onset + BEGAN_AFTER), ()
    except (NotAllowed, Refused, TryAgain) as error:
        return None, (f"Whether a bulk operation of DynamoDB writes {table} could not be read: {error}",)


def _began_with(onset: datetime, known: BackfillsUnknown | RunningBackfills) -> bool:
    running = known.backfills if isinstance(known, RunningBackfills) else ()
    return any(onset - BEGAN_BEFORE <= one.started_at <= onset + BEGAN_AFTER for one in running)
