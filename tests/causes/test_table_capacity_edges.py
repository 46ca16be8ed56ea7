"""The edges of short capacity and of an on-demand table: how much is mostly, busy, lately, and above what it has grown to."""

from dataclasses import replace

import pytest

from tests.causes.builders import ONSET, at, hot_keys, index, settings, short_of_writes, table, unit
from tests.causes.tables import INDEXED, ON_DEMAND, WRITE_HOT, WRITE_SHORT, against, burst, look, text
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.table import Throttle, UnitMetrics, Way

SHORT, RAMP, KEY = Cause.PROVISIONED_CAPACITY, Cause.ON_DEMAND_RAMP, Cause.HOT_KEY
READ_SHORT = (Way.READ, Throttle.PROVISIONED)


# --- provisioned -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("short", "is_short"), [(20, True), (19, False)])
def test_capacity_is_short_from_a_fifth_of_the_throttles_on(short: float, is_short: bool) -> None:
    """The rest has no reason, so that nothing else claims it."""
    reads = unit(read={0: 100}, throttles={READ_SHORT: {ONSET: short}}, unexplained={Way.WRITE: {ONSET: 100 - short}})
    found = look(table(reads))
    assert (found.cause is SHORT) is is_short
    assert is_short or against(found, SHORT) == "Only 190 of 1,000 throttles (19 %)."


@pytest.mark.parametrize(("short", "confidence"), [(80, Confidence.HIGH), (79, Confidence.MEDIUM)])
def test_it_is_the_whole_story_with_four_fifths_of_the_throttles(short: float, confidence: Confidence) -> None:
    reads = unit(read={0: 100}, throttles={READ_SHORT: {ONSET: short}}, unexplained={Way.WRITE: {ONSET: 100 - short}})
    assert look(table(reads)).confidence is confidence


@pytest.mark.parametrize(("used", "confidence"), [(35, Confidence.HIGH), (34, Confidence.MEDIUM)])
def test_seven_tenths_of_the_capacity_confirm_the_reason(used: float, confidence: Confidence) -> None:
    found = look(table(short_of_writes(write={0: 20, ONSET: used})))
    assert found.confidence is confidence
    assert ("spikes of seconds" in text(found)) is (confidence is Confidence.MEDIUM)


def test_one_busy_unit_of_several_confirms_it() -> None:
    idle = unit("by-status", write={0: 5}, throttles={WRITE_SHORT: {ONSET: 30}})
    found = look(table(short_of_writes(), idle, described=INDEXED))
    assert found.confidence is Confidence.HIGH


@pytest.mark.parametrize(
    ("minute", "named"),
    [
        pytest.param(48, True, id="as the work window begins"),
        pytest.param(49, False, id="within it: throttling came first"),
        pytest.param(-12, True, id="an hour before it"),
        pytest.param(-13, False, id="longer before"),
    ],
)
def test_a_decrease_is_named_within_the_hour_before(minute: float, named: bool) -> None:
    found = look(table(short_of_writes(), described=settings(last_decrease_at=at(minute))))
    assert ("The capacity was lowered at" in text(found)) is named


def test_the_table_has_no_room_where_it_is_short_itself() -> None:
    both = [short_of_writes(), unit("by-status", write={0: 50}, throttles={WRITE_SHORT: {ONSET: 400}})]
    assert "has room" not in text(look(table(*both, described=INDEXED)))
    assert "has room" not in text(look(table(short_of_writes())))


def test_an_index_short_of_both_throttles_the_tables_writes() -> None:
    short = unit(
        "by-status", write={0: 50}, read={0: 100}, throttles={WRITE_SHORT: {ONSET: 30}, READ_SHORT: {ONSET: 30}}
    )
    assert "by-status is short, which throttles the table's writes." in text(
        look(table(unit(), short, described=INDEXED))
    )


