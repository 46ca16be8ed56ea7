"""The explorer of orders is right: it tries every order that matters, none twice, and finds what breaks in one of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from sandbox.races.orders import explore, replay
from sandbox.races.turns import Mode, Touch, Turns, collide

Work = Callable[["Toy"], None]


class Toy:
    """A few named cells, and actors that read and write them. Keeps what each run ended with."""

    name = "toy"

    def __init__(self, works: Mapping[str, Work], wrong: Callable[["Toy"], Iterator[str]]) -> None:
        self.turns = Turns()
        self.cells: dict[str, int] = {}
        self.ends: list[dict[str, int]] = []
        self._works, self._wrong = works, wrong

    def touch(self, cell: str, mode: Mode) -> None:
        self.turns.about_to(frozenset({Touch(cell, "value", mode)}))

    def arrange(self) -> Mapping[str, Callable[[], None]]:
        self.cells = {}
        return {name: (lambda work=work: work(self)) for name, work in self._works.items()}  # type: ignore[misc]

    def judge(self) -> Sequence[str]:
        self.ends.append(dict(self.cells))
        return list(self._wrong(self))


def counts_carelessly(toy: Toy) -> None:
    """Read, and then write what was read and one more: two of these lose one count in some orders."""
    toy.touch("count", "read")
    seen = toy.cells.get("count", 0)
    toy.touch("count", "write")
    toy.cells["count"] = seen + 1


def counts(toy: Toy) -> None:
    """The same in one step."""
    toy.touch("count", "write")
    toy.cells["count"] = toy.cells.get("count", 0) + 1


def keeps_to_itself(name: str) -> Work:
    def work(toy: Toy) -> None:
        for _ in range(3):
            toy.touch(name, "write")
            toy.cells[name] = toy.cells.get(name, 0) + 1

    return work


def nothing_is_wrong(_: Toy) -> Iterator[str]:
    return iter(())


def a_count_is_lost(toy: Toy) -> Iterator[str]:
    if toy.cells["count"] != 2:
        yield f"counted {toy.cells['count']}"


def test_a_lost_update_is_found_and_the_order_that_shows_it_can_be_played_again() -> None:
    """Of six orders of two reads and two writes, those that end differently are tried."""
    toy = Toy({"a": counts_carelessly, "b": counts_carelessly}, a_count_is_lost)
    found = explore(toy)

    assert found.is_complete
    assert {wrong.what for wrong in found.wrong} == {"counted 1"}
    assert {end["count"] for end in toy.ends} == {1, 2}
    assert all(replay(toy, wrong.order) == ["counted 1"] for wrong in found.wrong)


def test_steps_that_do_not_touch_each_other_are_run_in_one_order_only() -> None:
    """Nine steps in 1,680 orders that all end alike."""
    found = explore(Toy({name: keeps_to_itself(name) for name in "abc"}, nothing_is_wrong))

    assert (found.runs, found.cut, found.is_complete) == (1, 0, True)


def test_three_writers_of_one_thing_are_tried_in_all_six_orders() -> None:
    """And no order is played to its end twice."""
    order: list[str] = []

    def writes(name: str) -> Work:
        def work(toy: Toy) -> None:
            toy.touch("count", "write")
            toy.cells["count"] = toy.cells.get("count", 0) * 10 + int(name)

        return work

    toy = Toy({name: writes(name) for name in "123"}, nothing_is_wrong)
    assert explore(toy).is_complete
    order = [str(end["count"]) for end in toy.ends]
    assert sorted(order) == ["123", "132", "213", "231", "312", "321"]


def test_readers_do_not_disturb_each_other_but_a_writer_does() -> None:
    """Two readers and a writer: each reader sees it or not, which is four ends."""
    ends: set[tuple[int, int]] = set()

    def reads(name: str) -> Work:
        def work(toy: Toy) -> None:
            toy.touch("count", "read")
            toy.cells[name] = toy.cells.get("count", 0)

        return work

    toy = Toy({"a": reads("a"), "b": reads("b"), "c": counts}, nothing_is_wrong)
    found = explore(toy)
    ends = {(end["a"], end["b"]) for end in toy.ends}
    assert ends == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert found.runs == 4


def test_an_actor_that_breaks_off_is_told_with_its_order() -> None:
    """Nothing is lost on a thread."""

    def breaks(toy: Toy) -> None:
        toy.touch("count", "read")
        if toy.cells.get("count"):
            raise KeyError("count")

    found = explore(Toy({"a": breaks, "b": counts}, nothing_is_wrong))
    assert [wrong.what for wrong in found.wrong] == ["a broke off: KeyError: 'count'"]
    assert found.wrong[0].order == ("b", "a")


def test_a_bound_on_the_runs_is_told() -> None:
    """An exploration that was cut short does not say that it is complete."""
    found = explore(Toy({"a": counts_carelessly, "b": counts_carelessly}, nothing_is_wrong), most=1)
    assert (found.runs, found.is_complete) == (1, False)


@pytest.mark.parametrize(
    ("one", "other", "is_so"),
    [
        pytest.param(Touch("x", "1", "read"), Touch("x", "1", "read"), False, id="two reads"),
        pytest.param(Touch("x", "1", "write"), Touch("x", "1", "read"), True, id="read and write"),
        pytest.param(Touch("x", "1", "write"), Touch("x", "2", "write"), False, id="two parts"),
        pytest.param(Touch("x", None, "read"), Touch("x", "2", "write"), True, id="a query reads every part"),
        pytest.param(Touch("x", "1", "write"), Touch("y", "1", "write"), False, id="two things"),
    ],
)
def test_only_steps_whose_order_matters_collide(one: Touch, other: Touch, is_so: bool) -> None:
    """One thing, and one of them writes."""
    assert collide(frozenset({one}), frozenset({other})) is is_so
    assert collide(frozenset({other}), frozenset({one})) is is_so
