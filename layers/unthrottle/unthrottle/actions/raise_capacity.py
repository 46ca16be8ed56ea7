"""Raise the provisioned capacity of what is short, table and indexes in one call; nothing is ever lowered along with it.

Where autoscaling looks after the unit, its bounds are raised too: a bare number inside the bounds is pulled back within
about 90 seconds on an idle table, and that spends a decrease (measured, DynamoDB quirks lab 314-316).
"""

import logging
import math
import shlex
from collections.abc import Sequence
from dataclasses import replace

from unthrottle.actions.outcome import GiveBack, GivenBack, LeftAlone, NotYet
from unthrottle.actions.scaling_bounds import bounds_back
from unthrottle.actions.switch_to_on_demand import compare_with, has_numbers, provisioned_options, saved, standing
from unthrottle.errors import Refused, TryAgain
from unthrottle.evidence.table import Billing, Capacity, ScalingTarget, TableEvidence, Throttle, UnitMetrics, Way
from unthrottle.plan import RaiseCapacity, SavedTable
from unthrottle.ports import Actor

log = logging.getLogger("unthrottle")

PERMISSIONS = (
    "dynamodb:DescribeTable",
    "dynamodb:UpdateTable",
    "application-autoscaling:DescribeScalableTargets",
    "application-autoscaling:RegisterScalableTarget",
    "cloudwatch:DeleteAlarms",  # these three: Application Auto Scaling tries them for whoever registers a target
    "cloudwatch:DescribeAlarms",
    "cloudwatch:PutMetricAlarm",
)

HEADROOM = 1.3
MOST_TIMES = 4
TABLE_QUOTA = 40_000
"""Default per-table quota of read and of write units (AWS DynamoDB guide, quotas)."""


QUOTA_REACHED = "LimitExceededException"
"""DynamoDB's code for a quota and for a spent budget (DynamoDB API, UpdateTable)."""

QUOTAS = "dynamodb L-34F6A552 (account read) or L-34F8CCC8 (account write), L-CF0CBE56 or L-AB614373 (one table)"
"""Service Quotas of provisioned capacity: what a raise that AWS refuses has met."""


def wanted_units(unit: UnitMetrics, way: Way, now: int) -> int:
    """Return the capacity a unit that is short should have: what the worst minute wanted plus headroom, at most four
    times."""
    peak = max(
        (
            (used or 0.0) + (refused or 0.0)
            for used, refused in zip(unit.consumed[way].values, unit.throttle_events[way].values, strict=False)
        ),
        default=0.0,
    )
    return max(now, min(max(now + 1, min(math.ceil(peak / 60 * HEADROOM), now * MOST_TIMES)), TABLE_QUOTA))


def is_short(evidence: TableEvidence, unit: UnitMetrics, way: Way) -> bool:
    """Say whether a unit was throttled for want of provisioned capacity within the minutes the diagnosis explains.

    One that was short hours ago, and was mended since, is not raised along with another.
    """
    start = evidence.work_start
    return start is not None and unit.throttles[way][Throttle.PROVISIONED].between(start, evidence.end).sum() > 0


def change(evidence: TableEvidence) -> RaiseCapacity:
    """Make the change for the table and all indexes that are short."""
    before = saved(evidence)

    def raised(index: str | None, now: Capacity) -> Capacity:
        unit = evidence.unit(index)
        if unit is None:
            return now
        read = wanted_units(unit, Way.READ, now.read) if is_short(evidence, unit, Way.READ) else now.read
        write = wanted_units(unit, Way.WRITE, now.write) if is_short(evidence, unit, Way.WRITE) else now.write
        return Capacity(read=read, write=write)

    after = SavedTable(
        capacity=raised(None, before.capacity),
        indexes={name: raised(name, capacity) for name, capacity in before.indexes.items()},
    )
    scaling = []
    for target in before.scaling:
        had, units = _units_of(before, target), _units_of(after, target)
        is_raised = units > had  # bounds of what is not short stay as they are
        scaling.append(
            replace(target, minimum=max(target.minimum, units), maximum=max(target.maximum, units))
            if is_raised
            else target
        )
    return RaiseCapacity(
        table=evidence.settings.name,
        arn=evidence.settings.arn,
        before=before,
        after=replace(after, scaling=tuple(scaling)),
        tags=evidence.tags,
    )


