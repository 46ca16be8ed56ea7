"""Read the evidence about a concurrency pool in as few calls as can be: the look at Lambda.

One Metrics Insights query ranks every function by its concurrency, a second one by its throttles; plain account metrics
ride along (CloudWatch API: one such query a call). Details are read only of the few functions that could hold the pool, or
of the function that suffers where the pool is fine. The number of calls does not grow with the number of functions, up to
the 10,000 metrics such a query looks at; beyond that every function is read by name, and the evidence says so.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from unthrottle.errors import NotFound, Refused
from unthrottle.evidence.pool import (
    RANKED_FUNCTIONS,
    AsyncSettings,
    Candidate,
    ConcurrencyAccount,
    EventSource,
    FunctionUse,
    PoolEvidence,
)
from unthrottle.evidence.read_earlier import in_doubt, read_earlier
from unthrottle.evidence.series import Series
from unthrottle.ports import Functions, MetricQuery, Metrics, Observer, Ranked
from unthrottle.settings import Settings

WINDOW = timedelta(hours=3)
RECENT = timedelta(minutes=30)
RANKED_VICTIMS = 500
INSIGHTS_METRICS = 10_000
"""Metrics one Metrics Insights query looks at; more are left out without an error (CloudWatch guide, Insights limits)."""
MOST_CANDIDATES = 5
MOST_SUFFERERS = 3
"""Throttled functions whose own settings are read where the pool has room: together they mostly explain the throttles."""
EXPLAINED = 0.9
"""Part of the throttles above which no further sufferer is looked at."""
USED_UP = 0.9
"""A pool fuller than this is looked at for who holds it; below, also for whose own settings throttle it."""
MAY_BE_HELD = 0.8
"""Below this nobody can be holding the pool: the early warning's threshold."""
NO_NAME = frozenset({"ValidationException", "InvalidParameterValueException"})
"""What Lambda says to a name it does not take. A replica of Lambda@Edge has metrics under its home Region and name."""
ASYNC_SHARE = 0.9
"""Share of invocations from Lambda's own event queue above which no event source mapping needs to be looked for."""

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
    looked at as candidates. Raises
    what the ports raise: TryAgain, NotAllowed, Refused.
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
        ranking = _rank_by_name(observer, end - RECENT, end)
    else:
        ranking = answer.ranking
    uses = tuple(FunctionUse(name=row.label, concurrency=row.series) for row in ranking if row.label != "Other")
    peak = _peak_minute(answer.series["unreserved"], answer.series["concurrency"], end)
    fullness = _fullness(answer.series, account, end)
    held = fullness is None or fullness >= MAY_BE_HELD
    chosen = _holders(uses, account, settings, peak, own_prefix) if held else ()
    victims = observer.metrics.read(
        _candidate_queries(chosen), start=end - RECENT, end=end, ranking=None if too_many else BY_THROTTLES
    )
    throttled = tuple(
        (row.label, row.series) for row in victims.ranking if row.label != "Other" and row.series.sum() > 0
    )
    if too_many:
        throttled = _throttled_by_name(observer, uses, end - RECENT, end)
    any_provisioned = _provisioned_exists(answer.series["claimed"], answer.series["unreserved"], account)
    candidates = _looked_at(observer, chosen, victims.series, gaps, any_provisioned=any_provisioned)
    doubtful: tuple[str, ...] = ()
    pressed = MAY_BE_HELD if early_warning else USED_UP
    if fullness is not None and fullness >= pressed:
        use, size = _pool(answer.series, account)
        doubtful = in_doubt(candidates, uses, use, peak=peak, full_from=pressed * size)
    earlier, earlier_account = read_earlier(observer.metrics, doubtful, start=start)
    if not chosen or (fullness is not None and fullness < USED_UP):
        suffering = tuple(name for name in _sufferers(alarmed, throttled, own_prefix) if name not in chosen)
        if suffering:
            series = observer.metrics.read(_candidate_queries(suffering), start=end - RECENT, end=end).series
            candidates += _looked_at(observer, suffering, series, gaps, any_provisioned=any_provisioned)
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


