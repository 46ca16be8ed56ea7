"""What is there in this account and Region? Lists, page by page, one call after the other so that nobody is starved.

Reads only. Knows nothing of what a fact means.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from unthrottle.adapters.access import Access
from unthrottle.adapters.functions import event_source
from unthrottle.audit.inventory import AlarmFacts, ListedFunction, Rang
from unthrottle.evidence.pool import EventSource
from unthrottle.evidence.table import ScalingTarget, Way


class AwsSurvey:
    """The `Survey` port. The paginators of boto3 ask for the largest pages that each service gives."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def functions(self) -> Iterator[ListedFunction]:
        """List every function: a call for 50 (Lambda API, ListFunctions)."""
        with self._access.use("lambda", "list the functions") as client:
            for page in client.get_paginator("list_functions").paginate():
                for entry in page.get("Functions", []):
                    yield ListedFunction(
                        name=entry["FunctionName"],
                        arn=entry.get("FunctionArn", ""),
                        timeout_s=entry.get("Timeout", 3),
                        managed_instances=bool(entry.get("CapacityProviderConfig")),
                        has_dead_letter=bool((entry.get("DeadLetterConfig") or {}).get("TargetArn")),
                    )

    def reserved(self, function: str) -> int | None:
        """Read one reservation; no list of them exists (Lambda API)."""
        with self._access.use("lambda", f"read the reservation of function {function}") as client:
            answer = client.get_function_concurrency(FunctionName=function)
        return answer.get("ReservedConcurrentExecutions")

    def event_sources(self) -> dict[str, tuple[EventSource, ...]]:
        """Read all event source mappings: a call for 100."""
        found: dict[str, list[EventSource]] = {}
        with self._access.use("lambda", "list the event source mappings") as client:
            for page in client.get_paginator("list_event_source_mappings").paginate():
                for entry in page.get("EventSourceMappings", []):
                    name = entry.get("FunctionArn", "").rsplit(":function:", 1)[-1].split(":", 1)[0]
                    found.setdefault(name, []).append(event_source(entry))
        return {name: tuple(sources) for name, sources in found.items()}

    def tables(self) -> Iterator[str]:
        """List every table: a call for 100."""
        with self._access.use("dynamodb", "list the tables") as client:
            for page in client.get_paginator("list_tables").paginate():
                yield from page.get("TableNames", [])

    def scaling(self) -> dict[str, tuple[ScalingTarget, ...]]:
        """Read all autoscaling targets of tables and indexes: a call for 50."""
        found: dict[str, list[ScalingTarget]] = {}
        with self._access.use("application-autoscaling", "list the autoscaling of tables") as client:
            for page in client.get_paginator("describe_scalable_targets").paginate(ServiceNamespace="dynamodb"):
                for entry in page.get("ScalableTargets", []):
                    parts = entry["ResourceId"].split("/")
                    dimension = entry["ScalableDimension"]
                    if len(parts) < 2 or not dimension.endswith("CapacityUnits"):
                        continue
                    found.setdefault(parts[1], []).append(
                        ScalingTarget(
                            way=Way.READ if "Read" in dimension else Way.WRITE,
                            index=parts[3] if len(parts) > 3 else None,
                            minimum=entry["MinCapacity"],
                            maximum=entry["MaxCapacity"],
                        )
                    )
        return {name: tuple(targets) for name, targets in found.items()}

    def tags(self) -> dict[str, dict[str, str]]:
        """Read the tags of all functions and tables: a call for 100 tagged ones."""
        found: dict[str, dict[str, str]] = {}
        with self._access.use("resourcegroupstaggingapi", "read the tags of functions and tables") as client:
            pages = client.get_paginator("get_resources").paginate(
                ResourceTypeFilters=["lambda:function", "dynamodb:table"], ResourcesPerPage=100
            )
            for page in pages:
                for entry in page.get("ResourceTagMappingList", []):
                    found[entry["ResourceARN"]] = {tag["Key"]: tag["Value"] for tag in entry.get("Tags", [])}
        return found

    def has_recovery(self, table: str) -> bool:
        """Say whether point-in-time recovery of a table is on."""
        with self._access.use("dynamodb", f"read the backups of table {table}") as client:
            answer = client.describe_continuous_backups(TableName=table)
        recovery = answer["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
        return recovery.get("PointInTimeRecoveryStatus") == "ENABLED"

    def contributor_insights(self) -> tuple[tuple[str, str | None], ...]:
        """List where Contributor Insights is on: a call for 100 tables and indexes."""
        found: list[tuple[str, str | None]] = []
        with self._access.use("dynamodb", "list Contributor Insights") as client:
            more: dict[str, Any] = {}
            while True:  # boto3 has no paginator for it
                answer = client.list_contributor_insights(MaxResults=100, **more)
                found.extend(
                    (entry["TableName"], entry.get("IndexName"))
                    for entry in answer.get("ContributorInsightsSummaries", [])
                    if entry.get("ContributorInsightsStatus") == "ENABLED"
                )
                if not answer.get("NextToken"):
                    return tuple(found)
                more = {"NextToken": answer["NextToken"]}

    def alarms(self) -> tuple[AlarmFacts, ...]:
        """List the metric alarms: a call for 100."""
        found: list[AlarmFacts] = []
        with self._access.use("cloudwatch", "list the alarms") as client:
            pages = client.get_paginator("describe_alarms").paginate(
                AlarmTypes=["MetricAlarm"], PaginationConfig={"PageSize": 100}
            )
            for page in pages:
                for alarm in page.get("MetricAlarms", []):
                    found.extend(_alarm_facts(alarm))
        return tuple(found)

    def rang(self, start: datetime, end: datetime) -> tuple[Rang, ...]:
        """List the state changes into ALARM, of alarms and of their contributors (a table of an alarm over all tables).

        CloudWatch keeps 30 days of them (CloudWatch guide, alarms).
        """
        found: list[Rang] = []
        with self._access.use("cloudwatch", "read the history of the alarms") as client:
            kinds: tuple[Literal["StateUpdate", "AlarmContributorStateUpdate"], ...] = (
                "StateUpdate",
                "AlarmContributorStateUpdate",
            )
            for kind in kinds:
                pages = client.get_paginator("describe_alarm_history").paginate(
                    AlarmTypes=["MetricAlarm"],
                    HistoryItemType=kind,
                    StartDate=start,
                    EndDate=end,
                    ScanBy="TimestampAscending",
                    PaginationConfig={"PageSize": 100},
                )
                for page in pages:
                    found.extend(
                        Rang(
                            alarm=item.get("AlarmName", ""),
                            at=item["Timestamp"].astimezone(UTC),
                            table=(item.get("AlarmContributorAttributes") or {}).get("TableName"),
                        )
                        for item in page.get("AlarmHistoryItems", [])
                        if _went_into_alarm(item.get("HistoryData", ""))
                    )
        return tuple(sorted(found, key=lambda one: one.at))


def _alarm_facts(alarm: Mapping[str, Any]) -> Iterator[AlarmFacts]:
    name, threshold = str(alarm.get("AlarmName", "")), alarm.get("Threshold")
    if alarm.get("MetricName"):
        yield AlarmFacts(
            name=name,
            namespace=str(alarm.get("Namespace", "")),
            metric=str(alarm["MetricName"]),
            dimensions={entry["Name"]: entry["Value"] for entry in alarm.get("Dimensions") or []},
            threshold=threshold,
        )
    for query in alarm.get("Metrics") or []:
        metric = (query.get("MetricStat") or {}).get("Metric") or {}
        yield AlarmFacts(
            name=name,
            namespace=str(metric.get("Namespace", "")),
            metric=str(metric.get("MetricName", "")),
            dimensions={entry["Name"]: entry["Value"] for entry in metric.get("Dimensions") or []},
            expression=str(query.get("Expression", "")),
            threshold=threshold,
        )


def _went_into_alarm(history: str) -> bool:
    """Read a history item's JSON; one that cannot be read says nothing."""
    try:
        data = json.loads(history)
    except ValueError:
        return False
    after = data.get("newState") if isinstance(data, dict) else None
    return isinstance(after, dict) and after.get("stateValue") == "ALARM"
