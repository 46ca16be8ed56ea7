"""Where is the concurrency pool of an account exposed? Pure: an inventory in, exposures out.

Ranks by what a function takes, never by who is throttled: the most throttled function is the victim.
"""

from collections.abc import Iterator, Sequence

from unthrottle.audit import fixes
from unthrottle.audit.exposures import Exposure, Kind, Severity, owner_of
from unthrottle.audit.inventory import FunctionFacts, Inventory
from unthrottle.causes import checks
from unthrottle.evidence.pool import EventSource, SourceKind
from unthrottle.settings import Settings

USUAL_FLOOR = 100
"""What AWS usually keeps unreserved; 10, 40 and 50 are seen in smaller accounts."""
NEARLY_FULL = 0.8
LONG_RUN_S = 30.0
"""Runs this long hold a slot while others wait; Lambda starts 1,000 of them in ten seconds (AWS Lambda guide, scaling)."""
SOME_SHARE = 0.25
"""Part of the share a bounded-by-nothing function must have reached to be worth a line."""
USED = 0.5
"""A reservation of which less than this was ever used."""
SAFETY = 1.2
MOST_VICTIMS = 50
SHORT_AGE_S = 3600
"""Queued events are dropped at their maximum age; an incident of an hour is not rare."""


def pool_exposures(inventory: Inventory, settings: Settings, owner_tags: Sequence[str]) -> Iterator[Exposure]:
    """Judge the pool and every function of it."""
    if inventory.concurrency is None:
        return
    yield from _pool(inventory, settings)
    limit = inventory.concurrency.limit
    share = max(1, limit * settings.max_pool_share // 100)
    for function in inventory.functions:
        owner = owner_of(function.tags, owner_tags)
        yield from _taker(inventory, function, owner, share, settings)
        yield from _reservation(function, owner, limit)
        yield from _events(function, owner)
        yield from _sources(function, owner, share)
    yield from _victims(inventory, owner_tags, share)


def _pool(inventory: Inventory, settings: Settings) -> Iterator[Exposure]:
    account = inventory.concurrency
    if account is None:
        return
    peak = inventory.in_use.peak() if inventory.in_use else None
    if peak is not None and peak >= NEARLY_FULL * account.limit:
        at = inventory.in_use.peak_at() if inventory.in_use else None
        refused = inventory.throttles.sum() if inventory.throttles else 0.0
        yield Exposure(
            kind=Kind.POOL_NEARLY_FULL,
            severity=Severity.HIGH if refused > 0 else Severity.MEDIUM,
            resource="concurrency pool",
            title=f"The pool reached {peak:,.0f} of {account.limit:,} executions",
            risk="When the pool is used up, Lambda refuses invocations of every function without a reservation.",
            evidence=(
                f"{peak:,.0f} executions at once around {at:%Y-%m-%d %H:%M} UTC, {100 * peak / account.limit:.0f} % of the "
                "limit."
                if at
                else f"{peak:,.0f} executions at once.",
                f"{refused:,.0f} invocations were refused in 14 days.",
            ),
            fix=fixes.quota(),
            weight=peak / account.limit,
            checks=(checks.account_settings(),),
        )
    floor = USUAL_FLOOR if account.limit > USUAL_FLOOR else 1
    room = account.unreserved_limit - floor
    share = account.limit * settings.max_pool_share // 100
    if room < share:
        yield Exposure(
            kind=Kind.NO_ROOM_ABOVE_FLOOR,
            severity=Severity.HIGH if room < 1 else Severity.MEDIUM,
            resource="concurrency pool",
            title=f"Only {max(0, room):,} executions can still be reserved",
            risk="A function that takes the pool can only be capped within that room; without any, not at all.",
            evidence=(
                (
                    f"Limit {account.limit:,}, reserved {account.reserved:,}, unreserved {account.unreserved_limit:,}; AWS "
                    f"usually keeps {floor} unreserved."
                ),
            ),
            fix=fixes.quota(),
            weight=float(share - room),
            checks=(checks.account_settings(),),
        )


def unbounded(function: FunctionFacts) -> str | None:
    """Say through which door a function without a bound is called, or None where something bounds it."""
    if function.reserved is not None or not function.reserved_known or function.managed_instances:
        return None
    if function.events > 0:
        return "asynchronous events, which wait up to six hours and are started as fast as the pool allows"
    enabled = [source for source in function.sources if source.enabled]
    queues = [source for source in enabled if source.kind is SourceKind.SQS and not _has_bound(source)]
    if queues:
        return "a queue whose mapping has no maximum concurrency"
    if enabled or function.peak is None:
        return None  # streams and Kafka are bounded by shards or partitions
    return "callers that invoke it directly"


def _has_bound(source: EventSource) -> bool:
    return source.maximum_concurrency is not None or source.is_provisioned


def _taker(
    inventory: Inventory, function: FunctionFacts, owner: str | None, share: int, settings: Settings
) -> Iterator[Exposure]:
    account = inventory.concurrency
    if account is None or function.peak is None or function.reserved is not None or function.managed_instances:
        return
    peak, door = function.peak, unbounded(function)
    evidence = [f"At most {peak.value:,.0f} at once, in the hour of {peak.at:%Y-%m-%d %H:%M} UTC."]
    if door:
        evidence.append(f"Called through {door}.")
    if function.mean_run_s is not None:
        evidence.append(f"A run lasts {function.mean_run_s:,.1f} s in the mean, {function.timeout_s:,} s at most.")
    if function.throttles:
        evidence.append(f"It was itself throttled {function.throttles:,.0f} times in 14 days.")
    # A slot held is a slot taken for as long as the run lasts, so held executions times their length is what others miss.
    weight = peak.value * (1 + min(function.mean_run_s or 0.0, 900.0) / LONG_RUN_S)
    long_runs = function.mean_run_s is not None and function.mean_run_s >= LONG_RUN_S
    if peak.value >= share:
        severity, title = Severity.HIGH, f"It took {peak.value:,.0f} of {account.limit:,} executions"
    elif door and long_runs and "directly" not in door:
        severity, title = Severity.HIGH, "Nothing bounds it, and its runs are long"
    elif door and peak.value >= SOME_SHARE * share:
        severity, title = Severity.MEDIUM, f"Nothing bounds it; it took {peak.value:,.0f} executions"
    else:
        return
    limit = min(share, _wished(function, settings) or share)
    queue = next((one for one in function.sources if one.enabled and one.kind is SourceKind.SQS), None)
    yield Exposure(
        kind=Kind.TAKES_THE_POOL,
        severity=severity,
        resource=function.name,
        title=title,
        risk=(
            f"One burst fills the pool of {account.limit:,} and every function without a reservation is throttled; one "
            f"function may keep {share:,} ({settings.max_pool_share} %)."
        ),
        evidence=tuple(evidence),
        fix=fixes.bound_queue(function.name, queue.uuid, limit) if queue else fixes.reserve(function.name, limit),
        owner=owner,
        weight=weight,
        checks=(
            checks.lambda_metric(
                "ConcurrentExecutions", "Maximum", inventory.start, inventory.end, function=function.name
            ).replace("--period 60", "--period 3600"),
        ),
    )  # fmt: skip


def _wished(function: FunctionFacts, settings: Settings) -> int | None:
    text = function.tags.get(f"{settings.tag_prefix}:max-concurrency", "").strip()
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text) < 10**6 else None


