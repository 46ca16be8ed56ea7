"""Only what Slack signed comes in, and nothing that comes in makes it fail."""

import ast
import base64
import hashlib
import hmac
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.slack_people import SlackPeople
from unthrottle import slack_front
from unthrottle.slack_front import (
    ButtonValue,
    Click,
    Command,
    Rejected,
    SslCheck,
    UrlVerification,
    button_value,
    challenge_answer,
    http_answer,
    receive,
    sign,
)

NOW = datetime(2026, 8, 24, 4, 33, tzinfo=UTC)
SECRET = "a-signing-secret-for-tests"
PEOPLE = SlackPeople(secret=SECRET)


def signed(body: bytes, at: datetime = NOW, secret: str = SECRET, **changes: object) -> dict[str, object]:
    """An HTTP API event with a signature made by hand."""
    timestamp = str(int(at.timestamp()))
    signature = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return {
        "requestContext": {"http": {"method": "POST"}},
        "headers": {"x-slack-signature": f"v0={signature}", "x-slack-request-timestamp": timestamp},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
        **changes,
    }


def form(**changes: str) -> bytes:
    fields = {
        "user_id": "U0OPS",
        "team_id": "T0SANDBOX",
        "channel_id": "C0OPS",
        "command": "/unthrottle",
        "text": "status",
        "response_url": "https://hooks.slack.com/commands/1",
        "trigger_id": "1.2",
        "api_app_id": "A0UNTHROTTLE",
    }
    return urlencode({**fields, **changes}).encode()


def payload(**document: object) -> bytes:
    return urlencode({"payload": json.dumps(document)}).encode()


def test_command_that_a_person_typed_is_understood() -> None:
    request = receive(PEOPLE.say("U0OPS", "/unthrottle fix dagy-runs-develop --dry-run", NOW), [SECRET], NOW)
    assert isinstance(request, Command)
    assert (request.user_id, request.team_id, request.channel_id) == ("U0OPS", "T0SANDBOX", "C0OPS")
    assert (request.command, request.text) == ("/unthrottle", "fix dagy-runs-develop --dry-run")
    assert (request.app_id, request.trigger != "") == ("A0UNTHROTTLE", True)


def test_button_that_a_person_pressed_is_understood() -> None:
    event = PEOPLE.click("U0OPS", "approve", "INC-7Q2M:3", NOW, message_ts="1787545980.000001")
    request = receive(event, [SECRET], NOW)
    assert isinstance(request, Click)
    assert (request.user_id, request.action_id, request.value) == ("U0OPS", "approve", "INC-7Q2M:3")
    assert (request.channel_id, request.message_ts) == ("C0OPS", "1787545980.000001")
    assert (request.team_id, request.user_team_id) == ("T0SANDBOX", "T0SANDBOX")


def test_guest_from_another_workspace_is_seen_as_one() -> None:
    guest = SlackPeople(secret=SECRET, home_team="T0STRANGER")
    request = receive(guest.click("U0GUEST", "approve", "INC-7Q2M:3", NOW, message_ts="1.2"), [SECRET], NOW)
    assert isinstance(request, Click)
    assert (request.team_id, request.user_team_id) == ("T0SANDBOX", "T0STRANGER")


def test_published_signature_example_is_reproduced() -> None:
    """Slack: the worked example of "Verifying requests from Slack"."""
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
        b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
        b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    expected = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    assert sign("8f742231b10e8888abcd99yyyzzz85a5", "1531420618", body) == expected


def test_body_may_come_plain_or_in_base64_and_the_event_in_either_version() -> None:
    encoded = signed(form())
    headers = encoded["headers"]
    assert isinstance(headers, dict)
    plain = {**encoded, "body": form().decode(), "isBase64Encoded": False}
    rest = {**plain, "requestContext": {}, "httpMethod": "POST"}
    lists = {**plain, "headers": {name.title(): [value] for name, value in headers.items()}}
    multi = {**rest, "headers": headers, "multiValueHeaders": {name: [value] for name, value in headers.items()}}
    requests = [receive(event, [SECRET], NOW) for event in (encoded, plain, rest, lists, multi)]
    assert isinstance(requests[0], Command)
    assert requests == [requests[0]] * 5


