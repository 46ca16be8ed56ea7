"""Every shape of alarm is read for what it says, and nothing that arrives makes the reader fail or grow without bound."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unthrottle.alarms import Firing, LookUp, Muted, NotMine, Reading, read, subjects_of
from unthrottle.subjects import FunctionSubject, PoolSubject, Subject, TableSubject, fingerprint, incident_id

EVENTS = Path(__file__).parents[2] / "events"
AT = "2026-08-24T04:33:09.123+0000"
SEEN_AT = datetime(2026, 8, 24, 4, 33, 9, 123000, tzinfo=UTC)
ACCOUNT, REGION = "444455556666", "us-east-1"
ARN = f"arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm:a"
TABLE = "dagy-runs-develop"
Dims = dict[str, str]


def metric(namespace: str, name: str, dimensions: Dims | None = None, **more: object) -> dict[str, object]:
    return {"metricStat": {"metric": {"namespace": namespace, "name": name, "dimensions": dimensions or {}}}, **more}


def writes(table: str = TABLE, **dimensions: str) -> dict[str, object]:
    return metric("AWS/DynamoDB", "WriteThrottleEvents", {"TableName": table, **dimensions})


def query(rest: str, metric_name: str = "WriteThrottleEvents", namespace: str = "AWS/DynamoDB") -> dict[str, object]:
    schema = "TableName" if namespace == "AWS/DynamoDB" else "FunctionName"
    return {"expression": f'SELECT SUM({metric_name}) FROM SCHEMA("{namespace}", {schema}) {rest}'}


def event(*metrics: object, value: str = "ALARM", kind: str = "State Change", **detail: object) -> dict[str, object]:
    """An EventBridge event of an alarm named `a`; without metrics it has no configuration at all."""
    return {
        "detail-type": f"CloudWatch Alarm {kind}",
        "source": "aws.cloudwatch",
        "account": ACCOUNT,
        "region": REGION,
        "resources": [ARN],
        "detail": {
            "alarmName": "a",
            "state": {"value": value, "reason": "because", "timestamp": AT},
            **({"configuration": {"metrics": list(metrics)}} if metrics else {}),
            **detail,
        },
    }


def direct(*metrics: object) -> dict[str, object]:
    return {
        "source": "aws.cloudwatch",
        "alarmArn": ARN,
        "accountId": ACCOUNT,
        "region": REGION,
        "alarmData": {
            "alarmName": "a",
            "state": {"value": "ALARM", "reason": "because", "timestamp": AT},
            "configuration": {"metrics": list(metrics)},
        },
    }


def notification(trigger: dict[str, object], **more: object) -> dict[str, object]:
    return {
        "AlarmName": "a",
        "AlarmArn": ARN,
        "AWSAccountId": ACCOUNT,
        "Region": "US East (N. Virginia)",
        "NewStateValue": "ALARM",
        "NewStateReason": "because",
        "StateChangeTime": AT,
        "Trigger": trigger,
        **more,
    }


SNS_TABLE = notification(
    {
        "MetricName": "WriteThrottleEvents",
        "Namespace": "AWS/DynamoDB",
        "Dimensions": [{"value": TABLE, "name": "TableName"}],
    }
)
SNS_MATH = notification(
    {
        "Metrics": [
            {"Id": "e", "Expression": "m1 + m2"},
            {
                "Id": "m1",
                "MetricStat": {
                    "Metric": {
                        "MetricName": "Throttles",
                        "Namespace": "AWS/Lambda",
                        "Dimensions": [{"name": "FunctionName", "value": "checkout"}],
                    }
                },
            },
        ]
    }
)


def by_sns(inner: object) -> dict[str, object]:
    return {"Records": [{"EventSource": "aws:sns", "Sns": {"Subject": None, "Message": json.dumps(inner)}}]}


def by_sqs(inner: object) -> dict[str, object]:
    return {"Records": [{"eventSource": "aws:sqs", "body": json.dumps(inner)}]}


def by_sns_and_sqs(inner: object) -> dict[str, object]:
    return by_sqs({"Type": "Notification", "Message": json.dumps(inner)})


def one(given_event: object) -> Reading:
    readings = read(given_event)
    assert len(readings) == 1
    return readings[0]


def firing(given_event: object) -> tuple[tuple[Subject, ...], tuple[str, ...]]:
    reading = one(given_event)
    assert isinstance(reading, Firing), reading
    return reading.trigger.subjects, reading.trigger.metrics


def reason_of(given_event: object) -> str:
    reading = one(given_event)
    assert isinstance(reading, NotMine), reading
    return reading.reason


QUERY = 'SELECT SUM(WriteThrottleEvents) FROM SCHEMA("AWS/DynamoDB", {}) GROUP BY {} ORDER BY SUM() DESC'
BY_TABLE = {"expression": QUERY.format("TableName", "TableName")}
BY_FUNCTION = {"expression": 'SELECT SUM(Throttles) FROM SCHEMA("AWS/Lambda", FunctionName) GROUP BY FunctionName'}


@pytest.mark.parametrize(
    ("given_event", "subjects", "metrics"),
    [
        pytest.param(event(writes()), (TableSubject(table=TABLE),), ("WriteThrottleEvents",), id="a table"),
        pytest.param(
            event(writes(GlobalSecondaryIndexName="by-status")),
            (TableSubject(table=TABLE, index="by-status"),),
            ("WriteThrottleEvents",),
            id="an index",
        ),
        pytest.param(
            event(metric("AWS/DynamoDB", "ThrottledRequests", {"TableName": TABLE, "Operation": "PutItem"})),
            (TableSubject(table=TABLE),),
            ("ThrottledRequests",),
            id="a table by operation",
        ),
        pytest.param(
            event(metric("AWS/Lambda", "Throttles", {"FunctionName": "checkout"})),
            (FunctionSubject(function="checkout"),),
            ("Throttles",),
            id="a function",
        ),
        pytest.param(
            event(metric("AWS/Lambda", "Throttles", {"Resource": "checkout:live"})),
            (FunctionSubject(function="checkout"),),
            ("Throttles",),
            id="an alias stands for its function",
        ),
        pytest.param(
            event(metric("AWS/Lambda", "ConcurrentExecutions")),
            (PoolSubject(),),
            ("ConcurrentExecutions",),
            id="the whole account",
        ),
        pytest.param(
            event(
                {"expression": "m1+m2", "returnData": True},
                writes(),
                metric("AWS/DynamoDB", "ReadThrottleEvents", {"TableName": TABLE}),
            ),
            (TableSubject(table=TABLE),),
            ("WriteThrottleEvents", "ReadThrottleEvents"),
            id="metric math over one table",
        ),
        pytest.param(
            event(metric("AWS/EC2", "CPUUtilization", {"InstanceId": "i-1"}), writes()),
            (TableSubject(table=TABLE),),
            ("WriteThrottleEvents",),
            id="metric math with something else beside it",
        ),
        pytest.param(event(BY_FUNCTION), (PoolSubject(),), ("Throttles",), id="a query over all functions"),
        pytest.param(
            event(
                BY_TABLE,
                kind="Contributor State Change",
                alarmContributor={"id": "c1", "attributes": {"TableName": TABLE}},
            ),
            (TableSubject(table=TABLE),),
            ("WriteThrottleEvents",),
            id="a contributor",
        ),
        pytest.param(direct(writes()), (TableSubject(table=TABLE),), ("WriteThrottleEvents",), id="direct to Lambda"),
        pytest.param(SNS_TABLE, (TableSubject(table=TABLE),), ("WriteThrottleEvents",), id="an SNS body"),
        pytest.param(SNS_MATH, (FunctionSubject(function="checkout"),), ("Throttles",), id="SNS metric math"),
        pytest.param(by_sns(SNS_TABLE), (TableSubject(table=TABLE),), ("WriteThrottleEvents",), id="in SNS"),
        pytest.param(by_sqs(SNS_TABLE), (TableSubject(table=TABLE),), ("WriteThrottleEvents",), id="in SQS, raw"),
        pytest.param(
            by_sns_and_sqs(event(writes())),
            (TableSubject(table=TABLE),),
            ("WriteThrottleEvents",),
            id="EventBridge in SNS in SQS",
        ),
        pytest.param(
            event(writes("dagy-flows-develop"), alarmName="dagy-runs-develop is throttled"),
            (TableSubject(table="dagy-flows-develop"),),
            ("WriteThrottleEvents",),
            id="a name that says another table",
        ),
        pytest.param(
            event(writes(), previousState={"value": "ALARM"}),
            (TableSubject(table=TABLE),),
            ("WriteThrottleEvents",),
            id="told again while in alarm",
        ),
    ],
)
def test_an_alarm_is_about_what_its_dimensions_name(
    given_event: object, subjects: tuple[Subject, ...], metrics: tuple[str, ...]
) -> None:
    """Dimensions choose the resource; names and descriptions never do."""
    assert firing(given_event) == (subjects, metrics)


@pytest.mark.parametrize(
    ("watched", "subject"),
    [
        pytest.param(query("WHERE TableName = 'runs'"), TableSubject(table="runs"), id="a table"),
        pytest.param(query("where  \"TableName\"='runs' ORDER BY SUM() DESC"), TableSubject(table="runs"), id="quoted"),
        pytest.param(
            query("WHERE TableName = 'runs' AND GlobalSecondaryIndexName = 'by-day' GROUP BY TableName"),
            TableSubject(table="runs", index="by-day"),
            id="an index",
        ),
        pytest.param(
            query("WHERE FunctionName = 'checkout'", "Throttles", "AWS/Lambda"),
            FunctionSubject(function="checkout"),
            id="a function",
        ),
        pytest.param(
            query("WHERE FunctionName != 'checkout'", "Throttles", "AWS/Lambda"), PoolSubject(), id="all but a function"
        ),
        pytest.param(query("", "Throttles", "AWS/Lambda"), PoolSubject(), id="all functions"),
        pytest.param(query("WHERE TableName != 'runs'"), "other-metric", id="all tables but one: it names none"),
        pytest.param(query(""), "other-metric", id="all tables added up: it names none, and none follows"),
        pytest.param(query("WHERE TableName = 'a' OR TableName = 'b'"), "other-metric", id="one of two"),
        pytest.param(query("WHERE TableName = 'a''b'"), "other-metric", id="no name of a table"),
        pytest.param(query("WHERE TableName = 'runs"), "other-metric", id="a quote that is never closed"),
        pytest.param(query("WHERE Operation = 'PutItem' GROUP BY TableName"), "contributors-follow", id="grouped"),
    ],
)
def test_a_query_is_about_what_its_where_fixes(watched: dict[str, object], subject: Subject | str) -> None:
    """Equations joined by AND name a resource; exclusions, and what nobody can tell, name none."""
    found = subjects_of([watched], {})
    assert (found.reason if isinstance(found, NotMine) else found.subjects[0]) == subject


def test_a_contributor_may_name_the_account_its_table_is_in() -> None:
    """A monitoring account may group by account as well."""
    watched = query("GROUP BY AWS.AccountId, TableName")
    found = subjects_of([watched], {"AWS.AccountId": "777788889999", "TableName": "runs"})
    assert not isinstance(found, NotMine)
    assert (found.subjects, found.account) == ((TableSubject(table="runs"),), "777788889999")


def test_a_grouped_query_of_another_metric_promises_no_contributor() -> None:
    """Errors of callers are no throttling."""
    found = subjects_of([query("GROUP BY TableName", "UserErrors")], {})
    assert isinstance(found, NotMine)
    assert found.reason == "other-metric"


def test_a_contributor_goes_before_what_the_query_fixes() -> None:
    """A query over a table's indexes gives the table, its contributor the index."""
    watched = query("WHERE TableName = 'runs' GROUP BY GlobalSecondaryIndexName")
    found = subjects_of([watched], {"GlobalSecondaryIndexName": "by-day"})
    assert not isinstance(found, NotMine)
    assert found.subjects == (TableSubject(table="runs", index="by-day"),)


