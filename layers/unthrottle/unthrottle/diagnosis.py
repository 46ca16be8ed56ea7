"""What is wrong, how sure we are, what spoke for it and what spoke against the runners-up: types only."""

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """Every answer a diagnosis can give. The ids are public."""

    PROVISIONED_CAPACITY = "provisioned-capacity"
    HOT_INDEX = "hot-index"
    HOT_KEY = "hot-key"
    ON_DEMAND_RAMP = "on-demand-ramp"
    ON_DEMAND_CEILING = "on-demand-ceiling"
    TABLE_QUOTA = "table-quota"
    RUNAWAY_BACKFILL = "runaway-backfill"
    CAPACITY_CHANGE_IN_PROGRESS = "capacity-change-in-progress"
    POOL_HOG = "pool-hog"
    POOL_GROWTH = "pool-growth"
    OVER_RESERVATION = "over-reservation"
    OWN_RESERVATION = "own-reservation"
    SWITCHED_OFF = "switched-off"
    REQUEST_RATE = "request-rate"
    SCALING_RATE = "scaling-rate"
    ALREADY_OVER = "already-over"
    INCONCLUSIVE = "inconclusive"


class Confidence(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement the evidence supports, with its numbers and units; `check` is an AWS command that shows the same."""

    text: str
    check: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A runner-up and what spoke against it."""

    cause: Cause
    because: str


class WriterKind(StrEnum):
    """A runaway writer of a table that is no backfill, and that Unthrottle never stops by itself."""

    OTHER_REGION = "other-region"
    BULK_OPERATION = "bulk-operation"
    SCHEDULER = "scheduler"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who else explains a jump in writes: Regions, an operation's ARN, or the environment whose scheduler it is."""

    kind: WriterKind
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The conclusion. `targets` is what an action would change (function, table or backfill names); `victims` suffer.

    Victims are sorted by how much they suffer, targets by how much they hold. `index` names the index at fault, `writer`
    a runaway writer that is no backfill: capacity would only feed it.
    """

    cause: Cause
    confidence: Confidence
    targets: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    gaps: tuple[str, ...] = ()
    index: str | None = None
    writer: Writer | None = None
