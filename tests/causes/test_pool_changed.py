"""A person limits the hog just before anybody looks: the settings are new, the metrics are old."""

import pytest

from tests.causes.asked import against, look, text
from tests.causes.builders import ONSET, details, function, pool
from unthrottle.actions.planning import make_plan
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.plan import Action
from unthrottle.settings import Settings


def limited(reserved: int | None, *, held: float = 841, other: float = 100) -> PoolEvidence:
    """A pool of 1,000 that one function took; it has a reservation by the time somebody looks."""
    return pool(
        reserved=reserved or 0,
        use={0: 100, ONSET: 998},
        functions=[
            function("loader", {0: 20, ONSET: held}),
            function("other", {0: 70, ONSET: other}),
            function("victim", {0: 5, ONSET: 2}),
        ],
        throttled={"victim": {ONSET: 90}},
        candidates=[details("loader", reserved=reserved), details("other")],
    )


def test_what_a_person_did_a_moment_ago_is_waited_for() -> None:
    """Nothing is changed on top of it, and the shares of then are not counted against the pool of now."""
    evidence = limited(300)
    found = look(evidence)
    assert (found.cause, found.confidence, found.targets) == (
        Cause.CAPACITY_CHANGE_IN_PROGRESS,
        Confidence.HIGH,
        (),
    )
    assert make_plan(found, evidence, Settings()).action is Action.WAIT
    assert "loader held 841 executions at 04:57 UTC and has a reservation of 300 now" in text(found)
    assert "it has been made smaller since, to 700" in text(found)
    assert "142" not in text(found)
    assert found.victims == ("victim",)
    assert all(finding.check for finding in found.findings)


@pytest.mark.parametrize(
    ("reserved", "cause"),
    [
        pytest.param(0, Cause.CAPACITY_CHANGE_IN_PROGRESS, id="it was switched off since"),
        pytest.param(764, Cause.CAPACITY_CHANGE_IN_PROGRESS, id="it held more than a tenth above its reservation"),
        pytest.param(765, Cause.INCONCLUSIVE, id="a minute's Maximum may lie a tenth above: it ran in its own"),
        pytest.param(None, Cause.POOL_HOG, id="nobody did anything"),
    ],
)
def test_only_more_than_a_reservation_allows_shows_that_it_is_new(reserved: int | None, cause: Cause) -> None:
    """A function that runs within its reservation had it all along, and something else holds the pool."""
    evidence = limited(reserved)
    assert look(evidence).cause is cause


def test_one_that_held_little_of_the_pool_explains_nothing_by_its_new_reservation() -> None:
    """What holds the rest is what matters."""
    found = look(limited(40, held=400, other=590))
    assert found.cause is not Cause.CAPACITY_CHANGE_IN_PROGRESS
    assert found.cause is Cause.POOL_HOG
    assert found.targets == ("other",)
    small = look(limited(40, held=400, other=100))
    assert "loader was limited since, but held only 40.1 %" in against(small, Cause.CAPACITY_CHANGE_IN_PROGRESS)


def test_another_hog_of_the_shared_pool_is_capped_all_the_same() -> None:
    """Somebody limited one of them; the other goes on."""
    assert look(limited(300, held=350, other=640)).targets == ("other",)


def test_a_pool_with_room_is_over_whoever_did_it() -> None:
    evidence = pool(
        reserved=300,
        use={0: 100, ONSET: 998, 50: 120},
        throttles={ONSET: 90, 50: None},
        functions=[function("loader", {0: 20, ONSET: 841, 50: 300})],
        candidates=[details("loader", reserved=300)],
    )
    assert look(evidence).cause is Cause.ALREADY_OVER


def test_the_bot_and_managed_instances_are_never_taken_for_what_was_limited() -> None:
    """What they run is told by other numbers."""
    for name, settings in (("unthrottle-respond", {"reserved": 2}), ("mi", {"managed_instances": True, "reserved": 2})):
        evidence = pool(
            functions=[function(name, {0: 20, ONSET: 841}), function("small", {0: 20, ONSET: 100})],
            throttled={"victim": {ONSET: 90}},
            candidates=[details(name, **settings)],  # type: ignore[arg-type]  # by name
        )
        assert look(evidence).cause is not Cause.CAPACITY_CHANGE_IN_PROGRESS


@pytest.mark.parametrize(("reserved", "cause"), [(49, Cause.POOL_GROWTH), (50, Cause.INCONCLUSIVE)])
def test_a_pool_that_somebody_made_smaller_since_is_not_called_too_small(reserved: int, cause: Cause) -> None:
    """More in use than there is room for by now: what the reservation changed is not to be seen yet."""
    evidence = pool(
        reserved=reserved,
        use={0: 100, ONSET: 998},
        functions=[function(f"f{number:02d}", {0: 10, ONSET: 33}) for number in range(30)],
        throttled={"f01": {ONSET: 40}},
        candidates=[],
    )
    found = look(evidence)
    assert found.cause is cause
    assert ("What is in use since the pool was made smaller, to 950, is not visible yet." in found.gaps) == (
        cause is Cause.INCONCLUSIVE
    )
