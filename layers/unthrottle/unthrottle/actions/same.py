"""Is what a person approved still the change to make? A yes is for exactly one change. Pure.

What was approved is made as it was shown, number for number. The fresh plan must still call for it: the same action on the
same targets, which have the same before-state and the same tags. What the fresh look learnt beside that, it keeps.
"""

from dataclasses import replace

from unthrottle.plan import (
    CancelBackfill,
    CapConcurrency,
    CapEventSource,
    Change,
    Plan,
    RaiseCapacity,
    SwitchToOnDemand,
)


def agreed_change(asked: Plan | None, fresh: Plan | None) -> Plan | None:
    """Return the fresh plan with the approved change in it, or None where it calls for something else by now."""
    if asked is None or fresh is None or asked.action is not fresh.action:
        return None
    if [_target(change) for change in asked.changes] != [_target(change) for change in fresh.changes]:
        return None
    changes = tuple(_as_approved(old, new) for old, new in zip(asked.changes, fresh.changes, strict=True))
    return replace(
        fresh,
        changes=changes,
        commands=asked.commands,
        way_back_commands=asked.way_back_commands,
        effect=asked.effect,
        lease_minutes=asked.lease_minutes,
    )


def _target(change: Change) -> tuple[object, ...]:
    """Name what must be the same still: the target, what it has, and its tags, by which its owner speaks."""
    tags = tuple(sorted(change.tags.items()))
    match change:
        case CapConcurrency():
            return (change.kind, change.arn, change.before, tags)
        case CapEventSource():
            return (change.kind, change.uuid, change.knob, change.before, tags)
        case SwitchToOnDemand() | RaiseCapacity():
            return (change.kind, change.arn, change.before, tags)
        case CancelBackfill():
            return (change.kind, change.backfill_id, change.table, tags)


def _as_approved(asked: Change, fresh: Change) -> Change:
    """Take the approved after-state over; all else, such as whether callers wait, is as seen just now."""
    match asked, fresh:
        case CapConcurrency(), CapConcurrency():
            return replace(fresh, after=asked.after)
        case CapEventSource(), CapEventSource():
            return replace(fresh, after=asked.after)
        case RaiseCapacity(), RaiseCapacity():
            return replace(fresh, after=asked.after)
        case _:
            return fresh
