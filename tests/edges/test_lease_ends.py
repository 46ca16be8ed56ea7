"""What the end of a lease says of bounds that somebody set meanwhile."""

from dataclasses import replace

import pytest

from tests.edges.test_lease import RAISED, TABLE, Lease, applied
from tests.unit.fakes import NOW, FakeActor
from unthrottle.evidence.table import ScalingTarget, Way
from unthrottle.incident import AppliedChange, Status
from unthrottle.plan import Action, Plan
from unthrottle.report.moments import Step

BOUNDS = ScalingTarget(way=Way.WRITE, index=None, minimum=5, maximum=20)


@pytest.mark.parametrize(
    ("maximum", "said"),
    [
        pytest.param(26, "", id="ours"),
        pytest.param(
            400,
            "autoscaling of writes is 5 to 400, not 5 to 26: what somebody set stays (now 5 to 400); ",
            id="somebody's",
        ),
    ],
)
def test_bounds_that_stay_as_somebody_set_them_are_told_when_the_lease_ends(
    monkeypatch: pytest.MonkeyPatch, maximum: int, said: str
) -> None:
    change = replace(
        RAISED,
        before=replace(RAISED.before, scaling=(BOUNDS,)),
        after=replace(RAISED.after, scaling=(replace(BOUNDS, maximum=26),)),
    )
    plan = Plan(action=Action.RAISE_CAPACITY, why="because", changes=(change,), lease_minutes=60)
    known = replace(applied(), plan=plan, applied=(AppliedChange(change=change, at=NOW),))
    actor = FakeActor(tables={TABLE.name: TABLE}, scaling={TABLE.name: (replace(BOUNDS, maximum=maximum),)})
    lease = Lease(known, actor=actor)
    found = lease.play(monkeypatch)

    assert found.status is Status.REVERTED
    (detail,) = (detail for step, detail in lease.told if step is Step.REVERTED)
    assert detail.startswith(said or "it is quiet")
