"""The causes of DynamoDB throttling: what each looks like, and what looks like it and is not."""

import shlex
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.causes.builders import (
    ONSET,
    Steps,
    at,
    backfill,
    every_five_minutes,
    hot_keys,
    index,
    nothing,
    points,
    scaled,
    series,
    settings,
    short_of_writes,
    table,
    unit,
)
from unthrottle.backfills import Backfill
from unthrottle.causes import diagnose
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.evidence.table import (
    BackfillsUnknown,
    Billing,
    HotKeys,
    KeyShare,
    TableEvidence,
    TableSettings,
    Throttle,
    UnitMetrics,
    Way,
)
from unthrottle.settings import Settings

WRITE_SHORT = (Way.WRITE, Throttle.PROVISIONED)
WRITE_HOT = (Way.WRITE, Throttle.KEY_RANGE)
ON_DEMAND = settings(billing=Billing.ON_DEMAND)
INDEXED = settings(indexes=[index()])


def look(evidence: TableEvidence) -> Diagnosis:
    return diagnose(evidence, Settings(), itself=frozenset())


def against(diagnosis: Diagnosis, cause: Cause) -> str:
    return next(item.because for item in diagnosis.rejected if item.cause is cause)


def text(diagnosis: Diagnosis) -> str:
    return " ".join(finding.text for finding in diagnosis.findings)


def blind(*, index: str | None = None) -> UnitMetrics:
    return unit(index, write={}, read={})


# --- capacity ----------------------------------------------------------------------------------------------------


def test_a_table_out_of_write_capacity_is_short_of_it() -> None:
    # 1, 2, 14, 19: the reason counts, not ThrottledRequests; an absent billing summary is provisioned
    found = look(table(short_of_writes()))
    assert (found.cause, found.confidence) == (Cause.PROVISIONED_CAPACITY, Confidence.HIGH)
    assert (found.targets, found.victims, found.index) == (("dagy-runs-develop",), ("dagy-runs-develop",), None)
    assert found.findings[0].text == (
        "3,000 write throttles of table dagy-runs-develop by ProvisionedThroughput in the 10 minutes to 04:57 UTC; "
        "at most 50 units a second were consumed of 50 provisioned."
    )
    assert "--metric-name WriteProvisionedThroughputThrottleEvents" in (found.findings[0].check or "")


def test_only_the_index_is_named_when_only_the_index_is_short() -> None:
    # 5
    found = look(
        table(
            unit(write={0: 15}),
            unit("by-status", write={0: 20, ONSET: 50}, throttles={WRITE_SHORT: {ONSET: 300}}),
            described=INDEXED,
        )
    )
    assert (found.cause, found.index, found.targets) == (
        Cause.PROVISIONED_CAPACITY,
        "by-status",
        ("dagy-runs-develop",),
    )
    assert "index by-status is short, which throttles the table's writes" in text(found)


def test_both_are_named_when_table_and_index_are_short() -> None:
    # 28
    found = look(
        table(
            short_of_writes(),
            unit("by-status", write={0: 20, ONSET: 50}, throttles={WRITE_SHORT: {ONSET: 400}}),
            described=INDEXED,
        )
    )
    assert (found.cause, found.index) == (Cause.PROVISIONED_CAPACITY, None)
    assert "table dagy-runs-develop by" in text(found)
    assert "index by-status by" in text(found)


def test_reads_of_an_index_may_be_short_while_writes_are_fine() -> None:
    # 15
    reads = {(Way.READ, Throttle.PROVISIONED): {ONSET: 60}}
    found = look(table(unit(), unit("by-status", read={0: 40, ONSET: 100}, throttles=reads), described=INDEXED))
    assert (found.cause, found.index) == (Cause.PROVISIONED_CAPACITY, "by-status")
    assert "600 read throttles of index by-status" in text(found)


def test_spikes_of_seconds_are_capacity_and_not_a_hot_key() -> None:
    # 16
    found = look(table(short_of_writes(write={0: 10})))
    assert (found.cause, found.confidence) == (Cause.PROVISIONED_CAPACITY, Confidence.MEDIUM)
    assert "spikes of seconds" in text(found)


