from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.aws.records import InvokeConfig


def refused(call: Any, **parameters: Any) -> tuple[str, str, int]:
    """Code, message and HTTP status of a call that AWS refuses."""
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    response: Any = caught.value.response
    return response["Error"]["Code"], response["Error"]["Message"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_unset_concurrency_has_no_field_and_zero_has_one(world: Any) -> None:
    world.account.add_function("unset")
    world.account.add_function("zero", reserved=0)
    client = world.client("lambda")
    assert "ReservedConcurrentExecutions" not in client.get_function_concurrency(FunctionName="unset")
    assert client.get_function_concurrency(FunctionName="zero")["ReservedConcurrentExecutions"] == 0
    assert "Concurrency" not in client.get_function(FunctionName="unset")
    assert client.get_function(FunctionName="zero")["Concurrency"] == {"ReservedConcurrentExecutions": 0}


def test_account_settings_are_the_limit_and_the_limit_minus_reservations(world: Any) -> None:
    world.account.add_function("a", reserved=29)
    world.account.add_function("b")
    settings = world.client("lambda").get_account_settings()
    assert settings["AccountLimit"]["ConcurrentExecutions"] == 1000
    assert settings["AccountLimit"]["UnreservedConcurrentExecutions"] == 971
    assert settings["AccountUsage"]["FunctionCount"] == 2


@pytest.mark.parametrize("floor", [10, 40, 50, 100])
def test_the_floor_is_named_in_the_text_and_the_own_reservation_is_credited_back(world: Any, floor: int) -> None:
    world.account.unreserved_floor = floor
    world.account.add_function("others", reserved=500)
    world.account.add_function("f", reserved=100)
    put = world.client("lambda").put_function_concurrency
    most = 500 - floor
    assert put(FunctionName="f", ReservedConcurrentExecutions=most)["ReservedConcurrentExecutions"] == most
    text = (
        "Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below "
        f"its minimum value of [{floor}]."
    )
    answer = refused(put, FunctionName="f", ReservedConcurrentExecutions=most + 1)
    assert answer == ("InvalidParameterValueException", text, 400)
    assert world.account.functions["f"].reserved == most


def test_zero_is_accepted_even_where_nothing_else_is(world: Any) -> None:
    world.account.concurrency_limit = world.account.unreserved_floor = 10
    world.account.add_function("f")
    client = world.client("lambda")
    assert refused(client.put_function_concurrency, FunctionName="f", ReservedConcurrentExecutions=1)[2] == 400
    client.put_function_concurrency(FunctionName="f", ReservedConcurrentExecutions=0)
    assert world.account.functions["f"].reserved == 0


def test_deleting_the_reservation_leaves_it_unset(world: Any) -> None:
    world.account.add_function("f", reserved=5)
    answer = world.client("lambda").delete_function_concurrency(FunctionName="f")
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert world.account.functions["f"].reserved is None


def test_a_reservation_below_the_provisioned_total_is_refused_with_awss_odd_blanks(world: Any) -> None:
    world.account.add_function("f", provisioned=2)
    answer = refused(world.client("lambda").put_function_concurrency, FunctionName="f", ReservedConcurrentExecutions=1)
    assert answer[1] == (
        " ReservedConcurrentExecutions  1 should not be lower than function's total provisioned concurrency [2]."
    )


@pytest.mark.parametrize("name", ["f:$LATEST", "arn:aws:lambda:eu-west-1:111122223333:function:f:live"])
def test_a_qualified_name_cannot_be_capped(world: Any, name: str) -> None:
    world.account.add_function("f")
    answer = refused(world.client("lambda").put_function_concurrency, FunctionName=name, ReservedConcurrentExecutions=5)
    assert answer[0] == "InvalidParameterValueException"
    assert answer[1].startswith("This operation is permitted on Lambda functions only.")


def test_a_function_can_be_named_by_its_arn(world: Any) -> None:
    record = world.account.add_function("f")
    world.client("lambda").put_function_concurrency(FunctionName=record.arn, ReservedConcurrentExecutions=5)
    assert record.reserved == 5


def test_a_missing_function_is_named_with_its_arn(world: Any) -> None:
    answer = refused(world.client("lambda").get_function_concurrency, FunctionName="gone")
    text = "Function not found: arn:aws:lambda:eu-west-1:111122223333:function:gone:$LATEST"
    assert answer == ("ResourceNotFoundException", text, 404)


def test_functions_come_fifty_a_page_whatever_is_asked(world: Any) -> None:
    for number in range(120):
        world.account.add_function(f"f{number:03d}")
    client = world.client("lambda")
    assert len(client.list_functions(MaxItems=10_000)["Functions"]) == 50
    pages = list(client.get_paginator("list_functions").paginate())
    assert [len(page["Functions"]) for page in pages] == [50, 50, 20]
    names = [function["FunctionName"] for page in pages for function in page["Functions"]]
    assert names == [f"f{number:03d}" for number in range(120)]


def test_mappings_come_a_hundred_a_page_and_are_found_by_name_and_by_arn(world: Any) -> None:
    record = world.account.add_function("f")
    other = world.account.add_function("other")
    for number in range(101):
        world.account.add_mapping("f", "sqs", f"queue-{number}")
    world.account.add_mapping("other", "sqs", "queue-other")
    client = world.client("lambda")
    for name in ("f", record.arn):
        pages = list(client.get_paginator("list_event_source_mappings").paginate(FunctionName=name))
        assert [len(page["EventSourceMappings"]) for page in pages] == [100, 1]
    found = client.list_event_source_mappings(FunctionName="other")["EventSourceMappings"]
    assert [mapping["FunctionArn"] for mapping in found] == [other.arn]


def test_kafka_and_stream_mappings_are_there(world: Any) -> None:
    world.account.add_function("f")
    world.account.add_mapping("f", "msk", "orders")
    world.account.add_mapping("f", "kinesis", "clicks", parallelization_factor=10)
    world.account.add_mapping("f", "dynamodb-stream", "dagy-runs")
    found = world.client("lambda").list_event_source_mappings(FunctionName="f")["EventSourceMappings"]
    assert [mapping["EventSourceArn"].split(":")[2] for mapping in found] == ["kafka", "kinesis", "dynamodb"]
    assert [mapping.get("ParallelizationFactor") for mapping in found] == [None, 10, 1]


def test_a_queue_limit_is_set_and_taken_away_with_an_empty_configuration(world: Any) -> None:
    world.account.add_function("f")
    mapping = world.account.add_mapping("f", "sqs", "q")
    client = world.client("lambda")
    answer = client.update_event_source_mapping(UUID=mapping.uuid, ScalingConfig={"MaximumConcurrency": 40})
    assert (answer["ScalingConfig"], answer["State"]) == ({"MaximumConcurrency": 40}, "Updating")
    world.wait(minutes=1)
    assert client.get_event_source_mapping(UUID=mapping.uuid)["State"] == "Enabled"
    answer = client.update_event_source_mapping(UUID=mapping.uuid, ScalingConfig={})
    assert "ScalingConfig" not in answer
    assert mapping.maximum_concurrency is None


def test_a_queue_limit_and_provisioned_pollers_exclude_each_other(world: Any) -> None:
    world.account.add_function("f")
    mapping = world.account.add_mapping("f", "sqs", "q", maximum_pollers=20)
    update = world.client("lambda").update_event_source_mapping
    answer = refused(update, UUID=mapping.uuid, ScalingConfig={"MaximumConcurrency": 40})
    assert answer[0] == "InvalidParameterValueException"
    update(UUID=mapping.uuid, ProvisionedPollerConfig={"MinimumPollers": 2, "MaximumPollers": 4})
    assert (mapping.minimum_pollers, mapping.maximum_pollers) == (2, 4)


def test_a_second_update_of_a_mapping_waits_for_the_first(world: Any) -> None:
    world.account.add_function("f")
    mapping = world.account.add_mapping("f", "kinesis", "s")
    update = world.client("lambda").update_event_source_mapping
    update(UUID=mapping.uuid, ParallelizationFactor=2)
    assert refused(update, UUID=mapping.uuid, ParallelizationFactor=3)[0] == "ResourceInUseException"
    world.wait(minutes=1)
    update(UUID=mapping.uuid, ParallelizationFactor=3)
    assert mapping.parallelization_factor == 3


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"ScalingConfig": {"MaximumConcurrency": 5}}, id="a queue limit on a stream"),
        pytest.param({"ProvisionedPollerConfig": {"MinimumPollers": 1, "MaximumPollers": 5}}, id="pollers on a stream"),
    ],
)
def test_a_limit_of_the_wrong_source_is_refused(world: Any, change: dict[str, Any]) -> None:
    world.account.add_function("f")
    mapping = world.account.add_mapping("f", "kinesis", "s")
    answer = refused(world.client("lambda").update_event_source_mapping, UUID=mapping.uuid, **change)
    assert answer[0] == "InvalidParameterValueException"


