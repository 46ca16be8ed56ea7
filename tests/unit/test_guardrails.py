"""Every guardrail objects where it should, keeps quiet where it should not, and all reasons are told together."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.fakes import MINUTE, NOW, arn_of
from tests.unit.made_changes import CAP, SOURCE
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.evidence.pool import ConcurrencyAccount
from unthrottle.evidence.table import Capacity
from unthrottle.guardrails import GUARDRAILS, Context, effective_mode, judge
from unthrottle.incident import Decision
from unthrottle.plan import (
    Action,
    CancelBackfill,
    CapConcurrency,
    Change,
    Plan,
    SavedTable,
    SwitchToOnDemand,
)
from unthrottle.ports import Ledger
from unthrottle.settings import Mode, Settings, WhenSlackIsDown

TABLE_ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/dagy-runs-develop"
SWITCH = SwitchToOnDemand(
    table="dagy-runs-develop", arn=TABLE_ARN, before=SavedTable(capacity=Capacity(read=5, write=10)), hourly_cost=2.0
)
CANCEL = CancelBackfill(
    backfill_id="bf-1", flow="nightly", environment="develop", table="dagy-runs-develop", table_arn=TABLE_ARN
)
AUTO = Settings(mode=Mode.AUTO)
CONTEXT = Context(
    now=NOW,
    settings=AUTO,
    diagnosis=Diagnosis(
        cause=Cause.POOL_HOG, confidence=Confidence.HIGH, targets=("hog",), victims=("victim", "dagy-runs-develop")
    ),
    ledger=Ledger(),
    incident_id="INC-ME",
    seen_at=NOW - MINUTE,
)


def plan(*changes: Change) -> Plan:
    return Plan(action=Action.CAP_CONCURRENCY, why="because", changes=changes or (CAP,))


def tagged(**tags: str) -> CapConcurrency:
    return replace(CAP, tags={f"unthrottle:{key}": value for key, value in tags.items()})


def with_settings(**changes: object) -> Context:
    return replace(CONTEXT, settings=replace(AUTO, **changes))  # type: ignore[arg-type]  # any setting, by name


def with_ledger(**changes: object) -> Context:
    return replace(CONTEXT, ledger=Ledger(**changes))  # type: ignore[arg-type]  # any field, by name


def times(count: int, apart: timedelta = MINUTE, first: timedelta = MINUTE) -> tuple[object, ...]:
    return tuple(NOW - first - index * apart for index in range(count))


HOUR = timedelta(hours=1)


def pool_of(unreserved: int) -> Context:
    return replace(CONTEXT, pool=ConcurrencyAccount(limit=1000, unreserved_limit=unreserved, function_count=1))


def switched(ours: int, last: datetime) -> Context:
    """Our switches a minute ago and every hour before; and the last one AWS tells of."""
    return replace(with_ledger(switches={TABLE_ARN: times(ours, HOUR)}), switched_at=last)


DENIED, ASKS, ALLOWED = Decision.DENIED, Decision.NEEDS_APPROVAL, Decision.ALLOWED
SECOND = timedelta(seconds=1)

ROWS: list[tuple[str, str, Plan, Context, Decision]] = [
    ("mode", "auto", plan(), CONTEXT, ALLOWED),
    ("mode", "approve", plan(), with_settings(mode=Mode.APPROVE), ASKS),
    ("mode", "dry-run is no objection: the workflow says would", plan(), with_settings(mode=Mode.DRY_RUN), ALLOWED),
    ("mode", "a tag says approve", plan(tagged(mode="approve")), CONTEXT, ASKS),
    ("mode", "a tag says off", plan(tagged(mode="off")), CONTEXT, DENIED),
    ("mode", "one of two targets says off", plan(CAP, tagged(mode=" OFF ")), CONTEXT, DENIED),
    ("mode", "a tag cannot widen", plan(tagged(mode="auto")), with_settings(mode=Mode.APPROVE), ASKS),
    ("protected", "true", plan(tagged(protected="true")), CONTEXT, DENIED),
    ("protected", "any word but a no", plan(tagged(protected="Maybe")), CONTEXT, DENIED),
    ("protected", "false", plan(tagged(protected=" False ")), CONTEXT, ALLOWED),
    ("protected", "empty", plan(tagged(protected="")), CONTEXT, ALLOWED),
    ("itself", "own function", plan(), replace(CONTEXT, itself=frozenset({"hog"})), DENIED),
    ("itself", "another's", plan(), replace(CONTEXT, itself=frozenset({"unthrottle-intake"})), ALLOWED),
    ("victim", "a victim's cap", plan(replace(CAP, function="victim")), CONTEXT, DENIED),
    ("victim", "a victim's event source", plan(replace(SOURCE, function="victim")), CONTEXT, DENIED),
    ("victim", "a hog that is none", plan(), CONTEXT, ALLOWED),
    ("victim", "a table that suffers is healed by more capacity", plan(SWITCH), CONTEXT, ALLOWED),
    ("paused", "until later", plan(), with_ledger(paused_until=NOW + SECOND), DENIED),
    ("paused", "until now", plan(), with_ledger(paused_until=NOW), ALLOWED),
    ("freeze", "closed", plan(), replace(CONTEXT, frozen=True), DENIED),
    ("freeze", "open", plan(), replace(CONTEXT, frozen=False), ALLOWED),
    (
        "unreported",
        "pause",
        plan(),
        replace(with_settings(when_slack_is_down=WhenSlackIsDown.PAUSE), unsent_reports=1),
        DENIED,
    ),
    ("unreported", "continue", plan(), replace(CONTEXT, unsent_reports=1), ALLOWED),
    ("unreported", "all sent", plan(), with_settings(when_slack_is_down=WhenSlackIsDown.PAUSE), ALLOWED),
    ("cooldown", "just within", plan(), with_ledger(last_on={CAP.arn: NOW - 30 * MINUTE + SECOND}), DENIED),
    ("cooldown", "exactly over", plan(), with_ledger(last_on={CAP.arn: NOW - 30 * MINUTE}), ALLOWED),
    ("cooldown", "another resource", plan(), with_ledger(last_on={arn_of("other"): NOW}), ALLOWED),
    ("action-budget", "one below", plan(), with_ledger(acted=times(4)), ALLOWED),
    ("action-budget", "used up", plan(), with_ledger(acted=times(5)), DENIED),
    ("action-budget", "the fifth an hour ago", plan(), with_ledger(acted=(*times(4), NOW - HOUR)), ALLOWED),
    ("action-budget", "none allowed", plan(), with_settings(max_actions_per_hour=0), DENIED),
    ("switch-budget", "two of four", plan(SWITCH), with_ledger(switches={TABLE_ARN: times(2, HOUR)}), ALLOWED),
    (
        "switch-budget",
        "the last is for people",
        plan(SWITCH),
        with_ledger(switches={TABLE_ARN: times(3, HOUR)}),
        DENIED,
    ),
    (
        "switch-budget",
        "the third a day ago",
        plan(SWITCH),
        with_ledger(switches={TABLE_ARN: (*times(2, HOUR), NOW - 24 * HOUR)}),
        ALLOWED,
    ),
    ("switch-budget", "another table", plan(SWITCH), with_ledger(switches={"other": times(4, HOUR)}), ALLOWED),
    ("floor", "below the earlier reservation", plan(replace(CAP, before=251)), CONTEXT, ALLOWED),
    ("floor", "equal to it", plan(replace(CAP, before=250)), CONTEXT, DENIED),
    ("floor", "above it", plan(replace(CAP, before=249)), CONTEXT, DENIED),
    ("floor", "there was none", plan(), CONTEXT, ALLOWED),
    ("floor", "it was switched off", plan(replace(CAP, before=0)), CONTEXT, DENIED),
    ("floor", "the pool keeps AWS's least", plan(), pool_of(260), ALLOWED),
    ("floor", "the pool would keep one less", plan(), pool_of(259), DENIED),
    ("floor", "the own reservation is given back to it", plan(replace(CAP, before=300)), pool_of(10), ALLOWED),
    ("floor", "two caps together", plan(CAP, replace(CAP, function="b", arn=arn_of("b"))), pool_of(509), DENIED),
    ("floor", "an event source reserves nothing", plan(SOURCE), pool_of(10), ALLOWED),
    ("switch-budget", "the third by a person", plan(SWITCH), switched(2, NOW - 12 * HOUR), DENIED),
    ("switch-budget", "a person's, a day ago", plan(SWITCH), switched(2, NOW - 24 * HOUR), ALLOWED),
    ("switch-budget", "the last one known is ours", plan(SWITCH), switched(2, NOW - MINUTE), ALLOWED),
    ("never-zero", "one", plan(replace(CAP, after=1)), CONTEXT, ALLOWED),
    ("never-zero", "zero", plan(replace(CAP, after=0)), CONTEXT, DENIED),
    ("never-zero", "an event source at zero", plan(replace(SOURCE, after=0)), CONTEXT, DENIED),
    ("provisioned-above", "below", plan(replace(CAP, provisioned=251)), CONTEXT, DENIED),
    ("provisioned-above", "equal", plan(replace(CAP, provisioned=250)), CONTEXT, DENIED),
    ("provisioned-above", "above", plan(replace(CAP, provisioned=249)), CONTEXT, ALLOWED),
    ("loses-events", "it would", plan(replace(CAP, loses_events="they age")), CONTEXT, ASKS),
    ("loses-events", "it would not", plan(), CONTEXT, ALLOWED),
    ("synchronous", "callers wait", plan(replace(CAP, synchronous="an API")), CONTEXT, ASKS),
    ("synchronous", "nobody waits", plan(), CONTEXT, ALLOWED),
    ("stale-evidence", "at the limit", plan(), replace(CONTEXT, seen_at=NOW - 10 * MINUTE), ALLOWED),
    ("stale-evidence", "older", plan(), replace(CONTEXT, seen_at=NOW - 10 * MINUTE - SECOND), DENIED),
    ("cost", "at the limit", plan(replace(SWITCH, hourly_cost=25.0)), CONTEXT, ALLOWED),
    ("cost", "above", plan(replace(SWITCH, hourly_cost=25.01)), CONTEXT, ASKS),
    ("cost", "unknown is not free", plan(replace(SWITCH, hourly_cost=None)), CONTEXT, ASKS),
    ("cost", "known to be zero", plan(replace(SWITCH, hourly_cost=0.0)), with_settings(max_hourly_cost=0.0), ALLOWED),
    ("one-at-a-time", "another holds it", plan(), with_ledger(held_by={CAP.arn: "INC-OTHER"}), DENIED),
    ("one-at-a-time", "we hold it", plan(), with_ledger(held_by={CAP.arn: "INC-ME"}), ALLOWED),
    ("one-at-a-time", "another holds another", plan(), with_ledger(held_by={"else": "INC-OTHER"}), ALLOWED),
    (
        "confidence",
        "low",
        plan(),
        replace(CONTEXT, diagnosis=replace(CONTEXT.diagnosis, confidence=Confidence.LOW)),
        ASKS,
    ),
    (
        "confidence",
        "medium",
        plan(),
        replace(CONTEXT, diagnosis=replace(CONTEXT.diagnosis, confidence=Confidence.MEDIUM)),
        ALLOWED,
    ),
    ("confidence", "two backfills", plan(CANCEL, replace(CANCEL, backfill_id="bf-2")), CONTEXT, ASKS),
    ("confidence", "one backfill", plan(CANCEL), CONTEXT, ALLOWED),
    ("before-throttling", "nobody is throttled", plan(), replace(CONTEXT, early_warning=True), ASKS),
    (
        "before-throttling",
        "the setting allows it",
        plan(),
        replace(with_settings(act_before_throttling=True), early_warning=True),
        ALLOWED,
    ),
    ("before-throttling", "somebody is", plan(), CONTEXT, ALLOWED),
]


@pytest.mark.parametrize(
    ("guardrail", "wanted", "context", "decision"),
    [(row[0], row[2], row[3], row[4]) for row in ROWS],
    ids=[f"{row[0]}: {row[1]}" for row in ROWS],
)
def test_a_guardrail_objects_exactly_where_it_should(
    guardrail: str, wanted: Plan, context: Context, decision: Decision
) -> None:
    """Below, at and above each threshold; where it does not object, nothing else does either."""
    verdict = judge(wanted, context)

    assert verdict.decision is decision
    assert {reason.guardrail for reason in verdict.reasons} == (set() if decision is ALLOWED else {guardrail})


def test_every_guardrail_is_proven_both_ways() -> None:
    """A guardrail without a row that objects, or without one that does not, may be one that never says no."""
    objecting = {row[0] for row in ROWS if row[4] is not ALLOWED}
    silent = {row[0] for row in ROWS if row[4] is ALLOWED}

    assert objecting == silent == {name for name, _ in GUARDRAILS}


def test_all_reasons_are_told_and_a_denial_wins() -> None:
    """A person who lifts one reason must not find the next one only then; denials stand first."""
    wanted = plan(replace(tagged(protected="true", mode="approve"), synchronous="an API"))
    verdict = judge(wanted, replace(CONTEXT, frozen=True))

    assert verdict.decision is Decision.DENIED
    assert [reason.guardrail for reason in verdict.reasons] == ["protected", "freeze", "mode", "synchronous"]
    assert all(reason.text.endswith(".") for reason in verdict.reasons)


def test_a_plan_without_a_change_needs_no_verdict() -> None:
    """Escalating, waiting and doing nothing are always allowed, even while paused."""
    nothing = Plan(action=Action.ESCALATE, why="because")

    assert judge(nothing, replace(CONTEXT, frozen=True)).decision is Decision.NONE


@pytest.mark.parametrize(
    ("tag", "mode"),
    [(None, Mode.AUTO), ("approve", Mode.APPROVE), ("Off", Mode.OFF), ("", Mode.DRY_RUN), ("on", Mode.DRY_RUN)],
    ids=["no tag", "approve", "off in capitals", "empty", "unreadable"],
)
def test_the_mode_is_narrowed_by_the_tag(tag: str | None, mode: Mode) -> None:
    """A tag nobody can read narrows to dry-run: when in doubt, only look."""
    change = CAP if tag is None else tagged(mode=tag)

    assert effective_mode(plan(change), AUTO) is mode
    assert effective_mode(plan(change), AUTO, forced_dry_run=True) is mode.narrowed_by(Mode.DRY_RUN)


def test_the_tag_prefix_is_the_stacks() -> None:
    """Another prefix means other tags."""
    change = replace(CAP, tags={"unthrottle:mode": "off", "acme:protected": "true"})
    verdict = judge(plan(change), with_settings(tag_prefix="acme"))

    assert [reason.guardrail for reason in verdict.reasons] == ["protected"]


@given(
    mode=st.sampled_from([Mode.DRY_RUN, Mode.APPROVE, Mode.AUTO]),
    tags=st.lists(st.none() | st.sampled_from([*Mode, "x", ""]), min_size=1, max_size=4),
)
def test_no_combination_of_tags_widens_the_mode(mode: Mode, tags: list[str | None]) -> None:
    """The stack's mode is the most that is ever allowed."""
    changes = [CAP if tag is None else tagged(mode=tag) for tag in tags]
    order = list(Mode)

    found = effective_mode(plan(*changes), replace(AUTO, mode=mode))
    assert order.index(found) <= order.index(mode)
