"""What people may ask, what they are told, and that nothing is changed by who may not or by what is not understood."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from sandbox.memory_incidents import MemoryIncidents
from sandbox.slack_people import SlackPeople
from tests.unit.fakes import (
    ACCOUNT,
    NOW,
    REGION,
    FakeAccounts,
    FakeFunctions,
    FakeStarter,
    FakeTables,
    StillClock,
    arn_of,
    incident,
    observer,
)
from unthrottle.answers import Do, read_answer
from unthrottle.control import Control, Person
from unthrottle.errors import NotAllowed, Refused, TryAgain
from unthrottle.evidence.pool import ConcurrencyAccount
from unthrottle.evidence.table import Billing, Capacity, TableSettings
from unthrottle.incident import Incident, Question
from unthrottle.ports import FunctionSettings
from unthrottle.settings import Mode, Settings
from unthrottle.slack_door import Door, SlackApp
from unthrottle.slack_grammar import Asked, Audit, Check, Fix, Help, Keep, NotUnderstood, Pause, Resume, Revert, Status
from unthrottle.subjects import FunctionSubject, PoolSubject, Subject, TableSubject

OPERATOR, VIEWER, STRANGER = Person(id="U0OPS"), Person(id="U0VIEW"), Person(id="U0NOBODY")
TABLE = TableSettings(
    name="dagy-runs",
    arn="arn",
    status="ACTIVE",
    billing=Billing.PROVISIONED,
    capacity=Capacity(read=1, write=1),
)
QUESTION = Question(about="lease", callback="callback-1", version=7, expires_at=NOW + timedelta(hours=2))


class Desk:
    """A control with all it talks to."""

    def __init__(self, *open_now: Incident, tables: FakeTables | None = None, waits: bool = True) -> None:
        self.incidents, self.starter = MemoryIncidents(), FakeStarter(waits=waits)
        for number, one in enumerate(open_now):
            self.incidents.open_or_join(one, f"k{number}")
        account = ConcurrencyAccount(limit=1000, unreserved_limit=1000, function_count=1)
        known = FunctionSettings(name="checkout", arn=arn_of("checkout"), reserved=None, timeout_s=3, tags={})
        self.functions = FakeFunctions(account, known, replace(known, name="ab"))
        self.functions.known["checkout:live"] = known
        self.accounts = FakeAccounts(observer(functions=self.functions, tables=tables or FakeTables(TABLE)))
        self.control = Control(
            incidents=self.incidents,
            starter=self.starter,
            accounts=self.accounts,
            clock=StillClock(),
            settings=Settings(mode=Mode.AUTO, operators=(OPERATOR.id,), viewers=(VIEWER.id,)),
            home_account=ACCOUNT,
            home_region=REGION,
        )

    def says(self, asked: Asked, person: Person = OPERATOR) -> str:
        return self.control.carry_out(asked, person)


def waiting(about: str = "lease") -> Incident:
    return incident(question=replace(QUESTION, about="approval" if about == "approval" else "lease"))


EVERYTHING: list[Asked] = [
    Help(),
    NotUnderstood(message="What?"),
    Status(incident_id=None),
    Check(resource="dagy-runs"),
    Fix(resource="dagy-runs", dry_run=False),
    Revert(incident_id="INC-TEST0001"),
    Keep(incident_id="INC-TEST0001"),
    Pause(duration=None),
    Resume(),
    Audit(),
]


@pytest.mark.parametrize("asked", EVERYTHING, ids=lambda asked: type(asked).__name__.lower())
def test_a_stranger_gets_nothing_done_and_learns_nothing(asked: Asked) -> None:
    """Whoever is on neither list is told so, whatever was asked."""
    desk = Desk(waiting())

    assert desk.says(asked, STRANGER).endswith("Nothing was run.")
    assert (desk.starter.started, desk.starter.answers) == ([], [])
    assert desk.incidents.ledger(ACCOUNT, REGION, (), NOW).paused_until is None


def test_a_viewer_looks_and_an_operator_acts() -> None:
    """Pausing, resuming and deciding are the operators'."""
    desk = Desk(waiting())

    for asked in (Revert(incident_id="INC-TEST0001"), Keep(incident_id="INC-TEST0001"), Pause(duration=None), Resume()):
        assert desk.says(asked, VIEWER).startswith("Only operators may")
    assert desk.starter.answers == []
    assert desk.says(Status(incident_id=None), VIEWER).startswith("Mode auto. Open incidents: 1")


def test_what_was_not_understood_runs_nothing() -> None:
    """The message is shown with the command that was perhaps meant."""
    desk = Desk()
    answer = desk.says(NotUnderstood(message="Unknown word.", suggestion="/unthrottle pause"))

    assert answer == "Unknown word. Did you mean `/unthrottle pause`?"
    assert desk.starter.started == []


