"""Build evidence for the tests of causes and of what follows from them: an account or a table, told in few words.

A series is given as a mapping from minute to value over a level; minute 0 is the start of the window, and the window
ends when we looked. The newest two minutes have no datapoints, as with CloudWatch's delay, unless `delay` says
otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from unthrottle.backfills import Backfill
from unthrottle.evidence.pool import Candidate, ConcurrencyAccount, FunctionUse, PoolEvidence
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import (
    BackfillsUnknown,
    Billing,
    Capacity,
    HotKeys,
    IndexSettings,
    KeyShare,
    RunningBackfills,
    ScalingActivity,
    TableEvidence,
    TableSettings,
    Throttle,
    UnitMetrics,
    Way,
)

START = datetime(2026, 8, 24, 4, 0, tzinfo=UTC)
MINUTES = 60
DELAY = 2
ONSET = 40
"""The minute at which incidents of the builders begin."""

Steps = Mapping[int, float | None]
"""From which minute on which value; None is a gap."""


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def series(steps: Steps, *, minutes: int = MINUTES, delay: int = DELAY) -> Series:
    """Steps to one datapoint a minute: {0: 20, 40: 900}. Nothing before the first step, nothing in the newest
    minutes."""
    values: list[float | None] = []
    current: float | None = None
    for minute in range(minutes):
        current = steps.get(minute, current)
        values.append(current if minute < minutes - delay else None)
    return Series(start=START, period_s=60, values=tuple(values))


def points(given: Mapping[int, float], *, minutes: int = MINUTES) -> Series:
    """Single datapoints, gaps elsewhere."""
    return Series(start=START, period_s=60, values=tuple(given.get(minute) for minute in range(minutes)))


def every_five_minutes(steps: Steps, *, minutes: int = MINUTES) -> Series:
    """Steps to one datapoint every five minutes, as provisioned capacity is published."""
    whole = series(steps, minutes=minutes)
    return replace(whole, values=tuple(value if minute % 5 == 0 else None for minute, value in enumerate(whole.values)))


def nothing(*, minutes: int = MINUTES) -> Series:
    return points({}, minutes=minutes)


# --- Lambda ------------------------------------------------------------------------------------------------------


def function(name: str, steps: Steps, *, delay: int = DELAY) -> FunctionUse:
    return FunctionUse(name=name, concurrency=series(steps, delay=delay))


def details(
    name: str,
    *,
    reserved: int | None = None,
    managed_instances: bool = False,
    provisioned: int | None = None,
    throttles: Series | None = None,
    invocations: Series | None = None,
) -> Candidate:
    return Candidate(
        name=name,
        arn=f"arn:aws:lambda:eu-west-1:111122223333:function:{name}",
        reserved=reserved,
        timeout_s=900,
        managed_instances=managed_instances,
        provisioned=provisioned,
        throttles=throttles,
        invocations=invocations,
    )


def pool(
    *,
    use: Steps | None = None,
    limit: int = 1000,
    reserved: int = 0,
    concurrency: Steps | None = None,
    claimed: Series | None = None,
    throttles: Steps | Series | None = None,
    invocations: Steps | None = None,
    functions: Sequence[FunctionUse] = (),
    throttled: Mapping[str, Steps | Series] | None = None,
    candidates: Sequence[Candidate] | None = None,
    ranking_complete: bool = True,
    early_warning: bool = False,
    alarmed: Sequence[str] = (),
    gaps: Sequence[str] = (),
    minutes: int = MINUTES,
) -> PoolEvidence:
    """An account in which, unless told otherwise, the pool is used up from the onset on and throttles.

    `candidates` None: the settings of every ranked function are read, and none has a reservation.
    """
    used = {0: 100, ONSET: 998} if use is None else use
    refused = {ONSET: 500.0} if throttles is None else throttles
    rows = {
        name: row if isinstance(row, Series) else series(row, minutes=minutes)
        for name, row in (throttled or {}).items()
    }
    ranked = sorted(functions, key=lambda row: -(row.concurrency.peak() or 0))
    return PoolEvidence(
        start=START,
        end=at(minutes),
        account=ConcurrencyAccount(limit=limit, unreserved_limit=limit - reserved, function_count=400),
        concurrency=series(used if concurrency is None else concurrency, minutes=minutes),
        unreserved_in_use=series(used, minutes=minutes),
        claimed=nothing(minutes=minutes) if claimed is None else claimed,
        throttles=refused if isinstance(refused, Series) else series(refused, minutes=minutes),
        invocations=series(invocations or {0: 900}, minutes=minutes),
        ranking=tuple(ranked),
        ranking_complete=ranking_complete,
        throttled=tuple(sorted(rows.items(), key=lambda item: -item[1].sum())),
        candidates=tuple(details(row.name) for row in ranked) if candidates is None else tuple(candidates),
        alarmed=tuple(alarmed),
        early_warning=early_warning,
        gaps=tuple(gaps),
    )


def hog_incident(name: str = "batch-processor", *, held: float = 841, victims: int = 28) -> PoolEvidence:
    """One function takes the pool at the onset; the most throttled of its victims runs next to nothing."""
    small = [f"uat-pipe-{number:03d}" for number in range(1, victims + 1)]
    return pool(
        functions=[function(name, {0: 20, ONSET: held}), *(function(each, {0: 3}) for each in small)],
        throttled={each: {ONSET: 100.0 + number} for number, each in enumerate(small)} | {name: {ONSET: 50.0}},
        candidates=[details(name), *(details(each) for each in small[:3])],
    )


# --- DynamoDB ----------------------------------------------------------------------------------------------------


def unit(
    index: str | None = None,
    *,
    write: Steps | None = None,
    read: Steps | None = None,
    provisioned: Mapping[Way, Steps] | None = None,
    throttles: Mapping[tuple[Way, Throttle], Steps | Series] | None = None,
    unexplained: Mapping[Way, Steps] | None = None,
) -> UnitMetrics:
    """A table's or an index's metrics: `write` and `read` are consumed units a second, `throttles` events a minute.

    `unexplained` are events of the metric over all reasons, without any by reason.
    """
    consumed = {Way.WRITE: {0: 20.0} if write is None else write, Way.READ: {0: 40.0} if read is None else read}
    by_reason: dict[Way, dict[Throttle, Series]] = {way: {reason: nothing() for reason in Throttle} for way in Way}
    for (way, reason), given in (throttles or {}).items():
        by_reason[way][reason] = given if isinstance(given, Series) else series(given)
    whole = {}
    for way in Way:
        rows = list(by_reason[way].values())
        added = [[value for row in rows if (value := row.values[minute]) is not None] for minute in range(MINUTES)]
        whole[way] = Series(start=START, period_s=60, values=tuple(sum(each) if each else None for each in added))
        if unexplained and way in unexplained:
            whole[way] = series(unexplained[way])
    return UnitMetrics(
        index=index,
        consumed={
            way: series({minute: None if value is None else value * 60 for minute, value in steps.items()})
            for way, steps in consumed.items()
        },
        provisioned={way: every_five_minutes((provisioned or {}).get(way, {})) for way in Way},
        throttle_events=whole,
        throttles=by_reason,
    )


def settings(
    name: str = "dagy-runs-develop",
    *,
    billing: Billing = Billing.PROVISIONED,
    capacity: Capacity | None = None,
    indexes: Sequence[IndexSettings] = (),
    **more: object,
) -> TableSettings:
    default = Capacity(read=100, write=50) if billing is Billing.PROVISIONED else Capacity(read=0, write=0)
    base = TableSettings(
        name=name,
        arn=f"arn:aws:dynamodb:eu-west-1:111122223333:table/{name}",
        status="ACTIVE",
        billing=billing,
        capacity=capacity or default,
        indexes=tuple(indexes),
    )
    return replace(base, **more)  # type: ignore[arg-type]  # any other field, by its name


def index(name: str = "by-status", *, read: int = 100, write: int = 50, status: str = "ACTIVE") -> IndexSettings:
    return IndexSettings(name=name, status=status, capacity=Capacity(read=read, write=write))


def backfill(
    name: str = "bf-7f3a",
    *,
    start: float = ONSET,
    environment: str = "develop",
    rate: float = 900,
    state: str = "running",
) -> Backfill:
    return Backfill(
        id=name,
        state=state,
        flow="nightly-orders",
        environment=environment,
        requested_by="data-eng",
        started_at=at(start),
        runs_total=40000,
        runs_dispatched=2700,
        dispatch_rate_per_minute=rate,
    )


def hot_keys(*shares: float, index: str | None = None) -> HotKeys:
    keys = tuple(KeyShare(key=f"customer-{number}", share=share) for number, share in enumerate(shares))
    return HotKeys(index=index, source="throttled keys", keys=keys)


def scaled(
    minute: float,
    *,
    to: int = 200,
    status: str = "Successful",
    index: str | None = None,
    not_scaled: Sequence[str] = (),
    way: Way = Way.WRITE,
) -> ScalingActivity:
    return ScalingActivity(
        at=at(minute),
        index=index,
        description=f"Setting {way} capacity units to {to}.",
        status=status,
        not_scaled=tuple(not_scaled),
    )


def table(
    *units: UnitMetrics,
    described: TableSettings | None = None,
    backfills: Sequence[Backfill] | BackfillsUnknown = (),
    hot: Sequence[HotKeys] = (),
    activities: Sequence[ScalingActivity] = (),
    tags: Mapping[str, str] | None = None,
    alarmed_index: str | None = None,
    gaps: Sequence[str] = (),
) -> TableEvidence:
    """A table as it was read; dagy was asked and runs `backfills`."""
    return TableEvidence(
        start=START,
        end=at(MINUTES),
        settings=described or settings(),
        units=units,
        tags=dict(tags or {}),
        activities=tuple(activities),
        backfills=backfills
        if isinstance(backfills, BackfillsUnknown)
        else RunningBackfills(backfills=tuple(backfills)),
        hot_keys=tuple(hot),
        alarmed_index=alarmed_index,
        gaps=tuple(gaps),
    )


def short_of_writes(*, write: Steps | None = None, events: float = 300) -> UnitMetrics:
    """A table's own metrics when its 50 provisioned write units are used up from the onset on."""
    return unit(
        write={0: 20, ONSET: 50} if write is None else write,
        provisioned={Way.WRITE: {0: 50}, Way.READ: {0: 100}},
        throttles={(Way.WRITE, Throttle.PROVISIONED): {ONSET: events}},
    )
