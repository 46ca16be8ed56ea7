"""The way in at its edges: sizes, characters, and who may do what there."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sandbox.memory_incidents import MemoryIncidents
from sandbox.slack_people import SlackPeople
from tests.slack.test_front_door import form, signed
from tests.unit.fakes import ACCOUNT, NOW, REGION, FakeAccounts, FakeStarter, StillClock, incident
from unthrottle.answers import MOST_SNOOZE_MINUTES, SNOOZE_MINUTES, read_answer
from unthrottle.control import Control, Person
from unthrottle.errors import TryAgain
from unthrottle.incident import Incident, Outcome, Question, Wish
from unthrottle.settings import Settings
from unthrottle.slack_door import COPY, SNOOZED, Door, SlackApp
from unthrottle.slack_front import (
    MAX_BODY_BYTES,
    Command,
    Rejected,
    UrlVerification,
    challenge_answer,
    receive,
)
from unthrottle.slack_grammar import (
    MAX_TEXT,
    USAGE,
    Asked,
    Check,
    Fix,
    Keep,
    NotUnderstood,
    Pause,
    Revert,
    Snooze,
    Status,
    understand,
)

SECRET = "a-signing-secret-for-tests"
SIGNED_AT = datetime(2026, 8, 24, 4, 33, tzinfo=UTC)
RUNS = "dagy-runs"
ID = "INC-7Q2M"


# --- requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "is_read"), [(1_000_000, True), (1_000_001, False)])
@pytest.mark.parametrize("encoded", [True, False])
def test_a_body_is_read_up_to_a_million_bytes(size: int, encoded: bool, is_read: bool) -> None:
    """Encoded or plain, the bytes that Slack signed count."""
    body = form(text="x") + b"&padding="
    body += b"x" * (size - len(body))
    event = signed(body, SIGNED_AT)
    if not encoded:
        event |= {"body": body.decode(), "isBase64Encoded": False}
    found = receive(event, [SECRET], SIGNED_AT)

    assert size - MAX_BODY_BYTES in {0, 1}
    assert isinstance(found, Command if is_read else Rejected)
    assert is_read or found == Rejected(status=400, reason="the body cannot be decoded, or is too large")


def test_the_challenge_comes_back_as_it_was_with_a_status_of_200() -> None:
    assert challenge_answer(UrlVerification(challenge="abc")) == {
        "statusCode": 200,
        "headers": {"content-type": "text/plain"},
        "body": "abc",
    }


def test_a_home_tab_that_nobody_opened_is_a_bad_request() -> None:
    body = json.dumps({"type": "event_callback", "event": {"type": "app_home_opened"}}).encode()
    assert receive(signed(body, SIGNED_AT), [SECRET], SIGNED_AT) == Rejected(
        status=400, reason="a home tab without a user"
    )


@pytest.mark.parametrize(("late", "is_taken"), [(300, True), (301, False), (-300, True), (-301, False)], ids=str)
def test_a_signature_is_good_for_five_minutes_either_way(late: int, is_taken: bool) -> None:
    found = receive(signed(form(), SIGNED_AT), [SECRET], SIGNED_AT + timedelta(seconds=late))
    assert isinstance(found, Command) is is_taken


def test_a_body_that_is_no_base64_is_not_read() -> None:
    event = signed(form(), SIGNED_AT) | {"body": base64.b64encode(form()).decode() + "%"}
    assert isinstance(receive(event, [SECRET], SIGNED_AT), Rejected)


# --- the door --------------------------------------------------------------------------------------------------------


def door(app: SlackApp | None = None, error: TryAgain | None = None, control: Control | None = None) -> Door:
    def found() -> SlackApp:
        if error is not None:
            raise error
        return app or SlackApp(signing_secrets=(SECRET,))

    def acting() -> Control:
        assert control is not None
        return control

    return Door(app=found, control=acting, clock=StillClock(SIGNED_AT), is_seen=lambda _: False)


def test_the_signing_secret_is_not_shown_where_the_app_is() -> None:
    """A log line or an error of a test would carry it away."""
    assert SECRET not in repr(SlackApp(signing_secrets=(SECRET,)))


def test_slacks_own_check_is_answered_with_200() -> None:
    body = b"ssl_check=1&token=x"
    assert door().answer(signed(body, SIGNED_AT)) == {"statusCode": 200, "body": ""}


def test_without_its_secret_the_door_is_shut_with_503() -> None:
    answer = door(error=TryAgain("busy")).answer(signed(form(), SIGNED_AT))
    assert answer["statusCode"] == 503
    assert "Nothing was run" in str(answer["body"])


def pressed(action: str, known: Incident, *, message_ts: str = "1.2") -> list[tuple[str, str, bool]]:
    """What is said to the address of a click on this incident's button."""
    desk = Desk(known)
    told: list[tuple[str, str, bool]] = []
    asked = Door(
        app=lambda: SlackApp(signing_secrets=(SECRET,)),
        control=lambda: desk.control,
        clock=StillClock(SIGNED_AT),
        is_seen=lambda _: False,
        reply=lambda address, text, replaces: told.append((address, text, replaces)),
    )
    people = SlackPeople(secret=SECRET)
    asked.answer(people.click("U0OPS", action, f"{known.id}:7", SIGNED_AT, message_ts=message_ts))
    return told


