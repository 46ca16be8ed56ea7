"""One record that cannot be written, or that is somebody else's affair, must not keep a sweep from the others."""

from dataclasses import replace
from datetime import timedelta

import pytest

from sandbox.memory_incidents import MemoryIncidents
from tests.unit.fakes import MINUTE, NOW, FakeActor, FakePager, arn_of
from tests.unit.made_changes import CAP
from tests.unit.test_sweep import HOUR, Night, begun, leased, overdue
from unthrottle import drift, outbox
from unthrottle.chat import ChatBroken
from unthrottle.errors import BadInput, Refused, TryAgain, UnthrottleError
from unthrottle.incident import Incident, Moment, Status
from unthrottle.ports import Opened, Posted
from unthrottle.report.moments import Step
from unthrottle.sweep import NOT_YET, Swept

OTHER = replace(CAP, function="second", arn=arn_of("second"))
TOO_LARGE = Refused("Item size has exceeded the maximum allowed size", code="ValidationException")


class Poisoned(MemoryIncidents):
    """The first incident's record cannot be written."""

    def __init__(self, error: UnthrottleError) -> None:
        super().__init__()
        self.error = error

    def save(self, incident: Incident) -> Incident:
        if incident.id == "INC-TEST0001":
            raise self.error
        return super().save(incident)


@pytest.mark.parametrize(
    "error", [TOO_LARGE, TryAgain("busy"), BadInput("unreadable")], ids=lambda one: type(one).__name__
)
def test_a_record_that_cannot_be_written_keeps_no_other_change_in_force(error: UnthrottleError) -> None:
    """At the end the sweep fails all the same, so that the alarm on its errors rings."""
    actor = FakeActor(reservations={"hog": 250, "second": 250})
    night = Night(actor=actor)
    night.incidents = Poisoned(error)
    for one in (overdue(), replace(overdue(OTHER), id="INC-TEST0002", fingerprint="other")):
        assert isinstance(night.incidents.open_or_join(one, one.id), Opened)
    swept = night.sweep()

    assert (swept.failed, swept.given_back) == (("INC-TEST0001",), ("INC-TEST0002",))
    assert actor.reservations == {"hog": 250}
    with pytest.raises(TryAgain, match="INC-TEST0001"):
        swept.complain()


def test_a_sweep_that_could_do_all_does_not_complain() -> None:
    Swept(looked_at=3).complain()
    with pytest.raises(TryAgain, match="INC-9"):
        Swept(looked_at=3, backlog=outbox.Backlog(failed=("INC-9",))).complain()


def test_weeks_of_give_backs_that_are_not_possible_do_not_make_the_record_large() -> None:
    """The story keeps when it began and how it stands; a page comes every hour all the same."""
    night = Night(overdue(), actor=None)
    for _ in range(24 * 7):
        night.sweep()
        night.clock.time += HOUR
    lines = [moment for moment in night.record().timeline if moment.event == NOT_YET]

    assert [moment.at for moment in lines] == [NOW, night.clock.time - HOUR]
    assert len(night.pager.pages) == 24 * 7


@pytest.mark.parametrize("status", [Status.DENIED, Status.FAILED])
def test_what_somebody_else_set_is_not_given_back_where_the_record_says_that_nothing_was_made(status: Status) -> None:
    """The intent was recorded, then the last look found that a person had made the very change; their workflow died later."""
    actor = FakeActor(reservations={"hog": 250})
    night = Night(replace(begun(), status=status), actor=actor, now=NOW + 4 * HOUR)
    night.sweep()

    assert (actor.reservations, actor.made) == ({"hog": 250}, [])
    assert (night.record().status, night.record().is_open) == (status, False)
    assert "Nothing had been changed." in night.pager.pages[0][1]


# --- what nobody takes now is told later -------------------------------------------------------------------------------


class Refusing:
    """A Slack whose token was revoked."""

    def post(self, *_: object, **__: object) -> None:
        raise ChatBroken("revoked", code="token_revoked")

    update = post


def test_drift_that_neither_slack_nor_a_page_took_is_told_late() -> None:
    """It is told once only, so it must not be lost."""
    night = Night(
        leased(), actor=FakeActor(reservations={"hog": 99}), pager=FakePager(Refused("gone", code="NotFound"))
    )
    ports = replace(night.ports(), chat=Refusing())  # type: ignore[arg-type]  # it never answers
    assert drift.notice(ports, night.record(), NOW + MINUTE)

    (waiting,) = night.record().outbox
    assert (waiting.step, "Somebody changed hog" in waiting.detail) == (Step.DRIFTED.value, True)
    assert [moment.event for moment in night.record().timeline] == [drift.SEEN, "report.unsent"]


def test_a_late_report_that_cannot_be_written_down_keeps_no_other_report_back() -> None:
    night = Night(actor=FakeActor())
    night.incidents = Poisoned(TOO_LARGE)
    for one in ("INC-TEST0001", "INC-TEST0002"):
        record = outbox.kept(replace(leased(), id=one, fingerprint=one), Step.DRIFTED, "told", NOW)
        told = replace(record, timeline=(Moment(at=NOW - timedelta(hours=1), event="incident.opened"),))
        assert isinstance(night.incidents.open_or_join(told, one), Opened)
    chat = _Taking()
    ports = replace(night.ports(), chat=chat)  # type: ignore[arg-type]  # as much of a channel as is used
    backlog = outbox.deliver_all(ports, night.incidents.open_incidents())

    assert backlog.failed == ("INC-TEST0001",)
    left = night.incidents.load("INC-TEST0002")
    assert left is not None
    assert left.outbox == ()


class _Taking:
    """A Slack that takes everything."""

    def post(self, *_: object, **__: object) -> object:
        return Posted(ts="1.0")

    def update(self, *_: object, **__: object) -> object:
        return Posted(ts="1.0")
