"""The back-test's part of the page: when what was throttled, when it would have been looked at, what would have been saved.

Pure: a document in, HTML out. Charts are drawn as SVG, without a script; each says in words what it shows, too.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from html import escape

from unthrottle.audit.webpage_parts import HEIGHT, WIDTH, Document, bullets, failures, when

FLOOR, TOP = HEIGHT - 20, 20
NARROWEST = 3.0
_MEANINGS = (
    ("var(--good)", "it would have acted"),
    ("var(--warn)", "a person would have been asked or called"),
    ("var(--soft)", "nothing to do"),
)


def past_body(document: Document) -> str:
    """Write the page's body."""
    summary = document["summary"]
    parts = [
        (
            f"<p>{when(document['from'])} to {when(document['to'])} UTC, judged as in mode auto. "
            f"{summary['incidents']:,} incidents, {summary['throttled_minutes']:,.0f} throttled minutes; it would have acted on "
            f"{summary['would_act']:,}, asked or handed over {summary['needs_a_person']:,}. At most "
            f"{summary['minutes_saved']:,.0f} throttled minutes saved; about USD {summary['cost_usd']:,.2f}.</p>"
        )
    ]
    parts.extend(f'<p class="gap">{escape(note)}</p>' for note in document["notes"])
    parts.extend(failures(document))
    if document["incidents"]:
        parts.append(_overview(document))
    parts.append("<h2>Incidents</h2>")
    parts.extend(_incident(one) for one in document["incidents"])
    if not document["incidents"]:
        parts.append("<p>Nothing was throttled long enough for an alarm.</p>")
    return "".join(parts)


def _colour(one: Document) -> str:
    if one["verdict"] == "allowed":
        return "var(--good)"
    return "var(--soft)" if one["plan"]["action"] in {"wait", "none"} else "var(--warn)"


def _overview(document: Document) -> str:
    """Draw a bar for each incident where it began in the window, as high as its throttled minutes."""
    start, end = datetime.fromisoformat(document["from"]), datetime.fromisoformat(document["to"])
    incidents: Sequence[Document] = document["incidents"]
    most = max(one["throttled_minutes"] for one in incidents)
    bars = []
    for one in incidents:
        left = _share(datetime.fromisoformat(one["from"]), start, end) * WIDTH
        width = max(NARROWEST, _share(datetime.fromisoformat(one["to"]), start, end) * WIDTH - left)
        height = max(2.0, one["throttled_minutes"] / most * (FLOOR - TOP)) if most else 2.0
        about = f"{when(one['from'])} UTC, {one['resource']}: {one['throttled_minutes']:,.0f} throttled minutes"
        bars.append(
            f'<rect x="{min(left, WIDTH - width):.1f}" y="{FLOOR - height:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{_colour(one)}"><title>{escape(about)}</title></rect>'
        )
    days = "".join(
        f'<text x="{x:.0f}" y="{HEIGHT - 5}" font-size="11" fill="var(--soft)" text-anchor="{anchor}">{escape(text)}</text>'
        for x, anchor, text in (
            (4, "start", f"{start:%Y-%m-%d}"),
            (WIDTH / 2, "middle", f"{start + (end - start) / 2:%Y-%m-%d}"),
            (WIDTH - 4, "end", f"{end:%Y-%m-%d}"),
        )
    )
    label = f"Incidents over the window, as high as their throttled minutes: at most {most:,.0f}"
    legend = " ".join(f'<span style="color:{colour}">&#9632;</span> {words}' for colour, words in _MEANINGS)
    return _figure(label, "".join(bars) + _axis() + days, legend)


def _share(moment: datetime, start: datetime, end: datetime) -> float:
    return min(1.0, max(0.0, (moment - start) / (end - start)))


def _axis() -> str:
    return f'<line x1="0" x2="{WIDTH}" y1="{FLOOR}" y2="{FLOOR}" stroke="var(--edge)"/>'


