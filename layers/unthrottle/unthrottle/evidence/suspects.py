"""Whose settings are worth a call? Those who may hold a used-up pool, or who suffer in one that has room.

Pure: looks only at what the first call has read. It judges nobody; a function left out here is one that cannot be at fault
by its own series, so that the number of calls does not grow with the number of large functions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from unthrottle.evidence.pool import Candidate, ConcurrencyAccount, FunctionUse, shared_size, shared_use
from unthrottle.evidence.series import Series
from unthrottle.subjects import is_own

MOST_LARGE = 10
"""Large functions whose metrics are read along: they cost no call of their own."""
MOST_CANDIDATES = 5
"""Functions whose settings are read. More are no few, and no cap of single functions would be the answer."""
MOST_SUFFERERS = 3
"""Throttled functions whose own settings are read where the pool has room: together they mostly explain the throttles."""
EXPLAINED = 0.9
"""Part of the throttles above which no further sufferer is looked at."""
USED_UP = 0.9
"""A pool fuller than this is looked at for who holds it; below, also for whose own settings throttle it."""
MAY_BE_HELD = 0.8
"""Below this nobody can be holding the pool: the early warning's threshold."""
RISEN = 2.0
"""A function that ran less than its use at the peak divided by this, before the pressure, has risen within the window."""
STEADY = 1.5
"""One that ran more than its use at the peak divided by this, before the pressure, belongs to the normal load."""
FEWEST_CALM = 5
"""Fewer minutes before the pressure tell nothing of what a function ran before."""
TELLS = 0.5
"""Where the functions that have risen hold this part of the pool's use, the window tells enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The shared pool as the first call shows it: its use, how many executions it can hold, and the minute looked at.

    `fullness` is the most of the newest visible minutes, from 0 on; None where it was not measured.
    """

    use: Series
    size: float
    peak: datetime | None
    fullness: float | None

    @property
    def at_peak(self) -> float:
        return (self.use.at(self.peak) or 0.0) if self.peak is not None else 0.0


def pool_of(series: dict[str, Series], account: ConcurrencyAccount, end: datetime) -> Pool:
    """See the pool in the account's own series: `unreserved`, `concurrency` and `claimed`."""
    use = shared_use(series["unreserved"], series["concurrency"], account)
    newest = use.last_at
    size = shared_size(series["claimed"], series["unreserved"], account, newest)
    fullness = None
    if newest is not None and size > 0:
        fullness = (use.between(newest - timedelta(minutes=2), end).peak() or 0.0) / size
    recent = series["unreserved"] if not series["unreserved"].is_empty else series["concurrency"]
    return Pool(use=use, size=size, peak=recent.between(end - timedelta(minutes=15), end).peak_at(), fullness=fullness)


def large(
    uses: Sequence[FunctionUse], share: float, peak: datetime | None, own_prefix: str | None
) -> tuple[tuple[str, float], ...]:
    """Name the functions that hold at least half of the `share`, and what they hold, the largest first."""
    if peak is None:
        return ()
    enough = max(1.0, share / 2)
    held = sorted(
        ((near(use.concurrency, peak), use.name) for use in uses if not is_own(use.name, own_prefix)), reverse=True
    )
    return tuple((name, value) for value, name in held if value >= enough)[:MOST_LARGE]


def suspects(
    held: Sequence[tuple[str, float]], uses: Sequence[FunctionUse], pool: Pool, *, share: float, full_from: float
) -> tuple[str, ...]:
    """Name the large functions that may be a hog by their own series, at most five.

    Where those that have risen within the window hold half of the pool, a steady one is no hog; and where they are more
    than a few, only those above the `share` could be. Otherwise all are asked about.
    """
    series = {use.name: use for use in uses}
    grown = {name: _rise(series[name], pool, value, full_from) for name, value in held}
    risen = [name for name, _ in held if (grown[name] or 0.0) >= RISEN]
    holds = sum(value for name, value in held if name in risen)
    if holds < TELLS * pool.at_peak:
        return tuple(name for name, _ in held)[:MOST_CANDIDATES]
    few = len(risen) <= MOST_CANDIDATES
    kept = [name for name, value in held if (grown[name] or RISEN) > STEADY and (few or value >= share)]
    return tuple(kept[:MOST_CANDIDATES])


def in_doubt(
    candidates: Sequence[Candidate], uses: Sequence[FunctionUse], pool: Pool, *, full_from: float
) -> tuple[str, ...]:
    """Name the candidates of the shared pool that ran about as much before the pressure, or of which that is unknown.

    `full_from` is the use from which on the pool is under pressure. Nobody is in doubt where others have risen within the
    window and hold half of the pool.
    """
    if pool.peak is None:
        return ()
    shared = {one.name for one in candidates if one.reserved is None and not one.managed_instances}
    doubtful, risen = [], 0.0
    for use in uses:
        held = near(use.concurrency, pool.peak)
        if use.name not in shared or held <= 0:
            continue
        if (_rise(use, pool, held, full_from) or 0.0) >= RISEN:
            risen += held
        else:
            doubtful.append(use.name)
    return () if risen >= TELLS * pool.at_peak else tuple(doubtful)


def sufferers(
    alarmed: tuple[str, ...], throttled: Sequence[tuple[str, Series]], own_prefix: str | None
) -> tuple[str, ...]:
    """Where nobody holds the pool, the reason is likely in the suffering functions' own settings.

    The alarmed ones, and the most throttled until they explain nearly all throttles.
    """
    names = dict.fromkeys(alarmed[:MOST_SUFFERERS])
    whole, explained = sum(series.sum() for _, series in throttled), 0.0
    for name, series in throttled[:MOST_SUFFERERS]:
        if explained >= EXPLAINED * whole:
            break
        explained += series.sum()
        names[name] = None
    return tuple(name for name in names if not is_own(name, own_prefix))[:MOST_SUFFERERS]


def near(series: Series, moment: datetime) -> float:
    """Return the largest value within two minutes of `moment`: functions do not peak in the very same minute."""
    around = series.between(moment - timedelta(minutes=2), moment + timedelta(minutes=3))
    return around.peak() or 0.0


def _rise(use: FunctionUse, pool: Pool, held: float, full_from: float) -> float | None:
    """Return how many times its median before the pressure a function holds; None where too few minutes were measured."""
    calm = [
        moment
        for index, value in enumerate(pool.use.values)
        if value is not None and value < full_from and (moment := pool.use.time_of(index)) < (pool.peak or moment)
    ]
    before = [use.concurrency.at(moment) or 0.0 for moment in calm if moment >= use.concurrency.start]
    if len(before) < FEWEST_CALM:
        return None
    usual = median(before)
    return held / usual if usual > 0 else float("inf")
