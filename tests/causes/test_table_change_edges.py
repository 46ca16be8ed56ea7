"""The edges of a change under way: the minute in which it counts, what it says, and what is no change at all."""

from dataclasses import replace

import pytest

from tests.causes.builders import ONSET, Steps, at, index, points, scaled, settings, short_of_writes, table, unit
from tests.causes.tables import ON_DEMAND, WRITE_HOT, WRITE_SHORT, against, look, text
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.table import ScalingActivity, UnitMetrics, Way

CHANGE, SHORT = Cause.CAPACITY_CHANGE_IN_PROGRESS, Cause.PROVISIONED_CAPACITY
RAISED = settings(capacity=replace(settings().capacity, write=100))


def had(steps: Steps, *, events: Steps | None = None, index: str | None = None) -> UnitMetrics:
    """A table or index with so much provisioned from each minute on, throttled from the onset on."""
    return unit(
        index,
        write={0: 40},
        provisioned={Way.WRITE: steps},
        throttles={WRITE_SHORT: {ONSET: 900} if events is None else events},
    )


@pytest.mark.parametrize(
    ("status", "confidence"),
    [("InProgress", Confidence.HIGH), ("Pending", Confidence.HIGH), ("Successful", Confidence.MEDIUM)],
)
def test_a_running_reaction_of_autoscaling_is_surer_than_a_finished_one(status: str, confidence: Confidence) -> None:
    found = look(table(short_of_writes(), activities=[scaled(58, status=status)]))
    assert (found.cause, found.confidence) == (CHANGE, confidence)
    assert f"Autoscaling reacted at 04:58 UTC: Setting write capacity units to 200. ({status})." in text(found)


@pytest.mark.parametrize(("minute", "cause"), [(50, CHANGE), (49, Cause.INCONCLUSIVE)])
def test_a_switch_counts_for_ten_minutes(minute: float, cause: Cause) -> None:
    found = look(table(short_of_writes(), described=replace(ON_DEMAND, on_demand_since=at(minute))))
    assert found.cause is cause


@pytest.mark.parametrize(("minute", "cause"), [(50, CHANGE), (49, SHORT)])
def test_a_running_reaction_counts_for_ten_minutes(minute: float, cause: Cause) -> None:
    assert look(table(short_of_writes(), activities=[scaled(minute, status="InProgress")])).cause is cause


def test_the_newest_reaction_is_told() -> None:
    found = look(table(short_of_writes(), activities=[scaled(57, to=90), scaled(59, to=120)]))
    assert "Autoscaling reacted at 04:59 UTC: Setting write capacity units to 120." in text(found)


def test_what_ended_before_it_helped_is_told_of_a_capacity_cause() -> None:
    """The runner-up says what was raised, or that nothing was."""
    assert against(look(table(short_of_writes())), CHANGE) == (
        "The table and its indexes are ACTIVE, and nothing raised their capacity in the last 10 minutes."
    )
    acted = look(table(short_of_writes(), activities=[scaled(52)]))
    assert against(acted, CHANGE) == (
        "Autoscaling acted at 04:52 UTC: Setting write capacity units to 200. But the throttles go on."
    )
    rose = look(table(had({0: 50, 50: 100}), described=RAISED))
    assert against(rose, CHANGE) == (
        "Write capacity of dagy-runs-develop rose from 50 to 100 units a second. But the throttles go on."
    )


def test_the_index_that_rose_is_named() -> None:
    rising = had({0: 50, 50: 100}, events={ONSET: 900, 55: 300}, index="by-status")
    found = look(table(unit(), rising, described=settings(indexes=[index(write=100)])))
    assert (found.cause, found.index) == (CHANGE, "by-status")
    assert "Write capacity of by-status rose from 50 to 100 units a second." in text(found)


def test_a_rise_shown_by_the_metric_alone_is_a_rise() -> None:
    """The description of an index may be gone, and the metric tells what it had."""
    rising = had({0: 50, 50: 100}, events={ONSET: 900, 55: 300}, index="by-status")
    assert look(table(unit(), rising)).cause is CHANGE


@pytest.mark.parametrize(("rose_at", "cause"), [(50, CHANGE), (45, SHORT)])
def test_a_rise_of_a_quarter_of_an_hour_ago_has_had_its_effect(rose_at: int, cause: Cause) -> None:
    """Provisioned capacity comes every five minutes: what is to be seen of the last ten begins up to five before."""
    rising = had({0: 50, rose_at: 100}, events={ONSET: 900, 55: 300})
    assert look(table(rising, described=RAISED)).cause is cause


