"""What does CloudWatch answer about alarms?

Reads the evaluator. Facts kept (CloudWatch API model): only metric alarms unless AlarmTypes says otherwise; at most 100
a page, 50 by default; an alarm over a query with GROUP BY has contributors.
"""

from collections.abc import Mapping
from typing import Any

from sandbox.aws.alarm_definitions import MathSource, MetricSource
from sandbox.aws.alarm_events import contributor_id
from sandbox.aws.alarms import AlarmEvaluator, AlarmState
from sandbox.aws.calls import Request

_ALARMS_A_PAGE = 50


class AlarmApi:
    """Operations about alarms; `CloudWatchApi` sends them here."""

    def __init__(self, evaluator: AlarmEvaluator | None) -> None:
        self._evaluator = evaluator

    def describe(self, request: Request) -> Mapping[str, Any]:
        """DescribeAlarms. There are no composite alarms."""
        given = request.parameters
        if "MetricAlarm" not in given.get("AlarmTypes", ["MetricAlarm"]) or self._evaluator is None:
            return {"MetricAlarms": [], "CompositeAlarms": []}
        names, prefix = given.get("AlarmNames"), given.get("AlarmNamePrefix", "")
        found = [
            state
            for state in sorted(self._evaluator.states, key=lambda one: one.definition.name)
            if (not names or state.definition.name in names)
            and state.definition.name.startswith(prefix)
            and given.get("StateValue") in {None, state.now.value}
        ]
        start = int(given.get("NextToken") or 0)
        stop = start + min(int(given.get("MaxRecords") or _ALARMS_A_PAGE), 100)
        return {
            "MetricAlarms": [_view(self._evaluator, state) for state in found[start:stop]],
            "CompositeAlarms": [],
            "NextToken": str(stop) if stop < len(found) else None,
        }

    def contributors(self, request: Request) -> Mapping[str, Any]:
        """DescribeAlarmContributors: those in ALARM."""
        states = self._evaluator.states if self._evaluator is not None else []
        name = request.parameters["AlarmName"]
        return {
            "AlarmContributors": [
                {
                    "ContributorId": contributor_id(name, group),
                    "ContributorAttributes": dict(group),
                    "StateReason": snapshot.reason,
                    "StateTransitionedTimestamp": snapshot.since,
                }
                for state in states
                if state.definition.name == name
                for group, snapshot in state.contributors.items()
                if group
            ]
        }


def _view(evaluator: AlarmEvaluator, state: AlarmState) -> dict[str, Any]:
    definition, source = state.definition, state.definition.source
    view: dict[str, Any] = {
        "AlarmName": definition.name,
        "AlarmArn": evaluator.arn(definition),
        "AlarmDescription": definition.description,
        "ActionsEnabled": definition.actions_enabled,
        "OKActions": [],
        "AlarmActions": list(definition.actions),
        "InsufficientDataActions": [],
        "StateValue": state.now.value,
        "StateReason": state.now.reason,
        "StateReasonData": state.now.reason_data,
        "StateUpdatedTimestamp": state.now.since,
        "StateTransitionedTimestamp": state.now.since,
        "EvaluationPeriods": definition.evaluation_periods,
        "DatapointsToAlarm": definition.datapoints_to_alarm,
        "Threshold": definition.threshold,
        "ComparisonOperator": definition.comparison,
        "TreatMissingData": definition.missing,
        "EvaluationState": "PARTIAL_DATA" if state.partial else None,
    }
    if isinstance(source, MetricSource):
        return view | {
            "MetricName": source.name,
            "Namespace": source.namespace,
            "Statistic": source.stat,
            "Period": source.period_s,
            "Dimensions": _dimensions(source),
        }
    expression = {"Id": source.id, "Expression": source.expression, "ReturnData": True}
    if isinstance(source, MathSource):
        return view | {"Metrics": [expression, *(_stat(metric) for metric in source.metrics)]}
    return view | {"Metrics": [expression | {"Period": source.period_s}]}


def _stat(metric: MetricSource) -> dict[str, Any]:
    what = {"Namespace": metric.namespace, "MetricName": metric.name, "Dimensions": _dimensions(metric)}
    stat = {"Metric": what, "Period": metric.period_s, "Stat": metric.stat}
    return {"Id": metric.id, "MetricStat": stat, "ReturnData": False}


def _dimensions(metric: MetricSource) -> list[dict[str, str]]:
    return [{"Name": name, "Value": value} for name, value in metric.dimensions.items()]
