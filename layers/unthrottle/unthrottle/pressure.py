"""Is what caused a change still there at the end of its lease? Reads, then decides; gone only on proof.

A cap is still needed while the capped function stays at its cap or is throttled by it; on-demand while the load of the last
lease would not fit in the saved capacity. What cannot be read counts as still there.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from unthrottle.actions import cap_event_source
from unthrottle.evidence.read_table import read_units
from unthrottle.evidence.table import Way
from unthrottle.incident import Incident
from unthrottle.plan import (
    CancelBackfill,
    CapConcurrency,
    CapEventSource,
    Change,
    RaiseCapacity,
    SavedTable,
    SwitchToOnDemand,
)
from unthrottle.ports import MetricQuery, Observer

LOOK_BACK = timedelta(minutes=20)
TABLE_LOOK_BACK = timedelta(hours=3)
"""How far back a table's peak is looked for, within the lease: what raised the symptom is no measure of what is now."""
RECENT = timedelta(minutes=10)
AT_THE_CAP = 0.9
"""Share of its cap above which a function would take more if it could."""
FITS = 0.8
"""Share of the saved capacity the load must stay under to be given back to it: autoscaling's usual target is 70 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """Whether the cause is gone, and what that rests on."""

    is_gone: bool
    because: str


def pressure_on(observer: Observer, incident: Incident, now: datetime) -> Pressure:
    """Look at every change of the incident; gone only if it is gone for all of them."""
    bounds: dict[str, list[int]] = {}
    for made in incident.applied:
        if isinstance(made.change, CapEventSource):
            bounds.setdefault(made.change.function, []).append(_bound(made.change))
    minutes = incident.plan.lease_minutes if incident.plan else None
    back = min(TABLE_LOOK_BACK, timedelta(minutes=minutes)) if minutes else TABLE_LOOK_BACK
    found = [_pressure(observer, made.change, now, bounds, back) for made in incident.applied]
    still = [item for item in found if not item.is_gone]
    chosen = still or found
    return Pressure(is_gone=not still, because="; ".join(item.because for item in chosen))


def _bound(change: CapEventSource) -> int:
    """Return about how many executions one capped mapping lets its function have; a function's mappings add up."""
    return max(1, round(cap_event_source.holds_to(change, change.peak)))


def _pressure(
    observer: Observer, change: Change, now: datetime, bounds: dict[str, list[int]], back: timedelta
) -> Pressure:
    match change:
        case CapConcurrency():
            return _on_function(observer, change.function, change.after, now)
        case CapEventSource():
            return _on_function(observer, change.function, sum(bounds[change.function]), now)
        case SwitchToOnDemand() | RaiseCapacity():
            return _on_table(observer, change.table, change.before, now, back)
        case CancelBackfill():
            return Pressure(is_gone=True, because="a cancelled backfill is not given back")


def _on_function(observer: Observer, function: str, cap: int, now: datetime) -> Pressure:
    end = now.replace(second=0, microsecond=0)
    dimensions = (("FunctionName", function),)
    answer = observer.metrics.read(
        [
            MetricQuery(
                id="held", namespace="AWS/Lambda", name="ConcurrentExecutions", stat="Maximum", dimensions=dimensions
            ),
            MetricQuery(id="refused", namespace="AWS/Lambda", name="Throttles", stat="Sum", dimensions=dimensions),
            MetricQuery(id="account", namespace="AWS/Lambda", name="ConcurrentExecutions", stat="Maximum"),
        ],
        start=end - LOOK_BACK,
        end=end,
    ).series
    recent = end - RECENT
    if answer["account"].between(recent, end).is_empty:
        return Pressure(is_gone=False, because="no recent concurrency of the account could be read")
    held, refused = answer["held"].between(recent, end).peak(), answer["refused"].between(recent, end).sum()
    if refused > 0:
        return Pressure(is_gone=False, because=f"{function} was throttled {refused:,.0f} times in 10 min by its cap")
    if held is not None and held >= cap * AT_THE_CAP:
        return Pressure(is_gone=False, because=f"{function} still holds {held:,.0f} of its cap of {cap}")
    return Pressure(is_gone=True, because=f"{function} holds {held or 0:,.0f}, well under its cap of {cap}")


def _on_table(observer: Observer, table: str, before: SavedTable, now: datetime, back: timedelta) -> Pressure:
    described = observer.tables.describe(table)
    end = now.replace(second=0, microsecond=0)
    units = read_units(observer, described, end - back, end)
    for unit in units:
        capacity = before.capacity if unit.index is None else before.indexes.get(unit.index, before.capacity)
        name = table if unit.index is None else f"{table}/{unit.index}"
        if unit.index is None and all(series.between(end - RECENT, end).is_empty for series in unit.consumed.values()):
            return Pressure(is_gone=False, because=f"no recent consumption of {name} could be read")
        for way, has in ((Way.READ, capacity.read), (Way.WRITE, capacity.write)):
            peak = (unit.consumed[way].peak() or 0.0) / 60
            if peak > has * FITS:
                return Pressure(
                    is_gone=False,
                    because=(
                        f"{name} took up to {peak:,.0f} {way.value} units/s in the last "
                        f"{back.total_seconds() / 3600:g} h; {has} saved would not hold that"
                    ),
                )
    return Pressure(is_gone=True, because=f"the load of {table} fits in the saved capacity")
