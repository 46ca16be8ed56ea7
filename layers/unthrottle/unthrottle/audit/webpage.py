"""The audit or back-test as one HTML page: no network, no script, prints well. Pure: a document in, HTML out.

Everything shown is escaped: names come from the account.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from unthrottle.audit.words import NO_OWNER, count_by

Document = Mapping[str, Any]

WIDTH, HEIGHT = 720, 160
_STYLE = """
:root { color-scheme: light dark; --line: #2563eb; --bad: #dc2626; --soft: #64748b; --edge: #cbd5e1; --warn: #b45309; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1100px; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; border-top: 1px solid var(--edge); padding-top: 1rem; }
figure { margin: 1rem 0; } figcaption, .soft { color: var(--soft); font-size: .9rem; }
svg { width: 100%; height: auto; border: 1px solid var(--edge); border-radius: 6px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--edge); border-radius: 6px; padding: .6rem;
      font-size: .8rem; margin: .4rem 0; }
article { border: 1px solid var(--edge); border-left: 5px solid var(--soft); border-radius: 6px; padding: .6rem 1rem;
          margin: .8rem 0; break-inside: avoid; overflow-wrap: anywhere; }
article.high { border-left-color: var(--bad); } article.medium { border-left-color: var(--warn); }
article h3 { margin: 0; font-size: 1.05rem; } ul { margin: .4rem 0; padding-left: 1.2rem; }
.tag { border: 1px solid var(--edge); border-radius: 999px; padding: 0 .5rem; font-size: .8rem; }
.new { border-color: var(--bad); color: var(--bad); } .gap { color: var(--warn); }
table { border-collapse: collapse; } td, th { border: 1px solid var(--edge); padding: .3rem .6rem; text-align: left;
        font-size: .9rem; }
@media print { body { max-width: none; font-size: 11pt; } details > * { display: block; } a { color: inherit; }
               :root { color-scheme: light; } }
