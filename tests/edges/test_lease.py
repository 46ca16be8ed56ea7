"""A lease from its beginning to its end, on simulated time: what is given back when, and what a person's word changes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

import pytest

from sandbox.engine.simulated import SimulatedService
from sandbox.memory_incidents import MemoryIncidents
from tests.unit.fakes import MINUTE, NOW, FakeAccounts, FakeActor, FakePager, StillClock, incident
from tests.unit.made_changes import CAP, OTHER
from unthrottle import desk
from unthrottle.answers import Answer, Do, write_answer
from unthrottle.desk import Desk
from unthrottle.errors import NotFound, Refused, TryAgain
from unthrottle.evidence.table import Billing, Capacity, TableSettings
from unthrottle.incident import AppliedChange, Incident, Outcome, Status, Wish
from unthrottle.lease import hold
from unthrottle.plan import Action, CapConcurrency, Plan, RaiseCapacity, SavedTable, SwitchToOnDemand
from unthrottle.ports import Opened, Ports, Run
from unthrottle.pressure import Pressure
from unthrottle.report.moments import Step
from unthrottle.settings import Mode, Settings
from unthrottle.verification import Judgement

HOUR = timedelta(hours=1)
SETTINGS = Settings(mode=Mode.AUTO, cap_lease_minutes=90)


def applied(*changes: CapConcurrency, minutes: int | None = 60, outcome: Outcome = Outcome.RECOVERED) -> Incident:
    made = changes or (CAP,)
    return incident(
        status=Status.APPLIED,
        outcome=outcome,
        plan=Plan(action=Action.CAP_CONCURRENCY, why="because", changes=made, lease_minutes=minutes),
        applied=tuple(AppliedChange(change=change, at=NOW) for change in made),
        acted_at=NOW,
    )


class Lease:
    """One incident whose change is in force. `needed`: what is seen at the end of each lease; the last one goes on."""

    def __init__(self, found: Incident, *, needed: Sequence[bool] = (False,), actor: FakeActor | None = None) -> None:
        self.found, self.needed = found, list(needed)
        self.actor = actor or FakeActor(reservations={made.change.target: 250 for made in found.applied})
        self.clock, self.pager, self.incidents = StillClock(), FakePager(), MemoryIncidents()
        self.symptom = Outcome.NOT_RECOVERED
        assert isinstance(self.incidents.open_or_join(found, "k"), Opened)
        self.said: dict[datetime, Do | Wish] = {}
        self.minutes = 60
        self.due: list[datetime] = []
        self.told: dict[tuple[Step, str], None] = {}
        self.read_since: set[datetime] = set()

    def play(self, patch: pytest.MonkeyPatch) -> Incident:
        """Run to the end. `said` is answered, or left as a wish, at the first waking at or after its time."""
        patch.setattr(desk, "pressure_on", self._pressure)
        patch.setattr(desk, "judge_symptom", self._judged)
        patch.setattr(Desk, "tell", self._tell)
        ports = Ports(
            accounts=FakeAccounts(actor=self.actor),
            incidents=self.incidents,
            backfills=None,
            chat=None,
            pager=self.pager,
            clock=self.clock,
        )

        def workflow(run: Run, _event: dict[str, object]) -> object:
            return hold(Desk(run, ports, SETTINGS, None), SETTINGS, self.found).id

        service = SimulatedService(workflow, clock=self.clock.now)
        service.start("x", "{}", NOW)
        for _ in range(400):
            due = service.next_due()
            if due is None:
                break
            spoken = [at for at in self.said if at < due]
            if spoken:
                self.clock.time = max(min(spoken), self.clock.time)
                self._say(service, self.said.pop(min(spoken)))
                continue
            self.clock.time = max(due, self.clock.time)
            self.due.append(self.clock.time)
            service.run_due(self.clock.time)
        assert [ending.error for ending in service.endings] == [None]
        return self.record()

    def record(self) -> Incident:
        found = self.incidents.load(self.found.id)
        assert found is not None
        return found

    def _say(self, service: SimulatedService, word: Do | Wish) -> None:
        if isinstance(word, Wish):
            assert self.incidents.wish(self.found.id, word)
            return
        question = self.record().question
        assert question is not None
        text = write_answer(Answer(do=word, by="U0OPS", minutes=self.minutes))
        service.answer(question.callback, text, self.clock.time)

    def _pressure(self, *_: object) -> Pressure:
        is_needed = self.needed.pop(0) if len(self.needed) > 1 else self.needed[0]
        return Pressure(is_gone=not is_needed, because="it holds its cap" if is_needed else "it is quiet")

    def _tell(self, found: Incident, step: Step, detail: str = "") -> Incident:
        self.told[step, detail] = None  # once, however often the workflow is resumed
        return found

    def _judged(self, *_: object, since: datetime, **__: object) -> Judgement:
        self.read_since.add(since)
        return Judgement(outcome=self.symptom, because="read again")


def events(found: Incident) -> list[str]:
    return [moment.event for moment in found.timeline if not moment.event.startswith(("report.", "incident."))]


@pytest.mark.parametrize(("minutes", "lasts"), [(60, 60), (None, 90)], ids=["the plan's", "the setting's"])
def test_what_is_not_needed_any_more_is_given_back_at_the_end_of_its_lease(
    monkeypatch: pytest.MonkeyPatch, minutes: int | None, lasts: int
) -> None:
    lease = Lease(applied(minutes=minutes))
    found = lease.play(monkeypatch)

    assert lease.actor.reservations == {}
    assert (found.status, found.reverted_at, found.closed_at) == (Status.REVERTED, *[NOW + lasts * MINUTE] * 2)
    assert found.renewals == 0


def test_what_is_still_needed_is_renewed_for_another_lease_and_the_record_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Lease(applied(), needed=[True, True, False]).play(monkeypatch)

    assert (found.renewals, found.closed_at) == (2, NOW + 3 * HOUR)
    renewed = [moment for moment in found.timeline if moment.event == "lease.renewed"]
    assert [(moment.at, moment.detail) for moment in renewed] == [
        (NOW + HOUR, "it holds its cap"),
        (NOW + 2 * HOUR, "it holds its cap"),
    ]


def test_after_twelve_leases_a_person_has_to_decide_and_the_change_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(applied(), needed=[True])
    found = lease.play(monkeypatch)

    assert (found.status, found.closed_at) == (Status.KEPT, NOW + 12 * HOUR)
    assert lease.actor.reservations == {"hog": 250}
    assert "renewed 11 times and is still needed" in lease.pager.pages[0][1]
    assert (found.renewals, events(found).count("lease.renewed")) == (11, 11)


def test_the_day_a_person_gave_is_no_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(applied(), needed=[True])
    lease.said = {NOW + 10 * MINUTE: "keep-24h"}
    found = lease.play(monkeypatch)

    assert (found.status, found.renewals) == (Status.KEPT, 11)
    assert found.closed_at == NOW + 10 * MINUTE + 24 * HOUR + 11 * HOUR


def test_changes_are_given_back_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(applied(CAP, OTHER))
    lease.play(monkeypatch)
    assert lease.actor.made == ["reserve other None", "reserve hog None"]


@pytest.mark.parametrize(
    ("do", "status", "reservations", "closed"),
    [
        ("keep", Status.KEPT, {"hog": 250}, NOW + 10 * MINUTE),
        ("revert", Status.REVERTED, {}, NOW + 10 * MINUTE),
        ("keep-24h", Status.REVERTED, {}, NOW + 10 * MINUTE + 24 * HOUR),
    ],
)
def test_a_persons_word_is_done_at_once(
    monkeypatch: pytest.MonkeyPatch, do: Do, status: Status, reservations: dict[str, int], closed: datetime
) -> None:
    lease = Lease(applied())
    lease.said = {NOW + 10 * MINUTE: do}
    found = lease.play(monkeypatch)

    assert (found.status, found.closed_at) == (status, closed)
    assert lease.actor.reservations == reservations
    assert (found.decided_because == "asked by U0OPS") is (do == "revert")
    assert ("lease.extended" in events(found)) is (do == "keep-24h")


@pytest.mark.parametrize(
    ("held", "status"),
    [({"hog": 99}, Status.KEPT), ({"hog": 250, "other": 99}, Status.REVERTED)],
    ids=["none is left", "one is left"],
)
def test_a_lease_of_which_nothing_is_left_is_not_renewed(
    monkeypatch: pytest.MonkeyPatch, held: dict[str, int], status: Status
) -> None:
    """Somebody changed what was set; while one change stands, it is held for what it is needed for."""
    changes = (CAP,) if len(held) == 1 else (CAP, OTHER)
    lease = Lease(applied(*changes), needed=[True, False], actor=FakeActor(reservations=dict(held)))
    found = lease.play(monkeypatch)

    assert (found.status, found.closed_at) == (status, NOW + len(held) * HOUR)
    assert found.renewals == len(held) - 1
    assert 99 in lease.actor.reservations.values()
    drifted = [moment.detail for moment in found.timeline if moment.event == "lease.drifted"]
    assert drifted == (["reserved concurrency of hog is 99, not our 250"] if len(held) == 1 else [])
    assert any("Somebody changed hog during the lease" in text for _, text in lease.pager.pages) is (len(held) == 1)


def busy(times: int) -> FakeActor:
    return FakeActor(reservations={"hog": 250}, said={"set_reserved": [Refused("no", code="X")] * times})


@pytest.mark.parametrize(
    ("times", "after", "pages"),
    [
        pytest.param(1, 5 * MINUTE, 0, id="once"),
        pytest.param(12, HOUR, 0, id="for an hour"),
        pytest.param(13, HOUR + 30 * MINUTE, 1, id="longer than an hour"),
        pytest.param(63, HOUR + 51 * 30 * MINUTE, 1, id="until the next day's budget"),
    ],
)
def test_a_give_back_that_is_refused_is_tried_every_five_minutes_for_an_hour_then_every_half_hour(
    monkeypatch: pytest.MonkeyPatch, times: int, after: timedelta, pages: int
) -> None:
    lease = Lease(applied(), actor=busy(times))
    found = lease.play(monkeypatch)

    assert (found.status, found.closed_at) == (Status.REVERTED, NOW + HOUR + after)
    assert len(lease.pager.pages) == pages
    assert events(found).count("lease.give-back-later") == 1
    assert [step for step, _ in lease.told] == [Step.APPLIED, Step.WAITING, Step.REVERTED]


def test_a_give_back_that_is_never_possible_ends_with_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 tries; then the change stays, and a person reads that nobody tries again."""
    lease = Lease(applied(), actor=busy(200))
    found = lease.play(monkeypatch)

    assert (found.status, lease.actor.reservations) == (Status.KEPT, {"hog": 250})
    assert len(lease.actor.said["set_reserved"]) == 200 - 64
    assert "for an hour" in lease.pager.pages[0][1]
    assert "will not try again" in lease.pager.pages[1][1]
    assert [step for step, _ in lease.told] == [Step.APPLIED, Step.WAITING, Step.DRIFTED]
    assert (Step.DRIFTED, "no. It was left as it is.") in lease.told


