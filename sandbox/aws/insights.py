"""What does a Metrics Insights query return?

A small part of the language is understood and everything else is refused, never answered with nothing:
`SELECT FN(metric) FROM "NS" | SCHEMA("NS", Dim, ..) [WHERE Dim = 'x' [AND ..]] [GROUP BY Dim, ..]
[ORDER BY FN() [ASC|DESC]] [LIMIT n]`.

CloudWatch user guide, "Metrics Insights query language" and "... limits": SCHEMA means exactly these dimensions; FROM
without it mixes every dimension set of the namespace and puts metrics without the grouping dimension into a group
`Other`; 10,000 metrics are processed (the first found, without an error), 500 series returned; the label of a series is
the value it is grouped by. Unconfirmed: several values in a label are joined by a blank.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np

from sandbox.aws.cloudwatch_store import Buckets, Floats, MetricStore

Function = Literal["SUM", "MAX", "MIN", "AVG", "COUNT"]
MOST_METRICS = 10_000
MOST_SERIES = 500
OTHER = "Other"

_STATISTIC = {"SUM": "Sum", "MAX": "Maximum", "MIN": "Minimum", "AVG": "Average", "COUNT": "SampleCount"}
_TOKEN = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|(!=|[(),=])|([A-Za-z0-9_./:#-]+))""")
_KEYWORDS = frozenset(["SELECT", "FROM", "SCHEMA", "WHERE", "AND", "GROUP", "ORDER", "BY", "LIMIT", "ASC", "DESC"])


class QueryError(ValueError):
    """The query is not in the part of the language that is understood; the text says what was wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """`Dim = 'x'` or `Dim != 'x'`."""

    dimension: str
    value: str
    equal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightsQuery:
    """A parsed query. `schema` None: FROM without SCHEMA; an empty one: the metric without dimensions."""

    function: Function
    metric: str
    namespace: str
    schema: frozenset[str] | None
    conditions: tuple[Condition, ...]
    group_by: tuple[str, ...]
    order_by: Function | None
    descending: bool
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One returned time series; NaN is a gap. `group` holds the values of the GROUP BY dimensions."""

    label: str
    group: tuple[tuple[str, str], ...]
    values: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightsResult:
    """Series in the order asked for. `partial`: more metrics matched than are processed, or more series than returned.

    GetMetricData does not say so; an alarm does (EvaluationState PARTIAL_DATA).
    """

    times: list[datetime]
    series: list[Series]
    matched: int
    partial: bool


def parse(text: str) -> InsightsQuery:
    """Read a query. Raises QueryError for anything outside the part understood."""
    return _Parser(text).query()


def run(
    query: InsightsQuery, store: MetricStore, *, period_s: int, start: datetime, end: datetime, now: datetime
) -> InsightsResult:
    """Evaluate a query over a window. Series without a single datapoint are not returned."""
    rows = [row for row in store.rows_named(query.namespace, query.metric) if _matches(query, store, row)]
    buckets = store.read(rows, period_s, start, end, now)
    reporting = buckets.count.any(axis=1)
    found = np.flatnonzero(reporting)
    scanned = found[:MOST_METRICS]
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for position in scanned:
        groups.setdefault(_group(query, store, rows[position]), []).append(int(position))
    if not groups:
        return InsightsResult(times=buckets.times(), series=[], matched=0, partial=False)
    merged = _merge(buckets, list(groups.values()))
    values = merged.statistic(_STATISTIC[query.function])
    labels = [" ".join(value for _, value in group) or f"{query.function}({query.metric})" for group in groups]
    order = _order(query, merged, labels)
    keys = list(groups)
    series = [Series(label=labels[i], group=keys[i], values=values[i]) for i in order[: query.limit]]
    return InsightsResult(
        times=buckets.times(),
        series=series,
        matched=len(found),
        partial=len(found) > MOST_METRICS or len(groups) > MOST_SERIES,
    )


def _matches(query: InsightsQuery, store: MetricStore, row: int) -> bool:
    dimensions = store.metrics[row].dimensions
    if query.schema is not None and (
        len(dimensions) != len(query.schema) or any(name not in query.schema for name, _ in dimensions)
    ):
        return False
    if not query.conditions:
        return True
    present = dict(dimensions)
    return all((present.get(c.dimension) == c.value) is c.equal for c in query.conditions)


def _group(query: InsightsQuery, store: MetricStore, row: int) -> tuple[tuple[str, str], ...]:
    present = dict(store.metrics[row].dimensions)
    return tuple((name, present.get(name, OTHER)) for name in query.group_by)


def _merge(buckets: Buckets, groups: Sequence[Sequence[int]]) -> Buckets:
    """Combine the metrics of each group into one series per group."""
    order = np.concatenate([np.asarray(group) for group in groups])
    cuts = np.cumsum([0, *(len(group) for group in groups[:-1])])
    return Buckets(
        start=buckets.start,
        period_s=buckets.period_s,
        total=np.add.reduceat(buckets.total[order], cuts, axis=0),
        minimum=np.minimum.reduceat(buckets.minimum[order], cuts, axis=0),
        maximum=np.maximum.reduceat(buckets.maximum[order], cuts, axis=0),
        count=np.add.reduceat(buckets.count[order], cuts, axis=0),
    )


