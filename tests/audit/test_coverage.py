"""Which tables, indexes and functions would no alarm see: the audit says it with their names."""

from datetime import UTC, datetime

import pytest

from unthrottle.audit.coverage import unwatched
from unthrottle.audit.inventory import AlarmFacts, FunctionFacts, Inventory, TableFacts
from unthrottle.evidence.pool import ConcurrencyAccount
from unthrottle.evidence.table import Billing, Capacity, IndexSettings, TableSettings

NOW = datetime(2026, 8, 24, 10, tzinfo=UTC)
NONE = Capacity(read=0, write=0)
EARLY = AlarmFacts(name="early", namespace="AWS/Lambda", metric="ConcurrentExecutions", threshold=800)


def blind(*alarms: AlarmFacts, functions: tuple[str, ...] = ("a", "b"), tables: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what is said to be unwatched, as resource -> title and evidence."""
    index = IndexSettings(name="by-status", status="ACTIVE", capacity=NONE)
    inventory = Inventory(
        account="111122223333",
        region="eu-west-1",
        start=NOW,
        end=NOW,
        concurrency=ConcurrencyAccount(limit=1000, unreserved_limit=1000, function_count=2),
        in_use=None,
        throttles=None,
        functions=tuple(FunctionFacts(name=name, arn=name, timeout_s=3) for name in functions),
        tables=tuple(
            TableFacts(
                settings=TableSettings(
                    name=name, arn=name, status="ACTIVE", billing=Billing.ON_DEMAND, capacity=NONE, indexes=(index,)
                )
            )
            for name in tables
        ),
        alarms=(EARLY, *alarms),
    )
    return {one.resource: " ".join((one.title, *one.evidence)) for one in unwatched(inventory)}


def query(text: str, name: str = "query") -> AlarmFacts:
    return AlarmFacts(name=name, namespace="", metric="", expression=text)


def of(function: str) -> AlarmFacts:
    return AlarmFacts(name=function, namespace="AWS/Lambda", metric="Throttles", dimensions={"FunctionName": function})


def test_functions_without_an_alarm_are_named() -> None:
    said = blind(of("a"))["lambda-throttles"]
    assert "No alarm sees throttled 1 function of the account" in said
    assert "None watches these: b." in said


@pytest.mark.parametrize(
    "alarms",
    [
        pytest.param((of("a"), of("b")), id="one for each"),
        pytest.param((AlarmFacts(name="all", namespace="AWS/Lambda", metric="Throttles"),), id="the account's"),
        pytest.param((query('SELECT SUM(Throttles) FROM SCHEMA("AWS/Lambda", FunctionName)'),), id="a query"),
    ],
)
def test_functions_that_alarms_see_are_not(alarms: tuple[AlarmFacts, ...]) -> None:
    assert blind(*alarms) == {}


def test_a_query_over_some_functions_or_tables_sees_those_only() -> None:
    some = query("SELECT SUM(Throttles) FROM SCHEMA(\"AWS/Lambda\", FunctionName) WHERE FunctionName = 'a'")
    assert "None watches these: b." in blind(some)["lambda-throttles"]
    one = query(
        'SELECT SUM(WriteThrottleEvents) FROM SCHEMA("AWS/DynamoDB", TableName) '
        "WHERE TableName = 'orders' GROUP BY TableName"
    )
    said = blind(one, functions=(), tables=("orders", "events"))
    assert "No metric alarm watches them: events." in said["table-write-throttles"]
    assert "No metric alarm watches them: orders, events." in said["table-read-throttles"]


def test_a_query_over_all_tables_sees_no_index() -> None:
    tables = query('SELECT SUM(WriteThrottleEvents) FROM SCHEMA("AWS/DynamoDB", TableName) GROUP BY TableName')
    said = blind(tables, functions=(), tables=("orders",))
    assert "table-write-throttles" not in said
    assert "orders/by-status" in said["index-write-throttles"]
