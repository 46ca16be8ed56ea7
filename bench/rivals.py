"""What do people use today? Four bots in their own words, each through boto3.

Each looks at the account once and answers the cause it found, or None where it found nothing. None has a way back.
Cloud Custodian has a module of its own.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from weakref import WeakKeyDictionary

import boto3

WINDOW = timedelta(minutes=45)
LARGE = 200
"""Executions from which the alarm-threshold script, and Custodian's policy, take a function for too large."""


def nobody() -> str | None:
    """Do nothing."""
    return None


def runbook() -> str | None:
    """Follow the runbook to the letter: its own queries, its own rules.

    Tables first: ThrottledRequests of each table, by table name, over the last 45 minutes; where there are any, switch the
    table to on-demand. Then functions: Throttles of each one; a throttled function with a reservation gets half as much
    again; a throttled one without means that the account needs a higher quota, which is a request and no change.
    """
    dynamodb, functions = _client("dynamodb"), _client("lambda")
    for table in _tables(dynamodb):
        # AWS keeps this metric by table and operation only: the answer is empty, which reads as healthy.
        if _total("AWS/DynamoDB", "ThrottledRequests", TableName=table) > 0:
            dynamodb.update_table(TableName=table, BillingMode="PAY_PER_REQUEST")
            return "provisioned-capacity"
    throttled = _throttled_functions(functions)
    if not throttled:
        return None
    name = max(throttled, key=lambda one: throttled[one])
    reserved = functions.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions")
    if reserved is None:
        return "pool-growth"
    if reserved:
        more = reserved + max(1, reserved // 2)
        functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=more)
    return "own-reservation"


def most_throttled() -> str | None:
    """Take the most throttled function, or else table, for the guilty one: cap it at 50, or switch it to on-demand."""
    functions, dynamodb = _client("lambda"), _client("dynamodb")
    throttled = _throttled_functions(functions)
    if throttled:
        name = max(throttled, key=lambda one: throttled[one])
        _cap(functions, name, 50)
        return "pool-hog"
    tables = {table: _table_throttles(table) for table in _tables(dynamodb)}
    worst = max(tables, key=lambda one: tables[one], default=None)
    if worst is None or tables[worst] == 0:
        return None
    _switch(dynamodb, worst)
    return "provisioned-capacity"


def alarm_threshold() -> str | None:
    """Cap every function above a concurrency, and switch every throttled provisioned table to on-demand."""
    functions, dynamodb = _client("lambda"), _client("dynamodb")
    found: str | None = None
    for name in _functions(functions):
        peak = _peak("AWS/Lambda", "ConcurrentExecutions", FunctionName=name)
        if peak > LARGE and "ReservedConcurrentExecutions" not in functions.get_function_concurrency(FunctionName=name):
            _cap(functions, name, LARGE)
            found = "pool-hog"
    for table in _tables(dynamodb):
        if _table_throttles(table) > 0 and _switch(dynamodb, table):
            found = found or "provisioned-capacity"
    return found


_KEPT: WeakKeyDictionary[boto3.Session, dict[str, Any]] = WeakKeyDictionary()


def _client(service: str) -> Any:
    """Make a client once for each session, which is once for each incident: making one is most of what a read costs here."""
    make: Any = boto3.client  # one overload a service, and the name is an argument here
    if boto3.DEFAULT_SESSION is None:
        return make(service)
    kept = _KEPT.setdefault(boto3.DEFAULT_SESSION, {})
    if service not in kept:
        kept[service] = make(service)
    return kept[service]


def _cap(functions: Any, name: str, at: int) -> None:
    try:
        functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=at)
    except functions.exceptions.InvalidParameterValueException:
        return  # AWS keeps part of the pool unreserved; the script has no answer to that


def _switch(dynamodb: Any, table: str) -> bool:
    described = dynamodb.describe_table(TableName=table)["Table"]
    if described.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST":
        return False
    if described["TableStatus"] != "ACTIVE":
        return False
    dynamodb.update_table(TableName=table, BillingMode="PAY_PER_REQUEST")
    return True


def _functions(client: Any) -> list[str]:
    pages = client.get_paginator("list_functions").paginate()
    return [function["FunctionName"] for page in pages for function in page["Functions"]]


def _tables(client: Any) -> list[str]:
    pages = client.get_paginator("list_tables").paginate()
    return [name for page in pages for name in page["TableNames"]]


def _throttled_functions(client: Any) -> dict[str, float]:
    sums = {name: _total("AWS/Lambda", "Throttles", FunctionName=name) for name in _functions(client)}
    return {name: total for name, total in sums.items() if total > 0}


def _table_throttles(table: str) -> float:
    return sum(
        _total("AWS/DynamoDB", metric, TableName=table) for metric in ("WriteThrottleEvents", "ReadThrottleEvents")
    )


def _total(namespace: str, metric: str, **dimensions: str) -> float:
    return sum(float(point["Sum"]) for point in _points(namespace, metric, "Sum", dimensions))


def _peak(namespace: str, metric: str, **dimensions: str) -> float:
    return max((float(point["Maximum"]) for point in _points(namespace, metric, "Maximum", dimensions)), default=0.0)


def _points(namespace: str, metric: str, stat: str, dimensions: dict[str, str]) -> list[Any]:
    end = datetime.now(UTC)
    answer: list[Any] = _client("cloudwatch").get_metric_statistics(
        Namespace=namespace,
        MetricName=metric,
        Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
        StartTime=end - WINDOW,
        EndTime=end,
        Period=60,
        Statistics=[stat],
    )["Datapoints"]
    return answer
