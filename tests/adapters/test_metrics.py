"""Metrics over time: asked in few calls, gaps kept as gaps."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.adapters.world import NOW, Scripted
from unthrottle.adapters.access import Access
from unthrottle.adapters.metrics import AwsMetrics
from unthrottle.errors import NotAllowed, TryAgain
from unthrottle.ports import MetricQuery

HALF = NOW + timedelta(seconds=30)
RANKING = (
    'SELECT MAX(ConcurrentExecutions) FROM SCHEMA("AWS/Lambda", FunctionName) GROUP BY FunctionName '
    "ORDER BY MAX() DESC LIMIT 20"
)


def query(name: str) -> MetricQuery:
    return MetricQuery(
        id=name, namespace="AWS/Lambda", name="Throttles", stat="Sum", dimensions=(("FunctionName", name),)
    )


def result(name: str, points: Sequence[tuple[int, float]], *, label: str = "", status: str = "Complete") -> Any:
    return {
        "Id": name,
        "Label": label or name,
        "Timestamps": [NOW + timedelta(minutes=minute) for minute, _ in points],
        "Values": [value for _, value in points],
        "StatusCode": status,
    }


def read(access: Access, names: Sequence[str], *, minutes: int = 3, **more: Any) -> Any:
    return AwsMetrics(access).read([query(n) for n in names], start=NOW, end=NOW + timedelta(minutes=minutes), **more)


def test_a_missing_datapoint_is_a_gap_and_a_zero_is_a_zero(script: Scripted, scripted: Access) -> None:
    script.answers("cloudwatch", "get_metric_data", {"MetricDataResults": [result("a", [(0, 0.0), (2, 5.0)])]})

    answer = read(scripted, ["a", "b"])

    assert answer.series["a"].values == (0.0, None, 5.0)
    assert answer.series["a"].start == NOW
    assert answer.series["b"].is_empty
    assert len(answer.series["b"].values) == 3
    assert answer.ranking == ()


def test_the_window_is_rounded_down_to_the_period(script: Scripted, scripted: Access) -> None:
    script.answers(
        "cloudwatch",
        "get_metric_data",
        {"MetricDataResults": []},
        MetricDataQueries=[
            {
                "Id": "a",
                "MetricStat": {
                    "Metric": {
                        "Namespace": "AWS/Lambda",
                        "MetricName": "Throttles",
                        "Dimensions": [{"Name": "FunctionName", "Value": "a"}],
                    },
                    "Period": 300,
                    "Stat": "Sum",
                },
            }
        ],
        StartTime=NOW,
        EndTime=NOW + timedelta(minutes=5),
        ScanBy="TimestampAscending",
    )

    answer = AwsMetrics(scripted).read([query("a")], start=HALF, end=NOW + timedelta(minutes=9), period_s=300)

    assert (answer.series["a"].start, answer.series["a"].values) == (NOW, (None,))


def test_a_ranking_rides_along_in_the_first_call_and_keeps_awss_order(script: Scripted, scripted: Access) -> None:
    rows = [
        result("unthrottle_ranking", [(0, 700.0)], label="hog"),
        result("unthrottle_ranking", [(0, 20.0)], label="victim"),
    ]
    script.answers("cloudwatch", "get_metric_data", {"MetricDataResults": [*rows, result("a", [(0, 1.0)])]})

    answer = read(scripted, ["a"], ranking=RANKING)

    assert [(row.label, row.series.peak()) for row in answer.ranking] == [("hog", 700.0), ("victim", 20.0)]
    assert answer.series["a"].sum() == 1.0


def test_pages_and_partial_results_are_read_to_their_end(script: Scripted, scripted: Access) -> None:
    first = result("a", [(0, 1.0)], status="PartialData")
    script.answers("cloudwatch", "get_metric_data", {"MetricDataResults": [first], "NextToken": "more"})
    script.answers("cloudwatch", "get_metric_data", {"MetricDataResults": [result("a", [(1, 2.0)])]})

    assert read(scripted, ["a"]).series["a"].values == (1.0, 2.0, None)


@pytest.mark.parametrize("status", ["PartialData", "InternalError"])
def test_a_result_that_stays_incomplete_is_asked_again_and_never_believed(
    script: Scripted, scripted: Access, status: str
) -> None:
    script.answers("cloudwatch", "get_metric_data", {"MetricDataResults": [result("a", [], status=status)]})

    with pytest.raises(TryAgain):
        read(scripted, ["a"])


def test_a_ranking_that_stays_partial_is_what_cloudwatch_can_give(script: Scripted, scripted: Access) -> None:
    row = result("unthrottle_ranking", [(0, 700.0)], label="hog", status="PartialData")
    script.answers("cloudwatch", "get_metric_data", {"MetricDataResults": [row]})

    assert [row.label for row in read(scripted, [], ranking=RANKING).ranking] == ["hog"]


def test_a_forbidden_metric_is_no_gap(script: Scripted, scripted: Access) -> None:
    script.answers("cloudwatch", "get_metric_data", {"MetricDataResults": [result("a", [], status="Forbidden")]})

    with pytest.raises(NotAllowed):
        read(scripted, ["a"])


def test_more_than_five_hundred_queries_take_more_calls(script: Scripted, scripted: Access) -> None:
    names = [f"q{number}" for number in range(501)]
    script.answers("cloudwatch", "get_metric_data", {"MetricDataResults": [result("q0", [(0, 1.0)])]})
    script.answers("cloudwatch", "get_metric_data", {"MetricDataResults": [result("q500", [(0, 2.0)])]})

    answer = read(scripted, names)

    assert (answer.series["q0"].sum(), answer.series["q500"].sum()) == (1.0, 2.0)


def test_datapoints_outside_the_window_are_left_out(script: Scripted, scripted: Access) -> None:
    points = [(-1, 9.0), (0, 1.0), (3, 9.0)]
    script.answers("cloudwatch", "get_metric_data", {"MetricDataResults": [result("a", points)]})

    assert read(scripted, ["a"]).series["a"].known == (1.0,)


@pytest.mark.parametrize(("names", "period_s"), [(["a", "a"], 60), (["a"], 45), (["a"], 0)])
def test_a_question_cloudwatch_cannot_answer_is_a_programming_error(
    scripted: Access, names: list[str], period_s: int
) -> None:
    with pytest.raises(ValueError, match=r"period|same id"):
        read(scripted, names, period_s=period_s)


def test_times_in_another_zone_are_the_same_times(script: Scripted, scripted: Access) -> None:
    script.answers("cloudwatch", "get_metric_data", {"MetricDataResults": [result("a", [(0, 1.0)])]})
    local = datetime.fromisoformat("2026-06-01T12:00:00+02:00")

    answer = AwsMetrics(scripted).read([query("a")], start=local, end=local + timedelta(minutes=1))

    assert answer.series["a"].values == (1.0,)
