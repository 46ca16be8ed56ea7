"""What must hold after any run, whatever broke in it?

Judges the record of calls, the outcome in the public format and the incidents as they are stored. Pure. Each sentence it
returns is one violation.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from sandbox.aws.calls import AFTER, Call
from sandbox.line import LineCall
from sandbox.rehearsal.output import is_mutation
from unthrottle.incident import Incident, Status
from unthrottle.plan import CapEventSource, Change
from unthrottle.stuck import stuck
from unthrottle.sweep import DEAD_AFTER

Document = Mapping[str, Any]

EFFECTIVE = frozenset({"ok", *AFTER})
"""Results of calls that had their effect, whether the bot knows it or not."""
_OF_THE_SERVICE = ("CheckpointError", "GetExecutionStateError")
_WRITES = frozenset({"PutItem", "UpdateItem", "TransactWriteItems"})
_CANARIES = ("xoxb-sandbox", "dagy-sandbox-token", "sandbox-signing-secret")
"""The sandbox's secrets; wherever one of them is read, a real one would have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What is known of a run after its end. `before` is the account's state before it, in the words of `final`."""

    outcome: Document
    calls: Sequence[Call]
    line: Sequence[LineCall]
    incidents: Sequence[Incident]
    running: frozenset[str]
    """Incidents whose workflow is still alive."""
    before: Document
    protected: frozenset[str]
    own_tables: frozenset[str]
    ended: datetime
    logs: Sequence[str]
    dry_run: bool
    usual_calls: int
    """How many calls an undisturbed run of the same scenario makes."""
    usual_changes: frozenset[str] | None
    """What it changes; None for the undisturbed run itself."""
    instead: frozenset[str]
    """What may be changed instead of one of these, by whoever comes first to a budget that is for one of them."""
    state_broken: bool
    """Whether the fault takes away the bot's own memory for good, so that not even an incident can be opened."""
    service_broken: bool = False
    """Whether the durable service itself is broken: it may end an execution, and the sweep takes over."""


def violated(run: Played) -> list[str]:
    """List every promise that was broken, one sentence each."""
    mutations = [(i, call) for i, call in enumerate(run.calls) if is_mutation(call, run.own_tables)]
    return [
        *_recorded_before(run, mutations),
        *_told_after(run, mutations),
        *_recorded_after(run, mutations),
        *_done_once(run, mutations),
        *_as_undisturbed(run),
        *_nobody_else(run, mutations),
        *_given_back(run),
        *_legal_end(run),
        *_bounded(run),
        *_no_surprise(run),
        *_no_secret(run),
        *_not_lost(run),
        *([f"changed in dry-run: {call.call}" for _, call in mutations] if run.dry_run else []),
    ]


def changed(run: Played) -> frozenset[str]:
    """Name what a run changed or tried to: functions, tables, event sources, and backfills."""
    mutations = [call for call in run.calls if is_mutation(call, run.own_tables)]
    return frozenset((*(_target(call) for call in mutations), *(call.path for call in _cancels(run))))


def _as_undisturbed(run: Played) -> Iterator[str]:
    """A fault may keep the bot from changing something. It never makes it change what it otherwise would not."""
    if run.usual_changes is None:
        return
    made = changed(run)
    for what in sorted(made - run.usual_changes - run.instead):
        yield f"{what} was changed, or it was tried, and is not when nothing breaks"
    if made & run.instead and len(made) > len(run.usual_changes):
        yield f"{', '.join(sorted(made))} were changed, with budget for {len(run.usual_changes)}"


def _cancels(run: Played) -> list[LineCall]:
    return [call for call in run.line if call.call == "dagy.POST"]


def _recorded_before(run: Played, mutations: Sequence[tuple[int, Call]]) -> Iterator[str]:
    for position, what, incident in [
        *((i, call.call, call.session_name) for i, call in mutations),
        *((call.position, call.call, None) for call in _cancels(run)),
    ]:
        if not any(_is_intent(call, incident) for call in run.calls[:position]):
            yield f"{what} was tried without a record before it ({incident or 'any incident'})"


def _is_intent(call: Call, incident: str | None) -> bool:
    if call.service != "dynamodb" or call.operation not in _WRITES or call.result not in EFFECTIVE:
        return False
    written = str(call.parameters)
    return "action.intended" in written and (incident is None or incident in written)


def _told_after(run: Played, mutations: Sequence[tuple[int, Call]]) -> Iterator[str]:
    made = [(i, call.call) for i, call in mutations if call.result in EFFECTIVE]
    made += [(call.position, call.call) for call in _cancels(run) if call.result in {"sent", *AFTER}]
    for position, what in made:
        posted = any(
            call.position > position and call.call == "slack.chat.postMessage" and call.result in {"sent", *AFTER}
            for call in run.line
        )
        paged = any(call.call == "sns.Publish" and call.result in EFFECTIVE for call in run.calls[position:])
        # The template's StuckAlarm calls a person for an incident that nobody gets on with; it is not measured here either.
        is_stuck = bool(stuck(run.incidents, run.ended))
        if not posted and not paged and not is_stuck and not _keeps_failing(run):
            yield f"{what} was made and nobody was told"