def test_autoscaling_at_its_maximum_is_named_and_not_waited_for() -> None:
    # 3
    maxed = scaled(57, to=50, status="Failed", not_scaled=["AlreadyAtMaxCapacity"])
    found = look(table(short_of_writes(), activities=[maxed]))
    assert found.cause is Cause.PROVISIONED_CAPACITY
    assert "AlreadyAtMaxCapacity" in text(found)


def test_a_decrease_shortly_before_the_throttling_is_named() -> None:
    found = look(table(short_of_writes(), described=settings(last_decrease_at=at(30))))
    assert "The capacity was lowered at 04:30 UTC, shortly before the throttling." in text(found)


def test_consumption_that_collapses_while_throttled_is_not_the_end_of_the_load() -> None:
    # 20
    found = look(table(short_of_writes(write={0: 50, ONSET: 5})))
    assert found.cause is Cause.PROVISIONED_CAPACITY


def test_provisioned_throttles_of_a_table_described_as_on_demand_contradict_each_other() -> None:
    # 21
    found = look(table(short_of_writes(), described=ON_DEMAND))
    assert found.cause is Cause.INCONCLUSIVE
    assert "described as on-demand" in against(found, Cause.PROVISIONED_CAPACITY)


# --- a change under way ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "described",
    [
        pytest.param(settings(status="UPDATING"), id="the table is changing"),
        pytest.param(replace(ON_DEMAND, status="UPDATING"), id="17: switching, PAY_PER_REQUEST already shown"),
        pytest.param(settings(indexes=[index(status="UPDATING")]), id="an index is changing"),
        pytest.param(replace(ON_DEMAND, on_demand_since=at(52)), id="switched eight minutes ago"),
    ],
)
def test_a_change_under_way_is_waited_for(described: TableSettings) -> None:
    found = look(table(short_of_writes(), described=described))
    assert (found.cause, found.targets) == (Cause.CAPACITY_CHANGE_IN_PROGRESS, ())


FALLING: Steps = {ONSET: 900, 55: 300}
LEVEL: Steps = {ONSET: 900, 55: 800}


@pytest.mark.parametrize(
    ("events", "capacity", "cause"),
    [
        pytest.param(FALLING, {0: 50, 50: 100}, Cause.CAPACITY_CHANGE_IN_PROGRESS, id="4: rose, throttles falling"),
        pytest.param(LEVEL, {0: 50, 50: 100}, Cause.PROVISIONED_CAPACITY, id="rose, throttles go on"),
        pytest.param(FALLING, {0: 100}, Cause.PROVISIONED_CAPACITY, id="throttles falling, nothing rose"),
        pytest.param({ONSET: 900, 55: 600}, {0: 50, 50: 100}, Cause.CAPACITY_CHANGE_IN_PROGRESS, id="at two thirds"),
        pytest.param({ONSET: 900, 55: 601}, {0: 50, 50: 100}, Cause.PROVISIONED_CAPACITY, id="above two thirds"),
    ],
)
def test_capacity_that_rose_is_trusted_only_while_the_throttles_fall(
    events: Steps, capacity: Steps, cause: Cause
) -> None:
    rising = unit(write={0: 40}, provisioned={Way.WRITE: capacity}, throttles={WRITE_SHORT: events})
    assert look(table(rising, described=settings(capacity=replace(settings().capacity, write=100)))).cause is cause


@pytest.mark.parametrize(
    ("minute", "status", "cause"),
    [
        pytest.param(51, "InProgress", Cause.CAPACITY_CHANGE_IN_PROGRESS, id="still running"),
        pytest.param(57, "Successful", Cause.CAPACITY_CHANGE_IN_PROGRESS, id="done three minutes ago: not seen yet"),
        pytest.param(56, "Successful", Cause.PROVISIONED_CAPACITY, id="done four minutes ago, throttles go on"),
        pytest.param(57, "Failed", Cause.PROVISIONED_CAPACITY, id="it failed"),
    ],
)
def test_autoscaling_that_reacts_is_waited_for(minute: float, status: str, cause: Cause) -> None:
    assert look(table(short_of_writes(), activities=[scaled(minute, status=status)])).cause is cause


