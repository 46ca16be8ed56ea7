"""Add to a look at a table the backfills that have just ended for another table: cancelled, or found ended when asked.

One backfill writes to several tables, and each is an incident of its own. dagy no longer lists what was cancelled for the
first; without this the second would look short of capacity while the writes are still falling. Pure.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from unthrottle.backfills import Backfill
from unthrottle.evidence.table import RunningBackfills, TableEvidence
from unthrottle.incident import Incident
from unthrottle.plan import CancelBackfill

RECENTLY = timedelta(minutes=30)
"""How long a cancelled backfill may still explain a load: its dispatched runs finish, and metrics are minutes late."""
CANCELLED = "cancelled"
"""The state such a backfill carries."""


def with_cancelled(evidence: TableEvidence, others: Iterable[Incident], own_id: str, now: datetime) -> TableEvidence:
    """Return the evidence with recently cancelled backfills of other incidents beside the running ones."""
    known = evidence.backfills
    if not isinstance(known, RunningBackfills):
        return evidence
    listed = {backfill.id for backfill in known.backfills}
    added = {
        change.backfill_id: _as_backfill(change)
        for incident in others
        if incident.id != own_id
        for change, at in (*_cancelled(incident), *_found_ended(incident))
        if change.started_at is not None and now - at <= RECENTLY and change.backfill_id not in listed
    }
    if not added:
        return evidence
    return replace(evidence, backfills=RunningBackfills(backfills=(*known.backfills, *added.values())))


def _cancelled(incident: Incident) -> Iterator[tuple[CancelBackfill, datetime]]:
    for made in incident.applied:
        if isinstance(made.change, CancelBackfill):
            yield made.change, made.at


def _found_ended(incident: Incident) -> Iterator[tuple[CancelBackfill, datetime]]:
    """Backfills that were to be cancelled and had ended by then: their last runs write just as long."""
    told = [moment.at for moment in incident.timeline if moment.event == "plan.refused"]
    reasons = incident.verdict.reasons if incident.verdict else ()
    if incident.plan is None or not told or all(reason.guardrail != "changed-since" for reason in reasons):
        return
    for change in incident.plan.changes:
        if isinstance(change, CancelBackfill):
            yield change, told[-1]


def _as_backfill(change: CancelBackfill) -> Backfill:
    started = change.started_at
    if started is None:
        raise ValueError(f"{change.backfill_id} has no start")
    return Backfill(
        id=change.backfill_id,
        state=CANCELLED,
        flow=change.flow,
        environment=change.environment,
        requested_by="",
        started_at=started,
        runs_total=0,
        runs_dispatched=0,
        dispatch_rate_per_minute=change.dispatch_rate_per_minute,
    )
