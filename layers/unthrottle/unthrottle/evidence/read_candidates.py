"""Read the settings of a few functions, and the metrics that tell who invokes them.

A call that can be told without is not made: what feeds a function is not looked for where nearly all its invocations are
queued events, nor how long it keeps them where a dead-letter queue takes what is dropped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from unthrottle.errors import NotFound, Refused
from unthrottle.evidence.pool import AsyncSettings, Candidate, ConcurrencyAccount, EventSource
from unthrottle.evidence.series import Series
from unthrottle.ports import Functions, MetricQuery, Observer

NO_NAME = frozenset({"ValidationException", "InvalidParameterValueException"})
"""What Lambda says to a name it does not take. A replica of Lambda@Edge has metrics under its home Region and name."""
ASYNC_SHARE = 0.9
"""Share of invocations from Lambda's own event queue above which no event source mapping needs to be looked for."""

_METRICS = (
    ("i", "Invocations", "Sum"),
    ("a", "AsyncEventsReceived", "Sum"),
    ("g", "AsyncEventAge", "SampleCount"),
    ("t", "Throttles", "Sum"),
    ("r", "RecursiveInvocationsDropped", "Sum"),
)
"""AsyncEventAge is measured when a queued event reaches the function (AWS Lambda guide, metric types), so that its samples
count the events handed over; that there is one for each event is a belief no page states. Fewer only make a person asked."""


def queries(names: Sequence[str]) -> list[MetricQuery]:
    """Ask for what tells who invokes each function; `series_of` finds the answers."""
    return [
        MetricQuery(
            id=f"{key}{number}", namespace="AWS/Lambda", name=metric, stat=stat, dimensions=(("FunctionName", name),)
        )
        for number, name in enumerate(names)
        for key, metric, stat in _METRICS
    ]


def series_of(names: Sequence[str], answer: dict[str, Series]) -> dict[str, dict[str, Series]]:
    """Sort the answers to `queries` by function."""
    return {name: {key: answer[f"{key}{number}"] for key, _, _ in _METRICS} for number, name in enumerate(names)}


def read_candidates(
    observer: Observer,
    names: Sequence[str],
    series: dict[str, dict[str, Series]],
    gaps: list[str],
    *,
    any_provisioned: bool,
    held: Mapping[str, float],
    feeds: bool = True,
) -> list[Candidate]:
    """Read the settings of some functions; one that is gone, or that Lambda does not know by this name, is a gap.

    `held` are the executions that each had at once when the pool was fullest: at least as often it was invoked.
    `feeds` False leaves out what invokes them: of one that suffers nothing will be slowed.
    """
    found = []
    for name in names:
        try:
            found.append(
                _read(
                    observer.functions,
                    name,
                    series[name],
                    any_provisioned=any_provisioned,
                    held=held.get(name, 0.0),
                    feeds=feeds,
                )
            )
        except NotFound:
            gaps.append(f"function {name} has metrics but is not there any more")
        except Refused as error:
            if error.code not in NO_NAME:
                raise
            gaps.append(f"{name} has metrics but is no function that Lambda can describe here ({error.code})")
    return found


def provisioned_exists(claimed: Series, unreserved: Series, account: ConcurrencyAccount) -> bool:
    """Say whether any provisioned concurrency is claimed in the account.

    ClaimedAccountConcurrency = UnreservedConcurrentExecutions + all reserved + all provisioned (AWS Lambda guide), so what
    is left after the first two is provisioned. Unknown counts as yes: then it is read.
    """
    moment: datetime | None = claimed.last_at
    if moment is None:
        return True
    total, in_use = claimed.at(moment), unreserved.at(moment)
    if total is None or in_use is None:
        return True
    return total - in_use - account.reserved > 0.5


def _read(
    functions: Functions, name: str, series: dict[str, Series], *, any_provisioned: bool, held: float, feeds: bool
) -> Candidate:
    settings = functions.describe(name)
    plain = Candidate(
        name=name,
        arn=settings.arn,
        reserved=settings.reserved,
        timeout_s=settings.timeout_s,
        tags=settings.tags,
        managed_instances=settings.managed_instances,
        durable=settings.durable,
        provisioned=functions.provisioned(name) if any_provisioned else None,
        invocations=series["i"],
        async_events=series["a"],
        async_started=series["g"],
        throttles=series["t"],
        loops_stopped=series["r"],
    )
    # One with a pool of its own is never capped: what feeds it does not matter.
    if not feeds or settings.reserved is not None or settings.managed_instances:
        return plain
    queued = plain.queued
    sources: tuple[EventSource, ...] = ()
    if queued <= 0 or queued < ASYNC_SHARE * plain.ran(held):
        sources = functions.event_sources(name)
    kept: AsyncSettings | None = None
    if queued > 0:
        kept = AsyncSettings(has_destination=True) if settings.has_dead_letter else functions.async_settings(name)
    return replace(plain, event_sources=sources, async_settings=kept)
