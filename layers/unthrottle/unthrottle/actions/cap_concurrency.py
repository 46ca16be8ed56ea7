"""Cap the function that holds the pool with reserved concurrency; give it back by the earlier number, or none.

Reserved concurrency costs nothing and takes effect within seconds, does not stop running executions, and is taken out of
everyone else's pool whether used or not (AWS Lambda guide, configuring reserved concurrency). It is never 0: asynchronous
events of a function at 0 are not queued (recorded: ZeroReservedConcurrency).
"""

import math
import re
import shlex
from dataclasses import replace
from datetime import timedelta

from unthrottle.actions.cap_event_source import keeps_its_records
from unthrottle.actions.outcome import GiveBack, GivenBack, LeftAlone
from unthrottle.errors import Drifted, Refused
from unthrottle.evidence.pool import Candidate, ConcurrencyAccount, SourceKind
from unthrottle.plan import CapConcurrency
from unthrottle.ports import Actor, Observer
from unthrottle.settings import Settings
from unthrottle.tags import wished_maximum

PERMISSIONS = (
    "lambda:GetFunctionConcurrency",
    "lambda:PutFunctionConcurrency",
    "lambda:DeleteFunctionConcurrency",
)

USUAL_FLOOR = 100
"""What AWS usually keeps unreserved; 10, 40 and 50 are seen in smaller accounts. AWS's refusal names the real one."""

QUEUED_SHARE = 0.5
"""Share of invocations that were queued events above which a function counts as asynchronous: failed ones run thrice."""

_FLOOR = re.compile(r"below its minimum value of \[(\d+)\]")
_PROVISIONED = re.compile(r"lower than function's total provisioned concurrency \[(\d+)\]")


