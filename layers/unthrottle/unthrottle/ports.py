"""What the workflow needs from the world, as Protocols. Adapters and the sandbox's fakes both keep these promises.

Errors are those of `errors.py` only: TryAgain (raise to retry), NotFound, NotAllowed, Refused (for good), Drifted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from unthrottle.backfills import Backfill, CancelAnswer
from unthrottle.evidence.pool import AsyncSettings, ConcurrencyAccount, EventSource
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import BulkOperation, HotKeys, ScalingActivity, ScalingTarget, TableSettings
from unthrottle.incident import Incident, Wish
from unthrottle.plan import SavedTable

T = TypeVar("T")


# --- the engine: how the workflow waits -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Somebody answered a question. `text` is what the answering side sent, as it sent it."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """Nobody answered in time."""


class Run(Protocol):
    """One workflow execution. Everything done outside a step is done again on every resume, so do nothing there."""

    def step(self, name: str, work: Callable[[], T], returns: type[T]) -> T:
        """Do `work` once and remember its result; a resumed run gets the remembered one.

        At least once: a process that dies after the work and before it is remembered does the work again. Results are
        stored as JSON, by the type `returns`. TryAgain is retried with growing pauses, a few times; then, as for any other
        UnthrottleError at once, StepFailed is raised.
        """

    def sleep(self, name: str, duration: timedelta) -> None:
        """Wait without running."""

    def ask(self, name: str, timeout: timedelta, submit: Callable[[str], None]) -> Answered | Expired:
        """Wait for an answer from outside. `submit` is given the address to answer to.

        It is called on every resume, before the wait: what it does, it does in steps of its own.
        """


# --- looking (Observer) ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricQuery:
    """One metric with its exact dimension set. `id` must match ``[a-z][A-Za-z0-9_]*`` and be unique in a call."""

    id: str
    namespace: str
    name: str
    stat: str
    dimensions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One series of a ranking query, with the group's label (for one dimension its value)."""

    label: str
    series: Series


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsAnswer:
    """Series by query id (a query without data gives a series of gaps), and the ranking in AWS's order."""

    series: dict[str, Series]
    ranking: tuple[Ranked, ...] = ()


class Metrics(Protocol):
    def read(
        self,
        queries: Sequence[MetricQuery],
        *,
        start: datetime,
        end: datetime,
        period_s: int = 60,
        ranking: str | None = None,
    ) -> MetricsAnswer:
        """Read series over [start, end), aligned to the period. `ranking` is one Metrics Insights query that rides along.

        Incomplete answers are read to their end (paging, PartialData). Raises TryAgain, NotAllowed, Refused.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSettings:
    """GetFunction, in our words. `reserved` None is no reservation; 0 is switched off."""

    name: str
    arn: str
    reserved: int | None
    timeout_s: int
    tags: dict[str, str]
    managed_instances: bool = False
    durable: bool = False
    has_dead_letter: bool = False


class Functions(Protocol):
    """Reading Lambda. Each raises NotFound for a function that is not there."""

    def account(self) -> ConcurrencyAccount: ...
    def describe(self, name: str) -> FunctionSettings: ...
    def event_sources(self, name: str) -> tuple[EventSource, ...]: ...
    def async_settings(self, name: str) -> AsyncSettings: ...
    def provisioned(self, name: str) -> int:
        """Add up the provisioned concurrency of all versions and aliases."""

    def names(self) -> tuple[str, ...]:
        """List every function. Costs one call per 50; only for accounts a ranking query cannot cover."""


class Tables(Protocol):
    """Reading DynamoDB. Each raises NotFound for a table that is not there."""

    def describe(self, table: str) -> TableSettings: ...
    def tags(self, arn: str) -> dict[str, str]: ...
    def scaling(self, table: str) -> tuple[ScalingTarget, ...]: ...
    def scaling_activities(self, table: str, index: str | None = None) -> tuple[ScalingActivity, ...]:
        """Return what autoscaling did of late, or could not do, to the table alone (None) or to one index."""

    def bulk_operations(self, table: str, since: datetime, until: datetime) -> tuple[BulkOperation, ...]:
        """Return the bulk loads of a table that run and began within that time."""

    def switches(self, table: str, since: datetime) -> tuple[datetime, ...]:
        """Name the switches to on-demand since then, by whoever made them, from CloudTrail; minutes late."""

    def hot_keys(self, table: str, index: str | None, start: datetime, end: datetime) -> HotKeys | None:
        """Ask Contributor Insights for the most active keys; None where it is not enabled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringAlarm:
    """An alarm that is in ALARM now; a contributor of a grouped query is one of its own. `since` is its transition.

    `metrics` have the shape of an event's configuration; `attributes` name the contributor's resource.
    """

    name: str
    arn: str
    since: datetime
    metrics: tuple[dict[str, object], ...]
    reason: str = ""
    contributor: str | None = None
    attributes: dict[str, str] = field(default_factory=dict)


