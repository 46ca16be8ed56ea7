"""The story of an incident, in the order in which it happens. Read this first.

Each line that does something is a step of `Desk`; a resumed run repeats this function and gets every finished step's result
without doing it again. So nothing here may read a clock, a random number or a setting that can change between two runs, and
nothing is put back in a ``finally``: a durable run suspends by an exception, and would "put back" at every wait.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from unthrottle.actions.outcome import GivenBack, LeftAlone, NotYet
from unthrottle.answers import Answer, read_answer
from unthrottle.desk import Desk, Seen
from unthrottle.diagnosis import Cause
from unthrottle.errors import StepFailed
from unthrottle.incident import Decision, Incident, Outcome, Reason, Status, Verdict
from unthrottle.plan import Action, CapConcurrency, CapEventSource, Change
from unthrottle.ports import Expired, Ports, Run
from unthrottle.report.moments import Step
from unthrottle.settings import Mode, Settings

EVERY = timedelta(minutes=1)
"""How often the symptom is read again after an action."""
RARELY = timedelta(minutes=5)
"""How often it is read while nothing was changed: only to see the end of it."""
POOL_TIME = timedelta(minutes=25)
"""How long a cap may take to show: running executions are not stopped, and may run for 15 minutes (Lambda's limit)."""
TABLE_TIME = timedelta(minutes=60)
"""How long a table's change may take to show: a switch takes minutes, and up to an hour has been seen."""
BACKFILL_TIME = timedelta(minutes=30)
RAMP_TIME = timedelta(minutes=45)
"""How long an on-demand table may take to adapt: half an hour after a new peak, and the metrics' delay."""
WATCH_TIME = timedelta(hours=2)
"""How long an incident without a change stays open, so that later alarms of the same symptom join it."""
MOST_RENEWALS = 11
"""Renewals before a person must decide: 24 hours of two-hour caps."""
MOST_TRIES = 24


def respond(run: Run, ports: Ports, settings: Settings, own_prefix: str | None, incident_id: str) -> Incident:
    """Heal one incident, from the open record to the closed one. Returns the closed record."""
    desk = Desk(run, ports, settings, own_prefix)
    incident = desk.load(incident_id)
    if not incident.is_open:
        return incident
    try:
        return _heal(desk, settings, incident)
    except StepFailed as failure:
        return _stop(desk, settings, desk.load(incident_id), f"step {failure.step} failed: {failure}")


def _heal(desk: Desk, settings: Settings, incident: Incident) -> Incident:
    seen = desk.look(desk.tell(incident, Step.OPENED))
    incident = desk.tell(seen.incident, Step.DIAGNOSED, picture=seen.picture)
    plan = incident.plan
    if plan is None or incident.muted_by is not None:
        return desk.close(desk.tell(incident, Step.MUTED, incident.muted_by or ""))
    if plan.action is Action.NONE:
        return desk.close(desk.tell(incident, Step.OVER, plan.why))
    if plan.action is Action.ESCALATE:
        return _watch(desk, _escalate(desk, incident, plan.why))
    if plan.action is Action.WAIT:
        return _wait(desk, incident)

    incident = desk.judge(replace_incident(seen, incident))
    if _decision(incident) is Decision.DENIED:
        return _deny(desk, incident)
    if incident.mode is Mode.DRY_RUN:
        incident = desk.change(
            incident, "would", lambda found, now: found.now(Status.WOULD_APPLY).told(now, "plan.would")
        )
        return _watch(desk, desk.tell(incident, Step.WOULD, picture=seen.picture))
    if _decision(incident) is Decision.NEEDS_APPROVAL:
        incident, agreed = _ask(desk, settings, incident)
        if not agreed:
            return _watch(desk, incident)
    return _act(desk, settings, incident)


def replace_incident(seen: Seen, incident: Incident) -> Seen:
    """Carry the newest record into a look."""
    return replace(seen, incident=incident)


def _decision(incident: Incident) -> Decision:
    return incident.verdict.decision if incident.verdict else Decision.NONE


# --- when nothing is changed ---------------------------------------------------------------------------------------


def _escalate(desk: Desk, incident: Incident, why: str) -> Incident:
    return desk.tell(desk.page(incident, why), Step.ESCALATED, why)


def _deny(desk: Desk, incident: Incident) -> Incident:
    """A guardrail said no: tell why, and reach a person, unless the resource's own tag opted out."""
    reasons = incident.verdict.reasons if incident.verdict else ()
    why = " ".join(reason.text for reason in reasons)
    incident = desk.change(
        incident, "denied", lambda found, now: found.now(Status.DENIED).told(now, "plan.refused", why)
    )
    incident = desk.tell(incident, Step.REFUSED, why)
    if incident.mode is not Mode.OFF:
        incident = desk.page(incident, f"A guardrail refused the change: {why}")
    return _watch(desk, incident)


def _stop(desk: Desk, settings: Settings, incident: Incident, why: str) -> Incident:
    """Something failed for good: leave what is, and hand all of it to a person.

    With a change in force the record stays open under its lease: the sweep gives it back at the end.
    """
    if not incident.is_open:
        return incident
    if incident.status is Status.APPLIED:
        lease = timedelta(
            minutes=(incident.plan.lease_minutes if incident.plan else None) or settings.cap_lease_minutes
        )
        incident = desk.change(
            incident,
            "orphaned",
            lambda found, now: replace(found, lease_until=found.lease_until or now + lease).told(
                now, "workflow.failed", why
            ),
        )
        return desk.tell(desk.page(incident, why), Step.FAILED, why)
    if incident.status is Status.NONE:
        incident = desk.change(
            incident, "failed", lambda found, now: found.now(Status.FAILED).told(now, "action.failed", why)
        )
    incident = desk.page(incident, why)
    return desk.close(desk.tell(incident, Step.FAILED, why))


def _wait(desk: Desk, incident: Incident) -> Incident:
    """What ends by itself is watched until it is over, or until it should have been; then a person is told."""
    incident = desk.tell(incident, Step.WAITING, incident.plan.why if incident.plan else "")
    began = desk.now()
    outcome, because = _until_over(desk, incident, began, began + RAMP_TIME, EVERY)
    if outcome is Outcome.RECOVERED:
        incident = _recovered(desk, incident, because)
        return desk.close(desk.tell(incident, Step.OVER, because))
    incident = desk.change(incident, "waited", lambda found, _: replace(found, outcome=outcome))
    return _watch(
        desk, _escalate(desk, incident, f"Waited {RAMP_TIME.seconds // 60} min, and it is not over: {because}")
    )


def _watch(desk: Desk, incident: Incident) -> Incident:
    """Keep an incident without a change open while its symptom lasts, so that one storm stays one incident."""
    began = desk.now()
    outcome, because = _until_over(desk, incident, began, began + WATCH_TIME, RARELY)
    if outcome is Outcome.RECOVERED:
        incident = desk.tell(incident, Step.OVER, because)
    return desk.close(incident)


def _until_over(
    desk: Desk, incident: Incident, since: datetime, deadline: datetime, every: timedelta
) -> tuple[Outcome, str]:
    """Read the symptom again and again until the answer is known."""
    while True:
        judgement = desk.verify(incident, since, deadline)
        if judgement.outcome is not None:
            return judgement.outcome, judgement.because
        if desk.now() >= deadline:
            return Outcome.INCONCLUSIVE, judgement.because
        desk.wait("settle", every)


def _recovered(desk: Desk, incident: Incident, because: str) -> Incident:
    return desk.change(
        incident,
        "recovered",
        lambda found, now: replace(found, outcome=Outcome.RECOVERED, recovered_at=now).told(
            now, "verification.done", f"recovered: {because}"
        ),
    )


# --- approval --------------------------------------------------------------------------------------------------------


def _ask(desk: Desk, settings: Settings, incident: Incident) -> tuple[Incident, bool]:
    """Ask a person, remind at half time, and judge again against fresh state at the yes. True: go on and act."""
    half = settings.approval_time / 2
    incident, answer = desk.ask(incident, "approval", half, Step.APPROVAL_NEEDED)
    if isinstance(answer, Expired):
        incident, answer = desk.ask(incident, "approval", settings.approval_time - half, Step.REMINDER)
    if isinstance(answer, Expired):
        incident = desk.change(
            incident, "expired", lambda found, now: found.now(Status.EXPIRED).told(now, "approval.expired")
        )
        incident = desk.tell(incident, Step.EXPIRED, "Nobody answered in time; nothing was changed.")
        return desk.page(incident, "The approval expired; nothing was changed and the symptom may go on."), False
    said = read_answer(answer.text)
    if said.do != "approve":
        incident = desk.change(
            incident,
            "rejected",
            lambda found, now: found.now(Status.REJECTED).told(now, "approval.rejected", f"by {said.by}"),
        )
        return desk.tell(incident, Step.REJECTED, f"Rejected by {said.by}; nothing was changed."), False
    asked = incident.plan.changes if incident.plan else ()
    incident = desk.change(
        incident,
        "approved",
        lambda found, now: replace(found, approved_by=said.by).told(now, "approval.given", f"by {said.by}"),
    )
    return _judge_again(desk, incident, asked)


def _judge_again(desk: Desk, incident: Incident, asked: tuple[Change, ...]) -> tuple[Incident, bool]:
    """A yes was for exactly one change: look again, and go on only if it is still the one to make."""
    seen = desk.look(incident)
    incident = seen.incident
    plan = incident.plan
    if incident.diagnosis is not None and incident.diagnosis.cause is Cause.ALREADY_OVER:
        return desk.tell(incident, Step.OVER, "It ended before the approval; nothing was changed."), False
    if plan is None or [_essence(change) for change in plan.changes] != [_essence(change) for change in asked]:
        why = "What would be changed is no longer what was approved. Nothing was changed; run /unthrottle check."
        return _denied_by(desk, incident, "changed-since", why), False
    incident = desk.judge(seen, approved=True)
    if _decision(incident) is Decision.DENIED:
        reasons = incident.verdict.reasons if incident.verdict else ()
        why = " ".join(reason.text for reason in reasons)
        incident = desk.change(incident, "denied", lambda found, _: found.now(Status.DENIED))
        return desk.page(desk.tell(incident, Step.REFUSED, why), why), False
    return incident, True


def _essence(change: Change) -> tuple[object, ...]:
    """What a person says yes to: the target, what it has and what it gets. Not the numbers that led to it."""
    after = change.after if isinstance(change, CapConcurrency | CapEventSource) else None
    before = change.before if isinstance(change, CapConcurrency | CapEventSource) else None
    return (change.kind, change.target, before, after)


def _denied_by(desk: Desk, incident: Incident, guardrail: str, why: str) -> Incident:
    reason = Reason(guardrail=guardrail, text=why)
    incident = desk.change(
        incident,
        "refused",
        lambda found, now: (
            replace(
                found,
                verdict=Verdict(
                    decision=Decision.DENIED, reasons=(reason, *(found.verdict.reasons if found.verdict else ()))
                ),
            )
            .now(Status.DENIED)
            .told(now, "plan.refused", why)
        ),
    )
    return desk.page(desk.tell(incident, Step.DRIFTED, why), why)


# --- acting ------------------------------------------------------------------------------------------------------------


def _act(desk: Desk, settings: Settings, incident: Incident) -> Incident:
    """Record, compare, change, one target after the other; then verify and hold."""
    try:
        incident = desk.record_intent(incident)
    except StepFailed as failure:
        if failure.code != "Busy":
            raise
        return _watch(desk, _denied_by(desk, incident, "one-at-a-time", str(failure)))
    incident = desk.tell(incident, Step.ACTING)
    for change in incident.plan.changes if incident.plan else ():
        try:
            desk.compare(incident, change)
            made = desk.apply(incident, change)
        except StepFailed as failure:
            incident = _not_made(desk, incident, change, failure)
            break
        incident = desk.change(
            incident,
            "applied",
            lambda found, now, made=made: (
                replace(  # type: ignore[misc]  # bound per change
                    found, applied=(*found.applied, made), acted_at=found.acted_at or made.at
                )
                .now(Status.APPLIED)
                .told(now, "action.applied", made.change.target)
            ),
        )
    if not incident.applied:
        return _watch(desk, incident)
    return _verify(desk, settings, desk.tell(incident, Step.APPLIED))


def _not_made(desk: Desk, incident: Incident, change: Change, failure: StepFailed) -> Incident:
    """One change was not made: others that were made stay and are verified; otherwise the incident ends here."""
    why = str(failure)
    if failure.code in {"changed-since", "change-in-progress"} and not incident.applied:
        return _denied_by(desk, incident, failure.code, why)
    if incident.applied:
        incident = desk.change(
            incident, "partly", lambda found, now: found.told(now, "action.failed", f"{change.target}: {why}")
        )
    else:
        incident = desk.change(
            incident, "failed", lambda found, now: found.now(Status.FAILED).told(now, "action.failed", why)
        )
    return desk.tell(desk.page(incident, why), Step.FAILED, why)


def _verify(desk: Desk, settings: Settings, incident: Incident) -> Incident:
    """Judge by the measurement that raised the symptom; then hold, give back, or hand over."""
    action = incident.plan.action if incident.plan else Action.NONE
    allowed = {
        Action.CAP_CONCURRENCY: POOL_TIME,
        Action.CAP_EVENT_SOURCE: POOL_TIME,
        Action.CANCEL_BACKFILL: BACKFILL_TIME,
    }.get(action, TABLE_TIME)
    since = incident.acted_at or incident.opened_at
    outcome, because = _until_over(desk, incident, since, since + allowed, EVERY)
    if outcome is Outcome.RECOVERED:
        incident = desk.tell(_recovered(desk, incident, because), Step.RECOVERED, because)
    else:
        incident = desk.change(
            incident,
            "not-recovered",
            lambda found, now: replace(found, outcome=outcome).told(now, "verification.done", f"{outcome}: {because}"),
        )
        step = Step.NOT_RECOVERED if outcome is Outcome.NOT_RECOVERED else Step.INCONCLUSIVE
        incident = desk.tell(desk.page(incident, f"{outcome.value}: {because}"), step, because)
    if action is Action.CANCEL_BACKFILL:
        return desk.close(incident)
    if outcome is Outcome.NOT_RECOVERED and action in {Action.CAP_CONCURRENCY, Action.CAP_EVENT_SOURCE}:
        return desk.close(_give_back(desk, incident, "it did not help"))
    return _hold(desk, settings, incident)


# --- the lease ---------------------------------------------------------------------------------------------------------


def _hold(desk: Desk, settings: Settings, incident: Incident) -> Incident:
    """Keep the change for its lease; then give it back if what caused it is gone, or renew and say so."""
    plan = incident.plan
    lease = timedelta(minutes=(plan.lease_minutes if plan else None) or settings.cap_lease_minutes)
    step = Step.APPLIED
    detail = "The lease begins."
    for renewal in range(MOST_RENEWALS + 1):
        incident, answer = desk.ask(incident, "lease", lease, Step.RENEWED if renewal else step, detail)
        if not isinstance(answer, Expired):
            said = read_answer(answer.text)
            return desk.close(_by_hand(desk, incident, said))
        pressure = desk.pressure(incident)
        if pressure.is_gone:
            return desk.close(_give_back(desk, incident, pressure.because))
        detail = f"Still needed: {pressure.because}."
        incident = desk.change(
            incident,
            "renewed",
            lambda found, now, why=pressure.because: replace(  # type: ignore[misc]  # bound per renewal
                found, renewals=found.renewals + 1
            ).told(now, "lease.renewed", why),
        )
    why = f"The change was renewed {MOST_RENEWALS} times and is still needed. It stays; a person must decide now."
    incident = desk.change(
        incident, "kept", lambda found, now: found.now(Status.KEPT).told(now, "lease.handed-over", why)
    )
    return desk.close(_escalate(desk, incident, why))


def _by_hand(desk: Desk, incident: Incident, said: Answer) -> Incident:
    if said.do == "keep":
        incident = desk.change(
            incident, "kept", lambda found, now: found.now(Status.KEPT).told(now, "action.kept", f"by {said.by}")
        )
        return desk.tell(incident, Step.KEPT, f"Kept by {said.by}; Unthrottle will not give it back.")
    return _give_back(desk, incident, f"asked by {said.by}")


def _give_back(desk: Desk, incident: Incident, why: str) -> Incident:
    """Put every change back, newest first, where the value is still ours; tell, don't touch, where it is not."""
    told: list[str] = []
    alone: list[str] = []
    for made in reversed(incident.applied):
        result = _put_back(desk, incident, made.change)
        if isinstance(result, GivenBack):
            told.append(result.detail)
        else:
            alone.append(result.found if isinstance(result, LeftAlone) else result.because)
            if isinstance(result, NotYet):
                incident = desk.page(incident, f"Could not give back {made.change.target}: {result.because}")
    detail = "; ".join((*told, *alone))
    if told:
        incident = desk.change(
            incident,
            "reverted",
            lambda found, now: (
                replace(found, reverted_at=now).now(Status.REVERTED).told(now, "action.reverted", f"{detail} ({why})")
            ),
        )
        return desk.tell(incident, Step.REVERTED, f"{detail}: {why}")
    incident = desk.change(
        incident, "left-alone", lambda found, now: found.now(Status.KEPT).told(now, "lease.drifted", detail)
    )
    return desk.tell(incident, Step.DRIFTED, f"{detail}. It was left as it is.")


def _put_back(desk: Desk, incident: Incident, change: Change) -> GivenBack | LeftAlone | NotYet:
    result: GivenBack | LeftAlone | NotYet = NotYet(because="it was not tried")
    for _ in range(MOST_TRIES):
        try:
            result = desk.give_back(incident, change)
        except StepFailed as failure:
            result = NotYet(because=str(failure))
        if not isinstance(result, NotYet):
            return result
        desk.wait("give-back-later", RARELY)
    return result
