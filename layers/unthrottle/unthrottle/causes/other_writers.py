"""Which writer that is no backfill explains a jump in writes: another Region, a bulk operation, dagy's scheduler?

Named only by a measurement of its own that rises with the table's writes; a jump alone is a load like any other, and
capacity answers it. Unthrottle stops none of them: a person is told which one it is and what stops it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from unthrottle.causes import checks
from unthrottle.causes.table_view import JUMP, MINUTE, Jump, TableView
from unthrottle.causes.wording import clock, names, number, percent
from unthrottle.diagnosis import Cause, Diagnosis, Finding, Writer, WriterKind
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import BulkOperation, Way

FED = frozenset(
    {Cause.PROVISIONED_CAPACITY, Cause.ON_DEMAND_RAMP, Cause.HOT_KEY, Cause.HOT_INDEX, Cause.ON_DEMAND_CEILING}
)
"""Causes behind which such a writer may stand. A quota is reached whoever writes, and a change under way is waited for."""

WRITES = 0.5
"""At least this part of the throttles must be writes."""

SHARE = 0.5
"""Another Region writes at least this part of what is consumed now; less, and this Region's own writers count for more."""

SMALLEST = 1.0
"""Write units a second of the schedules table below which its writes tell nothing of a scheduler."""

TOGETHER = timedelta(minutes=3)
"""So near to each other two rises are one: a scheduler writes its schedules in the minute in which it makes runs."""

BEGAN_BEFORE = timedelta(minutes=15)
BEGAN_AFTER = timedelta(minutes=2)
"""A bulk operation reads its input before it writes; and clocks and minutes do not meet exactly."""

_WRITTEN = "ConsumedWriteCapacityUnits"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A writer with the finding that names it."""

    writer: Writer
    finding: Finding


def name(view: TableView, diagnosis: Diagnosis) -> Named | None:
    """Name the writer behind a diagnosis of the table, the surest first; None where none is told by its own measure."""
    writes = sum(item.events for item in view.throttled if item.way is Way.WRITE) + view.unknown
    jump = view.jump(Way.WRITE)
    if diagnosis.cause not in FED or jump is None or writes < WRITES * view.total:
        return None
    return _bulk(view, jump) or _other_region(view, jump) or _scheduler(view, jump)


def excluded(view: TableView, jump: Jump) -> list[str]:
    """Say in words which of the three were looked for and are not behind the jump, with their numbers."""
    others, said = view.evidence.writers, []
    if others.replicated is not None:
        part = _rate(others.replicated, view)
        if part is not None:
            said.append(f"other Regions write {number(part)} units a second of it")
    if others.schedules is not None and not others.schedules.is_empty:
        said.append(f"the writes of {others.schedules_table} did not rise with it")
    if others.bulk is not None:
        said.append(f"no bulk operation into the table began near {clock(jump.onset)}")
    return said


def _bulk(view: TableView, jump: Jump) -> Named | None:
    found = [
        one
        for one in view.evidence.writers.bulk or ()
        if jump.onset - BEGAN_BEFORE <= one.started_at <= jump.onset + BEGAN_AFTER
    ]
    if not found:
        return None
    nearest: BulkOperation = min(found, key=lambda one: abs(one.started_at - jump.onset))
    most = "" if nearest.most is None else f", at most {number(nearest.most)} units a second,"
    text = (
        f"Bulk operation {nearest.arn} into {view.table} began at {clock(nearest.started_at)}{most} and is in progress; "
        f"writes rose from {number(jump.before)} to {number(jump.after)} units a second at {clock(jump.onset)}."
    )
    return Named(
        writer=Writer(kind=WriterKind.BULK_OPERATION, name=nearest.arn),
        finding=Finding(text=text, check=checks.bulk_operation(nearest.arn)),
    )


def _other_region(view: TableView, jump: Jump) -> Named | None:
    replicated, customer = view.evidence.writers.replicated, view.evidence.writers.customer
    if replicated is None or not view.evidence.settings.replicas:
        return None
    theirs = _rate(replicated, view)
    ours = 0.0 if customer is None else _rate(customer, view) or 0.0
    earlier = _before(replicated, jump.onset)
    if not theirs or theirs < SHARE * (theirs + ours) or theirs < JUMP * earlier:
        return None
    regions = names(view.evidence.settings.replicas)
    text = (
        f"Writes replicated from other Regions ({regions}) rose from {number(earlier)} to {number(theirs)} consumed units a "
        f"second at {clock(jump.onset)}, {percent(theirs, theirs + ours)} of all; this Region's own callers write "
        f"{number(ours)}."
    )
    check = checks.table_metric(
        _WRITTEN, view.work_start, view.newest + MINUTE, table=view.table, index=None, more=(("Source", "GlobalTable"),)
    )
    return Named(writer=Writer(kind=WriterKind.OTHER_REGION, name=regions), finding=Finding(text=text, check=check))


def _scheduler(view: TableView, jump: Jump) -> Named | None:
    table, written = view.evidence.writers.schedules_table, view.evidence.writers.schedules
    if table is None or written is None:
        return None
    now, earlier = _rate(written, view) or 0.0, _before(written, jump.onset)
    onset = _onset(written, jump.onset, now)
    if onset is None or now < max(SMALLEST, JUMP * earlier) or abs(onset - jump.onset) > TOGETHER:
        return None
    text = (
        f"Writes of {table} rose with it, from {number(earlier)} to {number(now)} consumed units a second at {clock(onset)}: "
        "dagy's scheduler makes runs of its schedules, which is no backfill."
    )
    check = checks.table_metric(_WRITTEN, view.work_start, view.newest + MINUTE, table=table, index=None)
    return Named(writer=Writer(kind=WriterKind.SCHEDULER, name=table), finding=Finding(text=text, check=check))


def _rate(series: Series, view: TableView) -> float | None:
    """Return the median of the units a second of the newest minutes; None without datapoints."""
    known = series.between(view.recent_start - 2 * MINUTE, view.newest + MINUTE).known
    return median(known) / series.period_s if known else None


def _before(series: Series, onset: datetime) -> float:
    """Return the median of the units a second before a moment; nothing was written where nothing was measured."""
    known = [value for at, value in enumerate(series.values) if value is not None and series.time_of(at) < onset]
    return median(known) / series.period_s if known else 0.0


def _onset(series: Series, near: datetime, level: float) -> datetime | None:
    """Return the first minute, from shortly before a moment on, that is half way up to a level in units a second."""
    middle = (_before(series, near - TOGETHER) + level) / 2 * series.period_s
    for at, value in enumerate(series.values):
        if value is not None and value >= middle and series.time_of(at) >= near - TOGETHER - MINUTE:
            return series.time_of(at)
    return None