@pytest.mark.parametrize(
    "activity",
    [
        pytest.param(scaled(58, to=25), id="it scaled in, by its number"),
        pytest.param(scaled(58, way=Way.READ), id="it scaled the reads"),
        pytest.param(scaled(58, index="by-status"), id="it scaled the index"),
    ],
)
def test_scaling_something_else_is_no_change_under_way(activity: object) -> None:
    found = look(table(short_of_writes(), activities=[activity]))  # type: ignore[list-item]  # a ScalingActivity
    assert found.cause is Cause.PROVISIONED_CAPACITY


def test_scaling_in_is_known_by_the_tables_last_decrease() -> None:
    described = settings(last_decrease_at=at(58))
    assert look(table(short_of_writes(), described=described, activities=[scaled(58)])).cause is (
        Cause.PROVISIONED_CAPACITY
    )


def test_a_raise_too_new_to_show_is_waited_for() -> None:
    raised = settings(capacity=replace(settings().capacity, write=200))
    found = look(table(short_of_writes(), described=raised))
    assert (found.cause, found.confidence) == (Cause.CAPACITY_CHANGE_IN_PROGRESS, Confidence.MEDIUM)
    assert "raised from 50 to 200" in text(found)


# --- hot index, hot key ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("billing", list(Billing))
def test_a_hot_index_is_never_answered_with_capacity(billing: Billing) -> None:
    # 6
    found = look(
        table(
            unit(),
            unit("by-status", throttles={WRITE_HOT: {ONSET: 90}}),
            described=settings(billing=billing, indexes=[index()]),
        )
    )
    assert (found.cause, found.confidence, found.index, found.targets) == (
        Cause.HOT_INDEX,
        Confidence.HIGH,
        "by-status",
        (),
    )
    assert "more capacity or another mode would not help" in text(found)
    assert "Contributor Insights is not enabled on index by-status: its keys are unknown." in found.gaps


@pytest.mark.parametrize(
    ("hot", "cause"),
    [
        pytest.param(20, Cause.HOT_INDEX, id="a fifth of the index's throttles"),
        pytest.param(19, Cause.PROVISIONED_CAPACITY, id="less: a side effect"),
    ],
)
def test_mixed_reasons_on_an_index_are_a_hot_index_from_a_fifth_on(hot: float, cause: Cause) -> None:
    mixed = unit("by-status", throttles={WRITE_HOT: {ONSET: hot}, WRITE_SHORT: {ONSET: 100 - hot}})
    found = look(table(unit(), mixed, described=INDEXED))
    assert found.cause is cause
    assert "KeyRange" in text(found) or "of one key range" in against(found, Cause.HOT_INDEX)


def test_both_reasons_are_named_where_they_are_mixed() -> None:
    mixed = unit("by-status", throttles={WRITE_HOT: {ONSET: 50}, WRITE_SHORT: {ONSET: 50}})
    found = look(table(unit(), mixed, described=INDEXED))
    assert (found.cause, found.confidence) == (Cause.HOT_INDEX, Confidence.MEDIUM)
    assert "Besides: 500 write throttles of index by-status by ProvisionedThroughput" in text(found)


def test_a_few_key_range_throttles_of_an_index_do_not_hide_a_table_short_of_capacity() -> None:
    found = look(table(short_of_writes(), unit("by-status", throttles={WRITE_HOT: {ONSET: 10}}), described=INDEXED))
    assert found.cause is Cause.PROVISIONED_CAPACITY