@pytest.mark.parametrize(
    ("given_event", "reason"),
    [
        pytest.param(event(writes(), value="OK"), "not-in-alarm", id="it ended"),
        pytest.param(event(writes(), value="INSUFFICIENT_DATA"), "not-in-alarm", id="no data"),
        pytest.param(event(writes(), kind="Configuration Change"), "configuration-change", id="it was edited"),
        pytest.param(event(metric("AWS/EC2", "CPUUtilization", {"InstanceId": "i-1"})), "other-metric", id="EC2"),
        pytest.param(event(metric("AWS/Lambda", "Errors", {"FunctionName": "f"})), "other-metric", id="Lambda errors"),
        pytest.param(event(metric("aws/lambda", "Throttles")), "other-metric", id="a namespace of another spelling"),
        pytest.param(
            event(metric("AWS/DynamoDB", "WriteThrottleEvents")), "other-metric", id="a DynamoDB metric of no table"
        ),
        pytest.param(
            event(metric("AWS/DynamoDB", "ThrottledRequests", {"Operation": "PutItem"})),
            "other-metric",
            id="an operation of no table",
        ),
        pytest.param(event(writes("dagy runs; drop")), "other-metric", id="a table no table can be called"),
        pytest.param(event(BY_TABLE), "contributors-follow", id="a query over all tables"),
        pytest.param(
            event(writes(), alarmName="TargetTracking-table/x-AlarmHigh-1"), "autoscaling-owned", id="autoscaling's own"
        ),
        pytest.param({**event(writes()), "account": "not-a-number"}, "malformed", id="no account"),
        pytest.param({**event(writes()), "region": "US East (N. Virginia)"}, "malformed", id="no Region"),
        pytest.param(event(writes(), value=""), "not-in-alarm", id="an empty state"),
        pytest.param(event(writes(), alarmName=""), "malformed", id="no name"),
        pytest.param(event(writes(), alarmName=["a"]), "malformed", id="a name that is a list"),
        pytest.param(event(writes(), state={"value": "ALARM"}), "malformed", id="no time"),
        pytest.param(event(writes(), state="ALARM"), "malformed", id="a state that is a word"),
        pytest.param(
            event(writes(), state={"value": "ALARM", "timestamp": "0001-01-01T00:00:00+14:00"}),
            "malformed",
            id="a time before all time",
        ),
        pytest.param(
            event(writes(), state={"value": "ALARM", "timestamp": "9999-12-31T23:59:59-14:00"}),
            "malformed",
            id="a time after all time",
        ),
        pytest.param(
            {**event(writes()), "detail-type": ["CloudWatch Alarm State Change"]}, "not-an-alarm", id="a list"
        ),
        pytest.param({**event(writes()), "detail-type": {"a": 1}}, "not-an-alarm", id="an object for the type"),
        pytest.param({"detail-type": "Scheduled Event", "detail": {}}, "not-an-alarm", id="a schedule"),
        pytest.param({"Records": []}, "not-an-alarm", id="no records"),
        pytest.param(by_sns("hello"), "not-an-alarm", id="plain text"),
        pytest.param(
            by_sns({"requestContext": {"condition": "ZeroReservedConcurrency"}}), "not-an-alarm", id="failure"
        ),
        pytest.param({}, "not-an-alarm", id="nothing"),
        pytest.param(None, "not-an-alarm", id="null"),
        pytest.param("ALARM", "not-an-alarm", id="a word"),
    ],
)
def test_what_is_not_mine_says_why(given_event: object, reason: str) -> None:
    """An event that asks for nothing is recorded with one of a closed list of reasons, never with a traceback."""
    assert reason_of(given_event) == reason


