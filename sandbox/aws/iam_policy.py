"""May these statements' holder do this to that? IAM's evaluation, for the part of the language that policies here use.

An explicit deny wins, then an allow, else it is not allowed (AWS: IAM user guide, "Policy evaluation logic"). Action and
ARN patterns are globs; a condition key that the request does not carry fails every operator except a negated one. What is
not understood here is an error, never a pass. Knows nothing of services.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any


class PolicyNotUnderstoodError(RuntimeError):
    """A policy uses a part of IAM's language that is not evaluated here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement of a policy. `label` names it in reports: its Sid, or its policy where it has none."""

    label: str
    allows: bool
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    other_resources: bool = False
    """It speaks of every resource but these (NotResource)."""
    principals: tuple[str, ...] = ()
    conditions: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Operator, key, values; all of them must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One permission that a call needs. A `resource` of "*" is a call that knows no resource level."""

    action: str
    resource: str
    context: Mapping[str, str]
    principal: str = ""
    """Who asks, as an ARN; read for trust policies only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The first statement that allows it."""

    by: Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """Not allowed: by a statement that denies it, or (None) because no statement allows it."""

    by: Statement | None


Verdict = Allowed | Denied


def judge(statements: Iterable[Statement], asked: Asked) -> Verdict:
    """Evaluate *statements* for one permission."""
    allowed: Statement | None = None
    for statement in statements:
        if not _speaks_of(statement, asked):
            continue
        if not statement.allows:
            return Denied(by=statement)
        allowed = allowed or statement
    return Denied(by=None) if allowed is None else Allowed(by=allowed)


def parse(document: Mapping[str, Any], name: str) -> tuple[Statement, ...]:
    """Read a policy document with all its references resolved. *name* labels statements without a Sid."""
    return tuple(_statement(statement, name) for statement in _list(document["Statement"]))


def _statement(given: Mapping[str, Any], name: str) -> Statement:
    unknown = set(given) - {"Sid", "Effect", "Action", "Resource", "NotResource", "Principal", "Condition"}
    if unknown:
        raise PolicyNotUnderstoodError(f"{given.get('Sid', name)}: {', '.join(sorted(unknown))} is not evaluated here.")
    conditions = tuple(
        (operator, key, tuple(str(value) for value in _list(values)))
        for operator, keys in given.get("Condition", {}).items()
        for key, values in keys.items()
    )
    for operator, _, _ in conditions:
        if operator not in _OPERATORS:
            raise PolicyNotUnderstoodError(f"{given.get('Sid', name)}: the operator {operator} is not evaluated here.")
    principal = given.get("Principal", {})
    return Statement(
        label=str(given.get("Sid", name)),
        allows=given["Effect"] == "Allow",
        actions=tuple(str(action) for action in _list(given["Action"])),
        resources=tuple(str(resource) for resource in _list(given.get("NotResource", given.get("Resource", "*")))),
        other_resources="NotResource" in given,
        principals=("*",)
        if principal == "*"
        else tuple(str(one) for named in principal.values() for one in _list(named)),
        conditions=conditions,
    )


def _speaks_of(statement: Statement, asked: Asked) -> bool:
    return (
        any(_glob(pattern.lower()).fullmatch(asked.action.lower()) for pattern in statement.actions)
        and any(_glob(one).fullmatch(asked.resource) for one in statement.resources) is not statement.other_resources
        and (not statement.principals or any(_is(asked.principal, named) for named in statement.principals))
        and all(_holds(*condition, asked.context) for condition in statement.conditions)
    )


def _is(principal: str, named: str) -> bool:
    """Whether a principal is meant: by its ARN, or by its whole account (an id, or the account's root)."""
    if named in {"*", principal}:
        return True
    account = principal.split(":")[4] if principal.count(":") >= 5 else ""
    return named == account or named.endswith(f":iam::{account}:root")


def _holds(operator: str, key: str, values: Sequence[str], context: Mapping[str, str]) -> bool:
    matches, is_negated = _OPERATORS[operator]
    found = next((value for name, value in context.items() if name.lower() == key.lower()), None)
    if found is None:
        return is_negated
    return any(matches(found, value) for value in values) is not is_negated


def _arn_like(found: str, pattern: str) -> bool:
    """Compare part by part: in an ARN condition a wildcard does not reach over the first five colons."""
    ours, theirs = found.split(":", 5), pattern.split(":", 5)
    return len(ours) == len(theirs) and all(
        _glob(part).fullmatch(own) is not None for part, own in zip(theirs, ours, strict=True)
    )


def _like(found: str, pattern: str) -> bool:
    return _glob(pattern).fullmatch(found) is not None


def _equal(found: str, value: str) -> bool:
    return found == value


_OPERATORS = {
    "StringEquals": (_equal, False),
    "StringNotEquals": (_equal, True),
    "StringLike": (_like, False),
    "StringNotLike": (_like, True),
    "ArnLike": (_arn_like, False),
    "ArnEquals": (_arn_like, False),  # AWS: the two are the same
}


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in pattern), re.DOTALL)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
