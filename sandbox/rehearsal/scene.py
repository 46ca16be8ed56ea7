"""What stands ready before the first minute: the account, the stand-ins, and the bot as the template deploys it?

Builds everything a rehearsal needs for one scenario and joins it. Must be made inside simulated time and inside moto.
Knows nothing of the order in which things happen.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Literal

import boto3

from sandbox.aws.alarm_definitions import from_template
from sandbox.aws.alarms import AlarmEvaluator
from sandbox.aws.cloudwatch_api import CloudWatchApi
from sandbox.aws.cloudwatch_store import MetricStore
from sandbox.aws.eventbridge import Bus
from sandbox.aws.gate import Fault, Gate, Identity
from sandbox.aws.iam import PolicyGate
from sandbox.dagy import DagyStandIn, DagyState
from sandbox.engine.api import DurableFunctionApi
from sandbox.engine.durable import DurableService
from sandbox.engine.simulated import SimulatedService
from sandbox.line import Line
from sandbox.model.world import HISTORY_MINUTES, World
from sandbox.rehearsal.furnish import furnished, planned
from sandbox.rehearsal.hosts import FunctionHost
from sandbox.rehearsal.isolation import now
from sandbox.rehearsal.members import Neighbourhood, supplied
from sandbox.rehearsal.parameters import TEMPLATE, deployed, in_words
from sandbox.rehearsal.stack import Stack
from sandbox.scenario import Scenario
from sandbox.slack import SlackStandIn
from sandbox.slack_people import SlackPeople
from unthrottle.ports import Run

EngineName = Literal["simulated", "durable"]

SIGNING_SECRET = "sandbox-signing-secret"  # noqa: S105  opens nothing but this sandbox
DAGY_TIMEOUT_S = "0.3"
"""How long the bot waits for dagy here: a slow answer is one that does not come in time, however long that is."""


class Scene:
    """Everything of one scenario. *settings* are checked already."""

    def __init__(self, scenario: Scenario, settings: Mapping[str, object], engine: EngineName) -> None:
        self.scenario, self.start = scenario, scenario.start
        self._region, self._account_id = scenario.account.region, scenario.account.id
        self.account = furnished(scenario)
        self.store = MetricStore(
            scenario.start, scenario.minutes, history=HISTORY_MINUTES, delay_minutes=scenario.metric_delay_minutes
        )
        state = DagyState(planned(scenario, ends=scenario.minutes + 1))  # one without an end outlives the scenario
        self.dagy = DagyStandIn(state, start=scenario.start, now=now, api=scenario.dagy.api)
        channel = str(settings.get("SlackChannel") or "C0OPS")
        self.slack = SlackStandIn(
            start=scenario.start, now=now, mode=scenario.slack.steps, channel=channel, also=_channels(settings)
        )
        self.hands = SlackPeople(secret=SIGNING_SECRET, team=self.slack.team, channel=channel)
        self.stack = Stack(
            TEMPLATE,
            deployed(
                settings, {**self._supplied(channel), **supplied(scenario.members)}, scenario.account.concurrency_limit
            ),
            account=self._account_id,
            region=self._region,
        )
        self.neighbours = Neighbourhood(scenario, self.stack)
        self.hosts = {key: self._host(key) for key in self.stack.functions}
        self.function_in = {host.function.folder.name: key for key, host in self.hosts.items()}
        """Logical ids by the name of the folder: intake, respond, slack, sweep, audit."""
        self.own_tables = frozenset(self._create_tables())
        self.world = World(scenario, self.account, self.store, self.dagy.state)
        self.alarms = self._evaluator()
        self.executions = self._make_engine(engine)
        self.policies = self._make_policies()
        faults = [
            (one.is_of_aws, Fault(call=one.call, nth=one.nth, times=one.times, error=one.error))
            for one in scenario.faults
        ]
        for account in (self.account, *(one.account for one in self.neighbours.all)):
            account.hides_tags = self.policies.hides_tags
        self.gate = self._make_gate([fault for is_of_aws, fault in faults if is_of_aws])
        self.line = Line(
            origins={self.slack.base_url: "slack", self.dagy.base_url: "dagy"},
            faults=[fault for is_of_aws, fault in faults if not is_of_aws],
            mark=lambda: len(self.gate.calls),
        )
        rules = self.stack.rules
        self.bus = Bus([(rule.pattern, rule.target) for rule in rules if rule.bus is None])
        self.buses = {
            name: Bus([(rule.pattern, rule.target) for rule in rules if rule.bus == name])
            for name in {rule.bus for rule in rules if rule.bus is not None}
        }
        """The stack's own buses by name, for events of other accounts."""

    def _supplied(self, channel: str) -> dict[str, str]:
        """Make what the sandbox supplies: secrets and the escalation topic."""
        secrets = boto3.client("secretsmanager", region_name=self._region)
        slack = {
            "bot_token": self.slack.token,
            "signing_secret": SIGNING_SECRET,
            "previous_signing_secret": "",
            "team_id": self.slack.team,
            "app_id": self.hands.app,
        }
        topic = boto3.client("sns", region_name=self._region).create_topic(Name="on-call")
        return {
            "SlackChannel": channel,
            "SlackSecretArn": secrets.create_secret(Name="unthrottle/slack", SecretString=json.dumps(slack))["ARN"],
            "DagyApiUrl": self.dagy.base_url,
            "DagySecretArn": secrets.create_secret(
                Name="unthrottle/dagy", SecretString=json.dumps({"token": self.dagy.token})
            )["ARN"],
            "EscalationTopicArn": topic["TopicArn"],
        }

    def _create_tables(self) -> list[str]:
        client = boto3.client("dynamodb", region_name=self._region)
        for parameters in self.stack.tables.values():
            client.create_table(**parameters)
        return [str(parameters["TableName"]) for parameters in self.stack.tables.values()]

    def _host(self, logical_id: str) -> FunctionHost:
        letters = "".join(letter for letter in logical_id.upper() if letter.isalpha())
        return FunctionHost(
            self.stack.functions[logical_id],
            access_key=f"ASIA{letters:A<16.16}",
            region=self._region,
            account=self._account_id,
            extra={
                "UNTHROTTLE_SLACK_API_URL": self.slack.base_url,
                "UNTHROTTLE_DAGY_TIMEOUT_S": DAGY_TIMEOUT_S,
            },
        )

    def _evaluator(self) -> AlarmEvaluator:
        resources = self.stack.resources if self.scenario.alarms == "default" else {}
        # Alarms with actions of their own are about the bot's health and call a person; nothing here measures the bot.
        wanted = {key: one for key, one in resources.items() if "AlarmActions" not in one["Properties"]}
        return AlarmEvaluator(from_template(wanted), self.store, self._account_id, self._region)

    def _make_engine(self, engine: EngineName) -> "SimulatedService | DurableService":
        function = self.stack.functions[self.function_in["respond"]]
        properties = self.stack.resources[function.logical_id]["Properties"]
        life = timedelta(seconds=int(properties["DurableConfig"]["ExecutionTimeout"]))
        host = self.hosts[function.logical_id]
        if engine == "durable":
            return DurableService(host.invoke, clock=now, function_arn=function.arn, life=life, restarted=host.die)
        return SimulatedService(self._respond, clock=now, function_arn=function.arn, life=life, restarted=host.die)

    def _respond(self, run: Run, event: dict[str, object]) -> object:
        """Enter the workflow below its handler, whose first line needs the durable SDK."""
        from unthrottle.entry.respond import Respond  # noqa: PLC0415  a process loads it when it is called

        host = self.hosts[self.function_in["respond"]]
        return host.call("respond", Respond.from_environment, lambda respond: respond.handle(run, event))

    def _make_policies(self) -> PolicyGate:
        """Let every call be judged by the policies of the template: a right that is missing shows in the rehearsal."""
        roles = self.stack.roles
        by_name = {host.function.folder.name: f"{key}Role" for key, host in self.hosts.items()}
        by_name |= {key.removesuffix("Role").lower(): key for key in set(roles) - set(by_name.values())}
        return PolicyGate(
            {name: roles[key] for name, key in by_name.items() if key in roles},
            self.account,
            durable_function_arn=self.stack.functions[self.function_in["respond"]].arn,
            members=[one.side for one in self.neighbours.all],
        )

    def _make_gate(self, faults: Sequence[Fault]) -> Gate:
        function = self.stack.functions[self.function_in["respond"]]
        cloudwatch = CloudWatchApi(self.store, account_id=self._account_id, region=self._region, alarms=self.alarms)
        own = [self.executions] if isinstance(self.executions, DurableService) else []
        roles = self.stack.role_arns
        arns = frozenset(roles.values())
        names = {arn: key.removesuffix("Role").lower() for key, arn in roles.items()} | self.neighbours.role_names
        gate = Gate(
            start=self.start,
            handlers=[
                self.policies.handle,
                *(one.handle for one in self.neighbours.all),
                *own,
                DurableFunctionApi(self.executions, function=function.name),
                cloudwatch.handle,
                *self.account.handlers,
                *(handler for one in self.neighbours.all for handler in (one.cloudwatch.handle, *one.account.handlers)),
                self.neighbours.handle,
            ],
            faults=faults,
            known_roles=lambda arn: arn in arns or self.neighbours.known(arn, now()),
            logical_roles=names,
            clock=now,
        )
        for host in self.hosts.values():
            name = host.function.folder.name
            gate.introduce(host.access_key, Identity(role=name, account=self._account_id))
        return gate


def _channels(settings: Mapping[str, object]) -> list[str]:
    """Name the channels to which accounts are routed; the app is in all of them."""
    return [entry.split("=", 1)[1] for entry in in_words(settings.get("SlackChannels", "")).split(",") if "=" in entry]
