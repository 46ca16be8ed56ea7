"""After a try whose end is not known: numbers that are neither the earlier ones nor ours are somebody else's."""

from dataclasses import replace

import pytest

from tests.unit.fakes import FakeActor
from tests.unit.made_tables import NAME, PLAIN, capacity, raised, unit
from unthrottle import actions
from unthrottle.evidence.table import ScalingTarget, Way

BOUNDS = (ScalingTarget(way=Way.WRITE, index=None, minimum=5, maximum=10),)


@pytest.mark.parametrize("status", ["ACTIVE", "UPDATING"])
def test_what_somebody_set_meanwhile_is_not_ours_though_the_table_changes_and_the_bounds_are_ours(status: str) -> None:
    change = raised(PLAIN, unit(short=1.0), unit("by-status"), scaling=BOUNDS)
    assert change.after.scaling[0].maximum > 10
    theirs = replace(PLAIN, status=status, capacity=capacity(5, 99))
    actor = FakeActor(tables={NAME: theirs}, scaling={NAME: change.after.scaling})
    assert actions.made_after_all(change, actor) is None
    ours = FakeActor(tables={NAME: replace(PLAIN, status=status)}, scaling={NAME: change.after.scaling})
    assert actions.made_after_all(change, ours) is not None
