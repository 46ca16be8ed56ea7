"""What the fault sweep found once, and a handful of breaks of every kind, end as promised on the real path."""

from functools import cache

import pytest

from sandbox.faults.cases import AGAIN_AND_AGAIN, AWS, FOR_A_WHILE, HTTP, Called, Case, cases, kinds_of, sampled
from sandbox.faults.play import Undisturbed, play, scenes, undisturbed
from sandbox.scenario.format import ALWAYS


@cache
def plain(scene: str) -> Undisturbed:
    return undisturbed(scene)


def broken(scene: str, call: str, error: str, *, times: int = 1, after_acting: bool = False) -> tuple[str, ...]:
    """Play one case; give back how its incidents ended, after checking that no promise was broken."""
    nth = plain(scene).called.before_acting.get(call, 0) + 1 if after_acting else 1
    case = Case(scene=scene, call=call, kind="", error=error, nth=nth, times=times)
    result = play(case, plain(scene))
    assert result.violations == (), case
    return result.ending


def test_an_undisturbed_scene_keeps_every_promise() -> None:
    assert plain("cap").violations == ()
    assert plain("cap").called.total["lambda.PutFunctionConcurrency"] == 1


@pytest.mark.parametrize(
    ("call", "error", "times", "ending"),
    [
        # The answers to the role's credentials are XML: a parser's error is no error of botocore's own kind.
        ("sts.AssumeRole", "malformed", 1, "reverted/recovered"),
        ("lambda.PutFunctionConcurrency", "crash-after", 1, "reverted/recovered"),
        ("lambda.PutFunctionConcurrency", "crash-before", AGAIN_AND_AGAIN, "reverted/recovered"),
        ("lambda.PutFunctionConcurrency", "timeout-after", ALWAYS, "reverted/recovered"),
        ("lambda.PutFunctionConcurrency", "AccessDeniedException", ALWAYS, "failed/none"),
        ("slack.chat.postMessage", "crash-after", 1, "reverted/recovered"),
        ("slack.chat.postMessage", "malformed", ALWAYS, "reverted/recovered"),
    ],
)
def test_one_break_before_or_at_the_change(call: str, error: str, times: int, ending: str) -> None:
    assert broken("cap", call, error, times=times) == (ending,)


@pytest.mark.parametrize("error", ["malformed", "AccessDeniedException", "ThrottlingException"])
def test_a_slack_secret_that_cannot_be_read_does_not_stop_the_healing(error: str) -> None:
    """It is as good as a token that Slack does not take: reports go another way, the change is given back."""
    assert broken("cap", "secretsmanager.GetSecretValue", error, times=ALWAYS) == ("reverted/recovered",)


def test_a_change_whose_record_fails_for_a_while_is_found_again_and_held() -> None:
    """The change was made and writing that down failed: it is in force, so it is not closed as failed."""
    (ending,) = broken("cap", "dynamodb.UpdateItem", "ServiceUnavailable", times=FOR_A_WHILE, after_acting=True)
    assert ending.startswith(("applied/", "reverted/"))


def test_a_change_after_which_nothing_can_be_written_is_told_by_a_page() -> None:
    broken("cap", "dynamodb.UpdateItem", "AccessDeniedException", times=ALWAYS, after_acting=True)


@pytest.mark.parametrize(("error", "times"), [("crash-after", 1), ("timeout-after", 1), ("503", ALWAYS)])
def test_a_cancel_that_breaks_is_settled_or_told(error: str, times: int) -> None:
    broken("backfill", "dagy.POST", error, times=times)


def test_a_dry_run_in_which_anything_breaks_changes_nothing() -> None:
    assert broken("dry-run", "cloudwatch.GetMetricData", "truncated") == ("would-apply/none",)


def test_every_call_is_broken_once_in_every_way_and_in_some_for_good() -> None:
    called = Called(
        total={"lambda.Invoke": 3, "slack.chat.update": 9, "dagy.GET": 1}, before_acting={"lambda.Invoke": 1}
    )
    every = cases("cap", called, seed=1)
    for call in called.total:
        once = {case.kind for case in every if case.call == call and case.times == 1}
        assert once == set(kinds_of(call))
        assert sum(case.call == call and case.times > 1 for case in every) >= 6
        assert all(1 <= case.nth <= called.total[call] for case in every if case.call == call and case.times == 1)
    assert every == cases("cap", called, seed=1)
    assert set(HTTP) == set(AWS)


def test_a_drawn_sweep_has_every_kind_and_every_scene() -> None:
    called = Called(total={f"lambda.Get{i}": 3 for i in range(12)}, before_acting={})
    every = [case for name in scenes() for case in cases(name, called, seed=1)]
    few = sampled(every, 60, seed=1)
    assert len(few) == 60
    assert {case.kind for case in few} == set(AWS)
    assert {case.scene for case in few} == set(scenes())
    assert few == sampled(every, 60, seed=1)
