from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from botocore.exceptions import ClientError

from sandbox.aws.cloudwatch_api import CloudWatchApi
from sandbox.aws.cloudwatch_store import MetricStore, UnknownStatisticError

START = datetime(2026, 8, 24, 4, tzinfo=UTC)

LAMBDA = "AWS/Lambda"
RANKING = (
    'SELECT MAX(ConcurrentExecutions) FROM SCHEMA("AWS/Lambda", FunctionName) '
    "GROUP BY FunctionName ORDER BY MAX() DESC LIMIT 20"
)


def stat(name: str, dimensions: dict[str, str], *, metric: str = "Throttles", **options: Any) -> dict[str, Any]:
    what = {
        "Namespace": options.pop("namespace", LAMBDA),
        "MetricName": metric,
        "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions.items()],
    }
    return {"Id": name, "MetricStat": {"Metric": what, "Period": 60, "Stat": "Sum"} | options}


def ask(world: Any, *queries: dict[str, Any], first: float = 0, last: float = 10, **options: Any) -> dict[str, Any]:
    start, end = START + timedelta(minutes=first), START + timedelta(minutes=last)
    answer: dict[str, Any] = world.client("cloudwatch").get_metric_data(
        MetricDataQueries=list(queries), StartTime=start, EndTime=end, **options
    )
    return answer


def values(world: Any, *queries: dict[str, Any], **options: Any) -> list[list[float]]:
    answer = ask(world, *queries, ScanBy="TimestampAscending", **options)
    return [result["Values"] for result in answer["MetricDataResults"]]


def refusal(world: Any, *queries: dict[str, Any], **options: Any) -> str:
    with pytest.raises(ClientError) as caught:
        ask(world, *queries, **options)
    error: Any = caught.value.response["Error"]
    assert error["Code"] == "ValidationError"
    return str(error["Message"])


@pytest.fixture
def measured(world: Any) -> Any:
    """Two functions, an alias, the account and another namespace; read at minute 30."""
    store: MetricStore = world.store
    for minute in range(10):
        store.put(LAMBDA, "Throttles", {"FunctionName": "a"}, minute, 10, kind="sum")
        store.put(LAMBDA, "Throttles", {"FunctionName": "b"}, minute, 20, kind="sum")
        store.put(LAMBDA, "Throttles", {"FunctionName": "a", "Resource": "a:live"}, minute, 7, kind="sum")
        store.put(LAMBDA, "Throttles", {}, minute, 30, kind="sum")
        store.put("Custom/X", "Throttles", {"FunctionName": "a"}, minute, 9999, kind="sum")
    world.go_to(30)
    return world


class TestStore:
    def test_a_minute_without_data_is_a_gap_and_not_a_zero(self, world: Any) -> None:
        store: MetricStore = world.store
        store.put(LAMBDA, "ConcurrentExecutions", {}, 0, 5)
        store.put(LAMBDA, "ConcurrentExecutions", {}, 2, 0)
        points = store.query(
            LAMBDA,
            "ConcurrentExecutions",
            {},
            stat="Maximum",
            period_s=60,
            start=START,
            end=START + timedelta(minutes=5),
            now=START + timedelta(minutes=30),
        )
        assert points == [(START, 5.0), (START + timedelta(minutes=2), 0.0)]

    def test_nan_in_a_block_writes_nothing(self, world: Any) -> None:
        rows = [world.store.row(LAMBDA, "Throttles", {"FunctionName": name}) for name in "ab"]
        world.store.put_block(rows, 0, [np.nan, 3.0], kind="sum")
        buckets = world.store.read(rows, 60, START, START + timedelta(minutes=1), START + timedelta(hours=1))
        assert np.isnan(buckets.statistic("Sum")[0, 0])
        assert buckets.statistic("Sum")[1, 0] == buckets.statistic("SampleCount")[1, 0] == 3

    def test_the_average_is_the_sum_over_the_samples(self, world: Any) -> None:
        row = world.store.row(LAMBDA, "Duration", {})
        world.store.put_block([row], 0, [10.0], samples=1.0)
        world.store.put_block([row], 1, [40.0], samples=3.0)
        buckets = world.store.read([row], 120, START, START + timedelta(minutes=2), START + timedelta(hours=1))
        assert buckets.statistic("Average")[0, 0] == 32.5

    def test_a_minute_is_readable_only_after_the_delay(self) -> None:
        store = MetricStore(START, 10, delay_minutes=2)
        assert store.visible_until(START + timedelta(minutes=7)) == 5
        assert store.visible_until(START + timedelta(minutes=7, seconds=-1)) == 4

    def test_history_before_the_start_can_be_written_without_having_been_announced(self) -> None:
        store = MetricStore(START, 10)
        store.put(LAMBDA, "Throttles", {}, 3, 1, kind="sum")
        store.put(LAMBDA, "Throttles", {}, -180, 2, kind="sum")
        store.put(LAMBDA, "Throttles", {}, 1440, 4, kind="sum")
        found = store.query(
            LAMBDA,
            "Throttles",
            {},
            stat="Sum",
            period_s=60,
            start=START - timedelta(hours=4),
            end=START + timedelta(days=2),
            now=START + timedelta(days=2),
        )
        assert [value for _, value in found] == [2, 1, 4]

    def test_a_raw_series_replaces_what_the_model_publishes(self, world: Any) -> None:
        store: MetricStore = world.store
        name, where = "ConcurrentExecutions", {"FunctionName": "f"}
        store.put(LAMBDA, name, where, -1, 8)
        store.override(LAMBDA, name, where, stat="Maximum", start_minute=0, period_s=60, values=[1, None, 3])
        for minute in range(-1, 6):
            store.put(LAMBDA, name, where, minute, 50)
        found = store.query(
            LAMBDA,
            name,
            where,
            stat="Maximum",
            period_s=60,
            start=START - timedelta(minutes=1),
            end=START + timedelta(minutes=6),
            now=START + timedelta(hours=1),
        )
        assert [value for _, value in found] == [50, 1, 3]

    def test_a_percentile_is_an_error_rather_than_nothing(self, world: Any) -> None:
        world.store.put(LAMBDA, "Duration", {}, 0, 1)
        with pytest.raises(UnknownStatisticError, match="p99"):
            world.store.query(LAMBDA, "Duration", {}, stat="p99", period_s=60, start=START, end=START, now=START)


