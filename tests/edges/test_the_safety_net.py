"""The sweep at the edges where a minute, one change of several, or one word of the record decides."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

import pytest

from sandbox.memory_incidents import MemoryIncidents
from tests.safety.test_reopen import Night as Alarms
from tests.safety.test_reopen import alarm, closed, table_alarm
from tests.unit.fakes import (
    ACCOUNT,
    MINUTE,
    NOW,
    REGION,
    FakeAccounts,
    FakeActor,
    FakePager,
    incident,
    observer,
)
from tests.unit.made_changes import CAP, OTHER
from tests.unit.test_sweep import CANCEL, Night, applied, begun, overdue
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.errors import Conflict, NotAllowed, TryAgain
from unthrottle.incident import Incident, Moment, Outcome, Settling, Status, Wish
from unthrottle.plan import Action, Plan
from unthrottle.ports import FiringAlarm
from unthrottle.reopen import A_PERSON_KNOWS, LOOKED_AT, MOST_AT_ONCE, Place, reopen, tell_unreadable
from unthrottle.subjects import TableSubject, fingerprint
from unthrottle.sweep import Swept

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
ME = ("INC-TEST0001",)


def swept(found: Incident, after: timedelta, *, actor: FakeActor | None = None) -> Swept:
    return Night(found, actor=actor or FakeActor(), now=NOW + after).sweep()


# --- when is it overdue --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("after", "is_overdue"), [(135 * MINUTE, False), (135 * MINUTE + SECOND, True)])
def test_a_lease_that_was_not_verified_yet_may_take_the_time_of_a_verification_longer(
    after: timedelta, is_overdue: bool
) -> None:
    """The lease begins anew once it is: an hour on top of the hour, and the quarter of an hour that is the workflow's."""
    unverified = replace(applied(lease_until=NOW + HOUR), outcome=Outcome.NONE)
    assert (swept(unverified, after).given_back == ME) is is_overdue


@pytest.mark.parametrize(("after", "is_overdue"), [(195 * MINUTE, False), (195 * MINUTE + SECOND, True)])
def test_without_a_lease_on_record_it_counts_from_the_action_and_not_from_the_alarm(
    after: timedelta, is_overdue: bool
) -> None:
    late = replace(applied(), opened_at=NOW - 5 * HOUR)
    assert (swept(late, after).given_back == ME) is is_overdue


@pytest.mark.parametrize(("after", "is_overdue"), [(75 * MINUTE, False), (75 * MINUTE + SECOND, True)])
def test_what_has_no_lease_is_over_with_its_verification(after: timedelta, is_overdue: bool) -> None:
    only = applied(CANCEL)
    assert only.plan is not None
    none = replace(only, plan=replace(only.plan, lease_minutes=None))
    assert (swept(none, after).given_back == ME) is is_overdue


@pytest.mark.parametrize(
    ("event", "after", "is_ended"),
    [
        pytest.param("action.intended", 195 * MINUTE, False, id="begun, and its lease may still run"),
        pytest.param("action.intended", 195 * MINUTE + SECOND, True, id="begun, and its lease is over"),
        pytest.param("incident.told", 195 * MINUTE + SECOND, False, id="nothing was begun"),
    ],
)
def test_a_change_whose_end_was_never_written_is_given_back_after_its_lease(
    event: str, after: timedelta, is_ended: bool
) -> None:
    """Also where the workflow still writes lines, as one does that only watches."""
    half = begun()
    still = replace(half, timeline=(Moment(at=NOW, event=event), Moment(at=NOW + 2 * HOUR, event="watch.line")))
    actor = FakeActor(reservations={"hog": 250})
    assert (swept(still, after, actor=actor).given_back == ME) is is_ended
    assert (actor.reservations == {}) is is_ended


# --- one of several ------------------------------------------------------------------------------------------------


class Uneven(FakeActor):
    """The function `other` cannot be changed now."""

    def set_reserved(self, function: str, value: int | None) -> None:
        if function == "other":
            raise TryAgain("busy")
        FakeActor.set_reserved(self, function, value)


@pytest.mark.parametrize("found", [overdue(CAP, OTHER), begun()], ids=["overdue", "half done"])
def test_an_incident_is_closed_only_when_all_its_changes_are_given_back(found: Incident) -> None:
    """One that has to wait keeps it open, is told, and is tried again."""
    assert found.plan is not None
    both = replace(found, plan=replace(found.plan, changes=(CAP, OTHER)))
    night = Night(both, actor=Uneven(reservations={"hog": 250, "other": 250}), now=NOW + 4 * HOUR)
    assert night.sweep().left == ME
    assert night.record().is_open
    assert "not yet: busy" in night.pager.pages[0][1]


