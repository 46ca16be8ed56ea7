"""Switch a provisioned table to on-demand; give it back with the saved numbers for the table and every index.

A switch takes minutes, during which the old capacity stays in force; AWS allows four in a rolling 24 hours and the way back
at any time (AWS DynamoDB guide, considerations when switching capacity modes). On-demand tables show capacity 0/0, so the
numbers and the scaling targets are saved before.
"""

import shlex
from dataclasses import replace

from unthrottle.actions.outcome import GiveBack, GivenBack, LeftAlone, NotYet
from unthrottle.actions.scaling_bounds import BoundsBack, bounds_back
from unthrottle.errors import Drifted, Refused
from unthrottle.evidence.table import Billing, Capacity, TableEvidence, TableSettings, Way
from unthrottle.plan import SavedTable, SwitchToOnDemand
from unthrottle.ports import Actor

PERMISSIONS = (
    "dynamodb:DescribeTable",
    "dynamodb:UpdateTable",
    "application-autoscaling:DescribeScalableTargets",
    "application-autoscaling:RegisterScalableTarget",
    # Not ours to call: to register a target, Application Auto Scaling tries with its caller's rights whether the caller could
    # keep alarms (its user guide, "Permissions validation for API calls on target resources").
    "cloudwatch:DeleteAlarms",
    "cloudwatch:DescribeAlarms",
    "cloudwatch:PutMetricAlarm",
)

PRICE_PER_MILLION = {Way.WRITE: 0.625, Way.READ: 0.125}
"""USD for a million on-demand request units, standard class, us-east-1, price list of November 2024."""


def saved(evidence: TableEvidence) -> SavedTable:
    """Save what a provisioned table has now."""
    return SavedTable(
        capacity=evidence.settings.capacity,
        indexes={index.name: index.capacity for index in evidence.settings.indexes},
        scaling=evidence.scaling,
    )


def change(evidence: TableEvidence) -> SwitchToOnDemand:
    return SwitchToOnDemand(
        table=evidence.settings.name,
        arn=evidence.settings.arn,
        before=saved(evidence),
        hourly_cost=hourly_cost(evidence),
        tags=evidence.tags,
        replicas=evidence.settings.replicas,
    )


def hourly_cost(evidence: TableEvidence) -> float | None:
    """Estimate the on-demand cost of an hour at the highest demand seen, in USD; None without any data."""
    cost, seen = 0.0, False
    for unit in evidence.units:
        for way in Way:
            per_minute = [
                (used or 0.0) + (refused or 0.0)
                for used, refused in zip(unit.consumed[way].values, unit.throttle_events[way].values, strict=False)
            ]
            if unit.consumed[way].is_empty:
                continue
            seen = True
            cost += max(per_minute, default=0.0) * 60 / 1_000_000 * PRICE_PER_MILLION[way]
    return round(cost, 2) if seen else None


def commands(item: SwitchToOnDemand) -> tuple[str, str]:
    """Give the AWS CLI command for the change and for its way back."""
    call = f"aws dynamodb update-table --table-name {shlex.quote(item.table)} --billing-mode "
    return call + "PAY_PER_REQUEST", call + "PROVISIONED" + provisioned_options(item.before)


def provisioned_options(wanted: SavedTable, *, differing_from: SavedTable | None = None) -> str:
    """Write a table's and its indexes' capacity as options of ``aws dynamodb update-table``.

    All of it, as the way back from on-demand needs; or only what differs from `differing_from`, since DynamoDB refuses a
    number that would not change (measured, DynamoDB quirks lab).
    """
    words, had = "", {} if differing_from is None else differing_from.indexes
    if differing_from is None or wanted.capacity != differing_from.capacity:
        words += f" --provisioned-throughput {_units(wanted.capacity)}"
    updates = " ".join(
        shlex.quote(f"Update={{IndexName={name},ProvisionedThroughput={{{_units(capacity)}}}}}")
        for name, capacity in wanted.indexes.items()
        if had.get(name) != capacity
    )
    return words + (f" --global-secondary-index-updates {updates}" if updates else "")


def _units(capacity: Capacity) -> str:
    return f"ReadCapacityUnits={capacity.read},WriteCapacityUnits={capacity.write}"


def has_numbers(table: TableSettings, numbers: SavedTable) -> bool:
    """Say whether the table and every index it shares with `numbers` have exactly that capacity."""
    return table.capacity == numbers.capacity and all(
        index.capacity == numbers.indexes[index.name] for index in table.indexes if index.name in numbers.indexes
    )


