"""A table of next to nothing, and minutes that were not measured: each threshold of a jump, a ramp and a backfill."""

from dataclasses import replace

import pytest

from tests.causes.builders import ONSET, Steps, backfill, hot_keys, index, points, scaled, series, settings, table, unit
from tests.causes.tables import INDEXED, ON_DEMAND, WRITE_HOT, WRITE_SHORT, against, burst, flooded, look, text
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.table import OtherWriters, Throttle, UnitMetrics, Way

GUILTY, CHANGE = Cause.RUNAWAY_BACKFILL, Cause.CAPACITY_CHANGE_IN_PROGRESS
READ_SHORT = (Way.READ, Throttle.PROVISIONED)
READ_HOT = (Way.READ, Throttle.KEY_RANGE)


# --- what is wanted of a table -------------------------------------------------------------------------------------


def test_the_new_part_of_next_to_nothing_is_told() -> None:
    tiny = unit(write={0: 0.25, ONSET: 0.5}, throttles={WRITE_SHORT: {ONSET: 30}})
    found = look(table(tiny, backfills=[backfill()]))
    assert "rose from 0.2 to 1 units a second at 04:40 UTC; 75 % of them are new." in text(found)


def test_one_refusal_in_a_minute_makes_it_a_minute_of_now() -> None:
    """Of the newest minutes those count in which something was refused, here one."""
    last = unit(write={0: 20, 57: 600}, throttles={WRITE_SHORT: points({57: 1})})
    assert "Writes wanted rose from 20 to 600 units a second at 04:57 UTC" in text(look(table(last)))


def test_a_newest_minute_whose_throttles_are_late_does_not_hide_the_jump() -> None:
    late = unit(write={0: 20, ONSET: 50}, throttles={WRITE_SHORT: {ONSET: 33_000, 57: None}})
    assert "Writes wanted rose from 20 to 600 units a second at 04:40 UTC" in text(look(table(late)))


def test_where_nothing_is_written_nothing_jumped() -> None:
    silent = unit(write={0: 0}, throttles={WRITE_SHORT: points({20: 60}), READ_SHORT: {ONSET: 90}})
    found = look(table(silent, backfills=[backfill()]))
    assert "rose" not in text(found)
    written = {(Way.WRITE, Throttle.PROVISIONED): points({50: 1})}
    quiet = unit(write={0: 0}, throttles={**written, READ_SHORT: {ONSET: 90}})
    assert "rose" not in text(look(table(quiet)))


def test_a_single_refusal_that_was_the_last_one_has_eased() -> None:
    """It is over; that the capacity had been raised is told of the runner-up."""
    risen = unit(write={0: 40}, provisioned={Way.WRITE: {0: 50, 50: 100}}, throttles={WRITE_SHORT: points({54: 1})})
    found = look(table(risen, described=settings(capacity=replace(settings().capacity, write=100))))
    assert found.cause is Cause.ALREADY_OVER
    assert against(found, CHANGE) == (
        "It fits too (Write capacity of dagy-runs-develop rose from 50 to 100 units a second. The throttles fell to at most "
        "two thirds within 3 minutes), but already-over goes first: nothing is throttled any more."
    )


def test_a_unit_without_the_metric_over_all_reasons_has_no_unexplained_events() -> None:
    assert look(table(replace(unit(), throttle_events={}))).gaps == ()


# --- a backfill ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "rate", "confidence"),
    [
        pytest.param(570, 11, Confidence.HIGH, id="3,000 units for each run"),
        pytest.param(570.1, 11, Confidence.LOW, id="more than 3,000 for each"),
        pytest.param(570, 0.0002, Confidence.LOW, id="one run in three days"),
        pytest.param(570, 0, Confidence.HIGH, id="a rate that dagy does not tell"),
    ],
)
def test_a_run_can_cause_so_many_writes_and_no_more(wanted: float, rate: float, confidence: Confidence) -> None:
    found = look(table(flooded(wanted=wanted), backfills=[backfill(rate=rate)]))
    assert (found.cause, found.confidence) == (GUILTY, confidence)


