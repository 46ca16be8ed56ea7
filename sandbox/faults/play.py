"""How is one run of a sweep played and judged?

Joins the rehearsal to the cases and the invariants. An undisturbed run comes first: it tells which calls there are to break.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from sandbox.engine.executions import State
from sandbox.engine.timetable import Entry
from sandbox.faults.cases import AGAIN_AND_AGAIN, Called, Case, Engine
from sandbox.faults.invariants import Played, changed, violated
from sandbox.model.world import TickFacts
from sandbox.rehearsal import Rehearsal, rehearse
from sandbox.rehearsal.hosts import LOG
from sandbox.rehearsal.output import is_mutation
from sandbox.scenario import Scenario, load
from sandbox.scenario.format import Fault
from unthrottle.incident import Incident
from unthrottle.sweep import DEAD_AFTER

SCENES = Path(__file__).parent / "scenes"
SCENARIOS = Path(__file__).parents[2] / "tests" / "scenarios"
MISSION = (
    "pool-hog-one-function",
    "pool-hog-one-function-dry-run",
    "pool-hog-two-functions",
    "small-account",
    "table-out-of-write-capacity",
    "index-out-of-write-capacity",
    "hot-index-provisioned",
    "hot-index-on-demand",
    "runaway-backfill-provisioned",
    "runaway-backfill-on-demand",
    "two-backfills-one-guilty",
    "on-demand-burst",
    "missing-metrics",
    "stale-alarm",
)
"""What the product is for."""
REFUSED = (
    "guard-protected",
    "guard-paused",
    "guard-mode",
    "guard-freeze",
    "guard-cooldown",
    "guard-switch-budget",
    "guard-action-budget",
    "guard-synchronous",
)
"""What a guardrail refuses: it must do so too where what it reads is broken."""
FURTHER = (
    "members-three-accounts",
    "approve-yes",
    "slack-people-ask",
    "cause-early-warning-that-came-true",
    "cause-table-autoscaling-at-its-maximum-raised",
    "cause-hog-queue",
)
"""Ways through the product that neither of these goes."""
BURIAL = DEAD_AFTER + timedelta(hours=1)
"""How much longer a scene is played in which every process dies: until the sweep has given up the workflow, and an hour more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run and what it violated. `ending`: the incidents' statuses and outcomes, to see what became of it."""

    case: Case
    violations: tuple[str, ...]
    ending: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undisturbed:
    """What a scene calls, how many calls that are, what it changes, and what it violates: nothing, or the scene is wrong."""

    called: Called
    calls: int
    changed: frozenset[str]
    instead: frozenset[str]
    """What would be changed, had another incident not taken the last of the budget: a fault may change who is first."""
    violations: tuple[str, ...]


@dataclass(slots=True)
class _Watcher:
    """Keeps what the outcome does not tell."""

    rehearsal: Rehearsal | None = None
    incidents: tuple[Incident, ...] = ()

    def __call__(self, rehearsal: Rehearsal, _: TickFacts) -> None:
        self.rehearsal = rehearsal
        if rehearsal.minutes_left == 0:
            self.incidents = rehearsal.incidents()


def scenes() -> tuple[str, ...]:
    """Name the scenes there are: short ones made for this, and whole scenarios."""
    return (*sorted(file.stem for file in SCENES.glob("*.yaml")), *MISSION, *REFUSED, *FURTHER)


@cache
def scenario_of(name: str) -> Scenario:
    """Load a scene."""
    own = SCENES / f"{name}.yaml"
    return load(own if own.exists() else SCENARIOS / f"{name}.yaml")


def undisturbed(scene: str, engine: Engine = "simulated") -> Undisturbed:
    """Play a scene with nothing broken."""
    run = _played(scenario_of(scene), engine, usual_calls=100_000, state_broken=False)
    acted = next((i for i, call in enumerate(run.calls) if is_mutation(call, run.own_tables)), len(run.calls))
    early = min([acted, *(call.position for call in run.line if call.call == "dagy.POST")])
    total = Counter(call.call for call in run.calls if call.role is not None) + Counter(call.call for call in run.line)
    before = Counter(call.call for call in run.calls[: early + 1] if call.role is not None)
    before += Counter(call.call for call in run.line if call.position <= early)
    return Undisturbed(
        called=Called(total=total, before_acting=before),
        calls=len(run.calls) + len(run.line),
        changed=changed(run),
        instead=_without_budget(run.incidents),
        violations=tuple(violated(run)),
    )


