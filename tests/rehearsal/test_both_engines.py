"""The same scenario gives the same record through the durable SDK and through simulated time, also when things go wrong."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.rehearsal import rehearse
from sandbox.scenario import load

SCENARIO = """
version: 1
name: one function takes the pool
minutes: 45
functions:
  - name: hog
    trigger: {type: eventbridge}
    duration_ms: 45000
    async: {on_failure: true}
    demand: [[0, 20], [15, 2000], [25, 20]]
  - {name: "victim-{i:02d}", count: 12, trigger: {type: msk, partitions: 3}, duration_ms: 900, demand: [[0, 3]]}
"""

AUTO = "settings: {Mode: auto}\n"
ASKED = """settings: {Mode: approve}
people:
  - {when: approval-requested, after_minutes: 3, do: approve, user: U0OPS}
  - {when: recovered, after_minutes: 2, do: revert, user: U0OPS}
"""
NOBODY_ANSWERS = "settings: {Mode: approve, ApprovalMinutes: 6}\n"
DIES = AUTO + "faults: [{call: lambda.PutFunctionConcurrency, nth: 1, error: crash-after}]\n"
BUSY = AUTO + "faults: [{call: lambda.PutFunctionConcurrency, nth: 1, error: TooManyRequestsException}]\n"
LOST = AUTO + "faults: [{call: lambda.PutFunctionConcurrency, nth: 1, error: timeout-after}]\n"
REFUSED = AUTO + "faults: [{call: lambda.PutFunctionConcurrency, nth: 1, error: ResourceConflictException}]\n"


def play(folder: Path, more: str, engine: Any) -> dict[str, Any]:
    file = folder / "scenario.yaml"
    file.write_text(SCENARIO + more, encoding="utf-8")
    return rehearse(load(file), engine=engine)


@pytest.mark.parametrize(
    "more",
    [ASKED, NOBODY_ANSWERS, DIES, BUSY, LOST, REFUSED, AUTO + "slack: 429\n"],
    ids=["a person says yes", "nobody answers", "dies", "busy", "answer lost", "refused", "Slack is busy"],
)
def test_both_engines_tell_the_same_story(tmp_path: Path, more: str) -> None:
    simulated, durable = play(tmp_path, more, "simulated"), play(tmp_path, more, "durable")
    assert durable["incidents"]
    for outcome in (simulated, durable):
        outcome["aws_calls"].pop("lambda.CheckpointDurableExecution", None)
    assert durable == simulated


def test_a_checkpoint_that_gets_no_answer_is_sent_again(tmp_path: Path) -> None:
    lost = AUTO + "faults: [{call: lambda.CheckpointDurableExecution, nth: 3, error: timeout-after}]\n"
    outcome, calm = play(tmp_path, lost, "durable"), play(tmp_path, AUTO, "durable")
    assert outcome["incidents"] == calm["incidents"]
    assert outcome["mutations"] == calm["mutations"]


@pytest.mark.parametrize("error", ["crash-before", "crash-after"])
def test_a_process_that_dies_while_it_writes_down_a_step_goes_on_and_changes_nothing_twice(
    tmp_path: Path, error: str
) -> None:
    """The moments between two steps: the step is done, and the service knows of it (after) or does not (before)."""
    calm = play(tmp_path, AUTO, "durable")
    for nth in (4, 9):
        crash = f"faults: [{{call: lambda.CheckpointDurableExecution, nth: {nth}, error: {error}}}]\n"
        outcome = play(tmp_path, AUTO + crash, "durable")
        assert outcome["mutations"] == calm["mutations"]
        assert [one["status"] for one in outcome["incidents"]] == [one["status"] for one in calm["incidents"]]
        assert outcome["errors"] == []
