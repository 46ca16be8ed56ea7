"""The edges of a backfill's guilt: half of the throttles, its minute, its rate, and what is said of the others."""

import pytest

from tests.causes.builders import ONSET, Steps, backfill, points, settings, table, unit
from tests.causes.tables import WRITE_SHORT, against, flooded, look, text
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.table import BackfillsUnknown, Throttle, UnitMetrics, Way

GUILTY = Cause.RUNAWAY_BACKFILL
READ_SHORT = (Way.READ, Throttle.PROVISIONED)


def mixed(writes: float, reads: float) -> UnitMetrics:
    """A jump in writes, of whose throttles so many a minute are writes and so many reads."""
    return unit(write={0: 20, ONSET: 50}, throttles={WRITE_SHORT: {ONSET: writes}, READ_SHORT: {ONSET: reads}})


@pytest.mark.parametrize(("writes", "guilty"), [(50, True), (49, False)])
def test_half_of_the_throttles_must_be_writes(writes: float, guilty: bool) -> None:
    found = look(table(mixed(writes, 100 - writes), backfills=[backfill()]))
    assert (found.cause is GUILTY) is guilty
    assert guilty or against(found, GUILTY) == "Only 490 of 1,000 throttles are writes, and a backfill writes."


def test_writes_without_a_reason_are_writes() -> None:
    silent = unit(write={0: 20, ONSET: 50}, throttles={READ_SHORT: {ONSET: 40.0}}, unexplained={Way.WRITE: {ONSET: 60}})
    assert look(table(silent, backfills=[backfill()])).cause is GUILTY


def test_a_single_event_asks_which_backfills_run() -> None:
    one = unit(throttles={WRITE_SHORT: points({57: 1})})
    assert against(look(table(one)), GUILTY) == "dagy says that no backfill of environment develop is running."
    somewhere = table(one, described=settings("dagy-orders"))
    assert against(look(somewhere), GUILTY) == "dagy says that no backfill is running."
    assert against(look(table(one, backfills=BackfillsUnknown(reason="it is down"))), GUILTY) == (
        "Whether a backfill runs is unknown: it is down."
    )


def test_backfills_of_other_environments_are_named() -> None:
    running = [backfill("bf-1", environment="prod"), backfill("bf-2", environment="uat")]
    assert against(look(table(flooded(), backfills=running)), GUILTY) == (
        "Running backfills are of other environments than the table: bf-1 (prod), bf-2 (uat)."
    )


@pytest.mark.parametrize(("start", "named"), [(60, True), (61, False)])
def test_a_backfill_that_has_not_started_when_we_look_is_none(start: float, named: bool) -> None:
    because = against(look(table(flooded(), backfills=[backfill(start=start)])), GUILTY)
    assert ("bf-7f3a started at 05:00 UTC" in because) is named


def test_what_is_written_now_is_told_of_a_backfill_that_changed_little() -> None:
    """The most of the three newest minutes."""
    steps: Steps = {0: 40, 54: 65, 55: 60, 56: 50}
    steady = unit(write=steps, throttles={WRITE_SHORT: points({57: 60})})
    assert against(look(table(steady, backfills=[backfill()])), GUILTY) == (
        "bf-7f3a started at 04:40 UTC, but writes have not reached 2 times their level of before; now they are 60 units a "
        "second."
    )


@pytest.mark.parametrize(
    ("throttled_minutes", "confidence"),
    [
        pytest.param(range(35, 38), Confidence.LOW, id="three of them"),
        pytest.param(range(36, 38), Confidence.HIGH, id="two of them"),
        pytest.param(range(20, 23), Confidence.HIGH, id="three, longer ago"),
        pytest.param(range(23, 26), Confidence.LOW, id="the first three of the quarter of an hour"),
        pytest.param(range(22, 25), Confidence.HIGH, id="two of them within it"),
    ],
)
def test_three_throttled_minutes_in_the_quarter_of_an_hour_before_it_are_a_doubt(
    throttled_minutes: range, confidence: Confidence
) -> None:
    """It begins two minutes before the start, since clocks differ."""
    events = dict.fromkeys(throttled_minutes, 5.0) | dict.fromkeys(range(ONSET, 58), 33_000.0)
    found = look(table(unit(write={0: 20, ONSET: 50}, throttles={WRITE_SHORT: points(events)}), backfills=[backfill()]))
    assert (found.cause, found.confidence) == (GUILTY, confidence)
    said = f"{len(throttled_minutes)} of the 15 minutes before bf-7f3a started were throttled already."
    assert (said in found.gaps) is (confidence is Confidence.LOW)


