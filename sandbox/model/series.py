"""How do the model's numbers reach the metric store?

Turns step lists into minutes, and keeps the rows of metrics so that a minute is written in a few block writes. A metric
gets its row with its first datapoint, since AWS lists no metric that never had one.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Kind = Literal["gauge", "sum"]


class MetricSink(Protocol):
    """The part of the metric store that the model writes to."""

    def row(self, namespace: str, name: str, dimensions: Mapping[str, str]) -> int:
        """Name the row of a metric, made on first use."""

    def put_block(
        self,
        rows: Sequence[int] | NDArray[np.intp],
        minute: int,
        values: Sequence[float] | Floats,
        kind: Kind = "gauge",
        samples: Sequence[float] | Floats | float | None = None,
    ) -> None:
        """Write one minute of many metrics."""


def per_minute(steps: Sequence[tuple[int, float]], minutes: int, history: int = 0) -> Floats:
    """Spell a step list out, minute by minute from -history to minutes - 1.

    A step lasts until the next; before the first step nothing is wanted. The history is what minute 0 wants.
    """
    values = np.zeros(minutes)
    for start, amount in steps:
        values[start:] = amount
    return np.concatenate([np.full(history, values[0]), values])


class SeriesBlock:
    """One metric for many subjects, each with its own dimensions."""

    def __init__(self, sink: MetricSink, namespace: str, name: str, dimensions: Sequence[Mapping[str, str]]) -> None:
        self._sink, self._namespace, self._name, self._dimensions = sink, namespace, name, dimensions
        self._rows = np.full(len(dimensions), -1, dtype=np.intp)

    def publish(self, minute: int, values: Floats, kind: Kind = "gauge", samples: Floats | None = None) -> None:
        """Write the values of one minute; NaN is a gap and writes nothing."""
        present = ~np.isnan(values)
        if not present.any():
            return
        for subject in np.flatnonzero(present & (self._rows < 0)):
            self._rows[subject] = self._sink.row(self._namespace, self._name, self._dimensions[int(subject)])
        counts = None if samples is None else samples[present]
        self._sink.put_block(self._rows[present], minute, values[present], kind, counts)


class MinuteWriter:
    """Collects single datapoints of one minute and writes them together."""

    def __init__(self, sink: MetricSink, namespace: str) -> None:
        self._sink, self._namespace = sink, namespace
        self._rows: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
        self._pending: dict[Kind, tuple[list[int], list[float]]] = {"gauge": ([], []), "sum": ([], [])}

    def add(self, name: str, dimensions: tuple[tuple[str, str], ...], value: float, kind: Kind = "sum") -> None:
        """Note one datapoint; `flush` writes it."""
        row = self._rows.get((name, dimensions))
        if row is None:
            row = self._rows[name, dimensions] = self._sink.row(self._namespace, name, dict(dimensions))
        rows, values = self._pending[kind]
        rows.append(row)
        values.append(value)

    def flush(self, minute: int) -> None:
        """Write what was noted, as datapoints of *minute*."""
        for kind, (rows, values) in self._pending.items():
            if rows:
                self._sink.put_block(rows, minute, values, kind)
                rows.clear()
                values.clear()
