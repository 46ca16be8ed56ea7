"""What people say about a change is kept, heard wherever the workflow stands, and binds to exactly what they saw."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.memory_incidents import MemoryIncidents
from tests.safety.night import some_changes
from tests.unit.fakes import (
    ACCOUNT,
    MINUTE,
    NOW,
    REGION,
    FakeAccounts,
    FakeActor,
    FakePager,
    FakeStarter,
    StillClock,
    incident,
    observer,
)
from tests.unit.made_changes import CAP
from unthrottle.actions.same import agreed_change
from unthrottle.answers import Answer, read_answer, write_answer
from unthrottle.control import Control, Person
from unthrottle.errors import BadInput
from unthrottle.export import json_lines, read_line
from unthrottle.incident import AppliedChange, Incident, Question, Status, Wish
from unthrottle.plan import Action, CapConcurrency, Change, Plan, RaiseCapacity
from unthrottle.ports import Incidents, Opened, Ports
from unthrottle.settings import Mode, Settings
from unthrottle.sweep import Swept, sweep

PLAN = Plan(action=Action.CAP_CONCURRENCY, why="because", changes=(CAP,), lease_minutes=120, commands=("put 250",))
WISH = Wish(do="revert", by="U0OPS", at=NOW)
QUESTION = Question(about="lease", callback="c", version=3, expires_at=NOW + 60 * MINUTE)


def in_force(**more: object) -> Incident:
    return incident(
        status=Status.APPLIED,
        plan=PLAN,
        applied=(AppliedChange(change=CAP, at=NOW),),
        acted_at=NOW,
        lease_until=NOW + 120 * MINUTE,
        **more,
    )


# --- the record of a wish ------------------------------------------------------------------------------------------------


def test_a_wish_lies_beside_the_record_and_outlives_the_workflows_writes(incidents: Incidents) -> None:
    """The workflow is the record's only writer; a person's word must neither be lost by its writes nor disturb them."""
    record = incident()
    assert isinstance(incidents.open_or_join(record, "k"), Opened)
    assert incidents.wish(record.id, WISH)
    incidents.save(record.told(NOW, "evidence.gathered"))

    found = incidents.load(record.id)
    assert found is not None
    assert (found.version, found.wish) == (1, WISH)


def test_the_last_word_counts_and_none_is_taken_for_what_is_closed(incidents: Incidents) -> None:
    """A person may change their mind; nobody can wish for what is over, or was never there."""
    record = incident()
    incidents.open_or_join(record, "k")
    later = replace(WISH, do="keep", by="U0TWO")
    assert incidents.wish(record.id, WISH)
    assert incidents.wish(record.id, later)
    found = incidents.load(record.id)
    assert found is not None
    assert found.wish == replace(later, instead_of="U0OPS had said revert just before")

    incidents.close(replace(record, closed_at=NOW))
    assert not incidents.wish(record.id, WISH)
    assert not incidents.wish("INC-NOBODY", WISH)


@pytest.mark.parametrize("status", [Status.DENIED, Status.APPLIED])
def test_what_was_taken_and_not_acted_on_has_no_cooldown(incidents: Incidents, status: Status) -> None:
    """Denied at the last look before the act: a person may have it tried again at once, and no switch is spent."""
    record = incident(plan=PLAN)
    incidents.open_or_join(record, "k")
    taken = incidents.record_intent(record, NOW)
    incidents.close(replace(taken, status=status, closed_at=NOW + MINUTE))
    found = incidents.ledger(ACCOUNT, REGION, [CAP.arn], NOW + MINUTE)

    assert found.last_on == ({} if status is Status.DENIED else {CAP.arn: NOW})
    assert found.held_by == {}


# --- who hears it --------------------------------------------------------------------------------------------------------


class Room:
    """An incident, a control and a sweep around it."""

    def __init__(self, record: Incident, *, waits: bool = True) -> None:
        self.incidents, self.starter, self.clock = MemoryIncidents(), FakeStarter(waits=waits), StillClock()
        self.actor, self.pager = FakeActor(reservations={"hog": 250}), FakePager()
        assert isinstance(self.incidents.open_or_join(record, "k"), Opened)
        self.accounts = FakeAccounts(observer(), self.actor)
        self.control = Control(
            incidents=self.incidents,
            starter=self.starter,
            accounts=self.accounts,
            clock=self.clock,
            settings=Settings(mode=Mode.AUTO, operators=("U0OPS",)),
            home_account=ACCOUNT,
            home_region=REGION,
        )

    def record(self) -> Incident:
        found = self.incidents.load("INC-TEST0001")
        assert found is not None
        return found

    def sweep(self) -> Swept:
        ports = Ports(
            accounts=self.accounts,
            incidents=self.incidents,
            backfills=None,
            chat=None,
            pager=self.pager,
            clock=self.clock,
        )
        return sweep(ports, self.starter)


@pytest.mark.parametrize("do", ["revert", "keep"])
def test_a_change_that_is_being_verified_can_be_given_back_or_kept(do: str) -> None:
    """No question is open then; the word is left for the workflow, which looks every minute."""
    room = Room(in_force())
    said = room.control.decide("INC-TEST0001", None, "keep" if do == "keep" else "revert", Person(id="U0OPS"))

    assert said == ""
    wish = room.record().wish
    assert wish is not None
    assert (wish.do, wish.by) == (do, "U0OPS")
    assert room.starter.answers == []


def test_nothing_is_wished_for_what_is_not_in_force_or_by_who_may_not() -> None:
    """A plain answer says how it stands instead."""
    room = Room(incident())
    assert "is not waiting for that now" in room.control.decide("INC-TEST0001", None, "revert", Person(id="U0OPS"))
    assert "Only operators" in Room(in_force()).control.decide("INC-TEST0001", None, "revert", Person(id="U0NOBODY"))
    assert room.record().wish is None


def test_an_answer_nobody_waits_for_becomes_a_wish_for_the_sweep() -> None:
    """The execution is gone and its question is still in the record; the person must not be told that it is too late."""
    room = Room(in_force(question=QUESTION), waits=False)

    assert room.control.decide("INC-TEST0001", None, "revert", Person(id="U0OPS")) == ""
    room.clock.time = NOW + 10 * MINUTE
    assert room.sweep().given_back == ()
    room.clock.time = NOW + 11 * MINUTE
    assert room.sweep().given_back == ("INC-TEST0001",)
    assert (room.record().status, room.actor.reservations) == (Status.REVERTED, {})
    assert "U0OPS asked for it" in room.pager.pages[0][1]


def test_the_sweep_keeps_what_a_person_wished_to_keep() -> None:
    """And says who."""
    room = Room(in_force())
    room.control.decide("INC-TEST0001", None, "keep", Person(id="U0OPS"))
    room.clock.time = NOW + 11 * MINUTE
    room.sweep()

    assert (room.record().status, room.actor.reservations) == (Status.KEPT, {"hog": 250})
    assert "Kept by U0OPS" in room.pager.pages[0][1]


def test_a_workflow_that_keeps_trying_to_give_back_is_not_pushed_aside() -> None:
    """It has heard; AWS does not allow it yet."""
    room = Room(in_force(wish=WISH).told(NOW, "lease.give-back-later", "budget"))
    room.clock.time = NOW + 30 * MINUTE

    assert room.sweep().given_back == ()
    assert room.actor.reservations == {"hog": 250}


def test_a_no_may_carry_its_reason() -> None:
    """Who said no is always there; why, where it was said."""
    said = Answer(do="reject", by="U0OPS", why="we deploy a fix in five minutes")

    assert read_answer(write_answer(said)) == said
    assert read_answer('{"do": "reject", "by": "U0OPS", "why": 5}') == replace(said, why="")


# --- what a yes is for ---------------------------------------------------------------------------------------------------


def planned(changes: tuple[Change, ...]) -> Plan:
    return Plan(
        action=Action(changes[0].kind), why="because", changes=changes, lease_minutes=60, commands=("as shown",)
    )


@given(some_changes)
def test_what_was_approved_is_made_as_it_was_shown(changes: tuple[Change, ...]) -> None:
    """Number for number, whatever a fresh look would plan for the same target by now."""
    asked = planned(changes)
    moved = tuple(
        replace(one, after=one.after + 1, peak=1)
        if isinstance(one, CapConcurrency)
        else replace(one, after=replace(one.after, scaling=()))
        if isinstance(one, RaiseCapacity)
        else one
        for one in changes
    )
    agreed = agreed_change(asked, replace(planned(moved), commands=("another",), lease_minutes=5))

    assert agreed is not None
    assert (agreed.commands, agreed.lease_minutes) == (asked.commands, asked.lease_minutes)
    for one, approved in zip(agreed.changes, asked.changes, strict=True):
        assert getattr(one, "after", None) == getattr(approved, "after", None)


@given(some_changes, some_changes, st.booleans())
def test_a_yes_is_not_for_another_target_before_state_or_tag(
    changes: tuple[Change, ...], others: tuple[Change, ...], is_tagged: bool
) -> None:
    """What the person saw is not there any more: they are told, and nothing is changed."""
    asked = planned(changes)
    fresh = planned(
        (replace(changes[0], tags={"unthrottle:max-concurrency": "5"}), *changes[1:]) if is_tagged else others
    )
    if [(one.kind, one.arn, getattr(one, "before", None), one.tags) for one in asked.changes] == [
        (one.kind, one.arn, getattr(one, "before", None), one.tags) for one in fresh.changes
    ]:
        return
    assert agreed_change(asked, fresh) is None


def test_a_yes_is_not_for_no_plan() -> None:
    """The look may find nothing to do."""
    assert agreed_change(PLAN, None) is None
    assert agreed_change(PLAN, Plan(action=Action.WAIT, why="it heals itself")) is None


# --- export --------------------------------------------------------------------------------------------------------------


def test_the_record_is_exported_as_one_json_document_a_line_and_read_back_the_same() -> None:
    """Also with names that hold line ends, quotes and other alphabets."""
    records = [in_force(question=QUESTION, wish=WISH), incident(alarm_name='drei "Zeilen"\n\u2028ä')]
    lines = list(json_lines(records))

    assert [read_line(line) for line in lines] == records
    assert all("\n" not in line for line in lines)
    assert json.loads(lines[0])["applied"][0]["change"]["before"] is None
    with pytest.raises(BadInput):
        read_line("{}")
