"""What would Unthrottle have concluded and done in a past window? Walks its incidents in the order they happened.

Each is looked at when its alarm rang, or would have rung, with what could be seen then, and judged with what it would have
done before (cooldown, budget). What people did meanwhile is in the metrics; what its own actions would have changed is not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from unthrottle.audit.document import NotLookedAt
from unthrottle.audit.episodes import Episode, pool_episodes, table_episodes
from unthrottle.audit.inventory import Survey
from unthrottle.audit.looking import Look, look
from unthrottle.audit.rings import AROUND, QUIET, Rings, rings_of
from unthrottle.audit.take_stock import FAILURES, Progress
from unthrottle.errors import NotAllowed, NotFound, Refused, TryAgain
from unthrottle.evidence.table import TableSettings
from unthrottle.incident import Decision
from unthrottle.plan import Action, SwitchToOnDemand, before_and_after
from unthrottle.ports import Ledger, Observer
from unthrottle.settings import Settings

VERSION = 1
TAKES = timedelta(minutes=2)
"""From the look to an effect: a cap holds within seconds, and running executions end within their run."""
SWITCH_TAKES = timedelta(minutes=5)
ALARM_HISTORY = timedelta(days=30)
MOST_BARS = 240
Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relived:
    """One incident of the past and what was made of it; `seen` None: it could not be looked at, for `error`."""

    account: str
    region: str
    episode: Episode
    seen: Look | None
    error: str = ""
    alarms: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Book:
    """What would have been done so far, for the guardrails."""

    acted: list[datetime] = field(default_factory=list)
    last_on: dict[str, datetime] = field(default_factory=dict)
    switches: dict[str, tuple[datetime, ...]] = field(default_factory=dict)

    def at(self, moment: datetime) -> Ledger:
        return Ledger(
            acted=tuple(one for one in self.acted if moment - one < timedelta(hours=1)),
            last_on=dict(self.last_on),
            switches=dict(self.switches),
        )

    def note(self, seen: Look) -> None:
        if seen.verdict.decision is not Decision.ALLOWED:
            return
        self.acted.append(seen.at)
        for change in seen.plan.changes:
            self.last_on[change.arn] = seen.at
            if isinstance(change, SwitchToOnDemand):
                self.switches[change.arn] = (*self.switches.get(change.arn, ()), seen.at)


def relive(
    observer: Observer,
    survey: Survey,
    settings: Settings,
    *,
    account: str,
    region: str,
    start: datetime,
    end: datetime,
    now: datetime,
    tell: Progress,
    own_prefix: str | None = None,
) -> tuple[list[Relived], list[str]]:
    """Find and judge the incidents of one account and Region. Returns them with notes on what could not be seen.

    Raises NotAllowed, TryAgain, Refused where the throttle metrics themselves cannot be read.
    """
    notes: list[str] = []
    tell("history of the alarms")
    rings = _rings(survey, settings, start, end, now=now, notes=notes)
    tell("throttles of the account")
    episodes = pool_episodes(observer.metrics, start, end, now, rings)
    tell("tables")
    tables = _tables(observer, survey, notes)
    tell(f"throttles of {len(tables):,} tables")
    episodes += table_episodes(observer.metrics, tables, start, end, now=now, rings=rings)
    episodes.sort(key=lambda one: (one.first, one.resource))
    notes.extend(_unmatched(rings, episodes))
    names = _once(observer.functions.names)
    book = _Book()
    relived: list[Relived] = []
    for number, episode in enumerate(episodes, 1):
        tell(f"incident {number} of {len(episodes)}, {episode.first:%Y-%m-%d %H:%M} UTC")
        seen, error = None, ""
        try:
            seen = look(
                observer,
                settings,
                episode.subject,
                moment=min(episode.looked_at, now),
                now=now,
                names=names,
                ledger=book.at(episode.looked_at),
                own_prefix=own_prefix,
            )
        except (NotAllowed, NotFound, Refused, TryAgain) as failure:
            error = str(failure)
        else:
            book.note(seen)
        relived.append(
            Relived(
                account=account,
                region=region,
                episode=episode,
                seen=seen,
                error=error,
                alarms=rings.names(episode.subject, episode.first, episode.last),
            )
        )
    return relived, notes


def _tables(observer: Observer, survey: Survey, notes: list[str]) -> list[TableSettings]:
    found: list[TableSettings] = []
    try:
        for name in survey.tables():
            try:
                found.append(observer.tables.describe(name))
            except NotFound:
                continue
    except FAILURES as error:
        notes.append(f"Not seen: tables after the first {len(found):,}. {error}")
    return found


def _rings(
    survey: Survey, settings: Settings, start: datetime, end: datetime, *, now: datetime, notes: list[str]
) -> Rings:
    if start < now - ALARM_HISTORY:
        notes.append(
            "CloudWatch keeps 30 days of alarm history; for what is older, the throttle metrics alone were walked."
        )
    if end <= now - ALARM_HISTORY:
        return Rings()
    try:
        rang = survey.rang(max(start, now - ALARM_HISTORY), end)
        rings = rings_of(rang, survey.alarms())
    except FAILURES as error:
        notes.append(f"Not seen: which alarms rang; incidents come from the throttle metrics. {error}")
        return Rings()
    return Rings(rings=rings, warnings_count=settings.act_before_throttling)


def _unmatched(rings: Rings, episodes: Sequence[Episode]) -> Iterator[str]:
    """Tell of alarms that rang while nothing was throttled, as far as is known today: they are no incidents here."""
    known = {
        ring
        for ring in rings.rings
        for one in episodes
        if ring.is_about(one.subject) and one.first - QUIET <= ring.at <= one.last + AROUND
    }
    rest = [ring for ring in rings.rings if ring not in known]
    if rest:
        shown = ", ".join(f"{ring.alarm} at {ring.at:%Y-%m-%d %H:%M}" for ring in rest[:3])
        more = f" and {len(rest) - 3:,} more" if len(rest) > 3 else ""
        yield (
            f"Rang while no throttle is known (an early warning, or of a table that is gone): {shown}{more} UTC. They are "
            "not counted as incidents."
        )


def _once(read: Callable[[], Sequence[str]]) -> Callable[[], Sequence[str]]:
    kept: list[Sequence[str]] = []

    def remembered() -> Sequence[str]:
        if not kept:
            kept.append(read())
        return kept[0]

    return remembered


def saved_minutes(one: Relived) -> float:
    """Return the throttled minutes after the action would have worked: at most so many were saved."""
    since = saved_from(one)
    after = [moment for moment in one.episode.throttled if since is not None and moment >= since]
    return len(after) * one.episode.period_s / 60


def saved_from(one: Relived) -> datetime | None:
    """Return when the action would have worked; None where there would have been none."""
    seen = one.seen
    if seen is None or seen.verdict.decision is not Decision.ALLOWED:
        return None
    return seen.at + (SWITCH_TAKES if seen.plan.action is Action.SWITCH_TO_ON_DEMAND else TAKES)


def cost_usd(one: Relived) -> float | None:
    """Return what the lease would have cost; None where it cannot be estimated, 0 where it costs nothing."""
    seen = one.seen
    if seen is None:
        return 0.0
    total = 0.0
    for change in seen.plan.changes:
        if isinstance(change, SwitchToOnDemand):
            if change.hourly_cost is None:
                return None
            total += change.hourly_cost * (seen.plan.lease_minutes or 0) / 60
    return total


def document(
    found: Sequence[Relived],
    failed: Sequence[NotLookedAt],
    notes: Sequence[str],
    *,
    start: datetime,
    end: datetime,
    calls: Mapping[str, int],
) -> Document:
    """Write a back-test as one document."""
    rows = [_row(one) for one in sorted(found, key=lambda one: (one.account, one.region, one.episode.first))]
    acting = [one for one in found if one.seen and one.seen.verdict.decision is Decision.ALLOWED]
    asking = [
        one
        for one in found
        if one.seen is None or (one.seen.needs_a_person_or_acts and one.seen.verdict.decision is not Decision.ALLOWED)
    ]
    return {
        "version": VERSION,
        "kind": "back-test",
        "from": start.isoformat(),
        "to": end.isoformat(),
        "notes": list(dict.fromkeys(notes)),
        "failed": [{"account": one.account, "region": one.region, "why": one.why} for one in failed],
        "incidents": rows,
        "summary": {
            "incidents": len(found),
            "throttled_minutes": sum(one.episode.throttled_minutes for one in found),
            "would_act": len(acting),
            "needs_a_person": len(asking),
            "nothing": len(found) - len(acting) - len(asking),
            "minutes_saved": sum(saved_minutes(one) for one in found),
            "cost_usd": round(sum(cost_usd(one) or 0.0 for one in acting), 2),
        },
        "aws_calls": dict(sorted(calls.items())),
    }


def _row(one: Relived) -> Document:
    episode, seen = one.episode, one.seen
    cost, since = cost_usd(one), saved_from(one)
    return {
        "account": one.account,
        "region": one.region,
        "resource": episode.resource,
        "from": episode.first.isoformat(),
        "to": episode.last.isoformat(),
        "throttled_minutes": episode.throttled_minutes,
        "throttles": episode.throttles,
        "began_by": "metrics" if episode.rang_at is None else "alarm",
        "alarms": list(one.alarms),
        "throttles_over_time": _over_time(episode),
        "error": one.error,
        **(look_document(seen, _doubts(episode)) if seen else _unseen(episode)),
        "minutes_saved": saved_minutes(one),
        "saved_from": None if since is None else since.isoformat(),
        "cost_usd": None if cost is None else round(cost, 2),
    }


def _unseen(episode: Episode) -> Document:
    return {
        "looked_at": episode.looked_at.isoformat(),
        "resolution_s": episode.period_s,
        "cause": None,
        "confidence": None,
        "targets": [],
        "victims": [],
        "findings": [],
        "rejected": [],
        "plan": {"action": Action.ESCALATE.value, "why": "", "changes": [], "commands": [], "way_back_commands": []},
        "verdict": Decision.NONE.value,
        "reasons": [],
        "gaps": [],
    }


def _over_time(episode: Episode) -> Document:
    """Write the throttles as a row of sums, at most MOST_BARS of them, from the first throttle to the last."""
    periods = max(1, round((episode.last - episode.first).total_seconds() / episode.period_s))
    period_s = episode.period_s * -(-periods // MOST_BARS)
    sums = [0.0] * -(-periods * episode.period_s // period_s)
    for moment, value in zip(episode.throttled, episode.values, strict=True):
        sums[min(len(sums) - 1, int((moment - episode.first).total_seconds() // period_s))] += value
    return {"from": episode.first.isoformat(), "period_s": period_s, "values": sums}


def _doubts(episode: Episode) -> tuple[str, ...]:
    if episode.period_s == 60 or len(episode.throttled) > 1 or episode.rang_at is not None:
        return ()
    return (
        (
            f"Throttled within {episode.period_s // 60} min; whether in two of three minutes, so that an alarm would have rung, "
            "can no longer be told."
        ),
    )


def look_document(seen: Look, doubts: tuple[str, ...] = ()) -> Document:
    """Write a look: the same keys for the back-test and for `diagnose`. `doubts` come before its own gaps."""
    diagnosis, plan = seen.diagnosis, seen.plan
    changes = []
    for change in plan.changes:
        before, after = before_and_after(change)
        changes.append({"target": change.target, "before": before, "after": after})
    return {
        "looked_at": seen.at.isoformat(),
        "resolution_s": seen.resolution_s,
        "cause": diagnosis.cause.value,
        "confidence": diagnosis.confidence.value,
        "targets": list(diagnosis.targets),
        "victims": list(diagnosis.victims),
        "findings": [finding.text for finding in diagnosis.findings],
        "rejected": [{"cause": one.cause.value, "because": one.because} for one in diagnosis.rejected],
        "plan": {
            "action": plan.action.value,
            "why": plan.why,
            "effect": plan.effect,
            "follow_up": plan.follow_up,
            "lease_minutes": plan.lease_minutes,
            "changes": changes,
            "commands": list(plan.commands),
            "way_back_commands": list(plan.way_back_commands),
        },
        "verdict": seen.verdict.decision.value,
        "reasons": [{"guardrail": one.guardrail, "text": one.text} for one in seen.verdict.reasons],
        "gaps": [*doubts, *diagnosis.gaps, *seen.evidence.gaps, *seen.notes],
    }
