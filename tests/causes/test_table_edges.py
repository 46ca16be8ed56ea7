"""The edges of how a table is looked at: one event, one minute, one metric more or less."""

from dataclasses import replace

import pytest

from tests.causes.builders import ONSET, Steps, backfill, hot_keys, points, settings, table, unit
from tests.causes.tables import INDEXED, WRITE_HOT, WRITE_SHORT, against, look, text
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.table import BackfillsUnknown, HotKeys, KeyShare, Throttle, UnitMetrics, Way

UNKNOWN = BackfillsUnknown(reason="it answered 503")
READ_SHORT = (Way.READ, Throttle.PROVISIONED)


def wanted(steps: Steps, *, before: float = 20, served: float = 50) -> UnitMetrics:
    """So many writes a second wanted from each minute on, of which 50 are served; 20 before."""
    return unit(
        write={min(0, *steps): before} | dict.fromkeys(steps, served) if before else dict.fromkeys(steps, served),
        throttles={WRITE_SHORT: {minute: (level - served) * 60 for minute, level in steps.items() if level}},
    )


# --- Contributor Insights ----------------------------------------------------------------------------------------


def test_an_enabled_index_without_a_listed_key_is_a_gap_and_proves_nothing() -> None:
    mixed = unit("by-status", throttles={WRITE_HOT: {ONSET: 50}, WRITE_SHORT: {ONSET: 50}})
    found = look(table(unit(), mixed, described=INDEXED, hot=[hot_keys(index="by-status")]))
    assert (found.cause, found.confidence) == (Cause.HOT_INDEX, Confidence.MEDIUM)
    assert found.gaps[0].startswith(
        "Contributor Insights names no keys of index by-status: its throttled keys leave out"
    )


def test_an_index_whose_keys_are_listed_has_no_gap() -> None:
    mixed = unit("by-status", throttles={WRITE_HOT: {ONSET: 50}, WRITE_SHORT: {ONSET: 50}})
    found = look(table(unit(), mixed, described=INDEXED, hot=[hot_keys(0.9, index="by-status")]))
    assert (found.confidence, found.gaps) == (Confidence.HIGH, ())


def test_the_keys_can_be_listed_by_a_person_with_the_rules_name() -> None:
    keys = HotKeys(index=None, source="throttled", keys=(KeyShare(key="tenant-7", share=0.9),), rule="Dynamo-PKT-1")
    found = look(table(unit(throttles={WRITE_HOT: {ONSET: 90}}), hot=[keys]))
    assert found.findings[-1].check == (
        "aws cloudwatch get-insight-rule-report --rule-name Dynamo-PKT-1 --start-time 2026-08-24T04:30:00Z --end-time "
        "2026-08-24T05:00:00Z --period 60 --max-contributor-count 25 --order-by Sum"
    )


# --- one event, no event -----------------------------------------------------------------------------------------


def test_a_single_event_now_is_not_over() -> None:
    found = look(table(unit(throttles={WRITE_SHORT: points({57: 1})})))
    assert found.cause is Cause.PROVISIONED_CAPACITY
    assert against(found, Cause.ALREADY_OVER) == "1 throttles in the 3 minutes to 04:57 UTC."


@pytest.mark.parametrize(("events", "said"), [({50: 1.0}, "1"), ({}, "none")])
def test_what_is_over_says_how_much_there_was_before(events: dict[int, float], said: str) -> None:
    found = look(table(unit(throttles={WRITE_SHORT: points(events)})))
    assert found.cause is Cause.ALREADY_OVER
    assert f"in the 3 minutes to 04:57 UTC; {said} in the 10 minutes to then." in text(found)


def test_a_single_event_without_a_reason_is_a_gap() -> None:
    assert "AWS counted 1 throttle events without a reason." in look(table(unit(unexplained={Way.WRITE: {57: 1}}))).gaps


def test_a_dagy_that_does_not_answer_matters_only_where_something_is_throttled() -> None:
    assert look(table(unit(), backfills=UNKNOWN)).gaps == ()
    one = unit(throttles={WRITE_SHORT: points({57: 1})})
    assert "dagy could not be asked" in " ".join(look(table(one, backfills=UNKNOWN)).gaps)


