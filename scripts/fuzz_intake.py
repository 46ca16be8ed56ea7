"""May an event make the intake do what nobody asked for? The built function's entry, with what it talks to in memory.

The promises: no exception at all, nothing started but incidents that were opened in a place that is looked after, the same
event twice opens nothing more, bounded words. Knows nothing of how the bytes came to be.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from sandbox.memory_incidents import MemoryIncidents
from unthrottle.entry.intake import Intake
from unthrottle.errors import NotAllowed
from unthrottle.settings import Settings
from unthrottle.subjects import FunctionSubject, is_own

NOW = datetime(2026, 8, 24, 4, 33, tzinfo=UTC)
HOME, MEMBER, REGION, STACK = "111122223333", "444455556666", "eu-west-1", "unthrottle"
SAID_AT_MOST = 20_000
RESULTS = frozenset({"opened", "joined", "duplicate", "not-mine"})


class BrokenIntakeError(AssertionError):
    """An event brought about what none may."""


class House:
    """What the intake talks to: an empty table, a clock that stands still, a starter that remembers, alarms as they are."""

    def __init__(self) -> None:
        self.incidents = MemoryIncidents()
        self.started: list[str] = []
        self.asked: list[tuple[str, str]] = []

    def wired(self) -> Any:
        return SimpleNamespace(
            incidents=self.incidents,
            starter=self,
            clock=SimpleNamespace(now=lambda: NOW),
            settings=Settings(member_accounts=(MEMBER,)),
            deployment=SimpleNamespace(account=HOME, region=REGION, stack=STACK),
            accounts=SimpleNamespace(observe=self._observe),
        )

    def start(self, incident_id: str) -> None:
        """The `Starter` port."""
        self.started.append(incident_id)

    def _observe(self, account: str, region: str, _name: str) -> Any:
        self.asked.append((account, region))
        return SimpleNamespace(alarms=self)

    def metrics_of(self, names: Sequence[str]) -> list[dict[str, object]]:
        """The `Alarms` port: half of all names are of an alarm on a function, the others nobody may read."""
        if sum(map(len, names)) % 2:
            raise NotAllowed(
                "Could not read 1 alarms: AWS said AccessDenied. Nothing was changed.", code="AccessDenied"
            )
        metric = {"namespace": "AWS/Lambda", "name": "Throttles", "dimensions": {"FunctionName": "svc"}}
        return [{"metricStat": {"metric": metric}}]


def event(data: bytes) -> None:
    """Give an event to the intake, twice, as any event may come; judge what it did."""
    try:
        given: Any = json.loads(data)
    except (ValueError, RecursionError):
        given = data.decode("utf-8", "replace")
    house = House()
    intake = Intake(cast("Any", house.wired()))
    answers = intake.handle(given)["alarms"]
    _judged(house, answers)
    before = dict.fromkeys(house.started)
    again = intake.handle(given)["alarms"]
    _check(dict.fromkeys(house.started) == before, "the same event again opened something else")
    _check(all(one["result"] != "opened" for one in again), "the same event again opened something")


def _judged(house: House, answers: Sequence[Any]) -> None:
    ids = [str(one["incident_id"]) for one in answers if "incident_id" in one]
    _check(house.started == ids, "something was started that no answer names")
    _check(all(one["result"] in RESULTS for one in answers), "an answer of no kind")
    _check(len(json.dumps(answers)) < SAID_AT_MOST * max(1, len(answers)), "an answer without end")
    _check(all(account in {HOME, MEMBER} for account, _ in house.asked), "an account was looked into that is not ours")
    for incident_id in set(ids):
        incident = house.incidents.load(incident_id)
        _check(incident is not None, "an incident was started that is not there")
        if incident is None:
            return
        subject = incident.subject
        _check(incident.account in {HOME, MEMBER}, "an incident of an account that is not ours")
        _check(incident.plan is None and incident.requested_by is None, "an alarm brought a plan or a person along")
        _check(not (isinstance(subject, FunctionSubject) and is_own(subject.function, STACK)), "our own function")


def _check(is_kept: bool, promise: str) -> None:  # noqa: FBT001  the first word of a sentence
    if not is_kept:
        raise BrokenIntakeError(promise)
