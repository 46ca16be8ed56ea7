"""What came out of all races, in lines for a terminal and for docs/faults.md."""

import time
from collections.abc import Callable, Iterator, Sequence

from sandbox.races.deliveries import doubled, in_order, near_pairs, swapped, told
from sandbox.races.ground import ground
from sandbox.races.orders import Explored, explore, wander
from sandbox.races.plays import plays
from sandbox.scenario import Scenario

SHOWN = 5
"""Wrongs of one race that are written out."""


def race_all(most: int | None, drawn: int, seed: int, say: Callable[[str], None]) -> tuple[int, int]:
    """Play every race: in at most `most` orders that matter (None: all of them), and in `drawn` more that are drawn.

    Says a line for each race and each wrong. Returns the runs, and how many of them ended wrongly.
    """
    runs = wrong = 0
    with ground() as made:
        for play in plays(made):
            began = time.monotonic()
            found = explore(play, most)
            more = wander(play, drawn, seed) if drawn and not found.is_complete else None
            for line in _lines([found, *([more] if more else [])], time.monotonic() - began):
                say(line)
            for one in (found, more):
                runs += one.runs if one else 0
                wrong += len({wrong.order for wrong in one.wrong}) if one else 0
    say(f"{runs} orders, {wrong} ended wrongly")
    return runs, wrong


def _lines(found: Sequence[Explored], seconds: float) -> Iterator[str]:
    first = found[0]
    extent = "all that matter" if first.is_complete else "not all"
    drawn = "".join(f", {more.runs} drawn" for more in found[1:])
    wrong = [one for explored in found for one in explored.wrong]
    yield f"{first.name}: {first.runs} orders ({extent}){drawn}, {len(wrong)} wrong, {seconds:.0f} s"
    for one in wrong[:SHOWN]:
        yield f"VIOLATED  {first.name}: {one.what}"
        yield f"          in the order {', '.join(one.order)}"


def disturb(scenarios: Sequence[Scenario], say: Callable[[str], None]) -> tuple[int, int]:
    """Play scenarios with every event twice, and with each pair of near events in the other order. Returns runs, wrongs."""
    runs = wrong = 0
    for scenario in scenarios:
        plain, events = in_order(scenario)
        usual = told(plain)
        ways = [("every event twice", told(doubled(scenario)))]
        ways += [
            (f"event {number + 1} after the next", told(swapped(scenario, number))) for number in near_pairs(events)
        ]
        differing = [(way, came) for way, came in ways if came != usual]
        runs, wrong = runs + len(ways), wrong + len(differing)
        say(f"{scenario.name}: {len(events)} events, {len(ways)} ways, {len(differing)} came out otherwise")
        for way, came in differing:
            say(f"VIOLATED  {scenario.name}, {way}: {came} instead of {usual}")
    return runs, wrong