def raises_nothing(item: RaiseCapacity) -> bool:
    """Say whether every number stays as it is: all that is short is at the quota already."""
    return (item.after.capacity, item.after.indexes) == (item.before.capacity, item.before.indexes)


def _units_of(numbers: SavedTable, target: ScalingTarget) -> int:
    capacity = numbers.capacity if target.index is None else numbers.indexes.get(target.index)
    return 0 if capacity is None else capacity.read if target.way is Way.READ else capacity.write


def commands(item: RaiseCapacity) -> tuple[str, str]:
    """Give the AWS CLI commands for the change and for its way back, each as one line, in the order of `apply`.

    Only what differs is named: DynamoDB refuses a number that would not change, and autoscaling undoes a raise whose bounds
    stay (measured, DynamoDB quirks lab 314-316).
    """
    numbers = f"aws dynamodb update-table --table-name {shlex.quote(item.table)}"
    roomy = tuple(replace(target, minimum=old.minimum) for target, old in _both(item))
    there = [
        *_bounds_commands(item.table, roomy, item.before.scaling),
        numbers + provisioned_options(item.after, differing_from=item.before),
        *_bounds_commands(item.table, item.after.scaling, roomy),
    ]
    back = [
        *_bounds_commands(item.table, item.before.scaling, item.after.scaling),
        numbers + provisioned_options(item.before, differing_from=item.after),
    ]
    return " && ".join(there), " && ".join(back)


def _bounds_commands(table: str, wanted: Sequence[ScalingTarget], present: Sequence[ScalingTarget]) -> list[str]:
    found = []
    for target in (target for target in wanted if target not in present):
        owner, resource = "table", f"table/{table}"
        if target.index is not None:
            owner, resource = "index", f"{resource}/index/{target.index}"
        found.append(
            "aws application-autoscaling register-scalable-target --service-namespace dynamodb "
            f"--resource-id {shlex.quote(resource)} "
            f"--scalable-dimension dynamodb:{owner}:{target.way.capitalize()}CapacityUnits "
            f"--min-capacity {target.minimum} --max-capacity {target.maximum}"
        )
    return found


def compare(item: RaiseCapacity, actor: Actor) -> None:
    """Raise Drifted when the table is no longer what the diagnosis saw."""
    compare_with(item.before, actor.table(item.table), "raise the capacity of")


def apply(item: RaiseCapacity, actor: Actor) -> RaiseCapacity:
    """Raise the scaling maxima, the numbers, then the minima. A resumed run whose numbers are in force already goes on.

    A raised minimum makes autoscaling raise the table by itself within seconds (measured, DynamoDB quirks lab 314), and
    DynamoDB refuses our numbers while that is under way; so the minima come last. Refused then, they stay as they were, and
    the change returned says so: the capacity is in force, and has to be given back.
    """
    widened = _widen(item, actor)
    try:
        actor.set_provisioned(item.table, item.after, from_on_demand=False)
    except Refused as refusal:
        in_use = refusal.code in {"ResourceInUseException", "ValidationException"}
        table = actor.table(item.table) if in_use else None
        if table is not None and not has_numbers(table, item.after) and not table.is_settled:
            raise TryAgain(f"{refusal} Table {item.table} is {table.status}, by us or by somebody else.") from refusal
        if table is None or not has_numbers(table, item.after):
            _narrow(item, actor, widened, refusal)
            if refusal.code == QUOTA_REACHED:  # a raise spends no decrease: nothing but a quota is in its way
                raise Refused(f"{refusal} Request a higher quota: {QUOTAS}.", code=refusal.code) from refusal
            raise
    return replace(item, after=replace(item.after, scaling=_with_minima(item, actor)))


def _widen(item: RaiseCapacity, actor: Actor) -> tuple[ScalingTarget, ...]:
    """Raise the maxima that are too low, all or none. Returns those targets as they were."""
    widened: list[ScalingTarget] = []
    for target, old in _both(item):
        if target.maximum == old.maximum:
            continue
        try:
            actor.set_scaling(item.table, (replace(target, minimum=old.minimum),))
        except Refused as refusal:
            _narrow(item, actor, tuple(widened), refusal)
            raise
        widened.append(old)
    return tuple(widened)


