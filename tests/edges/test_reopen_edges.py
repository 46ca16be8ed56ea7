"""What the sweep need not read while somebody is at work on what rings, and what it had no time for within an hour."""

from datetime import datetime
from itertools import count
from threading import current_thread, main_thread

import pytest

from tests.safety.test_reopen import Night, Ringing, alarm
from tests.unit.fakes import NOW, REGION, FakeAccounts, incident, observer
from unthrottle.reopen import Place, reopen
from unthrottle.rounds import in_turn
from unthrottle.sweep import SWEEP_EVERY


@pytest.mark.parametrize("is_at_work", [True, False])
def test_the_closed_incidents_are_read_only_where_an_open_one_does_not_answer_the_alarm(
    monkeypatch: pytest.MonkeyPatch, *, is_at_work: bool
) -> None:
    """An alarm rings for as long as its lease runs, and the sweep comes every five minutes."""
    night = Night(alarm(), known=incident() if is_at_work else None)
    reads: list[object] = []
    recent = night.incidents.recent

    def counted(limit: int, *, since: datetime | None = None) -> object:
        reads.append(limit)
        return recent(limit, since=since)

    monkeypatch.setattr(night.incidents, "recent", counted)
    assert night.sweep() == (() if is_at_work else ("INC-1",))
    assert len(reads) == (not is_at_work)


def test_a_place_whose_last_turn_was_an_hour_ago_is_told() -> None:
    """Of forty, one has its turn in each run. Twelve had theirs within the hour; the next one had it in the run before."""
    places = [Place(account=f"{number:012d}", region=REGION) for number in range(40)]
    turns = [in_turn(places, NOW - back * SWEEP_EVERY, SWEEP_EVERY)[0] for back in range(13)]
    looks = count()

    def left() -> float:
        """Time for a single look; whoever waits for it has more."""
        return 5.0 if current_thread() is main_thread() or next(looks) == 0 else 0.0

    told: dict[Place, str] = {}
    late: list[Place] = []
    reopen(
        FakeAccounts(observer(alarms=Ringing())),
        Night().incidents,
        places,
        NOW,
        lambda _: (),
        still_open=(),
        unreadable=told.setdefault,
        not_looked_at=late.append,
        left=left,
    )
    assert len(late) == 39
    assert turns[12] not in turns[:12]
    assert set(told) == {place for place in late if place not in turns[:12]}
