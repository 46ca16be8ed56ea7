"""What comes of an incident when a given bot, or nobody, looks after the account?

Everybody gets the same account, load, metrics, delay and alarms, and calls the same AWS through real boto3. Unthrottle is
played by `sandbox.rehearsal`, as deployed; a rival is a function that is called when the first alarm goes off, and where
it changed nothing once more five minutes later. That is kind to those who really run by a schedule.

Everybody is judged by one rule, on what they changed and on what the account was like, not on what they say.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any

import boto3
from moto import mock_aws

from bench.documents import scenario as loaded
from bench.incidents import BEGINS, ENDS, Fix, Generated, Truth
from sandbox.aws.alarm_definitions import AlarmDefinition, from_template
from sandbox.aws.alarms import AlarmEvaluator
from sandbox.aws.cloudwatch_api import CloudWatchApi
from sandbox.aws.cloudwatch_store import MetricStore
from sandbox.aws.gate import Call, Gate
from sandbox.dagy import DagyState, PlannedBackfill
from sandbox.model.world import HISTORY_MINUTES, TickFacts, World
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.furnish import furnished
from sandbox.rehearsal.isolation import isolated, simulated_time
from sandbox.rehearsal.output import final_state, plain
from sandbox.rehearsal.parameters import TEMPLATE, deployed
from sandbox.rehearsal.rehearse import Rehearsal
from sandbox.rehearsal.stack import Stack
from sandbox.scenario import Scenario

LOOKS, LOOK_EVERY = 2, 5
"""A rival looks when the alarm goes off, and where it changed nothing once more five minutes later."""
CALM_MINUTES = 3
"""Minutes without a throttle, right before the pressure ends by itself, that make an incident healed."""
OURS = "Unthrottle"

_FIXES: Mapping[str, Fix] = {
    "lambda.PutFunctionConcurrency": "limit-function",
    "lambda.DeleteFunctionConcurrency": "limit-function",
    "lambda.UpdateEventSourceMapping": "limit-function",
    "dynamodb.UpdateTable": "more-capacity",
    "application-autoscaling.RegisterScalableTarget": "more-capacity",
}

Rival = Callable[[], str | None]
"""Looks at the account through boto3, changes what it thinks right, and answers the cause it found, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One change that was made: which kind of fix, to what."""

    fix: Fix
    target: str
    minute: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of one incident."""

    kind: str
    cause: str | None
    right_cause: bool
    right_target: bool | None
    """None where nothing should be changed."""
    harmful: tuple[str, ...]
    healed: bool | None
    """None where there is no safe fix."""
    alarm_minute: int | None
    acted_minute: int | None
    throttled_minutes: int
    """Minutes of the incident, after the alarm, in which anything but a rightly limited function was throttled."""
    not_given_back: int
    """Changes in force at the end that nothing will ever take back."""
    held: int
    """Changes in force at the end under a lease that has an end."""
    calls: int
    recovered_minute: int | None = None


@dataclass(slots=True)
class _Watched:
    """Who was throttled, minute by minute."""

    minutes: dict[int, frozenset[str]] = field(default_factory=dict)

    def note(self, facts: TickFacts) -> None:
        self.minutes[facts.minute] = frozenset((*facts.throttled_functions, *facts.throttled_tables))

    def suffering(self, minute: int, spared: frozenset[str]) -> bool:
        return bool(self.minutes.get(minute, frozenset()) - spared)


def play_ours(generated: Generated) -> Played:
    """Let Unthrottle, as it is deployed, look after the account."""
    scenario, watched = loaded(generated.document), _Watched()

    def watch(_: Rehearsal, facts: TickFacts) -> None:
        watched.note(facts)

    outcome = rehearse(scenario, watch=watch)
    made = ((call["call"], call["parameters"], call["result"], call["minute"]) for call in outcome["mutations"])
    changed = _changes(scenario, made)
    cancels = [call for call in outcome["dagy_calls"] if call["method"] == "POST" and call["status"] == 202]
    changed += [
        Changed(fix="cancel-backfill", target=call["path"].split("/")[-2], minute=call["minute"]) for call in cancels
    ]
    incidents = outcome["incidents"]
    cause = incidents[0]["cause"] if incidents else None
    return _judged(
        generated.truth,
        cause=cause,
        changed=changed,
        watched=watched,
        alarm=incidents[0]["opened_minute"] if incidents else None,
        kept=_differences(scenario, outcome["final"]),
        held=any(one["status"] == "applied" and one["closed_minute"] is None for one in incidents),
        calls=sum(outcome["aws_calls_until_action"].values()),
        recovered=incidents[0]["recovered_minute"] if incidents else None,
    )