def test_short_indexes_are_named_once_each() -> None:
    one, two = (
        unit(name, write={0: 50}, read={0: 100}, throttles={WRITE_SHORT: {ONSET: 30}, READ_SHORT: {ONSET: 20}})
        for name in ("by-day", "by-status")
    )
    found = look(table(unit(), one, two, described=settings(indexes=[index("by-day"), index()])))
    assert "index by-day, by-status is short" in text(found)


def test_capacity_is_no_runner_up_of_a_table_that_is_well_or_on_demand() -> None:
    assert SHORT not in {item.cause for item in look(table(unit())).rejected}
    on_demand = look(table(burst(), described=ON_DEMAND))
    assert SHORT not in {item.cause for item in on_demand.rejected}
    hot = look(table(unit(throttles={WRITE_HOT: {ONSET: 90}})))
    assert against(hot, SHORT) == "None of 900 throttles is by provisioned capacity."


# --- on demand ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("writes", "warm", "cause"),
    [
        pytest.param(burst(served=4000, refused=0.1), 4001, RAMP, id="a little above what it takes"),
        pytest.param(burst(served=3200, refused=900), None, RAMP, id="served four fifths of it"),
        pytest.param(burst(served=3199, refused=900), None, KEY, id="served less"),
        pytest.param(burst(served=4800, refused=1000), 10_000, RAMP, id="served six fifths of the smaller"),
        pytest.param(burst(served=4801, refused=1000), 10_000, KEY, id="served more than that"),
        pytest.param(burst(served=3200, refused=900), 10_000, RAMP, id="served four fifths of the smaller"),
        pytest.param(burst(served=3199, refused=900), 10_000, KEY, id="served less of the smaller"),
        pytest.param(burst(served=8000, refused=2001), 10_000, RAMP, id="four fifths of the larger, and above it"),
        pytest.param(burst(served=8000, refused=2000), 10_000, KEY, id="not above the larger"),
        pytest.param(burst(served=7999, refused=3000), 10_000, KEY, id="less than four fifths of the larger"),
        pytest.param(burst(served=2400, refused=600), 3000, KEY, id="not above the smaller"),
        pytest.param(burst(served=2400, refused=601), 3000, RAMP, id="above the smaller"),
    ],
)
def test_a_ramp_is_served_as_much_as_the_table_takes(writes: UnitMetrics, warm: int | None, cause: Cause) -> None:
    """Warm throughput and twice the earlier peak should agree; where they do not, the larger counts, or what was served."""
    assert look(table(writes, described=replace(ON_DEMAND, warm_write=warm))).cause is cause


def test_a_ramp_says_what_was_wanted_served_and_taken() -> None:
    found = look(table(burst(), described=replace(ON_DEMAND, warm_write=4000), hot=[hot_keys(0.01, 0.01)]))
    assert found.findings[0].text == (
        "6,000 write units a second were wanted and 4,000 served; the table takes 4,000 at once (earlier peak 100, at least "
        "4,000, warm throughput 4,000)."
    )
    assert (found.confidence, found.gaps) == (Confidence.HIGH, ())


def test_the_most_wanted_and_the_highest_earlier_minute_count() -> None:
    writes = unit(
        write={0: 1000, 20: 2100, 30: 1000, ONSET: 5000}, throttles={WRITE_HOT: {48: 60_000, 49: 180_000, 50: 60_000}}
    )
    found = look(table(writes, described=ON_DEMAND))
    assert found.findings[0].text == (
        "8,000 write units a second were wanted and 5,000 served; the table takes 4,200 at once (earlier peak 2,100, at "
        "least 4,000)."
    )


def test_the_first_minute_of_the_work_window_counts() -> None:
    writes = unit(write={0: 100, ONSET: 4000}, throttles={WRITE_HOT: {48: 180_000, 49: 60_000}})
    assert "7,000 write units a second were wanted" in text(look(table(writes, described=ON_DEMAND)))


