"""How did metrics run over time? CloudWatch's GetMetricData, asked in as few calls as it takes.

A missing datapoint stays a gap. Knows nothing of what a metric means.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from unthrottle.adapters.access import Access
from unthrottle.errors import NotAllowed, TryAgain
from unthrottle.evidence.series import Series
from unthrottle.ports import MetricQuery, MetricsAnswer, Ranked

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef, MetricDataResultTypeDef

LARGEST_CALL = 500
"""CloudWatch API, GetMetricData: at most 500 queries a call, of which one may be a Metrics Insights query."""

MOST_PAGES = 1000
_RANKING = "unthrottle_ranking"


class AwsMetrics:
    """The `Metrics` port."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def read(
        self,
        queries: Sequence[MetricQuery],
        *,
        start: datetime,
        end: datetime,
        period_s: int = 60,
        ranking: str | None = None,
    ) -> MetricsAnswer:
        """Read series over [start, end), both rounded down to the period; at least one period.

        `ranking` rides along in the first call. Raises TryAgain, NotAllowed, Refused; ValueError for a period that
        CloudWatch does not keep or ids that collide: programming errors.
        """
        if period_s <= 0 or period_s % 60:
            raise ValueError(f"The period is {period_s} s; a multiple of 60 is kept by CloudWatch.")
        if len({query.id for query in queries}) != len(queries) or any(query.id == _RANKING for query in queries):
            raise ValueError("Two metric queries have the same id.")
        first = _floor(start, period_s)
        window = _Window(first, max(_floor(end, period_s), first + timedelta(seconds=period_s)), period_s)
        pending: list[MetricDataQueryTypeDef] = [_query(query, period_s) for query in queries]
        if ranking is not None:
            pending.insert(0, {"Id": _RANKING, "Expression": ranking, "Period": period_s})
        for at in range(0, len(pending), LARGEST_CALL):
            self._ask(pending[at : at + LARGEST_CALL], window)
        return MetricsAnswer(
            series={query.id: window.series(query.id, None) for query in queries},
            ranking=tuple(
                Ranked(label=label, series=window.series(_RANKING, label)) for label in window.labels(_RANKING)
            ),
        )

    def _ask(self, queries: "Sequence[MetricDataQueryTypeDef]", window: "_Window") -> None:
        """Read one batch to its end: pages, and results AWS calls partial."""
        more: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            with self._access.use("cloudwatch", f"read {len(queries)} metrics") as cloudwatch:
                answer = cloudwatch.get_metric_data(
                    MetricDataQueries=queries,
                    StartTime=window.start,
                    EndTime=window.end,
                    ScanBy="TimestampAscending",
                    **more,
                )
            if "MetricDataResults" not in answer:  # botocore makes an empty answer of a body it cannot read (1.44)
                raise TryAgain(f"CloudWatch's answer to {len(queries)} metrics cannot be read. It is asked again.")
            for result in answer["MetricDataResults"]:
                window.take(result)
            token = answer.get("NextToken")
            if not token or token == more.get("NextToken"):
                break
            more = {"NextToken": token}
        unfinished = window.unfinished()
        if unfinished:
            raise TryAgain(f"CloudWatch gave only part of {', '.join(unfinished[:3])}. It is asked again.")


class _Window:
    """Collects the answer's datapoints by query and label, in the order the labels came."""

    def __init__(self, start: datetime, end: datetime, period_s: int) -> None:
        self.start, self.end, self._period_s = start, end, period_s
        self._count = int((end - start).total_seconds()) // period_s
        self._values: dict[tuple[str, str | None], list[float | None]] = {}
        self._status: dict[tuple[str, str | None], str] = {}

    def take(self, result: "MetricDataResultTypeDef") -> None:
        name = result.get("Id", "")
        key = (name, result.get("Label", "")) if name == _RANKING else (name, None)
        status = result.get("StatusCode", "Complete")
        if status == "Forbidden":
            raise NotAllowed(
                f"Could not read the metric {name}: CloudWatch said Forbidden. Nothing was changed. Give the Observer "
                f"role cloudwatch:GetMetricData.",
                code="Forbidden",
            )
        self._status[key] = status
        values = self._values.setdefault(key, [None] * self._count)
        for moment, value in zip(result.get("Timestamps", []), result.get("Values", []), strict=False):
            index = int((moment.astimezone(UTC) - self.start).total_seconds() // self._period_s)
            if 0 <= index < self._count:
                values[index] = float(value)

    def unfinished(self) -> list[str]:
        """Name the queries whose last word was not Complete.

        A ranking that stays partial has looked at as many metrics as CloudWatch looks at; asking again gives the same.
        """
        return [
            name
            for (name, _), status in self._status.items()
            if status == "InternalError" or (status == "PartialData" and name != _RANKING)
        ]

    def labels(self, name: str) -> list[str]:
        return [label for found, label in self._values if found == name and label is not None]

    def series(self, name: str, label: str | None) -> Series:
        values = self._values.get((name, label), [None] * self._count)
        return Series(start=self.start, period_s=self._period_s, values=tuple(values))


def _query(query: MetricQuery, period_s: int) -> "MetricDataQueryTypeDef":
    return {
        "Id": query.id,
        "MetricStat": {
            "Metric": {
                "Namespace": query.namespace,
                "MetricName": query.name,
                "Dimensions": [{"Name": name, "Value": value} for name, value in query.dimensions],
            },
            "Period": period_s,
            "Stat": query.stat,
        },
    }


def _floor(moment: datetime, period_s: int) -> datetime:
    seconds = int(moment.astimezone(UTC).timestamp())
    return datetime.fromtimestamp(seconds - seconds % period_s, UTC)
