"""Every diagnosis leads to one plan: a bounded change with its way back, or no change and why."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.fakes import MINUTE, NOW, arn_of, series
from unthrottle.actions.planning import make_plan
from unthrottle.backfills import Backfill
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.evidence.pool import Candidate, ConcurrencyAccount, EventSource, FunctionUse, PoolEvidence, SourceKind
from unthrottle.evidence.table import (
    BackfillsUnknown,
    Billing,
    Capacity,
    RunningBackfills,
    TableEvidence,
    TableSettings,
    Throttle,
    UnitMetrics,
    Way,
)
from unthrottle.plan import Action, CancelBackfill, CapConcurrency, CapEventSource, Plan, before_and_after
from unthrottle.settings import Settings

SETTINGS = Settings()
NOTHING = series(None, None)


def diagnosis(cause: Cause, *targets: str) -> Diagnosis:
    return Diagnosis(cause=cause, confidence=Confidence.HIGH, targets=targets, victims=("victim",))


def pool(limit: int = 1000, others: float = 100.0, reserved: int = 0, **peaks: float) -> PoolEvidence:
    """A full pool: these functions at these peaks, the others beside them."""
    in_use = series(*(others + sum(peaks.values()),) * 20)
    return PoolEvidence(
        start=NOW - 20 * MINUTE,
        end=NOW,
        account=ConcurrencyAccount(limit=limit, unreserved_limit=limit - reserved, function_count=362),
        concurrency=in_use,
        unreserved_in_use=in_use,
        claimed=in_use,
        throttles=NOTHING,
        invocations=NOTHING,
        ranking=tuple(FunctionUse(name=name, concurrency=series(*(held,) * 20)) for name, held in peaks.items()),
        ranking_complete=True,
        throttled=(),
        candidates=tuple(Candidate(name=name, arn=arn_of(name), reserved=None, timeout_s=900) for name in peaks),
    )


def capped(plan: Plan) -> dict[str, int]:
    return {change.function: change.after for change in plan.changes if isinstance(change, CapConcurrency)}


@pytest.mark.parametrize(
    ("evidence", "caps"),
    [
        pytest.param(pool(hog=841.0, others=150.0), {"hog": 250}, id="one hog"),
        pytest.param(pool(a=345.0, b=502.0, others=153.0), {"a": 250, "b": 250}, id="two hogs"),
        pytest.param(pool(a=700.0, b=130.0, others=170.0), {"a": 250, "b": 130}, id="never more than it holds"),
        pytest.param(pool(hog=400.0, others=600.0), {"hog": 200}, id="slowed, not stopped, for the others' growth"),
        pytest.param(pool(limit=10, hog=8.0, others=1.0), {"hog": 2}, id="the smallest account"),
    ],
)
def test_each_hog_is_capped_within_its_share_and_leaves_the_others_room(
    evidence: PoolEvidence, caps: dict[str, int]
) -> None:
    """The cap is in the plan with its lease, its way back and both commands."""
    plan = make_plan(diagnosis(Cause.POOL_HOG, *caps), evidence, SETTINGS)

    assert (plan.action, capped(plan), plan.lease_minutes) == (Action.CAP_CONCURRENCY, caps, 120)
    assert len(plan.commands) == len(plan.way_back_commands) == len(caps)
    assert plan.watch is not None
    assert plan.watch.functions == ("victim",)


@given(
    limit=st.integers(10, 5000),
    others=st.floats(0, 1),
    peaks=st.lists(st.floats(1, 3000), min_size=1, max_size=5),
    percent=st.integers(1, 90),
)
def test_no_plan_for_a_pool_leaves_its_bounds(limit: int, others: float, peaks: list[float], percent: int) -> None:
    """Never zero, never above the share, never above what the function holds."""
    named = {f"hog{number}": peak for number, peak in enumerate(peaks)}
    plan = make_plan(
        diagnosis(Cause.POOL_HOG, *named),
        pool(limit=limit, others=others * limit, **named),  # type: ignore[arg-type]  # peaks by name
        replace(SETTINGS, max_pool_share=percent),
    )
    caps = capped(plan)

    assert set(caps) == set(named) or (plan.action is Action.ESCALATE and not plan.changes)
    for name, cap in caps.items():
        assert 1 <= cap <= max(1, limit * percent // 100)
        assert cap <= max(1, round(named[name]))


def test_a_hog_whose_use_is_unknown_is_not_capped_at_nothing() -> None:
    """A gap in its series is not a use of nothing: what a cap would free is unknown, and a person is told."""
    evidence = pool(hog=800.0)
    unknown = replace(evidence, ranking=(FunctionUse(name="hog", concurrency=series(*(None,) * 20)),))

    plan = make_plan(diagnosis(Cause.POOL_HOG, "hog"), unknown, SETTINGS)
    assert (plan.action, plan.changes) == (Action.ESCALATE, ())


def test_a_hog_fed_by_queues_is_slowed_at_the_queues() -> None:
    """Reserved concurrency would push good messages to the dead-letter queue; two queues share the cap."""
    queue = EventSource(uuid="u1", kind=SourceKind.SQS, source_arn="arn")
    evidence = pool(hog=841.0)
    fed = replace(
        evidence.candidates[0],
        event_sources=(queue, replace(queue, uuid="u2"), replace(queue, uuid="off", enabled=False)),
    )
    plan = make_plan(diagnosis(Cause.POOL_HOG, "hog"), replace(evidence, candidates=(fed,)), SETTINGS)

    assert plan.action is Action.CAP_EVENT_SOURCE
    found = [(change.uuid, change.after) for change in plan.changes if isinstance(change, CapEventSource)]
    assert found == [("u1", 125), ("u2", 125)]


def test_a_hog_without_any_knob_is_handed_to_a_person() -> None:
    """Kafka on demand has none; so has a target nobody could read."""
    kafka = EventSource(uuid="u1", kind=SourceKind.KAFKA, source_arn="arn")
    evidence = pool(hog=841.0)
    fed = replace(evidence, candidates=(replace(evidence.candidates[0], event_sources=(kafka,)),))

    for one in (fed, replace(evidence, candidates=())):
        plan = make_plan(diagnosis(Cause.POOL_HOG, "hog"), one, SETTINGS)
        assert (plan.action, plan.changes) == (Action.ESCALATE, ())


TABLE = TableSettings(
    name="dagy-runs-develop",
    arn="arn:aws:dynamodb:eu-west-1:111122223333:table/dagy-runs-develop",
    status="ACTIVE",
    billing=Billing.PROVISIONED,
    capacity=Capacity(read=5, write=10),
)


def writing(*per_minute: float | None, short: float = 1.0) -> UnitMetrics:
    causes = dict.fromkeys(Throttle, NOTHING)
    nothing = series(*(None,) * len(per_minute))
    return UnitMetrics(
        index=None,
        consumed={Way.READ: nothing, Way.WRITE: series(*per_minute)},
        provisioned=dict.fromkeys(Way, nothing),
        throttle_events=dict.fromkeys(Way, nothing),
        throttles={Way.READ: causes, Way.WRITE: {**causes, Throttle.PROVISIONED: series(short)}},
    )


def table(settings: TableSettings = TABLE, unit: UnitMetrics | None = None, **more: object) -> TableEvidence:
    found = TableEvidence(start=NOW, end=NOW, settings=settings, units=(unit or writing(600.0, 660.0),))
    return replace(found, **more)  # type: ignore[arg-type]  # any field, by name


RAISING = replace(SETTINGS, provisioned_table_action="raise-capacity")


def test_a_short_table_is_switched_or_raised_as_the_setting_says() -> None:
    """Either has a lease and a way back; a table at the quota already is handed to a person."""
    short = diagnosis(Cause.PROVISIONED_CAPACITY, TABLE.name)
    switch = make_plan(short, table(), SETTINGS)
    raised = make_plan(short, table(), RAISING)
    full = make_plan(short, table(replace(TABLE, capacity=Capacity(read=5, write=40_000))), RAISING)

    assert (switch.action, switch.lease_minutes) == (Action.SWITCH_TO_ON_DEMAND, 1440)
    assert before_and_after(switch.changes[0]) == ("provisioned", "on-demand")
    assert (raised.action, raised.lease_minutes) == (Action.RAISE_CAPACITY, 1440)
    assert before_and_after(raised.changes[0]) == ({"read": 5, "write": 10}, {"read": 5, "write": 15})
    assert (full.action, full.changes) == (Action.ESCALATE, ())


@pytest.mark.parametrize(
    ("cause", "action"),
    [
        (Cause.HOT_INDEX, Action.ESCALATE),
        (Cause.HOT_KEY, Action.ESCALATE),
        (Cause.ON_DEMAND_RAMP, Action.WAIT),
        (Cause.ON_DEMAND_CEILING, Action.ESCALATE),
        (Cause.TABLE_QUOTA, Action.ESCALATE),
        (Cause.CAPACITY_CHANGE_IN_PROGRESS, Action.WAIT),
        (Cause.POOL_GROWTH, Action.ESCALATE),
        (Cause.OVER_RESERVATION, Action.ESCALATE),
        (Cause.OWN_RESERVATION, Action.ESCALATE),
        (Cause.SWITCHED_OFF, Action.NONE),
        (Cause.REQUEST_RATE, Action.ESCALATE),
        (Cause.SCALING_RATE, Action.WAIT),
        (Cause.ALREADY_OVER, Action.NONE),
        (Cause.INCONCLUSIVE, Action.ESCALATE),
    ],
)
def test_every_other_cause_changes_nothing(cause: Cause, action: Action) -> None:
    """A hot index is never answered with capacity, whatever the settings; each has its reason in words."""
    for evidence in (table(), pool(hog=841.0)):
        for settings in (SETTINGS, RAISING):
            plan = make_plan(diagnosis(cause, "hog"), evidence, settings)
            assert (plan.action, plan.changes, plan.lease_minutes) == (action, (), None)
            assert plan.why
            assert not plan.is_change


BACKFILL = Backfill(
    id="bf-1",
    state="running",
    flow="nightly",
    environment="develop",
    requested_by="anna",
    started_at=NOW - 2 * MINUTE,
    runs_total=100,
    runs_dispatched=10,
    dispatch_rate_per_minute=60.0,
)


def test_only_the_guilty_backfill_is_cancelled_and_writes_must_fall_half_way() -> None:
    """The proof is a number taken from the jump itself: from 10 a second to 110, below 60."""
    jump = writing(600.0, 600.0, 600.0, 6600.0, 6600.0)
    both = RunningBackfills(backfills=(BACKFILL, replace(BACKFILL, id="bf-2")))
    plan = make_plan(diagnosis(Cause.RUNAWAY_BACKFILL, "bf-1"), table(unit=jump, backfills=both), SETTINGS)

    assert plan.action is Action.CANCEL_BACKFILL
    assert [change.target for change in plan.changes if isinstance(change, CancelBackfill)] == ["bf-1"]
    assert plan.watch is not None
    assert plan.watch.written == {TABLE.name: 60.0}
    assert plan.lease_minutes is None


def test_a_write_refused_by_table_and_index_is_wanted_once() -> None:
    """Counted twice, the jump would seem higher, and a backfill that still writes would seem to have stopped."""
    jump = writing(600.0, 600.0, 600.0, 600.0, 600.0)
    refused = {Way.READ: series(None), Way.WRITE: series(None, None, None, 6000.0, 6000.0)}
    both = [replace(jump, throttle_events=refused), replace(jump, index="by-status", throttle_events=refused)]
    evidence = replace(table(backfills=RunningBackfills(backfills=(BACKFILL,))), units=tuple(both))
    plan = make_plan(diagnosis(Cause.RUNAWAY_BACKFILL, "bf-1"), evidence, SETTINGS)

    assert plan.watch is not None
    assert plan.watch.written == {TABLE.name: 60.0}


def test_a_backfill_older_than_the_window_must_fall_to_half() -> None:
    """Without a time before it there is no base to fall back to."""
    old = RunningBackfills(backfills=(replace(BACKFILL, started_at=NOW - timedelta(hours=9)),))
    evidence = table(unit=writing(6600.0, None, 6600.0), backfills=old)
    plan = make_plan(diagnosis(Cause.RUNAWAY_BACKFILL, "bf-1"), evidence, SETTINGS)

    assert plan.watch is not None
    assert plan.watch.written == {TABLE.name: 55.0}


@pytest.mark.parametrize("known", [BackfillsUnknown(reason="silent"), RunningBackfills(backfills=())])
def test_a_backfill_that_is_not_on_the_list_is_not_cancelled(known: BackfillsUnknown | RunningBackfills) -> None:
    """Cancelling by a name nobody lists would be a guess."""
    plan = make_plan(diagnosis(Cause.RUNAWAY_BACKFILL, "bf-1"), table(backfills=known), SETTINGS)

    assert (plan.action, plan.changes) == (Action.ESCALATE, ())
