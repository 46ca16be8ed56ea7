"""The worked cases of docs/diagnosis.md about tables: what is seen, the cause, and the action. D7 is case 7."""

import shlex
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.causes.builders import (
    ONSET,
    at,
    backfill,
    hot_keys,
    index,
    points,
    scaled,
    series,
    settings,
    short_of_writes,
    table,
    unit,
)
from unthrottle.actions.planning import make_plan
from unthrottle.causes import diagnose
from unthrottle.diagnosis import Cause
from unthrottle.evidence.table import (
    Billing,
    BulkOperation,
    OtherWriters,
    ScalingTarget,
    TableEvidence,
    Throttle,
    UnitMetrics,
    Way,
)
from unthrottle.plan import Action, RaiseCapacity
from unthrottle.settings import Settings

SHORT = (Way.WRITE, Throttle.PROVISIONED)
HOT = (Way.WRITE, Throttle.KEY_RANGE)
INDEXED = settings(indexes=[index()])
ON_DEMAND = settings(billing=Billing.ON_DEMAND)
SWITCH = Action.SWITCH_TO_ON_DEMAND
LATELY = at(60) - timedelta(hours=2)

MAXED = scaled(57, to=50, status="Failed", not_scaled=["AlreadyAtMaxCapacity"])
RISEN = unit(write={0: 40}, provisioned={Way.WRITE: {0: 50, 50: 100}}, throttles={SHORT: {ONSET: 900, 55: 300}})
PULLED_BACK = unit(write={0: 40}, provisioned={Way.WRITE: {0: 50, 50: 100, 56: 50}}, throttles={SHORT: {ONSET: 900}})
INDEX_SHORT = unit("by-status", write={0: 20, ONSET: 50}, throttles={SHORT: {ONSET: 300}})
INDEX_READS = unit("by-status", read={0: 40, ONSET: 100}, throttles={(Way.READ, Throttle.PROVISIONED): {ONSET: 60}})
HOT_INDEX = unit("by-status", throttles={HOT: {ONSET: 90}})
HOT_TABLE = unit(write={0: 10}, throttles={HOT: {ONSET: 90}})
BURST = unit(write={0: 100, ONSET: 4000}, throttles={HOT: {ONSET: 120_000}})
ELSEWHERE = OtherWriters(
    customer=series({0: 900, ONSET: 300}), replicated=series({0: 300, ONSET: 2700})
)  # Sums of a minute
FLOOD = unit(write={0: 20, ONSET: 50}, provisioned={Way.WRITE: {0: 50}}, throttles={SHORT: {ONSET: 33_000}})


def limited(reason: Throttle) -> UnitMetrics:
    return unit(write={0: 20, ONSET: 40_000}, throttles={(Way.WRITE, reason): {ONSET: 100}})


def switched(times: int) -> TableEvidence:
    described = settings(on_demand_since=LATELY)
    return replace(table(short_of_writes(), described=described), switches=(LATELY,) * times)


