"""What is a random incident? A small account, when somebody looks at it, and what is really wrong with it: types only."""

from dataclasses import dataclass
from typing import Any

from sandbox.scenario.format import Scenario
from unthrottle.diagnosis import Cause
from unthrottle.subjects import Subject

START = "2026-08-24T04:00:00Z"
MINUTES = 60
ONSET = 25
"""The minute in which most things begin: enough before it for a baseline with noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One drawn incident. `targets` are what may be changed, none for most causes.

    `lag` is how many minutes after the first symptom somebody looks; `at` a fixed minute instead, for what has no symptom.
    `dropped` is the part of datapoints that never arrives, `blind` hides every metric. `early` looks when the pool is 80 %
    full and nobody is throttled. `earlier` is what functions ran in the same hours of earlier days; without it nothing is
    known of other days.
    """

    seed: int
    kind: str
    scenario: Scenario
    cause: Cause
    targets: frozenset[str]
    subject: Subject
    lag: int
    at: int | None = None
    dropped: float = 0.0
    blind: bool = False
    early: bool = False
    dagy_answers: bool = True
    earlier: dict[str, float] | None = None

    @property
    def is_control(self) -> bool:
        """Say whether nothing is wrong when somebody looks."""
        return self.cause is Cause.ALREADY_OVER


def scenario_of(seed: int, kind: str, **parts: Any) -> Scenario:
    """Check a drawn account as a scenario file would be."""
    document = {"version": 1, "name": f"{kind} {seed}", "start": START, "minutes": MINUTES, **parts}
    return Scenario.model_validate(document)
