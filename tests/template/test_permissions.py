"""Who may do what: functions almost nothing, the Observer looks, the Actor changes; in dry-run there is no Actor."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from unthrottle.actions import PERMISSIONS

READS = re.compile(r"[a-z-]+:(Get|List|Describe|Lookup)[A-Za-z]+")
OWN_BUSINESS = {
    # reports and the bot's own records: they change nothing in the account that is looked after
    "dynamodb:BatchGetItem",
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:UpdateItem",
    "kms:Decrypt",
    "kms:GenerateDataKey",
    "lambda:InvokeFunction",
    "lambda:SendDurableExecutionCallbackSuccess",
    "sns:Publish",
    "sqs:SendMessage",
    "ssm:CreateOpsItem",
    "sts:AssumeRole",
}
FUNCTION_ROLES = [f"{name}FunctionRole" for name in ("Intake", "Respond", "Slack", "Sweep", "Audit")]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _statements(role: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every inline statement, as if every condition held."""
    for policy in role["Properties"].get("Policies", []):
        for statement in _as_list(policy["PolicyDocument"]["Statement"]):
            yield statement["Fn::If"][1] if "Fn::If" in statement else statement


def _allowed(role: dict[str, Any]) -> set[str]:
    return {a for s in _statements(role) if s["Effect"] == "Allow" for a in _as_list(s["Action"])}


def _trusted(role: dict[str, Any]) -> set[str]:
    (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    return {principal["Fn::GetAtt"][0] for principal in statement["Principal"]["AWS"]}


def _assumes(role: dict[str, Any], suffix: str) -> bool:
    return any(s["Action"] == "sts:AssumeRole" and s["Resource"]["Fn::Sub"].endswith(suffix) for s in _statements(role))


def test_the_observer_holds_no_mutating_verb(resources: dict[str, Any]) -> None:
    assert [action for action in _allowed(resources["ObserverRole"]) if not READS.fullmatch(action)] == []


@pytest.mark.parametrize("name", FUNCTION_ROLES)
def test_functions_themselves_hold_no_right_to_change_the_account(resources: dict[str, Any], name: str) -> None:
    own = {action for action in _allowed(resources[name]) if not READS.fullmatch(action)}
    assert own <= OWN_BUSINESS


@pytest.mark.parametrize("name", FUNCTION_ROLES)
def test_functions_write_to_their_own_table_only(resources: dict[str, Any], name: str) -> None:
    for statement in _statements(resources[name]):
        if any(action.startswith("dynamodb:") for action in _as_list(statement["Action"])):
            assert statement["Resource"] == {"Fn::GetAtt": ["IncidentsTable", "Arn"]}


def test_each_function_calls_those_of_the_stack_that_it_starts_and_nothing_else(resources: dict[str, Any]) -> None:
    respond, audit = {"Ref": "RespondFunctionAliaslive"}, {"Fn::GetAtt": ["AuditFunction", "Arn"]}
    called = {
        name: [s["Resource"] for s in _statements(resources[name]) if "lambda:InvokeFunction" in _as_list(s["Action"])]
        for name in FUNCTION_ROLES
    }
    assert called == {
        "IntakeFunctionRole": [respond],
        "RespondFunctionRole": [],
        "SlackFunctionRole": [respond, audit],
        "SweepFunctionRole": [respond],
        "AuditFunctionRole": [],
    }


@pytest.mark.parametrize("name", FUNCTION_ROLES)
def test_keys_that_are_not_named_are_used_through_one_service_only(resources: dict[str, Any], name: str) -> None:
    """A secret is opened by its own ARN: Secrets Manager gives it to KMS as encryption context."""
    for statement in _statements(resources[name]):
        actions = [action for action in _as_list(statement["Action"]) if action.startswith("kms:")]
        if not actions or statement["Resource"] == {"Ref": "KmsKeyArn"}:
            continue
        (through,) = statement["Condition"]["StringLike"].values()
        assert through["Fn::Sub"] in {"secretsmanager.*.${AWS::URLSuffix}", "sns.*.${AWS::URLSuffix}"}
        if through["Fn::Sub"].startswith("secretsmanager"):
            assert actions == ["kms:Decrypt"]
            assert "kms:EncryptionContext:SecretARN" in statement["Condition"]["StringEquals"]


@pytest.mark.parametrize("name", FUNCTION_ROLES)
def test_whoever_reads_a_secret_may_open_it_under_a_customer_key(resources: dict[str, Any], name: str) -> None:
    def named(action: str) -> list[Any]:
        found = [s for s in _statements(resources[name]) if action in _as_list(s["Action"])]
        opened = [s.get("Condition", {}).get("StringEquals", {}).get("kms:EncryptionContext:SecretARN") for s in found]
        return [s["Resource"] for s in found] if action.startswith("secrets") else [one for one in opened if one]

    assert named("secretsmanager:GetSecretValue") == named("kms:Decrypt")


def test_in_dry_run_the_actor_is_neither_created_nor_assumable(
    resources: dict[str, Any], template: dict[str, Any]
) -> None:
    assert template["Conditions"]["IsActing"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "Mode"}, "dry-run"]}]}
    assert resources["ActorRole"]["Condition"] == "IsActing"
    unconditional = [
        statement
        for name in FUNCTION_ROLES
        for policy in resources[name]["Properties"].get("Policies", [])
        for statement in _as_list(policy["PolicyDocument"]["Statement"])
        if "Fn::If" not in statement and statement["Action"] == "sts:AssumeRole"
    ]
    assert {s["Resource"]["Fn::Sub"].rsplit("-", 1)[1] for s in unconditional} == {"observer"}