def test_a_change_of_capacity_does_not_help_a_hot_index() -> None:
    described = replace(INDEXED, status="UPDATING")
    found = look(table(unit(), unit("by-status", throttles={WRITE_HOT: {ONSET: 90}}), described=described))
    assert found.cause is Cause.HOT_INDEX
    assert "no capacity helps" in against(found, Cause.CAPACITY_CHANGE_IN_PROGRESS)


@pytest.mark.parametrize(
    ("keys", "confidence"),
    [
        pytest.param(hot_keys(0.21, 0.2), Confidence.HIGH, id="above a fifth of the load"),
        pytest.param(hot_keys(0.20, 0.19), Confidence.LOW, id="exactly a fifth, the next as active"),
        pytest.param(hot_keys(0.15, 0.05), Confidence.HIGH, id="7: three times the second"),
        pytest.param(hot_keys(0.14, 0.05), Confidence.LOW, id="less than three times"),
        pytest.param(hot_keys(0.03, 0.01), Confidence.LOW, id="three times next to nothing"),
        pytest.param(hot_keys(1.0), Confidence.HIGH, id="the only key"),
        pytest.param(hot_keys(), Confidence.MEDIUM, id="23: an empty list proves nothing"),
    ],
)
def test_key_range_throttles_of_a_provisioned_table_are_a_hot_key(keys: HotKeys, confidence: Confidence) -> None:
    found = look(table(unit(throttles={WRITE_HOT: {ONSET: 90}}), hot=[keys]))
    assert (found.cause, found.confidence, found.targets) == (Cause.HOT_KEY, confidence, ())
    assert "customer-" not in text(found)


def test_even_access_with_key_range_throttles_is_a_moving_hot_partition() -> None:
    # 10
    found = look(table(unit(throttles={WRITE_HOT: {ONSET: 90}}), hot=[hot_keys(0.01, 0.01, 0.01)]))
    assert "no key repeats, so the hot partition moves" in text(found)


def test_an_empty_list_of_throttled_keys_does_not_clear_an_index() -> None:
    # 23
    hot = unit("by-status", throttles={WRITE_HOT: {ONSET: 90}})
    found = look(table(unit(), hot, described=INDEXED, hot=[hot_keys()]))
    assert found.cause is Cause.HOT_INDEX


# --- on demand ---------------------------------------------------------------------------------------------------


def burst(*, before: float = 100, served: float = 4000, refused: float = 2000) -> UnitMetrics:
    """An on-demand table that serves and refuses so many units a second from the onset on."""
    return unit(write={0: before, ONSET: served}, throttles={WRITE_HOT: {ONSET: refused * 60}})


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


# --- the backfill ------------------------------------------------------------------------------------------------


def flooded(*, before: float = 20, from_minute: int = ONSET, wanted: float = 600) -> UnitMetrics:
    """A provisioned table whose writes wanted jump from one minute on; 50 units a second are served."""
    return short_of_writes_from(from_minute, before=before, refused=wanted - 50)


def short_of_writes_from(minute: int, *, before: float, refused: float) -> UnitMetrics:
    return unit(
        write={0: before, minute: 50},
        provisioned={Way.WRITE: {0: 50}},
        throttles={WRITE_SHORT: {minute: refused * 60}},
    )


@pytest.mark.parametrize("described", [settings(), ON_DEMAND], ids=["provisioned", "on-demand"])
def test_a_running_backfill_that_explains_the_writes_goes_before_capacity(described: TableSettings) -> None:
    # 13
    writes = flooded() if described.billing is Billing.PROVISIONED else burst()
    found = look(table(writes, described=described, backfills=[backfill()]))
    assert (found.cause, found.confidence, found.targets, found.victims) == (
        Cause.RUNAWAY_BACKFILL,
        Confidence.HIGH,
        ("bf-7f3a",),
        ("dagy-runs-develop",),
    )
    assert any("more capacity would only feed the backfill" in item.because for item in found.rejected)


def test_a_backfill_that_floods_an_index_is_cancelled_too() -> None:
    hot = unit("by-status", throttles={WRITE_HOT: {ONSET: 40_000}})
    found = look(table(unit(), hot, described=INDEXED, backfills=[backfill()]))
    assert found.cause is Cause.RUNAWAY_BACKFILL
    assert "runaway-backfill goes first" in against(found, Cause.HOT_INDEX)


