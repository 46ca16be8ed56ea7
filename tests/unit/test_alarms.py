"""Every shape of alarm is read for what it says, and the same change is recognised on every path."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.alarm_events import (
    ACCOUNT,
    ARN,
    AT,
    BY_FUNCTION,
    BY_TABLE,
    REGION,
    SEEN_AT,
    SNS_MATH,
    SNS_TABLE,
    TABLE,
    by_sns,
    by_sns_and_sqs,
    by_sqs,
    direct,
    event,
    firing,
    metric,
    one,
    reason_of,
    writes,
)
from unthrottle.alarms import Firing, LookUp, Muted, NotMine, Reading
from unthrottle.subjects import FunctionSubject, PoolSubject, Subject, TableSubject

EVENTS = Path(__file__).parents[2] / "events"


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
