"""What stands in for AWS while a start is timed? A server on loopback that refuses every call, or answers the front doors'.

No retry and no network is in a figure then. Knows nothing of what is measured.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from scripts.runtime_api import QuietServer

REFUSAL = b'{"__type":"AccessDeniedException","message":"The benchmark refuses every call."}'


@contextmanager
def refusing() -> Iterator[str]:
    """Serve an AWS that refuses everything; yields its address."""
    with _serving({}) as address:
        yield address


@contextmanager
def answering(secret: dict[str, str]) -> Iterator[str]:
    """Serve what a front door asks for: *secret*, an empty table that takes every write, and a workflow that starts."""
    answers: dict[str, dict[str, object]] = {
        "secretsmanager.GetSecretValue": {"SecretString": json.dumps(secret)},
        "DynamoDB_20120810.GetItem": {},
        "DynamoDB_20120810.PutItem": {},
        "DynamoDB_20120810.UpdateItem": {},
        "DynamoDB_20120810.Query": {"Items": [], "Count": 0},
        "DynamoDB_20120810.BatchGetItem": {"Responses": {}, "UnprocessedKeys": {}},
        "DynamoDB_20120810.TransactWriteItems": {},
        "Invoke": {},
    }
    with _serving(answers) as address:
        yield address


@contextmanager
def _serving(answers: dict[str, dict[str, object]]) -> Iterator[str]:
    class Aws(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = self.headers.get("X-Amz-Target") or ("Invoke" if self.path.endswith("/invocations") else "")
            answer = answers.get(asked)
            body = REFUSAL if answer is None else json.dumps(answer).encode()
            self.send_response(400 if answer is None else 202 if asked == "Invoke" else 200)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST  # noqa: N815  the base class names its methods so

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class named it
            """Stay silent."""

    server = QuietServer(("127.0.0.1", 0), Aws)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
