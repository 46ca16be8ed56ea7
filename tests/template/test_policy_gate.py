"""Calls of the bot are let through, or refused, by the template's own policies, with AWS's words."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.calls import NotEmulatedError, Refuse, Request
from sandbox.aws.iam import PolicyGate
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


def test_an_operation_nobody_has_judged_is_an_error_and_no_pass(gate: PolicyGate) -> None:
    with pytest.raises(NotEmulatedError, match=r"dynamodb\.DeleteTable"):
        gate.handle(_call("actor", "dynamodb", "DeleteTable", TableName="orders"))
