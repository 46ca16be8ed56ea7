"""What do these alarms watch? Asked when an event names no metric: a composite alarm, or one without configuration.

Gives the shape of an event's configuration, so that one reader serves both. Judges nothing.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Any

from unthrottle.adapters.access import Access
from unthrottle.ports import FiringAlarm

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.type_defs import CompositeAlarmTypeDef, MetricAlarmTypeDef

logger = logging.getLogger(__name__)

DEEPEST = 3
MOST_ALARMS = 100
_CHILD = re.compile(r"ALARM\(\s*(?:\"([^\"]+)\"|'([^']+)'|([^\"')\s]+))\s*\)")


class AwsAlarms:
    """The `Alarms` port."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def metrics_of(self, names: Sequence[str]) -> list[dict[str, object]]:
        """Return the metrics the named alarms watch, composites resolved three levels down, at most 100 alarms.

        Where some of the alarms found are in ALARM now, only theirs: a healthy child is not what is wrong. One that watches
        a grouped query of tables gives an entry for each contributor in ALARM, with its `attributes`: only these name a
        table. Names CloudWatch does not know give nothing. Raises TryAgain, NotAllowed, Refused.
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
        return [metric for alarm in firing or found for metric in self._metrics_of(alarm)]

    def _metrics_of(self, alarm: "MetricAlarmTypeDef") -> list[dict[str, object]]:
        metrics = metrics_in(alarm)
        one = _firing(alarm)
        if one is None or alarm.get("StateValue") != "ALARM" or not _names_tables_only_by_group(metrics):
            return metrics
        contributors = self._contributors(one)
        return [{**metric, "attributes": each.attributes} for each in contributors for metric in metrics] or metrics

    def firing(self) -> tuple[FiringAlarm, ...]:
        """Return the metric alarms in ALARM, at most 100 and their contributors; those with actions off are left out.

        An alarm over a grouped query stands for its contributors, of which CloudWatch tracks at most 100 (CloudWatch
        guide, Metrics Insights alarms). A composite's children speak for themselves. Raises TryAgain, NotAllowed, Refused.
        """
        found: list[FiringAlarm] = []
        with self._access.use("cloudwatch", "list the alarms that are in ALARM") as cloudwatch:
            pages = cloudwatch.get_paginator("describe_alarms").paginate(
                StateValue="ALARM", AlarmTypes=["MetricAlarm"], PaginationConfig={"MaxItems": MOST_ALARMS}
            )
            alarms = [alarm for page in pages for alarm in page.get("MetricAlarms", [])]
        for alarm in alarms:
            if not alarm.get("ActionsEnabled", True):
                continue
            one = _firing(alarm)
            if one is not None:
                found.extend(self._contributors(one) if is_grouped(one.metrics) else [one])
        return tuple(found)

    def _contributors(self, alarm: FiringAlarm) -> list[FiringAlarm]:
        with self._access.use("cloudwatch", f"read what alarm {alarm.name} is about") as cloudwatch:
            if not hasattr(cloudwatch, "describe_alarm_contributors"):  # the runtime's boto3 may be older than the call
                logger.warning("alarms.contributors-unknown", extra={"alarm": alarm.name})
                return []
            answer = cloudwatch.describe_alarm_contributors(AlarmName=alarm.name)
        return [
            replace(
                alarm,
                since=entry.get("StateTransitionedTimestamp", alarm.since).astimezone(UTC),
                contributor=str(entry.get("ContributorId", "")),
                attributes={str(key): str(value) for key, value in entry.get("ContributorAttributes", {}).items()},
                reason=str(entry.get("StateReason", "")),
            )
            for entry in answer.get("AlarmContributors", [])
        ]

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


def _firing(alarm: "MetricAlarmTypeDef") -> FiringAlarm | None:
    since = alarm.get("StateTransitionedTimestamp") or alarm.get("StateUpdatedTimestamp")
    if since is None:
        return None
    return FiringAlarm(
        name=str(alarm.get("AlarmName", "")),
        arn=str(alarm.get("AlarmArn", "")),
        since=since.astimezone(UTC),
        metrics=tuple(metrics_in(alarm)),
        reason=str(alarm.get("StateReason", "")),
    )


def is_grouped(metrics: Sequence[Mapping[str, object]]) -> bool:
    """Say whether an alarm watches a query with GROUP BY, so that its contributors name the resources."""
    return any("GROUP BY" in str(metric.get("expression", "")).upper() for metric in metrics)


def _names_tables_only_by_group(metrics: Sequence[Mapping[str, object]]) -> bool:
    return is_grouped(metrics) and any("AWS/DynamoDB" in str(metric.get("expression", "")) for metric in metrics)


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
