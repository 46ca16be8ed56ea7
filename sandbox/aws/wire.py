"""How does an answer look on the wire, so that a real client parses real bytes?

Successful answers go through moto's serialisers, which follow the service models. Errors are written here, since AWS
sends codes that its models do not declare (DynamoDB's ValidationException is one) and a serialiser refuses those.
"""

import json
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from moto.core.botocore_stubber import MockRawResponse
from moto.core.request import determine_request_protocol
from moto.core.serialize import get_serializer_class
from moto.core.utils import get_service_model

_REQUEST_ID = "00000000-0000-4000-8000-000000000000"


def protocol_of(service: str, request: AWSPreparedRequest) -> str:
    """The wire protocol the client chose: json, rest-json, query, ..."""
    content = header(request, "Content-Type")
    return str(determine_request_protocol(get_service_model(service), content))


def header(request: AWSPreparedRequest, name: str) -> str:
    """A header of a request as text; botocore keeps some as bytes, whatever its types say. Absent is empty."""
    value: object = request.headers.get(name, "")
    return value.decode() if isinstance(value, bytes) else str(value)


def success(service: str, operation: str, parsed: Mapping[str, Any], request: AWSPreparedRequest) -> AWSResponse:
    """Serialise what the client is to see as the result of an operation."""
    model = get_service_model(service)
    serializer = get_serializer_class(service, protocol_of(service, request))(model.operation_model(operation))
    # moto's JSON serialisers leave None out; a key that is absent stays absent.
    result = serializer.serialize(dict(parsed))
    return _response(request, int(result["status_code"]), dict(result["headers"]), result["body"])


def failure(
    service: str,
    code: str,
    message: str,
    status: int,
    request: AWSPreparedRequest,
    *,
    details: Mapping[str, Any] | None = None,
) -> AWSResponse:
    """Serialise an AWS error. `code` need not be declared in the service model; *details* are further fields of it."""
    headers = {"x-amzn-requestid": _REQUEST_ID}
    if protocol_of(service, request) in {"query", "rest-xml", "ec2"}:
        headers["Content-Type"] = "text/xml"
        body = (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{escape(code)}</Code>"
            f"<Message>{escape(message)}</Message></Error><RequestId>{_REQUEST_ID}</RequestId></ErrorResponse>"
        )
        return _response(request, status, headers, body)
    headers |= {"Content-Type": "application/json", "x-amzn-errortype": code}
    # Lambda says Message and Type, DynamoDB says message: with all of them every client finds its own.
    body = json.dumps({**(details or {}), "__type": code, "message": message, "Message": message, "Type": "User"})
    return _response(request, status, headers, body)


def spoilt(response: AWSResponse, *, cut: bool) -> AWSResponse:
    """Make an answer unreadable: *cut* in the middle, or something else than the service would say."""
    body = response.content[: len(response.content) // 2] if cut else b"\x00<html>not what was asked for"
    fields = HTTPHeaders()
    for name, value in response.headers.items():
        if name.lower() not in {"content-length", "x-amz-crc32"}:
            fields[name] = value
    return AWSResponse(response.url, response.status_code, fields, MockRawResponse(body))


def _response(request: AWSPreparedRequest, status: int, headers: dict[str, str], body: str | bytes) -> AWSResponse:
    fields = HTTPHeaders()
    for name, value in headers.items():
        fields[name] = value
    return AWSResponse(request.url, status, fields, MockRawResponse(body))
