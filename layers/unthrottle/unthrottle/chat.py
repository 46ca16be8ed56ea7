"""How can saying something to people fail, and how is a message made simpler when its form is refused?

Blocks are Slack's Block Kit as plain dicts. `ladder` is pure: it never loses a word of the message, only its looks.
Knows nothing of tokens, sockets or slack_sdk.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unthrottle.errors import UnthrottleError

Block = Mapping[str, object]

THROTTLED = frozenset({"http_429", "ratelimited", "rate_limited", "message_limit_exceeded"})
"""Slack's words for "too fast": only these come with a pause that Slack itself asks for."""

MAX_SECTION_TEXT = 3000
# chat.update refuses a text above 4,000 characters (Slack, chat.update reference); the same bound serves new messages.
MAX_MESSAGE_TEXT = 4000
_CUT = "\n… cut here: the rest is in the incident's record."


class ChatError(UnthrottleError):
    """A message was not taken. `code` is Slack's own word for it."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class ChatLater(ChatError):
    """Not now: send it again in `retry_after_s`. `may_have_arrived`: the answer was lost, so a copy may appear."""

    def __init__(self, message: str, *, code: str, retry_after_s: int, may_have_arrived: bool = False) -> None:
        super().__init__(message, code=code)
        self.retry_after_s = retry_after_s
        self.may_have_arrived = may_have_arrived


class ChatRefusedFormat(ChatError):
    """Even the plain text was refused for its form. A programming error; the text must reach people another way."""


class ChatGone(ChatError):
    """The message to change, or the thread to answer in, is no longer there: post a new one."""


class ChatBroken(ChatError):
    """Slack will not take this, now or later, until a person repairs something (token, channel, rights)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One way to send a message: *blocks* may be empty, then the text carries everything."""

    text: str
    blocks: tuple[Block, ...]


def ladder(text: str, blocks: Sequence[Block]) -> tuple[Rung, ...]:
    """List the ways to send a message, best first: as written, without charts, tables as code, text only.

    A rung that would equal the one before it is left out. Charts are decoration, their numbers stand in the evidence
    table; tables become code blocks; buttons become the commands that do the same.
    """
    without_charts = tuple(b for b in blocks if b.get("type") != "data_visualization")
    without_tables = tuple(_table_as_code(b) if b.get("type") == "table" else b for b in without_charts)
    rungs = [Rung(text=_cut(text), blocks=tuple(blocks))]
    for candidate in (without_charts, without_tables):
        if candidate and candidate != rungs[-1].blocks:
            rungs.append(Rung(text=_cut(text), blocks=candidate))
    if blocks:
        rungs.append(Rung(text=_cut("\n".join([text, *_lines(blocks, known=text)])), blocks=()))
    return tuple(rungs)


def table_text(block: Block) -> str:
    """Lay a table block out in columns of plain characters, one line per row."""
    rows = block.get("rows")
    cells = [[_cell(cell) for cell in row] for row in rows if isinstance(row, list)] if isinstance(rows, list) else []
    columns = max((len(row) for row in cells), default=0)
    widths = [max((len(row[i]) for row in cells if i < len(row)), default=0) for i in range(columns)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=False)).rstrip() for row in cells)


def escape(text: str) -> str:
    """Make names from alarms, tags and people harmless in Slack's mrkdwn (Slack: escape exactly these three)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Undo Slack's escaping: what a reader sees."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def value_of(node: object, key: str) -> object:
    """Take one value out of a block or a part of it; None where there is none."""
    return node.get(key) if isinstance(node, Mapping) else None


def text_of(node: object) -> str:
    """Return the text of a text object or a cell; nothing where it has none."""
    found = value_of(node, "text")
    return found if isinstance(found, str) else ""


def items_of(value: object) -> Sequence[object]:
    """Return a block's list of parts; empty where it is none."""
    return value if isinstance(value, list | tuple) else ()


def _table_as_code(block: Block) -> Block:
    room = MAX_SECTION_TEXT - 100
    lines = escape(table_text(block).replace("```", "'''")).split("\n")
    kept: list[str] = []
    used = 0
    for line in lines:
        used += len(line) + 1
        if used > room:
            break
        kept.append(line)
    left_out = len(lines) - len(kept)
    note = f"\n… {left_out} more rows" if left_out else ""
    return {"type": "section", "text": {"type": "mrkdwn", "text": "```\n" + "\n".join(kept) + note + "\n```"}}


def _cell(cell: object) -> str:
    if not isinstance(cell, Mapping):
        return ""
    text = cell.get("text")
    return text if isinstance(text, str) else "".join(_texts(cell.get("elements")))


def _texts(node: object) -> Iterator[str]:
    """Yield every piece of text inside a rich text tree, in reading order."""
    if isinstance(node, Mapping):
        text = node.get("text")
        if isinstance(text, str):
            yield text
        yield from _texts(node.get("elements"))
    elif isinstance(node, list | tuple):
        for child in node:
            yield from _texts(child)


def _lines(blocks: Sequence[Block], *, known: str) -> Iterator[str]:
    for block in blocks:
        match block.get("type"):
            case "section" | "header":
                parts = [block.get("text"), *items_of(block.get("fields"))]
                yield from (line for part in parts for line in _texts(part) if line and line not in known)
            case "context":
                yield from (line for line in _texts(block.get("elements")) if line and line not in known)
            case "markdown":
                yield str(block.get("text", ""))
            case "rich_text":
                yield "".join(_texts(block.get("elements")))
            case "table":
                yield f"```\n{escape(table_text(block).replace('```', chr(39) * 3))}\n```"
            case "actions":
                yield from _commands(items_of(block.get("elements")))
            case _:
                continue


def _commands(elements: Sequence[object]) -> Iterator[str]:
    """Say how to do without the buttons: approving has a command of its own only where identity is AWS's."""
    for element in elements:
        if not isinstance(element, Mapping):
            continue
        action, value = element.get("action_id"), str(element.get("value", ""))
        incident = value.split(":", maxsplit=1)[0]
        if action in ("approve", "reject"):  # with the version that is seen here: a yes is to this change and no other
            yield f"To {action}, run `unthrottle {action} {value}` in a terminal."
        elif action in ("snooze", "revert", "keep"):
            yield f"To {action}, type `/unthrottle {action} {incident}`."
        elif action == "keep-24h":
            yield f"To keep it for another day, type `/unthrottle keep {incident} 24h`."


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE_TEXT else text[: MAX_MESSAGE_TEXT - len(_CUT)] + _CUT
