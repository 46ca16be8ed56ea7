"""Which permissions does a call need, on which resources, and what may conditions ask about it?

One entry for each operation, from the service authorization reference (AWS: "Actions, resources, and condition keys for
AWS services"). An operation without an entry is an error: what is not listed cannot be shown to be allowed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sandbox.aws.calls import NotEmulatedError, Request
from sandbox.aws.iam_policy import Asked

if TYPE_CHECKING:
    from sandbox.aws.account import EmbeddedAccount

_FUNCTION_LEVEL = frozenset(
    {
        "DeleteFunctionConcurrency",
        "GetFunction",
        "GetFunctionConcurrency",
        "GetFunctionConfiguration",
        "GetFunctionEventInvokeConfig",
        "GetPolicy",
        "ListFunctionUrlConfigs",
        "ListProvisionedConcurrencyConfigs",
        "PutFunctionConcurrency",
    }
)
_WITHOUT_RESOURCE = frozenset(
    {
        "application-autoscaling:DescribeScalableTargets",
        "application-autoscaling:DescribeScalingActivities",
        "application-autoscaling:DescribeScalingPolicies",
        "cloudtrail:LookupEvents",
        "cloudwatch:DescribeAlarmContributors",
        "cloudwatch:GetMetricData",
        "cloudwatch:ListMetrics",
        "dynamodb:DescribeBulkOperation",
        "dynamodb:DescribeLimits",
        "dynamodb:ListBulkOperations",
        "dynamodb:ListContributorInsights",
        "dynamodb:ListTables",
        "lambda:GetAccountSettings",
        "lambda:ListEventSourceMappings",
        "lambda:ListFunctions",
        "servicequotas:GetServiceQuota",
        "ssm:CreateOpsItem",
        "tag:GetResources",
    }
)
_TABLE_LEVEL = frozenset(
    {
        "BatchGetItem",
        "ConditionCheckItem",
        "DeleteItem",
        "DescribeContinuousBackups",
        "DescribeContributorInsights",
        "DescribeTable",
        "GetItem",
        "ListTagsOfResource",
        "PutItem",
        "Query",
        "UpdateItem",
        "UpdateTable",
    }
)
_DURABLE = frozenset({"CheckpointDurableExecution", "GetDurableExecutionState", "GetDurableExecution"})
_CALLBACKS = frozenset({"SendDurableExecutionCallbackSuccess", "SendDurableExecutionCallbackFailure"})
_PREFIX: Mapping[str, str] = {"service-quotas": "servicequotas", "resourcegroupstaggingapi": "tag"}
"""Where a service's IAM prefix is not its name in boto3."""
_WRITES: Mapping[str, str] = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
"""What a part of TransactWriteItems needs; the call itself is no action of its own."""


def permissions(request: Request, account: "EmbeddedAccount", durable_function_arn: str) -> list[Asked]:
    """List what a call needs. Raises NotEmulatedError for an operation that has no entry here."""
    home = request.account or account.account_id
    place = _Place(request=request, account=account, home=home, durable=durable_function_arn)
    action = f"{_PREFIX.get(request.service, request.service)}:{request.operation}"
    if action in _WITHOUT_RESOURCE:
        return [Asked(action=action, resource="*", context={})]
    entry = _ENTRIES.get(request.service)
    found = list(entry(place)) if entry else []
    if not found:
        raise NotEmulatedError(
            f"Cannot say whether {request.call} with {dict(request.parameters)} is allowed: it is not in the table of "
            "permissions. Nothing was changed. Add it to sandbox.aws.iam_calls, with its resource."
        )
    return found


def reading_tags(request: Request, account: "EmbeddedAccount", durable_function_arn: str) -> list[Asked]:
    """List what GetFunction's caller needs besides, to be shown the function's tags (Lambda API, GetFunctionResponse)."""
    named = {"Resource": request.parameters["FunctionName"]}
    return permissions(replace(request, operation="ListTags", parameters=named), account, durable_function_arn)


class _Place:
    """One request, and the account it goes to, for making ARNs and finding tags."""

    def __init__(self, *, request: Request, account: "EmbeddedAccount", home: str, durable: str) -> None:
        self.operation, self.given = request.operation, request.parameters
        self.account, self.durable = account, durable
        self._home, self._region = home, request.region

    def arn(self, service: str, resource: str) -> str:
        """Make an ARN in the caller's account and Region."""
        return f"arn:aws:{service}:{self._region}:{self._home}:{resource}"

    def asked(
        self,
        action: str,
        resource: str,
        *,
        tags: Mapping[str, str] | None = None,
        context: Mapping[str, str] | None = None,
    ) -> Asked:
        """Make one permission, with the resource's tags and what else conditions may ask about."""
        known = {f"aws:ResourceTag/{key}": value for key, value in (tags or {}).items()}
        known["aws:ResourceAccount"] = resource.split(":")[4] if resource.count(":") >= 5 else self._home
        return Asked(action=action, resource=resource, context={**known, **(context or {})})


def _dynamodb(place: _Place) -> Iterator[Asked]:
    given, operation = place.given, place.operation
    if operation == "TransactWriteItems":
        for item in given["TransactItems"]:
            for kind, part in item.items():
                yield _table(place, _WRITES[kind], part["TableName"])
    elif operation == "BatchGetItem":
        for name in given["RequestItems"]:
            yield _table(place, operation, name)
    elif operation in _TABLE_LEVEL:
        yield _table(place, operation, given.get("TableName") or given["ResourceArn"], given.get("IndexName"))


