"""What a person on call reads first, and what is never said."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.report.samples import (
    CAP,
    HOG,
    OPENED,
    SAMPLES,
    applied,
    approval,
    at_step,
    pool_hog,
    recovered,
    runaway_backfill,
    two_hogs_one_on_a_queue,
)
from tests.report.told import buttons, tell, whole
from unthrottle.diagnosis import Cause
from unthrottle.incident import MOST_SNOOZES, Decision, Incident, Reason, Status, Verdict
from unthrottle.report.moments import Step, head, message
from unthrottle.report.voice import PLAIN
from unthrottle.report.words import because
from unthrottle.settings import Mode


def header(incident: Incident, step: Step) -> str:
    block = head(incident, step).blocks[0]
    return str(block["text"]["text"])  # type: ignore[index]


def test_the_first_line_says_who_suffers_since_when_from_what_and_what_was_done() -> None:
    assert header(applied(pool_hog()), Step.APPLIED) == (
        "🔵 28 functions throttled since 04:33: svc-crmpl-dev-batch-processor holds the shared concurrency"
        " · capped it at 250, watching"
    )


def test_the_heads_text_says_the_same_in_full() -> None:
    assert head(applied(pool_hog()), Step.APPLIED).text == (
        "🔵 Changed, watching: 28 functions (`svc-uat-pipe-001`, `svc-uat-pipe-002`, `svc-uat-pipe-003` and 25 more) "
        f"have been throttled since 04:33 UTC: `{HOG}` holds the shared concurrency. Capped `{HOG}` at 250; "
        "watching whether it helps. (INC-7Q2M4K8X)"
    )


def test_a_line_of_the_thread_is_numbered_and_timed() -> None:
    incident = applied(pool_hog()).told(OPENED + timedelta(minutes=1), "action.applied")
    text = message(incident, Step.APPLIED, number=4).text
    assert text.startswith(f"#4 04:34 capped `{HOG}` at 250 (not set → 250). Given back at 06:34 UTC")


def test_a_time_on_another_day_carries_its_date() -> None:
    incident = replace(applied(pool_hog()), lease_until=OPENED + timedelta(days=1))
    assert "25 Aug 04:33 UTC" in whole(head(incident, Step.APPLIED))


@pytest.mark.parametrize("sample", ["pool-hog", "provisioned-capacity", "short-index", "runaway-backfill"])
@pytest.mark.parametrize("step", [Step.DIAGNOSED, Step.WOULD])
def test_a_dry_run_says_would_and_never_that_something_was_changed(sample: str, step: Step) -> None:
    incident = replace(SAMPLES[sample](), mode=Mode.DRY_RUN)
    if step is Step.WOULD:
        incident = incident.now(Status.WOULD_APPLY)
    for told in (head(incident, step), message(incident, step, number=3)):
        assert " would " in told.text.lower()
        assert not re.search(r"\b(capped|switched|raised|is given back|Given back)\b", whole(told))


def test_a_forced_dry_run_says_would_in_auto_mode_too() -> None:
    told = head(replace(pool_hog(), forced_dry_run=True), Step.DIAGNOSED)
    assert "Would cap" in told.text


def test_a_dry_run_shows_the_exact_call_and_its_revert() -> None:
    _, told = tell(pool_hog(), Step.WOULD)
    assert f"aws lambda put-function-concurrency --function-name {HOG} --reserved-concurrent-executions 250" in whole(
        told
    )
    assert f"aws lambda delete-function-concurrency --function-name {HOG}" in whole(told)


@pytest.mark.parametrize(("before", "said"), [(None, "not set → 250"), (0, "0 → 250"), (400, "400 → 250")])
def test_no_reservation_is_not_a_reservation_of_zero(before: int | None, said: str) -> None:
    base = pool_hog()
    assert base.plan is not None
    incident = replace(base, plan=replace(base.plan, changes=(replace(CAP, before=before),)))
    assert f"reserved concurrency: {said}" in whole(message(incident, Step.WOULD, number=1))


def test_an_open_approval_has_three_buttons_that_say_their_exact_effect() -> None:
    found = buttons(head(approval(pool_hog()), Step.APPROVAL_NEEDED))
    assert {action: button["value"] for action, button in found.items()} == {
        "approve": "INC-7Q2M4K8X:3",
        "reject": "INC-7Q2M4K8X:3",
        "snooze": "INC-7Q2M4K8X:3",
    }
    assert f"{HOG} reserved concurrency: not set → 250" in str(found["approve"]["confirm"])
    assert "Given back after 2 h" in str(found["approve"]["confirm"])
    assert "Nothing is changed and the throttling goes on" in str(found["snooze"]["confirm"])


def test_an_approval_that_cannot_be_put_off_has_no_snooze_button() -> None:
    """After a working day of snoozes a person has to decide; an early warning is looked at again every few minutes."""
    asked = approval(pool_hog())
    often = asked
    for _ in range(MOST_SNOOZES):
        assert "snooze" in buttons(head(often, Step.SNOOZED))
        often = often.told(often.opened_at, "approval.snoozed", "by U0OPS")
    early = replace(
        asked,
        early_warning=True,
        verdict=Verdict(decision=Decision.NEEDS_APPROVAL, reasons=(Reason(guardrail="before-throttling", text="."),)),
    )
    for incident in (often, early):
        assert list(buttons(head(incident, Step.APPROVAL_NEEDED))) == ["approve", "reject"]


def test_an_open_lease_has_revert_and_keep() -> None:
    found = buttons(head(recovered(pool_hog()), Step.RECOVERED))
    assert list(found) == ["revert", "keep-24h", "keep"]
    assert "reserved concurrency: 250 → not set" in str(found["revert"]["confirm"])


@pytest.mark.parametrize("step", Step)
def test_buttons_are_gone_once_the_question_is_decided(step: Step) -> None:
    """What a person was paged for can still be put off."""
    incident = replace(at_step(pool_hog(), step), question=None)
    left = ["snooze"] if step is Step.ESCALATED else []
    assert list(buttons(head(incident, step))) == left


@pytest.mark.parametrize("step", Step)
def test_the_thread_carries_no_buttons_for_it_is_not_edited_later(step: Step) -> None:
    incident = at_step(pool_hog(), step)
    assert buttons(message(incident, step, number=1)) == {}
    asked = buttons(message(incident, step, number=1, with_buttons=True))
    assert bool(asked) is (incident.question is not None or incident.is_snoozed_by_wish)


@pytest.mark.parametrize("step", [Step.APPROVAL_NEEDED, Step.REMINDER, Step.NOT_RECOVERED, Step.ESCALATED, Step.FAILED])
def test_what_a_person_must_do_is_shown_in_the_channel(step: Step) -> None:
    assert tell(pool_hog(), step)[1].broadcast


@pytest.mark.parametrize("step", [Step.OPENED, Step.DIAGNOSED, Step.APPLIED, Step.RECOVERED, Step.REVERTED, Step.OVER])
def test_what_asks_nothing_of_anybody_stays_in_the_thread(step: Step) -> None:
    assert not tell(pool_hog(), step)[1].broadcast


def test_the_diagnosis_shows_three_findings_how_to_check_them_runners_up_and_gaps() -> None:
    text = whole(tell(pool_hog(), Step.DIAGNOSED)[1])
    assert text.count("\n• ") == 5
    assert "(1 more in the record)" in text
    assert "aws cloudwatch get-metric-statistics" in text
    assert "`pool-growth`: one function holds 84 %, the next 3 %" in text
    assert "AsyncEventsReceived has no datapoint for 04:31" in text


def test_a_refusal_gives_every_reason_not_just_the_first() -> None:
    text = whole(tell(pool_hog(), Step.REFUSED)[1])
    assert "`cooldown`: The bot acted on it 12 minutes ago" in text
    assert "`action-budget`: 5 of 5 actions" in text


def test_a_cancelled_backfill_says_that_it_cannot_be_undone_and_how_to_start_it_again() -> None:
    head_now, told = tell(runaway_backfill(), Step.APPLIED)
    for one in (head_now, told):
        assert "The bot cannot undo this: data-eng can start backfill bf-7f3a" in whole(one)
        assert "/unthrottle revert" not in whole(one)


def test_how_to_give_back_now_stands_beside_every_change_that_has_a_lease() -> None:
    for step in (Step.APPLIED, Step.RECOVERED, Step.NOT_RECOVERED, Step.RENEWED):
        for told in tell(pool_hog(), step):
            assert "/unthrottle revert INC-7Q2M4K8X" in whole(told)


def test_what_was_really_applied_is_told_not_what_was_planned() -> None:
    incident = applied(pool_hog())
    lowered = replace(incident.applied[0], change=replace(CAP, after=180))
    assert "at 180" in message(replace(incident, applied=(lowered,)), Step.APPLIED, number=4).text


def test_after_recovery_the_permanent_fix_names_the_owners_stack() -> None:
    text = whole(tell(two_hogs_one_on_a_queue(), Step.RECOVERED)[1])
    assert "owned by `CloudFormation stack crew-roster-dev, resource BatchProcessor`" in text
    assert "reserved_concurrent_executions = 250" in text
    assert "ReservedConcurrentExecutions: 250" in text
    assert "owned by `tag team = orders`" in text
    assert "maximum_concurrency = 120" in text


def test_an_early_warning_does_not_claim_that_anybody_is_throttled() -> None:
    base = replace(pool_hog(), early_warning=True, diagnosis=None, plan=None)
    assert "may soon be throttled" in head(base, Step.OPENED).text


def test_a_person_who_asked_is_named() -> None:
    base = replace(pool_hog(), requested_by="U0OPS", alarm_name="", diagnosis=None, plan=None)
    assert "<@U0OPS> asked for a look" in message(base, Step.OPENED, number=1).text
    assert "`everyone`" in message(replace(base, requested_by="everyone"), Step.OPENED, number=1).text


def test_a_late_message_says_that_it_is_late() -> None:
    assert "delivered late" in tell(pool_hog(), Step.LATE)[1].text


@pytest.mark.parametrize("region", ["cn-north-1", "us-gov-west-1", "bad|region>"])
def test_only_the_commercial_console_is_linked(region: str) -> None:
    assert "open in AWS" not in whole(head(replace(pool_hog(), region=region), Step.OPENED))


def test_a_change_that_stays_after_recovery_does_not_make_the_head_forget_the_recovery() -> None:
    told = head(recovered(pool_hog()), Step.APPLIED)
    assert told.text.startswith("🟢 Recovered: ")
    assert list(buttons(told)) == ["revert", "keep-24h", "keep"]
    text = message(recovered(pool_hog()), Step.APPLIED, number=8, detail="The lease begins.").text
    assert f"stays for its lease: `{HOG}` reserved concurrency: not set → 250. Given back at 06:34 UTC" in text


def test_what_resolved_itself_is_told_in_the_past_even_without_a_time_in_the_record() -> None:
    incident = pool_hog().told(OPENED + timedelta(minutes=9), "verification.done")
    assert "28 functions throttled (alarm 04:33, recovered by 04:42)" in header(incident, Step.OVER)


def test_who_decided_is_named_in_slacks_own_way() -> None:
    text = tell(pool_hog(), Step.REJECTED)[1].text
    assert f"did not cap `{HOG}` at 250: Rejected by <@U0OPS>; nothing was changed." in text
    hostile = message(pool_hog(), Step.FAILED, number=1, detail="denied by U0BOSS")
    assert "<@" not in hostile.text


def test_a_detail_that_repeats_the_line_is_not_said_twice() -> None:
    base = pool_hog()
    assert base.plan is not None
    assert message(base, Step.WAITING, number=3, detail=base.plan.why).text.count("one function may keep 25 %") == 1


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("over", [False, True])
def test_every_cause_is_said_in_words(cause: Cause, over: bool) -> None:
    base = pool_hog()
    assert base.diagnosis is not None
    incident = replace(base, diagnosis=replace(base.diagnosis, cause=cause))
    told = head(recovered(incident) if over else incident, Step.RECOVERED if over else Step.DIAGNOSED)
    assert len(because(incident, PLAIN)) > 20
    assert cause.value in whole(told)


def test_a_failure_after_some_changes_says_what_was_done_and_how_to_undo_it() -> None:
    incident = applied(pool_hog()).now(Status.FAILED)
    told = message(incident, Step.FAILED, number=6, detail="TooManyRequestsException")
    assert f"capped `{HOG}` at 250, but something failed after that: TooManyRequestsException" in told.text
    assert "delete-function-concurrency" in whole(told)
    assert "then something failed" in head(incident, Step.FAILED).text


def test_a_change_that_somebody_else_overwrote_is_not_told_as_ours_any_more() -> None:
    drifted = at_step(pool_hog(), Step.DRIFTED)
    assert header(drifted, Step.DRIFTED).endswith("capped it at 250, changed by someone since")
    assert "someone changed it since, so it was left alone" in head(drifted, Step.DRIFTED).text


def test_a_change_that_did_not_help_says_so_in_the_first_line() -> None:
    found = at_step(pool_hog(), Step.NOT_RECOVERED)
    assert header(found, Step.NOT_RECOVERED).endswith("capped it at 250, it did not help")
    assert "it did not help, a person is needed" in head(found, Step.NOT_RECOVERED).text


def test_the_first_line_of_a_refusal_names_the_guardrail() -> None:
    assert header(at_step(pool_hog(), Step.REFUSED), Step.REFUSED).endswith("nothing changed, refused by cooldown")


@pytest.mark.parametrize("step", [Step.REFUSED, Step.REJECTED, Step.EXPIRED])
def test_what_was_not_done_is_not_shown_as_if_it_would_go_back(step: Step) -> None:
    shown = whole(head(at_step(pool_hog(), step), step))
    assert "*Not done*" in shown
    assert "oes back" not in shown
