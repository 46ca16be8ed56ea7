"""Run one built function the way Lambda does: the real bootstrap, the function's folder, its layer, nothing else.

Plays the Lambda Runtime API, the small HTTP interface through which a managed runtime fetches events and returns
answers (AWS: Lambda developer guide, "Using the Lambda runtime API"), and starts AWS's own runtime client against it.
Knows nothing of what a function does.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """What the handler returned."""

    payload: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """What the handler, or its import, raised; or why there was no answer."""

    kind: str
    message: str


Answer = Replied | Failed


class QuietServer(ThreadingHTTPServer):
    """Listens on loopback, in threads that end with the process."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Be silent about a connection that ended: its process was ended after it had answered."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class RuntimeApi:
    """The Runtime API for one function. Events go in by `send`, answers come out of `answer`.

    `trace` is what Lambda tells with each invocation that its active tracing has drawn; empty where nobody traces.
    """

    def __init__(self, trace: str = "") -> None:
        self._events: queue.Queue[tuple[str, bytes]] = queue.Queue()
        self._answers: queue.Queue[Answer] = queue.Queue()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body are two writes; the second would wait 40 ms for an answer

            def do_GET(self) -> None:  # GET …/invocation/next blocks until there is an event
                request_id, body = api._events.get()
                self.send_response(200)
                self.send_header("Lambda-Runtime-Aws-Request-Id", request_id)
                self.send_header("Lambda-Runtime-Deadline-Ms", "32503680000000")
                self.send_header(
                    "Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-west-1:111122223333:function:built"
                )
                if trace:
                    self.send_header("Lambda-Runtime-Trace-Id", trace)
                self.send_header("Content-Type", "application/json")  # awslambdaric 4.2.2 crashes without one
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:  # …/response, …/error or init/error
                body = self._body()
                if self.path.endswith("/response"):
                    api._answers.put(Replied(payload=json.loads(body or b"null")))
                else:
                    error = json.loads(body or b"{}")
                    api._answers.put(
                        Failed(kind=error.get("errorType", "Unknown"), message=error.get("errorMessage", ""))
                    )
                self.send_response(202)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def _body(self) -> bytes:
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", "0")))
                parts: list[bytes] = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class named it
                """Stay silent: the function's own output is what matters."""

        self._server = QuietServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        """Host and port, as the bootstrap wants them in AWS_LAMBDA_RUNTIME_API."""
        return f"127.0.0.1:{self._server.server_port}"

    def send(self, event: object) -> None:
        """Make *event* the next invocation."""
        self._events.put((str(uuid.uuid4()), json.dumps(event).encode()))

    def answer(self, process: subprocess.Popen[str], timeout_s: float) -> Answer:
        """Wait for the answer to the last event; silence past *timeout_s*, or a process that is gone, is a failure."""
        for _ in range(max(1, int(timeout_s * 10))):
            ended = process.poll()  # before looking for the answer: it may answer and end at once
            try:
                return self._answers.get(timeout=0.1)
            except queue.Empty:
                if ended is not None:
                    return Failed(kind="Ended", message=f"the process ended with {ended} and did not answer")
        return Failed(kind="Silence", message=f"no answer within {timeout_s:g} s")


class FunctionProcess:
    """One execution environment: a process with a function in it, which keeps what it holds between events.

    *function* is the built folder; *path* is what else may be imported (layer, runtime client). This interpreter runs
    it without its own site-packages.
    """

    def __init__(
        self, function: Path, *, path: Sequence[Path], environment: dict[str, str], handler: str = "app.handler"
    ) -> None:
        self._held = ExitStack()
        self._api = self._held.enter_context(RuntimeApi(environment.get("_X_AMZN_TRACE_ID", "")))
        self._output = self._held.enter_context(
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  it is entered one line above
        )
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-m", "awslambdaric", handler],
            cwd=function,
            env={
                "PATH": os.defpath,
                "LANG": "C.UTF-8",
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": os.pathsep.join(str(part.resolve()) for part in path),
                "AWS_LAMBDA_RUNTIME_API": self._api.address,
                "AWS_LAMBDA_FUNCTION_NAME": function.name,
                "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
                "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
                "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
                "AWS_LAMBDA_LOG_STREAM_NAME": "smoke",
                "LAMBDA_TASK_ROOT": str(function.resolve()),
                **environment,
            },
            stdout=self._output,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._held.close()

    def send(self, event: object, timeout_s: float = 30) -> Answer:
        """Send one event and wait for the answer."""
        self._api.send(event)
        return self._api.answer(self.process, timeout_s)

    def peak_mb(self) -> float | None:
        """The most memory the process has held. None where the system does not tell."""
        return self._memory_mb("VmHWM:")

    def held_mb(self) -> float | None:
        """The memory the process holds now. None where the system does not tell."""
        return self._memory_mb("VmRSS:")

    def _memory_mb(self, what: str) -> float | None:
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            return None
        found = next((line for line in status.read_text().splitlines() if line.startswith(what)), None)
        return None if found is None else int(found.split()[1]) / 1024

    def output(self) -> str:
        """Read what the process wrote so far."""
        self._output.flush()
        self._output.seek(0)
        return self._output.read()


def invoke(
    function: Path,
    event: object,
    *,
    path: Sequence[Path],
    environment: dict[str, str],
    handler: str = "app.handler",
    timeout_s: float = 30,
) -> tuple[Answer, str]:
    """Start *function*'s handler in a fresh process and send it one event.

    Answers the outcome and whatever the process wrote; see `FunctionProcess` for the rest.
    """
    with FunctionProcess(function, path=path, environment=environment, handler=handler) as running:
        answer = running.send(event, timeout_s)
        running.process.kill()
        running.process.wait()
        return answer, running.output()
