"""What happens to a request on its way to Slack or dagy, and to the answer on its way back?

The stand-ins are real HTTP servers and the bot uses two HTTP clients; both send through `http.client`. This breaks the
n-th call there, on the client's side, so that a process can die before or after a call, a connection can be refused, and an
answer can be lost, spoilt or be another one, while the stand-in has or has not carried out the request. Knows the
names of calls (`slack.chat.postMessage`, `dagy.POST`) and nothing of what they mean.
"""

import contextlib
import http.client
import io
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from sandbox.aws.calls import (
    AFTER,
    BEFORE,
    CRASH_AFTER,
    CRASH_BEFORE,
    MALFORMED,
    REFUSED,
    TRUNCATED,
    Fault,
    ProcessDied,
)

_STATUS_TEXT = (
    "HTTP/1.1 {status} Made to fail\r\nContent-Type: {kind}\r\n{more}"
    "Connection: close\r\nContent-Length: {length}\r\n\r\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineCall:
    """One request that the bot made. `result` is "sent" or the word of the fault that struck it.

    `position` is what the *mark* of the line said at that moment, to put it in order with calls of another kind.
    """

    call: str
    path: str
    position: int
    result: str


class Line:
    """Use as a context manager around everything that calls. *origins* names who is called, by origin of the address."""

    def __init__(
        self, *, origins: Mapping[str, Literal["slack", "dagy"]], faults: Sequence[Fault], mark: Callable[[], int]
    ) -> None:
        self.calls: list[LineCall] = []
        self._origins = {urlsplit(origin).netloc: name for origin, name in origins.items()}
        self._faults = list(faults)
        self._mark = mark
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> Self:
        connection: Any = http.client.HTTPConnection
        line, put, end, send, get = (
            self,
            connection.putrequest,
            connection.endheaders,
            connection.send,
            connection.getresponse,
        )

        def putrequest(this: Any, method: str, url: str, *args: Any, **more: Any) -> None:
            this.sandbox_call = (method, url)
            put(this, method, url, *args, **more)

        def endheaders(this: Any, *args: Any, **more: Any) -> None:
            this.sandbox_fault = fault = line._struck(this)
            if fault is not None and fault in BEFORE:
                this.close()
                raise _breakdown(fault)
            if fault is not None and fault not in AFTER and this.sock is None:
                this.connect()
            end(this, *args, **more)

        def sent(this: Any, data: Any) -> None:
            fault = getattr(this, "sandbox_fault", None)
            if fault is None or fault in AFTER:
                send(this, data)

        def getresponse(this: Any) -> Any:
            fault, this.sandbox_fault = getattr(this, "sandbox_fault", None), None
            if fault is None:
                return get(this)
            if fault not in AFTER:
                this.sock.close()
                this.sock = _Canned(_answer(fault))
                return get(this)
            answered = get(this)
            body = answered.read()
            this.close()
            if fault not in {MALFORMED, TRUNCATED}:
                raise _breakdown(fault)
            spoilt = body[: len(body) // 2] if fault == TRUNCATED else b"\x00<html>not what was asked for"
            again: Any = this.response_class(_Canned(_written(answered.status, spoilt)), method=this._method)
            again.begin()
            return again

        for name, one in (
            ("putrequest", putrequest),
            ("endheaders", endheaders),
            ("send", sent),
            ("getresponse", getresponse),
        ):
            self._undo.callback(setattr, connection, name, getattr(connection, name))
            setattr(connection, name, one)
        return self

    def __exit__(self, *_: object) -> Literal[False]:
        self._undo.close()
        return False

    def _struck(self, connection: Any) -> str | None:
        """Count a call and say which fault strikes it."""
        name = self._origins.get(f"{connection.host}:{connection.port}")
        if name is None:
            return None
        method, url = connection.sandbox_call
        path = urlsplit(url).path
        call = f"dagy.{method}" if name == "dagy" else "slack." + path.strip("/").partition("/")[2]
        with self._lock:
            number = self._counts[call] = self._counts.get(call, 0) + 1
        error = next((one.error for one in self._faults if one.call == call and one.strikes(number)), None)
        self.calls.append(LineCall(call=call, path=path, position=self._mark(), result=error or "sent"))
        return error


class _Canned:
    """A socket from which one answer comes and into which nothing goes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: object, **__: object) -> io.BytesIO:
        return io.BytesIO(self._data)

    def settimeout(self, _: object) -> None:
        """Never waits."""

    def shutdown(self, _: object) -> None:
        """Nobody is there."""

    def close(self) -> None:
        """Nothing to close."""


def _breakdown(fault: str) -> BaseException:
    if fault in {CRASH_BEFORE, CRASH_AFTER}:
        return ProcessDied(fault)
    return ConnectionRefusedError("refused") if fault == REFUSED else TimeoutError("timed out")


def _answer(fault: str) -> bytes:
    """Write the answer of a service that refuses: an HTTP status, or an error code of Slack's API."""
    if fault.isdecimal():
        return _written(int(fault), b"<html><body>made to fail</body></html>", kind="text/html")
    return _written(200, json.dumps({"ok": False, "error": fault}).encode())


def _written(status: int, body: bytes, *, kind: str = "application/json") -> bytes:
    more = "Retry-After: 30\r\n" if status == 429 else ""
    return _STATUS_TEXT.format(status=status, kind=kind, more=more, length=len(body)).encode() + body
