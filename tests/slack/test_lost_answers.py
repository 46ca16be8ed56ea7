"""Slack took the message, and its answer was lost: every step is told, and a copy is known by its number."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sandbox.model.world import TickFacts
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.rehearse import Rehearsal
from sandbox.scenario import load
from sandbox.slack.server import Failure

SCENARIO = """
version: 1
name: answers of Slack are lost
minutes: 26
settings: {Mode: auto}
functions:
  - name: hog
    trigger: {type: eventbridge}
    duration_ms: 45000
    async: {on_failure: true}
    demand: [[0, 20], [10, 2000], [25, 20]]
  - {name: "victim-{i:02d}", count: 3, trigger: {type: msk, partitions: 3}, duration_ms: 900, demand: [[0, 3]]}
"""
LOST = Failure(kind="lost")
MANY = 99
WHEN = re.compile(r" (\(delivered late [^)]*\) |\d\d:\d\d (?=recovered))")
NUMBER = re.compile(r"^#(\d+) ")
STEPS = 6
"""What this incident tells: opened, diagnosed, acting, applied, recovered, and the lease that begins."""


def play(folder: Path, method: str, *, lost: int, after_the_head: bool, engine: Any) -> dict[str, Any]:
    """Play with some answers of a method lost: the first ones, or those after the head of the incident is there."""
    file = folder / "scenario.yaml"
    file.write_text(SCENARIO, encoding="utf-8")
    waiting = [LOST] * lost

    def lose(rehearsal: Rehearsal, _facts: TickFacts) -> None:
        if not after_the_head or rehearsal.slack.messages:
            rehearsal.slack.fail(method, *waiting)
            waiting.clear()

    outcome = rehearse(load(file), engine=engine, watch=lose)
    assert not waiting
    return outcome


def numbers(texts: list[str]) -> Counter[int]:
    return Counter(int(found[1]) for text in texts if (found := NUMBER.match(text)))


def _reports_of(pages: list[dict[str, Any]]) -> list[str]:
    """Return the reports that were paged, each from its number on."""
    return [page["text"][page["text"].index("#") :] for page in pages if "#" in page["text"]]


@pytest.mark.parametrize("engine", ["simulated", "durable"])
@pytest.mark.parametrize(
    ("method", "lost", "after_the_head"),
    [
        pytest.param("chat.postMessage", 1, False, id="of the head"),
        pytest.param("chat.postMessage", 1, True, id="of a line"),
        pytest.param("chat.postMessage", 2, True, id="of a line, twice"),
        pytest.param("chat.update", 1, False, id="of an update"),
        pytest.param("chat.postMessage", MANY, True, id="of every line from some moment on"),
    ],
)
def test_no_step_is_unreported_and_a_copy_bears_the_number_of_the_first(
    tmp_path: Path, engine: str, method: str, lost: int, after_the_head: bool
) -> None:
    """Only a report whose every try was unanswered is paged too; whatever is there twice says the same under one number."""
    outcome = play(tmp_path, method, lost=lost, after_the_head=after_the_head, engine=engine)
    (incident,) = outcome["incidents"]
    posted = [call for call in outcome["slack"] if call["method"] == "chat.postMessage"]
    lines = [call["text"] for call in posted if call["thread_ts"]]
    heads = [call["text"] for call in posted if not call["thread_ts"]]
    told, paged = numbers(lines), numbers(_reports_of(outcome["escalations"]))
    assert sorted(told | paged) == list(range(1, STEPS + 1))
    assert len({WHEN.sub(" ", text) for text in lines}) == len(told)
    assert len(set(heads)) == 1
    assert all(incident["id"] in text for text in (*lines, *heads))
    assert bool(paged) is (lost == MANY)
    assert incident["outcome"] == "recovered"
    assert outcome["errors"] == []


def test_a_head_whose_answer_was_lost_is_posted_again_and_says_that_it_is_the_one_that_counts(tmp_path: Path) -> None:
    """Slack has no key for a repeated post, and the app may not read the channel: the copy stays, and is told apart."""
    outcome = play(tmp_path, "chat.postMessage", lost=1, after_the_head=False, engine="durable")
    first, second = [
        call for call in outcome["slack"] if not call["thread_ts"] and call["method"] == "chat.postMessage"
    ]
    assert "the one that counts" not in str(first["blocks"])
    counts = "Copy 2, the one that counts: one above without a thread is not kept current."
    assert counts in str(second["blocks"])
    updated = [call for call in outcome["slack"] if call["method"] == "chat.update"]
    assert {call["ts"] for call in updated} == {second["ts"]}
    assert all(counts in str(call["blocks"]) for call in updated)
    assert {call["thread_ts"] for call in outcome["slack"] if call["thread_ts"]} == {second["ts"]}
