"""Whatever became of a workflow, its change is given back or told, and its fingerprint is free again."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from sandbox.memory_incidents import MemoryIncidents
from tests.unit.fakes import (
    MINUTE,
    NOW,
    FakeAccounts,
    FakeActor,
    FakePager,
    FakeStarter,
    StillClock,
    arn_of,
    incident,
    observer,
)
from tests.unit.made_changes import CAP
from unthrottle.errors import Conflict, NotFound, Refused, TryAgain
from unthrottle.incident import AppliedChange, Incident, Moment, Outcome, Question, Settling, Status, Wish
from unthrottle.plan import Action, CancelBackfill, Change, Plan
from unthrottle.ports import Joined, Opened, Ports
from unthrottle.sweep import Swept, sweep

CANCEL = CancelBackfill(backfill_id="bf-1", flow="f", environment="develop", table="t", table_arn="arn", resume="again")
HOUR = timedelta(hours=1)


class Night:
    """Ports with one incident in them, and what became of it."""

    def __init__(
        self, *found: Incident, actor: FakeActor | None = None, now: datetime = NOW, pager: FakePager | None = None
    ) -> None:
        self.incidents: MemoryIncidents = MemoryIncidents()
        self.starter = FakeStarter()
        self.actor = actor
        self.pager = pager or FakePager()
        self.clock = StillClock(now)
        for number, one in enumerate(found):
            assert isinstance(self.incidents.open_or_join(one, f"k{number}"), Opened)

    def sweep(self) -> Swept:
        return sweep(self.ports(), self.starter)

    def ports(self) -> Ports:
        return Ports(
            accounts=FakeAccounts(observer(), self.actor),
            incidents=self.incidents,
            backfills=None,
            chat=None,
            pager=self.pager,
            clock=self.clock,
        )

    def record(self, incident_id: str = "INC-TEST0001") -> Incident:
        found = self.incidents.load(incident_id)
        assert found is not None
        return found


def applied(*changes: Change, **more: object) -> Incident:
    """An incident that acted an hour before NOW."""
    made = changes or (CAP,)
    return incident(
        status=Status.APPLIED,
        outcome=Outcome.RECOVERED,
        plan=Plan(action=Action.CAP_CONCURRENCY, why="because", changes=made, lease_minutes=120),
        applied=tuple(AppliedChange(change=change, at=NOW) for change in made),
        acted_at=NOW,
        **more,
    )


def in_force() -> FakeActor:
    return FakeActor(reservations={"hog": 250})


@pytest.mark.parametrize(
    ("lease_until", "after", "is_overdue"),
    [
        pytest.param(NOW + 2 * HOUR, 2 * HOUR + 15 * MINUTE, False, id="within what the workflow may take"),
        pytest.param(NOW + 2 * HOUR, 2 * HOUR + 16 * MINUTE, True, id="overdue"),
        pytest.param(None, 3 * HOUR + 15 * MINUTE, False, id="no lease was written, it may be verifying"),
        pytest.param(None, 3 * HOUR + 16 * MINUTE, True, id="no lease was written, and it would be over"),
    ],
)
def test_an_overdue_change_is_given_back_and_told(
    lease_until: datetime | None, after: timedelta, is_overdue: bool
) -> None:
    """Also when the workflow died before it wrote the lease; a person is paged, and the incident is closed."""
    actor = in_force()
    night = Night(applied(lease_until=lease_until), actor=actor, now=NOW + after)
    swept = night.sweep()

    assert swept.given_back == (("INC-TEST0001",) if is_overdue else ())
    assert actor.reservations == ({} if is_overdue else {"hog": 250})
    assert night.record().status is (Status.REVERTED if is_overdue else Status.APPLIED)
    assert night.record().is_open is not is_overdue
    assert len(night.pager.pages) == is_overdue
    assert night.starter.started == []


def overdue(*changes: Change, **more: object) -> Incident:
    return applied(*changes, lease_until=NOW - HOUR, **more)


def test_a_value_that_is_not_ours_is_left_and_the_record_says_kept_not_reverted() -> None:
    """Somebody changed it; it was not us who gave it back."""
    actor = FakeActor(reservations={"hog": 99})
    night = Night(overdue(), actor=actor)
    night.sweep()

    assert actor.reservations == {"hog": 99}
    assert (night.record().status, night.record().reverted_at) == (Status.KEPT, None)
    assert "is 99, not our 250" in night.pager.pages[0][1]


def test_two_changes_are_given_back_newest_first() -> None:
    """As they were made, backwards."""
    second = replace(CAP, function="second", arn=arn_of("second"))
    actor = FakeActor(reservations={"hog": 250, "second": 250})
    Night(overdue(CAP, second), actor=actor).sweep()

    assert actor.made == ["reserve second None", "reserve hog None"]


def test_a_function_that_is_gone_needs_no_give_back() -> None:
    """There is nothing left to give it back to; retrying for ever would help nobody."""

    class Gone(FakeActor):
        def reserved(self, function: str) -> int | None:
            raise NotFound("no such function", code="ResourceNotFoundException")

    night = Night(overdue(), actor=Gone())
    night.sweep()

    assert (night.record().status, night.record().is_open) == (Status.KEPT, False)


def test_what_cannot_be_given_back_stays_open_and_is_told_once_an_hour() -> None:
    """The next sweep tries again; a page every five minutes all night would be turned off."""
    actor = in_force()
    actor.said["set_reserved"] = [TryAgain("busy")] * 14
    night = Night(overdue(), actor=actor)
    for _ in range(14):
        assert night.sweep().left == ("INC-TEST0001",)
        night.clock.time += 5 * MINUTE

    assert len(night.pager.pages) == 2
    assert night.record().is_open
    assert night.record().escalated

    assert night.sweep().given_back == ("INC-TEST0001",)
    assert actor.reservations == {}


def test_without_the_actor_role_it_is_told_and_left() -> None:
    """The mode was turned to dry-run while a change stood: only a person can give it back."""
    night = Night(overdue(), actor=None)

    assert night.sweep().left == ("INC-TEST0001",)
    assert "not yet: There is no Actor role." in night.pager.pages[0][1]


def test_a_workflow_that_lives_after_all_wins() -> None:
    """It wrote the record in between, so the sweep neither closes nor pages."""
    night = Night(overdue(), actor=in_force())

    def refuse(record: Incident) -> Incident:
        raise Conflict("written meanwhile")

    night.incidents.close = refuse  # type: ignore[assignment,method-assign]  # for this test only
    assert night.sweep().left == ("INC-TEST0001",)
    assert night.pager.pages == []


def test_a_page_that_cannot_be_sent_does_not_stop_the_sweep() -> None:
    """The next incident still gets its change back."""
    second = replace(CAP, function="second", arn=arn_of("second"))
    other = replace(overdue(second), id="INC-TEST0002", fingerprint="other")
    actor = FakeActor(reservations={"hog": 250, "second": 250})
    night = Night(overdue(), other, actor=actor, pager=FakePager(Refused("topic is gone", code="NotFound")))

    assert night.sweep().given_back == ("INC-TEST0001", "INC-TEST0002")
    assert actor.reservations == {}


def test_what_a_dead_workflow_had_begun_is_tried_again_at_the_next_sweep() -> None:
    """The sweep's own line in the story is no sign that the workflow lives."""
    actor = in_force()
    actor.said["set_reserved"] = [TryAgain("busy")]
    night = Night(begun(), actor=actor, now=NOW + 3 * HOUR + MINUTE)

    assert night.sweep().left == ("INC-TEST0001",)
    night.clock.time += 5 * MINUTE
    assert night.sweep().given_back == ("INC-TEST0001",)
    assert actor.reservations == {}


