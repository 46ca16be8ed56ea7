"""Which AWS/DynamoDB datapoints does a minute of a table leave behind?

Names and dimensions as in AWS's "DynamoDB metrics and dimensions": {TableName} is the table without its indexes,
{TableName, GlobalSecondaryIndexName} one index, and ThrottledRequests exists only under {TableName, Operation}.
Consumed units are published every minute, zeros included; throttle metrics only where there was throttling; provisioned
units and on-demand maxima every five minutes. A table with replicas has its consumed writes also by Source (Customer,
GlobalTable); that the series without a Source holds both is a belief.
"""

from collections.abc import Mapping
from math import ceil

from sandbox.model.capacity import ROUNDING, InForce
from sandbox.model.series import MetricSink, MinuteWriter
from sandbox.model.tables import Flow, TableMinute

NAMESPACE = "AWS/DynamoDB"
SLOW_PERIOD_MINUTES = 5

Dimensions = tuple[tuple[str, str], ...]


class TableMetrics:
    """Publishes what `TableModel.tick` answered, for all tables of the account."""

    def __init__(self, sink: MetricSink, *, epoch_minute: int) -> None:
        self._writer = MinuteWriter(sink, NAMESPACE)
        self._epoch_minute = epoch_minute
        """Minutes from 1970 to minute 0: five-minute metrics keep to the clock, not to the scenario."""

    def publish(self, minute: TableMinute) -> None:
        """Write the datapoints of one table in one minute."""
        table: Dimensions = (("TableName", minute.name),)
        self._flow("Write", table, minute.write)
        self._flow("Read", table, minute.read)
        for kind, flows in (("Write", minute.index_write), ("Read", minute.index_read)):
            for index, flow in flows.items():
                self._flow(kind, (*table, ("GlobalSecondaryIndexName", index)), flow)
        if minute.replicated is not None:
            for source, rate in (
                ("Customer", minute.write.consumed - minute.replicated),
                ("GlobalTable", minute.replicated),
            ):
                self._writer.add("ConsumedWriteCapacityUnits", (*table, ("Source", source)), round(rate * 60, 6))
        self._requests(minute, table)
        if (self._epoch_minute + minute.minute) % SLOW_PERIOD_MINUTES == 0:
            self._settings("Write", table, minute.write_settings)
            self._settings("Read", table, minute.read_settings)
        self._writer.flush(minute.minute)

    def _flow(self, kind: str, dimensions: Dimensions, flow: Flow) -> None:
        self._writer.add(f"Consumed{kind}CapacityUnits", dimensions, round(flow.consumed * 60, 6))
        if not flow.throttled:
            return
        counts = {cause: ceil(rate * 60 - ROUNDING) for cause, rate in flow.throttled.items()}
        self._writer.add(f"{kind}ThrottleEvents", dimensions, sum(counts.values()))
        for cause, count in counts.items():
            self._writer.add(f"{kind}{cause}ThrottleEvents", dimensions, count)

    def _requests(self, minute: TableMinute, table: Dimensions) -> None:
        """One throttled request counts once here, whoever refused it."""
        refused = {
            "PutItem": minute.refused_writes,
            "GetItem": sum(minute.read.throttled.values()),
            "Query": sum(sum(flow.throttled.values()) for flow in minute.index_read.values()),
        }
        for operation, rate in refused.items():
            if rate > ROUNDING:
                count = ceil(rate * 60 - ROUNDING)
                self._writer.add("ThrottledRequests", (*table, ("Operation", operation)), count)

    def _settings(self, kind: str, table: Dimensions, settings: Mapping[str | None, InForce]) -> None:
        for index, in_force in settings.items():
            dimensions = table if index is None else (*table, ("GlobalSecondaryIndexName", index))
            if in_force.billing == "provisioned":
                self._writer.add(f"Provisioned{kind}CapacityUnits", dimensions, in_force.capacity, "gauge")
            elif in_force.ceiling is not None:
                self._writer.add(f"OnDemandMax{kind}RequestUnits", dimensions, in_force.ceiling, "gauge")
