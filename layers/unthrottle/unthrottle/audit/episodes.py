"""When was something throttled, and did an alarm ring for it? Finds the incidents of a past window in the throttle metrics.

An incident begins when an alarm rang. Where none rang, or its history is gone, it begins by the rule of the default alarms:
two of three minutes with a throttle. Where CloudWatch keeps no minutes any more, one coarser datapoint with a throttle
counts, since which minutes it was cannot be told. Concludes nothing about causes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from unthrottle.audit.past import SHOWN_AFTER, kept_period_s
from unthrottle.audit.rings import QUIET, Rings
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import TableSettings, Way
from unthrottle.ports import MetricQuery, Metrics
from unthrottle.subjects import PoolSubject, Subject, TableSubject

STARTS = timedelta(minutes=1)
"""From the alarm's state change to the first look: the event's way, and the minute that is begun."""
DAY = timedelta(days=1)
AT_ONCE = 250
_OF_THREE, _NEEDED = 3, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One incident as the metrics show it. `looked_at` is when Unthrottle would have looked: the alarm, and its delay.

    `values` are the throttles of each period in `throttled`; `rang_at` None: no alarm is known to have rung.
    """

    subject: Subject
    first: datetime
    last: datetime
    looked_at: datetime
    period_s: int
    throttled: tuple[datetime, ...]
    values: tuple[float, ...]
    rang_at: datetime | None = None

    @property
    def throttles(self) -> float:
        return sum(self.values)

    @property
    def throttled_minutes(self) -> float:
        return len(self.throttled) * self.period_s / 60

    @property
    def resource(self) -> str:
        if isinstance(self.subject, TableSubject):
            return self.subject.table + (f"/{self.subject.index}" if self.subject.index else "")
        return "concurrency pool"


def windows(start: datetime, end: datetime, now: datetime) -> Iterator[tuple[datetime, datetime, int]]:
    """Cut a window into days, each with the finest period kept for its start, oldest first."""
    moment = start
    while moment < end:
        following = min(end, moment + DAY)
        yield moment, following, kept_period_s(moment, now)
        moment = following


def pool_episodes(metrics: Metrics, start: datetime, end: datetime, now: datetime, rings: Rings) -> list[Episode]:
    """Find the incidents of the account's concurrency pool."""
    query = MetricQuery(id="throttles", namespace="AWS/Lambda", name="Throttles", stat="Sum")
    parts = [
        metrics.read([query], start=first, end=last, period_s=period).series["throttles"]
        for first, last, period in windows(start, end, now)
    ]
    return _episodes(PoolSubject(), parts, rings)


def table_episodes(
    metrics: Metrics, tables: Sequence[TableSettings], start: datetime, end: datetime, *, now: datetime, rings: Rings
) -> list[Episode]:
    """Find the incidents of tables and their indexes: first the days with a throttle, then those days in detail."""
    units: list[tuple[str, str | None, Way]] = [
        (table.name, index, way)
        for table in tables
        for index in (None, *(one.name for one in table.indexes))
        for way in Way
    ]
    found: list[Episode] = []
    suspects: dict[str, set[datetime]] = {}
    for at in range(0, len(units), AT_ONCE):
        for (table, _, _), series in _read(metrics, units[at : at + AT_ONCE], start, end, int(DAY.total_seconds())):
            for number, value in enumerate(series.values):
                if value:
                    suspects.setdefault(table, set()).add(series.time_of(number))
    for table in sorted(suspects):
        own = [unit for unit in units if unit[0] == table]
        parts: list[Series] = []
        worst: dict[str | None, float] = {}
        for day in sorted(suspects[table]):
            first, last = max(day, start), min(day + DAY, end)
            if first >= last:
                continue
            read = list(_read(metrics, own, first, last, kept_period_s(first, now)))
            for (_, index, _), series in read:
                worst[index] = worst.get(index, 0.0) + series.sum()
            parts.append(_together([series for _, series in read]))
        index = max(worst, key=lambda name: (worst[name], name is not None), default=None)
        found.extend(_episodes(TableSubject(table=table, index=index), parts, rings))
    return found


def _read(
    metrics: Metrics, units: Sequence[tuple[str, str | None, Way]], start: datetime, end: datetime, period_s: int
) -> Iterator[tuple[tuple[str, str | None, Way], Series]]:
    queries = [
        MetricQuery(
            id=f"t{number}",
            namespace="AWS/DynamoDB",
            name=f"{way.value.capitalize()}ThrottleEvents",
            stat="Sum",
            dimensions=(("TableName", table),) + ((("GlobalSecondaryIndexName", index),) if index else ()),
        )
        for number, (table, index, way) in enumerate(units)
    ]
    # A day's datapoint holds the whole day, so the last one is asked for to its end.
    answer: Mapping[str, Series] = metrics.read(
        queries, start=start, end=end + timedelta(seconds=period_s - 60), period_s=period_s
    ).series
    for number, unit in enumerate(units):
        yield unit, answer[f"t{number}"]


def _together(series: Sequence[Series]) -> Series:
    columns = zip(*(one.values for one in series), strict=True)
    return Series(
        start=series[0].start,
        period_s=series[0].period_s,
        values=tuple(sum(value or 0.0 for value in column) for column in columns),
    )


def _episodes(subject: Subject, parts: Sequence[Series], rings: Rings) -> list[Episode]:
    throttled = [
        (part.time_of(number), value, part.period_s)
        for part in parts
        for number, value in enumerate(part.values)
        if value is not None and value > 0
    ]
    found: list[Episode] = []
    group: list[tuple[datetime, float, int]] = []
    for item in throttled:
        if group and item[0] - group[-1][0] > QUIET + timedelta(seconds=group[-1][2]):
            found.extend(_episode(subject, group, rings))
            group = []
        group.append(item)
    found.extend(_episode(subject, group, rings))
    return found


def _episode(subject: Subject, group: Sequence[tuple[datetime, float, int]], rings: Rings) -> Iterator[Episode]:
    """Make an incident of throttled minutes that belong together; none where no alarm would have rung."""
    if not group:
        return
    period_s = max(period for _, _, period in group)
    step = timedelta(seconds=period_s)
    times = [moment for moment, _, _ in group]
    rang_at = rings.for_throttles(subject, times[0], times[-1] + step)
    would_ring = times[0] if period_s > 60 else _would_ring(times)
    if rang_at is not None:
        looked_at = rang_at.replace(second=0, microsecond=0) + STARTS
    elif would_ring is not None:
        looked_at = would_ring + step + SHOWN_AFTER
    else:
        return
    yield Episode(
        subject=subject,
        first=times[0],
        last=times[-1] + step,
        looked_at=looked_at,
        period_s=period_s,
        throttled=tuple(times),
        values=tuple(value for _, value, _ in group),
        rang_at=rang_at,
    )


def _would_ring(minutes: Sequence[datetime]) -> datetime | None:
    """Return the minute in which two of three were throttled for the first time."""
    for number in range(_NEEDED - 1, len(minutes)):
        if minutes[number] - minutes[number - _NEEDED + 1] < timedelta(minutes=_OF_THREE):
            return minutes[number]
    return None
