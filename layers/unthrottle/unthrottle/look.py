"""Look at what an incident is about: read the evidence, diagnose, plan. What could not be read is said, never guessed.

Joins the ports to the pure `causes` and `actions.planning`. Changes nothing and writes nothing: the record comes back altered.
"""

import logging
from dataclasses import dataclass, replace
from datetime import datetime

from unthrottle.actions.planning import make_plan
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding
from unthrottle.errors import NotAllowed, NotFound, Refused
from unthrottle.evidence.cancelled import with_cancelled
from unthrottle.evidence.pool import ConcurrencyAccount, PoolEvidence
from unthrottle.evidence.read_pool import is_own, read_pool
from unthrottle.evidence.read_table import read_table
from unthrottle.evidence.table import TableEvidence
from unthrottle.guardrails import effective_mode
from unthrottle.incident import Incident
from unthrottle.plan import Action, Plan
from unthrottle.ports import Ports
from unthrottle.report.picture import Picture, picture_of
from unthrottle.settings import Settings
from unthrottle.subjects import FunctionSubject, TableSubject

log = logging.getLogger("unthrottle")

UNREAD = Plan(
    action=Action.ESCALATE,
    why="The evidence could not be read, and Unthrottle does not act on a guess.",
    follow_up="Mend what the finding names (permissions, a wrong name or Region), then run /unthrottle check.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A look: the record with its diagnosis and plan, what to draw, and the minute of the newest datapoint read.

    `pool` is Lambda's limits at that time, `switched_at` when the table was last switched to on-demand, by whoever.
    """

    incident: Incident
    picture: Picture
    at: datetime
    pool: ConcurrencyAccount | None = None
    switched_at: datetime | None = None
    switches_seen: int = 0


def look(ports: Ports, settings: Settings, own_prefix: str | None, incident: Incident) -> Seen:
    """Read the evidence and put diagnosis and plan into the record. Raises TryAgain; else it is inconclusive."""
    # Imported at the first look: an execution that wakes up to give back, or to wait on, diagnoses nothing.
    from unthrottle.causes import diagnose  # noqa: PLC0415

    now = ports.clock.now()
    try:
        evidence = _evidence(ports, settings, own_prefix, incident, now)
    except (NotFound, NotAllowed, Refused) as error:
        return unread(incident, str(error), now)
    diagnosis = diagnose(evidence, settings, itself=_own(evidence, own_prefix))
    plan = make_plan(diagnosis, evidence, settings)
    found = (
        replace(
            incident,
            diagnosis=diagnosis,
            plan=plan,
            early_warning=incident.early_warning and not _is_throttled(evidence),
            mode=effective_mode(plan, settings, forced_dry_run=incident.forced_dry_run),
        )
        .told(now, "diagnosis.made", f"{diagnosis.cause.value}, {diagnosis.confidence.value} confidence")
        .told(now, "plan.made", plan.action.value)
    )
    _log(found, diagnosis)
    return Seen(
        incident=found,
        picture=picture_of(evidence, diagnosis),
        at=_newest(evidence),
        pool=evidence.account if isinstance(evidence, PoolEvidence) else None,
        switched_at=evidence.settings.on_demand_since if isinstance(evidence, TableEvidence) else None,
        switches_seen=len(evidence.switches or ()) if isinstance(evidence, TableEvidence) else 0,
    )


def _log(incident: Incident, diagnosis: Diagnosis) -> None:
    made = {"incident_id": incident.id, "cause": diagnosis.cause.value, "targets": list(diagnosis.targets)}
    log.info("diagnosis.made", extra=made)


def redraw(ports: Ports, settings: Settings, own_prefix: str | None, incident: Incident) -> Picture:
    """Read the evidence anew, only to show it beside the diagnosis that was made. Raises as the readers do."""
    evidence = _evidence(ports, settings, own_prefix, incident, ports.clock.now())
    if incident.diagnosis is None:
        return Picture(columns=(), rows=())
    return picture_of(evidence, incident.diagnosis)


def unread(incident: Incident, why: str, now: datetime) -> Seen:
    """Make the look of one that could not look: inconclusive, and a person is told why."""
    diagnosis = Diagnosis(
        cause=Cause.INCONCLUSIVE,
        confidence=Confidence.LOW,
        findings=(Finding(text=f"The evidence could not be read: {why}"),),
        gaps=(why,),
    )
    found = replace(incident, diagnosis=diagnosis, plan=UNREAD).told(now, "diagnosis.made", "inconclusive: " + why)
    _log(found, diagnosis)
    return Seen(incident=found, picture=Picture(columns=(), rows=()), at=now)


def _evidence(
    ports: Ports, settings: Settings, own_prefix: str | None, incident: Incident, now: datetime
) -> PoolEvidence | TableEvidence:
    observer = ports.accounts.observe(incident.account, incident.region, incident.id)
    subject = incident.subject
    if isinstance(subject, TableSubject):
        table = read_table(observer, settings, now, table=subject.table, index=subject.index, backfills=ports.backfills)
        return with_cancelled(table, ports.incidents.recent(20), incident.id, now)
    return read_pool(
        observer,
        settings,
        now,
        alarmed=(subject.function,) if isinstance(subject, FunctionSubject) else (),
        early_warning=incident.early_warning,
        own_prefix=own_prefix,
    )


def _own(evidence: PoolEvidence | TableEvidence, own_prefix: str | None) -> frozenset[str]:
    if isinstance(evidence, TableEvidence):
        return frozenset()
    return frozenset(use.name for use in evidence.ranking if is_own(use.name, own_prefix))


def _newest(evidence: PoolEvidence | TableEvidence) -> datetime:
    """Return the newest minute that shows a datapoint: how old the evidence is, whenever it was read."""
    if isinstance(evidence, PoolEvidence):
        shown = [evidence.concurrency.last_at, evidence.unreserved_in_use.last_at]
    else:
        shown = [series.last_at for unit in evidence.units for series in unit.consumed.values()]
    return max((at for at in shown if at is not None), default=evidence.end)


def _is_throttled(evidence: PoolEvidence | TableEvidence) -> bool:
    return isinstance(evidence, PoolEvidence) and any(series.sum() > 0 for _, series in evidence.throttled)
