"""Decide whether a plan may run. Knows nothing of AWS: it judges what it is given.

One function for each guardrail; all are asked, and all reasons are reported, not just the first. When in doubt it denies or
asks a person, and it always says why and what to do.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from unthrottle.diagnosis import Confidence, Diagnosis
from unthrottle.evidence.pool import ConcurrencyAccount
from unthrottle.incident import Decision, Reason, Verdict
from unthrottle.plan import CancelBackfill, CapConcurrency, CapEventSource, Plan, SwitchToOnDemand
from unthrottle.ports import Ledger
from unthrottle.settings import Mode, Settings, WhenSlackIsDown
from unthrottle.tags import is_protected

STALE_AFTER = timedelta(minutes=10)
"""Evidence older than this at the time of judging is not acted on; CloudWatch itself is a few minutes late."""
LONGEST_SWITCH = timedelta(hours=2)
"""AWS dates a switch when it is done; one of ours asked for up to this long before is the same one."""
LEAST_UNRESERVED = 10
"""The lowest floor seen for what AWS keeps unreserved (10, 40, 50, 100); the real one is in AWS's refusal."""
SWITCHES_PER_DAY = 4
"""Switches to on-demand AWS allows a table in a rolling 24 hours (AWS DynamoDB guide); one is kept for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a guardrail may look at beside the plan. `seen_at` is the newest minute that the evidence shows.

    `pool` is Lambda's limits as read; `switched_at` when the table was last switched to on-demand, by whoever, and
    `switches_seen` how often within a day, as far as the evidence could count.
    """

    now: datetime
    settings: Settings
    diagnosis: Diagnosis
    ledger: Ledger
    incident_id: str
    itself: frozenset[str] = frozenset()
    seen_at: datetime
    early_warning: bool = False
    forced_dry_run: bool = False
    frozen: bool = False
    pool: ConcurrencyAccount | None = None
    switched_at: datetime | None = None
    switches_seen: int = 0
    unsent_reports: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """Not now, whoever asks."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Only if a person says yes."""

    text: str


Objection = Denied | Ask
Guardrail = Callable[[Plan, Context], Iterator[Objection]]


def effective_mode(plan: Plan, settings: Settings, *, forced_dry_run: bool = False) -> Mode:
    """Return the stack's mode narrowed by every target's tag; an unreadable tag narrows to dry-run."""
    mode = settings.mode
    if forced_dry_run:
        mode = mode.narrowed_by(Mode.DRY_RUN)
    for change in plan.changes:
        wished = change.tags.get(f"{settings.tag_prefix}:mode")
        if wished is None:
            continue
        known = wished.strip().lower()
        mode = mode.narrowed_by(Mode(known) if known in set(Mode) else Mode.DRY_RUN)
    return mode


def _mode(plan: Plan, context: Context) -> Iterator[Objection]:
    mode = effective_mode(plan, context.settings, forced_dry_run=context.forced_dry_run)
    if mode is Mode.OFF:
        yield Denied(text="A tag on the target says mode off. Remove the tag to let Unthrottle act.")
    elif mode is Mode.APPROVE:
        yield Ask(text="The mode is approve: every change needs a person's yes.")


def _protected(plan: Plan, context: Context) -> Iterator[Objection]:
    key = f"{context.settings.tag_prefix}:protected"
    for change in plan.changes:
        if is_protected(change.tags, context.settings):
            yield Denied(text=f"{change.target} is protected by its tag {key}. A person must decide.")


def _itself(plan: Plan, context: Context) -> Iterator[Objection]:
    for change in plan.changes:
        if change.target in context.itself:
            yield Denied(text=f"{change.target} is part of Unthrottle, which never acts on itself.")


def _victim(plan: Plan, context: Context) -> Iterator[Objection]:
    # A table that suffers is also what is changed; only functions have victims beside targets.
    for change in plan.changes:
        if isinstance(change, CapConcurrency | CapEventSource) and change.target in context.diagnosis.victims:
            yield Denied(text=f"{change.target} is a victim in this diagnosis; a victim is never changed.")


def _paused(_plan: Plan, context: Context) -> Iterator[Objection]:
    until = context.ledger.paused_until
    if until is not None and until > context.now:
        yield Denied(text=f"New changes are paused until {until:%Y-%m-%d %H:%M} UTC; `/unthrottle resume` ends that.")