def share(limit: int, settings: Settings, tags: dict[str, str]) -> int:
    """Return how many executions one function may keep: the pool share, or less where its tag says so; at least 1."""
    allowed = max(1, limit * settings.max_pool_share // 100)
    wished = wished_maximum(tags, settings)
    return min(allowed, wished) if isinstance(wished, int) else allowed


def caps(
    account: ConcurrencyAccount, hogs: tuple[Candidate, ...], others_in_use: float, settings: Settings
) -> dict[str, int]:
    """Decide each hog's cap, so that all caps together leave the others twice what they use now, or the usual floor.

    A reservation is withdrawn from the shared pool in full, so several caps could starve the victims by themselves. Where
    twice is not there, the others get half of what they do not use yet: a hog is slowed, not stopped, for their growth.
    `account.unreserved_limit` is what the pool can hold: without what provisioned concurrency holds of it.
    """
    growing = min(2 * others_in_use, (account.unreserved_limit + others_in_use) / 2)
    kept = max(USUAL_FLOOR if account.limit > USUAL_FLOOR else 1, math.ceil(growing))
    together = max(len(hogs), account.unreserved_limit - kept)
    return {
        # A loop only feeds itself: it is held to one execution, never to none.
        hog.name: 1 if hog.is_loop else max(1, min(share(account.limit, settings, hog.tags), together // len(hogs)))
        for hog in hogs
    }


def change(hog: Candidate, cap: int, peak: float, lease_minutes: int) -> CapConcurrency:
    """Make the change for one hog. Above its provisioned concurrency, so that unprovisioned versions still run."""
    provisioned = hog.provisioned or 0
    return CapConcurrency(
        function=hog.name,
        arn=hog.arn,
        before=hog.reserved,
        after=max(cap, provisioned + 1) if provisioned else cap,
        peak=round(peak),
        provisioned=provisioned,
        synchronous=_synchronous(hog, peak),
        loses_events=_loses_events(hog, lease_minutes),
        tags=hog.tags,
    )


def _synchronous(hog: Candidate, peak: float) -> str | None:
    """Say why callers wait for this function, or may, or None where they do not.

    An event source proves nothing of the other invocations; no metric that is on by default counts its own.
    """
    queued, ran = hog.queued, hog.ran(peak)
    if queued > 0 and queued >= QUEUED_SHARE * ran:
        return None
    if any(source.enabled for source in hog.event_sources):
        return "it has an event source, and whether callers invoke it too and wait for an answer cannot be told"
    if queued > 0:
        return (
            f"only {queued:,.0f} of its {ran:,.0f} invocations were queued events; the callers of the others may wait"
        )
    if hog.invocations is None or hog.invocations.is_empty:
        return "nothing shows that its invocations are asynchronous; its callers may be waiting for an answer"
    return "it is invoked synchronously (no queued events, no event source): its callers would get 429 errors"


def _loses_events(hog: Candidate, lease_minutes: int) -> str | None:
    """Say how a cap would cost events, or None."""
    ways = [way for way in (_ages_out(hog, lease_minutes), _drains(hog, lease_minutes)) if way is not None]
    return "; and ".join(ways) or None


def _ages_out(hog: Candidate, lease_minutes: int) -> str | None:
    """Queued events are dropped at their maximum age (AWS Lambda guide, asynchronous invocation)."""
    kept = hog.async_settings
    if kept is None or kept.has_destination or kept.max_event_age_s >= lease_minutes * 60:
        return None
    return (
        f"its queued events are dropped after {kept.max_event_age_s} s, it has no on-failure destination, and a cap "
        f"would hold them back for up to {lease_minutes} min"
    )


def _drains(hog: Candidate, lease_minutes: int) -> str | None:
    """Each throttled receive of a queue counts (AWS Lambda guide, SQS scaling); a stream's records wait."""
    lease = timedelta(minutes=lease_minutes)
    lossy = {source.kind for source in hog.event_sources if source.enabled and not keeps_its_records((source,), lease)}
    if not lossy:
        return None
    if SourceKind.SQS in lossy:
        return "its queue counts each throttled receive, so that messages may reach the dead-letter queue without having run"
    return f"its event source ({', '.join(sorted(lossy))}) may drop what the cap holds back"


def commands(item: CapConcurrency) -> tuple[str, str]:
    """Give the AWS CLI command for the change and for its way back."""
    name = shlex.quote(item.function)
    put = "aws lambda put-function-concurrency --function-name {} --reserved-concurrent-executions {}"
    back = (
        f"aws lambda delete-function-concurrency --function-name {name}"
        if item.before is None
        else put.format(name, item.before)
    )
    return put.format(name, item.after), back


def compare(item: CapConcurrency, actor: Actor) -> None:
    """Raise Drifted when the function's reservation is no longer what the diagnosis saw."""
    found = actor.reserved(item.function)
    if found != item.before:
        raise Drifted(
            f"Cannot cap function {item.function} at {item.after}: its reserved concurrency is now {_words(found)}, not "
            f"{_words(item.before)} as read for the diagnosis. Nothing was changed. Someone else is working on it; run "
            f"`/unthrottle check {item.function}` to plan again."
        )


def apply(item: CapConcurrency, observer: Observer, actor: Actor) -> CapConcurrency:
    """Put the cap; once more, lower or higher, when AWS's refusal names the bound it keeps.

    Returns the change as made. Raises Refused when there is no room for any cap. A refusal that an earlier try of ours is in
    the way of, whose answer was lost, is none: what that try put is the cap.
    """
    try:
        actor.set_reserved(item.function, item.after)
    except Refused as refusal:
        if refusal.code == "ResourceConflictException" and actor.reserved(item.function) == item.after:
            return item
        held = actor.reserved(item.function) if _FLOOR.search(str(refusal)) else None
        mine = as_found(item, held)
        if mine is not None:
            return mine
        bounded = _within(item, str(refusal), held, observer)
        if bounded is None:
            raise
        actor.set_reserved(bounded.function, bounded.after)
        return bounded
    return item


def as_found(item: CapConcurrency, found: int | None) -> CapConcurrency | None:
    """Return the change as it is in force by the reservation found after a try of ours, or None where it is not.

    A lower one, of at least one execution, is ours as well: AWS's floor may have made the cap lower than it was planned. Only
    for an act whose end is not known; a change on record has its exact number.
    """
    if found == item.after:
        return item
    if found is None or found == item.before or not 1 <= found < item.after:
        return None
    return replace(item, after=found)


def _within(item: CapConcurrency, refusal: str, held: int | None, observer: Observer) -> CapConcurrency | None:
    """Return the change within the bound AWS named, or None. `held`: what is reserved now, which a new number replaces."""
    floor, provisioned = _FLOOR.search(refusal), _PROVISIONED.search(refusal)
    if floor is not None:
        account = observer.functions.account()
        room = account.unreserved_limit + (held or 0) - int(floor[1])
        if room < 1:
            raise Refused(
                f"Cannot cap function {item.function} at {item.after}: AWS keeps {floor[1]} executions unreserved and "
                f"only {account.unreserved_limit} of {account.limit} are, so there is no room for any reservation. "
                "Nothing was changed. Ask for a higher quota (lambda L-B99A9384) or slow the function's trigger.",
                code="no-room-above-floor",
            )
        return replace(item, after=min(item.after, room)) if room < item.after else None
    if provisioned is not None:
        needed = int(provisioned[1]) + 1
        return replace(item, after=needed, provisioned=needed - 1) if item.after < needed <= item.peak else None
    return None


def give_back(item: CapConcurrency, actor: Actor) -> GiveBack:
    """Put the earlier number back, or delete the reservation where there was none; only if the value is still ours."""
    found = actor.reserved(item.function)
    if found == item.before:
        return LeftAlone(
            found=f"reserved concurrency of {item.function} is {_words(found)} already: someone put it back",
            is_back=True,
        )
    if found != item.after:
        return LeftAlone(found=f"reserved concurrency of {item.function} is {_words(found)}, not our {item.after}")
    actor.set_reserved(item.function, item.before)
    return GivenBack(detail=f"reserved concurrency of {item.function}: {item.after} -> {_words(item.before)}")


def _words(value: int | None) -> str:
    return "unset" if value is None else str(value)
