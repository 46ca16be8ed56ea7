"""Whatever is done to a genuine request on its way, it is taken as it was or not at all."""

import base64
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.slack_people import SlackPeople
from unthrottle.slack_front import MAX_BODY_BYTES, SIGNATURE_AGE_S, Click, Command, Rejected, receive, sign, verify

NOW = datetime(2026, 8, 24, 4, 33, tzinfo=UTC)
SECRET = "a-signing-secret-for-tests"
PEOPLE = SlackPeople(secret=SECRET)
GENUINE: Any = PEOPLE.click(
    "U0OPS", "approve", "INC-ABCD1234:7", NOW, message_ts="1.2", response_url="https://x.invalid/"
)
STAMP = str(int(NOW.timestamp()))


def request(body: str | bytes, *, stamp: str = STAMP, signature: str | None = None, **headers: str) -> dict[str, Any]:
    raw = body.encode() if isinstance(body, str) else body
    return {
        "requestContext": {"http": {"method": "POST"}},
        "headers": {
            "x-slack-request-timestamp": stamp,
            "x-slack-signature": sign(SECRET, stamp, raw) if signature is None else signature,
            **headers,
        },
        "body": base64.b64encode(raw).decode(),
        "isBase64Encoded": True,
    }


def raw_body() -> bytes:
    body = GENUINE["body"]
    return base64.b64decode(body) if GENUINE.get("isBase64Encoded") else str(body).encode()


def test_the_genuine_request_is_taken() -> None:
    """Or nothing below would prove anything."""
    assert isinstance(receive(GENUINE, [SECRET], NOW), Click)


@given(position=st.integers(min_value=0, max_value=10_000), byte=st.integers(min_value=0, max_value=255))
def test_one_changed_byte_of_the_body_is_refused(position: int, byte: int) -> None:
    body = bytearray(raw_body())
    position %= len(body)
    if body[position] == byte:
        byte ^= 1
    body[position] = byte
    forged = request(bytes(body), signature=sign(SECRET, STAMP, raw_body()))
    answer = receive(forged, [SECRET], NOW)
    assert isinstance(answer, Rejected)
    assert answer.status == 401


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda s: s.replace("v0=", "v1="), id="another version"),
        pytest.param(lambda s: s.replace("v0=", "V0="), id="the version in capitals"),
        pytest.param(lambda s: s.removeprefix("v0="), id="no version"),
        pytest.param(lambda s: s.upper(), id="in capitals"),
        pytest.param(lambda s: s + " ", id="with a blank"),
        pytest.param(lambda s: s + "\x00", id="with a zero"),
        pytest.param(lambda s: s[:-1], id="cut by one"),
        pytest.param(lambda s: s[:3], id="only the version"),
        pytest.param(lambda s: "", id="empty"),
        pytest.param(lambda s: s + "," + s, id="twice in one header"),
        pytest.param(lambda s: "v0=" + "0" * 64, id="zeros"),
        pytest.param(lambda s: "v0=" + s[3:][::-1], id="reversed"),
        pytest.param(lambda s: base64.b64encode(s.encode()).decode(), id="re-encoded"),
        pytest.param(lambda s: s.replace("0", "\N{FULLWIDTH DIGIT ZERO}"), id="look-alike digits"),
    ],
)
def test_a_signature_that_is_not_the_signature_is_refused(change: Any) -> None:
    body = raw_body()
    answer = receive(request(body, signature=change(sign(SECRET, STAMP, body))), [SECRET], NOW)
    assert isinstance(answer, Rejected)
    assert answer.status == 401


@pytest.mark.parametrize(
    "stamp",
    [
        "",
        " " + STAMP,
        STAMP + " ",
        "+" + STAMP,
        "-" + STAMP,
        STAMP + ".0",
        "0x6",
        "1e9",
        "nan",
        "٣" * 10,
        "9" * 13,
        "9" * 5000,
    ],
)
def test_a_time_stamp_that_is_not_plain_digits_is_refused_though_it_is_signed(stamp: str) -> None:
    answer = receive(request(raw_body(), stamp=stamp), [SECRET], NOW)
    assert isinstance(answer, Rejected)
    assert answer.status == 401


@pytest.mark.parametrize("missing", ["x-slack-signature", "x-slack-request-timestamp"])
def test_a_request_without_time_or_signature_is_not_read(missing: str) -> None:
    """The older verification token of Slack, which is in the body, opens nothing."""
    event = request(raw_body() + b"&token=legacy-verification-token")
    del event["headers"][missing]
    answer = receive(event, [SECRET], NOW)
    assert isinstance(answer, Rejected)
    assert answer.status == 401


def test_a_second_signature_beside_the_genuine_one_is_refused() -> None:
    event = request(raw_body())
    event["headers"]["X-Slack-Signature"] = "v0=" + "0" * 64
    assert isinstance(receive(event, [SECRET], NOW), Rejected)


@pytest.mark.parametrize("secrets", [[], [""], ["another"]])
def test_without_the_right_secret_nothing_is_believed(secrets: list[str]) -> None:
    """An empty secret would let anybody sign."""
    stamp, body = STAMP, raw_body()
    for event in (GENUINE, request(body, signature=sign("", stamp, body))):
        assert isinstance(receive(event, secrets, NOW), Rejected)