def test_throttles_without_a_reason_count_in_the_whole() -> None:
    mixed = unit(
        write={0: 20, ONSET: 45},
        read={0: 100},
        throttles={READ_SHORT: {ONSET: 40.0}},
        unexplained={Way.WRITE: {ONSET: 60}},
    )
    found = look(table(mixed))
    assert (found.cause, found.confidence) == (Cause.PROVISIONED_CAPACITY, Confidence.MEDIUM)


def test_a_table_is_measured_when_its_reads_are() -> None:
    found = look(table(unit(write={})))
    assert (found.cause, found.confidence, found.gaps) == (Cause.ALREADY_OVER, Confidence.HIGH, ())


def test_a_unit_without_the_metric_over_all_reasons_has_its_reasons() -> None:
    bare = replace(unit(), throttle_events={})
    assert look(table(bare)).cause is Cause.ALREADY_OVER


def test_the_newest_minute_counts_in_what_was_consumed() -> None:
    found = look(table(unit(write={0: 20, 57: 48}, throttles={WRITE_SHORT: {ONSET: 300}})))
    assert "at most 48 units a second were consumed of 50 provisioned" in text(found)


def test_a_change_does_not_ease_what_was_over_before() -> None:
    """Without a throttle in the newest six minutes there is nothing that could have fallen."""
    risen = unit(
        write={0: 40}, provisioned={Way.WRITE: {0: 50, 50: 100}}, throttles={WRITE_SHORT: points({49: 900, 50: 900})}
    )
    found = look(table(risen, described=settings(capacity=replace(settings().capacity, write=100))))
    assert found.cause is Cause.ALREADY_OVER
    assert "It fits too" not in against(found, Cause.CAPACITY_CHANGE_IN_PROGRESS)


# --- the jump ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "level"),
    [
        pytest.param({50: 600, 55: 90}, "90", id="three of the five newest minutes"),
        pytest.param({50: 600, 56: 400}, "600", id="two of the five newest minutes"),
    ],
)
def test_the_load_of_now_is_the_median_of_the_five_newest_throttled_minutes(steps: Steps, level: str) -> None:
    found = look(table(wanted(steps)))
    assert f"Writes wanted rose from 20 to {level} units a second" in text(found)


def test_one_minute_before_the_work_window_is_enough_of_a_baseline() -> None:
    late = unit(write={47: 20, 48: 50}, throttles={WRITE_SHORT: {48: 550 * 60}})
    assert "Writes wanted rose from 20 to 600 units a second at 04:48 UTC" in text(look(table(late)))


def test_a_jump_in_writes_is_told_beside_throttled_reads() -> None:
    both = unit(write={0: 20, ONSET: 50}, throttles={WRITE_SHORT: {ONSET: 550 * 60}, READ_SHORT: {ONSET: 60}})
    assert "no running backfill explains it" in text(look(table(both)))


def test_how_much_of_the_writes_is_new_is_told_of_a_backfill() -> None:
    found = look(table(wanted({ONSET: 600}), backfills=[backfill()]))
    assert "rose from 20 to 600 units a second at 04:40 UTC; 96.7 % of them are new." in text(found)


def test_a_backfill_without_measured_writes_explains_nothing_of_them() -> None:
    lost = unit(write={}, throttles={WRITE_SHORT: {0: 600}})
    found = look(table(lost, backfills=[backfill(start=-30)]))
    assert (found.cause, found.confidence) == (Cause.RUNAWAY_BACKFILL, Confidence.LOW)
    assert "rose from 0 to 0 units a second at 04:00 UTC; 0 % of them are new." in text(found)


@pytest.mark.parametrize(
    ("steps", "onset"),
    [
        pytest.param({0: 20, 38: 310.5, ONSET: 600}, "04:38", id="half way up counts"),
        pytest.param({0: 20, 38: 310.4, ONSET: 600}, "04:40", id="less does not"),
        pytest.param({0: 20, ONSET: 600, 45: 20, 46: 600}, "04:40", id="one quiet minute is no end"),
        pytest.param({0: 20, ONSET: 600, 45: 20, 47: 600}, "04:47", id="two in a row are"),
    ],
)
def test_the_onset_is_the_minute_after_the_last_two_quiet_ones(steps: Steps, onset: str) -> None:
    """What is written is served, and one unit a second is refused at last: half way from 20 to 601 is 310.5."""
    written = unit(write=steps, throttles={WRITE_SHORT: {50: 60.0}})
    assert f"units a second at {onset} UTC; no running backfill" in text(look(table(written)))


