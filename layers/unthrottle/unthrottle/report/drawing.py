"""How does a picture become Slack's table and charts?

The table carries the numbers; charts are decoration and may be taken away (`chat.ladder`). A minute in which any line
has a gap is left out of a chart, since Slack's chart has no gaps and a gap is not a zero.
Facts: Slack, table block and data_visualization block (20 categories, labels and names of 20 characters, 6 series).
"""

from collections.abc import Sequence

from unthrottle.plan import CapConcurrency, Change
from unthrottle.report.blocks import Block
from unthrottle.report.picture import Chart, Line, Picture, Row
from unthrottle.report.voice import cleaned, cut, middle_cut

_NAME_IN_TABLE = 28  # longer names wrap at every hyphen on a phone
_NAME_IN_CHART = 20
_MOST_SERIES = 6
_TITLE = 50
_FEWEST_POINTS = 2
_MOST_LABELS = 12  # Slack takes 20 categories, but the times of more than these run into each other


def table(picture: Picture) -> list[Block]:
    """Draw the evidence table, or nothing where there are no rows."""
    if not picture.rows:
        return []
    settings: list[object] = [{"align": "left", "is_wrapped": True}]
    settings += [{"align": "right"} for _ in picture.columns[1:]]
    rows = [[_cell(column) for column in picture.columns], *(_row(row, len(picture.columns)) for row in picture.rows)]
    return [{"type": "table", "column_settings": settings, "rows": rows}]


def charts(picture: Picture, changes: Sequence[Change] = ()) -> list[Block]:
    """Draw at most two charts; a concurrency chart also shows each cap as a level line."""
    return [block for chart in picture.charts[:2] for block in _chart(_with_caps(chart, changes))]


def _row(row: Row, columns: int) -> list[Block]:
    cells = [middle_cut(row.name, _NAME_IN_TABLE), *row.cells]
    return [_cell(text) for text in (cells + [""] * columns)[:columns]]


def _cell(text: str) -> Block:
    return {"type": "raw_text", "text": cleaned(text) or "–"}


def _with_caps(chart: Chart, changes: Sequence[Change]) -> Chart:
    caps = [change.after for change in changes if isinstance(change, CapConcurrency)]
    if chart.kind != "concurrency":
        return chart
    lines = [Line(name=f"cap {cap:,}", values=(float(cap),) * len(chart.labels)) for cap in dict.fromkeys(caps)]
    return Chart(kind=chart.kind, title=chart.title, unit=chart.unit, labels=chart.labels, lines=(*chart.lines, *lines))


def _chart(chart: Chart) -> list[Block]:
    lines = [line for line in chart.lines if any(value is not None for value in line.values)][:_MOST_SERIES]
    whole = [i for i in range(len(chart.labels)) if all(line.values[i] is not None for line in lines)]
    if not lines or len(whole) < _FEWEST_POINTS:
        return []
    whole = whole[-_MOST_LABELS:]
    labels = [cut(chart.labels[i], _NAME_IN_CHART) for i in whole]
    series = [
        {
            "name": name,
            "data": [{"label": label, "value": line.values[i]} for label, i in zip(labels, whole, strict=True)],
        }
        for name, line in zip(_distinct([line.name for line in lines]), lines, strict=True)
    ]
    axes = {"categories": labels, "x_label": "time (UTC)", "y_label": cut(chart.unit, _NAME_IN_CHART)}
    drawn = {"type": "line", "axis_config": axes, "series": series}
    return [{"type": "data_visualization", "title": middle_cut(chart.title, _TITLE), "chart": drawn}]


def _distinct(names: Sequence[str]) -> list[str]:
    given: list[str] = []
    for name in names:
        short = middle_cut(name, _NAME_IN_CHART) or "–"
        number = 2
        while short in given:
            short = f"{middle_cut(name, _NAME_IN_CHART - 3)} {number}"
            number += 1
        given.append(short)
    return given