@pytest.mark.parametrize("found", [overdue(CAP, OTHER), begun()], ids=["overdue", "half done"])
def test_one_change_given_back_makes_it_reverted_whatever_became_of_the_others(found: Incident) -> None:
    assert found.plan is not None
    both = replace(found, plan=replace(found.plan, changes=(CAP, OTHER)))
    night = Night(both, actor=FakeActor(reservations={"hog": 250, "other": 99}), now=NOW + 4 * HOUR)
    assert night.sweep().given_back == ME
    assert (night.record().status, night.record().reverted_at) == (Status.REVERTED, NOW + 4 * HOUR)


def test_what_was_planned_and_never_begun_is_not_touched() -> None:
    """Somebody set the very number that was proposed."""
    plan = Plan(action=Action.CAP_CONCURRENCY, why="because", changes=(CAP,))
    actor = FakeActor(reservations={"hog": 250})
    night = Night(incident(status=Status.DENIED, plan=plan), actor=actor, now=NOW + 4 * HOUR)

    assert night.sweep().given_back == ME
    assert actor.reservations == {"hog": 250}
    assert "Nothing had been changed." in night.pager.pages[0][1]


def test_begun_without_a_plan_on_record_is_closed_and_told() -> None:
    night = Night(replace(begun(), plan=None), actor=FakeActor(), now=NOW + 4 * HOUR)
    assert night.sweep().given_back == ME
    assert not night.record().is_open


# --- two that end it ---------------------------------------------------------------------------------------------


def test_the_record_says_that_the_sweep_is_at_it_before_anything_is_given_back() -> None:
    """A workflow that lives after all then writes no more, and nobody gives back twice."""
    seen: list[Settling | None] = []

    class Looking(FakeActor):
        def set_reserved(self, function: str, value: int | None) -> None:
            seen.append(night.record().settling)
            super().set_reserved(function, value)

    night = Night(overdue(), actor=Looking(reservations={"hog": 250}))
    night.sweep()
    assert seen == [Settling(by="sweep", at=NOW, again=False)]
    assert (night.record().settling, night.record().escalated) == (None, True)


@pytest.mark.parametrize(
    ("taken", "is_ended"),
    [
        pytest.param(Settling(by="sweep", at=NOW - 10 * MINUTE + SECOND), False, id="a sweep that may run"),
        pytest.param(Settling(by="sweep", at=NOW - 10 * MINUTE), True, id="a sweep that died"),
        pytest.param(Settling(by="workflow", at=NOW - 10 * MINUTE + SECOND), False, id="a workflow that may run"),
        pytest.param(Settling(by="workflow", at=NOW - 10 * MINUTE), True, id="a workflow that died"),
    ],
)
def test_an_incident_is_left_to_whoever_is_ending_it_for_ten_minutes(taken: Settling, is_ended: bool) -> None:
    actor = FakeActor(reservations={"hog": 250})
    night = Night(overdue(settling=taken), actor=actor)
    assert night.sweep().given_back == (ME if is_ended else ())
    assert (actor.reservations == {}) is is_ended


TOLD = Moment(at=NOW - HOUR, event="action.applied")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        pytest.param({"timeline": (TOLD,)}, Status.KEPT, id="nobody tried: somebody else put it back"),
        pytest.param({"timeline": (TOLD, replace(TOLD, event="sweep.not-yet"))}, Status.REVERTED, id="a sweep tried"),
        pytest.param(
            {"timeline": (TOLD, replace(TOLD, event="lease.give-back-later"))}, Status.REVERTED, id="its workflow tried"
        ),
        pytest.param({"settling": Settling(by="sweep", at=NOW - HOUR)}, Status.REVERTED, id="a sweep died at it"),
        pytest.param(
            {"settling": Settling(by="workflow", at=NOW - HOUR)}, Status.REVERTED, id="its workflow died at it"
        ),
    ],
)
def test_what_is_back_already_was_given_back_by_us_only_where_somebody_of_us_tried(
    more: dict[str, object], status: Status
) -> None:
    night = Night(overdue(**more), actor=FakeActor())
    night.sweep()
    assert night.record().status is status


@pytest.mark.parametrize(
    ("do", "status", "words"),
    [
        ("keep", Status.KEPT, "Kept by U0OPS"),
        ("revert", Status.REVERTED, "U0OPS asked for it"),
        ("snooze", Status.REVERTED, "The lease was overdue"),
    ],
)
def test_what_a_person_wanted_in_the_last_moment_is_done_at_the_end_of_the_lease(
    do: Literal["keep", "revert", "snooze"], status: Status, words: str
) -> None:
    """A snooze puts a decision off, not the end of a lease."""
    wish = Wish(do=do, by="U0OPS", at=NOW - MINUTE)
    night = Night(overdue(wish=wish), actor=FakeActor(reservations={"hog": 250}))
    night.sweep()
    assert night.record().status is status
    assert words in night.pager.pages[0][1]


