"""Look at the past as it could be seen then: the ports of an Observer, closed at a moment.

Nothing after the moment is shown, nor the minutes CloudWatch would not have shown yet. Where CloudWatch keeps no minutes any
more, its coarser datapoints are spread over the minutes they cover, and `resolution_s` says so. Settings are those of today,
except where a metric tells what they were.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from unthrottle.evidence.pool import AsyncSettings, ConcurrencyAccount, EventSource
from unthrottle.evidence.read_pool import BY_CONCURRENCY, BY_THROTTLES
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import (
    Billing,
    BulkOperation,
    Capacity,
    HotKeys,
    ScalingActivity,
    ScalingTarget,
    TableSettings,
    Way,
)
from unthrottle.ports import Functions, FunctionSettings, MetricQuery, Metrics, MetricsAnswer, Observer, Ranked, Tables

MINUTE = timedelta(minutes=1)
SHOWN_AFTER = 2 * MINUTE
"""How late CloudWatch shows a minute; it is one to three."""
_KEPT = ((timedelta(days=15) - timedelta(hours=1), 60), (timedelta(days=63) - timedelta(hours=1), 300))
"""CloudWatch guide, metrics retention: 60 s for 15 days, 300 s for 63 days, 1 h for 455 days; with an hour to spare."""
INSIGHTS_REACH = timedelta(days=14) - timedelta(hours=1)
RECENT = timedelta(minutes=30)


def kept_period_s(start: datetime, now: datetime) -> int:
    """Return the finest period CloudWatch still keeps for a window that starts at `start`."""
    return next((period for age, period in _KEPT if now - start <= age), 3600)


class PastMetrics:
    """The `Metrics` port at a moment of the past. `names` lists functions, asked only where no ranking reaches back."""

    def __init__(
        self, metrics: Metrics, *, moment: datetime, now: datetime, names: Callable[[], Sequence[str]]
    ) -> None:
        self._metrics, self._moment, self._now, self._names = metrics, moment, now, names
        self.resolution_s = 60

    def read(
        self,
        queries: Sequence[MetricQuery],
        *,
        start: datetime,
        end: datetime,
        period_s: int = 60,
        ranking: str | None = None,
    ) -> MetricsAnswer:
        """Read as `Metrics` does, with gaps where nothing could be seen yet."""
        seen = min(end, self._moment - SHOWN_AFTER)
        period = max(period_s, kept_period_s(start, self._now))
        self.resolution_s = max(self.resolution_s, period)
        by_name: tuple[str, ...] = ()
        asked = list(queries)
        if ranking is not None and self._now - start > INSIGHTS_REACH:
            by_name = tuple(self._names())
            asked.extend(_ranked_query(number, name, ranking) for number, name in enumerate(by_name))
            ranking = None
        answer = self._metrics.read(asked, start=start, end=seen, period_s=period, ranking=ranking)

        def shaped(series: Series, *, is_sum: bool) -> Series:
            return _spread(series, start, end, seen, period_s, is_sum=is_sum)

        rows = [
            Ranked(label=row.label, series=shaped(row.series, is_sum=ranking is not None and "SUM(" in ranking))
            for row in answer.ranking
        ]
        for number, name in enumerate(by_name):
            series = shaped(answer.series[f"past{number}"], is_sum=asked[-1].stat == "Sum")
            if not series.is_empty:
                rows.append(Ranked(label=name, series=series))
        if by_name:
            add_up = asked[-1].stat == "Sum"
            rows.sort(key=lambda row: -(row.series.sum() if add_up else row.series.peak() or 0.0))
        return MetricsAnswer(
            series={
                query.id: shaped(answer.series[query.id], is_sum=query.stat in {"Sum", "SampleCount"})
                for query in queries
            },
            ranking=tuple(rows),
        )


def _ranked_query(number: int, name: str, ranking: str) -> MetricQuery:
    metric, stat = {BY_CONCURRENCY: ("ConcurrentExecutions", "Maximum"), BY_THROTTLES: ("Throttles", "Sum")}[ranking]
    return MetricQuery(
        id=f"past{number}", namespace="AWS/Lambda", name=metric, stat=stat, dimensions=(("FunctionName", name),)
    )


def _spread(series: Series, start: datetime, end: datetime, seen: datetime, period_s: int, *, is_sum: bool) -> Series:
    """Lay a series on the periods asked for; a coarser Sum is divided, any other statistic repeated."""
    step = timedelta(seconds=period_s)
    parts = max(1, series.period_s // period_s)
    count = max(1, int((end - start) / step))
    values: list[float | None] = []
    for number in range(count):
        moment = start + number * step
        value = series.at(moment) if _was_shown(series, moment, step, seen) else None
        values.append(value / parts if value is not None and is_sum else value)
    return Series(start=start, period_s=period_s, values=tuple(values))


def _was_shown(series: Series, moment: datetime, step: timedelta, seen: datetime) -> bool:
    """Say whether the datapoint that covers `moment` was complete: a coarse one holds minutes of later, too."""
    if series.period_s <= step.total_seconds():
        return moment + step <= seen
    number = int((moment - series.start).total_seconds() // series.period_s)
    return series.time_of(number + 1) <= seen


class PastFunctions:
    """The `Functions` port, with the reservations of the account as its metrics tell them of then."""

    def __init__(self, functions: Functions, metrics: PastMetrics, moment: datetime) -> None:
        self._functions, self._metrics, self._moment = functions, metrics, moment
        self._reserved_then: float | None = None

    def account(self) -> ConcurrencyAccount:
        """Read the account; ClaimedAccountConcurrency less what was in use is what was reserved (AWS Lambda guide)."""
        today = self._functions.account()
        answer = self._metrics.read(
            [
                MetricQuery(id="claimed", namespace="AWS/Lambda", name="ClaimedAccountConcurrency", stat="Maximum"),
                MetricQuery(id="used", namespace="AWS/Lambda", name="UnreservedConcurrentExecutions", stat="Maximum"),
            ],
            start=self._moment - RECENT,
            end=self._moment,
        ).series
        pairs = [
            claimed - used
            for claimed, used in zip(answer["claimed"].values, answer["used"].values, strict=True)
            if claimed is not None and used is not None
        ]
        if not pairs:
            return today
        self._reserved_then = max(0.0, min(pairs))
        return replace(today, unreserved_limit=max(0, today.limit - round(self._reserved_then)))

    def describe(self, name: str) -> FunctionSettings:
        """Read a function; a reservation larger than all that was reserved then was made later."""
        today = self._functions.describe(name)
        then = self._reserved_then
        if today.reserved is not None and then is not None and today.reserved > then + 0.5:
            return replace(today, reserved=None)
        return today

    def event_sources(self, name: str) -> tuple[EventSource, ...]:
        return self._functions.event_sources(name)

    def async_settings(self, name: str) -> AsyncSettings:
        return self._functions.async_settings(name)

    def provisioned(self, name: str) -> int:
        return self._functions.provisioned(name)

    def names(self) -> tuple[str, ...]:
        return self._functions.names()


class PastTables:
    """The `Tables` port, with the capacity as the table's metrics tell it of then."""

    def __init__(self, tables: Tables, metrics: PastMetrics, moment: datetime) -> None:
        self._tables, self._metrics, self._moment = tables, metrics, moment

    def describe(self, table: str) -> TableSettings:
        """Read a table; Provisioned…CapacityUnits exist for provisioned tables only (AWS DynamoDB guide, metrics)."""
        today = self._tables.describe(table)
        places: list[str | None] = [None, *(index.name for index in today.indexes)]
        answer = self._metrics.read(
            [
                MetricQuery(
                    id=f"p{number}{way.value}",
                    namespace="AWS/DynamoDB",
                    name=f"Provisioned{way.value.capitalize()}CapacityUnits",
                    stat="Average",
                    dimensions=(("TableName", table),) + ((("GlobalSecondaryIndexName", index),) if index else ()),
                )
                for number, index in enumerate(places)
                for way in Way
            ],
            start=self._moment - RECENT,
            end=self._moment,
        ).series
        then = {index: _capacity(answer, number) for number, index in enumerate(places)}
        settings = replace(
            today,
            status="ACTIVE",
            last_decrease_at=_before(today.last_decrease_at, self._moment),
            on_demand_since=_before(today.on_demand_since, self._moment),
            decreases_today=0,
            indexes=tuple(replace(index, status="ACTIVE") for index in today.indexes),
        )
        whole = then[None]
        if whole is None:
            return settings
        return replace(
            settings,
            billing=Billing.PROVISIONED,
            capacity=whole,
            indexes=tuple(replace(index, capacity=then[index.name] or index.capacity) for index in settings.indexes),
        )

    def tags(self, arn: str) -> dict[str, str]:
        return self._tables.tags(arn)

    def scaling(self, table: str) -> tuple[ScalingTarget, ...]:
        return self._tables.scaling(table)

    def scaling_activities(self, table: str, index: str | None = None) -> tuple[ScalingActivity, ...]:
        return tuple(one for one in self._tables.scaling_activities(table, index) if one.at <= self._moment)

    def bulk_operations(self, table: str, since: datetime, until: datetime) -> tuple[BulkOperation, ...]:
        return self._tables.bulk_operations(table, since, min(until, self._moment))

    def switches(self, table: str, since: datetime) -> tuple[datetime, ...]:
        return tuple(at for at in self._tables.switches(table, since) if at <= self._moment)

    def hot_keys(self, table: str, index: str | None, start: datetime, end: datetime) -> HotKeys | None:
        return self._tables.hot_keys(table, index, start, min(end, self._moment))


def _capacity(answer: dict[str, Series], number: int) -> Capacity | None:
    read, write = (answer[f"p{number}{way.value}"].known for way in Way)
    return Capacity(read=round(read[-1]), write=round(write[-1])) if read and write else None


def _before(moment: datetime | None, limit: datetime) -> datetime | None:
    return moment if moment is not None and moment <= limit else None


def past_observer(
    observer: Observer, *, moment: datetime, now: datetime, names: Callable[[], Sequence[str]]
) -> tuple[Observer, PastMetrics]:
    """Close an observer at a moment. The metrics tell afterwards how fine they were."""
    metrics = PastMetrics(observer.metrics, moment=moment, now=now, names=names)
    return (
        replace(
            observer,
            metrics=metrics,
            functions=PastFunctions(observer.functions, metrics, moment),
            tables=PastTables(observer.tables, metrics, moment),
        ),
        metrics,
    )