def begun(at: datetime = NOW, **more: object) -> Incident:
    """Recorded as about to act; whether it did, nobody wrote."""
    acted = applied(**more)
    return replace(
        acted, status=Status.NONE, applied=(), acted_at=None, timeline=(Moment(at=at, event="action.intended"),)
    )


@pytest.mark.parametrize(
    ("reservations", "left", "status"),
    [({"hog": 250}, {}, Status.REVERTED), ({}, {}, Status.FAILED), ({"hog": 99}, {"hog": 99}, Status.FAILED)],
    ids=["it was made", "it was not made", "somebody else's"],
)
def test_a_change_begun_by_a_workflow_that_died_is_given_back_if_it_was_made(
    reservations: dict[str, int], left: dict[str, int], status: Status
) -> None:
    """The intent was recorded before acting, and giving back compares, so it is right in either case."""
    actor = FakeActor(reservations=dict(reservations))
    night = Night(begun(), actor=actor, now=NOW + 3 * HOUR + MINUTE)
    night.sweep()

    assert actor.reservations == left
    assert (night.record().status, night.record().is_open) == (status, False)
    assert len(night.pager.pages) == 1


@pytest.mark.parametrize(
    ("status", "after", "is_buried"),
    [
        (Status.NONE, 3 * HOUR, False),
        (Status.NONE, 3 * HOUR + MINUTE, True),
        (Status.DENIED, 3 * HOUR + MINUTE, True),
        (Status.WOULD_APPLY, 3 * HOUR + MINUTE, True),
    ],
    ids=["it may still watch", "it is gone", "denied and gone", "dry-run and gone"],
)
def test_an_incident_whose_workflow_is_gone_is_closed_and_told(
    status: Status, after: timedelta, is_buried: bool
) -> None:
    """Left open, it would swallow every later alarm about the same pool."""
    dead = incident(status=status)
    night = Night(dead, now=NOW + after)
    night.sweep()

    assert night.record().is_open is not is_buried
    assert len(night.pager.pages) == is_buried
    again = night.incidents.open_or_join(replace(dead, id="INC-NEW00001"), "later")
    assert isinstance(again, Opened if is_buried else Joined)


