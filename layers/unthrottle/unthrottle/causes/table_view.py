"""The table as all its causes look at it: who throttled what, how often, by AWS's reason, and how much was wanted.

Built once for a diagnosis. A throttle series without datapoints is zero only where the consumed capacity of the same
unit has some (AWS DynamoDB guide, metrics and dimensions); the table's series leave its indexes out, and an index
short of capacity throttles the table's writes (AWS DynamoDB guide, GSI back pressure).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from unthrottle.causes import checks
from unthrottle.causes.wording import clock, number, percent
from unthrottle.diagnosis import Cause, Finding, Rejected
from unthrottle.evidence.table import WORK_MINUTES, Billing, Capacity, TableEvidence, Throttle, UnitMetrics, Way
from unthrottle.settings import Settings

MINUTE = timedelta(minutes=1)

STALE_AFTER = timedelta(minutes=10)
"""Older than this, the newest datapoint describes another situation. Capacity metrics appear within a few minutes."""

RECENT_MINUTES = 3
"""What counts as now: one minute may be missing or incomplete, three in a row are not."""

EASED = 2 / 3
"""Throttles that fell to this part of what they were are falling, and not just uneven."""

EASED_MINUTES = 2
"""In so many of the newest minutes: the newest one may be late or incomplete."""

SHARE = 0.20
"""A reason with less than this part of the throttles it is mixed with is a side effect, not the cause."""

JUMP = 2.0
"""Load that at least doubled has jumped: half of it or more is new."""

PREFIX = {Way.READ: "Read", Way.WRITE: "Write"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttled:
    """One reason for throttling on one unit: events in the work window. `index` None is the table itself."""

    index: str | None
    way: Way
    reason: Throttle
    events: float

    @property
    def metric(self) -> str:
        return f"{PREFIX[self.way]}{self.reason}ThrottleEvents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One minute: units per second consumed and refused, and the throttle events among them.

    Each event is one request of at least one unit, so `units` is a lower bound.
    """

    at: datetime
    units: float
    refused: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """A sudden rise of the load: its onset, the median before and after, in units per second."""

    onset: datetime
    before: float
    after: float

    @property
    def part(self) -> float:
        """Return the part of the load that is new, from 0 to 1."""
        return (self.after - self.before) / self.after if self.after > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """The evidence with what follows from it. `throttled` is sorted by events; `unknown` counts throttle events that
    AWS gave no reason for."""

    evidence: TableEvidence
    settings: Settings
    newest: datetime
    throttled: tuple[Throttled, ...]
    unknown: float

    @property
    def table(self) -> str:
        return self.evidence.settings.name

    @property
    def is_on_demand(self) -> bool:
        return self.evidence.settings.billing is Billing.ON_DEMAND

    @property
    def work_start(self) -> datetime:
        return self.newest - (WORK_MINUTES - 1) * MINUTE

    @property
    def recent_start(self) -> datetime:
        return self.newest - (RECENT_MINUTES - 1) * MINUTE

    @property
    def total(self) -> float:
        return sum(item.events for item in self.throttled) + self.unknown

    def events(self, *reasons: Throttle) -> float:
        """Add up the events of some reasons in the work window."""
        return sum(item.events for item in self.throttled if item.reason in reasons)

    def side_effect(self, cause: Cause, events: float) -> Rejected | None:
        """Reject a cause whose reason AWS gave for so few events that it is no more than a side effect."""
        if events < SHARE * self.total:
            because = f"Only {number(events)} of {number(self.total)} throttles ({percent(events, self.total)})."
            return Rejected(cause=cause, because=because)
        return None

    def events_between(self, start: datetime, end: datetime) -> float:
        """Add up the events of all units within [start, end), by reason or by the total metric, whichever saw more."""
        return sum(
            max(
                sum(series.between(start, end).sum() for series in unit.throttles.get(way, {}).values()),
                unit.throttle_events[way].between(start, end).sum() if way in unit.throttle_events else 0.0,
            )
            for unit in self.evidence.units
            for way in Way
        )

    @property
    def throttled_now(self) -> float:
        return self.events_between(self.recent_start, self.evidence.end)

    @property
    def is_easing(self) -> bool:
        """Say whether the newest minutes saw at most two thirds of the throttles of the minutes before them.

        At least two of the three must have: a single throttle datapoint that is late or not whole yet is not a fall.
        """
        before = self.events_between(self.recent_start - RECENT_MINUTES * MINUTE, self.recent_start)
        minutes = [self.recent_start + back * MINUTE for back in range(RECENT_MINUTES)]
        now = [self.events_between(minute, minute + MINUTE) for minute in minutes]
        fell = [events for events in now if events <= EASED * before / RECENT_MINUTES]
        return before > 0 and sum(now) <= EASED * before and len(fell) >= EASED_MINUTES

    def capacity(self, index: str | None, way: Way) -> int | None:
        """Return the provisioned units per second of the table or an index; None on demand or for an unknown index."""
        if self.is_on_demand:
            return None
        settings = self.evidence.settings
        found: Capacity | None = settings.capacity
        if index is not None:
            found = next((item.capacity for item in settings.indexes if item.name == index), None)
        if found is None:
            return None
        return found.read if way is Way.READ else found.write

    def consumed(self, index: str | None, way: Way) -> float | None:
        """Return the largest consumed units per second of a minute in the work window; None without datapoints."""
        unit = self.evidence.unit(index)
        if unit is None or way not in unit.consumed:
            return None
        peak = unit.consumed[way].between(self.work_start, self.newest + MINUTE).peak()
        return None if peak is None else peak / unit.consumed[way].period_s

    def demand(self, way: Way) -> tuple[Wanted, ...]:
        """Return what was wanted of the table in each measured minute.

        A write refused by the table and an index is counted on both, so the most throttled unit counts, never the sum.
        """
        unit = self.evidence.unit(None)
        if unit is None or way not in unit.consumed:
            return ()
        consumed = unit.consumed[way]
        units = self.evidence.units if way is Way.WRITE else (unit,)
        wanted = []
        for position, value in enumerate(consumed.values):
            moment = consumed.time_of(position)
            if value is not None:
                refused = max((_events_at(item, way, moment) for item in units), default=0.0)
                wanted.append(Wanted(at=moment, units=(value + refused) / consumed.period_s, refused=refused))
        return tuple(wanted)

    def jump(self, way: Way, *, before: datetime | None = None) -> Jump | None:
        """Find the rise that the load of now began with, or None when it did not at least double.

        The level before is the median of the minutes before `before` (by default: before the work window). The level
        now is that of the newest throttled minutes: at the first throttled minute there is only one. The onset is the
        minute after the last two in a row below the middle of both levels.
        """
        wanted = self.demand(way)
        edge = before or self.work_start
        earlier = [item.units for item in wanted if item.at < edge]
        newest = [item for item in wanted if item.at >= max(edge, self.recent_start - 2 * MINUTE)]
        now = [item.units for item in newest if item.refused > 0] or [item.units for item in newest]
        if not earlier or not now:
            return None
        low, high = median(earlier), median(now)
        if high <= 0 or high < JUMP * low:
            return None
        onset: datetime | None = None
        below = 0
        for item in reversed(wanted):
            below = below + 1 if item.units < (low + high) / 2 else 0
            if below == 2:
                break
            if below == 0:
                onset = item.at
        return None if onset is None else Jump(onset=onset, before=low, after=high)

    def finding(self, item: Throttled) -> Finding:
        """State one reason's events, with what was used and what there was."""
        unit = f"index {item.index}" if item.index else f"table {self.table}"
        text = (
            f"{number(item.events)} {item.way} throttles of {unit} by {item.reason} in the {WORK_MINUTES} minutes to "
            f"{clock(self.newest)}"
        )
        used, capacity = self.consumed(item.index, item.way), self.capacity(item.index, item.way)
        if used is not None:
            text += f"; at most {number(used)} units a second were consumed"
            text += f" of {number(capacity)} provisioned" if capacity is not None else ""
        return Finding(text=f"{text}.", check=self.check(item.metric, item.index))

    def check(self, name: str, index: str | None = None) -> str:
        """Name the command for a metric over the work window."""
        return checks.table_metric(name, self.work_start, self.newest + MINUTE, table=self.table, index=index)


