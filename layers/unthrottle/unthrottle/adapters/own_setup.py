"""How is a deployment of Unthrottle itself set up: its roles, workflow, table, topic and rules? Reads only.

Asked by a person's credentials, not by the functions'. Knows nothing of what is good or bad about it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from unthrottle.adapters.access import Access
from unthrottle.adapters.aws_answers import text_as_json
from unthrottle.errors import Refused

NO_SUCH_ROLE = "NoSuchEntity"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFacts:
    """An IAM role and who its trust policy lets in, as it stands there: ARNs, account ids, `*`, or ids of deleted roles."""

    arn: str
    trusted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFacts:
    """An EventBridge rule; `understands` are the detail-types its pattern takes."""

    name: str
    is_enabled: bool
    understands: tuple[str, ...]
    targets: tuple[str, ...]


class OwnSetUp:
    """Each method raises NotFound for what is not there, NotAllowed, TryAgain, Refused."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def role(self, name: str) -> RoleFacts | None:
        """Read a role; None where there is none of that name."""
        try:
            with self._access.use("iam", f"read the role {name}") as client:
                found = client.get_role(RoleName=name)["Role"]
        except Refused as error:
            if error.code != NO_SUCH_ROLE:
                raise
            return None
        document = found.get("AssumeRolePolicyDocument") or {}
        if isinstance(document, str):
            document = text_as_json(unquote(document), "a trust policy")
        return RoleFacts(arn=str(found["Arn"]), trusted=tuple(_trusted(document)))

    def granted(self, role: str) -> frozenset[str]:
        """List the actions that a role's own (inline) policies allow, on whatever resource, in lower case."""
        found: set[str] = set()
        with self._access.use("iam", f"read the policies of the role {role}") as client:
            for page in client.get_paginator("list_role_policies").paginate(RoleName=role):
                for name in page.get("PolicyNames", []):
                    document = client.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
                    if isinstance(document, str):
                        document = text_as_json(unquote(document), "a policy")
                    found.update(action.lower() for action in _actions(document))
        return frozenset(found)

    def role_of(self, alias_arn: str) -> str:
        """Return the ARN of the role that the function behind an alias runs with."""
        with self._access.use("lambda", f"read the workflow {alias_arn}") as client:
            return str(client.get_function(FunctionName=alias_arn)["Configuration"].get("Role", ""))

    def subscribers(self, topic_arn: str) -> int:
        """Count the confirmed subscriptions of a topic."""
        with self._access.use("sns", f"read the topic {topic_arn}") as client:
            found = client.get_topic_attributes(TopicArn=topic_arn)["Attributes"]
        return int(text_as_json(found.get("SubscriptionsConfirmed", "0"), "a number of subscriptions"))

    def resources(self, stack: str) -> dict[str, tuple[str, str]]:
        """List a stack's resources: logical id -> (type, physical id)."""
        found: dict[str, tuple[str, str]] = {}
        with self._access.use("cloudformation", f"list the resources of the stack {stack}") as client:
            for page in client.get_paginator("list_stack_resources").paginate(StackName=stack):
                for row in page.get("StackResourceSummaries", []):
                    found[row["LogicalResourceId"]] = (row["ResourceType"], row.get("PhysicalResourceId", ""))
        return found

    def rule(self, name: str, *, bus: str = "default") -> RuleFacts:
        """Read a rule of a bus, with its targets."""
        with self._access.use("events", f"read the rule {name}") as client:
            found = client.describe_rule(Name=name, EventBusName=bus)
            targets = client.list_targets_by_rule(Rule=name, EventBusName=bus).get("Targets", [])
        pattern = text_as_json(found.get("EventPattern") or "{}", "an event pattern")
        return RuleFacts(
            name=name,
            is_enabled=found.get("State") == "ENABLED",
            understands=tuple(pattern.get("detail-type", ())),
            targets=tuple(str(target["Arn"]) for target in targets),
        )


def _actions(document: Mapping[str, Any]) -> Iterator[str]:
    statements = document.get("Statement", [])
    for statement in statements if isinstance(statements, list) else [statements]:
        if statement.get("Effect") == "Allow":
            actions = statement.get("Action", [])
            yield from [actions] if isinstance(actions, str) else actions


def _trusted(document: Mapping[str, Any]) -> Iterator[str]:
    statements = document.get("Statement", [])
    for statement in statements if isinstance(statements, list) else [statements]:
        actions = statement.get("Action", [])
        if statement.get("Effect") != "Allow" or not {"sts:AssumeRole", "sts:*", "*"} & set(
            [actions] if isinstance(actions, str) else actions
        ):
            continue
        principal = statement.get("Principal", {})
        named = principal if isinstance(principal, str) else principal.get("AWS", [])
        yield from [named] if isinstance(named, str) else named
