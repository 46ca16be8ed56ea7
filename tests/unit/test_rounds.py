"""Many places are looked at a few at once, each run beginning elsewhere, and nobody waits longer than there is time."""

import itertools
import threading
from datetime import UTC, datetime, timedelta

import pytest

from unthrottle.rounds import AT_ONCE, FEW, in_turn, left_out, look_at_each

NOW = datetime(2026, 8, 24, 10, 0, tzinfo=UTC)
EVERY = timedelta(minutes=5)
PLACES = tuple(range(600))


@pytest.mark.parametrize("many", [0, 1, 2, 7, 600])
def test_each_run_has_every_place_once_in_the_order_of_the_circle(many: int) -> None:
    places = tuple(range(many))
    order = in_turn(places, NOW, EVERY)
    assert sorted(order) == list(places)
    assert all((after - before) % many == 1 for before, after in itertools.pairwise(order) if many > 1)


def test_within_one_interval_the_order_stays_and_the_next_run_begins_far_from_there() -> None:
    """A run that is repeated after an error begins where it began."""
    first = in_turn(PLACES, NOW, EVERY)[0]
    assert in_turn(PLACES, NOW + EVERY - timedelta(seconds=1), EVERY)[0] == first
    step = (in_turn(PLACES, NOW + EVERY, EVERY)[0] - first) % 600
    assert 200 < step < 400


@pytest.mark.parametrize(("reached", "runs"), [(100, 12), (60, 24), (10, 160), (1, 2000)])
def test_every_place_has_its_turn_soon_however_far_a_run_gets(reached: int, runs: int) -> None:
    """Two to four times as many runs as there would have to be if none looked at a place that another had."""
    had = {place for run in range(runs) for place in in_turn(PLACES, NOW + run * EVERY, EVERY)[:reached]}
    assert had == set(PLACES)


def test_who_is_left_out_for_hours_is_known_from_how_far_one_run_got() -> None:
    assert left_out(PLACES, NOW, EVERY, reached=100, runs=12) == frozenset()
    assert left_out(PLACES, NOW, EVERY, reached=0, runs=12) == frozenset(PLACES)
    slow = left_out(PLACES, NOW, EVERY, reached=10, runs=12)
    assert len(slow) >= 600 - 12 * 10
    assert not slow & set(in_turn(PLACES, NOW, EVERY)[:10])


def test_a_few_are_looked_at_one_after_the_other_and_only_when_it_is_their_turn() -> None:
    """What is decided about the first may change what is seen of the second."""
    done: list[str] = []

    def look(place: int) -> int:
        done.append(f"look at {place} in {threading.current_thread().name}")
        return place

    for place, _ in look_at_each(range(FEW), look):
        done.append(f"decide on {place}")
    assert done[:4] == ["look at 0 in MainThread", "decide on 0", "look at 1 in MainThread", "decide on 1"]


def test_many_are_looked_at_together_and_given_in_their_order() -> None:
    meeting = threading.Barrier(AT_ONCE, timeout=20)

    def look(place: int) -> str:
        if place < AT_ONCE:  # nobody gets on before all of them are here
            meeting.wait()
        return f"seen {place}"

    assert list(look_at_each(range(100), look)) == [(place, f"seen {place}") for place in range(100)]


@pytest.mark.parametrize("many", [FEW, FEW + 1])
def test_when_the_time_is_over_nothing_more_is_begun(many: int) -> None:
    left = iter([5.0] * 4 + [0.0] * 100)
    lock = threading.Lock()
    looked: list[int] = []

    def time_left() -> float:
        with lock:
            return next(left)

    def look(place: int) -> int:
        looked.append(place)
        return place

    found = dict(look_at_each(range(many), look, time_left))
    assert len(looked) < many
    assert sorted(place for place, seen in found.items() if seen is not None) == sorted(looked)


def test_a_look_that_does_not_end_is_not_waited_for() -> None:
    end, began = threading.Event(), threading.Event()

    def look(place: int) -> int:
        if place == 0:
            began.set()
            end.wait(20)
        return place

    def time_left() -> float:
        if threading.current_thread() is threading.main_thread():  # who waits for the looks, once they have begun
            began.wait(20)
            return 0.05
        return 60.0

    try:
        found = dict(look_at_each(range(FEW + 1), look, time_left))
    finally:
        end.set()
    assert found[0] is None


@pytest.mark.parametrize("many", [FEW, FEW + 1])
def test_what_a_look_raises_comes_out(many: int) -> None:
    def look(place: int) -> int:
        if place == 3:
            raise KeyError("ours")
        return place

    with pytest.raises(KeyError, match="ours"):
        list(look_at_each(range(many), look))
