"""What is configured in DynamoDB: a table, its indexes, its autoscaling, its most active keys?

An answer that leaves something out leaves it unknown. Changes nothing.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from unthrottle.adapters.access import Access
from unthrottle.errors import Refused
from unthrottle.evidence.table import (
    Billing,
    BulkOperation,
    Capacity,
    HotKeys,
    IndexSettings,
    KeyShare,
    ScalingActivity,
    ScalingTarget,
    TableSettings,
    Way,
)

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

MOST_CONTRIBUTORS = 25
"""AWS DynamoDB guide, Contributor Insights: these rules report at most 25 contributors."""

LATEST_ACTIVITIES = 20
_MOST_RESOURCES = 50
MOST_EVENTS = 200
"""Events of a table's trail that are read: a day of changes of one table is far less."""
MOST_BULK = 25
"""One page of bulk operations (DynamoDB API); the most recent first."""
MOST_DESCRIBED = 3
"""Bulk operations that began within the same minutes and are looked into: each is a call."""
RUNNING_BULK = frozenset({"IN_PROGRESS", "CANCELLING"})
"""States in which a bulk operation may still write (DynamoDB API)."""
# Throttled keys first: they are the question. But the rule does not count writes that an index throttles (AWS DynamoDB
# guide, Contributor Insights: how it works), so the most accessed keys are asked where it has nothing to say.
_RULES = (("-PKT-", "throttled"), ("-PKC-", "accessed"))


