"""The shapes in which CloudWatch tells of an alarm: by EventBridge, directly to a Lambda, by SNS. One envelope for all.

Standard library only: it runs in the front door. Judges nothing and raises nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from unthrottle.alarm_text import NAME_LENGTH, mapping, parsed, shown, string

STATE_CHANGE = "CloudWatch Alarm State Change"
CONTRIBUTOR_CHANGE = "CloudWatch Alarm Contributor State Change"
CONFIGURATION_CHANGE = "CloudWatch Alarm Configuration Change"


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """The parts of an alarm event that all shapes share."""

    name: str
    arn: str
    account: str
    region: str
    state: Mapping[str, object]
    configuration: Mapping[str, object]
    contributor: Mapping[str, object] = field(default_factory=dict)
    muted_by: str | None = None


def envelope_of(event: Mapping[str, object]) -> Envelope | None:
    detail = event.get("detail")
    if string(event.get("detail-type")) in {STATE_CHANGE, CONTRIBUTOR_CHANGE} and isinstance(detail, Mapping):
        resources = event.get("resources")
        arn = resources[0] if isinstance(resources, list) and resources else ""
        return Envelope(
            name=string(detail.get("alarmName"))[:NAME_LENGTH],
            arn=string(arn),
            account=string(event.get("account")),
            region=string(event.get("region")),
            state=mapping(detail.get("state")),
            configuration=mapping(detail.get("configuration")),
            contributor=mapping(detail.get("alarmContributor")),
            muted_by=_muted_by(detail),
        )
    data = event.get("alarmData")
    if isinstance(data, Mapping):
        return Envelope(
            name=string(data.get("alarmName"))[:NAME_LENGTH],
            arn=string(event.get("alarmArn")),
            account=string(event.get("accountId")),
            region=string(event.get("region")),
            state=mapping(data.get("state")),
            configuration=mapping(data.get("configuration")),
            contributor=mapping(data.get("alarmContributor")),
            muted_by=_muted_by(data),
        )
    if "AlarmName" in event and "NewStateValue" in event:
        return _from_notification(event)
    return None


def _from_notification(message: Mapping[str, object]) -> Envelope:
    """Translate an SNS alarm notification (PascalCase, dimensions as a list) to the common parts."""
    arn = string(message.get("AlarmArn"))
    parts = arn.split(":")
    trigger = mapping(message.get("Trigger"))
    entries = trigger.get("Metrics")
    metrics = (
        [_metric_from_notification(mapping(entry)) for entry in entries]
        if isinstance(entries, list)
        else [{"metricStat": {"metric": _metric_of(trigger)}}]
        if "MetricName" in trigger
        else []
    )
    return Envelope(
        name=string(message.get("AlarmName"))[:NAME_LENGTH],
        arn=arn,
        account=string(message.get("AWSAccountId")),
        region=parts[3] if len(parts) > 6 else string(message.get("Region")),
        state={
            "value": message.get("NewStateValue"),
            "reason": message.get("NewStateReason"),
            "timestamp": message.get("StateChangeTime"),
        },
        configuration={"metrics": metrics} if metrics else {},
    )


def _metric_from_notification(entry: Mapping[str, object]) -> dict[str, object]:
    if "Expression" in entry:
        return {"expression": entry["Expression"]}
    stat = mapping(entry.get("MetricStat"))
    return {"metricStat": {"metric": _metric_of(mapping(stat.get("Metric")))}, "accountId": entry.get("AccountId")}


def _metric_of(metric: Mapping[str, object]) -> dict[str, object]:
    listed = metric.get("Dimensions")
    dimensions = {
        string(entry.get("name") or entry.get("Name")): string(entry.get("value") or entry.get("Value"))
        for entry in (listed if isinstance(listed, list) else [])
        if isinstance(entry, Mapping)
    }
    return {"namespace": metric.get("Namespace"), "name": metric.get("MetricName"), "dimensions": dimensions}


def children_of(envelope: Envelope) -> tuple[str, ...]:
    """Name the alarms a composite's rule watches; those the event says are in ALARM first."""
    names: dict[str, None] = {}
    data = mapping(parsed(envelope.state.get("reasonData")))
    listed = data.get("triggeringAlarms")
    for entry in listed if isinstance(listed, list) else []:
        arn = string(mapping(entry).get("arn"))
        if mapping(mapping(entry).get("state")).get("value") == "ALARM" and ":alarm:" in arn:
            names[arn.split(":alarm:", 1)[1]] = None
    rule = string(envelope.configuration.get("alarmRule"))[:10240]
    for found in re.findall(r"ALARM\(\s*(?:\"([^\"]+)\"|'([^']+)'|([^\"')\s]+))\s*\)", rule):
        name = next(part for part in found if part)
        names[name.split(":alarm:", 1)[-1]] = None
    return tuple(name for name in names if len(name) <= NAME_LENGTH)[:100]


def _muted_by(detail: Mapping[str, object]) -> str | None:
    mute = detail.get("muteDetail")
    if isinstance(mute, Mapping):
        return "mute rule " + (shown(mute.get("mutedByArn")).rsplit(":", 1)[-1] or "(unnamed)")
    suppressed = mapping(detail.get("state")).get("actionsSuppressedBy")
    return f"composite alarm suppression ({shown(suppressed)})" if isinstance(suppressed, str) and suppressed else None
