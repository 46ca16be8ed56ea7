"""Which few numbers show the incident at a glance?

A small extract of the evidence, to be stored with the incident and drawn again later: at most 20 minutes and 12 rows.
Names are whole here and untrusted; who draws the picture shortens and escapes them. Knows nothing of Slack.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from unthrottle.diagnosis import Cause, Diagnosis
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import Billing, TableEvidence, Throttle, UnitMetrics, Way

MOST_POINTS = 20  # Slack draws at most 20 categories
MOST_ROWS = 12
_NOT_MEASURED = "–"
_OF_THE_RANKING = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the evidence table; `cells` belong to the columns after the first."""

    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series of a chart. None is a gap, not a zero."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Values per minute; every line has one value for each label (a time of day in UTC)."""

    kind: Literal["concurrency", "throttles", "capacity"]
    title: str
    unit: str
    labels: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A table sorted by what is held or used, largest first, and at most two charts. `left_out`: rows not shown."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    left_out: int = 0
    charts: tuple[Chart, ...] = ()


def picture_of(evidence: PoolEvidence | TableEvidence, diagnosis: Diagnosis) -> Picture:
    """Draw the picture of what was read.

    Functions are sorted by concurrency with throttles beside it: the most throttled is the victim, not the cause.
    """
    match evidence:
        case PoolEvidence():
            return _pool(evidence, diagnosis)
        case TableEvidence():
            return _table(evidence, diagnosis)


# --- the concurrency pool ---------------------------------------------------------------------------------------


def _pool(evidence: PoolEvidence, diagnosis: Diagnosis) -> Picture:
    minutes = _last_minutes([evidence.concurrency, evidence.unreserved_in_use, evidence.throttles], evidence.end)
    throttles = {name: _sum(series, minutes) for name, series in evidence.throttled}
    for candidate in evidence.candidates:
        if candidate.throttles is not None:
            throttles.setdefault(candidate.name, _sum(candidate.throttles, minutes))
    peaks = {use.name: _peak(use.concurrency, minutes) for use in evidence.ranking}
    ranked = sorted(peaks, key=lambda name: (-(peaks[name] if peaks[name] is not None else -1.0), name))  # type: ignore[operator]
    measured = [name for name in diagnosis.victims if name in peaks or throttles.get(name) is not None]
    chosen = list(dict.fromkeys([*diagnosis.targets, *ranked[:_OF_THE_RANKING], *measured]))[:MOST_ROWS]
    known = {*ranked, *diagnosis.targets, *diagnosis.victims, *throttles}
    rows = [
        Row(
            name=name,
            cells=(_whole(peaks.get(name)), _whole(throttles.get(name)), _role(name, diagnosis)),
        )
        for name in sorted(chosen, key=lambda name: (ranked.index(name) if name in peaks else len(ranked), name))
    ]
    return Picture(
        columns=("function", "peak conc.", "throttles", "role"),
        rows=tuple(rows),
        left_out=len(known) - len(rows),
        charts=_pool_charts(evidence, diagnosis, minutes),
    )


def _pool_charts(evidence: PoolEvidence, diagnosis: Diagnosis, minutes: Sequence[datetime]) -> tuple[Chart, ...]:
    labels = tuple(f"{minute:%H:%M}" for minute in minutes)
    uses = {use.name: use.concurrency for use in evidence.ranking}
    holders = [name for name in diagnosis.targets if name in uses][:2]
    concurrency = [
        Line(name="pool in use", values=_values(evidence.unreserved_in_use, minutes)),
        *(Line(name=name, values=_values(uses[name], minutes)) for name in holders),
        Line(
            name=f"pool limit now {evidence.account.unreserved_limit:,}",
            values=(float(evidence.account.unreserved_limit),) * len(minutes),
        ),
    ]
    throttles = _zero_where_measured(evidence.throttles, evidence.invocations, minutes)
    return _drawable(
        Chart(kind="concurrency", title="Concurrency", unit="executions", labels=labels, lines=tuple(concurrency)),
        Chart(
            kind="throttles",
            title="Throttles per minute",
            unit="throttles",
            labels=labels,
            lines=(Line(name="all functions", values=throttles),),
        ),
    )


def _role(name: str, diagnosis: Diagnosis) -> str:
    if name in diagnosis.targets:
        return "HOG" if diagnosis.cause is Cause.POOL_HOG else "cause"
    return "victim" if name in diagnosis.victims else "bystander"


# --- a table and its indexes ------------------------------------------------------------------------------------


def _table(evidence: TableEvidence, diagnosis: Diagnosis) -> Picture:
    minutes = _last_minutes([series for unit in evidence.units for series in unit.consumed.values()], evidence.end)
    measured: list[tuple[float, float, Row]] = []
    for unit in evidence.units:
        for way in Way:
            used = _per_second_peak(unit.consumed.get(way), minutes)
            refused = _throttle_sum(unit, way, minutes)
            if used is None and not refused:
                continue
            cells = (_rate(used), _rate(_provisioned(evidence, unit, way)), _whole(refused))
            name = f"{way.value}, table" if unit.index is None else f"{way.value}, {unit.index}"
            measured.append((used or 0.0, refused or 0.0, Row(name=name, cells=cells)))
    measured.sort(key=lambda item: (-item[0], -item[1], item[2].name, item[2].cells))
    return Picture(
        columns=("table or index", "peak used/s", "capacity/s", "throttles"),
        rows=tuple(row for _, _, row in measured[:MOST_ROWS]),
        left_out=max(0, len(measured) - MOST_ROWS),
        charts=_table_charts(evidence, diagnosis.index, minutes),
    )