def test_whoever_says_keep_while_a_give_back_waits_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(applied(), actor=busy(3))
    lease.said = {NOW + HOUR + 2 * MINUTE: Wish(do="keep", by="U0OPS", at=NOW + HOUR + 2 * MINUTE)}
    found = lease.play(monkeypatch)

    assert (found.status, found.closed_at) == (Status.KEPT, NOW + HOUR + 5 * MINUTE)
    assert lease.actor.reservations == {"hog": 250}


def test_an_answer_that_was_cut_off_after_the_give_back_still_counts_as_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was in force just before, and is back just after: that was us."""

    class CutOff(FakeActor):
        def set_reserved(self, function: str, value: int | None) -> None:
            if function in self.reservations:
                del self.reservations[function]
                raise TryAgain("the answer was cut off")

    lease = Lease(applied(), actor=CutOff(reservations={"hog": 250}))
    assert lease.play(monkeypatch).status is Status.REVERTED

    theirs = Lease(applied(), actor=FakeActor())
    assert theirs.play(monkeypatch).status is Status.KEPT


@pytest.mark.parametrize(
    ("symptom", "pages"), [(Outcome.NOT_RECOVERED, 1), (Outcome.RECOVERED, 0)], ids=["it goes on", "it is over"]
)
def test_a_snooze_of_a_change_that_did_not_help_is_followed_by_one_reminder(
    monkeypatch: pytest.MonkeyPatch, symptom: Outcome, pages: int
) -> None:
    """The lease ends as before."""
    lease = Lease(applied(minutes=120, outcome=Outcome.NOT_RECOVERED))
    lease.symptom = symptom
    lease.said = {NOW + 10 * MINUTE: "snooze"}
    found = lease.play(monkeypatch)

    assert found.closed_at == NOW + 120 * MINUTE
    assert NOW + 70 * MINUTE in lease.due
    assert lease.read_since == {NOW + 63 * MINUTE}
    assert sum("The snooze has ended" in text for _, text in lease.pager.pages) == pages
    assert (found.outcome is Outcome.RECOVERED) is (pages == 0)


def test_a_snooze_longer_than_what_is_left_of_the_lease_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(applied(minutes=60, outcome=Outcome.NOT_RECOVERED))
    lease.minutes = 240
    lease.said = {NOW + 10 * MINUTE: "snooze"}
    found = lease.play(monkeypatch)

    assert (found.status, found.closed_at) == (Status.REVERTED, NOW + 60 * MINUTE)
    assert not any("The snooze has ended" in text for _, text in lease.pager.pages)


@pytest.mark.parametrize(("minutes", "pages"), [(49, 1), (50, 0)], ids=["a minute is left", "nothing is left"])
def test_who_is_reminded_has_at_least_a_minute_of_the_lease_left(
    monkeypatch: pytest.MonkeyPatch, minutes: int, pages: int
) -> None:
    lease = Lease(applied(minutes=60, outcome=Outcome.NOT_RECOVERED))
    lease.minutes = minutes
    lease.said = {NOW + 10 * MINUTE: "snooze"}
    lease.play(monkeypatch)
    assert sum("The snooze has ended" in text for _, text in lease.pager.pages) == pages


@pytest.mark.parametrize(
    ("do", "status", "because"),
    [("keep", Status.KEPT, ""), ("revert", Status.REVERTED, "asked by U0TWO"), ("snooze", Status.REVERTED, "")],
)
def test_what_a_person_left_word_of_is_done_at_the_end_of_the_lease(
    monkeypatch: pytest.MonkeyPatch, do: Literal["keep", "revert", "snooze"], status: Status, because: str
) -> None:
    """A snooze is no word about the change."""
    lease = Lease(applied())
    lease.said = {NOW + 10 * MINUTE: Wish(do=do, by="U0TWO", at=NOW + 10 * MINUTE)}
    found = lease.play(monkeypatch)
    assert (found.status, found.decided_because) == (status, because)


class Unreadable(FakeActor):
    """Its first reading is refused."""

    def reserved(self, function: str) -> int | None:
        if "read" not in self.made:
            self.made.append("read")
            raise Refused("no", code="X")
        return FakeActor.reserved(self, function)


def test_what_cannot_be_read_counts_as_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is still needed, the change is held."""
    lease = Lease(applied(), needed=[True, False], actor=Unreadable(reservations={"hog": 250}))
    found = lease.play(monkeypatch)
    assert (found.status, found.renewals) == (Status.REVERTED, 1)


