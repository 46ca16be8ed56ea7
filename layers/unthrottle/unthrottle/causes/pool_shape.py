"""The pool is used up and no function is to blame: did reservations take it, or did everything grow?

Both answers are for a person: what AWS may be asked for, or which reservation is too large. Knows nothing of hogs but
what `pool_holders.find` found.
"""

from unthrottle.causes import checks
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.pool_holders import Hogs
from unthrottle.causes.pool_view import IDLE, MINUTE, MOSTLY_RESERVED, PoolView
from unthrottle.causes.wording import clock, names, number, percent
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected


def over_reservation(view: PoolView, found: Hogs) -> Opinion:
    """High: used up, mostly reserved, and the account's use measured low."""
    account = view.evidence.account
    if not view.is_pressed:
        return None
    running = view.running
    reserved = f"{number(account.reserved)} of {number(account.limit)} executions are reserved"
    if account.reserved < MOSTLY_RESERVED * account.limit:
        share = percent(account.reserved, account.limit)
        return Rejected(cause=Cause.OVER_RESERVATION, because=f"Only {reserved} ({share}).")
    if running is None:
        return Rejected(cause=Cause.OVER_RESERVATION, because=f"{reserved}, but what the account ran is unknown.")
    ran = f"the account ran {number(running)} ({percent(running, account.limit)} of the limit) at {clock(view.peak_at)}"
    if running > IDLE * account.limit:
        return Rejected(cause=Cause.OVER_RESERVATION, because=f"{reserved}, but they are used: {ran}.")
    if found.unread:
        return Rejected(cause=Cause.OVER_RESERVATION, because=f"{names(found.unread_names)} may hold the pool.")
    text = f"{reserved}, and {ran}: the shared pool of {number(view.size)} is small because reservations lie idle."
    return Diagnosis(
        cause=Cause.OVER_RESERVATION,
        confidence=Confidence.HIGH if view.throttled_now > 0 else Confidence.MEDIUM,
        victims=view.victims,
        findings=(
            Finding(text=text, check=checks.account_settings()),
            view.fill_finding(),
            *view.throttle_findings(),
        ),
    )


def growth(view: PoolView, found: Hogs) -> Opinion:
    """High: the ranking covers half of what the account ran. Medium: nobody is throttled yet, or a large function ran so
    only since yesterday. None fits where a large function could not be judged, or where the ranking may hide the hog."""
    if not view.is_pressed:
        return None
    if found.explain:
        because = (
            f"{names([item.name for item in found.hogs])} held {percent(found.explained_use, 1)} of the pool in use."
        )
        return Rejected(cause=Cause.POOL_GROWTH, because=because)
    if found.unread:
        return Rejected(
            cause=Cause.POOL_GROWTH,
            because=f"{names(found.unread_names)} held a large part of the pool and could not be judged.",
        )
    if found.largest is None:
        return Rejected(cause=Cause.POOL_GROWTH, because="No function's share of the pool could be read.")
    if view.was_larger:
        because = (
            f"The pool was larger at {clock(view.peak_at)}: a reservation was made since. Nothing newer is visible yet."
        )
        return Rejected(cause=Cause.POOL_GROWTH, because=because)
    if view.hides_functions:
        return Rejected(cause=Cause.POOL_GROWTH, because=f"The ranking may hide a hog: {view.coverage}.")
    top = found.largest
    text = (
        f"No function stands out: the largest of the shared pool, {top.name}, held {number(top.held)} of "
        f"{number(view.at_peak)} ({percent(top.held, view.at_peak)}) at {clock(view.peak_at)}; {view.coverage}."
    )
    sure = view.throttled_now > 0 and not found.since_yesterday
    return Diagnosis(
        cause=Cause.POOL_GROWTH,
        confidence=Confidence.HIGH if sure else Confidence.MEDIUM,
        victims=view.victims,
        findings=(
            view.fill_finding(),
            Finding(text=text, check=checks.ranking(view.work_start, view.newest + MINUTE)),
            *view.throttle_findings(),
            Finding(text="The quota is Lambda's concurrent executions, L-B99A9384.", check=checks.concurrency_quota()),
        ),
    )
