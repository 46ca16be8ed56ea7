"""Write the demo as one HTML page: charts of what happened, the changes, and the Slack thread. Needs no network.

Everything shown comes from the rehearsal's outcome; names are escaped. Readable from 380 px to 1,400 px.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from sandbox.demo.story import Told, posted
from unthrottle.report.terminal import thread_as_text

WIDTH, HEIGHT = 720, 180
_STYLE = """
:root { color-scheme: light dark; --line: #2563eb; --mark: #dc2626; --soft: #64748b; --edge: #cbd5e1; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1100px; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-top: 1px solid var(--edge); padding-top: 1rem; }
figure { margin: 1rem 0; } figcaption { color: var(--soft); font-size: .9rem; }
svg { width: 100%; height: auto; border: 1px solid var(--edge); border-radius: 6px; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--edge); border-radius: 6px;
      padding: .75rem; font-size: .85rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; } td, th { border: 1px solid var(--edge);
      padding: .3rem .6rem; text-align: left; font-size: .9rem; }
"""


def page(chapters: Sequence[Told]) -> str:
    """Return the page as HTML."""
    body = "".join(_chapter(told) for told in chapters)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Unthrottle: the demo</title>'
        f"<style>{_STYLE}</style></head><body><h1>Unthrottle: what happened</h1>"
        "<p>Played in a sandbox, with the real bot and simulated time. No AWS account was touched.</p>"
        f"{body}</body></html>\n"
    )


def _chapter(told: Told) -> str:
    outcome = told.outcome
    incidents = outcome["incidents"]
    parts = [f"<h2>{escape(told.title)}</h2>"]
    parts.extend(f"<p>{escape(_sentence(incident))}</p>" for incident in incidents)
    acted = next((one["acted_minute"] for one in incidents if one["acted_minute"] is not None), None)
    if any(one["kind"] == "lambda" for one in incidents):
        parts.append(_chart("Concurrent executions in the account", told.minutes, "concurrency", acted))
        parts.append(_chart("Functions throttled in the minute", told.minutes, "throttled_functions", acted))
        parts.append(_chart("Throttles a minute in the account", told.minutes, "lambda_throttles", acted))
    else:
        parts.append(_chart("Tables throttled in the minute", told.minutes, "throttled_tables", acted))
    parts.append(_changes(outcome))
    parts.append(f"<h3>The Slack thread</h3><pre>{escape(thread_as_text(posted(outcome['slack'])))}</pre>")
    return "".join(parts)


def _sentence(incident: Mapping[str, Any]) -> str:
    targets = ", ".join(incident["targets"]) or "nothing"
    return (
        f"{incident['id']}: {incident['cause']} ({incident['confidence']} confidence) of {targets}. "
        f"{incident['plan']['action']}, {incident['status']}, {incident['outcome']}. Opened in minute "
        f"{incident['opened_minute']}, acted in minute {incident['acted_minute']}, recovered in minute "
        f"{incident['recovered_minute']}, given back in minute {incident['reverted_minute']}."
    )


def _changes(outcome: Mapping[str, Any]) -> str:
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
        return "<p>Nothing was changed.</p>"
    cells = "".join(
        f"<tr><td>{minute}</td><td>{escape(call)}</td><td>{escape(words)}</td></tr>" for minute, call, words in rows
    )
    return f"<table><tr><th>minute</th><th>call</th><th>with</th></tr>{cells}</table>"


def _chart(title: str, minutes: Sequence[Mapping[str, Any]], key: str, acted: int | None) -> str:
    values = [float(row[key]) for row in minutes]
    top = max([*values, 1.0])
    count = max(1, len(values) - 1)
    points = " ".join(
        f"{index * WIDTH / count:.1f},{HEIGHT - 20 - value / top * (HEIGHT - 40):.1f}"
        for index, value in enumerate(values)
    )
    mark = ""
    if acted is not None and minutes:
        x = (acted - int(minutes[0]["minute"])) * WIDTH / count
        mark = (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{HEIGHT - 20}" stroke="var(--mark)" stroke-dasharray="4 3"/>'
            f'<text x="{x + 4:.1f}" y="12" font-size="11" fill="var(--mark)">acted, minute {acted}</text>'
        )
    label = f"{title}: at most {top:,.0f}, over {len(values)} minutes"
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<polyline fill="none" stroke="var(--line)" stroke-width="1.5" points="{points}"/>{mark}'
        f'<text x="4" y="{HEIGHT - 6}" font-size="11" fill="var(--soft)">minute 0</text>'
        f'<text x="{WIDTH - 70}" y="{HEIGHT - 6}" font-size="11" fill="var(--soft)">minute {len(values) - 1}</text></svg>'
        f"<figcaption>{escape(label)}</figcaption></figure>"
    )