def test_a_mute_rule_or_a_suppressor_means_look_but_do_not_act() -> None:
    """Somebody silenced the alarm on purpose, so it is read as muted, with who did it."""
    arn = "arn:aws:cloudwatch:us-east-1:444455556666:alarm-mute-rule:deploy-window"
    muted = one(event(writes(), muteDetail={"mutedByArn": arn}))
    state = {"value": "ALARM", "timestamp": AT, "actionsSuppressedBy": "WaitPeriod"}
    suppressed = one(event(writes(), state=state))

    assert isinstance(muted, Muted)
    assert muted.by == "mute rule deploy-window"
    assert isinstance(suppressed, Muted)
    assert suppressed.by == "composite alarm suppression (WaitPeriod)"


def test_an_event_without_configuration_asks_for_the_definition() -> None:
    """What the event does not carry is looked up by the alarm's name, not guessed."""
    reading = one(event())

    assert isinstance(reading, LookUp)
    assert (reading.names, reading.account, reading.state_at) == (("a",), ACCOUNT, SEEN_AT)


def test_a_contributor_without_configuration_keeps_what_it_says_of_itself() -> None:
    """The definition of a grouped alarm names no table; only the contributor's attributes do."""
    contributor = {"id": "c1", "attributes": {"TableName": TABLE}}
    reading = one(event(kind="Contributor State Change", alarmContributor=contributor))

    assert isinstance(reading, LookUp)
    assert (reading.contributor, dict(reading.attributes)) == ("c1", {"TableName": TABLE})


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ('ALARM("first one") OR ALARM(second)', ("first one", "second")),
        ("ALARM('single quoted') AND NOT OK(x)", ("single quoted",)),
        (f'ALARM("arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm:by-arn")', ("by-arn",)),
        ("TRUE", ("a",)),
        ('ALARM("' + "x" * 300 + '")', ("a",)),
    ],
    ids=["quoted and bare", "single quotes", "an ARN", "no child", "a name no alarm can have"],
)
def test_a_composite_alarm_names_its_children(rule: str, names: tuple[str, ...]) -> None:
    """A composite has no metric, so the alarms of its rule are looked up; without any, it is itself."""
    reading = one(event(configuration={"alarmRule": rule}))

    assert isinstance(reading, LookUp)
    assert reading.names == names


