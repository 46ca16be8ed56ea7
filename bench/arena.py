"""What comes of an incident when a given bot, or nobody, looks after the account?

Everybody gets the same account, load, metrics, delay and alarms, and calls the same AWS through real boto3. Unthrottle is
played by `sandbox.rehearsal`, as deployed; a rival is a function that is called when the first alarm goes off, and where
it changed nothing once more five minutes later. That is kind to those who really run by a schedule.

Everybody is judged by one rule, on what they changed and on what the account was like, not on what they say.
"""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import time_machine
from moto import mock_aws

from bench.documents import scenario as loaded
from bench.incidents import BEGINS, ENDS, Fix, Generated, Truth
from bench.stage import Stage, credentials
from sandbox.aws.gate import Call
from sandbox.model.world import TickFacts
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.isolation import isolated, now, simulated_time
from sandbox.rehearsal.output import final_state, plain
from sandbox.rehearsal.rehearse import Rehearsal
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
_READS = ("Get", "List", "Describe")
_SECOND_OF_ALARMS = 10

Document = dict[str, Any]
Rival = Callable[[], str | None]
"""Looks at the account through boto3, changes what it thinks right, and answers the cause it found, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What is played: a scenario, what is true about it, and when the pressure ends by itself, in minutes."""

    scenario: Scenario
    truth: Truth
    begins: int
    ends: int | None
    """None: where nobody acts, one minute after the last throttle."""


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
    """None where there is no safe fix, or no time to see it work."""
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


def field_of(generated: Generated) -> Field:
    """Say what is played of a generated incident."""
    return Field(scenario=loaded(generated.document), truth=generated.truth, begins=BEGINS, ends=ENDS)


def play_all(played: Field, rivals: Mapping[str, Rival]) -> tuple[dict[str, Played], Document]:
    """Play one incident with everybody, Unthrottle first; also answers the outcome of Unthrottle's rehearsal."""
    found, course = _play_rivals(played, rivals)
    ours, outcome = _play_ours(played, course)
    return {OURS: ours, **found}, outcome


def play_ours(generated: Generated) -> Played:
    """Let Unthrottle look after the account."""
    return play_all(field_of(generated), {})[0][OURS]


def play_rival(generated: Generated, rival: Rival) -> Played:
    """Let a rival look after the account."""
    return _play_rivals(field_of(generated), {"rival": rival})[0]["rival"]


def _play_ours(played: Field, nobody: "_Course") -> tuple[Played, Document]:
    """Let Unthrottle, as it is deployed, look after the account."""
    watched = _Watched()

    def watch(_: Rehearsal, facts: TickFacts) -> None:
        watched.note(facts)

    outcome = rehearse(played.scenario, watch=watch)
    made = ((call["call"], call["parameters"], call["result"], call["minute"]) for call in outcome["mutations"])
    cancels = [call for call in outcome["dagy_calls"] if call["method"] == "POST" and call["status"] == 202]
    changed = _changes(nobody.owners, made) + [
        Changed(fix="cancel-backfill", target=call["path"].split("/")[-2], minute=call["minute"]) for call in cancels
    ]
    incidents = outcome["incidents"]
    judged = _judged(
        played,
        nobody,
        cause=incidents[0]["cause"] if incidents else None,
        changed=changed,
        watched=watched,
        alarm=incidents[0]["opened_minute"] if incidents else None,
        kept=_differences(nobody.untouched, outcome["final"]),
        held=any(one["status"] == "applied" and one["closed_minute"] is None for one in incidents),
        calls=sum(outcome["aws_calls_until_action"].values()),
        recovered=incidents[0]["recovered_minute"] if incidents else None,
    )
    return judged, outcome


