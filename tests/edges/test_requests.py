"""A person asks for a look or a fix: what may stand in the way of an alarm, what makes way, and what is only joined."""

from dataclasses import replace
from datetime import timedelta

import pytest

from sandbox.memory_incidents import MemoryIncidents
from tests.unit.fakes import (
    ACCOUNT,
    NOW,
    REGION,
    FakeAccounts,
    FakeFunctions,
    FakeStarter,
    StillClock,
    arn_of,
    observer,
)
from unthrottle.errors import Conflict
from unthrottle.evidence.pool import ConcurrencyAccount
from unthrottle.incident import Incident, Question, Status
from unthrottle.ports import FunctionSettings, Opened
from unthrottle.requested import MOST_LOOKS, Requests
from unthrottle.settings import Mode

QUESTION = Question(about="approval", callback="c", version=1, expires_at=NOW + timedelta(hours=1))


class Desk:
    """An account with the functions checkout and billing, and the incidents that are open."""

    def __init__(self, *known: Incident, mode: Mode = Mode.AUTO) -> None:
        self.incidents, self.starter = MemoryIncidents(), FakeStarter()
        for number, one in enumerate(known):
            self.incidents.open_or_join(one, f"k{number}")
        functions = (
            FunctionSettings(name=name, arn=arn_of(name), reserved=None, timeout_s=3, tags={})
            for name in ("checkout", "billing")
        )
        account = ConcurrencyAccount(limit=1000, unreserved_limit=1000, function_count=2)
        seen = observer(functions=FakeFunctions(account, *functions))
        self.requests = Requests(
            incidents=self.incidents,
            starter=self.starter,
            accounts=FakeAccounts(seen),
            clock=StillClock(),
            mode=mode,
            home=(ACCOUNT, REGION),
        )

    def asks(self, resource: str = "checkout", *, dry_run: bool = False, who: str = "U0OPS") -> str:
        return self.requests.start(resource, who, dry_run=dry_run)

    def record(self) -> Incident:
        found = self.incidents.load("INC-TEST0001")
        assert found is not None
        return found


def opened() -> Incident:
    """The incident that a fix of `checkout` opens."""
    desk = Desk()
    desk.asks()
    (found,) = desk.incidents.open_incidents()
    return found


FIX = opened()


def test_a_look_does_not_stand_in_the_way_of_an_alarm() -> None:
    """An alarm that joined it would be answered by a dry run."""
    desk = Desk()
    assert desk.asks(dry_run=True).startswith("Looking, as a dry run that changes nothing: INC-")
    assert isinstance(desk.incidents.open_or_join(replace(FIX, id="INC-ALARM001"), "alarm"), Opened)


def test_a_look_at_what_is_being_worked_on_points_there() -> None:
    desk = Desk(replace(FIX, id="INC-TEST0001"))
    said = desk.asks(dry_run=True)
    assert said.startswith("INC-TEST0001 is open for this already: diagnosing")
    assert desk.starter.started == []
    assert desk.record().triggers == 1


def test_a_look_is_made_beside_a_change_that_helped_and_only_waits_for_the_end_of_its_lease() -> None:
    """What is wrong now may be something else; the page about it says to look."""
    helped = replace(FIX, id="INC-TEST0001", status=Status.APPLIED, recovered_at=NOW)
    desk = Desk(helped)
    assert desk.asks(dry_run=True).startswith("Looking")
    assert len(desk.starter.started) == 1
    assert Desk(helped).asks().startswith("INC-TEST0001 is open for this already")

    verifying = Desk(replace(helped, recovered_at=None))
    assert verifying.asks(dry_run=True).startswith("INC-TEST0001 is open for this already")


def test_a_look_is_not_held_up_by_work_on_another_table() -> None:
    desk = Desk(replace(FIX, id="INC-TEST0001", fingerprint="another"))
    assert desk.asks(dry_run=True).startswith("Looking")
    assert len(desk.starter.started) == 1


def test_a_look_that_is_open_answers_for_the_next_who_asks() -> None:
    """Anybody in the channel may ask, again and again; each look would be a workflow."""
    desk = Desk()
    desk.asks(dry_run=True)
    (look,) = desk.incidents.open_incidents()
    said = [desk.asks(dry_run=True, who=f"U{number}") for number in range(30)]

    stands = f"diagnosing; no plan yet, none; since {NOW:%Y-%m-%d %H:%M} UTC."
    assert set(said) == {f"{look.id} is open for this already: {stands} Its thread has what is known."}
    assert desk.incidents.open_incidents() == (look,)
    assert desk.starter.started == [look.id]


