"""Random incidents are the same for the same seed, cover every cause, and are diagnosed rightly without a wrong action."""

from collections import Counter

import pytest

from bench.accuracy import Score, add_up, score
from sandbox.generator import draw, look
from unthrottle.diagnosis import Cause

SEEDS = range(7_000, 7_060)


@pytest.fixture(scope="module")
def scored() -> list[Score]:
    return [score(seed) for seed in SEEDS]


def test_a_seed_gives_the_same_incident_to_the_letter() -> None:
    """Whoever sees a wrong answer can look at it again."""
    assert draw(7_001) == draw(7_001)
    assert look(draw(7_001)).diagnosis == look(draw(7_001)).diagnosis
    assert draw(7_001).scenario != draw(7_002).scenario


def test_every_cause_is_drawn_and_a_fifth_has_nothing_wrong() -> None:
    """Drawing alone: what is really wrong is known before anything is played."""
    causes = Counter(draw(seed).cause for seed in range(400))
    assert set(causes) == set(Cause)
    assert causes[Cause.ALREADY_OVER] >= 0.2 * 400


def test_nothing_but_what_is_wrong_is_ever_changed(scored: list[Score]) -> None:
    """No action on a victim, a bystander or a healthy account, whatever datapoints are missing."""
    assert [one.case.seed for one in scored if one.wrong_targets] == []
    assert [one.case.seed for one in scored if one.is_control and one.looked.changed] == []


def test_what_is_not_right_is_inconclusive(scored: list[Score]) -> None:
    """At most one in a hundred, and that one asks a person."""
    assert [one.case.seed for one in scored if not one.is_right and one.said is not Cause.INCONCLUSIVE] == []
    assert add_up(scored).share >= 0.99


def test_a_cause_that_is_found_is_healed_where_all_of_it_is(scored: list[Score]) -> None:
    """Several hogs are capped together: one left out would take what the others give."""
    assert [one.case.seed for one in scored if one.missed_targets] == []


def test_a_look_at_a_table_takes_at_most_eight_calls(scored: list[Score]) -> None:
    """Whatever is wrong with it, and however many indexes it has."""
    assert max(one.looked.calls for one in scored if one.case.scenario.tables) <= 8
