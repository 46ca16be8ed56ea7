"""Read what the audit needs of one account and Region: lists in bulk, 14 days of metrics, details of the few that matter.

The number of calls is linear in the number of resources, and calls are made one after the other. What cannot be read is a
gap with its reason, and the rest goes on; only an account nobody may look at is an error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from unthrottle.audit.inventory import FunctionFacts, Inventory, Peak, Survey, TableFacts, Unit
from unthrottle.errors import NotAllowed, NotFound, Refused, TryAgain
from unthrottle.evidence.pool import ConcurrencyAccount
from unthrottle.evidence.read_by_name import read_each
from unthrottle.evidence.read_pool import INSIGHTS_METRICS
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import Billing, TableSettings, Way
from unthrottle.ports import MetricQuery, Observer, Ranked

T = TypeVar("T")
Progress = Callable[[str], None]

DAYS = 14
"""CloudWatch guide, Metrics Insights limits: a query reaches back two weeks."""
HOUR = timedelta(hours=1)
HOUR_S, DAY_S = 3600, 86_400
AT_ONCE = 250
"""Metrics asked for before they are reduced to a peak: keeps the memory small whatever the account's size."""
MOST_DETAILS = 100
"""Functions whose run length is read: the largest by concurrency."""
MOST_EVENT_SETTINGS = 500
FAILURES = (NotAllowed, NotFound, Refused, TryAgain)


def _ranking(function: str, metric: str) -> str:
    return (
        f'SELECT {function}({metric}) FROM SCHEMA("AWS/Lambda", FunctionName) '
        f"GROUP BY FunctionName ORDER BY {function}() DESC LIMIT 500"
    )


