"""An on-demand table is throttled: did the load outrun what it has grown to, or a maximum somebody set?

There is no separate reason for a ramp: an on-demand table takes twice its earlier peak at once, at least 4,000 write
and 12,000 read units a second, and throttles the rest as key range (AWS DynamoDB guide, on-demand and diagnosing
throttling).
"""

from dataclasses import dataclass

from unthrottle.causes import checks
from unthrottle.causes.hot_keys import keys_of, skewed
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.table_view import MINUTE, TableView, Throttled
from unthrottle.causes.wording import number, percent
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected
from unthrottle.evidence.table import Throttle, Way

AT_LEAST = {Way.READ: 12_000, Way.WRITE: 4_000}
"""What every on-demand table takes, in units per second (AWS DynamoDB guide, on-demand)."""

GROWTH = 2.0
"""An on-demand table takes this many times its earlier peak at once (the same page)."""

SERVED = 0.8
"""A ramp is served up to what the table has grown to. A table that serves much less than that is held up by a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ramp:
    """What one way of access wanted and got, in units per second. `earlier` None: no minute before the rise was read.

    `grown` is what the table takes at once by its earlier peak, `warm` its warm throughput where it is described.
    """

    item: Throttled
    wanted: float
    served: float
    earlier: float | None
    grown: float
    warm: int | None

    @property
    def is_steep(self) -> bool:
        return self.wanted > min(self.grown, self.warm or self.grown)

    @property
    def is_served_like_one(self) -> bool:
        """Say whether the table served what it can take at once, as in a ramp, and not much less, as with a hot key.

        Warm throughput and twice the earlier peak should agree, and both only rise. Where they do not, the larger
        counts; the smaller one only when what was served is just that much.
        """
        low, high = sorted((self.grown, float(self.warm or self.grown)))
        if self.wanted > high and self.served >= SERVED * high:
            return True
        return self.wanted > low and SERVED * low <= self.served <= (2 - SERVED) * low

    @property
    def words(self) -> str:
        earlier = "unknown" if self.earlier is None else number(self.earlier)
        warm = "" if self.warm is None else f", warm throughput {number(self.warm)}"
        return (
            f"{number(self.wanted)} {self.item.way} units a second were wanted and {number(self.served)} served; the "
            "table "
            f"takes {number(self.grown)} at once (earlier peak {earlier}, at least "
            f"{number(AT_LEAST[self.item.way])}{warm})"
        )


def ramp(view: TableView) -> Opinion:
    """High: above what the table has grown to, keys known to be spread, and the earlier peak known. Medium: keys
    unknown."""
    found = [item for item in view.throttled if item.reason is Throttle.KEY_RANGE and item.index is None]
    if not found or not view.is_on_demand:
        return None
    seen = [_measure(view, item) for item in found]
    steep = [item for item in seen if item.is_steep]
    if not steep:
        return Rejected(cause=Cause.ON_DEMAND_RAMP, because=f"{seen[0].words}: not above it.")
    ramps = [item for item in steep if item.is_served_like_one]
    if not ramps:
        because = f"{steep[0].words}: a ramp would have been served up to that, so a single key holds it up."
        return Rejected(cause=Cause.ON_DEMAND_RAMP, because=because)
    keys = keys_of(view, None)
    if keys is not None and skewed(keys):
        top = max(key.share for key in keys.keys)
        because = f"{ramps[0].words}, but one key has {percent(top, 1)} of the load."
        return Rejected(cause=Cause.ON_DEMAND_RAMP, because=because)
    spread = keys is not None and bool(keys.keys)
    known = all(item.earlier is not None for item in ramps)
    gaps = [] if spread else ["Contributor Insights names no keys of the table: that they are spread is inferred."]
    gaps += [] if known else ["The peak before the load rose is not within the evidence."]
    return Diagnosis(
        cause=Cause.ON_DEMAND_RAMP,
        confidence=Confidence.HIGH if spread and known else Confidence.MEDIUM,
        victims=(view.table,),
        findings=(
            *(Finding(text=f"{item.words}.", check=_consumed(view, item.item.way)) for item in ramps),
            *(view.finding(item.item) for item in ramps),
        ),
        gaps=tuple(gaps),
    )


def _measure(view: TableView, item: Throttled) -> _Ramp:
    wanted = view.demand(item.way)
    jump = view.jump(item.way)
    onset = view.work_start if jump is None else min(jump.onset, view.work_start)
    earlier = max((minute.units for minute in wanted if minute.at < onset), default=None)
    settings = view.evidence.settings
    return _Ramp(
        item=item,
        wanted=max((minute.units for minute in wanted if minute.at >= view.work_start), default=0.0),
        served=view.consumed(None, item.way) or 0.0,
        earlier=earlier,
        grown=max(float(AT_LEAST[item.way]), GROWTH * (earlier or 0.0)),
        warm=settings.warm_write if item.way is Way.WRITE else settings.warm_read,
    )


def ceiling(view: TableView) -> Opinion:
    """High: at least a fifth of the throttles are by the maximum, and the maximum is described. Medium: it is not."""
    found = [item for item in view.throttled if item.reason is Throttle.MAX_ON_DEMAND]
    events = sum(item.events for item in found)
    if not found:
        return None
    few = view.side_effect(Cause.ON_DEMAND_CEILING, events)
    if few is not None:
        return few
    limit = _maximum(view, found[0].index, found[0].way)
    what = "a maximum whose number was not read" if limit is None else f"its maximum of {number(limit)} units a second"
    unit = f"Index {found[0].index}" if found[0].index else "The table"
    text = f"{unit} reached {what}, which somebody set: raising it is theirs to decide."
    return Diagnosis(
        cause=Cause.ON_DEMAND_CEILING,
        confidence=Confidence.HIGH if limit is not None else Confidence.MEDIUM,
        victims=(view.table,),
        index=found[0].index,
        findings=(
            *(view.finding(item) for item in found),
            Finding(text=text, check=checks.describe_table(view.table)),
        ),
    )


def _maximum(view: TableView, index: str | None, way: Way) -> int | None:
    """Return the maximum of the table or of an index, which has its own; None where none is described."""
    settings = view.evidence.settings
    found = settings if index is None else next((item for item in settings.indexes if item.name == index), None)
    if found is None:
        return None
    return found.max_on_demand_read if way is Way.READ else found.max_on_demand_write


def _consumed(view: TableView, way: Way) -> str:
    name = f"Consumed{way.capitalize()}CapacityUnits"
    return checks.table_metric(name, view.evidence.start, view.newest + MINUTE, table=view.table, index=None)
