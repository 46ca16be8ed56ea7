"""How long a change stays, and how it is given back: the last part of an incident's story. See `workflow`.

Given back is only what is still ours; what someone changed meanwhile is told and left. A change whose cause is not gone is
renewed, up to a limit. Like the workflow it reads no clock and puts nothing back in a ``finally``.
"""

from dataclasses import replace
from datetime import timedelta

from unthrottle.actions.outcome import GivenBack, LeftAlone, NotYet
from unthrottle.answers import Answer, read_answer
from unthrottle.desk import Desk
from unthrottle.errors import StepFailed
from unthrottle.incident import ASKED_BACK, Incident, Outcome, Status, Wish
from unthrottle.plan import Change, RaiseCapacity
from unthrottle.ports import Answered, Expired
from unthrottle.report.moments import Step
from unthrottle.settings import Settings
from unthrottle.watching import recovered, reminded

SOON = timedelta(minutes=5)
LATER = timedelta(minutes=30)
SHORTEST = timedelta(minutes=1)
"""What is left of a lease is not asked about any more when it is less."""
RECENTLY = timedelta(minutes=7)
"""How far back is looked for throttles at the end of a snooze."""
EXTENSION = timedelta(hours=24)
"""What "keep for 24 h" gives."""
MOST_RENEWALS = 11
"""Renewals before a person must decide: 24 hours of two-hour caps."""
QUICK_TRIES = 12
"""Tries to give back, every five minutes, before a person is told that it does not work yet."""
MOST_TRIES = QUICK_TRIES + 52
"""With half-hourly tries after the quick ones this reaches past the next UTC day, when the decrease budget is new (AWS)."""


def hold(desk: Desk, settings: Settings, incident: Incident) -> Incident:
    """Keep the change for its lease; then give it back if what caused it is gone, or renew and say so."""
    plan = incident.plan
    lease = timedelta(minutes=(plan.lease_minutes if plan else None) or settings.cap_lease_minutes)
    step = Step.APPLIED
    detail = "The lease begins."
    wait = lease
    while True:
        incident, answer = _asked(desk, incident, wait, step, detail)
        step, wait = Step.RENEWED, lease
        if not isinstance(answer, Expired):
            said = read_answer(answer.text)
            if said.do != "keep-24h":
                return desk.close(by_hand(desk, incident, said))
            step, wait, detail = Step.EXTENDED, EXTENSION, f"By {said.by}"
            incident = desk.change(
                incident,
                "extended",
                lambda found, now, by=said.by: found.told(now, "lease.extended", f"by {by}"),  # type: ignore[misc]  # bound now
            )
            continue
        if incident.wish is not None and incident.wish.do != "snooze":  # said in the moment in which nobody was asked
            return desk.close(by_hand(desk, incident, Answer(do=incident.wish.do, by=incident.wish.by)))
        pressure = desk.pressure(incident)
        if pressure.is_gone:
            return desk.close(give_back(desk, incident, pressure.because))
        if _has_drifted(desk, incident):
            return desk.close(_drifted(desk, incident))
        if incident.renewals >= MOST_RENEWALS:
            return desk.close(_handed_over(desk, incident))
        detail = f"Still needed: {pressure.because}."
        incident = desk.change(
            incident,
            "renewed",
            lambda found, now, why=pressure.because: replace(  # type: ignore[misc]  # bound per renewal
                found, renewals=found.renewals + 1
            ).told(now, "lease.renewed", why),
        )


def _handed_over(desk: Desk, incident: Incident) -> Incident:
    """Leave the change to a person: it is still needed after every renewal."""
    why = f"The change was renewed {MOST_RENEWALS} times and is still needed. It stays; a person must decide now."
    settled = desk.settle(incident)
    if settled.wish is not None:
        return _done_by(desk, settled.incident, _said_by(settled.wish), _instead_of(settled.wish))
    incident = desk.change(
        settled.incident, "kept", lambda found, now: found.now(Status.KEPT).told(now, "lease.handed-over", why)
    )
    return desk.tell(desk.page(incident, why), Step.ESCALATED, why)


def _asked(
    desk: Desk, incident: Incident, wait: timedelta, step: Step, detail: str
) -> tuple[Incident, Answered | Expired]:
    """Ask what becomes of the change until its lease ends. A change that did not help can be snoozed: nobody is reminded until
    then, and once at its end if the symptom goes on. The lease ends as before."""
    incident, answer = desk.ask(incident, "lease", wait, step, detail)
    while isinstance(answer, Answered) and (said := read_answer(answer.text)).do == "snooze":
        now = desk.now()
        left = max((incident.lease_until or now) - now, SHORTEST)
        quiet = min(timedelta(minutes=said.minutes), left)
        incident, answer = desk.ask(incident, "lease", quiet, Step.PUT_OFF, f"By {said.by}", expires=left)
        if isinstance(answer, Answered) or left - quiet < SHORTEST:
            continue
        now = desk.now()
        judged = desk.verify(incident, now - RECENTLY, now).judgement
        if judged.outcome is Outcome.RECOVERED:
            incident, step, told = recovered(desk, incident, judged.because), Step.RECOVERED, judged.because
        else:
            incident, step, told = reminded(desk, incident, judged.because), Step.GOES_ON, judged.because
        incident, answer = desk.ask(incident, "lease", left - quiet, step, told)
    return incident, answer


def _has_drifted(desk: Desk, incident: Incident) -> bool:
    """Say whether none of the changes is in force any more. What cannot be read counts as in force.

    Raised numbers count as well, while their table is there: autoscaling moves them all the time, and giving them back
    compares for itself.
    """
    for made in incident.applied:
        try:
            if isinstance(made.change, RaiseCapacity):
                if not desk.is_missing(incident, made.change):
                    return False
            elif desk.is_in_force(incident, made.change):
                return False
        except StepFailed:
            return False
    return True


