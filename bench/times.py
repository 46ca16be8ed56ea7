"""How much time does it save? The post-mortem's incident with Unthrottle, with a person, and with nobody.

The person finds the culprit with the post-mortem's query, which took 45 minutes, and then does what Unthrottle does. Nobody:
the eight hours the incident took.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from moto import mock_aws

from bench.arena import Played
from bench.calls import CALL_S, critical_path, is_change
from bench.section import Goal, Section, median
from bench.stage import Stage, credentials
from sandbox.aws.gate import Call
from sandbox.model.world import TickFacts, World
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.isolation import isolated, simulated_time
from sandbox.rehearsal.rehearse import Rehearsal
from sandbox.scenario import Scenario, load

FILE = Path(__file__).parent.parent / "tests" / "scenarios" / "pool-hog-one-function.yaml"
HOG = "svc-roster-dev-batch-processor"
ONSET, END = 240, 720
"""When the load begins and ends in the scenario: eight hours."""
PLAYED_MINUTES = END + 60
QUERY_MINUTES = 45
CAP = 250
_SECOND_OF_ALARMS = 10
"""The second of a simulated minute in which alarms are evaluated."""


@dataclass(slots=True)
class Suffering:
    """What the others went through, minute by minute."""

    minutes: list[int] = field(default_factory=list)
    function_minutes: int = 0
    requests: float = 0.0

    def note(self, world: World, facts: TickFacts) -> None:
        """Count one minute."""
        others = np.array([name != HOG for name in world.pool.names])
        throttled = np.where(others, facts.pool.throttled, 0.0)
        number = int(np.count_nonzero(throttled > 0))
        if number:
            self.minutes.append(facts.minute)
        self.function_minutes += number
        self.requests += float((throttled * world.pool.runs_per_slot).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """How Unthrottle's incident went, in minutes of the scenario."""

    alarm: int
    acted_at: datetime
    calm: int
    verified: int
    calls: int
    suffering: Suffering


def measure(played: list[Played]) -> Section:
    """Play it three times; *played* are the generated incidents, for the medians over all kinds."""
    scenario = load(FILE).model_copy(update={"minutes": PLAYED_MINUTES, "expect": {}})
    ours = _ours(scenario)
    nobody, alarm = _without(scenario, None)
    person, _ = _without(scenario, alarm + QUERY_MINUTES)
    section = Section(
        key="time",
        title="Time: 362 functions, one batch processor takes the pool for eight hours (the post-mortem)",
        columns=[
            "who acts",
            "after the alarm",
            "others throttled",
            "throttled function-minutes",
            "throttled requests",
            "saved",
        ],
    )
    rows: list[tuple[str, str, Suffering]] = [
        ("nobody", "never", nobody),
        ("a person with a 45-minute query", f"{QUERY_MINUTES} min", person),
        ("Unthrottle", f"{ours.calls * CALL_S:.1f} s", ours.suffering),
    ]
    for who, after, suffering in rows:
        saved = 1 - suffering.function_minutes / nobody.function_minutes if nobody.function_minutes else 0.0
        section.rows.append(
            [
                who,
                after,
                f"{len(suffering.minutes):,} min",
                f"{suffering.function_minutes:,}",
                f"{suffering.requests:,.0f}",
                f"{100 * saved:.1f} %",
            ]
        )
        section.data[who] = {
            "minutes": len(suffering.minutes),
            "function_minutes": suffering.function_minutes,
            "requests": suffering.requests,
        }
    _shares(section, scenario, ours)
    _medians(section, scenario, ours, played)
    return section


def _shares(section: Section, scenario: Scenario, ours: Ours) -> None:
    """Say what each part of the way from the first throttle to calm took."""
    first = min(ours.suffering.minutes)
    delay = scenario.metric_delay_minutes + 1  # the minute itself must have passed before it can be shown
    own = ours.calls * CALL_S / 60
    parts = {
        "metrics: the minute passes and CloudWatch shows it": float(delay),
        "alarm: two of three datapoints": float(ours.alarm - first - delay),
        "Unthrottle: alarm to action, 80 ms a call": own,
        "running executions end": max(0.0, ours.calm - ours.alarm - own),
    }
    whole = sum(parts.values())
    section.notes.append(
        f"From the first throttle to calm, {whole:.1f} min: "
        + "; ".join(f"{name} {minutes:.2f} min ({100 * minutes / whole:.0f} %)" for name, minutes in parts.items())
        + f". Verified and told at minute {ours.verified - first} after the first throttle."
    )
    section.bars["Minutes from the first throttle to calm"] = parts
    section.data["parts_minutes"] = parts


