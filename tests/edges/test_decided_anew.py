"""What is seen while a person is asked is decided like any other look: tags, waits and ends count as at the first one."""

from dataclasses import replace
from datetime import datetime

import pytest

from sandbox.engine.simulated import SimulatedService
from sandbox.memory_incidents import MemoryIncidents
from tests.unit.fakes import (
    MINUTE,
    NOW,
    FakeAccounts,
    FakeActor,
    FakeBackfills,
    FakePager,
    StillClock,
    incident,
)
from tests.unit.made_changes import CAP, OTHER
from unthrottle import desk
from unthrottle.answers import Answer, write_answer
from unthrottle.desk import Desk
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.errors import StepFailed, TryAgain
from unthrottle.guardrails import effective_mode
from unthrottle.incident import Incident, Outcome, Status
from unthrottle.look import Seen
from unthrottle.plan import Action, CapConcurrency, Plan
from unthrottle.ports import Opened, Ports, Run
from unthrottle.report.picture import Picture
from unthrottle.settings import Mode, Settings
from unthrottle.verification import Judgement
from unthrottle.workflow import respond

SETTINGS = Settings(mode=Mode.AUTO)
DRY = {"unthrottle:mode": "dry-run"}


def capping(change: CapConcurrency) -> Plan:
    return Plan(action=Action.CAP_CONCURRENCY, why="it holds the pool", changes=(change,), lease_minutes=60)


class Warned:
    """An incident with these looks, one after the other: whether it is early still, and the plan. The last one goes on."""

    def __init__(self, *looks: tuple[bool, Plan], settings: Settings = SETTINGS) -> None:
        self.looks, self.settings = list(looks), settings
        self.actor, self.pager, self.clock = FakeActor(), FakePager(), StillClock()
        self.incidents = MemoryIncidents()
        self.answers: list[Answer] = []

    def play(self, patch: pytest.MonkeyPatch) -> Incident:
        patch.setattr(desk, "look", self._look)
        patch.setattr(
            desk, "judge_symptom", lambda *_, **__: Judgement(outcome=Outcome.RECOVERED, because="it is over")
        )
        opened = self.incidents.open_or_join(incident(early_warning=True), "k")
        assert isinstance(opened, Opened)

        def workflow(run: Run, _event: dict[str, object]) -> object:
            return respond(run, self.ports(), self.settings, None, opened.incident.id).id

        service = SimulatedService(workflow, clock=self.clock.now)
        service.start("x", "{}", NOW)
        for _ in range(300):
            due = service.next_due()
            record = self.record()
            if due is None or record.status is Status.APPLIED:
                break
            if record.question is not None and self.answers:
                service.answer(record.question.callback, write_answer(self.answers.pop(0)), self.clock.time)
                continue
            self.clock.time = max(due, self.clock.time)
            service.run_due(self.clock.time)
        assert all(ending.error is None for ending in service.endings)
        return self.record()

    def ports(self) -> Ports:
        return Ports(
            accounts=FakeAccounts(actor=self.actor),
            incidents=self.incidents,
            backfills=FakeBackfills(),
            chat=None,
            pager=self.pager,
            clock=self.clock,
        )

    def record(self) -> Incident:
        found = self.incidents.load("INC-TEST0001")
        assert found is not None
        return found

    def _look(self, _ports: Ports, settings: Settings, _prefix: str | None, found: Incident) -> Seen:
        early, plan = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        seen = replace(
            found,
            diagnosis=Diagnosis(cause=Cause.POOL_HOG, confidence=Confidence.HIGH),
            plan=plan,
            early_warning=found.early_warning and early,
            mode=effective_mode(plan, settings),
        ).told(self.clock.time, "diagnosis.made")
        return Seen(incident=seen, picture=Picture(columns=(), rows=()), at=self.clock.time)


def events(found: Incident) -> list[str]:
    return [moment.event for moment in found.timeline]


@pytest.mark.parametrize(
    ("early", "change"),
    [
        pytest.param(False, replace(OTHER, tags=DRY), id="another function holds the pool, and its owner opted out"),
        pytest.param(False, replace(CAP, tags=DRY), id="the owner opted out meanwhile"),
        pytest.param(True, replace(CAP, tags=DRY), id="the owner opted out while it was early still"),
        pytest.param(False, replace(CAP, tags=DRY, synchronous="callers wait"), id="and a guardrail would ask, too"),
    ],
)
def test_a_tag_for_dry_run_counts_also_after_an_early_warning(
    monkeypatch: pytest.MonkeyPatch, early: bool, change: CapConcurrency
) -> None:
    """Nothing is changed, and nobody is asked for a change that would not be made."""
    warned = Warned((True, capping(CAP)), (early, capping(change)))
    found = warned.play(monkeypatch)

    assert (found.status, found.mode, found.applied) == (Status.WOULD_APPLY, Mode.DRY_RUN, ())
    assert (warned.actor.made, events(found).count("approval.requested")) == ([], 1)