class TestMetricData:
    def test_the_namespace_and_the_exact_dimensions_count(self, measured: Any) -> None:
        alias = {"Resource": "a:live", "FunctionName": "a"}
        found = values(
            measured,
            stat("function", {"FunctionName": "a"}),
            stat("alias", alias),
            stat("account", {}),
            stat("other", {"FunctionName": "a"}, namespace="Custom/X"),
            stat("nothing", {"Resource": "a:live"}),
            last=2,
        )
        assert found == [[10, 10], [7, 7], [30, 30], [9999, 9999], []]

    def test_buckets_are_aligned_to_their_period(self, measured: Any) -> None:
        answer = ask(measured, stat("m", {"FunctionName": "a"}, Period=300), first=1.5, last=7)
        (result,) = answer["MetricDataResults"]
        assert result["Timestamps"] == [START + timedelta(minutes=5), START]
        assert result["Values"] == [50, 50]

    def test_newest_come_first_unless_asked_otherwise(self, measured: Any) -> None:
        measured.store.put(LAMBDA, "Throttles", {"FunctionName": "a"}, 9, 11, kind="sum")
        query = stat("m", {"FunctionName": "a"})
        assert ask(measured, query)["MetricDataResults"][0]["Values"][0] == 11
        assert values(measured, query)[0][-1] == 11

    def test_paging_gives_the_whole_in_pieces(self, measured: Any) -> None:
        queries = [
            stat("a", {"FunctionName": "a"}),
            stat("none", {"FunctionName": "x"}),
            stat("b", {"FunctionName": "b"}),
        ]
        token, pages = None, []
        while True:
            page = ask(measured, *queries, MaxDatapoints=7, **({"NextToken": token} if token else {}))
            pages.append([(r["Id"], len(r["Values"]), r["StatusCode"]) for r in page["MetricDataResults"]])
            token = page.get("NextToken")
            if token is None:
                break
        assert pages == [
            [("a", 7, "PartialData")],
            [("a", 3, "Complete"), ("none", 0, "Complete"), ("b", 4, "PartialData")],
            [("b", 6, "Complete")],
        ]

    def test_what_is_not_published_yet_is_not_returned(self, measured: Any) -> None:
        measured.store.delay_minutes = 2
        measured.go_to(10)
        assert len(values(measured, stat("m", {"FunctionName": "a"}))[0]) == 8

    @pytest.mark.parametrize(
        "queries",
        [
            pytest.param([stat(f"m{i}", {}) for i in range(501)], id="501 queries"),
            pytest.param([stat("m", {}), stat("m", {})], id="the same id twice"),
            pytest.param([stat("A-1", {})], id="an id of wrong letters"),
            pytest.param([stat("m", {}, Period=45)], id="a period of 45 s"),
            pytest.param([stat("m", {}, Stat="p99")], id="a percentile"),
            pytest.param([{"Id": "e", "Expression": "SEARCH('{AWS/Lambda} Throttles', 'Sum', 60)"}], id="SEARCH"),
            pytest.param([stat("m", {}), {"Id": "e", "Expression": "ANOMALY_DETECTION_BAND(m)"}], id="a band"),
            pytest.param([{"Id": "e", "Expression": "m1 / m2"}], id="unknown ids"),
            pytest.param([{"Id": f"e{i}", "Expression": RANKING} for i in range(2)], id="two Insights queries"),
        ],
    )
    def test_what_aws_would_refuse_or_we_cannot_answer_is_refused(self, world: Any, queries: Any) -> None:
        assert refusal(world, *queries)

    def test_a_start_after_the_end_is_refused(self, world: Any) -> None:
        text = "The parameter StartTime must be less than the parameter EndTime."
        assert refusal(world, stat("m", {}), first=5, last=5) == text

    def test_arithmetic_keeps_gaps(self, measured: Any) -> None:
        measured.store.put(LAMBDA, "Invocations", {"FunctionName": "a"}, 1, 40, kind="sum")
        whole = stat("m2", {"FunctionName": "a"}, metric="Invocations") | {"ReturnData": False}
        part = stat("m1", {"FunctionName": "a"}) | {"ReturnData": False}
        assert values(measured, part, whole, {"Id": "e", "Expression": "m1 * 100 / m2"}) == [[25]]
        assert values(measured, part, whole, {"Id": "e", "Expression": "FILL(m2, 0) + m1"}, last=3) == [[10, 50, 10]]


