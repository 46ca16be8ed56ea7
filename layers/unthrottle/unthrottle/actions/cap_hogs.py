"""Plan the caps of the functions that hold the pool: which knob of each, how low, and what that frees. Pure.

The pool is the one that the diagnosis saw: without what provisioned concurrency holds. Nothing is claimed freed that the
knob does not reach, and a plan that frees nothing is none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from unthrottle.actions import cap_concurrency, cap_event_source
from unthrottle.diagnosis import Diagnosis
from unthrottle.evidence.pool import Candidate, EventSource, PoolEvidence
from unthrottle.evidence.series import Series
from unthrottle.plan import Action, CapConcurrency, CapEventSource, Plan, Watch
from unthrottle.settings import Settings
from unthrottle.tags import forbidden_by

LOOK_BACK = timedelta(minutes=15)
"""What a function holds is its peak of so long."""
MOSTLY_SOURCES = 0.5
"""Part of what a hog holds that its event sources must be able to hold, for it to be slowed there."""

Cap = CapConcurrency | CapEventSource


@dataclass(frozen=True, slots=True, kw_only=True)
class _Caps:
    """The changes for some hogs. `freed` are the executions they leave to the others, who use `others` now."""

    hogs: tuple[Candidate, ...]
    changes: tuple[Cap, ...]
    freed: int
    others: float


def plan(diagnosis: Diagnosis, evidence: PoolEvidence, settings: Settings, watch: Watch) -> Plan:
    """Make the plan for the hogs of a diagnosis.

    One whose tag forbids any change is left out where capping the others helps. Otherwise it stays in, and is denied.
    """
    known = {candidate.name: candidate for candidate in evidence.candidates}
    hogs = tuple(known[name] for name in diagnosis.targets if name in known)
    free = tuple(hog for hog in hogs if forbidden_by(hog.tags, settings) is None)
    caps = _caps(free, evidence, settings)
    if caps.freed <= 0 and len(free) < len(hogs):
        caps = _caps(hogs, evidence, settings)
    if not caps.changes or caps.freed <= 0:
        return _no_cap(caps, watch)
    return _plan(hogs, caps, evidence, settings, watch)


def _no_cap(caps: _Caps, watch: Watch) -> Plan:
    why = "The function that holds the pool has no setting that would slow it without losing work."
    if caps.changes:
        why = "No cap would free anything for the others, as far as the evidence shows."
    return Plan(
        action=Action.ESCALATE,
        why=why,
        follow_up="Slow its source by hand, or request a higher quota (lambda L-B99A9384).",
        watch=watch,
    )


def _plan(hogs: tuple[Candidate, ...], caps: _Caps, evidence: PoolEvidence, settings: Settings, watch: Watch) -> Plan:
    capped = ", ".join(hog.name for hog in caps.hogs)
    spared = [hog.name for hog in hogs if hog not in caps.hogs]
    held = sum(_held(evidence, hog.name) for hog in hogs)
    commands = [_commands(change) for change in caps.changes]
    return Plan(
        action=Action.CAP_EVENT_SOURCE if isinstance(caps.changes[0], CapEventSource) else Action.CAP_CONCURRENCY,
        why=(
            f"{', '.join(hog.name for hog in hogs)} {'holds' if len(hogs) == 1 else 'hold'} {held:,.0f} of "
            f"{evidence.shared_size:,.0f} executions; one function may keep {settings.max_pool_share} %."
            + (f" {', '.join(spared)} is left as it is: a tag forbids any change." if spared else "")
        ),
        watch=watch,
        changes=caps.changes,
        lease_minutes=settings.cap_lease_minutes,
        effect=_effect(caps, evidence),
        way_back="The earlier setting comes back when the lease ends and the pressure is gone, or at once with revert.",
        commands=tuple(change for change, _ in commands),
        way_back_commands=tuple(back for _, back in commands),
        follow_up=f"Set a permanent limit for {capped} where it is defined, so that the next deployment keeps it.",
    )


def _effect(caps: _Caps, evidence: PoolEvidence) -> str:
    reservations = [change for change in caps.changes if isinstance(change, CapConcurrency)]
    withdrawn = sum(change.after - change.provisioned for change in reservations)
    in_use = _peak(evidence.shared_use)
    return (
        f"Frees about {caps.freed:,} executions for the others"
        + (", as far as event sources hold them" if len(reservations) < len(caps.changes) else "")
        + f". Limit {evidence.account.limit:,}, reserved before {evidence.account.reserved:,}, in use {in_use:,.0f}, others "
        f"use {caps.others:,.0f}"
        + (f"; the reservation itself withdraws {withdrawn:,} from the shared pool" if reservations else "")
        + ". Executions already running are not stopped."
    )


def _caps(hogs: tuple[Candidate, ...], evidence: PoolEvidence, settings: Settings) -> _Caps:
    peaks = {hog.name: _held(evidence, hog.name) for hog in hogs}
    shared = sum(max(0.0, peaks[hog.name] - (hog.provisioned or 0)) for hog in hogs)
    others = max(0.0, _peak(evidence.shared_use) - shared)
    pool = replace(evidence.account, unreserved_limit=math.floor(evidence.shared_size))
    changes: list[Cap] = []
    freed = 0
    for name, cap in (cap_concurrency.caps(pool, hogs, others, settings) if hogs else {}).items():
        hog = next(hog for hog in hogs if hog.name == name)
        # Never more than it holds: reserving that would withdraw more from the others than it frees.
        made, frees = _changes_for(hog, max(1, min(cap, round(peaks[name]))), peaks[name], settings)
        changes.extend(made)
        freed += frees
    return _Caps(hogs=hogs, changes=tuple(changes), freed=freed, others=others)


def _changes_for(hog: Candidate, cap: int, peak: float, settings: Settings) -> tuple[list[Cap], int]:
    """Turn down what feeds a hog, or the function itself where that is the only knob that covers what it runs.

    Reserved concurrency alone reaches every invocation; a limit of an event source leaves the others as they are (AWS Lambda
    guide). Which way it hurts somebody is said in the change, so that a person is asked.
    """
    sources = tuple(source for source in hog.event_sources if source.enabled)
    part = _of_sources(hog, sources, peak)
    if not sources or part < MOSTLY_SOURCES * peak:
        return _reserved(hog, cap, peak, settings)
    each, held = max(1, cap // len(sources)), part / len(sources)  # nothing tells them apart
    made = [change for source in sources for change in (cap_event_source.change(hog, source, each, held),) if change]
    if not made and cap_event_source.keeps_its_records(sources, settings.cap_lease):
        return _reserved(hog, cap, peak, settings)
    return list(made), sum(max(0, round(held - cap_event_source.holds_to(change, held))) for change in made)


def _reserved(hog: Candidate, cap: int, peak: float, settings: Settings) -> tuple[list[Cap], int]:
    change = cap_concurrency.change(hog, cap, peak, settings.cap_lease_minutes)
    return [change], max(0, round(peak) - change.after)


def _of_sources(hog: Candidate, sources: Sequence[EventSource], peak: float) -> float:
    """Return how much of its peak a hog's event sources may hold: what no queued event explains, within their limits.

    The rest is queued events, and above the limits callers.
    """
    ran = hog.ran(peak)
    rest = peak * (1 - min(1.0, hog.queued / ran)) if ran > 0 else peak
    limits = [limit for source in sources if (limit := cap_event_source.most(source)) is not None]
    return min(rest, sum(limits)) if len(limits) == len(sources) else rest


def _held(evidence: PoolEvidence, name: str) -> float:
    series = next((use.concurrency for use in evidence.ranking if use.name == name), None)
    return 0.0 if series is None else _peak(series)


def _peak(series: Series) -> float:
    """Return the most of the last minutes; 0 where nothing was measured in them."""
    end = series.time_of(len(series.values))
    return series.between(end - LOOK_BACK, end).peak() or 0.0


def _commands(change: Cap) -> tuple[str, str]:
    match change:
        case CapConcurrency():
            return cap_concurrency.commands(change)
        case CapEventSource():
            return cap_event_source.commands(change)