def test_a_question_is_waited_for_until_it_expires() -> None:
    """An approval may be open for a day; only hours after its end is the workflow taken for gone."""
    question = Question(about="approval", callback="c", version=1, expires_at=NOW + 24 * HOUR)
    for hours, is_open in ((26.9, True), (27.1, False)):
        night = Night(incident(question=question), now=NOW + hours * HOUR)
        night.sweep()
        assert night.record().is_open is is_open


def test_a_silent_incident_is_started_again() -> None:
    """By name, so that one that runs already is not started twice; one that was told to a person is left to them."""
    for minutes, starts in ((15, 0), (16, 1)):
        night = Night(incident(), now=NOW + minutes * MINUTE)
        night.sweep()
        assert len(night.starter.started) == starts
    told = Night(incident(escalated=True), now=NOW + HOUR)
    told.sweep()
    assert told.starter.started == []


def test_a_cancelled_backfill_is_closed_without_a_give_back() -> None:
    """There is nothing to put back; the record says how to resume."""
    only = applied(CANCEL)
    plan = only.plan
    assert plan is not None
    night = Night(replace(only, plan=replace(plan, lease_minutes=None)), actor=FakeActor(), now=NOW + 2 * HOUR)
    night.sweep()

    assert (night.record().status, night.record().is_open) == (Status.KEPT, False)


def test_nothing_open_is_nothing_to_do() -> None:
    """An empty night costs one read."""
    assert Night().sweep() == Swept(looked_at=0)


# --- taking over -----------------------------------------------------------------------------------------------------


class _TornIncidents(MemoryIncidents):
    """A memory in which something happens right after the open incidents were listed for the first time."""

    def __init__(self, then: Callable[["_TornIncidents"], None]) -> None:
        super().__init__()
        self._then = [then]

    def open_incidents(self) -> tuple[Incident, ...]:
        found = super().open_incidents()
        if self._then:
            self._then.pop()(self)
        return found


def _night_in_which(then: Callable[[_TornIncidents], None], found: Incident, actor: FakeActor) -> Night:
    night = Night(actor=actor)
    night.incidents = _TornIncidents(then)
    night.incidents.open_or_join(found, "k")
    return night


def test_an_incident_whose_workflow_writes_meanwhile_is_not_touched() -> None:
    """It lives; what it holds is its own to give back."""

    def writes(incidents: _TornIncidents) -> None:
        record = incidents.load("INC-TEST0001")
        assert record is not None
        incidents.save(record.told(NOW, "lease.renewed"))

    night = _night_in_which(writes, overdue(), in_force())
    swept = night.sweep()

    assert (swept.given_back, swept.left) == ((), ("INC-TEST0001",))
    assert night.actor is not None
    assert night.actor.reservations == {"hog": 250}
    assert night.pager.pages == []


