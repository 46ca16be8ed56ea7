"""Is what botocore makes of an answer of AWS what the answer says? A judge for whatever bytes a success of AWS has as its body.

Every read that a guardrail depends on is asked through the real client, and what comes back is held against the body, read
here once more by other means: it is our documented error, or says exactly what the body says, never less. So a client that
takes a body it cannot read for one without tags, items or alarms is seen. Knows nothing of what is done with an answer.
"""

import base64
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any

import boto3
from botocore import xform_name
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from unthrottle.adapters.access import Access, Clients, Service, assume
from unthrottle.adapters.actor import AwsActor
from unthrottle.adapters.alarms_api import AwsAlarms
from unthrottle.adapters.calendar import AwsCalendar
from unthrottle.adapters.functions import AwsFunctions
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.adapters.metrics import AwsMetrics
from unthrottle.adapters.secrets import AwsSecrets
from unthrottle.adapters.tables import AwsTables
from unthrottle.errors import UnthrottleError
from unthrottle.ports import MetricQuery

REGION = "eu-west-1"
NOW = datetime(2026, 8, 24, 4, 33, tzinfo=UTC)
ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/dagy-runs"
SAID_AT_MOST = 20_000
"""Characters of an error, whatever the answer was."""


class BrokenAnswerError(AssertionError):
    """An answer was taken for something that it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One read of AWS. *parameters* are any that the client takes."""

    service: Service
    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


CALLS: Sequence[Call] = (
    Call(service="dynamodb", operation="DescribeTable", parameters={"TableName": "dagy-runs"}),
    Call(service="dynamodb", operation="ListTagsOfResource", parameters={"ResourceArn": ARN}),
    Call(service="dynamodb", operation="GetItem", parameters={"TableName": "incidents", "Key": {"pk": {"S": "PAUSE"}}}),
    Call(
        service="dynamodb",
        operation="BatchGetItem",
        parameters={"RequestItems": {"incidents": {"Keys": [{"pk": {"S": "PAUSE"}}]}}},
    ),
    Call(service="dynamodb", operation="Query", parameters={"TableName": "incidents"}),
    Call(service="dynamodb", operation="ListBulkOperations"),
    Call(service="dynamodb", operation="DescribeBulkOperation", parameters={"BulkOperationArn": ARN}),
    Call(service="dynamodb", operation="DescribeContributorInsights", parameters={"TableName": "dagy-runs"}),
    Call(service="lambda", operation="GetAccountSettings"),
    Call(service="lambda", operation="GetFunction", parameters={"FunctionName": "svc"}),
    Call(service="lambda", operation="GetFunctionConcurrency", parameters={"FunctionName": "svc"}),
    Call(service="lambda", operation="GetFunctionEventInvokeConfig", parameters={"FunctionName": "svc"}),
    Call(service="lambda", operation="GetEventSourceMapping", parameters={"UUID": "u"}),
    Call(service="lambda", operation="ListEventSourceMappings", parameters={"FunctionName": "svc"}),
    Call(service="lambda", operation="ListProvisionedConcurrencyConfigs", parameters={"FunctionName": "svc"}),
    Call(service="lambda", operation="ListTags", parameters={"Resource": "arn:aws:lambda:eu-west-1:111122223333:x"}),
    Call(service="lambda", operation="ListFunctions"),
    Call(
        service="application-autoscaling",
        operation="DescribeScalableTargets",
        parameters={"ServiceNamespace": "dynamodb"},
    ),
    Call(
        service="application-autoscaling",
        operation="DescribeScalingActivities",
        parameters={"ServiceNamespace": "dynamodb"},
    ),
    Call(service="ssm", operation="GetCalendarState", parameters={"CalendarNames": ["freeze"]}),
    Call(service="cloudtrail", operation="LookupEvents"),
    Call(service="secretsmanager", operation="GetSecretValue", parameters={"SecretId": "slack"}),
    Call(service="resourcegroupstaggingapi", operation="GetResources"),
    Call(service="cloudwatch", operation="DescribeAlarms"),
    Call(service="cloudwatch", operation="DescribeAlarmContributors", parameters={"AlarmName": "pool"}),
    Call(
        service="cloudwatch",
        operation="GetMetricData",
        parameters={"MetricDataQueries": [], "StartTime": NOW, "EndTime": NOW},
    ),
    Call(
        service="cloudwatch",
        operation="GetInsightRuleReport",
        parameters={"RuleName": "r", "StartTime": NOW, "EndTime": NOW, "Period": 60},
    ),
)
"""All are answered in JSON; CloudWatch could also do so in CBOR, which botocore 1.44 does not ask for."""
_HOUR = timedelta(hours=1)
_QUERY = (MetricQuery(id="a", namespace="AWS/Lambda", name="Throttles", stat="Sum"),)
READS: Sequence[Callable[[Access], object]] = (
    lambda access: AwsFunctions(access).account(),
    lambda access: AwsFunctions(access).describe("svc"),
    lambda access: AwsFunctions(access).event_sources("svc"),
    lambda access: AwsFunctions(access).provisioned("svc"),
    lambda access: AwsActor(access).reserved("svc"),
    lambda access: AwsActor(access).event_source("u"),
    lambda access: AwsTables(access).describe("dagy-runs"),
    lambda access: AwsTables(access).tags(ARN),
    lambda access: AwsTables(access).scaling("dagy-runs"),
    lambda access: AwsTables(access).switches("dagy-runs", NOW - _HOUR),
    lambda access: AwsTables(access).hot_keys("dagy-runs", None, NOW - _HOUR, NOW),
    lambda access: AwsCalendar(access).is_frozen("freeze"),
    lambda access: AwsSecrets(access).text("arn:aws:secretsmanager:eu-west-1:111122223333:secret:x"),
    lambda access: IncidentsTable(access, "incidents").load("INC-ABCD1234"),
    lambda access: IncidentsTable(access, "incidents").open_incidents(),
    lambda access: assume(access, "arn:aws:iam::111122223333:role/x", "INC-1", None, ""),
    lambda access: AwsAlarms(access).metrics_of(["pool"]),
    lambda access: AwsAlarms(access).firing(),
    lambda access: AwsMetrics(access).read(_QUERY, start=NOW - _HOUR, end=NOW),
)
"""The same through our adapters, which make of an answer what the guardrails read."""
READS_FOR_ONE = 5


