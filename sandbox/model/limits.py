"""How much may each function run at once, as the account stands in this minute?

Reads the function records into arrays, in the order of the model. Unset limits are infinite, a reservation that is not
there is NaN, and 0 is 0. It knows nothing of load.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sandbox.aws.records import FunctionRecord, MappingRecord
from sandbox.scenario.format import MAX_EVENT_AGE_S, FunctionSpec, Trigger

SQS_DEFAULT_CONCURRENCY = 1250
"""What an SQS event source reaches without a limit of its own (AWS: "Using Lambda with Amazon SQS", scaling)."""
SQS_PER_POLLER = 10
KAFKA_PER_POLLER = 5
"""Concurrent executions per poller in provisioned mode (AWS: "Provisioned mode" of SQS and of Kafka event sources)."""

ASYNC = ("eventbridge", "s3", "sns")
QUEUES = ("sqs",)
STREAMS = ("kinesis", "dynamodb-stream")
KAFKA = ("msk",)
EVENT_SOURCES = (*QUEUES, *STREAMS, *KAFKA)
"""Trigger types by what becomes of work that is not served; the types that are not here call synchronously."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """The limits of one minute; arrays have one element per function."""

    reserved: Floats
    """Reserved concurrency; NaN = no reservation."""
    provisioned: Floats
    """Provisioned concurrency, counted only where there is no reservation to hold it."""
    source: Floats
    """The most the event sources will start at once; infinite where there is none."""
    max_age: NDArray[np.intp]
    """Minutes an asynchronous event may wait."""
    has_destination: Bools
    """Whether an event that expires goes somewhere instead of being lost."""
    account: int
    """The account's concurrency limit."""
    shared: float
    """What is left to share: the limit less every reservation and unreserved provisioned concurrency."""
    set_aside: float
    """That which is not shared."""


class LimitReader:
    """Reads the limits of the scenario's functions from the account's records."""

    def __init__(self, specs: Sequence[FunctionSpec]) -> None:
        self._names = [spec.name for spec in specs]
        # Most functions have neither an event source nor an event queue, and reading them is most of the work.
        self._sources = [(i, spec.trigger) for i, spec in enumerate(specs) if spec.trigger.type in EVENT_SOURCES]
        self._queued = [i for i, spec in enumerate(specs) if spec.trigger.type in ASYNC]

    def read(self, records: Mapping[str, FunctionRecord], concurrency_limit: int) -> PoolLimits:
        """Read the limits as they stand now.

        Reservations of functions that the scenario does not list (the bot's own) are taken off the pool as well.
        """
        own = [records[name] for name in self._names]
        reserved = np.array([math.nan if r.reserved is None else r.reserved for r in own], dtype=np.float64)
        provisioned = np.array([r.provisioned for r in own], dtype=np.float64)
        source = np.full(len(own), math.inf)
        for i, trigger in self._sources:
            source[i] = _source(trigger, own[i].mappings)
        max_age = np.full(len(own), MAX_EVENT_AGE_S // 60, dtype=np.intp)
        has_destination = np.zeros(len(own), dtype=np.bool_)
        for i in self._queued:
            config = own[i].invoke_config
            if config is not None and config.max_event_age_s is not None:
                max_age[i] = -(-config.max_event_age_s // 60)
            has_destination[i] = _has_destination(own[i])
        set_aside = float(sum(r.provisioned if r.reserved is None else r.reserved for r in records.values()))
        return PoolLimits(
            reserved=reserved,
            provisioned=np.where(np.isnan(reserved), provisioned, 0.0),
            source=source,
            max_age=max_age,
            has_destination=has_destination,
            account=concurrency_limit,
            shared=max(0.0, concurrency_limit - set_aside),
            set_aside=set_aside,
        )


def _has_destination(record: FunctionRecord) -> bool:
    config = record.invoke_config
    return record.dead_letter_arn is not None or (config is not None and config.on_failure is not None)


def _source(trigger: Trigger, mappings: Iterable[MappingRecord]) -> float:
    limits = [_mapping(trigger, mapping) for mapping in mappings]
    return float(sum(limits)) if limits else _mapping(trigger, None)


def _mapping(trigger: Trigger, mapping: MappingRecord | None) -> float:
    """The most one event source mapping starts at once; without a record, what the scenario says."""
    if mapping is not None and mapping.state == "Disabled":
        return 0.0
    pollers = trigger.provisioned_pollers if mapping is None else mapping.maximum_pollers
    if trigger.type == "msk":
        partitions = trigger.partitions or 1
        return float(partitions if pollers is None else min(partitions, pollers * KAFKA_PER_POLLER))
    if trigger.type == "sqs":
        maximum = trigger.maximum_concurrency if mapping is None else mapping.maximum_concurrency
        if pollers is not None:
            return float(pollers * SQS_PER_POLLER)
        return float(SQS_DEFAULT_CONCURRENCY if maximum is None else maximum)
    factor = trigger.parallelization_factor if mapping is None else mapping.parallelization_factor
    return float((trigger.shards or 1) * (factor or 1))
