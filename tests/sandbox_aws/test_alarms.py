import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from sandbox.aws.alarm_definitions import AlarmDefinition, DefinitionError, from_resource, from_template
from sandbox.aws.alarms import AlarmEvaluator, judge
from sandbox.aws.cloudwatch_store import MetricStore

START = datetime(2026, 8, 24, 4, tzinfo=UTC)
DYNAMODB = "AWS/DynamoDB"
WRITES = 'SELECT SUM(WriteThrottleEvents) FROM SCHEMA("AWS/DynamoDB", TableName) GROUP BY TableName ORDER BY SUM() DESC'
SINGLE: dict[str, Any] = {
    "AlarmName": "runs-writes",
    "AlarmDescription": "writes of runs are throttled",
    "Namespace": DYNAMODB,
    "MetricName": "WriteThrottleEvents",
    "Dimensions": [{"Name": "TableName", "Value": "runs"}],
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 3,
    "DatapointsToAlarm": 2,
    "Threshold": 0,
    "ComparisonOperator": "GreaterThanThreshold",
    "TreatMissingData": "notBreaching",
}
FLEET: dict[str, Any] = {
    "AlarmName": "tables-writes",
    "Metrics": [{"Id": "q", "Expression": WRITES, "Period": 60}],
    "EvaluationPeriods": 1,
    "Threshold": 0,
    "ComparisonOperator": "GreaterThanThreshold",
    "TreatMissingData": "notBreaching",
}


class Watch:
    """Alarms over a store, evaluated minute by minute."""

    def __init__(self, *properties: dict[str, Any], delay: float = 0) -> None:
        self.store = MetricStore(START, 60, delay_minutes=delay)
        definitions = [from_resource(f"Alarm{number}", one) for number, one in enumerate(properties)]
        self.alarms = AlarmEvaluator(definitions, self.store, "111122223333", "eu-west-1")

    def throttle(self, minutes: range, table: str = "runs") -> None:
        for minute in minutes:
            self.store.put(DYNAMODB, "WriteThrottleEvents", {"TableName": table}, minute, 9, kind="sum")

    def run(self, first: int, last: int) -> list[tuple[int, dict[str, Any]]]:
        """Events by the minute in which they were sent."""
        return [
            (minute, event)
            for minute in range(first, last)
            for event in self.alarms.evaluate(START + timedelta(minutes=minute))
        ]


def told(events: list[tuple[int, dict[str, Any]]]) -> list[tuple[int, str, str]]:
    """Minute, contributor or alarm, and the new state."""
    return [
        (
            minute,
            event["detail"].get("alarmContributor", {}).get("attributes", {}).get("TableName", "alarm"),
            event["detail"]["state"]["value"],
        )
        for minute, event in events
    ]


def definition(periods: int, needed: int, missing: str) -> AlarmDefinition:
    return from_resource(
        "A", SINGLE | {"EvaluationPeriods": periods, "DatapointsToAlarm": needed, "TreatMissingData": missing}
    )


def test_a_new_alarm_has_insufficient_data_until_it_is_looked_at() -> None:
    watch = Watch(SINGLE)
    assert watch.alarms.states[0].now.value == "INSUFFICIENT_DATA"
    assert told(watch.run(1, 3)) == [(1, "alarm", "OK")]


def test_an_alarm_speaks_only_when_its_state_changes() -> None:
    watch = Watch(SINGLE)
    watch.throttle(range(10, 20))
    assert told(watch.run(1, 30)) == [(1, "alarm", "OK"), (12, "alarm", "ALARM"), (24, "alarm", "OK")]


def test_an_alarm_sees_what_everybody_sees_and_not_sooner() -> None:
    watch = Watch(SINGLE, delay=2)
    watch.throttle(range(10, 20))
    assert told(watch.run(1, 20))[-1] == (14, "alarm", "ALARM")


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        pytest.param("0-X-X", ["OK", "OK", "OK", "OK"], id="three real ones, one of them good"),
        pytest.param("----0", ["OK", "OK", "OK", "OK"], id="one good one"),
        pytest.param("-----", ["INSUFFICIENT_DATA", "before", "ALARM", "OK"], id="nothing"),
        pytest.param("0XX-X", ["ALARM", "ALARM", "ALARM", "ALARM"], id="three bad ones with a gap"),
        pytest.param("--X--", ["ALARM", "before", "ALARM", "OK"], id="one bad one, old enough"),
    ],
)
def test_missing_data_is_treated_as_in_awss_table_for_three_of_three(points: str, expected: list[str]) -> None:
    values = np.array([{"0": 0.0, "X": 5.0, "-": np.nan}[point] for point in points])
    for missing, state in zip(["missing", "ignore", "breaching", "notBreaching"], expected, strict=True):
        wanted = "OK" if state == "before" else state
        assert (missing, judge(values, definition(3, 3, missing), "OK")) == (missing, wanted)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        pytest.param([5, 0, 0, 0, 5], "OK", id="one of three"),
        pytest.param([0, 0, 5, 0, 5], "ALARM", id="two of three"),
        pytest.param([0, 0, 5, 5, 5], "ALARM", id="three of three"),
    ],
)
def test_m_out_of_n_counts_the_newest_n(points: list[float], expected: str) -> None:
    assert judge(np.array(points, dtype=float), definition(3, 2, "missing"), "OK") == expected


