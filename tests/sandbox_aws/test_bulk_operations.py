"""Bulk operations as DynamoDB lists and describes them: the newest first, without their tables; with them when described."""

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.aws.records import BulkRecord
from tests.sandbox_aws.conftest import START


def _started(world: Any, name: str, minute: float, end: float | None = None) -> str:
    record = BulkRecord(
        arn=f"arn:aws:dynamodb:eu-west-1:111122223333:table/{name}/bulk-operation/{minute:014.0f}",
        table=name,
        start=START + timedelta(minutes=minute),
        end=None if end is None else START + timedelta(minutes=end),
        max_write=1024,
    )
    world.account.bulk_operations.append(record)
    return record.arn


def test_operations_are_listed_from_their_start_on_the_newest_first(world: Any) -> None:
    old, new, _ = _started(world, "runs", 1, end=4), _started(world, "runs", 3), _started(world, "runs", 9)
    world.go_to(5)
    listed = world.client("dynamodb").list_bulk_operations()["BulkOperationsSummaryList"]
    assert [(one["BulkOperationArn"], one["BulkOperationStatus"]) for one in listed] == [
        (new, "IN_PROGRESS"),
        (old, "COMPLETED"),
    ]
    assert "TableDetails" not in listed[0]


def test_a_page_is_as_long_as_asked_for(world: Any) -> None:
    for minute in range(12):
        _started(world, "runs", minute)
    world.go_to(20)
    client = world.client("dynamodb")
    assert len(client.list_bulk_operations()["BulkOperationsSummaryList"]) == 10
    assert len(client.list_bulk_operations(MaxResults=3)["BulkOperationsSummaryList"]) == 3


def test_the_description_names_the_table_and_the_limit(world: Any) -> None:
    arn = _started(world, "runs", 1)
    world.go_to(5)
    told = world.client("dynamodb").describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"]
    assert (told["TableDetails"], told["MaxWriteRequestUnits"]) == ([{"TableName": "runs"}], 1024)
    with pytest.raises(ClientError, match="ResourceNotFound"):
        world.client("dynamodb").describe_bulk_operation(BulkOperationArn=arn + "0")