class TestInsights:
    def rank(self, world: Any, expression: str, **options: Any) -> dict[str, list[float]]:
        answer = ask(world, {"Id": "q", "Expression": expression}, ScanBy="TimestampAscending", **options)
        return {result["Label"]: result["Values"] for result in answer["MetricDataResults"]}

    def test_schema_means_exactly_these_dimensions(self, measured: Any) -> None:
        query = 'SELECT SUM(Throttles) FROM SCHEMA("AWS/Lambda", FunctionName) GROUP BY FunctionName'
        assert self.rank(measured, query, last=2) == {"a": [10, 10], "b": [20, 20]}
        assert self.rank(measured, 'SELECT SUM(Throttles) FROM SCHEMA("AWS/Lambda")', last=1) == {
            "SUM(Throttles)": [30]
        }

    def test_without_schema_series_are_mixed_and_the_rest_is_other(self, measured: Any) -> None:
        query = 'SELECT SUM(Throttles) FROM "AWS/Lambda" GROUP BY FunctionName'
        assert self.rank(measured, query, last=1) == {"a": [17], "b": [20], "Other": [30]}

    def test_the_order_follows_the_whole_range_and_the_limit_cuts(self, world: Any) -> None:
        for minute, (a, b) in enumerate([(900, 100), (10, 600), (10, 600)]):
            world.store.put(LAMBDA, "ConcurrentExecutions", {"FunctionName": "a"}, minute, a)
            world.store.put(LAMBDA, "ConcurrentExecutions", {"FunctionName": "b"}, minute, b)
        world.go_to(20)
        assert list(self.rank(world, RANKING)) == ["a", "b"]
        by_sum = RANKING.replace("ORDER BY MAX() DESC LIMIT 20", "ORDER BY SUM() DESC LIMIT 1")
        assert list(self.rank(world, by_sum)) == ["b"]

    def test_where_keeps_and_leaves_out(self, measured: Any) -> None:
        query = (
            'SELECT SUM(Throttles) FROM SCHEMA("AWS/Lambda", FunctionName) WHERE FunctionName {} GROUP BY FunctionName'
        )
        assert list(self.rank(measured, query.format("= 'a'"))) == ["a"]
        assert list(self.rank(measured, query.format("!= 'a'"))) == ["b"]

    def test_several_grouping_values_make_one_label(self, measured: Any) -> None:
        query = (
            'SELECT SUM(Throttles) FROM SCHEMA("AWS/Lambda", FunctionName, Resource) GROUP BY FunctionName, Resource'
        )
        assert list(self.rank(measured, query)) == ["a a:live"]

    def test_plain_metrics_may_ride_along(self, measured: Any) -> None:
        query = {"Id": "q", "Expression": 'SELECT AVG(Throttles) FROM SCHEMA("AWS/Lambda", FunctionName)'}
        assert values(measured, query, stat("account", {}), last=1) == [[1], [30]]

    def test_only_ten_thousand_metrics_are_looked_at_and_nobody_says_so(self, world: Any) -> None:
        rows = [
            world.store.row(LAMBDA, "ConcurrentExecutions", {"FunctionName": f"f{number:05d}"})
            for number in range(10_001)
        ]
        world.store.put_block(rows, 0, np.arange(10_001.0))
        world.go_to(20)
        answer = ask(world, {"Id": "q", "Expression": RANKING})
        results = answer["MetricDataResults"]
        assert (results[0]["Label"], len(results), answer["Messages"]) == ("f09999", 20, [])

    @pytest.mark.parametrize(
        "expression",
        [
            pytest.param('SELECT P99(Duration) FROM "AWS/Lambda"', id="an unknown function"),
            pytest.param("SELECT MAX(Duration)", id="no FROM"),
            pytest.param(
                'SELECT MAX(Duration) FROM SCHEMA("AWS/Lambda", FunctionName) GROUP BY Resource', id="not in SCHEMA"
            ),
            pytest.param("SELECT MAX(Duration) FROM \"AWS/Lambda\" WHERE FunctionName LIKE 'a'", id="LIKE"),
            pytest.param('SELECT MAX(Duration) FROM "AWS/Lambda" LIMIT 501', id="a limit over 500"),
            pytest.param('SELECT MAX(Duration) FROM "AWS/Lambda" HAVING x', id="something behind it"),
            pytest.param('SELECT MAX(Duration) FROM "AWS/Lambda" WHERE FunctionName = a', id="a value without quotes"),
        ],
    )
    def test_what_is_not_understood_is_refused(self, world: Any, expression: str) -> None:
        assert "Error in expression" in refusal(world, {"Id": "q", "Expression": expression})


