from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.aws.records import ScalingActivity, ScalingTarget


def refused(call: Any, **parameters: Any) -> tuple[str, str]:
    """Code and message of a call that AWS refuses."""
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    error: Any = caught.value.response["Error"]
    return error["Code"], error["Message"]


def described(world: Any, name: str = "runs") -> dict[str, Any]:
    table: dict[str, Any] = world.client("dynamodb").describe_table(TableName=name)["Table"]
    return table


def capacity(part: dict[str, Any]) -> tuple[int, int]:
    given = part["ProvisionedThroughput"]
    return given["ReadCapacityUnits"], given["WriteCapacityUnits"]


def provisioned(world: Any, **options: Any) -> Any:
    options = {"read": 100, "write": 50, "indexes": [("by-status", 80, 40)]} | options
    return world.account.add_table("runs", billing="provisioned", **options)


def to_on_demand(world: Any) -> dict[str, Any]:
    answer = world.client("dynamodb").update_table(TableName="runs", BillingMode="PAY_PER_REQUEST")
    description: dict[str, Any] = answer["TableDescription"]
    return description


def back(read: int = 100, write: int = 50, **index: tuple[int, int]) -> dict[str, Any]:
    """The parameters of a switch back."""

    def units(r: int, w: int) -> dict[str, int]:
        return {"ReadCapacityUnits": r, "WriteCapacityUnits": w}

    updates = [
        {"Update": {"IndexName": name.replace("_", "-"), "ProvisionedThroughput": units(*numbers)}}
        for name, numbers in index.items()
    ]
    given: dict[str, Any] = {"TableName": "runs", "BillingMode": "PROVISIONED"}
    given["ProvisionedThroughput"] = units(read, write)
    return given | ({"GlobalSecondaryIndexUpdates": updates} if updates else {})


def raise_to(read: int, write: int) -> dict[str, Any]:
    return {key: value for key, value in back(read, write).items() if key != "BillingMode"}


def test_the_billing_summary_is_absent_on_a_table_that_never_was_on_demand(world: Any) -> None:
    provisioned(world)
    assert "BillingModeSummary" not in described(world)


def test_a_table_that_once_was_on_demand_says_provisioned(world: Any) -> None:
    provisioned(world, summary_present=True)
    assert described(world)["BillingModeSummary"]["BillingMode"] == "PROVISIONED"


def test_a_switch_is_reported_at_once_and_in_force_minutes_later(world: Any) -> None:
    table = provisioned(world)
    answer = to_on_demand(world)
    assert answer["TableStatus"] == "UPDATING"
    world.wait(minutes=2)
    view = described(world)
    assert view["TableStatus"] == "UPDATING"
    assert view["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert capacity(view) == capacity(view["GlobalSecondaryIndexes"][0]) == (0, 0)
    assert (table.billing, table.write, table.indexes["by-status"].write) == ("provisioned", 50, 40)
    world.wait(minutes=1)
    view = described(world)
    assert (view["TableStatus"], view["GlobalSecondaryIndexes"][0]["IndexStatus"]) == ("ACTIVE", "ACTIVE")
    assert view["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] == world.now()
    assert (table.billing, table.write) == ("on-demand", 0)
    assert (table.warm_read, table.warm_write) == (12_000, 4_000)


def test_a_second_change_during_a_change_is_refused(world: Any) -> None:
    provisioned(world)
    update = world.client("dynamodb").update_table
    update(**raise_to(100, 60))
    answer = refused(update, **raise_to(100, 70))
    text = "Attempt to change a resource which is still in use: Table IOPS are currently being updated"
    assert answer == ("ResourceInUseException", text)


def test_a_switch_of_an_on_demand_table_is_answered_and_does_nothing(world: Any) -> None:
    table = world.account.add_table("runs", billing="on-demand")
    assert to_on_demand(world)["TableStatus"] == "UPDATING"
    assert (table.status, table.switches) == ("ACTIVE", [])


def test_a_switch_during_the_switch_back_is_answered_and_dropped(world: Any) -> None:
    table = world.account.add_table("runs", billing="on-demand")
    world.client("dynamodb").update_table(**back())
    to_on_demand(world)
    world.wait(minutes=5)
    world.account.settle(world.now())
    assert table.billing == "provisioned"


def test_the_fifth_switch_to_on_demand_within_24_hours_is_refused(world: Any) -> None:
    now = world.now()
    table = provisioned(world, switches=[now - timedelta(hours=hours) for hours in (1, 2, 3, 23.5)])
    code, message = refused(world.client("dynamodb").update_table, TableName="runs", BillingMode="PAY_PER_REQUEST")
    assert code == "LimitExceededException"
    assert "Next update can be made at Monday, August 24, 2026 at 04:30:00 AM" in message
    assert table.status == "ACTIVE"
    world.wait(minutes=31)
    to_on_demand(world)
    assert table.status == "UPDATING"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        pytest.param(
            {"BillingMode": "PROVISIONED"},
            "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
            id="no numbers for the table",
        ),
        pytest.param(back(), "ProvisionedThroughput must be specified for index: by-status", id="none for the index"),
        pytest.param(
            raise_to(100, 50),
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
            id="numbers without the mode",
        ),
    ],
)
def test_the_way_back_wants_every_number(world: Any, change: dict[str, Any], text: str) -> None:
    world.account.add_table("runs", billing="on-demand", indexes=[("by-status", 0, 0)])
    code, message = refused(world.client("dynamodb").update_table, **({"TableName": "runs"} | change))
    assert (code, message) == ("ValidationException", f"One or more parameter values were invalid: {text}")


