"""Which alarms are still in ALARM with nobody at work on them? Open those again, a few at a time.

CloudWatch speaks only when an alarm changes its state: an event that was lost, a workflow that failed, an incident that was
closed too early, all stay silent for as long as the symptom lasts. Where a person knows already (paged, rejected, kept), it
comes back much later, so that nobody is told the same every five minutes. What a ring means for an incident whose change is in
force, `returned` knows.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from unthrottle.alarms import NotMine, Trigger, subjects_of, triggers_of
from unthrottle.diagnosis import Cause
from unthrottle.errors import NotAllowed, Refused, TryAgain
from unthrottle.incident import Incident, Status
from unthrottle.ports import Accounts, FiringAlarm, Incidents, Pager
from unthrottle.subjects import fingerprint

log = logging.getLogger("unthrottle")

GIVE_INTAKE = timedelta(minutes=10)
"""An alarm this young is left to its own event, which EventBridge may deliver a few minutes late."""
NOBODY_KNOWS = timedelta(minutes=30)
"""After an incident that ended without a person: time for the alarm to fall back to OK, as its metrics come late."""
A_PERSON_KNOWS = timedelta(hours=12)
"""After one that a person was told of or has decided: a night's sleep, not a page every hour."""
MOST_AT_ONCE = 5
"""Incidents opened by one sweep. Many at once mean that something else is wrong, and the next sweep goes on."""
LOOKED_AT = 200
"""Newest incidents that are compared with the alarms."""

Open = Callable[[Trigger], Iterable[str]]
"""Take a trigger in as an alarm's event is; returns the ids of the incidents it opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One account and Region that is looked after."""

    account: str
    region: str


def reopen(
    accounts: Accounts,
    incidents: Incidents,
    places: Iterable[Place],
    now: datetime,
    take: Open,
    *,
    still_open: Sequence[Incident] | None = None,
    unreadable: Callable[[Place, str], object] = lambda _place, _why: None,
    at_it: Callable[[Incident, FiringAlarm], object] = lambda _incident, _alarm: None,
) -> tuple[str, ...]:
    """Open an incident for each alarm that is in ALARM and that nobody is at work on. Returns their ids.

    *still_open* are the open incidents, where they were listed just now. An account that cannot be read is logged, and
    told to *unreadable* with the reason; the others go on. *at_it* is given each open incident for which an alarm rings
    that says that somebody suffers; where its record cannot be written, that is logged.
    """
    at_work: dict[str, Incident] | None = None if still_open is None else _by_mark(still_open)
    known: dict[str, Incident] | None = None
    opened: list[str] = []
    for place in places:
        try:
            found = accounts.observe(place.account, place.region, "sweep").alarms.firing()
        except (NotAllowed, Refused, TryAgain) as error:
            log.error(
                "reopen.unreadable", extra={"account": place.account, "region": place.region, "error": str(error)}
            )
            unreadable(place, str(error))
            continue
        for alarm, trigger in _triggers(found, place, now):
            if now - alarm.since < GIVE_INTAKE:
                continue
            marks = [fingerprint(trigger.account, trigger.region, subject) for subject in trigger.subjects]
            if at_work is None:  # read only where it is needed: most of the time no alarm rings
                at_work = _by_mark(incidents.open_incidents())
            if not trigger.is_early_warning:
                _look_in(at_it, [at_work[mark] for mark in marks if mark in at_work], alarm)
            if at_work.keys() >= set(marks):
                continue
            if len(opened) >= MOST_AT_ONCE:
                continue
            if known is None:  # nor is one that rings mostly left alone
                known = _newest_by_fingerprint(incidents, now - A_PERSON_KNOWS)
            if not any(_is_forgotten(alarm, trigger, known.get(mark), now) for mark in marks):
                continue
            fresh = tuple(take(trigger))
            if fresh:
                log.warning("reopen.opened", extra={"alarm": alarm.name, "incident_id": fresh[0]})
            opened.extend(fresh)
    return tuple(opened)


def tell_unreadable(pager: Pager, found: Mapping[Place, str]) -> None:
    """Page a person, once for all, about accounts that nobody can look into: no alarm of theirs is answered meanwhile."""
    if not found:
        return
    subject = f"Unthrottle cannot look into {len(found)} of its accounts"
    lines = [f"{place.account} ({place.region}): {why}" for place, why in found.items()]
    advice = "Incidents there are neither healed nor diagnosed; the other accounts are. This page comes once a day until then."
    try:
        pager.page(subject, "\n".join([*lines, advice]))
    except (Refused, TryAgain) as error:
        log.error("reopen.not-paged", extra={"accounts": len(found), "error": str(error)})


def _by_mark(still_open: Iterable[Incident]) -> dict[str, Incident]:
    return {incident.fingerprint: incident for incident in still_open}


def _look_in(at_it: Callable[[Incident, FiringAlarm], object], found: Iterable[Incident], alarm: FiringAlarm) -> None:
    for incident in found:
        try:
            at_it(incident, alarm)
        except (Refused, TryAgain) as error:  # the next sweep looks again; the other alarms must not wait for it
            log.error("reopen.not-told", extra={"incident_id": incident.id, "error": str(error)})


def _newest_by_fingerprint(incidents: Incidents, since: datetime) -> dict[str, Incident]:
    found: dict[str, Incident] = {}
    for incident in (*incidents.open_incidents(), *incidents.recent(LOOKED_AT, since=since)):
        found.setdefault(incident.fingerprint, incident)
    return found


def _triggers(alarms: Iterable[FiringAlarm], place: Place, now: datetime) -> Iterator[tuple[FiringAlarm, Trigger]]:
    """Make the triggers that events of these alarms would have been, with keys of their own: the events' may be used up."""
    for alarm in alarms:
        if alarm.name.startswith("TargetTracking-"):
            continue
        found = subjects_of(list(alarm.metrics), alarm.attributes)
        if isinstance(found, NotMine):
            continue
        trigger = Trigger(
            dedupe_key="|".join(("still-in-alarm", alarm.arn, alarm.contributor or "", now.isoformat())),
            alarm_name=alarm.name,
            account=place.account,
            region=place.region,
            state_at=alarm.since,
            subjects=(),
            metrics=(),
            reason=alarm.reason,
            contributor=alarm.contributor,
            sender=place.account,
        )
        yield from ((alarm, one) for one in triggers_of(found, trigger))


def _is_forgotten(alarm: FiringAlarm, trigger: Trigger, last: Incident | None, now: datetime) -> bool:
    """Say whether nobody is at work on this alarm, and nobody has been for long enough. `last`: the newest incident."""
    if last is None:
        return True
    if last.closed_at is None:
        return False
    if trigger.is_early_warning:  # use without throttling may be high for days: once for each time it rings
        return last.opened_at < alarm.since - GIVE_INTAKE and now - last.closed_at >= NOBODY_KNOWS
    return now - last.closed_at >= (A_PERSON_KNOWS if _a_person_knows(last) else NOBODY_KNOWS)


def _a_person_knows(incident: Incident) -> bool:
    if incident.escalated or incident.requested_by or incident.muted_by or incident.decided_because:
        return True
    if incident.diagnosis is not None and incident.diagnosis.cause is Cause.SWITCHED_OFF:
        return True  # whoever switched it off; its throttles go on for as long as it is called
    return incident.status in {Status.REJECTED, Status.EXPIRED, Status.DENIED, Status.KEPT, Status.WOULD_APPLY}
