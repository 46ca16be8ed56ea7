"""A thread in a terminal reads as in Slack; a page can be acted on without either."""

from tests.report.samples import at_step, hot_index, pool_hog, recovered
from tests.report.told import tell
from unthrottle.report.moments import Step
from unthrottle.report.page import page
from unthrottle.report.terminal import incident_story, thread_as_text


def test_a_thread_is_laid_out_with_replies_indented_and_marks_taken_away() -> None:
    head, reply = tell(pool_hog(), Step.APPLIED)
    text = thread_as_text(
        [
            {"ts": "1", "text": head.text, "blocks": list(head.blocks)},
            {"ts": "2", "thread_ts": "1", "text": reply.text, "blocks": list(reply.blocks)},
        ]
    )
    assert "    🔵 #6 04:33 capped svc-crmpl-dev-batch-processor at 250 (not set → 250), approved by @U0OPS." in text
    assert not any(mark in text for mark in ("`", "<@", "&gt;", "*#6*"))


def test_a_message_of_text_alone_is_shown() -> None:
    assert thread_as_text([{"ts": "1", "text": "*a* &lt;b&gt; `c`", "blocks": []}]) == "a <b> c"


def test_a_chart_becomes_bars_and_buttons_keep_their_names() -> None:
    _, reply = tell(pool_hog(), Step.DIAGNOSED)
    assert "▁▁▂▄▇██  971 now, 971 at most" in thread_as_text([{"text": reply.text, "blocks": list(reply.blocks)}])
    head, _ = tell(pool_hog(), Step.APPROVAL_NEEDED)
    assert "[ Approve ]  [ Reject ]" in thread_as_text([{"text": head.text, "blocks": list(head.blocks)}])


def test_commands_are_not_wrapped_so_that_they_can_be_copied() -> None:
    _, reply = tell(pool_hog(), Step.WOULD)
    shown = thread_as_text([{"text": reply.text, "blocks": list(reply.blocks)}]).split("\n")
    assert any(
        line.strip().startswith("aws lambda put") and line.endswith("executions 250 --region eu-west-1")
        for line in shown
    )


def test_a_page_says_what_to_do_and_what_was_found() -> None:
    subject, text = page(at_step(hot_index(), Step.ESCALATED), "Nobody answered.")
    assert subject.startswith("INC-3D9T1ABC: Table dagy-runs-develop throttled since 04:33")
    assert "Nobody answered." in text
    assert "What to do:\n  - Spread the index's key" in text
    assert "Not known:\n  - Contributor Insights is not enabled" in text


def test_a_page_says_whether_its_calls_were_made() -> None:
    assert "AWS calls, not made:" in page(pool_hog(), "")[1]
    assert "AWS calls:" in page(recovered(pool_hog()), "")[1]


def test_a_story_tells_every_step_with_its_time() -> None:
    incident = recovered(pool_hog()).told(pool_hog().opened_at, "diagnosis.made", "pool-hog, high")
    story = incident_story(incident)
    assert "04:33 UTC  diagnosis.made  pool-hog, high" in story
    assert "reserved concurrency: not set → 250" in story
