"""What is said about a change: the deed in words, its two ends, and its way back.

The same words for Slack, page and terminal; a `Voice` says the names. Knows nothing of blocks.
"""

from collections.abc import Sequence
from typing import Literal

from unthrottle.evidence.pool import SourceKind
from unthrottle.evidence.table import Capacity
from unthrottle.incident import Incident, Outcome, Status
from unthrottle.plan import (
    CancelBackfill,
    CapConcurrency,
    CapEventSource,
    Change,
    RaiseCapacity,
    SavedTable,
    SwitchToOnDemand,
)
from unthrottle.report.voice import Voice
from unthrottle.report.words import changes, clock, duration, is_dry_run, listed

Tense = Literal["do", "doing", "done"]

_VERBS: dict[str, dict[Tense, str]] = {
    "cap-concurrency": {"do": "cap", "doing": "capping", "done": "capped"},
    "cap-event-source": {"do": "limit", "doing": "limiting", "done": "limited"},
    "switch-to-on-demand": {"do": "switch", "doing": "switching", "done": "switched"},
    "raise-capacity": {"do": "raise", "doing": "raising", "done": "raised"},
    "cancel-backfill": {"do": "cancel", "doing": "cancelling", "done": "cancelled"},
}
_SHOWN_INDEXES = 4
_SOURCES: dict[SourceKind, str] = {
    SourceKind.SQS: "SQS source",
    SourceKind.KINESIS: "Kinesis source",
    SourceKind.DYNAMODB_STREAM: "DynamoDB stream source",
    SourceKind.KAFKA: "Kafka source",
    SourceKind.OTHER: "event source",
}


def verb(change: Change, tense: Tense) -> str:
    """Name what a change does."""
    return _VERBS[change.kind][tense]


def deed(change: Change, voice: Voice, tense: Tense, room: int = 80) -> str:
    """Say one change as a verb and its object."""
    said = verb(change, tense)
    match change:
        case CapConcurrency():
            return f"{said} {voice.name(change.function, room)} at {change.after:,}"
        case CapEventSource():
            source = _SOURCES[change.source]
            return f"{said} the {source} of {voice.name(change.function, room)} to {change.after:,}"
        case SwitchToOnDemand():
            return f"{said} table {voice.name(change.table, room)} to on-demand"
        case RaiseCapacity():
            return f"{said} the capacity of table {voice.name(change.table, room)}"
        case CancelBackfill():
            return f"{said} backfill {voice.name(change.backfill_id, room)}"


def deeds(given: Sequence[Change], voice: Voice, tense: Tense, room: int = 80) -> str:
    """Say all changes of a plan."""
    return listed([deed(change, voice, tense, room) for change in given], most=3)


def ends(change: Change, voice: Voice, *, back: bool = False) -> str:
    """Say before → after, or the other way round when it is given back. Unset is said, it is not 0."""
    what, before, after = _ends(change, voice)
    first, second = (after, before) if back else (before, after)
    return f"{what}: {first} → {second}"


def ends_in_brief(given: Sequence[Change], voice: Voice) -> str:
    """Say before → after alone, in brackets, where the change has just been named; a cancelling needs no words."""
    pairs = [_ends(change, voice)[1:] for change in given if not isinstance(change, CancelBackfill)]
    return f" ({listed([f'{before} → {after}' for before, after in pairs], most=2)})" if pairs else ""


def _ends(change: Change, voice: Voice) -> tuple[str, str, str]:
    match change:
        case CapConcurrency():
            return f"{voice.name(change.function)} reserved concurrency", _number(change.before), f"{change.after:,}"
        case CapEventSource():
            return f"{voice.name(change.function)} {change.knob}", _number(change.before), f"{change.after:,}"
        case SwitchToOnDemand():
            return f"table {voice.name(change.table)}", f"provisioned ({_saved(change.before, voice)})", "on-demand"
        case RaiseCapacity():
            before, after = _only_changed(change, voice)
            return f"table {voice.name(change.table)}", before, after
        case CancelBackfill():
            flow = f" (flow {voice.name(change.flow)}, {voice.name(change.environment)})"
            return f"backfill {voice.name(change.backfill_id)}{flow}", "running", "cancelled"


def _number(value: int | None) -> str:
    return "not set" if value is None else f"{value:,}"


def _saved(saved: SavedTable, voice: Voice) -> str:
    own = _capacity(saved.capacity)
    indexes = [f"index {voice.name(name, 40)} {_capacity(capacity)}" for name, capacity in saved.indexes.items()]
    return ", ".join([own, listed(indexes, most=_SHOWN_INDEXES)]) if indexes else own


def _capacity(capacity: Capacity) -> str:
    return f"{capacity.read:,} read / {capacity.write:,} write"


def _only_changed(change: RaiseCapacity, voice: Voice) -> tuple[str, str]:
    """Say both ends of what moves: the table's own capacity and the indexes, without those that stay."""
    before: list[str] = []
    after: list[str] = []
    if change.before.capacity != change.after.capacity:
        before.append(_capacity(change.before.capacity))
        after.append(_capacity(change.after.capacity))
    for name, wanted in change.after.indexes.items():
        saved = change.before.indexes.get(name)
        if saved != wanted:
            label = f"index {voice.name(name, 40)}"
            before.append(f"{label} {_capacity(saved) if saved else 'not read'}")
            after.append(f"{label} {_capacity(wanted)}")
    if not after:
        return _capacity(change.before.capacity), _capacity(change.after.capacity)
    return listed(before, most=_SHOWN_INDEXES), listed(after, most=_SHOWN_INDEXES)


def way_back(incident: Incident, voice: Voice) -> str:
    """Say when and how a change goes back; empty where there is no change."""
    if not changes(incident) or incident.plan is None:
        return ""
    if all(isinstance(change, CancelBackfill) for change in changes(incident)):
        resume = next((change.resume for change in changes(incident) if isinstance(change, CancelBackfill)), "")
        return f"The bot cannot undo this: {voice.text(resume) or 'start the backfill again in dagy'}."
    if incident.status in {Status.REVERTED, Status.KEPT}:
        return ""
    if incident.lease_until and incident.applied:
        anew = " (the lease is counted anew from the recovery)" if incident.outcome is Outcome.NONE else ""
        until = clock(incident.lease_until, incident.opened_at)
        return f"Given back at {until}{anew}; renewed while the pressure persists."
    if incident.plan.lease_minutes:
        goes = "Would go" if is_dry_run(incident) or incident.status is Status.WOULD_APPLY else "Goes"
        return f"{goes} back after {duration(incident.plan.lease_minutes)}, unless the pressure persists."
    return voice.text(incident.plan.way_back)
