"""How a person is asked before a change: asked, reminded, put off, and judged again at the yes. A part of the incident's
story, see `workflow`.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from unthrottle.actions.same import agreed_change
from unthrottle.answers import read_answer
from unthrottle.desk import MAY_ACT, Desk
from unthrottle.diagnosis import Cause
from unthrottle.incident import Decision, Incident, Reason, Status, Verdict
from unthrottle.look import Seen
from unthrottle.plan import Plan
from unthrottle.ports import Answered, Expired
from unthrottle.report.moments import Step
from unthrottle.settings import Settings

LOOK_AGAIN = timedelta(minutes=5)
"""How often an early warning is looked at again while a person is asked: it may have become an incident meanwhile."""
AS_FOUND = frozenset({"changed-since", "change-in-progress"})
"""Guardrails that say: it is not what it was when it was looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What came of asking: go on and act, or not. `anew`: what a look saw meanwhile that has to be decided from the start."""

    incident: Incident
    agreed: bool = False
    anew: Seen | None = None


def ask(desk: Desk, settings: Settings, incident: Incident) -> Asked:
    """Ask a person, remind at half time, and judge again against fresh state at the yes."""
    if incident.early_warning and _asked_by(incident) == {"before-throttling"}:
        return _ask_early(desk, settings, incident)
    half = settings.approval_time / 2
    incident, answer = desk.ask(incident, "approval", half, Step.APPROVAL_NEEDED, expires=settings.approval_time)
    if isinstance(answer, Expired):
        incident, answer = desk.ask(incident, "approval", settings.approval_time - half, Step.REMINDER)
    return _answered(desk, settings, incident, answer)


def _asked_by(incident: Incident) -> set[str]:
    return {reason.guardrail for reason in incident.verdict.reasons} if incident.verdict else set()


def _ask_early(desk: Desk, settings: Settings, incident: Incident) -> Asked:
    """Ask before anybody is throttled, and look again every few minutes: with the first victim nobody need be asked.

    Nobody suffers yet, so people hear of it once, once more at half time, and again only if what is asked has changed.
    What is no early warning any more, what wants no change, and what its owner's tag keeps from us, is decided anew.
    """
    left, step, version, asked = settings.approval_time, Step.APPROVAL_NEEDED, None, incident.plan
    while True:
        wait, shown = min(LOOK_AGAIN, left), version or incident.version + 1
        incident, answer = desk.ask(incident, "approval", wait, step, expires=left, version=version)
        left, version = left - wait, shown
        if not isinstance(answer, Expired) or left <= timedelta(0):
            return _answered(desk, settings, incident, answer)
        seen = desk.look(incident)
        incident, plan = seen.incident, seen.incident.plan
        is_still_asked = incident.early_warning and plan is not None and plan.is_change
        if not is_still_asked or incident.mode not in MAY_ACT:
            return Asked(incident=desk.tell(incident, Step.DIAGNOSED, picture=seen.picture), anew=seen)
        agreed = agreed_change(asked, plan)
        if agreed is None:
            step, version, asked = Step.APPROVAL_NEEDED, None, plan
            continue
        incident = replace(incident, plan=agreed)  # the numbers that people were shown: a yes is for those
        if step is not Step.REMINDER and left <= settings.approval_time / 2:
            step, version = Step.REMINDER, None


def _answered(desk: Desk, settings: Settings, incident: Incident, answer: Answered | Expired) -> Asked:
    """Do what a person said, or say that nobody did. A snoozed question is quiet for its time, then reminds once."""
    while isinstance(answer, Answered) and (said := read_answer(answer.text)).do == "snooze":
        left, quiet = settings.approval_time / 2, timedelta(minutes=said.minutes)
        incident, answer = desk.ask(incident, "approval", quiet, Step.SNOOZED, f"By {said.by}", expires=quiet + left)
        if isinstance(answer, Expired):
            incident, answer = desk.ask(incident, "approval", left, Step.REMINDER)
    if isinstance(answer, Expired):
        incident = desk.change(
            incident, "expired", lambda found, now: found.now(Status.EXPIRED).told(now, "approval.expired")
        )
        incident = desk.page(incident, "The approval expired; nothing was changed and the symptom may go on.")
        return Asked(incident=desk.tell(incident, Step.EXPIRED, "Nobody answered in time; nothing was changed."))
    said = read_answer(answer.text)
    because = f": {said.why}" if said.why else ""
    if said.do != "approve":
        incident = desk.change(
            incident,
            "rejected",
            lambda found, now: replace(found.now(Status.REJECTED), decided_because=said.why).told(
                now, "approval.rejected", f"by {said.by}{because}"
            ),
        )
        told = f"Rejected by {said.by}{because}; nothing was changed."
        return Asked(incident=desk.tell(incident, Step.REJECTED, told))
    asked = incident.plan
    incident = desk.change(
        incident,
        "approved",
        lambda found, now: replace(found, approved_by=said.by, decided_because=said.why).told(
            now, "approval.given", f"by {said.by}{because}"
        ),
    )
    return _judge_again(desk, incident, asked)


def _judge_again(desk: Desk, incident: Incident, asked: Plan | None) -> Asked:
    """A yes was for exactly one change: look again, and make that one if it is still what the evidence calls for."""
    seen = desk.look(incident)
    incident = seen.incident
    plan = incident.plan
    if incident.diagnosis is not None and incident.diagnosis.cause is Cause.ALREADY_OVER:
        return Asked(incident=desk.tell(incident, Step.OVER, "It ended before the approval; nothing was changed."))
    agreed = agreed_change(asked, plan)
    if agreed is None:
        now_planned = f"{plan.action.value} ({plan.why})" if plan else "nothing"
        why = f"What was approved is no longer what the evidence calls for, which is now {now_planned}. Nothing was changed."
        return Asked(incident=denied_by(desk, incident, "changed-since", why))
    if incident.mode not in MAY_ACT:  # no tag can have done it, they are the same: defence in depth
        why = f"The mode is {incident.mode.value} by now, in which nothing is changed."
        return Asked(incident=denied_by(desk, incident, "mode", why))
    answered = {reason.guardrail for reason in incident.verdict.reasons} if incident.verdict else set()
    incident = desk.judge(replace(seen, incident=replace(incident, plan=agreed)), approved=True)
    if decision_of(incident) is Decision.DENIED:
        found = incident.verdict.reasons if incident.verdict else ()
        reasons = [reason for reason in found if reason.guardrail not in answered] or found
        why = " ".join(reason.text for reason in reasons)
        incident = desk.change(
            incident, "denied", lambda found, now: found.now(Status.DENIED).told(now, "plan.refused", why)
        )
        return Asked(incident=desk.tell(desk.page(incident, why), Step.REFUSED, why))
    return Asked(incident=incident, agreed=True)


def denied_by(desk: Desk, incident: Incident, guardrail: str, why: str) -> Incident:
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
    return desk.tell(desk.page(incident, why), Step.DRIFTED if guardrail in AS_FOUND else Step.REFUSED, why)


def with_record(seen: Seen, incident: Incident) -> Seen:
    """Carry the newest record into a look."""
    return replace(seen, incident=incident)


def decision_of(incident: Incident) -> Decision:
    return incident.verdict.decision if incident.verdict else Decision.NONE
