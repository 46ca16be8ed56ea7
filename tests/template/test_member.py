"""A member account gives the hub the same two roles, to nobody else, and forwards its alarms."""

from typing import Any

import pytest

from sandbox.aws.iam import Role
from sandbox.aws.iam_policy import Allowed, Asked, judge
from sandbox.rehearsal.stack import Stack
from tests.template.resolved import EVERYTHING, HUB, MEMBER, REGION, STRANGER, hub, member

ACTING = {"Mode": "auto"}
RESPOND = f"arn:aws:iam::{HUB}:role/unthrottle-RespondFunctionRole-1A2B3C"
INTAKE = f"arn:aws:iam::{HUB}:role/unthrottle-IntakeFunctionRole-1A2B3C"


def _roles(stack: Stack) -> dict[str, Role]:
    return {key: role for key, role in stack.roles.items() if key in {"ObserverRole", "ActorRole"}}


def _statements(stack: Stack, role: str) -> list[dict[str, Any]]:
    (policy,) = stack.resources[role]["Properties"]["Policies"]
    found: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return found


@pytest.mark.parametrize("role", ["ObserverRole", "ActorRole"])
def test_one_account_and_two_hundred_are_the_same_rights(role: str) -> None:
    ours = _statements(hub(**{**EVERYTHING, "ChangeCalendarArn": ""}), role)
    theirs = _statements(member(**ACTING), role)
    assert str(theirs).replace(MEMBER, HUB) == str(ours)


def test_roles_go_by_the_names_under_which_the_hub_asks_for_them() -> None:
    environment = hub(**EVERYTHING).functions["RespondFunction"].environment
    arns = {key: role.arn for key, role in _roles(member(**ACTING)).items()}
    assert arns == {
        "ObserverRole": f"arn:aws:iam::{MEMBER}:role/{environment['UNTHROTTLE_OBSERVER_ROLE']}",
        "ActorRole": f"arn:aws:iam::{MEMBER}:role/{environment['UNTHROTTLE_ACTOR_ROLE']}",
    }
    assert environment["UNTHROTTLE_EXTERNAL_ID"] == EVERYTHING["ExternalId"]


def test_in_dry_run_a_member_has_no_role_that_could_change_anything() -> None:
    assert set(_roles(member())) == {"ObserverRole"}


def test_roles_are_created_by_one_region_only_and_rules_by_each() -> None:
    elsewhere = member(region="us-west-2", **ACTING)
    assert _roles(elsewhere) == {}
    assert {"ForwardingRule", "ForwardingRole", "UndeliveredQueue"} <= set(elsewhere.resources)


@pytest.mark.parametrize(
    ("role", "caller", "external_id", "session", "trusted"),
    [
        ("ObserverRole", INTAKE, "a-long-external-id", "intake", True),
        ("ActorRole", RESPOND, "a-long-external-id", "INC-7", True),
        ("ActorRole", RESPOND, "another-external-id", "INC-7", False),
        ("ActorRole", RESPOND, None, "INC-7", False),
        ("ActorRole", RESPOND, "a-long-external-id", "me", False),
        ("ActorRole", INTAKE, "a-long-external-id", "INC-7", False),
        ("ActorRole", f"arn:aws:iam::{HUB}:role/admin", "a-long-external-id", "INC-7", False),
        ("ActorRole", RESPOND.replace(HUB, STRANGER), "a-long-external-id", "INC-7", False),
        ("ObserverRole", INTAKE.replace(HUB, STRANGER), "a-long-external-id", "intake", False),
    ],
    ids=["intake looks", "respond changes", "a wrong external id", "no external id", "no incident",
         "intake does not change", "another role of the hub", "the same name in another account",
         "nobody else looks"],
)  # fmt: skip
def test_only_the_hubs_functions_are_trusted_and_only_with_the_external_id(
    role: str, caller: str, external_id: str | None, session: str, trusted: bool
) -> None:
    context = {"sts:RoleSessionName": session, "aws:PrincipalArn": caller}
    if external_id is not None:
        context["sts:ExternalId"] = external_id
    asked = Asked(action="sts:AssumeRole", resource="*", context=context, principal=caller)
    assert isinstance(judge(member(**ACTING).roles[role].trust, asked), Allowed) is trusted


def test_the_hub_assumes_roles_of_its_members_and_of_no_other_account() -> None:
    role = hub(**EVERYTHING).roles["RespondFunctionRole"]
    for account, allowed in ((HUB, True), (MEMBER, True), (STRANGER, False)):
        arn = f"arn:aws:iam::{account}:role/unthrottle-actor"
        asked = Asked(action="sts:AssumeRole", resource=arn, context={"aws:ResourceAccount": account})
        assert isinstance(judge(role.statements, asked), Allowed) is allowed


def test_a_member_forwards_both_kinds_of_alarm_and_loses_none() -> None:
    deployment = member()
    rule = deployment.resources["ForwardingRule"]["Properties"]
    assert rule["EventPattern"] == {
        "source": ["aws.cloudwatch"],
        "detail-type": ["CloudWatch Alarm State Change", "CloudWatch Alarm Contributor State Change"],
        "detail": {"state": {"value": ["ALARM"]}},
    }
    (target,) = rule["Targets"]
    assert target["Arn"] == f"arn:aws:events:{REGION}:{HUB}:event-bus/unthrottle-hub"
    assert target["DeadLetterConfig"]
    may = Asked(action="events:PutEvents", resource=target["Arn"], context={})
    assert isinstance(judge(deployment.roles["ForwardingRole"].statements, may), Allowed)


def test_the_hub_takes_alarms_of_its_members_and_organisation_only() -> None:
    deployment = hub(**EVERYTHING)
    rule = deployment.resources["HubRule"]["Properties"]
    assert rule["EventPattern"]["account"] == [MEMBER]
    assert rule["EventPattern"]["source"] == ["aws.cloudwatch"]
    statement = deployment.resources["HubBusPolicy"]["Properties"]["Statement"]
    assert statement["Principal"] == {"AWS": [MEMBER]}
    assert statement["Condition"]["StringEquals"] == {
        "events:source": "aws.cloudwatch",
        "aws:PrincipalOrgID": "o-a1b2c3d4e5",
    }


def test_without_members_there_is_no_bus_that_others_could_put_events_on() -> None:
    assert not any(key.startswith("Hub") for key in hub().resources)


def test_a_members_alarms_are_the_hubs() -> None:
    ours, theirs = hub().alarms, member().alarms
    of_throttling = {key: alarm for key, alarm in ours.items() if "AlarmActions" not in alarm}
    assert theirs == of_throttling
    assert member(Alarms="false").alarms == {}