@pytest.mark.parametrize(
    ("keys", "gap"),
    [
        pytest.param([], True, id="not enabled"),
        pytest.param([hot_keys()], True, id="no key listed"),
        pytest.param([hot_keys(0.01, 0.01)], False, id="spread"),
    ],
)
def test_keys_nobody_has_seen_make_a_ramp_less_sure(keys: list[object], gap: bool) -> None:
    found = look(table(burst(), described=ON_DEMAND, hot=keys))  # type: ignore[arg-type]  # of HotKeys
    assert found.cause is RAMP
    assert ("Contributor Insights names no keys of the table: that they are spread is inferred." in found.gaps) is gap
    assert found.confidence is (Confidence.MEDIUM if gap else Confidence.HIGH)


def test_an_earlier_peak_nobody_has_seen_makes_a_ramp_less_sure() -> None:
    late = unit(write={48: 4000}, throttles={WRITE_HOT: {48: 120_000}})
    found = look(table(late, described=ON_DEMAND, hot=[hot_keys(0.01, 0.01)]))
    assert (found.cause, found.confidence) == (RAMP, Confidence.MEDIUM)
    assert "earlier peak unknown" in text(found)
    assert found.gaps == ("The peak before the load rose is not within the evidence.",)


def test_a_ramp_by_one_key_is_a_hot_key_with_its_share() -> None:
    found = look(table(burst(), described=ON_DEMAND, hot=[hot_keys(0.1, 0.7, 0.05)]))
    assert found.cause is KEY
    assert against(found, RAMP).endswith("but one key has 70 % of the load.")


def test_a_hot_index_of_an_on_demand_table_is_no_ramp_of_the_table() -> None:
    hot = unit("by-status", throttles={WRITE_HOT: {ONSET: 90}})
    found = look(table(burst(served=5000, refused=0), hot, described=replace(INDEXED, billing=ON_DEMAND.billing)))
    assert found.cause is Cause.HOT_INDEX
    assert RAMP not in {item.cause for item in found.rejected}


@pytest.mark.parametrize(
    ("unit_of", "limit", "of_index", "said", "confidence"),
    [
        pytest.param(
            None, 500, 70, "The table reached its maximum of 500 units a second", Confidence.HIGH, id="the table's"
        ),
        pytest.param(
            None,
            None,
            70,
            "The table reached a maximum whose number was not read",
            Confidence.MEDIUM,
            id="not described",
        ),
        pytest.param(
            "by-status",
            500,
            70,
            "Index by-status reached its maximum of 70 units a second",
            Confidence.HIGH,
            id="an index's own",
        ),
        pytest.param(
            "by-status",
            500,
            None,
            "Index by-status reached a maximum whose number was not read",
            Confidence.MEDIUM,
            id="an index's, not described: the table's is not its",
        ),
        pytest.param(
            "dropped",
            500,
            70,
            "Index dropped reached a maximum whose number was not read",
            Confidence.MEDIUM,
            id="an index that is described no more",
        ),
    ],
)
def test_whose_maximum_was_reached_is_told(
    unit_of: str | None, limit: int | None, of_index: int | None, said: str, confidence: Confidence
) -> None:
    limited = unit(unit_of, throttles={(Way.WRITE, Throttle.MAX_ON_DEMAND): {ONSET: 100}})
    units = [limited] if unit_of is None else [unit(), limited]
    own = replace(index(), max_on_demand_write=of_index)
    described = replace(ON_DEMAND, indexes=(own,), max_on_demand_write=limit)
    found = look(table(*units, described=described))
    assert (found.cause, found.confidence, found.index) == (Cause.ON_DEMAND_CEILING, confidence, unit_of)
    assert said in text(found)


def test_the_maximum_of_reads_is_not_that_of_writes() -> None:
    limited = unit(throttles={(Way.READ, Throttle.MAX_ON_DEMAND): {ONSET: 100}})
    described = replace(ON_DEMAND, max_on_demand_write=500, max_on_demand_read=900)
    assert "its maximum of 900 units a second" in text(look(table(limited, described=described)))
