"""What does DynamoDB's control plane answer about the tables of the account?

Answered from the account's records, since moto never refuses, is never UPDATING and keeps the old capacity on an
on-demand table. Tables the account does not know (the bot's own) and all data are left to moto.

AWS facts kept, each with a test (source: developer guide "Considerations when switching capacity modes" and "Quotas";
texts as reported by people who met them): a switch takes minutes during which DescribeTable already says
PAY_PER_REQUEST, 0/0 and UPDATING; 4 switches to on-demand in a rolling 24 hours; BillingModeSummary is absent on a
table that never was on-demand; the way back needs numbers for the table and every index; decreases are limited per UTC
day; equal throughput is refused; a change during a change is ResourceInUseException.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sandbox.aws.calls import Answer, NotEmulatedError, Refuse, Request, Respond
from sandbox.aws.records import IndexRecord, TableRecord
from sandbox.aws.table_view import describe

if TYPE_CHECKING:
    from sandbox.aws.account import EmbeddedAccount

SWITCHES_A_DAY = 4
MOST_UNITS = 40_000
_INVALID = "One or more parameter values were invalid: "
NEITHER = (
    f"{_INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
)
NEEDS_THROUGHPUT = f"{_INVALID}ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
NEEDS_INDEX_THROUGHPUT = f"{_INVALID}ProvisionedThroughput must be specified for index: {{}}"
NOT_AUTOSCALED = "Table write capacity should either be Pay-Per-Request or AutoScaled"
IOPS_UPDATING = "Attempt to change a resource which is still in use: Table IOPS are currently being updated"
_KNOWN = frozenset({
    "TableName",
    "BillingMode",
    "ProvisionedThroughput",
    "GlobalSecondaryIndexUpdates",
    "OnDemandThroughput",
    "WarmThroughput",
})  # fmt: skip
Capacity = tuple[int, int]


class _RefusedError(Exception):
    """Carries a refusal to where the call is answered."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.refusal = Refuse(code=code, message=message, status=400)