@pytest.mark.parametrize(
    ("seconds", "taken"),
    [(SIGNATURE_AGE_S, True), (SIGNATURE_AGE_S + 1, False), (-SIGNATURE_AGE_S, True), (-301, False)],
)
def test_a_replay_is_good_for_five_minutes_to_the_second(seconds: int, taken: bool) -> None:
    answer = receive(GENUINE, [SECRET], NOW + timedelta(seconds=seconds))
    assert isinstance(answer, Click) is taken


@pytest.mark.parametrize(("length", "taken"), [(MAX_BODY_BYTES, True), (MAX_BODY_BYTES + 1, False)])
@pytest.mark.parametrize("encoded", [True, False])
def test_a_body_may_be_as_long_as_the_limit_and_no_longer(length: int, taken: bool, encoded: bool) -> None:
    body = b"a" * length
    event = request(body)
    if not encoded:
        event.update({"body": body.decode(), "isBase64Encoded": False})
    answer = verify(event, [SECRET], NOW)
    assert isinstance(answer, Rejected) is not taken
    assert taken or (isinstance(answer, Rejected) and answer.status == 400)


@pytest.mark.parametrize("body", ["A" * 10_000_000, "é" * 5_000_000], ids=["10 MB of base64", "10 MB of text"])
def test_ten_megabytes_are_refused_at_once(body: str) -> None:
    event = {**request(b""), "body": body}
    began = time.process_time()
    assert isinstance(receive(event, [SECRET], NOW), Rejected)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "text",
    ["[" * 900_000, '{"a":' * 150_000, '{"type":"block_actions","actions":' + "[" * 400_000, '"' + "\\u0000" * 100_000],
)
def test_signed_nesting_without_end_is_refused_at_once(text: str) -> None:
    began = time.process_time()
    assert isinstance(receive(request(text), [SECRET], NOW), Rejected)
    assert time.process_time() - began < 2


@given(text=st.text(max_size=200), user=st.text(min_size=1, max_size=80))
@settings(max_examples=50)
def test_what_a_person_typed_arrives_as_text_and_nothing_else(text: str, user: str) -> None:
    """Ampersands, equals signs and quotes in it make no further field."""
    answer = receive(PEOPLE.say(user, "/unthrottle " + text, NOW, "https://x.invalid/"), [SECRET], NOW)
    assert isinstance(answer, Command | Rejected)
    if isinstance(answer, Command):
        assert answer.user_id == user


def test_reasons_for_a_refusal_quote_nothing_of_the_request() -> None:
    """They go to the log, which more people read than may write to Slack."""
    marker = "MARKER-4711"
    events = [
        request(f"user_id={marker}", signature=f"v0={marker}"),
        request(json.dumps({"type": marker, "token": marker})),
        request(f"payload={marker}"),
        {**request(marker), "headers": {"x-slack-signature": marker, "x-slack-request-timestamp": marker}},
    ]
    for event in events:
        answer = receive(event, [SECRET], NOW)
        assert isinstance(answer, Rejected)
        assert marker not in answer.reason


def form(fields: int) -> str:
    named = "user_id=U0OPS&team_id=T0&channel_id=C0&command=%2Funthrottle&text=status"
    return named + "".join(f"&more{number}=" for number in range(fields - 5))


@pytest.mark.parametrize(("fields", "taken"), [(5, True), (100, True), (101, False)])
def test_a_form_has_at_most_a_hundred_fields(fields: int, taken: bool) -> None:
    assert isinstance(receive(request(form(fields)), [SECRET], NOW), Command) is taken


@pytest.mark.parametrize("twice", ["&user_id=", "&user_id=U0BOSS", "&text=", "&USER_ID=U0BOSS&user_id="])
def test_a_field_that_is_there_twice_is_refused_even_when_one_is_empty(twice: str) -> None:
    """Which of the two another reader would take is anybody's guess."""
    answer = receive(request(form(5) + twice), [SECRET], NOW)
    assert isinstance(answer, Rejected)
    assert answer.status == 400


def test_the_limits_are_slacks_and_api_gateways() -> None:
    """Five minutes (Slack, "Verifying requests from Slack"); a megabyte is far more than any of its requests."""
    assert (SIGNATURE_AGE_S, MAX_BODY_BYTES) == (300, 1_000_000)


@pytest.mark.parametrize(
    ("where", "channel"),
    [
        ({"channel": {"id": "C0OPS"}}, "C0OPS"),
        ({"container": {"channel_id": "C0OPS"}}, "C0OPS"),
        ({"channel": {"id": "C0OPS"}, "container": {"channel_id": "C0ELSE"}}, "C0OPS"),
        ({}, ""),
    ],
)
def test_a_click_names_the_channel_it_was_in_where_slack_says_so(where: dict[str, object], channel: str) -> None:
    """Where channels are configured, a click that names none of them is refused."""
    click = {"type": "block_actions", "user": {"id": "U0OPS"}, "actions": [{"action_id": "approve", "value": "x"}]}
    answer = receive(request(json.dumps({**click, **where})), [SECRET], NOW)
    assert isinstance(answer, Click)
    assert answer.channel_id == channel
