"""A running backfill and the jump in writes: guilty, not guilty, and not to be told."""

from dataclasses import replace

import pytest

from tests.causes.builders import (
    ONSET,
    backfill,
    settings,
    table,
    unit,
)
from tests.causes.tables import (
    INDEXED,
    ON_DEMAND,
    WRITE_HOT,
    WRITE_SHORT,
    against,
    burst,
    flooded,
    look,
    text,
)
from unthrottle.backfills import Backfill
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.table import (
    BackfillsUnknown,
    Billing,
    TableSettings,
    Throttle,
    Way,
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


@pytest.mark.parametrize(
    ("name", "tag", "running", "confidence"),
    [
        pytest.param("dagy-runs-eu-prod", None, "prod", None, id="eu-prod is not prod"),
        pytest.param("dagy-runs-eu-prod", "eu-prod", "prod", None, id="nor by its tag"),
        pytest.param("dagy-runs-archive", "prod", "prod", Confidence.HIGH, id="the tag of a name that says another"),
        pytest.param("dagy-runs", "prod", "prod", Confidence.HIGH, id="the tag of a name that says none"),
        pytest.param("dagy-runs", "prod", "develop", None, id="of another environment than the tag's"),
        pytest.param("dagy-new-thing-eu-prod", "eu-prod", "eu-prod", Confidence.HIGH, id="the tag of another name"),
        pytest.param("dagy-new-thing-eu-prod", None, "prod", Confidence.LOW, id="nothing says it: a person decides"),
        pytest.param("dagy-new-thing-prod", None, "prod", Confidence.LOW, id="the end of another name says nothing"),
    ],
)
def test_a_tables_environment_is_matched_as_a_whole(
    name: str, tag: str | None, running: str, confidence: Confidence | None
) -> None:
    """A backfill of prod is not cancelled for a table of eu-prod; where the environment is unknown a person is asked."""
    tags = {} if tag is None else {"unthrottle:environment": tag}
    one = backfill(environment=running)
    found = look(table(flooded(), described=settings(name), backfills=[one], tags=tags))
    if confidence is None:
        assert found.cause is Cause.PROVISIONED_CAPACITY
        assert f"are of other environments than the table: bf-7f3a ({running})" in against(
            found, Cause.RUNAWAY_BACKFILL
        )
    else:
        assert (found.cause, found.confidence) == (Cause.RUNAWAY_BACKFILL, confidence)


def test_of_a_table_of_an_unknown_environment_it_is_said_why_and_only_what_began_with_the_jump_counts() -> None:
    described = settings("dagy-new-thing")
    found = look(table(flooded(), described=described, backfills=[backfill(rate=1)]))
    assert found.gaps[0].startswith(
        "Which environment dagy-new-thing is of is unknown: its name does not say, and it has no tag "
        "unthrottle:environment. bf-7f3a dispatches 1 runs a minute"
    )
    early = look(table(flooded(), described=described, backfills=[backfill(start=20)]))
    assert early.cause is Cause.PROVISIONED_CAPACITY


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


def test_an_index_alone_tells_that_it_is_short_but_not_what_was_wanted_of_the_table() -> None:
    short = unit("by-status", write={0: 50}, throttles={WRITE_SHORT: {ONSET: 30}})
    found = look(table(short, described=INDEXED, backfills=[backfill()]))
    assert (found.cause, found.index) == (Cause.PROVISIONED_CAPACITY, "by-status")
    assert "writes have not reached 2 times" in against(found, Cause.RUNAWAY_BACKFILL)