def test_a_click_that_was_taken_is_answered_by_the_message_itself() -> None:
    assert pressed("keep", incident(question=LEASE)) == []


def test_a_click_that_was_not_taken_is_told_to_the_person_alone() -> None:
    """In the message's place it would be told to everybody, and the buttons would be gone."""
    ((address, text, replaces),) = pressed("approve", incident(question=LEASE))
    assert address.startswith("https://")
    assert "is not waiting for that now" in text
    assert not replaces


def test_a_snooze_of_what_is_only_watched_is_acknowledged_to_the_person() -> None:
    """It is seen at the next look, and nobody likes to press a button twice; a refusal is told instead, not both."""
    assert [(text, replaces) for _, text, replaces in pressed("snooze", WATCHED)] == [(SNOOZED, False)]
    refused = pressed("snooze", incident(question=LEASE, outcome=Outcome.RECOVERED))
    assert [text == SNOOZED for _, text, _ in refused] == [False]


def test_a_copy_of_the_head_is_replaced_by_where_the_head_is() -> None:
    head = incident(question=LEASE, head="1.2")
    assert pressed("keep", head) == []
    assert [(text, replaces) for _, text, replaces in pressed("keep", head, message_ts="1.1")] == [
        (COPY.format("INC-TEST0001"), True)
    ]


def test_without_an_address_to_answer_to_a_click_is_still_carried_out() -> None:
    desk = Desk(WATCHED)
    click = SlackPeople(secret=SECRET).click("U0OPS", "snooze", "INC-TEST0001:7", SIGNED_AT, message_ts="1.2")
    assert door(control=desk.control).answer(click) == {"statusCode": 200, "body": ""}
    found = desk.incidents.load("INC-TEST0001")
    assert found is not None
    assert found.wish is not None


# --- what was typed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", "\u200b\u200c\u200d\u2060\ufeff\u00ad", ids=ascii)
def test_what_cannot_be_seen_does_not_count(sign: str) -> None:
    """Zero-width spaces and joiners, the byte order mark, the soft hyphen."""
    assert understand(f"che{sign}ck {RUNS}{sign}") == Check(resource=RUNS)


@pytest.mark.parametrize("sign", "\u00a0\u202f\u2007", ids=ascii)
def test_spaces_that_do_not_break_are_spaces(sign: str) -> None:
    assert understand(f"fix{sign}{RUNS}{sign}--dry-run") == Fix(resource=RUNS, dry_run=True)


