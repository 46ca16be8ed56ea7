"""Events that come twice or in the wrong order make no second incident, no second change and no second head message."""

from pathlib import Path

from sandbox.races.deliveries import doubled, in_order, near_pairs, swapped, told
from sandbox.scenario import load

SCENES = Path(__file__).parents[2] / "sandbox" / "faults" / "scenes"


def test_a_story_is_the_same_with_every_event_twice_and_with_two_swapped() -> None:
    """The alarm and the one that rings with it come in either order. More stories: `make faults`."""
    scenario = load(SCENES / "index.yaml")
    outcome, events = in_order(scenario)
    usual = told(outcome)
    near = near_pairs(events)

    assert usual["heads"] == 1
    assert len(near) >= 2
    assert told(doubled(scenario)) == usual
    assert told(swapped(scenario, near[1])) == usual
