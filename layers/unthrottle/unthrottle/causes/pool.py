"""Diagnose the account's Lambda concurrency: which of its causes fits, in order of precedence.

Order: over already; a function's own limit or a rate while the pool has room; then who holds a used-up pool, unless somebody
has limited it since. The causes of the two groups exclude each other by `PoolView.is_pressed`, so that the order within the
list only settles true ties.
"""

from unthrottle.causes import own_limits, pool_changed, pool_hog, pool_holders, pool_quiet, pool_shape, rates
from unthrottle.causes.opinion import inconclusive, settle
from unthrottle.causes.pool_look import Unusable, look
from unthrottle.causes.pool_view import PoolView
from unthrottle.causes.wording import names, number
from unthrottle.diagnosis import Diagnosis, Finding
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.settings import Settings


def diagnose_pool(evidence: PoolEvidence, settings: Settings, itself: frozenset[str]) -> Diagnosis:
    """Conclude from one look at the pool. `itself` are the names of Unthrottle's own functions, never a target."""
    view = look(evidence, settings, itself)
    if isinstance(view, Unusable):
        return inconclusive(Finding(text=view.gap), gaps=(view.gap, *evidence.gaps))
    found = pool_holders.find(view)
    opinions = [
        pool_quiet.consider(view),
        own_limits.switched_off(view),
        own_limits.own_reservation(view),
        pool_hog.consider(view, found),
        pool_changed.consider(view),
        pool_shape.over_reservation(view, found),
        pool_shape.growth(view, found),
        rates.request_rate(view),
        rates.scaling_rate(view),
    ]
    gaps = (*evidence.gaps, *(_gaps(view, found) if view.throttled_now > 0 or view.is_pressed else ()))
    return settle(opinions, gaps=gaps, findings=(view.fill_finding(), *view.throttle_findings()))


_HIDDEN = {
    True: "Whoever holds the rest of the pool has no datapoints of its own",
    False: "The ranking does not look at every function",
}
"""Why the ranking may hide the hog, by whether it looks at every function."""


def _gaps(view: PoolView, found: pool_holders.Hogs) -> tuple[str, ...]:
    gaps = list(found.gaps)
    if view.hides_functions and (view.is_pressed or not view.evidence.ranking_complete):
        gaps.append(f"{_HIDDEN[view.evidence.ranking_complete]}: {view.coverage}.")
    if view.was_larger:
        gaps.append(f"What is in use since the pool was made smaller, to {number(view.size)}, is not visible yet.")
    if view.throttled_now > 0 and not view.victims and not view.throttled_names:
        gaps.append("Which functions were throttled could not be read.")
    unread = [name for name in view.victims if view.candidate(name) is None]
    if not view.is_pressed and unread:
        gaps.append(f"The settings of throttled functions were not read: {names(unread)}.")
    return tuple(gaps)
