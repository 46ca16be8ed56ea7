"""In which order the sweep does its work, and that lines and traces of what is done for an incident bear its id."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from sandbox.memory_incidents import MemoryIncidents
from sandbox.slack_people import SlackPeople
from tests.unit.fakes import (
    ACCOUNT,
    MINUTE,
    NOW,
    REGION,
    FakeAccounts,
    FakeAlarms,
    FakePager,
    FakeStarter,
    StillClock,
    incident,
    observer,
)
from unthrottle.entry import slack as slack_entry
from unthrottle.entry import sweep as sweep_entry
from unthrottle.entry.slack import SlackDoor
from unthrottle.entry.sweep import Sweep
from unthrottle.errors import TryAgain
from unthrottle.incident import Incident, Question
from unthrottle.ports import Opened, Ports
from unthrottle.settings import Settings

SECRET = "a-signing-secret-for-tests"
PEOPLE = SlackPeople(secret=SECRET)
MANY = tuple((f"{number:012d}", REGION) for number in range(20))


class Lines:
    """Stands for Powertools: which ids a line would bear that is written now, and what each part of a trace was given."""

    def __init__(self, patch: pytest.MonkeyPatch, entry: ModuleType) -> None:
        self.now: list[str] = []
        self.traces: list[tuple[str, dict[str, str]]] = []
        patch.setattr(entry, "every_line_with", self._every_line_with)
        patch.setattr(entry, "traced", self._traced)

    @contextmanager
    def _every_line_with(self, *, incident_id: str) -> Iterator[None]:
        self.now.append(incident_id)
        yield
        self.now.pop()

    @contextmanager
    def _traced(self, name: str) -> Iterator[dict[str, str]]:
        annotations: dict[str, str] = {}
        self.traces.append((name, annotations))
        yield annotations


class Starter(FakeStarter):
    """Remembers which ids the lines would have borne when it was called; `error` is raised by `start`."""

    def __init__(self, lines: Lines | None = None, error: TryAgain | None = None) -> None:
        super().__init__()
        self.lines, self.error = lines, error
        self.borne: list[list[str]] = []

    def start(self, incident_id: str) -> None:
        self.borne.append(list(self.lines.now) if self.lines else [])
        if self.error is not None:
            raise self.error
        super().start(incident_id)

    def answer(self, callback: str, text: str) -> bool:
        self.borne.append(list(self.lines.now) if self.lines else [])
        return super().answer(callback, text)


def wired(*found: Incident, starter: FakeStarter, alarms: Any = None, places: Any = ((ACCOUNT, REGION),)) -> Any:
    incidents, accounts, clock = MemoryIncidents(), FakeAccounts(observer(alarms=alarms)), StillClock(NOW)
    for number, one in enumerate(found):
        assert isinstance(incidents.open_or_join(one, f"k{number}"), Opened)
    pager = FakePager()
    secrets = {"signing_secret": SECRET}
    return SimpleNamespace(
        clock=clock,
        incidents=incidents,
        accounts=accounts,
        starter=starter,
        pager=pager,
        chat=None,
        places=places,
        ports=Ports(
            accounts=cast("Any", accounts),
            incidents=cast("Any", incidents),
            backfills=None,
            chat=None,
            pager=pager,
            clock=clock,
        ),
        settings=Settings(operators=("U0OPS",), slack_channel="C0OPS"),
        deployment=SimpleNamespace(stack="prod", account=ACCOUNT, region=REGION, audit_function=""),
        secrets=SimpleNamespace(field=lambda _arn, name, default="": secrets.get(name, default)),
        slack_light=SimpleNamespace(members=lambda _: frozenset(), publish=None, reply=lambda *_: None),
    )


def silent(number: int) -> Incident:
    """An incident whose workflow has not written for hours: the sweep starts it again."""
    plain = incident(opened_at=NOW - 20 * MINUTE)
    return replace(plain, id=f"INC-TEST000{number}", fingerprint=f"{plain.fingerprint}/{number}")


class Unlucky(FakeAlarms):
    """Alarms at which the whole look fails, in a way nobody has thought of."""

    def firing(self) -> tuple[()]:
        raise KeyError("ours")


def test_what_is_stuck_and_the_figures_are_told_before_any_place_is_looked_at(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    stuck = replace(silent(1), opened_at=NOW - 300 * MINUTE, escalated=True)
    starter = Starter()
    house = wired(stuck, silent(2), starter=starter, alarms=Unlucky({}))
    with caplog.at_level(logging.WARNING, "unthrottle"), pytest.raises(KeyError, match="ours"):
        Sweep(house).handle({})
    assert starter.started == ["INC-TEST0002"]
    assert [record.incidents for record in caplog.records if record.message == "incidents.stuck"] == [["INC-TEST0001"]]  # type: ignore[attr-defined]
    assert json.loads(capsys.readouterr().out)["UnreportedSteps"] == [0]


@pytest.mark.parametrize(("remaining_ms", "late"), [(240_000, 0), (61_000, 0), (60_000, 20), (0, 20)])
def test_the_sweep_looks_at_places_until_a_minute_before_its_end_and_counts_the_others(
    remaining_ms: int, late: int
) -> None:
    house = wired(starter=Starter(), alarms=FakeAlarms({}), places=MANY)
    answer = Sweep(house).handle({}, SimpleNamespace(get_remaining_time_in_millis=lambda: remaining_ms))
    assert (answer["not_looked_at"], len(house.accounts.asked)) == (late, 20 - late)


def test_each_incidents_lines_bear_its_id_while_the_sweep_is_at_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lines = Lines(monkeypatch, sweep_entry)
    starter = Starter(lines, error=TryAgain("busy"))
    house = wired(silent(1), silent(2), starter=starter, alarms=FakeAlarms({}))
    with pytest.raises(TryAgain, match="Could not read or write 2 incidents"):
        Sweep(house).handle({})
    ids = ["INC-TEST0001", "INC-TEST0002"]
    assert starter.borne == [[one] for one in ids]
    assert lines.now == []
    assert lines.traces == [("sweep", {}), *(("sweep-incident", {"incident_id": one}) for one in ids)]


def waiting() -> Incident:
    expires = NOW + 30 * MINUTE
    return incident(question=Question(about="approval", callback="c", version=1, expires_at=expires))


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(PEOPLE.click("U0OPS", "approve", "INC-TEST0001:1", NOW, message_ts="1.0"), id="a click"),
        pytest.param(PEOPLE.say("U0OPS", "/unthrottle snooze INC-TEST0001", NOW), id="a command"),
    ],
)
def test_what_a_person_asks_of_an_incident_is_logged_and_traced_under_its_id(
    monkeypatch: pytest.MonkeyPatch, event: object
) -> None:
    lines = Lines(monkeypatch, slack_entry)
    starter = Starter(lines)
    answer = SlackDoor(wired(waiting(), starter=starter)).handle(event)
    assert answer["statusCode"] == 200
    assert starter.borne == [["INC-TEST0001"]]
    assert lines.traces == [("slack", {"incident_id": "INC-TEST0001"})]
    assert lines.now == []


def test_a_look_that_a_person_asks_for_is_logged_under_the_incident_it_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Lines(monkeypatch, slack_entry)
    starter = Starter(lines)
    house = wired(starter=starter)
    known = SimpleNamespace(describe=lambda name: SimpleNamespace(name=name))
    accounts = FakeAccounts(replace(observer(), tables=cast("Any", known)))
    monkeypatch.setattr(slack_entry, "LateAccounts", lambda _wired: accounts)
    SlackDoor(house).handle(PEOPLE.say("U0OPS", "/unthrottle check dagy-runs", NOW))
    assert starter.borne == [[one.id] for one in house.incidents.open_incidents()] != []


def test_what_is_about_no_incident_bears_none(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Lines(monkeypatch, slack_entry)
    said = SlackDoor(wired(starter=Starter())).handle(PEOPLE.say("U0OPS", "/unthrottle status", NOW))
    assert "No open incident" in said["body"]
    assert lines.traces == [("slack", {})]