def _table(place: _Place, operation: str, named: str, index: str | None = None) -> Asked:
    name = named.rsplit("table/", 1)[-1]
    record = place.account.tables.get(name)
    resource = place.arn("dynamodb", f"table/{name}" + (f"/index/{index}" if index else ""))
    return place.asked(f"dynamodb:{operation}", resource, tags=record.tags if record else None)


def _lambda(place: _Place) -> Iterator[Asked]:
    given, operation = place.given, place.operation
    if operation in _FUNCTION_LEVEL or operation == "Invoke":
        named = str(given["FunctionName"]).split(":function:")[-1]
        name, _, qualifier = named.partition(":")
        qualifier = qualifier or str(given.get("Qualifier") or "")
        record = place.account.functions.get(name)
        resource = place.arn("lambda", f"function:{name}" + (f":{qualifier}" if qualifier else ""))
        action = "lambda:InvokeFunction" if operation == "Invoke" else f"lambda:{operation}"
        yield place.asked(action, resource, tags=record.tags if record else None)
    elif operation == "ListTags":  # of the function, whatever version is named
        name = str(given["Resource"]).split(":function:")[-1].split(":", 1)[0]
        record = place.account.functions.get(name)
        yield place.asked(
            "lambda:ListTags", place.arn("lambda", f"function:{name}"), tags=record.tags if record else None
        )
    elif operation in {"GetEventSourceMapping", "UpdateEventSourceMapping"}:
        mapping = place.account.mappings.get(str(given["UUID"]))
        resource = place.arn("lambda", f"event-source-mapping:{given['UUID']}")
        of = place.arn("lambda", f"function:{mapping.function_name}") if mapping else ""
        yield place.asked(f"lambda:{operation}", resource, context={"lambda:FunctionArn": of})
    elif operation in _DURABLE:
        yield place.asked(f"lambda:{operation}", str(given["DurableExecutionArn"]))
    elif operation in _CALLBACKS:  # a callback's id does not name its execution; its function it must be
        yield place.asked(f"lambda:{operation}", f"{place.durable}:1/durable-execution/any/any")


def _scaling(place: _Place) -> Iterator[Asked]:
    if place.operation == "RegisterScalableTarget":
        yield place.asked(
            "application-autoscaling:RegisterScalableTarget",
            place.arn("application-autoscaling", f"scalable-target/{place.given['ResourceId']}"),
            context={
                "application-autoscaling:service-namespace": str(place.given["ServiceNamespace"]),
                "application-autoscaling:scalable-dimension": str(place.given["ScalableDimension"]),
            },
        )
        yield from _tried_by_autoscaling(place)


def _tried_by_autoscaling(place: _Place) -> Iterator[Asked]:
    """What Application Auto Scaling tries with the caller's rights before it registers a target, or refuses to.

    AWS, Application Auto Scaling user guide, "Permissions validation for API calls on target resources": alarms are put and
    deleted without a name, and one of any is described; "Identity-based policy examples" names what it asks of DynamoDB.
    That IAM sees these tries as called via the service is from AWS's managed policy AmazonSageMakerCanvasFullAccess.
    """
    via = {"aws:CalledViaLast": "application-autoscaling.amazonaws.com", "aws:ViaAWSService": "true"}
    if place.given["ServiceNamespace"] == "dynamodb":
        name = str(place.given["ResourceId"]).split("/")[1]
        for operation in ("DescribeTable", "UpdateTable"):
            yield _table(place, operation, name)
    yield place.asked("cloudwatch:DescribeAlarms", place.arn("cloudwatch", "alarm:*"), context=via)
    for operation in ("PutMetricAlarm", "DeleteAlarms"):
        yield place.asked(f"cloudwatch:{operation}", place.arn("cloudwatch", "alarm:"), context=via)


def _cloudwatch(place: _Place) -> Iterator[Asked]:
    if place.operation in {"DescribeAlarms", "DescribeAlarmHistory"}:
        yield place.asked(f"cloudwatch:{place.operation}", place.arn("cloudwatch", "alarm:*"))
    elif place.operation == "GetInsightRuleReport":
        yield place.asked(
            "cloudwatch:GetInsightRuleReport", place.arn("cloudwatch", f"insight-rule/{place.given['RuleName']}")
        )


def _ssm(place: _Place) -> Iterator[Asked]:
    if place.operation == "GetCalendarState":
        for calendar in place.given["CalendarNames"]:
            yield place.asked("ssm:GetCalendarState", str(calendar))


def _secrets(place: _Place) -> Iterator[Asked]:
    if place.operation == "GetSecretValue":
        yield place.asked("secretsmanager:GetSecretValue", str(place.given["SecretId"]))


def _sns(place: _Place) -> Iterator[Asked]:
    if place.operation == "Publish":
        yield place.asked("sns:Publish", str(place.given["TopicArn"]))


def _sts(place: _Place) -> Iterator[Asked]:
    if place.operation == "AssumeRole":
        given: Mapping[str, Any] = place.given
        context = {"sts:RoleSessionName": str(given["RoleSessionName"])}
        if given.get("ExternalId"):
            context["sts:ExternalId"] = str(given["ExternalId"])
        yield place.asked("sts:AssumeRole", str(given["RoleArn"]), context=context)


_ENTRIES: Mapping[str, Callable[[_Place], Iterator[Asked]]] = {
    "application-autoscaling": _scaling,
    "cloudwatch": _cloudwatch,
    "dynamodb": _dynamodb,
    "lambda": _lambda,
    "secretsmanager": _secrets,
    "sns": _sns,
    "ssm": _ssm,
    "sts": _sts,
}
