"""Which alarms change state this minute, and which events does that put on the bus?

Reads the metric store with the same lateness as everybody, keeps a state per alarm and per contributor, and writes
events in AWS's two shapes. It knows nothing of rules and targets.

CloudWatch user guide, "Using alarms" ("Evaluating an alarm", "Configuring how alarms treat missing data", "Metrics
Insights alarms"): M out of N; more than N periods are looked at, so that the newest N real datapoints decide where
there are that many; a new alarm is INSUFFICIENT_DATA; contributors are OK or ALARM only; a second contributor in ALARM
is a contributor event without one of the alarm itself; an alarm speaks only when its state changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from sandbox.aws import insights, metric_math
from sandbox.aws.alarm_definitions import AlarmDefinition, InsightsSource, MathSource, MetricSource
from sandbox.aws.alarm_events import Snapshot, State, contributor_event, state_event
from sandbox.aws.cloudwatch_store import Floats, MetricStore

# CloudWatch looks at more periods than the alarm asks for; its documentation shows two more in its tables.
_EXTRA_PERIODS = 2
_MOST_CONTRIBUTORS = 100
Group = tuple[tuple[str, str], ...]


@dataclass(slots=True, kw_only=True)
class AlarmState:
    """An alarm as it stands. `contributors` holds those in ALARM."""

    definition: AlarmDefinition
    now: Snapshot
    contributors: dict[Group, Snapshot] = field(default_factory=dict)
    partial: bool = False


class AlarmEvaluator:
    """All alarms of one account and Region, evaluated once a simulated minute."""

    def __init__(
        self,
        definitions: Sequence[AlarmDefinition],
        store: MetricStore,
        account: str,
        region: str,
        *,
        created: datetime | None = None,
    ) -> None:
        self._store, self._account, self._region = store, account, region
        since = store.start if created is None else created
        self.states = [
            AlarmState(
                definition=definition,
                now=Snapshot(value="INSUFFICIENT_DATA", reason="Unchecked: Initial alarm creation", since=since),
            )
            for definition in definitions
        ]

    def evaluate(self, now: datetime) -> list[dict[str, Any]]:
        """Evaluate every alarm; the events of all changes, contributors before their alarm."""
        events: list[dict[str, Any]] = []
        for state in self.states:
            if isinstance(state.definition.source, InsightsSource):
                events += self._evaluate_contributors(state, state.definition.source, now)
            else:
                events += self._evaluate_single(state, now)
        return events

    def arn(self, definition: AlarmDefinition) -> str:
        """The ARN of an alarm."""
        return f"arn:aws:cloudwatch:{self._region}:{self._account}:alarm:{definition.name}"

    # -- one value -----------------------------------------------------------------------------------------------------

    def _evaluate_single(self, state: AlarmState, now: datetime) -> list[dict[str, Any]]:
        definition = state.definition
        source = definition.source
        window = self._window(source.period_s, definition.evaluation_periods, now)
        if isinstance(source, MathSource):
            parts = {metric.id: self._values(metric, window, now) for metric in source.metrics}
            values = metric_math.evaluate(source.expression, parts)
        elif isinstance(source, MetricSource):
            values = self._values(source, window, now)
        else:
            raise TypeError(f"{definition.name} is evaluated by its contributors")
        value = judge(values, definition, state.now.value)
        return self._change(state, value, values, window[0], now)

    def _change(
        self, state: AlarmState, value: State, values: Floats, start: datetime, now: datetime
    ) -> list[dict[str, Any]]:
        if value == state.now.value:
            return []
        before = state.now
        state.now = Snapshot.of(state.definition, value, values, start=start, now=now, before=before.value)
        return [state_event(state.definition, before, state.now, account=self._account, region=self._region)]

    def _values(self, metric: MetricSource, window: tuple[datetime, datetime], now: datetime) -> Floats:
        row = self._store.find(metric.namespace, metric.name, metric.dimensions)
        if row is None:
            return np.full(int((window[1] - window[0]).total_seconds()) // metric.period_s, np.nan)
        values: Floats = self._store.read([row], metric.period_s, *window, now).statistic(metric.stat)[0]
        return values

    def _window(self, period_s: int, periods: int, now: datetime) -> tuple[datetime, datetime]:
        """The periods looked at: whole ones only, the newest ending where the store can be read up to."""
        visible = self._store.start + timedelta(minutes=self._store.visible_until(now))
        end = datetime.fromtimestamp(visible.timestamp() // period_s * period_s, tz=visible.tzinfo)
        return end - timedelta(seconds=period_s * (periods + _EXTRA_PERIODS)), end

    # -- many values ---------------------------------------------------------------------------------------------------

    def _evaluate_contributors(self, state: AlarmState, source: InsightsSource, now: datetime) -> list[dict[str, Any]]:
        definition = state.definition
        start, end = self._window(source.period_s, definition.evaluation_periods, now)
        result = insights.run(source.query, self._store, period_s=source.period_s, start=start, end=end, now=now)
        state.partial = result.partial
        gap = np.full(len(result.times), np.nan)
        series: dict[Group, Floats] = {one.group: one.values for one in result.series}
        events: list[dict[str, Any]] = []
        for group in [*series, *(known for known in list(state.contributors) if known not in series)]:
            values = series.get(group, gap)
            before: State = "ALARM" if group in state.contributors else "OK"
            value = judge(values, definition, before)
            value = "OK" if value == "INSUFFICIENT_DATA" else value
            if value == before or (value == "ALARM" and len(state.contributors) >= _MOST_CONTRIBUTORS):
                continue
            snapshot = Snapshot.of(definition, value, values, start=start, now=now, before=before)
            if value == "ALARM":
                state.contributors[group] = snapshot
            else:
                del state.contributors[group]
            # Without GROUP BY there is one series and nobody to name.
            if group:
                where = {"account": self._account, "region": self._region}
                events.append(contributor_event(definition, group, snapshot, **where))
        worst = next((series[group] for group in state.contributors if group in series), None)
        shown = worst if worst is not None else next(iter(series.values()), gap)
        return events + self._change(state, self._parent(state, series), shown, start, now)

    def _parent(self, state: AlarmState, series: dict[Group, Floats]) -> State:
        if state.contributors:
            return "ALARM"
        if series:
            return "OK"
        return judge(np.full(1, np.nan), state.definition, state.now.value)


def judge(values: Floats, definition: AlarmDefinition, before: State) -> State:
    """The state that follows from the newest periods, oldest first; NaN = no datapoint.

    The newest N real datapoints count; what is short of N is filled in as the alarm treats missing data.
    """
    periods, needed = definition.evaluation_periods, definition.datapoints_to_alarm
    real = [(len(values) - i, float(value)) for i, value in enumerate(values) if not np.isnan(value)][-periods:]
    breaching = [age for age, value in real if breaches(value, definition)]
    short = periods - len(real)
    if len(breaching) >= needed:
        return "ALARM"
    if not short:
        return "OK"
    match definition.missing:
        case "notBreaching":
            return "OK"
        case "breaching":
            return "ALARM" if len(breaching) + short >= needed else "OK"
        case "ignore":
            return "OK" if len(breaching) < len(real) else before
        case "missing":
            if not real:
                return "INSUFFICIENT_DATA"
            if len(breaching) < len(real):
                return "OK"
            # AWS: fewer than M datapoints suffice when all there are breach and the oldest is at least M periods old.
            return "ALARM" if breaching[0] >= needed else before


def breaches(value: float, definition: AlarmDefinition) -> bool:
    """Whether one datapoint crosses the threshold."""
    match definition.comparison:
        case "GreaterThanThreshold":
            return value > definition.threshold
        case "GreaterThanOrEqualToThreshold":
            return value >= definition.threshold
        case "LessThanThreshold":
            return value < definition.threshold
        case "LessThanOrEqualToThreshold":
            return value <= definition.threshold
