"""What a person must know of a hog beside its numbers: that it is a loop, that its tag cannot be read."""

from dataclasses import replace

import pytest

from tests.causes.asked import look, text
from tests.causes.builders import ONSET, details, hog_incident, series
from unthrottle.actions.planning import make_plan
from unthrottle.diagnosis import Cause
from unthrottle.evidence.pool import Candidate, PoolEvidence
from unthrottle.plan import CapConcurrency
from unthrottle.settings import Settings
from unthrottle.tags import Unreadable, wished_maximum

RULES = Settings()


def with_hog(**changes: object) -> PoolEvidence:
    """The usual incident, with some of the hog's settings or series changed."""
    evidence = hog_incident()
    hog, *others = evidence.candidates
    changed: Candidate = replace(hog, **changes)  # type: ignore[arg-type]  # any field, by name
    return replace(evidence, candidates=(changed, *others))


def cap_of(evidence: PoolEvidence) -> int:
    (change,) = make_plan(look(evidence), evidence, RULES).changes
    assert isinstance(change, CapConcurrency)
    return change.after


@pytest.mark.parametrize(
    ("stopped", "cap", "words"),
    [
        # 58 minutes of 160 invocations each; a chain is 16 of them
        pytest.param(290, 1, "most of what it ran", id="half of what it ran"),
        pytest.param(289, 250, "few of its runs", id="less than half: it has other work"),
        pytest.param(1, 250, "few of its runs", id="one chain"),
    ],
)
def test_a_recursive_loop_is_named_and_held_to_one_execution(stopped: float, cap: int, words: str) -> None:
    """L36. Never to none: what it does beside the loop would be lost."""
    evidence = with_hog(invocations=series({0: 160}), loops_stopped=series({57: stopped}))
    found = look(evidence)
    assert found.cause is Cause.POOL_HOG
    assert f"Lambda stopped {stopped} chains" in text(found)
    assert words in text(found)
    assert any("RecursiveInvocationsDropped" in (finding.check or "") for finding in found.findings)
    assert cap_of(evidence) == cap


def test_a_loop_is_not_held_to_one_execution_before_anything_shows_how_much_of_its_work_it_is() -> None:
    """Invocations are counted when a run ends: nothing counted is not nothing run."""
    evidence = with_hog(invocations=series({}), loops_stopped=series({57: 1}))
    assert "how many of its runs belong to such loops cannot be told" in text(look(evidence))
    assert cap_of(evidence) == 250


@pytest.mark.parametrize("stopped", [None, series({0: 0}), series({})], ids=["not read", "none", "no datapoints"])
def test_without_a_stopped_chain_nothing_is_said_of_a_loop(stopped: object) -> None:
    evidence = with_hog(invocations=series({}), loops_stopped=stopped)
    assert "loop" not in text(look(evidence))
    assert cap_of(evidence) == 250


@pytest.mark.parametrize("value", ["about fifty", "0", "-5", "1.5", "", " ", "1234567", "５０"])
def test_a_tag_that_says_no_number_is_named_and_the_stacks_share_counts(value: str) -> None:
    """An owner who wished for something must hear that it was not followed."""
    evidence = with_hog(tags={"unthrottle:max-concurrency": value})
    found = look(evidence)
    assert f"The tag unthrottle:max-concurrency of batch-processor is {value!r}, no whole number from 1 on." in text(
        found
    )
    assert "the stack's share of 250 counts" in text(found)
    assert any("lambda list-tags --resource arn:aws:lambda" in (finding.check or "") for finding in found.findings)
    assert cap_of(evidence) == 250


@pytest.mark.parametrize(("value", "cap"), [("50", 50), (" 50 ", 50), ("1", 1), ("999999", 250)])
def test_a_tag_that_says_a_number_is_followed_and_not_talked_about(value: str, cap: int) -> None:
    evidence = with_hog(tags={"unthrottle:max-concurrency": value})
    assert "max-concurrency" not in text(look(evidence))
    assert cap_of(evidence) == cap


def test_no_tag_is_no_wish_and_a_long_one_is_cut() -> None:
    assert wished_maximum({}, RULES) is None
    assert wished_maximum({"unthrottle:max-concurrency": "x" * 256}, RULES) == Unreadable(
        key="unthrottle:max-concurrency", value="x" * 40
    )
    assert wished_maximum({"other:max-concurrency": "5"}, Settings(tag_prefix="other")) == 5


def test_a_victims_tag_is_not_talked_about() -> None:
    evidence = hog_incident()
    hog, victim, *others = evidence.candidates
    evidence = replace(evidence, candidates=(hog, replace(victim, tags={"unthrottle:max-concurrency": "x"}), *others))
    assert "max-concurrency" not in text(look(evidence))


def test_the_queue_of_a_function_counts_what_came_and_what_was_handed_over() -> None:
    """Whichever is more: events come before they are handed over, and a failed one is handed over three times."""
    hog = details("hog")
    assert hog.queued == 0
    assert replace(hog, async_events=series({ONSET: 2})).queued == 36
    assert replace(hog, async_events=series({ONSET: 2}), async_started=series({ONSET: 3})).queued == 54
    assert replace(hog, async_started=series({ONSET: 3}), async_events=series({ONSET: 4})).queued == 72
