"""One alarm watches two tables, of which one has an incident already: the sweep joins that one and opens the other.

Played with the real handlers behind the roles of template.yaml.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

from sandbox.aws.alarm_definitions import AlarmDefinition, MathSource, MetricSource
from sandbox.aws.alarm_events import Snapshot
from sandbox.aws.alarms import AlarmState
from sandbox.rehearsal import Rehearsal, rehearse
from sandbox.scenario import load

TABLES = ("dagy-runs-develop", "dagy-tasks-develop")
NIGHT = """
version: 1
name: an alarm over two tables
start: 2026-08-24T09:00:00Z
minutes: 18
settings: {Mode: auto}
account: {id: "111122223333", region: eu-west-1}
alarms: none
tables:
  - {name: dagy-runs-develop, read: 100, write: 50, demand: {write: [[0, 20], [3, 160]], read: [[0, 40]]}}
  - {name: dagy-tasks-develop, read: 100, write: 50, demand: {write: [[0, 20], [3, 160]], read: [[0, 40]]}}
people:
  - {at: 13, say: "/unthrottle fix dagy-runs-develop", user: U0OPS}
"""


def _watched(number: int, table: str) -> MetricSource:
    return MetricSource(
        id=f"m{number}",
        namespace="AWS/DynamoDB",
        name="WriteThrottleEvents",
        dimensions={"TableName": table},
        stat="Sum",
        period_s=60,
    )


class _Rings:
    """The alarm, in ALARM for long when the sweep comes; its event was lost."""

    def __init__(self) -> None:
        self.refusals: list[Any] = []

    def __call__(self, rehearsal: Rehearsal, _facts: object) -> None:
        self.refusals = rehearsal.policies.refusals
        states = rehearsal._scene.alarms.states
        if states:
            return
        both = MathSource(id="both", expression="m0 + m1", metrics=tuple(_watched(*one) for one in enumerate(TABLES)))
        definition = AlarmDefinition(
            name="two tables", source=both, comparison="GreaterThanThreshold", threshold=-1, missing="ignore"
        )
        since = rehearsal.now + timedelta(minutes=2)  # too young for the sweep before the one that finds the incident
        states.append(AlarmState(definition=definition, now=Snapshot(value="ALARM", reason="because", since=since)))


def test_the_sweep_may_join_the_incident_of_one_table_and_open_the_others(tmp_path: Path) -> None:
    """Else every sweep failed in the middle for as long as the alarm rings, and nobody looked at the second table."""
    file = tmp_path / "two-tables.yaml"
    file.write_text(NIGHT, encoding="utf-8")
    rings = _Rings()
    outcome = rehearse(load(file), watch=rings)

    assert rings.refusals == []
    assert outcome["errors"] == []
    found = {one["fingerprint"].rsplit("/", 1)[-1]: one for one in outcome["incidents"]}
    assert [found[table]["triggers"] for table in TABLES] == [2, 1]
    assert [found[table]["opened_minute"] for table in TABLES] == [13, 15]
    assert [found[table]["status"] for table in TABLES] == ["applied", "applied"]
