"""Snooze, where a person was paged: nobody is paged until then, later alarms join, and it pages again if it still goes on."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from sandbox.rehearsal import rehearse
from sandbox.scenario import load
from tests.report.samples import applied, pool_hog
from tests.slack.test_door import NOW, PEOPLE, House
from unthrottle.answers import Answer
from unthrottle.incident import Incident, Outcome, Question

HOT = """
version: 1
name: a hot key that a person was paged for is snoozed
minutes: {minutes}
settings: {{Mode: auto}}
tables:
  - name: dagy-runs-develop
    billing: on-demand
    keys: 40
    hot_key_share: 0.8
    demand: {{write: [[0, 20], [10, 2500], [{ends}, 20]]}}
people:
  - {{at: 20, say: "/unthrottle snooze {{incident}} 20m", user: U0OPS}}
"""
IN_VAIN = """
version: 1
name: a switch that did not help is snoozed
minutes: 120
settings: {Mode: auto}
tables:
  - name: dagy-runs-develop
    billing: provisioned
    read: 100
    write: 50
    keys: 1000
    max_on_demand: {write: 200}
    demand: {write: [[0, 20], [10, 900]]}
people:
  - {at: 91, say: "/unthrottle snooze {incident} 20m", user: U0OPS}
"""


STILL_HOT = HOT.format(minutes=168, ends=1000)


@cache
def play(text: str, engine: Any = "simulated") -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(text, encoding="utf-8")
        return rehearse(load(file), engine=engine)


def story(outcome: dict[str, Any], *events: str) -> list[tuple[int, str]]:
    told = [(moment["minute"], moment["event"]) for moment in outcome["incidents"][0]["timeline"]]
    return [(minute, event) for minute, event in told if event in events]


def lines(outcome: dict[str, Any], word: str) -> list[dict[str, Any]]:
    return [call for call in outcome["slack"] if call["thread_ts"] and word in call["text"]]


def test_nobody_is_paged_until_then_and_a_person_is_paged_again_if_it_goes_on() -> None:
    outcome = play(STILL_HOT)
    (incident,) = outcome["incidents"]
    assert incident["cause"] == "hot-key"
    first, snoozed, again = story(outcome, "incident.escalated", "incident.snoozed")
    assert (snoozed[1], again[1]) == ("incident.snoozed", "incident.escalated")
    assert snoozed[0] <= 25
    assert again[0] == 40
    assert [page["minute"] for page in outcome["escalations"]] == [first[0], 40]
    assert "The snooze has ended, and it goes on" in outcome["escalations"][1]["text"]
    (said,) = lines(outcome, "snoozed by <@U0OPS>")
    assert "until 04:40 UTC: later alarms of it join here and nobody is paged" in said["text"]
    (reminded,) = lines(outcome, "the snooze has ended and it goes on")
    assert (reminded["minute"], reminded["broadcast"]) == (40, True)
    (closed,) = lines(outcome, "was watched to the end and is not over")
    assert closed["minute"] == incident["closed_minute"] == 160
    assert outcome["mutations"] == []
    assert outcome["errors"] == []


def test_what_ends_meanwhile_pages_nobody() -> None:
    outcome = play(HOT.format(minutes=60, ends=26))
    assert len(outcome["escalations"]) == 1
    assert lines(outcome, "resolved itself")
    assert outcome["incidents"][0]["closed_minute"] < 40


def test_a_change_that_did_not_help_is_snoozed_until_then_and_its_lease_ends_as_before() -> None:
    outcome = play(IN_VAIN)
    (incident,) = outcome["incidents"]
    assert (incident["status"], incident["outcome"]) == ("applied", "not-recovered")
    assert story(outcome, "incident.snoozed", "incident.reminded") == [
        (91, "incident.snoozed"),
        (111, "incident.reminded"),
    ]
    pages = [page["minute"] for page in outcome["escalations"]]
    assert pages[-1] == 111
    assert not [minute for minute in pages if 91 <= minute < 111]
    heads = [call for call in outcome["slack"] if call["method"] == "chat.update"]
    leases = {call["text"].partition("iven back at")[2] for call in heads if call["minute"] >= 91}
    assert len(leases) == 1
    assert outcome["errors"] == []


@pytest.mark.parametrize("text", [STILL_HOT, IN_VAIN], ids=["paged", "held in vain"])
def test_both_engines_tell_the_same_story_of_a_snooze(text: str) -> None:
    simulated, durable = play(text), play(text, "durable")
    for part in ("incidents", "mutations", "escalations", "slack", "errors"):
        assert durable[part] == simulated[part], part


def paged() -> Incident:
    return replace(pool_hog(), escalated=True)


def held(outcome: Outcome) -> Incident:
    asked = Question(about="lease", callback="cb", version=9, expires_at=NOW)
    return replace(applied(pool_hog()), outcome=outcome, question=asked)


def typed(house: House, more: str = "") -> str:
    return house.ask(PEOPLE.say("U0OPS", f"/unthrottle snooze {house.incident.id}{more}", NOW))[1]


def test_a_snooze_of_what_a_person_was_paged_for_is_left_for_the_workflow() -> None:
    house = House(incident=paged())
    assert typed(house, " 30m").startswith("Taken: snooze")
    wish = house.incidents.open_incidents()[0].wish
    assert wish is not None
    assert (wish.do, wish.by) == ("snooze", "U0OPS")
    assert wish.until is not None
    assert (wish.until - NOW).total_seconds() == 30 * 60


def test_a_snooze_of_a_change_that_did_not_help_answers_its_question() -> None:
    house = House(incident=held(Outcome.NOT_RECOVERED))
    assert typed(house, " 2h").startswith("Taken: snooze")
    assert house.workflows.answers == [Answer(do="snooze", by="U0OPS", minutes=120)]


@pytest.mark.parametrize(
    ("incident", "more", "why"),
    [
        pytest.param(held(Outcome.RECOVERED), "", "it has recovered, and nobody is reminded", id="recovered"),
        pytest.param(pool_hog(), "", "is not waiting for that now", id="nobody was paged"),
        pytest.param(replace(paged(), closed_at=NOW), "", "is not waiting for that now", id="closed"),
        pytest.param(paged(), " 9h", "The longest snooze is 8h.", id="too long"),
    ],
)
def test_where_nobody_would_be_reminded_nothing_is_snoozed(incident: Incident, more: str, why: str) -> None:
    house = House(incident=incident)
    answer = typed(house, more)
    assert why in answer
    assert answer.endswith("Nothing was changed.")
    assert house.workflows.answers == []