def test_the_event_of_a_metric_alarm_has_awss_shape() -> None:
    watch = Watch(SINGLE)
    watch.throttle(range(10, 12))
    event = watch.run(1, 13)[-1][1]
    assert {key: event[key] for key in ("version", "source", "detail-type", "account", "region", "time")} == {
        "version": "0",
        "source": "aws.cloudwatch",
        "detail-type": "CloudWatch Alarm State Change",
        "account": "111122223333",
        "region": "eu-west-1",
        "time": "2026-08-24T04:12:00Z",
    }
    assert event["resources"] == ["arn:aws:cloudwatch:eu-west-1:111122223333:alarm:runs-writes"]
    detail = event["detail"]
    (metric,) = detail["configuration"]["metrics"]
    assert metric["metricStat"] == {
        "metric": {"namespace": DYNAMODB, "name": "WriteThrottleEvents", "dimensions": {"TableName": "runs"}},
        "period": 60,
        "stat": "Sum",
    }
    assert detail["configuration"]["description"] == "writes of runs are throttled"
    assert detail["previousState"]["value"] == "OK"
    assert detail["state"]["timestamp"] == "2026-08-24T04:12:00.000+0000"
    assert detail["state"]["reason"] == (
        "Threshold Crossed: 2 out of the last 3 datapoints [9.0 (24/08/26 04:11:00), 9.0 (24/08/26 04:10:00)] were "
        "greater than the threshold (0.0) (minimum 2 datapoints for OK -> ALARM transition)."
    )
    assert json.loads(detail["state"]["reasonData"])["recentDatapoints"] == [9.0, 9.0]


def test_the_first_contributor_is_an_event_of_its_own_and_one_of_the_alarm() -> None:
    watch = Watch(FLEET)
    watch.throttle(range(10, 15))
    watch.throttle(range(12, 15), table="flows")
    assert told(watch.run(1, 20)) == [
        (1, "alarm", "OK"),
        (11, "runs", "ALARM"),
        (11, "alarm", "ALARM"),
        (13, "flows", "ALARM"),
        (18, "runs", "OK"),
        (18, "flows", "OK"),
        (18, "alarm", "OK"),
    ]


def test_the_event_of_a_contributor_has_awss_shape() -> None:
    watch = Watch(FLEET)
    watch.throttle(range(10, 11))
    event = watch.run(1, 12)[1][1]
    assert event["detail-type"] == "CloudWatch Alarm Contributor State Change"
    detail = event["detail"]
    assert set(detail) == {"alarmName", "alarmContributor", "state", "configuration"}
    assert set(detail["state"]) == {"value", "reason", "timestamp"}
    assert detail["alarmContributor"]["attributes"] == {"TableName": "runs"}
    assert detail["configuration"]["metrics"] == [{"id": "q", "expression": WRITES, "returnData": True, "period": 60}]


def test_two_runs_give_the_same_events() -> None:
    def run() -> list[tuple[int, dict[str, Any]]]:
        watch = Watch(FLEET, SINGLE)
        watch.throttle(range(10, 15))
        return watch.run(1, 30)

    assert run() == run()
    ids = [event["id"] for _, event in run()]
    assert len(ids) == len(set(ids))