CASES = [
    pytest.param(table(short_of_writes()), Cause.PROVISIONED_CAPACITY, SWITCH, id="D1 D2 D14 D19 short of writes"),
    pytest.param(
        table(short_of_writes(), activities=[MAXED]), Cause.PROVISIONED_CAPACITY, SWITCH, id="D3 autoscaling maxed"
    ),
    pytest.param(
        table(RISEN, described=settings(capacity=replace(settings().capacity, write=100))),
        Cause.CAPACITY_CHANGE_IN_PROGRESS,
        Action.WAIT,
        id="D4 autoscaling reacts, throttles fall",
    ),
    pytest.param(
        table(unit(write={0: 15}), INDEX_SHORT, described=INDEXED),
        Cause.PROVISIONED_CAPACITY,
        SWITCH,
        id="D5 the index is short",
    ),
    pytest.param(table(unit(), HOT_INDEX, described=INDEXED), Cause.HOT_INDEX, Action.ESCALATE, id="D6 a hot index"),
    pytest.param(table(HOT_TABLE, hot=[hot_keys(0.15, 0.05)]), Cause.HOT_KEY, Action.ESCALATE, id="D7 a hot key"),
    pytest.param(
        table(BURST, described=ON_DEMAND, hot=[hot_keys(0.01, 0.01)]),
        Cause.ON_DEMAND_RAMP,
        Action.WAIT,
        id="D8 a ramp",
    ),
    pytest.param(
        table(unit(throttles={HOT: points({52: 30, 53: 30, 54: 30})})),
        Cause.ALREADY_OVER,
        Action.NONE,
        id="D9 split for heat, and over",
    ),
    pytest.param(
        table(HOT_TABLE, hot=[hot_keys(0.01, 0.01, 0.01)]),
        Cause.HOT_KEY,
        Action.ESCALATE,
        id="D10 a moving hot partition, no backfill",
    ),
    pytest.param(
        table(BURST, described=ON_DEMAND, hot=[hot_keys(0.01, 0.01, 0.01)], backfills=[backfill()]),
        Cause.RUNAWAY_BACKFILL,
        Action.CANCEL_BACKFILL,
        id="D10 a moving hot partition, by a backfill",
    ),
    pytest.param(
        table(limited(Throttle.MAX_ON_DEMAND), described=replace(ON_DEMAND, max_on_demand_write=500)),
        Cause.ON_DEMAND_CEILING,
        Action.ESCALATE,
        id="D11 its own maximum",
    ),
    pytest.param(
        table(limited(Throttle.ACCOUNT_LIMIT), described=ON_DEMAND),
        Cause.TABLE_QUOTA,
        Action.ESCALATE,
        id="D12 the quota",
    ),
    pytest.param(
        table(FLOOD, backfills=[backfill()]),
        Cause.RUNAWAY_BACKFILL,
        Action.CANCEL_BACKFILL,
        id="D13 a runaway writer",
    ),
    pytest.param(
        table(unit(), INDEX_READS, described=INDEXED),
        Cause.PROVISIONED_CAPACITY,
        SWITCH,
        id="D15 reads of the index are short",
    ),
    pytest.param(table(short_of_writes(write={0: 10})), Cause.PROVISIONED_CAPACITY, SWITCH, id="D16 spikes of seconds"),
    pytest.param(
        table(short_of_writes(), described=replace(ON_DEMAND, status="UPDATING")),
        Cause.CAPACITY_CHANGE_IN_PROGRESS,
        Action.WAIT,
        id="D17 a switch under way",
    ),
    pytest.param(switched(3), Cause.PROVISIONED_CAPACITY, Action.RAISE_CAPACITY, id="D18 the switches are used up"),
    pytest.param(
        table(short_of_writes(write={0: 50, ONSET: 5})),
        Cause.PROVISIONED_CAPACITY,
        SWITCH,
        id="D20 consumption collapsed while throttled",
    ),
    pytest.param(
        table(HOT_TABLE, described=ON_DEMAND, hot=[hot_keys(0.8, 0.05)]),
        Cause.HOT_KEY,
        Action.ESCALATE,
        id="D21 the callers' error says provisioned, the metrics by reason a key range",
    ),
    pytest.param(
        table(short_of_writes(), described=ON_DEMAND),
        Cause.INCONCLUSIVE,
        Action.ESCALATE,
        id="D21 even the metrics say provisioned of an on-demand table",
    ),
    pytest.param(
        table(PULLED_BACK, described=settings(last_decrease_at=at(56)), activities=[scaled(56, to=50)]),
        Cause.PROVISIONED_CAPACITY,
        SWITCH,
        id="D22 a raise was pulled back",
    ),
    pytest.param(
        table(unit(), HOT_INDEX, described=INDEXED, hot=[hot_keys()]),
        Cause.HOT_INDEX,
        Action.ESCALATE,
        id="D23 no throttled key is listed",
    ),
    pytest.param(
        table(unit(), described=settings(indexes=[index(status="CREATING")])),
        Cause.ALREADY_OVER,
        Action.NONE,
        id="D24 an index is being built",
    ),
    pytest.param(
        table(short_of_writes(), described=settings(indexes=[index(status="CREATING")])),
        Cause.CAPACITY_CHANGE_IN_PROGRESS,
        Action.WAIT,
        id="D24 an index is being built, and the table is throttled",
    ),
    pytest.param(
        table(FLOOD, described=settings(replicas=("us-east-1",))),
        Cause.PROVISIONED_CAPACITY,
        Action.RAISE_CAPACITY,
        id="a jump of a global table, by nobody that can be told: no switch of the replicas",
    ),
    pytest.param(
        replace(table(FLOOD, described=settings(replicas=("us-east-1",))), writers=ELSEWHERE),
        Cause.PROVISIONED_CAPACITY,
        Action.ESCALATE,
        id="D25 a writer in another Region",
    ),
    pytest.param(
        replace(
            table(FLOOD),
            writers=OtherWriters(bulk=(BulkOperation(arn="arn:aws:dynamodb:bulk", started_at=at(ONSET)),)),
        ),
        Cause.PROVISIONED_CAPACITY,
        Action.ESCALATE,
        id="D13 a runaway writer: a bulk operation",
    ),
    pytest.param(table(unit(write={}, read={})), Cause.INCONCLUSIVE, Action.ESCALATE, id="D26 every answer is empty"),
    pytest.param(
        table(short_of_writes(), INDEX_SHORT, described=INDEXED),
        Cause.PROVISIONED_CAPACITY,
        SWITCH,
        id="D28 table and index are short",
    ),
]