def test_what_is_found_back_is_not_claimed_where_nobody_could_see_it_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Lease(applied(), actor=Unreadable()).play(monkeypatch).status is Status.KEPT


# --- what is not there any more ------------------------------------------------------------------------------------------


class Deleted(FakeActor):
    """The function or table is deleted by a deployment at this time."""

    clock: StillClock
    at: datetime

    def reserved(self, function: str) -> int | None:
        self._is_there()
        return FakeActor.reserved(self, function)

    def table(self, name: str) -> TableSettings:
        self._is_there()
        return FakeActor.table(self, name)

    def _is_there(self) -> None:
        if self.clock.time >= self.at:
            raise NotFound("no such thing", code="ResourceNotFoundException")


def deleted(lease: Lease, at: datetime) -> Lease:
    actor = Deleted(reservations=lease.actor.reservations, tables=lease.actor.tables)
    actor.clock, actor.at = lease.clock, at
    lease.actor = actor
    return lease


def test_a_function_that_is_gone_is_given_back_to_nobody_and_its_pool_is_free_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Trying for a day would hold the pool's incident open, and the other caps of it."""
    lease = deleted(Lease(applied()), NOW + 10 * MINUTE)
    found = lease.play(monkeypatch)

    assert (found.status, found.closed_at) == (Status.KEPT, NOW + HOUR)
    assert (Step.DRIFTED, "hog is not there any more (ResourceNotFoundException). It was left as it is.") in lease.told