def test_only_respond_and_sweep_may_change_anything(resources: dict[str, Any]) -> None:
    assert _trusted(resources["ActorRole"]) == {"RespondFunctionRole", "SweepFunctionRole"}
    assert {name for name in FUNCTION_ROLES if _assumes(resources[name], "-actor")} == _trusted(resources["ActorRole"])


def test_whoever_may_assume_the_observer_is_trusted_by_it(resources: dict[str, Any]) -> None:
    assert {name for name in FUNCTION_ROLES if _assumes(resources[name], "-observer")} == _trusted(
        resources["ObserverRole"]
    )


def test_the_actor_can_be_assumed_for_an_incident_only(resources: dict[str, Any]) -> None:
    (statement,) = resources["ActorRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Condition"] == {"StringLike": {"sts:RoleSessionName": "INC-*"}}


def test_the_actor_is_denied_every_change_of_what_is_protected(resources: dict[str, Any]) -> None:
    (deny,) = [s for s in _statements(resources["ActorRole"]) if s["Effect"] == "Deny"]
    changes = {action for action in _allowed(resources["ActorRole"]) if not READS.fullmatch(action)}
    assert set(deny["Action"]) == changes
    assert deny["Condition"] == {"StringEquals": {"aws:ResourceTag/unthrottle:protected": "true"}}


def test_the_actor_may_neither_delete_nor_create_nor_call_anything(resources: dict[str, Any]) -> None:
    forbidden = re.compile(r".*:(Delete(?!FunctionConcurrency)|Create|Invoke|Pass|Attach|Put(?!FunctionConcurrency)).*")
    tried = {a for s in _statements(resources["ActorRole"]) if _is_autoscalings(s) for a in _as_list(s["Action"])}
    own = _allowed(resources["ActorRole"]) - tried
    assert [action for action in own if forbidden.fullmatch(action) or "*" in action] == []
    assert tried == {"cloudwatch:DeleteAlarms", "cloudwatch:PutMetricAlarm"}


def _is_autoscalings(statement: dict[str, Any]) -> bool:
    """Whether the statement holds for what Application Auto Scaling itself does with the caller's rights only."""
    via = {"StringEquals": {"aws:CalledViaLast": "application-autoscaling.amazonaws.com"}}
    return statement["Effect"] == "Allow" and statement.get("Condition") == via


def test_both_roles_have_the_same_name_in_every_account(
    resources: dict[str, Any], functions: dict[str, dict[str, Any]]
) -> None:
    assert resources["ObserverRole"]["Properties"]["RoleName"] == {"Fn::Sub": "${AWS::StackName}-observer"}
    assert resources["ActorRole"]["Properties"]["RoleName"] == {"Fn::Sub": "${AWS::StackName}-actor"}
    for properties in functions.values():
        variables = properties["Environment"]["Variables"]
        assert variables["UNTHROTTLE_OBSERVER_ROLE"] == {"Fn::Sub": "${AWS::StackName}-observer"}
        assert variables["UNTHROTTLE_ACTOR_ROLE"] == {
            "Fn::If": ["IsActing", {"Fn::Sub": "${AWS::StackName}-actor"}, ""]
        }


def test_every_statement_says_what_it_is_for(template: dict[str, Any]) -> None:
    def nodes(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            if "Effect" in value:
                yield value
            for inner in value.values():
                yield from nodes(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from nodes(inner)

    found = list(nodes(template["Resources"]))
    assert len(found) > 20
    assert [statement for statement in found if not re.fullmatch(r"[A-Z][A-Za-z]{7,}", statement.get("Sid", ""))] == []


def test_every_wildcard_resource_gives_its_reason(text: str) -> None:
    wild = [line.strip() for line in text.splitlines() if re.search(r'Resource: "\*"', line)]
    assert wild
    assert [line for line in wild if not re.fullmatch(r'Resource: "\*"  # .{10,}', line)] == []


def test_no_action_is_a_wildcard(resources: dict[str, Any]) -> None:
    roles = [r for r in resources.values() if r["Type"] == "AWS::IAM::Role"]
    assert len(roles) == 7
    assert [action for role in roles for action in _allowed(role) if "*" in action] == []


def test_the_actor_may_do_exactly_what_the_actions_declare(resources: dict[str, Any]) -> None:
    assert _allowed(resources["ActorRole"]) == PERMISSIONS
