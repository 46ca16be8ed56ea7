"""Raise the provisioned capacity of what is short, table and indexes in one call; nothing is ever lowered along with it.

Where autoscaling looks after the unit, its bounds are raised too: a bare number inside the bounds is pulled back within
about 90 seconds on an idle table, and that spends a decrease (measured, DynamoDB quirks lab 314-316).
"""

import math
import shlex
from dataclasses import replace

from unthrottle.actions.outcome import GiveBack, GivenBack, LeftAlone, NotYet
from unthrottle.actions.switch_to_on_demand import drifted, has_numbers, provisioned_options, saved, standing
from unthrottle.errors import Refused
from unthrottle.evidence.table import Billing, Capacity, ScalingTarget, TableEvidence, Throttle, UnitMetrics, Way
from unthrottle.plan import RaiseCapacity, SavedTable
from unthrottle.ports import Actor

PERMISSIONS = (
    "dynamodb:DescribeTable",
    "dynamodb:UpdateTable",
    "application-autoscaling:RegisterScalableTarget",
)

HEADROOM = 1.3
MOST_TIMES = 4
TABLE_QUOTA = 40_000
"""Default per-table quota of read and of write units (AWS DynamoDB guide, quotas)."""


def wanted_units(unit: UnitMetrics, way: Way, now: int) -> int:
    """Return the capacity one unit should have: what was wanted at the worst minute plus headroom, at most four times.

    The same as now where nothing was throttled for want of provisioned capacity.
    """
    if unit.throttles[way][Throttle.PROVISIONED].sum() <= 0:
        return now
    peak = max(
        (
            (used or 0.0) + (refused or 0.0)
            for used, refused in zip(unit.consumed[way].values, unit.throttle_events[way].values, strict=False)
        ),
        default=0.0,
    )
    return max(now, min(max(now + 1, min(math.ceil(peak / 60 * HEADROOM), now * MOST_TIMES)), TABLE_QUOTA))


def change(evidence: TableEvidence) -> RaiseCapacity:
    """Make the change for the table and all indexes that are short."""
    before = saved(evidence)

    def raised(index: str | None, now: Capacity) -> Capacity:
        unit = evidence.unit(index)
        if unit is None:
            return now
        return Capacity(read=wanted_units(unit, Way.READ, now.read), write=wanted_units(unit, Way.WRITE, now.write))

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
    """Give the AWS CLI command for the change and for its way back."""
    call = f"aws dynamodb update-table --table-name {shlex.quote(item.table)}"
    return call + provisioned_options(item.after), call + provisioned_options(item.before)


def compare(item: RaiseCapacity, actor: Actor) -> None:
    """Raise Drifted when the table is no longer what the diagnosis saw, or a change is under way."""
    table = actor.table(item.table)
    if table.billing is not Billing.PROVISIONED or not table.is_settled or not has_numbers(table, item.before):
        raise drifted(table, item.before, "raise the capacity of")


def apply(item: RaiseCapacity, actor: Actor) -> RaiseCapacity:
    """Raise the scaling maxima, the numbers, then the minima. A resumed run whose numbers are in force already goes on.

    A raised minimum makes autoscaling raise the table by itself within seconds (measured, DynamoDB quirks lab 314), and
    DynamoDB refuses our numbers while that is under way; so the minima come last.
    """
    roomy = tuple(replace(target, minimum=old.minimum) for target, old in _both(item))
    if roomy != item.before.scaling:
        actor.set_scaling(item.table, roomy)
    try:
        actor.set_provisioned(item.table, item.after, from_on_demand=False)
    except Refused as refusal:
        in_use = refusal.code in {"ResourceInUseException", "ValidationException"}
        if not (in_use and has_numbers(actor.table(item.table), item.after)):
            if roomy != item.before.scaling:
                actor.set_scaling(item.table, item.before.scaling)  # nothing was changed must be true
            raise
    if item.after.scaling != roomy:
        actor.set_scaling(item.table, item.after.scaling)
    return item


def _both(item: RaiseCapacity) -> list[tuple[ScalingTarget, ScalingTarget]]:
    """Pair each scaling target as wanted with the same one as it was."""
    return list(zip(item.after.scaling, item.before.scaling, strict=True))


def give_back(item: RaiseCapacity, actor: Actor) -> GiveBack:
    """Put the saved numbers and bounds back; only if the numbers are still ours. Decreases have a daily budget."""
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
    try:
        # The bounds first: a process that dies in between finds its own numbers again and goes on.
        if item.before.scaling != item.after.scaling:
            actor.set_scaling(item.table, wanted.scaling)
        actor.set_provisioned(item.table, wanted, from_on_demand=False)
    except Refused as refusal:
        if refusal.code == "LimitExceededException":
            return NotYet(because=str(refusal))
        raise
    return GivenBack(
        detail=f"table {item.table}: back to {item.before.capacity.read} read and {item.before.capacity.write} write units"
    )
