"""The story of an incident, in the order in which it happens. Read this first.

Each line that does something is a step of `Desk`; a resumed run repeats this function and gets every finished step's result
without doing it again. So nothing here may read a clock, a random number or a setting that can change between two runs, and
nothing is put back in a ``finally``: a durable run suspends by an exception, and would "put back" at every wait. Asking a
person is told in `approval`, watching in `watching`, and the change's lease in `lease`.
"""

from dataclasses import replace
from datetime import timedelta

from unthrottle.answers import Answer
from unthrottle.approval import AS_FOUND, ask, decision_of, denied_by, with_record
from unthrottle.desk import Desk
from unthrottle.diagnosis import Cause
from unthrottle.errors import MalformedAnswer, StepFailed, TryAgain
from unthrottle.incident import AppliedChange, Decision, Incident, Outcome, Status
from unthrottle.lease import by_hand, give_back, hold
from unthrottle.look import Seen
from unthrottle.plan import Action, Change
from unthrottle.ports import Ports, Run
from unthrottle.records import CLOSED_ELSEWHERE
from unthrottle.report.moments import Step
from unthrottle.settings import Mode, Settings
from unthrottle.watching import EVERY, End, escalate, recovered, until_over, watch

POOL_TIME = timedelta(minutes=25)
"""How long a cap may take to show: running executions are not stopped, and may run for 15 minutes (Lambda's limit)."""
TABLE_TIME = timedelta(minutes=60)
"""How long a table's change may take to show: a switch takes minutes, and up to an hour has been seen."""
BACKFILL_TIME = timedelta(minutes=30)
CHANGE_TIME = timedelta(minutes=15)
"""How long a change somebody else began may take before it is looked at again: it may not have been enough."""
MOST_LOOKS = 2
"""How often a change that was not enough is looked at again, before it is waited for as for a ramp."""
RAMP_TIME = timedelta(minutes=45)
"""How long an on-demand table may take to adapt: half an hour after a new peak, and the metrics' delay."""
HARMLESS_TO_GIVE_BACK = frozenset({Action.CAP_CONCURRENCY, Action.CAP_EVENT_SOURCE})
"""A cap that did not help only costs its function; a table that is short even on-demand would be shorter without it."""
REFUSALS = {
    **{guardrail: guardrail for guardrail in (*AS_FOUND, "paused", "freeze")},
    "no-room-above-floor": "floor",
    "LimitExceededException": "switch-budget",
    "ResourceInUseException": "change-in-progress",
    "ResourceConflictException": "change-in-progress",
}
"""Which guardrail a change met that was not made, by the code of the failure: our own look just before, or AWS's no."""
REFUSED_RAISE = {"LimitExceededException": "table-quota"}
"""The same where capacity was to be raised, which spends no switch: a quota of provisioned capacity is reached."""


UNSURE = frozenset({TryAgain.code, MalformedAnswer.code, "paused", "freeze"})
"""Codes after which the change may have been made: its answer never came, or it was tried before and then stopped."""


def respond(run: Run, ports: Ports, settings: Settings, own_prefix: str | None, incident_id: str) -> Incident:
    """Heal one incident, from the open record to the closed one. Returns the closed record."""
    desk = Desk(run, ports, settings, own_prefix)
    incident = desk.load(incident_id)
    if not incident.is_open or incident.is_taken_over:
        return incident
    try:
        return _heal(desk, settings, incident)
    except StepFailed as failure:
        if failure.code == CLOSED_ELSEWHERE:  # also where the sweep's give-back has to wait: it goes on with it
            return desk.load(incident_id)
        why = f"step {failure.step} failed: {failure}"
        try:
            return _stop(desk, settings, desk.load(incident_id), why)
        except StepFailed:  # not even the record can be written: a person is told without it; the sweep has the rest
            desk.last_word(incident, why)
            raise


def _heal(desk: Desk, settings: Settings, incident: Incident) -> Incident:
    seen = desk.look(desk.tell(incident, Step.OPENED))
    incident = desk.tell(seen.incident, Step.DIAGNOSED, picture=seen.picture)
    plan = incident.plan
    if incident.forced_dry_run and plan is not None:
        return _only_look(desk, seen, incident)
    return _decide(desk, settings, seen, incident)


