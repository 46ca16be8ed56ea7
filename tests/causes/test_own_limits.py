"""A function at a limit of its own while the pool has room, and what looks like one."""

from dataclasses import replace

import pytest

from tests.causes.asked import against, look, text
from tests.causes.builders import ONSET, details, function, hog_incident, pool, series
from unthrottle.diagnosis import Cause, Confidence


def test_a_function_flat_at_its_own_reservation_is_not_a_pool_problem() -> None:
    # 5
    evidence = pool(
        use={0: 120},
        reserved=1,
        functions=[function("own", {0: 1}), function("other", {0: 90})],
        throttled={"own": {ONSET: 40}},
        throttles={ONSET: 40},
        candidates=[details("own", reserved=1), details("other")],
        alarmed=["own"],
    )
    found = look(evidence)
    assert (found.cause, found.confidence, found.targets, found.victims) == (
        Cause.OWN_RESERVATION,
        Confidence.HIGH,
        (),
        ("own",),
    )


def test_a_starved_victim_is_not_taken_for_one_with_a_reservation_of_one() -> None:
    # 4: it runs 1 or 2, but has no reservation
    evidence = hog_incident()
    found = look(replace(evidence, alarmed=("uat-pipe-001",)))
    assert found.cause is Cause.POOL_HOG
    assert "uat-pipe-001 has no reservation of its own." in against(found, Cause.OWN_RESERVATION)


@pytest.mark.parametrize(
    ("ran", "cause"),
    [pytest.param(45, Cause.OWN_RESERVATION, id="at 90 %"), pytest.param(44, Cause.INCONCLUSIVE, id="below")],
)
def test_own_reservation_means_running_at_it(ran: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 120},
        reserved=50,
        functions=[function("own", {0: ran})],
        throttled={"own": {ONSET: 40}},
        throttles={ONSET: 40},
        candidates=[details("own", reserved=50)],
    )
    assert look(evidence).cause is cause


def test_a_reservation_that_is_all_provisioned_leaves_nothing_for_other_versions() -> None:
    evidence = pool(
        use={0: 120},
        reserved=5,
        throttled={"own": {ONSET: 40}},
        throttles={ONSET: 40},
        candidates=[details("own", reserved=5, provisioned=5)],
    )
    found = look(evidence)
    assert (found.cause, found.confidence) == (Cause.OWN_RESERVATION, Confidence.MEDIUM)
    assert "$LATEST" in text(found)


def test_a_function_switched_off_is_left_off() -> None:
    # 6
    evidence = pool(
        use={0: 120},
        throttles={ONSET: 40},
        throttled={"off": {ONSET: 40}},
        candidates=[details("off", reserved=0, throttles=series({ONSET: 40}))],
    )
    found = look(evidence)
    assert (found.cause, found.confidence, found.targets) == (Cause.SWITCHED_OFF, Confidence.HIGH, ())


@pytest.mark.parametrize(
    ("off", "cause"),
    [
        pytest.param(50, Cause.SWITCHED_OFF, id="half of the throttles"),
        pytest.param(49, Cause.INCONCLUSIVE, id="less than half: a side story"),
    ],
)
def test_a_switched_off_function_explains_only_its_own_throttles(off: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 120},
        throttles={ONSET: 100},
        throttled={"off": {ONSET: off}, "other": {ONSET: 100 - off}},
        candidates=[details("off", reserved=0), details("other")],
    )
    assert look(evidence).cause is cause


def test_a_used_up_pool_goes_before_a_function_that_was_switched_off() -> None:
    evidence = hog_incident()
    evidence = replace(
        evidence,
        throttled=(*evidence.throttled, ("off", series({ONSET: 99999}))),
        candidates=(*evidence.candidates, details("off", reserved=0)),
    )
    found = look(evidence)
    assert found.cause is Cause.POOL_HOG
    assert "off" not in found.victims
    assert "the shared pool is used up" in against(found, Cause.SWITCHED_OFF)


def test_throttles_of_managed_instances_are_not_explained_by_the_pool() -> None:
    evidence = pool(
        use={0: 120},
        throttles={ONSET: 100},
        throttled={"mi": {ONSET: 100}},
        candidates=[details("mi", managed_instances=True)],
    )
    assert look(evidence).cause is Cause.INCONCLUSIVE


def test_of_several_at_their_own_limit_one_that_was_not_measured_makes_it_less_sure() -> None:
    """Both are named; nobody saw what the small one ran."""
    evidence = pool(
        use={0: 120},
        reserved=50,
        functions=[function("seen", {0: 40})],
        throttled={"seen": {ONSET: 40}, "small": {ONSET: 40}},
        throttles={ONSET: 80},
        candidates=[details("seen", reserved=40), details("small", reserved=10)],
    )
    found = look(evidence)
    assert (found.cause, found.confidence) == (Cause.OWN_RESERVATION, Confidence.MEDIUM)
    assert set(found.victims) == {"seen", "small"}
