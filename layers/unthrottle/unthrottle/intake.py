"""Take an alarm in: open an incident or join the open one, and start its workflow by name.

Light on purpose: it runs in the front door of a storm. It diagnoses nothing and changes nothing. Every delivery of one state
change leads to the same incident, and starting a workflow twice changes nothing, so at-least-once delivery is harmless.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from unthrottle.alarms import (
    Firing,
    LookUp,
    Muted,
    NotMine,
    Reading,
    Trigger,
    read,
    readings_of,
    subjects_of,
    triggers_of,
)
from unthrottle.errors import NotAllowed, NotFound, Refused
from unthrottle.incident import Incident, Moment
from unthrottle.ports import Alarms, Clock, Incidents, Joined, Opened, Starter
from unthrottle.settings import Settings
from unthrottle.subjects import (
    FunctionSubject,
    PoolSubject,
    Subject,
    TableSubject,
    fingerprint,
    incident_id,
    is_own,
    muted_mark,
)

log = logging.getLogger("unthrottle")

AlarmsOf = Callable[[str, str], Alarms]
"""Give the alarms of an account and Region, seen with the Observer role."""


class Receiver:
    """The intake's work, with what it talks to."""

    def __init__(
        self,
        *,
        incidents: Incidents,
        starter: Starter,
        clock: Clock,
        settings: Settings,
        home_account: str,
        home_region: str,
        alarms_of: AlarmsOf,
        own_prefix: str | None,
    ) -> None:
        self._incidents = incidents
        self._starter = starter
        self._clock = clock
        self._settings = settings
        self._home_account = home_account
        self._home_region = home_region
        self._alarms_of = alarms_of
        self._own_prefix = own_prefix

    def receive(self, event: object) -> list[dict[str, object]]:
        """Take in every alarm of an event. Answers one entry for each: opened, joined, duplicate, or not mine and why."""
        answers: list[dict[str, object]] = []
        for reading in read(event):
            for one in self._looked_up(reading):
                taken = self._take(one)
                if not (taken == answers[-1:] and taken[0].get("reason") == "not-its-own"):  # told once for an alarm
                    answers.extend(taken)
        return answers

    def take(self, trigger: Trigger) -> list[str]:
        """Take in a trigger that did not come by an event. Returns the ids of the incidents it opened."""
        return [
            str(answer["incident_id"]) for answer in self._take(Firing(trigger=trigger)) if answer["result"] == "opened"
        ]

    def _looked_up(self, reading: Reading) -> list[Reading]:
        """Resolve an event that names no metric by its alarms' definitions: a composite's children, or the alarm itself."""
        if not isinstance(reading, LookUp):
            return [reading]
        unknown = self._not_ours(reading.account, reading.alarm_name)
        if unknown is not None:
            return [unknown]
        if reading.is_passed_on and not self._is_home(reading.account, reading.region):
            return [_hearsay(reading.account, reading.region, reading.alarm_name)]
        try:
            metrics: Sequence[object] = self._alarms_of(reading.account, reading.region).metrics_of(reading.names)
        except (NotAllowed, NotFound, Refused) as error:
            return [NotMine(reason="unreadable-definition", detail=str(error), alarm_name=reading.alarm_name)]
        found = subjects_of(list(metrics), dict(reading.attributes))
        if isinstance(found, NotMine):
            return [replace(found, alarm_name=reading.alarm_name)]
        triggers = triggers_of(
            found,
            dedupe_key=reading.dedupe_key,
            alarm_name=reading.alarm_name,
            account=reading.account,
            region=reading.region,
            state_at=reading.state_at,
            reason=reading.reason,
            contributor=reading.contributor,
        )
        return readings_of(triggers, reading.muted_by)

    def _take(self, reading: Reading) -> list[dict[str, object]]:
        if isinstance(reading, NotMine):
            return [self._not_mine(reading)]
        if isinstance(reading, LookUp):  # resolved before; what is left says nothing about a resource
            return [self._not_mine(NotMine(reason="other-metric", detail="no metric", alarm_name=reading.alarm_name))]
        trigger = reading.trigger
        unknown = self._not_ours(trigger.account, trigger.alarm_name)
        if unknown is not None:
            return [self._not_mine(unknown)]
        if trigger.strangers and trigger.sender != self._home_account:
            return [self._not_mine(_not_its_own(trigger))]
        if trigger.is_passed_on:
            spoken_of = (trigger.sender or trigger.account, trigger.account, *trigger.owners)
            stranger = next((one for one in spoken_of if not self._is_home(one, trigger.region)), None)
            if stranger is not None:
                return [self._not_mine(_hearsay(stranger, trigger.region, trigger.alarm_name))]
        muted_by = reading.by if isinstance(reading, Muted) else None
        answers = []
        for subject in _one_for_each_incident(trigger):
            if isinstance(subject, FunctionSubject) and is_own(subject.function, self._own_prefix):
                own = NotMine(
                    reason="own-resource", detail="the alarm is about Unthrottle itself", alarm_name=trigger.alarm_name
                )
                answers.append(self._not_mine(own))
                continue
            answers.append(self._open(trigger, subject, muted_by))
        return answers

    def _not_ours(self, account: str, alarm_name: str) -> NotMine | None:
        if account == self._home_account or account in self._settings.member_accounts:
            return None
        return NotMine(
            reason="unknown-account",
            detail=f"account {account} is not one this stack looks after",
            alarm_name=alarm_name,
        )

    def _is_home(self, account: str, region: str) -> bool:
        return (account, region) == (self._home_account, self._home_region)

    def _open(self, trigger: Trigger, subject: Subject, muted_by: str | None) -> dict[str, object]:
        incident = new_incident(trigger, subject, muted_by=muted_by, now_at=self._clock.now())
        mark = incident.fingerprint
        outcome = self._incidents.open_or_join(incident, f"{trigger.dedupe_key}|{mark}")
        if isinstance(outcome, Opened):
            opened, did = outcome.incident.id, "opened"
        else:
            opened, did = outcome.incident_id, "joined" if isinstance(outcome, Joined) else "duplicate"
        log.info(
            "alarm.taken",
            extra={"result": did, "incident_id": opened, "fingerprint": mark, "alarm": trigger.alarm_name},
        )
        # Also for a duplicate: the first delivery may have died between opening and starting.
        self._starter.start(opened)
        return {"result": did, "incident_id": opened, "fingerprint": mark}

    def _not_mine(self, reading: NotMine) -> dict[str, object]:
        level = logging.WARNING if reading.reason == "not-its-own" else logging.INFO
        extra = {"reason": reading.reason, "alarm": reading.alarm_name, "detail": reading.detail}
        log.log(level, "alarm.not-mine", extra=extra)
        return {"result": "not-mine", "reason": reading.reason, "detail": reading.detail}