def play_rival(generated: Generated, rival: Rival) -> Played:
    """Let a rival look after the account."""
    scenario = loaded(generated.document)
    with simulated_time(scenario.start) as clock, isolated(), mock_aws(), credentials():
        stage = Stage(scenario)
        watched, causes = _Watched(), list[str | None]()
        looks = {look * LOOK_EVERY for look in range(LOOKS)}
        alarm: int | None = None
        with stage.gate:
            for minute in range(scenario.minutes):
                clock.move_to(scenario.start + timedelta(minutes=minute, seconds=10))
                fired = any(
                    _is_alarm(event) for event in stage.alarms.evaluate(scenario.start + timedelta(minutes=minute))
                )
                if fired and alarm is None:
                    alarm = minute
                if alarm is not None and minute - alarm in looks and not _has_changed(stage.gate):
                    causes.append(rival())
                watched.note(stage.world.tick(minute))
        made = ((call.call, call.parameters, call.result, call.minute) for call in stage.gate.calls)
        changed = _changes(scenario, made)
        return _judged(
            generated.truth,
            cause=next((cause for cause in causes if cause is not None), None),
            changed=changed,
            watched=watched,
            alarm=alarm,
            kept=_differences(scenario, final_state(stage.account)),
            calls=calls_until_action(stage.gate.calls),
        )


class Stage:
    """The embedded account of a scenario, without a bot. Make it inside simulated time, isolation and moto."""

    def __init__(self, scenario: Scenario) -> None:
        self.account = furnished(scenario)
        self.store = MetricStore(
            scenario.start, scenario.minutes, history=HISTORY_MINUTES, delay_minutes=scenario.metric_delay_minutes
        )
        self.dagy = DagyState(
            PlannedBackfill(
                id=one.id,
                flow=one.flow,
                environment=one.environment,
                requested_by=one.requested_by,
                start=one.start,
                end=one.end,
                runs_total=one.runs_total,
                dispatch_rate_per_minute=one.dispatch_rate_per_minute,
                writes=one.writes,
            )
            for one in scenario.dagy.backfills
        )
        self.world = World(scenario, self.account, self.store, self.dagy)
        given = scenario.account
        definitions = list(_alarms(given.concurrency_limit, given.id, given.region))
        self.alarms = AlarmEvaluator(definitions, self.store, given.id, given.region)
        cloudwatch = CloudWatchApi(self.store, account_id=given.id, region=given.region, alarms=self.alarms)
        self.gate = Gate(start=scenario.start, handlers=[cloudwatch.handle, *self.account.handlers])


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


def calls_until_action(calls: Iterable[Call]) -> int:
    """Count the calls before the first one that changes a function or a table; all where there is none."""
    count = 0
    for call in calls:
        if call.call in _FIXES:
            break
        count += 1
    return count


def _has_changed(gate: Gate) -> bool:
    return any(call.call in _FIXES and call.result == "ok" for call in gate.calls)


def _is_alarm(event: Mapping[str, Any]) -> bool:
    return bool(event["detail"]["state"]["value"] == "ALARM")


def _changes(scenario: Scenario, calls: Iterable[tuple[str, Mapping[str, Any], str, int]]) -> list[Changed]:
    """List the changes of functions and tables that AWS made. A change of an event source is one of its function."""
    owners = {mapping.uuid: mapping.function_name for mapping in furnished(scenario).mappings.values()}
    found = []
    for call, given, result, minute in calls:
        fix = _FIXES.get(call)
        if fix is None or result != "ok":
            continue
        names = ("UUID", "FunctionName", "TableName", "ResourceId")
        target = next(str(given[name]) for name in names if given.get(name))
        target = owners.get(target, target)
        target = target.rsplit(":", 1)[-1] if ":function:" in target else target.removeprefix("table/")
        found.append(Changed(fix=fix, target=target, minute=minute))
    return found


def _differences(scenario: Scenario, final: Mapping[str, Any]) -> int:
    """Count the functions and tables that are not as they were at the start."""
    with simulated_time(scenario.start):
        before = final_state(furnished(scenario))
    return sum(
        before[part][name] != plain(final[part][name]) for part in ("functions", "tables") for name in before[part]
    )


def _judged(
    truth: Truth,
    *,
    cause: str | None,
    changed: list[Changed],
    watched: _Watched,
    alarm: int | None,
    kept: int,
    calls: int,
    held: bool = False,
    recovered: int | None = None,
) -> Played:
    right = [one for one in changed if one.fix == truth.fix and one.target in truth.targets]
    harmful = tuple(f"{one.fix} on {one.target}" for one in changed if one not in right)
    limited = frozenset(one.target for one in right if one.fix == "limit-function")
    spared = limited | (truth.targets if limited else frozenset())
    since = BEGINS if alarm is None else alarm
    throttled = sum(watched.suffering(minute, spared) for minute in range(since, ENDS))
    calm = not any(watched.suffering(minute, spared) for minute in range(ENDS - CALM_MINUTES, ENDS))
    has_fix = truth.fix is not None
    hit = {one.target for one in right}
    whole = len(hit) >= len(truth.targets)
    return Played(
        kind=truth.kind,
        cause=cause,
        right_cause=cause == truth.cause or (cause == "already-over" and truth.cause is None),
        right_target=(whole and not harmful) if has_fix else None,
        harmful=harmful,
        healed=(calm and whole and not harmful) if has_fix else None,
        alarm_minute=alarm,
        acted_minute=min((one.minute for one in changed), default=None),
        throttled_minutes=throttled,
        not_given_back=0 if held else kept,
        held=kept if held else 0,
        calls=calls,
        recovered_minute=recovered,
    )
