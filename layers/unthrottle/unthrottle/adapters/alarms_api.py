"""What do these alarms watch? Asked when an event names no metric: a composite alarm, or one without configuration.

Gives the shape of an event's configuration, so that one reader serves both. Judges nothing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unthrottle.adapters.access import Access

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.type_defs import CompositeAlarmTypeDef, MetricAlarmTypeDef

DEEPEST = 3
MOST_ALARMS = 100
_CHILD = re.compile(r"ALARM\(\s*(?:\"([^\"]+)\"|'([^']+)'|([^\"')\s]+))\s*\)")


class AwsAlarms:
    """The `Alarms` port."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def metrics_of(self, names: Sequence[str]) -> list[dict[str, object]]:
        """Return the metrics the named alarms watch, composites resolved three levels down, at most 100 alarms.

        Where some of the alarms found are in ALARM now, only theirs: a healthy child is not what is wrong. Names
        CloudWatch does not know give nothing. Raises TryAgain, NotAllowed, Refused.
        """
        asked: set[str] = set()
        found: list[MetricAlarmTypeDef] = []
        level = tuple(dict.fromkeys(names))
        for _ in range(DEEPEST + 1):
            level = tuple(name for name in level if name and name not in asked)[: MOST_ALARMS - len(asked)]
            if not level:
                break
            asked.update(level)
            metric_alarms, composites = self._describe(level)
            found.extend(metric_alarms)
            level = tuple(dict.fromkeys(child for alarm in composites for child in _children(alarm)))
        firing = [alarm for alarm in found if alarm.get("StateValue") == "ALARM"]
        return [metric for alarm in firing or found for metric in metrics_in(alarm)]

    def _describe(self, names: Sequence[str]) -> "tuple[list[MetricAlarmTypeDef], list[CompositeAlarmTypeDef]]":
        metric_alarms: list[MetricAlarmTypeDef] = []
        composites: list[CompositeAlarmTypeDef] = []
        with self._access.use("cloudwatch", f"read {len(names)} alarms") as cloudwatch:
            # Both types must be asked for; by default only metric alarms are returned (CloudWatch API, DescribeAlarms).
            pages = cloudwatch.get_paginator("describe_alarms").paginate(
                AlarmNames=list(names), AlarmTypes=["MetricAlarm", "CompositeAlarm"]
            )
            for page in pages:
                metric_alarms.extend(page.get("MetricAlarms", []))
                composites.extend(page.get("CompositeAlarms", []))
        return metric_alarms, composites


def metrics_in(alarm: Mapping[str, Any]) -> list[dict[str, object]]:
    """Put one metric alarm's metrics into the shape of an event's ``configuration.metrics``."""
    if alarm.get("MetricName"):
        return [{"metricStat": {"metric": _metric(alarm.get("Namespace"), alarm["MetricName"], alarm)}}]
    return [_entry(query) for query in alarm.get("Metrics") or []]


def _entry(query: Mapping[str, Any]) -> dict[str, object]:
    owner: dict[str, object] = {"accountId": query["AccountId"]} if query.get("AccountId") else {}
    metric = (query.get("MetricStat") or {}).get("Metric")
    if metric is None:
        return {"expression": str(query.get("Expression", "")), **owner}
    return {"metricStat": {"metric": _metric(metric.get("Namespace"), metric.get("MetricName"), metric)}, **owner}


def _metric(namespace: object, name: object, holder: Mapping[str, Any]) -> dict[str, object]:
    dimensions = {entry["Name"]: entry["Value"] for entry in holder.get("Dimensions") or []}
    return {"namespace": namespace, "name": name, "dimensions": dimensions}


def _children(alarm: "CompositeAlarmTypeDef") -> list[str]:
    """Name the alarms a composite's rule watches; a rule may name them by ARN."""
    found = _CHILD.findall(str(alarm.get("AlarmRule", ""))[:10240])
    return [next(name for name in names if name).split(":alarm:", 1)[-1] for names in found]
