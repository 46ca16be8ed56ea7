"""Is this HTTP request really from Slack, and what does the person want?

Standard library only, so that a cold start stays well inside Slack's three seconds. Nothing is believed, not even that
it is a health check, before the signature holds; no input makes it raise. Knows nothing of operators, incidents or
what a command means.

Slack: "Verifying requests from Slack" (v0, HMAC-SHA256 over the raw body, five minutes).
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qsl

SIGNATURE_AGE_S = 300
MAX_BODY_BYTES = 1_000_000
BUTTON_ACTIONS = ("approve", "reject", "snooze", "revert", "keep", "keep-24h")
_BUTTON_VALUE = re.compile(r"(INC-[0-9A-Z]{4,8}):([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Somebody typed a slash command. Ids only: Slack's names can be changed by their owners."""

    user_id: str
    team_id: str
    channel_id: str
    command: str
    text: str
    response_url: str
    trigger: str
    app_id: str
    delivery: str
    enterprise_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """Somebody pressed a button. `user_team_id` is the person's own workspace, None where Slack does not say."""

    user_id: str
    team_id: str
    user_team_id: str | None
    channel_id: str
    action_id: str
    value: str
    message_ts: str
    response_url: str
    trigger: str
    app_id: str
    delivery: str
    enterprise_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeOpened:
    """Somebody opened the app's home tab."""

    user_id: str
    team_id: str
    app_id: str
    delivery: str
    enterprise_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SslCheck:
    """Slack looks whether we are there. Answer 200."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlVerification:
    """Slack asks us to give the challenge back."""

    challenge: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """Not served: answer *status*. `reason` is for our log and holds nothing of the request."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A body that Slack signed. `delivery` is the same for a repeated delivery and differs for every other request."""

    body: bytes
    delivery: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonValue:
    """What our buttons carry: the incident and the version of it that the person saw."""

    incident_id: str
    version: int

    def __str__(self) -> str:
        return f"{self.incident_id}:{self.version}"


Request = Command | Click | HomeOpened | SslCheck | UrlVerification | Rejected


def receive(event: object, secrets: Sequence[str], now: datetime) -> Request:
    """Verify and read one request: an HTTP API or function URL event (payload 2.0), or a REST API one (1.0).

    *secrets* are the current signing secret and, while it is being changed, the previous one. *now* is aware.
    """
    verified = verify(event, secrets, now)
    return verified if isinstance(verified, Rejected) else parse(verified)


def verify(event: object, secrets: Sequence[str], now: datetime) -> Verified | Rejected:
    """Give back the signed body, or why not: 405 for anything but POST, 400 for no body we can read, 401 unsigned."""
    if not isinstance(event, Mapping):
        return Rejected(status=400, reason="the event is no HTTP request")
    if _method(event) != "POST":
        return Rejected(status=405, reason="not a POST")
    body = _body(event)
    if body is None:
        return Rejected(status=400, reason="the body cannot be decoded, or is too large")
    timestamp = _header(event, "x-slack-request-timestamp")
    signature = _header(event, "x-slack-signature")
    if timestamp is None or signature is None:
        return Rejected(status=401, reason="signature or timestamp is missing")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp, re.ASCII):
        return Rejected(status=401, reason="the timestamp is no number of seconds")
    if abs(now.timestamp() - int(timestamp)) > SIGNATURE_AGE_S:
        return Rejected(status=401, reason="the request is too old, or from the future")
    if not signature.isascii():
        return Rejected(status=401, reason="the signature is not ASCII")
    # Every secret is tried, with no early exit, so that the time taken tells nothing.
    matches = [hmac.compare_digest(sign(secret, timestamp, body), signature) for secret in secrets if secret]
    if not any(matches):
        return Rejected(status=401, reason="the signature is not ours")
    return Verified(body=body, delivery=hashlib.sha256(signature.encode()).hexdigest())


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Make Slack's v0 signature of *body*."""
    digest = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256)
    return "v0=" + digest.hexdigest()


def parse(verified: Verified) -> Request:
    """Read a signed body. What is well signed but none of ours (modals, shortcuts) is rejected with 400."""
    try:
        if verified.body.lstrip()[:1] == b"{":
            return _parse_json(json.loads(verified.body), verified.delivery)
        form = _form(verified.body)
        if form.get("ssl_check") == "1":
            return SslCheck()
        if "payload" in form:
            return _parse_json(json.loads(form["payload"]), verified.delivery)
    except (ValueError, RecursionError):
        return Rejected(status=400, reason="the body is neither a form nor JSON")
    return _command(form, verified.delivery)


def button_value(text: str) -> ButtonValue | None:
    """Read the value of one of our buttons; None for anything else."""
    match = _BUTTON_VALUE.fullmatch(text)
    return None if match is None else ButtonValue(incident_id=match[1], version=int(match[2]))


def http_answer(status: int, text: str = "") -> dict[str, object]:
    """Make the Lambda answer; *text* is shown to the person who typed the command, and only to them."""
    if not text:
        return {"statusCode": status, "body": ""}
    body = json.dumps({"response_type": "ephemeral", "text": text})
    return {"statusCode": status, "headers": {"content-type": "application/json"}, "body": body}


