"""Tell a rehearsal as it happens: what the alarm says, who looks guilty, who is, what was changed, and what came of it.

Everything told is read from the rehearsal while it runs; nothing here knows how the story ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sandbox.demo.drawing import Curve
from sandbox.model.world import TickFacts
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.rehearse import Rehearsal
from sandbox.scenario import load
from unthrottle.incident import Incident
from unthrottle.report.terminal import thread_as_text

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One scenario of the demo: its file, and whether it is told at length."""

    file: str
    title: str
    at_length: bool


CHAPTERS = (
    Chapter(
        file="pool.yaml",
        title="1. 362 functions share 1,000 executions, and one of them takes nearly all",
        at_length=True,
    ),
    Chapter(file="table.yaml", title="2. A dagy table is out of write capacity", at_length=False),
    Chapter(file="backfill.yaml", title="3. A dagy backfill floods a table", at_length=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What CloudWatch showed of one thing, minute by minute over the whole chapter. `is_close_up`: show it near the alarm."""

    title: str
    curves: tuple[Curve, ...]
    is_close_up: bool = False


@dataclass(slots=True)
class Told:
    """A chapter that was played: its outcome in the public format, and what each minute was like."""

    title: str
    outcome: Mapping[str, Any]
    start: datetime
    minutes: list[dict[str, Any]] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)

    def clock(self, minute: int) -> str:
        """Say the time of day of a minute."""
        return f"{self.start + timedelta(minutes=minute):%H:%M}"

    def window(self, incident: Mapping[str, Any]) -> tuple[int, int]:
        """Return the first and last minute worth showing: from an hour before the alarm to a while after its end."""
        keys = ("opened_minute", "recovered_minute", "reverted_minute")
        end = max(incident[key] for key in keys if incident[key] is not None)
        return max(0, incident["opened_minute"] - 60), min(len(self.minutes) - 1, end + 45)

    def close_up(self, incident: Mapping[str, Any]) -> tuple[int, int]:
        """Return the first and last minute around the alarm and the recovery."""
        end = incident["recovered_minute"] or incident["opened_minute"] + 30
        return max(0, incident["opened_minute"] - 15), min(len(self.minutes) - 1, end + 15)


class Narrator:
    """Watches a rehearsal and writes down each minute; prints each new line of an incident's story."""

    def __init__(self, console: Console, told: Told, *, at_length: bool) -> None:
        self._console = console
        self._told = told
        self._at_length = at_length
        self._lines: dict[str, int] = {}
        self._rehearsal: Rehearsal | None = None

    def measured(self) -> list[Measured]:
        """Read what the incident's resources showed over the whole chapter, once it has been played."""
        rehearsal, outcome = self._rehearsal, self._told.outcome
        if rehearsal is None or not outcome["incidents"]:
            return []
        incident = outcome["incidents"][0]
        return _of_the_pool(rehearsal, incident) if incident["kind"] == "lambda" else _of_tables(rehearsal)

    def watch(self, rehearsal: Rehearsal, facts: TickFacts) -> None:
        """Note one minute, and tell what is new in it."""
        self._rehearsal = rehearsal
        self._told.minutes.append(
            {
                "minute": facts.minute,
                "lambda_throttles": facts.lambda_throttles,
                "concurrency": facts.concurrency,
                "throttled_functions": len(facts.throttled_functions),
                "throttled_tables": len(facts.throttled_tables),
            }
        )
        for incident in rehearsal.incidents():
            known = self._lines.get(incident.id, 0)
            for moment in incident.timeline[known:]:
                self._tell(incident, f"{moment.at:%H:%M}  {moment.event:<20} {moment.detail}")
                if moment.event == "diagnosis.made" and self._at_length:
                    self._who(incident, rehearsal)
            self._lines[incident.id] = len(incident.timeline)

    def _tell(self, incident: Incident, line: str) -> None:
        self._console.print(Text(f"  {incident.id}  {line}"), soft_wrap=True)

    def _who(self, incident: Incident, rehearsal: Rehearsal) -> None:
        """Show what people saw (throttles) beside what it was (concurrency)."""
        diagnosis = incident.diagnosis
        if diagnosis is None or not diagnosis.victims:
            return
        throttles = {name: sum(found) for name, found in _measured(rehearsal, "Throttles", "Sum").items()}
        peaks = {name: max(found) for name, found in _measured(rehearsal, "ConcurrentExecutions", "Maximum").items()}
        loudest = sorted(throttles, key=lambda name: -throttles[name])[:4]
        shown = [*diagnosis.targets, *(name for name in loudest if name not in diagnosis.targets)]
        table = Table(title="Throttles show the victim, concurrency shows the cause", title_justify="left")
        for column in ("function", "concurrency", "throttles", "role"):
            table.add_column(column, justify="right" if column in {"concurrency", "throttles"} else "left")
        for name in sorted(shown, key=lambda name: -peaks.get(name, 0)):
            role = "cause" if name in diagnosis.targets else "victim"
            table.add_row(Text(name), f"{peaks.get(name, 0):,.0f}", f"{throttles.get(name, 0):,.0f}", role)
        self._console.print(table)


def _measured(rehearsal: Rehearsal, metric: str, stat: str) -> dict[str, list[float]]:
    """Read the last quarter of an hour of one metric for every function that has any."""
    now = rehearsal.now
    found = {}
    for function in rehearsal.scenario.expanded_functions():
        points = rehearsal.store.query(
            "AWS/Lambda",
            metric,
            {"FunctionName": function.name},
            stat=stat,
            period_s=60,
            start=now - timedelta(minutes=15),
            end=now,
            now=now,
        )
        if points:
            found[function.name] = [value for _, value in points]
    return found


def _of_the_pool(rehearsal: Rehearsal, incident: Mapping[str, Any]) -> list[Measured]:
    def curve(name: str, metric: str, stat: str, dimensions: Mapping[str, str]) -> Curve:
        return Curve(name=name, values=_series(rehearsal, "AWS/Lambda", metric, stat, dimensions))

    limit = rehearsal.scenario.account.concurrency_limit
    minutes = rehearsal.scenario.minutes
    target, victim = (incident["targets"] or [None])[0], (incident["victims"] or [None])[0]
    in_use = [curve("all functions", "ConcurrentExecutions", "Maximum", {})]
    throttled = [_zero(curve("all functions", "Throttles", "Sum", {}))]
    if target is not None:
        in_use.append(curve(target, "ConcurrentExecutions", "Maximum", {"FunctionName": target}))
    if victim is not None:
        throttled.append(_zero(curve(f"{victim}, a victim", "Throttles", "Sum", {"FunctionName": victim})))
    in_use.append(Curve(name=f"the account's limit {limit:,}", values=(float(limit),) * minutes, is_limit=True))
    return [
        Measured(title="Concurrent executions", curves=tuple(in_use)),
        Measured(title="Throttles a minute, close up", curves=tuple(throttled), is_close_up=True),
    ]


def _of_tables(rehearsal: Rehearsal) -> list[Measured]:
    found: list[Measured] = []
    for table in rehearsal.scenario.tables:
        of_table = {"TableName": table.name}
        consumed = _series(rehearsal, "AWS/DynamoDB", "ConsumedWriteCapacityUnits", "Sum", of_table)
        provisioned = _series(rehearsal, "AWS/DynamoDB", "ProvisionedWriteCapacityUnits", "Maximum", of_table)
        throttles = _series(rehearsal, "AWS/DynamoDB", "WriteThrottleEvents", "Sum", of_table)
        curves = [Curve(name="consumed", values=tuple(None if v is None else v / 60 for v in consumed))]
        if any(value is not None for value in provisioned):
            curves.append(Curve(name="provisioned", values=_held(provisioned), is_limit=True))
        found.append(Measured(title=f"Write units a second, {table.name}", curves=tuple(curves)))
        if any(throttles):
            counted = tuple(0.0 if value is None else value for value in throttles)
            found.append(
                Measured(
                    title=f"Throttled writes a minute, {table.name}", curves=(Curve(name="throttles", values=counted),)
                )
            )
    return found


def _zero(curve: Curve) -> Curve:
    """Read throttles, of which CloudWatch has a datapoint only when there are some."""
    return Curve(name=curve.name, values=tuple(0.0 if value is None else value for value in curve.values))


def _held(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Hold a setting, which is shown every five minutes, until its next datapoint; nothing once it has none for longer."""
    held: list[float | None] = []
    for position, value in enumerate(values):
        recent = [one for one in values[max(0, position - 4) : position + 1] if one is not None]
        held.append(value if value is not None else recent[-1] if recent else None)
    return tuple(held)


def _series(
    rehearsal: Rehearsal, namespace: str, metric: str, stat: str, dimensions: Mapping[str, str]
) -> tuple[float | None, ...]:
    """Read one metric, minute by minute from the start; None is a gap."""
    minutes, start = rehearsal.scenario.minutes, rehearsal.scenario.start
    end = start + timedelta(minutes=minutes)
    late = end + timedelta(hours=1)
    points = dict(
        rehearsal.store.query(namespace, metric, dimensions, stat=stat, period_s=60, start=start, end=end, now=late)
    )
    return tuple(points.get(start + timedelta(minutes=minute)) for minute in range(minutes))


def tell(console: Console, chapters: Sequence[Chapter] = CHAPTERS) -> list[Told]:
    """Play and tell every chapter; returns what was told, for the page."""
    done = []
    for chapter in chapters:
        console.rule(Text(chapter.title), align="left")
        scenario = load(FOLDER / chapter.file)
        told = Told(title=chapter.title, outcome={}, start=scenario.start)
        narrator = Narrator(console, told, at_length=chapter.at_length)
        console.print(Text(f"  {scenario.name}; {scenario.minutes} min from {scenario.start:%Y-%m-%d %H:%M} UTC\n"))
        told.outcome = rehearse(scenario, watch=narrator.watch)
        told.measured = narrator.measured()
        _after(console, told, at_length=chapter.at_length)
        done.append(told)
    return done


def _after(console: Console, told: Told, *, at_length: bool) -> None:
    """Tell what came of it: the calls that changed something, the throttles before and after, the Slack thread."""
    outcome = told.outcome
    console.print()
    for mutation in outcome["mutations"]:
        words = " ".join(f"{key}={value}" for key, value in mutation["parameters"].items())
        console.print(Text(f"  minute {mutation['minute']:>4}  {mutation['call']} {words} -> {mutation['result']}"))
    for call in outcome["dagy_calls"]:
        if call["method"] == "POST":
            console.print(Text(f"  minute {call['minute']:>4}  dagy POST {call['path']} -> {call['status']}"))
    for incident in outcome["incidents"]:
        acted = incident["acted_minute"]
        calls = outcome["aws_calls_until_action"].get(incident["id"])
        console.print(
            Text(
                f"\n  {incident['id']}: {incident['cause']} -> {incident['plan']['action']}, {incident['status']}, "
                f"{incident['outcome']}; {calls} AWS calls until the action"
            )
        )
        if acted is not None:
            before_and_after(console, told, acted, incident["kind"])
    if at_length:
        console.print("\n  The Slack thread:\n")
        console.print(Text(thread_as_text(posted(outcome["slack"]))), soft_wrap=True)
    console.print()


def before_and_after(console: Console, told: Told, acted: int, kind: str) -> None:
    """Print the throttles of each minute around an action, and of how many functions they are, the cause among them."""
    key = "lambda_throttles" if kind == "lambda" else "throttled_tables"
    who = "throttles a minute in the account" if kind == "lambda" else "throttled tables in the minute"
    near = [row for row in told.minutes if acted - 5 <= row["minute"] <= acted + 8]
    console.print(Text(f"  {who}, from 5 min before the action to 8 min after:"))
    console.print(Text("    minute    " + " ".join(f"{row['minute']:>6}" for row in near)))
    console.print(Text("    count     " + " ".join(f"{row[key]:>6,}" for row in near)))
    if kind == "lambda":
        console.print(Text("    functions " + " ".join(f"{row['throttled_functions']:>6,}" for row in near)))


def posted(calls: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Keep the messages as people see them: each post, the head in its last form."""
    newest: dict[str, Mapping[str, Any]] = {}
    for call in calls:
        if call["method"] == "chat.postMessage":
            newest[call["ts"]] = call
        elif call["method"] == "chat.update" and call["ts"] in newest:
            newest[call["ts"]] = {**newest[call["ts"]], "text": call["text"], "blocks": call["blocks"]}
    return list(newest.values())
