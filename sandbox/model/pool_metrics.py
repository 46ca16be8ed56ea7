"""Which AWS/Lambda datapoints does a minute of the pool leave behind?

Names, dimensions, statistics and gaps as AWS documents them ("Types of metrics for Lambda functions"): nothing is
published for a function in which nothing ran, Throttles only when there were some, and Invocations, Errors and Duration
at the minute in which a run STARTED, once it has finished.
"""

from collections import deque
from collections.abc import Mapping

import numpy as np

from sandbox.model.limits import Floats
from sandbox.model.pool import EPSILON, Pool, PoolMinute
from sandbox.model.series import MetricSink, MinuteWriter, SeriesBlock

NAMESPACE = "AWS/Lambda"
ACCOUNT: tuple[tuple[str, str], ...] = ()
"""The metrics of the whole account and Region have no dimensions."""


class PoolMetrics:
    """Publishes what `Pool.tick` answered. Values of gauges are whole numbers, as in AWS."""

    def __init__(self, pool: Pool, sink: MetricSink) -> None:
        self._pool = pool
        dimensions = [{"FunctionName": name} for name in pool.names]
        self._blocks: Mapping[str, SeriesBlock] = {
            name: SeriesBlock(sink, NAMESPACE, name, dimensions)
            for name in (
                "ConcurrentExecutions", "Invocations", "Errors", "Duration", "Throttles", "AsyncEventsReceived",
                "AsyncEventAge", "AsyncEventsDropped", "IteratorAge", "OffsetLag",
            )
        }  # fmt: skip
        self._account = MinuteWriter(sink, NAMESPACE)
        self._durations: Floats = np.array([spec.duration_ms for spec in pool.specs], dtype=np.float64)
        lags = (self._durations // 60_000).astype(np.intp)
        self._finish_after = {int(lag): lags == lag for lag in np.unique(lags)}
        self._served: deque[Floats] = deque(maxlen=int(lags.max(initial=0)) + 1)
        self._account_runs: dict[int, float] = {}
        self._going_on = np.maximum(0.0, 1.0 - pool.runs_per_slot)
        self._arrived = self._handed_over = np.zeros(len(pool.names))
        self.throttles = 0
        """Refused attempts in the account, in the minute that was published last."""

    def publish(self, minute: PoolMinute) -> None:
        """Write the datapoints of one minute, and of earlier ones whose runs have finished now."""
        pool, at = self._pool, minute.minute
        busy = np.ceil(minute.served - EPSILON)
        self._blocks["ConcurrentExecutions"].publish(at, np.where(busy > 0, busy, np.nan))
        throttles = _events(minute.throttled * pool.runs_per_slot)
        self._blocks["Throttles"].publish(at, throttles, "sum")
        self._runs(minute)
        received = np.where(pool.is_async, self._begun(minute.arrived, self._arrived), 0.0)
        self._blocks["AsyncEventsReceived"].publish(at, _events(received), "sum")
        age = np.round(minute.age_minutes * 60_000)
        active = (busy > 0) | (minute.waiting > 0)
        started = np.rint(self._begun(minute.served, self._handed_over))  # one for each event handed over: a belief
        self._arrived, self._handed_over = minute.arrived, minute.served
        self._blocks["AsyncEventAge"].publish(at, np.where(pool.is_async & active, age, np.nan), "gauge", started)
        dropped = np.where(pool.is_async, minute.expired * pool.runs_per_slot, 0.0)
        self._blocks["AsyncEventsDropped"].publish(at, _events(dropped), "sum")
        self._blocks["IteratorAge"].publish(at, np.where(pool.is_stream & (busy > 0), age, np.nan))
        lag = np.round(minute.waiting * pool.runs_per_slot)
        self._blocks["OffsetLag"].publish(at, np.where(pool.is_kafka & (busy > 0), lag, np.nan))
        self.throttles = int(np.nansum(throttles))
        self._account_level(minute)

    def _begun(self, slots: Floats, before: Floats) -> Floats:
        """Count the events behind the slots of a minute: of runs longer than one, those of the minute before go on."""
        return np.maximum(0.0, slots * np.maximum(1.0, self._pool.runs_per_slot) - before * self._going_on)

    def _runs(self, minute: PoolMinute) -> None:
        """Publish the runs that finished now, at the minute in which they started."""
        self._served.append(minute.served)
        for lag, members in self._finish_after.items():
            if lag >= len(self._served):
                continue
            started = minute.minute - lag
            runs = _events(np.where(members, self._served[-1 - lag] * self._pool.runs_per_slot, 0.0))
            self._blocks["Invocations"].publish(started, runs, "sum")
            self._blocks["Errors"].publish(started, np.where(np.isnan(runs), np.nan, 0.0), "sum", runs)
            self._blocks["Duration"].publish(started, np.where(np.isnan(runs), np.nan, self._durations), "gauge", runs)
            total = float(np.nansum(runs))
            if total > 0:
                self._account_runs[started] = self._account_runs.get(started, 0.0) + total
                self._account.add("Invocations", ACCOUNT, self._account_runs[started])
                self._account.add("Errors", ACCOUNT, 0.0)
                self._account.flush(started)

    def _account_level(self, minute: PoolMinute) -> None:
        in_use = min(float(minute.account), float(np.ceil(minute.in_use - EPSILON)))
        unreserved = min(in_use, float(np.ceil(minute.unreserved - EPSILON)))
        if in_use > 0:
            self._account.add("ConcurrentExecutions", ACCOUNT, in_use, "gauge")
            self._account.add("UnreservedConcurrentExecutions", ACCOUNT, unreserved, "gauge")
        if in_use > 0 or minute.set_aside > 0:
            self._account.add("ClaimedAccountConcurrency", ACCOUNT, unreserved + minute.set_aside, "gauge")
        if self.throttles > 0:
            self._account.add("Throttles", ACCOUNT, self.throttles)
        self._account.flush(minute.minute)


def _events(counts: Floats) -> Floats:
    """Whole events, at least one where there is anything; NaN where there is nothing."""
    return np.where(counts > EPSILON, np.maximum(1.0, np.rint(counts)), np.nan)
