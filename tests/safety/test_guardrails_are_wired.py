"""Each guardrail is proven to be wired: without it, what its scenario says does not come out any more."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sandbox.rehearsal import rehearse
from sandbox.scenario import load
from unthrottle import actions, desk, guardrails, look, workflow
from unthrottle.actions import planning
from unthrottle.adapters import incident_items
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.plan import CapConcurrency, Plan
from unthrottle.ports import Ledger

SCENARIOS = Path(__file__).parents[1] / "scenarios"
ENOUGH = 26
"""Minutes within which each of these scenarios is decided."""

Patch = pytest.MonkeyPatch


def _outcome(name: str) -> dict[str, Any]:
    scenario = load(SCENARIOS / f"{name}.yaml")
    return rehearse(scenario.model_copy(update={"minutes": min(scenario.minutes, ENOUGH)}))


def _without(name: str) -> Callable[[Patch], None]:
    def remove(patch: Patch) -> None:
        assert name in {known for known, _ in guardrails.GUARDRAILS}
        patch.setattr(guardrails, "GUARDRAILS", tuple(pair for pair in guardrails.GUARDRAILS if pair[0] != name))

    return remove


def _without_refusal(code: str) -> Callable[[Patch], None]:
    def remove(patch: Patch) -> None:
        patch.setattr(workflow, "REFUSALS", {key: value for key, value in workflow.REFUSALS.items() if key != code})

    return remove


def _without_comparing(patch: Patch) -> None:
    patch.setattr(actions, "compare", lambda change, actor, backfills: None)


def _without_budget(patch: Patch) -> None:
    """It is judged, and then guarded by the table against another incident that spends in the same moment."""
    _without("action-budget")(patch)
    patch.setattr(incident_items, "spent_by_others", lambda books, incident_id, since: 0)


def _without_asking_again(patch: Patch) -> None:
    patch.setattr(desk.Desk, "_still_allowed", lambda self, incident: None)


BY_SCENARIO: dict[str, tuple[str, Callable[[Patch], None]]] = {
    "guard-mode": ("mode", _without("mode")),
    "guard-protected": ("protected", _without("protected")),
    "guard-itself": ("itself", _without("itself")),
    "guard-paused": ("paused", _without("paused")),
    "guard-paused-while-acting": ("paused", _without_asking_again),
    "guard-freeze": ("freeze", _without("freeze")),
    "guard-cooldown": ("cooldown", _without("cooldown")),
    "guard-action-budget": ("action-budget", _without_budget),
    "guard-switch-budget": ("switch-budget", _without_refusal("LimitExceededException")),
    "guard-floor": ("floor", _without("floor")),
    "guard-floor-refused": ("floor", _without_refusal("no-room-above-floor")),
    "guard-loses-events": ("loses-events", _without("loses-events")),
    "guard-synchronous": ("synchronous", _without("synchronous")),
    "guard-stale-evidence": ("stale-evidence", _without("stale-evidence")),
    "guard-cost": ("cost", _without("cost")),
    "guard-confidence": ("confidence", _without("confidence")),
    "guard-before-throttling": ("before-throttling", _without("before-throttling")),
    "guard-changed-since": ("changed-since", _without_comparing),
    "guard-change-in-progress": ("change-in-progress", _without_comparing),
}
"""Which guardrail decides a scenario, and how it is taken away."""


@pytest.mark.parametrize("name", BY_SCENARIO)
def test_without_its_guardrail_a_scenario_comes_out_otherwise(name: str, monkeypatch: Patch) -> None:
    """The expectation that the guardrail's scenario meets is not met any more."""
    _, remove = BY_SCENARIO[name]
    remove(monkeypatch)
    assert _outcome(name)["unmet"], f"{name} comes out the same without its guardrail"


# --- what no sound plan brings about: a planner that errs is stopped all the same ---------------------------------------


def _cap_altered(**changes: object) -> Callable[[Plan], Plan]:
    def alter(plan: Plan) -> Plan:
        return replace(
            plan,
            changes=tuple(
                replace(one, **changes) if isinstance(one, CapConcurrency) else one  # type: ignore[arg-type]  # by name
                for one in plan.changes
            ),
        )

    return alter


def _as_planned(plan: Plan) -> Plan:
    return plan


def _ledger_says(**known: Callable[[str, datetime], object]) -> Callable[[Patch], None]:
    real = IncidentsTable.ledger

    def ledger(self: IncidentsTable, account: str, region: str, resources: Any, now: datetime) -> Ledger:
        found = real(self, account, region, resources, now)
        told = {field: {resource: say(resource, now) for resource in resources} for field, say in known.items()}
        return replace(found, **told)  # type: ignore[arg-type]  # any field, by name

    return lambda patch: patch.setattr(IncidentsTable, "ledger", ledger)


def _nothing(patch: Patch) -> None:
    """The ledger is as it is."""


THREE_HOURS = tuple(timedelta(hours=number) for number in (1, 2, 3))
ERRING: dict[str, tuple[str, Callable[[Plan], Plan], Callable[[Patch], None]]] = {
    "victim": ("approve-yes", _cap_altered(function="svc-uat-pipe-001"), _nothing),
    "never-zero": ("approve-yes", _cap_altered(after=0), _nothing),
    "provisioned-above": ("approve-yes", _cap_altered(provisioned=250), _nothing),
    "one-at-a-time": ("approve-yes", _as_planned, _ledger_says(held_by=lambda _, __: "INC-0THER")),
    "switch-budget": (
        "approve-over-already",
        _as_planned,
        _ledger_says(switches=lambda _, now: tuple(now - back for back in THREE_HOURS)),
    ),
}


@pytest.mark.parametrize("guardrail", ERRING)
def test_a_plan_that_should_never_be_made_is_denied_and_without_the_guardrail_is_acted_on(
    guardrail: str, monkeypatch: Patch
) -> None:
    """The guard does not rely on the planner, nor on the lock that is taken later."""
    name, alter, ledger = ERRING[guardrail]
    real = planning.make_plan
    monkeypatch.setattr(look, "make_plan", lambda *given: alter(real(*given)))
    ledger(monkeypatch)
    scenario = load(SCENARIOS / f"{name}.yaml")
    scenario = scenario.model_copy(update={"minutes": 11, "settings": {"Mode": "auto"}, "people": [], "expect": {}})

    guarded = rehearse(scenario)
    assert [(one["status"], one["reasons"]) for one in guarded["incidents"]] == [("denied", [guardrail])]
    assert guarded["mutations"] == []

    _without(guardrail)(monkeypatch)
    assert rehearse(scenario)["mutations"] != []


def test_every_guardrail_there_is_has_such_a_proof() -> None:
    """`unreported` has its own in the scenario in which Slack is down and WhenSlackIsDown is pause."""
    proven = {guardrail for guardrail, _ in BY_SCENARIO.values()} | set(ERRING) | {"unreported"}
    named = {name for name, _ in guardrails.GUARDRAILS} | {"changed-since", "change-in-progress"}
    assert proven == named
