"""Throttled though concurrency is left: by the request rate, or by the scaling rate."""

import pytest

from tests.causes.asked import look
from tests.causes.builders import ONSET, details, function, points, pool, series
from unthrottle.diagnosis import Cause


@pytest.mark.parametrize(
    ("rate", "cause"),
    [
        pytest.param(600_000, Cause.REQUEST_RATE, id="12: at ten a second for each execution"),
        pytest.param(540_000, Cause.REQUEST_RATE, id="at 90 % of it"),
        pytest.param(539_999, Cause.INCONCLUSIVE, id="below"),
    ],
)
def test_many_short_runs_reach_the_request_rate_before_the_concurrency(rate: float, cause: Cause) -> None:
    evidence = pool(use={0: 200}, invocations={0: 900, ONSET: rate}, throttled={"f": {ONSET: 9}})
    found = look(evidence)
    assert (found.cause, found.targets) == (cause, ())


def test_a_functions_own_reservation_limits_its_request_rate_too() -> None:
    evidence = pool(
        use={0: 120},
        reserved=50,
        functions=[function("short", {0: 10})],
        throttled={"short": {ONSET: 40}},
        throttles={ONSET: 40},
        candidates=[details("short", reserved=50, invocations=series({0: 29_000}))],
    )
    found = look(evidence)
    assert (found.cause, found.victims) == (Cause.REQUEST_RATE, ("short",))


@pytest.mark.parametrize(
    ("throttled", "after", "cause"),
    [
        pytest.param([57], 1000, Cause.SCALING_RATE, id="13: 0 to 1,000 at once, one minute throttled"),
        pytest.param([56, 57], 1000, Cause.SCALING_RATE, id="two minutes that touch"),
        pytest.param([55, 57], 1000, Cause.INCONCLUSIVE, id="two minutes apart"),
        pytest.param([55, 56, 57], 1000, Cause.INCONCLUSIVE, id="three minutes"),
        pytest.param([57], 500, Cause.SCALING_RATE, id="a rise of 500"),
        pytest.param([57], 499, Cause.INCONCLUSIVE, id="a rise below 500"),
        pytest.param([57], 8999, Cause.SCALING_RATE, id="below 90 % of the limit"),
        pytest.param([57], 9000, Cause.POOL_HOG, id="at the limit it is the pool"),
    ],
)
def test_a_steep_rise_far_below_the_limit_outruns_scaling_for_a_moment(
    throttled: list[int], after: float, cause: Cause
) -> None:
    first = throttled[0]
    evidence = pool(
        limit=10_000,
        use={0: 0, first: after},
        throttles=points(dict.fromkeys(throttled, 80.0)),
        functions=[function("f", {0: 0, first: after})],
        throttled={"victim": points(dict.fromkeys(throttled, 80.0))},
    )
    found = look(evidence)
    assert found.cause is cause
