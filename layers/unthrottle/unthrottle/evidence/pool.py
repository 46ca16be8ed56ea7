"""Everything read about an account's Lambda concurrency before a diagnosis: types only.

Meanings follow AWS's own: the metric UnreservedConcurrentExecutions counts executions in flight that USE the unreserved
pool (AWS Lambda guide, monitoring concurrency); the setting of the same name is what is configured (Lambda API).
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from unthrottle.evidence.series import Series

RANKED_FUNCTIONS = 50
"""Rows of the ranking by concurrency: far more than could hold a large part of a pool each."""


LOOP_LENGTH = 16
"""Invocations of a function in one chain of requests before Lambda stops it, about (AWS Lambda guide, recursion)."""

LOOPS_EXPLAIN = 0.5
"""Part of a function's invocations that loops must make for it to be held to one execution."""


PROVISIONED_MINUTES = 15
"""Over so many minutes the smallest trace of provisioned concurrency counts."""

HALF_OF_THE_POOL = 0.5
"""Whoever holds this part of the shared pool is large in it, however small the pool is beside the account's limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyAccount:
    """GetAccountSettings: executions the account may have at once, and what reservations leave of them."""

    limit: int
    unreserved_limit: int
    function_count: int

    @property
    def reserved(self) -> int:
        """Executions taken out of the pool by configuration (reservations; perhaps provisioned too)."""
        return self.limit - self.unreserved_limit


class SourceKind(StrEnum):
    """What feeds a function through an event source mapping."""

    SQS = "sqs"
    KINESIS = "kinesis"
    DYNAMODB_STREAM = "dynamodb-stream"
    KAFKA = "kafka"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSource:
    """One event source mapping. None means the setting is not set, which is not a number."""

    uuid: str
    kind: SourceKind
    source_arn: str
    enabled: bool = True
    maximum_concurrency: int | None = None
    maximum_pollers: int | None = None
    minimum_pollers: int | None = None
    parallelization_factor: int | None = None
    max_receive_count: int | None = None
    max_record_age_s: int | None = None

    @property
    def is_provisioned(self) -> bool:
        return self.maximum_pollers is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncSettings:
    """How asynchronous events of a function are kept: age in seconds (AWS's default 21,600) and destination."""

    max_event_age_s: int = 21600
    has_destination: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionUse:
    """A row of the ranking: one function's ConcurrentExecutions (Maximum)."""

    name: str
    concurrency: Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A function that may be holding the pool, with the settings that decide what may be done to it.

    `reserved` None: no reservation. `provisioned` None: not read, because the account's claimed concurrency shows that no
    provisioned concurrency exists. `async_settings` None: not asynchronous, or not read. `async_started` counts the queued
    events handed to the function, `loops_stopped` the invocations Lambda stopped as part of a recursive loop.
    """

    name: str
    arn: str
    reserved: int | None
    timeout_s: int
    tags: dict[str, str] = field(default_factory=dict)
    managed_instances: bool = False
    durable: bool = False
    provisioned: int | None = None
    event_sources: tuple[EventSource, ...] = ()
    async_settings: AsyncSettings | None = None
    invocations: Series | None = None
    async_events: Series | None = None
    async_started: Series | None = None
    throttles: Series | None = None
    loops_stopped: Series | None = None

    @property
    def queued(self) -> float:
        """Count the events of Lambda's own queue: received, or handed over where a backlog from before is drained."""
        return max(
            (series.sum() for series in (self.async_events, self.async_started) if series is not None), default=0
        )

    def ran(self, held: float) -> float:
        """Count its invocations, at least as many as it `held` executions at once.

        Invocations are published when a run has ended, at the minute in which it started (AWS Lambda guide, metrics): those
        of runs of 14 minutes are missing while they hold the pool, and missing is not none.
        """
        return max(self.invocations.sum() if self.invocations is not None else 0.0, held)

    @property
    def is_loop(self) -> bool:
        """Say whether at least half of what it ran belongs to loops that Lambda stopped (AWS Lambda guide, recursion).

        Lambda stops a chain of requests after about 16 invocations of the function. Without a count of what it ran, no part
        of it can be told.
        """
        stopped = self.loops_stopped.sum() if self.loops_stopped is not None else 0.0
        ran = self.invocations.sum() if self.invocations is not None else 0.0
        return 0 < ran <= stopped * LOOP_LENGTH / LOOPS_EXPLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEvidence:
    """One look at the pool. All series are per minute over [start, end); `end` is when we looked.

    `ranking` is sorted by the largest concurrency; `ranking_complete` is False when more functions exist than the ranking
    query looks at. `throttled` gives each function's Throttles (Sum), most throttled first: the victims, not the cause.
    `gaps` are things that could not be read, in words.

    `earlier` is read only where the window itself cannot tell whether a function always ran so: concurrency (Maximum, per
    quarter of an hour) over the seven days before the window, for the functions in doubt, and in `earlier_account` for
    the account, which shows the hours that were measured.
    """

    start: datetime
    end: datetime
    account: ConcurrencyAccount
    concurrency: Series
    unreserved_in_use: Series
    claimed: Series
    throttles: Series
    invocations: Series
    ranking: tuple[FunctionUse, ...]
    ranking_complete: bool
    throttled: tuple[tuple[str, Series], ...]
    candidates: tuple[Candidate, ...]
    alarmed: tuple[str, ...] = ()
    early_warning: bool = False
    earlier: tuple[FunctionUse, ...] = ()
    earlier_account: Series | None = None
    gaps: tuple[str, ...] = ()
    kind: Literal["pool"] = "pool"

    @property
    def shared_use(self) -> Series:
        """Return the use of the pool that functions without a reservation share."""
        return shared_use(self.unreserved_in_use, self.concurrency, self.account)

    @property
    def shared_size(self) -> float:
        """Return how many executions that pool can hold: what reservations and provisioned concurrency leave."""
        return shared_size(self.claimed, self.unreserved_in_use, self.account, self.shared_use.last_at)


def shared_use(unreserved: Series, concurrency: Series, account: ConcurrencyAccount) -> Series:
    """Return the use of the shared pool. Where nothing is reserved all executions draw on it, so that either series tells."""
    return concurrency if unreserved.is_empty and account.reserved == 0 else unreserved


def shared_size(claimed: Series, unreserved: Series, account: ConcurrencyAccount, newest: datetime | None) -> float:
    """Return how many executions the shared pool can hold: the unreserved limit, less what provisioned concurrency holds.

    ClaimedAccountConcurrency is the unreserved pool's use plus all reservations plus all provisioned concurrency (AWS
    Lambda guide, monitoring concurrency). The smallest remainder of the minutes up to `newest` counts: allocations are
    static, while a reservation changed meanwhile would make single minutes wrong.
    """
    seen = () if newest is None else tuple(newest - timedelta(minutes=back) for back in range(PROVISIONED_MINUTES))
    remainders = []
    for moment in seen:
        total, used = claimed.at(moment), unreserved.at(moment)
        if total is not None and used is not None:
            remainders.append(total - used - account.reserved)
    return account.unreserved_limit - max(0.0, min(remainders, default=0.0))


def large_from(share: float, size: float) -> float:
    """Return from how many executions on a function is large in a pool of `size`: one's `share`, or half of a smaller pool."""
    return min(share, max(1.0, HALF_OF_THE_POOL * size))