@pytest.mark.parametrize(
    ("start", "cause"),
    [
        pytest.param(43, Cause.PROVISIONED_CAPACITY, id="started three minutes after the jump"),
        pytest.param(42, Cause.RUNAWAY_BACKFILL, id="two minutes after: clocks differ"),
        pytest.param(40, Cause.RUNAWAY_BACKFILL, id="in the same minute"),
        pytest.param(25, Cause.RUNAWAY_BACKFILL, id="fifteen minutes before"),
        pytest.param(24, Cause.PROVISIONED_CAPACITY, id="sixteen minutes before"),
    ],
)
def test_a_backfill_is_guilty_only_when_the_writes_jump_at_its_start(start: float, cause: Cause) -> None:
    found = look(table(flooded(), backfills=[backfill(start=start)]))
    assert found.cause is cause
    assert cause is Cause.RUNAWAY_BACKFILL or "but writes jumped at 04:40 UTC" in against(found, Cause.RUNAWAY_BACKFILL)


@pytest.mark.parametrize(
    ("wanted", "cause"),
    [
        pytest.param(80, Cause.RUNAWAY_BACKFILL, id="the writes doubled"),
        pytest.param(79, Cause.PROVISIONED_CAPACITY, id="less than doubled"),
    ],
)
def test_a_backfill_must_explain_half_of_the_writes(wanted: float, cause: Cause) -> None:
    assert look(table(flooded(before=40, wanted=wanted), backfills=[backfill()])).cause is cause


def test_the_first_throttled_minute_is_enough_to_see_the_jump() -> None:
    found = look(table(flooded(from_minute=57), backfills=[backfill(start=56)]))
    assert (found.cause, found.confidence) == (Cause.RUNAWAY_BACKFILL, Confidence.HIGH)


def test_a_write_throttled_on_table_and_index_is_wanted_once() -> None:
    double = [
        unit(write={0: 40}, throttles={WRITE_SHORT: {ONSET: 35 * 60}}),
        unit("by-status", write={0: 40}, throttles={WRITE_SHORT: {ONSET: 35 * 60}}),
    ]
    found = look(table(*double, described=INDEXED, backfills=[backfill()]))
    assert found.cause is Cause.PROVISIONED_CAPACITY  # 40 -> 75; added blindly it would be 110


def test_a_backfill_does_not_explain_throttled_reads() -> None:
    reads = unit(
        write={0: 20, ONSET: 45},
        read={0: 40, ONSET: 100},
        throttles={(Way.READ, Throttle.PROVISIONED): {ONSET: 900}},
    )
    found = look(table(reads, backfills=[backfill()]))
    assert found.cause is Cause.PROVISIONED_CAPACITY
    assert "are writes" in against(found, Cause.RUNAWAY_BACKFILL)


@pytest.mark.parametrize(
    ("running", "tags", "guilty"),
    [
        pytest.param(backfill(environment="prod"), {}, False, id="another environment"),
        pytest.param(backfill(environment=""), {}, False, id="no environment"),
        pytest.param(backfill(environment="evelop"), {}, False, id="only the end of the environment's name"),
        pytest.param(backfill(state="ended"), {}, False, id="it has ended"),
        pytest.param(backfill(environment="prod"), {"unthrottle:environment": "prod"}, True, id="the tag says so"),
        pytest.param(backfill(), {"unthrottle:environment": "prod"}, True, id="the name goes before the tag"),
    ],
)
def test_only_a_backfill_of_the_tables_environment_can_be_guilty(
    running: Backfill, tags: dict[str, str], guilty: bool
) -> None:
    found = look(table(flooded(), backfills=[running], tags=tags))
    assert (found.cause is Cause.RUNAWAY_BACKFILL) is guilty
    assert guilty or found.cause is Cause.PROVISIONED_CAPACITY


