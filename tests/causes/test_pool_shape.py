"""A used-up pool without a hog: did reservations take it, or did everything grow?"""

import pytest

from tests.causes.asked import against, look
from tests.causes.builders import ONSET, details, function, pool
from unthrottle.diagnosis import Cause, Confidence


def test_a_pool_used_up_by_everybody_has_grown() -> None:
    evidence = pool(
        functions=[function(f"f{number:02d}", {0: 10, ONSET: 33}) for number in range(30)],
        throttled={"f01": {ONSET: 40}},
        candidates=[details("f00")],
    )
    found = look(evidence)
    assert (found.cause, found.confidence, found.targets, found.victims) == (
        Cause.POOL_GROWTH,
        Confidence.HIGH,
        (),
        ("f01",),
    )
    assert "No function stands out" in against(found, Cause.POOL_HOG)


@pytest.mark.parametrize(
    ("held", "cause"),
    [
        pytest.param(49, Cause.INCONCLUSIVE, id="39: ten functions explain 49 %"),
        pytest.param(50, Cause.POOL_GROWTH, id="ten functions explain half"),
    ],
)
def test_an_incomplete_ranking_must_explain_half_of_what_ran(held: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 100, ONSET: 1000},
        functions=[function(f"f{number}", {0: 10, ONSET: held}) for number in range(10)],
        throttled={"f1": {ONSET: 40}},
        ranking_complete=False,
    )
    found = look(evidence)
    assert found.cause is cause
    assert cause is Cause.POOL_GROWTH or any("does not look at every function" in gap for gap in found.gaps)


@pytest.mark.parametrize(
    ("reserved", "running", "cause"),
    [
        pytest.param(880, 150, Cause.OVER_RESERVATION, id="8: 880 of 1,000 reserved, 150 running"),
        pytest.param(880, 500, Cause.OVER_RESERVATION, id="half of the limit running"),
        pytest.param(880, 501, Cause.POOL_GROWTH, id="the reservations are used"),
        pytest.param(500, 500, Cause.OVER_RESERVATION, id="half of the limit reserved"),
        pytest.param(499, 500, Cause.POOL_GROWTH, id="less than half reserved"),
    ],
)
def test_reservations_that_lie_idle_make_the_pool_small(reserved: int, running: float, cause: Cause) -> None:
    size = 1000 - reserved
    evidence = pool(
        use={0: 20, ONSET: size},
        concurrency={0: 40, ONSET: running},
        reserved=reserved,
        functions=[
            *(function(f"f{number}", {0: 10, ONSET: size / 10}) for number in range(10)),
            function("reserved", {0: 20, ONSET: max(0, running - size)}),
        ],
        throttled={"f1": {ONSET: 40}},
        candidates=[details("reserved", reserved=reserved)],
    )
    found = look(evidence)
    assert (found.cause, found.targets) == (cause, ())