class Stocktaking:
    """One reading of one account and Region. `tell` is told what is being done, for people who wait."""

    def __init__(
        self, observer: Observer, survey: Survey, *, account: str, region: str, now: datetime, tell: Progress
    ) -> None:
        self._observer, self._survey = observer, survey
        self._account, self._region, self._tell = account, region, tell
        # Whole hours, the running one included: two weeks to the hour is all that a query may reach back.
        self._end = now.replace(minute=0, second=0, microsecond=0) + HOUR
        self._start = self._end - timedelta(days=DAYS)
        self._gaps: list[str] = []

    def take(self) -> Inventory:
        """Read everything. Raises NotAllowed, TryAgain, Refused where not even the account's concurrency can be read."""
        self._tell("concurrency of the account")
        concurrency = self._observer.functions.account()
        tags = self._tried("tags of functions and tables", self._survey.tags) or {}
        functions, in_use, throttles = self._functions(concurrency, tags)
        return Inventory(
            account=self._account,
            region=self._region,
            start=self._start,
            end=self._end,
            concurrency=concurrency,
            in_use=in_use,
            throttles=throttles,
            functions=functions,
            tables=self._tables(tags),
            alarms=self._tried("alarms", self._survey.alarms),
            gaps=tuple(self._gaps),
        )

    def _tried(self, what: str, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except FAILURES as error:
            self._gaps.append(f"Not seen: {what}. {error}")
            return None

    # --- functions ---------------------------------------------------------------------------------------------------

    def _functions(
        self, concurrency: ConcurrencyAccount, tags: Mapping[str, dict[str, str]]
    ) -> tuple[tuple[FunctionFacts, ...], Series | None, Series | None]:
        self._tell("functions")
        listed = self._tried("functions", lambda: list(self._survey.functions())) or []
        sources = self._tried("event source mappings", self._survey.event_sources) or {}
        facts = {
            one.name: FunctionFacts(
                name=one.name,
                arn=one.arn,
                timeout_s=one.timeout_s,
                managed_instances=one.managed_instances,
                has_dead_letter=one.has_dead_letter,
                tags=tags.get(one.arn, {}),
                sources=sources.get(one.name, ()),
            )
            for one in listed
        }
        self._tell(f"14 days of {len(facts):,} functions")
        peaks = self._tried("peaks of the functions", lambda: self._peaks(list(facts))) or {}
        throttled = self._sums("Throttles", list(facts))
        events = self._sums("AsyncEventsReceived", list(facts))
        for name, fact in facts.items():
            facts[name] = replace(
                fact, peak=peaks.get(name), throttles=throttled.get(name, 0.0), events=events.get(name, 0.0)
            )
        self._reservations(facts, concurrency)
        self._details(facts)
        in_use, refused = self._tried("the account's concurrency over 14 days", self._account_series) or (None, None)
        return tuple(facts.values()), in_use, refused

    def _account_series(self) -> tuple[Series | None, Series | None]:
        answer = self._observer.metrics.read(
            [
                MetricQuery(id="used", namespace="AWS/Lambda", name="ConcurrentExecutions", stat="Maximum"),
                MetricQuery(id="refused", namespace="AWS/Lambda", name="Throttles", stat="Sum"),
            ],
            start=self._start,
            end=self._end,
            period_s=HOUR_S,
        )
        return answer.series["used"], answer.series["refused"]

    def _peaks(self, names: Sequence[str]) -> dict[str, Peak]:
        if len(names) <= INSIGHTS_METRICS:
            answer = self._observer.metrics.read(
                (), start=self._start, end=self._end, period_s=HOUR_S, ranking=_ranking("MAX", "ConcurrentExecutions")
            )
            if len(answer.ranking) >= 500:
                self._gaps.append(
                    "Peaks are those of the 500 functions with the most concurrency; the others had less."
                )
            return _peaks(answer.ranking)
        self._gaps.append(
            f"{len(names):,} functions are more than one ranking query looks at; each was read by its name."
        )
        found: dict[str, Peak] = {}
        for batch in _batches(names, AT_ONCE):
            rows = self._by_name(batch, "ConcurrentExecutions", "Maximum", DAY_S)
            found.update(_peaks(rows))
        return found

    def _sums(self, metric: str, names: Sequence[str]) -> dict[str, float]:
        def read() -> dict[str, float]:
            if len(names) <= INSIGHTS_METRICS:
                # By the hour as well: a day's period would begin before the two weeks a query may reach back.
                ranking = self._observer.metrics.read(
                    (), start=self._start, end=self._end, period_s=HOUR_S, ranking=_ranking("SUM", metric)
                ).ranking
                return {row.label: row.series.sum() for row in ranking if row.series.sum() > 0}
            return {
                row.label: row.series.sum()
                for batch in _batches(names, AT_ONCE)
                for row in self._by_name(batch, metric, "Sum", DAY_S)
                if row.series.sum() > 0
            }

        return self._tried(f"{metric} of the functions", read) or {}

    def _by_name(self, names: Sequence[str], metric: str, stat: str, period_s: int) -> list[Ranked]:
        return read_each(
            self._observer.metrics,
            names,
            metric=metric,
            stat=stat,
            start=self._start,
            end=self._end_of(period_s),
            period_s=period_s,
        )

    def _end_of(self, period_s: int) -> datetime:
        """Return the end of the running period: reading to the present would leave today out."""
        return self._end if period_s <= HOUR_S else self._end + timedelta(seconds=period_s) - HOUR

    def _reservations(self, facts: dict[str, FunctionFacts], concurrency: ConcurrencyAccount) -> None:
        """Read reservations, largest functions first, until all that the account has are found. No list of them exists."""
        missing = concurrency.reserved
        order = sorted(facts, key=lambda name: -(peak.value if (peak := facts[name].peak) else 0.0))
        looked = 0
        for name in order:
            if missing <= 0:
                break
            looked += 1
            if looked % 500 == 0:
                self._tell(f"reservations, {looked:,} of {len(order):,} functions")
            try:
                reserved = self._survey.reserved(name)
            except NotFound:
                continue
            except FAILURES as error:
                self._gaps.append(f"Not seen: reservations, after {looked - 1:,} of {len(order):,} functions. {error}")
                for unread in order[looked - 1 :]:
                    facts[unread] = replace(facts[unread], reserved_known=False)
                return
            facts[name] = replace(facts[name], reserved=reserved)
            missing -= reserved or 0

    def _details(self, facts: dict[str, FunctionFacts]) -> None:
        """Read how long the largest functions run, and how the busiest asynchronous ones keep their events."""
        active = sorted(
            (one for one in facts.values() if one.peak),
            key=lambda one: (-(one.peak.value if one.peak else 0), one.name),
        )
        lengths = (
            self._tried(
                "run lengths",
                lambda: self._by_name([one.name for one in active[:MOST_DETAILS]], "Duration", "Average", DAY_S),
            )
            or []
        )
        for row in lengths:
            mean = row.series.mean()
            if mean is not None:
                facts[row.label] = replace(facts[row.label], mean_run_s=mean / 1000)
        queued = sorted((one for one in facts.values() if one.events > 0), key=lambda one: (-one.events, one.name))
        if queued:
            self._tell(f"how {min(len(queued), MOST_EVENT_SETTINGS):,} functions keep their events")
        for one in queued[:MOST_EVENT_SETTINGS]:
            try:
                kept = self._observer.functions.async_settings(one.name)
            except NotFound:
                continue
            except FAILURES as error:
                self._gaps.append(f"Not seen: how functions keep their events. {error}")
                return
            facts[one.name] = replace(facts[one.name], async_settings=kept)

    # --- tables ------------------------------------------------------------------------------------------------------

    def _tables(self, tags: Mapping[str, dict[str, str]]) -> tuple[TableFacts, ...]:
        self._tell("tables")
        names = self._tried("tables", lambda: list(self._survey.tables())) or []
        scaling = (self._tried("autoscaling of tables", self._survey.scaling) or {}) if names else {}
        facts: dict[str, TableFacts] = {}
        for number, name in enumerate(names, 1):
            if number % 250 == 0:
                self._tell(f"tables, {number:,} of {len(names):,}")
            try:
                settings = self._observer.tables.describe(name)
            except NotFound:
                continue  # deleted since it was listed
            except FAILURES as error:
                if isinstance(error, NotAllowed):
                    self._gaps.append(f"Not seen: table {name} and {len(names) - number:,} more. {error}")
                    break
                self._gaps.append(f"Not seen: table {name}. {error}")
                continue
            facts[name] = TableFacts(settings=settings, tags=tags.get(settings.arn, {}), scaling=scaling.get(name, ()))
        self._recovery(facts)
        self._load(facts)
        self._hot_keys(facts)
        return tuple(facts.values())

    def _recovery(self, facts: dict[str, TableFacts]) -> None:
        for name in list(facts):
            try:
                facts[name] = replace(facts[name], recovery=self._survey.has_recovery(name))
            except NotFound:
                continue
            except FAILURES as error:
                self._gaps.append(f"Not seen: point-in-time recovery. {error}")
                return

    def _load(self, facts: dict[str, TableFacts]) -> None:
        """Read the busiest hour of every unit that has a bound, and the throttle events of all."""
        wanted = [(name, unit) for name, fact in facts.items() for unit in _bounded(fact.settings)]
        every = [(name, unit) for name, fact in facts.items() for unit in units_of(fact.settings)]
        if every:
            self._tell(f"14 days of {len(every):,} read and write capacities")
        busiest: dict[str, dict[Unit, Peak]] = {}
        refused: dict[str, dict[Unit, float]] = {}

        def read() -> None:
            for batch in _batches(wanted, AT_ONCE):
                for (name, unit), series in self._unit_series(batch, "Consumed{}CapacityUnits", HOUR_S):
                    top, at = series.peak(), series.peak_at()
                    if top is not None and at is not None:
                        busiest.setdefault(name, {})[unit] = Peak(value=top / HOUR_S, at=at)
            for batch in _batches(every, AT_ONCE):
                for (name, unit), series in self._unit_series(batch, "{}ThrottleEvents", DAY_S):
                    if series.sum() > 0:
                        refused.setdefault(name, {})[unit] = series.sum()

        self._tried("load of the tables", read)
        for name, fact in facts.items():
            facts[name] = replace(fact, busiest=busiest.get(name, {}), throttles=refused.get(name, {}))

    def _unit_series(
        self, units: Sequence[tuple[str, Unit]], metric: str, period_s: int
    ) -> Iterator[tuple[tuple[str, Unit], Series]]:
        queries = [
            MetricQuery(
                id=f"u{number}",
                namespace="AWS/DynamoDB",
                name=metric.format(way.value.capitalize()),
                stat="Sum",
                dimensions=(("TableName", name),) + ((("GlobalSecondaryIndexName", index),) if index else ()),
            )
            for number, (name, (index, way)) in enumerate(units)
        ]
        answer = self._observer.metrics.read(queries, start=self._start, end=self._end_of(period_s), period_s=period_s)
        for number, unit in enumerate(units):
            yield unit, answer.series[f"u{number}"]

    def _hot_keys(self, facts: dict[str, TableFacts]) -> None:
        for name, index in self._tried("Contributor Insights", self._survey.contributor_insights) or ():
            if name not in facts:
                continue
            try:
                found = self._observer.tables.hot_keys(name, index, self._end - timedelta(hours=24), self._end)
            except FAILURES as error:
                self._gaps.append(f"Not seen: the most active keys of {name}. {error}")
                continue
            if found is not None:
                facts[name] = replace(facts[name], hot_keys=(*facts[name].hot_keys, found))


def units_of(table: TableSettings) -> Iterator[Unit]:
    """Name both ways of the table and of every index."""
    for name in (None, *(index.name for index in table.indexes)):
        for way in Way:
            yield name, way


def _bounded(table: TableSettings) -> Iterator[Unit]:
    if table.billing is Billing.PROVISIONED:
        yield from units_of(table)
    if table.billing is Billing.ON_DEMAND:
        yield from ((None, way) for way in Way if getattr(table, f"max_on_demand_{way.value}") is not None)


def _peaks(rows: Sequence[Ranked]) -> dict[str, Peak]:
    found: dict[str, Peak] = {}
    for row in rows:
        top, at = row.series.peak(), row.series.peak_at()
        if top is not None and at is not None and row.label != "Other":
            found[row.label] = Peak(value=top, at=at)
    return found


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]
