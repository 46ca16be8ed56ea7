"""Read an alarm event, of any shape CloudWatch sends, into what it says: firing, muted, needs a look-up, or not mine.

Standard library only: it runs in the front door, before anything heavy is imported. It decides nothing about causes, and
it never raises for bad input: whatever cannot be understood is `NotMine` with a reason. Names, reasons and tags in an
event are untrusted text; only dimensions choose a resource (an alarm's name may say anything).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice

from unthrottle.subjects import FunctionSubject, PoolSubject, Subject, TableSubject

STATE_CHANGE = "CloudWatch Alarm State Change"
CONTRIBUTOR_CHANGE = "CloudWatch Alarm Contributor State Change"
CONFIGURATION_CHANGE = "CloudWatch Alarm Configuration Change"

LAMBDA_METRICS = frozenset(
    {"Throttles", "ConcurrentExecutions", "UnreservedConcurrentExecutions", "ClaimedAccountConcurrency"}
)
EARLY_METRICS = LAMBDA_METRICS - {"Throttles"}
DYNAMODB_METRICS = frozenset(
    {"ThrottledRequests"}
    | {
        f"{way}{cause}ThrottleEvents"
        for way in ("Read", "Write")
        for cause in ("", "ProvisionedThroughput", "KeyRangeThroughput", "MaxOnDemandThroughput", "AccountLimit")
    }
    | {"ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"}
)

_REASON_LENGTH = 500
_NAME_LENGTH = 255
"""CloudWatch's longest alarm name; what is longer is not one, and is cut (CloudWatch API, PutMetricAlarm)."""
_MOST_EVENTS = 1000
"""Alarms taken from one invocation: far more than SNS (1) or a queue's batch carry; what is nested deeper is an attack."""
_NAME = re.compile(r"[a-zA-Z0-9_.:/-]{1,255}")
_LARGEST_TEXT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """One state change that asks for a look: who it is about and how to recognise it again.

    `dedupe_key` is alarm ARN + contributor + state time: the same for every delivery of one change, by any path.
    """

    dedupe_key: str
    alarm_name: str
    account: str
    region: str
    state_at: datetime
    subjects: tuple[Subject, ...]
    metrics: tuple[str, ...]
    reason: str = ""
    contributor: str | None = None

    @property
    def is_early_warning(self) -> bool:
        """Say whether the alarm watches use rather than throttling, so that nobody may be throttled yet."""
        return bool(self.metrics) and all(name in EARLY_METRICS for name in self.metrics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """The alarm entered ALARM and is about something Unthrottle heals."""

    trigger: Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Muted:
    """A person muted or suppressed this alarm on purpose: recorded, reported, not acted on."""

    trigger: Trigger
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """The event names no metric (a composite alarm, or no configuration): these alarms' definitions tell."""

    dedupe_key: str
    alarm_name: str
    names: tuple[str, ...]
    account: str
    region: str
    state_at: datetime
    reason: str = ""
    muted_by: str | None = None
    contributor: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    """What a contributor's event says of itself, such as its table; the definition alone does not name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMine:
    """Nothing to do, and why. `reason` is one of a closed list of ids."""

    reason: str
    detail: str
    alarm_name: str | None = None


Reading = Firing | Muted | LookUp | NotMine


@dataclass(frozen=True, slots=True, kw_only=True)
class _Envelope:
    """The parts of an alarm event that all shapes share."""

    name: str
    arn: str
    account: str
    region: str
    state: Mapping[str, object]
    configuration: Mapping[str, object]
    contributor: Mapping[str, object] = field(default_factory=dict)
    muted_by: str | None = None


def read(event: object) -> list[Reading]:
    """Read every alarm an invocation carries: EventBridge, direct alarm-to-Lambda, or wrapped by SNS and SQS.

    Always returns at least one reading and raises nothing.
    """
    inner = list(islice(_unwrap(event), _MOST_EVENTS + 1))
    readings = [_read_one(one) for one in inner[:_MOST_EVENTS]]
    if len(inner) > _MOST_EVENTS:
        readings.append(NotMine(reason="too-many", detail=f"the event carries more than {_MOST_EVENTS} records"))
    return readings or [NotMine(reason="not-an-alarm", detail="the event carries no records")]


def _unwrap(event: object, depth: int = 0) -> Iterator[object]:
    """Yield the events inside SNS and SQS records; anything else as it is."""
    if not isinstance(event, Mapping) or depth > 3:
        yield event
        return
    records = event.get("Records")
    if isinstance(records, list):
        for record in records:
            yield from _unwrap(_inside(record), depth + 1)
        return
    if event.get("Type") == "Notification" and isinstance(event.get("Message"), str):
        yield from _unwrap(_json(event["Message"]), depth + 1)
        return
    yield event


def _inside(record: object) -> object:
    if not isinstance(record, Mapping):
        return record
    sns = record.get("Sns")
    if isinstance(sns, Mapping):
        return _json(sns.get("Message"))
    return _json(record["body"]) if "body" in record else record


def _json(text: object) -> object:
    if not isinstance(text, str) or len(text) > _LARGEST_TEXT:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _read_one(event: object) -> Reading:
    if not isinstance(event, Mapping):
        return NotMine(reason="not-an-alarm", detail="the event is not an object")
    if event.get("detail-type") == CONFIGURATION_CHANGE:
        return NotMine(reason="configuration-change", detail="an alarm was created, changed or deleted")
    envelope = _envelope(event)
    if envelope is None:
        return NotMine(reason="not-an-alarm", detail="the event is not a CloudWatch alarm state change")
    return _judge(envelope)


def _envelope(event: Mapping[str, object]) -> _Envelope | None:
    detail = event.get("detail")
    if _string(event.get("detail-type")) in {STATE_CHANGE, CONTRIBUTOR_CHANGE} and isinstance(detail, Mapping):
        resources = event.get("resources")
        arn = resources[0] if isinstance(resources, list) and resources else ""
        return _Envelope(
            name=_string(detail.get("alarmName"))[:_NAME_LENGTH],
            arn=_string(arn),
            account=_string(event.get("account")),
            region=_string(event.get("region")),
            state=_mapping(detail.get("state")),
            configuration=_mapping(detail.get("configuration")),
            contributor=_mapping(detail.get("alarmContributor")),
            muted_by=_muted_by(detail),
        )
    data = event.get("alarmData")
    if isinstance(data, Mapping):
        return _Envelope(
            name=_string(data.get("alarmName"))[:_NAME_LENGTH],
            arn=_string(event.get("alarmArn")),
            account=_string(event.get("accountId")),
            region=_string(event.get("region")),
            state=_mapping(data.get("state")),
            configuration=_mapping(data.get("configuration")),
            contributor=_mapping(data.get("alarmContributor")),
            muted_by=_muted_by(data),
        )
    if "AlarmName" in event and "NewStateValue" in event:
        return _from_notification(event)
    return None


def _from_notification(message: Mapping[str, object]) -> _Envelope:
    """Translate an SNS alarm notification (PascalCase, dimensions as a list) to the common parts."""
    arn = _string(message.get("AlarmArn"))
    parts = arn.split(":")
    trigger = _mapping(message.get("Trigger"))
    entries = trigger.get("Metrics")
    metrics = (
        [_metric_from_notification(_mapping(entry)) for entry in entries]
        if isinstance(entries, list)
        else [{"metricStat": {"metric": _metric_of(trigger)}}]
        if "MetricName" in trigger
        else []
    )
    return _Envelope(
        name=_string(message.get("AlarmName"))[:_NAME_LENGTH],
        arn=arn,
        account=_string(message.get("AWSAccountId")),
        region=parts[3] if len(parts) > 6 else _string(message.get("Region")),
        state={
            "value": message.get("NewStateValue"),
            "reason": message.get("NewStateReason"),
            "timestamp": message.get("StateChangeTime"),
        },
        configuration={"metrics": metrics} if metrics else {},
    )


def _metric_from_notification(entry: Mapping[str, object]) -> dict[str, object]:
    if "Expression" in entry:
        return {"expression": entry["Expression"]}
    stat = _mapping(entry.get("MetricStat"))
    return {"metricStat": {"metric": _metric_of(_mapping(stat.get("Metric")))}, "accountId": entry.get("AccountId")}


def _metric_of(metric: Mapping[str, object]) -> dict[str, object]:
    listed = metric.get("Dimensions")
    dimensions = {
        _string(entry.get("name") or entry.get("Name")): _string(entry.get("value") or entry.get("Value"))
        for entry in (listed if isinstance(listed, list) else [])
        if isinstance(entry, Mapping)
    }
    return {"namespace": metric.get("Namespace"), "name": metric.get("MetricName"), "dimensions": dimensions}


def _judge(envelope: _Envelope) -> Reading:
    def not_mine(reason: str, detail: str) -> NotMine:
        return NotMine(reason=reason, detail=detail, alarm_name=envelope.name[:_REASON_LENGTH] or None)

    state_at = _time(envelope.state.get("timestamp"))
    if not envelope.name or not isinstance(envelope.state.get("value"), str):
        return not_mine("malformed", "the alarm's name or state is missing")
    value = envelope.state["value"]
    if value != "ALARM":
        return not_mine("not-in-alarm", f"the alarm is now {_shown(value)}")
    if state_at is None:
        return not_mine("malformed", "the time of the state change is missing or not a time")
    if (
        re.fullmatch(r"[0-9]{12}", envelope.account) is None
        or re.fullmatch(r"[a-z0-9-]{5,30}", envelope.region) is None
    ):
        return not_mine("malformed", "the account id or the Region is missing or not one")
    if envelope.name.startswith("TargetTracking-"):
        return not_mine("autoscaling-owned", "the alarm belongs to Application Auto Scaling, which acts on it itself")
    contributor = _string(envelope.contributor.get("id")) or None
    attributes = _mapping(envelope.contributor.get("attributes"))
    key = "|".join((envelope.arn or envelope.name, contributor or "", state_at.isoformat()))
    reason = _shown(envelope.state.get("reason"))
    metrics = envelope.configuration.get("metrics")
    if not isinstance(metrics, list) or not metrics:
        names = _children(envelope)
        return LookUp(
            dedupe_key=key,
            alarm_name=envelope.name,
            names=names or (envelope.name,),
            account=envelope.account,
            region=envelope.region,
            state_at=state_at,
            reason=reason,
            muted_by=envelope.muted_by,
            contributor=contributor,
            attributes=tuple((_string(name), _string(value)) for name, value in islice(attributes.items(), 10)),
        )
    found = subjects_of(metrics, attributes)
    if isinstance(found, NotMine):
        return not_mine(found.reason, found.detail)
    trigger = Trigger(
        dedupe_key=key,
        alarm_name=envelope.name,
        account=found.account or envelope.account,
        region=envelope.region,
        state_at=state_at,
        subjects=found.subjects,
        metrics=found.metrics,
        reason=reason,
        contributor=contributor,
    )
    if envelope.muted_by is not None:
        return Muted(trigger=trigger, by=envelope.muted_by)
    return Firing(trigger=trigger)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Who a list of alarm metrics is about. `account` is set where the metrics are another account's."""

    subjects: tuple[Subject, ...]
    metrics: tuple[str, ...]
    account: str | None = None


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
    where there is none. A query names what its WHERE fixes. A grouped query's parent names no table; its contributors do.
    """
    subjects: dict[Subject, None] = {}
    names: dict[str, None] = {}
    accounts: set[str] = set()
    grouped = False
    for entry in metrics[:100]:
        item = _mapping(entry)
        owner = _string(item.get("accountId"))
        expression = _string(item.get("expression"))[:4096]
        query = _SELECT.match(expression)
        dimensions: Mapping[str, object]
        if query is not None:
            namespace, name = query["namespace"], query["metric"]
            dimensions = {**_fixed(expression), **attributes}
            named = _string(dimensions.get(_OWNER))
            owner = named if re.fullmatch(r"[0-9]{12}", named) else owner
            if namespace == "AWS/DynamoDB" and "TableName" not in dimensions:
                # Many tables at once: each speaks by its own event, where the query is grouped.
                grouped = grouped or (name in DYNAMODB_METRICS and _GROUPED.search(expression) is not None)
                continue
        else:
            metric = _mapping(_mapping(item.get("metricStat")).get("metric"))
            namespace, name = _string(metric.get("namespace")), _string(metric.get("name"))
            dimensions = _mapping(metric.get("dimensions"))
        subject = _subject(namespace, name, dimensions)
        if subject is None or (isinstance(subject, PoolSubject) and namespace == "AWS/DynamoDB"):
            continue  # also a metric of DynamoDB without a dimension speaks of no table
        subjects[subject] = None
        names[name] = None
        accounts.add(owner)
    if subjects:
        return Found(
            subjects=tuple(subjects),
            metrics=tuple(names),
            account=(accounts.pop() or None) if len(accounts) == 1 else None,
        )
    if grouped:
        return NotMine(reason="contributors-follow", detail="a grouped query; each table speaks by its own event")
    return NotMine(
        reason="other-metric", detail="the alarm watches nothing that shows throttling in DynamoDB or Lambda"
    )


def _subject(namespace: str, name: str, dimensions: Mapping[str, object]) -> Subject | None:
    """Name the resource one metric is about; for a DynamoDB metric without a table the pool stands for "all"."""
    if namespace == "AWS/Lambda" and name in LAMBDA_METRICS:
        function = _string(dimensions.get("FunctionName") or dimensions.get("Resource")).split(":")[0]
        if not function:
            return PoolSubject()
        return FunctionSubject(function=function) if _NAME.fullmatch(function) else None
    if namespace == "AWS/DynamoDB" and name in DYNAMODB_METRICS:
        table, index = _string(dimensions.get("TableName")), _string(dimensions.get("GlobalSecondaryIndexName"))
        if not table:
            return PoolSubject() if not dimensions else None
        if _NAME.fullmatch(table) is None or (index and _NAME.fullmatch(index) is None):
            return None
        return TableSubject(table=table, index=index or None)
    return None


def _children(envelope: _Envelope) -> tuple[str, ...]:
    """Name the alarms a composite's rule watches; those the event says are in ALARM first."""
    names: dict[str, None] = {}
    data = _mapping(_json(envelope.state.get("reasonData")))
    listed = data.get("triggeringAlarms")
    for entry in listed if isinstance(listed, list) else []:
        arn = _string(_mapping(entry).get("arn"))
        if _mapping(_mapping(entry).get("state")).get("value") == "ALARM" and ":alarm:" in arn:
            names[arn.split(":alarm:", 1)[1]] = None
    rule = _string(envelope.configuration.get("alarmRule"))[:10240]
    for found in re.findall(r"ALARM\(\s*(?:\"([^\"]+)\"|'([^']+)'|([^\"')\s]+))\s*\)", rule):
        name = next(part for part in found if part)
        names[name.split(":alarm:", 1)[-1]] = None
    return tuple(name for name in names if len(name) <= _NAME_LENGTH)[:100]


def _muted_by(detail: Mapping[str, object]) -> str | None:
    mute = detail.get("muteDetail")
    if isinstance(mute, Mapping):
        return "mute rule " + (_shown(mute.get("mutedByArn")).rsplit(":", 1)[-1] or "(unnamed)")
    suppressed = _mapping(detail.get("state")).get("actionsSuppressedBy")
    return f"composite alarm suppression ({_shown(suppressed)})" if isinstance(suppressed, str) and suppressed else None


def _string(value: object) -> str:
    """Return a text that can be written down anywhere: half a surrogate pair, which JSON allows, becomes "?"."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _shown(value: object) -> str:
    text = _string(value)
    return text if len(text) <= _REASON_LENGTH else text[: _REASON_LENGTH - 3] + "..."


def _time(value: object) -> datetime | None:
    text = re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", _string(value)[:40])
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # the year 1 or 9999, moved to UTC, is out of range
        return None