class Odd(Clients):
    """Real clients that get the same body for every request."""

    body = b""

    @cache  # noqa: B019  there is one of it
    def make(self, service: Any, region: str, credentials: Any) -> Any:
        del credentials
        client: Any = boto3.client(
            service,
            region_name=region,
            aws_access_key_id="a",
            aws_secret_access_key="b",  # noqa: S106  opens nothing
            aws_session_token="c",  # noqa: S106  the same
        )
        client.meta.events.register("before-send", self._given)
        return client

    def _given(self, request: Any, **_: object) -> AWSResponse:
        raw = SimpleNamespace(stream=lambda **_: iter([self.body]), read=lambda *_, **__: self.body)
        return AWSResponse(request.url, 200, HTTPHeaders(), raw)


_ODD = Odd()


def answer(data: bytes) -> None:
    """Give the bytes to every read that they may be an answer of, and to some adapters. Raises BrokenAnswerError."""
    for call in _likely(data):
        judged(call, data)
    at = zlib.crc32(data)
    for step in range(READS_FOR_ONE):
        with _documented():
            READS[(at + step) % len(READS)](Access(_ODD, REGION))


def _likely(data: bytes) -> Iterator[Call]:
    """Choose the calls whose answers have a part that is named in the body, or two drawn by the body itself."""
    named = [call for call in CALLS if any(name in data for name in _parts(call.service, call.operation))]
    at = zlib.crc32(data)
    yield from named or [CALLS[(at + step) % len(CALLS)] for step in range(2)]


@cache
def shape(service: Service, operation: str) -> Any:
    """Return the model of what an operation answers."""
    return _ODD.make(service, REGION, None).meta.service_model.operation_model(operation).output_shape


@cache
def _parts(service: Service, operation: str) -> Sequence[bytes]:
    members = shape(service, operation).members
    return [f"{each.serialization.get('name', name)}".encode() for name, each in members.items() if name != "NextToken"]


def judged(call: Call, data: bytes) -> None:
    """Give the bytes to one read, and hold what comes back against them. Raises BrokenAnswerError."""
    _ODD.body = data
    with _documented(), Access(_ODD, REGION).use(call.service, "look") as client:
        found = getattr(client, xform_name(call.operation))(**call.parameters)
        _held_against(call, found, data)


