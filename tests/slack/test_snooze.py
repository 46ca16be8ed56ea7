"""Snooze puts an approval off: no reminder for an hour, nothing is changed, and the question stays open until after it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.rehearsal import rehearse
from sandbox.scenario import load
from tests.slack.test_door import NOW, PEOPLE, House
from unthrottle.answers import Answer
from unthrottle.incident import MOST_SNOOZES, Decision, Reason, Verdict

SCENARIO = """
version: 1
name: a person snoozes
minutes: 98
settings: {Mode: approve, ApprovalMinutes: 10}
functions:
  - name: hog
    trigger: {type: eventbridge}
    duration_ms: 45000
    async: {on_failure: true}
    demand: [[0, 20], [10, 2000]]
  - {name: "victim-{i:02d}", count: 3, trigger: {type: msk, partitions: 3}, duration_ms: 900, demand: [[0, 3]]}
people:
  - {at: 17, do: snooze, user: U0OPS}
"""


def play(folder: Path, more: str, engine: Any = "simulated") -> dict[str, Any]:
    file = folder / "scenario.yaml"
    file.write_text(SCENARIO + more, encoding="utf-8")
    return rehearse(load(file), engine=engine)


def story(outcome: dict[str, Any]) -> list[tuple[int, str]]:
    told = [(moment["minute"], moment["event"]) for moment in outcome["incidents"][0]["timeline"]]
    return [(minute, event) for minute, event in told if event.startswith("approval.")]


def test_nobody_is_reminded_for_an_hour_and_the_approval_expires_only_after_the_reminder(tmp_path: Path) -> None:
    outcome = play(tmp_path, "")
    assert story(outcome) == [
        (14, "approval.requested"),
        (17, "approval.snoozed"),
        (77, "approval.reminded"),
        (82, "approval.expired"),
    ]
    assert outcome["mutations"] == []
    said = [call["text"] for call in outcome["slack"] if call["minute"] == 17 and call["method"] == "chat.postMessage"]
    assert len(said) == 1
    assert "reminds again in an hour; the approval stays open until 05:22 UTC" in said[0]
    assert said[0].count("<@U0OPS>") == 1


def test_a_yes_while_it_is_snoozed_is_a_yes(tmp_path: Path) -> None:
    outcome = play(tmp_path, "  - {at: 40, do: approve, user: U0OPS}\n")
    assert outcome["incidents"][0]["acted_minute"] == 40
    assert outcome["errors"] == []


@pytest.mark.parametrize("deed", ["snooze", "reject"])
def test_both_engines_tell_the_same_story_of_it(tmp_path: Path, deed: str) -> None:
    more = f"  - {{at: 78, do: {deed}, user: U0OPS}}\n"
    simulated, durable = play(tmp_path, more), play(tmp_path, more, "durable")
    for outcome in (simulated, durable):
        outcome["aws_calls"].pop("lambda.CheckpointDurableExecution", None)
    assert durable == simulated
    assert story(durable)[-1] == (78, {"snooze": "approval.snoozed", "reject": "approval.rejected"}[deed])


def snooze(house: House, user: str = "U0OPS") -> str:
    status, text = house.ask(PEOPLE.click(user, "snooze", house.value, NOW, message_ts="1.0"))
    assert status == 200
    return text


def test_an_operators_snooze_reaches_the_workflow_and_a_strangers_does_not() -> None:
    house = House()
    assert snooze(house, "U0STRANGER") == "Only operators may decide this. Nothing was changed."
    assert snooze(house) == ""
    assert house.workflows.answers == [Answer(do="snooze", by="U0OPS")]


def test_a_typed_snooze_does_the_same_and_says_so() -> None:
    house = House()
    _, text = house.ask(PEOPLE.say("U0OPS", f"/unthrottle snooze {house.incident.id.lower()}", NOW))
    assert text == f"Taken: snooze {house.incident.id}. Its thread says when it is done."
    assert house.workflows.answers == [Answer(do="snooze", by="U0OPS")]


def test_what_does_not_wait_for_an_approval_cannot_be_snoozed() -> None:
    house = House()
    house = House(incident=replace(house.incident, question=None))
    _, text = house.ask(PEOPLE.say("U0OPS", f"/unthrottle snooze {house.incident.id}", NOW))
    assert "is not waiting for that now" in text
    assert house.workflows.answers == []


def test_after_a_working_day_of_snoozes_a_person_has_to_decide() -> None:
    incident = House().incident
    for _ in range(MOST_SNOOZES):
        incident = incident.told(NOW, "approval.snoozed", "by U0OPS")
    house = House(incident=incident)
    assert "was snoozed 8 times already, and now needs a yes or a no. Nothing was changed." in snooze(house)
    assert house.workflows.answers == []


def test_an_early_warning_is_not_snoozed_since_it_is_looked_at_again_every_few_minutes() -> None:
    asked = Verdict(decision=Decision.NEEDS_APPROVAL, reasons=(Reason(guardrail="before-throttling", text="Early."),))
    house = House(incident=replace(House().incident, early_warning=True, verdict=asked))
    assert "it is an early warning, which is looked at again every few minutes. Nothing was changed." in snooze(house)
    assert house.workflows.answers == []