@pytest.mark.parametrize(
    ("hot", "status", "cause"),
    [
        pytest.param(49, "UPDATING", CHANGE, id="less than half are of a key range"),
        pytest.param(50, "UPDATING", Cause.HOT_KEY, id="half are: no capacity helps them"),
        pytest.param(50, "ACTIVE", Cause.HOT_KEY, id="and nothing is changing"),
    ],
)
def test_a_change_is_waited_for_where_most_throttles_are_of_capacity(hot: float, status: str, cause: Cause) -> None:
    mixed = unit(write={0: 50}, throttles={WRITE_HOT: {ONSET: hot}, WRITE_SHORT: {ONSET: 100 - hot}})
    found = look(table(mixed, described=settings(status=status)))
    assert found.cause is cause
    named = [item.cause for item in found.rejected]
    assert (CHANGE in named) is (status == "UPDATING" and cause is Cause.HOT_KEY)


def test_an_on_demand_table_that_changes_is_waited_for_whatever_the_reason() -> None:
    hot = unit(write={0: 100}, throttles={WRITE_HOT: {ONSET: 90}})
    assert look(table(hot, described=replace(ON_DEMAND, status="UPDATING"))).cause is CHANGE


def test_throttles_without_a_reason_wait_for_a_change_under_way() -> None:
    found = look(table(unit(unexplained={Way.WRITE: {ONSET: 30}}), described=settings(status="UPDATING")))
    assert (found.cause, found.index) == (CHANGE, None)
    assert (
        found.findings[0].text
        == "Table dagy-runs-develop is UPDATING: until it is ACTIVE the old capacity is in force."
    )


def test_table_and_index_that_change_are_both_named() -> None:
    described = settings(status="UPDATING", indexes=[index(status="UPDATING")])
    assert "Table dagy-runs-develop is UPDATING, index by-status is UPDATING: until" in text(
        look(table(short_of_writes(), described=described))
    )


def test_an_index_that_is_being_built_is_waited_for_as_what_it_is() -> None:
    """No capacity is on its way, and the build's own metric is 0 whatever happens."""
    found = look(table(short_of_writes(), described=settings(indexes=[index(status="CREATING")])))
    assert found.cause is CHANGE
    assert found.findings[0].text == (
        "Index by-status is CREATING: no change of capacity, but one that would be in the way of one; its own metrics tell "
        "nothing of it."
    )


def without_words(activity: ScalingActivity) -> ScalingActivity:
    return replace(activity, description="Something was set.")


def test_an_activity_that_does_not_say_what_it_scaled_may_have_scaled_the_writes() -> None:
    assert look(table(short_of_writes(), activities=[without_words(scaled(58))])).cause is CHANGE


@pytest.mark.parametrize(
    ("lowered", "cause"),
    [
        pytest.param(56, SHORT, id="two minutes before the activity: it is the decrease"),
        pytest.param(60, SHORT, id="two minutes after it"),
        pytest.param(55, CHANGE, id="three minutes before"),
    ],
)
def test_a_decrease_near_an_activity_is_that_activity(lowered: float, cause: Cause) -> None:
    described = settings(last_decrease_at=at(lowered))
    assert look(table(short_of_writes(), described=described, activities=[scaled(58)])).cause is cause


@pytest.mark.parametrize(
    ("to", "cause"),
    [
        pytest.param(49, SHORT, id="less than before: it scaled in"),
        pytest.param(50, CHANGE, id="as much as before"),
    ],
)
def test_an_activity_that_sets_less_than_there_was_scaled_in(to: int, cause: Cause) -> None:
    assert look(table(short_of_writes(), activities=[scaled(58, to=to)])).cause is cause


def test_what_an_activity_found_is_what_there_was_more_than_a_minute_before_it() -> None:
    """The datapoint of its own minute may show what it set already."""
    rising = had({0: 50, 55: 100})
    found = look(table(rising, described=RAISED, activities=[scaled(55.5, to=90, status="InProgress")]))
    assert found.cause is CHANGE


def test_of_two_ways_the_larger_capacity_tells_whether_it_scaled_in() -> None:
    both = unit(
        write={0: 50},
        read={0: 40},
        provisioned={Way.WRITE: {0: 50}, Way.READ: {0: 100}},
        throttles={WRITE_SHORT: {ONSET: 300}},
    )
    activity = replace(scaled(58), description="Setting read and write capacity units to 70.")
    assert look(table(both, activities=[activity])).cause is SHORT


