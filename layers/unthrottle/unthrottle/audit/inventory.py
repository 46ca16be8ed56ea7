"""Everything the audit reads of one account and Region: types, and what it needs from the world.

None means "not read" or "not set" and is never a zero. Knows nothing of what counts as an exposure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from unthrottle.evidence.pool import AsyncSettings, ConcurrencyAccount, EventSource
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import HotKeys, ScalingTarget, TableSettings, Way

Unit = tuple[str | None, Way]
"""One way of a table (index None) or of one of its indexes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFunction:
    """A row of ListFunctions. Reservations and tags are not in it."""

    name: str
    arn: str
    timeout_s: int
    managed_instances: bool = False
    has_dead_letter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmFacts:
    """A metric alarm: the metric it watches with its dimensions, or its expression."""

    name: str
    namespace: str
    metric: str
    dimensions: dict[str, str] = field(default_factory=dict)
    expression: str = ""
    threshold: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rang:
    """An alarm that went into ALARM; `table` where one of its contributors did, and is a table."""

    alarm: str
    at: datetime
    table: str | None = None


class Survey(Protocol):
    """Lists of what there is in one account and Region. Raises NotAllowed, TryAgain, Refused."""

    def functions(self) -> Iterator[ListedFunction]: ...
    def reserved(self, function: str) -> int | None: ...
    def event_sources(self) -> dict[str, tuple[EventSource, ...]]:
        """Return every event source mapping by its function's name."""

    def tables(self) -> Iterator[str]: ...
    def scaling(self) -> dict[str, tuple[ScalingTarget, ...]]:
        """Return every autoscaling target by its table's name."""

    def tags(self) -> dict[str, dict[str, str]]:
        """Return the tags of every tagged function and table by ARN."""

    def has_recovery(self, table: str) -> bool:
        """Say whether point-in-time recovery is on."""

    def contributor_insights(self) -> tuple[tuple[str, str | None], ...]:
        """List tables and indexes for which Contributor Insights is on."""

    def alarms(self) -> tuple[AlarmFacts, ...]: ...
    def rang(self, start: datetime, end: datetime) -> tuple[Rang, ...]:
        """List the metric alarms that went into ALARM, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The largest value of a window and the start of the period it was seen in."""

    value: float
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionFacts:
    """One function with its 14 days. `peak` None: no datapoint, it did not run or is beyond what a ranking returns.

    `reserved_known` False: its reservation was not read. `mean_run_s` and `async_settings` are read of few functions only.
    """

    name: str
    arn: str
    timeout_s: int
    reserved: int | None = None
    reserved_known: bool = True
    managed_instances: bool = False
    has_dead_letter: bool = False
    tags: dict[str, str] = field(default_factory=dict)
    sources: tuple[EventSource, ...] = ()
    async_settings: AsyncSettings | None = None
    peak: Peak | None = None
    throttles: float = 0.0
    events: float = 0.0
    mean_run_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One table with its 14 days. `busiest` is the mean of the busiest hour in units per second."""

    settings: TableSettings
    tags: dict[str, str] = field(default_factory=dict)
    scaling: tuple[ScalingTarget, ...] = ()
    recovery: bool | None = None
    busiest: Mapping[Unit, Peak] = field(default_factory=dict)
    throttles: Mapping[Unit, float] = field(default_factory=dict)
    hot_keys: tuple[HotKeys, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """One account and Region over [start, end). `concurrency` None and `alarms` None: could not be read."""

    account: str
    region: str
    start: datetime
    end: datetime
    concurrency: ConcurrencyAccount | None
    in_use: Series | None
    throttles: Series | None
    functions: tuple[FunctionFacts, ...] = ()
    tables: tuple[TableFacts, ...] = ()
    alarms: tuple[AlarmFacts, ...] | None = None
    gaps: tuple[str, ...] = ()