def _recorded_after(run: Played, mutations: Sequence[tuple[int, Call]]) -> Iterator[str]:
    """What is in force is in the incident's record as made, or somebody is told of it in so many words.

    A page alone does not do: one that says "Nothing was changed" of a change that was made, whose answer was lost, leads
    astray. Bounds of autoscaling go with the capacity of their table and are not looked at here.
    """
    incidents = {one.id: one for one in run.incidents}
    for (incident_id, target), history in _histories(mutations).items():
        incident = incidents.get(incident_id or "")
        if incident is None or len(history) != 1 or "/" in target or _has_time(run, incident) or _keeps_failing(run):
            continue
        name = target.rsplit(":", 1)[-1]
        if any(name in _names(made.change) for made in incident.applied):
            continue
        planned = [change.target for change in incident.plan.changes if name in _names(change)] if incident.plan else []
        if not any(_says_it_is_there(page, incident.id, [name, *planned]) for page in run.outcome["escalations"]):
            yield f"{history[0]} is in force, is not in the record of {incident.id}, and no page says so"


def _names(change: Change) -> set[str]:
    return {change.uuid} if isinstance(change, CapEventSource) else {change.target}


def _says_it_is_there(page: Document, incident_id: str, names: Sequence[str]) -> bool:
    text = f"{page['subject']} {page['text']}"
    is_denied = re.search(r"[Nn]othing (was |had been )?changed", text) is not None
    return incident_id in text and any(name in text for name in names) and not is_denied


