"""Which other accounts does the bot look after here, and how do their alarms reach it? `member.yaml`, as deployed there.

Every member is an account with loads, metrics and alarms of its own. Its events go the way the two templates say: its
forwarding rule, the right of that rule's role, the policy of the hub's bus, the hub's rule. An account may not be set up, or
be closed, from some minute on.

AWS facts kept: a rule's target in another account needs the role's right and the bus's policy (EventBridge user guide, "Sending
and receiving events between AWS accounts"); a role that is not there is AccessDenied. That a suspended account's roles cannot
be assumed, and that its sessions end in AccessDenied, is an assumption: no page of AWS's names the error.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sandbox.aws.alarm_definitions import from_template
from sandbox.aws.alarms import AlarmEvaluator
from sandbox.aws.calls import Answer, Refuse, Request, Respond
from sandbox.aws.cloudwatch_api import CloudWatchApi
from sandbox.aws.cloudwatch_store import MetricStore
from sandbox.aws.eventbridge import Bus, matches
from sandbox.aws.iam import SERVICE_CONTROL, MemberSide, Role
from sandbox.aws.iam_policy import Allowed, Asked, Statement, judge, parse
from sandbox.dagy import DagyState
from sandbox.model.world import HISTORY_MINUTES, World
from sandbox.rehearsal.furnish import furnished
from sandbox.rehearsal.parameters import CONCURRENCY_ALARM_SHARE
from sandbox.rehearsal.stack import Stack
from sandbox.scenario import Scenario
from sandbox.scenario.format import Member, MemberState

MEMBER_TEMPLATE = Path(__file__).resolve().parents[2] / "member.yaml"
EXTERNAL_ID = "sandbox-external-id"
ROLES = ("ObserverRole", "ActorRole")
_ROLE = re.compile(r"^arn:[^:]+:iam::(\d{12}):role/")


def supplied(members: Sequence[Member]) -> dict[str, str]:
    """The parameters of the hub that the sandbox gives for its members; the scenario's own word counts more."""
    if not members:
        return {}
    ids = dict.fromkeys(member.account.id for member in members)
    regions = dict.fromkeys(member.account.region for member in members)
    return {"MemberAccounts": ",".join(ids), "MemberRegions": ",".join(regions), "ExternalId": EXTERNAL_ID}