def test_a_composites_children_in_alarm_come_first() -> None:
    """The reason data says which child fired; that one is asked first."""
    fired = {"triggeringAlarms": [{"arn": ARN[:-1] + "second", "state": {"value": "ALARM"}}]}
    state = {"value": "ALARM", "timestamp": AT, "reasonData": json.dumps(fired)}
    reading = one(event(configuration={"alarmRule": "ALARM(first) OR ALARM(second)"}, state=state))

    assert isinstance(reading, LookUp)
    assert reading.names == ("second", "first")


@pytest.mark.parametrize(
    ("metrics", "account"),
    [
        pytest.param([writes()], None, id="of this account"),
        pytest.param([{**writes(), "accountId": "777788889999"}], "777788889999", id="of one other account"),
        pytest.param([{**writes(), "accountId": "777788889999"}, writes("other")], None, id="of two accounts"),
        pytest.param(
            [writes(), metric("AWS/EC2", "CPUUtilization", accountId="777788889999")], None, id="beside another's EC2"
        ),
        pytest.param(
            [query(f"WHERE TableName = '{TABLE}' AND AWS.AccountId = '777788889999'")],
            "777788889999",
            id="of the one account a query is about",
        ),
        pytest.param(
            [query(f"WHERE TableName = '{TABLE}' AND AWS.AccountId = 'LOCAL'")],
            None,
            id="of the account itself, by a word",
        ),
    ],
)
def test_a_metric_of_another_account_is_about_that_account(metrics: list[object], account: str | None) -> None:
    """A monitoring account's alarm is about the account its metric belongs to; an unrelated metric says nothing."""
    found = subjects_of(metrics, {})

    assert not isinstance(found, NotMine)
    assert found.account == account