def challenge_answer(request: UrlVerification) -> dict[str, object]:
    """Give Slack its challenge back, as plain text."""
    return {"statusCode": 200, "headers": {"content-type": "text/plain"}, "body": request.challenge}


def _method(event: Mapping[object, object]) -> str | None:
    context = event.get("requestContext")
    http = context.get("http") if isinstance(context, Mapping) else None
    for holder, key in ((http, "method"), (event, "httpMethod"), (context, "httpMethod")):
        value = holder.get(key) if isinstance(holder, Mapping) else None
        if isinstance(value, str):
            return value
    return None


def _body(event: Mapping[object, object]) -> bytes | None:
    body = event.get("body")
    if body is None:
        return b""
    if not isinstance(body, str) or len(body) > 2 * MAX_BODY_BYTES:
        return None
    try:
        raw = base64.b64decode(body, validate=True) if event.get("isBase64Encoded") is True else body.encode()
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) <= MAX_BODY_BYTES else None


def _header(event: Mapping[object, object], wanted: str) -> str | None:
    """Find one header, however it is spelled; several different values, or one that is no text, are as good as none."""
    found: list[object] = []
    for key in ("headers", "multiValueHeaders"):
        headers = event.get(key)
        if not isinstance(headers, Mapping):
            continue
        for name, value in headers.items():
            if isinstance(name, str) and name.lower() == wanted:
                found.extend(value if isinstance(value, list) else [value])
    texts = {value for value in found if isinstance(value, str)}
    return texts.pop() if len(texts) == 1 and all(isinstance(value, str) for value in found) else None


def _form(body: bytes) -> dict[str, str]:
    pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=100)
    form: dict[str, str] = {}
    for name, value in pairs:
        if name in form:
            raise ValueError("a field is there twice")
        form[name] = value
    return form


def _command(form: Mapping[str, str], delivery: str) -> Request:
    needed = {name: form.get(name, "") for name in ("user_id", "team_id", "channel_id", "command")}
    if not all(needed.values()):
        return Rejected(status=400, reason="neither a command nor a click")
    return Command(
        **needed,
        text=form.get("text", ""),
        response_url=form.get("response_url", ""),
        trigger=form.get("trigger_id", ""),
        app_id=form.get("api_app_id", ""),
        delivery=delivery,
        enterprise_id=form.get("enterprise_id", ""),
    )


def _parse_json(document: object, delivery: str) -> Request:
    if not isinstance(document, dict):
        return Rejected(status=400, reason="the payload is no object")
    match document.get("type"):
        case "url_verification":
            challenge = _at(document, "challenge")
            if not challenge:
                return Rejected(status=400, reason="a verification without a challenge")
            return UrlVerification(challenge=challenge)
        case "block_actions":
            return _click(document, delivery)
        case "event_callback" if _at(document, "event", "type") == "app_home_opened":
            return _home(document)
        case _:
            return Rejected(status=400, reason="a payload of a type this app does not use")


def _home(document: dict[object, object]) -> Request:
    user = _at(document, "event", "user")
    if not user:
        return Rejected(status=400, reason="a home tab without a user")
    return HomeOpened(
        user_id=user,
        team_id=_at(document, "team_id") or _at(document, "enterprise_id"),
        app_id=_at(document, "api_app_id"),
        # A repeated delivery of an event is signed anew; its own id is what stays the same.
        delivery=hashlib.sha256(f"event|{_at(document, 'event_id')}".encode()).hexdigest(),
        enterprise_id=_at(document, "enterprise_id"),
    )


def _click(document: dict[object, object], delivery: str) -> Request:
    actions = document.get("actions")
    action = actions[0] if isinstance(actions, list) and len(actions) == 1 else None
    user, team, action_id = _at(document, "user", "id"), _at(document, "team", "id"), _at(action, "action_id")
    if not user or not action_id:
        return Rejected(status=400, reason="a click without a user or without exactly one action")
    return Click(
        user_id=user,
        # An app installed for a whole Enterprise Grid organisation gets no team, only the enterprise.
        team_id=team or _at(document, "enterprise", "id"),
        user_team_id=_at(document, "user", "team_id") or None,
        channel_id=_at(document, "channel", "id") or _at(document, "container", "channel_id"),
        action_id=action_id,
        value=_at(action, "value"),
        message_ts=_at(document, "container", "message_ts") or _at(document, "message", "ts"),
        response_url=_at(document, "response_url"),
        trigger=_at(document, "trigger_id"),
        app_id=_at(document, "api_app_id"),
        delivery=delivery,
        enterprise_id=_at(document, "enterprise", "id"),
    )


def _at(node: object, *path: str) -> str:
    """Follow *path* to a text; empty where it leads nowhere. Half a surrogate pair could not be stored or sent on."""
    for key in path:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node.encode("utf-8", "replace").decode() if isinstance(node, str) else ""