@pytest.mark.parametrize(("evidence", "cause", "action"), CASES)
def test_what_is_seen_of_a_table_leads_to_its_cause_and_its_action(
    evidence: TableEvidence, cause: Cause, action: Action
) -> None:
    rules = Settings()
    found = diagnose(evidence, rules, itself=frozenset())
    plan = make_plan(found, evidence, rules)
    assert (found.cause, plan.action) == (cause, action)
    assert bool(plan.changes) is (action in {SWITCH, Action.RAISE_CAPACITY, Action.CANCEL_BACKFILL})


@pytest.mark.parametrize(
    ("evidence", "raised"),
    [
        pytest.param(table(short_of_writes(), described=INDEXED), {None}, id="D2 the table"),
        pytest.param(table(unit(write={0: 15}), INDEX_SHORT, described=INDEXED), {"by-status"}, id="D5 only the index"),
        pytest.param(table(unit(), INDEX_READS, described=INDEXED), {"by-status"}, id="D15 the index's reads"),
        pytest.param(
            table(short_of_writes(), INDEX_SHORT, described=INDEXED), {None, "by-status"}, id="D28 both in one change"
        ),
    ],
)
def test_where_capacity_is_raised_only_what_is_short_is(evidence: TableEvidence, raised: set[str | None]) -> None:
    rules = Settings(provisioned_table_action="raise-capacity")
    (change,) = make_plan(diagnose(evidence, rules, itself=frozenset()), evidence, rules).changes
    assert isinstance(change, RaiseCapacity)
    before, after = change.before, change.after
    found: set[str | None] = {name for name in before.indexes if before.indexes[name] != after.indexes[name]}
    assert found | ({None} if before.capacity != after.capacity else set()) == raised


def test_a_raise_is_not_pulled_back_again() -> None:
    """D22: autoscaling does not go below the minimum; D3: nor above the maximum."""
    bounds = ScalingTarget(way=Way.WRITE, index=None, minimum=5, maximum=50)
    evidence = replace(
        table(PULLED_BACK, described=settings(last_decrease_at=at(56)), activities=[scaled(56, to=50)]),
        scaling=(bounds,),
    )
    rules = Settings(provisioned_table_action="raise-capacity")
    found = diagnose(evidence, rules, itself=frozenset())
    (change,) = make_plan(found, evidence, rules).changes
    assert isinstance(change, RaiseCapacity)
    (after,) = change.after.scaling
    assert found.cause is Cause.PROVISIONED_CAPACITY
    assert after.minimum == after.maximum == change.after.capacity.write > 50


@pytest.mark.parametrize("evidence", [pytest.param(row.values[0], id=row.id) for row in CASES])
def test_a_diagnosis_can_be_checked_and_says_what_it_is_not(evidence: TableEvidence) -> None:
    """Each finding has its number and one AWS command, each runner-up what spoke against it; what dagy says has no command."""
    found = diagnose(evidence, Settings(), itself=frozenset())
    assert found.findings
    for finding in found.findings:
        by_dagy = finding.text.startswith("Backfill ")
        assert by_dagy or finding.text in found.gaps or shlex.split(finding.check or "")[:1] == ["aws"], finding.text
        changing = " is UPDATING:" in finding.text or " is CREATING:" in finding.text
        assert changing or any(letter.isdigit() for letter in finding.text), finding.text
    assert found.cause is Cause.INCONCLUSIVE or found.rejected
    assert all(item.cause is not found.cause and item.because.endswith(".") for item in found.rejected)
    assert len({item.cause for item in found.rejected}) == len(found.rejected)
