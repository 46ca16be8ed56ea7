"""What does template.yaml deploy: which functions with which environment, which rules, alarms, roles and tables?

Translates the template as AWS would and resolves it for one set of parameters. The sandbox reads from it everything it
needs to know of the deployment, so that a mistake in the template shows in a rehearsal.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sandbox.aws.iam import Role
from sandbox.aws.iam_policy import Statement, parse
from sandbox.rehearsal.intrinsics import Resolver, UnresolvedError

STACK = "unthrottle"
_UPLOADED = "s3://sandbox/code"
_FUNCTION = "AWS::Lambda::Function"

_ARNS = {
    "AWS::DynamoDB::Table": "dynamodb:{at}:table/{name}",
    "AWS::Events::EventBus": "events:{at}:event-bus/{name}",
    "AWS::IAM::Role": "iam::{account}:role/{name}",
    "AWS::Lambda::Function": "lambda:{at}:function:{name}",
    "AWS::Logs::LogGroup": "logs:{at}:log-group:{name}:*",
    "AWS::SQS::Queue": "sqs:{at}:{name}",
}
"""ARNs by resource type, without their beginning."""

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedFunction:
    """One function of the stack. `folder` holds its app.py; `role` is the logical id of its role."""

    logical_id: str
    name: str
    arn: str
    folder: Path
    handler: str
    environment: dict[str, str]
    role_arn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRule:
    """A rule that sends matching events to a function. `bus` is its event bus's name; None: the default bus."""

    pattern: Mapping[str, Any]
    target: str
    bus: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A rule that calls a function every so many minutes."""

    name: str
    every_minutes: int
    target: str


class Stack:
    """The template, deployed with *parameters* into an account and Region. Targets are logical ids."""

    def __init__(self, template: Path, parameters: Mapping[str, object], *, account: str, region: str) -> None:
        self._folder = template.parent
        self._document = _translated(template, region, str(parameters.get("Tracing", "")))
        self._account, self._region = account, region
        self._names = self._values(parameters)
        self._resolver = Resolver(
            names=self._names, conditions=self._document.get("Conditions", {}), attribute=self._attribute
        )
        self.resources: dict[str, Document] = {
            logical_id: {"Type": resource["Type"], "Properties": self._resolver.resolve(resource.get("Properties", {}))}
            for logical_id, resource in self._document["Resources"].items()
            if "Condition" not in resource or self._resolver.holds(resource["Condition"])
        }

    @staticmethod
    def parameter_names(template: Path, region: str = "eu-west-1") -> frozenset[str]:
        """Name the template's parameters."""
        return frozenset(_translated(template, region).get("Parameters", {}))

    def parameter(self, name: str) -> str:
        """The value a parameter was deployed with, as text; a list with commas."""
        value = self._names[name]
        return ",".join(str(one) for one in value) if isinstance(value, list) else str(value)

    @property
    def functions(self) -> dict[str, DeployedFunction]:
        """Every function by its logical id."""
        return {
            logical_id: self._function(logical_id, resource["Properties"])
            for logical_id, resource in self._of_type(_FUNCTION).items()
        }

    @property
    def rules(self) -> list[EventRule]:
        """Every rule with an event pattern, once for each of its targets."""
        return [
            EventRule(pattern=properties["EventPattern"], target=target, bus=properties.get("EventBusName"))
            for properties in (resource["Properties"] for resource in self._of_type("AWS::Events::Rule").values())
            if "EventPattern" in properties
            for target in self._targets(properties)
        ]

    @property
    def schedules(self) -> list[Schedule]:
        """Every schedule of the form rate(...). A calendar (cron) is no part of a rehearsal: it comes on its own day."""
        found = []
        for logical_id, resource in self._of_type("AWS::Events::Rule").items():
            minutes = _rate(resource["Properties"].get("ScheduleExpression", ""))
            if minutes is not None:
                targets = self._targets(resource["Properties"])
                found += [Schedule(name=logical_id, every_minutes=minutes, target=target) for target in targets]
        return found

    @property
    def alarms(self) -> dict[str, Document]:
        """The properties of every alarm, by logical id."""
        return {key: resource["Properties"] for key, resource in self._of_type("AWS::CloudWatch::Alarm").items()}

    @property
    def role_arns(self) -> dict[str, str]:
        """The ARN of every role that exists, by logical id. In dry-run there is no Actor role."""
        return {key: str(self._attribute(key, "Arn")) for key in self._of_type("AWS::IAM::Role")}

    @property
    def roles(self) -> dict[str, Role]:
        """Every role that exists, by logical id, with its policies resolved and AWS's managed ones written out."""
        return {
            key: Role(
                arn=str(self._attribute(key, "Arn")),
                statements=(*_statements(resource["Properties"]), *self._attached(key)),
                trust=parse(resource["Properties"]["AssumeRolePolicyDocument"], "trust"),
            )
            for key, resource in self._of_type("AWS::IAM::Role").items()
        }

    @property
    def tables(self) -> dict[str, Document]:
        """CreateTable parameters of every table of the stack, by logical id."""
        kept = ("AttributeDefinitions", "KeySchema", "BillingMode", "GlobalSecondaryIndexes")
        return {
            key: {"TableName": self._attribute(key, None)}
            | {name: resource["Properties"][name] for name in kept if name in resource["Properties"]}
            for key, resource in self._of_type("AWS::DynamoDB::Table").items()
        }

    def _attached(self, role: str) -> tuple[Statement, ...]:
        """The statements of policies that are resources of their own."""
        name = self._attribute(role, None)
        policies = [one["Properties"] for one in self._of_type("AWS::IAM::Policy").values()]
        return tuple(
            statement
            for policy in policies
            if name in policy["Roles"]
            for statement in parse(policy["PolicyDocument"], policy["PolicyName"])
        )

    def _of_type(self, kind: str) -> dict[str, Document]:
        return {key: resource for key, resource in self.resources.items() if resource["Type"] == kind}

    def _function(self, logical_id: str, properties: Document) -> DeployedFunction:
        variables = properties.get("Environment", {}).get("Variables", {})
        return DeployedFunction(
            logical_id=logical_id,
            name=str(self._attribute(logical_id, None)),
            arn=str(self._attribute(logical_id, "Arn")),
            folder=self._folder / self._document["CodeUris"][logical_id],
            handler=properties["Handler"],
            environment={name: str(value) for name, value in variables.items()},
            role_arn=str(properties["Role"]),
        )

    def _targets(self, properties: Document) -> list[str]:
        by_arn = {str(self._attribute(key, "Arn")): key for key in self._of_type(_FUNCTION)}
        return [by_arn[arn] for arn in (target["Arn"] for target in properties["Targets"]) if arn in by_arn]

    def _values(self, parameters: Mapping[str, object]) -> dict[str, object]:
        declared: Mapping[str, Document] = self._document.get("Parameters", {})
        unknown = sorted(set(parameters) - set(declared))
        if unknown:
            raise UnresolvedError(f"The template has no parameter {', '.join(unknown)}.")
        values: dict[str, object] = {
            "AWS::AccountId": self._account,
            "AWS::Region": self._region,
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::StackName": STACK,
            "AWS::StackId": f"arn:aws:cloudformation:{self._region}:{self._account}:stack/{STACK}/sandbox",
        }
        for name, declaration in declared.items():
            if name not in parameters and "Default" not in declaration:
                raise UnresolvedError(f"The template's parameter {name} has no default and was not given.")
            value = parameters.get(name, declaration.get("Default"))
            if declaration["Type"] == "CommaDelimitedList":
                value = [part.strip() for part in str(value).split(",")] if value else []
            values[name] = value
        return values

    def _attribute(self, logical_id: str, name: str | None) -> object:
        """Answer Ref (name None) and GetAtt of a resource, for the types that are referred to."""
        resource = self._document["Resources"].get(logical_id)
        if resource is None:
            raise UnresolvedError(f"There is no resource {logical_id} in the template.")
        kind, properties = resource["Type"], resource.get("Properties", {})
        at = f"{self._region}:{self._account}"
        physical = self._physical(logical_id, kind, properties)
        match kind, name:
            case "AWS::Lambda::Alias", None:
                alias = self._resolver.resolve(properties)
                return f"arn:aws:lambda:{at}:function:{alias['FunctionName']}:{alias['Name']}"
            case "AWS::SQS::Queue", None:
                return f"https://sqs.{self._region}.amazonaws.com/{self._account}/{physical}"
            case _, "Arn" if kind in _ARNS:
                return f"arn:aws:{_ARNS[kind].format(at=at, account=self._account, name=physical)}"
            case "AWS::SQS::Queue", "QueueName":
                return physical
            case _, None:
                return physical
            case _, "Version":
                return "1"
            case _:
                return f"{logical_id}.{name}"

    def _physical(self, logical_id: str, kind: str, properties: Document) -> str:
        """A resource's name: as given, or as CloudFormation makes one."""
        given = {
            "AWS::Lambda::Function": "FunctionName",
            "AWS::IAM::Role": "RoleName",
            "AWS::DynamoDB::Table": "TableName",
            "AWS::SQS::Queue": "QueueName",
            "AWS::Logs::LogGroup": "LogGroupName",
            "AWS::CloudWatch::Alarm": "AlarmName",
            "AWS::Events::EventBus": "Name",
        }.get(kind)
        if given in properties:
            return str(self._resolver.resolve(properties[given]))
        # CloudFormation ends a role's generated name in letters of its own; nothing here may rely on knowing them.
        return f"{STACK}-{logical_id}" + ("-1A2B3C4D5E6F" if kind == "AWS::IAM::Role" else "")