def compare_with(before: SavedTable, table: TableSettings, wanted: str) -> None:
    """Raise Drifted when the table or an index is no longer what the diagnosis saw, or a change is under way."""
    if table.billing is Billing.PROVISIONED and table.is_settled and has_numbers(table, before):
        return
    raise Drifted(
        f"Cannot {wanted} table {table.name}: it is now {table.billing.value} with "
        f"{_shown(_numbers(table))}, {table.status}, not provisioned with {_shown(before)}, ACTIVE, as read for the "
        f"diagnosis. Nothing was changed. Someone else is working on it; run `/unthrottle check {table.name}` to plan again.",
        guardrail="changed-since" if table.is_settled else "change-in-progress",
    )


def compare(item: SwitchToOnDemand, actor: Actor) -> None:
    """Raise Drifted when the table is no longer what the diagnosis saw."""
    compare_with(item.before, actor.table(item.table), "switch to on-demand the")


def apply(item: SwitchToOnDemand, actor: Actor) -> SwitchToOnDemand:
    """Ask for the switch. A resumed run finds its own switch under way and goes on."""
    try:
        actor.switch_to_on_demand(item.table)
    except Refused as refusal:
        if refusal.code == "ResourceInUseException" and actor.table(item.table).billing is Billing.ON_DEMAND:
            return item
        raise
    return item


def give_back(item: SwitchToOnDemand, actor: Actor) -> GiveBack:
    """Put the saved numbers back for the table and every index it has now, in one call; then the scaling targets.

    An index created since gets the table's saved numbers: AWS wants a number for every index, and has no default. A switch by
    an API call leaves the targets alone, so only those that are gone are registered; what somebody set meanwhile is told.
    """
    table = actor.table(item.table)
    if table.billing is not Billing.ON_DEMAND:
        is_back = has_numbers(table, item.before)
        bounds = _bounds(item, table, actor) if is_back else BoundsBack()
        if bounds.wanted:  # an earlier try may have died between the two calls
            actor.set_scaling(item.table, bounds.wanted)
        return LeftAlone(
            found=f"table {item.table} is provisioned already with {table.capacity.read} read and "
            f"{table.capacity.write} write units: someone switched it back{bounds.words}",
            is_back=is_back,
        )
    if not table.is_settled:
        return NotYet(because=f"table {item.table} is {table.status}")
    wanted = replace(
        standing(item.before, table),
        indexes={index.name: item.before.indexes.get(index.name, item.before.capacity) for index in table.indexes},
    )
    bounds = _bounds(item, table, actor)  # before the change: that they cannot be read must not come out half-way
    actor.set_provisioned(item.table, wanted, from_on_demand=True)
    if bounds.wanted:
        actor.set_scaling(item.table, bounds.wanted)
    new = sorted(set(wanted.indexes) - set(item.before.indexes))
    detail = f"table {item.table}: on-demand -> provisioned, {_shown(wanted)}"
    detail += f" (new indexes with the table's numbers: {', '.join(new)})" if new else ""
    return GivenBack(detail=detail + bounds.words, left=bounds.left)


def _bounds(item: SwitchToOnDemand, table: TableSettings, actor: Actor) -> BoundsBack:
    """Compare the saved scaling targets with those of now: a switch never changed them, so they are as saved or not ours."""
    was = standing(item.before, table).scaling
    return bounds_back(was, was, actor.scaling_targets(item.table)) if was else BoundsBack()


def _numbers(table: TableSettings) -> SavedTable:
    return SavedTable(capacity=table.capacity, indexes={index.name: index.capacity for index in table.indexes})


def standing(saved_table: SavedTable, table: TableSettings) -> SavedTable:
    """Leave out of what was saved the indexes that are gone: AWS refuses a call that names one."""
    names = {index.name for index in table.indexes}
    return SavedTable(
        capacity=saved_table.capacity,
        indexes={name: capacity for name, capacity in saved_table.indexes.items() if name in names},
        scaling=tuple(target for target in saved_table.scaling if target.index is None or target.index in names),
    )


def _shown(wanted: SavedTable) -> str:
    words = f"{wanted.capacity.read} read and {wanted.capacity.write} write units"
    return words + "".join(f", index {name} {c.read}/{c.write}" for name, c in wanted.indexes.items())
