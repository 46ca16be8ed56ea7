"""Guardrails at their edges: what mutation testing found nobody looking at, and tags that anybody may write."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.fakes import MINUTE, NOW
from tests.unit.made_changes import CAP, SOURCE
from tests.unit.test_guardrails import (
    ALLOWED,
    CANCEL,
    CONTEXT,
    DENIED,
    SECOND,
    SWITCH,
    TABLE_ARN,
    plan,
    times,
    with_ledger,
    with_settings,
)
from unthrottle.actions.cap_concurrency import share
from unthrottle.guardrails import LEAST_UNRESERVED, LONGEST_SWITCH, STALE_AFTER, SWITCHES_PER_DAY, effective_mode, judge
from unthrottle.incident import Decision
from unthrottle.ports import Ledger
from unthrottle.settings import Mode, Settings

HOUR = timedelta(hours=1)


def test_limits_of_aws_are_as_documented() -> None:
    assert (SWITCHES_PER_DAY, LEAST_UNRESERVED) == (4, 10)
    assert (STALE_AFTER, LONGEST_SWITCH) == (10 * MINUTE, 2 * HOUR)


@pytest.mark.parametrize(
    ("asked_before", "decision"),
    [(2 * HOUR, ALLOWED), (2 * HOUR + SECOND, DENIED), (timedelta(0), ALLOWED), (-SECOND, DENIED)],
)
def test_a_switch_that_aws_dates_up_to_two_hours_after_ours_is_ours(
    asked_before: timedelta, decision: Decision
) -> None:
    """Two of ours and one of a person's would be three; AWS's last one is either one of the two or the third."""
    last = NOW - 5 * HOUR
    ours = with_ledger(switches={TABLE_ARN: (last - asked_before, NOW - 20 * HOUR)})
    assert judge(plan(SWITCH), replace(ours, switched_at=last)).decision is decision


def test_messages_count_in_minutes() -> None:
    cooled = judge(plan(CAP), with_ledger(last_on={CAP.arn: NOW - 7 * MINUTE}))
    assert "was changed 7 min ago" in cooled.reasons[0].text
    stale = judge(plan(CAP), replace(CONTEXT, seen_at=NOW - 42 * MINUTE))
    assert "is 42 min old" in stale.reasons[0].text


@given(value=st.text(max_size=1000))
def test_no_value_of_a_tag_widens_anything_or_fails(value: str) -> None:
    """A tag is text of whoever may tag the resource."""
    tags = {"unthrottle:mode": value, "unthrottle:protected": value, "unthrottle:max-concurrency": value}
    for change in (
        replace(CAP, tags=tags),
        replace(SOURCE, tags=tags),
        replace(SWITCH, tags=tags),
        replace(CANCEL, tags=tags),
    ):
        for mode in Mode:
            asked = with_settings(mode=mode)
            effective = effective_mode(plan(change), asked.settings)
            assert effective in {mode, Mode.DRY_RUN, Mode.OFF, Mode.APPROVE}
            assert effective.narrowed_by(mode) is effective
            assert (judge(plan(change), asked).decision is not ALLOWED) or effective in {Mode.DRY_RUN, Mode.AUTO}
    protected = judge(plan(replace(CAP, tags={"unthrottle:protected": value})), CONTEXT)
    assert (protected.decision is ALLOWED) == (value.strip().lower() in {"false", "no", "0", ""})


@given(value=st.text(max_size=300) | st.integers().map(str), limit=st.integers(min_value=1, max_value=100_000))
def test_a_wish_for_concurrency_never_raises_the_cap(value: str, limit: int) -> None:
    """It may lower what the setting gives; nonsense counts as no wish, and nothing makes it 0."""
    without = share(limit, Settings(), {})
    assert 1 <= share(limit, Settings(), {"unthrottle:max-concurrency": value}) <= max(1, without)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_budget_below_its_limit_allows(count: int) -> None:
    assert judge(plan(CAP), replace(CONTEXT, ledger=Ledger(acted=times(count)))).decision is ALLOWED  # type: ignore[arg-type]


def test_a_cooldown_is_told_to_the_minute() -> None:
    long = replace(with_settings(cooldown_minutes=120), ledger=Ledger(last_on={CAP.arn: NOW - 59 * MINUTE}))
    assert "was changed 59 min ago; the cooldown is 120 min." in judge(plan(CAP), long).reasons[0].text


def test_one_switch_of_ours_and_one_of_a_persons_leave_one_before_the_last() -> None:
    ours = with_ledger(switches={TABLE_ARN: (NOW - 20 * HOUR,)})
    assert judge(plan(SWITCH), replace(ours, switched_at=NOW - 5 * HOUR)).decision is ALLOWED


def test_a_backfill_cancelled_beside_anything_else_is_for_a_person_to_confirm() -> None:
    verdict = judge(plan(CANCEL, SWITCH), CONTEXT)
    assert [reason.guardrail for reason in verdict.reasons] == ["confidence"]
    assert judge(plan(CANCEL), CONTEXT).decision is ALLOWED
