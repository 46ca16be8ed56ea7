"""Rank functions one by one, where an account has more of them than a ranking query looks at. 500 to a call."""

from collections.abc import Sequence
from datetime import datetime

from unthrottle.evidence.pool import FunctionUse
from unthrottle.evidence.series import Series
from unthrottle.ports import MetricQuery, Metrics, Observer, Ranked


def rank_by_name(observer: Observer, start: datetime, end: datetime) -> tuple[Ranked, ...]:
    """Read every function's concurrency (Maximum), the largest first."""
    rows = read_each(
        observer.metrics,
        observer.functions.names(),
        metric="ConcurrentExecutions",
        stat="Maximum",
        start=start,
        end=end,
    )
    rows.sort(key=lambda row: row.series.peak() or 0.0, reverse=True)
    return tuple(rows)


def throttled_by_name(
    metrics: Metrics, uses: Sequence[FunctionUse], most: int, start: datetime, end: datetime
) -> tuple[tuple[str, Series], ...]:
    """Read the throttles of these functions, the most throttled first, at most so many; those without any are left out."""
    rows = read_each(metrics, [use.name for use in uses], metric="Throttles", stat="Sum", start=start, end=end)
    rows.sort(key=lambda row: row.series.sum(), reverse=True)
    return tuple((row.label, row.series) for row in rows if row.series.sum() > 0)[:most]


def read_each(
    metrics: Metrics,
    names: Sequence[str],
    *,
    metric: str,
    stat: str,
    start: datetime,
    end: datetime,
    period_s: int = 60,
) -> list[Ranked]:
    """Read one metric of each of these functions, in their order."""
    queries = [
        MetricQuery(
            id=f"f{number}", namespace="AWS/Lambda", name=metric, stat=stat, dimensions=(("FunctionName", name),)
        )
        for number, name in enumerate(names)
    ]
    answer = metrics.read(queries, start=start, end=end, period_s=period_s)
    return [Ranked(label=name, series=answer.series[f"f{number}"]) for number, name in enumerate(names)]