def test_one_event_makes_a_minute_a_throttled_one() -> None:
    events = dict.fromkeys(range(35, 38), 1.0) | dict.fromkeys(range(ONSET, 58), 33_000.0)
    found = look(table(unit(write={0: 20, ONSET: 50}, throttles={WRITE_SHORT: points(events)}), backfills=[backfill()]))
    assert found.gaps == ("3 of the 15 minutes before bf-7f3a started were throttled already.",)


def test_writes_that_are_not_measured_any_more_are_told_as_none() -> None:
    lost = unit(write={0: 40, 50: None}, throttles={WRITE_SHORT: points({57: 60})})
    assert against(look(table(lost, backfills=[backfill()])), GUILTY).endswith("now they are 0 units a second.")


@pytest.mark.parametrize(
    ("jumped", "cause"),
    [
        pytest.param(17, GUILTY, id="a quarter of an hour after its start"),
        pytest.param(18, Cause.PROVISIONED_CAPACITY, id="a minute later"),
    ],
)
def test_a_jump_within_a_quarter_of_an_hour_may_be_of_a_backfill_older_than_the_evidence(
    jumped: int, cause: Cause
) -> None:
    """It started in minute 2, and nothing of before is known; most of the hour was not measured."""
    writes = unit(
        write={0: 20, jumped: 600, jumped + 3: None, 48: 600},
        throttles={WRITE_SHORT: points({5: 60} | dict.fromkeys(range(48, 58), 60))},
    )
    found = look(table(writes, backfills=[backfill(start=2)]))
    assert found.cause is cause
    assert cause is GUILTY or against(found, GUILTY) == "bf-7f3a started at 04:02 UTC, but writes jumped at 04:18 UTC."


def test_of_three_that_fit_the_two_fastest_are_told_apart() -> None:
    running = [backfill(), backfill("bf-fast", start=39, rate=3000), backfill("bf-slow", start=39, rate=100)]
    found = look(table(flooded(), backfills=running))
    assert (found.targets, found.confidence) == (("bf-fast",), Confidence.MEDIUM)


def test_two_that_started_together_are_not_told_apart_by_their_start() -> None:
    """Both two minutes before the jump: four minutes in all, but no difference."""
    found = look(table(flooded(), backfills=[backfill(start=38), backfill("bf-other", start=38, rate=1000)]))
    assert (found.targets, found.confidence) == (("bf-other",), Confidence.LOW)


# --- on demand -----------------------------------------------------------------------------------------------------


def test_a_burst_of_reads_is_held_against_12_000_units() -> None:
    reads = unit(read={0: 100, ONSET: 12_000}, throttles={READ_HOT: {ONSET: 60_000}})
    found = look(table(reads, described=ON_DEMAND))
    assert found.cause is Cause.ON_DEMAND_RAMP
    assert "13,000 read units a second were wanted and 12,000 served" in text(found)
    assert "takes 12,000 at once (earlier peak 100, at least 12,000)" in text(found)


def test_what_a_table_takes_at_once_is_no_ramp_yet() -> None:
    found = look(table(burst(served=3500, refused=500), described=ON_DEMAND))
    assert against(found, Cause.ON_DEMAND_RAMP).endswith("at least 4,000): not above it.")


def test_a_table_whose_use_was_not_measured_wanted_nothing_that_is_known() -> None:
    lost = unit(write={}, throttles={WRITE_HOT: {ONSET: 60}})
    because = against(look(table(lost, described=ON_DEMAND)), Cause.ON_DEMAND_RAMP)
    assert because.startswith("0 write units a second were wanted and 0 served")


def test_a_ramp_whose_earlier_peak_is_unknown_one_way_is_less_sure() -> None:
    both = unit(
        write={0: 100, ONSET: 4000},
        read={48: 12_000},
        throttles={WRITE_HOT: {ONSET: 120_000}, READ_HOT: {48: 60_000}},
    )
    found = look(table(both, described=ON_DEMAND, hot=[hot_keys(0.01, 0.01)]))
    assert (found.cause, found.confidence) == (Cause.ON_DEMAND_RAMP, Confidence.MEDIUM)
    assert "The peak before the load rose is not within the evidence." in found.gaps
    assert (found.findings[0].check or "").endswith("--start-time 2026-08-24T04:00:00Z --end-time 2026-08-24T04:58:00Z")