@pytest.mark.parametrize(
    ("asked", "person", "is_dry"),
    [
        (Fix(resource="dagy-runs", dry_run=False), OPERATOR, False),
        (Fix(resource="dagy-runs", dry_run=True), OPERATOR, True),
        (Fix(resource="dagy-runs", dry_run=False), VIEWER, True),
        (Check(resource="dagy-runs"), OPERATOR, True),
    ],
    ids=["an operator fixes", "an operator only looks", "a viewer's fix is a look", "a check is a look"],
)
def test_only_an_operators_fix_may_change_anything(asked: Asked, person: Person, is_dry: bool) -> None:
    """Everything else opens an incident that is forced to dry-run."""
    desk = Desk()
    answer = desk.says(asked, person)

    (found,) = desk.incidents.open_incidents()
    assert (found.forced_dry_run, found.requested_by) == (is_dry, person.id)
    assert desk.starter.started == [found.id]
    assert ("dry run" in answer) is is_dry


@pytest.mark.parametrize(
    ("resource", "subject"),
    [
        ("dagy-runs", TableSubject(table="dagy-runs")),
        ("table/dagy-runs", TableSubject(table="dagy-runs")),
        (f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/dagy-runs/index/by-status", TableSubject(table="dagy-runs")),
        ("checkout", FunctionSubject(function="checkout")),
        ("function/checkout", FunctionSubject(function="checkout")),
        (arn_of("checkout") + ":live", FunctionSubject(function="checkout")),
        (f"{ACCOUNT}:function:checkout", FunctionSubject(function="checkout")),
    ],
)
def test_a_resource_may_be_named_in_any_usual_way(resource: str, subject: Subject) -> None:
    """A bare name, a kind and a name, or an ARN, with or without what follows the name."""
    desk = Desk()
    desk.says(Check(resource=resource))

    assert [found.subject for found in desk.incidents.open_incidents()] == [subject]


@pytest.mark.parametrize("resource", ["ab", "checkout:live"])
def test_a_name_no_table_can_have_may_still_be_a_functions(resource: str) -> None:
    """DynamoDB refuses to look for a name of two letters or with a colon; that says nothing about Lambda."""
    desk = Desk(tables=FakeTables(refuses=Refused("3 letters at least", code="ValidationException")))
    desk.says(Check(resource=resource))

    assert [type(found.subject) for found in desk.incidents.open_incidents()] == [FunctionSubject]


@pytest.mark.parametrize(
    "resource",
    [
        f"arn:aws:lambda:{REGION}:999900001111:function:checkout",
        f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:checkout",
        f"arn:aws:dynamodb:{REGION}:999900001111:table/dagy-runs",
        "999900001111:function:checkout",
        "999900001111:function:checkout:live",
    ],
    ids=["another account", "another Region", "another account's table", "partial ARN", "partial ARN of an alias"],
)
def test_an_arn_of_somewhere_else_is_not_taken_for_the_same_name_here(resource: str) -> None:
    """The function of that name in this account is another function."""
    desk = Desk()

    assert "Nothing was run." in desk.says(Fix(resource=resource, dry_run=False))
    assert desk.starter.started == []


def test_an_unknown_resource_runs_nothing() -> None:
    """The answer says where was looked."""
    desk = Desk()

    for resource in ("nowhere", "table/checkout", "function/dagy-runs"):
        assert f"no table or function {resource} in account {ACCOUNT}" in desk.says(Check(resource=resource))
    assert desk.starter.started == []


def test_a_resource_that_may_not_be_read_is_an_error_for_the_person() -> None:
    """Missing permission must not look like a missing table."""
    with pytest.raises(NotAllowed):
        Desk(tables=FakeTables(refuses=NotAllowed("no", code="AccessDenied"))).says(Check(resource="dagy-runs"))


def test_asking_about_what_is_open_already_joins_it() -> None:
    """The second person is pointed to the first one's thread, and no second workflow is started."""
    desk = Desk(incident(subject=PoolSubject()))

    assert desk.says(Fix(resource="checkout", dry_run=False)).startswith("INC-TEST0001 is open for this already")
    assert desk.starter.started == []


@pytest.mark.parametrize(
    ("duration", "until", "words"),
    [
        (timedelta(hours=2), NOW + timedelta(hours=2), "until 2026-08-24 12:00 UTC"),
        (timedelta(0), NOW, "until 2026-08-24 10:00 UTC"),
        (None, NOW + timedelta(days=3650), "until somebody says"),
    ],
    ids=["two hours", "no time at all", "without an end"],
)
def test_a_pause_lasts_as_long_as_was_said(duration: timedelta | None, until: object, words: str) -> None:
    """No duration is not a duration of nothing."""
    desk = Desk()
    told: list[object] = []
    desk.incidents.set_pause = lambda end, by: told.append((end, by))  # type: ignore[assignment,method-assign]  # for this test only

    assert words in desk.says(Pause(duration=duration))
    desk.says(Resume())
    assert told == [(until, OPERATOR.id), (None, OPERATOR.id)]


@pytest.mark.parametrize(
    ("do", "about"), [("approve", "approval"), ("reject", "approval"), ("keep", "lease"), ("revert", "lease")]
)
def test_a_decision_reaches_the_workflow_that_waits_for_it(do: Do, about: str) -> None:
    """With who decided; and only if it waits for just that."""
    desk = Desk(waiting(about))
    assert desk.control.decide("INC-TEST0001", 7, do, OPERATOR) == ""
    ((callback, text),) = desk.starter.answers
    assert callback == "callback-1"
    assert (read_answer(text).do, read_answer(text).by) == (do, OPERATOR.id)

    other = Desk(waiting("lease" if about == "approval" else "approval"))
    assert "is not waiting for that now" in other.control.decide("INC-TEST0001", 7, do, OPERATOR)
    assert other.starter.answers == []


@pytest.mark.parametrize(
    ("open_now", "version", "waits", "person", "words"),
    [
        (waiting(), 6, True, OPERATOR, "from an earlier state"),
        (waiting(), 7, False, OPERATOR, "was decided already, or its time ran out"),
        (waiting(), 7, True, VIEWER, "Only operators"),
        (incident(), 7, True, OPERATOR, "is not waiting for that now"),
        (None, 7, True, OPERATOR, "There is no incident"),
    ],
    ids=["an old button", "too late", "no operator", "no question", "no incident"],
)
def test_a_decision_that_cannot_be_taken_changes_nothing_and_says_why(
    open_now: Incident | None, version: int, waits: bool, person: Person, words: str
) -> None:
    """A button is bound to the version of the record that the person saw."""
    desk = Desk(*([open_now] if open_now else []), waits=waits)
    answer = desk.control.decide("INC-TEST0001", version, "keep", person)

    assert words in answer
    assert answer.replace("`/unthrottle status` lists the open ones.", "").strip().endswith("Nothing was changed.")


# --- the door --------------------------------------------------------------------------------------------------------

PEOPLE = SlackPeople(secret="s3cret")


def door(desk: Desk, app: SlackApp | None = None) -> Door:
    return Door(
        app=lambda: app or SlackApp(signing_secrets=("s3cret",)),
        control=lambda: desk.control,
        clock=StillClock(),
        is_seen=desk.incidents.is_seen,
    )


def text_of(answer: dict[str, object]) -> str:
    body = answer["body"]
    assert isinstance(body, str)
    return str(json.loads(body)["text"]) if body else ""


def test_a_signed_command_is_carried_out_once() -> None:
    """Slack repeats a request that was answered late; the second one does nothing."""
    desk = Desk()
    request = PEOPLE.say(OPERATOR.id, "/unthrottle fix dagy-runs", NOW)

    first, second = (door(desk).answer(request) for _ in range(2))

    assert text_of(first).startswith("On it: INC-")
    assert (second["statusCode"], text_of(second)) == (200, "")
    assert len(desk.starter.started) == 1


@pytest.mark.parametrize(
    "event", [None, {}, [], "x", {"body": "text=fix"}], ids=["null", "empty", "list", "word", "bare"]
)
def test_an_unsigned_request_is_answered_with_an_error_and_carries_out_nothing(event: object) -> None:
    """Whatever a stranger sends, the door stands."""
    desk = Desk()
    status = door(desk).answer(event)["statusCode"]

    assert isinstance(status, int)
    assert 400 <= status < 500
    assert desk.starter.started == []


def test_another_signature_or_workspace_or_app_is_not_taken() -> None:
    """A signed request of another workspace is refused in words; a wrongly signed one without."""
    desk = Desk()
    request = PEOPLE.say(OPERATOR.id, "/unthrottle fix dagy-runs", NOW)

    assert door(desk, SlackApp(signing_secrets=("other",))).answer(request)["statusCode"] == 401
    for app in (
        SlackApp(signing_secrets=("s3cret",), teams=frozenset({"T0OTHER"})),
        SlackApp(signing_secrets=("s3cret",), app_id="A0OTHER"),
    ):
        assert "Nothing was run" in text_of(door(desk, app).answer(request))
    assert desk.starter.started == []


def test_a_failure_is_told_to_the_person_who_asked() -> None:
    """AWS being busy is an answer in words, not a time-out of Slack."""
    desk = Desk(tables=FakeTables(refuses=TryAgain("DynamoDB is busy.")))
    answer = door(desk).answer(PEOPLE.say(OPERATOR.id, "/unthrottle check dagy-runs", NOW))

    assert text_of(answer) == "That did not work: DynamoDB is busy."


@pytest.mark.parametrize(
    ("action", "value", "answers", "words"),
    [
        ("keep", "INC-TEST0001:7", 1, ""),
        ("keep", "INC-TEST0001:6", 0, "from an earlier state"),
        ("keep", "INC-TEST0001", 0, "not one of Unthrottle's"),
        ("delete", "INC-TEST0001:7", 0, "not one of Unthrottle's"),
        ("approve", "INC-TEST0001:7", 0, "is not waiting for that now"),
    ],
    ids=["the right one", "an old one", "without a version", "another app's", "another question's"],
)
def test_a_button_decides_exactly_what_it_was_shown_for(action: str, value: str, answers: int, words: str) -> None:
    """Incident, version and question must all fit; an empty answer means that it was taken."""
    desk = Desk(waiting())
    answer = door(desk).answer(PEOPLE.click(OPERATOR.id, action, value, NOW, message_ts="1.2"))

    assert len(desk.starter.answers) == answers
    assert words in text_of(answer)
    assert bool(text_of(answer)) is bool(words)
