"""What does CloudWatch answer about metrics?

Reads the store; moto's own answers are wrong without saying so. Understands MetricStat queries, one Metrics Insights
query a call and simple arithmetic; every other expression is a ValidationError, never an empty result.

AWS facts kept, each with a test (source: CloudWatch API model and user guide): 500 queries; unique ids; exact dimension
sets; Period a multiple of 60; StartTime before EndTime; paging at MaxDatapoints (100,800) with PartialData; newest
first unless asked; 1,440 datapoints of GetMetricStatistics; the AWS/ namespaces are reserved.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from botocore.utils import parse_to_aware_datetime

from sandbox.aws import insights, metric_math
from sandbox.aws.alarm_api import AlarmApi
from sandbox.aws.alarms import AlarmEvaluator
from sandbox.aws.calls import Answer, Refuse, Request, Respond
from sandbox.aws.cloudwatch_store import Floats, MetricStore, RuleReport, UnknownStatisticError

MOST_QUERIES = 500
MOST_DATAPOINTS = 100_800
MOST_CONTRIBUTORS = 25
"""Of the rules that DynamoDB makes (DynamoDB guide, Contributor Insights); rules of others have more, and are not here."""
MOST_STATISTICS = 1_440
METRICS_A_PAGE = 500
_ID = re.compile(r"[a-z][A-Za-z0-9_]*")
_LONGEST_EXPRESSION = 2_048


class _RefusedError(Exception):
    """Carries a refusal to where the call is answered."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.refusal = Refuse(code=code, message=message, status=400)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """One returned series, oldest first, gaps already left out."""

    id: str
    label: str
    times: Sequence[datetime]
    values: Sequence[float]


class CloudWatchApi:
    """Handler of CloudWatch calls for one account and Region. Without *alarms* there are none.

    *rule_report* answers GetInsightRuleReport from its parameters (contributor insights of a table); None: the store's.
    """

    def __init__(
        self,
        store: MetricStore,
        *,
        account_id: str,
        region: str,
        alarms: AlarmEvaluator | None = None,
        rule_report: RuleReport | None = None,
    ) -> None:
        self._store, self._account, self._region = store, account_id, region
        self._reports = rule_report
        about_alarms = AlarmApi(alarms)
        self._operations: Mapping[str, Callable[[Request], Mapping[str, Any]]] = {
            "GetMetricData": self._get_metric_data,
            "GetMetricStatistics": self._get_metric_statistics,
            "ListMetrics": self._list_metrics,
            "PutMetricData": self._put_metric_data,
            "GetInsightRuleReport": self._rule_report,
            "DescribeAlarms": about_alarms.describe,
            "DescribeAlarmContributors": about_alarms.contributors,
        }

    def handle(self, request: Request) -> Answer | None:
        """Answer a call, or leave it."""
        operation = self._operations.get(request.operation)
        if request.service != "cloudwatch" or operation is None:
            return None
        if request.account not in {None, self._account} or request.region != self._region:
            return None
        try:
            return Respond(parsed=operation(request))
        except _RefusedError as refused:
            return refused.refusal
        except (insights.QueryError, metric_math.MathError, UnknownStatisticError) as error:
            return Refuse(code="ValidationError", message=str(error), status=400)

    # -- GetMetricData ------------------------------------------------------------------------------------------------

    def _get_metric_data(self, request: Request) -> Mapping[str, Any]:
        given = request.parameters
        queries: Sequence[Mapping[str, Any]] = given["MetricDataQueries"]
        _check_queries(queries)
        window = _window(given, code="ValidationError")
        newest_first = given.get("ScanBy", "TimestampDescending") == "TimestampDescending"
        results = list(self._results(queries, window, request.now))
        most = min(int(given.get("MaxDatapoints") or MOST_DATAPOINTS), MOST_DATAPOINTS)
        position, offset = _from_token(given.get("NextToken"), len(results))
        views: list[Mapping[str, Any]] = []
        while position < len(results) and most > 0:
            result = results[position]
            order = slice(None, None, -1) if newest_first else slice(None)
            times, values = list(result.times)[order], list(result.values)[order]
            end = offset + most
            view = {
                "Id": result.id,
                "Label": result.label,
                "Timestamps": times[offset:end],
                "Values": values[offset:end],
            }
            most -= len(view["Values"])
            cut = end < len(values)
            views.append(view | {"StatusCode": "PartialData" if cut else "Complete"})
            position, offset = (position, end) if cut else (position + 1, 0)
        token = _to_token(position, offset) if position < len(results) else None
        return {"MetricDataResults": views, "Messages": [], "NextToken": token}

    def _results(
        self, queries: Sequence[Mapping[str, Any]], window: tuple[datetime, datetime], now: datetime
    ) -> Iterator[_Result]:
        computed: dict[str, tuple[int, list[datetime], Floats]] = {}
        for query in queries:
            if "MetricStat" in query:
                computed[query["Id"]] = self._metric_stat(query["MetricStat"], window, now)
        for query in queries:
            returned = query.get("ReturnData", True)
            if "MetricStat" in query:
                label = query.get("Label") or query["MetricStat"]["Metric"]["MetricName"]
                found = [(label, *computed[query["Id"]][1:])]
            elif query["Expression"].lstrip().upper().startswith("SELECT"):
                found = self._insights(query, window, now)
            else:
                found = [_math(query, computed)]
            for label, times, values in found if returned else ():
                there = np.flatnonzero(~np.isnan(values))
                yield _Result(
                    id=query["Id"], label=label, times=[times[i] for i in there], values=values[there].tolist()
                )

    def _metric_stat(
        self, stat: Mapping[str, Any], window: tuple[datetime, datetime], now: datetime
    ) -> tuple[int, list[datetime], Floats]:
        metric, period = stat["Metric"], int(stat["Period"])
        dimensions = {dimension["Name"]: dimension["Value"] for dimension in metric.get("Dimensions", [])}
        row = self._store.find(metric.get("Namespace", ""), metric["MetricName"], dimensions)
        buckets = self._store.read([] if row is None else [row], period, *window, now)
        values = buckets.statistic(stat["Stat"])
        return period, buckets.times(), values[0] if row is not None else np.full(buckets.count.shape[1], np.nan)

    def _insights(
        self, query: Mapping[str, Any], window: tuple[datetime, datetime], now: datetime
    ) -> list[tuple[str, list[datetime], Floats]]:
        parsed, (start, end) = insights.parse(query["Expression"]), window
        period = int(query.get("Period") or 60)
        result = insights.run(parsed, self._store, period_s=period, start=start, end=end, now=now)
        prefix = query.get("Label")
        many = bool(parsed.group_by)
        return [
            (" ".join([prefix, one.label] if many else [prefix]) if prefix else one.label, result.times, one.values)
            for one in result.series
        ]

    # -- the others ---------------------------------------------------------------------------------------------------

    def _get_metric_statistics(self, request: Request) -> Mapping[str, Any]:
        given = request.parameters
        if given.get("ExtendedStatistics"):
            raise _RefusedError("InvalidParameterValue", "Percentiles are not kept in the sandbox.")
        start, end = _window(given, code="InvalidParameterValue")
        period = int(given["Period"])
        if period % 60:
            raise _RefusedError(
                "InvalidParameterValue", f"The parameter Period must be a multiple of 60, not {period}."
            )
        asked = int((end - start).total_seconds()) // period
        if asked > MOST_STATISTICS:
            raise _RefusedError(
                "InvalidParameterCombination",
                f"You have requested up to {asked} datapoints, which exceeds the limit of {MOST_STATISTICS}. You may "
                "reduce the datapoints requested by increasing Period, or decreasing the time range.",
            )
        dimensions = {dimension["Name"]: dimension["Value"] for dimension in given.get("Dimensions", [])}
        row = self._store.find(given["Namespace"], given["MetricName"], dimensions)
        if row is None:
            return {"Label": given["MetricName"], "Datapoints": []}
        buckets = self._store.read([row], period, start, end, request.now)
        values = {stat: buckets.statistic(stat)[0] for stat in given.get("Statistics", [])}
        points = [
            {"Timestamp": at, "Unit": "Count"} | {stat: float(series[i]) for stat, series in values.items()}
            for i, at in enumerate(buckets.times())
            if buckets.count[0, i]
        ]
        # AWS promises no order; the newest first shows who counts on one.
        return {"Label": given["MetricName"], "Datapoints": points[::-1]}

    def _list_metrics(self, request: Request) -> Mapping[str, Any]:
        given, now = request.parameters, request.now
        wanted = {one["Name"]: one.get("Value") for one in given.get("Dimensions", [])}
        since = now - (timedelta(hours=3) if given.get("RecentlyActive") else timedelta(days=14))
        rows = [
            row
            for row, metric in enumerate(self._store.metrics)
            if given.get("Namespace") in {None, metric.namespace}
            and given.get("MetricName") in {None, metric.name}
            # A filter names some dimensions; the metric may have more.
            and all(_has(dict(metric.dimensions), name, value) for name, value in wanted.items())
        ]
        reported = self._store.reported(rows, since, now)
        found = [self._store.metrics[row] for row, there in zip(rows, reported.tolist(), strict=True) if there]
        start, _ = _from_token(given.get("NextToken"), len(found))
        page = found[start : start + METRICS_A_PAGE]
        views = [
            {
                "Namespace": metric.namespace,
                "MetricName": metric.name,
                "Dimensions": [{"Name": name, "Value": value} for name, value in metric.dimensions],
            }
            for metric in page
        ]
        following = start + METRICS_A_PAGE
        return {"Metrics": views, "NextToken": _to_token(following, 0) if following < len(found) else None}

    def _rule_report(self, request: Request) -> Mapping[str, Any]:
        if int(request.parameters.get("MaxContributorCount") or 10) > MOST_CONTRIBUTORS:
            raise _RefusedError(
                "InvalidParameterValue", f"MaxContributorCount is at most {MOST_CONTRIBUTORS} for this rule."
            )
        report = (self._reports or self._store.rule_report)(request.parameters)
        if report is None:
            name = request.parameters["RuleName"]
            raise _RefusedError("ResourceNotFoundException", f"The rule {name} does not exist.")
        return report

    def _put_metric_data(self, request: Request) -> Mapping[str, Any]:
        namespace = request.parameters["Namespace"]
        if namespace.startswith("AWS/"):
            raise _RefusedError("InvalidParameterValue", f"The value {namespace} for parameter Namespace is reserved.")
        for datum in request.parameters.get("MetricData", []):
            dimensions = {dimension["Name"]: dimension["Value"] for dimension in datum.get("Dimensions", [])}
            row = self._store.row(namespace, datum["MetricName"], dimensions)
            at = parse_to_aware_datetime(datum.get("Timestamp", request.now))
            minute = int((at - self._store.start) // timedelta(minutes=1))
            for total, low, high, count in _samples(datum):
                self._store.merge(row, minute, total=total, low=low, high=high, count=count)
        return {}


def _check_queries(queries: Sequence[Mapping[str, Any]]) -> None:
    if len(queries) > MOST_QUERIES:
        raise _invalid(f"The collection MetricDataQueries must not have a size greater than {MOST_QUERIES}.")
    seen: set[str] = set()
    selects = 0
    for number, query in enumerate(queries, start=1):
        where, identifier = f"MetricDataQueries.member.{number}", query["Id"]
        if not _ID.fullmatch(identifier):
            raise _invalid(f"The value {identifier} for parameter {where}.Id is not matching the expected pattern.")
        if identifier in seen:
            raise _invalid(f"The values for parameter Id in MetricDataQueries are not unique: {identifier}.")
        seen.add(identifier)
        if ("MetricStat" in query) == ("Expression" in query):
            raise _invalid(f"{where} must have either MetricStat or Expression.")
        period = int(query["MetricStat"]["Period"] if "MetricStat" in query else query.get("Period", 60))
        if period <= 0 or period % 60:
            raise _invalid(f"The parameter {where}.Period must be a multiple of 60, not {period}.")
        expression = str(query.get("Expression", ""))
        if len(expression) > _LONGEST_EXPRESSION:
            raise _invalid(f"The parameter {where}.Expression is longer than {_LONGEST_EXPRESSION} characters.")
        selects += expression.lstrip().upper().startswith("SELECT")
    if selects > 1:
        raise _invalid("Only one Metrics Insights query can be in a GetMetricData request.")


def _math(
    query: Mapping[str, Any], computed: Mapping[str, tuple[int, list[datetime], Floats]]
) -> tuple[str, list[datetime], Floats]:
    expression = query["Expression"]
    used = metric_math.ids(expression)
    parts = {name: computed[name] for name in used if name in computed}
    if not parts or len({period for period, _, _ in parts.values()}) != 1:
        raise _invalid(f"Error in expression {expression!r}: it must use metrics of the request, all of one period.")
    values = metric_math.evaluate(expression, {name: series for name, (_, _, series) in parts.items()})
    return query.get("Label") or query["Id"], next(iter(parts.values()))[1], values


def _samples(datum: Mapping[str, Any]) -> Iterator[tuple[float, float, float, float]]:
    """Sum, minimum, maximum and count of what one MetricDatum carries, in its three forms."""
    if "StatisticValues" in datum:
        given = datum["StatisticValues"]
        yield given["Sum"], given["Minimum"], given["Maximum"], given["SampleCount"]
    elif "Values" in datum:
        values = datum["Values"]
        for value, count in zip(values, datum.get("Counts", [1.0] * len(values)), strict=True):
            yield value * count, value, value, count
    else:
        yield datum["Value"], datum["Value"], datum["Value"], 1.0


def _window(given: Mapping[str, Any], *, code: str) -> tuple[datetime, datetime]:
    start, end = parse_to_aware_datetime(given["StartTime"]), parse_to_aware_datetime(given["EndTime"])
    if start >= end:
        raise _RefusedError(code, "The parameter StartTime must be less than the parameter EndTime.")
    return start, end


def _has(dimensions: Mapping[str, str], name: str, value: str | None) -> bool:
    return name in dimensions and value in {None, dimensions[name]}


def _to_token(position: int, offset: int) -> str:
    return base64.b64encode(json.dumps([position, offset]).encode()).decode()


def _from_token(token: str | None, length: int) -> tuple[int, int]:
    if token is None:
        return 0, 0
    try:
        position, offset = json.loads(base64.b64decode(token))
    except (binascii.Error, ValueError) as error:
        raise _invalid("The parameter NextToken is invalid.") from error
    if not 0 <= position < length:
        raise _invalid("The parameter NextToken is invalid.")
    return position, offset


def _invalid(message: str) -> _RefusedError:
    return _RefusedError("ValidationError", message)
