"""What does Application Auto Scaling answer about the tables of the account?

Targets live on the table records. Only DynamoDB is emulated. Lab fact kept: raising MinCapacity above the present
capacity makes the service raise the table itself, within seconds.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sandbox.aws.calls import Answer, Refuse, Request, Respond
from sandbox.aws.records import ScalingActivity, ScalingTarget, TableRecord, Unit

if TYPE_CHECKING:
    from sandbox.aws.account import EmbeddedAccount

_CREATED = datetime(2026, 1, 1, tzinfo=UTC)


class ScalingApi:
    """Handler of Application Auto Scaling calls for one account."""

    def __init__(self, account: "EmbeddedAccount") -> None:
        self._account = account
        self._operations: Mapping[str, Callable[[Request], Answer]] = {
            "DescribeScalableTargets": self._targets,
            "DescribeScalingPolicies": self._policies,
            "DescribeScalingActivities": self._activities,
            "RegisterScalableTarget": self._register,
        }

    def handle(self, request: Request) -> Answer | None:
        """Answer a call, or leave it."""
        operation = self._operations.get(request.operation)
        if request.service != "application-autoscaling" or operation is None or not self._account.owns(request):
            return None
        self._account.settle(request.now)
        return operation(request)

    def _all(self, request: Request) -> Iterator[tuple[TableRecord, ScalingTarget]]:
        """Targets that a request asks for."""
        wanted, given = request.parameters.get("ResourceIds"), request.parameters
        if given.get("ServiceNamespace") != "dynamodb":
            return
        for table in self._account.tables.values():
            for target in table.scaling:
                resource = resource_id(table, target.index)
                if wanted and resource not in wanted:
                    continue
                if given.get("ResourceId") not in {None, resource}:
                    continue
                if given.get("ScalableDimension") in {None, dimension(target.unit, target.index)}:
                    yield table, target

    def _targets(self, request: Request) -> Answer:
        targets = [
            {
                "ServiceNamespace": "dynamodb",
                "ResourceId": resource_id(table, target.index),
                "ScalableDimension": dimension(target.unit, target.index),
                "MinCapacity": target.minimum,
                "MaxCapacity": target.maximum,
                "RoleARN": _role(self._account.account_id),
                "CreationTime": target.created or _CREATED,
                "SuspendedState": {
                    "DynamicScalingInSuspended": False,
                    "DynamicScalingOutSuspended": False,
                    "ScheduledScalingSuspended": False,
                },
            }
            for table, target in self._all(request)
        ]
        return Respond(parsed={"ScalableTargets": targets})

    def _policies(self, request: Request) -> Answer:
        policies = []
        for table, target in self._all(request):
            metric = "DynamoDBReadCapacityUtilization" if target.unit == "read" else "DynamoDBWriteCapacityUtilization"
            resource, which = resource_id(table, target.index), dimension(target.unit, target.index)
            policies.append({
                "PolicyARN": self._account.arn("autoscaling", f"scalingPolicy:{resource}:{which}"),
                "PolicyName": f"{resource}-{target.unit}",
                "ServiceNamespace": "dynamodb",
                "ResourceId": resource,
                "ScalableDimension": which,
                "PolicyType": "TargetTrackingScaling",
                "TargetTrackingScalingPolicyConfiguration": {
                    "TargetValue": target.target_percent,
                    "PredefinedMetricSpecification": {"PredefinedMetricType": metric},
                },
                "CreationTime": target.created or _CREATED,
            })  # fmt: skip
        return Respond(parsed={"ScalingPolicies": policies})

    def _activities(self, request: Request) -> Answer:
        given, found = request.parameters, list[tuple[TableRecord, ScalingActivity]]()
        for table in self._account.tables.values():
            for activity in table.activities:
                if activity.not_scaled and not given.get("IncludeNotScaledActivities"):
                    continue
                if given.get("ResourceId") not in {None, resource_id(table, activity.index)}:
                    continue
                if given.get("ScalableDimension") in {None, dimension(activity.unit, activity.index)}:
                    found.append((table, activity))
        found.sort(key=lambda pair: pair[1].at, reverse=True)
        views = [_activity_view(table, activity) for table, activity in found[: int(given.get("MaxResults") or 50)]]
        return Respond(parsed={"ScalingActivities": views})

    def _register(self, request: Request) -> Answer:
        given = request.parameters
        place = _place(str(given["ResourceId"]), str(given["ScalableDimension"]))
        if place is None or place[0] not in self._account.tables:
            return Refuse(code="ValidationException", message=f"Unable to find the resource {given['ResourceId']}.")
        name, index, unit = place
        table = self._account.tables[name]
        target = next((t for t in table.scaling if t.index == index and t.unit == unit), None)
        low, high = given.get("MinCapacity"), given.get("MaxCapacity")
        if target is None and (low is None or high is None):
            message = "MinCapacity and MaxCapacity must be specified for a new scalable target."
            return Refuse(code="ValidationException", message=message)
        low = target.minimum if low is None and target is not None else int(low or 0)
        high = target.maximum if high is None and target is not None else int(high or 0)
        if low > high:
            message = f"Maximum capacity {high} must not be less than minimum capacity {low}."
            return Refuse(code="ValidationException", message=message)
        if target is None:
            table.scaling.append(ScalingTarget(unit=unit, minimum=low, maximum=high, index=index, created=request.now))
        else:
            target.minimum, target.maximum = low, high
        self._account.changed()
        part = table if index is None else table.indexes[index]
        if table.billing == "provisioned" and part.status == "ACTIVE":
            if unit == "write" and part.write < low:
                self._account.set_capacity(name, request.now, write=low, index=index)
            if unit == "read" and part.read < low:
                self._account.set_capacity(name, request.now, read=low, index=index)
        return Respond(parsed={"ScalableTargetARN": self._account.arn("application-autoscaling", "scalable-target/0")})


def resource_id(table: TableRecord, index: str | None) -> str:
    """`table/NAME` or `table/NAME/index/INDEX`."""
    return f"table/{table.name}" if index is None else f"table/{table.name}/index/{index}"


def dimension(unit: Unit, index: str | None) -> str:
    """Such as `dynamodb:table:WriteCapacityUnits`."""
    return f"dynamodb:{'table' if index is None else 'index'}:{unit.capitalize()}CapacityUnits"


def _place(resource: str, which: str) -> tuple[str, str | None, Unit] | None:
    parts = resource.split("/")
    unit: Unit = "read" if which.endswith("ReadCapacityUnits") else "write"
    if len(parts) == 2 and parts[0] == "table":
        return parts[1], None, unit
    if len(parts) == 4 and parts[0] == "table" and parts[2] == "index":
        return parts[1], parts[3], unit
    return None


def _activity_view(table: TableRecord, activity: ScalingActivity) -> Mapping[str, Any]:
    stamp = activity.at.strftime("%Y%m%d%H%M%S")
    view: dict[str, Any] = {
        "ActivityId": f"{stamp}-{table.name}-{activity.index or 'table'}-{activity.unit}",
        "ServiceNamespace": "dynamodb",
        "ResourceId": resource_id(table, activity.index),
        "ScalableDimension": dimension(activity.unit, activity.index),
        "Description": activity.description,
        "Cause": activity.cause,
        "StartTime": activity.at,
        "EndTime": activity.at,
        "StatusCode": activity.status,
    }
    if activity.not_scaled:
        view["NotScaledReasons"] = [{"Code": activity.not_scaled}]
    return view


def _role(account: str) -> str:
    service = "dynamodb.application-autoscaling.amazonaws.com"
    return (
        f"arn:aws:iam::{account}:role/aws-service-role/{service}/AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"
    )
