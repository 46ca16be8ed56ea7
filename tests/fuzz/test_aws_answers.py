"""An answer of AWS that is cut, empty or something else ends in one of our errors or in "not known", never in a guess."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from unthrottle.adapters.access import Access, Clients, assume
from unthrottle.adapters.functions import AwsFunctions
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.adapters.metrics import AwsMetrics
from unthrottle.adapters.secrets import AwsSecrets
from unthrottle.adapters.tables import AwsTables
from unthrottle.errors import UnthrottleError
from unthrottle.ports import MetricQuery

REGION = "eu-west-1"
NOW = datetime(2026, 6, 1, 10, 0, tzinfo=UTC)
BODIES = [
    pytest.param(b"", id="empty"),
    pytest.param(b"{}", id="an empty object"),
    pytest.param(b"[]", id="a list"),
    pytest.param(b"null", id="null"),
    pytest.param(b"<html>Bad Gateway</html>", id="a page"),
    pytest.param(b"\x00\xff\xfe", id="bytes"),
    pytest.param(b'{"Table": {"TableName": "t', id="cut"),
    pytest.param(b"<AssumeRoleResponse><AssumeRoleResult><Creden", id="cut XML"),
    pytest.param(b"[" * 100_000, id="nested without end"),
    pytest.param(b'{"SecretString": "' + b"[" * 100_000 + b'"}', id="nested inside a text"),
    pytest.param(json.dumps({"Table": 7, "Concurrency": "x", "Items": {}, "Item": []}).encode(), id="other types"),
]


class Odd(Clients):
    """Real clients that get one body for every request."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._body = body

    def make(self, service: Any, region: str, credentials: Any) -> Any:
        client = boto3.client(
            service, region_name=region, aws_access_key_id="a", aws_secret_access_key="b", aws_session_token="c"
        )
        client.meta.events.register("before-send", self._answer)
        return client

    def _answer(self, request: Any, **_: object) -> AWSResponse:
        return AWSResponse(request.url, 200, HTTPHeaders(), _Raw(self._body))


class _Raw:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, **_: object) -> Iterator[bytes]:
        yield self._body

    def read(self, *_: object, **__: object) -> bytes:
        return self._body


HOUR = timedelta(hours=1)
QUERIES = (MetricQuery(id="a", namespace="AWS/Lambda", name="Throttles", stat="Sum"),)
READS: dict[str, Callable[[Access], object]] = {
    "account": lambda access: AwsFunctions(access).account(),
    "function": lambda access: AwsFunctions(access).describe("svc"),
    "event sources": lambda access: AwsFunctions(access).event_sources("svc"),
    "async settings": lambda access: AwsFunctions(access).async_settings("svc"),
    "provisioned": lambda access: AwsFunctions(access).provisioned("svc"),
    "table": lambda access: AwsTables(access).describe("dagy-runs"),
    "tags": lambda access: AwsTables(access).tags("arn:aws:dynamodb:eu-west-1:111122223333:table/dagy-runs"),
    "scaling": lambda access: AwsTables(access).scaling("dagy-runs"),
    "metrics": lambda access: AwsMetrics(access).read(QUERIES, start=NOW - HOUR, end=NOW, period_s=60),
    "credentials": lambda access: assume(access, "arn:aws:iam::111122223333:role/x", "INC-1", None, ""),
    "secret": lambda access: AwsSecrets(access).text("arn:aws:secretsmanager:eu-west-1:111122223333:secret:x"),
    "incident": lambda access: IncidentsTable(access, "incidents").load("INC-ABCD1234"),
    "open incidents": lambda access: IncidentsTable(access, "incidents").open_incidents(),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("what", READS)
def test_an_unreadable_answer_is_one_of_our_errors_or_nothing_known(what: str, body: bytes) -> None:
    """No KeyError of a half-read answer gets out: what runs outside of a workflow's step would die of it."""
    try:
        READS[what](Access(Odd(body), REGION))
    except UnthrottleError as error:
        assert len(str(error)) < 2000  # noqa: PT017  a value that says "not known" is right, too
