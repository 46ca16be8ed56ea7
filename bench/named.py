"""What is true about a named scenario, so that everybody can be tried on it?

The files in `tests/scenarios` say what Unthrottle should find and do. From that follows the truth about the account: the cause,
what is guilty, and whether changing it is safe. Where a file names nobody, the guilty are read from the loads it gives. A
scenario that says nothing of a cause is not about a diagnosis and is left out. Knows nothing of any bot.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.arena import Field
from bench.incidents import Fix, Truth
from sandbox.scenario import Scenario, load
from sandbox.scenario.format import FunctionSpec

FOLDER = Path(__file__).parent.parent / "tests" / "scenarios"
NO_CAUSE = "no cause in its file: about approvals, people, Slack or giving back"
MEMBERS = "other accounts"
UNSEEN = "nothing can be seen"
SEVERAL = "several troubles at once"
SAME = "the same account again in mode dry-run"

_FIXES: Mapping[str, Fix] = {
    "pool-hog": "limit-function",
    "provisioned-capacity": "more-capacity",
    "runaway-backfill": "cancel-backfill",
}
_FORBIDDEN_TO_ALL = frozenset({"protected", "synchronous", "loses-events", "confidence", "floor"})
"""Reasons that lie in the account. All other ones lie in settings, in people or in what happened to one bot."""
_DONE = frozenset({"applied", "reverted", "kept"})


def field_of(file: Path) -> Field | str:
    """Say what is played of a scenario, or why it is left out."""
    if file.stem.endswith("-dry-run"):
        return SAME
    scenario = load(file)
    if scenario.members:
        return MEMBERS
    expected = _incidents(scenario.expect)
    cause = expected[0].get("cause") if expected else None
    if not isinstance(cause, str):
        return NO_CAUSE
    if len({str(one.get("cause")) for one in expected}) > 1:
        return SEVERAL
    if cause == "inconclusive":
        return UNSEEN
    return Field(scenario=scenario, truth=_truth(file.stem, scenario, cause, expected), begins=0, ends=None)


def _incidents(expect: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    incidents = expect.get("incidents")
    return [one for one in incidents if isinstance(one, Mapping)] if isinstance(incidents, list | tuple) else []


def _truth(name: str, scenario: Scenario, cause: str, expected: list[Mapping[str, Any]]) -> Truth:
    fix = _FIXES.get(cause)
    if fix is None:
        return Truth(kind=name, cause=None if cause == "already-over" else cause)
    targets = _guilty(scenario, cause, expected)
    if targets and all(map(_is_done, expected)):
        return Truth(kind=name, cause=cause, targets=targets, fix=fix)
    forbidden = any(_texts(one.get("reasons", ())) & _FORBIDDEN_TO_ALL for one in expected)
    is_agreed = any(person.do == "approve" for person in scenario.people)
    return Truth(kind=name, cause=cause, targets=targets, excused=fix if is_agreed or not forbidden else None)


def _is_done(incident: Mapping[str, Any]) -> bool:
    """Whether the file expects that the fix is made without a person, and that it helps."""
    if _texts(incident.get("reasons", ())) or incident.get("outcome") in {"not-recovered", "worse", "inconclusive"}:
        return False
    plan, status = incident.get("plan", {}), incident.get("status")
    planned = bool(plan.get("changes")) or plan.get("action", "none") not in {"none", "wait", "escalate"}
    return status in _DONE or (status is None and planned)


def _texts(given: object) -> frozenset[str]:
    """Read reasons, which a file gives as a list or as `{contains: one}`."""
    if isinstance(given, Mapping):
        return frozenset(map(str, given.values()))
    return frozenset(map(str, given)) if isinstance(given, list | tuple) else frozenset()


def _guilty(scenario: Scenario, cause: str, expected: list[Mapping[str, Any]]) -> frozenset[str]:
    """Name what is guilty: as the file says, else the function that grows most, the table, or the backfill that writes."""
    named = [one.get("targets") for one in expected]
    if all(isinstance(one, list | tuple) for one in named):
        return frozenset(str(name) for one in named for name in one or ())
    if cause == "runaway-backfill":
        return frozenset(one.id for one in scenario.dagy.backfills if one.writes)
    if cause == "provisioned-capacity":
        return frozenset(table.name for table in scenario.tables[: len(expected)])
    many = named[0].get("length", 1) if isinstance(named[0], Mapping) else 1
    growing = sorted(scenario.expanded_functions(), key=_growth, reverse=True)
    return frozenset(one.name for one in growing[: int(many)])


def _growth(function: FunctionSpec) -> float:
    wanted = [amount for _, amount in function.demand]
    return max(wanted, default=0.0) - (wanted[0] if wanted else 0.0)