RAISED = RaiseCapacity(
    table="dagy-runs",
    arn="arn:table",
    before=SavedTable(capacity=Capacity(read=5, write=10)),
    after=SavedTable(capacity=Capacity(read=5, write=26)),
)
ON_DEMAND = SwitchToOnDemand(table="dagy-runs", arn="arn:table", before=RAISED.before, hourly_cost=1.0)
TABLE = TableSettings(
    name="dagy-runs", arn="arn:table", status="ACTIVE", billing=Billing.PROVISIONED, capacity=RAISED.after.capacity
)


@pytest.mark.parametrize(
    ("change", "billing"), [(RAISED, Billing.PROVISIONED), (ON_DEMAND, Billing.ON_DEMAND)], ids=["raised", "on-demand"]
)
def test_the_lease_of_a_deleted_table_is_not_renewed(
    monkeypatch: pytest.MonkeyPatch, change: RaiseCapacity | SwitchToOnDemand, billing: Billing
) -> None:
    """Its pressure cannot be read any more, which else counts as still there."""
    plan = Plan(action=Action.RAISE_CAPACITY, why="because", changes=(change,), lease_minutes=60)
    made = replace(applied(), plan=plan, applied=(AppliedChange(change=change, at=NOW),))
    held = Lease(
        made, needed=[True, True, False], actor=FakeActor(tables={"dagy-runs": replace(TABLE, billing=billing)})
    )
    gone = deleted(Lease(made, needed=[True], actor=held.actor), NOW + HOUR)

    assert held.play(monkeypatch).renewals == 2
    found = gone.play(monkeypatch)
    assert (found.status, found.renewals, found.closed_at) == (Status.KEPT, 0, NOW + HOUR)