def _play_rivals(played: Field, rivals: Mapping[str, Rival]) -> tuple[dict[str, Played], "_Course"]:
    """Let each rival look after the account, as if the others were not there; also answers how it goes with nobody.

    Until a rival changes something, it has what everybody has. That is played once, and copied for who changes something.
    """
    scenario = played.scenario
    with simulated_time(scenario.start) as clock, isolated(), mock_aws(), credentials(scenario.account.region):
        trunk = _Course(Stage(scenario), clock)
        players = {name: _Player(rival) for name, rival in rivals.items()}
        for minute in range(_last(played)):
            trunk.begin(minute)
            if trunk.is_look(minute):
                spare = trunk.copied()
                for player in [one for one in players.values() if one.course is trunk or one.course is None]:
                    player.look(spare)
                    player.course = trunk
                    if player.has_touched:
                        player.course, spare = spare, trunk.copied()
            trunk.serve(minute)
        trunk.end()
        last = _last(played) if _moves_by_itself(scenario) else played.ends or trunk.calm_from
        found = {}
        for name, player in players.items():
            course = player.course or trunk
            if course is not trunk:
                _go_on(player, course, last)
            found[name] = _judged(
                played,
                trunk,
                cause=next((cause for cause in player.causes if cause is not None), None),
                changed=player.changes(trunk.owners),
                watched=course.watched,
                alarm=trunk.alarm,
                kept=_differences(trunk.untouched, final_state(course.stage.account)),
                calls=calls_until_action(player.calls),
            )
        return found, trunk


def _go_on(player: "_Player", course: "_Course", last: int) -> None:
    """Play on alone, from the minute in which the player looked."""
    now = course.minute
    course.serve(now)
    for minute in range(now + 1, last):
        course.begin(minute)
        if course.is_look(minute) and not player.has_changed:
            player.look(course)
        course.serve(minute)
    course.end()


def _last(played: Field) -> int:
    """How many minutes are played. What comes after the pressure is of no interest where nobody gives anything back."""
    if played.ends is None or _moves_by_itself(played.scenario):
        return played.scenario.minutes
    return min(played.ends, played.scenario.minutes)


def _moves_by_itself(scenario: Scenario) -> bool:
    """Whether the account may change without a rival: by other people, or by autoscaling."""
    scaled = any(table.autoscaling or any(index.autoscaling for index in table.indexes) for table in scenario.tables)
    return bool(scenario.outside) or scaled


class _Course:
    """One way in which it goes, minute by minute."""

    def __init__(self, stage: Stage, clock: time_machine.Traveller) -> None:
        self.stage, self._clock = stage, clock
        self.watched = _Watched()
        self.minute = 0
        self.alarm: int | None = None
        self.owners = {mapping.uuid: mapping.function_name for mapping in stage.account.mappings.values()}
        self.untouched = _kept(final_state(stage.account))
        """What functions and tables are like where nobody acts: at the start, unless others change them."""

    @property
    def calm_from(self) -> int:
        """The minute after the last in which anybody was throttled."""
        return 1 + max((minute for minute, who in self.watched.minutes.items() if who), default=0)

    def copied(self) -> "_Course":
        """Copy it as it is."""
        other = copy.copy(self)
        other.stage, other.watched = self.stage.copied(), _Watched(minutes=dict(self.watched.minutes))
        return other

    def begin(self, minute: int) -> None:
        """Begin a minute: others change the account, and alarms may go off."""
        self.minute, start = minute, self.stage.scenario.start
        self._clock.move_to(start + timedelta(minutes=minute, seconds=_SECOND_OF_ALARMS))
        self.stage.change_from_outside(minute, now())
        # Once everybody has looked, an alarm calls nobody.
        over = self.alarm is not None and minute > self.alarm + (LOOKS - 1) * LOOK_EVERY
        if not over and self.stage.alerts(minute, start + timedelta(minutes=minute)) and self.alarm is None:
            self.alarm = minute

    def is_look(self, minute: int) -> bool:
        """Whether rivals look in this minute."""
        return self.alarm is not None and minute - self.alarm in {look * LOOK_EVERY for look in range(LOOKS)}

    def serve(self, minute: int) -> None:
        """Serve the minute with what was changed in it."""
        self.watched.note(self.stage.world.tick(minute))

    def end(self) -> None:
        """Bring what was begun into force."""
        self.stage.account.settle(self.stage.scenario.start + timedelta(minutes=self.stage.scenario.minutes))
        if self.stage.scenario.outside:
            self.untouched = _kept(final_state(self.stage.account))