def _not_its_own(trigger: Trigger) -> NotMine:
    """A member's word counts for the member only. The home account may be the organisation's monitoring account."""
    return NotMine(
        reason="not-its-own",
        detail=f"account {trigger.sender} forwards an alarm about account {', '.join(trigger.strangers)}: only the account "
        "Unthrottle runs in may speak of others",
        alarm_name=trigger.alarm_name,
    )


def _hearsay(account: str, region: str, alarm_name: str) -> NotMine:
    """Say that a message's word for another place does not count: EventBridge itself says where its events are from."""
    return NotMine(
        reason="not-its-own",
        detail=f"a message of SNS or SQS speaks of account {account}, {region}: such messages count only for the account and "
        "Region Unthrottle runs in. Alarms of others come by EventBridge (member.yaml)",
        alarm_name=alarm_name,
    )


def _one_for_each_incident(trigger: Trigger) -> list[Subject]:
    """Keep one subject for each incident; of a table and its indexes the first one the alarm names."""
    chosen: dict[str, Subject] = {}
    for subject in trigger.subjects:
        chosen.setdefault(fingerprint(trigger.account, trigger.region, subject), subject)
    return list(chosen.values())


def new_incident(
    trigger: Trigger,
    subject: Subject,
    *,
    muted_by: str | None,
    now_at: datetime,
    requested_by: str | None = None,
    forced_dry_run: bool = False,
) -> Incident:
    """Make the record of a new incident from its first trigger.

    A muted one's fingerprint is its own: whichever of the two comes first, an alarm that nobody muted opens an incident that
    is worked on, and what was muted never joins it.
    """
    mark = fingerprint(trigger.account, trigger.region, subject)
    mark = mark if muted_by is None else muted_mark(mark)
    return Incident(
        id=incident_id(mark, trigger.dedupe_key),
        fingerprint=mark,
        account=trigger.account,
        region=trigger.region,
        kind="dynamodb" if isinstance(subject, TableSubject) else "lambda",
        subject=subject,
        opened_at=now_at,
        alarm_name=trigger.alarm_name,
        alarm_reason=trigger.reason,
        alarm_at=trigger.state_at,
        early_warning=isinstance(subject, PoolSubject | FunctionSubject) and trigger.is_early_warning,
        muted_by=muted_by,
        requested_by=requested_by,
        forced_dry_run=forced_dry_run,
        timeline=(Moment(at=now_at, event="incident.opened", detail=trigger.alarm_name[:255]),),
    )
