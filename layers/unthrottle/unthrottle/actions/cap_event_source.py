"""Slow the event source of the function that holds the pool: the right knob for queues, streams and Kafka.

Reserved concurrency on a queue's consumer can push good messages to the dead-letter queue without running them, since each
throttled receive counts; the mapping's own limit does not over-pull (AWS Lambda guide, SQS scaling). Nothing is lost: the
work waits at the source.
"""

import math
import shlex
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from unthrottle.actions.outcome import GiveBack, GivenBack, LeftAlone
from unthrottle.errors import Drifted, Refused
from unthrottle.evidence.pool import Candidate, EventSource, SourceKind
from unthrottle.plan import CapEventSource
from unthrottle.ports import Actor

PERMISSIONS = ("lambda:GetEventSourceMapping", "lambda:UpdateEventSourceMapping")

Knob = Literal["MaximumConcurrency", "MaximumPollers", "ParallelizationFactor"]

SQS_RANGE = (2, 1000)
"""Bounds of ScalingConfig.MaximumConcurrency (Lambda API model)."""
CONCURRENT_PER_POLLER = {SourceKind.SQS: 10, SourceKind.KAFKA: 5}
"""Executions one event poller can keep busy in provisioned mode (AWS Lambda guide)."""
_KEEPING = frozenset({SourceKind.KINESIS, SourceKind.DYNAMODB_STREAM})
UNDER_WAY = frozenset({"ResourceInUseException", "ResourceConflictException"})
"""Lambda's codes for an update that meets another one."""
FEWEST_POLLERS = {SourceKind.SQS: 2, SourceKind.KAFKA: 1}


def change(hog: Candidate, source: EventSource, cap: int, peak: float) -> CapEventSource | None:
    """Make the change that holds one mapping to about `cap` executions, or None where it has no knob that would."""

    def made(knob: Knob, before: int | None, after: int) -> CapEventSource | None:
        if before is not None and after >= before:
            return None
        return CapEventSource(
            function=hog.name,
            arn=hog.arn,
            uuid=source.uuid,
            source=source.kind,
            knob=knob,
            before=before,
            after=after,
            peak=round(peak),
            tags=hog.tags,
        )

    if source.is_provisioned and source.kind in CONCURRENT_PER_POLLER:
        fewest = max(FEWEST_POLLERS[source.kind], source.minimum_pollers or 0)
        return made(
            "MaximumPollers", source.maximum_pollers, max(fewest, math.ceil(cap / CONCURRENT_PER_POLLER[source.kind]))
        )
    if source.kind is SourceKind.SQS:
        return made("MaximumConcurrency", source.maximum_concurrency, min(max(cap, SQS_RANGE[0]), SQS_RANGE[1]))
    if source.kind in {SourceKind.KINESIS, SourceKind.DYNAMODB_STREAM} and peak > 0:
        factor = source.parallelization_factor or 1
        return made("ParallelizationFactor", factor, max(1, int(factor * cap / max(1.0, peak))))
    return None


def most(source: EventSource) -> int | None:
    """Return how many executions one mapping can have at once by its own settings, or None where these do not tell."""
    if source.maximum_pollers is not None and source.kind in CONCURRENT_PER_POLLER:
        return source.maximum_pollers * CONCURRENT_PER_POLLER[source.kind]
    return source.maximum_concurrency


def holds_to(item: CapEventSource, held: float) -> float:
    """Return about how many executions a changed mapping may have that `held` so many before."""
    match item.knob:
        case "MaximumConcurrency":
            return item.after
        case "MaximumPollers":
            return item.after * CONCURRENT_PER_POLLER.get(item.source, 1)
        case "ParallelizationFactor":
            return held * item.after / (item.before or 1)


def keeps_its_records(sources: Sequence[EventSource], lease: timedelta) -> bool:
    """Say whether every source holds what is not read yet for longer than a lease, so that a reservation loses nothing.

    A stream keeps a record for 24 hours or more and its shard waits meanwhile; a throttled batch does not count as an
    attempt (AWS Lambda guide, Kinesis). A queue counts each throttled receive, and is never held back so. A mapping with a
    maximum record age of its own drops what is older.
    """
    return all(
        source.kind in _KEEPING
        and (source.max_record_age_s is None or source.max_record_age_s >= lease.total_seconds())
        for source in sources
    )


def commands(item: CapEventSource) -> tuple[str, str]:
    """Give the AWS CLI command for the change and for its way back."""
    call = f"aws lambda update-event-source-mapping --uuid {shlex.quote(item.uuid)} "
    return call + _option(item, item.after), call + _option(item, item.before)


def _option(item: CapEventSource, value: int | None) -> str:
    match item.knob:
        case "MaximumConcurrency":
            return "--scaling-config " + ("'{}'" if value is None else f"MaximumConcurrency={value}")
        case "MaximumPollers":
            return f"--provisioned-poller-config MaximumPollers={value}"
        case "ParallelizationFactor":
            return f"--parallelization-factor {value or 1}"


def value_of(item: CapEventSource, source: EventSource) -> int | None:
    """Return what the change's knob is set to now; None where it is not set."""
    match item.knob:
        case "MaximumConcurrency":
            return source.maximum_concurrency
        case "MaximumPollers":
            return source.maximum_pollers
        case "ParallelizationFactor":
            return source.parallelization_factor or 1


def compare(item: CapEventSource, actor: Actor) -> None:
    """Raise Drifted when the mapping's setting is no longer what the diagnosis saw."""
    found = value_of(item, actor.event_source(item.uuid))
    if found != item.before:
        raise Drifted(
            f"Cannot set {item.knob} of the event source of {item.function} to {item.after}: it is now {found}, not "
            f"{item.before} as read for the diagnosis. Nothing was changed. Someone else is working on it; run "
            f"`/unthrottle check {item.function}` to plan again."
        )


def apply(item: CapEventSource, actor: Actor) -> CapEventSource:
    """Set the knob. Raises Refused, TryAgain.

    A mapping takes a moment to update and refuses a second update meanwhile; where its answer was lost, the update in the way
    is our own: then the knob shows our value already, and the run goes on with it.
    """
    try:
        actor.set_event_source(item.uuid, item.knob, item.after)
    except Refused as refusal:
        if refusal.code not in UNDER_WAY or value_of(item, actor.event_source(item.uuid)) != item.after:
            raise
    return item


def give_back(item: CapEventSource, actor: Actor) -> GiveBack:
    """Set the earlier value, or clear it where it was not set; only if the value is still ours."""
    found = value_of(item, actor.event_source(item.uuid))
    if found == item.before:
        return LeftAlone(
            found=f"{item.knob} of {item.function}'s event source is {found} already: someone put it back", is_back=True
        )
    if found != item.after:
        return LeftAlone(found=f"{item.knob} of {item.function}'s event source is {found}, not our {item.after}")
    actor.set_event_source(item.uuid, item.knob, item.before)
    before = "unset" if item.before is None else item.before
    return GivenBack(detail=f"{item.knob} of {item.function}'s event source: {item.after} -> {before}")