def test_every_way_of_delivery_gives_the_same_key() -> None:
    """The same state change by EventBridge, directly or through SNS is recognised as one."""
    keys = set()
    for given_event in (event(writes()), direct(writes()), SNS_TABLE, by_sns(event(writes())), by_sqs(SNS_TABLE)):
        reading = one(given_event)
        assert isinstance(reading, Firing)
        keys.add(reading.trigger.dedupe_key)

    assert keys == {f"{ARN}||{SEEN_AT.isoformat()}"}


def test_another_contributor_or_another_time_is_another_change() -> None:
    """A second table entering the alarm, or the alarm firing again, is not a repeated delivery."""

    def key(contributor: str, at: str) -> str:
        reading = one(
            event(
                BY_TABLE,
                kind="Contributor State Change",
                alarmContributor={"id": contributor, "attributes": {"TableName": TABLE}},
                state={"value": "ALARM", "timestamp": at},
            )
        )
        assert isinstance(reading, Firing)
        return reading.trigger.dedupe_key

    assert len({key("c1", AT), key("c2", AT), key("c1", AT.replace(":09", ":10"))}) == 3


@pytest.mark.parametrize(
    ("names", "is_early"),
    [
        (["ConcurrentExecutions"], True),
        (["ConcurrentExecutions", "ClaimedAccountConcurrency"], True),
        (["Throttles"], False),
        (["ConcurrentExecutions", "Throttles"], False),
    ],
    ids=["use", "two kinds of use", "throttles", "both"],
)
def test_only_an_alarm_on_use_alone_is_an_early_warning(names: list[str], is_early: bool) -> None:
    """Where throttles are watched too, somebody may suffer already."""
    reading = one(event(*(metric("AWS/Lambda", name) for name in names)))

    assert isinstance(reading, Firing)
    assert reading.trigger.is_early_warning is is_early


