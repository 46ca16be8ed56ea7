"""Which datapoints exist, and which of them may be read at a given moment?

One float array per statistic, minutes by metrics, so that a minute is written for thousands of metrics in one go and
a window is reduced without a loop. A minute without samples is a gap: it reads as NaN, never as 0. The store knows
nothing of requests, paging or queries in text.

CloudWatch facts it keeps: a metric is its namespace, name and exact set of dimensions; Average is Sum / SampleCount;
buckets are aligned to their period; a minute can be read only `delay_minutes` after it ended (it publishes late).
Metrics that AWS sends every five minutes are simply written every five minutes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
RuleReport = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
Statistic = Literal["Sum", "Minimum", "Maximum", "SampleCount", "Average"]
STATISTICS: tuple[str, ...] = ("Sum", "Minimum", "Maximum", "SampleCount", "Average")
Dimensions = tuple[tuple[str, str], ...]

_MINUTE = timedelta(minutes=1)
_GROWTH = 60


class UnknownStatisticError(ValueError):
    """A statistic the store does not keep, such as a percentile. Raised rather than answered with nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The identity of a metric. Dimensions are sorted, since their order means nothing."""

    namespace: str
    name: str
    dimensions: Dimensions


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """Statistics of several metrics over consecutive periods; arrays are metrics x buckets, `count` 0 = a gap."""

    start: datetime
    period_s: int
    total: Floats
    minimum: Floats
    maximum: Floats
    count: Floats

    def times(self) -> list[datetime]:
        """The start of each bucket, oldest first."""
        return [self.start + timedelta(seconds=self.period_s * i) for i in range(self.count.shape[1])]

    def statistic(self, name: str) -> Floats:
        """Values of one statistic, NaN where there is no sample. Raises UnknownStatisticError."""
        gap = self.count == 0
        if name == "Average":
            return np.divide(self.total, self.count, out=np.full_like(self.total, np.nan), where=~gap)
        source = {"Sum": self.total, "Minimum": self.minimum, "Maximum": self.maximum, "SampleCount": self.count}
        if name not in source:
            raise UnknownStatisticError(f"The statistic {name!r} is not kept; use one of {', '.join(STATISTICS)}.")
        return np.where(gap, np.nan, source[name])


class MetricStore:
    """Datapoints of one account and Region, a minute apart.

    Minutes are counted from *start* and may be negative: that is the history before a scenario begins. *minutes* and
    *history* are only a first allocation; the store grows as needed.
    """

    def __init__(self, start: datetime, minutes: int, *, history: int = 0, delay_minutes: float = 0) -> None:
        if start.tzinfo is None or start.second or start.microsecond:
            raise ValueError(f"MetricStore cannot start at {start.isoformat()}; give an aware time on a whole minute.")
        self.start = start.astimezone(UTC)
        self.delay_minutes = delay_minutes
        self._first = -history
        self._epoch = int(self.start.timestamp()) // 60
        self._data = {name: np.zeros((history + max(minutes, 1), 64)) for name in ("sum", "min", "max", "count")}
        self._rows: dict[Metric, int] = {}
        self._metrics: list[Metric] = []
        self._by_name: dict[tuple[str, str], list[int]] = {}
        self._overridden: dict[int, int] = {}
        self.rule_report: RuleReport = lambda _: None
        """What Contributor Insights has counted, by the parameters of GetInsightRuleReport; None: there is no such rule."""

    # -- writing ----------------------------------------------------------------------------------------------------

    def row(self, namespace: str, name: str, dimensions: Mapping[str, str]) -> int:
        """The row of a metric, made on first use. A row without datapoints is not a metric to any reader."""
        metric = Metric(namespace=namespace, name=name, dimensions=tuple(sorted(dimensions.items())))
        found = self._rows.get(metric)
        if found is not None:
            return found
        row = len(self._metrics)
        if row == self._data["sum"].shape[1]:
            self._data = {key: np.hstack([array, np.zeros_like(array)]) for key, array in self._data.items()}
        self._rows[metric] = row
        self._metrics.append(metric)
        self._by_name.setdefault((namespace, name), []).append(row)
        return row

    def put_block(
        self,
        rows: Sequence[int] | Rows,
        minute: int,
        values: Sequence[float] | Floats,
        kind: Literal["gauge", "sum"] = "gauge",
        samples: Sequence[float] | Floats | float | None = None,
    ) -> None:
        """Write one minute of many metrics. NaN in *values* writes nothing there: a gap stays a gap.

        *kind* "gauge": each value is a level, seen in each of *samples* samples (one, if not said). "sum": each value
        is a total over *samples* events of equal size; if not said, every event counts 1, as for Throttles. A total of
        0 is one sample of 0. Rows must differ from each other. A second write of a minute replaces the first.
        """
        index, array = np.asarray(rows, dtype=np.intp), np.asarray(values, dtype=np.float64)
        default = np.ones_like(array) if kind == "gauge" else array
        counts = np.broadcast_to(default if samples is None else np.asarray(samples, dtype=np.float64), array.shape)
        keep = ~np.isnan(array)
        if self._overridden:
            keep &= np.array([minute < self._overridden.get(int(row), minute + 1) for row in index], dtype=bool)
        index, array, counts = index[keep], array[keep], np.maximum(counts[keep], 1.0)
        column, each = self._column(minute), array if kind == "gauge" else array / counts
        self._data["count"][column, index] = counts
        self._data["max"][column, index] = each
        self._data["min"][column, index] = each
        self._data["sum"][column, index] = each * counts

    def put(
        self,
        namespace: str,
        name: str,
        dimensions: Mapping[str, str],
        minute: int,
        value: float,
        *,
        kind: Literal["gauge", "sum"] = "gauge",
        samples: float | None = None,
    ) -> None:
        """Write one minute of one metric; see `put_block`."""
        self.put_block([self.row(namespace, name, dimensions)], minute, [value], kind, samples)

    def merge(self, metric_row: int, minute: int, *, total: float, low: float, high: float, count: float) -> None:
        """Add samples to a minute, as PutMetricData does: sums and counts add up, extremes widen."""
        column, data = self._column(minute), self._data
        before = data["count"][column, metric_row] > 0
        data["min"][column, metric_row] = min(low, data["min"][column, metric_row]) if before else low
        data["max"][column, metric_row] = max(high, data["max"][column, metric_row]) if before else high
        data["sum"][column, metric_row] += total
        data["count"][column, metric_row] += count

    def override(
        self,
        namespace: str,
        name: str,
        dimensions: Mapping[str, str],
        *,
        stat: str,
        start_minute: int,
        period_s: int,
        values: Iterable[float | None],
    ) -> None:
        """Replace what the model publishes for a metric, from *start_minute* on, by a raw series.

        None is a gap, and so is everything after the series. The first series of a metric fixes all statistics (one
        sample a point); a further one for the same metric sets its own statistic only. Raises UnknownStatisticError.
        """
        key = {"Sum": "sum", "Average": "sum", "Minimum": "min", "Maximum": "max", "SampleCount": "count"}.get(stat)
        if key is None:
            raise UnknownStatisticError(f"The statistic {stat!r} is not kept; use one of {', '.join(STATISTICS)}.")
        if period_s <= 0 or period_s % 60:
            raise ValueError(f"A series cannot have a period of {period_s} s; use a multiple of 60.")
        row = self.row(namespace, name, dimensions)
        fresh = row not in self._overridden
        if fresh:
            self._overridden[row] = start_minute
            first = self._column(start_minute)
            for array in self._data.values():
                array[first:, row] = 0
        for step, value in enumerate(values):
            column = self._column(start_minute + step * period_s // 60)
            if value is None:
                continue
            if fresh and key != "count":
                for array in self._data.values():
                    array[column, row] = value
                self._data["count"][column, row] = 1
            else:
                self._data[key][column, row] = value

    # -- reading ----------------------------------------------------------------------------------------------------

    @property
    def metrics(self) -> Sequence[Metric]:
        """Every metric by row, in the order in which they were first seen."""
        return self._metrics

    def find(self, namespace: str, name: str, dimensions: Mapping[str, str]) -> int | None:
        """The row of exactly this metric, or None."""
        return self._rows.get(Metric(namespace=namespace, name=name, dimensions=tuple(sorted(dimensions.items()))))

    def rows_named(self, namespace: str, name: str) -> Sequence[int]:
        """Rows of all metrics of a name in a namespace, whatever their dimensions."""
        return self._by_name.get((namespace, name), [])

    def visible_until(self, now: datetime) -> int:
        """The first minute that cannot be read yet at *now*; all before it can.

        A minute is complete when it has passed and is shown `delay_minutes` later.
        """
        return int(((now - self.start) / _MINUTE - self.delay_minutes) // 1)

    def reported(self, rows: Sequence[int] | Rows, since: datetime, now: datetime) -> NDArray[np.bool_]:
        """Which of the metrics have a datapoint at or after *since* that can be read at *now*."""
        first = max(int((since - self.start) // _MINUTE), self._first)
        high = min(self._first + self._data["count"].shape[0], self.visible_until(now))
        counts = self._data["count"][first - self._first : max(high - self._first, 0)]
        most: Floats = np.max(counts, axis=0, initial=0.0)
        there: NDArray[np.bool_] = most[np.asarray(rows, dtype=np.intp)] > 0
        return there

    def read(self, rows: Sequence[int] | Rows, period_s: int, start: datetime, end: datetime, now: datetime) -> Buckets:
        """Reduce the window to periods: start is rounded down and end up to a whole period.

        Datapoints not yet visible at *now* are gaps. *period_s* must be a multiple of 60.
        """
        if period_s <= 0 or period_s % 60:
            raise ValueError(f"Metrics cannot be read with a period of {period_s} s; use a multiple of 60.")
        index, step = np.asarray(rows, dtype=np.intp), period_s // 60
        first = int(start.timestamp() // period_s) * step - self._epoch
        last = -int(-end.timestamp() // period_s) * step - self._epoch
        buckets = max(0, (last - first) // step)
        parts = {key: self._window(key, index, first, first + buckets * step, now) for key in self._data}
        shaped = {key: part.reshape(buckets, step, len(index)) for key, part in parts.items()}
        present = shaped["count"] > 0
        lowest = np.where(present, shaped["min"], np.inf).min(axis=1, initial=np.inf)
        highest = np.where(present, shaped["max"], -np.inf).max(axis=1, initial=-np.inf)
        return Buckets(
            start=self.start + first * _MINUTE,
            period_s=period_s,
            total=shaped["sum"].sum(axis=1).T,
            minimum=lowest.T,
            maximum=highest.T,
            count=shaped["count"].sum(axis=1).T,
        )

    def query(
        self,
        namespace: str,
        name: str,
        dimensions: Mapping[str, str],
        *,
        stat: str,
        period_s: int,
        start: datetime,
        end: datetime,
        now: datetime,
    ) -> list[tuple[datetime, float]]:
        """Datapoints of exactly one metric, oldest first; gaps are left out. Raises UnknownStatisticError."""
        if stat not in STATISTICS:
            raise UnknownStatisticError(f"The statistic {stat!r} is not kept; use one of {', '.join(STATISTICS)}.")
        row = self.find(namespace, name, dimensions)
        if row is None:
            return []
        buckets = self.read([row], period_s, start, end, now)
        return [
            (at, float(value))
            for at, value in zip(buckets.times(), buckets.statistic(stat)[0], strict=True)
            if not np.isnan(value)
        ]

    # -- inside -----------------------------------------------------------------------------------------------------

    def _column(self, minute: int) -> int:
        """The array index of a minute; makes room before or after when there is none."""
        length = self._data["sum"].shape[0]
        if minute < self._first:
            room = self._first - minute + _GROWTH
            self._pad(before=room, after=0)
            self._first -= room
        elif minute - self._first >= length:
            self._pad(before=0, after=max(minute - self._first - length + _GROWTH, length // 2))
        return minute - self._first

    def _pad(self, *, before: int, after: int) -> None:
        self._data = {key: np.pad(array, ((before, after), (0, 0))) for key, array in self._data.items()}

    def _window(self, key: str, rows: Rows, first: int, last: int, now: datetime) -> Floats:
        """Minutes first..last of the rows, zeros where there is nothing or nothing to see yet."""
        array = self._data[key]
        window = np.zeros((max(0, last - first), len(rows)))
        low = max(first, self._first)
        high = min(last, self._first + array.shape[0], self.visible_until(now))
        if low < high:
            window[low - first : high - first] = array[low - self._first : high - self._first][:, rows]
        return window