def test_the_way_back_restores_table_and_index(world: Any) -> None:
    table = world.account.add_table("runs", billing="on-demand", indexes=[("by-status", 0, 0)])
    world.client("dynamodb").update_table(**back(100, 50, by_status=(80, 40)))
    assert table.billing == "on-demand"
    world.wait(minutes=2)
    view = described(world)
    assert (capacity(view), capacity(view["GlobalSecondaryIndexes"][0])) == ((100, 50), (80, 40))
    assert view["BillingModeSummary"]["BillingMode"] == "PROVISIONED"


def test_a_global_table_goes_back_only_when_its_writes_are_autoscaled(world: Any) -> None:
    table = world.account.add_table("runs", billing="on-demand", replicas=["eu-central-1"])
    update = world.client("dynamodb").update_table
    assert refused(update, **back())[1] == "Table write capacity should either be Pay-Per-Request or AutoScaled"
    table.scaling.append(ScalingTarget(unit="write", minimum=1, maximum=100))
    update(**back())
    assert table.wanted_billing == "provisioned"


def test_the_same_throughput_is_refused(world: Any) -> None:
    provisioned(world)
    code, message = refused(world.client("dynamodb").update_table, **raise_to(100, 50))
    assert code == "ValidationException"
    assert message.startswith("The provisioned throughput for the table will not change.")


def test_a_raise_is_in_force_within_seconds(world: Any) -> None:
    table = provisioned(world)
    world.client("dynamodb").update_table(**raise_to(100, 200))
    assert (table.write, described(world)["TableStatus"]) == (50, "UPDATING")
    world.wait(minutes=1)
    assert capacity(described(world)) == (100, 200)
    assert table.write == 200


def test_an_index_alone_leaves_the_table_active(world: Any) -> None:
    table = provisioned(world)
    change = back(by_status=(80, 90))["GlobalSecondaryIndexUpdates"]
    world.client("dynamodb").update_table(TableName="runs", GlobalSecondaryIndexUpdates=change)
    assert (table.status, table.indexes["by-status"].status) == ("ACTIVE", "UPDATING")
    world.wait(minutes=1)
    world.account.settle(world.now())
    assert table.indexes["by-status"].write == 90


