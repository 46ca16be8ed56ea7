"""A hot key of a table or an index, and what is only a side effect."""

from dataclasses import replace

import pytest

from tests.causes.builders import (
    ONSET,
    hot_keys,
    index,
    settings,
    short_of_writes,
    table,
    unit,
)
from tests.causes.tables import (
    INDEXED,
    WRITE_HOT,
    WRITE_SHORT,
    against,
    look,
    text,
)
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.table import (
    Billing,
    HotKeys,
    KeyShare,
)


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


def test_short_keys_are_masked_whole() -> None:
    keys = HotKeys(index=None, source="throttled keys", keys=(KeyShare(key="uk", share=0.9),))
    found = look(table(unit(throttles={WRITE_HOT: {ONSET: 90}}), hot=[keys]))
    assert "… (short key) 90 %" in text(found)


def test_a_few_key_range_throttles_of_the_table_are_a_side_effect() -> None:
    mixed = unit(write={0: 50}, throttles={WRITE_HOT: {ONSET: 19}, WRITE_SHORT: {ONSET: 81}})
    found = look(table(mixed))
    assert found.cause is Cause.PROVISIONED_CAPACITY
    assert "Only 190 of 1,000 throttles" in against(found, Cause.HOT_KEY)


def test_a_trace_of_provisioned_throttles_is_no_lack_of_capacity() -> None:
    mixed = unit(throttles={WRITE_HOT: {ONSET: 81}, WRITE_SHORT: {ONSET: 19}})
    found = look(table(mixed))
    assert found.cause is Cause.HOT_KEY
    assert "Only 190 of 1,000 throttles (19 %)." in against(found, Cause.PROVISIONED_CAPACITY)