def _decide(desk: Desk, settings: Settings, seen: Seen, incident: Incident, looks: int = 0) -> Incident:
    """Follow the plan of a look. `looks` counts the looks after a change of somebody else's that was not enough."""
    plan = incident.plan
    if plan is None or incident.muted_by is not None:
        return desk.close(desk.tell(incident, Step.MUTED, incident.muted_by or ""))
    if plan.action is Action.NONE:
        return desk.close(desk.tell(incident, Step.OVER, plan.why))
    if plan.action is Action.ESCALATE:
        return watch(desk, escalate(desk, incident, plan.why))
    if plan.action is Action.WAIT:
        return _wait(desk, settings, incident, looks)

    incident = desk.judge(with_record(seen, incident))
    if decision_of(incident) is Decision.DENIED:
        return _deny(desk, incident)
    if incident.mode is Mode.DRY_RUN:
        incident = desk.change(
            incident, "would", lambda found, now: found.now(Status.WOULD_APPLY).told(now, "plan.would")
        )
        return watch(desk, desk.tell(incident, Step.WOULD, picture=seen.picture))
    if decision_of(incident) is Decision.NEEDS_APPROVAL:
        asked = ask(desk, settings, incident)
        if asked.anew is not None:
            return _decide(desk, settings, asked.anew, asked.incident, looks)
        if not asked.agreed:
            return watch(desk, asked.incident)
        incident = asked.incident
    return _act(desk, settings, incident)


def _only_look(desk: Desk, seen: Seen, incident: Incident) -> Incident:
    """A look that a person asked for ends with its report: nothing is changed, nobody is paged, nothing is watched."""
    if incident.resources:
        incident = desk.judge(with_record(seen, incident))
        if decision_of(incident) is Decision.DENIED:
            why = " ".join(reason.text for reason in incident.verdict.reasons) if incident.verdict else ""
            incident = desk.change(
                incident, "denied", lambda found, now: found.now(Status.DENIED).told(now, "plan.refused", why)
            )
            return desk.close(desk.tell(incident, Step.REFUSED, why))
        incident = desk.change(
            incident, "would", lambda found, now: found.now(Status.WOULD_APPLY).told(now, "plan.would")
        )
    return desk.close(desk.tell(incident, Step.WOULD, picture=seen.picture))


# --- when nothing is changed ---------------------------------------------------------------------------------------


def _deny(desk: Desk, incident: Incident) -> Incident:
    """A guardrail said no: tell why, and reach a person, unless the resource's own tag opted out."""
    reasons = incident.verdict.reasons if incident.verdict else ()
    why = " ".join(reason.text for reason in reasons)
    incident = desk.change(
        incident, "denied", lambda found, now: found.now(Status.DENIED).told(now, "plan.refused", why)
    )
    if incident.mode is not Mode.OFF:
        incident = desk.page(incident, f"A guardrail refused the change: {why}")
    return watch(desk, desk.tell(incident, Step.REFUSED, why))


def _stop(desk: Desk, settings: Settings, incident: Incident, why: str) -> Incident:
    """Something failed for good: leave what is, and hand all of it to a person.

    With a change in force the record stays open under its lease: the sweep gives it back at the end.
    """
    if not incident.is_open or incident.is_taken_over:
        return incident
    if incident.is_half_done:
        for change in incident.plan.changes if incident.plan else ():  # made, and the record of it was what failed?
            made = _made_after_all(desk, incident, change)
            incident = incident if made is None else _made(desk, incident, made)
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


def _wait(desk: Desk, settings: Settings, incident: Incident, looks: int) -> Incident:
    """What ends by itself is watched until it is over, or until it should have been; then a person is told.

    A change of capacity that was not enough is looked at again first: what is left may have an answer of its own.
    """
    incident = desk.tell(incident, Step.WAITING, incident.plan.why if incident.plan else "")
    began = desk.now()
    is_change = incident.diagnosis is not None and incident.diagnosis.cause is Cause.CAPACITY_CHANGE_IN_PROGRESS
    again = is_change and looks < MOST_LOOKS
    end = until_over(desk, incident, began, began + (CHANGE_TIME if again else RAMP_TIME), EVERY)
    if end.wish is None and again and end.outcome is not Outcome.RECOVERED:
        seen = desk.look(incident)
        incident = desk.tell(seen.incident, Step.DIAGNOSED, picture=seen.picture)
        return _decide(desk, settings, seen, incident, looks + 1)
    if end.outcome is Outcome.RECOVERED:
        incident = recovered(desk, incident, end.because)
        return desk.close(desk.tell(incident, Step.OVER, end.because))
    incident = desk.change(incident, "waited", lambda found, _: replace(found, outcome=end.outcome))
    return watch(
        desk, escalate(desk, incident, f"Waited {RAMP_TIME.seconds // 60} min, and it is not over: {end.because}")
    )


# --- acting ------------------------------------------------------------------------------------------------------------


