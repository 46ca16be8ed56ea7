"""What does one DynamoDB table serve in a minute, with its indexes?

A write is accepted only if the table and every index it touches can take it (AWS: "GSI write throttling and back
pressure"), so a short index throttles the table's writes, and the table's own consumption falls. Reads of an index do
not touch the table. What is wanted is consumed or throttled; clients that try again are part of the demand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.aws.records import IndexRecord, TableRecord
from sandbox.model.capacity import Cause, InForce, Offer, Throughput
from sandbox.model.series import per_minute
from sandbox.scenario.format import IndexSpec, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """One direction of one resource in one minute, units per second."""

    wanted: float
    consumed: float
    throttled: Mapping[Cause, float] = field(default_factory=dict)
    """Refused by this resource itself, by cause; a table's flow leaves out what its indexes refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMinute:
    """One table in one minute. `index_*` are by index name."""

    minute: int
    name: str
    write: Flow
    read: Flow
    index_write: Mapping[str, Flow]
    index_read: Mapping[str, Flow]
    write_settings: Mapping[str | None, InForce]
    """What was in force, by index name; None = the table."""
    read_settings: Mapping[str | None, InForce]
    replicated: float | None = None
    """Of the consumed writes those of other Regions, units per second; None on a table without replicas."""

    @property
    def refused_writes(self) -> float:
        """Writes the table's callers saw refused, by the table or by an index, units per second."""
        return self.write.wanted - self.write.consumed

    @property
    def is_throttled(self) -> bool:
        """Whether anything was refused."""
        flows = (self.write, self.read, *self.index_write.values(), *self.index_read.values())
        return any(flow.throttled for flow in flows)


