"""Does a running backfill explain the jump in writes, and which one?

A backfill names its environment, its start and its dispatch rate, not its tables. It is guilty when it runs in the
table's environment and the table's writes at least doubled when it started. Only writes are a backfill's fault.
Several that fit are told apart by their start, then by their rate; where neither tells, a person is asked (low
confidence).
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from unthrottle.backfills import Backfill
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.table_view import JUMP, MINUTE, PREFIX, Jump, TableView
from unthrottle.causes.wording import clock, names, number, percent
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected
from unthrottle.evidence import environment
from unthrottle.evidence.cancelled import CANCELLED
from unthrottle.evidence.table import BackfillsUnknown, Way

BEFORE_START = timedelta(minutes=2)
"""How much earlier than the start the jump may seem to begin: clocks and minutes do not meet exactly."""

AFTER_START = timedelta(minutes=15)
"""How much later: runs have to be dispatched, start and begin to write."""

CLOSER = timedelta(minutes=3)
"""Of two that fit, one whose start is nearer to the jump by this much is the one."""

FASTER = 3.0
"""Of two that started together, one that dispatches this many times faster is the one."""

MOST_PER_RUN = 3000
"""Write units a single run of a backfill can plausibly cause on one table. A backfill whose rate of dispatch would need
more than that for each run to explain the jump may only have started at the same time."""

THROTTLED_BEFORE = 3
"""So many throttled minutes shortly before the start mean that something else was wrong already."""

WRITES = 0.5
"""At least this part of the throttles must be writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    """A backfill and the jump that began with it. `doubt` is what makes it uncertain, in words."""

    backfill: Backfill
    jump: Jump
    doubt: str | None = None

    @property
    def distance(self) -> timedelta:
        return abs(self.jump.onset - self.backfill.started_at)


def is_dagys(view: TableView) -> bool:
    """Say whether the table is one of dagy's, by its prefix; others no backfill writes."""
    return environment.is_dagys(view.table, view.settings)


def consider(view: TableView) -> Opinion:
    """High: one fits. Medium: two fit, told apart by start or rate. Low: not told apart, throttled before already,
    its rate of dispatch is too low to explain the jump, or nothing says which environment the table is of."""
    known = view.evidence.backfills
    writes = sum(item.events for item in view.throttled if item.way is Way.WRITE) + view.unknown
    if view.total == 0 or not is_dagys(view):
        return None
    if isinstance(known, BackfillsUnknown):
        return Rejected(cause=Cause.RUNAWAY_BACKFILL, because=f"Whether a backfill runs is unknown: {known.reason}.")
    if writes < WRITES * view.total:
        because = f"Only {number(writes)} of {number(view.total)} throttles are writes, and a backfill writes."
        return Rejected(cause=Cause.RUNAWAY_BACKFILL, because=because)
    own = environment.environments(view.table, view.evidence.tags, view.settings)
    if not known.backfills:
        of = f" of environment {' or '.join(own)}" if own else ""
        return Rejected(cause=Cause.RUNAWAY_BACKFILL, because=f"dagy says that no backfill{of} is running.")
    here = _of_environment(view, known.backfills, own)
    if not here:
        who = names([f"{item.id} ({item.environment})" for item in known.backfills])
        because = f"Running backfills are of other environments than the table: {who}."
        return Rejected(cause=Cause.RUNAWAY_BACKFILL, because=because)
    matches: list[_Match] = []
    against: list[str] = []
    for backfill in here:
        match = _match(view, backfill)
        if isinstance(match, str):
            against.append(match)
        else:
            matches.append(match if own else _of_unknown(view, match))
    if not matches:
        return Rejected(cause=Cause.RUNAWAY_BACKFILL, because=" ".join(against))
    return _guilty(view, matches, against)


def _of_environment(view: TableView, running: tuple[Backfill, ...], own: tuple[str, ...]) -> list[Backfill]:
    """Return the running backfills of the table's environment: by its name, else by its tag; all where neither tells."""
    live = [item for item in running if item.state in {"running", CANCELLED} and item.started_at <= view.evidence.end]
    if not own:
        return live
    found = ([item for item in live if item.environment == one] for one in own)
    return next((items for items in found if items), [])


def _of_unknown(view: TableView, match: _Match) -> _Match:
    """Doubt a match where the backfill may be of another environment than the table: it began with the jump, no more."""
    tag = f"{view.settings.tag_prefix}:environment"
    unknown = f"Which environment {view.table} is of is unknown: its name does not say, and it has no tag {tag}."
    return replace(match, doubt=unknown if match.doubt is None else f"{unknown} {match.doubt}")


