"""How is each of many accounts and Regions looked at, when there may not be time for all of them?

A few at once, each run beginning elsewhere, until the time is over. Pure but for the threads: what time is left is told, and
what a look finds is not known here. Who decides by what was found does so one after the other, in the order given.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from typing import TypeVar

P = TypeVar("P")
R = TypeVar("R")

AT_ONCE = 10
"""Looks at once: as many as botocore keeps connections for one client (STS's, which all of them share)."""
FEW = 8
"""So few are looked at one after the other, as ever: threads would gain nothing that anybody waits for."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_GOLDEN = 0x9E3779B97F4A7C15
"""2**64 by the golden ratio: multiples of it fall evenly over a circle, however many there are (Knuth, TAOCP 3, 6.4)."""


def no_end() -> float:
    """Say that there is time enough: a day, in seconds."""
    return 86_400.0


def in_turn(places: Sequence[P], now: datetime, every: timedelta) -> tuple[P, ...]:
    """Return the places in the order of this run, of one each `every`: the same circle, begun elsewhere.

    The beginnings of any few runs in a row lie far from each other, so that all places have their turn soon even where each
    run gets only to the first of its own.
    """
    run = (now - _EPOCH) // every
    first = ((run * _GOLDEN) % 2**64 * len(places)) >> 64
    return (*places[first:], *places[:first])


def left_out(places: Sequence[P], now: datetime, every: timedelta, reached: int, runs: int) -> frozenset[P]:
    """Return the places that so many runs, the last one at `now`, leave out if each gets to the first `reached` of its own."""
    had = {place for back in range(runs) for place in in_turn(places, now - back * every, every)[:reached]}
    return frozenset(places) - had


def look_at_each(
    places: Sequence[P], look: Callable[[P], R], left: Callable[[], float] = no_end
) -> Iterator[tuple[P, R | None]]:
    """Look at each place; give them in their order with what was found. None: the time was over, which `left` says in seconds.

    What `look` raises comes out here. A look that is not done by then goes on behind everybody's back, so it must only read,
    and has to end by itself soon after.
    """

    def one(place: P) -> R | None:
        return look(place) if left() > 0 else None

    if len(places) <= FEW:
        yield from ((place, one(place)) for place in places)
        return
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="look")
    try:
        begun = [pool.submit(one, place) for place in places]
        done, _ = wait(begun, timeout=max(left(), 0.0))
        found = [future.result() if future in done else None for future in begun]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    yield from zip(places, found, strict=True)