def _act(desk: Desk, settings: Settings, incident: Incident) -> Incident:
    """Record, compare, change, one target after the other; then verify and hold."""
    try:
        incident = desk.record_intent(incident)
    except StepFailed as failure:
        met = {"Busy": "one-at-a-time", "OverBudget": "action-budget", "mode": "mode"}.get(failure.code)
        if met is None:
            raise
        return watch(desk, denied_by(desk, incident, met, str(failure)))
    incident = desk.tell(incident, Step.ACTING)
    for change in incident.plan.changes if incident.plan else ():
        try:
            compared_at = desk.compare(incident, change)
            made = desk.apply(incident, change, compared_at)
        except StepFailed as failure:
            if failure.code == CLOSED_ELSEWHERE:
                raise
            incident = _not_made(desk, incident, change, failure)
            break
        incident = _made(desk, incident, made)
    if not incident.applied:
        return watch(desk, incident)
    return _verify(desk, settings, desk.tell(incident, Step.APPLIED))


def _made(desk: Desk, incident: Incident, made: AppliedChange) -> Incident:
    return desk.change(
        incident,
        "applied",
        lambda found, now: (
            replace(found, applied=(*found.applied, made), acted_at=found.acted_at or made.at)
            .now(Status.APPLIED)
            .told(now, "action.applied", made.change.target)
        ),
    )


def _not_made(desk: Desk, incident: Incident, change: Change, failure: StepFailed) -> Incident:
    """One change was not made: others that were made stay and are verified; otherwise the incident ends here."""
    why = str(failure)
    if failure.code in UNSURE and failure.step.startswith("act"):  # before that nothing of ours can be in force
        found = _made_after_all(desk, incident, change)
        if found is not None:
            return _made(desk, incident, found)
    refusals = {**REFUSALS, **REFUSED_RAISE} if change.kind == "raise-capacity" else REFUSALS
    if failure.code in refusals and not incident.applied:
        return denied_by(desk, incident, refusals[failure.code], why)
    if incident.applied:
        incident = desk.change(
            incident, "partly", lambda found, now: found.told(now, "action.failed", f"{change.target}: {why}")
        )
    else:
        incident = desk.change(
            incident, "failed", lambda found, now: found.now(Status.FAILED).told(now, "action.failed", why)
        )
    return desk.tell(desk.page(incident, why), Step.FAILED, why)


def _made_after_all(desk: Desk, incident: Incident, change: Change) -> AppliedChange | None:
    """An answer that never came is not a no: what is in force is held and given back like any other change."""
    try:
        return desk.made_after_all(incident, change)
    except StepFailed:
        return None


def _verify(desk: Desk, settings: Settings, incident: Incident) -> Incident:
    """Judge by the measurement that raised the symptom; then hold, give back, or hand over."""
    action = incident.plan.action if incident.plan else Action.NONE
    allowed = {
        Action.CAP_CONCURRENCY: POOL_TIME,
        Action.CAP_EVENT_SOURCE: POOL_TIME,
        Action.CANCEL_BACKFILL: BACKFILL_TIME,
    }.get(action, TABLE_TIME)
    since = incident.acted_at or incident.opened_at
    end = until_over(desk, incident, since, since + allowed, EVERY)
    if end.wish is not None:
        return desk.close(by_hand(desk, incident, Answer(do=end.wish.do, by=end.wish.by)))
    if end.outcome is Outcome.RECOVERED:
        incident = recovered(desk, incident, end.because)
        incident = desk.tell(incident, Step.RECOVERED, end.because, picture=desk.picture(incident))
    else:
        incident = _not_recovered(desk, incident, end)
    if action is Action.CANCEL_BACKFILL:
        return desk.close(incident)
    if end.outcome is Outcome.NOT_RECOVERED and action in HARMLESS_TO_GIVE_BACK:
        return desk.close(give_back(desk, incident, "it did not help"))
    return hold(desk, settings, incident)


def _not_recovered(desk: Desk, incident: Incident, end: End) -> Incident:
    """Page a person with all that was tried, and with what becomes of it now."""
    incident = desk.change(
        incident,
        "not-recovered",
        lambda found, now: replace(found, outcome=end.outcome).told(
            now, "verification.done", f"{end.outcome}: {end.because}"
        ),
    )
    action = incident.plan.action if incident.plan else Action.NONE
    tried = "; ".join(incident.plan.commands) if incident.plan else ""
    if action is Action.CANCEL_BACKFILL:
        then = "There is nothing to give back."
    elif end.outcome is Outcome.NOT_RECOVERED and action in HARMLESS_TO_GIVE_BACK:
        then = "It is given back now."
    else:
        then = "It stays for its lease."
    step = Step.NOT_RECOVERED if end.outcome is Outcome.NOT_RECOVERED else Step.INCONCLUSIVE
    told = f"{end.outcome.value}: {end.because}. Tried: {tried}. {then}"
    return desk.tell(desk.page(incident, told), step, end.because)
