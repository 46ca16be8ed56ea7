"""How do we read and cancel dagy's backfills over HTTP?

The only module that knows the shape in `docs/dagy-api.yaml`. An answer that breaks the contract is no evidence: one
malformed entry makes the whole answer unavailable, since half a list of backfills would blame the wrong one. Knows
nothing of what a backfill does to a table.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn
from urllib.parse import quote, urlsplit

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from unthrottle.backfills import (
    Backfill,
    BackfillsRefused,
    BackfillsUnavailable,
    CancelAccepted,
    CancelAlreadyEnded,
    CancelAnswer,
    CancelUnknown,
    is_backfill_id,
)

MAX_ANSWER_BYTES = 1_000_000
SHORTEST_SECRET = 8
"""A token shorter than this keeps nothing secret, and its letters may stand anywhere in an answer."""
MAX_TEXT = 256
READ_TRIES = 3
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """A complete answer: anything less raises."""

    status: int
    body: bytes


class _LostError(Exception):
    """No complete answer came. `sent` says whether dagy may have received the request."""

    def __init__(self, found: str, *, sent: bool) -> None:
        super().__init__(found)
        self.found = found
        self.sent = sent


class UnusableDagy:
    """The `Backfills` port where dagy's address is of no use: it answers why, and everything else goes on without dagy."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def running(self, environment: str | None = None) -> tuple[Backfill, ...]:
        """Raise BackfillsUnavailable: which backfills run is not known."""
        del environment
        raise BackfillsUnavailable(f"Cannot read the running backfills: {self._reason} Correct DagyApiUrl.")

    def cancel(self, backfill_id: str) -> CancelAnswer:
        """Raise BackfillsUnavailable: nothing was sent."""
        raise BackfillsUnavailable(
            f"Cannot cancel backfill {backfill_id}: {self._reason} Nothing was sent; correct DagyApiUrl, or cancel it in dagy."
        )


