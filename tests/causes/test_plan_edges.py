"""The numbers of a plan: over which minutes they are taken, what is counted once, and what the sentences say of them."""

from dataclasses import replace

import pytest

from tests.causes.builders import (
    ONSET,
    backfill,
    details,
    function,
    hog_incident,
    index,
    pool,
    series,
    settings,
    short_of_writes,
    table,
    unit,
)
from unthrottle.actions.planning import make_plan
from unthrottle.causes import diagnose
from unthrottle.codec import from_json
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.evidence.pool import EventSource, PoolEvidence, SourceKind
from unthrottle.evidence.table import TableEvidence, Throttle, UnitMetrics, Way
from unthrottle.plan import Action, CancelBackfill, CapConcurrency, CapEventSource, Plan
from unthrottle.settings import Settings

RULES = Settings()


def planned(evidence: PoolEvidence | TableEvidence) -> Plan:
    return make_plan(diagnose(evidence, RULES, itself=frozenset()), evidence, RULES)


def capped(evidence: PoolEvidence, *hogs: str) -> Plan:
    named = Diagnosis(cause=Cause.POOL_HOG, confidence=Confidence.HIGH, targets=hogs)
    return make_plan(named, evidence, RULES)


# --- the pool ----------------------------------------------------------------------------------------------------


def test_what_a_hog_holds_and_what_is_in_use_are_the_peaks_of_the_newest_quarter_of_an_hour() -> None:
    evidence = pool(
        use={0: 100, 30: 998, 45: 950},
        functions=[function("hog", {0: 20, 30: 900, 45: 700}), function("small", {0: 3})],
        throttled={"small": {30: 100.0}},
    )
    plan = capped(evidence, "hog")
    (change,) = plan.changes
    assert isinstance(change, CapConcurrency)
    assert (change.peak, change.after) == (700, 250)
    assert plan.why == "hog holds 700 of 1,000 executions; one function may keep 25 %."
    assert plan.effect == (
        "Frees about 450 executions for the others. Limit 1,000, reserved before 0, in use 950, others use 250; the "
        "reservation itself withdraws 250 from the shared pool. Executions already running are not stopped."
    )


def test_what_is_provisioned_is_not_taken_from_what_the_others_use() -> None:
    evidence = hog_incident()
    hog, *others = evidence.candidates
    plan = capped(replace(evidence, candidates=(replace(hog, provisioned=300), *others)), hog.name)
    assert "in use 998, others use 457" in plan.effect


def test_others_never_use_less_than_nothing() -> None:
    """The two metrics are not of the same second."""
    evidence = pool(use={0: 100, ONSET: 800}, functions=[function("hog", {0: 20, ONSET: 841})])
    assert "in use 800, others use 0;" in capped(evidence, "hog").effect


def test_a_hog_that_is_not_ranked_is_not_capped() -> None:
    """What it holds is unknown, and so is what a cap would free."""
    evidence = replace(pool(use={0: 100}, functions=[function("small", {0: 3})]), candidates=(details("hog"),))
    plan = capped(evidence, "hog")
    assert (plan.action, plan.changes) == (Action.ESCALATE, ())
    assert "No cap would free anything" in plan.why


def test_a_hog_fed_by_queues_is_turned_down_there_by_equal_parts_and_withdraws_nothing() -> None:
    evidence = hog_incident()
    hog, *others = evidence.candidates
    queues = tuple(EventSource(uuid=f"u{n}", kind=SourceKind.SQS, source_arn="arn") for n in range(2))
    off = EventSource(uuid="off", kind=SourceKind.SQS, source_arn="arn", enabled=False)
    fed = replace(evidence, candidates=(replace(hog, event_sources=(*queues, off)), *others))
    plan = capped(fed, hog.name)
    assert plan.action is Action.CAP_EVENT_SOURCE
    assert "withdraws" not in plan.effect
    made = [change for change in plan.changes if isinstance(change, CapEventSource)]
    assert [(change.uuid, change.after, change.peak) for change in made] == [("u0", 125, 420), ("u1", 125, 420)]


# --- tables ------------------------------------------------------------------------------------------------------


def test_a_switch_says_what_it_costs_and_which_call_it_and_its_way_back_is() -> None:
    plan = planned(table(short_of_writes()))
    assert "About USD 0." in plan.effect
    assert plan.commands == ("aws dynamodb update-table --table-name dagy-runs-develop --billing-mode PAY_PER_REQUEST",)
    assert plan.way_back_commands == (
        (
            "aws dynamodb update-table --table-name dagy-runs-develop --billing-mode PROVISIONED --provisioned-throughput "
            "ReadCapacityUnits=100,WriteCapacityUnits=50"
        ),
    )