"""


def page(document: Document) -> str:
    """Return the page as HTML."""
    is_audit = document["kind"] == "audit"
    title = "Unthrottle: audit" if is_audit else "Unthrottle: back-test"
    body = _audit(document) if is_audit else _past(document)
    calls = sum(document["aws_calls"].values())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>{body}"
        f'<p class="soft">{calls:,} AWS calls, all reads. Nothing was changed.</p></body></html>\n'
    )


def _audit(document: Document) -> str:
    rows = document["exposures"]
    parts = [f"<p>{escape(_when(document['at']))} UTC. {len(rows):,} exposures: {escape(count_by(rows))}.</p>"]
    parts.extend(_failed(document))
    parts.extend(_place(place) for place in document["places"])
    parts.append("<h2>Exposures, worst first</h2>")
    parts.extend(_exposure(number, row) for number, row in enumerate(rows, 1))
    if not rows:
        parts.append("<p>Nothing is exposed, as far as could be seen.</p>")
    if document["gone"]:
        parts.append("<h2>Gone since the last audit</h2>")
        parts.append(_list(f"{row['resource']}: {row['title']}" for row in document["gone"]))
    parts.append(_owners(rows))
    return "".join(parts)


def _when(text: str) -> str:
    return text[:16].replace("T", " ")


def _failed(document: Document) -> list[str]:
    return [
        f'<p class="gap">Not looked at: account {escape(one["account"])}, {escape(one["region"])}: {escape(one["why"])}</p>'
        for one in document["failed"]
    ]


def _place(place: Document) -> str:
    limit = place["concurrency_limit"]
    head = (
        f"<h2>Account {escape(place['account'])}, {escape(place['region'])}</h2><p>{place['functions']:,} functions "
        f"({place['functions_without_a_run']:,} show no run), {place['tables']:,} tables.</p>"
    )
    gaps = "".join(f'<p class="gap">{escape(gap)}</p>' for gap in place["gaps"])
    values = place.get("concurrency_by_hour") or []
    return head + gaps + (_chart(values, limit, place) if any(value is not None for value in values) else "")


def _chart(values: Sequence[float | None], limit: int | None, place: Document) -> str:
    """Draw concurrency by the hour; a gap stays a gap in the line."""
    top = max([*(value for value in values if value is not None), float(limit or 1)])
    step = WIDTH / max(1, len(values) - 1)
    lines, run = [], list[str]()
    for number, value in enumerate([*values, None]):
        if value is None:
            if run:
                lines.append(
                    " ".join(run if len(run) > 1 else [*run, f"{(number - 0.5) * step:.1f},{run[0].split(',')[1]}"])
                )
            run = []
        else:
            run.append(f"{number * step:.1f},{HEIGHT - 20 - value / top * (HEIGHT - 40):.1f}")
    drawn = "".join(f'<polyline fill="none" stroke="var(--line)" stroke-width="1.5" points="{one}"/>' for one in lines)
    level = HEIGHT - 20 - (limit or 0) / top * (HEIGHT - 40)
    bound = (
        f'<line x1="0" x2="{WIDTH}" y1="{level:.1f}" y2="{level:.1f}" stroke="var(--bad)" stroke-dasharray="4 3"/>'
        f'<text x="4" y="{level - 4:.1f}" font-size="11" fill="var(--bad)">limit {limit:,}</text>'
        if limit
        else ""
    )
    peak = "unknown" if place["peak"] is None else f"{place['peak']:,.0f}"
    label = f"Concurrent executions, the most in each hour: at most {peak}, {_when(place['from'])} to {_when(place['to'])} UTC"
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{bound}{drawn}</svg>'
        f"<figcaption>{escape(label)}</figcaption></figure>"
    )


def _exposure(number: int, row: Document) -> str:
    tags = [f'<span class="tag">{escape(row["severity"])}</span>', f'<span class="tag">{escape(row["kind"])}</span>']
    if row["change"] == "new":
        tags.append('<span class="tag new">new</span>')
    if row["owner"]:
        tags.append(f'<span class="tag">{escape(row["owner"])}</span>')
    fix = row["fix"]
    forms = "".join(
        f"<p><b>{name}</b></p><pre>{escape(fix[key])}</pre>"
        for name, key in (("AWS CLI", "cli"), ("Terraform", "terraform"), ("CloudFormation", "cloudformation"))
        if fix[key]
    )
    where = f"{escape(row['account'])}, {escape(row['region'])}"
    return (
        f'<article class="{escape(row["severity"])}"><h3>{number}. {escape(row["resource"])}</h3><p>{" ".join(tags)} '
        f'<span class="soft">{where}</span></p><p><b>{escape(row["title"])}.</b> {escape(row["risk"])}</p>'
        f"{_list(row['evidence'])}<p>Fix: {escape(fix['words'])}</p>"
        + (f"<details><summary>How</summary>{forms}</details>" if forms else "")
        + "</article>"
    )


def _list(texts: Any) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def _owners(rows: Sequence[Document]) -> str:
    owners: dict[str, list[Document]] = {}
    for row in rows:
        owners.setdefault(row["owner"] or NO_OWNER, []).append(row)
    if len(owners) < 2:
        return ""
    cells = "".join(
        f"<tr><td>{escape(owner)}</td><td>{len(found):,}</td><td>{escape(count_by(found))}</td></tr>"
        for owner, found in sorted(owners.items(), key=lambda item: (-len(item[1]), item[0]))
    )
    return f"<h2>By owner</h2><table><tr><th>owner</th><th>exposures</th><th>of these</th></tr>{cells}</table>"


def _past(document: Document) -> str:
    summary = document["summary"]
    parts = [
        (
            f"<p>{_when(document['from'])} to {_when(document['to'])} UTC, judged as in mode auto. "
            f"{summary['incidents']:,} incidents, {summary['throttled_minutes']:,.0f} throttled minutes; it would have acted on "
            f"{summary['would_act']:,}, asked or handed over {summary['needs_a_person']:,}. At most "
            f"{summary['minutes_saved']:,.0f} throttled minutes saved; about USD {summary['cost_usd']:,.2f}.</p>"
        )
    ]
    parts.extend(f'<p class="gap">{escape(note)}</p>' for note in document["notes"])
    parts.extend(_failed(document))
    parts.append("<h2>Incidents</h2>")
    parts.extend(_incident(one) for one in document["incidents"])
    if not document["incidents"]:
        parts.append("<p>Nothing was throttled long enough for an alarm.</p>")
    return "".join(parts)


def _incident(one: Document) -> str:
    bad = "high" if one["verdict"] == "allowed" else "medium"
    reasons = [f"{reason['guardrail']}: {reason['text']}" for reason in one["reasons"]]
    commands = "".join(f"<pre>{escape(command)}</pre>" for command in one["plan"]["commands"])
    cause = f"{one['cause']}, {one['confidence']} confidence" if one["cause"] else f"not looked at: {one['error']}"
    return (
        f'<article class="{bad}"><h3>{_when(one["from"])} to {_when(one["to"])} UTC: {escape(one["resource"])}</h3>'
        f"<p>{one['throttled_minutes']:,.0f} throttled minutes, {one['throttles']:,.0f} throttles. <b>{escape(cause)}</b>"
        f"{escape('; target ' + ', '.join(one['targets']) if one['targets'] else '')}</p>{_list(one['findings'])}"
        f"<p>Plan {escape(one['plan']['action'])}, verdict {escape(one['verdict'])}.</p>{commands}{_list(reasons)}"
        f'<p class="soft">At most {one["minutes_saved"]:,.0f} throttled minutes saved. '
        f"Alarms that rang: {escape(', '.join(one['alarms']) or 'none known')}.</p>"
        + "".join(f'<p class="gap">{escape(gap)}</p>' for gap in one["gaps"])
        + "</article>"
    )
