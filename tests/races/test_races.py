"""Whoever is faster: one incident, one change, one end of it, and everybody is told the truth."""

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.races.ground import Ground, ground
from sandbox.races.orders import explore, replay, wander
from sandbox.races.play import Play
from sandbox.races.plays import plays
from unthrottle import intake, sweep
from unthrottle.adapters import incident_items, incidents_table
from unthrottle.desk import Desk

FEW = 3
"""Orders a race is tried in here, where it has more; all of them are tried by `make faults`."""
DRAWN = 2
NAMES = (
    "two alarms of one symptom",
    "one alarm delivered three times",
    "an alarm delivered twice, and another",
    "an alarm while the incident closes",
    "an alarm twice while the incident closes",
    "an alarm beside a muted one that closes",
    "approve and reject",
    "approve and the question's end",
    "revert and keep",
    "keep and the lease's end",
    "revert and a renewal",
    "keep while it is verified",
    "the sweep and a workflow that was held up",
    "two sweeps",
    "the sweep and a person who keeps",
    "a workflow that never came",
    "two incidents, one target",
    "two incidents, budget for one",
    "a pause and a change on its way",
    "a give-back that has to wait, the sweep and a person who keeps",
    "late reports and the lease's end",
    "an earlier release's workflow and the sweep",
    "revert, keep and the lease's end",
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Ground]:
    with ground() as made:
        yield made


def named(shared: Ground, name: str) -> Play:
    return next(play for play in plays(shared) if play.name == name)


def test_every_race_is_run_here(shared: Ground) -> None:
    """None is forgotten."""
    assert tuple(play.name for play in plays(shared)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_race_ends_well_in_every_order_that_is_tried(shared: Ground, name: str) -> None:
    """Orders of the calls to the state table, to the account and to the workflow's questions."""
    play = named(shared, name)
    explored = explore(play, FEW if play.is_long else 3 * FEW)
    drawn = wander(play, 0 if explored.is_complete else DRAWN, seed=1)

    assert explored.wrong + drawn.wrong == ()


def _no_claim(ports: Any, incident: Any, now: Any) -> Any:
    return ports.incidents.load(incident.id)


WITHOUT = {
    "two sweeps": (sweep, "_taken_over", _no_claim),
    "an alarm beside a muted one that closes": (intake, "muted_mark", lambda mark: mark),
    "keep and the lease's end": (incidents_table, "_TAKES_WISHES", "attribute_exists(pk)"),
    "two incidents, budget for one": (incident_items, "spent_by_others", lambda *_: 0),
    "a pause and a change on its way": (Desk, "_still_allowed", lambda *_: None),
}
"""What keeps a race from going wrong, and what is put in its place."""


@pytest.mark.parametrize("name", WITHOUT)
def test_a_race_is_lost_without_what_guards_it(shared: Ground, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The explorer finds the order in which it goes wrong: the guard is needed, and the race tells."""
    owner, attribute, instead = WITHOUT[name]
    monkeypatch.setattr(owner, attribute, instead)

    assert explore(named(shared, name), 40, is_first_enough=True).wrong


def test_a_workflow_that_is_overtaken_while_a_give_back_has_to_wait_pages_nobody(shared: Ground) -> None:
    """Its write is refused by a sweep that a moment later has to put the give-back off, so that the incident is open again."""
    order = ("sweep 1",) * 6 + ("workflow",) * 2 + ("sweep 1",) * 4 + ("workflow",) * 4 + ("bob says keep",) * 3

    assert replay(named(shared, "a give-back that has to wait, the sweep and a person who keeps"), order) == []
