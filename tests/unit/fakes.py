"""An account, its roles and its helpers, just large enough for one test: each remembers what it was told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from unthrottle.backfills import Backfill, CancelAnswer
from unthrottle.errors import NotAllowed, NotFound, Refused, UnthrottleError
from unthrottle.evidence.pool import AsyncSettings, ConcurrencyAccount, EventSource
from unthrottle.evidence.series import Series, empty
from unthrottle.evidence.table import (
    Billing,
    BulkOperation,
    Capacity,
    HotKeys,
    IndexSettings,
    ScalingActivity,
    ScalingTarget,
    TableSettings,
)
from unthrottle.incident import Incident
from unthrottle.plan import SavedTable
from unthrottle.ports import Actor, FiringAlarm, FunctionSettings, MetricQuery, MetricsAnswer, Observer, Ranked
from unthrottle.subjects import PoolSubject, fingerprint

NOW = datetime(2026, 8, 24, 10, 0, tzinfo=UTC)
ACCOUNT, REGION = "111122223333", "eu-west-1"
MINUTE = timedelta(minutes=1)


def arn_of(function: str) -> str:
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}"


def series(*values: float | None, end: datetime = NOW) -> Series:
    """Values of one minute each, the last one ending at `end`."""
    return Series(start=end - len(values) * MINUTE, period_s=60, values=values)


def incident(**changes: object) -> Incident:
    """An open incident of the pool, changed as the test needs it."""
    mark = fingerprint(ACCOUNT, REGION, PoolSubject())
    plain = Incident(
        id="INC-TEST0001",
        fingerprint=mark,
        account=ACCOUNT,
        region=REGION,
        kind="lambda",
        subject=PoolSubject(),
        opened_at=NOW,
        alarm_name="lambda-throttles",
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # any field, by name


class StillClock:
    """A clock that only a test moves."""

    def __init__(self, now: datetime = NOW) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time


class FakeMetrics:
    """Metrics by name and dimension value; what is not there is a series of gaps. Remembers each call."""

    def __init__(
        self, known: dict[tuple[str, str], Series] | None = None, rankings: dict[str, tuple[Ranked, ...]] | None = None
    ) -> None:
        self.known = known or {}
        self.rankings = rankings or {}
        self.calls: list[tuple[MetricQuery, ...]] = []

    def read(
        self,
        queries: Sequence[MetricQuery],
        *,
        start: datetime,
        end: datetime,
        period_s: int = 60,
        ranking: str | None = None,
    ) -> MetricsAnswer:
        self.calls.append(tuple(queries))
        found = {}
        for query in queries:
            key = (query.name, "/".join(value for _, value in query.dimensions))
            found[query.id] = self.known[key].between(start, end) if key in self.known else empty(start, end)
        rows = next((rows for word, rows in self.rankings.items() if ranking and word in ranking), ())
        return MetricsAnswer(series=found, ranking=rows)


class FakeFunctions:
    """The functions it was given; remembers each call by name."""

    def __init__(self, account: ConcurrencyAccount, *functions: FunctionSettings) -> None:
        self.settings = account
        self.known = {one.name: one for one in functions}
        self.sources: dict[str, tuple[EventSource, ...]] = {}
        self.calls: list[str] = []

    def account(self) -> ConcurrencyAccount:
        self.calls.append("account")
        return self.settings

    def describe(self, name: str) -> FunctionSettings:
        self.calls.append(f"describe {name}")
        if name not in self.known:
            raise NotFound(f"no function {name}", code="ResourceNotFoundException")
        return self.known[name]

    def event_sources(self, name: str) -> tuple[EventSource, ...]:
        self.calls.append(f"event_sources {name}")
        return self.sources.get(name, ())

    def async_settings(self, name: str) -> AsyncSettings:
        self.calls.append(f"async_settings {name}")
        return AsyncSettings()

    def provisioned(self, name: str) -> int:
        self.calls.append(f"provisioned {name}")
        return 0

    def names(self) -> tuple[str, ...]:
        self.calls.append("names")
        return tuple(self.known)


class FakeTables:
    """The tables it was given; remembers each call by name."""

    def __init__(self, *tables: TableSettings, refuses: UnthrottleError | None = None) -> None:
        self.known = {one.name: one for one in tables}
        self.refuses = refuses
        self.targets: tuple[ScalingTarget, ...] = ()
        self.bulk: tuple[BulkOperation, ...] = ()
        self.calls: list[str] = []

    def describe(self, table: str) -> TableSettings:
        self.calls.append(f"describe {table}")
        if self.refuses is not None:
            raise self.refuses
        if table not in self.known:
            raise NotFound(f"no table {table}", code="ResourceNotFoundException")
        return self.known[table]

    def tags(self, arn: str) -> dict[str, str]:
        self.calls.append("tags")
        return {}

    def scaling(self, table: str) -> tuple[ScalingTarget, ...]:
        self.calls.append("scaling")
        return self.targets

    def scaling_activities(self, table: str, index: str | None = None) -> tuple[ScalingActivity, ...]:
        self.calls.append("scaling_activities" if index is None else f"scaling_activities {index}")
        return ()

    def bulk_operations(self, table: str, since: datetime, until: datetime) -> tuple[BulkOperation, ...]:
        self.calls.append("bulk_operations")
        return self.bulk

    def switches(self, table: str, since: datetime) -> tuple[datetime, ...]:
        self.calls.append("switches")
        return ()

    def hot_keys(self, table: str, index: str | None, start: datetime, end: datetime) -> HotKeys | None:
        self.calls.append("hot_keys")
        return None


class FakeAlarms:
    """Definitions by alarm name; remembers which names were asked for."""

    def __init__(self, definitions: dict[str, list[dict[str, object]]], error: UnthrottleError | None = None) -> None:
        self.definitions = definitions
        self.error = error
        self.asked: list[tuple[str, ...]] = []

    def metrics_of(self, names: Sequence[str]) -> list[dict[str, object]]:
        self.asked.append(tuple(names))
        if self.error is not None:
            raise self.error
        return [metric for name in names for metric in self.definitions.get(name, [])]

    def firing(self) -> tuple[FiringAlarm, ...]:
        return ()


class OpenCalendar:
    """A change calendar that allows changes."""

    def is_frozen(self, calendar_arn: str) -> bool:
        return False


def observer(
    *,
    metrics: FakeMetrics | None = None,
    functions: FakeFunctions | None = None,
    tables: FakeTables | None = None,
    alarms: FakeAlarms | None = None,
) -> Observer:
    account = ConcurrencyAccount(limit=1000, unreserved_limit=1000, function_count=362)
    return Observer(
        metrics=metrics or FakeMetrics(),
        functions=functions or FakeFunctions(account),
        tables=tables or FakeTables(),
        alarms=alarms or FakeAlarms({}),
        calendar=OpenCalendar(),
    )


@dataclass(slots=True)
class FakeActor:
    """What can be changed, with the state it is in. `said` are AWS's refusals to come, in order, by call."""

    reservations: dict[str, int] = field(default_factory=dict)
    sources: dict[str, EventSource] = field(default_factory=dict)
    tables: dict[str, TableSettings] = field(default_factory=dict)
    scaling: dict[str, tuple[ScalingTarget, ...]] = field(default_factory=dict)
    said: dict[str, list[UnthrottleError]] = field(default_factory=dict)
    floor: Callable[[int], str | None] = lambda _value: None
    made: list[str] = field(default_factory=list)

    def _may(self, call: str) -> None:
        waiting = self.said.get(call, [])
        if waiting:
            raise waiting.pop(0)

    def reserved(self, function: str) -> int | None:
        return self.reservations.get(function)

    def set_reserved(self, function: str, value: int | None) -> None:
        self._may("set_reserved")
        refused = None if value is None else self.floor(value)
        if refused is not None:
            raise Refused(refused, code="InvalidParameterValueException")
        self.made.append(f"reserve {function} {value}")
        if value is None:
            self.reservations.pop(function, None)
        else:
            self.reservations[function] = value

    def event_source(self, uuid: str) -> EventSource:
        return self.sources[uuid]

    def set_event_source(self, uuid: str, knob: str, value: int | None) -> None:
        self._may("set_event_source")
        self.made.append(f"{knob} {uuid} {value}")
        names = {
            "MaximumConcurrency": "maximum_concurrency",
            "MaximumPollers": "maximum_pollers",
            "ParallelizationFactor": "parallelization_factor",
        }
        self.sources[uuid] = replace(self.sources[uuid], **{names[knob]: value})  # type: ignore[arg-type]  # by name

    def table(self, name: str) -> TableSettings:
        return self.tables[name]

    def switch_to_on_demand(self, table: str) -> None:
        """An on-demand table shows 0/0 everywhere, as AWS does."""
        self._may("switch_to_on_demand")
        self.made.append(f"on-demand {table}")
        nothing = Capacity(read=0, write=0)
        found = self.tables[table]
        indexes = tuple(replace(index, capacity=nothing) for index in found.indexes)
        self.tables[table] = replace(found, billing=Billing.ON_DEMAND, capacity=nothing, indexes=indexes)

    def set_provisioned(self, table: str, wanted: SavedTable, *, from_on_demand: bool) -> None:
        """Refuses an index that is not there, and, coming from on-demand, an index without numbers."""
        self._may("set_provisioned")
        found = self.tables[table]
        names = {index.name for index in found.indexes}
        if set(wanted.indexes) - names or (from_on_demand and names - set(wanted.indexes)):
            raise Refused("the indexes do not fit", code="ValidationException")
        self.made.append(f"provision {table}")
        indexes = tuple(
            IndexSettings(name=one.name, status=one.status, capacity=wanted.indexes.get(one.name, one.capacity))
            for one in found.indexes
        )
        self.tables[table] = replace(found, billing=Billing.PROVISIONED, capacity=wanted.capacity, indexes=indexes)

    def set_scaling(self, table: str, targets: Sequence[ScalingTarget]) -> None:
        """One target after the other; the first one refused ends it, as with AWS."""
        self.made.append(f"scaling {table}")
        known = {(one.way, one.index): one for one in self.scaling.get(table, ())}
        for target in targets:
            self._may("set_scaling")
            known[target.way, target.index] = target
            self.scaling[table] = tuple(known.values())

    def scaling_targets(self, table: str) -> tuple[ScalingTarget, ...]:
        return self.scaling.get(table, ())


