"""Each change is made as asked, with the parameters AWS wants and no others."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.adapters.world import Scripted
from unthrottle.adapters.access import Access
from unthrottle.adapters.actor import AwsActor
from unthrottle.errors import NotFound, Refused
from unthrottle.evidence.table import Capacity, ScalingTarget, Way
from unthrottle.plan import SavedTable

UUID = "00000000-0000-4000-8000-000000000001"


def throughput(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def update(script: Scripted, **expected: Any) -> None:
    script.answers("dynamodb", "update_table", {}, TableName="runs", **expected)


@pytest.mark.parametrize(("answer", "value"), [({}, None), ({"ReservedConcurrentExecutions": 0}, 0)])
def test_no_reservation_reads_as_none_and_zero_as_zero(
    script: Scripted, scripted: Access, answer: dict[str, int], value: int | None
) -> None:
    script.answers("lambda", "get_function_concurrency", answer, FunctionName="hog")

    assert AwsActor(scripted).reserved("hog") == value


@pytest.mark.parametrize("value", [0, 250])
def test_a_reservation_is_put(script: Scripted, scripted: Access, value: int) -> None:
    script.answers("lambda", "put_function_concurrency", {}, FunctionName="hog", ReservedConcurrentExecutions=value)

    AwsActor(scripted).set_reserved("hog", value)


def test_taking_a_reservation_away_deletes_it(script: Scripted, scripted: Access) -> None:
    script.answers("lambda", "delete_function_concurrency", {}, FunctionName="hog")

    AwsActor(scripted).set_reserved("hog", None)


def test_a_refusal_keeps_awss_code_and_words(script: Scripted, scripted: Access) -> None:
    message = "Specified … decreases account's UnreservedConcurrentExecution below its minimum value of [100]."
    script.refuses("lambda", "put_function_concurrency", "InvalidParameterValueException", message)

    with pytest.raises(Refused, match=r"minimum value of \[100\]") as refused:
        AwsActor(scripted).set_reserved("hog", 250)
    assert refused.value.code == "InvalidParameterValueException"


@pytest.mark.parametrize(
    ("knob", "value", "sent"),
    [
        ("MaximumConcurrency", 10, {"ScalingConfig": {"MaximumConcurrency": 10}}),
        ("MaximumConcurrency", None, {"ScalingConfig": {}}),
        ("MaximumPollers", 4, {"ProvisionedPollerConfig": {"MaximumPollers": 4}}),
        ("ParallelizationFactor", 2, {"ParallelizationFactor": 2}),
        ("ParallelizationFactor", None, {"ParallelizationFactor": 1}),
    ],
)
def test_one_knob_of_a_mapping_is_turned(
    script: Scripted, scripted: Access, knob: str, value: int | None, sent: dict[str, Any]
) -> None:
    script.answers("lambda", "update_event_source_mapping", {"State": "Updating"}, UUID=UUID, **sent)

    AwsActor(scripted).set_event_source(UUID, knob, value)


@pytest.mark.parametrize(("knob", "value"), [("MaximumPollers", None), ("BatchSize", 1)])
def test_a_knob_that_cannot_be_turned_so_is_a_programming_error(scripted: Access, knob: str, value: int | None) -> None:
    with pytest.raises(ValueError, match=knob):
        AwsActor(scripted).set_event_source(UUID, knob, value)


def test_a_mapping_is_read_as_the_observer_reads_it(script: Scripted, scripted: Access) -> None:
    script.answers(
        "lambda",
        "get_event_source_mapping",
        {"UUID": UUID, "State": "Enabled", "ScalingConfig": {"MaximumConcurrency": 3}},
        UUID=UUID,
    )
    script.refuses("lambda", "get_event_source_mapping", "ResourceNotFoundException", "does not exist", 404)

    actor = AwsActor(scripted)
    assert actor.event_source(UUID).maximum_concurrency == 3
    with pytest.raises(NotFound):
        actor.event_source(UUID)


def test_the_switch_to_on_demand_sends_no_numbers(script: Scripted, scripted: Access) -> None:
    update(script, BillingMode="PAY_PER_REQUEST")

    AwsActor(scripted).switch_to_on_demand("runs")


def describe(script: Scripted) -> None:
    index = {"IndexName": "by-day", "IndexStatus": "ACTIVE", "ProvisionedThroughput": throughput(1, 2)}
    table = {
        "TableName": "runs",
        "TableStatus": "ACTIVE",
        "ProvisionedThroughput": throughput(5, 10),
        "GlobalSecondaryIndexes": [index],
    }
    script.answers("dynamodb", "describe_table", {"Table": table})


def test_back_to_provisioned_names_the_table_and_every_index(script: Scripted, scripted: Access) -> None:
    update(
        script,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=throughput(5, 10),
        GlobalSecondaryIndexUpdates=[
            {"Update": {"IndexName": "by-day", "ProvisionedThroughput": throughput(1, 2)}},
        ],
    )

    wanted = SavedTable(capacity=Capacity(read=5, write=10), indexes={"by-day": Capacity(read=1, write=2)})
    AwsActor(scripted).set_provisioned("runs", wanted, from_on_demand=True)


def test_a_raise_sends_only_what_differs(script: Scripted, scripted: Access) -> None:
    actor = AwsActor(scripted)
    describe(script)
    update(
        script,
        GlobalSecondaryIndexUpdates=[
            {"Update": {"IndexName": "by-day", "ProvisionedThroughput": throughput(1, 20)}},
        ],
    )
    wanted = SavedTable(capacity=Capacity(read=5, write=10), indexes={"by-day": Capacity(read=1, write=20)})
    actor.set_provisioned("runs", wanted, from_on_demand=False)

    describe(script)
    update(script, ProvisionedThroughput=throughput(5, 20))
    actor.set_provisioned("runs", SavedTable(capacity=Capacity(read=5, write=20)), from_on_demand=False)


def test_a_raise_to_what_already_is_makes_no_change(script: Scripted, scripted: Access) -> None:
    describe(script)

    AwsActor(scripted).set_provisioned("runs", SavedTable(capacity=Capacity(read=5, write=10)), from_on_demand=False)


def test_the_autoscaling_of_a_table_that_was_read_is_one_call(script: Scripted, scripted: Access) -> None:
    describe(script)
    bounds = {
        "ServiceNamespace": "dynamodb",
        "ResourceId": "table/runs",
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
        "MinCapacity": 5,
        "MaxCapacity": 50,
        "RoleARN": "arn:aws:iam::111122223333:role/scaling",
        "CreationTime": datetime(2026, 1, 1, tzinfo=UTC),
    }
    script.answers(
        "application-autoscaling",
        "describe_scalable_targets",
        {"ScalableTargets": [bounds]},
        ServiceNamespace="dynamodb",
        ResourceIds=["table/runs", "table/runs/index/by-day"],
    )
    actor = AwsActor(scripted)
    actor.table("runs")

    assert actor.scaling_targets("runs") == (ScalingTarget(way=Way.WRITE, index=None, minimum=5, maximum=50),)


def test_scaling_bounds_are_registered_for_table_and_index(script: Scripted, scripted: Access) -> None:
    for resource, dimension, low, high in (
        ("table/runs", "dynamodb:table:WriteCapacityUnits", 5, 50),
        ("table/runs/index/by-day", "dynamodb:index:ReadCapacityUnits", 1, 10),
    ):
        script.answers(
            "application-autoscaling",
            "register_scalable_target",
            {},
            ServiceNamespace="dynamodb",
            ResourceId=resource,
            ScalableDimension=dimension,
            MinCapacity=low,
            MaxCapacity=high,
        )

    AwsActor(scripted).set_scaling(
        "runs",
        [
            ScalingTarget(way=Way.WRITE, index=None, minimum=5, maximum=50),
            ScalingTarget(way=Way.READ, index="by-day", minimum=1, maximum=10),
        ],
    )