@contextmanager
def _documented() -> Iterator[None]:
    try:
        yield
    except UnthrottleError as error:
        if len(str(error)) >= SAID_AT_MOST:
            raise BrokenAnswerError("an error without end") from error


def _held_against(call: Call, found: Mapping[str, Any], data: bytes) -> None:
    try:
        told: Any = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BrokenAnswerError(
            f"{call.operation}: an answer that cannot be read was taken for {str(found)[:200]}"
        ) from error
    parts = {name: value for name, value in found.items() if name != "ResponseMetadata"}
    wrong = unlike(parts, told, shape(call.service, call.operation))
    if wrong is not None:
        raise BrokenAnswerError(f"{call.operation}: {wrong}")


def unlike(value: Any, told: Any, model: Any, path: str = "the answer") -> str | None:
    """Say where a client's answer is not what the body says, by the service's model; None where it is."""
    if told is None or value is None:
        return None if told is value else f"{path} is {str(value)[:80]}, and the body says {str(told)[:80]}"
    kind = model.type_name
    if kind == "structure":
        return _unlike_structure(value, told, model, path)
    if kind == "map" and isinstance(told, dict) and told.keys() == value.keys():
        return _first(unlike(value[key], told[key], model.value, f"{path}.{key}") for key in told)
    if kind == "list":
        if isinstance(told, list) and len(told) == len(value):
            return _first(unlike(*each, model.member, f"{path}[]") for each in zip(value, told, strict=True))
    elif kind == "timestamp":
        if _same_moment(value, told):
            return None
    elif kind == "blob":
        told = base64.b64decode(told) if isinstance(told, str) else told
    elif kind in {"integer", "long", "float", "double"} and isinstance(told, str):
        told = type(value)(told)  # Lambda's numbers may stand in quotes, for botocore
    elif kind == "boolean" and isinstance(told, str):
        told = told.lower() == "true"  # so may its truth values, and all other texts are false
    if kind in {"map", "list", "timestamp"} or not (value == told or _is_nan(value)):
        return f"{path} is {str(value)[:80]}, and the body says {str(told)[:80]}"
    return None


def _unlike_structure(value: Any, told: Any, model: Any, path: str) -> str | None:
    if not isinstance(told, dict):
        return f"{path} is {str(value)[:80]}, and the body has {type(told).__name__} there"
    more = value.keys() - model.members.keys()
    if more:
        return f"{path} has {sorted(more)[:3]}, which the service does not promise"
    return _first(
        unlike(value.get(name), told.get(member.serialization.get("name", name)), member, f"{path}.{name}")
        for name, member in model.members.items()
        if "location" not in member.serialization
    )


def _first(found: Iterator[str | None]) -> str | None:
    return next((one for one in found if one is not None), None)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _same_moment(value: datetime, told: Any) -> bool:
    if isinstance(told, int | float):
        return math.isclose(value.timestamp(), told, rel_tol=0, abs_tol=0.002)
    return isinstance(told, str)  # a date in words, which botocore reads by dateutil


# --- good answers ---------------------------------------------------------------------------------------------------------

