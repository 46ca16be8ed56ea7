"""Which orders of turns are there that can end differently? Each of them once, as far as that can be told.

Depth first, by dynamic partial-order reduction with sleep sets: after each run its trace is searched for pairs of steps whose
order mattered and could have been the other, and only those are tried the other way round (Flanagan and Godefroid, "Dynamic
partial-order reduction for model checking software", POPL 2005; Godefroid, "Partial-order methods", 1996). Actors never wait
for each other, so each is ready until it ends, which is what makes the plain form of it complete.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sandbox.races.turns import AbandonedError, Actor, Touches, Turns, collide

STAYS = 0.7
"""How likely an actor goes on when orders are drawn."""
MOST_STEPS = 400
"""Turns of one run. A run that takes more does not end."""


class Race(Protocol):
    """One race. `arrange` makes the ground as it is when the race begins, and returns what each actor does."""

    @property
    def name(self) -> str: ...
    @property
    def turns(self) -> Turns: ...
    def arrange(self) -> Mapping[str, Callable[[], None]]: ...
    def judge(self) -> Sequence[str]:
        """After a run: let the rest of the story happen, and say what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """One order that ended wrongly, and what was wrong; play it again with `replay`."""

    order: tuple[str, ...]
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """What came out of a race. `cut` are runs that were given up as equal to an earlier one."""

    name: str
    runs: int
    cut: int
    steps: int
    is_complete: bool
    wrong: tuple[Wrong, ...]


@dataclass(slots=True, kw_only=True)
class _Node:
    """One point of choice: what each actor is about to touch, whose turn it is, and whose it still has to be."""

    ready: Mapping[str, Touches]
    asleep: set[str]
    chosen: str
    wanted: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)


def explore(race: Race, most: int | None = None, *, is_first_enough: bool = False) -> Explored:
    """Play the race in every order that matters, or in at most `most` runs; with `is_first_enough`, until one ends wrongly."""
    path: list[_Node] = []
    wrong: list[Wrong] = []
    runs = cut = steps = 0
    while most is None or runs < most:
        is_whole, found = _play(race, path)
        steps += len(path)
        if is_whole:
            runs += 1
            order = tuple(node.chosen for node in path)
            wrong.extend(Wrong(order=order, what=what) for what in found)
        else:
            cut += 1
        if wrong and is_first_enough:
            break
        _ask_for_the_other_order(path)
        if not _next(path):
            return Explored(name=race.name, runs=runs, cut=cut, steps=steps, is_complete=True, wrong=tuple(wrong))
    return Explored(name=race.name, runs=runs, cut=cut, steps=steps, is_complete=False, wrong=tuple(wrong))


def wander(race: Race, runs: int, seed: int) -> Explored:
    """Play so many orders that are drawn: a little of everything, where going through all of them takes too long.

    Who runs goes on running mostly, as what goes wrong mostly does so by one or two changes at the wrong moment.
    """
    wrong: list[Wrong] = []
    steps = 0
    for number in range(runs):
        draw = random.Random(f"{seed}/{race.name}/{number}")
        order: list[str] = []

        def choose(ready: Sequence[str], draw: random.Random = draw, order: list[str] = order) -> str:
            stays = bool(order) and order[-1] in ready and draw.random() < STAYS
            order.append(order[-1] if stays else draw.choice(ready))
            return order[-1]

        found = _followed(race, choose)
        steps += len(order)
        wrong.extend(Wrong(order=tuple(order), what=what) for what in found)
    return Explored(name=race.name, runs=runs, cut=0, steps=steps, is_complete=False, wrong=tuple(wrong))


def replay(race: Race, order: Sequence[str]) -> Sequence[str]:
    """Play one order; whoever is not named any more goes on in turn. Returns what is wrong."""
    left = list(order)

    def choose(ready: Sequence[str]) -> str:
        while left:
            name = left.pop(0)
            if name in ready:
                return name
        return ready[0]

    return _followed(race, choose)


def _followed(race: Race, choose: Callable[[Sequence[str]], str]) -> Sequence[str]:
    actors = race.turns.begin(race.arrange())
    try:
        while ready := [name for name, actor in actors.items() if actor.pending is not None]:
            actors[choose(ready)].turn()
        broken = _broken(actors)
    finally:
        race.turns.end(actors)
    return [*broken, *race.judge()]


def _play(race: Race, path: list[_Node]) -> tuple[bool, Sequence[str]]:
    """Follow `path`, then go on by choosing freely; `path` grows to the whole run. False: equal to an earlier run."""
    actors = race.turns.begin(race.arrange())
    try:
        depth = 0
        while ready := {name: actor.pending for name, actor in actors.items() if actor.pending is not None}:
            if depth == len(path):
                asleep = _still_asleep(path[-1]) if path else set()
                awake = [name for name in ready if name not in asleep]
                if not awake:
                    return False, ()
                path.append(_Node(ready=ready, asleep=asleep, chosen=awake[0], wanted={awake[0]}))
            node = path[depth]
            if ready != node.ready:
                raise RuntimeError(f"{race.name} went another way at turn {depth}: {ready} was {node.ready}")
            actors[node.chosen].turn()
            depth += 1
            if depth > MOST_STEPS:
                raise RuntimeError(f"{race.name} takes more than {MOST_STEPS} turns")
        broken = _broken(actors)
    finally:
        race.turns.end(actors)
    return True, [*broken, *race.judge()]


def _broken(actors: Mapping[str, Actor]) -> list[str]:
    return [
        f"{name} broke off: {type(actor.error).__name__}: {actor.error}"
        for name, actor in actors.items()
        if actor.error is not None and not isinstance(actor.error, AbandonedError)
    ]


def _still_asleep(node: _Node) -> set[str]:
    """Whoever was tried before at this node need not be tried after it, until something it depends on has happened."""
    step = node.ready[node.chosen]
    return {
        name
        for name in (node.asleep | node.done) - {node.chosen}
        if name in node.ready and not collide(node.ready[name], step)
    }


def _ask_for_the_other_order(path: Sequence[_Node]) -> None:
    """For each step, find the last earlier one of another actor that it collides with and was not bound to come before."""
    seen: list[dict[str, int]] = []  # for each step: by actor, the last of its steps that happened before
    latest: dict[str, dict[str, int]] = {}
    for number, node in enumerate(path):
        who, touches = node.chosen, node.ready[node.chosen]
        before = dict(latest.get(who, {}))
        colliding = [
            earlier
            for earlier in range(number)
            if path[earlier].chosen != who and collide(path[earlier].ready[path[earlier].chosen], touches)
        ]
        free = [earlier for earlier in colliding if before.get(path[earlier].chosen, -1) < earlier]
        if free:
            path[free[-1]].wanted.add(who)
        for earlier in colliding:
            for name, step in seen[earlier].items():
                before[name] = max(before.get(name, -1), step)
        before[who] = number
        seen.append(before)
        latest[who] = before


def _next(path: list[_Node]) -> bool:
    """Go back to the last node with a turn that still has to be tried. False: there is none."""
    while path:
        node = path[-1]
        node.done.add(node.chosen)
        left = [name for name in node.ready if name in node.wanted - node.done - node.asleep]
        if left:
            node.chosen = left[0]
            return True
        path.pop()
    return False