def test_a_raise_that_does_not_show_yet_is_not_waited_for_where_autoscaling_is_at_its_end() -> None:
    described = settings(capacity=replace(settings().capacity, write=200))
    maxed = scaled(57, to=50, status="Failed", not_scaled=["AlreadyAtMaxCapacity"])
    assert look(table(short_of_writes(), described=described, activities=[maxed])).cause is SHORT
    other = replace(maxed, not_scaled=("DecreaseLimitReached",))
    assert look(table(short_of_writes(), described=described, activities=[other])).cause is CHANGE


@pytest.mark.parametrize(
    ("minute", "way", "of", "cause"),
    [
        pytest.param(50, None, None, SHORT, id="ten minutes ago"),
        pytest.param(49, None, None, CHANGE, id="eleven minutes ago"),
        pytest.param(60 - 7 * 24 * 60, None, None, CHANGE, id="last week"),
        pytest.param(57, Way.READ, None, CHANGE, id="the reads, while writes are short"),
        pytest.param(57, Way.WRITE, None, SHORT, id="the writes, by their dimension"),
        pytest.param(57, None, "by-status", CHANGE, id="an index, while the table is short"),
    ],
)
def test_autoscaling_is_at_its_end_only_where_it_was_lately_for_what_is_short(
    minute: float, way: Way | None, of: str | None, cause: Cause
) -> None:
    """AWS lists six weeks of activities of a table, reads and writes together."""
    described = settings(capacity=replace(settings().capacity, write=200))
    maxed = scaled(minute, status="Failed", index=of, not_scaled=["AlreadyAtMaxCapacity"])
    maxed = replace(maxed, description="Attempting to scale", way=way)
    found = look(table(short_of_writes(), described=described, activities=[maxed]))
    assert found.cause is cause
    assert ("AlreadyAtMaxCapacity" in text(found)) is (cause is SHORT)


def test_what_was_scaled_is_told_by_its_dimension_before_its_words() -> None:
    assert look(table(short_of_writes(), activities=[replace(scaled(58), way=Way.READ)])).cause is SHORT
    silent = replace(without_words(scaled(58)), way=Way.WRITE)
    assert look(table(short_of_writes(), activities=[silent])).cause is CHANGE


def test_an_index_that_was_lowered_scaled_in() -> None:
    """An index has a decrease of its own; the table's says nothing of it."""
    short = unit("by-status", write={0: 50}, throttles={WRITE_SHORT: {ONSET: 300}})
    for lowered, cause in ((at(58), SHORT), (None, CHANGE)):
        described = settings(indexes=[replace(index(), last_decrease_at=lowered)], last_decrease_at=at(58))
        found = look(table(unit(), short, described=described, activities=[scaled(58, index="by-status")]))
        assert found.cause is cause


@pytest.mark.parametrize(
    ("events", "cause"),
    [
        pytest.param({57: None}, SHORT, id="the newest minute is not published yet"),
        pytest.param({57: 90}, SHORT, id="the newest minute is not whole"),
        pytest.param({56: 90, 57: 900}, SHORT, id="one low minute between high ones"),
        pytest.param({56: 600, 57: None}, CHANGE, id="two minutes are lower"),
        pytest.param({55: 90, 56: None}, CHANGE, id="they fell, and ended"),
    ],
)
def test_a_late_datapoint_is_no_fall_of_the_throttles(events: Steps, cause: Cause) -> None:
    """A missing datapoint is a gap: throttles that go on evenly are not waited out because one minute is missing."""
    rising = had({0: 50, 50: 100}, events={ONSET: 900, **events})
    assert look(table(rising, described=RAISED)).cause is cause


@pytest.mark.parametrize(("shown_at", "cause"), [(50, CHANGE), (45, SHORT)])
def test_a_raise_is_held_against_what_the_last_ten_minutes_showed(shown_at: int, cause: Cause) -> None:
    old = replace(short_of_writes(), provisioned={Way.WRITE: points({shown_at: 50}), Way.READ: points({})})
    described = settings(capacity=replace(settings().capacity, write=200))
    assert look(table(old, described=described)).cause is cause


def test_the_raised_index_is_named() -> None:
    short = unit("by-status", write={0: 50}, provisioned={Way.WRITE: {0: 50}}, throttles={WRITE_SHORT: {ONSET: 300}})
    found = look(table(unit(), short, described=settings(indexes=[index(write=80)])))
    assert "Write capacity of by-status has just been raised from 50 to 80 units a second" in text(found)


def test_key_range_throttles_of_a_raised_table_wait_for_nothing() -> None:
    hot = unit(write={0: 10}, provisioned={Way.WRITE: {0: 50}}, throttles={WRITE_HOT: {ONSET: 90}})
    described = settings(capacity=replace(settings().capacity, write=200))
    assert look(table(hot, described=described)).cause is Cause.HOT_KEY
