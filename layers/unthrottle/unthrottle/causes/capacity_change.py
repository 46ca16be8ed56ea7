"""Is more capacity already on its way? The table or an index is changing, or autoscaling is reacting.

A table switching to on-demand serves its old capacity for minutes, and throttling goes on (AWS DynamoDB guide,
switching capacity modes): acting a second time would be refused, or spend a switch for nothing.
"""

import re
from datetime import timedelta

from unthrottle.causes import checks
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.table_view import MINUTE, PREFIX, RECENT_MINUTES, TableView
from unthrottle.causes.wording import clock, number
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected
from unthrottle.evidence.table import ScalingActivity, Throttle, Way

RUNNING = frozenset({"Pending", "InProgress"})
"""States of a scaling activity that has not had its effect yet (Application Auto Scaling API)."""

JUST_NOW = timedelta(minutes=3)
"""A finished scale-out this recent is not visible in the throttle metrics yet."""

NOT_OF_CAPACITY = "no change of capacity, but one that would be in the way of one; its own metrics tell nothing of it"
"""Of an index that is being made or taken away: OnlineIndexThrottleEvents stays 0 (AWS DynamoDB guide, metrics)."""

AT_MAXIMUM = "AlreadyAtMaxCapacity"
"""Application Auto Scaling's reason for not scaling a target that stands at its maximum."""

LATELY = timedelta(minutes=10)
"""A change older than this has had its effect; what is throttled now needs another answer."""

SAME_CHANGE = timedelta(minutes=2)
"""A decrease this close to a scaling activity is that activity: it scaled in."""


def easing(view: TableView) -> Opinion:
    """Fit only where the change already helps: capacity rose lately and the throttles are falling."""
    found = _rose(view)
    if found is None or not view.is_easing or not _by_capacity(view):
        return None
    text = f"{found} The throttles fell to at most two thirds within {number(RECENT_MINUTES)} minutes."
    return _change(view, text, Confidence.HIGH)


def consider(view: TableView) -> Opinion:
    """High: something is UPDATING, or scaling runs. Medium: a change has just been finished."""
    settings = view.evidence.settings
    if not _by_capacity(view):
        if settings.is_settled:
            return None
        because = f"The table is {settings.status}, but most throttles are of one key range, which no capacity helps."
        return Rejected(cause=Cause.CAPACITY_CHANGE_IN_PROGRESS, because=because)
    if not settings.is_settled:
        changing = [f"table {settings.name} is {settings.status}"] if settings.status != "ACTIVE" else []
        changing += [f"index {item.name} is {item.status}" for item in settings.indexes if item.status != "ACTIVE"]
        states = {settings.status, *(item.status for item in settings.indexes)}
        until = "until it is ACTIVE the old capacity is in force" if "UPDATING" in states else NOT_OF_CAPACITY
        text = f"{', '.join(changing)[0].upper()}{', '.join(changing)[1:]}: {until}."
        return _change(view, text, Confidence.HIGH)
    switched = settings.on_demand_since
    if view.is_on_demand and switched and view.evidence.end - switched <= LATELY and view.events(Throttle.PROVISIONED):
        text = f"The table has been on-demand since {clock(switched)}; the throttles are of its provisioned time."
        return _change(view, text, Confidence.MEDIUM)
    reacting = _reacting(view)
    if reacting is not None:
        running = reacting.status in RUNNING
        text = f"Autoscaling reacted at {clock(reacting.at)}: {reacting.description} ({reacting.status})."
        return _change(view, text, Confidence.HIGH if running else Confidence.MEDIUM)
    unseen = _raised_unseen(view)
    if unseen is not None:
        return _change(view, unseen, Confidence.MEDIUM)
    rose = _rose(view)
    if rose is None:
        return Rejected(
            cause=Cause.CAPACITY_CHANGE_IN_PROGRESS,
            because="The table and its indexes are ACTIVE, and nothing raised their capacity in the last "
            f"{number(LATELY.total_seconds() / 60)} minutes.",
        )
    return Rejected(cause=Cause.CAPACITY_CHANGE_IN_PROGRESS, because=f"{rose} But the throttles go on.")


def _by_capacity(view: TableView) -> bool:
    """Say whether most throttles are of a kind that more capacity ends."""
    return view.events(Throttle.KEY_RANGE) < 0.5 * view.total or view.is_on_demand


def _change(view: TableView, text: str, confidence: Confidence) -> Diagnosis:
    worst = view.throttled[0] if view.throttled else None
    return Diagnosis(
        cause=Cause.CAPACITY_CHANGE_IN_PROGRESS,
        confidence=confidence,
        victims=(view.table,),
        index=None if worst is None else worst.index,
        findings=(
            Finding(text=text, check=checks.describe_table(view.table)),
            *(view.finding(item) for item in view.throttled),
        ),
    )