def test_where_names_end_in_two_environments_the_longer_is_meant() -> None:
    both = [backfill("bf-short", environment="prod"), backfill("bf-long", environment="eu-prod")]
    found = look(table(flooded(), described=settings("dagy-runs-eu-prod"), backfills=both))
    assert (found.targets, found.confidence) == (("bf-long",), Confidence.HIGH)


def test_a_table_that_is_not_dagys_is_no_backfills_doing() -> None:
    found = look(table(flooded(), described=settings("orders-develop"), backfills=[backfill()]))
    assert found.cause is Cause.PROVISIONED_CAPACITY


@pytest.mark.parametrize(
    ("other", "target", "confidence"),
    [
        pytest.param(backfill("bf-other", start=10), "bf-7f3a", Confidence.HIGH, id="the other started long before"),
        pytest.param(backfill("bf-other", start=37), "bf-7f3a", Confidence.MEDIUM, id="the other is three minutes off"),
        pytest.param(backfill("bf-other", start=38, rate=2700), "bf-other", Confidence.MEDIUM, id="thrice as fast"),
        pytest.param(backfill("bf-other", start=38, rate=2699), "bf-other", Confidence.LOW, id="not thrice as fast"),
        pytest.param(backfill("bf-other", rate=900), "bf-7f3a", Confidence.LOW, id="a tie asks a person"),
    ],
)
def test_of_two_backfills_the_one_that_fits_is_guilty(other: Backfill, target: str, confidence: Confidence) -> None:
    found = look(table(flooded(), backfills=[backfill(), other]))
    assert (found.cause, found.targets, found.confidence) == (Cause.RUNAWAY_BACKFILL, (target,), confidence)


def test_a_table_throttled_before_the_backfill_started_asks_a_person() -> None:
    writes = unit(write={0: 20}, throttles={WRITE_SHORT: {25: 60, ONSET: 550 * 60}})
    found = look(table(writes, backfills=[backfill()]))
    assert (found.cause, found.confidence) == (Cause.RUNAWAY_BACKFILL, Confidence.LOW)


@pytest.mark.parametrize(
    ("throttled_from", "cause"),
    [
        pytest.param(0, Cause.RUNAWAY_BACKFILL, id="throttled from the beginning: low, a person decides"),
        pytest.param(30, Cause.PROVISIONED_CAPACITY, id="throttled only later"),
    ],
)
def test_a_backfill_older_than_the_evidence_is_never_surely_guilty(throttled_from: int, cause: Cause) -> None:
    writes = unit(write={0: 50}, throttles={WRITE_SHORT: {throttled_from: 600}})
    found = look(table(writes, backfills=[backfill(start=-30)]))
    assert found.cause is cause
    assert cause is not Cause.RUNAWAY_BACKFILL or found.confidence is Confidence.LOW


def test_an_old_backfill_is_cleared_by_a_jump_of_its_own_time() -> None:
    found = look(table(flooded(), backfills=[backfill(start=-30)]))
    assert "but writes jumped at 04:40 UTC" in against(found, Cause.RUNAWAY_BACKFILL)


def test_when_dagy_cannot_be_asked_a_person_decides_since_capacity_may_feed_a_backfill() -> None:
    found = look(table(flooded(), backfills=BackfillsUnknown(reason="it answered 503")))
    assert (found.cause, found.confidence) == (Cause.PROVISIONED_CAPACITY, Confidence.LOW)
    assert "dagy could not be asked for running backfills: it answered 503." in found.gaps
    assert "a backfill may be behind it" in text(found)


def test_without_a_dagy_to_ask_the_capacity_cause_is_a_little_less_sure() -> None:
    found = look(table(flooded(), backfills=BackfillsUnknown(reason="dagy is not configured", configured=False)))
    assert (found.cause, found.confidence) == (Cause.PROVISIONED_CAPACITY, Confidence.MEDIUM)


