"""Turn a diagnosis into one plan: a change with its way back, or no change and why. Pure.

A hot key or index is never answered with capacity, a change under way is never acted on again, and what cannot be
explained is handed to a person.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from unthrottle.actions import (
    cancel_backfill,
    cap_concurrency,
    cap_event_source,
    cap_hogs,
    raise_capacity,
    switch_to_on_demand,
    tell_of_writer,
)
from unthrottle.diagnosis import Cause, Diagnosis
from unthrottle.evidence.cancelled import CANCELLED
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import RunningBackfills, TableEvidence, Way
from unthrottle.plan import Action, Change, Plan, Watch
from unthrottle.settings import Settings

_NO_CHANGE: dict[Cause, tuple[Action, str, str]] = {
    Cause.HOT_INDEX: (
        Action.ESCALATE,
        "One index partition takes more than a partition can serve; more capacity or on-demand would not raise that limit.",
        "Spread the index's key: add a suffix to it (write sharding), or a sparse index for the one hot value.",
    ),
    Cause.HOT_KEY: (
        Action.ESCALATE,
        "One partition takes more than a partition can serve; more capacity or on-demand would not raise that limit.",
        "Spread the partition key (write sharding), cache the hot item, or slow the writer of that key.",
    ),
    Cause.ON_DEMAND_RAMP: (
        Action.WAIT,
        "On-demand grows by itself: it serves twice its earlier peak at once and adapts within half an hour.",
        "If such ramps come back, set warm throughput for the table before they start.",
    ),
    Cause.ON_DEMAND_CEILING: (
        Action.ESCALATE,
        "The table's own maximum for on-demand throughput is reached; somebody set it, usually to bound the cost.",
        "Ask the table's owner whether to raise OnDemandThroughput, or slow the writer.",
    ),
    Cause.TABLE_QUOTA: (
        Action.ESCALATE,
        "An account or table quota of DynamoDB is reached; no change of the table helps.",
        "Request a quota increase: dynamodb L-CF0CBE56 (table read) or L-AB614373 (table write).",
    ),
    Cause.CAPACITY_CHANGE_IN_PROGRESS: (
        Action.WAIT,
        "A change of capacity is under way already; acting again would be refused or would add up.",
        "If throttling goes on after the change is done, look again with /unthrottle check.",
    ),
    Cause.POOL_GROWTH: (
        Action.ESCALATE,
        "The pool is used up by many functions together; capping any one of them would only choose another victim.",
        "Request a higher quota: lambda L-B99A9384 (concurrent executions); it is not granted at once.",
    ),
    Cause.OVER_RESERVATION: (
        Action.ESCALATE,
        "Reservations took most of the pool, and they stay unused; Unthrottle does not lower what people reserved.",
        "Lower or remove the largest unused reservations.",
    ),
    Cause.OWN_RESERVATION: (
        Action.ESCALATE,
        "The function is at its own reserved concurrency, which somebody chose; the pool has room.",
        "Ask the function's owner whether to raise or remove its reservation.",
    ),
    Cause.SWITCHED_OFF: (
        Action.NONE,
        "Its reserved concurrency is 0: it was stopped on purpose. Unthrottle never lifts that.",
        "If it should run again, its owner removes the reservation.",
    ),
    Cause.REQUEST_RATE: (
        Action.ESCALATE,
        "The request rate is near ten times the concurrency, Lambda's own bound for short runs; concurrency is not short.",
        "Batch the calls, make the runs fewer, or request a higher concurrency quota, which raises the rate too.",
    ),
    Cause.SCALING_RATE: (
        Action.WAIT,
        "The function grows faster than Lambda adds environments (1,000 per 10 seconds); this ends by itself in seconds.",
        "If it comes back each day at the same time, use provisioned concurrency before it.",
    ),
    Cause.ALREADY_OVER: (Action.NONE, "Nothing is throttled now.", ""),
    Cause.INCONCLUSIVE: (
        Action.ESCALATE,
        "The evidence is missing, stale or contradicts itself, and Unthrottle does not act on a guess.",
        "Look at the metrics by hand; the findings name the queries.",
    ),
}


def make_plan(diagnosis: Diagnosis, evidence: PoolEvidence | TableEvidence, settings: Settings) -> Plan:
    """Make the one plan for a diagnosis."""
    watch = _watch(diagnosis, evidence)
    if diagnosis.writer is not None and isinstance(evidence, TableEvidence):
        return tell_of_writer.plan(diagnosis.writer, evidence.settings.name, watch)
    match diagnosis.cause, evidence:
        case Cause.POOL_HOG, PoolEvidence():
            return cap_hogs.plan(diagnosis, evidence, settings, watch)
        case Cause.PROVISIONED_CAPACITY, TableEvidence():
            return _capacity(evidence, settings, watch)
        case Cause.RUNAWAY_BACKFILL, TableEvidence():
            return _cancel(diagnosis, evidence, watch)
        case _:
            return _no_change(diagnosis.cause, watch)


def _no_change(cause: Cause, watch: Watch) -> Plan:
    action, why, follow_up = _NO_CHANGE[cause]
    return Plan(action=action, why=why, follow_up=follow_up, watch=watch)


def _watch(diagnosis: Diagnosis, evidence: PoolEvidence | TableEvidence) -> Watch:
    if isinstance(evidence, PoolEvidence):
        return Watch(service="lambda", functions=diagnosis.victims)
    return Watch(service="dynamodb", table=evidence.settings.name)


def _capacity(evidence: TableEvidence, settings: Settings, watch: Watch) -> Plan:
    instead = _why_no_switch(evidence, settings)
    if instead is not None:
        raised = raise_capacity.change(evidence)
        if raise_capacity.raises_nothing(raised):
            return _no_change(Cause.TABLE_QUOTA, watch)
        return Plan(
            action=Action.RAISE_CAPACITY,
            why=f"The table or an index is short of provisioned capacity, and {instead}.",
            watch=watch,
            changes=(raised,),
            lease_minutes=settings.on_demand_lease_minutes,
            effect="Takes effect within seconds; costs the added units as long as it stays.",
            way_back="The saved numbers come back when the lease ends and the load would fit in them.",
            commands=_calls([raised]),
            way_back_commands=_calls_back([raised]),
            follow_up="Turn on autoscaling for the table and every index, or keep it on-demand.",
        )
    switch = switch_to_on_demand.change(evidence)
    cost = "" if switch.hourly_cost is None else f" About USD {switch.hourly_cost:.2f} an hour at the load seen."
    return Plan(
        action=Action.SWITCH_TO_ON_DEMAND,
        why="The table or an index is short of provisioned capacity; on-demand serves at least 4,000 writes a second.",
        watch=watch,
        changes=(switch,),
        lease_minutes=settings.on_demand_lease_minutes,
        effect=f"The switch takes minutes, during which the old capacity stays in force.{cost}",
        way_back="Provisioned with the saved numbers of the table, every index and the scaling targets.",
        commands=_calls([switch]),
        way_back_commands=_calls_back([switch]),
        follow_up="Decide whether the table stays on-demand; if not, give table and indexes more capacity or autoscaling.",
    )


SWITCHES_TO_SPEND = 3
"""AWS allows four switches to on-demand in a rolling day (AWS DynamoDB guide, constraints); one is kept for people."""


def _why_no_switch(evidence: TableEvidence, settings: Settings) -> str | None:
    """Say why capacity is raised and the table not switched to on-demand, or None where it is to be switched.

    Raising needs none of AWS's four switches a day. A replicated table may not come back to provisioned without autoscaling of
    every write capacity (measured, DynamoDB quirks lab 249-251), and a switch that cannot be given back is no plan.
    """
    if settings.provisioned_table_action == "raise-capacity":
        return "the settings prefer raising it"
    switched, replicas = evidence.settings.on_demand_since, evidence.settings.replicas
    if replicas:
        return f"a switch to on-demand would reach its replicas too ({', '.join(replicas)}) and may not be given back"
    if evidence.switches is None and switched is not None:
        return (
            f"it was switched to on-demand at {switched:%Y-%m-%d %H:%M} UTC already, how often cannot be read, AWS allows "
            "four switches in 24 hours, and the last one is kept for people"
        )
    if evidence.switches is not None and len(evidence.switches) >= SWITCHES_TO_SPEND:
        return (
            f"it was switched to on-demand {len(evidence.switches)} times in 24 hours already: AWS allows four, and the last "
            "one is kept for people"
        )
    return None


def _cancel(diagnosis: Diagnosis, evidence: TableEvidence, watch: Watch) -> Plan:
    running = evidence.backfills.backfills if isinstance(evidence.backfills, RunningBackfills) else ()
    guilty = tuple(backfill for backfill in running if backfill.id in diagnosis.targets)
    if guilty and all(backfill.state == CANCELLED for backfill in guilty):
        return Plan(
            action=Action.WAIT,
            why="The backfill that explains the load has just been cancelled, or ended; its last runs are still writing.",
            watch=watch,
            follow_up="If the throttling goes on once the writes have fallen, look again with /unthrottle check.",
        )
    changes: list[Change] = [cancel_backfill.change(backfill, evidence) for backfill in guilty]
    if not changes:
        return _no_change(Cause.INCONCLUSIVE, watch)
    names = ", ".join(backfill.id for backfill in guilty)
    table = evidence.settings.name
    return Plan(
        action=Action.CANCEL_BACKFILL,
        why=f"Backfill {names} explains the jump in writes to {table}; the table's capacity is not the problem.",
        watch=replace(watch, written={table: _half_the_jump(evidence, min(item.started_at for item in guilty))}),
        changes=tuple(changes),
        effect="dagy stops dispatching its runs; runs already dispatched finish. Capacity is not touched.",
        way_back="None by Unthrottle: " + "; ".join(item.resume for item in changes if item.kind == "cancel-backfill"),
        commands=_calls(changes),
        way_back_commands=_calls_back(changes),
        follow_up="Start the backfill again with a lower dispatch rate, outside busy hours.",
    )


def _half_the_jump(evidence: TableEvidence, started_at: datetime) -> float:
    """Return the rate (units/s) writes must fall below to prove that the backfill stopped: half way down the jump.

    A write refused by the table and an index is counted on both, so the most throttled unit counts, never the sum.
    """
    unit = evidence.unit(None)
    if unit is None:
        return 0.0
    wanted = [
        None if used is None else (used + max(refused or 0.0 for refused in others)) / 60
        for used, *others in zip(
            unit.consumed[Way.WRITE].values,
            *(item.throttle_events[Way.WRITE].values for item in evidence.units),
            strict=False,
        )
    ]
    series = Series(start=unit.consumed[Way.WRITE].start, period_s=60, values=tuple(wanted))
    before = [value for index, value in enumerate(wanted) if value is not None and series.time_of(index) < started_at]
    base = sorted(before)[len(before) // 2] if before else 0.0
    return base + ((series.peak() or 0.0) - base) / 2


def _calls(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(commands_of(change)[0] for change in changes)


def _calls_back(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(back for _, back in map(commands_of, changes) if back)


def commands_of(change: Change) -> tuple[str, str]:
    """Give the command for a change and for its way back; the latter is empty where there is none."""
    match change.kind:
        case "cap-concurrency":
            return cap_concurrency.commands(change)
        case "cap-event-source":
            return cap_event_source.commands(change)
        case "switch-to-on-demand":
            return switch_to_on_demand.commands(change)
        case "raise-capacity":
            return raise_capacity.commands(change)
        case "cancel-backfill":
            return cancel_backfill.commands(change)
