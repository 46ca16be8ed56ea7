"""What is one part of the benchmark's result? A table, its goals, its curves, and the same as data.

Knows nothing of what was measured.
"""

from dataclasses import dataclass, field
from typing import Any

Rows = list[list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A figure to reach: what was found, whether that is enough, and if not, why."""

    text: str
    found: str
    reached: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """How a figure grows: points by name, and the words for both axes."""

    title: str
    x: str
    y: str
    lines: dict[str, list[tuple[float, float]]]


@dataclass(slots=True, kw_only=True)
class Section:
    """One part. The first column of `rows` names the row; the others hold figures."""

    key: str
    title: str
    columns: list[str]
    rows: Rows = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    bars: dict[str, dict[str, float]] = field(default_factory=dict)
    """Bar charts: title -> name -> figure."""
    data: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Write everything, for other programs."""
        return {
            "title": self.title,
            "columns": self.columns,
            "rows": self.rows,
            "notes": self.notes,
            "goals": [
                {"goal": goal.text, "found": goal.found, "reached": goal.reached, "why_not": goal.why_not}
                for goal in self.goals
            ],
            "curves": [
                {"title": curve.title, "x": curve.x, "y": curve.y, "lines": curve.lines} for curve in self.curves
            ],
            "bars": self.bars,
            "data": self.data,
        }


def percent(part: float, whole: float) -> str:
    """Write a share; "-" where there is nothing to take a share of."""
    return "-" if whole == 0 else f"{100 * part / whole:.1f} %"


def median(values: list[float]) -> float | None:
    """Return the middle value; None of none."""
    kept = sorted(values)
    if not kept:
        return None
    half = len(kept) // 2
    return kept[half] if len(kept) % 2 else (kept[half - 1] + kept[half]) / 2