def test_a_rate_that_is_too_low_is_told_with_what_each_run_would_have_to_write() -> None:
    found = look(table(flooded(), backfills=[backfill(rate=10)]))
    assert found.gaps == (
        "bf-7f3a dispatches 10 runs a minute: each would have to write 3,480 units to dagy-runs-develop to explain the jump.",
    )


@pytest.mark.parametrize(
    ("start", "doubt"),
    [
        pytest.param(2, True, id="two minutes after the evidence begins: nothing was read before it"),
        pytest.param(3, False, id="three minutes: one was"),
    ],
)
def test_a_backfill_needs_a_minute_before_it_to_be_judged_by_a_jump(start: float, doubt: bool) -> None:
    writes = unit(write={0: 20, 3: 50}, throttles={WRITE_SHORT: {3: 33_000}})
    found = look(table(writes, backfills=[backfill(start=start)]))
    assert found.cause is GUILTY
    assert ("bf-7f3a started before the evidence begins; what was written before it is unknown." in found.gaps) is doubt


@pytest.mark.parametrize(("throttled_at", "cause"), [(9, GUILTY), (10, Cause.PROVISIONED_CAPACITY)])
def test_a_backfill_older_than_the_evidence_must_have_throttled_within_its_first_ten_minutes(
    throttled_at: int, cause: Cause
) -> None:
    events = {throttled_at: 60.0} | dict.fromkeys(range(50, 58), 60.0)
    found = look(table(unit(write={0: 50}, throttles={WRITE_SHORT: points(events)}), backfills=[backfill(start=-30)]))
    assert found.cause is cause
    assert cause is GUILTY or against(found, GUILTY) == "bf-7f3a started at 03:30 UTC, long before the throttling."


def test_the_level_of_an_old_backfill_is_the_most_of_the_newest_minutes() -> None:
    writes = unit(write={0: 50}, throttles={WRITE_SHORT: {0: 600, 54: 1200, 55: 900, 56: 600}})
    found = look(table(writes, backfills=[backfill(start=-30)]))
    assert "rose from 0 to 65 units a second at 04:00 UTC; 100 % of them are new." in text(found)


def test_a_seconds_difference_is_no_minute() -> None:
    """A start at 04:40:59 is the minute 04:40."""
    found = look(table(flooded(), backfills=[backfill(start=42 + 59 / 60)]))
    assert found.cause is GUILTY


def test_of_two_that_fit_it_says_why_one_is_named() -> None:
    near = look(table(flooded(), backfills=[backfill(), backfill("bf-other", start=37)]))
    assert (
        "More than one backfill fits; bf-7f3a is named because its start is nearer to the jump than that of bf-other."
        in text(near)
    )
    fast = look(table(flooded(), backfills=[backfill(), backfill("bf-other", start=38, rate=2700)]))
    assert "bf-other is named because it dispatches at least 3 times as fast as bf-7f3a." in text(fast)
    tied = look(table(flooded(), backfills=[backfill(), backfill("bf-other", start=38, rate=1000)]))
    assert "bf-other is named because it dispatches no slower than bf-7f3a, which fits as well" in text(tied)


def test_what_a_backfill_is_and_which_others_are_not_it_is_told() -> None:
    found = look(table(flooded(), backfills=[backfill(), backfill("bf-old", start=10)]))
    assert (
        "Backfill bf-7f3a of flow nightly-orders in develop, asked for by data-eng, started at 04:40 UTC and dispatches 900 "
        "runs a minute (2,700 of 40,000 so far)."
    ) in text(found)
    assert "Not the cause: bf-old started at 04:10 UTC, but writes jumped at 04:40 UTC." in text(found)


def test_a_cancelled_backfill_of_another_table_explains_the_load_while_it_ends() -> None:
    found = look(table(flooded(), backfills=[backfill(state="cancelled")]))
    assert (found.cause, found.targets) == (GUILTY, ("bf-7f3a",))


def test_a_tagged_table_takes_every_backfill_of_its_environment() -> None:
    tagged = {"unthrottle:environment": "prod"}
    running = [backfill("bf-1", environment="prod"), backfill("bf-2", environment="uat")]
    found = look(table(flooded(), described=settings("dagy-runs-x"), backfills=running, tags=tagged))
    assert found.targets == ("bf-1",)
