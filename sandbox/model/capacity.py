"""How many capacity units a second does one table or index serve, and why not more?

The limits of a single resource in one direction (reads or writes), and the state they need: the burst that was saved
up, and the peak that an on-demand table has adapted to. Facts from the AWS developer guide: "Burst and adaptive
capacity", "On-demand capacity mode", "Quotas", "Diagnosing throttling". It knows nothing of other resources.
"""

from collections import deque
from dataclasses import dataclass
from typing import Literal

from sandbox.aws.records import ON_DEMAND_WARM_READ, ON_DEMAND_WARM_WRITE, Billing, Unit

Cause = Literal["ProvisionedThroughput", "KeyRangeThroughput", "MaxOnDemandThroughput", "AccountLimit"]
"""The four causes, spelled as in AWS's metric names."""

PARTITION_LIMIT: dict[Unit, float] = {"write": 1000, "read": 3000}
ON_DEMAND_BASE: dict[Unit, float] = {"write": ON_DEMAND_WARM_WRITE, "read": ON_DEMAND_WARM_READ}
TABLE_QUOTA = 40_000
BURST_SECONDS = 300
ADAPTS_AFTER_MINUTES = 30
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The settings of a resource in force in one minute; units per second."""

    billing: Billing
    capacity: float
    """Provisioned units; without meaning on-demand."""
    ceiling: float | None = None
    """A maximum the owner set for on-demand."""
    warm: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a resource can serve of what is wanted, units per second, and what stands in the way of the rest."""

    wanted: float
    served: float
    excess: dict[Cause, float]


class Throughput:
    """One direction of one table or index. `offer` asks, `commit` tells what was really used of the offer."""

    def __init__(self, unit: Unit, *, keys: int, hot_key_share: float) -> None:
        self._unit, self._keys, self._hot = unit, keys, hot_key_share
        self._burst = 0.0
        self._peak = 0.0
        self._recent: deque[tuple[int, float]] = deque()

    def fill_burst(self, settings: InForce) -> None:
        """Save up the whole burst, as a table does that was not short for five minutes."""
        self._burst = BURST_SECONDS * settings.capacity if settings.billing == "provisioned" else 0.0

    def steady(self, wanted: float, settings: InForce) -> float:
        """What it serves of a load that was always there: no burst, and adapted to."""
        served = min(self._by_keys(wanted), TABLE_QUOTA)
        if settings.billing == "provisioned":
            return min(served, settings.capacity)
        return served if settings.ceiling is None else min(served, settings.ceiling)

    def offer(self, wanted: float, settings: InForce) -> Offer:
        """Say what can be served of *wanted* in this minute. Changes nothing."""
        excess: dict[Cause, float] = {}
        by_keys = self._by_keys(wanted)
        limit, cause = self._limit(settings)
        served = min(by_keys, limit)
        if wanted - by_keys > ROUNDING:
            excess["KeyRangeThroughput"] = wanted - by_keys
        if by_keys - served > ROUNDING:
            excess[cause] = excess.get(cause, 0.0) + by_keys - served
        return Offer(wanted=wanted, served=served if excess else wanted, excess=excess)

    def commit(self, minute: int, used: float, settings: InForce) -> None:
        """Book what was used: the burst shrinks or grows, and a new peak counts half an hour later."""
        if settings.billing == "provisioned":
            full = BURST_SECONDS * settings.capacity
            self._burst = max(0.0, min(full, self._burst + (settings.capacity - used) * 60))
        else:
            self._burst = 0.0
        self._recent.append((minute, used))
        while self._recent and self._recent[0][0] <= minute - ADAPTS_AFTER_MINUTES:
            self._peak = max(self._peak, self._recent.popleft()[1])

    def _by_keys(self, wanted: float) -> float:
        """What the partitions let through: no key gets more than one partition serves."""
        limit = PARTITION_LIMIT[self._unit]
        other = wanted * (1 - self._hot) / self._keys
        hottest = wanted * self._hot + other
        if hottest <= limit:
            return wanted
        return min(hottest, limit) + (self._keys - 1) * min(other, limit)

    def _limit(self, settings: InForce) -> tuple[float, Cause]:
        if settings.billing == "provisioned":
            return settings.capacity + self._burst / 60, "ProvisionedThroughput"
        limits: list[tuple[float, Cause]] = [
            (max(ON_DEMAND_BASE[self._unit], settings.warm, 2 * self._peak), "KeyRangeThroughput"),
            (TABLE_QUOTA, "AccountLimit"),
        ]
        if settings.ceiling is not None:
            limits.append((settings.ceiling, "MaxOnDemandThroughput"))
        return min(limits, key=lambda pair: pair[0])