class Alarms(Protocol):
    def metrics_of(self, names: Sequence[str]) -> list[dict[str, object]]:
        """Return the metrics the named alarms watch, composites resolved, in the shape of an event's configuration."""

    def firing(self) -> tuple[FiringAlarm, ...]:
        """Return the metric alarms that are in ALARM now and whose actions are not switched off; bounded."""


class Calendar(Protocol):
    def is_frozen(self, calendar_arn: str) -> bool:
        """Say whether the SSM Change Calendar is CLOSED now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """One account and Region, seen with the Observer role."""

    metrics: Metrics
    functions: Functions
    tables: Tables
    alarms: Alarms
    calendar: Calendar


# --- changing (Actor) --------------------------------------------------------------------------------------------


class Actor(Protocol):
    """One account and Region, changed with the Actor role. Every method re-reads nothing: the caller compares first.

    `Refused.code` is AWS's error code; the message carries AWS's own text.
    """

    def reserved(self, function: str) -> int | None:
        """Read the function's reserved concurrency: None where there is none."""

    def set_reserved(self, function: str, value: int | None) -> None:
        """Put reserved concurrency, or delete it for None."""

    def event_source(self, uuid: str) -> EventSource: ...
    def set_event_source(self, uuid: str, knob: str, value: int | None) -> None: ...

    def table(self, name: str) -> TableSettings: ...
    def switch_to_on_demand(self, table: str) -> None: ...
    def set_provisioned(self, table: str, wanted: SavedTable, *, from_on_demand: bool) -> None:
        """Set table and index capacity in one UpdateTable call; equal numbers are left out of it.

        `from_on_demand` True also sets BillingMode PROVISIONED, with numbers for the table and every index.
        """

    def scaling_targets(self, table: str) -> tuple[ScalingTarget, ...]:
        """Read the autoscaling bounds of a table and its indexes."""

    def set_scaling(self, table: str, targets: Sequence[ScalingTarget]) -> None:
        """Register scalable targets with these bounds."""


class Accounts(Protocol):
    """Credentials for an account and Region, by role, with the incident's id as session name."""

    def observe(self, account: str, region: str, incident_id: str) -> Observer: ...
    def act(self, account: str, region: str, incident_id: str) -> Actor:
        """Assume the Actor role. Raises NotAllowed where it does not exist, as in dry-run."""


# --- dagy --------------------------------------------------------------------------------------------------------


class Backfills(Protocol):
    """Raises BackfillsUnavailable when dagy does not answer sensibly, BackfillsRefused when it says no."""

    def running(self, environment: str | None = None) -> tuple[Backfill, ...]: ...
    def cancel(self, backfill_id: str) -> CancelAnswer: ...


# --- telling -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """Where a message stands: Slack's ts."""

    ts: str


