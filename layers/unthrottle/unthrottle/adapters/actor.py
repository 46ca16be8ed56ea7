"""How is a change made? Each method is one change, made as asked: the caller has compared first.

The only module that changes the account. Which changes are right it does not know.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unthrottle.adapters.access import Access
from unthrottle.adapters.functions import event_source
from unthrottle.adapters.tables import AwsTables
from unthrottle.evidence.pool import EventSource
from unthrottle.evidence.table import Capacity, ScalingTarget, TableSettings, Way
from unthrottle.plan import SavedTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import ProvisionedThroughputTypeDef


class AwsActor:
    """The `Actor` port. Refusals carry AWS's code, and AWS's own text in the message."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._tables = AwsTables(access)  # remembers a table's indexes, so that its autoscaling is one call

    # --- Lambda ------------------------------------------------------------------------------------------------------

    def reserved(self, function: str) -> int | None:
        """Read the function's reserved concurrency: None where there is none, 0 where it is switched off."""
        with self._access.use("lambda", f"read the reserved concurrency of function {function}") as client:
            return client.get_function_concurrency(FunctionName=function).get("ReservedConcurrentExecutions")

    def set_reserved(self, function: str, value: int | None) -> None:
        """Put reserved concurrency, or delete it for None."""
        wanted = "no reserved concurrency" if value is None else f"reserved concurrency {value}"
        with self._access.use("lambda", f"give function {function} {wanted}") as client:
            if value is None:
                client.delete_function_concurrency(FunctionName=function)
            else:
                client.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=value)

    def event_source(self, uuid: str) -> EventSource:
        """Read one event source mapping."""
        with self._access.use("lambda", f"read event source mapping {uuid}") as client:
            return event_source(client.get_event_source_mapping(UUID=uuid))

    def set_event_source(self, uuid: str, knob: str, value: int | None) -> None:
        """Turn one knob of a mapping; the other settings stay. None takes the setting away.

        Lambda API: an empty ScalingConfig removes it. A poller maximum cannot be taken away by itself: ValueError.
        """
        match knob, value:
            case "MaximumConcurrency", None:
                change: dict[str, Any] = {"ScalingConfig": {}}
            case "MaximumConcurrency", number:
                change = {"ScalingConfig": {"MaximumConcurrency": number}}
            case "MaximumPollers", int(number):
                change = {"ProvisionedPollerConfig": {"MaximumPollers": number}}
            case "ParallelizationFactor", number:
                change = {"ParallelizationFactor": 1 if number is None else number}
            case _:
                raise ValueError(f"{knob} of an event source mapping cannot be set to {value}.")
        with self._access.use("lambda", f"set {knob} of event source mapping {uuid} to {value}") as client:
            client.update_event_source_mapping(UUID=uuid, **change)

    # --- DynamoDB ----------------------------------------------------------------------------------------------------

    def table(self, name: str) -> TableSettings:
        """Read a table and its indexes."""
        return self._tables.describe(name)

    def switch_to_on_demand(self, table: str) -> None:
        """Switch the table and its indexes to on-demand. Sent with numbers, DynamoDB refuses it."""
        with self._access.use("dynamodb", f"switch table {table} to on-demand") as client:
            client.update_table(TableName=table, BillingMode="PAY_PER_REQUEST")

    def set_provisioned(self, table: str, wanted: SavedTable, *, from_on_demand: bool) -> None:
        """Set table and index capacity in one UpdateTable call; equal numbers are left out of it.

        From on-demand nothing is left out, since AWS fills in no number; otherwise the table is read for what is equal,
        because AWS refuses a change that changes nothing. No call is made when all is equal.
        """
        present = None if from_on_demand else self.table(table)
        change: dict[str, Any] = {"BillingMode": "PROVISIONED"} if from_on_demand else {}
        if present is None or present.capacity != wanted.capacity:
            change["ProvisionedThroughput"] = _throughput(wanted.capacity)
        standing = {} if present is None else {index.name: index.capacity for index in present.indexes}
        updates = [
            {"Update": {"IndexName": name, "ProvisionedThroughput": _throughput(capacity)}}
            for name, capacity in wanted.indexes.items()
            if standing.get(name) != capacity
        ]
        if updates:
            change["GlobalSecondaryIndexUpdates"] = updates
        if not change:
            return
        with self._access.use("dynamodb", f"set the capacity of table {table}") as client:
            client.update_table(TableName=table, **change)

    def scaling_targets(self, table: str) -> tuple[ScalingTarget, ...]:
        """Read the autoscaling bounds of a table and its indexes."""
        return self._tables.scaling(table)

    def set_scaling(self, table: str, targets: Sequence[ScalingTarget]) -> None:
        """Register scalable targets with these bounds; one call each, policies stay as they are."""
        for target in targets:
            resource, owner = f"table/{table}", "table"
            if target.index is not None:
                resource, owner = f"{resource}/index/{target.index}", "index"
            way = "Read" if target.way is Way.READ else "Write"
            dimension: Any = f"dynamodb:{owner}:{way}CapacityUnits"
            with self._access.use("application-autoscaling", f"set the autoscaling bounds of {resource}") as client:
                client.register_scalable_target(
                    ServiceNamespace="dynamodb",
                    ResourceId=resource,
                    ScalableDimension=dimension,
                    MinCapacity=target.minimum,
                    MaxCapacity=target.maximum,
                )


def _throughput(capacity: Capacity) -> "ProvisionedThroughputTypeDef":
    return {"ReadCapacityUnits": capacity.read, "WriteCapacityUnits": capacity.write}