def _statements(role: Document) -> tuple[Statement, ...]:
    inline = [
        statement
        for policy in role.get("Policies", [])
        for statement in parse(policy["PolicyDocument"], policy["PolicyName"])
    ]
    managed = [statement for arn in role.get("ManagedPolicyArns", []) for statement in _managed(arn.rsplit("/", 1)[-1])]
    return (*inline, *managed)


@cache
def _managed(name: str) -> tuple[Statement, ...]:
    """One of AWS's managed policies, as moto keeps it."""
    from moto.iam.aws_managed_policies import aws_managed_policies_data  # noqa: PLC0415  a megabyte, for this only

    return parse(json.loads(aws_managed_policies_data)[name]["Document"], name)


def _rate(expression: str) -> int | None:
    if not expression.startswith("rate("):
        return None
    number, unit = expression.removeprefix("rate(").rstrip(")").split()
    factor = {"minute": 1, "hour": 60, "day": 1440}[unit.rstrip("s")]
    return int(number) * factor


def _translated(template: Path, region: str, tracing: str = "") -> Document:
    # A template that was edited is another one. SAM looks at one parameter's value: with tracing come further rights.
    document: Document = json.loads(_translate(template, template.stat().st_mtime_ns, region, tracing))
    return document


@cache
def _translate(template: Path, _modified: int, region: str, tracing: str) -> str:
    """Translate a template once; as text, of which each rehearsal makes a copy of its own."""
    # Imported here: they cost half a second, and only a rehearsal needs them.
    import boto3  # noqa: PLC0415
    from samtranslator.parser.parser import Parser  # noqa: PLC0415
    from samtranslator.translator.translator import Translator  # noqa: PLC0415
    from samtranslator.yaml_helper import yaml_parse  # noqa: PLC0415

    source: Document = yaml_parse(template.read_text(encoding="utf-8"))
    folders = {}
    defaults = source.get("Globals", {}).get("Function", {})
    for logical_id, resource in source["Resources"].items():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Serverless::Function":
            folders[logical_id] = properties.get("CodeUri", defaults.get("CodeUri", "."))
            properties["CodeUri"] = _UPLOADED
        if resource["Type"] == "AWS::Serverless::LayerVersion":
            properties["ContentUri"] = _UPLOADED
    given = {name: declaration.get("Default", "sandbox") for name, declaration in source.get("Parameters", {}).items()}
    given |= {"Tracing": tracing} if tracing else {}
    translator = Translator({}, Parser(), boto_session=boto3.Session(region_name=region))
    return json.dumps({**translator.translate(source, given), "CodeUris": folders})
