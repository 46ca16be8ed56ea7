"""Is it over? The alarm was about the past: when we look, nothing is throttled and the pool has room.

Also the answer to an early warning whose pool has room again, and to a queue held back by its own event source limit,
which throttles nobody.
"""

from unthrottle.causes.opinion import Opinion
from unthrottle.causes.pool_view import EARLY, MINUTE, RECENT_MINUTES, PoolView, fullness, refused_since
from unthrottle.causes.wording import clock, number, percent
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected


def consider(view: PoolView) -> Opinion:
    """High: no throttle in the last three visible minutes and room in the pool all along. Medium: only the last two."""
    now = view.use.at(view.newest) or 0.0
    state = (
        f"at {clock(view.newest)} {number(now)} of {number(view.size)} executions of the shared pool were in use "
        f"({percent(now, view.size)})"
    )
    if view.throttled_now == 0 and not view.is_pressed:
        return _over(view, f"No throttles in the {RECENT_MINUTES} minutes to {clock(view.newest)}; {state}.", sure=True)
    if _let_go(view):
        return _over(view, f"The pool was used up until a moment ago and no longer is; {state}.", sure=False)
    if view.throttled_now == 0:
        because = f"Nobody is throttled, but {state}."
    else:
        because = f"{number(view.throttled_now)} throttles in the {RECENT_MINUTES} minutes to {clock(view.newest)}."
    return Rejected(cause=Cause.ALREADY_OVER, because=because)


def _let_go(view: PoolView) -> bool:
    """Say whether a pool that was used up has had room, and nobody was throttled, for the newest two minutes."""
    last_two = [view.use.at(view.newest - MINUTE), view.use.at(view.newest)]
    has_room = all(value is not None and fullness(value, view.size) < EARLY for value in last_two)
    throttles = view.evidence.throttles.between(view.newest - MINUTE, view.evidence.end).sum()
    rows = sum(refused_since(view.evidence, view.newest - MINUTE).values())
    return view.is_pressed and has_room and throttles == 0 and rows == 0


def _over(view: PoolView, text: str, *, sure: bool) -> Diagnosis:
    return Diagnosis(
        cause=Cause.ALREADY_OVER,
        confidence=Confidence.HIGH if sure else Confidence.MEDIUM,
        findings=(Finding(text=text, check=view.check("Throttles", "Sum")), view.fill_finding()),
    )