@dataclass(slots=True)
class _Player:
    """A rival, what it called and said, and the course it is in; None: it has not looked."""

    rival: Rival
    calls: list[Call] = field(default_factory=list)
    causes: list[str | None] = field(default_factory=list)
    course: _Course | None = None

    def look(self, course: _Course) -> None:
        """Look at the account as it is in *course*."""
        gate = course.stage.gate
        before = len(gate.calls)
        with gate:
            self.causes.append(self.rival())
        self.calls += gate.calls[before:]

    @property
    def has_touched(self) -> bool:
        """Whether it called anything but reads, with or without success."""
        return any(not call.operation.startswith(_READS) for call in self.calls)

    @property
    def has_changed(self) -> bool:
        """Whether it changed a function or a table."""
        return any(call.call in _FIXES and call.result == "ok" for call in self.calls)

    def changes(self, owners: Mapping[str, str]) -> list[Changed]:
        """List what it changed."""
        return _changes(owners, ((call.call, call.parameters, call.result, call.minute) for call in self.calls))


def calls_until_action(calls: Iterable[Call]) -> int:
    """Count the calls before the first one that changes a function or a table; all where there is none."""
    count = 0
    for call in calls:
        if call.call in _FIXES:
            break
        count += 1
    return count


def _changes(owners: Mapping[str, str], calls: Iterable[tuple[str, Mapping[str, Any], str, int]]) -> list[Changed]:
    """List the changes of functions and tables that AWS made.

    A change of an event source is one of its function, and a change of an index's bounds one of its table.
    """
    found = []
    for call, given, result, minute in calls:
        fix = _FIXES.get(call)
        if fix is None or result != "ok":
            continue
        names = ("UUID", "FunctionName", "TableName", "ResourceId")
        target = next(str(given[name]) for name in names if given.get(name))
        target = owners.get(target, target)
        target = (
            target.rsplit(":", 1)[-1] if ":function:" in target else target.removeprefix("table/").split("/index/")[0]
        )
        found.append(Changed(fix=fix, target=target, minute=minute))
    return found


def _kept(state: Mapping[str, Any]) -> Document:
    """Write functions and tables so that they can be compared."""
    return {part: {name: plain(one) for name, one in state[part].items()} for part in ("functions", "tables")}


def _differences(untouched: Mapping[str, Any], final: Mapping[str, Any]) -> int:
    """Count the functions and tables that are not as they are where nobody acts."""
    kept = _kept(final)
    return sum(one != kept[part].get(name) for part, all_ in untouched.items() for name, one in all_.items())


def _judged(
    played: Field,
    nobody: _Course,
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
    truth, ends = played.truth, played.ends or nobody.calm_from
    right = [one for one in changed if one.fix == truth.fix and one.target in truth.targets]
    excused = [one for one in changed if one.fix == truth.excused and one.target in truth.targets]
    harmful = tuple(f"{one.fix} on {one.target}" for one in changed if one not in right and one not in excused)
    limited = frozenset(one.target for one in right if one.fix == "limit-function")
    spared = limited | (truth.targets if limited else frozenset())
    since = played.begins if alarm is None else alarm
    throttled = sum(watched.suffering(minute, spared) for minute in range(since, ends))
    calm = not any(watched.suffering(minute, spared) for minute in range(ends - CALM_MINUTES, ends))
    has_fix = truth.fix is not None
    # Where it is over by itself before anybody can show three calm minutes, nobody has healed it.
    can_heal = has_fix and (played.ends is not None or ends - CALM_MINUTES > since)
    hit = {one.target for one in right}
    whole = len(hit) >= len(truth.targets)
    return Played(
        kind=truth.kind,
        cause=cause,
        right_cause=cause == truth.cause or (cause == "already-over" and truth.cause is None),
        right_target=(whole and not harmful) if has_fix else None,
        harmful=harmful,
        healed=(calm and whole and not harmful) if can_heal else None,
        alarm_minute=alarm,
        acted_minute=min((one.minute for one in changed), default=None),
        throttled_minutes=throttled,
        not_given_back=0 if held else kept,
        held=kept if held else 0,
        calls=calls,
        recovered_minute=recovered,
    )