def test_an_unknown_mapping_is_not_found(world: Any) -> None:
    answer = refused(world.client("lambda").update_event_source_mapping, UUID="x" * 36, ParallelizationFactor=1)
    assert answer == ("ResourceNotFoundException", "The resource you requested does not exist.", 404)


def test_the_invoke_configuration_is_missing_unless_somebody_made_one(world: Any) -> None:
    world.account.add_function("plain")
    queue = "arn:aws:sqs:eu-west-1:111122223333:failed"
    world.account.add_function("made", invoke_config=InvokeConfig(max_event_age_s=60, on_failure=queue))
    get = world.client("lambda").get_function_event_invoke_config
    assert refused(get, FunctionName="plain")[0] == "ResourceNotFoundException"
    made = get(FunctionName="made")
    assert made["MaximumEventAgeInSeconds"] == 60
    assert made["DestinationConfig"]["OnFailure"]["Destination"] == queue
    assert "MaximumRetryAttempts" not in made


def test_get_function_shows_tags_timeout_dead_letters_and_managed_instances(world: Any) -> None:
    queue = "arn:aws:sqs:eu-west-1:111122223333:dead"
    world.account.add_function(
        "f", tags={"team": "crew"}, timeout_s=60, dead_letter_arn=queue, managed_instances=True, provisioned=3
    )
    client = world.client("lambda")
    answer = client.get_function(FunctionName="f")
    assert answer["Tags"] == client.list_tags(Resource=world.account.functions["f"].arn)["Tags"] == {"team": "crew"}
    configuration = answer["Configuration"]
    assert configuration["Timeout"] == 60
    assert configuration["DeadLetterConfig"]["TargetArn"] == queue
    assert "LambdaManagedInstancesCapacityProviderConfig" in configuration["CapacityProviderConfig"]
    (provisioned,) = client.list_provisioned_concurrency_configs(FunctionName="f")["ProvisionedConcurrencyConfigs"]
    assert provisioned["AllocatedProvisionedConcurrentExecutions"] == 3


def test_who_may_invoke_a_function_is_in_its_policy(world: Any) -> None:
    world.account.add_function("nobody")
    world.account.add_function("rule", principals=["events.amazonaws.com"], function_url=True)
    client = world.client("lambda")
    assert refused(client.get_policy, FunctionName="nobody")[0] == "ResourceNotFoundException"
    assert "events.amazonaws.com" in client.get_policy(FunctionName="rule")["Policy"]
    assert len(client.list_function_url_configs(FunctionName="rule")["FunctionUrlConfigs"]) == 1


def test_ten_thousand_functions_are_ready_at_once(world: Any) -> None:
    for number in range(10_000):
        world.account.add_function(f"f{number}")
    assert world.client("lambda").get_account_settings()["AccountUsage"]["FunctionCount"] == 10_000


def test_the_account_knows_when_it_changed(world: Any) -> None:
    world.account.add_function("f")
    before = world.account.version
    world.client("lambda").get_function(FunctionName="f")
    assert world.account.version == before
    world.account.set_reserved("f", 300)
    assert world.account.version == before + 1
