"""Names, tags and alarm texts come from anybody; none of them may mention, link, format, or hide anything."""

import re
from dataclasses import replace

import pytest

from tests.report.samples import CAP, SAMPLES, at_step, pool_hog
from tests.report.told import marked, tell, texts, whole
from unthrottle.chat import ladder
from unthrottle.diagnosis import Finding
from unthrottle.incident import Incident, Reason
from unthrottle.report.moments import Step, message
from unthrottle.report.page import page
from unthrottle.report.terminal import incident_story, thread_as_text
from unthrottle.subjects import FunctionSubject

EVIL = (
    "<!channel> <@U0BOSS> <https://evil.example|click> *bold* _it_ ~no~ `tick` ```fence``` :bomb: \u202egnp.exe"
    "\n#9 04:33 ok"
)
# What we write ourselves: the person who approved or asked, and the link to the alarm.
_OURS = re.compile(r"<@U0OPS>|<https://eu-west-1\.console\.aws\.amazon\.com/[^ <>|]+\|open in AWS>")


def poisoned() -> Incident:
    base = pool_hog()
    assert base.diagnosis is not None
    assert base.plan is not None
    return replace(
        base,
        alarm_name=EVIL,
        alarm_reason=EVIL,
        account=EVIL,
        muted_by=EVIL,
        diagnosis=replace(
            base.diagnosis,
            targets=(EVIL,),
            victims=(EVIL, EVIL + "2"),
            findings=(Finding(text=EVIL, check=f"aws {EVIL}"),),
            gaps=(EVIL,),
        ),
        plan=replace(
            base.plan,
            why=EVIL,
            effect=EVIL,
            follow_up=EVIL,
            way_back=EVIL,
            commands=(EVIL,),
            changes=(replace(CAP, function=EVIL, tags={"aws:cloudformation:stack-name": EVIL}),),
        ),
    )


@pytest.mark.parametrize("step", Step)
def test_hostile_text_mentions_nobody_and_links_nowhere_at_any_rung_of_the_ladder(step: Step) -> None:
    for told in tell(poisoned(), step, EVIL):
        for rung in ladder(told.text, told.blocks):
            tables = [block for block in rung.blocks if block.get("type") == "table"]
            marked = [text for block in rung.blocks if block not in tables for text in texts(block)]
            for text in [rung.text, *marked]:
                assert "<" not in _OURS.sub("", text)


@pytest.mark.parametrize("step", Step)
def test_hostile_text_opens_no_format_outside_code(step: Step) -> None:
    for told in tell(poisoned(), step, EVIL):
        for text in [told.text, *(str(item["text"]) for item in marked(told.blocks))]:
            outside = re.sub(r"```.*?```|`[^`\n]*`", "", _OURS.sub("", text), flags=re.DOTALL)
            assert "*bold*" not in outside
            assert "_it_" not in outside
            assert "~no~" not in outside
            assert ":bomb:" not in outside


@pytest.mark.parametrize("step", Step)
def test_hostile_text_cannot_fake_a_line_of_the_thread_or_reorder_what_is_read(step: Step) -> None:
    for told in tell(poisoned(), step, EVIL):
        assert "\u202e" not in whole(told)
        assert not any(line.startswith("#9 04:33 ok") for line in told.text.split("\n"))


def test_code_fences_stay_closed_around_hostile_commands() -> None:
    told = message(at_step(poisoned(), Step.WOULD), Step.WOULD, number=1)
    assert all(text.count("```") % 2 == 0 for text in texts(told.blocks))


def test_hostile_names_reach_neither_the_pages_subject_nor_the_terminal_as_control_characters() -> None:
    incident = poisoned()
    subject, text = page(incident, EVIL + "\x1b[2J")
    thread = thread_as_text([{"text": EVIL + "\x1b[2J", "blocks": []}])
    story = incident_story(incident.told(incident.opened_at, "incident.opened", "\x1b[2J"))
    assert "\n" not in subject
    assert all("\x1b" not in shown and "\u202e" not in shown for shown in (text, thread, story))


def test_ordinary_names_and_our_own_commands_are_left_as_they_are() -> None:
    base = replace(pool_hog(), subject=FunctionSubject(function="svc_a_b"), diagnosis=None, plan=None)
    told = message(base, Step.FAILED, number=2, detail="svc_a_b at 2 * 3; run `/unthrottle check svc_a_b` again.")
    assert "svc_a_b at 2 ∗ 3; run `/unthrottle check svc_a_b` again." in told.text


def test_ampersands_and_brackets_are_escaped_exactly_once() -> None:
    base = SAMPLES["pool-hog"]()
    refused = at_step(base, Step.REFUSED)
    assert refused.verdict is not None
    verdict = replace(refused.verdict, reasons=(Reason(guardrail="floor", text="a < b && c"),))
    told = message(replace(refused, verdict=verdict), Step.REFUSED, number=1)
    assert "a &lt; b &amp;&amp; c" in whole(told)
