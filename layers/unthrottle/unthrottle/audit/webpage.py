"""The audit or back-test as one HTML page: no network, no script, prints well. Pure: a document in, HTML out.

Everything shown is escaped: names come from the account.
"""

from collections.abc import Sequence
from html import escape

from unthrottle.audit.webpage_parts import HEIGHT, WIDTH, Document, bullets, failures, when
from unthrottle.audit.webpage_past import past_body
from unthrottle.audit.words import by_owner, count_by

_STYLE = """
:root { color-scheme: light dark; --line: #2563eb; --bad: #dc2626; --soft: #64748b; --edge: #cbd5e1; --warn: #b45309;
        --good: #15803d; }
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
    body = _audit(document) if is_audit else past_body(document)
    calls = sum(document["aws_calls"].values())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>{body}"
        f'<p class="soft">{calls:,} AWS calls, all reads. Nothing was changed.</p></body></html>\n'
    )


def _audit(document: Document) -> str:
    rows = document["exposures"]
    parts = [f"<p>{escape(when(document['at']))} UTC. {len(rows):,} exposures: {escape(count_by(rows))}.</p>"]
    parts.extend(failures(document))
    parts.extend(_place(place) for place in document["places"])
    parts.append("<h2>Exposures, worst first</h2>")
    parts.extend(_exposure(number, row) for number, row in enumerate(rows, 1))
    if not rows:
        parts.append("<p>Nothing is exposed, as far as could be seen.</p>")
    if document["gone"]:
        parts.append("<h2>Gone since the last audit</h2>")
        parts.append(bullets(f"{row['resource']}: {row['title']}" for row in document["gone"]))
    parts.append(_owners(rows))
    return "".join(parts)


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
    label = f"Concurrent executions, the most in each hour: at most {peak}, {when(place['from'])} to {when(place['to'])} UTC"
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
        f"{bullets(row['evidence'])}<p>Fix: {escape(fix['words'])}</p>"
        + (f"<details><summary>How</summary>{forms}</details>" if forms else "")
        + "</article>"
    )


def _owners(rows: Sequence[Document]) -> str:
    owners = by_owner(rows)
    if not owners:
        return ""
    cells = "".join(
        f"<tr><td>{escape(owner)}</td><td>{len(found):,}</td><td>{escape(count_by(found))}</td></tr>"
        for owner, found in owners
    )
    return f"<h2>By owner</h2><table><tr><th>owner</th><th>exposures</th><th>of these</th></tr>{cells}</table>"
