"""An account behind real boto3 with weeks of metrics, in which the commands run as a person types them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import botocore.session
import pytest
import time_machine
from botocore.loaders import Loader, create_loader
from botocore.utils import parse_to_aware_datetime
from moto import mock_aws

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.alarms import AlarmEvaluator
from sandbox.aws.calls import Answer, Refuse, Request, Respond
from sandbox.aws.cloudwatch_api import CloudWatchApi
from sandbox.aws.cloudwatch_store import MetricStore
from sandbox.aws.gate import Gate, Identity
from sandbox.aws.records import FunctionRecord, ScalingTarget, TableRecord
from unthrottle.adapters.laptop import READS

REGION, ACCOUNT = "eu-west-1", "111122223333"
NOW = datetime(2026, 8, 24, 10, 0, tzinfo=UTC)
HOG = "svc-roster-dev-batch-processor"
PIPES = [f"svc-opslog-uat-pipe-{number:02d}" for number in range(1, 9)]


@dataclass
class AuditWorld:
    """The account, its metrics and the gate; extras that the embedded account does not know."""

    account: EmbeddedAccount
    store: MetricStore
    gate: Gate
    traveller: Any
    recovery: dict[str, bool] = field(default_factory=dict)
    rang: list[tuple[str, datetime]] = field(default_factory=list)
    rang_for_table: list[tuple[str, datetime, str]] = field(default_factory=list)
    stacks: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    resources: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)

    def minute(self, moment: datetime) -> int:
        return int((moment - self.store.start) / timedelta(minutes=1))

    def put(self, name: str, dimensions: Mapping[str, str], moment: datetime, values: Any, kind: Any = "gauge") -> None:
        """Write minutes of one metric from *moment* on; None is a gap."""
        namespace = "AWS/DynamoDB" if "TableName" in dimensions else "AWS/Lambda"
        row, first = self.store.row(namespace, name, dimensions), self.minute(moment)
        for number, value in enumerate(values):
            if value is not None:
                self.store.put_block([row], first + number, [float(value)], kind)

    def mutations(self) -> list[str]:
        """Every call that was sent and is no read."""
        return [call.call for call in self.gate.calls if call.call not in READS]


class Extras:
    """Answers what the embedded account leaves to others: backups, tags, alarm history, stacks, and what CloudWatch forgets."""

    def __init__(self, world: "list[AuditWorld]", cloudwatch: CloudWatchApi) -> None:
        self._world, self._cloudwatch = world, cloudwatch

    def handle(self, request: Request) -> Answer | None:
        if not self._world:
            return None
        world, given = self._world[0], request.parameters
        match request.call:
            case "dynamodb.DescribeContinuousBackups" if given["TableName"] in world.account.tables:
                on = world.recovery.get(given["TableName"], True)
                status = {"PointInTimeRecoveryStatus": "ENABLED" if on else "DISABLED"}
                described = {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": status}
                return Respond(parsed={"ContinuousBackupsDescription": described})
            case "dynamodb.ListContributorInsights":
                return Respond(parsed={"ContributorInsightsSummaries": []})
            case "resourcegroupstaggingapi.GetResources":
                return self._tags(world, given)
            case "cloudwatch.DescribeAlarmHistory":
                return Respond(parsed={"AlarmHistoryItems": list(_history(world, given, request.now))})
            case "cloudformation.DescribeStacks":
                stack = world.stacks.get(given["StackName"])
                if stack is None:
                    return Refuse(code="ValidationError", message=f"Stack with id {given['StackName']} does not exist")
                return Respond(parsed={"Stacks": [stack]})
            case "cloudformation.ListStackResources":
                rows = [
                    {"LogicalResourceId": logical, "ResourceType": kind, "PhysicalResourceId": physical,
                     "LastUpdatedTimestamp": NOW, "ResourceStatus": "CREATE_COMPLETE"}
                    for logical, (kind, physical) in world.resources.get(given["StackName"], {}).items()
                ]  # fmt: skip
                return Respond(parsed={"StackResourceSummaries": rows})
            case "cloudwatch.GetMetricData":
                return self._metric_data(request)
        return None

    def _tags(self, world: AuditWorld, given: Mapping[str, Any]) -> Answer:
        records: list[FunctionRecord | TableRecord] = [
            *world.account.functions.values(),
            *world.account.tables.values(),
        ]
        tagged = [record for record in records if record.tags]
        start = int(given.get("PaginationToken") or 0)
        page = tagged[start : start + 100]
        more = str(start + 100) if start + 100 < len(tagged) else ""
        rows = [
            {"ResourceARN": record.arn, "Tags": [{"Key": key, "Value": value} for key, value in record.tags.items()]}
            for record in page
        ]
        return Respond(parsed={"ResourceTagMappingList": rows, "PaginationToken": more})

    def _metric_data(self, request: Request) -> Answer | None:
        """Forget as CloudWatch does: minutes after 15 days, five minutes after 63; queries reach back two weeks."""
        start = parse_to_aware_datetime(request.parameters["StartTime"])
        age = request.now - start
        finest = 60 if age <= timedelta(days=15) else 300 if age <= timedelta(days=63) else 3600
        for query in request.parameters["MetricDataQueries"]:
            if "MetricStat" in query and query["MetricStat"]["Period"] % finest:
                message = (
                    f"Data of {age.days} days ago is kept at {finest} s, not at {query['MetricStat']['Period']} s."
                )
                return Refuse(code="ValidationError", message=message)
            if "Expression" in query and age > timedelta(days=14):
                return Refuse(code="ValidationError", message="Metrics Insights queries reach back two weeks.")
        return self._cloudwatch.handle(request)


def _history(world: AuditWorld, given: Mapping[str, Any], now: datetime) -> Iterator[dict[str, Any]]:
    """Tell the state changes of a window; those older than 30 days are forgotten."""
    data = '{"version":"1.0","newState":{"stateValue":"ALARM"},"oldState":{"stateValue":"OK"}}'
    kind = given["HistoryItemType"]
    rows: list[tuple[str, datetime, dict[str, str] | None]] = (
        [(name, at, None) for name, at in world.rang]
        if kind == "StateUpdate"
        else [(name, at, {"TableName": table}) for name, at, table in world.rang_for_table]
    )
    first = max(parse_to_aware_datetime(given["StartDate"]), now - timedelta(days=30))
    for name, at, attributes in rows:
        if first <= at <= parse_to_aware_datetime(given["EndDate"]):
            row = {"AlarmName": name, "AlarmType": "MetricAlarm", "Timestamp": at, "HistoryItemType": kind,
                   "HistoryData": data}  # fmt: skip
            yield row if attributes is None else {**row, "AlarmContributorAttributes": attributes}


@cache
def _shared_loader(search_path: str | None) -> Loader:
    return create_loader(search_path)


@contextmanager
def audit_world(
    monkeypatch: pytest.MonkeyPatch, *, now: datetime = NOW, days: int = 15, limit: int = 1000
) -> Iterator[AuditWorld]:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAPERSONALLAPTOP00")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("MOTO_ACCOUNT_ID", ACCOUNT)
    for name in ("STACK", "INCIDENTS_TABLE", "RESPOND_FUNCTION", "MAX_POOL_SHARE", "SLACK_TOKEN", "SLACK_CHANNEL"):
        monkeypatch.delenv(f"UNTHROTTLE_{name}", raising=False)
    # Reading the service models is most of what a command costs; here they are read once for all tests.
    monkeypatch.setattr(botocore.session, "create_loader", _shared_loader)
    start = (now - timedelta(days=days)).replace(second=0, microsecond=0)
    account = EmbeddedAccount(account_id=ACCOUNT, region=REGION, concurrency_limit=limit)
    store = MetricStore(start, days * 1440 + 60, delay_minutes=2)
    cloudwatch = CloudWatchApi(
        store, account_id=ACCOUNT, region=REGION, alarms=AlarmEvaluator([], store, ACCOUNT, REGION)
    )
    known: list[AuditWorld] = []
    extras = Extras(known, cloudwatch)
    with ExitStack() as stack:
        traveller = stack.enter_context(time_machine.travel(now, tick=False))
        stack.enter_context(mock_aws())
        gate = stack.enter_context(Gate(start=start, handlers=[extras.handle, cloudwatch.handle, *account.handlers]))
        gate.introduce("AKIAPERSONALLAPTOP00", Identity(role="person", account=ACCOUNT))
        known.append(AuditWorld(account=account, store=store, gate=gate, traveller=traveller))
        yield known[0]


def quiet_pool(world: AuditWorld, *, hog_holds: float = 20) -> None:
    """The post-mortem's account in peace: a batch processor without a bound, pipelines that need little."""
    account = world.account
    account.add_function(HOG, tags={"team": "roster"}, timeout_s=900)
    for name in PIPES:
        account.add_function(name, tags={"team": "opslog"}, timeout_s=30)
        account.add_mapping(name, "msk", f"{name}-topic")
    account.add_function("svc-meals-uat-queue", tags={"team": "meals"}, timeout_s=60)
    account.add_mapping("svc-meals-uat-queue", "sqs", "meals")
    for number in range(5):
        account.add_function(f"svc-quiet-prod-{number:03d}", timeout_s=30)
    base = world.store.start
    for hour in range(1, 24 * 14, 6):
        moment = base + timedelta(days=1, hours=hour)
        if moment >= NOW:
            break
        world.put("ConcurrentExecutions", {"FunctionName": HOG}, moment, [hog_holds] * 2)
        world.put("AsyncEventsReceived", {"FunctionName": HOG}, moment, [25] * 2, "sum")
        world.put("Invocations", {"FunctionName": HOG}, moment, [25] * 2, "sum")
        world.put("Duration", {"FunctionName": HOG}, moment, [45_000] * 2)
        for name in PIPES:
            world.put("ConcurrentExecutions", {"FunctionName": name}, moment, [3] * 2)
            world.put("Duration", {"FunctionName": name}, moment, [900] * 2)
        world.put("ConcurrentExecutions", {"FunctionName": "svc-meals-uat-queue"}, moment, [6] * 2)
        world.put("Duration", {"FunctionName": "svc-meals-uat-queue"}, moment, [300] * 2)
        world.put("ConcurrentExecutions", {}, moment, [hog_holds + 30] * 2)


