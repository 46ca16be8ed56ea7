"""What happens in the account in this minute?

Joins the models of the scenario's loads: reads the account as the bot, people and others left it, serves the minute,
and publishes its metrics. It acts on nothing itself; autoscaling, which belongs to the account, is the one exception.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

import numpy as np

from sandbox.aws.records import FunctionRecord, TableRecord
from sandbox.model.autoscaling import Autoscaler, CapacityControl
from sandbox.model.key_insights import KeyInsights
from sandbox.model.limits import LimitReader, PoolLimits
from sandbox.model.pool import Pool, PoolMinute
from sandbox.model.pool_metrics import PoolMetrics
from sandbox.model.series import MetricSink
from sandbox.model.table_metrics import TableMetrics
from sandbox.model.tables import TableMinute, TableModel
from sandbox.scenario.format import Scenario

HISTORY_MINUTES = 180
"""How much of the load of minute 0 CloudWatch has seen before the scenario begins, so that there is a baseline."""


class AccountState(CapacityControl, Protocol):
    """The part of the embedded account that the model reads. `functions` and `tables` are by name."""

    @property
    def functions(self) -> Mapping[str, FunctionRecord]:
        """Every function of the account."""

    @property
    def tables(self) -> Mapping[str, TableRecord]:
        """Every table of the account."""

    @property
    def concurrency_limit(self) -> int:
        """The account's concurrency limit."""

    contributor_insights: Callable[[str, str | None], Mapping[str, Any]]
    """What DescribeContributorInsights answers about a table, or one of its indexes."""

    @property
    def version(self) -> int:
        """Grows with every change of a function or a mapping."""

    def settle(self, now: datetime) -> None:
        """Bring every change that is due into force."""


class Backfill(Protocol):
    """A backfill that runs: units per second it writes to each table."""

    @property
    def writes(self) -> Mapping[str, float]:
        """Write units per second, by table name."""


class Backfills(Protocol):
    """dagy, as far as tables feel it."""

    def running(self, minute: int) -> Iterable[Backfill]:
        """List the backfills that add writes in *minute*."""


class MetricHistory(MetricSink, Protocol):
    """A metric store that can also hold raw series, and Contributor Insights' reports."""

    rule_report: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]

    def override(
        self,
        namespace: str,
        name: str,
        dimensions: Mapping[str, str],
        *,
        stat: str,
        start_minute: int,
        period_s: int,
        values: Iterable[float | None],
    ) -> None:
        """Put a raw series in the place of what the model publishes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickFacts:
    """What a minute was like. The names are of those that were refused something, whatever the reason."""

    minute: int
    throttled_functions: tuple[str, ...]
    throttled_tables: tuple[str, ...]
    lambda_throttles: int
    """Refused invocation attempts in the account."""
    concurrency: int
    """Concurrent executions in the account."""
    pool: PoolMinute
    tables: tuple[TableMinute, ...]


class World:
    """The scenario's loads on an account.

    The constructor publishes the history, so the account must already be as it is at minute 0. Then call `tick` once
    for each minute, in order, from 0 to the scenario's last; beyond that there is no load and IndexError is raised.
    Functions and tables that the scenario does not list have no load.
    """

    def __init__(
        self,
        scenario: Scenario,
        account: AccountState,
        store: MetricHistory,
        backfills: Backfills,
        *,
        history_minutes: int = HISTORY_MINUTES,
    ) -> None:
        self._start, self._account, self._backfills = scenario.start, account, backfills
        specs = scenario.expanded_functions()
        self.pool = Pool(specs, scenario.minutes, history=history_minutes)
        self.tables = {
            spec.name: TableModel(spec, scenario.minutes, history=history_minutes) for spec in scenario.tables
        }
        for metric in scenario.metrics:
            store.override(
                metric.namespace,
                metric.name,
                metric.dimensions,
                stat=metric.stat,
                start_minute=metric.start,
                period_s=metric.period_s,
                values=metric.values,
            )
        self._pool_metrics = PoolMetrics(self.pool, store)
        self._table_metrics = TableMetrics(store, epoch_minute=int(scenario.start.timestamp()) // 60)
        self._keys = KeyInsights(scenario.tables, scenario.start, delay_minutes=scenario.metric_delay_minutes)
        account.contributor_insights, store.rule_report = self._keys.describe, self._keys.report
        self._autoscaler = Autoscaler(account)
        self._reader = LimitReader(specs)
        self._limits: PoolLimits | None = None
        self._limits_version = -1
        for minute in range(-history_minutes, 0):
            self._serve(minute, autoscale=False)

    def tick(self, minute: int) -> TickFacts:
        """Serve *minute* and publish it."""
        return self._serve(minute, autoscale=True)

    def served(self, function: str, facts: TickFacts) -> float:
        """Say how many executions of *function* ran at once in that minute."""
        return float(facts.pool.served[self.pool.names.index(function)])

    def _serve(self, minute: int, *, autoscale: bool) -> TickFacts:
        now = self._start + timedelta(minutes=minute)
        self._account.settle(now)
        pool = self.pool.tick(minute, self._read_limits())
        self._pool_metrics.publish(pool)
        tables = tuple(self._table_minutes(minute, now, autoscale=autoscale))
        throttled = np.flatnonzero(pool.throttled > 0)
        return TickFacts(
            minute=minute,
            throttled_functions=tuple(self.pool.names[i] for i in throttled),
            throttled_tables=tuple(table.name for table in tables if table.is_throttled),
            lambda_throttles=self._pool_metrics.throttles,
            concurrency=min(pool.account, int(np.ceil(pool.in_use - 1e-6))),
            pool=pool,
            tables=tables,
        )

    def _table_minutes(self, minute: int, now: datetime, *, autoscale: bool) -> Iterable[TableMinute]:
        added: dict[str, float] = {}
        if minute >= 0:
            for backfill in self._backfills.running(minute):
                for table, units in backfill.writes.items():
                    added[table] = added.get(table, 0.0) + units
        for name, model in self.tables.items():
            record = self._account.tables[name]
            table_minute = model.tick(minute, record, added.get(name, 0.0))
            self._table_metrics.publish(table_minute)
            self._keys.record(table_minute)
            if autoscale:
                self._autoscaler.tick(record, table_minute, now)
            yield table_minute

    def _read_limits(self) -> PoolLimits:
        """Read the account again, unless it says that nothing changed since."""
        version = self._account.version
        if self._limits is None or version != self._limits_version:
            self._limits = self._reader.read(self._account.functions, self._account.concurrency_limit)
            self._limits_version = version
        return self._limits