class TestOtherCalls:
    def test_statistics_match_the_exact_dimensions(self, measured: Any) -> None:
        get = measured.client("cloudwatch").get_metric_statistics
        window = {"StartTime": START, "EndTime": START + timedelta(minutes=2), "Period": 60, "Statistics": ["Sum"]}
        about = {"Namespace": LAMBDA, "MetricName": "Throttles"}
        found = get(**about, **window, Dimensions=[{"Name": "FunctionName", "Value": "a"}])["Datapoints"]
        assert [point["Sum"] for point in found] == [10, 10]
        assert get(**about, **window, Dimensions=[{"Name": "Resource", "Value": "a:live"}])["Datapoints"] == []

    def test_too_many_statistics_are_refused_with_awss_text(self, world: Any) -> None:
        with pytest.raises(
            ClientError, match="You have requested up to 2880 datapoints, which exceeds the limit of 1440"
        ):
            world.client("cloudwatch").get_metric_statistics(
                Namespace=LAMBDA,
                MetricName="Throttles",
                StartTime=START - timedelta(days=2),
                EndTime=START,
                Period=60,
                Statistics=["Sum"],
            )

    def test_metrics_are_listed_once_and_only_when_they_have_data(self, measured: Any) -> None:
        measured.store.row(LAMBDA, "Throttles", {"FunctionName": "never"})
        found = measured.client("cloudwatch").list_metrics(Namespace=LAMBDA, RecentlyActive="PT3H")["Metrics"]
        named = [[d["Value"] for d in metric["Dimensions"]] for metric in found]
        assert named == [["a"], ["b"], ["a", "a:live"], []]
        found = measured.client("cloudwatch").list_metrics(Dimensions=[{"Name": "Resource"}])["Metrics"]
        assert len(found) == 1

    def test_metrics_are_listed_five_hundred_a_page(self, world: Any) -> None:
        for number in range(501):
            world.store.put(LAMBDA, "Throttles", {"FunctionName": f"f{number}"}, 0, 1, kind="sum")
        world.go_to(5)
        pages = list(world.client("cloudwatch").get_paginator("list_metrics").paginate(Namespace=LAMBDA))
        assert [len(page["Metrics"]) for page in pages] == [500, 1]

    def test_a_report_of_a_contributor_insights_rule_is_there_only_if_somebody_made_one(self, world: Any) -> None:
        client = world.client("cloudwatch")
        wanted = {"RuleName": "rule", "StartTime": START, "EndTime": START + timedelta(hours=1), "Period": 60}
        with pytest.raises(ClientError, match="ResourceNotFound"):
            client.get_insight_rule_report(**wanted)
        api = CloudWatchApi(
            world.store, account_id="111122223333", region="eu-west-1", rule_report=lambda _: {"KeyLabels": ["pk"]}
        )
        world.gate.handlers.insert(0, api.handle)
        assert client.get_insight_rule_report(**wanted)["KeyLabels"] == ["pk"]

    def test_own_metrics_can_be_published_and_reserved_namespaces_cannot(self, world: Any) -> None:
        client = world.client("cloudwatch")
        data = [
            {"MetricName": "Incidents", "Value": 2.0},
            {"MetricName": "Incidents", "Values": [1.0], "Counts": [3.0]},
        ]
        client.put_metric_data(Namespace="Unthrottle", MetricData=data)
        world.wait(minutes=1)
        assert values(world, stat("m", {}, namespace="Unthrottle", metric="Incidents"), last=1) == [[5]]
        with pytest.raises(ClientError, match="reserved"):
            client.put_metric_data(Namespace=LAMBDA, MetricData=data)
