"""Whom do an alarm's metrics watch? Tables and functions by their dimensions, never by a name or a description.

Standard library only: it runs in the front door. Raises nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from unthrottle.alarm_readings import EARLY_METRICS, NotMine
from unthrottle.alarm_text import mapping, string
from unthrottle.subjects import FunctionSubject, PoolSubject, Subject, TableSubject

LAMBDA_METRICS = EARLY_METRICS | {"Throttles"}
DYNAMODB_METRICS = frozenset(
    {"ThrottledRequests"}
    | {
        f"{way}{cause}ThrottleEvents"
        for way in ("Read", "Write")
        for cause in ("", "ProvisionedThroughput", "KeyRangeThroughput", "MaxOnDemandThroughput", "AccountLimit")
    }
    | {"ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"}
)
_TABLE = re.compile(r"(?!\.+$)[a-zA-Z0-9_.-]{1,255}")
"""A table's or an index's name (DynamoDB guide, naming rules; one of less than three characters exists nowhere). CloudWatch's
dimensions hold names, never an ARN: taken as a name, the ARN of another account would be the table of that name here."""
_FUNCTION = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""A function's name (Lambda API, FunctionName without the forms of an ARN)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Who a list of alarm metrics is about. `account` is set where the metrics name one; `owners` are those named.

    `elsewhere` is the same for each further account: one alarm may add up metrics of several.
    """

    subjects: tuple[Subject, ...]
    metrics: tuple[str, ...]
    account: str | None = None
    owners: tuple[str, ...] = ()
    elsewhere: tuple["Found", ...] = ()


_SHOWN = 200
"""Characters of such a value that are shown: an ARN of a table with its index, whole."""


_SELECT = re.compile(
    r"^\s*SELECT\s+\w+\(\s*\"?(?P<metric>\w+)\"?\s*\)\s+FROM\s+(?:SCHEMA\(\s*)?\"?(?P<namespace>AWS/(?:Lambda|DynamoDB))\"?",
    re.IGNORECASE,
)


_OWNER = "AWS.AccountId"
"""How a query over the accounts a monitoring account sees names one of them (CloudWatch guide, cross-account queries)."""
_TERM = re.compile(r"(?:^|\bAND\b)\s*\"?([\w.]+)\"?\s*=\s*'((?:[^']|'')*)'", re.IGNORECASE)
_GROUPED = re.compile(r"\bGROUP\s+BY\b", re.IGNORECASE)
_WHERE = re.compile(r"\bWHERE\b(?P<terms>.*?)(?:\bGROUP\s+BY\b|\bORDER\s+BY\b|\bLIMIT\b|$)", re.IGNORECASE | re.DOTALL)


def _fixed(expression: str) -> dict[str, str]:
    """Name the dimensions a Metrics Insights query fixes: the equations of its WHERE, where only AND joins them.

    What it excludes (``!=``) names nothing (CloudWatch guide, Metrics Insights query components).
    """
    found = _WHERE.search(expression)
    if found is None or re.search(r"\bOR\b", re.sub(r"'[^']*'", "", found["terms"]), re.IGNORECASE):
        return {}
    terms = _TERM.findall(found["terms"].strip())
    return {name: value.replace("''", "'") for name, value in terms}


def subjects_of(metrics: list[object], attributes: Mapping[str, object]) -> Found | NotMine:
    """Name the resources a list of alarm metrics watches.

    `metrics` has the shape of an event's ``detail.configuration.metrics``; `attributes` are the contributor's, empty
    where there is none; an entry may carry attributes of its own. A query names what its WHERE fixes. A grouped query's
    parent names no table; its contributors do.
    """
    subjects: dict[str, dict[Subject, None]] = {}
    names: dict[str, dict[str, None]] = {}
    nameless = ""
    grouped = False
    for entry in metrics[:100]:
        item = mapping(entry)
        owner = string(item.get("accountId"))
        expression = string(item.get("expression"))[:4096]
        query = _SELECT.match(expression)
        dimensions: Mapping[str, object]
        if query is not None:
            namespace, name = query["namespace"], query["metric"]
            dimensions = {**_fixed(expression), **mapping(item.get("attributes")), **attributes}
            named = string(dimensions.get(_OWNER))
            owner = named if re.fullmatch(r"[0-9]{12}", named) else owner
            if namespace == "AWS/DynamoDB" and "TableName" not in dimensions:
                # Many tables at once: each speaks by its own event, where the query is grouped.
                grouped = grouped or (name in DYNAMODB_METRICS and _GROUPED.search(expression) is not None)
                continue
        else:
            metric = mapping(mapping(item.get("metricStat")).get("metric"))
            namespace, name = string(metric.get("namespace")), string(metric.get("name"))
            dimensions = mapping(metric.get("dimensions"))
        subject = _subject(namespace, name, dimensions)
        if isinstance(subject, _NoName):
            nameless = nameless or subject.words
            continue
        if subject is None or (isinstance(subject, PoolSubject) and namespace == "AWS/DynamoDB"):
            continue  # also a metric of DynamoDB without a dimension speaks of no table
        subjects.setdefault(owner, {})[subject] = None
        names.setdefault(owner, {})[name] = None
    if subjects:
        first, *others = [
            Found(
                subjects=tuple(subjects[owner]),
                metrics=tuple(names[owner]),
                account=owner or None,
                owners=(owner,) if owner else (),
            )
            for owner in sorted(subjects)  # the alarm's own account, which needs no name, comes first
        ]
        return replace(first, elsewhere=tuple(others))
    if grouped:
        return NotMine(reason="contributors-follow", detail="a grouped query; each table speaks by its own event")
    return NotMine(
        reason="other-metric",
        detail=nameless or "the alarm watches nothing that shows throttling in DynamoDB or Lambda",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoName:
    """A dimension's value that no resource can have as its name."""

    dimension: str
    value: str

    @property
    def words(self) -> str:
        return (
            f"the alarm's {self.dimension} is {self.value[:_SHOWN]!r}, and no table, index or function can have that name; "
            "CloudWatch's metrics have the plain name there, no ARN"
        )


def _subject(namespace: str, name: str, dimensions: Mapping[str, object]) -> Subject | _NoName | None:
    """Name the resource one metric is about; for a DynamoDB metric without a table the pool stands for "all"."""
    if namespace == "AWS/Lambda" and name in LAMBDA_METRICS:
        whole = string(dimensions.get("FunctionName") or dimensions.get("Resource"))
        function, *qualifier = whole.split(":")  # `Resource` may add an alias or a version (Lambda guide, metrics)
        if not whole:
            return PoolSubject()
        is_name = _FUNCTION.fullmatch(function) is not None and len(qualifier) <= 1
        return FunctionSubject(function=function) if is_name else _NoName(dimension="function", value=whole)
    if namespace == "AWS/DynamoDB" and name in DYNAMODB_METRICS:
        table, index = string(dimensions.get("TableName")), string(dimensions.get("GlobalSecondaryIndexName"))
        if not table:
            return PoolSubject() if not dimensions else None
        if _TABLE.fullmatch(table) is None:
            return _NoName(dimension="TableName", value=table)
        if index and _TABLE.fullmatch(index) is None:
            return _NoName(dimension="GlobalSecondaryIndexName", value=index)
        return TableSubject(table=table, index=index or None)
    return None
