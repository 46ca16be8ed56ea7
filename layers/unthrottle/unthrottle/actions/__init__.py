"""The closed list of actions: what each needs, how it is done, and how it is given back.

One module for each action. `PERMISSIONS` is their union, and the Actor role holds exactly that.
"""

from unthrottle.actions import (
    cancel_backfill,
    cap_concurrency,
    cap_event_source,
    raise_capacity,
    switch_to_on_demand,
)
from unthrottle.actions.outcome import GiveBack
from unthrottle.actions.switch_to_on_demand import has_numbers
from unthrottle.backfills import BackfillsUnavailable
from unthrottle.errors import Refused, TryAgain
from unthrottle.evidence.table import Billing
from unthrottle.plan import CancelBackfill, CapConcurrency, CapEventSource, Change, RaiseCapacity, SwitchToOnDemand
from unthrottle.ports import Actor, Backfills, Observer

MODULES = (cancel_backfill, cap_concurrency, cap_event_source, raise_capacity, switch_to_on_demand)

PERMISSIONS: frozenset[str] = frozenset(permission for module in MODULES for permission in module.PERMISSIONS)
"""Every IAM action the Actor role needs; nothing else is granted to it."""


def compare(change: Change, actor: Actor, backfills: Backfills | None) -> None:
    """Read the target again. Raises Drifted when it is no longer what the diagnosis saw."""
    match change:
        case CapConcurrency():
            cap_concurrency.compare(change, actor)
        case CapEventSource():
            cap_event_source.compare(change, actor)
        case SwitchToOnDemand():
            switch_to_on_demand.compare(change, actor)
        case RaiseCapacity():
            raise_capacity.compare(change, actor)
        case CancelBackfill():
            try:
                cancel_backfill.compare(change, _dagy(backfills))
            except BackfillsUnavailable as error:
                raise TryAgain(str(error)) from error


def apply(change: Change, observer: Observer, actor: Actor, backfills: Backfills | None) -> Change:
    """Make the change and return it as made. Safe to repeat. Raises Refused, TryAgain."""
    match change:
        case CapConcurrency():
            return cap_concurrency.apply(change, observer, actor)
        case CapEventSource():
            return cap_event_source.apply(change, actor)
        case SwitchToOnDemand():
            return switch_to_on_demand.apply(change, actor)
        case RaiseCapacity():
            return raise_capacity.apply(change, actor)
        case CancelBackfill():
            try:
                return cancel_backfill.apply(change, _dagy(backfills))
            except BackfillsUnavailable as error:
                raise TryAgain(str(error)) from error


def give_back(change: Change, actor: Actor) -> GiveBack:
    """Put the before-state back if the value is still ours; otherwise say what is there. Safe to repeat."""
    match change:
        case CapConcurrency():
            return cap_concurrency.give_back(change, actor)
        case CapEventSource():
            return cap_event_source.give_back(change, actor)
        case SwitchToOnDemand():
            return switch_to_on_demand.give_back(change, actor)
        case RaiseCapacity():
            return raise_capacity.give_back(change, actor)
        case CancelBackfill():
            return cancel_backfill.give_back(change)


def is_in_force(change: Change, actor: Actor) -> bool:
    """Say whether the target has exactly our after-state: whether a change on record is still there."""
    match change:
        case CapConcurrency():
            return actor.reserved(change.function) == change.after
        case CapEventSource():
            return cap_event_source.value_of(change, actor.event_source(change.uuid)) == change.after
        case SwitchToOnDemand():
            return actor.table(change.table).billing is Billing.ON_DEMAND
        case RaiseCapacity():
            return has_numbers(actor.table(change.table), change.after)
        case CancelBackfill():
            return False  # dagy answers, or it does not; cancelling again is harmless


def made_after_all(change: Change, actor: Actor) -> Change | None:
    """Return a change whose try has no known end as it is in force, or None: what is returned is held and given back.

    It may be less than was planned: a cap that AWS's floor had made lower, autoscaling's bounds without the capacity.
    """
    match change:
        case CapConcurrency():
            return cap_concurrency.as_found(change, actor.reserved(change.function))
        case RaiseCapacity():
            return raise_capacity.as_found(change, actor)
        case _:
            return change if is_in_force(change, actor) else None


def compare_again(change: Change, actor: Actor) -> None:
    """Read the target before a second try, or a first one that comes late. Raises Drifted when it is somebody else's now.

    It goes on from the before-state, or from what an earlier try of ours has made. A backfill is not looked at: one that is
    listed no more may have ended by our own request, and dagy's answer to the next one says what is known.
    """
    if not isinstance(change, CancelBackfill) and made_after_all(change, actor) is None:
        compare(change, actor, None)


def _dagy(backfills: Backfills | None) -> Backfills:
    if backfills is None:
        raise Refused("Cannot ask dagy: it is not configured. Nothing was changed. Set DagyApiUrl.", code="no-dagy")
    return backfills