def test_writes_refused_without_a_reason_were_wanted() -> None:
    reads = {READ_SHORT: {ONSET: 9000.0}}
    silent = unit(write={0: 20, ONSET: 30}, throttles=reads, unexplained={Way.WRITE: {ONSET: 33_000}})
    assert "Writes wanted of dagy-runs-develop rose from 20 to 580" in text(look(table(silent, backfills=[backfill()])))


def test_what_is_throttled_most_is_told_first_and_nothing_is_unexplained() -> None:
    index = unit("by-status", write={0: 50}, throttles={WRITE_SHORT: {ONSET: 300}})
    found = look(table(unit(write={0: 50}, throttles={WRITE_SHORT: {ONSET: 30}}), index, described=INDEXED))
    assert found.findings[0].text.startswith("3,000 write throttles of index by-status")
    assert found.findings[0].check == (
        "aws cloudwatch get-metric-statistics --namespace AWS/DynamoDB --metric-name "
        "WriteProvisionedThroughputThrottleEvents --dimensions Name=TableName,Value=dagy-runs-develop "
        "Name=GlobalSecondaryIndexName,Value=by-status --statistics Sum --period 60 --start-time 2026-08-24T04:48:00Z "
        "--end-time 2026-08-24T04:58:00Z"
    )
    assert found.gaps == ()


# --- key ranges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hot", "cause"), [(5, Cause.HOT_INDEX), (4, Cause.PROVISIONED_CAPACITY)])
def test_a_key_range_of_an_index_counts_from_a_twentieth_of_all_on(hot: float, cause: Cause) -> None:
    own = unit(write={0: 50}, throttles={WRITE_SHORT: {ONSET: 100 - hot}})
    assert look(table(own, unit("by-status", throttles={WRITE_HOT: {ONSET: hot}}), described=INDEXED)).cause is cause


@pytest.mark.parametrize(("hot", "cause"), [(5, Cause.HOT_KEY), (4, Cause.PROVISIONED_CAPACITY)])
def test_a_key_range_of_the_table_counts_from_a_twentieth_of_all_on(hot: float, cause: Cause) -> None:
    own = unit(write={0: 50}, throttles={WRITE_HOT: {ONSET: hot}, WRITE_SHORT: {ONSET: 10}})
    index = unit("by-status", write={0: 50}, throttles={WRITE_SHORT: {ONSET: 90 - hot}})
    assert look(table(own, index, described=INDEXED)).cause is cause


def test_a_fifth_of_the_tables_own_throttles_is_a_hot_key() -> None:
    mixed = unit(write={0: 50}, throttles={WRITE_HOT: {ONSET: 20}, WRITE_SHORT: {ONSET: 80}})
    assert look(table(mixed)).cause is Cause.HOT_KEY


@pytest.mark.parametrize(
    ("shares", "confidence"),
    [
        pytest.param((0.1,), Confidence.HIGH, id="the only key, with little of the load"),
        pytest.param((0.05, 0.01), Confidence.HIGH, id="a twentieth, and five times the second"),
        pytest.param((0.049, 0.01), Confidence.LOW, id="less than a twentieth"),
    ],
)
def test_a_key_stands_out_from_a_twentieth_of_the_load_on(shares: tuple[float, ...], confidence: Confidence) -> None:
    found = look(table(unit(throttles={WRITE_HOT: {ONSET: 90}}), hot=[hot_keys(*shares)]))
    assert (found.cause, found.confidence) == (Cause.HOT_KEY, confidence)


def test_three_keys_are_shown_the_most_active_first() -> None:
    found = look(table(unit(throttles={WRITE_HOT: {ONSET: 90}}), hot=[hot_keys(0.1, 0.5, 0.2, 0.05)]))
    assert (
        "(throttled keys): cu… (10 characters) 50 %, cu… (10 characters) 20 %, cu… (10 characters) 10 %; one"
        in text(found)
    )


@pytest.mark.parametrize("hot", [[], [hot_keys()]])
def test_a_hot_key_that_nobody_names_is_a_gap(hot: list[HotKeys]) -> None:
    found = look(table(unit(throttles={WRITE_HOT: {ONSET: 90}}), hot=hot))
    assert found.gaps == ("Contributor Insights names no keys of the table: which key is hot is unknown.",)