@pytest.mark.parametrize(
    ("rate", "confidence"),
    [
        pytest.param(900, Confidence.HIGH, id="a few units a run"),
        pytest.param(12, Confidence.HIGH, id="just enough runs"),
        pytest.param(11, Confidence.LOW, id="just too few runs"),
        pytest.param(1, Confidence.LOW, id="one run a minute cannot write that much"),
        pytest.param(0, Confidence.HIGH, id="a rate dagy does not tell"),
    ],
)
def test_a_backfill_too_slow_to_explain_the_jump_is_not_cancelled_without_a_person(
    rate: float, confidence: Confidence
) -> None:
    found = look(table(flooded(), backfills=[backfill(rate=rate)]))
    assert (found.cause, found.confidence) == (Cause.RUNAWAY_BACKFILL, confidence)


def test_a_table_of_somebody_else_does_not_need_dagy() -> None:
    unknown = BackfillsUnknown(reason="it answered 503")
    found = look(table(flooded(), described=settings("orders-develop"), backfills=unknown))
    assert (found.confidence, found.gaps) == (Confidence.HIGH, ())


def test_a_jump_no_backfill_explains_is_named_with_its_other_suspects() -> None:
    # 25
    found = look(table(flooded(), described=settings(replicas=("us-east-1",))))
    assert "no running backfill explains it" in text(found)
    assert "another Region (us-east-1)" in text(found)


def test_a_change_that_already_helps_goes_before_cancelling() -> None:
    writes = unit(
        write={0: 20, ONSET: 50},
        provisioned={Way.WRITE: {0: 50, 50: 200}},
        throttles={WRITE_SHORT: {ONSET: 9000, 55: 100}},
    )
    described = settings(capacity=replace(settings().capacity, write=200))
    assert look(table(writes, described=described, backfills=[backfill()])).cause is Cause.CAPACITY_CHANGE_IN_PROGRESS


# --- over, unknown -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "cause"),
    [
        pytest.param(55, Cause.HOT_KEY, id="in the third newest visible minute"),
        pytest.param(54, Cause.ALREADY_OVER, id="9: four visible minutes ago, split for heat"),
    ],
)
def test_it_is_over_when_three_visible_minutes_had_no_throttle(last: int, cause: Cause) -> None:
    events = points(dict.fromkeys(range(52, last + 1), 30.0))
    found = look(table(unit(throttles={WRITE_HOT: events})))
    assert found.cause is cause


def test_no_throttles_at_all_are_over_where_consumption_was_measured() -> None:
    found = look(table(unit()))
    assert (found.cause, found.confidence) == (Cause.ALREADY_OVER, Confidence.HIGH)


def test_empty_answers_are_no_evidence_and_never_health() -> None:
    # 26
    found = look(table(blind(), blind(index="by-status"), described=INDEXED))
    assert (found.cause, found.confidence) == (Cause.INCONCLUSIVE, Confidence.LOW)
    assert found.gaps[0].startswith("No evidence: neither consumed capacity nor throttles of table dagy-runs-develop")


def test_an_unmeasured_index_the_alarm_is_about_is_not_healthy() -> None:
    evidence = table(unit(), blind(index="by-status"), described=INDEXED)
    assert look(replace(evidence, alarmed_index="by-status")).cause is Cause.INCONCLUSIVE
    found = look(evidence)
    assert (found.cause, found.confidence) == (Cause.ALREADY_OVER, Confidence.MEDIUM)
    assert "No consumed capacity was read of by-status" in found.gaps[0]


@pytest.mark.parametrize(
    ("minutes_old", "cause"),
    [pytest.param(10, Cause.PROVISIONED_CAPACITY, id="at"), pytest.param(11, Cause.INCONCLUSIVE, id="above")],
)
def test_datapoints_older_than_ten_minutes_are_not_acted_on(minutes_old: int, cause: Cause) -> None:
    evidence = table(short_of_writes())
    late = replace(evidence, end=at(57) + timedelta(minutes=minutes_old))
    found = look(late)
    assert found.cause is cause
    assert cause is not Cause.INCONCLUSIVE or "11 minutes old" in found.gaps[0]


