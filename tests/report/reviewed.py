"""What is told, as it was reviewed: texts in golden/, with which every later wording is compared.

Write them anew after a change on purpose: ``REWRITE_GOLDENS=1 pytest`` with the test's file, then read the diff.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from tests.report.told import objections, tell
from unthrottle.incident import Incident
from unthrottle.report.moments import Step
from unthrottle.report.terminal import thread_as_text

GOLDEN = Path(__file__).parent / "golden"
_REWRITE = os.environ.get("REWRITE_GOLDENS") == "1"


def same(name: str, found: str) -> None:
    """Fail unless *found* is what was reviewed under this name."""
    path = GOLDEN / name
    if _REWRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8"), f"{name} differs; see the top of the test's file"


def in_a_terminal(incident: Incident, steps: Sequence[Step]) -> str:
    """Lay out the head and the reply of each step; fails where Slack would refuse one of them."""
    parts: list[str] = []
    for step in steps:
        head, reply = tell(incident, step)
        assert objections(head) == []
        assert objections(reply) == []
        thread = [
            {"ts": "1", "text": head.text, "blocks": list(head.blocks)},
            {"ts": "2", "thread_ts": "1", "text": reply.text, "blocks": list(reply.blocks)},
        ]
        parts.append(f"==== {step}\n{thread_as_text(thread)}\n")
    return "\n".join(parts)