class DagyBackfills:
    """The `Backfills` port, spoken to dagy. *token* is called for each request, so that a rotated one is picked up."""

    def __init__(self, base_url: str, token: Callable[[], str], timeout_s: float = 5.0) -> None:
        """*timeout_s* bounds connecting, and each read. ValueError for an address a token must not be sent to."""
        parts = urlsplit(base_url)
        if (
            parts.scheme not in ("http", "https")
            or not parts.hostname
            or parts.query
            or parts.fragment
            or parts.username
        ):
            raise ValueError(f"dagy's address is {base_url!r}; write https://host or https://host/path.")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise ValueError(f"dagy's address is {base_url!r}; the token must not travel in clear text, use https.")
        self._base_url = base_url.rstrip("/")
        self._token = token
        self._timeout_s = timeout_s
        self._listed: frozenset[str] = frozenset()
        self._asked: set[str] = set()
        self._http = urllib3.PoolManager(timeout=urllib3.Timeout(connect=timeout_s, read=timeout_s), retries=False)

    def running(self, environment: str | None = None) -> tuple[Backfill, ...]:
        """List the running backfills, of *environment* only when given, in dagy's order.

        A read is harmless, so it is tried three times. Raises BackfillsUnavailable; an empty tuple is an answer.
        """
        backfills = _parse_list(self._read_running())
        self._listed = frozenset(backfill.id for backfill in backfills)
        return tuple(b for b in backfills if environment is None or b.environment == environment)

    def cancel(self, backfill_id: str) -> CancelAnswer:
        """Ask dagy to stop one backfill; a lost answer is settled by reading the state, never by asking again.

        Raises BackfillsUnavailable when it is unknown what happened or nothing did (the text says which), and
        BackfillsRefused when dagy says no, or speaks of another backfill than the one asked for.
        """
        if not is_backfill_id(backfill_id):
            raise BackfillsRefused(
                400,
                f"Cannot cancel backfill {backfill_id[:80]!r}: no id of a backfill looks like that. Nothing was sent.",
            )
        try:
            answer = self._request("POST", f"/backfills/{quote(backfill_id, safe='')}/cancel")
        except _LostError as lost:
            if not lost.sent:
                raise BackfillsUnavailable(
                    f"Cannot cancel backfill {backfill_id}: {lost.found}. "
                    "Nothing was sent; try again or cancel it in dagy."
                ) from lost
            return self._settle(backfill_id, lost.found)
        was_asked = backfill_id in self._asked
        self._asked.discard(backfill_id)
        if answer.status == 202:
            try:
                _expect_id(answer.body, backfill_id)
            except BackfillsUnavailable as broken:
                return self._settle(backfill_id, broken.reason.rstrip("."))
            return CancelAccepted(backfill_id=backfill_id)
        if answer.status == 409 and was_asked:  # by the request before this one, whose answer was lost
            return CancelAccepted(backfill_id=backfill_id, confirmed_by_reading=True)
        if answer.status == 409:
            return CancelAlreadyEnded(backfill_id=backfill_id, was_running=backfill_id in self._listed)
        if answer.status == 404:
            return CancelUnknown(backfill_id=backfill_id)
        if answer.status >= 500 or answer.status < 300:  # another yes than the contract's may be one all the same
            return self._settle(backfill_id, f"dagy answered {answer.status}")
        if answer.status == 429:
            raise BackfillsUnavailable(
                f"Cannot cancel backfill {backfill_id}: dagy answered 429, too many requests. Try later."
            )
        raise BackfillsRefused(
            answer.status,
            f"Cannot cancel backfill {backfill_id}: dagy answered {_meaning(answer.status)}. Nothing was changed; "
            "check the token's rights, or cancel the backfill in dagy.",
        )

    def _settle(self, backfill_id: str, found: str) -> CancelAnswer:
        """Find out by reading what became of a cancel whose answer is missing or unreadable."""
        self._asked.add(backfill_id)
        try:
            running = self.running()
        except BackfillsUnavailable as blind:
            raise BackfillsUnavailable(
                f"Cancel of backfill {backfill_id} was sent, but {found}, and its state cannot be read: "
                f"{blind.reason} It may or may not have been cancelled: look in dagy."
            ) from blind
        if any(backfill.id == backfill_id for backfill in running):
            raise BackfillsUnavailable(
                f"Cancel of backfill {backfill_id} was sent, but {found}; it is still running. "
                "Nothing was changed so far: try again or cancel it in dagy."
            )
        return CancelAccepted(backfill_id=backfill_id, confirmed_by_reading=True)

    def _read_running(self) -> bytes:
        found = ""
        for _ in range(READ_TRIES):
            try:
                answer = self._request("GET", "/backfills?state=running")
            except _LostError as lost:
                found = lost.found
                continue
            if answer.status == 200:
                return answer.body
            found = f"dagy answered {_meaning(answer.status)}"
            if answer.status < 500:
                break
        raise BackfillsUnavailable(f"Cannot read the running backfills: {found}.")

    def _request(self, method: str, path: str) -> _Answer:
        token = self._token()
        if not token or not token.isascii() or not token.isprintable():
            raise BackfillsUnavailable(
                "dagy's token is empty or has characters no HTTP header can carry; store it again."
            )
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        deadline = time.monotonic() + 2 * self._timeout_s
        try:
            response = self._http.request(
                method,
                self._base_url + path,
                headers=headers,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
        except (NewConnectionError, ConnectTimeoutError) as error:
            raise _LostError(f"no connection to dagy ({type(error).__name__})", sent=False) from error
        except HTTPError as error:
            raise _LostError(f"no answer came from dagy ({type(error).__name__})", sent=True) from error
        try:
            body = _read_bounded(response, deadline)
            if (
                len(token) >= SHORTEST_SECRET
            ):  # an error page may show the request's headers, and a message quote the page
                body = body.replace(token.encode(), b"(our token)")
            return _Answer(status=response.status, body=body)
        except HTTPError as error:
            raise _LostError(f"dagy's answer broke off ({type(error).__name__})", sent=True) from error
        finally:
            response.close()


def _read_bounded(response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
    """Read the body up to the size and the time we are willing to give; a server that drips must not hold us."""
    body = b""
    while chunk := response.read1(65_536):
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise _LostError(f"dagy's answer is larger than {MAX_ANSWER_BYTES} bytes", sent=True)
        if time.monotonic() > deadline:
            raise _LostError("dagy's answer came too slowly", sent=True)
    declared = response.headers.get("Content-Length", "")
    if declared.isdecimal() and int(declared) != len(body):
        raise _LostError(f"dagy's answer broke off after {len(body)} of {declared} bytes", sent=True)
    return body


def _meaning(status: int) -> str:
    known = {
        401: "401, our token is not accepted",
        403: "403, our token may not do this",
        429: "429, too many requests",
    }
    return known.get(status, f"{status}, a redirect, which is not followed" if 300 <= status < 400 else str(status))


def _bad(what: str) -> NoReturn:
    raise BackfillsUnavailable(f"dagy's answer breaks the contract: {what}. It is not used.")


def _json(body: bytes) -> object:
    try:
        return json.loads(body, parse_constant=lambda name: _bad(f"the number {name}"))
    except (ValueError, RecursionError):
        _bad(f"no JSON, it starts with {body[:40]!r}")


def _parse_list(body: bytes) -> tuple[Backfill, ...]:
    document = _json(body)
    if not isinstance(document, dict) or not isinstance(document.get("backfills"), list):
        _bad("no list named backfills")
    backfills = tuple(_parse_backfill(entry, f"backfills[{i}]") for i, entry in enumerate(document["backfills"]))
    for backfill in backfills:
        if backfill.state != "running":
            _bad(f"asked for running backfills, {backfill.id} is {backfill.state!r}")
    if len({backfill.id for backfill in backfills}) != len(backfills):
        _bad("the same backfill twice")
    return backfills


def _parse_backfill(entry: object, where: str) -> Backfill:
    if not isinstance(entry, dict):
        _bad(f"{where} is no object")
    started = _text(entry, "started_at", where)
    try:
        started_at = datetime.fromisoformat(started)
    except ValueError:
        _bad(f"{where}.started_at is {started!r}")
    if started_at.tzinfo is None:
        _bad(f"{where}.started_at is {started!r}, without a time zone")
    identifier = _text(entry, "id", where)
    if not is_backfill_id(identifier):
        _bad(f"{where}.id is {identifier[:80]!r}")
    return Backfill(
        id=identifier,
        state=_text(entry, "state", where),
        flow=_text(entry, "flow", where),
        environment=_text(entry, "environment", where),
        requested_by=_text(entry, "requested_by", where),
        started_at=started_at,
        runs_total=_count(entry, "runs_total", where),
        runs_dispatched=_count(entry, "runs_dispatched", where),
        dispatch_rate_per_minute=_rate(entry, "dispatch_rate_per_minute", where),
    )


def _text(entry: dict[str, object], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value or len(value) > MAX_TEXT or not value.isprintable():
        _bad(f"{where}.{key} is {str(value)[:80]!r}, not a short line of text")
    return value


def _count(entry: dict[str, object], key: str, where: str) -> int:
    value = entry.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        _bad(f"{where}.{key} is {str(value)[:80]!r}, not a count")
    return value


def _rate(entry: dict[str, object], key: str, where: str) -> float:
    value = entry.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1e12:
        _bad(f"{where}.{key} is {str(value)[:80]!r}, not a rate")
    return float(value)


def _expect_id(body: bytes, backfill_id: str) -> None:
    document = _json(body)
    if not isinstance(document, dict) or not isinstance(document.get("id"), str):
        _bad("the accepted cancel names no backfill")
    if document["id"] != backfill_id:
        raise BackfillsRefused(
            202,
            f"Asked dagy to cancel backfill {backfill_id}; it answered about {document['id'][:80]!r}. "
            "Look in dagy which of the two was cancelled.",
        )
