"""Is it over? Nothing of the table or its indexes is throttled any more when we look.

Absence counts only where the unit was measured: without its consumed capacity, an empty throttle series says nothing.
"""

from unthrottle.causes.opinion import Opinion
from unthrottle.causes.table_view import RECENT_MINUTES, TableView
from unthrottle.causes.wording import clock, number
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected
from unthrottle.evidence.table import WORK_MINUTES, Way


def unmeasured(view: TableView) -> tuple[str, ...]:
    """Name the units (index names, or the table) without a single datapoint of consumed capacity."""
    return tuple(
        unit.index or view.table
        for unit in view.evidence.units
        if all(unit.consumed[way].is_empty for way in Way if way in unit.consumed)
    )


def consider(view: TableView) -> Opinion:
    """High: no throttle in the last three visible minutes. Medium: some unit could not be measured; it does not fit
    at all where that unit is the one the alarm is about, or the table itself."""
    now = view.throttled_now
    if now > 0:
        because = f"{number(now)} throttles in the {RECENT_MINUTES} minutes to {clock(view.newest)}."
        return Rejected(cause=Cause.ALREADY_OVER, because=because)
    blind = unmeasured(view)
    alarmed = view.evidence.alarmed_index or view.table
    if alarmed in blind or view.table in blind:
        because = f"No throttle was seen, but {alarmed if alarmed in blind else view.table} was not measured at all."
        return Rejected(cause=Cause.ALREADY_OVER, because=because)
    before = "none" if view.total == 0 else number(view.total)
    text = (
        f"No throttles of the table or its indexes in the {RECENT_MINUTES} minutes to {clock(view.newest)}; "
        f"{before} in the {WORK_MINUTES} minutes to then."
    )
    return Diagnosis(
        cause=Cause.ALREADY_OVER,
        confidence=Confidence.MEDIUM if blind else Confidence.HIGH,
        findings=(Finding(text=text, check=view.check("WriteThrottleEvents", view.evidence.alarmed_index)),),
    )
