"""How do an incident and its Slack thread look in a terminal?

Reads posted messages back as plain text: what Slack would draw as blocks becomes lines, columns and small bars. Knows
nothing of colours or of the terminal's width.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from unthrottle.chat import items_of, table_text, text_of, unescape, value_of
from unthrottle.incident import Incident
from unthrottle.report import shell
from unthrottle.report.deeds import ends
from unthrottle.report.standing import first_line
from unthrottle.report.voice import PLAIN, cleaned, visible
from unthrottle.report.words import changes, clock, confidence, when

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 110
_LINK = re.compile(r"<[^<>|\s]+\|([^<>]*)>")
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)>")
_BOLD = re.compile(r"(?<![A-Za-z0-9*])\*([^*\n]+)\*(?![A-Za-z0-9*])")
_FENCE = "```"


def thread_as_text(messages: Sequence[Mapping[str, object]]) -> str:
    """Lay posted Slack messages (`text`, `blocks`) out as plain text, one paragraph each, in the order given.

    A message without blocks shows its text. Replies (those with a `thread_ts` of another message) are indented.
    """
    return "\n\n".join(_message(message) for message in messages)


def incident_story(incident: Incident) -> str:
    """Tell an incident from its record: where it stands, what was found and changed, and every step with its time."""
    lines = [f"{incident.id}  {first_line(incident, PLAIN)}", ""]
    where = f"account {cleaned(incident.account)}, {cleaned(incident.region)}"
    lines.append(f"  {where}, {when(incident)}, mode {incident.mode}")
    if incident.alarm_name:
        lines.append(f"  alarm {PLAIN.name(incident.alarm_name, 255)}")
    lines.append(f"  status {incident.status}, outcome {incident.outcome}")
    if incident.diagnosis:
        lines.append(f"  cause {confidence(incident.diagnosis)}")
        lines += [f"    - {PLAIN.text(finding.text)}" for finding in incident.diagnosis.findings]
        lines += [f"    not {r.cause}: {PLAIN.text(r.because)}" for r in incident.diagnosis.rejected]
        lines += [f"    not known: {PLAIN.text(gap)}" for gap in incident.diagnosis.gaps]
    lines += [f"  {ends(change, PLAIN)}" for change in changes(incident)]
    if incident.verdict:
        lines += [f"  {reason.guardrail}: {PLAIN.text(reason.text)}" for reason in incident.verdict.reasons]
    if incident.plan:
        lines += [f"  $ {visible(command)}" for command in shell.aws(incident, incident.plan.commands)]
    if incident.timeline:
        lines.append("")
    for moment in incident.timeline:
        detail = PLAIN.text(moment.detail)
        lines.append(
            f"  {clock(moment.at, incident.opened_at)}  {cleaned(moment.event)}{f'  {detail}' if detail else ''}"
        )
    return "\n".join(lines)


def _message(message: Mapping[str, object]) -> str:
    blocks = message.get("blocks")
    lines: list[str] = []
    if isinstance(blocks, list | tuple) and blocks:
        for block in blocks:
            if isinstance(block, Mapping):
                lines += _block(block)
    else:
        lines += _prose(str(message.get("text") or ""))
    reply = message.get("thread_ts") is not None and message.get("thread_ts") != message.get("ts")
    return textwrap.indent("\n".join(lines), "    " if reply else "", lambda _: True).rstrip()


def _block(block: Mapping[str, object]) -> Iterator[str]:
    match block.get("type"):
        case "header":
            text = text_of(block.get("text"))
            yield text
            yield "─" * min(_WIDTH, len(text))
        case "section":
            yield from _prose(text_of(block.get("text")))
            yield from (f"  {field}" for field in _fields(block.get("fields")))
        case "context":
            for element in items_of(block.get("elements")):
                yield from (f"  {line}" for line in _prose(text_of(element)))
        case "table":
            yield from textwrap.indent(table_text(block), "  ").split("\n")
        case "data_visualization":
            yield from _chart(block)
        case "actions":
            yield "  " + "  ".join(
                f"[ {text_of(value_of(element, 'text'))} ]" for element in items_of(block.get("elements"))
            )
        case "divider":
            yield "─" * 40
        case _:
            yield f"  ({block.get('type')})"


def _fields(fields: object) -> Iterator[str]:
    for field in items_of(fields):
        heading, _, rest = _unmarked(text_of(field)).partition("\n")
        yield f"{heading + ':':<10} {' '.join(rest.split())}" if rest else heading


def _chart(block: Mapping[str, object]) -> Iterator[str]:
    """Draw each series as a row of bars, all against the largest value of the chart."""
    series = [item for item in items_of(value_of(block.get("chart"), "series")) if isinstance(item, Mapping)]
    values = {str(item.get("name")): _values(item) for item in series}
    top = max((value for row in values.values() for value in row), default=0.0)
    labels = [str(label) for label in items_of(value_of(value_of(block.get("chart"), "axis_config"), "categories"))]
    span = f" ({labels[0]} to {labels[-1]} UTC)" if labels else ""
    yield f"  {block.get('title')}{span}"
    width = max((len(name) for name in values), default=0)
    for name, row in values.items():
        bars = "".join(_BARS[min(7, int(value / top * 7.999))] if top > 0 else _BARS[0] for value in row)
        yield f"    {name:<{width}}  {bars}  {f'{row[-1]:,.0f} now, {max(row):,.0f} at most' if row else ''}"


def _values(series: Mapping[object, object]) -> list[float]:
    values = [value_of(point, "value") for point in items_of(series.get("data"))]
    return [float(value) for value in values if isinstance(value, int | float)]


def _prose(mrkdwn: str) -> Iterator[str]:
    """Wrap sentences; keep what stands between code fences as it is."""
    for number, part in enumerate(mrkdwn.split(_FENCE)):
        if number % 2:
            yield from (f"    {_unescaped(line)}" for line in part.strip("\n").split("\n"))
            continue
        for line in part.strip("\n").split("\n"):
            text = _unmarked(line)
            if text.strip():
                yield from textwrap.wrap(
                    text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
                )


def _unmarked(mrkdwn: str) -> str:
    text = _MENTION.sub(r"@\1", _LINK.sub(r"\1", mrkdwn))
    return _unescaped(_BOLD.sub(r"\1", text.replace("`", "")))


def _unescaped(text: str) -> str:
    return visible(unescape(text))