@pytest.mark.parametrize("sign", "\u2010\u2011", ids=ascii)
def test_hyphens_of_typesetters_are_hyphens(sign: str) -> None:
    assert understand(f"status INC{sign}7Q2M") == Status(incident_id=ID)


@pytest.mark.parametrize("sign", "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb", ids=ascii)
def test_quotes_of_phones_are_quotes(sign: str) -> None:
    assert understand(f"check {sign}{RUNS}{sign}") == Check(resource=RUNS)


@pytest.mark.parametrize("sign", "\u2012\u2013\u2014\u2015\u2212", ids=ascii)
def test_long_dashes_are_two_hyphens(sign: str) -> None:
    assert understand(f"fix {RUNS} {sign}dry-run") == Fix(resource=RUNS, dry_run=True)


def test_a_text_is_read_up_to_a_thousand_characters() -> None:
    text = f"check {RUNS}"
    padded = text + " " * (1000 - len(text))
    assert len(padded) == MAX_TEXT
    assert understand(padded) == Check(resource=RUNS)
    assert isinstance(understand(padded + " "), NotUnderstood)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (f"keep {ID} 24h", Keep(incident_id=ID, for_a_day=True)),
        (f"keep {ID} 24H", Keep(incident_id=ID, for_a_day=True)),
        (f"keep {ID}", Keep(incident_id=ID)),
        (f"revert {ID}", Revert(incident_id=ID)),
        (f"snooze {ID}", Snooze(incident_id=ID)),
    ],
)
def test_an_incident_may_be_kept_for_a_day_and_nothing_else_may(text: str, asked: Asked) -> None:
    assert understand(text) == asked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"keep {ID} 25h", "`keep` takes 24h or nothing after the incident; nothing was run."),
        (f"keep {ID} 24h 24h", "`keep` needs one incident, 3 were given; nothing was run."),
        (f"status {ID} 24h", "`status` needs one incident, 2 were given; nothing was run."),
        (f"revert {ID} 24h", "`revert` needs one incident, 2 were given; nothing was run."),
        ("keep", "`keep` needs one incident, 0 were given; nothing was run."),
        (f"snooze {ID} 2h 2h", "`snooze` needs one incident, 3 were given; nothing was run."),
        (f"check {RUNS} {RUNS}", "`check` needs one table or function, 2 were given; nothing was run."),
        ("resume now", "`resume` takes nothing after it; nothing was run."),
    ],
)
def test_what_is_more_or_less_than_was_asked_for_runs_nothing(text: str, message: str) -> None:
    asked = understand(text)
    assert isinstance(asked, NotUnderstood)
    assert asked.message == message
    assert asked.suggestion == f"/unthrottle {USAGE[text.split(maxsplit=1)[0]]}"


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        (f"fixx {RUNS} --dry-run", f"/unthrottle fix {RUNS} --dry-run"),
        (f"fixx {RUNS}", f"/unthrottle fix {RUNS}"),
        ("fixx a$b", "/unthrottle fix <table or function> [--dry-run]"),
        (f"fixx {RUNS} --force", "/unthrottle fix <table or function> [--dry-run]"),
        ("frobnicate", None),
    ],
)
def test_a_suggestion_repeats_only_what_is_plainly_a_name(text: str, suggestion: str | None) -> None:
    """It is copied and run."""
    asked = understand(text)
    assert isinstance(asked, NotUnderstood)
    assert asked.suggestion == suggestion


def test_a_long_word_is_repeated_by_its_first_sixty_characters() -> None:
    asked = understand("x" * 61)
    assert isinstance(asked, NotUnderstood)
    assert asked.message == f"`{'x' * 60}` is no command; nothing was run."


@pytest.mark.parametrize(
    ("text", "minutes"), [("pause 1m", 1), ("pause 999m", 999), ("pause 999h", 59_940), ("pause 1H", 60)]
)
def test_a_pause_is_of_minutes_or_hours(text: str, minutes: int) -> None:
    assert understand(text) == Pause(duration=timedelta(minutes=minutes))


