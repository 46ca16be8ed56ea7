"""What is configured in DynamoDB, as AWS answers it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.adapters.world import NOW, Scripted
from unthrottle.adapters.access import Access
from unthrottle.adapters.tables import AwsTables, table_settings
from unthrottle.errors import NotFound
from unthrottle.evidence.table import Billing, BulkOperation, Capacity, IndexSettings, KeyShare, ScalingTarget, Way

ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/runs"


def throughput(read: int, write: int) -> dict[str, Any]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write, "NumberOfDecreasesToday": 2}


def description(**more: Any) -> dict[str, Any]:
    return {
        "TableName": "runs",
        "TableArn": ARN,
        "TableStatus": "ACTIVE",
        "ProvisionedThroughput": throughput(5, 10),
        **more,
    }


def test_a_table_without_a_billing_summary_is_provisioned(script: Scripted, scripted: Access) -> None:
    script.answers("dynamodb", "describe_table", {"Table": description()}, TableName="runs")

    found = AwsTables(scripted).describe("runs")

    assert (found.billing, found.capacity, found.decreases_today) == (
        Billing.PROVISIONED,
        Capacity(read=5, write=10),
        2,
    )
    assert found.is_settled
    assert (found.warm_read, found.max_on_demand_write, found.on_demand_since) == (None, None, None)


def test_a_table_that_went_back_to_provisioned_keeps_the_time_of_its_last_switch() -> None:
    summary = {"BillingMode": "PROVISIONED", "LastUpdateToPayPerRequestDateTime": NOW}

    found = table_settings(description(BillingModeSummary=summary), "runs")

    assert (found.billing, found.on_demand_since) == (Billing.PROVISIONED, NOW)


def test_a_table_that_is_switching_says_on_demand_and_is_not_settled() -> None:
    found = table_settings(
        description(TableStatus="UPDATING", BillingModeSummary={"BillingMode": "PAY_PER_REQUEST"}), "runs"
    )

    assert found.billing is Billing.ON_DEMAND
    assert not found.is_settled


def test_indexes_ceilings_warm_throughput_and_replicas_are_read() -> None:
    index = {
        "IndexName": "by-day",
        "IndexStatus": "UPDATING",
        "ProvisionedThroughput": {**throughput(1, 2), "LastDecreaseDateTime": NOW},
        "OnDemandThroughput": {"MaxReadRequestUnits": 70, "MaxWriteRequestUnits": -1},
    }
    found = table_settings(
        description(
            GlobalSecondaryIndexes=[index],
            WarmThroughput={"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"},
            OnDemandThroughput={"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 500},
            Replicas=[{"RegionName": "us-east-1"}],
        ),
        "runs",
    )

    own = IndexSettings(
        name="by-day",
        status="UPDATING",
        capacity=Capacity(read=1, write=2),
        max_on_demand_read=70,
        last_decrease_at=NOW,
    )
    assert found.indexes == (own,)
    assert not found.is_settled
    assert (found.warm_read, found.warm_write) == (12000, 4000)
    assert (found.max_on_demand_read, found.max_on_demand_write) == (None, 500)
    assert found.replicas == ("us-east-1",)


def test_a_description_with_almost_nothing_in_it_is_still_read() -> None:
    found = table_settings({"TableStatus": "DELETING"}, "runs")

    assert (found.name, found.status, found.capacity) == ("runs", "DELETING", Capacity(read=0, write=0))


def test_a_table_that_is_not_there_is_not_found(script: Scripted, scripted: Access) -> None:
    script.refuses("dynamodb", "describe_table", "ResourceNotFoundException", "Requested resource not found")

    with pytest.raises(NotFound):
        AwsTables(scripted).describe("runs")


def test_tags_are_read_page_by_page(script: Scripted, scripted: Access) -> None:
    tag = {"Key": "unthrottle:mode", "Value": "off"}
    script.answers("dynamodb", "list_tags_of_resource", {"Tags": [tag], "NextToken": "more"}, ResourceArn=ARN)
    script.answers("dynamodb", "list_tags_of_resource", {}, ResourceArn=ARN, NextToken="more")

    assert AwsTables(scripted).tags(ARN) == {"unthrottle:mode": "off"}


def target(resource: str, dimension: str, *, maximum: int = 100) -> dict[str, Any]:
    return {
        "ServiceNamespace": "dynamodb",
        "ResourceId": resource,
        "ScalableDimension": dimension,
        "MinCapacity": 1,
        "MaxCapacity": maximum,
        "RoleARN": "arn:aws:iam::111122223333:role/x",
        "CreationTime": NOW,
    }


def test_autoscaling_of_a_described_table_is_one_call_for_it_and_its_indexes(
    script: Scripted, scripted: Access
) -> None:
    tables = AwsTables(scripted)
    index = {"IndexName": "by-day", "IndexStatus": "ACTIVE", "ProvisionedThroughput": throughput(1, 2)}
    script.answers("dynamodb", "describe_table", {"Table": description(GlobalSecondaryIndexes=[index])})
    script.answers(
        "application-autoscaling",
        "describe_scalable_targets",
        {
            "ScalableTargets": [
                target("table/runs", "dynamodb:table:WriteCapacityUnits"),
                target("table/runs/index/by-day", "dynamodb:index:ReadCapacityUnits", maximum=7),
            ]
        },
        ServiceNamespace="dynamodb",
        ResourceIds=["table/runs", "table/runs/index/by-day"],
    )

    tables.describe("runs")

    assert tables.scaling("runs") == (
        ScalingTarget(way=Way.WRITE, index=None, minimum=1, maximum=100),
        ScalingTarget(way=Way.READ, index="by-day", minimum=1, maximum=7),
    )


def test_autoscaling_of_an_unknown_table_is_sifted_from_the_regions(script: Scripted, scripted: Access) -> None:
    listed = [
        target("table/runs", "dynamodb:table:WriteCapacityUnits"),
        target("table/runs-old", "dynamodb:table:WriteCapacityUnits"),
        target("service/c/s", "ecs:service:DesiredCount"),
    ]
    script.answers(
        "application-autoscaling", "describe_scalable_targets", {"ScalableTargets": listed}, ServiceNamespace="dynamodb"
    )

    assert [found.index for found in AwsTables(scripted).scaling("runs")] == [None]


def test_what_autoscaling_could_not_do_is_read_with_its_reason(script: Scripted, scripted: Access) -> None:
    activity = {
        "ActivityId": "a",
        "ServiceNamespace": "dynamodb",
        "ResourceId": "table/runs",
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
        "Description": "Attempting to scale",
        "Cause": "alarm",
        "StartTime": NOW,
        "StatusCode": "Failed",
        "NotScaledReasons": [{"Code": "AlreadyAtMaxCapacity", "MaxCapacity": 10, "CurrentCapacity": 10}],
    }
    script.answers(
        "application-autoscaling",
        "describe_scaling_activities",
        {"ScalingActivities": [activity]},
        ServiceNamespace="dynamodb",
        ResourceId="table/runs",
        IncludeNotScaledActivities=True,
        MaxResults=20,
    )

    (found,) = AwsTables(scripted).scaling_activities("runs")

    assert (found.at, found.index, found.way, found.not_scaled) == (NOW, None, Way.WRITE, ("AlreadyAtMaxCapacity",))


def insights(script: Scripted, **more: Any) -> None:
    rules = ["DynamoDBContributorInsights-PKC-runs-1", "DynamoDBContributorInsights-PKT-runs-1"]
    answer = {"ContributorInsightsStatus": "ENABLED", "ContributorInsightsRuleList": rules}
    script.answers("dynamodb", "describe_contributor_insights", answer, TableName="runs", **more)


def report(script: Scripted, rule: str, counted: dict[str, float], whole: float) -> None:
    contributors = [{"Keys": [key], "ApproximateAggregateValue": n, "Datapoints": []} for key, n in counted.items()]
    script.answers(
        "cloudwatch",
        "get_insight_rule_report",
        {"Contributors": contributors, "AggregateValue": whole},
        RuleName=rule,
        StartTime=NOW - timedelta(minutes=15),
        EndTime=NOW,
        Period=60,
        MaxContributorCount=25,
        OrderBy="Sum",
    )


def test_hot_keys_are_the_throttled_ones_with_their_share_of_all(script: Scripted, scripted: Access) -> None:
    insights(script)
    report(script, "DynamoDBContributorInsights-PKT-runs-1", {"tenant-7": 80.0, "tenant-8": 10.0}, 100.0)

    found = AwsTables(scripted).hot_keys("runs", None, NOW - timedelta(minutes=15), NOW)

    assert found is not None
    assert found.source == "throttled"
    assert found.keys == (KeyShare(key="tenant-7", share=0.8), KeyShare(key="tenant-8", share=0.1))


def test_where_no_throttled_key_was_counted_the_most_accessed_are_given(script: Scripted, scripted: Access) -> None:
    insights(script, IndexName="by-day")
    report(script, "DynamoDBContributorInsights-PKT-runs-1", {}, 0.0)
    report(script, "DynamoDBContributorInsights-PKC-runs-1", {"2026-06-01": 50.0}, 50.0)

    found = AwsTables(scripted).hot_keys("runs", "by-day", NOW - timedelta(minutes=15), NOW)

    assert found is not None
    assert (found.index, found.source, found.keys) == ("by-day", "accessed", (KeyShare(key="2026-06-01", share=1.0),))


def test_where_contributor_insights_is_off_nothing_is_known(script: Scripted, scripted: Access) -> None:
    script.answers("dynamodb", "describe_contributor_insights", {"ContributorInsightsStatus": "DISABLED"})

    assert AwsTables(scripted).hot_keys("runs", None, datetime(2026, 6, 1, tzinfo=UTC), NOW) is None


def test_what_autoscaling_did_to_an_index_is_listed_under_the_index(script: Scripted, scripted: Access) -> None:
    script.answers(
        "application-autoscaling",
        "describe_scaling_activities",
        {"ScalingActivities": []},
        ServiceNamespace="dynamodb",
        ResourceId="table/runs/index/by-day",
        IncludeNotScaledActivities=True,
        MaxResults=20,
    )

    assert AwsTables(scripted).scaling_activities("runs", "by-day") == ()


def bulk(number: int, minutes_ago: float, status: str = "IN_PROGRESS", of: str = "bulk-operation") -> dict[str, Any]:
    arn = f"arn:aws:dynamodb:eu-west-1:111122223333:{of}/{number}"
    return {"BulkOperationArn": arn, "BulkOperationStatus": status, "StartTime": NOW - timedelta(minutes=minutes_ago)}


def listed_bulk(script: Scripted, *operations: dict[str, Any]) -> None:
    answer = {"BulkOperationsSummaryList": list(operations)}
    script.answers("dynamodb", "list_bulk_operations", answer, MaxResults=25)


def described_bulk(script: Scripted, operation: dict[str, Any], *tables: str, **more: Any) -> None:
    answer = operation | {"TableDetails": [{"TableName": name} for name in tables]} | more
    script.answers(
        "dynamodb",
        "describe_bulk_operation",
        {"BulkOperationDescription": answer},
        BulkOperationArn=operation["BulkOperationArn"],
    )


def bulk_of(scripted: Access) -> tuple[BulkOperation, ...]:
    return AwsTables(scripted).bulk_operations("runs", NOW - timedelta(minutes=20), NOW - timedelta(minutes=5))


def test_only_bulk_operations_that_run_and_began_in_time_are_looked_into(script: Scripted, scripted: Access) -> None:
    mine, other = bulk(1, 10), bulk(2, 20, "CANCELLING")
    elsewhere = bulk(6, 10, of="table/runs-old/bulk-operation")
    listed_bulk(script, bulk(3, 4), mine, bulk(4, 10, "COMPLETED"), other, elsewhere, bulk(5, 21))
    described_bulk(script, mine, "runs", MaxWriteRequestUnits=1024)
    described_bulk(script, other, "runs-old")

    expected = BulkOperation(arn=mine["BulkOperationArn"], started_at=NOW - timedelta(minutes=10), most=1024)
    assert bulk_of(scripted) == (expected,)


def test_a_bulk_operation_without_a_limit_has_none_and_may_name_the_table_by_its_arn(
    script: Scripted, scripted: Access
) -> None:
    mine = bulk(1, 10, of="table/runs/bulk-operation")
    listed_bulk(script, mine)
    described_bulk(script, mine, "arn:aws:dynamodb:eu-west-1:111122223333:table/runs")

    (found,) = bulk_of(scripted)
    assert found.most is None


def test_at_most_three_bulk_operations_are_looked_into(script: Scripted, scripted: Access) -> None:
    many = [bulk(number, 10) for number in range(5)]
    listed_bulk(script, *many)
    for operation in many[:3]:
        described_bulk(script, operation, "runs")

    assert len(bulk_of(scripted)) == 3


def test_a_rule_keeps_its_name_so_that_a_person_can_read_the_same_report(script: Scripted, scripted: Access) -> None:
    insights(script)
    report(script, "DynamoDBContributorInsights-PKT-runs-1", {"tenant-7": 80.0}, 100.0)

    found = AwsTables(scripted).hot_keys("runs", None, NOW - timedelta(minutes=15), NOW)

    assert found is not None
    assert found.rule == "DynamoDBContributorInsights-PKT-runs-1"
