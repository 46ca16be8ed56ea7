"""In which account do the rivals play? A scenario's, with its load, metrics and alarms, and without a bot.

It can be copied at any moment, so that the part of an incident that is the same for everybody is played once.
"""

import contextlib
import copy
import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import boto3

from sandbox.aws.alarm_definitions import AlarmDefinition, from_template
from sandbox.aws.alarms import AlarmEvaluator
from sandbox.aws.cloudwatch_api import CloudWatchApi
from sandbox.aws.cloudwatch_store import MetricStore
from sandbox.aws.gate import Gate
from sandbox.dagy import DagyState
from sandbox.model.world import HISTORY_MINUTES, World
from sandbox.rehearsal import furnish
from sandbox.rehearsal.parameters import TEMPLATE, deployed
from sandbox.rehearsal.stack import Stack
from sandbox.scenario import Scenario


class Stage:
    """The embedded account of a scenario. Make it, and its copies, inside simulated time, isolation and moto."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.account = furnish.furnished(scenario)
        self.store = MetricStore(
            scenario.start, scenario.minutes, history=HISTORY_MINUTES, delay_minutes=scenario.metric_delay_minutes
        )
        self.dagy = DagyState(furnish.planned(scenario))
        self.world = World(scenario, self.account, self.store, self.dagy)
        given = scenario.account
        definitions = _alarms(given.concurrency_limit, given.id, given.region) if scenario.alarms == "default" else ()
        self.alarms = AlarmEvaluator(list(definitions), self.store, given.id, given.region)
        self.gate = self._guarded()

    def copied(self) -> "Stage":
        """Copy the account, its metrics and alarms as they are; from now on each goes its own way.

        What nobody here changes is shared: the load, and dagy, which no rival talks to.
        """
        kept = (self.scenario, self.dagy, *self.world.pool.specs, *self.scenario.tables)
        parts = (self.account, self.store, self.world, self.alarms)
        other = copy.copy(self)
        other.account, other.store, other.world, other.alarms = copy.deepcopy(parts, {id(one): one for one in kept})
        other.gate = other._guarded()  # noqa: SLF001  its own kind
        return other

    def change_from_outside(self, minute: int, now: datetime) -> None:
        """Change what others change in *minute*."""
        for change in self.scenario.outside:
            if change.at == minute:
                furnish.change(self.account, change.set, now)

    def alerts(self, minute: int, now: datetime) -> bool:
        """Evaluate the alarms; whether one goes off, or the scenario sends an alarm of its own."""
        sent = [extra.event for extra in self.scenario.events if extra.at == minute and extra.event is not None]
        return any(map(_is_alarm, [*self.alarms.evaluate(now), *sent]))

    def _guarded(self) -> Gate:
        given = self.scenario.account
        cloudwatch = CloudWatchApi(self.store, account_id=given.id, region=given.region, alarms=self.alarms)
        return Gate(start=self.scenario.start, handlers=[cloudwatch.handle, *self.account.handlers])


def _is_alarm(event: Mapping[str, Any]) -> bool:
    detail = event.get("detail", {})
    return bool(detail.get("state", {}).get("value") == "ALARM")


@cache
def _alarms(limit: int, account: str, region: str) -> tuple[AlarmDefinition, ...]:
    """The alarms that the template makes; everybody is called by the same ones."""
    stack = Stack(
        TEMPLATE,
        deployed({}, {"SlackChannel": "C0OPS", "SlackSecretArn": "", "EscalationTopicArn": ""}, limit),
        account=account,
        region=region,
    )
    wanted = {key: one for key, one in stack.resources.items() if "AlarmActions" not in one["Properties"]}
    return tuple(from_template(wanted))


@contextlib.contextmanager
def credentials(region: str = "eu-west-1") -> Iterator[None]:
    """Work in *region*, with the made-up keys that moto sets, in a session of its own."""
    session, boto3.DEFAULT_SESSION = boto3.DEFAULT_SESSION, None
    before = {name: os.environ.get(name) for name in ("AWS_DEFAULT_REGION", "AWS_REGION")}
    os.environ.update(dict.fromkeys(before, region))
    try:
        yield
    finally:
        boto3.DEFAULT_SESSION = session
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
