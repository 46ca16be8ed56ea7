"""What is the present state of a function, an event source mapping or a table in the embedded account?

Plain mutable records. The API handlers and the outside world change them through `sandbox.aws.account`; the load model
only reads them. They know nothing of demand, of metrics or of HTTP. Times are aware datetimes on the simulated clock.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

Billing = Literal["provisioned", "on-demand"]
Status = Literal["ACTIVE", "UPDATING"]
MappingKind = Literal["sqs", "kinesis", "dynamodb-stream", "msk"]
MappingState = Literal["Enabled", "Updating", "Disabled"]
Unit = Literal["read", "write"]

ON_DEMAND_WARM_READ = 12_000
ON_DEMAND_WARM_WRITE = 4_000
"""Units per second a new on-demand table serves at once (AWS: "Considerations when switching capacity modes")."""


@dataclass(slots=True, kw_only=True)
class InvokeConfig:
    """How Lambda treats asynchronous events of a function; None means AWS's own default."""

    max_event_age_s: int | None = None
    maximum_retries: int | None = None
    on_failure: str | None = None
    """ARN of the failure destination, or None: events that expire are gone."""


@dataclass(slots=True, kw_only=True)
class MappingRecord:
    """One event source mapping. None in a limit means "not set", which is never the same as 0."""

    uuid: str
    kind: MappingKind
    source_arn: str
    function_name: str
    batch_size: int = 10
    maximum_concurrency: int | None = None
    minimum_pollers: int | None = None
    maximum_pollers: int | None = None
    """Set only in provisioned mode (sqs and msk)."""
    parallelization_factor: int | None = None
    """Streams only; AWS's default there is 1."""
    state: MappingState = "Enabled"
    updating_until: datetime | None = None
    last_modified: datetime | None = None

    def settle(self, now: datetime) -> None:
        """Finish an update that is due."""
        if self.updating_until is not None and now >= self.updating_until:
            self.state, self.updating_until = "Enabled", None


@dataclass(slots=True, kw_only=True)
class FunctionRecord:
    """One Lambda function. `reserved` None = no reservation; 0 = switched off."""

    name: str
    arn: str
    tags: dict[str, str] = field(default_factory=dict)
    timeout_s: int = 900
    memory_mb: int = 512
    reserved: int | None = None
    provisioned: int = 0
    """Total provisioned concurrency allocated on its alias `live`; 0 = none."""
    managed_instances: bool = False
    mappings: list[MappingRecord] = field(default_factory=list)
    invoke_config: InvokeConfig | None = None
    dead_letter_arn: str | None = None
    last_modified: datetime | None = None
    principals: list[str] = field(default_factory=list)
    """Services that may invoke it, as its resource policy says (events.amazonaws.com, ...)."""
    function_url: bool = False


@dataclass(slots=True, kw_only=True)
class ScalingTarget:
    """One Application Auto Scaling target of a table (index None) or of an index."""

    unit: Unit
    minimum: int
    maximum: int
    target_percent: float = 70.0
    index: str | None = None
    created: datetime | None = None


@dataclass(slots=True, kw_only=True)
class ScalingActivity:
    """One scaling activity; `not_scaled` carries a reason code such as AlreadyAtMaxCapacity, or is None."""

    at: datetime
    unit: Unit
    index: str | None
    description: str
    cause: str
    status: Literal["Successful", "Failed", "InProgress"] = "Successful"
    not_scaled: str | None = None


@dataclass(slots=True, kw_only=True)
class IndexRecord:
    """One global secondary index. `read`/`write`: provisioned units per second in force now; 0 on on-demand."""

    name: str
    read: int
    write: int
    status: Status = "ACTIVE"
    updating_until: datetime | None = None
    wanted_read: int | None = None
    wanted_write: int | None = None
    warm_read: int = 0
    warm_write: int = 0
    decreases: list[datetime] = field(default_factory=list)
    max_on_demand_read: int | None = None
    max_on_demand_write: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRecord:
    """One bulk operation of DynamoDB into a table. `end` None: it goes on and on."""

    arn: str
    table: str
    start: datetime
    end: datetime | None
    max_write: int | None = None


@dataclass(slots=True, kw_only=True)
class TableRecord:
    """One table.

    `billing`, `read` and `write` (also of each index) are what is IN FORCE now: while a switch is under way they are
    the old ones. `wanted_*` is what DescribeTable already reports. `settle(now)` brings the wanted state into force
    once `updating_until` has passed; call it before reading the state of a minute.
    """

    name: str
    arn: str
    billing: Billing
    read: int = 0
    write: int = 0
    status: Status = "ACTIVE"
    updating_until: datetime | None = None
    wanted_billing: Billing | None = None
    wanted_read: int | None = None
    wanted_write: int | None = None
    indexes: dict[str, IndexRecord] = field(default_factory=dict)
    max_on_demand_read: int | None = None
    max_on_demand_write: int | None = None
    switches: list[datetime] = field(default_factory=list)
    """Moments of the switches to on-demand, oldest first."""
    decreases: list[datetime] = field(default_factory=list)
    last_increase: datetime | None = None
    switch_takes: timedelta = timedelta(minutes=3)
    replicas: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    summary_present: bool = False
    """Whether DescribeTable carries BillingModeSummary; AWS leaves it out on a table that never was on-demand."""
    last_on_demand: datetime | None = None
    """LastUpdateToPayPerRequestDateTime, shown once ACTIVE."""
    warm_read: int = 0
    warm_write: int = 0
    scaling: list[ScalingTarget] = field(default_factory=list)
    activities: list[ScalingActivity] = field(default_factory=list)
    created: datetime | None = None
    sort_key: bool = False

    @property
    def reported_billing(self) -> Billing:
        """What DescribeTable says, which runs ahead of what is in force."""
        return self.billing if self.wanted_billing is None else self.wanted_billing

    def settle(self, now: datetime) -> bool:
        """Bring changes that are due into force; say whether anything changed."""
        changed = False
        if self.updating_until is not None and now >= self.updating_until:
            moment = self.updating_until
            if self.wanted_billing == "on-demand" and self.billing != "on-demand":
                self._become_on_demand(moment)
            elif self.wanted_billing is not None:
                self.billing = self.wanted_billing
            self.read = self.read if self.wanted_read is None else self.wanted_read
            self.write = self.write if self.wanted_write is None else self.wanted_write
            self.warm_read, self.warm_write = max(self.warm_read, self.read), max(self.warm_write, self.write)
            self.status, self.updating_until = "ACTIVE", None
            self.wanted_billing = self.wanted_read = self.wanted_write = None
            changed = True
        for index in self.indexes.values():
            if index.updating_until is not None and now >= index.updating_until:
                index.read = index.read if index.wanted_read is None else index.wanted_read
                index.write = index.write if index.wanted_write is None else index.wanted_write
                index.warm_read = max(index.warm_read, index.read)
                index.warm_write = max(index.warm_write, index.write)
                index.status, index.updating_until = "ACTIVE", None
                index.wanted_read = index.wanted_write = None
                changed = True
        return changed

    def _become_on_demand(self, moment: datetime) -> None:
        """AWS: at least 4,000 writes and 12,000 reads a second, or what was provisioned before if that was more."""
        self.billing, self.summary_present, self.last_on_demand = "on-demand", True, moment
        parts: list[TableRecord | IndexRecord] = [self, *self.indexes.values()]
        for part in parts:
            part.warm_read = max(part.warm_read, part.read, ON_DEMAND_WARM_READ)
            part.warm_write = max(part.warm_write, part.write, ON_DEMAND_WARM_WRITE)
