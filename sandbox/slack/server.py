"""What did the bot say in Slack, and when; and what if Slack does not take it?

Serves the Web API methods and reply addresses that the bot uses, over HTTP. It remembers what it accepted. Simulated
time comes from outside. Knows nothing of incidents.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import RLock
from typing import Literal
from urllib.parse import parse_qsl

from sandbox.loopback import Drop, Hold, HttpAnswer, HttpRequest, LoopbackServer, StandIn
from sandbox.slack.limits import decoded, refusal_of

SlackMode = Literal["up", "down", "429", "token-revoked", "invalid-blocks-charts"]
Arguments = Mapping[str, object]

MAX_POSTED_TEXT = 40_000
MAX_UPDATED_TEXT = 4_000
REPLIES_PER_ADDRESS = 5
REPLY_ADDRESS_LIVES = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackCall:
    """One call that was accepted. `ts` is None where the method makes or changes no message."""

    minute: int
    method: str
    channel: str | None
    ts: str | None
    thread_ts: str | None
    text: str
    blocks: tuple[dict[str, object], ...]
    broadcast: bool = False
    user: str | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "minute": self.minute,
            "method": self.method,
            "channel": self.channel,
            "ts": self.ts,
            "thread_ts": self.thread_ts,
            "text": self.text,
            "blocks": list(self.blocks),
            "broadcast": self.broadcast,
            "user": self.user,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One scripted failure of a method. `kind` lost: the message is taken and the connection dropped."""

    kind: Literal["answer", "drop", "lost"] = "answer"
    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedCall:
    """One call that was not accepted, with Slack's error (or `no-answer`)."""

    minute: int
    method: str
    error: str


