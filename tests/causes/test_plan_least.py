"""The least that a plan frees, and numbers that are missing: what is said of them, and that nothing is made of them."""

from dataclasses import replace

import pytest

from tests.causes.builders import ONSET, backfill, details, function, pool, series, table, unit
from tests.causes.test_cap_hogs import held_by
from tests.causes.test_plan_edges import cancelled, capped, written
from unthrottle.evidence.pool import EventSource, FunctionUse, SourceKind
from unthrottle.evidence.table import Way
from unthrottle.plan import Action, CapEventSource

QUEUES = tuple(EventSource(uuid=f"q{number}", kind=SourceKind.SQS, source_arn="arn") for number in range(2))
STREAMS = tuple(
    EventSource(uuid=f"s{number}", kind=SourceKind.KINESIS, source_arn="arn", parallelization_factor=8)
    for number in range(2)
)


def test_a_cap_that_frees_one_execution_is_a_plan() -> None:
    plan = capped(held_by(details("hog", provisioned=838)), "hog")
    assert plan.action is Action.CAP_CONCURRENCY
    assert plan.effect.startswith("Frees about 1 executions for the others")


def test_one_execution_that_the_others_free_is_enough_to_leave_a_protected_hog_out() -> None:
    tagged = replace(details("a"), tags={"unthrottle:protected": "true"})
    evidence = held_by(tagged, details("b", provisioned=418), held=420)
    plan = capped(evidence, "a", "b")
    assert [change.target for change in plan.changes] == ["b"]
    assert plan.effect.startswith("Frees about 1 executions for the others")


def test_what_is_provisioned_for_one_hog_is_not_taken_from_what_another_one_shares() -> None:
    """The first one draws nothing from the pool, though it runs less than was provisioned for it."""
    evidence = pool(functions=[function("a", {0: 20, ONSET: 840}), function("b", {0: 20, ONSET: 500})],
                    candidates=[details("a", provisioned=900), details("b")])  # fmt: skip
    assert "in use 998, others use 498" in capped(evidence, "a", "b").effect


@pytest.mark.parametrize("provisioned", [None, 100])
def test_of_a_pool_in_which_nothing_was_seen_nothing_is_said_to_be_in_use(provisioned: int | None) -> None:
    hog = replace(details("hog", provisioned=provisioned), event_sources=QUEUES)
    evidence = pool(use={0: 0}, functions=[function("hog", {0: 100})], candidates=[hog])
    assert (
        "in use 0, others use 0."
        in capped(replace(evidence, account=replace(evidence.account, limit=120)), "hog").effect
    )


@pytest.mark.parametrize(
    "rows", [[], [FunctionUse(name="gone", concurrency=series({}))]], ids=["not ranked", "no datapoint"]
)
def test_a_hog_of_which_nothing_was_measured_adds_nothing_to_what_they_hold(rows: list[FunctionUse]) -> None:
    evidence = pool(functions=[function("hog", {0: 20, ONSET: 841})], candidates=[details("hog"), details("gone")])
    plan = capped(replace(evidence, ranking=(*evidence.ranking, *rows)), "hog", "gone")
    assert plan.why.startswith("hog, gone hold 841 of 1,000 executions")


def test_a_cap_of_one_leaves_each_of_two_sources_one() -> None:
    hog = replace(details("hog"), event_sources=STREAMS, tags={"unthrottle:max-concurrency": "1"})
    plan = capped(pool(functions=[function("hog", {0: 16})], candidates=[hog]), "hog")
    assert [change.after for change in plan.changes if isinstance(change, CapEventSource)] == [1, 1]


def test_queues_that_may_run_more_than_they_do_free_nothing() -> None:
    """AWS lets no queue have fewer than two, and each has one."""
    hog = replace(details("hog"), event_sources=QUEUES)
    evidence = pool(limit=4, use={0: 1, ONSET: 4}, functions=[function("hog", {0: 1, ONSET: 2})], candidates=[hog])
    plan = capped(evidence, "hog")
    assert (plan.action, plan.changes) == (Action.ESCALATE, ())


# --- a backfill ----------------------------------------------------------------------------------------------------


def test_minutes_before_a_backfill_are_counted_as_minutes() -> None:
    """58 of them began before 04:57:30, and the upper one in the middle is of the higher level."""
    assert written({0: 10, 29: 110}, start=57.5) == 110


def test_an_index_whose_throttles_are_a_minute_short_still_counts() -> None:
    own, index = unit(write={0: 10, ONSET: 110}), unit("by-status", write={0: 10})
    refused = series({ONSET: 6000})
    short = replace(
        index, throttle_events={**index.throttle_events, Way.WRITE: replace(refused, values=refused.values[:-1])}
    )
    plan = cancelled("bf-7f3a", evidence=table(own, short, backfills=[backfill()]))
    assert plan.watch is not None
    assert plan.watch.written == {"dagy-runs-develop": 110.0}