def test_after_four_decreases_of_a_day_one_an_hour_is_allowed(world: Any) -> None:
    provisioned(world)
    update = world.client("dynamodb").update_table
    for write in (40, 30, 20, 10):
        update(**raise_to(100, write))
        world.wait(minutes=1)
    code, message = refused(update, **raise_to(100, 5))
    assert code == "LimitExceededException"
    assert "Number of decreases today: 4." in message
    update(**raise_to(100, 60))
    world.wait(hours=1)
    update(**raise_to(100, 5))
    assert described(world)["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 5


def test_a_call_is_refused_as_a_whole_when_one_part_is_over_its_budget(world: Any) -> None:
    table = provisioned(world)
    table.indexes["by-status"].decreases = [world.now()] * 4
    both = raise_to(100, 60) | {"GlobalSecondaryIndexUpdates": back(by_status=(80, 5))["GlobalSecondaryIndexUpdates"]}
    assert refused(world.client("dynamodb").update_table, **both)[0] == "LimitExceededException"
    assert (table.wanted_write, table.status) == (None, "ACTIVE")


def test_more_than_the_table_quota_is_refused(world: Any) -> None:
    provisioned(world)
    code, message = refused(world.client("dynamodb").update_table, **raise_to(100, 40_001))
    assert code == "LimitExceededException"
    assert message == (
        "The requested WriteCapacityUnits, 40001, is above the per table maximum for the table. "
        "Per table maximum: 40000."
    )


def test_an_on_demand_maximum_is_set_per_member_and_taken_away_with_minus_one(world: Any) -> None:
    table = world.account.add_table("runs", billing="on-demand", max_on_demand_write=500)
    assert described(world)["OnDemandThroughput"] == {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 500}
    update = world.client("dynamodb").update_table
    update(TableName="runs", OnDemandThroughput={"MaxReadRequestUnits": 700})
    assert (table.max_on_demand_read, table.max_on_demand_write) == (700, 500)
    update(TableName="runs", OnDemandThroughput={"MaxWriteRequestUnits": -1})
    assert (table.max_on_demand_read, table.max_on_demand_write) == (700, None)


def test_somebody_elses_switch_is_seen_like_ours(world: Any) -> None:
    table = provisioned(world)
    world.account.set_billing("runs", "on-demand", world.now())
    assert described(world)["TableStatus"] == "UPDATING"
    assert len(table.switches) == 1


def test_tags_tables_and_replicas_are_shown(world: Any) -> None:
    provisioned(world, tags={"team": "data"}, replicas=["eu-central-1"])
    world.account.add_table("flows", billing="on-demand")
    client = world.client("dynamodb")
    arn = described(world)["TableArn"]
    assert client.list_tags_of_resource(ResourceArn=arn)["Tags"] == [{"Key": "team", "Value": "data"}]
    assert client.list_tables()["TableNames"] == ["flows", "runs"]
    assert [replica["RegionName"] for replica in described(world)["Replicas"]] == ["eu-central-1"]


def test_a_table_the_account_does_not_know_is_motos(world: Any) -> None:
    answer = refused(world.client("dynamodb").describe_table, TableName="missing")
    assert answer == ("ResourceNotFoundException", "Requested resource not found: Table: missing not found")


def test_contributor_insights_are_off_unless_the_account_says_otherwise(world: Any) -> None:
    provisioned(world)
    client = world.client("dynamodb")
    assert client.describe_contributor_insights(TableName="runs")["ContributorInsightsStatus"] == "DISABLED"
    world.account.contributor_insights = lambda _table, index: {
        "ContributorInsightsStatus": "ENABLED" if index else "DISABLED"
    }
    answer = client.describe_contributor_insights(TableName="runs", IndexName="by-status")
    assert (answer["ContributorInsightsStatus"], answer["IndexName"]) == ("ENABLED", "by-status")


def test_scaling_targets_and_activities_belong_to_table_or_index(world: Any) -> None:
    table = provisioned(world)
    table.scaling.append(ScalingTarget(unit="write", minimum=50, maximum=200))
    table.scaling.append(ScalingTarget(unit="write", minimum=40, maximum=80, index="by-status"))
    at = world.now()
    table.activities.append(
        ScalingActivity(at=at, unit="write", index=None, description="", cause="", not_scaled="AlreadyAtMaxCapacity")
    )
    client = world.client("application-autoscaling")
    found = client.describe_scalable_targets(ServiceNamespace="dynamodb", ResourceIds=["table/runs/index/by-status"])
    (target,) = found["ScalableTargets"]
    assert (target["ScalableDimension"], target["MinCapacity"]) == ("dynamodb:index:WriteCapacityUnits", 40)
    about = {"ServiceNamespace": "dynamodb", "ResourceId": "table/runs"}
    assert client.describe_scaling_activities(**about)["ScalingActivities"] == []
    (activity,) = client.describe_scaling_activities(**about, IncludeNotScaledActivities=True)["ScalingActivities"]
    assert activity["NotScaledReasons"] == [{"Code": "AlreadyAtMaxCapacity"}]
    (policy,) = client.describe_scaling_policies(**about)["ScalingPolicies"]
    assert policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == 70


def test_raising_the_minimum_of_a_target_raises_the_table(world: Any) -> None:
    table = provisioned(world)
    table.scaling.append(ScalingTarget(unit="write", minimum=50, maximum=200))
    world.client("application-autoscaling").register_scalable_target(
        ServiceNamespace="dynamodb",
        ResourceId="table/runs",
        ScalableDimension="dynamodb:table:WriteCapacityUnits",
        MinCapacity=120,
    )
    world.wait(minutes=1)
    world.account.settle(world.now())
    assert (table.scaling[0].minimum, table.scaling[0].maximum, table.write) == (120, 200, 120)


def test_calendars_ops_items_and_quotas_are_answered(world: Any) -> None:
    ssm, quotas = world.client("ssm"), world.client("service-quotas")
    assert ssm.get_calendar_state(CalendarNames=["freeze"])["State"] == "OPEN"
    world.account.calendar_state = "CLOSED"
    assert ssm.get_calendar_state(CalendarNames=["freeze"])["State"] == "CLOSED"
    item = ssm.create_ops_item(Title="t", Source="unthrottle", Description="d")["OpsItemId"]
    assert (item, world.account.ops_items[0]["Title"]) == ("oi-000000000001", "t")
    quota = quotas.get_service_quota(ServiceCode="lambda", QuotaCode="L-B99A9384")["Quota"]
    assert quota["Value"] == 1000