EXPECTED: dict[str, Callable[[Reading], bool]] = {
    "alarm-single-metric.json": lambda reading: (
        isinstance(reading, Firing) and reading.trigger.subjects == (PoolSubject(),)
    ),
    "alarm-metric-math.json": lambda reading: (
        isinstance(reading, Firing) and isinstance(reading.trigger.subjects[0], FunctionSubject)
    ),
    "alarm-metrics-insights.json": lambda reading: (
        isinstance(reading, NotMine) and reading.reason == "contributors-follow"
    ),
    "alarm-contributor.json": lambda reading: (
        isinstance(reading, Firing) and reading.trigger.subjects == (TableSubject(table=TABLE, index="by-status"),)
    ),
    "alarm-composite.json": lambda reading: isinstance(reading, LookUp) and len(reading.names) == 2,
    "alarm-direct.json": lambda reading: (
        isinstance(reading, Firing) and isinstance(reading.trigger.subjects[0], TableSubject)
    ),
}


def _is_no_alarm(reading: Reading) -> bool:
    return isinstance(reading, NotMine) and reading.reason == "not-an-alarm"


@pytest.mark.parametrize("path", sorted(EVENTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_sample_event_is_read_as_what_it_is(path: Path) -> None:
    """The samples are the shapes people try by hand; those that are no alarm are not mine."""
    reading = one(json.loads(path.read_text(encoding="utf-8")))

    assert EXPECTED.get(path.name, _is_no_alarm)(reading), reading


def test_texts_of_any_length_are_cut() -> None:
    """A reason of 120 kB or a name of a megabyte must still fit into a record and a message."""
    state = {"value": "ALARM", "timestamp": AT, "reason": "r" * 120_000}
    reading = one(event(writes(), alarmName="n" * 1_000_000, state=state))

    assert isinstance(reading, Firing)
    assert (len(reading.trigger.reason), len(reading.trigger.alarm_name)) == (500, 255)


def test_half_a_character_in_a_name_can_still_be_written_down() -> None:
    """JSON allows half a surrogate pair; UTF-8 does not, so such a name would otherwise stop the intake."""
    half = json.loads('"\\ud83d"')
    given_event = {**event(writes(), alarmName=f"runs {half}"), "resources": [ARN + half]}
    reading = one(given_event)

    assert isinstance(reading, Firing)
    trigger = reading.trigger
    assert trigger.alarm_name == "runs ?"
    assert incident_id(fingerprint(ACCOUNT, REGION, trigger.subjects[0]), trigger.dedupe_key).startswith("INC-")


def test_the_number_of_readings_is_bounded_and_says_so() -> None:
    """A batch is read whole; records within records without end are not, and what was left out is told."""
    assert len(read({"Records": [{"body": json.dumps(SNS_TABLE)}] * 1000})) == 1000

    deep: object = {"Records": [{"body": "x"}] * 200}
    for _ in range(2):
        deep = {"Records": [deep] * 200}
    readings = read(deep)

    assert len(readings) == 1001
    assert isinstance(readings[-1], NotMine)
    assert readings[-1].reason == "too-many"


def test_a_deeply_nested_text_is_read_as_text() -> None:
    """A message of a hundred thousand brackets is no alarm, and no error."""
    assert reason_of(by_sns_and_sqs({"a": 1}) | {"Records": [{"body": "[" * 100_000}]}) == "not-an-alarm"


def test_nesting_deeper_than_sns_in_sqs_is_not_followed() -> None:
    """Nobody wraps an alarm four times; what does is left alone."""
    wrapped: object = event(writes())
    for _ in range(5):
        wrapped = by_sqs(wrapped)

    assert reason_of(wrapped) == "not-an-alarm"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([AT, "ALARM", ARN]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
PLACES: list[tuple[str, ...]] = [
    ("detail-type",),
    ("account",),
    ("region",),
    ("resources",),
    ("detail",),
    ("detail", "alarmName"),
    ("detail", "state"),
    ("detail", "state", "value"),
    ("detail", "state", "timestamp"),
    ("detail", "state", "reasonData"),
    ("detail", "state", "actionsSuppressedBy"),
    ("detail", "configuration"),
    ("detail", "configuration", "metrics"),
    ("detail", "configuration", "alarmRule"),
    ("detail", "alarmContributor"),
    ("detail", "muteDetail"),
]


@given(place=st.sampled_from(PLACES), value=JSON)
@settings(max_examples=300, deadline=None)
def test_any_value_in_any_place_of_an_event_gives_a_reading(place: tuple[str, ...], value: object) -> None:
    """Whatever stands where something else should, the answer is a reading whose key can be hashed, never an error."""
    given_event: dict[str, object] = json.loads(json.dumps(event(writes(), alarmContributor={"id": "c"})))
    holder = given_event
    for name in place[:-1]:
        inner = holder[name]
        assert isinstance(inner, dict)
        holder = inner
    holder[place[-1]] = value

    for reading in read(given_event):
        if isinstance(reading, Firing | Muted):
            incident_id("mark", reading.trigger.dedupe_key)
        elif isinstance(reading, LookUp):
            incident_id("mark", reading.dedupe_key)


@given(JSON | st.dictionaries(st.sampled_from(["Records", "Message", "Type", "alarmData", "AlarmName"]), JSON))
@settings(max_examples=300, deadline=None)
def test_anything_at_all_gives_at_least_one_reading(given_event: object) -> None:
    """The front door never fails on what a stranger sends."""
    assert read(given_event)
