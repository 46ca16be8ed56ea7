"""How are numbers over time drawn, as SVG inside a page? Needs no script and no network.

Text keeps its size: a drawing is about as wide as the column it stands in, on a phone and on a screen.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 460, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 20, 24
_BADGE = 7
_COLOURS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One line. None is a gap and is left open. `is_limit`: a level others are measured against, drawn dashed."""

    name: str
    values: tuple[float | None, ...]
    is_limit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that happened at a position of the time axis."""

    at: float
    text: str


def chart(
    title: str,
    labels: Sequence[str],
    curves: Sequence[Curve],
    *,
    marks: Sequence[Mark] = (),
    spans: Sequence[tuple[float, float, str]] = (),
) -> str:
    """Draw curves over labelled positions as a figure with a legend. `spans` are shaded from one position to another."""
    known = [value for curve in curves for value in curve.values if value is not None]
    top = _round_up(max([*known, 1.0]))
    last = max(1, len(labels) - 1)

    def x(position: float) -> float:
        return _LEFT + min(max(position, 0.0), last) * (WIDTH - _LEFT - _RIGHT) / last

    def y(value: float) -> float:
        return HEIGHT - _BOTTOM - value / top * (HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<rect class="span" x="{x(start):.1f}" y="{_TOP}" width="{max(1.0, x(end) - x(start)):.1f}" '
        f'height="{HEIGHT - _TOP - _BOTTOM}"><title>{escape(text)}</title></rect>'
        for start, end, text in spans
    ]
    for share in (0.0, 0.5, 1.0):
        level = y(top * share)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{level:.1f}" y2="{level:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{level + 3.5:.1f}" text-anchor="end">{_short(top * share)}</text>')
    for position in _ticks(len(labels)):
        anchor = "start" if position == 0 else "end" if position == last else "middle"
        parts.append(
            f'<text x="{x(position):.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">{escape(labels[position])}</text>'
        )
    for number, curve in enumerate(curves):
        kind = "limit" if curve.is_limit else f"c{number % _COLOURS}"
        parts.extend(f'<polyline class="curve {kind}" points="{points}"/>' for points in _pieces(curve.values, x, y))
    parts.extend(_marks([x(mark.at) for mark in marks]))
    said = f"{title}: " + "; ".join(_in_words(curve) for curve in curves)
    return (
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(said)}">{"".join(parts)}</svg>'
        f"{_legend(curves)}</figure>"
    )


def _marks(places: Sequence[float]) -> Iterator[str]:
    """Number the marks at the top; those that would cover each other go side by side above their line."""
    taken = -100.0
    for number, at in enumerate(places, start=1):
        badge = max(at, taken + 2 * _BADGE)
        taken = badge
        yield f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}"/>'
        yield f'<circle class="mark" cx="{badge:.1f}" cy="{_BADGE + 1}" r="{_BADGE}"/>'
        yield f'<text class="number" x="{badge:.1f}" y="{_BADGE + 4.5}" text-anchor="middle">{number}</text>'


def _legend(curves: Sequence[Curve]) -> str:
    items = "".join(
        f'<li><i class="{"limit" if curve.is_limit else f"c{number % _COLOURS}"}"></i>{escape(curve.name)}</li>'
        for number, curve in enumerate(curves)
    )
    return f'<ul class="legend">{items}</ul>'


def _pieces(values: Sequence[float | None], x: Callable[[float], float], y: Callable[[float], float]) -> Iterator[str]:
    """Break a curve at its gaps; a single point between gaps becomes a short stroke."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for position, value in enumerate(values):
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append((x(float(position)), y(value)))
    for piece in pieces:
        if len(piece) == 1:
            ((at, level),) = piece
            piece = [(at - 1, level), (at + 1, level)]  # noqa: PLW2901
        if piece:
            yield " ".join(f"{at:.1f},{level:.1f}" for at, level in piece)


def _ticks(count: int) -> list[int]:
    most = 5
    if count <= most:
        return list(range(count))
    return sorted({round(step * (count - 1) / (most - 1)) for step in range(most)})


def _round_up(value: float) -> float:
    size = 1.0
    while size * 10 < value:
        size *= 10
    return next(size * step for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if size * step >= value)


def _short(value: float) -> str:
    if value >= 10_000:
        return f"{value / 1000:,.0f}k"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def _in_words(curve: Curve) -> str:
    known = [value for value in curve.values if value is not None]
    return (
        f"{curve.name} at most {max(known):,.0f}, at the end {known[-1]:,.0f}"
        if known
        else f"{curve.name} not measured"
    )
