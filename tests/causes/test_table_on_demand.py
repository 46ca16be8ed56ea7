"""A ramp, a maximum and a quota of an on-demand table."""

from dataclasses import replace

import pytest

from tests.causes.builders import (
    ONSET,
    hot_keys,
    table,
    unit,
)
from tests.causes.tables import (
    ON_DEMAND,
    WRITE_HOT,
    against,
    burst,
    look,
    text,
)
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.table import (
    HotKeys,
    Throttle,
    UnitMetrics,
    Way,
)


def test_a_burst_beyond_what_an_on_demand_table_has_grown_to_is_a_ramp() -> None:
    # 8
    found = look(table(burst(), described=ON_DEMAND, hot=[hot_keys(0.01, 0.01)]))
    assert (found.cause, found.confidence, found.targets) == (Cause.ON_DEMAND_RAMP, Confidence.HIGH, ())
    assert "6,000 write units a second were wanted and 4,000 served" in text(found)


@pytest.mark.parametrize(
    ("writes", "warm", "keys", "cause"),
    [
        pytest.param(burst(served=3500, refused=500), None, [], Cause.HOT_KEY, id="wanted exactly 4,000"),
        pytest.param(burst(served=3500, refused=501), None, [], Cause.ON_DEMAND_RAMP, id="wanted more than 4,000"),
        pytest.param(burst(before=3000, served=4000), None, [], Cause.HOT_KEY, id="exactly twice the earlier peak"),
        pytest.param(
            burst(before=2999, served=4900), None, [], Cause.ON_DEMAND_RAMP, id="above twice the earlier peak"
        ),
        pytest.param(
            burst(before=3000, served=4100, refused=1000), 4000, [], Cause.ON_DEMAND_RAMP, id="served as warm"
        ),
        pytest.param(burst(), 50_000, [], Cause.ON_DEMAND_RAMP, id="described warmer than it serves"),
        pytest.param(burst(served=2200, refused=3800), None, [], Cause.HOT_KEY, id="served far less than it could"),
        pytest.param(burst(), None, [hot_keys(0.8, 0.01)], Cause.HOT_KEY, id="one key has most of the load"),
    ],
)
def test_a_ramp_is_told_from_a_hot_key(
    writes: UnitMetrics, warm: int | None, keys: list[HotKeys], cause: Cause
) -> None:
    found = look(table(writes, described=replace(ON_DEMAND, warm_write=warm), hot=keys))
    assert found.cause is cause


def test_key_range_throttles_of_a_provisioned_table_are_no_ramp() -> None:
    assert look(table(burst())).cause is Cause.HOT_KEY


def test_a_maximum_somebody_set_is_theirs_to_raise() -> None:
    # 11
    events = {(Way.WRITE, Throttle.MAX_ON_DEMAND): {ONSET: 100}}
    found = look(table(unit(throttles=events), described=replace(ON_DEMAND, max_on_demand_write=500)))
    assert (found.cause, found.confidence, found.targets) == (Cause.ON_DEMAND_CEILING, Confidence.HIGH, ())
    assert "its maximum of 500 units a second" in text(found)


def test_the_accounts_quota_is_named_with_its_code() -> None:
    # 12
    events = {(Way.WRITE, Throttle.ACCOUNT_LIMIT): {ONSET: 100}}
    found = look(table(unit(write={0: 20, ONSET: 40_000}, throttles=events), described=ON_DEMAND))
    assert (found.cause, found.targets) == (Cause.TABLE_QUOTA, ())
    assert "L-AB614373" in text(found)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [(Throttle.MAX_ON_DEMAND, Cause.ON_DEMAND_CEILING), (Throttle.ACCOUNT_LIMIT, Cause.TABLE_QUOTA)],
)
@pytest.mark.parametrize(("events", "wins"), [(20, True), (19, False)])
def test_a_limit_counts_from_a_fifth_of_the_throttles(
    reason: Throttle, cause: Cause, events: float, wins: bool
) -> None:
    mixed = unit(throttles={(Way.WRITE, reason): {ONSET: events}, WRITE_HOT: {ONSET: 100 - events}})
    found = look(table(mixed, described=ON_DEMAND))
    assert (found.cause is cause) is wins
    assert wins or f"Only {events * 10} of 1,000 throttles" in against(found, cause)