_GOOD: Sequence[Mapping[str, Any]] = (
    {
        "Table": {
            "TableName": "dagy-runs",
            "TableArn": ARN,
            "TableStatus": "ACTIVE",
            "CreationDateTime": 1788000000,
            "BillingModeSummary": {"BillingMode": "PROVISIONED"},
            "ProvisionedThroughput": {
                "ReadCapacityUnits": 5,
                "WriteCapacityUnits": 9,
                "NumberOfDecreasesToday": 1,
                "LastDecreaseDateTime": 1787000000.5,
            },
            "GlobalSecondaryIndexes": [{"IndexName": "by-day", "IndexStatus": "ACTIVE"}],
        }
    },
    {"Tags": [{"Key": "unthrottle:protected", "Value": "true"}], "NextToken": "n"},
    {"Tags": {"unthrottle:mode": "dry-run"}},
    {
        "Configuration": {"FunctionName": "svc", "FunctionArn": "arn:aws:lambda:x:1:function:svc", "Timeout": 30},
        "Concurrency": {"ReservedConcurrentExecutions": 5},
        "Tags": {"unthrottle:protected": "true"},
    },
    {"Configuration": {"FunctionName": "svc"}, "TagsError": {"ErrorCode": "AccessDenied", "Message": "no"}},
    {"ReservedConcurrentExecutions": 0},
    {
        "AccountLimit": {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 900},
        "AccountUsage": {"FunctionCount": 40},
    },
    {
        "EventSourceMappings": [
            {"UUID": "u", "State": "Enabled", "BatchSize": 10, "ScalingConfig": {"MaximumConcurrency": 2}}
        ]
    },
    {"UUID": "u", "State": "Enabled", "EventSourceArn": "arn:aws:sqs:eu-west-1:111122223333:q"},
    {"MaximumEventAgeInSeconds": 60, "DestinationConfig": {"OnFailure": {"Destination": "arn:aws:sqs:x"}}},
    {"ProvisionedConcurrencyConfigs": [{"RequestedProvisionedConcurrentExecutions": 3, "Status": "READY"}]},
    {"Functions": [{"FunctionName": "svc", "Timeout": 3}], "NextMarker": "m"},
    {
        "ScalableTargets": [
            {
                "ResourceId": "table/dagy-runs",
                "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
                "MinCapacity": 1,
                "MaxCapacity": 9,
                "CreationTime": 1788000000.25,
            }
        ]
    },
    {
        "ScalingActivities": [
            {"ResourceId": "table/dagy-runs", "StartTime": 1788000000, "StatusCode": "Successful", "Description": "d"}
        ]
    },
    {"State": "CLOSED", "AtTime": "2026-08-24T04:33:00Z"},
    {
        "Events": [
            {
                "EventName": "UpdateTable",
                "EventTime": 1788000000,
                "CloudTrailEvent": '{"requestParameters": {"billingMode": "PAY_PER_REQUEST"}}',
            }
        ]
    },
    {"SecretString": '{"bot_token": "x"}', "VersionStages": ["AWSCURRENT"]},
    {"Item": {"pk": {"S": "INC-1"}, "version": {"N": "1"}}, "ConsumedCapacity": {"CapacityUnits": 1.0}},
    {"Items": [{"pk": {"S": "OPEN"}, "sk": {"S": "INC-1"}, "incident_id": {"S": "INC-1"}}], "Count": 1},
    {"Responses": {"incidents": [{"pk": {"S": "PAUSE"}, "sk": {"S": "-"}, "more": {"M": {"a": {"L": []}}}}]}},
    {"Responses": {}, "UnprocessedKeys": {"incidents": {"Keys": [{"pk": {"S": "PAUSE"}}]}}},
    {"ContributorInsightsStatus": "ENABLED", "ContributorInsightsRuleList": ["r-PKT-1", "r-PKC-1"]},
    {"ResourceTagMappingList": [{"ResourceARN": ARN, "Tags": [{"Key": "unthrottle:mode", "Value": "off"}]}]},
    {
        "MetricAlarms": [
            {
                "AlarmName": "pool",
                "StateValue": "ALARM",
                "ActionsEnabled": True,
                "StateUpdatedTimestamp": 1788000000,
                "Namespace": "AWS/Lambda",
                "MetricName": "Throttles",
                "Dimensions": [{"Name": "FunctionName", "Value": "svc"}],
                "Threshold": 1.5,
            }
        ],
        "CompositeAlarms": [{"AlarmName": "all", "AlarmRule": "ALARM(pool)"}],
        "NextToken": "n",
    },
    {"AlarmContributors": [{"ContributorId": "c", "ContributorAttributes": {"TableName": "dagy-runs"}}]},
    {
        "MetricDataResults": [
            {"Id": "a", "StatusCode": "Complete", "Timestamps": [1788000000, 1788000060], "Values": [1.0, 0.25]}
        ]
    },
    {"AggregateValue": 9.5, "Contributors": [{"Keys": ["a"], "ApproximateAggregateValue": 4.5}]},
)
SEEDS = [json.dumps(one).encode() for one in _GOOD] + [
    (
        b"<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>B</SecretAccessKey>"
        b"<SessionToken>C</SessionToken><Expiration>2026-08-24T05:00:00Z</Expiration></Credentials></AssumeRoleResult>"
        b"</AssumeRoleResponse>"
    ),
]
