from datetime import timedelta
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ReadTimeoutError
from moto.core.botocore_stubber import BotocoreStubber

from sandbox.aws.gate import Fault, Gate, Identity, NotEmulatedError, ProcessDied, Refuse, Request, Respond

ROLE = "arn:aws:iam::111122223333:role/unthrottle-observer"


def parameter(world: Any, **credentials: str) -> Any:
    client = world.client("ssm", **credentials)
    client.put_parameter(Name="a", Value="1", Type="String", Overwrite=True)
    return client


def assumed(world: Any, role: str = ROLE, session: str = "INC-1") -> dict[str, str]:
    answer = world.client("sts").assume_role(RoleArn=role, RoleSessionName=session)["Credentials"]
    return {
        "aws_access_key_id": answer["AccessKeyId"],
        "aws_secret_access_key": answer["SecretAccessKey"],
        "aws_session_token": answer["SessionToken"],
    }


def test_every_call_is_recorded_with_its_parameters_minute_and_result(world: Any) -> None:
    world.go_to(34)
    parameter(world)
    (made,) = world.gate.calls
    assert (made.minute, made.call, made.result) == (34, "ssm.PutParameter", "ok")
    assert made.parameters == {"Name": "a", "Value": "1", "Type": "String", "Overwrite": True}


def test_a_call_names_the_role_and_the_session_that_signed_it(world: Any) -> None:
    world.gate.logical_roles["unthrottle-observer"] = "observer"
    parameter(world, **assumed(world))
    assert [(made.call, made.role, made.session_name) for made in world.gate.calls] == [
        ("sts.AssumeRole", None, None),
        ("ssm.PutParameter", "observer", "INC-1"),
    ]


def test_a_role_without_a_logical_name_goes_by_its_own(world: Any) -> None:
    parameter(world, **assumed(world))
    assert world.gate.calls[-1].role == "unthrottle-observer"


def test_plain_credentials_can_be_introduced_as_those_of_a_function(world: Any) -> None:
    world.gate.introduce("AKIARESPOND", Identity(role="respond"))
    parameter(world, aws_access_key_id="AKIARESPOND", aws_secret_access_key="not-a-secret")
    assert world.gate.calls[-1].role == "respond"


def test_a_role_that_does_not_exist_cannot_be_assumed(world: Any) -> None:
    world.gate.known_roles = lambda arn: arn == ROLE
    assumed(world)
    with pytest.raises(ClientError, match="is not authorized to perform: sts:AssumeRole on resource"):
        assumed(world, role="arn:aws:iam::111122223333:role/unthrottle-actor")
    assert [made.result for made in world.gate.calls] == ["ok", "AccessDenied"]


def test_an_aws_error_strikes_the_nth_call_only(world: Any) -> None:
    world.gate.faults.append(Fault(call="ssm.PutParameter", nth=2, error="ParameterLimitExceeded"))
    parameter(world)
    with pytest.raises(ClientError, match="ParameterLimitExceeded"):
        parameter(world)
    parameter(world)
    assert [made.result for made in world.gate.calls] == ["ok", "ParameterLimitExceeded", "ok"]


def test_a_throttled_call_is_tried_again_without_waiting(world: Any) -> None:
    world.gate.faults.append(Fault(call="ssm.PutParameter", error="ThrottlingException"))
    parameter(world)
    assert [made.result for made in world.gate.calls] == ["ThrottlingException", "ok"]
    assert world.gate.seconds_slept > 0


@pytest.mark.parametrize(("fault", "happened"), [("timeout-before", False), ("timeout-after", True)])
def test_a_timeout_leaves_it_open_whether_the_change_happened(world: Any, fault: str, *, happened: bool) -> None:
    world.account.add_function("f")
    world.gate.faults.append(Fault(call="lambda.PutFunctionConcurrency", error=fault))
    client = world.client("lambda", config=Config(retries={"total_max_attempts": 1}))
    with pytest.raises(ReadTimeoutError):
        client.put_function_concurrency(FunctionName="f", ReservedConcurrentExecutions=5)
    assert (world.account.functions["f"].reserved == 5) is happened
    assert [made.result for made in world.gate.calls] == [fault]


@pytest.mark.parametrize(("fault", "happened"), [("crash-before", False), ("crash-after", True)])
def test_a_crash_gets_past_every_handler_of_errors(world: Any, fault: str, *, happened: bool) -> None:
    world.account.add_function("f")
    world.gate.faults.append(Fault(call="lambda.PutFunctionConcurrency", error=fault))
    with pytest.raises(ProcessDied):
        world.client("lambda").put_function_concurrency(FunctionName="f", ReservedConcurrentExecutions=5)
    assert (world.account.functions["f"].reserved == 5) is happened


def test_a_refused_call_is_not_reported_as_lost_after_it_happened(world: Any) -> None:
    world.gate.faults.append(Fault(call="lambda.PutFunctionConcurrency", error="crash-after"))
    with pytest.raises(ProcessDied):
        world.client("lambda").put_function_concurrency(FunctionName="gone", ReservedConcurrentExecutions=5)
    assert [made.result for made in world.gate.calls] == ["ResourceNotFoundException"]


def test_handlers_are_asked_in_order_and_moto_answers_what_they_leave(world: Any) -> None:
    def first(request: Request) -> Respond | Refuse | None:
        if request.call == "ssm.GetParameter":
            return Respond(parsed={"Parameter": {"Name": "a", "Value": "ours"}})
        return Refuse(code="AccessDeniedException", message="no") if request.call == "ssm.DeleteParameter" else None

    world.gate.handlers.insert(0, first)
    client = parameter(world)
    assert client.get_parameter(Name="a")["Parameter"]["Value"] == "ours"
    with pytest.raises(ClientError, match="AccessDeniedException"):
        client.delete_parameter(Name="a")
    assert client.get_parameters(Names=["a"])["Parameters"][0]["Value"] == "1"


def test_a_call_moto_would_answer_wrongly_is_an_error_of_the_sandbox(world: Any) -> None:
    with pytest.raises(NotEmulatedError, match=r"lambda\.GetAlias"):
        world.client("lambda").get_alias(FunctionName="f", Name="live")


def test_an_error_code_from_moto_is_recorded(world: Any) -> None:
    with pytest.raises(ClientError):
        world.client("ssm").get_parameter(Name="missing")
    assert [made.result for made in world.gate.calls] == ["ParameterNotFound"]


def test_parameters_of_a_resource_are_recorded_as_they_are_sent(world: Any) -> None:
    import boto3

    client = world.client("dynamodb")
    client.create_table(
        TableName="incidents",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    boto3.resource("dynamodb", region_name="eu-west-1").Table("incidents").put_item(Item={"pk": "a"})
    assert world.gate.calls[-1].parameters == {"TableName": "incidents", "Item": {"pk": {"S": "a"}}}


def test_everything_is_put_back_when_the_gate_closes(world: Any) -> None:
    outer = BotocoreStubber.__call__
    with Gate(start=world.now() - timedelta(hours=1)):
        assert BotocoreStubber.__call__ is not outer
    assert BotocoreStubber.__call__ is outer