@pytest.mark.parametrize(
    ("silent", "do", "event", "left"),
    [
        pytest.param(15, "revert", "action.intended", 250, id="its workflow may be making it just now"),
        pytest.param(16, "revert", "action.intended", None, id="its workflow is gone"),
        pytest.param(16, "snooze", "action.intended", 250, id="nobody wants it back"),
        pytest.param(16, "revert", "plan.made", 250, id="nothing was begun"),
    ],
)
def test_a_change_of_unknown_end_that_somebody_wants_back_need_not_wait_for_its_lease(
    silent: int, do: Literal["revert", "snooze"], event: str, left: int | None
) -> None:
    found = replace(
        overdue(wish=Wish(do=do, by="U0OPS", at=NOW)),
        status=Status.NONE,
        applied=(),
        lease_until=NOW + 60 * MINUTE,
        timeline=(Moment(at=NOW - silent * MINUTE, event=event, detail=""),),
    )
    night = Night(found, actor=FakeActor(reservations={"hog": 250}))
    night.sweep()
    assert night.actor is not None
    assert night.actor.reservations.get("hog") == left


# --- what a sweep tells and reads ----------------------------------------------------------------------------------


def test_what_cannot_be_given_back_is_told_again_after_an_hour_sharp() -> None:
    actor = FakeActor(reservations={"hog": 250}, said={"set_reserved": [TryAgain("busy")] * 13})
    night = Night(overdue(), actor=actor)
    for _ in range(13):
        night.sweep()
        night.clock.time += 5 * MINUTE
    assert len(night.pager.pages) == 2


def test_a_workflow_that_is_started_again_is_named() -> None:
    assert swept(incident(), 16 * MINUTE).started == ME


@pytest.mark.parametrize(
    ("found", "has_changed"),
    [
        (Swept(looked_at=1), False),
        (Swept(looked_at=1, started=ME), True),
        (Swept(looked_at=1, given_back=ME), True),
        (Swept(looked_at=1, left=ME), True),
        (Swept(looked_at=1, drifted=ME), True),
    ],
)
def test_whatever_was_done_may_have_changed_a_record(found: Swept, has_changed: bool) -> None:
    assert found.has_changed is has_changed


