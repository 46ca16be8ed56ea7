"""How an incident is watched while nothing of it is changed, until its symptom is over; how it is handed to a person, and
how that person puts it off. A part of the incident's story, see `workflow`.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from unthrottle.desk import Desk
from unthrottle.incident import Incident, Outcome, Wish
from unthrottle.report.moments import Step

EVERY = timedelta(minutes=1)
"""How often the symptom is read again after an action."""
RARELY = timedelta(minutes=5)
"""How often it is read while nothing was changed: only to see the end of it."""
WATCH_TIME = timedelta(hours=2)
"""How long an incident without a change stays open, so that later alarms of the same symptom join it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How watching a symptom ended: the answer and what it rests on, or what a person wants done instead."""

    outcome: Outcome
    because: str
    wish: Wish | None = None


def escalate(desk: Desk, incident: Incident, why: str) -> Incident:
    return desk.tell(desk.page(incident, why), Step.ESCALATED, why)


def watch(desk: Desk, incident: Incident) -> Incident:
    """Keep an incident without a change open while its symptom lasts, so that one storm stays one incident."""
    began = desk.now()
    end = until_over(desk, incident, began, began + WATCH_TIME, RARELY)
    while end.wish is not None and end.wish.until is not None:
        incident, end = _snoozed(desk, incident, end.wish.by, end.wish.until, end.because)
    is_over = end.outcome is Outcome.RECOVERED
    return desk.close(desk.tell(incident, Step.OVER if is_over else Step.UNRESOLVED, end.because))


def _snoozed(desk: Desk, incident: Incident, by: str, until: datetime, because: str) -> tuple[Incident, End]:
    """Be quiet until then, and stay open, so that later alarms join here; page again where it still goes on."""
    incident = desk.change(
        incident,
        "snoozed",
        lambda found, now: replace(found, snoozed_until=until).told(
            now, "incident.snoozed", f"by {by}, until {until:%H:%M} UTC"
        ),
    )
    incident = desk.tell(incident, Step.PUT_OFF, f"By {by}")
    began = desk.now()
    while began < until:
        end = until_over(desk, incident, began, min(until, began + WATCH_TIME), RARELY)
        if end.wish is not None or end.outcome is Outcome.RECOVERED:
            return incident, end
        began, because = desk.now(), end.because
    incident = desk.tell(reminded(desk, incident, because), Step.GOES_ON, because)
    return incident, until_over(desk, incident, began, began + WATCH_TIME, RARELY)


def reminded(desk: Desk, incident: Incident, because: str) -> Incident:
    """Page again, since a snooze has ended and the symptom has not."""
    return desk.page(incident, f"The snooze has ended, and it goes on: {because}")


def until_over(desk: Desk, incident: Incident, since: datetime, deadline: datetime, every: timedelta) -> End:
    """Read the symptom again and again until the answer is known, or a person wants an end of it."""
    while True:
        checked = desk.verify(incident, since, deadline)
        judged = checked.judgement
        if checked.wish is not None:
            return End(outcome=Outcome.NONE, because=judged.because, wish=checked.wish)
        if judged.outcome is not None:
            return End(outcome=judged.outcome, because=judged.because)
        if checked.at >= deadline:
            return End(outcome=Outcome.INCONCLUSIVE, because=judged.because)
        desk.wait("settle", max(min(every, deadline - checked.at), EVERY))


def recovered(desk: Desk, incident: Incident, because: str) -> Incident:
    return desk.change(
        incident,
        "recovered",
        lambda found, now: replace(found, outcome=Outcome.RECOVERED, recovered_at=now).told(
            now, "verification.done", f"recovered: {because}"
        ),
    )
