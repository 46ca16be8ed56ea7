"""What Slack answers to the front door, of which nothing is believed that Slack does not plainly say."""

import json
import logging
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.unit.fakes import StillClock
from unthrottle.adapters.slack_light import KEPT_FOR, TIMEOUT_S, SlackLight


class Slack(ThreadingHTTPServer):
    """Answers every call as it is told, and remembers them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.status, self.body, self.location = 200, b"{}", ""
        self.calls: list[tuple[str, str | None, dict[str, object]]] = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def light(self) -> SlackLight:
        found = SlackLight(lambda: "xoxb-token", StillClock(), base_url=f"{self.url}/api/")
        found._pool.connection_pool_kw["timeout"] = 30  # a busy machine must not look like a Slack that does not answer
        return found


class _Answers(BaseHTTPRequestHandler):
    server: Slack

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.calls.append((self.path, self.headers["Authorization"], body))
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def slack() -> Iterator[Slack]:
    server = Slack()
    yield server
    server.shutdown()
    server.server_close()


def test_slack_is_given_half_of_its_three_seconds_and_a_group_five_minutes() -> None:
    assert TIMEOUT_S <= 3 / 2
    assert timedelta(minutes=5) == KEPT_FOR


@pytest.mark.parametrize(
    ("body", "people"),
    [
        (b'{"ok": true, "users": ["U1", "U2"]}', {"U1", "U2"}),
        (b'{"ok": true, "users": ["U1", 2, null]}', {"U1"}),
        (b'{"ok": true, "users": "U1"}', set()),
        (b'{"ok": true}', set()),
        (b'{"users": ["U1"]}', set()),
        (b'{"ok": "true", "users": ["U1"]}', set()),
        (b'{"ok": false, "error": "missing_scope", "users": ["U1"]}', set()),
        (b'["U1"]', set()),
        (b"null", set()),
        (b"<html>", set()),
        (b"", set()),
    ],
)
def test_only_a_plain_list_that_slack_stands_by_lets_anybody_in(slack: Slack, body: bytes, people: set[str]) -> None:
    slack.body = body
    assert slack.light().members("S1") == people
    assert slack.calls == [("/api/usergroups.users.list", "Bearer xoxb-token", {"usergroup": "S1"})]


def test_a_redirect_is_not_followed() -> None:
    """The token would go wherever it points, and whoever is there would say who may act."""
    first, second = Slack(), Slack()
    second.body = b'{"ok": true, "users": ["U0EVIL"]}'
    first.status, first.location, first.body = 307, f"{second.url}/api/usergroups.users.list", b""
    try:
        assert first.light().members("S1") == frozenset()
        assert second.calls == []
    finally:
        for server in (first, second):
            server.shutdown()
            server.server_close()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"ok": false, "error": "missing_scope"}', "missing_scope"),
        (b"[]", "no object"),
        (b'{"ok": false, "error": "' + b"x" * 81 + b'"}', "x" * 80),
    ],
    ids=["a code", "no object", "a long text"],
)
def test_why_slack_refused_us_is_logged_shortly(
    slack: Slack, caplog: pytest.LogCaptureFixture, body: bytes, code: str
) -> None:
    slack.body = body
    with caplog.at_level(logging.ERROR):
        slack.light().publish("U1", [])
    assert [record.__dict__["error"] for record in caplog.records] == [code]


@pytest.mark.parametrize(
    ("replaces", "said"),
    [
        (None, {"text": "hello", "response_type": "ephemeral", "replace_original": False}),
        (False, {"text": "hello", "response_type": "ephemeral", "replace_original": False}),
        (True, {"text": "hello", "replace_original": True}),
    ],
)
def test_a_click_is_answered_to_the_person_alone_or_in_the_messages_place(
    slack: Slack, replaces: bool | None, said: dict[str, object]
) -> None:
    light, address = slack.light(), f"{slack.url}/actions/1"
    if replaces is None:
        light.reply(address, "hello")
    else:
        light.reply(address, "hello", replaces)
    assert slack.calls == [("/actions/1", None, said)]


@pytest.mark.parametrize(("status", "errors"), [(200, []), (404, ["http_404"]), (201, ["http_201"])])
def test_an_answer_to_a_click_that_slack_does_not_take_is_logged(
    slack: Slack, caplog: pytest.LogCaptureFixture, status: int, errors: list[str]
) -> None:
    slack.status = status
    with caplog.at_level(logging.ERROR):
        slack.light().reply(f"{slack.url}/actions/1", "hello")
    assert [record.__dict__["error"] for record in caplog.records] == errors


def test_an_address_that_is_not_slacks_is_not_answered(slack: Slack) -> None:
    """A signed click bears it, but what is said in private goes nowhere else."""
    elsewhere = SlackLight(lambda: "xoxb-token", StillClock(), base_url="https://slack.com/api/")
    elsewhere.reply(f"{slack.url}/actions/1", "hello")
    assert slack.calls == []
