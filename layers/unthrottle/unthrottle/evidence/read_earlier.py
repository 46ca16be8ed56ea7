"""Did a function that holds the pool always run so? One more call, asked only where the three hours read cannot tell.

A function that took the pool before the window began looks like one that belongs there: flat for three hours. The same
hours of the days before tell the two apart. Judges nothing but which functions are in doubt.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import median

from unthrottle.evidence.pool import Candidate, FunctionUse
from unthrottle.evidence.series import Series
from unthrottle.ports import MetricQuery, Metrics

WEEK = timedelta(days=7)
PERIOD_S = 900
"""Quarters of an hour: 672 datapoints for a week and a function, far below what one call may return (CloudWatch API)."""
RISEN = 2.0
"""A function that ran less than its use at the peak divided by this, before the pressure, has risen within the window."""
FEWEST_CALM = 5
"""Fewer minutes before the pressure tell nothing of what a function ran before."""
TELLS = 0.5
"""Where the functions that have risen hold this part of the pool's use, the window tells enough."""


def in_doubt(
    candidates: Sequence[Candidate],
    uses: Sequence[FunctionUse],
    pool: Series,
    *,
    peak: datetime | None,
    full_from: float,
) -> tuple[str, ...]:
    """Name the candidates of the shared pool that ran about as much before the pressure, or of which that is unknown.

    `pool` is the use of the shared pool a minute, `peak` the minute looked at, `full_from` the use from which on
    the pool is under pressure. Nobody is in doubt where others have risen within the window and hold half of the pool.
    """
    if peak is None:
        return ()
    shared = {one.name for one in candidates if one.reserved is None and not one.managed_instances}
    calm = [
        moment
        for index, value in enumerate(pool.values)
        if value is not None and value < full_from and (moment := pool.time_of(index)) < peak
    ]
    doubtful, risen = [], 0.0
    for use in uses:
        held = use.concurrency.between(peak - timedelta(minutes=2), peak + timedelta(minutes=3)).peak() or 0.0
        if use.name not in shared or held <= 0:
            continue
        before = [use.concurrency.at(moment) or 0.0 for moment in calm if moment >= use.concurrency.start]
        if len(before) >= FEWEST_CALM and median(before) * RISEN <= held:
            risen += held
        else:
            doubtful.append(use.name)
    return () if risen >= TELLS * (pool.at(peak) or 0.0) else tuple(doubtful)


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