class TableModel:
    """The load of one table. Call `tick` once for each minute, in order, from -history on."""

    def __init__(self, spec: TableSpec, minutes: int, *, history: int = 0) -> None:
        self.spec, self._history = spec, history
        self._writes = per_minute(spec.demand.write, minutes, history)
        self._reads = per_minute(spec.demand.read, minutes, history)
        self._replicated = per_minute(spec.demand.replicated, minutes, history)
        self._bulk = per_minute([(0, 0.0)], minutes, history)
        for bulk in spec.bulk_operations:
            self._bulk[history + bulk.start : None if bulk.end is None else history + bulk.end] += bulk.writes
        self._index_reads = {index.name: per_minute(index.demand.read, minutes, history) for index in spec.indexes}
        self._minutes_seen = 0
        self._write: dict[str | None, Throughput] = {
            None: Throughput("write", keys=spec.keys, hot_key_share=spec.hot_key_share)
        } | {
            index.name: Throughput("write", keys=index.keys, hot_key_share=index.hot_key_share)
            for index in spec.indexes
        }
        self._read: dict[str | None, Throughput] = {
            None: Throughput("read", keys=spec.keys, hot_key_share=spec.hot_key_share)
        } | {
            index.name: Throughput("read", keys=index.keys, hot_key_share=index.hot_key_share) for index in spec.indexes
        }

    def tick(self, minute: int, record: TableRecord, backfill_writes: float = 0.0) -> TableMinute:
        """Serve one minute with what *record* has in force; *backfill_writes* come on top of the demand.

        In the history (negative minutes) nothing is throttled, and minute 0 begins with a full burst.
        """
        column = minute + self._history
        settings: dict[str | None, TableRecord | IndexRecord] = {None: record} | {
            name: record.indexes[name] for name in self._index_reads if name in record.indexes
        }
        writing = {name: _in_force(record, part, "write") for name, part in settings.items()}
        reading = {name: _in_force(record, part, "read") for name, part in settings.items()}
        if self._minutes_seen <= self._history:  # through the history, and once more at minute 0
            for name, in_force in writing.items():
                self._write[name].fill_burst(in_force)
                self._read[name].fill_burst(reading[name])
        self._minutes_seen += 1
        theirs = float(self._replicated[column])
        wanted = float(self._writes[column]) + float(self._bulk[column]) + backfill_writes + theirs
        write, index_write = self._writes_of(minute, wanted, writing)
        read = self._reads_of(minute, None, float(self._reads[column]), reading[None])
        index_read = {
            name: self._reads_of(minute, name, float(demand[column]), reading[name])
            for name, demand in self._index_reads.items()
            if name in reading
        }
        return TableMinute(
            minute=minute,
            name=self.spec.name,
            write=write,
            read=read,
            index_write=index_write,
            index_read=index_read,
            write_settings=writing,
            read_settings=reading,
            # What is refused is refused alike, whoever wrote it.
            replicated=(write.consumed * theirs / wanted if wanted > 0 else 0.0) if self.spec.replicas else None,
        )

    def _writes_of(
        self, minute: int, wanted: float, settings: Mapping[str | None, InForce]
    ) -> tuple[Flow, dict[str, Flow]]:
        indexes = [index for index in self.spec.indexes if index.name in settings]
        if minute < 0:
            return self._steady_writes(minute, wanted, settings, indexes)
        table = self._write[None].offer(wanted, settings[None])
        offers = {
            index.name: self._write[index.name].offer(table.served * index.share, settings[index.name])
            for index in indexes
        }
        accepted = table.served * min((_accepted(index, offers[index.name]) for index in indexes), default=1.0)
        self._write[None].commit(minute, accepted, settings[None])
        flows: dict[str, Flow] = {}
        for index in indexes:
            offer = offers[index.name]
            consumed = min(offer.served, accepted * index.share)
            self._write[index.name].commit(minute, consumed, settings[index.name])
            flows[index.name] = Flow(wanted=offer.wanted, consumed=consumed, throttled=offer.excess)
        return Flow(wanted=wanted, consumed=accepted, throttled=table.excess), flows

    def _steady_writes(
        self, minute: int, wanted: float, settings: Mapping[str | None, InForce], indexes: list[IndexSpec]
    ) -> tuple[Flow, dict[str, Flow]]:
        """A history without throttling: the demand, as far as table and indexes serve it for ever."""
        accepted = self._write[None].steady(wanted, settings[None])
        for index in indexes:
            if index.share > 0:
                share = self._write[index.name].steady(accepted * index.share, settings[index.name]) / index.share
                accepted = min(accepted, share)
        self._write[None].commit(minute, accepted, settings[None])
        flows: dict[str, Flow] = {}
        for index in indexes:
            used = accepted * index.share
            self._write[index.name].commit(minute, used, settings[index.name])
            flows[index.name] = Flow(wanted=used, consumed=used)
        return Flow(wanted=accepted, consumed=accepted), flows

    def _reads_of(self, minute: int, name: str | None, wanted: float, settings: InForce) -> Flow:
        throughput = self._read[name]
        if minute < 0:
            steady = throughput.steady(wanted, settings)
            throughput.commit(minute, steady, settings)
            return Flow(wanted=steady, consumed=steady)
        offer = throughput.offer(wanted, settings)
        throughput.commit(minute, offer.served, settings)
        return Flow(wanted=wanted, consumed=offer.served, throttled=offer.excess)


def _accepted(index: IndexSpec, offer: Offer) -> float:
    """The share of the table's writes that one index lets through; writes that do not touch it are free."""
    if offer.wanted <= 0:
        return 1.0
    return 1.0 - min(1.0, index.share) * (1.0 - offer.served / offer.wanted)


def _in_force(table: TableRecord, part: TableRecord | IndexRecord, unit: str) -> InForce:
    if unit == "write":
        return InForce(
            billing=table.billing, capacity=part.write, ceiling=part.max_on_demand_write, warm=part.warm_write
        )
    return InForce(billing=table.billing, capacity=part.read, ceiling=part.max_on_demand_read, warm=part.warm_read)
