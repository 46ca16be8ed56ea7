"""The past is shown as it could be seen then: nothing later, and nothing finer than CloudWatch keeps."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from unthrottle.audit.past import PastMetrics, kept_period_s
from unthrottle.evidence.read_pool import BY_CONCURRENCY, BY_THROTTLES
from unthrottle.evidence.series import Series
from unthrottle.ports import MetricQuery, MetricsAnswer, Ranked

NOW = datetime(2026, 8, 24, 10, tzinfo=UTC)
QUERY = MetricQuery(id="q", namespace="AWS/Lambda", name="ConcurrentExecutions", stat="Maximum")
TOTAL = MetricQuery(id="t", namespace="AWS/Lambda", name="Throttles", stat="Sum")


class Clockwork:
    """Metrics whose value of a minute is that minute's number, so that what is shown says when it was."""

    def __init__(self) -> None:
        self.asked: list[tuple[datetime, datetime, int, str | None]] = []

    def read(
        self,
        queries: Sequence[MetricQuery],
        *,
        start: datetime,
        end: datetime,
        period_s: int = 60,
        ranking: str | None = None,
    ) -> MetricsAnswer:
        self.asked.append((start, end, period_s, ranking))
        first = int(start.timestamp()) // period_s * period_s
        count = max(1, int(end.timestamp()) // period_s - first // period_s)

        def value(query: MetricQuery, number: int) -> float:
            newest = first + (number + 1) * period_s - 60
            return float(newest) if query.stat == "Maximum" else period_s / 60

        series = {
            query.id: Series(
                start=datetime.fromtimestamp(first, UTC),
                period_s=period_s,
                values=tuple(value(query, number) for number in range(count)),
            )
            for query in queries
        }
        rows = () if ranking is None else (Ranked(label="f", series=next(iter(series.values()))),)
        return MetricsAnswer(series=series, ranking=rows)


@given(age=st.integers(min_value=1, max_value=400 * 1440), window=st.integers(min_value=1, max_value=300))
def test_no_value_is_newer_than_what_cloudwatch_showed_at_the_moment(age: int, window: int) -> None:
    moment = NOW - timedelta(minutes=age)
    past = PastMetrics(Clockwork(), moment=moment, now=NOW, names=lambda: ())
    start = moment - timedelta(minutes=window)
    series = past.read([QUERY], start=start, end=moment).series["q"]
    assert (series.start, series.period_s, len(series.values)) == (start, 60, window)
    newest = (moment - timedelta(minutes=3)).timestamp()
    assert all(value <= newest for value in series.known)


@given(age=st.integers(min_value=16 * 1440, max_value=400 * 1440))
def test_a_coarse_sum_is_spread_and_adds_up(age: int) -> None:
    moment = NOW - timedelta(minutes=age)
    past = PastMetrics(Clockwork(), moment=moment, now=NOW, names=lambda: ())
    series = past.read([TOTAL], start=moment - timedelta(hours=3), end=moment).series["t"]
    assert set(series.known) <= {1.0}
    assert past.resolution_s > 60


def test_minutes_are_asked_for_15_days_five_minutes_for_63_and_hours_after_that() -> None:
    ages = (timedelta(days=14), timedelta(days=16), timedelta(days=62), timedelta(days=64))
    assert [kept_period_s(NOW - age, NOW) for age in ages] == [60, 300, 300, 3600]


def test_a_ranking_reaches_back_two_weeks_and_then_every_function_is_read_by_its_name() -> None:
    metrics = Clockwork()
    recent = PastMetrics(metrics, moment=NOW - timedelta(days=13), now=NOW, names=lambda: ("a", "b"))
    recent.read([QUERY], start=NOW - timedelta(days=13, hours=3), end=NOW - timedelta(days=13), ranking=BY_CONCURRENCY)
    old = NOW - timedelta(days=20)
    past = PastMetrics(metrics, moment=old, now=NOW, names=lambda: ("a", "b"))
    for ranking in (BY_CONCURRENCY, BY_THROTTLES):
        answer = past.read([], start=old - timedelta(hours=3), end=old, ranking=ranking)
        assert sorted(row.label for row in answer.ranking) == ["a", "b"]
    assert [ranking for _, _, _, ranking in metrics.asked] == [BY_CONCURRENCY, None, None]
