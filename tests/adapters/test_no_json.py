"""A success of AWS that cannot be read is no answer: botocore alone would take it for one that holds nothing."""

from typing import Any, cast

import botocore.session
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from unthrottle.adapters.access import Access, Clients, Credentials, Service
from unthrottle.adapters.clock import SystemClock
from unthrottle.errors import MalformedAnswer, TryAgain

SESSION = botocore.session.Session()


class _Raw:
    """The body as `AWSResponse` reads it from the connection."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> list[bytes]:
        return [self._body]

    def read(self, _most: int | None = None) -> bytes:
        return self._body


class Answering(Clients):
    """Clients that get the same bytes for every call."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(SESSION)
        self._status, self._body = status, body

    def make(self, service: Service, region: str, credentials: Credentials | None) -> Any:
        client = super().make(
            service, region, Credentials(access_key="a", secret_key="b", token="c", until=SystemClock().now())
        )
        client.meta.events.register(
            "before-send",
            lambda request, **_: AWSResponse(request.url, self._status, HTTPHeaders(), cast("Any", _Raw(self._body))),
        )
        return client


READS: tuple[tuple[Service, str, dict[str, Any]], ...] = (
    ("dynamodb", "batch_get_item", {"RequestItems": {"incidents": {"Keys": [{"pk": {"S": "PAUSE"}}]}}}),
    ("dynamodb", "query", {"TableName": "incidents"}),
    ("dynamodb", "list_tags_of_resource", {"ResourceArn": "arn:aws:dynamodb:eu-west-1:111122223333:table/orders"}),
    ("lambda", "get_function", {"FunctionName": "batch"}),
    ("lambda", "get_function_concurrency", {"FunctionName": "batch"}),
    ("application-autoscaling", "describe_scalable_targets", {"ServiceNamespace": "dynamodb"}),
    ("secretsmanager", "get_secret_value", {"SecretId": "slack"}),
    ("ssm", "get_calendar_state", {"CalendarNames": ["freeze"]}),
)


@pytest.mark.parametrize(
    "body", [b"", b'{"Tags": {"unthrottle:prot', b"<html>Busy</html>", b"\xff\xfe\x00", b"[" * 90_000]
)
@pytest.mark.parametrize(("service", "operation", "parameters"), READS, ids=[f"{one[0]}.{one[1]}" for one in READS])
def test_a_success_that_is_no_json_is_not_an_answer_without_tags_or_items(
    service: Service, operation: str, parameters: dict[str, Any], body: bytes
) -> None:
    """A pause, a protection or a reservation would not be seen."""
    access: Any = Access(Answering(200, body), "eu-west-1")
    with (
        pytest.raises(MalformedAnswer, match=r"Could not look: .* is no JSON .*tried again"),
        access.use(service, "look") as client,
    ):
        getattr(client, operation)(**parameters)


def test_an_answer_without_a_body_is_one_where_none_is_promised() -> None:
    with Access(Answering(204, b""), "eu-west-1").use("lambda", "look") as client:
        client.delete_function_concurrency(FunctionName="batch")


def test_what_an_invoked_function_answers_need_not_be_json() -> None:
    with Access(Answering(200, b"plain words"), "eu-west-1").use("lambda", "look") as client:
        assert client.invoke(FunctionName="batch")["Payload"].read() == b"plain words"


def test_an_error_page_stays_the_error_it_is() -> None:
    access = Access(Answering(503, b"<html>Busy</html>"), "eu-west-1")
    with pytest.raises(TryAgain) as raised, access.use("dynamodb", "look") as client:
        client.describe_table(TableName="orders")
    assert not isinstance(raised.value, MalformedAnswer)
