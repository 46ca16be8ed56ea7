"""Which alarms exist, and what does each one watch?

Built from the properties of AWS::CloudWatch::Alarm resources as a deployed template has them, that is with every
reference resolved. Percentiles, anomaly detection and composite alarms are refused: an alarm that silently never fires
would prove nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from sandbox.aws import insights, metric_math
from sandbox.aws.cloudwatch_store import STATISTICS

Comparison = Literal[
    "GreaterThanThreshold", "GreaterThanOrEqualToThreshold", "LessThanThreshold", "LessThanOrEqualToThreshold"
]
Missing = Literal["missing", "notBreaching", "breaching", "ignore"]
_COMPARISONS: Final = get_args(Comparison)
_MISSING: Final = get_args(Missing)


class DefinitionError(ValueError):
    """The alarm cannot be evaluated here; the text names it and says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSource:
    """One metric, with exactly these dimensions."""

    id: str
    namespace: str
    name: str
    dimensions: Mapping[str, str]
    stat: str
    period_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MathSource:
    """An arithmetic expression over metrics."""

    id: str
    expression: str
    metrics: tuple[MetricSource, ...]
    label: str | None = None

    @property
    def period_s(self) -> int:
        """The longest period of its metrics."""
        return max(metric.period_s for metric in self.metrics)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightsSource:
    """A Metrics Insights query; with GROUP BY every series is a contributor with a state of its own."""

    id: str
    expression: str
    query: insights.InsightsQuery
    period_s: int


Source = MetricSource | MathSource | InsightsSource


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmDefinition:
    """One alarm: a source, a threshold and how many of the last periods must breach it."""

    name: str
    source: Source
    comparison: Comparison
    threshold: float
    evaluation_periods: int = 1
    datapoints_to_alarm: int = 1
    missing: Missing = "missing"
    description: str | None = None
    actions: tuple[str, ...] = ()
    actions_enabled: bool = True


def from_resource(logical_id: str, properties: Mapping[str, Any]) -> AlarmDefinition:
    """Read an AWS::CloudWatch::Alarm; references must be resolved. Raises DefinitionError."""
    name = str(properties.get("AlarmName", logical_id))
    try:
        periods = int(properties["EvaluationPeriods"])
        return AlarmDefinition(
            name=name,
            source=_source(properties),
            comparison=_one_of(properties["ComparisonOperator"], _COMPARISONS),
            threshold=float(properties["Threshold"]),
            evaluation_periods=periods,
            datapoints_to_alarm=int(properties.get("DatapointsToAlarm", periods)),
            missing=_one_of(properties.get("TreatMissingData", "missing"), _MISSING),
            description=properties.get("AlarmDescription"),
            actions=tuple(properties.get("AlarmActions", ())),
            actions_enabled=bool(properties.get("ActionsEnabled", True)),
        )
    except (KeyError, TypeError, ValueError) as error:
        what = f"the property {error} is missing" if isinstance(error, KeyError) else str(error)
        raise DefinitionError(f"The alarm {name} cannot be evaluated in the sandbox: {what}.") from error


def from_template(resources: Mapping[str, Mapping[str, Any]]) -> list[AlarmDefinition]:
    """The metric alarms among the resources of a template, in its order. Raises DefinitionError for a composite one."""
    for logical_id, resource in resources.items():
        if resource["Type"] == "AWS::CloudWatch::CompositeAlarm":
            raise DefinitionError(
                f"The alarm {logical_id} cannot be evaluated in the sandbox: it is a composite alarm."
            )
    return [
        from_resource(logical_id, resource["Properties"])
        for logical_id, resource in resources.items()
        if resource["Type"] == "AWS::CloudWatch::Alarm"
    ]


def _source(properties: Mapping[str, Any]) -> Source:
    if "Metrics" not in properties:
        if "ExtendedStatistic" in properties:
            raise ValueError("percentiles are not kept")
        return _metric("m1", properties, properties["Period"], properties["Statistic"])
    stats, expressions = dict[str, MetricSource](), list[Mapping[str, Any]]()
    for entry in properties["Metrics"]:
        if "MetricStat" in entry:
            stat = entry["MetricStat"]
            stats[entry["Id"]] = _metric(entry["Id"], stat["Metric"], stat["Period"], stat["Stat"])
        else:
            expressions.append(entry)
    if not expressions:
        if len(stats) != 1:
            raise ValueError("several metrics and no expression")
        return next(iter(stats.values()))
    if len(expressions) > 1:
        raise ValueError("more than one expression is not understood")
    return _expression(expressions[0], stats)


def _expression(entry: Mapping[str, Any], stats: Mapping[str, MetricSource]) -> Source:
    text = entry["Expression"]
    if not isinstance(text, str):
        raise TypeError(f"the expression {text!r} is not resolved")
    if text.lstrip().upper().startswith("SELECT"):
        return InsightsSource(
            id=entry["Id"], expression=text, query=insights.parse(text), period_s=int(entry.get("Period", 60))
        )
    used = metric_math.ids(text)
    if not used <= set(stats):
        raise ValueError(f"the expression {text!r} uses ids that are not metrics")
    metrics = tuple(stats[name] for name in stats if name in used)
    return MathSource(id=entry["Id"], expression=text, metrics=metrics, label=entry.get("Label"))


def _metric(identifier: str, metric: Mapping[str, Any], period: Any, stat: str) -> MetricSource:
    if stat not in STATISTICS:
        raise ValueError(f"the statistic {stat} is not kept")
    if int(period) <= 0 or int(period) % 60:
        raise ValueError(f"the period {period} is not a multiple of 60")
    dimensions: Sequence[Mapping[str, Any]] = metric.get("Dimensions", ())
    for dimension in dimensions:
        if not isinstance(dimension["Value"], str):
            raise TypeError(f"the dimension {dimension['Name']} is not resolved")
    return MetricSource(
        id=identifier,
        namespace=metric["Namespace"],
        name=metric["MetricName"],
        dimensions={dimension["Name"]: dimension["Value"] for dimension in dimensions},
        stat=stat,
        period_s=int(period),
    )


def _one_of(given: Any, allowed: tuple[Any, ...]) -> Any:
    if given not in allowed:
        raise ValueError(f"{given!r} is not one of {', '.join(allowed)}")
    return given