def test_arithmetic_over_metrics_can_be_watched() -> None:
    def metric(name: str, identifier: str) -> dict[str, Any]:
        what = {"Namespace": "AWS/Lambda", "MetricName": name, "Dimensions": []}
        return {"Id": identifier, "MetricStat": {"Metric": what, "Period": 60, "Stat": "Maximum"}, "ReturnData": False}

    share = {"Id": "share", "Expression": "used * 100 / claimed"}
    watch = Watch(
        {
            "AlarmName": "pool",
            "Metrics": [share, metric("ConcurrentExecutions", "used"), metric("ClaimedAccountConcurrency", "claimed")],
            "EvaluationPeriods": 1,
            "Threshold": 80,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        }
    )
    for minute, used in enumerate([79, 80]):
        watch.store.put("AWS/Lambda", "ConcurrentExecutions", {}, minute, used)
        watch.store.put("AWS/Lambda", "ClaimedAccountConcurrency", {}, minute, 100)
    events = watch.run(1, 3)
    assert told(events) == [(1, "alarm", "OK"), (2, "alarm", "ALARM")]
    shown = events[-1][1]["detail"]["configuration"]["metrics"]
    assert [(one["id"], one["returnData"]) for one in shown] == [("share", True), ("used", False), ("claimed", False)]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        pytest.param({"ExtendedStatistic": "p99", "Statistic": None}, "percentiles", id="a percentile"),
        pytest.param({"Dimensions": [{"Name": "T", "Value": {"Ref": "X"}}]}, "not resolved", id="a reference"),
        pytest.param({"ComparisonOperator": "LessThanLowerThreshold"}, "is not one of", id="a band"),
        pytest.param({"Period": 10}, "multiple of 60", id="a period of 10 s"),
        pytest.param({"Metrics": [{"Id": "e", "Expression": "SEARCH('x')"}]}, "not metrics", id="SEARCH"),
    ],
)
def test_an_alarm_that_cannot_be_evaluated_is_refused_by_name(change: dict[str, Any], text: str) -> None:
    with pytest.raises(DefinitionError, match=f"runs-writes.*{text}"):
        from_resource("A", SINGLE | change)


def test_a_missing_property_is_named() -> None:
    with pytest.raises(DefinitionError, match="'Threshold' is missing"):
        from_resource("A", {key: value for key, value in SINGLE.items() if key != "Threshold"})


def test_alarms_are_found_among_the_resources_of_a_template() -> None:
    resources = {
        "Table": {"Type": "AWS::DynamoDB::Table", "Properties": {}},
        "Writes": {"Type": "AWS::CloudWatch::Alarm", "Properties": SINGLE},
    }
    assert [one.name for one in from_template(resources)] == ["runs-writes"]


def test_a_composite_alarm_is_refused_rather_than_left_out() -> None:
    with pytest.raises(DefinitionError, match="Both cannot be evaluated"):
        from_template({"Both": {"Type": "AWS::CloudWatch::CompositeAlarm", "Properties": {}}})


class TestDescribeAlarms:
    @pytest.fixture
    def watched(self, world: Any) -> Any:
        alarms = AlarmEvaluator(
            [from_resource("A", SINGLE), from_resource("B", FLEET)], world.store, "111122223333", "eu-west-1"
        )
        world.attach(alarms)
        for minute in range(5):
            world.store.put(DYNAMODB, "WriteThrottleEvents", {"TableName": "flows"}, minute, 9, kind="sum")
        world.go_to(5)
        alarms.evaluate(world.now())
        return world

    def test_state_and_configuration_are_shown(self, watched: Any) -> None:
        client = watched.client("cloudwatch")
        single, fleet = sorted(client.describe_alarms()["MetricAlarms"], key=lambda one: one["AlarmName"])
        assert (single["StateValue"], fleet["StateValue"]) == ("OK", "ALARM")
        assert single["Dimensions"] == [{"Name": "TableName", "Value": "runs"}]
        assert (single["DatapointsToAlarm"], single["TreatMissingData"]) == (2, "notBreaching")
        assert fleet["Metrics"][0]["Expression"] == WRITES
        assert fleet["StateUpdatedTimestamp"] == watched.now()

    def test_alarms_are_filtered_by_state_name_and_type(self, watched: Any) -> None:
        describe = watched.client("cloudwatch").describe_alarms

        def names(**wanted: Any) -> list[str]:
            return [alarm["AlarmName"] for alarm in describe(**wanted)["MetricAlarms"]]

        assert names(StateValue="ALARM") == ["tables-writes"]
        assert names(AlarmNames=["runs-writes"]) == ["runs-writes"]
        assert names(AlarmNamePrefix="tab") == ["tables-writes"]
        assert names(AlarmTypes=["CompositeAlarm"]) == []

    def test_alarms_come_in_pages(self, watched: Any) -> None:
        pages = watched.client("cloudwatch").get_paginator("describe_alarms").paginate(PaginationConfig={"PageSize": 1})
        assert [[one["AlarmName"] for one in page["MetricAlarms"]] for page in pages] == [
            ["runs-writes"],
            ["tables-writes"],
        ]

    def test_contributors_in_alarm_are_listed(self, watched: Any) -> None:
        answer = watched.client("cloudwatch").describe_alarm_contributors(AlarmName="tables-writes")
        assert [one["ContributorAttributes"] for one in answer["AlarmContributors"]] == [{"TableName": "flows"}]
