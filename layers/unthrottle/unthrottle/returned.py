"""Has a symptom come back while the change that ended it is in force? Seen by the sweep: a person is paged, once for a ring.

Another function may hold the pool by now, or a table may have a hot key since: its alarm only joins the open incident, whose
workflow sleeps until the lease ends. A second change is not made, since the first one is still to be given back and one
incident is one change; so people have to know. Changes nothing but the record.
"""

import logging
from dataclasses import replace
from datetime import datetime, timedelta

from unthrottle import drift, outbox
from unthrottle.errors import Conflict, Refused, TryAgain
from unthrottle.incident import Incident, Outcome
from unthrottle.ports import FiringAlarm, Ports
from unthrottle.report.moments import Step
from unthrottle.report.page import page
from unthrottle.subjects import TableSubject
from unthrottle.symptom import judge_symptom

log = logging.getLogger("unthrottle")

SEEN = "lease.symptom-returned"
"""The line of the story that says so; with it, it is not said again for the same ring."""
SETTLED = timedelta(minutes=10)
"""How long after the recovery an alarm may still ring, or ring again, for what has just ended: its metrics come late."""
AGAIN = timedelta(hours=1)
"""How often it is said at most, however often an alarm rings."""
LATELY = timedelta(minutes=7)
"""How far back is looked for throttles. Two clean minutes within it are an end."""


def notice(ports: Ports, incident: Incident, alarm: FiringAlarm, now: datetime) -> bool:
    """Tell people where an alarm rings for what an incident's change had ended. True: told now.

    Raises what the state table raises, but for a conflict: then its workflow wakes, and it is looked at again.
    """
    recovered = incident.recovered_at
    if not incident.is_in_force or recovered is None or _is_told(incident, alarm, now):
        return False
    if now - recovered <= SETTLED or not _is_back(ports, incident, alarm, now, recovered):
        return False
    why = _in_words(incident, alarm)
    try:
        seen = ports.incidents.save(incident.told(now, SEEN, why))
        outbox.tell_asleep(ports, seen, Step.RETURNED, why, is_paged=_page(ports, seen, why))
    except Conflict:
        log.info("returned.conflict", extra={"incident_id": incident.id})
        return False
    log.warning("returned.seen", extra={"incident_id": incident.id, "alarm": alarm.name})
    return True


def _is_told(incident: Incident, alarm: FiringAlarm, now: datetime) -> bool:
    told = [moment.at for moment in incident.timeline if moment.event == SEEN]
    return bool(told) and (told[-1] >= alarm.since or now - told[-1] < AGAIN)


def _is_back(ports: Ports, incident: Incident, alarm: FiringAlarm, now: datetime, recovered: datetime) -> bool:
    """Say whether anything but the capped functions is throttled.

    An alarm that rang anew is believed unless the measurement says otherwise. One that never stopped may ring for the capped
    function itself, which its cap throttles; there only the throttles of those who suffered before count.
    """
    rang_anew = alarm.since > recovered + SETTLED
    about = incident
    if rang_anew and incident.plan is not None and incident.plan.watch is not None:  # whoever suffers now
        about = replace(incident, plan=replace(incident.plan, watch=replace(incident.plan.watch, functions=())))
    try:
        observer = ports.accounts.observe(incident.account, incident.region, incident.id)
        outcome = judge_symptom(observer, about, since=now - LATELY, deadline=now, now=now).outcome
    except (Refused, TryAgain) as error:
        log.info("returned.unread", extra={"incident_id": incident.id, "error": str(error)})
        return rang_anew
    return outcome is not Outcome.RECOVERED if rang_anew else outcome is Outcome.NOT_RECOVERED


def _in_words(incident: Incident, alarm: FiringAlarm) -> str:
    targets = [made.change.target for made in incident.applied]
    until = f" until {incident.lease_until:%H:%M} UTC" if incident.lease_until else ""
    subject = incident.subject
    resource = subject.table if isinstance(subject, TableSubject) else targets[0] if targets else "FUNCTION"
    names = ", ".join(targets)[:200]
    is_undone = any(moment.event == drift.SEEN for moment in incident.timeline)
    stands = (
        f"Somebody has changed {names} since, and nothing more is done by itself until the lease ends."
        if is_undone
        else f"The change of {names} stays in force{until}, and nothing more is done by itself while it does."
    )
    return (
        f"Alarm {alarm.name[:100]} rings, since {alarm.since:%H:%M} UTC, though the change had helped: the symptom is back, or "
        f"it is another one. {stands} `/unthrottle check {resource}` shows what it is now. "
        f"`/unthrottle revert {incident.id}` gives the change back and closes this, after which "
        f"`/unthrottle fix {resource}` may act anew; `/unthrottle keep {incident.id}` leaves it to you."
    )


def _page(ports: Ports, incident: Incident, why: str) -> bool:
    subject, text = page(incident, why)
    try:
        ports.pager.page(subject, text)
    except (Refused, TryAgain) as error:
        log.error("returned.not-paged", extra={"incident_id": incident.id, "error": str(error)})
        return False
    return True