def _figure(label: str, drawn: str, more: str = "") -> str:
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{drawn}</svg>'
        f"<figcaption>{escape(label)}. {more}</figcaption></figure>"
    )


def _throttles(one: Document) -> str:
    """Draw the throttles over time, and when it would have been looked at; green is what was after the action."""
    row: Mapping[str, object] = one["throttles_over_time"]
    values: Sequence[float] = one["throttles_over_time"]["values"]
    start, step = datetime.fromisoformat(str(row["from"])), timedelta(seconds=int(str(row["period_s"])))
    looked = datetime.fromisoformat(one["looked_at"])
    first = min(start, looked)
    end = max(start + step * len(values), looked + step)
    top = max(values) or 1.0
    saved_from = datetime.fromisoformat(one["saved_from"]) if one["saved_from"] else None
    width = step / (end - first) * WIDTH
    bars = "".join(
        f'<rect x="{_share(start + step * number, first, end) * WIDTH:.1f}" y="{FLOOR - value / top * (FLOOR - TOP):.1f}" '
        f'width="{max(0.5, width - 0.5):.1f}" height="{value / top * (FLOOR - TOP):.1f}" '
        f'fill="{"var(--good)" if saved_from and start + step * number >= saved_from else "var(--bad)"}"/>'
        for number, value in enumerate(values)
        if value
    )
    x = _share(looked, first, end) * WIDTH
    to_left = x > WIDTH / 2
    mark = (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{FLOOR}" stroke="var(--line)" stroke-dasharray="4 3"/>'
        f'<text x="{x - 4 if to_left else x + 4:.1f}" y="12" font-size="11" fill="var(--line)" '
        f'text-anchor="{"end" if to_left else "start"}">looked at {looked:%H:%M}</text>'
    )
    ends = (
        f'<text x="4" y="{HEIGHT - 5}" font-size="11" fill="var(--soft)">{first:%H:%M}</text>'
        f'<text x="{WIDTH - 4}" y="{HEIGHT - 5}" font-size="11" fill="var(--soft)" text-anchor="end">{end:%H:%M}</text>'
    )
    label = f"Throttles in each {_span(step)}: at most {top:,.0f}"
    legend = "Green: after the action would have worked." if saved_from else ""
    return _figure(label, bars + _axis() + mark + ends, legend)


def _span(step: timedelta) -> str:
    minutes = step / timedelta(minutes=1)
    return "minute" if minutes == 1 else f"{minutes:,.0f} minutes"


def _incident(one: Document) -> str:
    bad = "high" if one["verdict"] == "allowed" else "medium"
    reasons = [f"{reason['guardrail']}: {reason['text']}" for reason in one["reasons"]]
    commands = "".join(f"<pre>{escape(command)}</pre>" for command in one["plan"]["commands"])
    cause = f"{one['cause']}, {one['confidence']} confidence" if one["cause"] else f"not looked at: {one['error']}"
    began = "when an alarm rang" if one["began_by"] == "alarm" else "when the default alarms would have rung"
    return (
        f'<article class="{bad}"><h3>{when(one["from"])} to {when(one["to"])} UTC: {escape(one["resource"])}</h3>'
        f"<p>{one['throttled_minutes']:,.0f} throttled minutes, {one['throttles']:,.0f} throttles. <b>{escape(cause)}</b>"
        f"{escape('; target ' + ', '.join(one['targets']) if one['targets'] else '')}</p>{_throttles(one)}"
        f"{bullets(one['findings'])}<p>Plan {escape(one['plan']['action'])}, verdict {escape(one['verdict'])}.</p>{commands}"
        f"{bullets(reasons)}"
        f'<p class="soft">Looked at {when(one["looked_at"])} UTC, {began}. At most {one["minutes_saved"]:,.0f} throttled '
        f"minutes saved. Alarms that rang: {escape(', '.join(one['alarms']) or 'none known')}.</p>"
        + "".join(f'<p class="gap">{escape(gap)}</p>' for gap in one["gaps"])
        + "</article>"
    )