class DynamoDbApi:
    """Handler of DynamoDB's control-plane calls for one account."""

    def __init__(self, account: "EmbeddedAccount") -> None:
        self._account = account
        self._operations: Mapping[str, Callable[[Request], Mapping[str, Any]]] = {
            "DescribeTable": lambda r: {"Table": describe(self._table(r))},
            "UpdateTable": self._update,
            "ListTagsOfResource": self._tags,
            "TagResource": self._tag,
            "UntagResource": self._untag,
            "DescribeContributorInsights": self._insights,
        }

    def handle(self, request: Request) -> Answer | None:
        """Answer a call about a table of the account, or leave it."""
        if request.service != "dynamodb" or not self._account.owns(request):
            return None
        if request.operation == "ListTables":
            return Respond(parsed=self._list(request))
        if request.operation == "ListContributorInsights":
            return Respond(parsed={"ContributorInsightsSummaries": list(self._enabled_insights())})
        if request.operation == "DescribeLimits":
            account, table = 80_000, MOST_UNITS
            limits = {"AccountMaxReadCapacityUnits": account, "AccountMaxWriteCapacityUnits": account}
            return Respond(parsed=limits | {"TableMaxReadCapacityUnits": table, "TableMaxWriteCapacityUnits": table})
        operation = self._operations.get(request.operation)
        if operation is None or self._name(request) not in self._account.tables:
            return None
        self._account.settle(request.now)
        try:
            return Respond(parsed=operation(request))
        except _RefusedError as refused:
            return refused.refusal

    def _name(self, request: Request) -> str:
        given = str(request.parameters.get("TableName") or request.parameters.get("ResourceArn") or "")
        return given.rsplit(":table/", 1)[-1].split("/", 1)[0]

    def _table(self, request: Request) -> TableRecord:
        return self._account.tables[self._name(request)]

    def _list(self, request: Request) -> Mapping[str, Any]:
        after = str(request.parameters.get("ExclusiveStartTableName", ""))
        names = sorted(name for name in self._account.tables if name > after)
        page = names[: min(100, int(request.parameters.get("Limit") or 100))]
        last = page[-1] if len(page) < len(names) else None
        return {"TableNames": page, "LastEvaluatedTableName": last}

    def _tags(self, request: Request) -> Mapping[str, Any]:
        return {"Tags": [{"Key": key, "Value": value} for key, value in self._table(request).tags.items()]}

    def _tag(self, request: Request) -> Mapping[str, Any]:
        self._table(request).tags.update({tag["Key"]: tag["Value"] for tag in request.parameters["Tags"]})
        return {}

    def _untag(self, request: Request) -> Mapping[str, Any]:
        for key in request.parameters["TagKeys"]:
            self._table(request).tags.pop(key, None)
        return {}

    def _insights(self, request: Request) -> Mapping[str, Any]:
        table, index = self._table(request), request.parameters.get("IndexName")
        answer = {"TableName": table.name, "IndexName": index}
        return answer | dict(self._account.contributor_insights(table.name, index))

    def _enabled_insights(self) -> Iterator[Mapping[str, Any]]:
        """Where Contributor Insights is on, in one page: scenarios have few tables on which it is."""
        for table in self._account.tables.values():
            for index in (None, *table.indexes):
                status = self._account.contributor_insights(table.name, index)["ContributorInsightsStatus"]
                if status == "ENABLED":
                    named = {} if index is None else {"IndexName": index}
                    yield {"TableName": table.name, **named, "ContributorInsightsStatus": status}

    # -- UpdateTable --------------------------------------------------------------------------------------------------

    def _update(self, request: Request) -> Mapping[str, Any]:
        table, given = self._table(request), request.parameters
        unknown = set(given) - _KNOWN
        if unknown:
            raise NotEmulatedError(
                f"UpdateTable with {', '.join(sorted(unknown))} is not emulated. Nothing was changed."
            )
        if set(given) == {"TableName"}:
            raise _invalid("At least one of the parameters to change must be specified")
        indexes = _index_capacity(table, given)
        asked, reported = given.get("BillingMode"), table.reported_billing
        target = {"PAY_PER_REQUEST": "on-demand", "PROVISIONED": "provisioned", None: reported}[asked]
        if target == "on-demand":
            self._to_on_demand(table, request, indexes)
        elif reported == "on-demand":
            self._to_provisioned(table, request, indexes)
        else:
            self._resize(table, request, indexes)
        self._account.changed()
        view = describe(table)
        # AWS answers 200 and UPDATING even where nothing happens.
        return {"TableDescription": view | {"TableStatus": "UPDATING"} if asked == "PAY_PER_REQUEST" else view}

    def _to_on_demand(self, table: TableRecord, request: Request, indexes: Mapping[str, Capacity]) -> None:
        given = request.parameters
        if "ProvisionedThroughput" in given or indexes:
            raise _invalid(NEITHER)
        if table.status == "UPDATING":
            # During a switch back the request is accepted and dropped; during any other change it is refused.
            if table.wanted_billing is None:
                raise _in_use()
            return
        if table.billing != "on-demand":
            if any(index.status == "UPDATING" for index in table.indexes.values()):
                raise _in_use()
            _check_switches(table, request.now)
            self._account.begin_on_demand(table, request.now)
        if "WarmThroughput" in given:
            self._warm(table, given["WarmThroughput"])
        if "OnDemandThroughput" in given:
            limits = given["OnDemandThroughput"]
            table.max_on_demand_read = _limit(limits.get("MaxReadRequestUnits"), table.max_on_demand_read)
            table.max_on_demand_write = _limit(limits.get("MaxWriteRequestUnits"), table.max_on_demand_write)

    def _to_provisioned(self, table: TableRecord, request: Request, indexes: Mapping[str, Capacity]) -> None:
        given = request.parameters
        if "ProvisionedThroughput" not in given:
            raise _invalid(NEEDS_THROUGHPUT)
        for name in table.indexes:
            if name not in indexes:
                raise _invalid(NEEDS_INDEX_THROUGHPUT.format(name))
        if table.status == "UPDATING":
            raise _in_use()
        scaled = {target.index for target in table.scaling if target.unit == "write"}
        if table.replicas and not scaled.issuperset({None, *table.indexes}):
            raise _invalid(NOT_AUTOSCALED)
        read, write = _capacity(given["ProvisionedThroughput"])
        for wanted in ((read, write), *indexes.values()):
            _check_quota(wanted)
        self._account.begin_provisioned(table, request.now, read, write, indexes)

    def _resize(self, table: TableRecord, request: Request, indexes: Mapping[str, Capacity]) -> None:
        given, now = request.parameters, request.now
        if "OnDemandThroughput" in given:
            raise _invalid(f"{_INVALID}OnDemandThroughput can only be specified when BillingMode is PAY_PER_REQUEST")
        wanted: dict[str | None, Capacity] = dict(indexes.items())
        if "ProvisionedThroughput" in given:
            wanted[None] = _capacity(given["ProvisionedThroughput"])
        # Everything is looked at before anything is changed: a call is refused as a whole.
        for name, capacity in wanted.items():
            part: TableRecord | IndexRecord = table if name is None else table.indexes[name]
            if table.status == "UPDATING":
                raise _in_use()
            if part.status == "UPDATING":
                where = f"Index is being updated. Table: {table.name} Index: {name}"
                raise _RefusedError(
                    "ResourceInUseException", f"Attempt to change a resource which is still in use: {where}"
                )
            _check_difference(part, name, capacity)
            _check_quota(capacity)
            if capacity[0] < part.read or capacity[1] < part.write:
                _check_decreases(part.decreases, now)
        for name, (read, write) in wanted.items():
            self._account.set_capacity(table.name, now, read=read, write=write, index=name)
        if "WarmThroughput" in given:
            self._warm(table, given["WarmThroughput"])

    def _warm(self, table: TableRecord, wanted: Mapping[str, int]) -> None:
        read = int(wanted.get("ReadUnitsPerSecond", table.warm_read))
        write = int(wanted.get("WriteUnitsPerSecond", table.warm_write))
        if read < table.warm_read or write < table.warm_write:
            raise _invalid(f"{_INVALID}decreasing WarmThroughput is not supported")
        table.warm_read, table.warm_write = read, write


