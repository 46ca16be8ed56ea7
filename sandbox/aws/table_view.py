"""How does DescribeTable show a table record?

Pure. It shows what AWS reports, which during a switch runs ahead of what is in force (see TableRecord).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sandbox.aws.records import IndexRecord, TableRecord

_CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def describe(table: TableRecord) -> dict[str, Any]:
    """The `Table` of DescribeTable. Keys that AWS leaves out are left out."""
    on_demand = table.reported_billing == "on-demand"
    attributes = ["pk", *(["sk"] if table.sort_key else []), *(f"{name}-pk" for name in table.indexes)]
    view: dict[str, Any] = {
        "TableName": table.name,
        "TableArn": table.arn,
        "TableStatus": table.status,
        "CreationDateTime": table.created or _CREATED,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]
        + ([{"AttributeName": "sk", "KeyType": "RANGE"}] if table.sort_key else []),
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in attributes],
        "ProvisionedThroughput": _throughput(table, on_demand=on_demand),
        "TableSizeBytes": 0,
        "ItemCount": 0,
        "DeletionProtectionEnabled": False,
        "WarmThroughput": _warm(table),
    }
    if table.last_increase is not None:
        view["ProvisionedThroughput"]["LastIncreaseDateTime"] = table.last_increase
    if on_demand or table.summary_present:
        mode = "PAY_PER_REQUEST" if on_demand else "PROVISIONED"
        settled = table.last_on_demand if table.status == "ACTIVE" else None
        view["BillingModeSummary"] = {"BillingMode": mode, "LastUpdateToPayPerRequestDateTime": settled}
    if on_demand and (table.max_on_demand_read is not None or table.max_on_demand_write is not None):
        view["OnDemandThroughput"] = _maximum(table)
    if table.indexes:
        view["GlobalSecondaryIndexes"] = [_index(table, index, on_demand=on_demand) for index in table.indexes.values()]
    if table.replicas:
        view["Replicas"] = [{"RegionName": region, "ReplicaStatus": "ACTIVE"} for region in table.replicas]
        view["GlobalTableVersion"] = "2019.11.21"
    return view


def _index(table: TableRecord, index: IndexRecord, *, on_demand: bool) -> Mapping[str, Any]:
    view: dict[str, Any] = {
        "IndexName": index.name,
        "IndexArn": f"{table.arn}/index/{index.name}",
        "IndexStatus": index.status,
        "KeySchema": [{"AttributeName": f"{index.name}-pk", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": _throughput(index, on_demand=on_demand),
        "IndexSizeBytes": 0,
        "ItemCount": 0,
        "WarmThroughput": _warm(index),
    }
    if on_demand and (index.max_on_demand_read is not None or index.max_on_demand_write is not None):
        view["OnDemandThroughput"] = _maximum(index)
    return view


def _throughput(part: TableRecord | IndexRecord, *, on_demand: bool) -> dict[str, Any]:
    """What is reported: 0 and 0 as soon as a switch to on-demand has begun, the new numbers once they are in force.

    `NumberOfDecreasesToday` counts the UTC day of the last decrease.
    """
    reported = (0, 0) if on_demand else (part.read, part.write)
    if not on_demand and isinstance(part, TableRecord) and part.billing == "on-demand":
        reported = (part.wanted_read or 0, part.wanted_write or 0)
    last = part.decreases[-1] if part.decreases else None
    today = [at for at in part.decreases if last is not None and at.date() == last.date()]
    view: dict[str, Any] = {
        "ReadCapacityUnits": reported[0],
        "WriteCapacityUnits": reported[1],
        "NumberOfDecreasesToday": len(today),
    }
    if last is not None:
        view["LastDecreaseDateTime"] = last
    return view


def _warm(part: TableRecord | IndexRecord) -> Mapping[str, Any]:
    return {"ReadUnitsPerSecond": part.warm_read, "WriteUnitsPerSecond": part.warm_write, "Status": "ACTIVE"}


def _maximum(part: TableRecord | IndexRecord) -> Mapping[str, int]:
    """AWS shows a maximum that is not set as -1 beside one that is."""
    read, write = part.max_on_demand_read, part.max_on_demand_write
    return {"MaxReadRequestUnits": -1 if read is None else read, "MaxWriteRequestUnits": -1 if write is None else write}