def _without_budget(incidents: Iterable[Incident]) -> frozenset[str]:
    return frozenset(
        change.target
        for one in incidents
        if one.verdict and any(reason.guardrail == "action-budget" for reason in one.verdict.reasons)
        for change in (one.plan.changes if one.plan else ())
    )


def play(case: Case, usual: Undisturbed) -> Result:
    """Play one case and judge it against the undisturbed run."""
    fault = Fault(call=case.call, nth=case.nth, times=case.times, error=case.error)
    plain = scenario_of(case.scene)
    longer = BURIAL // timedelta(minutes=1) if case.dies_for_good or case.breaks_the_service else 0
    scenario = plain.model_copy(update={"faults": [fault], "minutes": plain.minutes + longer})
    state_broken = (
        case.times > 1 and case.call.startswith("dynamodb.") and case.call.endswith(("Item", "Items", "Query"))
    )
    try:
        run = _played(
            scenario,
            case.engine,
            usual_calls=usual.calls * scenario.minutes // plain.minutes,
            # Where a person ends a pause, what was refused may rightly be done by a workflow that a fault held up.
            usual_changes=None if any("resume" in (one.say or "") for one in plain.people) else usual.changed,
            instead=usual.instead,
            state_broken=state_broken,
            service_broken=case.breaks_the_service,
        )
    except Exception as error:  # noqa: BLE001  whatever breaks the rehearsal itself is a finding
        return Result(case=case, violations=(f"the rehearsal broke off: {type(error).__name__}: {error}",), ending=())
    ending = tuple(f"{one['status']}/{one['outcome']}" for one in run.outcome["incidents"])
    return Result(case=case, violations=tuple(dict.fromkeys(violated(run))), ending=ending)


def _played(
    scenario: Scenario,
    engine: Engine,
    *,
    usual_calls: int,
    usual_changes: frozenset[str] | None = None,
    instead: frozenset[str] = frozenset(),
    state_broken: bool,
    service_broken: bool = False,
) -> Played:
    watcher = _Watcher()
    LOG.lines = []
    try:
        outcome = rehearse(scenario, engine=engine, watch=watcher)
        logs = LOG.lines
    finally:
        LOG.lines = None
    rehearsal = watcher.rehearsal
    if rehearsal is None:
        raise RuntimeError("a rehearsal without a minute")
    settings: Mapping[str, Any] = scenario.settings
    return Played(
        outcome=outcome,
        calls=tuple(rehearsal.gate.calls),
        line=tuple(rehearsal.line.calls),
        incidents=watcher.incidents,
        running=_alive(rehearsal),
        before=rehearsal.before,
        protected=_protected(scenario),
        own_tables=rehearsal.own_tables,
        ended=scenario.start + timedelta(minutes=scenario.minutes),
        logs=tuple(logs),
        dry_run=settings.get("Mode") == "dry-run",
        usual_calls=usual_calls,
        usual_changes=usual_changes,
        instead=instead,
        state_broken=state_broken,
        service_broken=service_broken,
    )


def _protected(scenario: Scenario) -> frozenset[str]:
    tagged = [(one.name, one.tags) for one in scenario.expanded_functions()]
    tagged += [(one.name, one.tags) for one in scenario.tables]
    return frozenset(name for name, tags in tagged if tags.get("unthrottle:protected") == "true")


def _alive(rehearsal: Rehearsal) -> frozenset[str]:
    """Name the executions of which something may still be hoped: one that died again and again will do so again."""
    entries: Mapping[str, Entry] = rehearsal.executions.executions
    return frozenset(
        name
        for name, one in entries.items()
        if one.state is State.RUNNING and one.due is not None and one.deaths <= AGAIN_AND_AGAIN
    )