def starve(world: AuditWorld, onset: datetime, *, minutes: int = 30, before: int = 180) -> None:
    """One incident: the hog takes the pool from *onset* on, the pipelines are throttled."""
    hog, limit = HOG, 1000
    first = onset - timedelta(minutes=before)
    held = [20.0] * before + [limit - 30.0] * minutes + [20.0] * 30
    others = [3.0] * (before + minutes + 30)
    whole = [one + 3 * len(PIPES) for one in held]
    refused = [None] * before + [50.0] * minutes + [None] * 30
    world.put("ConcurrentExecutions", {"FunctionName": hog}, first, held)
    world.put("Invocations", {"FunctionName": hog}, first, [30.0] * len(held), "sum")
    world.put("AsyncEventsReceived", {"FunctionName": hog}, first, [30.0] * len(held), "sum")
    for name in PIPES:
        world.put("ConcurrentExecutions", {"FunctionName": name}, first, others)
        world.put("Throttles", {"FunctionName": name}, first, refused, "sum")
    reserved = float(world.account.reserved)
    world.put("ConcurrentExecutions", {}, first, whole)
    world.put("UnreservedConcurrentExecutions", {}, first, whole)
    world.put("ClaimedAccountConcurrency", {}, first, [one + reserved for one in whole])
    world.put("Invocations", {}, first, [500.0] * len(held), "sum")
    world.put("Throttles", {}, first, [None if one is None else one * len(PIPES) for one in refused], "sum")


def tables(world: AuditWorld) -> None:
    """A table near its capacity with a short index, one on-demand with a maximum, one autoscaled to its maximum."""
    account = world.account
    account.add_table("dagy-runs-develop", billing="provisioned", read=100, write=50, indexes=[("by-status", 100, 10)],
                      tags={"team": "data"})  # fmt: skip
    account.add_table("orders", billing="on-demand", max_on_demand_write=100, tags={"unthrottle:mode": "sometimes"})
    record = account.add_table("events", billing="provisioned", read=10, write=40)
    record.scaling.append(ScalingTarget(unit="write", minimum=5, maximum=40))
    world.recovery["orders"] = False
    hour = NOW - timedelta(days=2, hours=3)
    world.put("ConsumedWriteCapacityUnits", {"TableName": "dagy-runs-develop"}, hour, [45 * 60.0] * 60, "sum")
    world.put("ConsumedWriteCapacityUnits", {"TableName": "orders"}, hour, [90 * 60.0] * 60, "sum")
    world.put("ConsumedWriteCapacityUnits", {"TableName": "events"}, hour, [38 * 60.0] * 60, "sum")
