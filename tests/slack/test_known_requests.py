"""Requests that are known to be genuine, and what forgers and careless proxies make of them.

The first is the example that Slack publishes with its secret, its time and its signature ("Verifying requests from Slack");
the others are of the kinds that Slack's documentation and its SDKs' issue trackers describe, signed with the same secret.
All go through the whole door: nothing genuine is refused, nothing forged is taken, nothing makes it fail.
"""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.slack.test_door import House, StillClock
from unthrottle.settings import Settings
from unthrottle.slack_door import SlackApp
from unthrottle.slack_front import sign

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
"""Published by Slack as an example; it opens nothing."""
AT = 1531420618
PUBLISHED = (
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar"
    "&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com"
    "%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
SIGNATURE = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
OPERATOR = "U2CERLKJA"


def house(at: int = AT) -> House:
    """The bot at the time of the example, for any workspace, with its sender as the operator."""
    clock = StillClock(time=datetime.fromtimestamp(at, UTC))
    return House(app=SlackApp(signing_secrets=(SECRET,)), settings=Settings(operators=(OPERATOR,)), clock=clock)


def http(body: str, signature: str | None = None, timestamp: str = str(AT), **more: Any) -> dict[str, Any]:
    """An HTTP API event with a plain body; the signature is made where none is given."""
    return {
        "version": "2.0",
        "rawPath": "/slack",
        "headers": {
            "content-type": "application/x-www-form-urlencoded",
            "x-slack-request-timestamp": timestamp,
            "x-slack-signature": sign(SECRET, timestamp, body.encode()) if signature is None else signature,
        },
        "requestContext": {"http": {"method": "POST", "path": "/slack"}},
        "body": body,
        "isBase64Encoded": False,
        **more,
    }


def as_base64(event: dict[str, Any]) -> dict[str, Any]:
    return event | {"body": base64.b64encode(event["body"].encode()).decode(), "isBase64Encoded": True}


def with_headers(event: dict[str, Any], **headers: Any) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return event | {"headers": {k: v for k, v in (event["headers"] | named).items() if v is not None}}


def command(text: str, user: str = OPERATOR) -> str:
    fields = {
        "team_id": "T1DC2JH3J",
        "channel_id": "G8PSS9T3V",
        "user_id": user,
        "command": "/unthrottle",
        "text": text,
    }
    return urlencode(fields | {"enterprise_id": "E0001", "enterprise_name": "A & B"})


def click(user: str = OPERATOR, incident: str = "INC-7Q2M4K8X:3", **more: Any) -> str:
    """A button of a message, as Slack sends it: the message comes along, the enterprise is null."""
    payload = {
        "type": "block_actions",
        "user": {"id": user},
        "api_app_id": "A111",
        "container": {
            "type": "message",
            "message_ts": "1678252213.679169",
            "channel_id": "C111",
            "is_ephemeral": False,
        },
        "team": {"id": "T1DC2JH3J"},
        "enterprise": None,
        "channel": {"id": "C111"},
        "message": {
            "ts": "1678252213.679169",
            "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "x"}}],
        },
        "actions": [{"type": "button", "action_id": "approve", "value": incident, "action_ts": "1678252216.1"}],
        **more,
    }
    return urlencode({"payload": json.dumps(payload)})


PLAIN = http(PUBLISHED, SIGNATURE)
GENUINE = {
    "the published example": PLAIN,
    "in base64, as HTTP APIs deliver forms": as_base64(PLAIN),
    "sent again by Slack": with_headers(PLAIN, x_slack_retry_num="1", x_slack_retry_reason="http_timeout"),
    "header values in lists": with_headers(PLAIN, **{k: [v] for k, v in PLAIN["headers"].items()}),
    "headers spelled as over a REST API": PLAIN
    | {
        "headers": {"X-Slack-Request-Timestamp": str(AT), "X-Slack-Signature": SIGNATURE},
        "requestContext": {"httpMethod": "POST"},
    },
    "text that is not ASCII, with a mention": as_base64(http(command("réparer 界 & <!channel>"))),
    "an enterprise whose name has an ampersand": http(command("status")),
    "exactly five minutes old": http(PUBLISHED, timestamp=str(AT - 300)),
}


@pytest.mark.parametrize("event", GENUINE.values(), ids=GENUINE.keys())
def test_what_slack_sent_is_taken_and_answered(event: dict[str, Any]) -> None:
    status, text = house().ask(event)
    assert status == 200
    assert text
    assert "<!" not in text


OTHER = "v0=" + "0" * 64
FORGED = {
    "another signature": http(PUBLISHED, OTHER),
    "no signature": with_headers(PLAIN, x_slack_signature=None),
    "an empty signature": http(PUBLISHED, ""),
    "no time": with_headers(PLAIN, x_slack_request_timestamp=None),
    "a time that is a word": http(PUBLISHED, SIGNATURE, "abc"),
    "a time in other digits": http(PUBLISHED, SIGNATURE, "١٥٣١٤٢٠٦١٨"),
    "well signed, but 301 s old": http(PUBLISHED, timestamp=str(AT - 301)),
    "well signed, but from the future": http(PUBLISHED, timestamp=str(AT + 301)),
    "another time under the same signature": http(PUBLISHED, SIGNATURE, str(AT + 1)),
    "one byte more": http(PUBLISHED + "&", SIGNATURE),
    "the same form, written in another order": http("&".join(reversed(PUBLISHED.split("&"))), SIGNATURE),
    "the signature of another version": http(PUBLISHED, SIGNATURE.replace("v0", "v1")),
    "two signatures": with_headers(PLAIN, x_slack_signature=[OTHER, SIGNATURE]),
    "signed with another secret": http(PUBLISHED, sign("a" * 32, str(AT), PUBLISHED.encode())),
    "signed with no secret": http(PUBLISHED, sign("", str(AT), PUBLISHED.encode())),
    "a health check of anybody": http(PUBLISHED + "&ssl_check=1", OTHER),
    "a challenge of anybody": http('{"type": "url_verification", "challenge": "x"}', OTHER),
    "a click of anybody": as_base64(http(click(), OTHER)),
}


@pytest.mark.parametrize("event", FORGED.values(), ids=FORGED.keys())
def test_what_slack_did_not_send_is_refused_without_a_word(event: dict[str, Any]) -> None:
    at_home = house()
    assert at_home.ask(event) == (401, "")
    assert at_home.workflows.answers == []


NOT_OURS = {
    "an empty body": http(""),
    "a modal sent": http(urlencode({"payload": json.dumps({"type": "view_submission", "view": {}})})),
    "a modal closed": http(urlencode({"payload": json.dumps({"type": "view_closed"})})),
    "a global shortcut": http(urlencode({"payload": json.dumps({"type": "shortcut", "callback_id": "x"})})),
    "a message's shortcut": http(urlencode({"payload": json.dumps({"type": "message_action"})})),
    "a payload that is a list": http(urlencode({"payload": "[]"})),
    "a payload without end": http(urlencode({"payload": "[" * 100_000})),
    "two clicks at once": http(click(actions=[{"action_id": "approve"}, {"action_id": "reject"}])),
    "a form with a field twice": http(command("status") + "&text=resume"),
}


@pytest.mark.parametrize("event", NOT_OURS.values(), ids=NOT_OURS.keys())
def test_what_is_signed_but_not_of_this_app_runs_nothing(event: dict[str, Any]) -> None:
    at_home = house()
    assert at_home.ask(event) == (400, "")
    assert at_home.workflows.answers == []


def test_a_request_kept_for_later_is_refused_when_it_comes() -> None:
    assert house(AT + 300).ask(PLAIN)[0] == 200
    assert house(AT + 301).ask(PLAIN) == (401, "")


def test_the_first_of_two_people_decides_and_the_second_is_told_so() -> None:
    """Two people press the same button within half a second, each with a request of their own."""
    both = house()
    both.settings = Settings(operators=(OPERATOR, "U333"))
    first, second = as_base64(http(click())), http(click("U333"))
    assert both.ask(first) == (200, "")
    assert "was decided already" in both.ask(second)[1]
    assert [answer.by for answer in both.workflows.answers] == [OPERATOR]
    both.clock.time += timedelta(seconds=30)
    assert both.ask(first) == (200, "")  # Slack sends it again: nothing new happens
    assert len(both.workflows.answers) == 1