def test_throttles_without_a_reason_are_real_and_unexplained() -> None:
    found = look(table(unit(unexplained={Way.WRITE: {ONSET: 30}})))
    assert found.cause is Cause.INCONCLUSIVE
    assert "AWS counted 300 throttle events without a reason." in found.gaps


def test_throttles_without_consumption_are_still_throttles() -> None:
    lost = unit(write={}, read={}, throttles={WRITE_SHORT: series({ONSET: 30})})
    found = look(table(lost))
    assert found.cause is Cause.PROVISIONED_CAPACITY
    assert "No consumed capacity was read of dagy-runs-develop" in " ".join(found.gaps)


def test_an_index_being_built_without_throttles_says_nothing() -> None:
    # 24
    found = look(table(unit(), described=settings(indexes=[index(status="CREATING")])))
    assert found.cause is Cause.ALREADY_OVER


def test_gaps_of_the_reading_stay_in_the_diagnosis() -> None:
    assert look(table(unit(), gaps=["Tags were refused."])).gaps == ("Tags were refused.",)


def test_provisioned_capacity_is_read_every_five_minutes() -> None:
    assert every_five_minutes({0: 50}).known == (50,) * 12
    assert nothing().is_empty


def test_short_keys_are_masked_whole() -> None:
    keys = HotKeys(index=None, source="throttled keys", keys=(KeyShare(key="uk", share=0.9),))
    found = look(table(unit(throttles={WRITE_HOT: {ONSET: 90}}), hot=[keys]))
    assert "… (short key) 90 %" in text(found)


def test_an_index_that_is_described_no_more_is_still_named_by_its_throttles() -> None:
    gone = unit("dropped", throttles={WRITE_SHORT: {ONSET: 30}})
    found = look(table(unit(), gone))
    assert (found.cause, found.index) == (Cause.PROVISIONED_CAPACITY, "dropped")


def test_a_few_key_range_throttles_of_the_table_are_a_side_effect() -> None:
    mixed = unit(write={0: 50}, throttles={WRITE_HOT: {ONSET: 19}, WRITE_SHORT: {ONSET: 81}})
    found = look(table(mixed))
    assert found.cause is Cause.PROVISIONED_CAPACITY
    assert "Only 190 of 1,000 throttles" in against(found, Cause.HOT_KEY)


def test_an_index_alone_tells_that_it_is_short_but_not_what_was_wanted_of_the_table() -> None:
    short = unit("by-status", write={0: 50}, throttles={WRITE_SHORT: {ONSET: 30}})
    found = look(table(short, described=INDEXED, backfills=[backfill()]))
    assert (found.cause, found.index) == (Cause.PROVISIONED_CAPACITY, "by-status")
    assert "writes have not reached 2 times" in against(found, Cause.RUNAWAY_BACKFILL)


def test_scaling_of_an_index_without_metrics_is_believed() -> None:
    events = {WRITE_SHORT: {ONSET: 30}}
    dropped = replace(unit("by-status", throttles=events), provisioned={})
    found = look(table(unit(), dropped, described=INDEXED, activities=[scaled(58, index="by-status")]))
    assert found.cause is Cause.CAPACITY_CHANGE_IN_PROGRESS


def test_every_finding_of_a_table_comes_with_a_command_that_shows_it() -> None:

    found = look(table(flooded(), described=settings("dagy-it's-develop")))
    assert found.findings
    for finding in found.findings:
        words = shlex.split(finding.check or "")
        assert words[0] == "aws"
        assert any("dagy-it's-develop" in word for word in words)


def test_a_trace_of_provisioned_throttles_is_no_lack_of_capacity() -> None:
    mixed = unit(throttles={WRITE_HOT: {ONSET: 81}, WRITE_SHORT: {ONSET: 19}})
    found = look(table(mixed))
    assert found.cause is Cause.HOT_KEY
    assert "Only 190 of 1,000 throttles (19 %)." in against(found, Cause.PROVISIONED_CAPACITY)