def _narrow(item: RaiseCapacity, actor: Actor, widened: tuple[ScalingTarget, ...], refusal: Refused) -> None:
    """Put widened bounds back: that nothing was changed must be true. Raises Refused that says so where it is not."""
    if not widened:
        return
    try:
        actor.set_scaling(item.table, widened)
    except Refused as second:
        raise Refused(
            f"The capacity of table {item.table} was not raised, but maxima of its autoscaling were, and could not be put back "
            f"({second.code}). Set them by hand as they were: {', '.join(_bounds(target) for target in widened)}. "
            f"Refused was: {str(refusal).replace('Nothing was changed.', '').strip()}",
            code=refusal.code,
        ) from second


def _with_minima(item: RaiseCapacity, actor: Actor) -> tuple[ScalingTarget, ...]:
    """Raise the minima, so that autoscaling does not take the numbers back. Returns the targets as they are then."""
    made = []
    for target, old in _both(item):
        roomy = replace(target, minimum=old.minimum)
        if target != roomy:
            try:
                actor.set_scaling(item.table, (target,))
            except Refused as refusal:
                log.warning("action.minimum-not-raised", extra={"target": item.table, "error": str(refusal)})
                made.append(roomy)
                continue
        made.append(target)
    return tuple(made)


def _bounds(target: ScalingTarget) -> str:
    of = "the table" if target.index is None else f"index {target.index}"
    return f"{target.way.value}s of {of} {target.minimum} to {target.maximum}"


def as_found(item: RaiseCapacity, actor: Actor) -> RaiseCapacity | None:
    """Return the change as it is in force after a try whose end is not known, or None where nothing of it is.

    A change of capacity that is under way a moment after ours counts as ours: DescribeTable shows the old numbers until it is
    done, and giving back compares the new ones. Bounds that were widened for numbers that never came are all there is then.
    """
    table = actor.table(item.table)
    if has_numbers(table, item.after):
        return item
    if table.billing is not Billing.PROVISIONED or not has_numbers(table, item.before):
        return None
    if not table.is_settled:
        return item
    widened = {(new.way, new.index): new.maximum for new, old in _both(item) if new.maximum != old.maximum}
    found = actor.scaling_targets(item.table) if widened else ()
    ours = {(now.way, now.index) for now in found if widened.get((now.way, now.index)) == now.maximum}
    if not ours:
        return None
    scaling = tuple(
        replace(old, maximum=new.maximum) if (old.way, old.index) in ours else old for new, old in _both(item)
    )
    return replace(item, after=replace(item.before, scaling=scaling))


def _both(item: RaiseCapacity) -> list[tuple[ScalingTarget, ScalingTarget]]:
    """Pair each scaling target as wanted with the same one as it was."""
    return list(zip(item.after.scaling, item.before.scaling, strict=True))


def give_back(item: RaiseCapacity, actor: Actor) -> GiveBack:
    """Put the saved numbers and bounds back; only if the numbers are still ours. Decreases have a daily budget.

    Bounds that somebody set meanwhile stay and are told. Those that were not raised were never ours.
    """
    table = actor.table(item.table)
    if table.billing is not Billing.PROVISIONED or not has_numbers(table, item.after):
        return LeftAlone(
            found=f"table {item.table} is {table.billing.value} with {table.capacity.read} read and "
            f"{table.capacity.write} write units, or an index differs: not what was set",
            is_back=table.billing is Billing.PROVISIONED and has_numbers(table, item.before),
        )
    if not table.is_settled:
        return NotYet(because=f"table {item.table} is {table.status}")
    wanted = standing(item.before, table)
    raised = [target for target in wanted.scaling if target not in item.after.scaling]
    bounds = bounds_back(raised, item.after.scaling, actor.scaling_targets(item.table) if raised else ())
    try:
        # The bounds first: a process that dies in between finds its own numbers again and goes on.
        if bounds.wanted:
            actor.set_scaling(item.table, bounds.wanted)
        actor.set_provisioned(item.table, wanted, from_on_demand=False)
    except Refused as refusal:
        if refusal.code == QUOTA_REACHED:  # on the way down it is the day's budget of decreases
            return NotYet(because=str(refusal))
        raise
    return GivenBack(
        detail=f"table {item.table}: back to {item.before.capacity.read} read and {item.before.capacity.write} write units"
        + bounds.words,
        left=bounds.left,
    )
