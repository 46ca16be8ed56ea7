"""Write the demo as one HTML page: what the account was like, what was changed, and the Slack thread. Needs no network.

Everything shown comes from the rehearsal's outcome and its metrics; names are escaped. Readable from 380 px to 1,400 px.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from sandbox.demo import slack_html
from sandbox.demo.drawing import Curve, Mark, chart
from sandbox.demo.story import Measured, Told, posted

_STYLE = """
:root { color-scheme: light dark; --bg:#f6f7f9; --card:#fff; --fg:#16191d; --soft:#5b6470; --edge:#d9dee5;
  --c0:#2563eb; --c1:#dc2626; --c2:#0f766e; --c3:#9333ea; --c4:#b45309; --limit:#6b7280; --span:#2563eb18; }
@media (prefers-color-scheme: dark) { :root { --bg:#101317; --card:#191d22; --fg:#e6e8eb; --soft:#9aa4b0; --edge:#313840;
  --c0:#60a5fa; --c1:#f87171; --c2:#2dd4bf; --c3:#c084fc; --c4:#fbbf24; --limit:#9ca3af; --span:#60a5fa22; } }
* { box-sizing:border-box; }
body { background:var(--bg); color:var(--fg); font:16px/1.5 system-ui,"Noto Sans",sans-serif; margin:0 auto; max-width:1360px;
  padding:1.2rem; }
h1 { font-size:1.6rem; line-height:1.2; margin:.2rem 0; } h2 { font-size:1.25rem; line-height:1.3; margin:2.6rem 0 .6rem; }
h3 { font-size:1rem; margin:1.4rem 0 .4rem; } .lead { color:var(--soft); margin:.2rem 0 1rem; max-width:60rem; }
.chapter { display:grid; gap:1.4rem; grid-template-columns:minmax(0,1fr); }
@media (min-width:1000px) { .chapter { grid-template-columns:minmax(0,1fr) minmax(0,1.15fr); align-items:start; }
  .chapter > .left { position:sticky; top:1rem; } }
.tiles { display:grid; gap:.6rem; grid-template-columns:repeat(auto-fit,minmax(8.2rem,1fr)); margin:.8rem 0; }
.tile { background:var(--card); border:1px solid var(--edge); border-radius:8px; padding:.5rem .7rem; }
.tile b { display:block; font-size:1.1rem; line-height:1.3; overflow-wrap:anywhere; }
.tile span { color:var(--soft); font-size:.82rem; }
figure.chart { background:var(--card); border:1px solid var(--edge); border-radius:8px; margin:.7rem 0; padding:.6rem .7rem; }
figure.chart figcaption { font-size:.88rem; font-weight:600; }
figure.chart svg { display:block; height:auto; width:100%; }
figure.chart svg text { fill:var(--soft); font-size:11px; } .grid { stroke:var(--edge); stroke-width:1; }
.curve { fill:none; stroke-linejoin:round; stroke-width:1.8; } .span { fill:var(--span); }
.curve.c0 { stroke:var(--c0); }
.curve.c1 { stroke:var(--c1); }
.curve.c2 { stroke:var(--c2); }
.curve.c3 { stroke:var(--c3); }
.curve.c4 { stroke:var(--c4); }
.curve.limit { stroke:var(--limit); stroke-dasharray:5 4; }
line.mark { stroke:var(--soft); stroke-dasharray:2 3; } circle.mark { fill:var(--fg); }
figure.chart svg text.number { fill:var(--bg); font-size:10px; font-weight:700; }
.legend { color:var(--soft); display:flex; flex-wrap:wrap; font-size:.8rem; gap:.1rem .9rem; list-style:none;
  margin:.3rem 0 0; padding:0; }
.legend i { border-radius:2px; display:inline-block; height:3px; margin-right:.35rem; vertical-align:middle;
  width:14px; }
.legend .c0 { background:var(--c0); }
.legend .c1 { background:var(--c1); }
.legend .c2 { background:var(--c2); }
.legend .c3 { background:var(--c3); }
.legend .c4 { background:var(--c4); }
.legend .limit { border-top:2px dashed var(--limit); height:0; }
ol.marks { color:var(--soft); font-size:.85rem; margin:.2rem 0 .8rem; padding-left:1.5rem; }
ol.marks b { color:var(--fg); font-weight:600; }
.calls { background:var(--card); border:1px solid var(--edge); border-radius:8px; list-style:none; margin:.3rem 0;
  padding:.3rem .8rem; }
.calls li { border-top:1px solid var(--edge); font-size:.88rem; overflow-wrap:anywhere; padding:.35rem 0; }
.calls li:first-child { border:0; }
.calls code { font-family:Menlo,Consolas,monospace; font-size:.82rem; } .calls span { color:var(--soft); }
footer { color:var(--soft); font-size:.85rem; margin:3rem 0 1rem; }
"""


def page(chapters: Sequence[Told]) -> str:
    """Return the page as HTML."""
    body = "".join(_chapter(told) for told in chapters)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Unthrottle: the demo</title>'
        f"<style>{_STYLE}{slack_html.STYLE}</style></head><body><h1>Unthrottle: what happened</h1>"
        '<p class="lead">Played in a sandbox, by the real bot, in simulated time. No AWS account and no Slack workspace was '
        f"touched. Times are UTC.</p>{body}"
        "<footer>Every number here was measured in the rehearsal; run it again with <code>unthrottle demo</code>.</footer>"
        "</body></html>\n"
    )


def _chapter(told: Told) -> str:
    outcome = told.outcome
    incidents = outcome["incidents"]
    left = [
        *(_tiles(incident, outcome) for incident in incidents),
        *(_charts(told, incident) for incident in incidents),
        _changes(told, outcome),
    ]
    thread = slack_html.thread_html(posted(outcome["slack"]), channel="ops-alerts")
    return (
        f"<h2>{escape(told.title)}</h2>"
        f'<div class="chapter"><div class="left">{"".join(left)}</div><div>{thread}</div></div>'
    )


def _tiles(incident: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    opened, acted, recovered = incident["opened_minute"], incident["acted_minute"], incident["recovered_minute"]
    kind = "lambda" if incident["kind"] == "lambda" else "dynamodb"
    tiles = [
        (incident["cause"], f"the cause, {incident['confidence']} confidence"),
        (", ".join(incident["targets"]) or "none", "what was acted on"),
        (_minutes(opened, acted), "from the alarm to the change"),
        (_minutes(acted, recovered), "from the change to recovery"),
        (str(outcome["aws_calls_until_action"].get(incident["id"], "-")), "AWS calls until the change"),
        (f"{outcome['final']['throttled_minutes'][kind]} min", "with somebody throttled"),
    ]
    return (
        '<div class="tiles">'
        + "".join(
            f'<div class="tile"><b>{escape(value)}</b><span>{escape(label)}</span></div>' for value, label in tiles
        )
        + "</div>"
    )


def _minutes(start: int | None, end: int | None) -> str:
    if start is None or end is None:
        return "never"
    return "under 1 min" if start == end else f"{end - start} min"


def _charts(told: Told, incident: Mapping[str, Any]) -> str:
    """Draw the measurements of the chapter, from an hour before the alarm to a while after the change was given back."""
    marks = [
        (incident[key], text)
        for key, text in (
            ("opened_minute", "alarm"),
            ("acted_minute", "changed"),
            ("recovered_minute", "recovered"),
            ("reverted_minute", "given back"),
        )
        if incident[key] is not None
    ]
    drawn = "".join(
        _drawn(told, one, window, marks, incident)
        for one in told.measured
        for window in (told.close_up(incident) if one.is_close_up else told.window(incident),)
    )
    items = "".join(f"<li><b>{text}</b> at {told.clock(minute)}</li>" for minute, text in marks)
    shaded = '<p class="lead">Shaded: the change is in force.</p>' if incident["acted_minute"] is not None else ""
    return f'{drawn}<ol class="marks">{items}</ol>{shaded}' if drawn else ""


def _drawn(
    told: Told,
    one: Measured,
    window: tuple[int, int],
    marks: Sequence[tuple[int, str]],
    incident: Mapping[str, Any],
) -> str:
    first, last = window
    acted, back = incident["acted_minute"], incident["reverted_minute"]
    spans = (
        [] if acted is None else [(acted - first, (last if back is None else back) - first, "the change is in force")]
    )
    return chart(
        one.title,
        [told.clock(minute) for minute in range(first, last + 1)],
        [
            Curve(name=curve.name, values=curve.values[first : last + 1], is_limit=curve.is_limit)
            for curve in one.curves
        ],
        marks=[Mark(at=minute - first, text=text) for minute, text in marks if minute <= last],
        spans=spans,
    )


def _changes(told: Told, outcome: Mapping[str, Any]) -> str:
    rows = [
        (mutation["minute"], mutation["call"], ", ".join(f"{k}={v}" for k, v in mutation["parameters"].items()))
        for mutation in outcome["mutations"]
    ]
    rows += [
        (call["minute"], "dagy " + call["method"], call["path"])
        for call in outcome["dagy_calls"]
        if call["method"] == "POST"
    ]
    if not rows:
        return "<h3>Nothing was changed</h3>"
    items = "".join(
        f"<li><span>{told.clock(minute)}</span> <code>{escape(call)}</code> {escape(words)}</li>"
        for minute, call, words in sorted(rows)
    )
    return f'<h3>Every call that changed something</h3><ul class="calls">{items}</ul>'
