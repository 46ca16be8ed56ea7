"""What the sweep sees of a change in force: the minute from which on, what it says, and whether it was told now."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.safety.test_reopen import HOUR, alarm
from tests.safety.test_returned import ANEW, Lease, held
from tests.unit.fakes import MINUTE, NOW, FakeAccounts, FakeActor, FakePager, arn_of, observer
from tests.unit.made_changes import CAP
from tests.unit.test_sweep import Night, leased
from unthrottle import drift, returned
from unthrottle.errors import Conflict, Refused
from unthrottle.incident import AppliedChange, Incident, Moment, Outcome
from unthrottle.ports import FiringAlarm, Ports

SECOND = timedelta(seconds=1)


def ports(lease: Lease) -> Ports:
    return Ports(
        accounts=FakeAccounts(observer()),
        incidents=lease.incidents,
        backfills=None,
        chat=None,
        pager=lease.pager,
        clock=lease.clock,
    )


def noticed(lease: Lease, ringing: FiringAlarm = ANEW, now: datetime = NOW) -> bool:
    lease.clock.time = now
    return returned.notice(ports(lease), lease.record(), ringing, now)


def ringing_since(moment: datetime) -> FiringAlarm:
    return replace(alarm(), since=moment)


# --- a symptom that is back ----------------------------------------------------------------------------------------


def test_whether_it_was_told_now_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(monkeypatch, known=held(), seen=Outcome.NOT_RECOVERED)
    assert noticed(lease)
    assert not noticed(lease, now=NOW + MINUTE)
    over = Lease(monkeypatch, known=held(), seen=Outcome.RECOVERED)
    assert not noticed(over)

    def refuse(_record: Incident) -> Incident:
        raise Conflict("written meanwhile")

    conflict = Lease(monkeypatch, known=held(), seen=Outcome.NOT_RECOVERED)
    monkeypatch.setattr(conflict.incidents, "save", refuse)
    assert not noticed(conflict)


@pytest.mark.parametrize(("after", "is_told"), [(10 * MINUTE, False), (10 * MINUTE + SECOND, True)])
def test_for_ten_minutes_after_the_recovery_nothing_is_back(
    monkeypatch: pytest.MonkeyPatch, after: timedelta, *, is_told: bool
) -> None:
    """What has just ended still shows, since metrics come late."""
    lease = Lease(monkeypatch, known=replace(held(), recovered_at=NOW - after), seen=Outcome.NOT_RECOVERED)
    assert noticed(lease) is is_told


@pytest.mark.parametrize(
    ("since", "is_told"),
    [
        pytest.param(-5 * MINUTE, False, id="it never stopped"),
        pytest.param(5 * MINUTE, False, id="it rang soon after"),
        pytest.param(10 * MINUTE, False, id="ten minutes after"),
        pytest.param(10 * MINUTE + SECOND, True, id="later: it rang anew"),
    ],
)
def test_from_ten_minutes_after_the_recovery_an_alarm_is_believed_though_nothing_can_be_told(
    monkeypatch: pytest.MonkeyPatch, since: timedelta, *, is_told: bool
) -> None:
    lease = Lease(monkeypatch, known=held(), seen=Outcome.INCONCLUSIVE)
    assert noticed(lease, ringing_since(NOW - 2 * HOUR + since)) is is_told


@pytest.mark.parametrize(("since", "is_told"), [(-MINUTE, False), (0 * MINUTE, False), (MINUTE, True)])
def test_a_ring_that_was_told_is_not_told_again(
    monkeypatch: pytest.MonkeyPatch, since: timedelta, *, is_told: bool
) -> None:
    """After an hour, too; a ring of the minute in which it was told is that ring."""
    lease = Lease(monkeypatch, known=held(), seen=Outcome.NOT_RECOVERED)
    assert noticed(lease)
    assert noticed(lease, ringing_since(NOW + since), NOW + 2 * HOUR) is is_told


@pytest.mark.parametrize("event", ["incident.opened", drift.SEEN])
def test_what_stands_of_the_change_is_told(monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    story = (Moment(at=NOW - 3 * HOUR, event=event),)
    lease = Lease(monkeypatch, known=replace(held(), timeline=story), seen=Outcome.NOT_RECOVERED)
    assert noticed(lease)
    ((_, text),) = lease.pager.pages
    assert ("Somebody has changed hog since, and nothing more is done by itself" in text) is (event == drift.SEEN)
    assert ("The change of hog stays in force until 11:00 UTC" in text) is (event != drift.SEEN)


def test_names_are_quoted_up_to_200_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    named = [letter * 64 for letter in "abcd"]
    many = tuple(AppliedChange(change=replace(CAP, function=name, arn=arn_of(name)), at=NOW) for name in named)
    lease = Lease(monkeypatch, known=replace(held(), applied=many), seen=Outcome.NOT_RECOVERED)
    assert noticed(lease)
    assert f"The change of {', '.join(named)[:200]} stays in force" in lease.pager.pages[0][1]


def test_where_no_page_can_be_sent_another_one_is_tried_with_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    class Once(FakePager):
        """Fails the first time."""

        def page(self, subject: str, text: str) -> None:
            if self.error is not None:
                error, self.error = self.error, None
                raise error
            super().page(subject, text)

    lease = Lease(monkeypatch, known=held(), seen=Outcome.NOT_RECOVERED)
    lease.pager = Once(Refused("gone", code="NotFound"))
    assert noticed(lease)
    assert len(lease.pager.pages) == 1


# --- somebody changed it -------------------------------------------------------------------------------------------


def drifted(known: Incident, now: datetime = NOW) -> bool:
    night = Night(known, actor=FakeActor(reservations={"hog": 99}))
    return drift.notice(night.ports(), night.record(), now)


@pytest.mark.parametrize(("event", "is_told"), [("incident.opened", True), (drift.SEEN, False)])
def test_drift_is_told_once_in_a_story(event: str, *, is_told: bool) -> None:
    assert drifted(leased(timeline=(Moment(at=NOW, event=event),))) is is_told


@pytest.mark.parametrize(("before", "is_told"), [(SECOND, True), (0 * SECOND, False)])
def test_from_the_end_of_the_lease_on_drift_is_the_workflows_to_tell(before: timedelta, *, is_told: bool) -> None:
    assert drifted(leased(), NOW + HOUR - before) is is_told


def test_drift_that_another_writer_got_in_the_way_of_was_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    night = Night(leased(), actor=FakeActor(reservations={"hog": 99}))

    def refuse(_record: Incident) -> Incident:
        raise Conflict("written meanwhile")

    record = night.record()
    monkeypatch.setattr(night.incidents, "save", refuse)
    assert not drift.notice(night.ports(), record, NOW)
    assert night.pager.pages == []