def _reservation(function: FunctionFacts, owner: str | None, limit: int) -> Iterator[Exposure]:
    if function.reserved is None:
        return
    check = (checks.function_concurrency(function.name),)
    if function.reserved == 0:
        yield Exposure(
            kind=Kind.SWITCHED_OFF,
            severity=Severity.LOW,
            resource=function.name,
            title="Its reserved concurrency is 0",
            risk="It cannot run, and queued events of an asynchronous function at 0 go straight to its destination, or nowhere.",
            evidence=("ReservedConcurrentExecutions is 0, which somebody set.",),
            fix=fixes.remove_reservation(function.name),
            owner=owner,
            checks=check,
        )
        return
    used = function.peak.value if function.peak else 0.0
    idle = function.reserved - used
    if used >= USED * function.reserved or idle < max(5, limit * 0.01):
        return
    seen = f"at most {used:,.0f} were used in 14 days" if function.peak else "it shows no run in 14 days"
    yield Exposure(
        kind=Kind.USELESS_RESERVATION,
        severity=Severity.MEDIUM if idle >= 0.1 * limit else Severity.LOW,
        resource=function.name,
        title=f"{idle:,.0f} of its {function.reserved:,} reserved executions are never used",
        risk="A reservation is taken out of everyone else's pool whether it is used or not.",
        evidence=(f"Reserved {function.reserved:,}; {seen}.",),
        fix=fixes.lower_reservation(function.name, max(1, round(used * SAFETY))),
        owner=owner,
        weight=idle,
        checks=check,
    )


