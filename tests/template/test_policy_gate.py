"""Calls of the bot are let through, or refused, by the template's own policies, with AWS's words."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.calls import NotEmulatedError, Refuse, Request
from sandbox.aws.iam import PolicyGate
from sandbox.aws.iam_policy import Allowed, Asked, judge
from tests.template.resolved import EVERYTHING, HUB, REGION, hub

NAMES = {
    "observer": "ObserverRole",
    "actor": "ActorRole",
    "respond": "RespondFunctionRole",
    "intake": "IntakeFunctionRole",
    "slack": "SlackFunctionRole",
}
ACTOR = f"arn:aws:iam::{HUB}:role/unthrottle-actor"


@pytest.fixture
def gate() -> PolicyGate:
    account = EmbeddedAccount(account_id=HUB, region=REGION)
    account.add_function("orders")
    account.add_function("payments", tags={"unthrottle:protected": "true"})
    account.add_table("ledger", billing="provisioned", read=1, write=1, tags={"unthrottle:protected": "true"})
    stack = hub(**EVERYTHING)
    roles = {name: stack.roles[key] for name, key in NAMES.items()}
    return PolicyGate(roles, account, durable_function_arn=stack.functions["RespondFunction"].arn)


def _call(role: str | None, service: str, operation: str, **parameters: Any) -> Request:
    return Request(
        service=service,
        operation=operation,
        parameters=parameters,
        now=datetime(2026, 8, 24, 9, tzinfo=UTC),
        region=REGION,
        access_key="ASIA",
        account=HUB,
        role=role,
        session_name="INC-7",
    )


def _cap(role: str | None, function: str) -> Request:
    return _call(role, "lambda", "PutFunctionConcurrency", FunctionName=function, ReservedConcurrentExecutions=1)


def test_the_actor_caps_a_function_and_the_gate_remembers_by_which_right(gate: PolicyGate) -> None:
    assert gate.handle(_cap("actor", "orders")) is None
    assert gate.used == {("actor", "CapAFunctionAndGiveBack", "lambda:PutFunctionConcurrency")}
    assert gate.refusals == []


@pytest.mark.parametrize("role", ["observer", "respond", "intake", "slack", None])
def test_nobody_else_may(gate: PolicyGate, role: str | None) -> None:
    refused = gate.handle(_cap(role, "orders"))
    assert isinstance(refused, Refuse)
    assert refused.code == "AccessDeniedException"
    assert "no identity-based policy allows the lambda:PutFunctionConcurrency action" in refused.message


@pytest.mark.parametrize(
    "call",
    [
        _cap("actor", "payments"),
        _cap("actor", f"arn:aws:lambda:{REGION}:{HUB}:function:payments"),
        _call("actor", "dynamodb", "UpdateTable", TableName="ledger", BillingMode="PAY_PER_REQUEST"),
    ],
    ids=["function", "function by its ARN", "table"],
)
def test_what_is_protected_is_refused_by_name_of_the_statement(gate: PolicyGate, call: Request) -> None:
    refused = gate.handle(call)
    assert isinstance(refused, Refuse)
    assert "with an explicit deny" in refused.message
    assert [refusal.by for refusal in gate.refusals] == ["NeverTouchWhatIsProtected"]


@pytest.mark.parametrize(
    ("role", "session", "arn", "allowed"),
    [
        ("respond", "INC-7", ACTOR, True),
        ("respond", "maintenance", ACTOR, False),
        ("intake", "INC-7", ACTOR, False),
        ("respond", "INC-7", ACTOR.replace(HUB, "333333333333"), False),
        ("respond", "INC-7", ACTOR.replace("-actor", "-admin"), False),
    ],
    ids=["for an incident", "for nothing", "intake never", "not in a strange account", "no other role"],
)
def test_the_actor_is_assumed_for_an_incident_by_those_who_may(
    gate: PolicyGate, role: str, session: str, arn: str, allowed: bool
) -> None:
    refused = gate.handle(_call(role, "sts", "AssumeRole", RoleArn=arn, RoleSessionName=session))
    assert (refused is None) is allowed
    assert refused is None or refused.code == "AccessDenied"


@pytest.mark.parametrize("table", ["unthrottle-IncidentsTable", "orders"])
def test_functions_write_to_the_incidents_table_only(gate: PolicyGate, table: str) -> None:
    write = {"Put": {"TableName": table, "Item": {}}}
    refused = gate.handle(_call("respond", "dynamodb", "TransactWriteItems", TransactItems=[write]))
    assert (refused is None) is (table == "unthrottle-IncidentsTable")


def test_autoscaling_of_anything_but_dynamodb_is_out_of_reach(gate: PolicyGate) -> None:
    given = {"ResourceId": "service/web", "ScalableDimension": "ecs:service:DesiredCount", "ServiceNamespace": "ecs"}
    assert gate.handle(_call("actor", "application-autoscaling", "RegisterScalableTarget", **given)) is not None
    given = {
        "ResourceId": "table/orders",
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
        "ServiceNamespace": "dynamodb",
    }
    assert gate.handle(_call("actor", "application-autoscaling", "RegisterScalableTarget", **given)) is None


REGISTER = {
    "ResourceId": "table/orders/index/by-day",
    "ScalableDimension": "dynamodb:index:WriteCapacityUnits",
    "ServiceNamespace": "dynamodb",
}


def test_a_scalable_target_asks_for_the_rights_that_autoscaling_tries_beside_its_own(gate: PolicyGate) -> None:
    """AWS: Application Auto Scaling refuses with a ValidationException when its caller could not keep the alarms."""
    assert gate.handle(_call("actor", "application-autoscaling", "RegisterScalableTarget", **REGISTER)) is None
    assert {action for _, _, action in gate.used} == {
        "application-autoscaling:RegisterScalableTarget",
        "cloudwatch:DeleteAlarms",
        "cloudwatch:DescribeAlarms",
        "cloudwatch:PutMetricAlarm",
        "dynamodb:DescribeTable",
        "dynamodb:UpdateTable",
    }


@pytest.mark.parametrize(
    "missing", ["LetAutoscalingSeeAlarms", "LetAutoscalingTryToKeepAlarms", "ChangeATablesCapacityAndGiveBack"]
)
def test_without_one_of_them_the_target_is_refused(gate: PolicyGate, missing: str) -> None:
    actor = gate.roles["actor"]
    gate.roles["actor"] = replace(actor, statements=tuple(one for one in actor.statements if one.label != missing))
    refused = gate.handle(_call("actor", "application-autoscaling", "RegisterScalableTarget", **REGISTER))
    assert isinstance(refused, Refuse)
    assert gate.refusals[0].asked.action.split(":")[0] in {"cloudwatch", "dynamodb"}


@pytest.mark.parametrize("action", ["cloudwatch:PutMetricAlarm", "cloudwatch:DeleteAlarms"])
@pytest.mark.parametrize(
    ("via", "allowed"),
    [
        ({"aws:CalledViaLast": "application-autoscaling.amazonaws.com", "aws:ViaAWSService": "true"}, True),
        ({"aws:CalledViaLast": "cloudformation.amazonaws.com", "aws:ViaAWSService": "true"}, False),
        ({}, False),
    ],
    ids=["tried by autoscaling", "through another service", "called by the bot itself"],
)
def test_the_actor_itself_can_touch_no_alarm(gate: PolicyGate, action: str, via: dict[str, str], allowed: bool) -> None:
    for name in ("", "TargetTracking-table/orders-AlarmHigh-1a2b", "unthrottle-table-write-throttles"):
        asked = Asked(action=action, resource=f"arn:aws:cloudwatch:{REGION}:{HUB}:alarm:{name}", context=via)
        assert isinstance(judge(gate.roles["actor"].statements, asked), Allowed) is allowed


LOG = f"arn:aws:logs:{REGION}:{HUB}:log-group:"


@pytest.mark.parametrize("name", ["Intake", "Respond", "Slack", "Sweep", "Audit"])
def test_a_function_writes_to_its_own_log_and_to_no_other_of_the_account(name: str) -> None:
    role, own = hub(**EVERYTHING).roles[f"{name}FunctionRole"], f"/aws/lambda/unthrottle-{name.lower()}"
    for group in ("intake", "respond", "slack", "sweep", "audit", "payments"):
        named = f"{LOG}/aws/lambda/unthrottle-{group}"
        for action, resource in (
            ("logs:CreateLogGroup", named),
            ("logs:CreateLogStream", f"{named}:log-stream:2026/08/24/[1]ab"),
            ("logs:PutLogEvents", f"{named}:log-stream:2026/08/24/[1]ab"),
        ):
            verdict = judge(role.statements, Asked(action=action, resource=resource, context={}))
            assert isinstance(verdict, Allowed) is named.endswith(own), resource


@pytest.mark.parametrize("operation", ["CheckpointDurableExecution", "GetDurableExecutionState"])
@pytest.mark.parametrize(
    ("function", "allowed"),
    [("unthrottle-RespondFunction", True), ("unthrottle-RespondFunction-2", False), ("payments", False)],
)
def test_the_workflow_goes_on_with_its_own_executions_and_no_others(
    gate: PolicyGate, operation: str, function: str, allowed: bool
) -> None:
    arn = f"arn:aws:lambda:{REGION}:{HUB}:function:{function}:7/durable-execution/INC-7/1a2b"
    refused = gate.handle(_call("respond", "lambda", operation, DurableExecutionArn=arn))
    assert (refused is None) is allowed
    assert [one.by for one in gate.refusals] == ([] if allowed else ["GoOnWithItsOwnExecutionsOnly"])


def test_with_tracing_the_denies_leave_traces_alone() -> None:
    for name in ("Intake", "Respond", "Slack", "Sweep", "Audit"):
        role = hub(**EVERYTHING, Tracing="Active").roles[f"{name}FunctionRole"]
        asked = Asked(action="xray:PutTraceSegments", resource="*", context={})
        assert isinstance(judge(role.statements, asked), Allowed)


def test_an_operation_nobody_has_judged_is_an_error_and_no_pass(gate: PolicyGate) -> None:
    with pytest.raises(NotEmulatedError, match=r"dynamodb\.DeleteTable"):
        gate.handle(_call("actor", "dynamodb", "DeleteTable", TableName="orders"))
