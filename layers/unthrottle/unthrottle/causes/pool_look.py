"""Look at a pool's evidence: which minutes are visible, when it was fullest, when the pressure began.

Refuses where there is nothing recent to look at. It concludes nothing.
"""

from dataclasses import dataclass
from datetime import datetime

from unthrottle.causes.pool_view import (
    EARLY,
    FULL,
    MINUTE,
    NEAR_PEAK,
    RECENT_MINUTES,
    STALE_AFTER,
    WORK_MINUTES,
    PoolView,
    refused_since,
)
from unthrottle.causes.wording import clock, number
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.evidence.series import Series
from unthrottle.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """Why the evidence cannot be looked at."""

    gap: str


def look(evidence: PoolEvidence, settings: Settings, itself: frozenset[str]) -> PoolView | Unusable:
    """Find the visible minutes, the peak and the onset, or say why there is nothing to look at."""
    use = evidence.shared_use
    newest = use.last_at
    if newest is None:
        return Unusable(
            gap="The account has no UnreservedConcurrentExecutions datapoint between "
            f"{clock(evidence.start)} and {clock(evidence.end)}; how full the pool is, is unknown."
        )
    if evidence.end - newest > STALE_AFTER:
        minutes = number((evidence.end - newest).total_seconds() // 60)
        return Unusable(
            gap=f"The newest datapoint of the account's concurrency is of {clock(newest)}, {minutes} minutes old; "
            "what happens now is unknown."
        )
    size = evidence.shared_size
    peak_at = _peak(evidence, use, newest)
    pressure = EARLY if evidence.early_warning else FULL
    onset = _onset(use, peak_at, size * pressure)
    in_work = refused_since(evidence, newest - (WORK_MINUTES - 1) * MINUTE)
    return PoolView(
        evidence=evidence,
        settings=settings,
        itself=itself,
        use=use,
        size=size,
        newest=newest,
        peak_at=peak_at,
        onset=onset,
        calm=tuple(
            moment
            for index, value in enumerate(use.values)
            if value is not None and (moment := use.time_of(index)) < onset - MINUTE
        ),
        refused_in_work=dict(sorted(in_work.items(), key=lambda item: -item[1])),
        refused_recently=refused_since(evidence, newest - (RECENT_MINUTES - 1) * MINUTE),
    )


def _peak(evidence: PoolEvidence, use: Series, newest: datetime) -> datetime:
    work = use.between(newest - (WORK_MINUTES - 1) * MINUTE, newest + MINUTE)
    top = work.peak() or 0.0
    near = [
        work.time_of(index) for index, value in enumerate(work.values) if value is not None and value >= NEAR_PEAK * top
    ]
    throttled = [moment for moment in near if (evidence.throttles.at(moment) or 0.0) > 0]
    return max(throttled or near)


def _onset(use: Series, peak_at: datetime, pressed: float) -> datetime:
    """Walk back from the peak to where the pressure began; a dip or a gap of up to two minutes does not end it."""
    onset, quiet, moment = peak_at, 0, peak_at
    while moment > use.start and quiet <= 2:
        moment -= MINUTE
        value = use.at(moment)
        if value is not None and value >= pressed:
            onset, quiet = moment, 0
        else:
            quiet += 1
    return onset
