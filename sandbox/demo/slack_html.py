"""How does a Slack thread look? Posted messages as HTML, near enough to Slack's own drawing to judge them by.

Draws the blocks that the bot uses, and names a block it does not know. All text is escaped once more than Slack's own
escaping: nothing in a message can become markup of the page.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from sandbox.demo.drawing import Curve, chart
from unthrottle.chat import items_of, text_of, unescape, value_of

Node = Mapping[str, object]

_INLINE = re.compile(r"(`[^`\n]+`|<[^<>\n]+>|(?<![A-Za-z0-9*])\*[^*\n]+\*(?![A-Za-z0-9*]))")
_LINK = re.compile(r"<(https?://[^<>|\s]+)(?:\|([^<>]*))?>")
_LEVEL = re.compile(r"(?:cap|pool limit|limit|provisioned)\b")
_FENCE = "```"

STYLE = """
.slack { --s-bg:#fff; --s-fg:#1d1c1d; --s-dim:#616061; --s-edge:#dddddd; --s-soft:#f8f8f8; --s-link:#1264a3;
  --s-code:#e01e5a;
  --s-mention:#e8f5fa; background:var(--s-bg); color:var(--s-fg); border:1px solid var(--s-edge); border-radius:10px;
  font:15px/1.46 Lato,"Noto Sans",system-ui,sans-serif; overflow:hidden; }
