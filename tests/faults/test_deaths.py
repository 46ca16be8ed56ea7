"""A process that dies at one call for ever: the sweep gives back, tells, and nothing is changed again behind its back."""

from functools import cache

import pytest

from sandbox.faults.cases import Case, Engine, cases
from sandbox.faults.play import Undisturbed, play, undisturbed
from sandbox.scenario.format import ALWAYS

DURABLE = "lambda.CheckpointDurableExecution"


@cache
def plain(scene: str, engine: Engine) -> Undisturbed:
    return undisturbed(scene, engine)


def died(
    scene: str, call: str, error: str, *, nth: int = 1, times: int = ALWAYS, engine: Engine = "simulated"
) -> tuple[str, ...]:
    case = Case(scene=scene, call=call, kind="process dies after", error=error, nth=nth, times=times, engine=engine)
    result = play(case, plain(scene, engine))
    assert result.violations == (), case
    return result.ending


@pytest.mark.parametrize(
    ("scene", "call", "ending"),
    [
        # The step is never written down, so each new process makes the change again: after the sweep gave it back, too,
        # unless it looks first whether its incident is still open.
        ("cap", "lambda.PutFunctionConcurrency", "reverted/none"),
        ("backfill", "dagy.POST", "failed/none"),
    ],
)
def test_a_workflow_that_only_ever_dies_is_buried_and_does_not_act_from_its_grave(
    scene: str, call: str, ending: str
) -> None:
    assert died(scene, call, "crash-after") == (ending,)


def test_where_even_the_sweep_dies_its_own_alarm_calls_a_person() -> None:
    """`violated` takes nothing for told but a message, a page, or the alarm on the sweep's errors."""
    after_acting = plain("cap", "simulated").called.before_acting.get("dynamodb.UpdateItem", 0) + 1
    died("cap", "dynamodb.UpdateItem", "crash-before", nth=after_acting)


def test_with_the_durable_sdk_a_process_may_die_between_two_steps() -> None:
    assert died("cap", DURABLE, "crash-after", nth=9, times=1, engine="durable") == ("reverted/recovered",)


def test_a_durable_service_that_ends_the_execution_leaves_the_rest_to_the_sweep() -> None:
    assert died("caps", DURABLE, "LimitExceededException", nth=16, times=12, engine="durable")


def test_both_engines_are_swept_and_calls_of_the_service_are_broken_too() -> None:
    every = cases("cap", plain("cap", "durable").called, seed=1, engine="durable")
    assert {case.kind for case in every if case.call == DURABLE} >= {
        "process dies before",
        "process dies after",
        "limit",
    }
    assert any(case.dies_for_good for case in every)
    assert all("(durable)" in str(case) for case in every)