class Counting(MemoryIncidents):
    """Counts how often the open incidents are listed, and remembers which were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.listed = 0
        self.asked: list[tuple[int, datetime | None]] = []

    def open_incidents(self) -> tuple[Incident, ...]:
        self.listed += 1
        return super().open_incidents()

    def recent(self, limit: int, *, since: datetime | None = None) -> tuple[Incident, ...]:
        self.asked.append((limit, since))
        return super().recent(limit, since=since)


@pytest.mark.parametrize(("found", "times"), [(incident(), 1), (overdue(), 2)], ids=["nothing was done", "given back"])
def test_the_open_incidents_are_listed_again_only_where_a_record_may_have_changed(found: Incident, times: int) -> None:
    """A report is delivered from the record as it is now, and an idle night costs one read."""
    night = Night(actor=FakeActor(reservations={"hog": 250}))
    counting = night.incidents = Counting()
    counting.open_or_join(found, "k")
    night.sweep()
    assert counting.listed == times


def test_a_record_written_meanwhile_is_neither_paged_nor_counted_as_given_back() -> None:
    """Whoever wrote it is at work on it."""
    night = Night(overdue(), actor=FakeActor(reservations={"hog": 250}))

    def refuse(record: Incident) -> Incident:
        raise Conflict("written meanwhile")

    night.incidents.save = refuse  # type: ignore[assignment,method-assign]  # for this test only
    found = night.sweep()
    assert (found.given_back, found.left) == ((), ME)
    assert night.pager.pages == []


# --- alarms that nobody is at work on ------------------------------------------------------------------------------


def test_an_alarm_is_left_to_its_own_event_for_ten_minutes() -> None:
    assert Alarms(alarm(minutes=10)).sweep() == ("INC-1",)
    assert Alarms(replace(alarm(minutes=10), since=NOW - 10 * MINUTE + SECOND)).sweep() == ()


def test_five_incidents_are_opened_at_once() -> None:
    night = Alarms(*(table_alarm(f"dagy-t{number}") for number in range(6)))
    assert night.sweep() == tuple(f"INC-{number}" for number in range(1, 6))
    assert len(night.taken) == MOST_AT_ONCE


def test_the_incidents_of_the_last_half_day_are_compared_two_hundred_at_most() -> None:
    night = Alarms(alarm())
    counting = night.incidents = Counting()
    night.sweep()
    assert (LOOKED_AT, A_PERSON_KNOWS) == (200, 12 * HOUR)
    assert counting.asked == [(200, NOW - 12 * HOUR)]


def test_an_alarm_on_two_tables_is_opened_when_one_of_them_was_never_looked_at() -> None:
    """What is known of the one says nothing of the other."""
    metrics: list[dict[str, object]] = [
        {"metricStat": {"metric": {"namespace": "AWS/DynamoDB", "name": "WriteThrottleEvents",
                                   "dimensions": {"TableName": name}}}}
        for name in ("dagy-runs", "dagy-flows")
    ]  # fmt: skip
    both = FiringAlarm(name="tables", arn="arn:tables", since=NOW - HOUR, metrics=tuple(metrics))
    mark = fingerprint(ACCOUNT, REGION, TableSubject(table="dagy-runs"))
    known = closed(HOUR, status=Status.KEPT, fingerprint=mark, subject=TableSubject(table="dagy-runs"))
    night = Alarms(both, known=known)

    assert night.sweep() == ("INC-1",)
    assert [len(trigger.subjects) for trigger in night.taken] == [2]


def test_an_alarm_that_intake_joins_to_an_incident_opens_none() -> None:
    """It was opened by its own event a moment before."""
    found = reopened(Alarms(alarm()), take=())
    assert found == ()


def reopened(
    night: Alarms, *, take: Sequence[str] = ("INC-1",), still_open: Sequence[Incident] | None = None
) -> object:
    accounts = FakeAccounts(observer(alarms=night.alarms))
    places = [Place(account=ACCOUNT, region=REGION)]
    return reopen(accounts, night.incidents, places, NOW, lambda _trigger: take, still_open=still_open)


def test_an_incident_opened_since_the_list_was_made_is_seen() -> None:
    """The list may be a few seconds old."""
    assert reopened(Alarms(alarm(), known=incident()), still_open=()) == ()
    assert reopened(Alarms(alarm()), still_open=()) == ("INC-1",)


@pytest.mark.parametrize(
    ("opened", "closed_ago", "is_opened"),
    [
        pytest.param(-10 * MINUTE, 30 * MINUTE, False, id="opened within the time that its event may take"),
        pytest.param(-10 * MINUTE - SECOND, 30 * MINUTE, True, id="opened before, and closed half an hour ago"),
        pytest.param(-10 * MINUTE - SECOND, 30 * MINUTE - SECOND, False, id="closed less than half an hour ago"),
        pytest.param(5 * MINUTE, 30 * MINUTE, False, id="opened after it rang"),
    ],
)
def test_an_early_warning_is_opened_again_when_the_last_incident_is_older_than_its_ring(
    opened: timedelta, closed_ago: timedelta, is_opened: bool
) -> None:
    rung = alarm(metric="ConcurrentExecutions", minutes=120)
    last = replace(closed(closed_ago), opened_at=rung.since + opened)
    assert Alarms(rung, known=last).sweep() == (("INC-1",) if is_opened else ())


@pytest.mark.parametrize(("cause", "is_opened"), [(Cause.SWITCHED_OFF, False), (Cause.POOL_HOG, True)])
def test_a_function_that_somebody_switched_off_is_known_to_that_person(cause: Cause, is_opened: bool) -> None:
    """Its throttles go on for as long as it is called."""
    last = closed(HOUR, diagnosis=Diagnosis(cause=cause, confidence=Confidence.HIGH), status=Status.REVERTED)
    assert Alarms(alarm(), known=last).sweep() == (("INC-1",) if is_opened else ())


def test_accounts_that_cannot_be_read_are_told_in_one_page() -> None:
    pager = FakePager()
    tell_unreadable(pager, {})
    assert pager.pages == []

    places = {Place(account="1", region="a"): "no role", Place(account="2", region="b"): "denied"}
    tell_unreadable(pager, places)
    ((subject, text),) = pager.pages
    assert subject == "Unthrottle cannot look into 2 of its accounts"
    assert text.splitlines()[:2] == ["1 (a): no role", "2 (b): denied"]

    tell_unreadable(FakePager(TryAgain("busy")), places)  # one page that fails keeps the sweep from nothing


def test_an_account_that_cannot_be_read_is_told_with_the_reason() -> None:
    night = Alarms()
    night.alarms.error = NotAllowed("no", code="AccessDenied")
    told: list[tuple[Place, str]] = []
    place = Place(account=ACCOUNT, region=REGION)
    accounts = FakeAccounts(observer(alarms=night.alarms))
    found = reopen(
        accounts, night.incidents, [place], NOW, lambda _: ["x"], unreadable=lambda at, why: told.append((at, why))
    )
    assert (found, told) == ((), [(place, "no")])
