"""Diagnose the account's Lambda concurrency: which of its causes fits, in order of precedence.

Order: over already; a function's own limit or a rate while the pool has room; then who holds a used-up pool. The
causes of the two groups exclude each other by `PoolView.is_pressed`, so that the order within the list only settles
true ties.
"""

from unthrottle.causes import own_limits, pool_hog, pool_quiet, pool_shape, rates
from unthrottle.causes.opinion import inconclusive, settle
from unthrottle.causes.pool_view import PoolView, Unusable, look
from unthrottle.causes.wording import names
from unthrottle.diagnosis import Diagnosis, Finding
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.settings import Settings


def diagnose_pool(evidence: PoolEvidence, settings: Settings, itself: frozenset[str]) -> Diagnosis:
    """Conclude from one look at the pool. `itself` are the names of Unthrottle's own functions, never a target."""
    view = look(evidence, settings, itself)
    if isinstance(view, Unusable):
        return inconclusive(Finding(text=view.gap), gaps=(view.gap, *evidence.gaps))
    found = pool_hog.find(view)
    opinions = [
        pool_quiet.consider(view),
        own_limits.switched_off(view),
        own_limits.own_reservation(view),
        pool_hog.consider(view, found),
        pool_shape.over_reservation(view, found),
        pool_shape.growth(view, found),
        rates.request_rate(view),
        rates.scaling_rate(view),
    ]
    gaps = (*evidence.gaps, *(_gaps(view, found) if view.throttled_now > 0 or view.is_pressed else ()))
    return settle(opinions, gaps=gaps, findings=(view.fill_finding(), *view.throttle_findings()))


def _gaps(view: PoolView, found: pool_hog.Hogs) -> tuple[str, ...]:
    gaps = list(found.gaps)
    if view.hides_functions:
        gaps.append(f"The ranking does not look at every function: {view.coverage}.")
    if view.throttled_now > 0 and not view.victims and not view.throttled_names:
        gaps.append("Which functions were throttled could not be read.")
    unread = [name for name in view.victims if view.candidate(name) is None]
    if not view.is_pressed and unread:
        gaps.append(f"The settings of throttled functions were not read: {names(unread)}.")
    return tuple(gaps)