@pytest.mark.parametrize("beside", [True, None, "v0=another", ["v0=another"], {}], ids=str)
def test_a_header_that_says_more_than_one_thing_is_as_good_as_none(beside: object) -> None:
    event = signed(form())
    headers = event["headers"]
    assert isinstance(headers, dict)
    twice = {**headers, "x-slack-signature": [headers["x-slack-signature"], beside]}
    assert receive({**event, "headers": twice}, [SECRET], NOW) == Rejected(
        status=401, reason="signature or timestamp is missing"
    )


def test_previous_secret_is_accepted_while_it_is_being_changed() -> None:
    event = signed(form(), secret="the-old-one")
    assert isinstance(receive(event, ["the-new-one", "the-old-one"], NOW), Command)
    assert receive(event, ["the-new-one"], NOW) == Rejected(status=401, reason="the signature is not ours")
    assert receive(event, [], NOW) == Rejected(status=401, reason="the signature is not ours")
    assert receive(signed(form(), secret=""), [""], NOW) == Rejected(status=401, reason="the signature is not ours")


@pytest.mark.parametrize(
    ("seconds", "accepted"),
    [
        pytest.param(-301, False, id="one second too old"),
        pytest.param(-300, True, id="just old enough"),
        pytest.param(300, True, id="a clock that is ahead"),
        pytest.param(301, False, id="from the future"),
    ],
)
def test_signature_is_good_for_five_minutes(seconds: int, accepted: bool) -> None:
    request = receive(signed(form(), at=NOW + timedelta(seconds=seconds)), [SECRET], NOW)
    assert isinstance(request, Command) is accepted


def with_headers(**headers: object) -> dict[str, object]:
    event = signed(form())
    kept = event["headers"]
    assert isinstance(kept, dict)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {**event, "headers": {**kept, **named}}


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(with_headers(x_slack_signature="v0=" + "0" * 64), id="wrong signature"),
        pytest.param(with_headers(x_slack_signature="v0=é"), id="signature that is not ASCII"),
        pytest.param(with_headers(x_slack_signature=None), id="no signature"),
        pytest.param(with_headers(x_slack_signature=["v0=a", "v0=b"]), id="two signatures"),
        pytest.param(with_headers(x_slack_request_timestamp="abc"), id="timestamp in letters"),
        pytest.param(with_headers(x_slack_request_timestamp="１７８７"), id="timestamp in full-width digits"),
        pytest.param(with_headers(x_slack_request_timestamp="9" * 400), id="endless timestamp"),
        pytest.param(with_headers(x_slack_request_timestamp=""), id="empty timestamp"),
        pytest.param({**signed(form()), "body": form(user_id="U0BOSS").decode(), "isBase64Encoded": False}, id="body"),
        pytest.param({**signed(form()), "headers": None}, id="no headers"),
        pytest.param(signed(b"ssl_check=1", secret="guessed"), id="unsigned health check"),
        pytest.param(
            signed(b'{"type": "url_verification", "challenge": "x"}', secret="guessed"), id="unsigned challenge"
        ),
    ],
)
def test_forged_request_is_answered_401(event: dict[str, object]) -> None:
    request = receive(event, [SECRET], NOW)
    assert isinstance(request, Rejected)
    assert request.status == 401


