"""What does each step say in one line of the thread?

The line is complete by itself: it is also the notification, and what is left when Slack refuses every block.
"""

import re

from unthrottle.incident import Incident, Outcome, Status
from unthrottle.plan import Action
from unthrottle.report.deeds import deeds, ends, ends_in_brief, way_back
from unthrottle.report.steps import Step
from unthrottle.report.voice import Voice
from unthrottle.report.words import (
    because,
    changes,
    clock,
    confidence,
    duration,
    is_dry_run,
    is_left,
    is_seen,
    listed,
    since,
    sufferers,
    suffering,
)

_TELLS_BY_WHOM = {Step.REJECTED, Step.KEPT, Step.EXTENDED, Step.REVERTED}
_SNOOZES = {Step.SNOOZED, Step.PUT_OFF}
_BY_WHOM = re.compile(r"\b([Bb]y) ([UW][0-9][A-Z0-9]{1,18})\b", re.ASCII)


def line(incident: Incident, step: Step, voice: Voice, detail: str) -> str:
    """Say what happened at this step. `detail` is quoted at the end; it may come from anywhere."""
    if step in _SNOOZES:
        return _put_off(incident, step, voice, detail.removeprefix("By "))
    quoted = voice.text(detail)
    said = _line(incident, step, voice, is_explained=bool(quoted))
    if step in _TELLS_BY_WHOM:
        quoted = _BY_WHOM.sub(lambda found: f"{found[1]} {voice.person(found[2])}", quoted)
    if not quoted or quoted.rstrip(".").lower() in said.lower():
        return said
    return f"{said}: {quoted}" if not said.endswith((".", ":")) else f"{said} {quoted}"


def _line(incident: Incident, step: Step, voice: Voice, *, is_explained: bool) -> str:
    match step:
        case Step.OPENED:
            return _opened(incident, voice)
        case Step.DIAGNOSED:
            return _diagnosed(incident, voice)
        case Step.APPROVAL_NEEDED | Step.REMINDER:
            return _approval(incident, voice, again=step is Step.REMINDER)
        case Step.ESCALATED | Step.SNOOZED | Step.PUT_OFF | Step.GOES_ON | Step.UNRESOLVED | Step.RETURNED:
            return _with_a_person(incident, step, voice)
        case (
            Step.ACTING
            | Step.APPLIED
            | Step.WOULD
            | Step.REVERTED
            | Step.KEPT
            | Step.RENEWED
            | Step.EXTENDED
            | Step.DRIFTED
        ):
            return _change(incident, step, voice, is_explained=is_explained)
        case Step.RECOVERED | Step.NOT_RECOVERED | Step.INCONCLUSIVE | Step.OVER:
            return _judgement(incident, step, voice)
        case Step.REFUSED | Step.EXPIRED | Step.REJECTED | Step.FAILED:
            return _no_change(incident, step, voice, is_explained=is_explained)
        case Step.WAITING:
            why = voice.text(incident.plan.why) if incident.plan else ""
            return f"watching, nothing was changed. {why}".strip()
        case Step.MUTED:
            by = f" by {voice.name(incident.muted_by)}" if incident.muted_by else ""
            return f"the alarm is muted{by}: recorded, nothing is done about it"
        case Step.LATE:
            return "delivered late, Slack did not take it when it happened"


def _opened(incident: Incident, voice: Voice) -> str:
    if incident.requested_by:
        return f"{voice.person(incident.requested_by)} asked for a look; finding out why"
    alarm = f"alarm {voice.name(incident.alarm_name, 120)}" if incident.alarm_name else "an alarm"
    if incident.early_warning or is_seen(incident):
        return f"{alarm} went off: {suffering(incident, voice)}; finding out why"
    at = clock(since(incident), incident.opened_at)
    return f"{alarm} went off at {at} for {sufferers(incident, voice)[0]}; finding out why"


def _diagnosed(incident: Incident, voice: Voice) -> str:
    if incident.diagnosis is None:
        return "looked, and could not conclude anything"
    cause = f"cause {voice.strong(confidence(incident.diagnosis))}: {because(incident, voice)}"
    if incident.plan is None or not incident.plan.changes:
        return cause
    return f"{cause}; {'would' if is_dry_run(incident) else 'the plan is to'} {deeds(changes(incident), voice, 'do')}"


def _with_a_person(incident: Incident, step: Step, voice: Voice) -> str:
    match step:
        case Step.ESCALATED:
            return f"paged a person: {suffering(incident, voice)}{_colon(because(incident, voice))}"
        case Step.GOES_ON:
            return f"the snooze has ended and it goes on, paged a person again: {suffering(incident, voice)}"
        case Step.RETURNED:
            return "throttled again while the change is in force, paged a person; no second change is made"
        case Step.UNRESOLVED:
            what = "was watched to the end and is not over" if incident.alarm_name else "is not over"
            return f"closed, nothing was changed: it {what}; the next alarm opens a new incident"
        case _:
            return _put_off(incident, step, voice, "")