def test_a_quota_is_told_with_what_it_is_unless_it_was_raised() -> None:
    events = {(Way.WRITE, Throttle.ACCOUNT_LIMIT): {ONSET: 100}}
    assert "L-AB614373: 40,000 units a second unless" in text(look(table(unit(throttles=events), described=ON_DEMAND)))


# --- changes of capacity -------------------------------------------------------------------------------------------


def test_the_newest_look_of_autoscaling_at_its_maximum_is_told() -> None:
    stuck = [scaled(minute, not_scaled=["AlreadyAtMaxCapacity"]) for minute in (52, 56)]
    short = unit(write={0: 50}, throttles={WRITE_SHORT: {ONSET: 300}})
    assert "it found its target at the maximum at 04:56 UTC" in text(look(table(short, activities=stuck)))


@pytest.mark.parametrize(("first", "then", "is_raise"), [(200, 50, True), (50, 200, False)])
def test_autoscaling_is_held_against_what_was_provisioned_just_before(
    first: float, then: float, *, is_raise: bool
) -> None:
    """A target of 100 is a raise from 50 and a scale-in from 200."""
    had = unit(write={0: 50}, provisioned={Way.WRITE: {0: first, 55: then}}, throttles={WRITE_SHORT: {ONSET: 900}})
    found = look(table(had, activities=[scaled(58, to=100)]))
    assert ("Autoscaling reacted at 04:58 UTC" in text(found)) is is_raise


@pytest.mark.parametrize(("published", "cause"), [(45, CHANGE), (44, Cause.PROVISIONED_CAPACITY)])
def test_a_rise_is_looked_for_in_a_quarter_of_an_hour(published: int, cause: Cause) -> None:
    """Of capacity that is published every five minutes, at whatever minute."""
    rising = unit(write={0: 40}, throttles={WRITE_SHORT: {ONSET: 900, 55: 300}})
    rising.provisioned[Way.WRITE] = points({published: 50, 50: 100, 55: 100})
    described = settings(capacity=replace(settings().capacity, write=100))
    assert look(table(rising, described=described)).cause is cause


# --- other writers -------------------------------------------------------------------------------------------------


def scheduled(steps: Steps) -> str:
    rows = series({minute: None if value is None else 60 * value for minute, value in steps.items()})
    others = OtherWriters(schedules_table="dagy-schedules-develop", schedules=rows)
    found = look(replace(table(flooded()), writers=others))
    return found.findings[0].text if found.writer is not None else ""


def test_a_scheduler_whose_writes_are_not_measured_now_is_not_named() -> None:
    assert "rose with it" in scheduled({0: 0.1, ONSET: 5})
    assert scheduled({0: 0.1, ONSET: 5, 50: None}) == ""


def test_the_middle_of_a_schedulers_rise_is_of_the_minutes_before_it() -> None:
    assert "from 50 to 100 consumed units a second at 04:38 UTC" in scheduled({38: 50, ONSET: 100})


# --- runners-up ----------------------------------------------------------------------------------------------------


def test_a_runner_up_is_told_with_what_was_seen_of_it() -> None:
    hot = unit("by-status", throttles={WRITE_HOT: {ONSET: 90}})
    found = look(table(unit(throttles={WRITE_HOT: {ONSET: 90}}), hot, described=INDEXED))
    assert found.cause is Cause.HOT_INDEX
    assert against(found, Cause.HOT_KEY).startswith(
        "It fits too (900 write throttles of table dagy-runs-develop by KeyRange"
    )


def test_an_index_nobody_describes_has_no_capacity() -> None:
    lost: UnitMetrics = unit("gone", write={0: 40}, throttles={WRITE_SHORT: {ONSET: 900}})
    assert "provisioned, " not in text(look(table(unit(), lost, described=settings(indexes=[index()]))))
