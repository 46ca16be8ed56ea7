"""A metric over time, with its gaps kept as gaps.

Knows nothing of CloudWatch; a missing datapoint is None and never becomes a zero by itself. Only a reader that knows the
metric may say `total(missing_is_zero=...)`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One statistic of one metric: `values[i]` covers `period_s` seconds from ``start + i * period_s``."""

    start: datetime
    period_s: int
    values: tuple[float | None, ...]

    @property
    def known(self) -> tuple[float, ...]:
        """Return the datapoints that are there, oldest first."""
        return tuple(value for value in self.values if value is not None)

    @property
    def is_empty(self) -> bool:
        return not self.known

    @property
    def gaps(self) -> int:
        """Count the periods without a datapoint."""
        return len(self.values) - len(self.known)

    @property
    def last_at(self) -> datetime | None:
        """Return the start of the newest period that has a datapoint."""
        for index in range(len(self.values) - 1, -1, -1):
            if self.values[index] is not None:
                return self.time_of(index)
        return None

    def time_of(self, index: int) -> datetime:
        return self.start + timedelta(seconds=self.period_s * index)

    def at(self, moment: datetime) -> float | None:
        """Return the datapoint of the period that holds `moment`, or None."""
        index = int((moment - self.start).total_seconds() // self.period_s)
        return self.values[index] if 0 <= index < len(self.values) else None

    def between(self, start: datetime, end: datetime) -> "Series":
        """Return the periods that start in [start, end)."""
        kept = [index for index in range(len(self.values)) if start <= self.time_of(index) < end]
        first = self.time_of(kept[0]) if kept else start
        return Series(start=first, period_s=self.period_s, values=tuple(self.values[index] for index in kept))

    def sum(self) -> float:
        """Add the datapoints that are there. Zero when there is none: ask `is_empty` first."""
        return float(sum(self.known))

    def peak(self) -> float | None:
        """Return the largest datapoint, or None when there is none."""
        return max(self.known, default=None)

    def mean(self) -> float | None:
        """Return the mean of the datapoints that are there, or None."""
        return sum(self.known) / len(self.known) if self.known else None

    def peak_at(self) -> datetime | None:
        """Return the start of the period with the largest datapoint; the newest one on a tie."""
        top = self.peak()
        if top is None:
            return None
        return self.time_of(max(index for index, value in enumerate(self.values) if value == top))

    def first_above(self, threshold: float) -> datetime | None:
        """Return the start of the first period above `threshold`."""
        for index, value in enumerate(self.values):
            if value is not None and value > threshold:
                return self.time_of(index)
        return None


def empty(start: datetime, end: datetime, period_s: int = 60) -> Series:
    """Return a series of gaps over [start, end)."""
    count = max(0, int((end - start).total_seconds() // period_s))
    return Series(start=start, period_s=period_s, values=(None,) * count)


def total(series: Iterable[Series]) -> float:
    """Add up the datapoints that are there in several series."""
    return sum(item.sum() for item in series)