def is_own(name: str, own_prefix: str | None) -> bool:
    """Say whether a function belongs to Unthrottle's own stack (CloudFormation begins its names with the stack's)."""
    return bool(own_prefix) and name.startswith(f"{own_prefix}-")


def _peak_minute(unreserved: Series, concurrency: Series, end: datetime) -> datetime | None:
    recent = unreserved if not unreserved.is_empty else concurrency
    return recent.between(end - timedelta(minutes=15), end).peak_at()


def _near(series: Series, moment: datetime) -> float:
    """Return the largest value within two minutes of `moment`: functions do not peak in the very same minute."""
    around = series.between(moment - timedelta(minutes=2), moment + timedelta(minutes=3))
    return around.peak() or 0.0


def _pool(series: dict[str, Series], account: ConcurrencyAccount) -> tuple[Series, float]:
    """Return the use of the shared pool, and how many executions it can hold in the newest visible minute."""
    use = series["unreserved"]
    if use.is_empty and account.reserved == 0:
        use = series["concurrency"]  # nothing is reserved, so all executions draw on the one pool
    newest = use.last_at
    # What provisioned concurrency holds is not there to be shared (AWS Lambda guide, ClaimedAccountConcurrency).
    claimed = None if newest is None else series["claimed"].at(newest)
    used = None if newest is None else series["unreserved"].at(newest)
    provisioned = 0.0 if claimed is None or used is None else max(0.0, claimed - used - account.reserved)
    return use, account.unreserved_limit - provisioned


def _fullness(series: dict[str, Series], account: ConcurrencyAccount, end: datetime) -> float | None:
    """Return how full the shared pool was at most in the newest visible minutes; None where it was not measured."""
    use, size = _pool(series, account)
    newest = use.last_at
    if newest is None or size <= 0:
        return None
    return (use.between(newest - timedelta(minutes=2), end).peak() or 0.0) / size


def _holders(
    uses: Sequence[FunctionUse],
    account: ConcurrencyAccount,
    settings: Settings,
    peak: datetime | None,
    own_prefix: str | None,
) -> tuple[str, ...]:
    """Name the functions worth a closer look: those that hold at least half of what one function may keep."""
    if peak is None:
        return ()
    enough = account.limit * settings.max_pool_share / 100 / 2
    held = sorted(
        ((_near(use.concurrency, peak), use.name) for use in uses if not is_own(use.name, own_prefix)), reverse=True
    )
    return tuple(name for value, name in held if value >= max(1.0, enough))[:MOST_CANDIDATES]


def _sufferers(
    alarmed: tuple[str, ...], throttled: Sequence[tuple[str, Series]], own_prefix: str | None
) -> tuple[str, ...]:
    """Where nobody holds the pool, the reason is likely in the suffering functions' own settings.

    The alarmed ones, and the most throttled until they explain nearly all throttles.
    """
    names = dict.fromkeys(alarmed[:MOST_SUFFERERS])
    whole, explained = sum(series.sum() for _, series in throttled), 0.0
    for name, series in throttled[:MOST_SUFFERERS]:
        if explained >= EXPLAINED * whole:
            break
        explained += series.sum()
        names[name] = None
    return tuple(name for name in names if not is_own(name, own_prefix))[:MOST_SUFFERERS]


def _looked_at(
    observer: Observer, names: Sequence[str], series: dict[str, Series], gaps: list[str], *, any_provisioned: bool
) -> list[Candidate]:
    """Read the settings of some functions; one that is gone, or that Lambda does not know by this name, is a gap."""
    found = []
    for number, name in enumerate(names):
        try:
            found.append(_details(observer.functions, name, series, number, any_provisioned=any_provisioned))
        except NotFound:
            gaps.append(f"function {name} has metrics but is not there any more")
        except Refused as error:
            if error.code not in NO_NAME:
                raise
            gaps.append(f"{name} has metrics but is no function that Lambda can describe here ({error.code})")
    return found