class FakeAccounts:
    """Hands out one observer and one actor, or refuses the actor as dry-run does."""

    def __init__(self, seen: Observer | None = None, actor: Actor | None = None) -> None:
        self.seen = seen or observer()
        self.actor = actor
        self.asked: list[tuple[str, str]] = []

    def observe(self, account: str, region: str, incident_id: str) -> Observer:
        self.asked.append((account, region))
        return self.seen

    def act(self, account: str, region: str, incident_id: str) -> Actor:
        if self.actor is None:
            raise NotAllowed("There is no Actor role.", code="AccessDenied")
        return self.actor


class FakeStarter:
    """Remembers what was started and answered; `waits` False: nobody waits for an answer any more."""

    def __init__(self, *, waits: bool = True) -> None:
        self.started: list[str] = []
        self.answers: list[tuple[str, str]] = []
        self.waits = waits

    def start(self, incident_id: str) -> None:
        self.started.append(incident_id)

    def answer(self, callback: str, text: str) -> bool:
        self.answers.append((callback, text))
        return self.waits


class FakePager:
    """Remembers its pages; `error` is raised instead of sending."""

    def __init__(self, error: UnthrottleError | None = None) -> None:
        self.pages: list[tuple[str, str]] = []
        self.error = error

    def page(self, subject: str, text: str) -> None:
        if self.error is not None:
            raise self.error
        self.pages.append((subject, text))


class FakeBackfills:
    """The backfills it was given; cancelling answers as it was told to."""

    def __init__(self, *running: Backfill, answer: CancelAnswer | UnthrottleError | None = None) -> None:
        self.list = running
        self.answer = answer
        self.cancelled: list[str] = []

    def running(self, environment: str | None = None) -> tuple[Backfill, ...]:
        return tuple(one for one in self.list if environment in {None, one.environment})

    def cancel(self, backfill_id: str) -> CancelAnswer:
        self.cancelled.append(backfill_id)
        if isinstance(self.answer, UnthrottleError):
            raise self.answer
        assert self.answer is not None
        return self.answer
