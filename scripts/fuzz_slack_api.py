"""What may Slack's API answer? Every call of the bot's, over a real socket, with any status and body.

The promises: a message counts as posted only where Slack said so and named it, the name is the one Slack said, and all else is
one of our errors, short and without the token. An input is JSON with `status`, `retry_after` and `body`, or a body alone.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from sandbox.loopback import HttpAnswer, HttpRequest, LoopbackServer
from unthrottle.adapters.slack import SlackChannel
from unthrottle.chat import ChatError
from unthrottle.ports import Posted

TOKEN = "xoxb-of-the-fuzzer"  # noqa: S105  opens nothing
SAID_AT_MOST = 2_000
BLOCKS: Sequence[dict[str, object]] = ({"type": "section", "text": {"type": "mrkdwn", "text": "x"}},)
CALLS: Sequence[Callable[[SlackChannel, str], object]] = (
    lambda slack, _: slack.post("hello", BLOCKS),
    lambda slack, _: slack.post("hello", (), "1.2", broadcast=True),
    lambda slack, _: slack.update("1.2", "hello", BLOCKS),
    lambda slack, _: slack.ephemeral("U0OPS", "hello"),
    lambda slack, _: slack.members("S0OPS"),
    lambda slack, _: slack.whoami(),
    lambda slack, origin: slack.reply(f"{origin}/commands/x", "hello"),
)


class BrokenSlackError(AssertionError):
    """An answer of Slack brought about what none may."""


class _Slack:
    """A Slack that answers every call alike."""

    def __init__(self) -> None:
        self.answer = HttpAnswer(status=200)
        self.server = LoopbackServer(self._serve).start()

    def _serve(self, _: HttpRequest) -> HttpAnswer:
        return self.answer


@cache
def _slack() -> _Slack:
    return _Slack()


def answer(data: bytes) -> None:
    """Let Slack answer that to each call."""
    status, retry_after, body = _read(data)
    slack = _slack()
    slack.answer = HttpAnswer(status=status, body=body, headers={"Retry-After": retry_after} if retry_after else {})
    channel = SlackChannel(TOKEN, "C0OPS", base_url=f"{slack.server.origin}/api/", timeout_s=10)
    for call in CALLS:
        try:
            found = call(channel, slack.server.origin)
        except ChatError as error:
            _check(len(str(error)) < SAID_AT_MOST, "an error without end")
            _check(TOKEN not in f"{error} {error!r}", "a token in an error")
            continue
        _check(status == 200, f"an answer of HTTP {status} was taken for a success")
        if isinstance(found, Posted):
            _check(_told(body).get("ts") == found.ts, "a message of another name than Slack said")
        if isinstance(found, tuple):
            listed = _told(body).get("users")
            _check(not found or (isinstance(listed, list) and all(one in listed for one in found)), "invented members")
        if found is not None:  # a reply to a command is good by its status alone
            _check(bool(_told(body).get("ok")), "taken for a success, and Slack did not say so")


def _told(body: bytes) -> dict[str, Any]:
    found: Any = json.loads(body)
    _check(isinstance(found, dict), "taken for a success, and it is no object")
    return dict(found)


def _read(data: bytes) -> tuple[int, str, bytes]:
    try:
        given: Any = json.loads(data)
    except (ValueError, RecursionError):
        return 200, "", data
    if not isinstance(given, dict) or "body" not in given:
        return 200, "", data
    status, after = given.get("status"), str(given.get("retry_after") or "")
    if not isinstance(status, int) or not 200 <= status <= 599 or status in {204, 304}:
        status = 200
    body = given["body"]
    raw = body.encode("utf-8", "replace") if isinstance(body, str) else json.dumps(body).encode()
    return status, (after[:200] if after.isascii() and after.isprintable() else ""), raw


def _check(is_kept: bool, promise: str) -> None:  # noqa: FBT001  the first word of a sentence
    if not is_kept:
        raise BrokenSlackError(promise)


def _form(status: int, body: object, retry_after: str = "") -> bytes:
    return json.dumps({"status": status, "retry_after": retry_after, "body": json.dumps(body)}).encode()


SEEDS = [
    json.dumps({"ok": True, "ts": "1788000000.000100", "channel": "C0OPS", "users": ["U0OPS", "U0TWO"]}).encode(),
    json.dumps({"ok": False, "error": "channel_not_found"}).encode(),
    b"ok",
    _form(
        200, {"ok": True, "ts": "1788000000.000100", "message": {"text": "hello"}, "team_id": "T0", "user_id": "U0BOT"}
    ),
    _form(200, {"ok": False, "error": "invalid_blocks", "response_metadata": {"messages": ["[ERROR] too long"]}}),
    _form(200, {"ok": False, "error": "message_not_found"}),
    _form(429, {"ok": False, "error": "ratelimited"}, "30"),
    _form(500, {"ok": False, "error": "internal_error"}),
    _form(404, {"ok": False, "error": "used_url"}),
]