@pytest.mark.parametrize(
    ("event", "status"),
    [
        pytest.param(signed(form(), requestContext={"http": {"method": "GET"}}), 405, id="GET"),
        pytest.param({}, 405, id="an empty event"),
        pytest.param({"source": "aws.cloudwatch"}, 405, id="an alarm"),
        pytest.param(None, 400, id="nothing"),
        pytest.param([1], 400, id="a list"),
        pytest.param({**signed(form()), "body": "***"}, 400, id="base64 that is none"),
        pytest.param({**signed(form()), "body": 7}, 400, id="a number as body"),
        pytest.param({**signed(form()), "body": "\ud800", "isBase64Encoded": False}, 400, id="half a character"),
        pytest.param({**signed(form()), "body": "A" * 2_000_004}, 400, id="a huge body"),
        pytest.param(signed(b""), 400, id="signed and empty"),
        pytest.param(signed(b"\xff\xfe"), 400, id="signed, not UTF-8"),
        pytest.param(signed(b"user_id=%ff"), 400, id="signed, percent-encoded rubbish"),
        pytest.param(signed(b"&".join([b"a=1"] * 200)), 400, id="signed, too many fields"),
        pytest.param(signed(form() + b"&user_id=U0BOSS"), 400, id="signed, two users"),
        pytest.param(signed(form(user_id="")), 400, id="signed, no user"),
        pytest.param(signed(b"payload=%7B"), 400, id="signed, broken payload"),
        pytest.param(signed(b"payload=" + b"%5B" * 100_000), 400, id="signed, payload nested without end"),
        pytest.param(signed(b"payload=7"), 400, id="signed, payload that is a number"),
        pytest.param(signed(payload(type="view_submission", user={"id": "U0OPS"})), 400, id="a modal"),
        pytest.param(signed(payload(type="shortcut", user={"id": "U0OPS"})), 400, id="a shortcut"),
        pytest.param(signed(payload(type="block_actions", user={"id": "U0OPS"}, actions=[])), 400, id="no action"),
        pytest.param(signed(payload(type="block_actions", user=None, actions=[{"action_id": "a"}])), 400, id="no user"),
        pytest.param(signed(b'{"type": "url_verification"}'), 400, id="no challenge"),
    ],
)
def test_what_cannot_be_read_is_rejected_and_never_raises(event: object, status: int) -> None:
    request = receive(event, [SECRET], NOW)
    assert isinstance(request, Rejected)
    assert request.status == status


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(body=st.binary(max_size=300))
def test_no_signed_bytes_make_it_raise(body: bytes) -> None:
    receive(signed(body), [SECRET], NOW)


@given(document=st.fixed_dictionaries({"type": st.just("block_actions"), "user": JSON, "team": JSON, "actions": JSON}))
def test_no_signed_click_makes_it_raise(document: dict[str, object]) -> None:
    receive(signed(payload(**document)), [SECRET], NOW)


@given(event=JSON)
def test_no_event_makes_it_raise(event: object) -> None:
    assert isinstance(receive(event, [SECRET], NOW), Rejected)


def test_health_check_and_challenge_of_slack_are_answered() -> None:
    assert receive(signed(form(ssl_check="1")), [SECRET], NOW) == SslCheck()
    asked = receive(signed(b'{"type": "url_verification", "challenge": "3eZb"}'), [SECRET], NOW)
    assert asked == UrlVerification(challenge="3eZb")
    assert challenge_answer(UrlVerification(challenge="3eZb"))["body"] == "3eZb"


def test_repeated_delivery_is_recognised_and_a_second_click_is_not_one() -> None:
    first = PEOPLE.click("U0OPS", "approve", "INC-7Q2M:3", NOW, message_ts="1.2")
    again = {**first, "requestContext": {"http": {"method": "POST"}, "requestId": "another"}}
    later = PEOPLE.click("U0OPS", "approve", "INC-7Q2M:3", NOW + timedelta(seconds=1), message_ts="1.2")
    keys = []
    for event in (first, again, later):
        request = receive(event, [SECRET], NOW)
        assert isinstance(request, Click)
        keys.append(request.delivery)
    assert keys[0] == keys[1] != keys[2]


def test_names_in_any_script_arrive_whole() -> None:
    request = receive(PEOPLE.say("U0OPS", "/unthrottle check réparer-界 & <!channel>", NOW), [SECRET], NOW)
    assert isinstance(request, Command)
    assert request.text == "check réparer-界 & <!channel>"


def test_button_values_carry_incident_and_version_and_nothing_else() -> None:
    assert button_value("INC-7Q2M:3") == ButtonValue(incident_id="INC-7Q2M", version=3)
    assert str(ButtonValue(incident_id="INC-7Q2M", version=3)) == "INC-7Q2M:3"
    for odd in ("", "INC-7Q2M", "INC-7q2m:3", "INC-7Q2M:-1", "INC-7Q2M:3\n", "INC-7Q2M:३", "click_me_123"):
        assert button_value(odd) is None


def test_front_door_needs_nothing_but_the_standard_library() -> None:
    tree = ast.parse(Path(slack_front.__file__).read_text(encoding="utf-8"))
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {str(name).split(".")[0] for name in names} <= sys.stdlib_module_names


def test_answer_to_a_command_is_shown_to_the_person_only() -> None:
    answer = http_answer(200, "On it.")
    assert json.loads(str(answer["body"])) == {"response_type": "ephemeral", "text": "On it."}
    assert http_answer(401) == {"statusCode": 401, "body": ""}
