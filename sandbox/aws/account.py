"""What is in the embedded account, and how does it change?

The facade over the records: the model reads it every minute, the API handlers answer from it, and other people's
changes go straight into it. Functions, event source mappings, tables and scaling targets live here and not in moto, so
that 10,000 functions cost nothing and every answer can be AWS's. Time is an argument.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from sandbox.aws.bulk_api import BulkApi
from sandbox.aws.calls import Handler, Request
from sandbox.aws.dynamodb_api import DynamoDbApi
from sandbox.aws.lambda_api import LambdaApi
from sandbox.aws.operations_api import OperationsApi
from sandbox.aws.records import (
    ON_DEMAND_WARM_READ,
    ON_DEMAND_WARM_WRITE,
    Billing,
    BulkRecord,
    FunctionRecord,
    IndexRecord,
    InvokeConfig,
    MappingKind,
    MappingRecord,
    TableRecord,
)
from sandbox.aws.scaling_api import ScalingApi

HidesTags = Callable[[Request], str | None]
ContributorInsights = Callable[[str, str | None], Mapping[str, Any]]
_SECONDS_TO_CHANGE_CAPACITY = 2


class EmbeddedAccount:
    """One account in one Region.

    `version` grows with every change, so that a reader knows when to look again. `handlers` go into the gate.
    *concurrency_limit* is Lambda's account limit; *unreserved_floor* what AWS keeps unreserved (10, 40, 50 and 100 are
    seen in its error texts).
    """

    def __init__(
        self,
        *,
        account_id: str = "111122223333",
        region: str = "eu-west-1",
        concurrency_limit: int = 1000,
        unreserved_floor: int = 100,
    ) -> None:
        self.account_id, self.region = account_id, region
        self.concurrency_limit, self.unreserved_floor = concurrency_limit, unreserved_floor
        self.functions: dict[str, FunctionRecord] = {}
        self.tables: dict[str, TableRecord] = {}
        self.bulk_operations: list[BulkRecord] = []
        self.mappings: dict[str, MappingRecord] = {}
        self.version = 0
        self.calendar_state: Literal["OPEN", "CLOSED"] = "OPEN"
        self.ops_items: list[Mapping[str, Any]] = []
        self.contributor_insights: ContributorInsights = lambda _table, _index: {
            "ContributorInsightsStatus": "DISABLED"
        }
        self.hides_tags: HidesTags = lambda _request: None
        """Says why GetFunction shows no tags to who asks; None: it shows them."""
        self.handlers: list[Handler] = [
            LambdaApi(self).handle,
            DynamoDbApi(self).handle,
            BulkApi(self).handle,
            ScalingApi(self).handle,
            OperationsApi(self).handle,
        ]

    # -- what is there ------------------------------------------------------------------------------------------------

    def owns(self, request: Request) -> bool:
        """Whether a call is meant for this account: by the role that signed, or by plain credentials at home."""
        return request.account in {None, self.account_id} and request.region == self.region

    @property
    def reserved(self) -> int:
        """The sum of all reservations."""
        return sum(function.reserved or 0 for function in self.functions.values())

    @property
    def unreserved(self) -> int:
        """GetAccountSettings' UnreservedConcurrentExecutions: the limit minus the reservations, used or not."""
        return self.concurrency_limit - self.reserved

    def settle(self, now: datetime) -> None:
        """Bring every change that is due into force. Call it before reading the state of a minute."""
        changed = [table.settle(now) for table in self.tables.values()]
        for mapping in self.mappings.values():
            mapping.settle(now)
        if any(changed):
            self.changed()

    def changed(self) -> None:
        """Say that something changed."""
        self.version += 1

    def arn(self, service: str, resource: str) -> str:
        """An ARN in this account and Region."""
        return f"arn:aws:{service}:{self.region}:{self.account_id}:{resource}"

    # -- setting it up ------------------------------------------------------------------------------------------------

    def add_function(
        self,
        name: str,
        *,
        tags: Mapping[str, str] | None = None,
        timeout_s: int = 900,
        reserved: int | None = None,
        provisioned: int = 0,
        managed_instances: bool = False,
        invoke_config: InvokeConfig | None = None,
        dead_letter_arn: str | None = None,
        principals: Iterable[str] = (),
        function_url: bool = False,
        modified: datetime | None = None,
    ) -> FunctionRecord:
        """Put a function into the account."""
        record = FunctionRecord(
            name=name,
            arn=self.arn("lambda", f"function:{name}"),
            tags=dict(tags or {}),
            timeout_s=timeout_s,
            reserved=reserved,
            provisioned=provisioned,
            managed_instances=managed_instances,
            invoke_config=invoke_config,
            dead_letter_arn=dead_letter_arn,
            principals=list(principals),
            function_url=function_url,
            last_modified=modified,
        )
        self.functions[name] = record
        self.changed()
        return record

    def add_mapping(
        self,
        function: str,
        kind: MappingKind,
        source: str,
        *,
        maximum_concurrency: int | None = None,
        minimum_pollers: int | None = None,
        maximum_pollers: int | None = None,
        parallelization_factor: int | None = None,
    ) -> MappingRecord:
        """Put an event source mapping on a function. *source* is the name of the queue, stream, table or cluster."""
        service, resource = {
            "sqs": ("sqs", source),
            "kinesis": ("kinesis", f"stream/{source}"),
            "dynamodb-stream": ("dynamodb", f"table/{source}/stream/2026-01-01T00:00:00.000"),
            "msk": ("kafka", f"cluster/{source}/00000000-0000-4000-8000-000000000000-1"),
        }[kind]
        source_arn = self.arn(service, resource)
        streams = kind in {"kinesis", "dynamodb-stream"}
        record = MappingRecord(
            uuid=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.arn('lambda', function)}<-{source_arn}")),
            kind=kind,
            source_arn=source_arn,
            function_name=function,
            batch_size=10 if kind == "sqs" else 100,
            maximum_concurrency=maximum_concurrency,
            minimum_pollers=minimum_pollers if minimum_pollers or not maximum_pollers else min(2, maximum_pollers),
            maximum_pollers=maximum_pollers,
            parallelization_factor=parallelization_factor or 1 if streams else None,
        )
        self.mappings[record.uuid] = record
        self.functions[function].mappings.append(record)
        self.changed()
        return record

    def add_table(
        self,
        name: str,
        *,
        billing: Billing,
        read: int = 0,
        write: int = 0,
        indexes: Iterable[tuple[str, int, int]] = (),
        summary_present: bool | None = None,
        switches: Iterable[datetime] = (),
        switch_takes: timedelta = timedelta(minutes=3),
        max_on_demand_read: int | None = None,
        max_on_demand_write: int | None = None,
        replicas: Iterable[str] = (),
        tags: Mapping[str, str] | None = None,
        created: datetime | None = None,
    ) -> TableRecord:
        """Put a table into the account; *indexes* are (name, read, write), with 0 and 0 on an on-demand table."""
        on_demand, used = billing == "on-demand", sorted(switches)
        warm = (ON_DEMAND_WARM_READ, ON_DEMAND_WARM_WRITE) if on_demand else (read, write)
        record = TableRecord(
            name=name,
            arn=self.arn("dynamodb", f"table/{name}"),
            billing=billing,
            read=0 if on_demand else read,
            write=0 if on_demand else write,
            summary_present=on_demand if summary_present is None else summary_present,
            last_on_demand=max(used, default=created if on_demand else None),
            switches=used,
            switch_takes=switch_takes,
            max_on_demand_read=max_on_demand_read,
            max_on_demand_write=max_on_demand_write,
            replicas=list(replicas),
            tags=dict(tags or {}),
            created=created,
            warm_read=warm[0],
            warm_write=warm[1],
        )
        for index, index_read, index_write in indexes:
            warm = (ON_DEMAND_WARM_READ, ON_DEMAND_WARM_WRITE) if on_demand else (index_read, index_write)
            record.indexes[index] = IndexRecord(
                name=index,
                read=0 if on_demand else index_read,
                write=0 if on_demand else index_write,
                warm_read=warm[0],
                warm_write=warm[1],
            )
        self.tables[name] = record
        self.changed()
        return record

    # -- what someone else does meanwhile -----------------------------------------------------------------------------

    def set_reserved(self, name: str, reserved: int | None) -> None:
        """Set a reservation, or take it away with None, with no check: someone was allowed to."""
        self.functions[name].reserved = reserved
        self.changed()

    def add_index(self, name: str, index: str, *, read: int, write: int) -> None:
        """Create an index; on an on-demand table it has no numbers. It is there at once: backfilling is not emulated."""
        table = self.tables[name]
        on_demand = table.reported_billing == "on-demand"
        table.indexes[index] = IndexRecord(
            name=index, read=0 if on_demand else read, write=0 if on_demand else write, warm_read=read, warm_write=write
        )
        self.changed()

    def set_billing(
        self,
        name: str,
        billing: Billing,
        now: datetime,
        *,
        read: int | None = None,
        write: int | None = None,
        indexes: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        """Begin a switch of the billing mode as a person would; it takes as long as it takes."""
        table = self.tables[name]
        if billing == "on-demand":
            self.begin_on_demand(table, now)
        else:
            self.begin_provisioned(table, now, read or 1, write or 1, indexes or {})

    def set_capacity(
        self, name: str, now: datetime, *, read: int | None = None, write: int | None = None, index: str | None = None
    ) -> None:
        """Begin a change of provisioned capacity of a table or of one index (autoscaling and people use this)."""
        table = self.tables[name]
        part: TableRecord | IndexRecord = table if index is None else table.indexes[index]
        wanted = (part.read if read is None else read, part.write if write is None else write)
        if wanted[0] < part.read or wanted[1] < part.write:
            part.decreases.append(now)
        elif index is None:
            table.last_increase = now
        part.wanted_read, part.wanted_write = wanted
        part.status, part.updating_until = "UPDATING", now + timedelta(seconds=_SECONDS_TO_CHANGE_CAPACITY)
        self.changed()

    def begin_on_demand(self, table: TableRecord, now: datetime) -> None:
        """Begin a switch to on-demand: the old capacity stays in force until it is done. Does nothing if it is one."""
        if table.reported_billing == "on-demand":
            return
        table.wanted_billing, table.wanted_read, table.wanted_write = "on-demand", 0, 0
        table.status, table.updating_until = "UPDATING", now + table.switch_takes
        table.switches.append(now)
        for index in table.indexes.values():
            index.wanted_read = index.wanted_write = 0
            index.status, index.updating_until = "UPDATING", table.updating_until
        self.changed()

    def begin_provisioned(
        self, table: TableRecord, now: datetime, read: int, write: int, indexes: Mapping[str, tuple[int, int]]
    ) -> None:
        """Begin a switch back. AWS took 60 to 98 s in measurements; indexes left out get the table's numbers."""
        table.wanted_billing, table.wanted_read, table.wanted_write = "provisioned", read, write
        table.status, table.updating_until = "UPDATING", now + timedelta(seconds=90)
        for index in table.indexes.values():
            index.wanted_read, index.wanted_write = indexes.get(index.name, (read, write))
            index.status, index.updating_until = "UPDATING", table.updating_until
        self.changed()
