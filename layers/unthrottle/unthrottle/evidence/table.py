"""Everything read about a DynamoDB table and its indexes before a diagnosis: types only.

Throttle metrics have no datapoints at rest; absence is zero only where the consumed capacity of the same dimension set has
datapoints (AWS DynamoDB guide, metrics and dimensions).
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from unthrottle.backfills import Backfill
from unthrottle.evidence.series import Series

WORK_MINUTES = 10
"""Throttles of this many minutes are explained together, so that the mix of reasons is not one minute's chance."""


class Billing(StrEnum):
    """A table's capacity mode. A description without a billing summary is provisioned (DynamoDB API)."""

    PROVISIONED = "provisioned"
    ON_DEMAND = "on-demand"


class Way(StrEnum):
    READ = "read"
    WRITE = "write"


class Throttle(StrEnum):
    """AWS's four reasons for a throttle event, by the metric that counts them."""

    PROVISIONED = "ProvisionedThroughput"
    KEY_RANGE = "KeyRangeThroughput"
    MAX_ON_DEMAND = "MaxOnDemandThroughput"
    ACCOUNT_LIMIT = "AccountLimit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Capacity units per second. Both zero on an on-demand table, where they mean nothing."""

    read: int
    write: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    """A global secondary index; it has a maximum on demand and a budget of decreases of its own (DynamoDB API)."""

    name: str
    status: str
    capacity: Capacity
    max_on_demand_read: int | None = None
    max_on_demand_write: int | None = None
    last_decrease_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """DescribeTable, in our words. None means the answer did not carry it."""

    name: str
    arn: str
    status: str
    billing: Billing
    capacity: Capacity
    indexes: tuple[IndexSettings, ...] = ()
    warm_read: int | None = None
    warm_write: int | None = None
    max_on_demand_read: int | None = None
    max_on_demand_write: int | None = None
    replicas: tuple[str, ...] = ()
    last_decrease_at: datetime | None = None
    decreases_today: int = 0
    on_demand_since: datetime | None = None

    @property
    def is_settled(self) -> bool:
        """Say whether no change of the table or an index is under way."""
        return self.status == "ACTIVE" and all(index.status == "ACTIVE" for index in self.indexes)

    def decreased_at(self, index: str | None) -> datetime | None:
        """Return when the capacity of the table (None) or of one index was last lowered."""
        if index is None:
            return self.last_decrease_at
        return next((item.last_decrease_at for item in self.indexes if item.name == index), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingTarget:
    """An Application Auto Scaling target: `index` None is the table itself; bounds in capacity units."""

    way: Way
    index: str | None
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingActivity:
    """One thing autoscaling did or could not do; `not_scaled` holds AWS's reason codes, such as AlreadyAtMaxCapacity.

    `way` None: the answer did not say which of the two it was about.
    """

    at: datetime
    index: str | None
    description: str
    status: str
    not_scaled: tuple[str, ...] = ()
    way: Way | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyShare:
    """A key Contributor Insights saw, with its share of what the rule counted, from 0 to 1."""

    key: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HotKeys:
    """What Contributor Insights tells of a table or index. `source` is the rule's kind (accessed or throttled keys),
    `rule` its name, with which a person reads the same report."""

    index: str | None
    source: str
    keys: tuple[KeyShare, ...]
    rule: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOperation:
    """A bulk load from S3 into a table that is under way (DynamoDB API, StartBulkPutItems). `most` is its own limit, in
    write request units a second; None where it has none."""

    arn: str
    started_at: datetime
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherWriters:
    """What else than the application and a backfill may write the table. Series are Sums of consumed write units.

    `customer` and `replicated` are the table's own writes by their source: this Region's callers, and other Regions of a
    global table; read only where it has replicas. `schedules` are the writes of dagy's schedules table of the same
    environment, named by `schedules_table`. `bulk` None: it was not asked, or could not be read.
    """

    customer: Series | None = None
    replicated: Series | None = None
    schedules_table: str | None = None
    schedules: Series | None = None
    bulk: tuple[BulkOperation, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitMetrics:
    """The per-minute metrics of the table (`index` None) or of one index. Consumed and throttle series are Sums.

    `provisioned` has one datapoint every five minutes and none on an on-demand table.
    """

    index: str | None
    consumed: dict[Way, Series]
    provisioned: dict[Way, Series]
    throttle_events: dict[Way, Series]
    throttles: dict[Way, dict[Throttle, Series]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillsUnknown:
    """dagy could not be asked, or is not configured (`configured` False). Not the same as no backfill running."""

    reason: str
    configured: bool = True
    kind: Literal["unknown"] = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningBackfills:
    """The backfills dagy says are running; may be none."""

    backfills: tuple[Backfill, ...]
    kind: Literal["running"] = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEvidence:
    """One look at a table. Series cover [start, end); `end` is when we looked. `gaps` are in words.

    `switches` are the table's switches to on-demand within a day, by whoever; None: there was one, and how many is unknown."""

    start: datetime
    end: datetime
    settings: TableSettings
    units: tuple[UnitMetrics, ...]
    tags: dict[str, str] = field(default_factory=dict)
    scaling: tuple[ScalingTarget, ...] = ()
    activities: tuple[ScalingActivity, ...] = ()
    backfills: BackfillsUnknown | RunningBackfills = BackfillsUnknown(reason="dagy was not asked")
    hot_keys: tuple[HotKeys, ...] = ()
    writers: OtherWriters = OtherWriters()
    alarmed_index: str | None = None
    switches: tuple[datetime, ...] | None = ()
    gaps: tuple[str, ...] = ()
    kind: Literal["table"] = "table"

    def unit(self, index: str | None) -> UnitMetrics | None:
        """Return the metrics of the table (None) or of one index."""
        return next((unit for unit in self.units if unit.index == index), None)

    @property
    def newest(self) -> datetime | None:
        """Return the newest minute in which anything of the table or an index was measured; None: nothing was."""
        every = (
            series
            for unit in self.units
            for series in (
                *unit.consumed.values(),
                *unit.throttle_events.values(),
                *(one for reasons in unit.throttles.values() for one in reasons.values()),
            )
        )
        return max((last for series in every if (last := series.last_at) is not None), default=None)

    @property
    def work_start(self) -> datetime | None:
        """Return the first of the minutes whose throttles are explained; None where nothing was measured."""
        newest = self.newest
        return None if newest is None else newest - timedelta(minutes=WORK_MINUTES - 1)
