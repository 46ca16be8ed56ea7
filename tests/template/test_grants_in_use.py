"""Every right the template grants is needed by an incident that is played here, or says why it is there nevertheless."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.aws.calls import Answer, Request, Respond
from sandbox.aws.iam import PolicyGate
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.rehearse import Rehearsal
from sandbox.scenario import load
from tests.template.rehearsed import SCENARIOS, document

WRITES_LOGS = "Lambda itself writes the function's log with it (AWS's managed policy)"
KEEPS_FAILURES = "Lambda itself puts there what the function failed to handle"
EXPLAINED: dict[tuple[str, str], str] = {
    ("logs:CreateLogGroup", "*"): WRITES_LOGS,
    ("logs:CreateLogStream", "*"): WRITES_LOGS,
    ("logs:PutLogEvents", "*"): WRITES_LOGS,
    ("sqs:SendMessage", "*"): KEEPS_FAILURES,
    (
        "kms:Decrypt",
        "*",
    ): "the secret, or the topic, is under a customer key: Secrets Manager and SNS use it for the caller",
    ("kms:GenerateDataKey", "*"): "the topic is under a customer key",
    ("dynamodb:DescribeBulkOperation", "observer"): "a bulk operation began when the writes of a table jumped",
    ("cloudtrail:LookupEvents", "observer"): "a table was switched to on-demand within the day before",
    ("cloudwatch:GetInsightRuleReport", "observer"): "Contributor Insights is enabled on a table with a hot key",
    ("dynamodb:ConditionCheckItem", "slack"): "two people, or a person and an alarm, ask at the same moment",
    ("dynamodb:ConditionCheckItem", "sweep"): "an alarm over two tables, of which one has an incident already",
    ("dynamodb:GetItem", "audit"): "the audit of a large account is kept in several items",
    ("lambda:GetDurableExecutionState", "respond"): "the SDK reads on when a history is longer than one answer",
}
"""Grants by action and role (* - any) that no incident needs."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[PolicyGate], list[dict[str, Any]]]:
    """Play every scenario with the real durable SDK; in the last minute of two of them the audit comes, too."""
    folder = tmp_path_factory.mktemp("scenarios")
    gates: list[PolicyGate] = []
    outcomes = []
    for number, name in enumerate(SCENARIOS):
        file = folder / f"{number}.yaml"
        file.write_text(json.dumps(document(name)))
        outcomes.append(_play(file, gates, with_audit=number in {0, 2}))
    return gates, outcomes


def _play(file: Path, gates: list[PolicyGate], *, with_audit: bool) -> dict[str, Any]:
    scenario = load(file)
    minutes = iter(range(scenario.minutes))

    def watch(rehearsal: Rehearsal, _facts: object) -> None:
        if next(minutes) == scenario.minutes - 1:
            gates.append(rehearsal.policies)
            if with_audit:
                rehearsal.gate.handlers.append(_lists_nothing)
                for _ in range(2):  # the second compares with the first
                    rehearsal._invoke("AuditFunction", {})

    return rehearse(scenario, engine="durable", watch=watch)


def _lists_nothing(request: Request) -> Answer | None:
    """Answer a list that only the audit reads, where nobody before has answered it."""
    if request.call == "dynamodb.ListContributorInsights":
        return Respond(parsed={"ContributorInsightsSummaries": []})
    return None


def test_nothing_that_is_needed_is_denied(played: tuple[list[PolicyGate], list[dict[str, Any]]]) -> None:
    gates, outcomes = played
    assert [(refusal.asked, refusal.by) for gate in gates for refusal in gate.refusals] == []
    for outcome in outcomes:
        assert [error for error in outcome["errors"] if "policies" in error["error"]] == []


def test_every_scenario_comes_as_far_as_it_is_meant_to(
    played: tuple[list[PolicyGate], list[dict[str, Any]]],
) -> None:
    """Or the rights would go unused without anybody noticing why."""
    told = {
        outcome["name"]: [
            (one["cause"], one["plan"]["action"] if one["plan"] else None) for one in outcome["incidents"]
        ]
        for outcome in played[1]
    }
    assert ("pool-hog", "cap-concurrency") in told[
        "a function is capped after approval, people ask, and it is given back"
    ]
    assert ("pool-hog", "cap-event-source") in told["an event source is slowed and given back"]
    assert ("provisioned-capacity", "raise-capacity") in told["a table and its autoscaling are raised and given back"]
    assert ("runaway-backfill", "cancel-backfill") in told["a backfill is cancelled"]
    assert ("hot-index", "escalate") in told["a hot index calls a person"]
    lost = next(one for one in played[1] if one["name"] == "the workflow is lost and the sweep gives back")
    assert [one["call"] for one in lost["mutations"]] == [
        "lambda.PutFunctionConcurrency",
        "lambda.DeleteFunctionConcurrency",
    ]
    assert {"opsitem", "sns"} == {page["via"] for page in lost["escalations"]}


def test_every_grant_is_used_or_explained(played: tuple[list[PolicyGate], list[dict[str, Any]]]) -> None:
    unused = set(_unused(played[0]))
    unexplained = {grant for grant in unused if not _reason(grant)}
    assert unexplained == set()


def test_no_explanation_is_left_over(played: tuple[list[PolicyGate], list[dict[str, Any]]]) -> None:
    explained = {key for key in EXPLAINED for grant in _unused(played[0]) if _speaks_of(key, grant)}
    assert explained == set(EXPLAINED)


def _unused(gates: list[PolicyGate]) -> Iterator[tuple[str, str, str]]:
    granted = {(name, *grant) for gate in gates for name, role in gate.roles.items() for grant in role.grants()}
    yield from sorted(granted - {use for gate in gates for use in gate.used})


def _reason(grant: tuple[str, str, str]) -> str | None:
    return next((reason for key, reason in EXPLAINED.items() if _speaks_of(key, grant)), None)


def _speaks_of(key: tuple[str, str], grant: tuple[str, str, str]) -> bool:
    role, _, action = grant
    return key[0] == action and key[1] in {"*", role}