def _drifted(desk: Desk, incident: Incident) -> Incident:
    """End a lease of which nothing is left, though its cause may not be gone: renewing would hold what is not there."""
    targets = ", ".join(made.change.target for made in incident.applied)
    why = (
        f"Somebody changed {targets} during the lease, and nothing proves that what made the change necessary is over."
    )
    return give_back(desk, desk.page(incident, why), why)


def by_hand(desk: Desk, incident: Incident, said: Answer) -> Incident:
    """Do what a person said; what was said last, where somebody else said something while this was on its way."""
    settled = desk.settle(incident)
    wish, also = settled.wish, ""
    if wish is not None and (wish.do, wish.by) != (said.do, said.by):
        other = _said_by(wish)
        said, before = (said, other) if wish == incident.wish else (other, said)  # one that was known then is the older
        also = f"; {before.by} had said {before.do} just before"
    return _done_by(desk, settled.incident, said, also + _instead_of(wish))


def _said_by(wish: Wish) -> Answer:
    return Answer(do="keep" if wish.do == "keep" else "revert", by=wish.by)


def _instead_of(wish: Wish | None) -> str:
    return f"; {wish.instead_of}" if wish is not None and wish.instead_of else ""


def _done_by(desk: Desk, incident: Incident, said: Answer, also: str = "") -> Incident:
    """Do what was said last. `also`: what others had said, who are told so."""
    if said.do == "keep":
        return _kept_by(desk, incident, f"{said.by}{also}")
    why = f"{ASKED_BACK}{said.by}{also}"
    incident = desk.change(incident, "asked-back", lambda found, _: replace(found, decided_because=why))
    return _all_back(desk, incident, why)


def _kept_by(desk: Desk, incident: Incident, by: str) -> Incident:
    incident = desk.change(
        incident, "kept", lambda found, now: found.now(Status.KEPT).told(now, "action.kept", f"by {by}")
    )
    return desk.tell(incident, Step.KEPT, f"Kept by {by}; Unthrottle will not give it back.")


def give_back(desk: Desk, incident: Incident, why: str) -> Incident:
    """Put every change back, unless a person has said what to do with it up to this moment."""
    settled = desk.settle(incident)
    if settled.wish is not None:
        return _done_by(desk, settled.incident, _said_by(settled.wish), _instead_of(settled.wish))
    return _all_back(desk, settled.incident, why)


def _all_back(desk: Desk, incident: Incident, why: str) -> Incident:
    """Put every change back, newest first, where the value is still ours; tell, don't touch, where it is not."""
    told: list[str] = []
    alone: list[str] = []
    beside: list[str] = []
    for made in reversed(incident.applied):
        incident, result = _put_back(desk, incident, made.change)
        if isinstance(result, GivenBack):
            told.append(result.detail)
            beside.extend(result.left)
        elif isinstance(result, LeftAlone):
            alone.append(result.found)
        elif isinstance(result, Wish):
            return _kept_by(desk, incident, result.by)
        else:
            alone.append(result.because)
            why_not = f"Could not give back {made.change.target}, and will not try again: {result.because}"
            incident = desk.page(incident, why_not)
    detail = "; ".join((*told, *alone))
    if told:
        incident = desk.change(
            incident,
            "reverted",
            lambda found, now: (
                replace(found, reverted_at=now).now(Status.REVERTED).told(now, "action.reverted", f"{detail} ({why})")
            ),
        )
        return desk.tell(incident, Step.REVERTED, "; ".join((*beside, *alone, why)))
    incident = desk.change(
        incident, "left-alone", lambda found, now: found.now(Status.KEPT).told(now, "lease.drifted", detail)
    )
    return desk.tell(incident, Step.DRIFTED, f"{detail}. It was left as it is.")


def _put_back(desk: Desk, incident: Incident, change: Change) -> tuple[Incident, GivenBack | LeftAlone | NotYet | Wish]:
    """Give one change back, again and again while AWS does not allow it yet. A Wish: a person says to keep it instead."""
    result: GivenBack | LeftAlone | NotYet = NotYet(because="it was not tried")
    was_ours = _is_ours(desk, incident, change)
    for number in range(MOST_TRIES):
        try:
            result = desk.give_back(incident, change)
        except StepFailed as failure:
            result = NotYet(because=str(failure))
        if was_ours and isinstance(result, LeftAlone) and result.is_back:
            return incident, GivenBack(detail=f"{change.target}: given back, by a call whose answer never came")
        if not isinstance(result, NotYet):
            return incident, result
        pause = SOON if number < QUICK_TRIES else LATER
        incident = desk.postpone(incident, result.because, pause, is_first=number == 0)
        if number == 0:
            incident = desk.tell(incident, Step.WAITING, f"{change.target} cannot be given back yet: {result.because}")
        if number == QUICK_TRIES:
            incident = desk.page(incident, f"Could not give back {change.target} for an hour: {result.because}")
        desk.wait("give-back-later", pause)
        known, settled = incident.wish, desk.settle(incident)
        incident, wish = settled.incident, settled.wish
        if wish is not None and wish.do == "keep" and wish != known:
            return incident, wish
    return incident, result


def _is_ours(desk: Desk, incident: Incident, change: Change) -> bool:
    """Say whether the change is in force just before it is given back: who then finds the before-state has put it there."""
    try:
        return desk.is_in_force(incident, change)
    except StepFailed:
        return False
