"""`/unthrottle audit` starts the audit function, by the rights that the template gives the front door."""

from typing import Any, Literal

import pytest

from sandbox.rehearsal import rehearse
from sandbox.rehearsal.rehearse import Rehearsal
from sandbox.scenario import Scenario


def _scenario(user: str = "U0OPS") -> Scenario:
    table = {
        "name": "dagy-runs-develop",
        "billing": "provisioned",
        "read": 100,
        "write": 50,
        "contributor_insights": "accessed-and-throttled",
        "demand": {"write": [[0, 20]], "read": [[0, 40]]},
    }
    return Scenario.model_validate(
        {
            "version": 1,
            "name": "a look on demand",
            "minutes": 6,
            "settings": {"Viewers": "U0VIEW"},
            "functions": [{"name": "open-ended", "trigger": {"type": "eventbridge"}, "duration_ms": 45000}],
            "tables": [table],
            "people": [{"at": 2, "say": "/unthrottle audit", "user": user}],
        }
    )


@pytest.mark.parametrize("engine", ["simulated", "durable"])
def test_an_audit_that_a_person_asks_for_runs_in_that_minute_and_tells_the_channel(
    engine: Literal["simulated", "durable"],
) -> None:
    outcome = rehearse(_scenario(), engine=engine)
    assert outcome["errors"] == []
    (deed,) = outcome["people"]
    assert "The audit has been started." in deed["answer"]
    told = [message for message in outcome["slack"] if message["method"] == "chat.postMessage"]
    assert [message["minute"] for message in told] == [2]
    assert told[0]["text"].startswith("*Unthrottle audit of ")
    assert "dagy-runs-develop" in told[0]["text"]
    assert outcome["mutations"] == []


def test_it_is_asked_for_once_and_by_that_functions_name() -> None:
    seen: list[Any] = []

    def watch(rehearsal: Rehearsal, _facts: object) -> None:
        seen[:] = [call for call in rehearsal.gate.calls if call.call == "lambda.Invoke" and call.role == "slack"]

    rehearse(_scenario(), watch=watch)
    (call,) = seen
    assert (call.parameters["FunctionName"], call.parameters["InvocationType"], call.result) == (
        "unthrottle-AuditFunction",
        "Event",
        "ok",
    )


def test_who_may_not_look_starts_none() -> None:
    outcome = rehearse(_scenario("U0OTHER"))
    assert [one["method"] for one in outcome["slack"]] == []
    assert "lambda.Invoke" not in outcome["aws_calls"]
