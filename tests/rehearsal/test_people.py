"""People act by what they see in Slack: a button that is there, or a command."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.rehearsal import rehearse
from sandbox.scenario import load

APPROVE = """
version: 1
name: a person is asked
minutes: 70
settings: {Mode: approve}
functions:
  - name: hog
    trigger: {type: eventbridge}
    duration_ms: 45000
    async: {on_failure: true}
    demand: [[0, 20], [15, 2000], [30, 20]]
  - {name: "victim-{i:02d}", count: 12, trigger: {type: msk, partitions: 3}, duration_ms: 900, demand: [[0, 3]]}
people:
"""


@pytest.fixture
def play(tmp_path: Path) -> Any:
    def played(people: str, more: str = "") -> dict[str, Any]:
        file = tmp_path / "scenario.yaml"
        file.write_text(APPROVE + people + more, encoding="utf-8")
        return rehearse(load(file))

    return played


def test_an_operators_yes_lets_it_act_in_the_minute_of_the_click(play: Any) -> None:
    outcome = play("  - {when: approval-requested, after_minutes: 3, do: approve, user: U0OPS}\n")
    (incident,) = outcome["incidents"]
    asked = next(moment["minute"] for moment in incident["timeline"] if moment["event"] == "approval.requested")
    (deed,) = outcome["people"]
    assert (deed["minute"], deed["did"]) == (asked + 3, f"approve {incident['id']}")
    assert deed["answer"].startswith("200")
    assert incident["acted_minute"] == asked + 3
    assert incident["approved_by"] == "U0OPS"


def test_a_stranger_cannot_approve(play: Any) -> None:
    outcome = play("  - {when: approval-requested, after_minutes: 1, do: approve, user: U0OTHER}\n")
    assert outcome["mutations"] == []
    assert outcome["errors"] == []


def test_a_no_is_recorded_and_nothing_is_changed(play: Any) -> None:
    outcome = play("  - {when: approval-requested, after_minutes: 1, do: reject, user: U0OPS}\n")
    assert outcome["mutations"] == []
    assert outcome["incidents"][0]["status"] == "rejected"


def test_who_acts_on_what_happened_does_so_once_for_each_incident(play: Any) -> None:
    outcome = play(
        "  - {when: approval-requested, after_minutes: 0, do: approve, user: U0OPS}\n"
        "  - {when: acted, after_minutes: 1, say: /unthrottle status, user: U0OPS}\n"
        "  - {when: recovered, after_minutes: 4, do: revert, user: U0OPS}\n"
    )
    incident = outcome["incidents"][0]
    deeds = [deed for deed in outcome["people"] if deed["incident"] == incident["id"]]
    assert [deed["did"].split()[0] for deed in deeds] == ["approve", "/unthrottle", "revert"]
    assert [deed["minute"] - incident["acted_minute"] for deed in deeds[:2]] == [0, 1]
    assert incident["status"] == "reverted"
    assert incident["reverted_minute"] == deeds[2]["minute"] == incident["recovered_minute"] + 4


def test_a_button_that_is_not_there_cannot_be_pressed(play: Any) -> None:
    outcome = play("  - {at: 2, do: approve, user: U0OPS}\n")
    assert outcome["people"] == [
        {
            "minute": 2,
            "user": "U0OPS",
            "did": "approve",
            "incident": None,
            "answer": "there was no open incident",
        }
    ]


def test_while_slack_is_down_nothing_people_do_reaches_the_bot(play: Any) -> None:
    outcome = play(
        "  - {at: 5, say: /unthrottle status, user: U0OPS}\n", "slack: {steps: [[0, up], [4, down], [9, up]]}\n"
    )
    assert outcome["people"][0]["answer"] == "Slack is down: it did not reach the bot"


def test_clicks_are_signed_at_the_simulated_time(play: Any) -> None:
    """A signature older than five minutes is refused; the bot's clock and the people's are the same."""
    outcome = play("  - {at: 60, say: /unthrottle help, user: U0OPS}\n")
    assert outcome["people"][0]["answer"].startswith("200")