class AwsTables:
    """The `Tables` port. Remembers the index names of tables it has described, to ask for their autoscaling at once."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._indexes: dict[str, tuple[str, ...]] = {}

    def describe(self, table: str) -> TableSettings:
        """Read a table and its indexes."""
        with self._access.use("dynamodb", f"read table {table}") as client:
            answer = client.describe_table(TableName=table)
        settings = table_settings(answer.get("Table", {}), table)
        self._indexes[table] = tuple(index.name for index in settings.indexes)
        return settings

    def tags(self, arn: str) -> dict[str, str]:
        """Read the tags of a table, by its ARN."""
        with self._access.use("dynamodb", f"read the tags of {arn}") as client:
            pages = client.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
            return {tag["Key"]: tag["Value"] for page in pages for tag in page.get("Tags", [])}

    def scaling(self, table: str) -> tuple[ScalingTarget, ...]:
        """Read the autoscaling bounds of a table and its indexes.

        One call for a table that was described before; otherwise every target of the Region is listed and sifted.
        """
        asked: dict[str, Any] = {"ServiceNamespace": "dynamodb"}
        indexes = self._indexes.get(table)
        if indexes is not None and len(indexes) < _MOST_RESOURCES:
            asked["ResourceIds"] = [f"table/{table}", *(f"table/{table}/index/{index}" for index in indexes)]
        with self._access.use("application-autoscaling", f"read the autoscaling of table {table}") as client:
            pages = client.get_paginator("describe_scalable_targets").paginate(**asked)
            found = [_scaling_target(entry, table) for page in pages for entry in page.get("ScalableTargets", [])]
        return tuple(target for target in found if target is not None)

    def scaling_activities(self, table: str, index: str | None = None) -> tuple[ScalingActivity, ...]:
        """Read the latest 20 things autoscaling did, or could not do, to the table alone or to one index."""
        with self._access.use("application-autoscaling", f"read what autoscaling did to table {table}") as client:
            answer = client.describe_scaling_activities(
                ServiceNamespace="dynamodb",
                ResourceId=f"table/{table}" if index is None else f"table/{table}/index/{index}",
                IncludeNotScaledActivities=True,
                MaxResults=LATEST_ACTIVITIES,
            )
        return tuple(
            _activity(entry) for entry in answer.get("ScalingActivities", []) if entry.get("StartTime") is not None
        )

    def switches(self, table: str, since: datetime) -> tuple[datetime, ...]:
        """Name the switches to on-demand since then, by whoever made them, oldest first.

        CloudTrail's event history: a table's UpdateTable calls by its name, refused ones left out (AWS CloudTrail guide,
        viewing event history; events come within minutes). DescribeTable tells the last switch only.
        """
        with self._access.use("cloudtrail", f"read who switched table {table}") as client:
            pages = client.get_paginator("lookup_events").paginate(
                LookupAttributes=[{"AttributeKey": "ResourceName", "AttributeValue": table}],
                StartTime=since,
                PaginationConfig={"MaxItems": MOST_EVENTS},
            )
            found = [_switch(event) for page in pages for event in page.get("Events", [])]
        return tuple(sorted(at for at in found if at is not None))

    def bulk_operations(self, table: str, since: datetime, until: datetime) -> tuple[BulkOperation, ...]:
        """Read the bulk loads of a table that run and began within that time: one call, and one for each that may be it.

        The list has no tables (DynamoDB API, ListBulkOperations: the most recent first), so the few that began in time are
        described. Raises Refused where this SDK is older than the operations.
        """
        with self._access.use("dynamodb", "read the bulk operations of the Region") as client:
            if not hasattr(client, "list_bulk_operations"):
                raise Refused(
                    "The AWS SDK of this function knows no bulk operations of DynamoDB; they were not read.",
                    code="old-sdk",
                )
            answer = client.list_bulk_operations(MaxResults=MOST_BULK)
            arns = [
                str(one["BulkOperationArn"])
                for one in answer.get("BulkOperationsSummaryList", [])
                if one.get("BulkOperationStatus") in RUNNING_BULK
                and (at := _utc(one.get("StartTime"))) is not None
                and since <= at <= until
                and _may_write(str(one["BulkOperationArn"]), table)
            ]
            found = [
                client.describe_bulk_operation(BulkOperationArn=arn).get("BulkOperationDescription", {})
                for arn in arns[:MOST_DESCRIBED]
            ]
        return tuple(bulk for one in found if (bulk := _bulk(one, table)) is not None)

    def hot_keys(self, table: str, index: str | None, start: datetime, end: datetime) -> HotKeys | None:
        """Ask Contributor Insights for the most active keys over [start, end); None where it is not enabled."""
        named: dict[str, Any] = {"TableName": table} | ({} if index is None else {"IndexName": index})
        with self._access.use("dynamodb", f"read the Contributor Insights settings of table {table}") as client:
            answer = client.describe_contributor_insights(**named)
        if answer.get("ContributorInsightsStatus") != "ENABLED":
            return None
        names = answer.get("ContributorInsightsRuleList", [])
        found: HotKeys | None = None
        for mark, source in _RULES:
            rule = next((name for name in names if mark in name), None)
            if rule is None:
                continue
            with self._access.use("cloudwatch", f"read the most active keys of table {table}") as cloudwatch:
                found = HotKeys(index=index, source=source, keys=_top_keys(cloudwatch, rule, start, end), rule=rule)
            if found.keys:
                break
        return found


def _may_write(arn: str, table: str) -> bool:
    """Say whether a bulk operation may be of this table: its ARN names another one or none (its form is not documented)."""
    _, found, rest = arn.partition(":table/")
    return not found or rest.split("/", 1)[0] == table


def _bulk(told: Mapping[str, Any], table: str) -> BulkOperation | None:
    """Put a bulk operation into our words; None where it writes other tables."""
    names = [str(detail.get("TableName", "")) for detail in told.get("TableDetails") or []]
    started = _utc(told.get("StartTime"))
    if started is None or table not in {name.rsplit(":table/", 1)[-1] for name in names}:
        return None
    most = told.get("MaxWriteRequestUnits")
    return BulkOperation(
        arn=str(told.get("BulkOperationArn", "")), started_at=started, most=None if most is None else int(most)
    )


def _switch(event: Mapping[str, Any]) -> datetime | None:
    """Return when an event of the trail switched a table to on-demand; None for any other event."""
    if event.get("EventName") != "UpdateTable":
        return None
    try:
        told = json.loads(event.get("CloudTrailEvent") or "{}")
    except ValueError:
        return None
    asked = told.get("requestParameters") if isinstance(told, dict) else None
    if not isinstance(asked, dict) or told.get("errorCode") or asked.get("billingMode") != "PAY_PER_REQUEST":
        return None
    return _utc(event.get("EventTime"))


def table_settings(table: Mapping[str, Any], name: str) -> TableSettings:
    """Put a TableDescription into our words; `name` stands in where it has none.

    A table that was never on-demand has no billing summary (DynamoDB API).
    """
    billing = table.get("BillingModeSummary") or {}
    capacity = table.get("ProvisionedThroughput") or {}
    warm = table.get("WarmThroughput") or {}
    ceiling = table.get("OnDemandThroughput") or {}
    return TableSettings(
        name=str(table.get("TableName", name)),
        arn=str(table.get("TableArn", "")),
        status=str(table.get("TableStatus", "UNKNOWN")),
        billing=Billing.ON_DEMAND if billing.get("BillingMode") == "PAY_PER_REQUEST" else Billing.PROVISIONED,
        capacity=_capacity(capacity),
        indexes=tuple(_index(index) for index in table.get("GlobalSecondaryIndexes") or []),
        warm_read=warm.get("ReadUnitsPerSecond"),
        warm_write=warm.get("WriteUnitsPerSecond"),
        max_on_demand_read=_ceiling(ceiling.get("MaxReadRequestUnits")),
        max_on_demand_write=_ceiling(ceiling.get("MaxWriteRequestUnits")),
        replicas=tuple(str(replica.get("RegionName", "")) for replica in table.get("Replicas") or []),
        last_decrease_at=_utc(capacity.get("LastDecreaseDateTime")),
        decreases_today=int(capacity.get("NumberOfDecreasesToday") or 0),
        on_demand_since=_utc(billing.get("LastUpdateToPayPerRequestDateTime")),
    )


def _index(index: Mapping[str, Any]) -> IndexSettings:
    capacity = index.get("ProvisionedThroughput") or {}
    ceiling = index.get("OnDemandThroughput") or {}
    return IndexSettings(
        name=str(index.get("IndexName", "")),
        status=str(index.get("IndexStatus", "UNKNOWN")),
        capacity=_capacity(capacity),
        max_on_demand_read=_ceiling(ceiling.get("MaxReadRequestUnits")),
        max_on_demand_write=_ceiling(ceiling.get("MaxWriteRequestUnits")),
        last_decrease_at=_utc(capacity.get("LastDecreaseDateTime")),
    )


def _capacity(throughput: Mapping[str, Any]) -> Capacity:
    return Capacity(
        read=int(throughput.get("ReadCapacityUnits") or 0), write=int(throughput.get("WriteCapacityUnits") or 0)
    )


def _ceiling(units: int | None) -> int | None:
    """-1 is how DynamoDB writes "no ceiling" (DynamoDB API, OnDemandThroughput)."""
    return None if units is None or units < 0 else units


def _utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _owner(resource_id: str) -> tuple[str, str | None]:
    """Split ``table/X`` or ``table/X/index/Y``."""
    parts = resource_id.split("/")
    return (parts[1] if len(parts) > 1 else "", parts[3] if len(parts) > 3 else None)


def _way(dimension: str) -> Way | None:
    """Read which way a scalable dimension is of (`dynamodb:index:WriteCapacityUnits`); None for any other."""
    return next((way for way in Way if dimension.endswith(f":{way.capitalize()}CapacityUnits")), None)


def _scaling_target(entry: Mapping[str, Any], table: str) -> ScalingTarget | None:
    owner, index = _owner(str(entry.get("ResourceId", "")))
    way = _way(str(entry.get("ScalableDimension", "")))
    if owner != table or way is None:
        return None
    return ScalingTarget(
        way=way,
        index=index,
        minimum=int(entry["MinCapacity"]),
        maximum=int(entry["MaxCapacity"]),
    )


def _activity(entry: Mapping[str, Any]) -> ScalingActivity:
    at: datetime = entry["StartTime"]
    return ScalingActivity(
        at=at.astimezone(UTC),
        index=_owner(str(entry.get("ResourceId", "")))[1],
        description=str(entry.get("Description", "")),
        status=str(entry.get("StatusCode", "")),
        not_scaled=tuple(str(reason.get("Code", "")) for reason in entry.get("NotScaledReasons") or []),
        way=_way(str(entry.get("ScalableDimension", ""))),
    )


def _top_keys(cloudwatch: "CloudWatchClient", rule: str, start: datetime, end: datetime) -> tuple[KeyShare, ...]:
    report = cloudwatch.get_insight_rule_report(
        RuleName=rule,
        StartTime=start,
        EndTime=end,
        Period=60,
        MaxContributorCount=MOST_CONTRIBUTORS,
        OrderBy="Sum",
    )
    counted = [
        (" / ".join(entry.get("Keys", [])), float(entry.get("ApproximateAggregateValue", 0.0)))
        for entry in report.get("Contributors", [])
    ]
    # AggregateValue is the sum over all keys, also those beyond the 25 listed.
    whole = max(float(report.get("AggregateValue") or 0.0), sum(value for _, value in counted))
    return tuple(KeyShare(key=key, share=value / whole) for key, value in counted) if whole > 0 else ()