def test_of_two_who_ask_at_the_same_moment_one_gets_the_look_and_the_other_its_id() -> None:
    """Both saw that there is none; the store lets one of them open it."""
    desk = Desk()
    desk.incidents.open_incidents = lambda: ()  # type: ignore[method-assign]  # what both read
    first, second = desk.asks(dry_run=True, who="U0ANN"), desk.asks(dry_run=True, who="U0BOB")

    (started,) = desk.starter.started
    assert first == f"Looking, as a dry run that changes nothing: {started}. What is found comes in the channel."
    assert second == f"{started} is open for this already; its thread has what is known."


def test_functions_of_one_pool_are_looked_at_side_by_side() -> None:
    desk = Desk()
    assert desk.asks("checkout", dry_run=True).startswith("Looking")
    assert desk.asks("billing", dry_run=True).startswith("Looking")
    assert len(desk.starter.started) == 2


def test_no_more_than_five_looks_are_open_at_once() -> None:
    """Who asks for a sixth reads which there are, and what to do; a fix is not held up, and room is made by an end."""
    looks = [
        replace(FIX, id=f"INC-LOOK000{number}", fingerprint=f"{FIX.fingerprint}/look/job-{number}")
        for number in range(MOST_LOOKS)
    ]
    desk = Desk(*looks)
    listed = ", ".join(f"INC-LOOK000{number} (job-{number})" for number in range(5))
    assert desk.asks(dry_run=True) == (
        f"5 looks are open already, and no more than 5 run at once: {listed}. checkout was not looked at. Each ends by itself, "
        "mostly within minutes, with its report in the channel; ask again then. Alarms do not wait for looks."
    )
    assert desk.starter.started == []

    desk.incidents.close(replace(looks[2], closed_at=NOW))
    assert desk.asks(dry_run=True).startswith("Looking")
    assert desk.asks("billing").startswith("On it")


@pytest.mark.parametrize("status", [Status.DENIED, Status.EXPIRED, Status.REJECTED])
def test_a_fix_takes_the_place_of_an_incident_that_only_watches(status: Status) -> None:
    """Else what was denied while paused could not be mended until it closes by itself."""
    desk = Desk(replace(FIX, id="INC-TEST0001", status=status))
    said = desk.asks()
    ((fresh,), old) = desk.incidents.open_incidents(), desk.record()

    assert said == f"On it: {fresh.id}. What is found and done comes in the channel."
    assert desk.starter.started == [fresh.id]
    assert old.closed_at == NOW
    assert [moment.event for moment in old.timeline[-2:]] == ["incident.superseded", "incident.closed"]


@pytest.mark.parametrize(
    "known",
    [
        replace(FIX, id="INC-TEST0001", status=Status.APPLIED),
        replace(FIX, id="INC-TEST0001"),
        replace(FIX, id="INC-TEST0001", status=Status.DENIED, question=QUESTION),
    ],
    ids=["a change is in force", "it is being looked at", "somebody is asked"],
)
def test_a_fix_joins_an_incident_that_is_at_work_and_joins_it_once(known: Incident) -> None:
    desk = Desk(known)
    assert desk.asks() == "INC-TEST0001 is open for this already; its thread has what is known."
    assert desk.starter.started == []
    assert desk.record() == replace(known, triggers=2)


def test_an_incident_that_is_written_just_then_does_not_make_way() -> None:
    """Its workflow lives; the person reads that it is open, and may ask again."""
    desk = Desk(replace(FIX, id="INC-TEST0001", status=Status.DENIED))

    def refuse(record: Incident) -> Incident:
        raise Conflict("written meanwhile")

    desk.incidents.close = refuse  # type: ignore[assignment,method-assign]  # for this test only
    assert desk.asks().startswith("INC-TEST0001 is open for this already")
    assert desk.record().triggers == 2


def test_in_dry_run_a_fix_is_told_as_a_look() -> None:
    """The mode of the stack narrows whatever a person asks."""
    assert Desk(mode=Mode.DRY_RUN).asks().startswith("Looking, as a dry run that changes nothing")


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        ("arn:aws:lambda:us-east-1:999900001111:function:checkout", "is not in account"),
        ("arn:aws:lambda:us-east-1:999900001111", "There is no table or function"),
        ("999900001111:function:checkout", "is not in account"),
        ("999900001111:function", "There is no table or function"),
        (f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:checkout", "On it"),
        (f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:checkout:live", "On it"),
    ],
)
def test_an_arn_says_where_its_resource_is_only_when_it_is_whole(resource: str, words: str) -> None:
    assert words in Desk().asks(resource)
