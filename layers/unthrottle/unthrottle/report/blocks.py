"""How is a Block Kit block built so that Slack takes it?

Limits are Slack's (Block Kit reference): 50 blocks a message, section text 3,000 characters, 10 fields of 2,000, header
150, button text 75 and value 2,000, confirm title 100, text 300, buttons 30; one table of 100 rows, 20 columns and
10,000 characters; two charts. Knows nothing of incidents.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from unthrottle.chat import MAX_MESSAGE_TEXT, MAX_SECTION_TEXT, escape
from unthrottle.report.voice import title, visible

Block = dict[str, object]

MAX_BLOCKS = 50
MAX_FIELD = 2000
MAX_FIELDS = 10
MAX_HEADER = 150
MAX_CONFIRM_TEXT = 300
MAX_CONFIRM_TITLE = 100
_MESSAGE_ROOM = 12_500
_CODE_ROOM = MAX_SECTION_TEXT - 100
_BROKEN_ENTITY = re.compile(r"&[a-z]{0,3}$")


def fit(mrkdwn: str, room: int) -> str:
    """Shorten finished mrkdwn to `room` characters without leaving half an entity or an open code mark behind."""
    if len(mrkdwn) <= room:
        return mrkdwn
    kept = _BROKEN_ENTITY.sub("", mrkdwn[: room - 3]).rstrip()
    last_line = kept.rsplit("\n", 1)[-1]
    return kept + ("`…" if last_line.count("`") % 2 else "…")


def message_text(mrkdwn: str) -> str:
    """Shorten a message's top-level text."""
    return fit(mrkdwn, MAX_MESSAGE_TEXT)


def _mrkdwn(text: str) -> Block:
    # verbatim: Slack must not turn addresses, #channels or names in it into links.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def length(node: object) -> int:
    """Count the characters a person would read in blocks; tables and charts have limits of their own."""
    if isinstance(node, Mapping):
        if node.get("type") in {"table", "data_visualization"}:
            return 0
        return sum(len(v) if k == "text" and isinstance(v, str) else length(v) for k, v in node.items())
    return sum(length(item) for item in node) if isinstance(node, list | tuple) else 0


def within_limits(
    first: Sequence[Block], middle: Sequence[Block], last: Sequence[Block], rest_is_at: str
) -> list[Block]:
    """Put a message together; blocks in the middle that no longer fit are left out, and where they are is said.

    Slack refuses messages whose blocks hold more than about 13,200 characters (msg_blocks_too_long, bolt-js #2509).
    """
    note = context(f"Not everything fits here; all of it: {rest_is_at}")
    room = _MESSAGE_ROOM - length([*first, *last, note])
    places = MAX_BLOCKS - len(first) - len(last) - 1
    kept: list[Block] = []
    for block in middle:
        size = length(block)
        if size > room or len(kept) == places:
            return [*first, *kept, note, *last]
        kept.append(block)
        room -= size
    return [*first, *kept, *last]


def header(text: str) -> Block:
    return {"type": "header", "text": {"type": "plain_text", "text": title(text, MAX_HEADER), "emoji": False}}


def section(mrkdwn: str) -> Block:
    return {"type": "section", "text": _mrkdwn(fit(mrkdwn, MAX_SECTION_TEXT))}


def fields(texts: Sequence[str]) -> Block:
    return {"type": "section", "fields": [_mrkdwn(fit(text, MAX_FIELD)) for text in texts[:MAX_FIELDS]]}


def context(*texts: str) -> Block:
    return {"type": "context", "elements": [_mrkdwn(fit(text, MAX_FIELD)) for text in texts[:10]]}


def bullets(lead: str, items: Iterable[str]) -> Block:
    """List items under a line of ours, leaving out whole items that no longer fit, and saying how many."""
    kept: list[str] = []
    left_out = 0
    room = MAX_SECTION_TEXT - len(lead) - 40
    for item in items:
        line = "• " + fit(item, 700)
        if left_out or len(line) + 1 > room:
            left_out += 1
            continue
        kept.append(line)
        room -= len(line) + 1
    tail = [f"… and {left_out} more in the incident's record"] if left_out else []
    return section("\n".join([lead, *kept, *tail]))


def commands(lead: str, given: Sequence[str]) -> list[Block]:
    """Show commands to copy, as code, whole: an overlong one goes on in the next block."""
    lines = [
        escape(visible(line).replace("```", "ʼʼʼ"))
        for command in given
        for line in command.splitlines()
        if line.strip()
    ]
    chunks: list[str] = []
    for line in lines:
        rest = line
        while rest:
            room = _CODE_ROOM - len(lead) - (len(chunks[-1]) + 1 if chunks else 0)
            if chunks and len(rest) <= room:
                chunks[-1] += "\n" + rest
                break
            piece = rest[: _CODE_ROOM - len(lead)]
            piece = piece if piece == rest else _BROKEN_ENTITY.sub("", piece)
            chunks.append(piece)
            rest = rest[len(piece) :]
    return [section(f"{lead if i == 0 else ''}\n```\n{chunk}\n```".strip()) for i, chunk in enumerate(chunks)]


def button(
    text: str, action: str, value: str, *, style: str | None, question: str, effect: str, yes: str, no: str = "Go back"
) -> Block:
    """Build a button that asks before it acts; `effect` is plain text and says exactly what will happen."""
    made: Block = {
        "type": "button",
        "action_id": action,
        "text": {"type": "plain_text", "text": title(text, 75)},
        "value": value,
        "confirm": {
            "title": {"type": "plain_text", "text": title(question, MAX_CONFIRM_TITLE)},
            "text": {"type": "plain_text", "text": title(effect, MAX_CONFIRM_TEXT)},
            "confirm": {"type": "plain_text", "text": title(yes, 30)},
            "deny": {"type": "plain_text", "text": title(no, 30)},
        },
    }
    if style is not None:
        made["style"] = style
    return made


def actions(buttons: Sequence[Block]) -> Block:
    return {"type": "actions", "elements": list(buttons)}