def _scale_outs(view: TableView) -> list[ScalingActivity]:
    """Return the recent activities that raised what is throttled, newest first."""
    units = {(item.index, item.way) for item in view.throttled if item.reason is Throttle.PROVISIONED}
    found = []
    for activity in sorted(view.evidence.activities, key=lambda item: item.at, reverse=True):
        age = view.evidence.end - activity.at
        if activity.not_scaled or activity.status in {"Failed", "Unfulfilled", "Overridden"} or not age <= LATELY:
            continue
        ways = _ways(activity)
        if any((activity.index, way) in units for way in ways) and not _is_scale_in(view, activity, ways):
            found.append(activity)
    return found


def _ways(activity: ScalingActivity) -> tuple[Way, ...]:
    """Say what was scaled: by its dimension, else by AWS's words ("Setting write capacity units to 200."), else both."""
    if activity.way is not None:
        return (activity.way,)
    named = tuple(way for way in Way if way in activity.description.lower())
    return named or tuple(Way)


def at_maximum(view: TableView, index: str | None, way: Way) -> ScalingActivity | None:
    """Return the newest time within the last minutes that autoscaling found this target at its maximum.

    An older one, or one of the other way, says nothing of what is short now: AWS lists six weeks of activities.
    """
    found = [
        item
        for item in view.evidence.activities
        if AT_MAXIMUM in item.not_scaled
        and item.index == index
        and way in _ways(item)
        and view.evidence.end - item.at <= LATELY
    ]
    return max(found, key=lambda item: item.at, default=None)


def _is_scale_in(view: TableView, activity: ScalingActivity, ways: tuple[Way, ...]) -> bool:
    lowered = view.evidence.settings.decreased_at(activity.index)
    if lowered is not None and abs(lowered - activity.at) <= SAME_CHANGE:
        return True
    wanted = re.search(r"capacity units to (\d+)", activity.description)
    before = [value for way in ways if (value := _provisioned_before(view, activity.index, way, activity)) is not None]
    return wanted is not None and bool(before) and int(wanted.group(1)) < max(before)


def _provisioned_before(view: TableView, index: str | None, way: Way, activity: ScalingActivity) -> float | None:
    unit = view.evidence.unit(index)
    if unit is None or way not in unit.provisioned:
        return None
    known = unit.provisioned[way].between(view.evidence.start, activity.at - MINUTE).known
    return known[-1] if known else None


def _reacting(view: TableView) -> ScalingActivity | None:
    for activity in _scale_outs(view):
        if activity.status in RUNNING or view.evidence.end - activity.at <= JUST_NOW:
            return activity
    return None


def _raised_unseen(view: TableView) -> str | None:
    """Say which throttled unit is described with more capacity than its newest metric shows, unless scaling is at its
    end.

    ProvisionedCapacityUnits comes every five minutes, so such a raise is minutes old and its effect is not visible yet.
    """
    for item in view.throttled:
        unit, now = view.evidence.unit(item.index), view.capacity(item.index, item.way)
        if item.reason is not Throttle.PROVISIONED or unit is None or now is None or item.way not in unit.provisioned:
            continue
        if at_maximum(view, item.index, item.way) is not None:
            continue
        known = unit.provisioned[item.way].between(view.evidence.end - LATELY, view.evidence.end).known
        if known and now > known[-1]:
            return (
                f"{PREFIX[item.way]} capacity of {item.index or view.table} has just been raised from "
                f"{number(known[-1])} "
                f"to {number(now)} units a second; what that changed cannot be seen yet."
            )
    return None


def _rose(view: TableView) -> str | None:
    """Say in words which throttled unit's capacity rose lately, by its metric, its description or an activity."""
    for item in view.throttled:
        unit = view.evidence.unit(item.index)
        if item.reason is not Throttle.PROVISIONED or unit is None or item.way not in unit.provisioned:
            continue
        lately = unit.provisioned[item.way].between(view.evidence.end - LATELY - 5 * MINUTE, view.evidence.end).known
        now = view.capacity(item.index, item.way) or 0
        if lately and max(now, lately[-1]) > lately[0]:
            name = item.index or view.table
            return (
                f"{PREFIX[item.way]} capacity of {name} rose from {number(lately[0])} to "
                f"{number(max(now, lately[-1]))} units a second."
            )
    found = _scale_outs(view)
    return f"Autoscaling acted at {clock(found[0].at)}: {found[0].description}" if found else None