def _order(query: InsightsQuery, merged: Buckets, labels: Sequence[str]) -> list[int]:
    """Positions in the order asked for, by the whole range; equal ones by label, so that runs repeat."""
    if query.order_by is None:
        return list(range(len(labels)))
    whole = {
        "SUM": merged.total.sum(axis=1),
        "MAX": merged.maximum.max(axis=1),
        "MIN": merged.minimum.min(axis=1),
        "COUNT": merged.count.sum(axis=1),
        "AVG": merged.total.sum(axis=1) / merged.count.sum(axis=1),
    }[query.order_by]
    sign = -1 if query.descending else 1
    return sorted(range(len(labels)), key=lambda i: (sign * whole[i], labels[i]))


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._tokens, at = text, list[tuple[str, str]](), 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._error(f"unexpected text at {text[at:].strip()[:20]!r}")
            identifier, literal, mark, word = found.groups()
            if identifier is not None:
                self._tokens.append(("name", identifier))
            elif literal is not None:
                self._tokens.append(("value", literal))
            elif mark is not None:
                self._tokens.append(("mark", mark))
            elif word.upper() in _KEYWORDS:
                self._tokens.append(("keyword", word.upper()))
            else:
                self._tokens.append(("name", word))
            at = found.end()

    def query(self) -> InsightsQuery:
        self._expect("keyword", "SELECT")
        function, metric = self._function(), self._call_argument()
        self._expect("keyword", "FROM")
        namespace, schema = self._source()
        conditions = tuple(self._conditions()) if self._take("keyword", "WHERE") else ()
        group_by = tuple(self._names()) if self._take("keyword", "GROUP", "BY") else ()
        order_by, descending = self._ordering()
        limit = self._limit()
        if self._tokens:
            raise self._error(f"unexpected {self._tokens[0][1]!r}")
        if schema is not None:
            for name in (*group_by, *(c.dimension for c in conditions)):
                if name not in schema:
                    raise self._error(f"the dimension {name} is not in SCHEMA")
        return InsightsQuery(
            function=function,
            metric=metric,
            namespace=namespace,
            schema=schema,
            conditions=conditions,
            group_by=group_by,
            order_by=order_by,
            descending=descending,
            limit=limit,
        )

    def _source(self) -> tuple[str, frozenset[str] | None]:
        if not self._take("keyword", "SCHEMA"):
            return self._name("a namespace"), None
        self._expect("mark", "(")
        namespace, dimensions = self._name("a namespace"), []
        while self._take("mark", ","):
            dimensions.append(self._name("a dimension"))
        self._expect("mark", ")")
        return namespace, frozenset(dimensions)

    def _conditions(self) -> list[Condition]:
        conditions = []
        while True:
            dimension, equal = self._name("a dimension"), self._take("mark", "=")
            if not equal:
                self._expect("mark", "!=")
            kind, value = self._next("a value in single quotes")
            if kind != "value":
                raise self._error(f"{value!r} is not a value in single quotes")
            conditions.append(Condition(dimension=dimension, value=value, equal=equal))
            if not self._take("keyword", "AND"):
                return conditions

    def _names(self) -> list[str]:
        names = [self._name("a dimension")]
        while self._take("mark", ","):
            names.append(self._name("a dimension"))
        return names

    def _ordering(self) -> tuple[Function | None, bool]:
        if not self._take("keyword", "ORDER", "BY"):
            return None, False
        function = self._function()
        self._expect("mark", "(")
        self._expect("mark", ")")
        if self._take("keyword", "DESC"):
            return function, True
        self._take("keyword", "ASC")
        return function, False

    def _limit(self) -> int:
        if not self._take("keyword", "LIMIT"):
            return MOST_SERIES
        number = self._name("a number")
        if not number.isdigit() or not 1 <= int(number) <= MOST_SERIES:
            raise self._error(f"LIMIT {number} is not between 1 and {MOST_SERIES}")
        return int(number)

    def _function(self) -> Function:
        name = self._name("a function").upper()
        for known in ("SUM", "MAX", "MIN", "AVG", "COUNT"):
            if name == known:
                return known
        raise self._error(f"{name} is not one of {', '.join(_STATISTIC)}")

    def _call_argument(self) -> str:
        self._expect("mark", "(")
        metric = self._name("a metric")
        self._expect("mark", ")")
        return metric

    def _name(self, what: str) -> str:
        kind, text = self._next(what)
        if kind != "name":
            raise self._error(f"{text!r} stands where {what} is wanted")
        return text

    def _next(self, what: str) -> tuple[str, str]:
        if not self._tokens:
            raise self._error(f"it ends where {what} is wanted")
        return self._tokens.pop(0)

    def _take(self, kind: str, *texts: str) -> bool:
        if self._tokens[: len(texts)] != [(kind, text) for text in texts]:
            return False
        del self._tokens[: len(texts)]
        return True

    def _expect(self, kind: str, text: str) -> None:
        if not self._take(kind, text):
            raise self._error(f"{text} is missing before {self._tokens[0][1] if self._tokens else 'the end'!r}")

    def _error(self, problem: str) -> QueryError:
        return QueryError(f"Error in expression {self._text!r}: {problem}.")