def _keeps_failing(run: Played) -> bool:
    """Say whether intake or the sweep failed up to the end so often that the template's ErrorsAlarm calls a person.

    It looks at three periods of five minutes and wants a failure in two of them; it counts where it rang within a quarter of an
    hour, since a sweep that died leaves what it had taken to no other for ten minutes, and fails in every second run.
    The sandbox does not measure the bot itself.
    """
    ago = [run.outcome["minutes"] - 1 - int(error["minute"]) for error in run.outcome["errors"] if _is_watched(error)]
    failing = sorted({minutes // 5 for minutes in ago})
    return any(late < 3 and early - late < 3 for late, early in pairwise(failing))


def _is_watched(error: Document) -> bool:
    return str(error["function"]) in {"IntakeFunction", "SweepFunction"}


def _target(call: Call) -> str:
    given = call.parameters
    found = next((given[key] for key in ("FunctionName", "UUID", "TableName", "ResourceId") if key in given), "?")
    return str(found)


def _done_once(run: Played, mutations: Sequence[tuple[int, Call]]) -> Iterator[str]:
    """Per incident and target: one change, as often as it may take, then one way back, as often as it may take."""
    for (incident, target), history in _histories(mutations).items():
        if len(history) > 2:
            yield f"{incident} changed {target} {len(history)} times with different effect: {'; '.join(history)}"
    for (incident, target), caps in _caps(mutations).items():
        was = run.before["functions"].get(target.rsplit(":", 1)[-1], {}).get("reserved")
        if len(caps) > 1 and caps[1:] != [was]:
            yield f"{incident} capped {target} at {caps[0]} and then at {caps[1:]}, where {was} was before"


def _caps(mutations: Sequence[tuple[int, Call]]) -> dict[tuple[str | None, str], list[int | None]]:
    """What each incident reserved for each function, one after the other; None where it took the reservation away."""
    found: dict[tuple[str | None, str], list[int | None]] = defaultdict(list)
    for _, call in mutations:
        if call.operation.endswith("FunctionConcurrency") and call.result in EFFECTIVE:
            reserved = call.parameters.get("ReservedConcurrentExecutions")
            if found[call.session_name, _target(call)][-1:] != [reserved]:
                found[call.session_name, _target(call)].append(reserved)
    return found


def _histories(mutations: Sequence[tuple[int, Call]]) -> dict[tuple[str | None, str], list[str]]:
    """What took effect, by incident and target, without repetitions of the same call."""
    done: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    for _, call in mutations:
        if call.result in EFFECTIVE:
            what = f"{call.operation} {sorted(call.parameters.items(), key=str)}"
            history = done[call.session_name, _target(call)]
            if not history or history[-1] != what:
                history.append(what)
    return done


def _nobody_else(run: Played, mutations: Sequence[tuple[int, Call]]) -> Iterator[str]:
    victims = {
        name for one in run.incidents if one.diagnosis and one.kind == "lambda" for name in one.diagnosis.victims
    }
    for _, call in mutations:
        target = _target(call).rsplit(":", 1)[-1]
        if target in victims or target in run.protected:
            yield f"{call.call} was tried on {target}, a victim or protected"
        if call.role != "actor":
            yield f"{call.call} was tried with the credentials of {call.role}"
    planned = _planned(run.incidents)
    for name, was, now in _differences(run):
        if name not in planned:
            yield f"{name} went from {was} to {now} and was no target"


def _planned(incidents: Iterable[Incident]) -> dict[str, list[Incident]]:
    found: dict[str, list[Incident]] = defaultdict(list)
    for incident in incidents:
        for change in incident.plan.changes if incident.plan else ():
            found[change.target].append(incident)
        for made in incident.applied:
            found[made.change.target].append(incident)
    return found


def _differences(run: Played) -> Iterator[tuple[str, object, object]]:
    for kind in ("functions", "tables"):
        for name, was in run.before[kind].items():
            now = run.outcome["final"][kind][name]
            if now != was:
                yield name, was, now


def _given_back(run: Played) -> Iterator[str]:
    planned = _planned(run.incidents)
    for name, _, now in _differences(run):
        if not any(_is_accounted_for(run, incident) for incident in planned.get(name, [])):
            yield f"{name} is left as {now}: neither given back, nor kept, nor held by a lease, nor paged"


def _is_accounted_for(run: Played, incident: Incident) -> bool:
    if incident.status is Status.KEPT or _has_time(run, incident) or _keeps_failing(run):
        return True
    acted = incident.acted_at or incident.opened_at
    minute = (acted - run.ended) // timedelta(minutes=1) + run.outcome["minutes"]
    return any(page["minute"] >= minute for page in run.outcome["escalations"] if incident.id in str(page))


def _has_time(run: Played, incident: Incident) -> bool:
    """Say whether something will still happen by itself: a lease or a question that ends, a workflow, or the sweep."""
    if not incident.is_open:
        return False
    if incident.id in run.running or (incident.lease_until is not None and incident.lease_until > run.ended):
        return True
    if incident.question is not None and incident.question.expires_at > run.ended:
        return True
    last = incident.timeline[-1].at if incident.timeline else incident.opened_at
    return run.ended - last <= DEAD_AFTER


def _legal_end(run: Played) -> Iterator[str]:
    for incident in run.incidents:
        if incident.is_open and not _has_time(run, incident) and not _keeps_failing(run):
            yield f"{incident.id} is open, and nothing will ever close it"
        if not incident.is_open and incident.status is Status.APPLIED and incident.lease_until is not None:
            yield f"{incident.id} is closed with a change that has a lease and was not given back"
    for fingerprint in {one.fingerprint for one in run.incidents}:
        still_open = [one.id for one in run.incidents if one.fingerprint == fingerprint and one.is_open]
        if len(still_open) > 1:
            yield f"{', '.join(still_open)} are open for one symptom"


def _bounded(run: Played) -> Iterator[str]:
    made = len(run.calls) + len(run.line)
    if made > 4 * run.usual_calls + 400:
        yield f"{made} calls were made where an undisturbed run makes {run.usual_calls}: something is retried for ever"


def _no_surprise(run: Played) -> Iterator[str]:
    for error in run.outcome["errors"]:
        kind = str(error["error"]).partition(":")[0].rsplit(".", 1)[-1]
        known = {*(["StepFailed"] if run.state_broken else []), *(_OF_THE_SERVICE if run.service_broken else [])}
        if not error["expected"] and kind not in known:
            yield f"unexpected in {error['function']}, minute {error['minute']}: {str(error['error'])[:300]}"


def _no_secret(run: Played) -> Iterator[str]:
    shown = {
        "Slack": str(run.outcome["slack"]),
        "a page": str(run.outcome["escalations"]),
        "an error": str(run.outcome["errors"]),
        "the record": str(run.outcome["incidents"]),
        "the log": "".join(run.logs),
    }
    for place, text in shown.items():
        if any(canary in text for canary in _CANARIES):
            yield f"a secret is in {place}"


def _not_lost(run: Played) -> Iterator[str]:
    """An alarm becomes an incident, or its event goes to the failures queue, which is an alarm of its own."""
    rang = any(call.role == "intake" for call in run.calls)  # what people ask for and is not taken, Slack tells them
    if rang and not run.incidents and not any("ntake" in str(error["function"]) for error in run.outcome["errors"]):
        yield "the alarm was lost: there is no incident, and its delivery did not fail"
    for incident in run.incidents:
        told = any(incident.id in str(call) for call in (*run.outcome["slack"], *run.outcome["escalations"]))
        if not told and not _has_time(run, incident) and not _keeps_failing(run):
            yield f"{incident.id} is over, and nobody was ever told of it"