def _freeze(_plan: Plan, context: Context) -> Iterator[Objection]:
    if context.frozen:
        yield Denied(text="The change calendar is closed. Act by hand if it cannot wait.")


def _unreported(_plan: Plan, context: Context) -> Iterator[Objection]:
    if context.unsent_reports and context.settings.when_slack_is_down is WhenSlackIsDown.PAUSE:
        yield Denied(
            text=f"{context.unsent_reports} reports of this incident could not reach Slack, and WhenSlackIsDown is pause."
        )


def _cooldown(plan: Plan, context: Context) -> Iterator[Objection]:
    last_on = context.ledger.last_on or {}
    for change in plan.changes:
        last = last_on.get(change.arn)
        if last is not None and context.now - last < context.settings.cooldown:
            minutes = round((context.now - last).total_seconds() / 60)
            yield Denied(
                text=f"{change.target} was changed {minutes} min ago; the cooldown is {context.settings.cooldown_minutes} "
                "min. It did not hold, so a person should look."
            )


def _action_budget(_plan: Plan, context: Context) -> Iterator[Objection]:
    recent = [at for at in context.ledger.acted if context.now - at < timedelta(hours=1)]
    if len(recent) >= context.settings.max_actions_per_hour:
        yield Denied(
            text=f"{len(recent)} actions in the last hour use up the budget of {context.settings.max_actions_per_hour}. "
            "Many sick at once means that the cause is elsewhere; a person should look."
        )


def _switch_budget(plan: Plan, context: Context) -> Iterator[Objection]:
    known = context.ledger.switches or {}
    for change in plan.changes:
        if not isinstance(change, SwitchToOnDemand):
            continue
        used = len([at for at in known.get(change.arn, ()) if context.now - at < timedelta(hours=24)])
        used = max(used + _was_by_others(known.get(change.arn, ()), context), context.switches_seen)
        if used >= SWITCHES_PER_DAY - 1:
            yield Denied(
                text=f"{change.table} was switched to on-demand {used} times in 24 hours; AWS allows "
                f"{SWITCHES_PER_DAY}, and the last one is kept for people."
            )


def _was_by_others(ours: tuple[datetime, ...], context: Context) -> int:
    """Return 1 when the table's last switch within 24 hours is none of ours. AWS tells only the last one."""
    last = context.switched_at
    if last is None or context.now - last >= timedelta(hours=24):
        return 0
    return 0 if any(timedelta(0) <= last - at <= LONGEST_SWITCH for at in ours) else 1


def _never_zero(plan: Plan, _context: Context) -> Iterator[Objection]:
    for change in plan.changes:
        if isinstance(change, CapConcurrency | CapEventSource) and change.after < 1:
            yield Denied(text=f"A cap of {change.after} would switch {change.target} off and lose its events.")


def _floor(plan: Plan, context: Context) -> Iterator[Objection]:
    caps = [change for change in plan.changes if isinstance(change, CapConcurrency)]
    taken = sum(change.after - (change.before or 0) for change in caps)
    if caps and context.pool is not None and context.pool.unreserved_limit - taken < LEAST_UNRESERVED:
        yield Denied(
            text=f"A reservation of {taken} would leave {context.pool.unreserved_limit - taken} of {context.pool.limit} "
            f"executions unreserved; AWS keeps at least {LEAST_UNRESERVED}, often 100. Ask for a higher quota (lambda "
            "L-B99A9384) or slow the function's trigger."
        )
    for change in plan.changes:
        if isinstance(change, CapConcurrency) and change.before is not None and change.after >= change.before:
            yield Denied(
                text=f"{change.target} is reserved at {change.before} already; {change.after} would not lower anything."
            )


def _provisioned_above(plan: Plan, _context: Context) -> Iterator[Objection]:
    for change in plan.changes:
        if isinstance(change, CapConcurrency) and change.provisioned and change.after <= change.provisioned:
            yield Denied(
                text=f"{change.target} has {change.provisioned} provisioned; a reservation of {change.after} would leave "
                "its other versions nothing."
            )