class Chat(Protocol):
    """The operations channel. Raises the errors of `chat_errors`: later, gone, broken."""

    def post(
        self, text: str, blocks: Sequence[dict[str, object]], *, thread_ts: str | None = None, broadcast: bool = False
    ) -> Posted: ...
    def update(self, ts: str, text: str, blocks: Sequence[dict[str, object]]) -> Posted: ...


class Pager(Protocol):
    def page(self, subject: str, text: str) -> None:
        """Reach a person through the escalation topic. `subject` at most 100 characters of ASCII (SNS)."""


# --- remembering -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    incident: Incident


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The incident with this fingerprint was open already; the trigger was counted."""

    incident_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """This very state change was seen before; `incident_id` is the one it belongs to."""

    incident_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What the guard must know of other incidents. Times are UTC.

    `acted` are the times of actions of this account and Region within the last hour; `last_on` the last action on each of
    the asked resources; `held_by` other open incidents that hold one of them; `switches` the switches to on-demand known
    for each table within 24 h.
    """

    paused_until: datetime | None = None
    acted: tuple[datetime, ...] = ()
    last_on: dict[str, datetime] | None = None
    held_by: dict[str, str] | None = None
    switches: dict[str, tuple[datetime, ...]] | None = None


class Incidents(Protocol):
    """The incidents table."""

    def open_or_join(self, incident: Incident, dedupe_key: str) -> Opened | Joined | Duplicate:
        """Open `incident`, unless its fingerprint is open already or this state change was seen. One transaction."""

    def load(self, incident_id: str) -> Incident | None: ...
    def save(self, incident: Incident) -> Incident:
        """Write the record if its version is the stored one; returns it with the next version. Raises Conflict."""

    def record_intent(self, incident: Incident, now: datetime, *, budget: int | None = None) -> Incident:
        """Write the record, take its resources and spend the action budget, in one transaction, before acting.

        `budget` is how many actions an hour an account and Region may have; None: any number. Taking what this incident
        already holds is fine (a resumed run). Raises Busy, OverBudget, Conflict.
        """

    def wish(self, incident_id: str, wish: Wish) -> bool:
        """Note what a person wants done with an open incident's change; `load` gives it back.

        False: it is closed, or its end has begun (`Incident.settling`).
        """

    def close(self, incident: Incident) -> Incident:
        """Write the record, free its fingerprint and its resources, in one transaction. Raises Conflict."""

    def ledger(self, account: str, region: str, resources: Sequence[str], now: datetime) -> Ledger: ...
    def set_pause(self, until: datetime | None, by: str) -> None:
        """Stop new changes everywhere until then; None ends it."""

    def is_seen(self, delivery: str) -> bool:
        """Say whether a person's request (by its signature's hash) was taken before, and note that it is now."""

    def open_incidents(self) -> tuple[Incident, ...]: ...
    def untold(self) -> tuple[Incident, ...]:
        """Return the closed incidents of which Slack has not taken every report."""

    def recent(self, limit: int, *, since: datetime | None = None) -> tuple[Incident, ...]:
        """Return the newest incidents, open or closed. `since` bounds the search by month: older ones may be left out."""


class Starter(Protocol):
    def start(self, incident_id: str) -> None:
        """Start the workflow under the incident's id as its name. Idempotent: a second start changes nothing."""

    def answer(self, callback: str, text: str) -> bool:
        """Answer a workflow's question. False when it is no longer waiting."""


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the time in UTC. In a workflow, read it only inside a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything the workflow talks to. `backfills` and `chat` are None where they are not configured."""

    accounts: Accounts
    incidents: Incidents
    backfills: Backfills | None
    chat: Chat | None
    pager: Pager
    clock: Clock
    channels: Callable[[str, str], Chat | None] | None = None
    """The channel of an account and Region, where they have channels of their own."""

    def chat_of(self, incident: Incident) -> Chat | None:
        """Return the channel that an incident is told in; None: there is none."""
        return self.chat if self.channels is None else self.channels(incident.account, incident.region)