# --- who spoke last ------------------------------------------------------------------------------------------------------


class Answering(Lease):
    """Somebody answers the question, and somebody else wishes before the workflow has woken."""

    def _say(self, service: SimulatedService, word: Do | Wish) -> None:
        super()._say(service, word)
        if not isinstance(word, Wish):
            self.clock.time += timedelta(seconds=2)
            assert self.incidents.wish(self.found.id, Wish(do="revert", by="U0TWO", at=self.clock.time))


def test_a_revert_said_after_a_keep_that_was_not_done_yet_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was told that it is taken is heard; who spoke before is named."""
    lease = Answering(applied())
    lease.said = {NOW + 10 * MINUTE: "keep"}
    found = lease.play(monkeypatch)

    assert (found.status, lease.actor.reservations) == (Status.REVERTED, {})
    assert "U0TWO" in found.decided_because
    assert "U0OPS had said keep just before" in found.decided_because


def test_a_wish_from_before_the_question_is_older_than_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was said while the change was verified."""
    lease = Lease(applied())
    assert lease.incidents.wish(lease.found.id, Wish(do="revert", by="U0TWO", at=NOW - MINUTE))
    lease.said = {NOW + 10 * MINUTE: "keep"}
    found = lease.play(monkeypatch)
    assert (found.status, lease.actor.reservations) == (Status.KEPT, {"hog": 250})
