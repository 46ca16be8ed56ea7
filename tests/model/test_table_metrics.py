"""What CloudWatch shows of a table: AWS's names, dimensions and gaps."""

from collections.abc import Callable
from typing import Any

Rehearse = Callable[..., Any]

TABLE = {"TableName": "orders"}
INDEX = TABLE | {"GlobalSecondaryIndexName": "by-status"}


def _table(**keys: object) -> dict[str, object]:
    return {"name": "orders", "read": 100, "write": 50} | keys


def test_consumed_units_are_published_every_minute_zeros_included(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(demand={"write": [[0, 20], [1, 0]]})])
    world.run(2)
    assert [world.seen("ConsumedWriteCapacityUnits", minute, **TABLE) for minute in (0, 1)] == [1200, 0]
    assert world.seen("ConsumedReadCapacityUnits", 0, **TABLE) == 0


def test_throttle_metrics_without_throttling_are_gaps(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(demand={"write": [[0, 20]]})])
    world.run()
    for metric in ("WriteThrottleEvents", "WriteProvisionedThroughputThrottleEvents", "ReadThrottleEvents"):
        assert world.seen(metric, 0, **TABLE) is None


def test_each_cause_has_its_metric_beside_the_sum(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(demand={"write": [[0, 100]]})])
    world.run(6)
    assert world.seen("WriteThrottleEvents", 5, **TABLE) == 3000
    assert world.seen("WriteProvisionedThroughputThrottleEvents", 5, **TABLE) == 3000
    assert world.seen("WriteKeyRangeThroughputThrottleEvents", 5, **TABLE) is None


def test_what_an_index_refuses_shows_at_the_index_only(rehearse: Rehearse) -> None:
    index = {"name": "by-status", "read": 10, "write": 20}
    world = rehearse(tables=[_table(demand={"write": [[0, 40]]}, indexes=[index])])
    world.run(10)
    assert world.seen("WriteThrottleEvents", 9, **INDEX) == 1200
    assert world.seen("WriteProvisionedThroughputThrottleEvents", 9, **INDEX) == 1200
    assert world.seen("WriteThrottleEvents", 9, **TABLE) is None
    assert world.seen("ConsumedWriteCapacityUnits", 9, **TABLE) == 1200


def test_throttled_requests_exist_only_under_table_and_operation(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(demand={"write": [[0, 100]], "read": [[0, 700]]})])
    world.run(6)
    assert world.seen("ThrottledRequests", 5, **TABLE, Operation="PutItem") == 3000
    assert world.seen("ThrottledRequests", 5, **TABLE, Operation="GetItem") == 36_000
    assert world.seen("ThrottledRequests", 5, **TABLE) is None


def test_provisioned_units_come_every_five_minutes_by_the_clock(rehearse: Rehearse) -> None:
    world = rehearse(start="2026-08-24T04:02:00Z", tables=[_table()])
    world.run(10)
    assert [world.seen("ProvisionedWriteCapacityUnits", m, "Average", **TABLE) for m in range(10)] == [
        None, None, None, 50, None, None, None, None, 50, None,
    ]  # fmt: skip


def test_an_on_demand_table_has_no_provisioned_units_but_its_maximum(rehearse: Rehearse) -> None:
    table = {"name": "orders", "billing": "on-demand", "max_on_demand": {"write": 500}}
    world = rehearse(tables=[table])
    world.run(6)
    assert world.seen("ProvisionedWriteCapacityUnits", 5, "Average", **TABLE) is None
    assert world.seen("OnDemandMaxWriteRequestUnits", 5, "Maximum", **TABLE) == 500
    assert world.seen("OnDemandMaxReadRequestUnits", 5, "Maximum", **TABLE) is None


def test_the_hours_before_minute_0_show_the_load_of_minute_0_unthrottled(rehearse: Rehearse) -> None:
    world = rehearse(history_minutes=180, tables=[_table(demand={"write": [[0, 90]]})])
    assert world.seen("ConsumedWriteCapacityUnits", -1, **TABLE) == 3000
    assert world.seen("WriteThrottleEvents", -1, **TABLE) is None
    facts = world.run(9)
    assert [bool(minute.throttled_tables) for minute in facts].index(True) == 6


def test_a_global_tables_writes_are_told_by_their_source_too(rehearse: Rehearse) -> None:
    demand = {"write": [[0, 15]], "replicated": [[0, 25]]}
    world = rehearse(tables=[_table(demand=demand, replicas=["us-east-1"])])
    world.run()
    assert world.seen("ConsumedWriteCapacityUnits", 0, **TABLE) == 2400
    assert world.seen("ConsumedWriteCapacityUnits", 0, **TABLE, Source="Customer") == 900
    assert world.seen("ConsumedWriteCapacityUnits", 0, **TABLE, Source="GlobalTable") == 1500


def test_what_is_refused_is_refused_alike_whoever_wrote_it(rehearse: Rehearse) -> None:
    demand = {"write": [[0, 100]], "replicated": [[0, 300]]}
    world = rehearse(tables=[_table(demand=demand, replicas=["us-east-1"])])
    world.run(6)
    assert world.seen("ConsumedWriteCapacityUnits", 5, **TABLE, Source="Customer") == 750
    assert world.seen("ConsumedWriteCapacityUnits", 5, **TABLE, Source="GlobalTable") == 2250


def test_a_table_without_replicas_has_no_writes_by_source(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(demand={"write": [[0, 20]]})])
    world.run()
    assert world.seen("ConsumedWriteCapacityUnits", 0, **TABLE, Source="Customer") is None


def test_a_bulk_operation_writes_from_its_start_to_before_its_end(rehearse: Rehearse) -> None:
    bulk = [{"start": 1, "end": 3, "writes": 10}, {"start": 2, "writes": 5}]
    world = rehearse(tables=[_table(demand={"write": [[0, 20]]}, bulk_operations=bulk)])
    world.run(5)
    written = [world.seen("ConsumedWriteCapacityUnits", minute, **TABLE) for minute in range(5)]
    assert written == [1200, 1800, 2100, 1500, 1500]
