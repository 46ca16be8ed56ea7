"""Read an alarm event, of any shape CloudWatch sends, into what it says: firing, muted, needs a look-up, or not mine.

Standard library only: it runs in the front door, before anything heavy is imported. It decides nothing about causes, and
it never raises for bad input: whatever cannot be understood is `NotMine` with a reason. Names, reasons and tags in an
event are untrusted text; only dimensions choose a resource (an alarm's name may say anything).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice

from unthrottle.alarm_readings import EARLY_METRICS, Firing, LookUp, Muted, NotMine, Reading, Trigger
from unthrottle.alarm_shapes import CONFIGURATION_CHANGE, Envelope, children_of, envelope_of
from unthrottle.alarm_subjects import DYNAMODB_METRICS, LAMBDA_METRICS, Found, subjects_of
from unthrottle.alarm_text import REASON_LENGTH, mapping, parsed, shown, string, time_of

_MOST_EVENTS = 1000
"""Alarms taken from one invocation: far more than SNS (1) or a queue's batch carry; what is nested deeper is an attack."""


def read(event: object) -> list[Reading]:
    """Read every alarm an invocation carries: EventBridge, direct alarm-to-Lambda, or wrapped by SNS and SQS.

    Always returns at least one reading and raises nothing.
    """
    inner = list(islice(_unwrap(event), _MOST_EVENTS + 1))
    readings = [
        _passed_on(reading) if is_wrapped else reading
        for one, is_wrapped in inner[:_MOST_EVENTS]
        for reading in _read_one(one)
    ]
    if len(inner) > _MOST_EVENTS:
        readings.append(NotMine(reason="too-many", detail=f"the event carries more than {_MOST_EVENTS} records"))
    return readings or [NotMine(reason="not-an-alarm", detail="the event carries no records")]


def _unwrap(event: object, depth: int = 0) -> Iterator[tuple[object, bool]]:
    """Yield the events inside SNS and SQS records; anything else as it is. With each, whether it was inside one."""
    if not isinstance(event, Mapping) or depth > 3:
        yield event, depth > 0
        return
    records = event.get("Records")
    if isinstance(records, list):
        for record in records:
            yield from _unwrap(_inside(record), depth + 1)
        return
    if event.get("Type") == "Notification" and isinstance(event.get("Message"), str):
        yield from _unwrap(parsed(event["Message"]), depth + 1)
        return
    yield event, depth > 0


def _inside(record: object) -> object:
    if not isinstance(record, Mapping):
        return record
    sns = record.get("Sns")
    if isinstance(sns, Mapping):
        return parsed(sns.get("Message"))
    return parsed(record["body"]) if "body" in record else record


def _passed_on(reading: Reading) -> Reading:
    match reading:
        case Firing() | Muted():
            return replace(reading, trigger=replace(reading.trigger, is_passed_on=True))
        case LookUp():
            return replace(reading, is_passed_on=True)
        case NotMine():
            return reading


def _read_one(event: object) -> list[Reading]:
    if not isinstance(event, Mapping):
        return [NotMine(reason="not-an-alarm", detail="the event is not an object")]
    if event.get("detail-type") == CONFIGURATION_CHANGE:
        return [NotMine(reason="configuration-change", detail="an alarm was created, changed or deleted")]
    envelope = envelope_of(event)
    if envelope is None:
        return [NotMine(reason="not-an-alarm", detail="the event is not a CloudWatch alarm state change")]
    return _judge(envelope)


def _judge(envelope: Envelope) -> list[Reading]:
    def not_mine(reason: str, detail: str) -> NotMine:
        return NotMine(reason=reason, detail=detail, alarm_name=envelope.name[:REASON_LENGTH] or None)

    state_at = time_of(envelope.state.get("timestamp"))
    if not envelope.name or not isinstance(envelope.state.get("value"), str):
        return [not_mine("malformed", "the alarm's name or state is missing")]
    value = envelope.state["value"]
    if value != "ALARM":
        return [not_mine("not-in-alarm", f"the alarm is now {shown(value)}")]
    if state_at is None:
        return [not_mine("malformed", "the time of the state change is missing or not a time")]
    if (
        re.fullmatch(r"[0-9]{12}", envelope.account) is None
        or re.fullmatch(r"[a-z0-9-]{5,30}", envelope.region) is None
    ):
        return [not_mine("malformed", "the account id or the Region is missing or not one")]
    if envelope.name.startswith("TargetTracking-"):
        return [not_mine("autoscaling-owned", "the alarm belongs to Application Auto Scaling, which acts on it itself")]
    contributor = string(envelope.contributor.get("id")) or None
    attributes = mapping(envelope.contributor.get("attributes"))
    key = "|".join((envelope.arn or envelope.name, contributor or "", state_at.isoformat()))
    reason = shown(envelope.state.get("reason"))
    metrics = envelope.configuration.get("metrics")
    if not isinstance(metrics, list) or not metrics:
        names = children_of(envelope)
        lookup = LookUp(
            dedupe_key=key,
            alarm_name=envelope.name,
            names=names or (envelope.name,),
            account=envelope.account,
            region=envelope.region,
            state_at=state_at,
            reason=reason,
            muted_by=envelope.muted_by,
            contributor=contributor,
            attributes=tuple((string(name), string(value)) for name, value in islice(attributes.items(), 10)),
        )
        return [lookup]
    found = subjects_of(metrics, attributes)
    if isinstance(found, NotMine):
        return [not_mine(found.reason, found.detail)]
    triggers = triggers_of(
        found,
        dedupe_key=key,
        alarm_name=envelope.name,
        account=envelope.account,
        region=envelope.region,
        state_at=state_at,
        reason=reason,
        contributor=contributor,
    )
    return readings_of(triggers, envelope.muted_by)


def triggers_of(
    found: Found,
    *,
    dedupe_key: str,
    alarm_name: str,
    account: str,
    region: str,
    state_at: datetime,
    reason: str,
    contributor: str | None,
) -> list[Trigger]:
    """Make one trigger for each account that an alarm's metrics are about. `account` is the one the alarm is in.

    Each names all accounts the alarm speaks of: whether it may speak of them is judged for the whole alarm.
    """
    whole = (found, *found.elsewhere)
    owners = tuple(owner for one in whole for owner in one.owners)
    return [
        Trigger(
            dedupe_key=dedupe_key,
            alarm_name=alarm_name,
            account=one.account or account,
            region=region,
            state_at=state_at,
            subjects=one.subjects,
            metrics=one.metrics,
            reason=reason,
            contributor=contributor,
            sender=account,
            owners=owners,
        )
        for one in whole
    ]


def readings_of(triggers: Iterable[Trigger], muted_by: str | None) -> list[Reading]:
    """Say of an alarm in ALARM that it fires, or by what it is muted."""
    return [Firing(trigger=one) if muted_by is None else Muted(trigger=one, by=muted_by) for one in triggers]


__all__ = [
    "DYNAMODB_METRICS",
    "EARLY_METRICS",
    "LAMBDA_METRICS",
    "Firing",
    "Found",
    "LookUp",
    "Muted",
    "NotMine",
    "Reading",
    "Trigger",
    "read",
    "readings_of",
    "subjects_of",
    "triggers_of",
]
