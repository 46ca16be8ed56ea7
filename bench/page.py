"""One HTML page of all results, with charts drawn as SVG. No script, nothing from elsewhere."""

import html
import math
from collections.abc import Mapping, Sequence

from bench.section import Curve, Section

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2em auto;padding:0 1em;color:#1d2733;background:#fff}
table{border-collapse:collapse;margin:1em 0}th,td{border-bottom:1px solid #d5dbe1;padding:.3em .8em;text-align:right}
th:first-child,td:first-child{text-align:left}th{background:#f2f5f8}.no{color:#a11}.yes{color:#176b2c}
h2{margin-top:2.5em}small,li{color:#435060}svg{max-width:100%;height:auto}text{font:12px system-ui,sans-serif;fill:#1d2733}
"""
_COLOURS = ("#1c6dd0", "#d0571c", "#2b8a3e", "#7048b8", "#8a6d1c", "#5c6773")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 260, 70, 40


def page(header: Mapping[str, str], sections: Sequence[Section]) -> str:
    """Write the page."""
    about = " · ".join(f"{html.escape(name)} {html.escape(value)}" for name, value in header.items())
    parts = [f"<p><small>{about}</small></p>", _goals(sections), *(_section(section) for section in sections)]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Unthrottle: benchmarks</title>'
        f"<style>{_STYLE}</style></head><body><h1>Unthrottle: benchmarks</h1>{''.join(parts)}</body></html>\n"
    )


def _goals(sections: Sequence[Section]) -> str:
    rows = []
    for goal in (goal for section in sections for goal in section.goals):
        mark = '<span class="yes">reached</span>' if goal.reached else '<span class="no">not reached</span>'
        why = "" if goal.reached else html.escape(goal.why_not)
        rows.append(
            f"<tr><td>{html.escape(goal.text)}</td><td>{html.escape(goal.found)}</td><td>{mark}</td><td>{why}</td></tr>"
        )
    head = "<tr><th>figure to reach</th><th>found</th><th></th><th>why not</th></tr>"
    return f"<h2>Figures to reach</h2><table>{head}{''.join(rows)}</table>"


def _section(section: Section) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in section.columns)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in section.rows)
    charts = "".join(_bars(title, bars) for title, bars in section.bars.items())
    charts += "".join(_curve(curve) for curve in section.curves)
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in section.notes)
    return f"<h2>{html.escape(section.title)}</h2><table><tr>{head}</tr>{rows}</table>{charts}<ul>{notes}</ul>"


def _bars(title: str, bars: Mapping[str, float]) -> str:
    most = max([*bars.values(), 1e-9])
    lines = []
    for number, (name, value) in enumerate(bars.items()):
        y, width = 28 + 24 * number, 380 * max(0.0, value) / most
        lines.append(
            f'<text x="0" y="{y + 13}">{html.escape(name[:44])}</text>'
            f'<rect x="260" y="{y}" width="{width:.1f}" height="17" fill="{_COLOURS[number % len(_COLOURS)]}"/>'
            f'<text x="{266 + width:.1f}" y="{y + 13}">{value:,.4g}</text>'
        )
    height = 34 + 24 * len(bars)
    return (
        f'<figure><svg viewBox="0 0 720 {height}" width="720" role="img" aria-label="{html.escape(title)}">'
        f'<text x="0" y="14" font-weight="bold">{html.escape(title)}</text>{"".join(lines)}</svg></figure>'
    )


def _curve(curve: Curve) -> str:
    """Draw lines with both axes logarithmic: sizes and figures differ by factors."""
    points = [point for line in curve.lines.values() for point in line if point[0] > 0 and point[1] > 0]
    if not points:
        return ""
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    low_y, high_y = min(y for _, y in points), max(y for _, y in points)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + (_WIDTH - _LEFT - 20) * _part(x, low_x, high_x),
            30 + (_HEIGHT - _BOTTOM - 30) * (1 - _part(y, low_y, high_y)),
        )

    drawn = []
    for number, (name, line) in enumerate(curve.lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        spots = [(*place(x, y), x, y) for x, y in line if x > 0 and y > 0]
        path = " ".join(f"{left:.1f},{top:.1f}" for left, top, _, _ in spots)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [
            f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3" fill="{colour}"><title>{x:,.0f}: {y:,.4g}</title></circle>'
            f'<text x="{left:.1f}" y="{top - 8:.1f}" text-anchor="middle">{y:,.4g}</text>'
            for left, top, x, y in spots
        ]
        drawn.append(
            f'<text x="{_LEFT + 200 * number}" y="{_HEIGHT - 4}" style="fill:{colour}">■ {html.escape(name)}</text>'
        )
    ticks = "".join(
        f'<text x="{place(x, low_y)[0]:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{x:,.0f}</text>'
        for x in sorted({x for x, _ in points})
    )
    label = html.escape(f"{curve.title} ({curve.y}; by {curve.x}; both axes logarithmic)")
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" aria-label="{label}">'
        f'<text x="0" y="14" font-weight="bold">{label}</text>{"".join(drawn)}{ticks}</svg></figure>'
    )


def _part(value: float, low: float, high: float) -> float:
    return 0.5 if high <= low else math.log(value / low) / math.log(high / low)
