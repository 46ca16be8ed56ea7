"""Throttled though concurrency is left: too many requests for the concurrency, or too many environments at once?

CloudWatch has no metric for either reason, so both are read from their shape and are never more than medium.
"""

from datetime import datetime

from unthrottle.causes import checks
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.pool_view import FULL, MINUTE, WORK_MINUTES, PoolView
from unthrottle.causes.wording import clock, number, percent
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected
from unthrottle.evidence.series import Series

REQUESTS_PER_MINUTE = 600
"""Requests a minute for each execution of concurrency: 10 a second (AWS Lambda quotas)."""

NEAR_RATE = 0.9
"""Invocations counts what was served, not what was refused, and its newest minutes fill up late."""

SHORT_MINUTES = 2
"""Lambda adds 1,000 environments every ten seconds, so that a rise outruns it for seconds: one minute, or two that
touch."""

STEEP = 500
"""A rise within the throttled minutes that can outrun Lambda's 1,000 environments in ten seconds. Half of that, since a
minute's Maximum may be sampled before the rise is over."""

LOOK_BACK = 5
"""Minutes before the throttling in which the level before the rise is looked for."""


def request_rate(view: PoolView) -> Opinion:
    """Medium: served requests near ten a second for each execution, while executions themselves are left."""
    if view.throttled_now == 0:
        return None
    limit = view.evidence.account.limit
    scopes: list[tuple[str | None, Series | None, int]] = [(None, view.evidence.invocations, limit)]
    scopes += [
        (item.name, item.invocations, item.reserved)
        for item in view.evidence.candidates
        if item.reserved is not None and item.reserved > 0
    ]
    highest = 0.0
    for function, series, concurrency in scopes:
        rate = None if series is None else series.between(view.work_start, view.newest + MINUTE).peak()
        if rate is None:
            continue
        allowed = REQUESTS_PER_MINUTE * concurrency
        refused = view.throttled_now if function is None else view.refused_recently.get(function, 0.0)
        if rate < NEAR_RATE * allowed or refused == 0:
            highest = max(highest, rate / allowed)
            continue
        if view.is_pressed:
            because = f"{number(rate)} requests a minute are near the rate limit, but the shared pool is used up first."
            return Rejected(cause=Cause.REQUEST_RATE, because=because)
        return _rate_reached(view, function, rate, concurrency)
    if highest == 0.0:
        return None
    because = f"Requests reached {percent(highest, 1)} of the rate limit of 10 a second for each execution."
    return Rejected(cause=Cause.REQUEST_RATE, because=because)


def _rate_reached(view: PoolView, function: str | None, rate: float, concurrency: int) -> Diagnosis:
    allowed = REQUESTS_PER_MINUTE * concurrency
    who = "The account" if function is None else function
    text = (
        f"{who} served {number(rate)} requests in a minute; with a concurrency of {number(concurrency)} at most "
        f"{number(allowed)} are possible, 10 a second for each ({percent(rate, allowed)})."
    )
    return Diagnosis(
        cause=Cause.REQUEST_RATE,
        confidence=Confidence.MEDIUM,
        victims=view.victims if function is None else (function,),
        findings=(
            Finding(text=text, check=view.check("Invocations", "Sum", function)),
            view.fill_finding(),
            *view.throttle_findings(),
            Finding(text="The quota is Lambda's concurrent executions, L-B99A9384.", check=checks.concurrency_quota()),
        ),
    )


def scaling_rate(view: PoolView) -> Opinion:
    """Medium: throttled for a minute or two, during a steep rise, far below the limit."""
    throttles = view.evidence.throttles.between(view.work_start, view.evidence.end)
    minutes = [throttles.time_of(index) for index, value in enumerate(throttles.values) if value]
    if not minutes or view.is_pressed:
        return None
    if len(minutes) > SHORT_MINUTES or minutes[-1] - minutes[0] >= SHORT_MINUTES * MINUTE:
        because = f"Throttled in {len(minutes)} of the last {WORK_MINUTES} minutes; a rise outruns scaling for seconds."
        return Rejected(cause=Cause.SCALING_RATE, because=because)
    before, after = _rise(view, minutes[0], minutes[-1])
    if after - before < STEEP or after < 2 * before:
        because = f"The account went from {number(before)} to {number(after)} executions: no steep rise."
        return Rejected(cause=Cause.SCALING_RATE, because=because)
    if after >= FULL * view.evidence.account.limit:
        because = (
            f"The account reached {number(after)} of its limit of {number(view.evidence.account.limit)} executions."
        )
        return Rejected(cause=Cause.SCALING_RATE, because=because)
    text = (
        f"The account went from {number(before)} to {number(after)} executions around {clock(minutes[0])} and was "
        "throttled "
        f"in {len(minutes)} of the last {WORK_MINUTES} minutes, {number(throttles.sum())} times; its limit is "
        f"{number(view.evidence.account.limit)}. Lambda adds 1,000 environments for a function every ten seconds."
    )
    return Diagnosis(
        cause=Cause.SCALING_RATE,
        confidence=Confidence.MEDIUM,
        victims=view.victims,
        findings=(Finding(text=text, check=view.check("ConcurrentExecutions", "Maximum")), view.fill_finding()),
    )


def _rise(view: PoolView, first: datetime, last: datetime) -> tuple[float, float]:
    """Return the account's executions before and after. No datapoint before means that nothing ran: the account's
    series has one for every minute in which something did."""
    series = view.evidence.concurrency
    before = series.between(first - LOOK_BACK * MINUTE, first).known
    after = series.between(first, last + 2 * MINUTE).peak()
    return (before[-1] if before else 0.0), (after or 0.0)
