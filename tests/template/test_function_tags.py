"""The templates' Observer is shown the tags of functions; where it is not, no function counts as one without tags.

AWS: Lambda API, GetFunctionResponse: tags come only to who may lambda:ListTags; the call works for others, with TagsError.
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.calls import Request, Respond
from sandbox.aws.iam import MemberSide, PolicyGate, Role
from sandbox.aws.lambda_api import LambdaApi
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.rehearse import Rehearsal
from sandbox.scenario import Scenario
from tests.template.resolved import EVERYTHING, HUB, MEMBER, REGION, hub, member
from unthrottle.adapters.functions import function_settings
from unthrottle.errors import NotAllowed

PROTECTED = {"unthrottle:protected": "true"}
TAGS = "lambda:ListTags"


def _blind(role: Role) -> Role:
    """The same role without the right to see tags."""
    statements = tuple(replace(one, actions=tuple(a for a in one.actions if a != TAGS)) for one in role.statements)
    return replace(role, statements=statements)


def _get_function(account: str, role: str = "observer") -> Request:
    return Request(
        service="lambda",
        operation="GetFunction",
        parameters={"FunctionName": "payments"},
        now=datetime(2026, 8, 24, 9, tzinfo=UTC),
        region=REGION,
        access_key="ASIA",
        account=account,
        role=role,
        session_name="INC-7",
    )


def _asked(observer: Role, other: Role, account: str) -> Any:
    """What Lambda answers to the Observer of the hub or of the member."""
    places = {one: EmbeddedAccount(account_id=one, region=REGION) for one in (HUB, MEMBER)}
    for place in places.values():
        place.add_function("payments", tags=PROTECTED)
    gate = PolicyGate(
        {"observer": observer},
        places[HUB],
        durable_function_arn=hub().functions["RespondFunction"].arn,
        members=[MemberSide(account=places[MEMBER], roles={"observer": other})],
    )
    places[account].hides_tags = gate.hides_tags
    assert gate.handle(_get_function(account)) is None
    answer = LambdaApi(places[account]).handle(_get_function(account))
    assert isinstance(answer, Respond)
    return answer.parsed


@pytest.mark.parametrize("account", [HUB, MEMBER], ids=["template.yaml", "member.yaml"])
def test_the_observer_of_both_templates_sees_the_tags_of_functions(account: str) -> None:
    ours, theirs = hub(**EVERYTHING).roles["ObserverRole"], member(Mode="auto").roles["ObserverRole"]
    answer = _asked(ours, theirs, account)
    assert function_settings(answer, "payments").tags == PROTECTED


@pytest.mark.parametrize("account", [HUB, MEMBER], ids=["template.yaml", "member.yaml"])
def test_without_the_right_lambda_hides_them_and_says_so(account: str) -> None:
    ours, theirs = hub(**EVERYTHING).roles["ObserverRole"], member(Mode="auto").roles["ObserverRole"]
    answer = _asked(_blind(ours), _blind(theirs), account)
    assert "Tags" not in answer
    assert answer["TagsError"]["ErrorCode"] == "AccessDeniedException"
    with pytest.raises(NotAllowed, match=r"Could not read the tags of function payments.*Allow lambda:ListTags"):
        function_settings(answer, "payments")


def _played(*, blind: bool, tags: dict[str, str]) -> dict[str, Any]:
    """A function takes the pool, mode auto. *blind*: its tags are hidden."""
    hog = {
        "name": "svc-hog",
        "trigger": {"type": "eventbridge"},
        "duration_ms": 45000,
        "demand": [[0, 20], [5, 2000]],
        "tags": tags,
    }
    pipes = {
        "name": "svc-pipe-{i:02d}",
        "count": 4,
        "trigger": {"type": "msk", "partitions": 3},
        "duration_ms": 900,
        "demand": [[0, 3]],
    }
    scenario = Scenario.model_validate(
        {"version": 1, "name": "tags", "minutes": 20, "settings": {"Mode": "auto"}, "functions": [hog, pipes]}
    )

    def watch(rehearsal: Rehearsal, _facts: object) -> None:
        if blind:
            rehearsal.policies.roles["observer"] = _blind(rehearsal.policies.roles["observer"])

    outcome: dict[str, Any] = rehearse(scenario, watch=watch)
    return outcome


def test_a_protected_function_is_left_alone_and_said_to_be_protected() -> None:
    outcome = _played(blind=False, tags=PROTECTED)
    assert outcome["mutations"] == []
    assert "protected" in outcome["incidents"][0]["reasons"]


@pytest.mark.parametrize("tags", [PROTECTED, {}], ids=["protected", "without tags"])
def test_functions_whose_tags_are_hidden_are_left_alone_and_a_person_is_told_what_to_allow(
    tags: dict[str, str],
) -> None:
    outcome = _played(blind=True, tags=tags)
    assert outcome["mutations"] == []
    (incident,) = outcome["incidents"]
    assert (incident["cause"], incident["escalated"]) == ("inconclusive", True)
    told = " ".join(page["text"] for page in outcome["escalations"])
    assert "Allow lambda:ListTags" in told + " ".join(
        message["text"] + str(message["blocks"]) for message in outcome["slack"]
    )