def _medians(section: Section, scenario: Scenario, ours: Ours, played: list[Played]) -> None:
    simulated = (
        ours.acted_at - scenario.start - timedelta(minutes=ours.alarm, seconds=_SECOND_OF_ALARMS)
    ).total_seconds()
    acted = [
        60.0 * (one.acted_minute - one.alarm_minute)
        for one in played
        if one.acted_minute is not None and one.alarm_minute is not None
    ]
    recovered = [
        float(one.recovered_minute - one.alarm_minute)
        for one in played
        if one.recovered_minute is not None and one.alarm_minute is not None and one.acted_minute is not None
    ]
    middle, to_recovery = median([*acted, simulated]) or 0.0, median(recovered)
    wall = ours.calls * CALL_S
    section.notes.append(
        f"Over {len(acted):,} generated incidents in which it acted: median alarm to action {median(acted) or 0:.0f} s of "
        f"simulated time (whole minutes), alarm to verified recovery {to_recovery if to_recovery is not None else '-'} min."
    )
    section.data["alarm_to_action_simulated_s"] = simulated
    section.data["alarm_to_action_wall_s"] = wall
    section.data["alarm_to_recovery_median_min"] = to_recovery
    section.goals += [
        Goal(
            text="median alarm to action under 60 s of simulated time",
            found=f"{middle:.0f} s (the post-mortem's incident: {simulated:.0f} s)",
            reached=middle < 60,
            why_not="a step of the workflow waits for the next minute",
        ),
        Goal(
            text="and under 5 s of wall time with 80 ms per AWS call",
            found=f"{wall:.1f} s for {ours.calls} calls",
            reached=wall < 5,
            why_not="calls follow each other",
        ),
    ]


def _ours(scenario: Scenario) -> Ours:
    suffering, calls = Suffering(), list[Call]()

    def watch(rehearsal: Rehearsal, facts: TickFacts) -> None:
        suffering.note(rehearsal.world, facts)
        if facts.minute == ONSET + 30:
            calls.extend(rehearsal.gate.calls)

    outcome = rehearse(scenario, watch=watch)
    incident = outcome["incidents"][0]
    change = next(call for call in calls if is_change(call))
    acted = int(incident["acted_minute"])
    late = [minute for minute in suffering.minutes if minute >= acted]
    return Ours(
        alarm=incident["opened_minute"],
        acted_at=change.at,
        calm=_first_calm(acted, late),
        verified=incident["recovered_minute"],
        calls=len(critical_path(calls)),
        suffering=suffering,
    )


def _first_calm(acted: int, throttled: list[int]) -> int:
    minute, left = acted, set(throttled)
    while minute in left:
        minute += 1
    return minute


def _without(scenario: Scenario, caps_at: int | None) -> tuple[Suffering, int]:
    """Play without a bot; at minute *caps_at* a person caps the hog. Also answers the alarm's minute."""
    suffering, alarm = Suffering(), 0
    with simulated_time(scenario.start) as clock, isolated(), mock_aws(), credentials():
        stage = Stage(scenario)
        fired: Callable[[datetime], bool] = lambda now: any(  # noqa: E731  short, and used once
            event["detail"]["state"]["value"] == "ALARM" for event in stage.alarms.evaluate(now)
        )
        for minute in range(scenario.minutes):
            now = scenario.start + timedelta(minutes=minute, seconds=_SECOND_OF_ALARMS)
            clock.move_to(now)
            if not alarm and fired(now):
                alarm = minute
            if minute == caps_at:
                stage.account.set_reserved(HOG, CAP)
            suffering.note(stage.world, stage.world.tick(minute))
    return suffering, alarm