def test_a_cost_that_cannot_be_estimated_is_not_said() -> None:
    lost = unit(write={}, read={}, throttles={(Way.WRITE, Throttle.PROVISIONED): series({ONSET: 30})})
    assert "USD" not in planned(table(lost)).effect


def cancelled(*names: str, evidence: TableEvidence) -> Plan:
    named = Diagnosis(cause=Cause.RUNAWAY_BACKFILL, confidence=Confidence.HIGH, targets=names)
    return make_plan(named, evidence, RULES)


def written(used: dict[int, float | None], *refused: dict[int, float | None], start: float) -> float:
    """The rate that writes must fall below, from used and refused units a second; each refused is another unit's."""
    units: list[UnitMetrics] = []
    for number, events in enumerate(refused or ({},)):
        metrics = unit(None if number == 0 else f"by-{number}", write=used)
        whole = {
            **metrics.throttle_events,
            Way.WRITE: series({m: None if v is None else 60 * v for m, v in events.items()}),
        }
        units.append(replace(metrics, throttle_events=whole))
    evidence = table(*units, backfills=[backfill(start=start)], described=settings(indexes=[index("by-1")]))
    plan = cancelled("bf-7f3a", evidence=evidence)
    assert plan.watch is not None
    return plan.watch.written["dagy-runs-develop"]


@pytest.mark.parametrize(
    ("used", "refused", "start", "below"),
    [
        pytest.param({0: 10, ONSET: 110}, [], ONSET, 60, id="half way down the jump"),
        pytest.param({0: 10}, [{}, {ONSET: 100}], ONSET, 60, id="refused by an index"),
        pytest.param({0: 10}, [{ONSET: 100}, {ONSET: 100}], ONSET, 60, id="refused by both is wanted once"),
        pytest.param({0: 10, 1: 20, 2: 120}, [], 1, 65, id="its own first minute is not before it"),
        pytest.param({0: 10, 1: 20, 2: 120}, [], 2, 70, id="the upper one of two minutes before it"),
        pytest.param({0: 110}, [], -30, 55, id="nothing was read before it"),
        pytest.param({}, [], ONSET, 0, id="nothing was read at all"),
    ],
)
def test_writes_must_fall_half_way_down_the_jump(
    used: dict[int, float | None], refused: list[dict[int, float | None]], start: float, below: float
) -> None:
    assert written(used, *refused, start=start) == below


def test_without_the_tables_own_metrics_nothing_may_be_written() -> None:
    evidence = table(unit("by-1"), backfills=[backfill()])
    plan = cancelled("bf-7f3a", evidence=evidence)
    assert plan.watch is not None
    assert plan.watch.written == {"dagy-runs-develop": 0.0}


def test_of_two_backfills_the_earlier_start_divides_before_from_after() -> None:
    writes = unit(write={0: 10, 20: 60, ONSET: 110})
    evidence = table(writes, backfills=[backfill("bf-1", start=ONSET), backfill("bf-2", start=20)])
    plan = cancelled("bf-1", "bf-2", evidence=evidence)
    assert plan.watch is not None
    assert plan.watch.written == {"dagy-runs-develop": 60.0}
    assert plan.way_back.startswith(
        "None by Unthrottle: data-eng can start backfill bf-1 of nightly-orders again in dagy"
    )


def test_only_where_all_are_cancelled_already_there_is_nothing_but_to_wait() -> None:
    one, two = backfill("bf-1", state="cancelled"), backfill("bf-2")
    assert cancelled("bf-1", "bf-2", evidence=table(unit(), backfills=[one, two])).action is Action.CANCEL_BACKFILL
    assert cancelled("bf-1", evidence=table(unit(), backfills=[one, two])).action is Action.WAIT


def test_a_record_of_an_older_version_has_no_provisioned_concurrency_and_no_rate() -> None:
    cap = {"function": "f", "arn": "a", "before": None, "after": 1, "peak": 2}
    assert from_json(CapConcurrency, cap).provisioned == 0
    cancel = {"backfill_id": "b", "flow": "f", "environment": "e", "table": "t", "table_arn": "a"}
    assert from_json(CancelBackfill, cancel).dispatch_rate_per_minute == 0.0
