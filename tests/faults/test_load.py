"""The load that the built functions stand, and how it is judged. `make load-quick` plays it."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from scripts.load import ALARMS_A_MINUTE, JUNK_A_SECOND, Handled, Storm, flood, judged_flood, judged_storm, storm
from scripts.load_events import SIGNING_SECRET, alarm, genuine, junk
from scripts.runtime_api import Answer, Failed, Replied
from unthrottle.alarms import Firing, read
from unthrottle.slack_front import Rejected, receive


def handled(answer: Answer, *, kind: str = "alarm", took_s: float = 0.1) -> Handled:
    return Handled(kind=kind, answer=answer, took_s=took_s, tries=1)


def measured(*found: Handled, **changes: Any) -> Storm:
    return Storm(handled=found, seconds=1, **{"before_mb": 100, "after_mb": 101, "has_told_a_secret": False, **changes})


def took(result: str) -> Replied:
    return Replied(payload={"alarms": [{"result": result, "incident_id": "INC-1"}]})


def cloud(started: int = 1, stored: int = 1) -> Any:
    return SimpleNamespace(started={str(number) for number in range(started)}, open_incidents=lambda: stored)


def test_a_storm_is_a_thousand_genuine_alarms_a_minute_and_some_of_them_twice() -> None:
    jobs = list(storm(60))
    assert len(jobs) == ALARMS_A_MINUTE * 1.1
    assert max(job.due for job in jobs) < 60
    subjects = {read(alarm(number, datetime.now(UTC)))[0].trigger.subjects for number in range(120)}  # type: ignore[union-attr]
    assert len(subjects) == 60
    assert all(isinstance(one, Firing) for one in read(jobs[0].event()))


def test_a_flood_is_junk_that_nobody_lets_in_with_a_genuine_request_every_second() -> None:
    jobs = list(flood(3, "http://127.0.0.1:9/"))
    assert [job.kind for job in jobs].count("genuine") == 3
    assert [job.kind for job in jobs].count("junk") == 3 * JUNK_A_SECOND
    now = datetime.now(UTC)
    assert all(isinstance(receive(junk(number), [SIGNING_SECRET], now), Rejected) for number in range(20))
    assert not any(isinstance(receive(genuine(number, ""), [SIGNING_SECRET], now), Rejected) for number in range(3))


@pytest.mark.parametrize(
    ("found", "in_cloud", "wrong"),
    [
        (measured(handled(took("opened"))), cloud(), []),
        (
            measured(handled(took("opened")), handled(Failed(kind="TryAgain", message=""))),
            cloud(),
            ["1 alarms were lost"],
        ),
        (measured(handled(took("opened")), handled(took("not-mine"))), cloud(), ["1 alarms were lost"]),
        (measured(handled(took("opened"))), cloud(started=0), ["1 opened, 1 in the table, 0 started"]),
        (measured(handled(took("opened")), after_mb=130), cloud(), ["memory went from 100 to 130 MB"]),
        (measured(handled(took("opened")), has_told_a_secret=True), cloud(), ["a secret is in the log"]),
    ],
)
def test_an_alarm_that_became_no_incident_is_lost(found: Storm, in_cloud: Any, wrong: list[str]) -> None:
    assert judged_storm(found, in_cloud)[1] == wrong


@pytest.mark.parametrize(
    ("one", "wrong"),
    [
        (handled(Replied(payload={"statusCode": 200}), kind="genuine"), []),
        (
            handled(Replied(payload={"statusCode": 200}), kind="genuine", took_s=3),
            ["1 genuine requests waited three seconds or longer"],
        ),
        (handled(Replied(payload={"statusCode": 503}), kind="genuine"), ["1 genuine requests were not answered"]),
        (handled(Failed(kind="E", message=""), kind="genuine"), ["1 genuine requests were not answered"]),
    ],
)
def test_a_person_who_waits_three_seconds_has_waited_in_vain(one: Handled, wrong: list[str]) -> None:
    assert judged_flood(measured(one))[1] == wrong


def test_junk_that_is_let_in_is_told() -> None:
    person = handled(Replied(payload={"statusCode": 200}), kind="genuine")
    stranger = handled(Replied(payload={"statusCode": 200}), kind="junk")
    assert judged_flood(measured(person, stranger))[1] == ["1 junk requests were not refused"]