def _put_off(incident: Incident, step: Step, voice: Voice, by: str) -> str:
    snoozed = f"snoozed by {voice.person(by)}" if by else "snoozed"
    if step is Step.SNOOZED:
        until = f" until {clock(incident.question.expires_at, incident.opened_at)}" if incident.question else ""
        return f"{snoozed}, reminds again {_in(incident)}; the approval stays open{until}, nothing was changed"
    until = f" until {clock(incident.snoozed_until, incident.opened_at)}" if incident.snoozed_until else ""
    meanwhile = "the change stays for its lease" if incident.applied else "later alarms of it join here"
    return f"{snoozed}{until}: {meanwhile} and nobody is paged; if it goes on after that, a person is paged again"


def _in(incident: Incident) -> str:
    """Say how long a snooze lasts, from the newest line of the story on."""
    if incident.snoozed_until is None or not incident.timeline:
        return "in an hour"
    minutes = round((incident.snoozed_until - incident.timeline[-1].at).total_seconds() / 60)
    return "in an hour" if minutes == 60 else f"in {duration(minutes)}"


def _approval(incident: Incident, voice: Voice, *, again: bool) -> str:
    until = f" before {clock(incident.question.expires_at, incident.opened_at)}" if incident.question else " in time"
    return (
        f"{'still ' if again else ''}needs a person's yes{until} to {deeds(changes(incident), voice, 'do') or 'act'}; "
        "without it nothing is changed"
    )


def _change(incident: Incident, step: Step, voice: Voice, *, is_explained: bool) -> str:
    planned = changes(incident)
    before_after = ends_in_brief(planned, voice)
    match step:
        case Step.ACTING:
            return f"about to {deeds(planned, voice, 'do') or 'act'}{before_after}"
        case Step.APPLIED:
            if incident.outcome is not Outcome.NONE:
                stays = listed([ends(change, voice) for change in planned], most=2)
                return f"stays for its lease: {stays or 'the change'}. {way_back(incident, voice)}".rstrip()
            said = f"{deeds(planned, voice, 'done') or 'acted'}{before_after}"
            by = f", approved by {voice.person(incident.approved_by)}" if incident.approved_by else ""
            return f"{said}{by}. {way_back(incident, voice)}".rstrip()
        case Step.WOULD:
            lease = (
                f" for {duration(incident.plan.lease_minutes)}" if incident.plan and incident.plan.lease_minutes else ""
            )
            return f"would {deeds(planned, voice, 'do') or _would(incident)}{lease}{before_after}; nothing was changed"
        case Step.REVERTED:
            back = listed([ends(change, voice, back=True) for change in planned], most=2)
            return f"gave back {back or 'the change'}"
        case Step.KEPT:
            stays = listed([ends(change, voice) for change in planned], most=2)
            return f"kept {stays or 'the change'}{'' if is_explained else '; it stays until someone changes it'}"
        case Step.RENEWED:
            until = f" until {clock(incident.lease_until, incident.opened_at)}" if incident.lease_until else ""
            again = f"the pressure persists, lease renewed{until} (renewal {incident.renewals})"
            return f"{again}: {deeds(planned, voice, 'done')}"
        case Step.EXTENDED:
            until = f" until {clock(incident.lease_until, incident.opened_at)}" if incident.lease_until else " for 24 h"
            stays = listed([ends(change, voice) for change in planned], most=2)
            return f"kept{until}, then it goes back unless the pressure persists: {stays or 'the change'}"
        case _:
            return "someone else changed it since it was read; it was left alone"


def _would(incident: Incident) -> str:
    """Say what would be done where nothing would be changed."""
    action = incident.plan.action if incident.plan else Action.NONE
    return {Action.ESCALATE: "page a person", Action.WAIT: "only watch"}.get(action, "do nothing")


def _judgement(incident: Incident, step: Step, voice: Voice) -> str:
    match step:
        case Step.RECOVERED:
            return f"recovered: {suffering(incident, voice)}"
        case Step.NOT_RECOVERED:
            after = f" after the bot {deeds(changes(incident), voice, 'done')}" if incident.acted_at else ""
            return f"not recovered: {suffering(incident, voice)}{after}"
        case Step.INCONCLUSIVE:
            return "cannot tell whether it recovered, the measurement is missing or contradictory"
        case _ if is_left(incident):
            return "left as it is, nothing was changed"
        case _:
            return "resolved itself, nothing had to be changed"


def _no_change(incident: Incident, step: Step, voice: Voice, *, is_explained: bool) -> str:
    wanted = deeds(changes(incident), voice, "do") or "act"
    match step:
        case Step.REFUSED:
            reasons = incident.verdict.reasons if incident.verdict else ()
            names = listed([voice.name(reason.guardrail) for reason in reasons], most=4)
            return f"did not {wanted}: refused by {names or 'a guardrail'}; nothing was changed"
        case Step.EXPIRED:
            return f"did not {wanted}{'' if is_explained else ', nothing was changed: nobody answered in time'}"
        case Step.REJECTED:
            return f"did not {wanted}{'' if is_explained else ', nothing was changed: a person said no'}"
        case _ if incident.applied or incident.status in {Status.APPLIED, Status.REVERTED, Status.KEPT}:
            return f"{deeds(changes(incident), voice, 'done')}, but something failed after that"
        case _:
            return f"could not {wanted}"


def _colon(text: str) -> str:
    return f": {text}" if text else ""
