"""How does a stand-in listen for real HTTP on this machine?

A threaded server on 127.0.0.1 and a free port, so that the bot's own HTTP clients speak to it over sockets. Knows
nothing of what is served.
"""

import os
import select
import socket
import socketserver
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

MAX_REQUEST_BYTES = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request, body read; header names are lower case. `path` is still percent-encoded."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """An answer that is sent at once."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class Drop:
    """Close the connection without a word."""


class Hold:
    """Answer nothing until the client gives up, which is what an answer later than its time-out looks like to it."""


Serve = Callable[[HttpRequest], HttpAnswer | Drop | Hold]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def server_bind(self) -> None:
        # HTTPServer.server_bind looks up the host's name, which can take seconds on a machine without a name server.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that hung up; that is part of what is being rehearsed."""


class LoopbackServer:
    """Serve *serve* on 127.0.0.1 until `stop`; also a context manager. `origin` is http://127.0.0.1:<port>."""

    def __init__(self, serve: Serve) -> None:
        self._stopping = Event()
        self._server = _Server(("127.0.0.1", 0), _handler(serve, self._stopping))
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._bypassed: str | None = None
        self.origin = f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> Self:
        # A proxy named in the environment would be asked for 127.0.0.1 too.
        if "127.0.0.1" not in os.environ.get("no_proxy", ""):
            self._bypassed = os.environ.get("no_proxy", "")
            os.environ["no_proxy"] = ",".join(filter(None, [self._bypassed, os.environ.get("NO_PROXY"), "127.0.0.1"]))
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving; whoever waits for an answer is dropped. Stopping twice is harmless."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        if self._bypassed:
            os.environ["no_proxy"] = self._bypassed
        elif self._bypassed is not None:
            os.environ.pop("no_proxy", None)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


class StandIn:
    """A service of its own `_server`, for as long as it is started; also a context manager."""

    _server: LoopbackServer

    def start(self) -> Self:
        self._server.start()
        return self

    def stop(self) -> None:
        self._server.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _handler(serve: Serve, stopping: Event) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        timeout = 60

        def _handle(self) -> None:
            self.close_connection = True
            length = self.headers.get("Content-Length") or "0"
            if not length.isdecimal() or int(length) > MAX_REQUEST_BYTES:
                self._send(HttpAnswer(status=413))
                return
            parts = urlsplit(self.path)
            answer = serve(
                HttpRequest(
                    method=self.command,
                    path=parts.path,
                    query=parts.query,
                    headers={name.lower(): value for name, value in self.headers.items()},
                    body=self.rfile.read(int(length)),
                )
            )
            match answer:
                case HttpAnswer():
                    self._send(answer)
                case Hold():
                    _until_closed(self.connection, stopping)
                case Drop():
                    pass

        def _send(self, answer: HttpAnswer) -> None:
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in answer.headers:
                self.send_header("Content-Length", str(len(answer.body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *args: object) -> None:
            """Keep standard error for the one who runs the rehearsal."""

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _handle  # noqa: N815 (http.server's own names)

    return Handler


def _until_closed(connection: socket.socket, stopping: Event) -> None:
    while not stopping.is_set():
        readable, _, _ = select.select([connection], [], [], 0.05)
        if readable and not connection.recv(4096):
            return
