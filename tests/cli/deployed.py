"""A deployment in a small account, against which the commands run as a person types them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import boto3
import pytest

from sandbox.aws.calls import Answer, Request, Respond
from sandbox.state_table import make_state_table
from tests.audit.world import ACCOUNT, NOW, REGION, AuditWorld, audit_world
from unthrottle.adapters.access import Access, Clients
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding
from unthrottle.incident import Incident, Moment, Question, Status
from unthrottle.plan import Action, CapConcurrency, Plan
from unthrottle.subjects import PoolSubject

STACK = "unthrottle"
RESPOND = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:unthrottle-respond:live"
HOG_ARN = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:batch"


@dataclass
class Deployed:
    """A deployment in a small account."""

    world: AuditWorld
    incidents: IncidentsTable
    answered: list[Mapping[str, Any]] = field(default_factory=list)
    is_waiting: bool = True

    def answer(self, request: Request) -> Answer | None:
        if request.operation != "SendDurableExecutionCallbackSuccess":
            return None
        self.answered.append({**request.parameters, "Result": json.loads(request.parameters["Result"])})
        return Respond(parsed={})

    def open(self, about: str | None, *, status: Status = Status.NONE) -> str:
        plan = Plan(
            action=Action.CAP_CONCURRENCY,
            why="batch holds the pool.",
            changes=(CapConcurrency(function="batch", arn=HOG_ARN, before=None, after=250, peak=900),),
            lease_minutes=120,
            way_back_commands=("aws lambda delete-function-concurrency --function-name batch",),
        )
        incident = Incident(
            id="INC-TEST0001",
            fingerprint=f"{ACCOUNT}/{REGION}/lambda/pool",
            account=ACCOUNT,
            region=REGION,
            kind="lambda",
            subject=PoolSubject(),
            opened_at=NOW - timedelta(minutes=20),
            alarm_name="lambda-throttles",
            diagnosis=Diagnosis(
                cause=Cause.POOL_HOG,
                confidence=Confidence.HIGH,
                targets=("batch",),
                findings=(Finding(text="batch held 900 executions."),),
            ),
            plan=plan,
            status=status,
            timeline=(Moment(at=NOW - timedelta(minutes=20), event="incident.opened", detail="lambda-throttles"),),
        )
        self.incidents.open_or_join(incident, "first")
        if about is not None:
            question = Question(
                about="approval" if about == "approval" else "lease",
                callback="callback-1",
                version=1,
                expires_at=NOW + timedelta(minutes=10),
            )
            self.incidents.save(replace(incident, question=question))
        return incident.id


RULES = {
    "IntakeFunctionAlarmStateChange": "unthrottle-IntakeFunctionAlarmStateChange-1A2B3C4D",
    "IntakeFunctionContributorStateChange": "unthrottle-IntakeFunctionContributorStateChange-5E6F7A8B",
}
HUB_BUS, HUB_RULE, SWEEP = "unthrottle-hub", "unthrottle-HubRule-9C0D1E2F", "unthrottle-SweepFunction-3A4B"
ALARM = "unthrottle-lambda-throttles"
WORKFLOW_ROLE = f"arn:aws:iam::{ACCOUNT}:role/unthrottle-respond"


@contextmanager
def deployment(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    with audit_world(monkeypatch) as world:
        make_state_table(boto3.client("dynamodb", REGION))
        world.stacks[STACK] = {
            "StackName": STACK,
            "StackStatus": "UPDATE_COMPLETE",
            "CreationTime": NOW,
            "Parameters": [
                {"ParameterKey": "Mode", "ParameterValue": "approve"},
                {"ParameterKey": "Operators", "ParameterValue": "U0OPS"},
                {"ParameterKey": "SlackChannel", "ParameterValue": "C0OPS"},
                {"ParameterKey": "AlarmLambdaThrottles", "ParameterValue": "true"},
            ],
            "Outputs": [
                {"OutputKey": "IncidentsTableName", "OutputValue": "incidents"},
                {"OutputKey": "RespondAlias", "OutputValue": RESPOND},
                {"OutputKey": "ActorRoleName", "OutputValue": "unthrottle-actor"},
            ],
        }
        world.account.add_function("unthrottle-respond", reserved=5)
        world.resources[STACK] = {logical: ("AWS::Events::Rule", name) for logical, name in RULES.items()}
        world.resources[STACK]["LambdaThrottlesAlarm"] = ("AWS::CloudWatch::Alarm", ALARM)
        world.resources[STACK]["HubRule"] = ("AWS::Events::Rule", f"{HUB_BUS}|{HUB_RULE}")
        world.resources[STACK]["SweepFunction"] = ("AWS::Lambda::Function", SWEEP)
        _rules()
        for name in ("observer", "actor"):
            make_role(name)
        made = Deployed(world=world, incidents=IncidentsTable(Access(Clients(), REGION), "incidents"))
        world.gate.handlers.insert(0, made.answer)
        yield made


def make_role(name: str, trusted: str = WORKFLOW_ROLE) -> None:
    """Make one of the stack's two roles, which *trusted* may assume; the Observer sees the tags of functions."""
    trust = {"Effect": "Allow", "Principal": {"AWS": [trusted]}, "Action": "sts:AssumeRole"}
    boto3.client("iam").create_role(
        RoleName=f"unthrottle-{name}",
        AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}),
    )
    if name == "observer":
        sees_tags()


def delete_role(name: str) -> None:
    """Delete one of the stack's two roles, with its policies."""
    iam = boto3.client("iam")
    for policy in iam.list_role_policies(RoleName=f"unthrottle-{name}")["PolicyNames"]:
        iam.delete_role_policy(RoleName=f"unthrottle-{name}", PolicyName=policy)
    iam.delete_role(RoleName=f"unthrottle-{name}")


def sees_tags(*, allowed: bool = True) -> None:
    """Let the Observer see the tags of functions, or only the functions."""
    actions = ["lambda:GetFunction", *(["lambda:ListTags"] if allowed else [])]
    statement = {"Effect": "Allow", "Action": actions, "Resource": "*"}
    boto3.client("iam").put_role_policy(
        RoleName="unthrottle-observer",
        PolicyName="look",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
    )


def _rules() -> None:
    events = boto3.client("events", REGION)
    intake = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:unthrottle-intake"
    for logical, name in RULES.items():
        kind = "CloudWatch Alarm State Change" if "Alarm" in logical else "CloudWatch Alarm Contributor State Change"
        events.put_rule(Name=name, EventPattern=json.dumps({"source": ["aws.cloudwatch"], "detail-type": [kind]}))
        events.put_targets(Rule=name, Targets=[{"Id": "intake", "Arn": intake}])
    events.create_event_bus(Name=HUB_BUS)
    events.put_rule(Name=HUB_RULE, EventBusName=HUB_BUS, EventPattern=json.dumps({"source": ["aws.cloudwatch"]}))
    events.put_targets(Rule=HUB_RULE, EventBusName=HUB_BUS, Targets=[{"Id": "Intake", "Arn": intake}])