def _events(function: FunctionFacts, owner: str | None) -> Iterator[Exposure]:
    kept = function.async_settings
    if kept is None or function.events <= 0 or kept.has_destination or function.has_dead_letter:
        return
    short = kept.max_event_age_s < SHORT_AGE_S
    if not short and function.throttles == 0:
        return  # AWS's default of six hours outlives most incidents
    age = f"{kept.max_event_age_s / 60:,.0f} min"
    yield Exposure(
        kind=Kind.LOSES_EVENTS,
        severity=Severity.HIGH if short and function.throttles else Severity.MEDIUM,
        resource=function.name,
        title=f"Its events are dropped after {age}, and nothing keeps them",
        risk="While the function is throttled its events wait; what is older than that is gone without a trace.",
        evidence=(
            (
                f"Maximum event age {age}, no on-failure destination, no dead-letter queue; {function.events:,.0f} events in "
                "14 days."
            ),
            f"Throttled {function.throttles:,.0f} times in 14 days.",
        ),
        fix=fixes.keep_events(function.name),
        owner=owner,
        weight=function.events,
    )


def _sources(function: FunctionFacts, owner: str | None, share: int) -> Iterator[Exposure]:
    for source in function.sources:
        if source.kind is not SourceKind.SQS or not source.enabled or _has_bound(source):
            continue
        if function.peak is None:
            continue  # an idle one is counted in the summary, not listed a hundred times
        yield Exposure(
            kind=Kind.SOURCE_WITHOUT_MAXIMUM,
            severity=Severity.MEDIUM if function.peak.value >= SOME_SHARE * share else Severity.LOW,
            resource=function.name,
            title="Its queue may start as many executions as the pool has",
            risk="A full queue takes the pool; a reservation instead of a maximum sends messages to the dead-letter queue.",
            evidence=(
                (
                    f"Mapping {source.uuid} of {source.source_arn} has no MaximumConcurrency; at most "
                    f"{function.peak.value:,.0f} executions in 14 days."
                ),
            ),
            fix=fixes.bound_queue(function.name, source.uuid, share),
            owner=owner,
            weight=function.peak.value,
        )


def _victims(inventory: Inventory, owner_tags: Sequence[str], share: int) -> Iterator[Exposure]:
    hurt = [
        one
        for one in inventory.functions
        if one.throttles > 0 and one.reserved is None and (one.peak is None or one.peak.value < share)
    ]
    hurt.sort(key=lambda one: (-one.throttles, one.name))
    for function in hurt[:MOST_VICTIMS]:
        held = function.peak.value if function.peak else 0.0
        kinds = sorted({source.kind.value for source in function.sources if source.enabled})
        yield Exposure(
            kind=Kind.STARVES_FIRST,
            severity=Severity.MEDIUM,
            resource=function.name,
            title=f"It was refused {function.throttles:,.0f} times while it needed {held:,.0f}",
            risk="It shares the pool without a reservation: it starves when another function takes the pool.",
            evidence=(
                f"{function.throttles:,.0f} throttles in 14 days; at most {held:,.0f} executions at once.",
                *([f"Fed by {', '.join(kinds)}."] if kinds else []),
            ),
            fix=fixes.protect(function.name, max(1, round(held * SAFETY))),
            owner=owner_of(function.tags, owner_tags),
            weight=function.throttles,
        )
    if len(hurt) > MOST_VICTIMS:
        yield Exposure(
            kind=Kind.STARVES_FIRST,
            severity=Severity.LOW,
            resource=f"{len(hurt) - MOST_VICTIMS} further functions",
            title="They were throttled as well",
            risk="They share the pool without a reservation.",
            evidence=tuple(f"{one.name}: {one.throttles:,.0f} throttles" for one in hurt[MOST_VICTIMS:][:200]),
            fix=fixes.quota(),
        )
