"""Who runs how much in this minute, who is refused, and what waits?

The account's Lambda concurrency, one tick a minute, for all functions at once. Work is measured in slot-minutes: one
execution running for one minute. Rules:

- An event source limit counts first; what it holds back waits and is no throttle.
- A function with a reservation serves up to it and draws on nothing else.
- The others share what the reservations leave, in proportion to the new work of this minute; work that waited comes
  back into the room that is left.
- Synchronous requests are at most ten a second for each execution of the reservation, or of the account's limit.
- A function gets 1,000 new environments at once and 100 a second after that; what comes faster is refused meanwhile.
- What synchronous callers want and do not get is refused for good. Asynchronous events, queues and streams wait, first
  in first out, until served, too old, or received too often.

Nothing is served twice and nothing is lost: wanted = served + refused + expired + waiting, always. The pool reads its
limits as arrays and knows neither AWS records nor metrics.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sandbox.model.limits import ASYNC, KAFKA, QUEUES, STREAMS, Bools, Floats, PoolLimits
from sandbox.model.series import per_minute
from sandbox.scenario.format import FunctionSpec

EPSILON = 1e-6
"""Slot-minutes below this are rounding, not work."""
REQUESTS_PER_MINUTE = 600
"""Synchronous requests a minute for each execution: ten a second (AWS: "Lambda quotas")."""
NEW_AT_ONCE = 1000
NEW_PER_MINUTE = 6000
"""New environments of one function: 1,000 every ten seconds, refilled continuously and not saved up (AWS: "Lambda scaling
behavior")."""
STAYS_WARM = 0.9
"""Part of the idle environments that is still there a minute later."""
RETRY_MINUTES = 5
"""The longest pause between two tries of a waiting asynchronous event (AWS: "Error handling for asynchronous
invocation": 1 second to 5 minutes, longer when the queue is long)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolMinute:
    """What happened in one minute; arrays are slot-minutes, one element per function."""

    minute: int
    arrived: Floats
    served: Floats
    throttled: Floats
    """Attempts that Lambda refused: new ones, and retries of what waits."""
    refused: Floats
    """Gone for good: synchronous work that was not served."""
    expired: Floats
    """Gone for good or to a destination: too old, received too often, or the function is switched off."""
    waiting: Floats
    age_minutes: Floats
    """Age of the oldest work that waits; 0 where nothing waits."""
    unreserved: float
    """Slots of the shared pool in use."""
    in_use: float
    """Slots in use in the account."""
    set_aside: float
    account: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pace:
    """What each function can run in a minute by its rates: on the mean, how much comes too late, and at the end."""

    able: Floats
    late: Floats
    reached: Floats


@dataclass(slots=True)
class Ledger:
    """Totals per function since minute 0, in slot-minutes; `received` is the work wanted."""

    wanted: Floats
    served: Floats = field(init=False)
    refused: Floats = field(init=False)
    expired: Floats = field(init=False)
    """All that left the queue unserved; the next three are parts of it."""
    diverted: Floats = field(init=False)
    lost: Floats = field(init=False)
    dead_lettered: Floats = field(init=False)

    def __post_init__(self) -> None:
        for name in ("served", "refused", "expired", "diverted", "lost", "dead_lettered"):
            setattr(self, name, np.zeros_like(self.wanted))


class Pool:
    """The concurrency of one account. Call `tick` once for each minute, in order, from -history on."""

    def __init__(self, specs: Sequence[FunctionSpec], minutes: int, *, history: int = 0) -> None:
        self.specs = tuple(specs)
        self.names = [spec.name for spec in specs]
        self.history = history
        kinds = [spec.trigger.type for spec in specs]
        self.is_async = _among(kinds, ASYNC)
        self.is_queue = _among(kinds, QUEUES)
        self.is_stream = _among(kinds, STREAMS)
        self.is_kafka = _among(kinds, KAFKA)
        self.waits = self.is_async | self.is_queue | self.is_stream | self.is_kafka
        self.managed: Bools = np.array([spec.managed_instances for spec in specs], dtype=np.bool_)
        self.runs_per_slot: Floats = 60_000 / np.array([spec.duration_ms for spec in specs], dtype=np.float64)
        self._receives: Floats = np.array(
            [spec.trigger.max_receive_count or np.inf for spec in specs], dtype=np.float64
        )
        self._pattern, self._demand = _patterns(specs, minutes, history)
        self._arrived_by = np.cumsum(self._demand, axis=1)
        self._gone = np.zeros(len(specs))
        """Work that is no longer in the system, whatever became of it."""
        self._oldest = np.zeros(len(specs), dtype=np.intp)
        self._environments = np.zeros(len(specs))
        """Environments that are there already."""
        self._starved_since = np.full(len(specs), -1, dtype=np.intp)
        self.ledger = Ledger(np.zeros(len(specs)))

    def tick(self, minute: int, limits: PoolLimits) -> PoolMinute:
        """Serve one minute. In the history (negative minutes) nothing is throttled and nothing waits."""
        column = minute + self.history
        arrived = self._demand[self._pattern, column]
        present = np.maximum(0.0, self._arrived_by[self._pattern, column] - self._gone)
        eligible = np.minimum(present, limits.source)
        pace = _Pace(able=eligible, late=np.zeros_like(eligible), reached=eligible)
        if minute >= 0:
            pace = self._in_time(self._in_rate(eligible, limits), limits)
        served, unreserved = self._serve(arrived, pace.able, limits)
        # What is served is the mean of the minute; a function that grew through it ended with more.
        ended = np.minimum(pace.reached, served + pace.late)
        self._environments = np.maximum(ended, STAYS_WARM * self._environments)
        if minute < 0:
            self._gone = self._arrived_by[self._pattern, column].copy()
            self._oldest[:] = column + 1
            none = np.zeros_like(served)
            return PoolMinute(
                minute=minute,
                arrived=arrived,
                served=served,
                throttled=none,
                refused=none,
                expired=none,
                waiting=none,
                age_minutes=none,
                unreserved=unreserved,
                in_use=float(served[~self.managed].sum()),
                set_aside=limits.set_aside,
                account=limits.account,
            )
        unserved = np.maximum(0.0, eligible - served)
        unserved[unserved < EPSILON] = 0.0
        refused = np.where(self.waits, 0.0, unserved)
        # New work knocks at once. Asynchronous events that wait knock again every few minutes, and a long queue slows
        # its own retries down: Lambda does not knock for more than it gets through.
        fresh = np.minimum(unserved, np.maximum(0.0, np.minimum(arrived, eligible) - served))
        throttled = np.where(self.is_async, fresh + np.minimum((unserved - fresh) / RETRY_MINUTES, served), unserved)
        expired = self._expire(column, served, present - served, throttled, limits)
        self._gone = self._gone + served + refused + expired
        waiting = np.where(self.waits, np.maximum(0.0, present - served - expired), 0.0)
        waiting[waiting < EPSILON] = 0.0
        self.ledger.wanted += arrived
        self.ledger.served += served
        self.ledger.refused += refused
        return PoolMinute(
            minute=minute,
            arrived=arrived,
            served=served,
            throttled=throttled,
            refused=refused,
            expired=expired,
            waiting=waiting,
            age_minutes=self._ages(column, waiting),
            unreserved=unreserved,
            in_use=float(served[~self.managed].sum()),
            set_aside=limits.set_aside,
            account=limits.account,
        )

    def _serve(self, arrived: Floats, eligible: Floats, limits: PoolLimits) -> tuple[Floats, float]:
        """Share the slots of one minute; answers what each function runs and how much of it is from the pool."""
        fresh = np.minimum(arrived, eligible)
        has_reservation = ~np.isnan(limits.reserved)
        own = np.where(has_reservation, limits.reserved, limits.provisioned)
        own = np.where(self.managed, np.inf, own)  # Managed Instances run beside the pool, not in it
        served = np.minimum(eligible, own)
        sharing = ~has_reservation & ~self.managed
        new = np.where(sharing, np.maximum(0.0, fresh - served), 0.0)
        back = np.where(sharing, np.maximum(0.0, eligible - served - new), 0.0)
        first = new * _fraction(limits.shared, float(new.sum()))
        room = limits.shared - float(first.sum())
        # Where new work is already cut short there is no room, and nothing comes back.
        second = back * _fraction(max(0.0, room), float(back.sum()))
        return served + first + second, float(first.sum() + second.sum())

    def _in_rate(self, eligible: Floats, limits: PoolLimits) -> Floats:
        """Cut what synchronous callers ask for to the request rate; short runs reach it before their concurrency."""
        calls = np.where(self.waits | self.managed, 0.0, eligible * self.runs_per_slot)
        reserved = ~np.isnan(limits.reserved)
        fraction = np.full_like(
            eligible, _fraction(REQUESTS_PER_MINUTE * limits.account, float(calls[~reserved].sum()))
        )
        own = REQUESTS_PER_MINUTE * np.where(reserved, limits.reserved, 0.0)
        fraction = np.where(reserved, np.minimum(1.0, own / np.maximum(calls, EPSILON)), fraction)
        return np.where(calls > 0, eligible * fraction, eligible)

    def _in_time(self, eligible: Floats, limits: PoolLimits) -> "_Pace":
        """Cut off what came before there were environments for it: the mean over a minute of a steady rise.

        Pollers of queues, streams and Kafka add themselves more slowly than that, and are never too fast.
        """
        wanted = np.minimum(eligible, limits.account)
        rise = np.maximum(0.0, wanted - np.maximum(self._environments, limits.provisioned) - NEW_AT_ONCE)
        late = np.where(rise <= NEW_PER_MINUTE, rise**2 / (2 * NEW_PER_MINUTE), rise - NEW_PER_MINUTE / 2)
        late[self.managed | self.is_queue | self.is_stream | self.is_kafka] = 0.0
        return _Pace(able=eligible - late, late=late, reached=wanted - np.maximum(0.0, rise - NEW_PER_MINUTE))

    def _expire(self, column: int, served: Floats, left: Floats, throttled: Floats, limits: PoolLimits) -> Floats:
        """Take out what is too old, or was received too often, and book it."""
        gone = self._gone + served
        too_old = np.maximum(0, column - limits.max_age)
        aged = np.where(column >= limits.max_age, self._still_there(too_old, gone, left), 0.0)
        off = limits.reserved == 0
        aged = np.where(self.is_async, np.where(off, left, aged), 0.0)
        # Pollers go on receiving under a reservation smaller than they are; each throttled receive counts.
        overpulled = self.is_queue & (limits.reserved < limits.source) & (throttled > EPSILON)
        self._starved_since = np.where(overpulled, np.where(self._starved_since < 0, column, self._starved_since), -1)
        enough = overpulled & (column - self._starved_since >= self._receives)
        patience = np.where(np.isinf(self._receives), 0, self._receives).astype(np.intp)
        dead = np.where(enough, self._still_there(np.maximum(0, column - patience), gone, left), 0.0)
        dead = np.minimum(dead, throttled)
        expired = np.asarray(aged + dead, dtype=np.float64)
        self.ledger.expired += expired
        self.ledger.dead_lettered += dead
        self.ledger.diverted += np.where(limits.has_destination, aged, 0.0)
        self.ledger.lost += np.where(limits.has_destination, 0.0, aged)
        return expired

    def _still_there(self, columns: NDArray[np.intp], gone: Floats, left: Floats) -> Floats:
        """How much of what had arrived by *columns* is among what is *left*, the oldest being served first."""
        return np.clip(self._arrived_by[self._pattern, columns] - gone, 0.0, left)

    def _ages(self, column: int, waiting: Floats) -> Floats:
        """Minutes since the oldest waiting work arrived; half a minute for work of this minute."""
        behind = waiting > 0
        moving = (self._arrived_by[self._pattern, np.minimum(self._oldest, column)] <= self._gone + EPSILON) & (
            self._oldest < column
        )
        while moving.any():
            self._oldest[moving] += 1
            moving &= (self._arrived_by[self._pattern, np.minimum(self._oldest, column)] <= self._gone + EPSILON) & (
                self._oldest < column
            )
        return np.where(behind, np.maximum(0.5, column - self._oldest), 0.0)


def _among(kinds: Sequence[str], wanted: Sequence[str]) -> Bools:
    return np.array([kind in wanted for kind in kinds], dtype=np.bool_)


def _fraction(room: float, wanted: float) -> float:
    return 1.0 if wanted <= room else room / wanted


def _patterns(specs: Sequence[FunctionSpec], minutes: int, history: int) -> tuple[NDArray[np.intp], Floats]:
    """Spell each different demand out once; ten thousand functions rarely have ten thousand loads."""
    known: dict[tuple[tuple[int, float], ...], int] = {}
    index = np.array([known.setdefault(tuple(spec.demand), len(known)) for spec in specs], dtype=np.intp)
    table = np.zeros((max(1, len(known)), history + minutes))
    for steps, row in known.items():
        table[row] = per_minute(steps, minutes, history)
    return index, table
