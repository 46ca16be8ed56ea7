"""Autoscaling bounds at their edge: a minimum that somebody set to the very maximum that comes back."""

import pytest

from unthrottle.actions.scaling_bounds import bounds_back
from unthrottle.evidence.table import ScalingTarget, Way


def bounds(minimum: int, maximum: int) -> ScalingTarget:
    return ScalingTarget(way=Way.WRITE, index=None, minimum=minimum, maximum=maximum)


@pytest.mark.parametrize(
    ("set_minimum", "back", "said"),
    [
        pytest.param(20, (bounds(20, 20),), "now 20 to 20", id="as large as the earlier maximum"),
        pytest.param(21, (), "now 21 to 26", id="larger: AWS would refuse it"),
    ],
)
def test_a_minimum_somebody_set_stays_with_the_earlier_maximum_as_long_as_it_is_no_larger(
    set_minimum: int, back: tuple[ScalingTarget, ...], said: str
) -> None:
    result = bounds_back([bounds(5, 20)], [bounds(5, 26)], [bounds(set_minimum, 26)])
    assert result.wanted == back
    assert said in result.words
