"""Did a function that holds the pool always run so? One more call, asked only where the three hours read cannot tell.

A function that took the pool before the window began looks like one that belongs there: flat for three hours. The same
hours of the days before tell the two apart. Judges nothing.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from unthrottle.evidence.pool import FunctionUse
from unthrottle.evidence.series import Series
from unthrottle.ports import MetricQuery, Metrics

WEEK = timedelta(days=7)
PERIOD_S = 900
"""Quarters of an hour: 672 datapoints for a week and a function, far below what one call may return (CloudWatch API)."""


def read_earlier(
    metrics: Metrics, names: Sequence[str], *, start: datetime
) -> tuple[tuple[FunctionUse, ...], Series | None]:
    """Read the concurrency of some functions, and the account's, over the seven days before `start`. One call, or none."""
    if not names:
        return (), None
    account = MetricQuery(id="account", namespace="AWS/Lambda", name="ConcurrentExecutions", stat="Maximum")
    queries = [
        MetricQuery(
            id=f"e{number}",
            namespace="AWS/Lambda",
            name="ConcurrentExecutions",
            stat="Maximum",
            dimensions=(("FunctionName", name),),
        )
        for number, name in enumerate(names)
    ]
    answer = metrics.read([account, *queries], start=start - WEEK, end=start, period_s=PERIOD_S)
    found = tuple(FunctionUse(name=name, concurrency=answer.series[f"e{number}"]) for number, name in enumerate(names))
    return found, answer.series["account"]
