"""What does DynamoDB answer about bulk operations: loads from S3 into tables that are there?

AWS facts kept (DynamoDB API, ListBulkOperations and DescribeBulkOperation): those of 90 days with the most recent first, at
most 25 a page, without their tables; the description has them. Belief: the form of an ARN. Starting and cancelling are not
emulated.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sandbox.aws.calls import Answer, Refuse, Request, Respond
from sandbox.aws.records import BulkRecord

if TYPE_CHECKING:
    from datetime import datetime

    from sandbox.aws.account import EmbeddedAccount

PAGE = 10


class BulkApi:
    """Handler of the two calls that look at bulk operations, for one account."""

    def __init__(self, account: "EmbeddedAccount") -> None:
        self._account = account

    def handle(self, request: Request) -> Answer | None:
        """Answer a call, or leave it."""
        if request.service != "dynamodb" or not self._account.owns(request):
            return None
        known = [one for one in self._account.bulk_operations if one.start <= request.now]
        if request.operation == "ListBulkOperations":
            known.sort(key=lambda one: one.start, reverse=True)
            page = known[: int(request.parameters.get("MaxResults") or PAGE)]
            return Respond(parsed={"BulkOperationsSummaryList": [_summary(one, request.now) for one in page]})
        if request.operation == "DescribeBulkOperation":
            found = next((one for one in known if one.arn == request.parameters["BulkOperationArn"]), None)
            if found is None:
                return Refuse(code="ResourceNotFoundException", message="The bulk operation does not exist.")
            return Respond(parsed={"BulkOperationDescription": _description(found, request.now)})
        return None


def _summary(one: BulkRecord, now: "datetime") -> dict[str, Any]:
    ended = one.end is not None and one.end <= now
    view: dict[str, Any] = {
        "BulkOperationArn": one.arn,
        "BulkOperationStatus": "COMPLETED" if ended else "IN_PROGRESS",
        "StartTime": one.start,
    }
    return view | ({"EndTime": one.end} if ended else {})


def _description(one: BulkRecord, now: "datetime") -> Mapping[str, Any]:
    limit = {} if one.max_write is None else {"MaxWriteRequestUnits": one.max_write}
    return _summary(one, now) | {"TableDetails": [{"TableName": one.table}], "PerformanceTier": "STANDARD"} | limit