class Neighbour:
    """One member account in one Region. *scenario* is the whole one, *hub* the bot's own stack."""

    def __init__(self, scenario: Scenario, member: Member, hub: Stack) -> None:
        self.member, self.scenario = member, scenario.of_member(member)
        self._start, self._home, self._hub = scenario.start, scenario.account, hub
        self.account = furnished(self.scenario)
        self.account.calendar_state = "OPEN" if scenario.account.change_calendar == "open" else "CLOSED"
        self.store = MetricStore(
            scenario.start, scenario.minutes, history=HISTORY_MINUTES, delay_minutes=scenario.metric_delay_minutes
        )
        self.stack = Stack(MEMBER_TEMPLATE, self._parameters(scenario), account=self.place[0], region=self.place[1])
        self.world = World(self.scenario, self.account, self.store, DagyState(()))
        resources = self.stack.resources if member.alarms == "default" else {}
        self.alarms = AlarmEvaluator(from_template(resources), self.store, *self.place)
        self.cloudwatch = CloudWatchApi(self.store, account_id=self.place[0], region=self.place[1], alarms=self.alarms)

    @property
    def place(self) -> tuple[str, str]:
        """Its account id and Region."""
        return self.member.place

    @property
    def roles(self) -> dict[str, Role]:
        """The roles that member.yaml makes here, by logical id: in RolesRegion only, the Actor only where it may act."""
        return {key: role for key, role in self.stack.roles.items() if key in ROLES}

    @property
    def side(self) -> MemberSide:
        """What the policy gate has to know of it."""
        denies = tuple(
            Statement(label=SERVICE_CONTROL, allows=False, actions=(action,), resources=("*",))
            for action in self.member.denies
        )
        names = {key.removesuffix("Role").lower(): role for key, role in self.roles.items()}
        return MemberSide(account=self.account, roles=names, denies=denies)

    def state(self, now: datetime) -> MemberState:
        """Say how the account is now."""
        return self.member.state.at(int((now - self._start) // timedelta(minutes=1)))

    def has_role(self, arn: str, now: datetime) -> bool:
        """Whether a role can be assumed here now."""
        return self.state(now) == "ready" and any(role.arn == arn for role in self.roles.values())

    def handle(self, request: Request) -> Refuse | None:
        """Refuse the sessions of an account that was closed, or whose roles are gone; leave every other call."""
        if request.account != self.place[0] or request.account == self._home.id or self.state(request.now) == "ready":
            return None
        who = f"arn:aws:sts::{request.account}:assumed-role/{request.role}/{request.session_name}"
        return Refuse(
            code="AccessDenied" if request.service == "cloudwatch" else "AccessDeniedException",
            message=f"User: {who} is not authorized to perform: {request.service}:{request.operation}",
        )

    def forward(self, event: Mapping[str, Any], buses: Mapping[str, Bus], now: datetime) -> list[str]:
        """Put an event on this account's default bus; return the functions of the hub that get it."""
        if self.state(now) in {"not-set-up", "suspended"}:
            return []
        rule = self.stack.resources["ForwardingRule"]["Properties"]
        if not matches(rule["EventPattern"], event):
            return []
        role, found = self.stack.roles["ForwardingRole"], []
        for target in rule["Targets"]:
            context = {"events:source": str(event.get("source")), "aws:PrincipalOrgID": self._organization}
            asked = Asked(action="events:PutEvents", resource=target["Arn"], context=context, principal=role.arn)
            sides = (role.statements, self._bus_policy())
            bus = buses.get(str(target["Arn"]).rsplit("/", 1)[-1])
            if bus is not None and all(isinstance(judge(side, asked), Allowed) for side in sides):
                found += bus.put(event)
        return found

    @property
    def _organization(self) -> str:
        return self._hub.parameter("OrganizationId") or "o-sandboxorg1"

    def _bus_policy(self) -> tuple[Statement, ...]:
        policy = self._hub.resources.get("HubBusPolicy")
        return () if policy is None else parse({"Statement": policy["Properties"]["Statement"]}, "HubBusPolicy")

    def _parameters(self, scenario: Scenario) -> dict[str, object]:
        """The parameters of member.yaml. One Region of each account makes its roles; those of the hub are the hub's."""
        account = self.place[0]
        regions = [one.account.region for one in scenario.members if one.account.id == account]
        threshold = max(1, int(self.account.concurrency_limit * CONCURRENCY_ALARM_SHARE))
        home = scenario.account
        given: dict[str, object] = {
            "HubAccount": home.id,
            "HubBusArn": f"arn:aws:events:{home.region}:{home.id}:event-bus/unthrottle-hub",
            "ExternalId": self._hub.parameter("ExternalId"),
            "Mode": self.member.mode or self._hub.parameter("Mode"),
            "RolesRegion": home.region if account == home.id else regions[0],
            "ConcurrencyAlarmThreshold": threshold,
            "ChangeCalendarArn": self._hub.parameter("ChangeCalendarArn"),
        }
        return given


class Neighbourhood:
    """All members of a scenario, as a whole."""

    def __init__(self, scenario: Scenario, hub: Stack) -> None:
        self.all = [Neighbour(scenario, member, hub) for member in scenario.members]

    def known(self, arn: str, now: datetime) -> bool:
        """Whether a role of a member account can be assumed now."""
        return any(one.has_role(arn, now) for one in self.all)

    def handle(self, request: Request) -> Answer | None:
        """Say that no alarm rings in a Region in which nothing of a member is; leave every other call."""
        is_elsewhere = any(request.account == one.place[0] for one in self.all)
        if request.call != "cloudwatch.DescribeAlarms" or not is_elsewhere:
            return None
        return Respond(parsed={"MetricAlarms": [], "CompositeAlarms": []})

    @property
    def role_names(self) -> dict[str, str]:
        """By which name each role goes in reports, by its ARN."""
        return {role.arn: key.removesuffix("Role").lower() for one in self.all for key, role in one.roles.items()}
