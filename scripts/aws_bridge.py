"""The sandbox's AWS for a process of its own: real HTTP in, the gate's answer out.

Reads a signed AWS request from the wire, makes the same call inside the sandbox under the same access key, and writes the
answer as AWS would. The time of the request is the time at which it was signed. Knows the protocols that the services a
built function talks to use: JSON and query.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from urllib.parse import parse_qsl

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.exceptions import ClientError

from sandbox.aws import wire
from scripts.runtime_api import QuietServer

_CREDENTIAL = re.compile(r"Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/")
_BY_SIGNING_NAME: Mapping[str, str] = {"monitoring": "cloudwatch"}

_DETAILS = ("CancellationReasons", "Item")
"""What DynamoDB says besides code and message (API reference, TransactWriteItems)."""

Call = Callable[[], dict[str, Any]]
Between = Callable[[str, str, Call], dict[str, Any]]
"""Called with service, operation and what makes the call; may do something before or after it, or not make it."""


class AwsBridge:
    """An endpoint for AWS_ENDPOINT_URL. *arrive* is told the time of each request before it is answered."""

    def __init__(self, arrive: Callable[[datetime], None], between: Between) -> None:
        self.lock = threading.RLock()
        self._arrive, self._between = arrive, between
        self._clients: dict[tuple[str, str, str], Any] = {}
        bridge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body are two writes; the second would wait 40 ms for an answer

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                with bridge.lock:
                    answer = bridge._answer(dict(self.headers.items()), body)
                content = answer.content
                self.send_response(answer.status_code)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class named it
                """Stay silent: the gate keeps a record of the calls."""

        self._server = QuietServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def _answer(self, headers: dict[str, str], body: bytes) -> AWSResponse:
        lower = {name.lower(): value for name, value in headers.items()}
        signed = _CREDENTIAL.search(lower.get("authorization", ""))
        if signed is None:
            raise ValueError("A request to AWS that nobody has signed.")
        access_key, region, name = signed.groups()
        self._arrive(datetime.strptime(lower["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC))
        fields = HTTPHeaders()
        for key, value in headers.items():
            fields[key] = value
        request = AWSPreparedRequest("POST", self.url, fields, body, stream_output=False)
        client = self._client(name, region, access_key, lower.get("x-amz-security-token", "bridge"))
        service = client.meta.service_model.service_name
        operation, parameters = _read(lower, body)
        method = {value: key for key, value in client.meta.method_to_api_mapping.items()}[operation]
        try:
            found = self._between(service, operation, lambda: getattr(client, method)(**parameters))
        except ClientError as error:
            status = int(error.response["ResponseMetadata"]["HTTPStatusCode"])
            said = error.response["Error"]
            details = {name: error.response[name] for name in _DETAILS if name in error.response}  # type: ignore[literal-required]
            return wire.failure(
                service, said.get("Code", ""), said.get("Message", ""), status, request, details=details
            )
        found.pop("ResponseMetadata", None)
        return wire.success(service, operation, found, request)

    def _client(self, name: str, region: str, access_key: str, token: str) -> Any:
        """Make a client once for each set of credentials: making one takes longer than a call."""
        known = (name, region, access_key)
        if known not in self._clients:
            self._clients[known] = boto3.client(
                _BY_SIGNING_NAME.get(name, name),  # type: ignore[call-overload]  # one overload for each service
                region_name=region,
                aws_access_key_id=access_key,
                aws_secret_access_key="bridge",  # noqa: S106  opens nothing
                aws_session_token=token,
                config=Config(retries={"total_max_attempts": 1}),
            )
        return self._clients[known]


def _read(headers: Mapping[str, str], body: bytes) -> tuple[str, dict[str, Any]]:
    """Read operation and parameters."""
    target = headers.get("x-amz-target")
    if target:
        return target.rsplit(".", 1)[-1], json.loads(body or b"{}")
    form = dict(parse_qsl(body.decode(), keep_blank_values=True))
    form.pop("Version", None)
    return form.pop("Action"), dict(form)