def _match(view: TableView, backfill: Backfill) -> _Match | str:
    """Hold a backfill's start against the jump in writes; a string says what speaks against it."""
    start = backfill.started_at.replace(second=0, microsecond=0)
    edge = start - BEFORE_START
    if edge <= view.evidence.start:
        return _without_baseline(view, backfill)
    jump = view.jump(Way.WRITE, before=edge)
    if jump is None:
        wanted = view.demand(Way.WRITE)
        now = max((minute.units for minute in wanted if minute.at >= view.recent_start), default=0.0)
        return (
            f"{backfill.id} started at {clock(start)}, but writes have not reached {number(JUMP)} times their level of "
            f"before; now they are {number(now)} units a second."
        )
    if not edge <= jump.onset <= start + AFTER_START:
        return f"{backfill.id} started at {clock(start)}, but writes jumped at {clock(jump.onset)}."
    before = [edge - back * MINUTE for back in range(1, 16)]
    throttled = sum(1 for moment in before if view.events_between(moment, moment + MINUTE) > 0)
    doubt = None
    if throttled >= THROTTLED_BEFORE:
        doubt = f"{throttled} of the 15 minutes before {backfill.id} started were throttled already."
    rate, new = backfill.dispatch_rate_per_minute, 60 * (jump.after - jump.before)
    if 0 < rate * MOST_PER_RUN < new:
        doubt = (
            f"{backfill.id} dispatches {number(rate)} runs a minute: each would have to write {number(round(new / rate))} "
            f"units to {view.table} to explain the jump."
        )
    return _Match(backfill=backfill, jump=jump, doubt=doubt)


def _without_baseline(view: TableView, backfill: Backfill) -> _Match | str:
    """Judge a backfill that started before the evidence: only a load throttled from the beginning may be its doing."""
    start, first = backfill.started_at, view.evidence.start
    jump = view.jump(Way.WRITE)
    if jump is not None and jump.onset > start + AFTER_START:
        return f"{backfill.id} started at {clock(start)}, but writes jumped at {clock(jump.onset)}."
    if view.events_between(first, first + 10 * MINUTE) == 0:
        return f"{backfill.id} started at {clock(start)}, long before the throttling."
    wanted = [minute.units for minute in view.demand(Way.WRITE) if minute.at >= view.recent_start]
    level = max(wanted, default=0.0)
    return _Match(
        backfill=backfill,
        jump=Jump(onset=max(start, first), before=0.0, after=level),
        doubt=f"{backfill.id} started before the evidence begins; what was written before it is unknown.",
    )


def _guilty(view: TableView, matches: list[_Match], against: list[str]) -> Diagnosis:
    """Choose among those that fit, and say how surely."""
    matches = sorted(matches, key=lambda match: (match.distance, -match.backfill.dispatch_rate_per_minute))
    first, confidence, why = matches[0], Confidence.HIGH, ""
    if len(matches) > 1:
        second = matches[1]
        by_rate = sorted(matches, key=lambda match: -match.backfill.dispatch_rate_per_minute)
        fast, next_fast = (match.backfill.dispatch_rate_per_minute for match in by_rate[:2])
        if second.distance - first.distance >= CLOSER:
            confidence, why = Confidence.MEDIUM, f"its start is nearer to the jump than that of {second.backfill.id}"
        elif fast >= FASTER * next_fast:
            first, confidence = by_rate[0], Confidence.MEDIUM
            why = f"it dispatches at least {number(FASTER)} times as fast as {by_rate[1].backfill.id}"
        else:
            first, confidence = by_rate[0], Confidence.LOW
            other = by_rate[1].backfill.id
            why = f"it dispatches no slower than {other}, which fits as well; neither start nor rate tells them apart"
    if first.doubt is not None:
        confidence = Confidence.LOW
    gaps = [first.doubt] if first.doubt is not None else []
    return Diagnosis(
        cause=Cause.RUNAWAY_BACKFILL,
        confidence=confidence,
        targets=(first.backfill.id,),
        victims=(view.table,),
        findings=(*_findings(view, first, why, against), *(view.finding(item) for item in view.throttled)),
        gaps=tuple(gaps),
    )


def _findings(view: TableView, match: _Match, why: str, against: list[str]) -> tuple[Finding, ...]:
    backfill, jump = match.backfill, match.jump
    text = (
        f"Backfill {backfill.id} of flow {backfill.flow} in {backfill.environment}, asked for by "
        f"{backfill.requested_by}, "
        f"started at {clock(backfill.started_at)} and dispatches {number(backfill.dispatch_rate_per_minute)} runs a "
        "minute "
        f"({number(backfill.runs_dispatched)} of {number(backfill.runs_total)} so far)."
    )
    jumped = (
        f"Writes wanted of {view.table} rose from {number(jump.before)} to {number(jump.after)} units a second at "
        f"{clock(jump.onset)}; {percent(jump.part, 1)} of them are new."
    )
    found = [
        Finding(text=jumped, check=view.check(f"Consumed{PREFIX[Way.WRITE]}CapacityUnits")),
        Finding(text=text),
    ]
    if why:
        found.append(Finding(text=f"More than one backfill fits; {backfill.id} is named because {why}."))
    written = view.check(f"Consumed{PREFIX[Way.WRITE]}CapacityUnits")
    found += [Finding(text=f"Not the cause: {line}", check=written) for line in against]
    return tuple(found)
