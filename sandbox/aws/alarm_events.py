"""What does the event of an alarm's change look like?

The two shapes of the CloudWatch user guide, "Alarm events and EventBridge": `CloudWatch Alarm State Change` (with
previousState and reasonData) and `CloudWatch Alarm Contributor State Change` (with alarmContributor, without those).
Ids are derived from what happened, so that two runs give the same events. Pure.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from sandbox.aws.alarm_definitions import AlarmDefinition, InsightsSource, MathSource, MetricSource
from sandbox.aws.cloudwatch_store import Floats

State = Literal["OK", "ALARM", "INSUFFICIENT_DATA"]

STATE_CHANGE = "CloudWatch Alarm State Change"
CONTRIBUTOR_STATE_CHANGE = "CloudWatch Alarm Contributor State Change"
_WORDS = {
    "GreaterThanThreshold": "greater than",
    "GreaterThanOrEqualToThreshold": "greater than or equal to",
    "LessThanThreshold": "less than",
    "LessThanOrEqualToThreshold": "less than or equal to",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A state, why, and since when."""

    value: State
    reason: str
    since: datetime
    reason_data: str | None = None

    @classmethod
    def of(
        cls, definition: AlarmDefinition, value: State, values: Floats, *, start: datetime, now: datetime, before: State
    ) -> "Snapshot":
        """Describe a state by the datapoints that led to it; *values* begin at *start*, NaN = none."""
        period = definition.source.period_s
        points = [
            (datetime.fromtimestamp(start.timestamp() + i * period, tz=UTC), float(one))
            for i, one in enumerate(values)
            if not np.isnan(one)
        ][-definition.evaluation_periods :]
        reason_data: dict[str, Any] = {
            "version": "1.0",
            "queryDate": stamp(now),
            **({"startDate": stamp(points[0][0])} if points else {}),
            **({"statistic": definition.source.stat} if isinstance(definition.source, MetricSource) else {}),
            "period": period,
            "recentDatapoints": [one for _, one in points],
            "threshold": definition.threshold,
        }
        return cls(
            value=value,
            reason=_reason(definition, value, points, before),
            since=now,
            reason_data=json.dumps(reason_data, separators=(",", ":")),
        )

    def view(self) -> dict[str, str]:
        """As an event shows it."""
        data = {} if self.reason_data is None else {"reasonData": self.reason_data}
        return {"value": self.value, "reason": self.reason, **data, "timestamp": stamp(self.since)}


def state_event(
    definition: AlarmDefinition, before: Snapshot, after: Snapshot, *, account: str, region: str
) -> dict[str, Any]:
    """The event of an alarm whose state changed."""
    detail = {
        "alarmName": definition.name,
        "configuration": _configuration(definition),
        "previousState": before.view(),
        "state": after.view(),
    }
    return _event(definition, STATE_CHANGE, detail, after, account=account, region=region)


def contributor_event(
    definition: AlarmDefinition,
    group: tuple[tuple[str, str], ...],
    after: Snapshot,
    *,
    account: str,
    region: str,
) -> dict[str, Any]:
    """The event of one contributor of a Metrics Insights alarm; the alarm's own state may not have changed."""
    detail = {
        "alarmName": definition.name,
        "alarmContributor": {"id": contributor_id(definition.name, group), "attributes": dict(group)},
        "state": {"value": after.value, "reason": after.reason, "timestamp": stamp(after.since)},
        "configuration": _configuration(definition),
    }
    return _event(definition, CONTRIBUTOR_STATE_CHANGE, detail, after, account=account, region=region)


def contributor_id(alarm: str, group: tuple[tuple[str, str], ...]) -> str:
    """A contributor's id: 16 hexadecimal digits, always the same for the same attributes of an alarm."""
    return hashlib.sha256(json.dumps([alarm, group]).encode()).hexdigest()[:16]


def stamp(at: datetime) -> str:
    """A time as alarm events write it: milliseconds and +0000."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}+0000"


def _event(
    definition: AlarmDefinition, kind: str, detail: Mapping[str, Any], after: Snapshot, *, account: str, region: str
) -> dict[str, Any]:
    arn = f"arn:aws:cloudwatch:{region}:{account}:alarm:{definition.name}"
    seed = json.dumps([arn, kind, detail], sort_keys=True)
    return {
        "version": "0",
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, seed)),
        "detail-type": kind,
        "source": "aws.cloudwatch",
        "account": account,
        "time": after.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": region,
        "resources": [arn],
        "detail": detail,
    }


def _configuration(definition: AlarmDefinition) -> dict[str, Any]:
    source = definition.source
    metrics: list[dict[str, Any]]
    if isinstance(source, MetricSource):
        metrics = [_metric_view(source, str(uuid.uuid5(uuid.NAMESPACE_URL, definition.name)), returned=True)]
    elif isinstance(source, MathSource):
        label = {} if source.label is None else {"label": source.label}
        expression = {"id": source.id, "expression": source.expression, **label, "returnData": True}
        metrics = [expression, *(_metric_view(metric, metric.id, returned=False) for metric in source.metrics)]
    elif isinstance(source, InsightsSource):
        metrics = [
            {"id": source.id, "expression": source.expression, "returnData": True, "period": source.period_s},
        ]
    described = {} if definition.description is None else {"description": definition.description}
    return described | {"metrics": metrics}


def _metric_view(metric: MetricSource, identifier: str, *, returned: bool) -> dict[str, Any]:
    what = {"namespace": metric.namespace, "name": metric.name, "dimensions": dict(metric.dimensions)}
    stat = {"metric": what, "period": metric.period_s, "stat": metric.stat}
    return {"id": identifier, "metricStat": stat, "returnData": returned}


def _reason(definition: AlarmDefinition, value: State, points: list[tuple[datetime, float]], before: State) -> str:
    if not points:
        treated = {"notBreaching": "NonBreaching", "breaching": "Breaching"}.get(definition.missing)
        count = definition.evaluation_periods
        periods = f"{count} period{'' if count == 1 else 's'}"
        if treated is None:
            return f"Insufficient Data: {periods} had no datapoints."
        missing = f"{count} missing datapoint{' was' if count == 1 else 's were'}"
        return f"Threshold Crossed: no datapoints were received for {periods} and {missing} treated as [{treated}]."
    shown = ", ".join(f"{one} ({at.strftime('%d/%m/%y %H:%M:%S')})" for at, one in reversed(points))
    verb = ("was" if len(points) == 1 else "were") + ("" if value == "ALARM" else " not")
    needed = definition.datapoints_to_alarm if value == "ALARM" else 1
    return (
        f"Threshold Crossed: {len(points)} out of the last {definition.evaluation_periods} datapoints [{shown}] {verb} "
        f"{_WORDS[definition.comparison]} the threshold ({definition.threshold}) "
        f"(minimum {needed} datapoint{'' if needed == 1 else 's'} for {before} -> {value} transition)."
    )
