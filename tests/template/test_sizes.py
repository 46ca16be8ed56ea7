"""An organisation of as many accounts as the documents promise fits into AWS's limits."""

import json
import re
from typing import Any

import pytest

from sandbox.rehearsal.stack import Stack
from tests.template.resolved import EVERYTHING, HUB, REGION, ROOT, hub

MOST_ACCOUNTS = 120
PATTERN = 2_048
"""Characters of a rule's event pattern (AWS: EventBridge quotas, "Event pattern size"; adjustable)."""
BUS_POLICY = 10_240
"""Characters of an event bus's policy (AWS: EventBridge quotas)."""
ENVIRONMENT = 4_096
"""Bytes of a function's environment variables, names and values together (AWS: Lambda quotas)."""
INLINE_POLICIES = 10_240
"""Characters of all inline policies of a role, white space not counted (AWS: IAM quotas)."""
PARAMETER = 4_096
"""Bytes of a parameter's value (AWS: CloudFormation quotas)."""


def _accounts(number: int) -> str:
    return ",".join(f"{222_222_222_222 + one}" for one in range(number))


def _organisation(accounts: int = MOST_ACCOUNTS) -> Stack:
    """Deploy everything that is optional, too, with texts as long as they are in practice."""
    given = {
        **EVERYTHING,
        "MemberAccounts": _accounts(accounts),
        "MemberRegions": "eu-west-1,eu-central-1,us-east-1,ap-southeast-2",
        "ExternalId": "11111111-2222-4333-8444-555555555555",
        "SlackSecretArn": f"arn:aws:secretsmanager:{REGION}:{HUB}:secret:unthrottle/slack-AbCdEf",
        "DagyApiUrl": "https://dagy.internal.example.com/api/v1",
        "SlackChannels": ",".join(f"{222_222_222_222 + one}=C0123ABCD{one:02d}" for one in range(10)),
        "Operators": ",".join(f"U0123ABCD{one:02d}" for one in range(10)),
        "Viewers": "S0123ABCDEF",
        "Tracing": "Active",
    }
    return hub(**given)


@pytest.fixture(scope="module")
def largest() -> Stack:
    return _organisation()


def _letters(document: object) -> int:
    return len(json.dumps(document, separators=(",", ":")))


def _pattern(stack: Stack) -> int:
    return _letters(stack.resources["HubRule"]["Properties"]["EventPattern"])


def test_the_rule_takes_the_alarms_of_so_many_accounts_and_of_hardly_more(largest: Stack) -> None:
    """Or the number in the documents would be wrong, or too careful."""
    assert _pattern(largest) <= PATTERN
    assert _pattern(_organisation(MOST_ACCOUNTS + 10)) > PATTERN


def test_the_bus_lets_so_many_accounts_in(largest: Stack) -> None:
    statement = largest.resources["HubBusPolicy"]["Properties"]["Statement"]
    principals = [f"arn:aws:iam::{account}:root" for account in statement["Principal"]["AWS"]]  # as AWS keeps them
    assert len(principals) == MOST_ACCOUNTS
    assert (
        _letters({"Version": "2012-10-17", "Statement": [{**statement, "Principal": {"AWS": principals}}]})
        <= BUS_POLICY
    )


@pytest.mark.parametrize("name", ["Intake", "Respond", "Slack", "Sweep", "Audit"])
def test_each_functions_environment_has_room_for_them(largest: Stack, name: str) -> None:
    environment = largest.functions[f"{name}Function"].environment
    assert _accounts(MOST_ACCOUNTS) in environment.values()
    assert sum(len(key.encode()) + len(value.encode()) for key, value in environment.items()) <= ENVIRONMENT


def test_each_roles_inline_policies_have_room_for_them(largest: Stack) -> None:
    sizes = {key: _inline(largest, key) for key in largest.roles}
    assert {key for key, size in sizes.items() if size > INLINE_POLICIES} == set()
    assert max(sizes.values()) > MOST_ACCOUNTS * 13  # the accounts are in there


def _inline(stack: Stack, role: str) -> int:
    policies: list[dict[str, Any]] = list(stack.resources[role]["Properties"].get("Policies", []))
    policies += [
        one["Properties"]
        for one in stack.resources.values()
        if one["Type"] == "AWS::IAM::Policy" and stack.roles[role].arn.endswith(f"/{one['Properties']['Roles'][0]}")
    ]
    return sum(_letters(policy["PolicyDocument"]) for policy in policies)


def test_the_parameter_takes_them() -> None:
    assert len(_accounts(MOST_ACCOUNTS)) <= PARAMETER


def test_the_number_is_said_where_accounts_are_entered(parameters: dict[str, dict[str, Any]]) -> None:
    assert f"at most {MOST_ACCOUNTS} " in " ".join(parameters["MemberAccounts"]["Description"].split())
    install = " ".join((ROOT / "docs/install.md").read_text().split())
    assert re.search(rf"at most {MOST_ACCOUNTS} accounts", install)
