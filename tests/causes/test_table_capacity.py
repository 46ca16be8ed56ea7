"""A table or index short of provisioned capacity: what it looks like, and what looks like it and is not."""

from dataclasses import replace

from tests.causes.builders import (
    ONSET,
    at,
    index,
    scaled,
    settings,
    short_of_writes,
    table,
    unit,
)
from tests.causes.tables import INDEXED, ON_DEMAND, WRITE_SHORT, against, flooded, look, text
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.table import (
    Throttle,
    Way,
)


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


def test_throttles_of_some_items_of_a_batch_are_throttles_and_their_writer_is_to_be_found() -> None:
    # 14: ThrottledRequests counts a batch only where every item of it was throttled; it is not read
    found = look(table(flooded()))
    assert found.cause is Cause.PROVISIONED_CAPACITY
    assert (
        "no running backfill explains it: look for another writer. One that writes in batches may show in no "
        "ThrottledRequests."
    ) in text(found)


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
    assert (
        "The table itself has room (at most 15 of 50 write units a second); index by-status is short, which throttles the "
        "table's writes."
    ) in text(found)


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
    assert (
        "The table itself has room (at most 40 of 100 read units a second); index by-status is short, which touches reads of "
        "the index only."
    ) in text(found)


def test_spikes_of_seconds_are_capacity_and_not_a_hot_key() -> None:
    # 16
    found = look(table(short_of_writes(write={0: 10})))
    assert (found.cause, found.confidence) == (Cause.PROVISIONED_CAPACITY, Confidence.MEDIUM)
    assert "in every minute (at most 10 of 50 write units a second): spikes of seconds" in text(found)


def test_autoscaling_at_its_maximum_is_named_and_not_waited_for() -> None:
    # 3
    maxed = scaled(57, to=50, status="Failed", not_scaled=["AlreadyAtMaxCapacity"])
    found = look(table(short_of_writes(), activities=[maxed]))
    assert found.cause is Cause.PROVISIONED_CAPACITY
    assert "AlreadyAtMaxCapacity" in text(found)


def test_a_decrease_shortly_before_the_throttling_is_named() -> None:
    found = look(table(short_of_writes(), described=settings(last_decrease_at=at(30))))
    assert "The capacity was lowered at 04:30 UTC, shortly before the throttling." in text(found)


def test_only_the_decrease_of_what_is_short_is_named() -> None:
    """The table was lowered and has room; its index is short and was not."""
    short = unit("by-status", write={0: 20, ONSET: 50}, throttles={WRITE_SHORT: {ONSET: 300}})
    described = settings(indexes=[index()], last_decrease_at=at(30))
    assert "was lowered" not in text(look(table(unit(write={0: 15}), short, described=described)))
    lowered = replace(described, indexes=(replace(index(), last_decrease_at=at(31)),))
    assert "The capacity of index by-status was lowered at 04:31 UTC, shortly before the throttling." in text(
        look(table(unit(write={0: 15}), short, described=lowered))
    )


def test_consumption_that_collapses_while_throttled_is_not_the_end_of_the_load() -> None:
    # 20
    found = look(table(short_of_writes(write={0: 50, ONSET: 5})))
    assert found.cause is Cause.PROVISIONED_CAPACITY


def test_provisioned_throttles_of_a_table_described_as_on_demand_contradict_each_other() -> None:
    # 21
    found = look(table(short_of_writes(), described=ON_DEMAND))
    assert found.cause is Cause.INCONCLUSIVE
    assert "described as on-demand" in against(found, Cause.PROVISIONED_CAPACITY)


def test_an_index_that_is_described_no_more_is_still_named_by_its_throttles() -> None:
    gone = unit("dropped", throttles={WRITE_SHORT: {ONSET: 30}})
    found = look(table(unit(), gone))
    assert (found.cause, found.index) == (Cause.PROVISIONED_CAPACITY, "dropped")