def test_a_tag_that_says_off_is_no_question_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    off = replace(CAP, tags={"unthrottle:mode": "off"})
    warned = Warned((True, capping(CAP)), (True, capping(off)))
    found = warned.play(monkeypatch)
    assert (found.status, warned.actor.made, warned.pager.pages) == (Status.DENIED, [], [])


def test_what_is_throttled_now_is_capped_without_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    warned = Warned((True, capping(CAP)), (False, capping(OTHER)))
    found = warned.play(monkeypatch)
    assert (found.status, warned.actor.made) == (Status.APPLIED, ["reserve other 250"])


def test_a_wait_is_waited_for_and_not_told_as_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends by itself or is handed to a person, as after any look."""
    warned = Warned((True, capping(CAP)), (False, Plan(action=Action.WAIT, why="it is scaling")))
    found = warned.play(monkeypatch)
    assert "verification.done" in events(found)
    assert found.outcome is Outcome.RECOVERED


@pytest.mark.parametrize("early", [True, False])
def test_what_ended_before_anybody_answered_is_told_once_and_closed(
    monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    warned = Warned((True, capping(CAP)), (early, Plan(action=Action.NONE, why="the pool is quiet")))
    found = warned.play(monkeypatch)
    assert (found.status, found.closed_at) == (Status.NONE, NOW + 5 * MINUTE)


def test_a_tag_set_between_the_question_and_the_yes_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was shown had no such tag; a yes is for what was shown."""
    asking = replace(CAP, synchronous="callers wait")
    warned = Warned((False, capping(asking)), (False, capping(replace(asking, tags=DRY))))
    warned.answers = [Answer(do="approve", by="U0OPS")]
    found = warned.play(monkeypatch)

    assert (found.status, warned.actor.made) == (Status.DENIED, [])
    assert found.verdict is not None
    assert found.verdict.reasons[0].guardrail == "changed-since"


@pytest.mark.parametrize("mode", [Mode.DRY_RUN, Mode.OFF])
def test_no_intent_is_recorded_in_a_mode_that_changes_nothing(mode: Mode) -> None:
    """Whoever forgets to ask for the mode comes no further than this."""
    warned, failed = Warned((False, capping(CAP))), list[str]()
    found = incident(mode=mode, plan=capping(CAP))
    warned.incidents.open_or_join(found, "k")

    def workflow(run: Run, _event: dict[str, object]) -> object:
        try:
            return Desk(run, warned.ports(), SETTINGS, None).record_intent(found).id
        except StepFailed as failure:
            failed.append(failure.code)
            return ""

    service = SimulatedService(workflow, clock=warned.clock.now)
    service.start("x", "{}", NOW)
    service.run_due(NOW)
    assert failed == ["mode"]
    assert "action.intended" not in events(warned.record())


# --- the last look before a change ---------------------------------------------------------------------------------


def test_what_a_person_set_between_the_look_and_a_pause_is_not_taken_for_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was tried yet, so what is there is theirs, even if it is the very number that was planned."""
    warned = Warned((False, capping(CAP)))

    class Paused(MemoryIncidents):
        def record_intent(self, incident: Incident, now: datetime, *, budget: int | None = None) -> Incident:
            warned.actor.reservations["hog"] = 250
            self.set_pause(NOW + 60 * MINUTE, "U0OPS")
            return super().record_intent(incident, now, budget=budget)

    warned.incidents = Paused()
    found = warned.play(monkeypatch)
    assert (found.status, found.applied) == (Status.DENIED, ())
    assert (warned.actor.reservations, warned.actor.made) == ({"hog": 250}, [])


class Lost(FakeActor):
    """The answer to its first change is lost; then the function has the reservation `then`, or what was set."""

    then: int | None = None

    def set_reserved(self, function: str, value: int | None) -> None:
        FakeActor.set_reserved(self, function, value)
        if len(self.made) == 1:
            if self.then is not None:
                self.reservations[function] = self.then
            raise TryAgain("no answer")


def test_a_second_try_goes_on_from_what_the_first_has_made(monkeypatch: pytest.MonkeyPatch) -> None:
    warned = Warned((False, capping(CAP)))
    warned.actor = Lost()
    found = warned.play(monkeypatch)
    assert (found.status, warned.actor.reservations) == (Status.APPLIED, {"hog": 250})


def test_a_second_try_does_not_overwrite_what_a_person_set_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever raised it has a reason; it is told, and left."""
    warned = Warned((False, capping(CAP)))
    actor = warned.actor = Lost()
    actor.then = 400
    found = warned.play(monkeypatch)

    assert (found.status, actor.reservations) == (Status.DENIED, {"hog": 400})
    assert found.verdict is not None
    assert found.verdict.reasons[0].guardrail == "changed-since"
    assert len(warned.pager.pages) == 1
