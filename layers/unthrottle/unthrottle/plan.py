"""What to do about a diagnosis: one action with its changes and its way back, or no action and why. Types only.

The functions that make plans are in `actions/`, one module for each action.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from unthrottle.evidence.pool import SourceKind
from unthrottle.evidence.table import Capacity, ScalingTarget


class Action(StrEnum):
    """Every action there is. The ids are public."""

    SWITCH_TO_ON_DEMAND = "switch-to-on-demand"
    RAISE_CAPACITY = "raise-capacity"
    CANCEL_BACKFILL = "cancel-backfill"
    CAP_CONCURRENCY = "cap-concurrency"
    CAP_EVENT_SOURCE = "cap-event-source"
    ESCALATE = "escalate"
    WAIT = "wait"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapConcurrency:
    """Reserved concurrency of one function, before and after. `before` None: there was no reservation (not 0).

    `provisioned` is the function's provisioned concurrency, 0 where it has none. `synchronous` is why the function's
    callers wait for it; `loses_events` is how a cap would cost events. Both are None where that is not so.
    """

    function: str
    arn: str
    before: int | None
    after: int
    peak: int
    provisioned: int = 0
    synchronous: str | None = None
    loses_events: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    kind: Literal["cap-concurrency"] = "cap-concurrency"

    @property
    def target(self) -> str:
        return self.function


@dataclass(frozen=True, slots=True, kw_only=True)
class CapEventSource:
    """One knob of an event source mapping. `before` None: the knob was not set."""

    function: str
    arn: str
    uuid: str
    source: SourceKind
    knob: Literal["MaximumConcurrency", "MaximumPollers", "ParallelizationFactor"]
    before: int | None
    after: int
    peak: int
    tags: dict[str, str] = field(default_factory=dict)
    kind: Literal["cap-event-source"] = "cap-event-source"

    @property
    def target(self) -> str:
        return self.function


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTable:
    """Everything needed to put a provisioned table back: its capacity, every index's, and the scaling targets."""

    capacity: Capacity
    indexes: dict[str, Capacity] = field(default_factory=dict)
    scaling: tuple[ScalingTarget, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchToOnDemand:
    """A table's billing mode. `hourly_cost` is an estimate in USD at the load seen; None where it cannot be made."""

    table: str
    arn: str
    before: SavedTable
    hourly_cost: float | None = None
    tags: dict[str, str] = field(default_factory=dict)
    replicas: tuple[str, ...] = ()
    kind: Literal["switch-to-on-demand"] = "switch-to-on-demand"

    @property
    def target(self) -> str:
        return self.table


@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseCapacity:
    """More provisioned capacity for a table and the indexes that are short, in one call; nothing is lowered.

    `before` and `after` are the saved and the wanted numbers. `raised` holds the scaling targets whose maximum moves too.
    """

    table: str
    arn: str
    before: SavedTable
    after: SavedTable
    tags: dict[str, str] = field(default_factory=dict)
    kind: Literal["raise-capacity"] = "raise-capacity"

    @property
    def target(self) -> str:
        return self.table


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelBackfill:
    """A running dagy backfill to cancel. There is no way back; `resume` says how a person starts it again."""

    backfill_id: str
    flow: str
    environment: str
    table: str
    table_arn: str
    tags: dict[str, str] = field(default_factory=dict)
    resume: str = ""
    started_at: datetime | None = None
    dispatch_rate_per_minute: float = 0.0
    kind: Literal["cancel-backfill"] = "cancel-backfill"

    @property
    def target(self) -> str:
        return self.backfill_id

    @property
    def arn(self) -> str:
        return f"dagy:backfill/{self.backfill_id}"


Change = CapConcurrency | CapEventSource | SwitchToOnDemand | RaiseCapacity | CancelBackfill


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The measurement that raised the symptom, to be read again for the judgement.

    For Lambda: the `functions` whose Throttles must end (the victims, never the capped). For DynamoDB: the `table`, all its
    units; for a cancelled backfill also `written`, the tables whose writes must fall, with the rate seen before (units/s).
    """

    service: Literal["lambda", "dynamodb"]
    functions: tuple[str, ...] = ()
    table: str | None = None
    written: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One action. `changes` is empty for escalate, wait and none; `lease_minutes` None: nothing to give back.

    `effect`, `way_back` and `why` are sentences for a person; `commands` are the exact AWS calls as CLI commands and
    `way_back_commands` their inverse.
    """

    action: Action
    why: str
    watch: Watch | None = None
    changes: tuple[Change, ...] = ()
    lease_minutes: int | None = None
    effect: str = ""
    way_back: str = ""
    commands: tuple[str, ...] = ()
    way_back_commands: tuple[str, ...] = ()
    follow_up: str = ""

    @property
    def is_change(self) -> bool:
        return bool(self.changes)


def before_and_after(change: Change) -> tuple[object, object]:
    """Name a change's two ends in the words of the public output: a number, a billing mode, a state; None is unset."""
    match change:
        case CapConcurrency() | CapEventSource():
            return change.before, change.after
        case SwitchToOnDemand():
            return "provisioned", "on-demand"
        case RaiseCapacity():
            return _words(change.before), _words(change.after)
        case CancelBackfill():
            return "running", "cancelled"


def _words(saved: SavedTable) -> dict[str, object]:
    words: dict[str, object] = {"read": saved.capacity.read, "write": saved.capacity.write}
    if saved.indexes:
        words["indexes"] = {
            name: {"read": capacity.read, "write": capacity.write} for name, capacity in saved.indexes.items()
        }
    return words
