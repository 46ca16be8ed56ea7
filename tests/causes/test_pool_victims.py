"""Who suffers from a hog, and who is throttled at the same time for a reason of its own."""

import pytest

from tests.causes.asked import look, text
from tests.causes.builders import ONSET, details, function, hog_incident, points, pool, series
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.pool import PoolEvidence


def beside(minutes: range, *, before: float = 100, reserved: int | None = None, read: bool = False) -> PoolEvidence:
    """A hog from the onset on, and a function that is refused in these minutes too."""
    return pool(
        use={0: before, ONSET: 998},
        functions=[function("hog", {0: 20, ONSET: 841}), function("own", {0: 20}), function("victim", {0: 5})],
        throttled={"victim": {ONSET: 90}, "own": points(dict.fromkeys(minutes, 40.0))},
        candidates=[details("hog"), *([details("own", reserved=reserved)] if read else [])],
    )


@pytest.mark.parametrize(
    ("minutes", "is_victim"),
    [
        pytest.param(range(37, 58), False, id="three minutes with room"),
        pytest.param(range(38, 58), True, id="two: a rise may outrun scaling for so long"),
        pytest.param(range(ONSET, 58), True, id="only since the pool is used up"),
    ],
)
def test_a_function_refused_while_the_pool_had_room_is_no_victim_of_the_hog(minutes: range, *, is_victim: bool) -> None:
    found = look(beside(minutes))
    assert found.targets == ("hog",)
    assert ("own" in found.victims) is is_victim
    assert "victim" in found.victims
    assert ("own was refused in 3 minutes in which the pool had room" in text(found)) is not is_victim


@pytest.mark.parametrize(("before", "is_victim"), [(799, False), (800, True)])
def test_room_is_below_80_percent(before: float, *, is_victim: bool) -> None:
    """Nearly full, the pool may have refused it between two samples."""
    found = look(beside(range(30, 58), before=before))
    assert ("own" in found.victims) is is_victim


def test_a_function_at_its_own_reservation_is_named_beside_the_hog() -> None:
    found = look(beside(range(ONSET, 58), reserved=20, read=True))
    assert (found.targets, found.victims) == (("hog",), ("victim",))
    assert "own was at a reservation of its own of 20: its 600 throttles are its own limit's" in text(found)
    assert any(finding.check and "get-function-concurrency --function-name own" in finding.check
               for finding in found.findings)  # fmt: skip


@pytest.mark.parametrize(("minutes", "is_named"), [(range(30, 44), True), (range(30, 43), False)])
def test_who_was_refused_once_in_the_last_quarter_of_an_hour_is_named_beside_the_hog(
    minutes: range, *, is_named: bool
) -> None:
    evidence = pool(
        functions=[function("hog", {0: 20, ONSET: 841})],
        throttled={"victim": {ONSET: 90}, "own": points(dict.fromkeys(minutes, 1.0))},
        candidates=[details("hog")],
    )
    found = look(evidence)
    assert found.victims == ("victim",)
    assert ("own was refused in" in text(found)) is is_named


def test_at_most_three_are_named_beside_the_hog() -> None:
    own = {f"own-{number}": points(dict.fromkeys(range(30, 58), 40.0)) for number in range(5)}
    evidence = pool(
        functions=[function("hog", {0: 20, ONSET: 841})],
        throttled={"victim": {ONSET: 90}, **own},
        candidates=[details("hog")],
    )
    found = look(evidence)
    assert found.victims == ("victim",)
    assert text(found).count("minutes in which the pool had room") == 3


def test_a_hog_of_which_nobody_suffers_is_for_a_person() -> None:
    """The only throttles are of a function at a limit of its own: a cap would help nobody."""
    evidence = pool(
        throttles=points(dict.fromkeys(range(30, 58), 40.0)),
        functions=[function("hog", {0: 20, ONSET: 841})],
        throttled={"own": points(dict.fromkeys(range(30, 58), 40.0))},
        candidates=[details("hog")],
    )
    found = look(evidence)
    assert (found.cause, found.confidence, found.victims) == (Cause.POOL_HOG, Confidence.LOW, ())
    assert "Nobody is known to be refused for the pool's sake: own has a limit of its own." in found.gaps


def test_a_single_refusal_by_a_limit_of_its_own_is_no_harm_of_the_hogs() -> None:
    refused = points(dict.fromkeys(range(30, 38), 1.0) | {57: 1.0})
    evidence = pool(
        throttles=points({57: 1.0}),
        functions=[function("hog", {0: 20, ONSET: 841})],
        throttled={"own": refused},
        candidates=[details("hog")],
    )
    assert look(evidence).confidence is Confidence.LOW


@pytest.mark.parametrize(
    ("account", "confidence"),
    [
        pytest.param(50, Confidence.MEDIUM, id="the hog's own are all there are"),
        pytest.param(51, Confidence.HIGH, id="somebody nobody named was refused too"),
    ],
)
def test_a_hog_that_only_refuses_itself_is_less_sure(account: float, confidence: Confidence) -> None:
    evidence = pool(
        throttles={ONSET: account},
        functions=[function("hog", {0: 20, ONSET: 841})],
        throttled={"hog": {ONSET: 50}},
        candidates=[details("hog")],
    )
    assert look(evidence).confidence is confidence


def test_throttles_of_managed_instances_are_no_victims_of_the_pool() -> None:
    """They have quotas of their own."""
    evidence = pool(
        functions=[function("hog", {0: 20, ONSET: 841})],
        throttled={"victim": {ONSET: 90}, "mi": {ONSET: 900}},
        candidates=[details("hog"), details("mi", managed_instances=True)],
    )
    assert look(evidence).victims == ("victim",)


def test_in_a_pool_with_room_the_throttled_are_named_as_they_are() -> None:
    """Without a used-up pool there is nothing to be a victim of but the rate."""
    evidence = pool(
        use={0: 200}, invocations={0: 900, ONSET: 600_000}, throttled={"f": series({30: 9})}, throttles={30: 9}
    )
    found = look(evidence)
    assert (found.cause, found.victims) == (Cause.REQUEST_RATE, ("f",))


def test_the_hog_is_never_its_own_victim() -> None:
    assert "batch-processor" not in look(hog_incident()).victims