@pytest.mark.parametrize("text", ["pause 0m", "pause 0h", "pause 1000m", "pause 1y", "pause 1h 1h", "pause h"])
def test_a_pause_of_nothing_or_in_other_words_runs_nothing(text: str) -> None:
    asked = understand(text)
    assert isinstance(asked, NotUnderstood)
    assert "is no duration" in asked.message


# --- who may, and what they are told -------------------------------------------------------------------------------

OPERATOR = Person(id="U0OPS")
LEASE = Question(about="lease", callback="callback-1", version=7, expires_at=NOW + timedelta(hours=2))


class Desk:
    """A control with what it talks to."""

    def __init__(self, *known: Incident, settings: Settings | None = None, **more: object) -> None:
        self.incidents, self.starter = MemoryIncidents(), FakeStarter()
        for number, one in enumerate(known):
            self.incidents.open_or_join(one, f"k{number}")
        self.control = Control(
            incidents=self.incidents,
            starter=self.starter,
            accounts=FakeAccounts(),
            clock=StillClock(),
            settings=settings or Settings(operators=(OPERATOR.id,), viewers=("U0VIEW",)),
            home_account=ACCOUNT,
            home_region=REGION,
            **more,  # type: ignore[arg-type]  # any of its other parts, by name
        )

    def says(self, asked: Asked) -> str:
        return self.control.carry_out(asked, OPERATOR)


def test_a_member_of_one_of_several_groups_may_act() -> None:
    groups = {"S1": frozenset({"U0ONE"}), "S2": frozenset({"U0TWO"})}
    control = Desk(settings=Settings(operators=("S1", "S2")), members=groups.__getitem__).control

    assert [control.may_act(Person(id=name)) for name in ("U0ONE", "U0TWO", "U0THREE")] == [True, True, False]


def test_without_anybody_to_ask_about_groups_only_the_named_may_act() -> None:
    control = Desk(settings=Settings(operators=("S1", "U0OPS"))).control
    assert [control.may_act(Person(id=name)) for name in ("U0OPS", "U0ONE", "S2")] == [True, False, False]