def _events_at(unit: UnitMetrics, way: Way, moment: datetime) -> float:
    reasons = sum(series.at(moment) or 0.0 for series in unit.throttles.get(way, {}).values())
    whole = unit.throttle_events[way].at(moment) if way in unit.throttle_events else None
    return max(reasons, whole or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """Why the evidence cannot be looked at."""

    gap: str


def look(evidence: TableEvidence, settings: Settings) -> TableView | Unusable:
    """Find the visible minutes and the throttles, or say why there is nothing to look at."""
    newest = evidence.newest
    if newest is None:
        return Unusable(
            gap=f"No evidence: neither consumed capacity nor throttles of table {evidence.settings.name} or its "
            f"indexes have a datapoint between {clock(evidence.start)} and {clock(evidence.end)}. Name, Region or "
            "dimensions may be wrong."
        )
    if evidence.end - newest > STALE_AFTER:
        minutes = number((evidence.end - newest).total_seconds() // 60)
        return Unusable(
            gap=f"The newest datapoint of table {evidence.settings.name} is of {clock(newest)}, {minutes} minutes old; "
            "what happens now is unknown."
        )
    throttled: list[Throttled] = []
    unknown = 0.0
    start, end = newest - (WORK_MINUTES - 1) * MINUTE, evidence.end
    for unit in evidence.units:
        for way in Way:
            found = [
                Throttled(index=unit.index, way=way, reason=reason, events=events)
                for reason, series in unit.throttles.get(way, {}).items()
                if (events := series.between(start, end).sum()) > 0
            ]
            whole = unit.throttle_events[way].between(start, end).sum() if way in unit.throttle_events else 0.0
            # The two metrics may be published a minute apart; only events without any reason are unexplained.
            unknown += whole if not found else 0.0
            throttled += found
    throttled.sort(key=lambda item: -item.events)
    return TableView(evidence=evidence, settings=settings, newest=newest, throttled=tuple(throttled), unknown=unknown)
