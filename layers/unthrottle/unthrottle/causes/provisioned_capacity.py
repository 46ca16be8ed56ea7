"""Is a provisioned table, or one of its indexes, short of the capacity somebody gave it?

AWS's reason decides, not the utilisation: second-long spikes throttle while the minute's mean stays under the
capacity (AWS DynamoDB guide, metrics). Reads and writes, table and indexes are looked at apart; what is short is
named together, for raising one alone only shows the next.
"""

from datetime import datetime, timedelta

from unthrottle.causes import checks
from unthrottle.causes.capacity_change import AT_MAXIMUM, at_maximum
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.table_view import TableView, Throttled
from unthrottle.causes.wording import clock, names, number
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected
from unthrottle.evidence.table import Throttle, Way

MOSTLY = 0.8
"""With this part of all throttles, capacity is the whole story."""

BUSY = 0.7
"""Consumption near the capacity confirms AWS's reason; far below, only short spikes can explain it."""

LOWERED_WITHIN = timedelta(hours=1)
"""A decrease this long before the throttling is worth naming as the likely beginning."""


def consider(view: TableView) -> Opinion:
    """High: nearly all throttles, and consumption near capacity. Medium: mixed, or only spikes can explain it."""
    short = [item for item in view.throttled if item.reason is Throttle.PROVISIONED]
    events = sum(item.events for item in short)
    if not short:
        return _none(view)
    if view.is_on_demand:
        because = f"{number(events)} throttles by provisioned capacity, but the table is described as on-demand."
        return Rejected(cause=Cause.PROVISIONED_CAPACITY, because=because)
    few = view.side_effect(Cause.PROVISIONED_CAPACITY, events)
    if few is not None:
        return few
    indexes = list(dict.fromkeys(item.index for item in short))
    busy = any(_is_busy(view, item) for item in short)
    return Diagnosis(
        cause=Cause.PROVISIONED_CAPACITY,
        confidence=Confidence.HIGH if busy and events >= MOSTLY * view.total else Confidence.MEDIUM,
        targets=(view.table,),
        victims=(view.table,),
        index=indexes[0] if None not in indexes else None,
        findings=(*(view.finding(item) for item in short), *_more(view, short, busy=busy)),
    )


def _none(view: TableView) -> Opinion:
    if view.is_on_demand or not view.throttled:
        return None
    because = f"None of {number(view.total)} throttles is by provisioned capacity."
    return Rejected(cause=Cause.PROVISIONED_CAPACITY, because=because)


def _is_busy(view: TableView, item: Throttled) -> bool:
    used, capacity = view.consumed(item.index, item.way), view.capacity(item.index, item.way)
    return used is not None and capacity is not None and used >= BUSY * capacity


def _consumed(way: Way) -> str:
    return f"Consumed{way.capitalize()}CapacityUnits"


def _of(view: TableView, index: str | None, way: Way) -> str:
    """Say how much of a unit's capacity was consumed, where both are known."""
    used, capacity = view.consumed(index, way), view.capacity(index, way)
    if used is None or capacity is None:
        return ""
    return f" (at most {number(used)} of {number(capacity)} {way} units a second)"


def _more(view: TableView, short: list[Throttled], *, busy: bool) -> tuple[Finding, ...]:
    found: list[Finding] = []
    indexes = [item.index for item in short if item.index is not None]
    if indexes and all(item.index is not None for item in short):
        way = Way.WRITE if any(item.way is Way.WRITE for item in short) else Way.READ
        effect = "which throttles the table's writes" if way is Way.WRITE else "which touches reads of the index only"
        text = f"The table itself has room{_of(view, None, way)}; index {names(list(dict.fromkeys(indexes)))} is short, {effect}."
        found.append(Finding(text=text, check=view.check(_consumed(way))))
    if not busy:
        text = (
            f"Consumption stayed below the capacity in every minute{_of(view, short[0].index, short[0].way)}: spikes of "
            "seconds, or large items, spend it."
        )
        found.append(Finding(text=text, check=view.check(_consumed(short[0].way), short[0].index)))
    stuck = (at_maximum(view, item.index, item.way) for item in short)
    maxed = next((activity for activity in stuck if activity is not None), None)
    if maxed is not None:
        text = f"Autoscaling cannot help: it found its target at the maximum at {clock(maxed.at)} ({AT_MAXIMUM})."
        found.append(Finding(text=text, check=checks.scaling_activities(view.table, maxed.index)))
    found += [_lowered(view, index, at) for index, at in _decreases(view, short)]
    return tuple(found)


def _decreases(view: TableView, short: list[Throttled]) -> list[tuple[str | None, datetime]]:
    """Name each unit that is short and was lowered shortly before; the decrease of one that has room is no beginning."""
    return [
        (index, at)
        for index in dict.fromkeys(item.index for item in short)
        if (at := view.evidence.settings.decreased_at(index)) is not None
        and timedelta(0) <= view.work_start - at <= LOWERED_WITHIN
    ]


def _lowered(view: TableView, index: str | None, at: datetime) -> Finding:
    whose = "The capacity" if index is None else f"The capacity of index {index}"
    text = f"{whose} was lowered at {clock(at)}, shortly before the throttling."
    return Finding(text=text, check=checks.describe_table(view.table))