def test_what_a_person_says_in_the_last_moment_counts() -> None:
    """The record is read again once the end has begun; from then on a wish is refused."""

    def keeps(incidents: _TornIncidents) -> None:
        assert incidents.wish("INC-TEST0001", Wish(do="keep", by="U0OPS", at=NOW))

    night = _night_in_which(keeps, overdue(), in_force())
    night.sweep()

    assert (night.record().status, night.record().settling) == (Status.KEPT, None)
    assert night.actor is not None
    assert night.actor.reservations == {"hog": 250}
    assert not night.incidents.wish("INC-TEST0001", Wish(do="revert", by="U0OPS", at=NOW))


def test_an_incident_that_somebody_is_ending_is_left_alone_until_that_must_have_died() -> None:
    """Then what it has given back is known as our own doing."""
    for by, minutes, is_ours in (
        ("sweep", 9, False),
        ("sweep", 10, True),
        ("workflow", 9, False),
        ("workflow", 10, True),
    ):
        found = overdue(settling=Settling(by=by, at=NOW - minutes * MINUTE))  # type: ignore[arg-type]  # one of the two
        night = Night(found, actor=FakeActor())  # given back already
        night.sweep()
        assert night.record().status is (Status.REVERTED if is_ours else Status.APPLIED)


def test_a_give_back_that_has_to_wait_leaves_the_incident_open_for_wishes() -> None:
    """Nobody is at it until the next sweep."""
    actor = in_force()
    actor.said["set_reserved"] = [TryAgain("busy")] * 2
    night = Night(overdue(), actor=actor)
    night.sweep()
    night.clock.time = NOW + 5 * MINUTE
    night.sweep()

    assert (night.record().status, night.record().settling, len(night.pager.pages)) == (Status.APPLIED, None, 1)
    assert night.incidents.wish("INC-TEST0001", Wish(do="keep", by="U0OPS", at=NOW))


def test_a_give_back_whose_answer_never_came_is_ours_at_the_next_sweep() -> None:
    """The value is back, and it was not somebody else who put it back."""

    class Lost(FakeActor):
        def set_reserved(self, function: str, value: int | None) -> None:
            FakeActor.set_reserved(self, function, value)
            raise TryAgain("no answer")

    night = Night(overdue(), actor=Lost(reservations={"hog": 250}))
    night.sweep()
    night.sweep()

    assert night.record().status is Status.REVERTED


# --- drift while the lease runs ------------------------------------------------------------------------------------------


def leased(**more: object) -> Incident:
    question = Question(about="lease", callback="cb", version=3, expires_at=NOW + HOUR)
    return applied(question=question, lease_until=NOW + HOUR, **more)


@pytest.mark.parametrize(
    ("reserved", "is_told"), [({}, True), ({"hog": 99}, True), ({"hog": 250}, False)], ids=["deleted", "other", "ours"]
)
def test_a_cap_that_somebody_changed_is_told_while_its_lease_runs_and_not_made_again(
    reserved: dict[str, int], is_told: bool
) -> None:
    """Once; the incident stays open, so that the next alarm joins it."""
    actor = FakeActor(reservations=dict(reserved))
    night = Night(leased(), actor=actor)
    swept = [night.sweep(), night.sweep()]

    assert [one.drifted for one in swept] == [(("INC-TEST0001",) if is_told else ()), ()]
    assert (actor.reservations, actor.made) == (reserved, [])
    assert (night.record().is_open, night.record().status) == (True, Status.APPLIED)
    assert len(night.pager.pages) == is_told  # no Slack here: a page
    assert all("Somebody changed hog while the lease runs, until 11:00 UTC" in text for _, text in night.pager.pages)


def test_a_target_that_is_gone_is_drift_and_one_that_cannot_be_read_is_not() -> None:
    """Nothing is concluded from silence."""

    class Says(FakeActor):
        def __init__(self, error: Refused | TryAgain) -> None:
            FakeActor.__init__(self)
            self.error = error

        def reserved(self, function: str) -> int | None:
            raise self.error

    gone, silent = NotFound("no function", code="ResourceNotFoundException"), TryAgain("busy")
    assert Night(leased(), actor=Says(gone)).sweep().drifted == ("INC-TEST0001",)
    assert Night(leased(), actor=Says(silent)).sweep().drifted == ()


def test_drift_is_the_workflows_to_tell_while_it_is_awake() -> None:
    """It compares for itself when it acts, verifies, or gives back."""
    assert Night(applied(lease_until=NOW + HOUR), actor=FakeActor()).sweep().drifted == ()