class _Error(Exception):
    def __init__(self, code: str, messages: Sequence[str] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.messages = tuple(messages)


class SlackStandIn(StandIn):
    """A workspace with one app, in *channel* and those of *also*. *mode*: a word, or steps of [minute, word] in rising order."""

    def __init__(
        self,
        *,
        start: datetime,
        now: Callable[[], datetime],
        mode: SlackMode | Sequence[tuple[int, SlackMode]] = "up",
        channel: str = "C0OPS",
        also: Sequence[str] = (),
        token: str = "xoxb-sandbox",  # noqa: S107 (opens nothing but this stand-in)
        team: str = "T0SANDBOX",
        usergroups: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.channel = channel
        self._joined = {channel, *also}
        self.token = token
        self.team = team
        self._start = start
        self._now = now
        self._steps: tuple[tuple[int, SlackMode], ...] = ((0, mode),) if isinstance(mode, str) else tuple(mode)
        self._usergroups = {name: list(users) for name, users in (usergroups or {}).items()}
        self._calls: list[SlackCall] = []
        self._refused: list[RefusedCall] = []
        self._messages: dict[str, SlackCall] = {}
        self._failures: dict[str, list[Failure]] = {}
        self._hooks: dict[str, datetime] = {}
        self._hook_uses: Counter[str] = Counter()
        self._hook_messages: dict[str, str] = {}
        self._counter = 0
        self._lock = RLock()
        self._server = LoopbackServer(self._serve)

    @property
    def base_url(self) -> str:
        """The address for `WebClient(base_url=...)`."""
        return f"{self._server.origin}/api/"

    @property
    def calls(self) -> tuple[SlackCall, ...]:
        """Every accepted call, in order."""
        return tuple(self._calls)

    @property
    def refused(self) -> tuple[RefusedCall, ...]:
        """Every call that was not accepted, in order."""
        return tuple(self._refused)

    @property
    def messages(self) -> tuple[SlackCall, ...]:
        """The channel as people see it now, oldest first: the latest form of every message that was not deleted."""
        return tuple(self._messages.values())

    def thread(self, ts: str) -> tuple[SlackCall, ...]:
        """The replies under message *ts*, oldest first."""
        return tuple(message for message in self.messages if message.thread_ts == ts)

    def reply_url(self, name: str, ts: str | None = None) -> str:
        """Make the address at which one command or click can be answered, from now on for 30 minutes. *ts*: the message that
        was clicked, which an answer may take the place of."""
        self._hooks.setdefault(name, self._now())
        if ts is not None:
            self._hook_messages[name] = ts
        return f"{self._server.origin}/hooks/{name}"

    def fail(self, method: str, *failures: Failure) -> None:
        """Let the next calls of *method* fail, one failure each."""
        self._failures.setdefault(method, []).extend(failures)

    def delete(self, ts: str) -> None:
        """A person deletes a message."""
        del self._messages[ts]

    @property
    def _minute(self) -> int:
        return int((self._now() - self._start).total_seconds() // 60)

    def _mode(self) -> SlackMode:
        mode: SlackMode = "up"
        for minute, word in self._steps:
            if minute <= self._minute:
                mode = word
        return mode

    def _serve(self, request: HttpRequest) -> HttpAnswer | Drop | Hold:
        with self._lock:
            area, _, name = request.path.strip("/").partition("/")
            mode = self._mode()
            if mode == "down":
                self._refused.append(RefusedCall(minute=self._minute, method=name, error="service_unavailable"))
                page = b"<html><body>Service Unavailable</body></html>"
                return HttpAnswer(status=503, body=page, headers={"Content-Type": "text/html"})
            if area == "hooks":
                return self._hook(name, request)
            if area != "api":
                return HttpAnswer(status=404, body=b"not found")
            return self._api(name, request, mode)

    def _api(self, method: str, request: HttpRequest, mode: SlackMode) -> HttpAnswer | Drop | Hold:
        failure = self._failures[method].pop(0) if self._failures.get(method) else None
        if failure is not None and failure.kind == "answer":
            self._refused.append(RefusedCall(minute=self._minute, method=method, error=f"http_{failure.status}"))
            return HttpAnswer(status=failure.status, body=failure.body.encode(), headers=failure.headers)
        if failure is not None and failure.kind == "drop":
            self._refused.append(RefusedCall(minute=self._minute, method=method, error="no-answer"))
            return Drop()
        if mode == "429":
            self._refused.append(RefusedCall(minute=self._minute, method=method, error="ratelimited"))
            return _json({"ok": False, "error": "ratelimited"}, status=429, headers={"Retry-After": "30"})
        try:
            answer = self._call(method, request, mode)
        except _Error as error:
            self._refused.append(RefusedCall(minute=self._minute, method=method, error=error.code))
            document: dict[str, object] = {"ok": False, "error": error.code}
            if error.messages:
                document["errors"] = list(error.messages)
                document["response_metadata"] = {"messages": [f"[ERROR] {message}" for message in error.messages]}
            return _json(document)
        return Drop() if failure is not None else _json({"ok": True, **answer})

    def _call(self, method: str, request: HttpRequest, mode: SlackMode) -> dict[str, object]:
        known: dict[str, Callable[[Arguments], dict[str, object]]] = {
            "chat.postMessage": self._post,
            "chat.update": self._update,
            "chat.postEphemeral": self._ephemeral,
            "views.publish": self._publish,
            "auth.test": self._whoami,
            "usergroups.users.list": self._members,
        }
        arguments = _arguments(request)
        token = request.headers.get("authorization", "").removeprefix("Bearer ") or arguments.get("token")
        if not token:
            raise _Error("not_authed")
        if token != self.token:
            raise _Error("invalid_auth")
        if mode == "token-revoked":
            raise _Error("token_revoked")
        if method not in known:
            raise _Error("unknown_method")
        return known[method](arguments)

    def _post(self, arguments: Arguments) -> dict[str, object]:
        text, blocks = self._content(arguments, longest=MAX_POSTED_TEXT)
        thread_ts = arguments.get("thread_ts")
        thread = self._messages.get(str(thread_ts))
        if thread_ts is not None and (thread is None or thread.channel != arguments.get("channel")):
            raise _Error("thread_not_found")
        self._counter += 1
        call = SlackCall(
            minute=self._minute,
            method="chat.postMessage",
            channel=str(arguments.get("channel")),
            ts=f"{int(self._now().timestamp())}.{self._counter:06d}",
            thread_ts=str(thread_ts) if thread_ts is not None else None,
            text=text,
            blocks=blocks,
            broadcast=arguments.get("reply_broadcast") in (True, "true", "1"),
        )
        return self._keep(call)

    def _update(self, arguments: Arguments) -> dict[str, object]:
        text, blocks = self._content(arguments, longest=MAX_UPDATED_TEXT)
        before = self._messages.get(str(arguments.get("ts")))
        if before is None or before.channel != arguments.get("channel"):
            raise _Error("message_not_found")
        call = SlackCall(
            minute=self._minute,
            method="chat.update",
            channel=before.channel,
            ts=before.ts,
            thread_ts=before.thread_ts,
            text=text,
            blocks=blocks,
        )
        return self._keep(call)

    def _keep(self, call: SlackCall) -> dict[str, object]:
        self._calls.append(call)
        self._messages[str(call.ts)] = call
        message = {"type": "message", "text": call.text, "ts": call.ts, "blocks": list(call.blocks)}
        return {"channel": call.channel, "ts": call.ts, "text": call.text, "message": message}

    def _ephemeral(self, arguments: Arguments) -> dict[str, object]:
        user = arguments.get("user")
        if not isinstance(user, str) or not user:
            raise _Error("user_not_in_channel")
        text, blocks = self._content(arguments, longest=MAX_POSTED_TEXT)
        self._counter += 1
        self._record("chat.postEphemeral", text, blocks, user=user, channel=str(arguments.get("channel")))
        return {"message_ts": f"{int(self._now().timestamp())}.{self._counter:06d}"}

    def _publish(self, arguments: Arguments) -> dict[str, object]:
        user, view = arguments.get("user_id"), _decoded(arguments.get("view"))
        if not isinstance(user, str) or not isinstance(view, Mapping) or view.get("type") != "home":
            raise _Error("invalid_arguments")
        blocks = view.get("blocks")
        refusal = refusal_of(blocks, "home")
        if refusal is not None or not isinstance(blocks, list):
            raise _Error("invalid_arguments", refusal.messages if refusal else ())
        self._record("views.publish", "", tuple(blocks), user=user, channel=None)
        return {"view": dict(view)}

    def _record(
        self, method: str, text: str, blocks: tuple[dict[str, object], ...], *, user: str | None, channel: str | None
    ) -> None:
        self._calls.append(
            SlackCall(
                minute=self._minute,
                method=method,
                channel=channel,
                ts=None,
                thread_ts=None,
                text=text,
                blocks=blocks,
                user=user,
            )
        )

    def _whoami(self, _: Arguments) -> dict[str, object]:
        return {"team_id": self.team, "user_id": "U0BOT", "bot_id": "B0BOT", "url": "https://sandbox.slack.com/"}

    def _members(self, arguments: Arguments) -> dict[str, object]:
        users = self._usergroups.get(str(arguments.get("usergroup")))
        if users is None:
            raise _Error("no_such_subteam")
        return {"users": list(users)}

    def _content(self, arguments: Arguments, *, longest: int) -> tuple[str, tuple[dict[str, object], ...]]:
        if arguments.get("channel") not in self._joined:
            raise _Error("channel_not_found")
        text, blocks = arguments.get("text") or "", _decoded(arguments.get("blocks") or [])
        if not isinstance(text, str):
            raise _Error("invalid_arguments")
        if not text and not blocks:
            raise _Error("no_text")
        if len(text) > longest:
            raise _Error("msg_too_long")
        refusal = refusal_of(blocks)
        if refusal is not None or not isinstance(blocks, list):
            raise _Error(refusal.error, refusal.messages) if refusal else _Error("invalid_blocks_format")
        charts = [i for i, block in enumerate(blocks) if block["type"] == "data_visualization"]
        if self._mode() == "invalid-blocks-charts" and charts:
            pointer = f"[json-pointer:/blocks/{charts[0]}/type]"
            raise _Error("invalid_blocks", [f"unsupported type: data_visualization {pointer}"])
        return text, tuple(blocks)

    def _hook(self, name: str, request: HttpRequest) -> HttpAnswer:
        """Answer a reply address as Slack does: 5 uses, 30 minutes, and plain words instead of JSON. `replace_original` puts the
        answer in the place of the message that was clicked (Slack: Handling user interaction)."""
        opened = self._hooks.get(name)
        error = ""
        if opened is None:
            error = "no_service"
        elif self._now() - opened > REPLY_ADDRESS_LIVES:
            error = "expired_url"
        elif self._hook_uses[name] >= REPLIES_PER_ADDRESS:
            error = "used_url"
        if error:
            self._refused.append(RefusedCall(minute=self._minute, method="response_url", error=error))
            return HttpAnswer(status=404, body=error.encode())
        try:
            arguments = _arguments(request)
        except _Error:
            return HttpAnswer(status=400, body=b"invalid_payload")
        blocks = _decoded(arguments.get("blocks") or [])
        text = arguments.get("text") or ""
        if not isinstance(blocks, list) or not isinstance(text, str) or refusal_of(blocks) is not None:
            return HttpAnswer(status=400, body=b"invalid_blocks")
        if not text and not blocks:
            return HttpAnswer(status=400, body=b"no_text")
        self._hook_uses[name] += 1
        self._record("response_url", text, tuple(blocks), user=None, channel=None)
        clicked = self._messages.get(self._hook_messages.get(name, ""))
        if arguments.get("replace_original") is True and clicked is not None:
            self._messages[str(clicked.ts)] = replace(clicked, text=text, blocks=tuple(blocks))
        return HttpAnswer(status=200, body=b"ok")


def _arguments(request: HttpRequest) -> dict[str, object]:
    try:
        if "json" in request.headers.get("content-type", ""):
            document = json.loads(request.body or b"{}")
        else:
            document = dict(parse_qsl(request.body.decode(), keep_blank_values=True))
    except ValueError as error:
        raise _Error("invalid_json") from error
    if not isinstance(document, dict):
        raise _Error("json_not_object")
    return document


def _decoded(value: object) -> object:
    try:
        return decoded(value)
    except ValueError as error:
        raise _Error("invalid_blocks_format") from error


def _json(document: dict[str, object], status: int = 200, headers: dict[str, str] | None = None) -> HttpAnswer:
    body = json.dumps(document).encode()
    return HttpAnswer(status=status, body=body, headers={"Content-Type": "application/json", **(headers or {})})