def _table_charts(evidence: TableEvidence, at_fault: str | None, minutes: Sequence[datetime]) -> tuple[Chart, ...]:
    """Draw the index at fault, or else what is throttled most: consumed against provisioned, and throttles by cause."""
    candidates = [(unit, way) for unit in evidence.units for way in Way if way in unit.consumed]
    if not candidates:
        return ()
    unit, way = max(
        candidates,
        key=lambda pair: (
            at_fault is not None and pair[0].index == at_fault,
            _throttle_sum(pair[0], pair[1], minutes) or 0.0,
            _per_second_peak(pair[0].consumed.get(pair[1]), minutes) or 0.0,
        ),
    )
    labels = tuple(f"{minute:%H:%M}" for minute in minutes)
    where = f"index {unit.index}" if unit.index else "table"
    per_second = tuple(None if v is None else round(v / 60, 1) for v in _values(unit.consumed[way], minutes))
    lines = [Line(name="consumed", values=per_second)]
    if evidence.settings.billing is Billing.PROVISIONED:
        level = _provisioned(evidence, unit, way)
        lines.append(Line(name="provisioned", values=_carried(unit.provisioned.get(way), minutes, level)))
    causes = [
        Line(name=reason.value, values=_zero_where_measured(series, unit.consumed[way], minutes))
        for reason, series in _by_cause(unit, way).items()
        if _sum(series, minutes)
    ]
    units = "write units" if way is Way.WRITE else "read units"
    return _drawable(
        Chart(
            kind="capacity",
            title=f"{units.capitalize()} a second, {where}",
            unit=units,
            labels=labels,
            lines=tuple(lines),
        ),
        Chart(
            kind="throttles",
            title=f"Throttles per minute, {where}",
            unit="throttles",
            labels=labels,
            lines=tuple(causes),
        ),
    )


def _by_cause(unit: UnitMetrics, way: Way) -> Mapping[Throttle, Series]:
    return unit.throttles.get(way, {})


def _throttle_sum(unit: UnitMetrics, way: Way, minutes: Sequence[datetime]) -> float | None:
    """Add up throttle events. No datapoint is zero only where consumption was measured (AWS DynamoDB guide)."""
    by_cause = [_sum(series, minutes) for series in _by_cause(unit, way).values()]
    causes = sum(value for value in by_cause if value is not None)
    events = unit.throttle_events.get(way)
    total = max(causes, (_sum(events, minutes) or 0.0) if events else 0.0)
    consumed = unit.consumed.get(way)
    return total if total or (consumed is not None and _sum(consumed, minutes) is not None) else None


def _provisioned(evidence: TableEvidence, unit: UnitMetrics, way: Way) -> float | None:
    if evidence.settings.billing is Billing.ON_DEMAND:
        return None
    for index in evidence.settings.indexes:
        if index.name == unit.index:
            return float(index.capacity.write if way is Way.WRITE else index.capacity.read)
    own = evidence.settings.capacity
    return float(own.write if way is Way.WRITE else own.read) if unit.index is None else None


def _carried(series: Series | None, minutes: Sequence[datetime], now: float | None) -> tuple[float | None, ...]:
    """Hold each five-minute datapoint of a setting until the next; before the first one, the first."""
    values = [series.at(minute) if series else None for minute in minutes]
    held = next((value for value in values if value is not None), now)
    carried: list[float | None] = []
    for value in values:
        held = held if value is None else value
        carried.append(held)
    return tuple(carried)


# --- minutes and numbers ----------------------------------------------------------------------------------------


def _last_minutes(shown: Sequence[Series], end: datetime) -> tuple[datetime, ...]:
    """Return the last minutes of which anything was measured, oldest first."""
    newest = max(
        (moment for series in shown if (moment := series.last_at) is not None), default=end - timedelta(minutes=1)
    )
    newest = newest.replace(second=0, microsecond=0)
    first = min((series.start for series in shown), default=newest)
    minutes = [newest - timedelta(minutes=back) for back in range(MOST_POINTS - 1, -1, -1)]
    return tuple(minute for minute in minutes if minute >= first) or (newest,)


def _values(series: Series, minutes: Sequence[datetime]) -> tuple[float | None, ...]:
    return tuple(series.at(minute) for minute in minutes)


def _known(series: Series, minutes: Sequence[datetime]) -> list[float]:
    return [value for value in _values(series, minutes) if value is not None]


def _sum(series: Series, minutes: Sequence[datetime]) -> float | None:
    known = _known(series, minutes)
    return float(sum(known)) if known else None


def _peak(series: Series, minutes: Sequence[datetime]) -> float | None:
    return max(_known(series, minutes), default=None)


def _per_second_peak(series: Series | None, minutes: Sequence[datetime]) -> float | None:
    peak = _peak(series, minutes) if series else None
    return None if peak is None else peak / 60


def _zero_where_measured(counted: Series, measured: Series, minutes: Sequence[datetime]) -> tuple[float | None, ...]:
    """Read throttles: a minute without a datapoint is zero where the work itself was measured, else a gap."""
    return tuple(
        0.0 if counted.at(minute) is None and measured.at(minute) is not None else counted.at(minute)
        for minute in minutes
    )


def _drawable(*charts: Chart) -> tuple[Chart, ...]:
    """Keep charts in which there is something to see."""
    return tuple(c for c in charts if any(v is not None for line in c.lines[:1] for v in line.values))


def _whole(value: float | None) -> str:
    return _NOT_MEASURED if value is None else f"{value:,.0f}"


def _rate(value: float | None) -> str:
    return _NOT_MEASURED if value is None else f"{value:,.0f}" if value >= 10 else f"{value:,.1f}"
