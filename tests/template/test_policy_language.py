"""Policies are evaluated as IAM does: an explicit deny wins, and what nothing allows is not allowed."""

from typing import Any

import pytest

from sandbox.aws.iam_policy import Allowed, Asked, Denied, PolicyNotUnderstoodError, judge, parse

FUNCTION = "arn:aws:lambda:eu-west-1:111122223333:function:orders"


def _document(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _allow(**more: Any) -> dict[str, Any]:
    return {"Sid": "A", "Effect": "Allow", "Action": "lambda:PutFunctionConcurrency", "Resource": FUNCTION, **more}


def _asked(action: str = "lambda:PutFunctionConcurrency", resource: str = FUNCTION, **context: str) -> Asked:
    return Asked(action=action, resource=resource, context={key.replace("__", ":"): v for key, v in context.items()})


def _is_allowed(document: dict[str, Any], asked: Asked) -> bool:
    return isinstance(judge(parse(document, "policy"), asked), Allowed)


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        (_allow(), True),
        (_allow(Action=["lambda:Get*", "lambda:putfunctionconcurrency"]), True),
        (_allow(Action="lambda:Get*"), False),
        (_allow(Resource="arn:aws:lambda:*:111122223333:function:*"), True),
        (_allow(Resource="arn:aws:lambda:*:111122223333:function:order"), False),
        (_allow(Resource="arn:aws:lambda:*:999999999999:function:*"), False),
        (_allow(Condition={"StringEquals": {"aws:ResourceTag/team": ["a", "b"]}}), False),
        (_allow(Condition={"StringNotEquals": {"aws:ResourceTag/team": "a"}}), True),
    ],
    ids=["exact", "case of actions does not count", "another action", "a glob", "not a prefix", "another account",
         "a key that is not there fails", "a key that is not there passes a negated operator"],
)  # fmt: skip
def test_a_statement_speaks_of_what_matches_action_resource_and_condition(
    statement: dict[str, Any], allowed: bool
) -> None:
    assert _is_allowed(_document(statement), _asked()) is allowed


def test_a_deny_wins_over_any_allow() -> None:
    deny = _allow(Sid="D", Effect="Deny", Condition={"StringEquals": {"aws:ResourceTag/protected": "true"}})
    document = _document(deny, _allow(Resource="*"))

    assert _is_allowed(document, _asked())
    verdict = judge(parse(document, "policy"), _asked(**{"aws:ResourceTag/protected": "true"}))
    assert isinstance(verdict, Denied)
    assert verdict.by is not None
    assert verdict.by.label == "D"


def test_a_deny_of_other_resources_leaves_the_named_ones_alone() -> None:
    deny = {"Sid": "D", "Effect": "Deny", "Action": "lambda:*", "NotResource": f"{FUNCTION}*"}
    document = _document(deny, _allow(Resource="*"))

    assert _is_allowed(document, _asked())
    assert not _is_allowed(document, _asked(resource=FUNCTION.replace("orders", "payments")))


def test_a_call_without_a_resource_level_needs_a_star() -> None:
    asked = _asked(action="lambda:ListFunctions", resource="*")
    assert not _is_allowed(_document(_allow(Action="lambda:ListFunctions")), asked)
    assert _is_allowed(_document(_allow(Action="lambda:ListFunctions", Resource="*")), asked)


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("arn:aws:iam::111122223333:role/unthrottle-RespondFunctionRole-*", True),
        ("arn:aws:iam::*:role/unthrottle-RespondFunctionRole-?BC", True),
        ("arn:aws:iam::111122223333:role/unthrottle-SweepFunctionRole-*", False),
        ("arn:aws:iam:*RespondFunctionRole-ABC", False),
    ],
    ids=["same", "wildcards in parts", "another role", "a wildcard does not reach over colons"],
)
def test_arns_are_compared_part_by_part(pattern: str, matches: bool) -> None:
    document = _document(_allow(Condition={"ArnLike": {"aws:PrincipalArn": pattern}}))
    role = "arn:aws:iam::111122223333:role/unthrottle-RespondFunctionRole-ABC"
    assert _is_allowed(document, _asked(aws__PrincipalArn=role)) is matches


@pytest.mark.parametrize(
    "statement",
    [_allow(NotAction="s3:*"), _allow(Condition={"NumericLessThan": {"aws:MultiFactorAuthAge": "1"}})],
    ids=["element", "operator"],
)
def test_what_is_not_understood_is_an_error_and_no_pass(statement: dict[str, Any]) -> None:
    with pytest.raises(PolicyNotUnderstoodError, match="A: "):
        parse(_document(statement), "policy")