class Newest(MemoryIncidents):
    """Remembers how many of the newest were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def recent(self, limit: int, *, since: datetime | None = None) -> tuple[Incident, ...]:
        self.asked.append(limit)
        return super().recent(limit, since=since)


def test_the_last_ten_actions_are_looked_for_among_a_hundred_incidents() -> None:
    shown: list[str] = []
    desk = Desk(publish=lambda person, _blocks: shown.append(person))
    newest = Newest()
    desk.incidents = desk.control._incidents = newest
    desk.control.show_home(OPERATOR)
    desk.control.show_home(Person(id="U0NOBODY"))

    assert (shown, newest.asked) == ([OPERATOR.id], [100])


def test_whoever_is_not_named_is_shown_so_where_anybody_may_look_somewhere() -> None:
    """With a list of viewers a stranger is shown nothing at all."""
    shown: list[str] = []
    settings = Settings(operators=(OPERATOR.id,))
    desk = Desk(settings=settings, publish=lambda person, _blocks: shown.append(person))
    desk.control.show_home(Person(id="U0NOBODY"))

    assert shown == ["U0NOBODY"]


def test_an_audit_is_started_where_there_is_one_and_else_it_is_said_how() -> None:
    begun: list[str] = []
    said = Desk(audit=lambda: begun.append("audit")).says(understand("audit"))
    assert (said.split(".")[0], begun) == ("The audit has been started", ["audit"])
    assert Desk().says(understand("audit")).endswith("Nothing was run.")


def test_the_status_of_one_incident_is_told_by_its_name() -> None:
    desk = Desk(incident())
    assert desk.says(Status(incident_id="INC-TEST0001")).startswith("INC-TEST0001: diagnosing")
    assert desk.says(Status(incident_id="INC-NOTHERE")).startswith("There is no incident INC-NOTHERE.")


def test_the_status_of_all_lists_the_twenty_oldest() -> None:
    many = [incident(id=f"INC-TEST{number:04}", fingerprint=f"f{number}") for number in range(21)]
    lines = Desk(*many).says(Status(incident_id=None)).splitlines()

    assert lines[0].endswith("Open incidents: 21")
    assert [line.split(":")[0] for line in lines[1:-1]] == [one.id for one in many[:20]]
    assert lines[-1] == "and 1 more: `unthrottle incidents` in a terminal lists all"
    assert "more:" not in Desk(*many[:20]).says(Status(incident_id=None))


@pytest.mark.parametrize(
    ("known", "is_stale"),
    [
        (None, False),
        (incident(), False),
        (incident(head="1.2"), False),
        (incident(head="1.3"), True),
    ],
    ids=["no incident", "nothing was posted", "the head itself", "a copy"],
)
def test_a_button_is_in_a_copy_where_another_message_is_the_head(known: Incident | None, is_stale: bool) -> None:
    assert Desk(*([known] if known else [])).control.is_stale_copy("INC-TEST0001", "1.2") is is_stale


@pytest.mark.parametrize(("for_a_day", "do"), [(False, "keep"), (True, "keep-24h")])
def test_keeping_for_good_and_for_a_day_are_two_answers(for_a_day: bool, do: str) -> None:
    desk = Desk(incident(question=LEASE))
    assert desk.says(Keep(incident_id="INC-TEST0001", for_a_day=for_a_day)).startswith(f"Taken: {do} INC-TEST0001.")
    ((_, text),) = desk.starter.answers
    assert read_answer(text).do == do


WATCHED = incident(escalated=True)
"""A person was paged, nothing is in force, nobody is asked: it is only watched."""


@pytest.mark.parametrize(
    ("duration", "minutes"),
    [
        (None, SNOOZE_MINUTES),
        (timedelta(hours=2), 120),
        (timedelta(minutes=30), 30),
        (timedelta(minutes=MOST_SNOOZE_MINUTES), MOST_SNOOZE_MINUTES),
    ],
)
def test_a_snooze_of_what_is_only_watched_is_noted_until_its_end(duration: timedelta | None, minutes: int) -> None:
    desk = Desk(WATCHED)
    assert desk.says(Snooze(incident_id="INC-TEST0001", duration=duration)).startswith("Taken: snooze INC-TEST0001.")
    found = desk.incidents.load("INC-TEST0001")
    assert found is not None
    assert found.wish == Wish(do="snooze", by="U0OPS", at=NOW, until=NOW + timedelta(minutes=minutes))


def test_a_snooze_without_end_is_refused() -> None:
    desk = Desk(WATCHED)
    said = desk.says(Snooze(incident_id="INC-TEST0001", duration=timedelta(minutes=MOST_SNOOZE_MINUTES + 1)))
    assert said == f"The longest snooze is {MOST_SNOOZE_MINUTES // 60}h. Nothing was changed."
    assert desk.incidents.load("INC-TEST0001") == WATCHED


@pytest.mark.parametrize(
    ("known", "do"),
    [(WATCHED, "approve"), (incident(), "snooze"), (replace(WATCHED, escalated=False), "snooze")],
    ids=["nobody asks for a yes", "nobody was paged", "it is being looked at"],
)
def test_without_a_question_only_what_is_watched_can_be_snoozed(known: Incident, do: str) -> None:
    desk = Desk(known)
    said = desk.control.decide("INC-TEST0001", None, do, OPERATOR)  # type: ignore[arg-type]  # one of the decisions
    assert "is not waiting for that now" in said
    assert desk.incidents.load("INC-TEST0001") == known


def test_what_recovered_is_not_snoozed_and_the_person_reads_why() -> None:
    desk = Desk(incident(question=LEASE, outcome=Outcome.RECOVERED))
    assert "cannot be snoozed: it has recovered" in desk.says(Snooze(incident_id="INC-TEST0001"))
    assert desk.starter.answers == []