.slack .bar { padding:.6rem 1rem; border-bottom:1px solid var(--s-edge); font-weight:900; }
.slack .bar small { color:var(--s-dim); font-weight:400; margin-left:.4rem; }
.slack .msg { display:grid; grid-template-columns:36px minmax(0,1fr); gap:.6rem; padding:.55rem 1rem; }
.slack .face { width:36px; height:36px; border-radius:8px; background:linear-gradient(135deg,#2563eb,#0f766e);
  color:#fff; font-weight:900; display:grid; place-items:center; }
.slack .who b { font-weight:900; } .slack .who span { color:var(--s-dim); font-size:12px; margin-left:.35rem; }
.slack .who .app { background:var(--s-edge); border-radius:3px; padding:0 .25rem; font-size:10px; font-weight:700; }
.slack .who .cast { color:var(--s-dim); font-size:12px; }
.slack .replies { color:var(--s-dim); font-size:13px; padding:.1rem 1rem .1rem; display:flex; align-items:center; gap:.6rem; }
.slack .replies::after { content:""; flex:1; border-top:1px solid var(--s-edge); }
.slack h4 { font-size:18px; font-weight:900; line-height:1.3; margin:.15rem 0 .4rem; overflow-wrap:anywhere; }
.slack p { margin:.15rem 0 .4rem; overflow-wrap:anywhere; }
.slack code { background:var(--s-soft); border:1px solid var(--s-edge); border-radius:3px; color:var(--s-code); font-size:12px;
  padding:1px 3px; font-family:Monaco,Menlo,Consolas,monospace; }
.slack pre { background:var(--s-soft); border:1px solid var(--s-edge); border-radius:4px; font:12px/1.5 Monaco,Menlo,Consolas,
  monospace; margin:.3rem 0; padding:.5rem; white-space:pre-wrap; overflow-wrap:anywhere; }
.slack a { color:var(--s-link); text-decoration:none; }
.slack .at { background:var(--s-mention); color:var(--s-link); border-radius:3px; padding:0 2px; }
.slack .fields { display:grid; grid-template-columns:repeat(auto-fit,minmax(11rem,1fr)); gap:.3rem 1rem; margin:.3rem 0 .5rem; }
.slack .fields p { margin:0; }
.slack .context { color:var(--s-dim); font-size:12px; }
.slack .context code { font-size:11px; }
.slack .tablewrap { overflow-x:auto; margin:.3rem 0; }
.slack table { border-collapse:collapse; font-size:13px; width:auto; }
.slack td, .slack th { border:1px solid var(--s-edge); padding:.25rem .55rem; text-align:left; vertical-align:top; }
.slack th { background:var(--s-soft); font-weight:700; } .slack .right { text-align:right; white-space:nowrap; }
.slack .buttons { display:flex; flex-wrap:wrap; gap:.5rem; margin:.4rem 0; }
.slack .button { border:1px solid var(--s-dim); border-radius:6px; font-weight:700; padding:.25rem .8rem; font-size:14px; }
.slack .button.primary { background:#007a5a; border-color:#007a5a; color:#fff; }
.slack .button.danger { background:#e01e5a; border-color:#e01e5a; color:#fff; }
.slack figure.chart { border:1px solid var(--s-edge); border-radius:8px; margin:.4rem 0; max-width:520px; padding:.5rem; }
.slack hr { border:0; border-top:1px solid var(--s-edge); }
@media (max-width:520px) { .slack .msg { grid-template-columns:28px minmax(0,1fr); padding:.5rem .6rem; }
  .slack .face { width:28px; height:28px; } .slack table { font-size:11px; } .slack td, .slack th { padding:.2rem .3rem; } }
@media (prefers-color-scheme: dark) { .slack { --s-bg:#1a1d21; --s-fg:#d1d2d3; --s-dim:#9a9b9d;
  --s-edge:#3a3d42; --s-soft:#222529;
  --s-link:#1d9bd1; --s-code:#e8912d; --s-mention:#1b3a4b; } }
"""


def thread_html(messages: Sequence[Node], *, channel: str) -> str:
    """Draw posted messages (`text`, `blocks`, `ts`, `thread_ts`) as Slack's threads: each head, then its replies."""
    parts: list[str] = [f'<div class="bar"># {escape(channel)}</div>']
    heads = [message for message in messages if message.get("thread_ts") in (None, message.get("ts"))]
    for head in heads:
        replies = [one for one in messages if one.get("thread_ts") == head.get("ts") and one is not head]
        parts.append(message_html(head))
        if replies:
            parts.append(f'<div class="replies">{len(replies)} {"reply" if len(replies) == 1 else "replies"}</div>')
        parts.extend(message_html(reply) for reply in replies)
    return f'<div class="slack">{"".join(parts)}</div>'


def message_html(message: Node) -> str:
    """Draw one message with its sender and time."""
    cast = ' <span class="cast">also sent to the channel</span>' if message.get("broadcast") else ""
    return (
        '<div class="msg"><div class="face" aria-hidden="true">U</div><div>'
        f'<div class="who"><b>Unthrottle</b> <span class="app">APP</span><span>{_time(message.get("ts"))}</span>{cast}</div>'
        f"{''.join(blocks_html(message))}</div></div>"
    )


def blocks_html(message: Node) -> Iterator[str]:
    """Draw a message's blocks, or its text where it has none."""
    blocks = items_of(message.get("blocks"))
    if not blocks:
        yield _prose(str(message.get("text") or ""))
    for block in blocks:
        if isinstance(block, Mapping):
            yield _block(block)


def _block(block: Node) -> str:
    match block.get("type"):
        case "header":
            return f"<h4>{escape(text_of(block.get('text')))}</h4>"
        case "section":
            text = _prose(text_of(block.get("text"))) if block.get("text") else ""
            return text + _fields(block)
        case "context":
            return "".join(
                f'<div class="context">{_prose(text_of(one))}</div>' for one in items_of(block.get("elements"))
            )
        case "table":
            return _table(block)
        case "data_visualization":
            return _chart(block)
        case "actions":
            made = "".join(
                f'<span class="button {escape(str(value_of(one, "style") or ""))}">'
                f"{escape(text_of(value_of(one, 'text')))}</span>"
                for one in items_of(block.get("elements"))
            )
            return f'<div class="buttons">{made}</div>'
        case "divider":
            return "<hr>"
        case other:
            return f'<p class="context">({escape(str(other))})</p>'


def _fields(block: Node) -> str:
    found = items_of(block.get("fields"))
    return f'<div class="fields">{"".join(_prose(text_of(one)) for one in found)}</div>' if found else ""


def _table(block: Node) -> str:
    settings = items_of(block.get("column_settings"))
    rows = [items_of(row) for row in items_of(block.get("rows"))]
    drawn = [
        "".join(
            f'<{tag} class="{escape(str(value_of(settings[i] if i < len(settings) else None, "align") or ""))}">'
            f"{escape(text_of(cell))}</{tag}>"
            for i, cell in enumerate(row)
        )
        for tag, row in zip(["th", *["td"] * len(rows)], rows, strict=False)
    ]
    return f'<div class="tablewrap"><table>{"".join(f"<tr>{row}</tr>" for row in drawn)}</table></div>'


def _chart(block: Node) -> str:
    drawn = block.get("chart")
    labels = [str(label) for label in items_of(value_of(value_of(drawn, "axis_config"), "categories"))]
    curves = []
    for series in items_of(value_of(drawn, "series")):
        name = str(value_of(series, "name"))
        values = [value_of(point, "value") for point in items_of(value_of(series, "data"))]
        numbers = tuple(float(value) if isinstance(value, int | float) else None for value in values)
        curves.append(Curve(name=name, values=numbers, is_limit=_LEVEL.match(name) is not None))
    return chart(str(block.get("title") or ""), labels, curves)


def _prose(mrkdwn: str) -> str:
    """Draw mrkdwn: what stands between code fences as it is, else paragraphs by line."""
    parts: list[str] = []
    for number, part in enumerate(mrkdwn.split(_FENCE)):
        text = part.strip("\n")
        if number % 2:
            parts.append(f"<pre>{_text(text)}</pre>")
        elif text.strip():
            parts.append("<p>" + "<br>".join(_inline(line) for line in text.split("\n")) + "</p>")
    return "".join(parts)


def _inline(line: str) -> str:
    return "".join(_marked(piece) if number % 2 else _text(piece) for number, piece in enumerate(_INLINE.split(line)))


def _marked(piece: str) -> str:
    if piece.startswith("`"):
        return f"<code>{_text(piece[1:-1])}</code>"
    if piece.startswith("*"):
        return f"<b>{_inline(piece[1:-1])}</b>"
    link = _LINK.fullmatch(piece)
    if link is not None:
        # Shown as a link is, but going nowhere: the demo's account does not exist.
        return f'<a title="{_text(link[1])}">{_text(link[2] or link[1])}</a>'
    if piece.startswith("<@"):
        return f'<span class="at">@{_text(piece[2:-1])}</span>'
    return _text(piece)


def _text(text: str) -> str:
    """Undo Slack's escaping, and do HTML's."""
    return escape(unescape(text))


def _time(ts: object) -> str:
    whole = str(ts or "").partition(".")[0]
    return f"{datetime.fromtimestamp(int(whole), UTC):%H:%M} UTC" if whole.isdecimal() else ""
