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

from unthrottle.alarm_mutes import was_muted
from unthrottle.alarms import NotMine, Trigger, subjects_of, triggers_of
from unthrottle.diagnosis import Cause
from unthrottle.errors import NotAllowed, Refused, TryAgain
from unthrottle.incident import Incident, Status
from unthrottle.ports import Accounts, FiringAlarm, Incidents, Pager
from unthrottle.rounds import in_turn, left_out, look_at_each, no_end
from unthrottle.subjects import fingerprint
from unthrottle.sweep import SWEEP_EVERY

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
RUNS_OF_AN_HOUR = 12
NO_TIME = "The sweep had no time for it, nor would it within an hour at the pace of this run."

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
    places: Sequence[Place],
    now: datetime,
    take: Open,
    *,
    still_open: Sequence[Incident] | None = None,
    unreadable: Callable[[Place, str], object] = lambda _place, _why: None,
    not_looked_at: Callable[[Place], object] = lambda _place: None,
    at_it: Callable[[Incident, FiringAlarm], object] = lambda _incident, _alarm: None,
    left: Callable[[], float] = no_end,
) -> tuple[str, ...]:
    """Open an incident for each alarm that is in ALARM and that nobody is at work on. Returns their ids.

    *still_open* are the open incidents, where they were listed just now. An account that cannot be read is logged, and
    told to *unreadable* with the reason; the others go on. *at_it* is given each open incident for which an alarm rings
    that says that somebody suffers; where its record cannot be written, that is logged.

    Each run begins with another place. What is not looked at when `left` (seconds) is over is told to *not_looked_at*; what
    has no turn for an hour at this pace to *unreadable*, too.
    """
    at_work: dict[str, Incident] | None = None if still_open is None else _by_mark(still_open)
    known: tuple[Incident, ...] | None = None
    newest: dict[str, Incident] = {}
    opened: list[str] = []
    late: list[Place] = []
    for alarm, trigger in _ringing(accounts, places, now, left=left, unreadable=unreadable, late=late):
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
            known = (*incidents.open_incidents(), *incidents.recent(LOOKED_AT, since=now - A_PERSON_KNOWS))
            newest = _by_mark(reversed(known))
        if not any(_is_forgotten(alarm, trigger, newest.get(mark), now) for mark in marks):
            continue
        if was_muted(alarm, marks, known):
            continue
        fresh = tuple(take(trigger))
        if fresh:
            log.warning("reopen.opened", extra={"alarm": alarm.name, "incident_id": fresh[0]})
        opened.extend(fresh)
    _tell_late(places, late, now, unreadable, not_looked_at)
    return tuple(opened)


def _ringing(
    accounts: Accounts,
    places: Sequence[Place],
    now: datetime,
    *,
    left: Callable[[], float],
    unreadable: Callable[[Place, str], object],
    late: list[Place],
) -> Iterator[tuple[FiringAlarm, Trigger]]:
    """Give what rings for longer than intake needs, place by place. Those there was no time for are put on `late`."""
    order = in_turn(places, now, SWEEP_EVERY)
    for place, found in look_at_each(order, lambda place: _firing(accounts, place), left):
        if found is None:
            late.append(place)
        elif isinstance(found, str):
            log.error("reopen.unreadable", extra={"account": place.account, "region": place.region, "error": found})
            unreadable(place, found)
        else:
            ringing = _triggers(found, place, now)
            yield from ((alarm, trigger) for alarm, trigger in ringing if now - alarm.since >= GIVE_INTAKE)


def _firing(accounts: Accounts, place: Place) -> tuple[FiringAlarm, ...] | str:
    """Read the alarms of one place; a text: why they cannot be read. Called by several threads at once."""
    try:
        return accounts.observe(place.account, place.region, "sweep").alarms.firing()
    except (NotAllowed, Refused, TryAgain) as error:
        return str(error)


def _tell_late(
    places: Sequence[Place],
    late: Sequence[Place],
    now: datetime,
    unreadable: Callable[[Place, str], object],
    not_looked_at: Callable[[Place], object],
) -> None:
    if not late:
        return
    for place in late:
        not_looked_at(place)
    never = left_out(places, now, SWEEP_EVERY, len(places) - len(late), RUNS_OF_AN_HOUR)
    starved = [place for place in late if place in never]
    for place in starved:
        unreadable(place, NO_TIME)
    log.warning(
        "reopen.not-looked-at",
        extra={"not_looked_at": len(late), "places": len(places), "not_for_an_hour": len(starved)},
    )


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


def _by_mark(found: Iterable[Incident]) -> dict[str, Incident]:
    """Find the incident of each fingerprint; the last one, where there are several."""
    return {incident.fingerprint: incident for incident in found}


def _look_in(at_it: Callable[[Incident, FiringAlarm], object], found: Iterable[Incident], alarm: FiringAlarm) -> None:
    for incident in found:
        try:
            at_it(incident, alarm)
        except (Refused, TryAgain) as error:  # the next sweep looks again; the other alarms must not wait for it
            log.error("reopen.not-told", extra={"incident_id": incident.id, "error": str(error)})


def _triggers(alarms: Iterable[FiringAlarm], place: Place, now: datetime) -> Iterator[tuple[FiringAlarm, Trigger]]:
    """Make the triggers that events of these alarms would have been, with keys of their own: the events' may be used up."""
    for alarm in alarms:
        if alarm.name.startswith("TargetTracking-"):
            continue
        found = subjects_of(list(alarm.metrics), alarm.attributes)
        if isinstance(found, NotMine):
            continue
        triggers = triggers_of(
            found,
            dedupe_key="|".join(("still-in-alarm", alarm.arn, alarm.contributor or "", now.isoformat())),
            alarm_name=alarm.name,
            account=place.account,
            region=place.region,
            state_at=alarm.since,
            reason=alarm.reason,
            contributor=alarm.contributor,
        )
        yield from ((alarm, one) for one in triggers)


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
