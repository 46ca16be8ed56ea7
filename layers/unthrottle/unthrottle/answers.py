"""What a person answered a workflow's question: the wire between the Slack function and a waiting run. Pure."""

import json
from dataclasses import dataclass
from typing import Literal

SNOOZE_MINUTES = 60
"""How long a snooze lasts where nobody says how long."""
MOST_SNOOZE_MINUTES = 480
"""The longest snooze: a night."""

Do = Literal["approve", "reject", "snooze", "revert", "keep", "keep-24h"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What to do, who said so (a Slack user id, or an IAM identity from the command line), and why, if that was said.

    `minutes` is how long a snooze lasts.
    """

    do: Do
    by: str
    why: str = ""
    minutes: int = SNOOZE_MINUTES


def write_answer(answer: Answer) -> str:
    said: dict[str, str | int] = {"do": answer.do, "by": answer.by}
    if answer.why:
        said["why"] = answer.why
    if answer.minutes != SNOOZE_MINUTES:
        said["minutes"] = answer.minutes
    return json.dumps(said)


def read_answer(text: str) -> Answer:
    """Read an answer; whatever is not understood is a "reject" or, for a lease, changes nothing but ends in a revert.

    The safe side: a text that says neither approve nor keep never lets a change begin.
    """
    try:
        found = json.loads(text)
        if isinstance(found, str):
            found = json.loads(found)
    except (ValueError, RecursionError):
        found = {}
    fields = found if isinstance(found, dict) else {}
    by = fields.get("by")
    who = by if isinstance(by, str) and by else "an unknown person"
    reason = fields.get("why")
    why = reason[:500] if isinstance(reason, str) else ""
    asked = fields.get("minutes")
    minutes = asked if isinstance(asked, int) and 1 <= asked <= MOST_SNOOZE_MINUTES else SNOOZE_MINUTES
    match fields.get("do"):
        case "approve":
            return Answer(do="approve", by=who, why=why)
        case "keep":
            return Answer(do="keep", by=who, why=why)
        case "keep-24h":
            return Answer(do="keep-24h", by=who, why=why)
        case "snooze":
            return Answer(do="snooze", by=who, why=why, minutes=minutes)
        case "revert":
            return Answer(do="revert", by=who, why=why)
        case _:
            return Answer(do="reject", by=who, why=why)