def _loses_events(plan: Plan, _context: Context) -> Iterator[Objection]:
    for change in plan.changes:
        if isinstance(change, CapConcurrency) and change.loses_events is not None:
            yield Ask(text=f"A cap on {change.target} may lose events: {change.loses_events}.")


def _synchronous(plan: Plan, _context: Context) -> Iterator[Objection]:
    for change in plan.changes:
        if isinstance(change, CapConcurrency) and change.synchronous is not None:
            yield Ask(text=f"{change.target} has callers that wait: {change.synchronous}.")


def _stale_evidence(_plan: Plan, context: Context) -> Iterator[Objection]:
    if context.now - context.seen_at > STALE_AFTER:
        minutes = round((context.now - context.seen_at).total_seconds() / 60)
        yield Denied(text=f"The newest datapoint is {minutes} min old. Run `/unthrottle check` to look again.")


def _cost(plan: Plan, context: Context) -> Iterator[Objection]:
    limit = context.settings.max_hourly_cost
    for change in plan.changes:
        if not isinstance(change, SwitchToOnDemand):
            continue
        if change.hourly_cost is None:
            yield Ask(text=f"What {change.table} would cost on-demand cannot be estimated from the evidence.")
        elif change.hourly_cost > limit:
            yield Ask(
                text=f"{change.table} would cost about USD {change.hourly_cost:.2f} an hour on-demand; the limit without "
                f"asking is USD {limit:.2f}."
            )


def _one_at_a_time(plan: Plan, context: Context) -> Iterator[Objection]:
    for resource, holder in (context.ledger.held_by or {}).items():
        if holder != context.incident_id and resource in {change.arn for change in plan.changes}:
            yield Denied(text=f"{holder} holds {resource.rsplit(':', 1)[-1]}; one change at a time.")


def _confidence(plan: Plan, context: Context) -> Iterator[Objection]:
    if context.diagnosis.confidence is Confidence.LOW:
        yield Ask(text="The diagnosis is of low confidence; a person should confirm it.")
    if any(isinstance(change, CancelBackfill) for change in plan.changes) and len(plan.changes) > 1:
        yield Ask(text="More than one backfill would be cancelled; a person should confirm which.")


def _before_throttling(_plan: Plan, context: Context) -> Iterator[Objection]:
    if context.early_warning and not context.settings.act_before_throttling:
        yield Ask(text="Nobody is throttled yet; acting before needs a person (setting ActBeforeThrottling is false).")


GUARDRAILS: tuple[tuple[str, Guardrail], ...] = (
    ("mode", _mode),
    ("protected", _protected),
    ("itself", _itself),
    ("victim", _victim),
    ("paused", _paused),
    ("freeze", _freeze),
    ("unreported", _unreported),
    ("cooldown", _cooldown),
    ("action-budget", _action_budget),
    ("switch-budget", _switch_budget),
    ("floor", _floor),
    ("never-zero", _never_zero),
    ("provisioned-above", _provisioned_above),
    ("loses-events", _loses_events),
    ("synchronous", _synchronous),
    ("stale-evidence", _stale_evidence),
    ("cost", _cost),
    ("one-at-a-time", _one_at_a_time),
    ("confidence", _confidence),
    ("before-throttling", _before_throttling),
)
"""Every guardrail by its public id.

`changed-since` and `change-in-progress` are judged when acting, by re-reading; then `paused` and `freeze` are asked again,
and AWS's own refusal can still be `floor` or `switch-budget`."""


def judge(plan: Plan, context: Context) -> Verdict:
    """Ask every guardrail. One denial denies; otherwise one question asks; a plan without a change needs no verdict."""
    if not plan.is_change:
        return Verdict(decision=Decision.NONE)
    denied: list[Reason] = []
    asked: list[Reason] = []
    for name, guardrail in GUARDRAILS:
        for objection in guardrail(plan, context):
            kept = denied if isinstance(objection, Denied) else asked
            kept.append(Reason(guardrail=name, text=objection.text))
    if denied:
        return Verdict(decision=Decision.DENIED, reasons=(*denied, *asked))
    if asked:
        return Verdict(decision=Decision.NEEDS_APPROVAL, reasons=tuple(asked))
    return Verdict(decision=Decision.ALLOWED)