def _index_capacity(table: TableRecord, given: Mapping[str, Any]) -> dict[str, Capacity]:
    """Capacities asked for by index. Creating and deleting indexes is not emulated."""
    found: dict[str, Capacity] = {}
    for change in given.get("GlobalSecondaryIndexUpdates", []):
        if set(change) != {"Update"}:
            raise NotEmulatedError("Creating and deleting an index is not emulated. Nothing was changed.")
        name = change["Update"]["IndexName"]
        if name not in table.indexes:
            raise _RefusedError("ResourceNotFoundException", f"Requested resource not found: Index: {name} not found")
        if "ProvisionedThroughput" in change["Update"]:
            found[name] = _capacity(change["Update"]["ProvisionedThroughput"])
    return found


def _check_switches(table: TableRecord, now: datetime) -> None:
    recent = [at for at in table.switches if now - at < timedelta(hours=24)]
    if len(recent) >= SWITCHES_A_DAY:
        again = recent[-SWITCHES_A_DAY] + timedelta(hours=24)
        raise _RefusedError(
            "LimitExceededException",
            "Subscriber limit exceeded: Update to PayPerRequest mode are limited to "
            f"{SWITCHES_A_DAY} times in 1 day(s). Last update at {_moment(recent[-1])}. "
            f"Next update can be made at {_moment(again)}",
        )


def _check_decreases(decreases: list[datetime], now: datetime) -> None:
    today = [at for at in decreases if at.date() == now.date()]
    if len(today) < 4 or (now - today[-1] >= timedelta(hours=1) and len(today) < 27):
        return
    raise _RefusedError(
        "LimitExceededException",
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. After the "
        "first 4 decreases, each subsequent decrease in the same UTC day can be performed at most once every 3600 "
        f"seconds. Number of decreases today: {len(today)}. Last decrease at {_moment(today[-1])}. Next decrease can "
        f"be made at {_moment(today[-1] + timedelta(hours=1))}",
    )


def _check_difference(part: TableRecord | IndexRecord, index: str | None, wanted: Capacity) -> None:
    if wanted != (part.read, part.write):
        return
    what = "the table" if index is None else f"the index {index}"
    raise _invalid(
        f"The provisioned throughput for {what} will not change. The requested value equals the current value. "
        f"Current ReadCapacityUnits provisioned for {what}: {part.read}. Requested ReadCapacityUnits: {wanted[0]}. "
        f"Current WriteCapacityUnits provisioned for {what}: {part.write}. Requested WriteCapacityUnits: {wanted[1]}. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )


def _check_quota(wanted: Capacity) -> None:
    for unit, amount in zip(("ReadCapacityUnits", "WriteCapacityUnits"), wanted, strict=True):
        if amount > MOST_UNITS:
            raise _RefusedError(
                "LimitExceededException",
                f"The requested {unit}, {amount}, is above the per table maximum for the table. "
                f"Per table maximum: {MOST_UNITS}.",
            )


def _capacity(given: Mapping[str, Any]) -> Capacity:
    return int(given["ReadCapacityUnits"]), int(given["WriteCapacityUnits"])


def _limit(given: int | None, present: int | None) -> int | None:
    """An on-demand maximum: -1 takes it away, absent leaves it."""
    return present if given is None else None if given == -1 else given


def _moment(at: datetime) -> str:
    return at.strftime("%A, %B %d, %Y at %I:%M:%S %p Coordinated Universal Time")


def _invalid(message: str) -> _RefusedError:
    return _RefusedError("ValidationException", message)


def _in_use() -> _RefusedError:
    return _RefusedError("ResourceInUseException", IOPS_UPDATING)
