"""The longest pause that ends by itself, however it was asked for."""

from datetime import timedelta

import pytest

from sandbox.memory_incidents import MemoryIncidents
from tests.unit.fakes import ACCOUNT, NOW, REGION, FakeAccounts, FakeStarter, StillClock
from unthrottle.control import Control, Person
from unthrottle.settings import Settings
from unthrottle.slack_grammar import LONGEST_PAUSE, Pause


@pytest.mark.parametrize(
    ("more", "said"),
    [(timedelta(0), "Paused "), (timedelta(seconds=1), "The longest pause that ends by itself is 999h.")],
)
def test_a_pause_may_be_as_long_as_the_longest_and_no_longer(more: timedelta, said: str) -> None:
    incidents = MemoryIncidents()
    control = Control(
        incidents=incidents,
        starter=FakeStarter(),
        accounts=FakeAccounts(),
        clock=StillClock(),
        settings=Settings(operators=("U0OPS",)),
        home_account=ACCOUNT,
        home_region=REGION,
    )
    assert control.carry_out(Pause(duration=LONGEST_PAUSE + more), Person(id="U0OPS")).startswith(said)
    assert incidents.ledger(ACCOUNT, REGION, (), NOW).paused_until == (None if more else NOW + LONGEST_PAUSE)
