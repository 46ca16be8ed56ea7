"""Read the evidence about a concurrency pool in as few calls as can be: the look at Lambda.

One Metrics Insights query ranks every function by its concurrency, a second one by its throttles; plain account metrics
ride along (CloudWatch API: one such query a call). Details are read only of the few functions that could be a hog, or of
the function that suffers where the pool is fine. The number of calls does not grow with the number of functions, up to the
10,000 metrics such a query looks at; beyond that every function is read by name, and the evidence says so.
"""

from datetime import datetime, timedelta

from unthrottle.evidence.pool import RANKED_FUNCTIONS, Candidate, FunctionUse, PoolEvidence, large_from
from unthrottle.evidence.read_by_name import rank_by_name, throttled_by_name
from unthrottle.evidence.read_candidates import provisioned_exists, queries, read_candidates, series_of
from unthrottle.evidence.read_earlier import read_earlier
from unthrottle.evidence.suspects import (
    MAY_BE_HELD,
    MOST_CANDIDATES,
    TELLS,
    USED_UP,
    in_doubt,
    large,
    pool_of,
    sufferers,
    suspects,
)
from unthrottle.ports import MetricQuery, Observer
from unthrottle.settings import Settings
from unthrottle.subjects import is_own

WINDOW = timedelta(hours=3)
RECENT = timedelta(minutes=30)
RANKED_VICTIMS = 500
INSIGHTS_METRICS = 10_000
"""Metrics one Metrics Insights query looks at; more are left out without an error (CloudWatch guide, Insights limits)."""

BY_CONCURRENCY = (
    'SELECT MAX(ConcurrentExecutions) FROM SCHEMA("AWS/Lambda", FunctionName) '
    f"GROUP BY FunctionName ORDER BY MAX() DESC LIMIT {RANKED_FUNCTIONS}"
)
BY_THROTTLES = (
    'SELECT SUM(Throttles) FROM SCHEMA("AWS/Lambda", FunctionName) '
    f"GROUP BY FunctionName ORDER BY SUM() DESC LIMIT {RANKED_VICTIMS}"
)

_ACCOUNT_QUERIES = tuple(
    MetricQuery(id=key, namespace="AWS/Lambda", name=name, stat=stat)
    for key, name, stat in (
        ("concurrency", "ConcurrentExecutions", "Maximum"),
        ("unreserved", "UnreservedConcurrentExecutions", "Maximum"),
        ("claimed", "ClaimedAccountConcurrency", "Maximum"),
        ("throttles", "Throttles", "Sum"),
        ("invocations", "Invocations", "Sum"),
    )
)


def read_pool(
    observer: Observer,
    settings: Settings,
    now: datetime,
    *,
    alarmed: tuple[str, ...] = (),
    early_warning: bool = False,
    own_prefix: str | None = None,
) -> PoolEvidence:
    """Look at the pool of the observer's account and Region.

    `alarmed` are functions an alarm named; functions whose names begin with `own_prefix` are Unthrottle's own and never
    looked at as candidates. Raises what the ports raise: TryAgain, NotAllowed, Refused.
    """
    end = now.replace(second=0, microsecond=0)
    start = end - WINDOW
    gaps: list[str] = []
    account = observer.functions.account()
    too_many = account.function_count > INSIGHTS_METRICS
    answer = observer.metrics.read(_ACCOUNT_QUERIES, start=start, end=end, ranking=None if too_many else BY_CONCURRENCY)
    if too_many:
        gaps.append(
            f"{account.function_count:,} functions are more than one ranking query looks at ({INSIGHTS_METRICS:,}); "
            "each was read by its name instead"
        )
        ranking = rank_by_name(observer, end - RECENT, end)
    else:
        ranking = answer.ranking
    uses = tuple(FunctionUse(name=row.label, concurrency=row.series) for row in ranking if row.label != "Other")
    pool = pool_of(answer.series, account, end)
    full_from = (MAY_BE_HELD if early_warning else USED_UP) * pool.size
    held = pool.fullness is None or pool.fullness >= MAY_BE_HELD
    share = large_from(account.limit * settings.max_pool_share / 100, pool.size)
    holders = large(uses, share, pool.peak, own_prefix) if held else ()
    at_peak = dict(holders)
    chosen = suspects(holders, uses, pool, share=share, full_from=full_from)
    measured = [name for name, _ in holders]
    victims = observer.metrics.read(
        queries(measured), start=end - RECENT, end=end, ranking=None if too_many else BY_THROTTLES
    )
    throttled = tuple(
        (row.label, row.series) for row in victims.ranking if row.label != "Other" and row.series.sum() > 0
    )
    if too_many:
        throttled = throttled_by_name(observer.metrics, uses, RANKED_VICTIMS, end - RECENT, end)
    any_provisioned = provisioned_exists(answer.series["claimed"], answer.series["unreserved"], account)
    series = series_of(measured, victims.series)
    asked = list(chosen)
    candidates = read_candidates(observer, chosen, series, gaps, any_provisioned=any_provisioned, held=at_peak)
    if any(not _shares(one) for one in candidates) and _hold(candidates, holders) < TELLS * pool.at_peak:
        # What has risen runs in a pool of its own after all: then it may be one of the steady ones.
        rest = [name for name in measured if name not in chosen][: MOST_CANDIDATES - len(chosen)]
        candidates += read_candidates(observer, rest, series, gaps, any_provisioned=any_provisioned, held=at_peak)
        asked += rest
    doubtful: tuple[str, ...] = ()
    if pool.fullness is not None and pool.fullness * pool.size >= full_from:
        doubtful = in_doubt(candidates, uses, pool, full_from=full_from)
    earlier, earlier_account = read_earlier(observer.metrics, doubtful, start=start)
    if not holders or (pool.fullness is not None and pool.fullness < USED_UP):
        suffering = tuple(name for name in sufferers(alarmed, throttled, own_prefix) if name not in asked)
        if suffering:
            own = observer.metrics.read(queries(suffering), start=end - RECENT, end=end).series
            candidates += read_candidates(
                observer,
                suffering,
                series_of(suffering, own),
                gaps,
                any_provisioned=any_provisioned,
                held={},
                feeds=False,
            )
    return PoolEvidence(
        start=start,
        end=end,
        account=account,
        concurrency=answer.series["concurrency"],
        unreserved_in_use=answer.series["unreserved"],
        claimed=answer.series["claimed"],
        throttles=answer.series["throttles"],
        invocations=answer.series["invocations"],
        ranking=uses,
        ranking_complete=not too_many,
        throttled=throttled,
        candidates=tuple(candidates),
        alarmed=alarmed,
        early_warning=early_warning,
        earlier=earlier,
        earlier_account=earlier_account,
        gaps=tuple(gaps),
    )


def _hold(candidates: list[Candidate], holders: tuple[tuple[str, float], ...]) -> float:
    """Add up what the functions that draw on the shared pool hold of it."""
    shared = {one.name for one in candidates if _shares(one)}
    return sum(value for name, value in holders if name in shared)


def _shares(one: Candidate) -> bool:
    return one.reserved is None and not one.managed_instances


__all__ = ["BY_CONCURRENCY", "BY_THROTTLES", "INSIGHTS_METRICS", "is_own", "read_pool"]
