"""The whole of every message, for every step and several causes: a changed message is a reviewed difference.

Write them anew after a change on purpose: ``REWRITE_GOLDENS=1 pytest tests/report/test_golden.py``, then read the diff.
"""

import json

import pytest

from tests.report.reviewed import in_a_terminal, same
from tests.report.samples import SAMPLES, at_step, steps_of
from tests.report.told import tell
from unthrottle.report.moments import Message, Step
from unthrottle.report.page import page
from unthrottle.report.terminal import incident_story


def _by_line(told: Message) -> str:
    """Write a message as JSON with one line for each block, so that a difference is read block by block."""
    blocks = ",\n   ".join(json.dumps(block, ensure_ascii=False) for block in told.blocks)
    text = json.dumps(told.text, ensure_ascii=False)
    return f'{{"broadcast": {json.dumps(told.broadcast)}, "text": {text}, "blocks": [\n   {blocks}]}}'


@pytest.mark.parametrize("sample", ["pool-hog", "short-index", "runaway-backfill", "hot-index"])
def test_every_step_is_told_as_reviewed(sample: str) -> None:
    parts: list[str] = []
    for step in steps_of(SAMPLES[sample]()):
        head, thread = tell(SAMPLES[sample](), step)
        parts.append(f'"{step.value}": {{\n  "head": {_by_line(head)},\n  "thread": {_by_line(thread)}}}')
    document = "{\n" + ",\n".join(parts) + "\n}\n"
    assert list(json.loads(document)) == [step.value for step in steps_of(SAMPLES[sample]())]
    same(f"{sample}.json", document)


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_step_reads_in_a_terminal_as_reviewed(sample: str) -> None:
    incident = SAMPLES[sample]()
    same(f"{sample}.txt", in_a_terminal(incident, steps_of(incident)))


@pytest.mark.parametrize("sample", SAMPLES)
def test_page_and_story_are_as_reviewed(sample: str) -> None:
    incident = at_step(SAMPLES[sample](), Step.ESCALATED)
    subject, text = page(incident, "It did not recover within 10 minutes.")
    story = incident_story(incident.told(incident.opened_at, "incident.opened", "by an alarm"))
    same(f"{sample}.page.txt", f"{subject}\n\n{text}\n==== story\n{story}\n")