def _candidate_queries(names: Sequence[str]) -> list[MetricQuery]:
    return [
        MetricQuery(
            id=f"{key}{number}", namespace="AWS/Lambda", name=metric, stat="Sum", dimensions=(("FunctionName", name),)
        )
        for number, name in enumerate(names)
        for key, metric in (("i", "Invocations"), ("a", "AsyncEventsReceived"), ("t", "Throttles"))
    ]


def _provisioned_exists(claimed: Series, unreserved: Series, account: ConcurrencyAccount) -> bool:
    """Say whether any provisioned concurrency is claimed in the account.

    ClaimedAccountConcurrency = UnreservedConcurrentExecutions + all reserved + all provisioned (AWS Lambda guide), so what
    is left after the first two is provisioned. Unknown counts as yes: then it is read.
    """
    moment = claimed.last_at
    if moment is None:
        return True
    total, in_use = claimed.at(moment), unreserved.at(moment)
    if total is None or in_use is None:
        return True
    return total - in_use - account.reserved > 0.5


def _details(
    functions: Functions, name: str, series: dict[str, Series], number: int, *, any_provisioned: bool
) -> Candidate:
    settings = functions.describe(name)
    invocations, events = series[f"i{number}"], series[f"a{number}"]
    # One with a pool of its own is never capped: what feeds it does not matter.
    shares = settings.reserved is None and not settings.managed_instances
    is_async = events.sum() > 0 and shares
    sources: tuple[EventSource, ...] = ()
    if shares and (not is_async or events.sum() < ASYNC_SHARE * invocations.sum()):
        sources = functions.event_sources(name)
    kept: AsyncSettings | None = None
    if is_async:
        kept = functions.async_settings(name)
        if settings.has_dead_letter and not kept.has_destination:
            kept = AsyncSettings(max_event_age_s=kept.max_event_age_s, has_destination=True)
    return Candidate(
        name=name,
        arn=settings.arn,
        reserved=settings.reserved,
        timeout_s=settings.timeout_s,
        tags=settings.tags,
        managed_instances=settings.managed_instances,
        durable=settings.durable,
        provisioned=functions.provisioned(name) if any_provisioned else None,
        event_sources=sources,
        async_settings=kept,
        invocations=invocations,
        async_events=events,
        throttles=series[f"t{number}"],
    )


def _read_all(
    metrics: Metrics, names: Sequence[str], *, metric: str, stat: str, start: datetime, end: datetime
) -> list[Ranked]:
    queries = [
        MetricQuery(
            id=f"f{number}", namespace="AWS/Lambda", name=metric, stat=stat, dimensions=(("FunctionName", name),)
        )
        for number, name in enumerate(names)
    ]
    answer = metrics.read(queries, start=start, end=end)
    return [Ranked(label=name, series=answer.series[f"f{number}"]) for number, name in enumerate(names)]


def _rank_by_name(observer: Observer, start: datetime, end: datetime) -> tuple[Ranked, ...]:
    rows = _read_all(
        observer.metrics,
        observer.functions.names(),
        metric="ConcurrentExecutions",
        stat="Maximum",
        start=start,
        end=end,
    )
    rows.sort(key=lambda row: row.series.peak() or 0.0, reverse=True)
    return tuple(rows)


def _throttled_by_name(
    observer: Observer, uses: Sequence[FunctionUse], start: datetime, end: datetime
) -> tuple[tuple[str, Series], ...]:
    rows = _read_all(observer.metrics, [use.name for use in uses], metric="Throttles", stat="Sum", start=start, end=end)
    rows.sort(key=lambda row: row.series.sum(), reverse=True)
    return tuple((row.label, row.series) for row in rows if row.series.sum() > 0)[:RANKED_VICTIMS]
