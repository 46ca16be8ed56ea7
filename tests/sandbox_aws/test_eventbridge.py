from typing import Any

import pytest

from sandbox.aws.eventbridge import Bus, PatternError, matches

EVENT: dict[str, Any] = {
    "source": "aws.cloudwatch",
    "detail-type": "CloudWatch Alarm State Change",
    "resources": ["arn:aws:cloudwatch:eu-west-1:111122223333:alarm:dagy-runs"],
    "detail": {
        "alarmName": "dagy-runs",
        "drill": True,
        "count": 5,
        "empty": "",
        "nothing": None,
        "state": {"value": "ALARM"},
        "configuration": {
            "metrics": [
                {"id": "m1", "metricStat": {"metric": {"namespace": "AWS/Lambda", "name": "Throttles"}}},
                {"id": "m2", "metricStat": {"metric": {"namespace": "AWS/DynamoDB", "name": "Consumed"}}},
            ]
        },
    },
}


def metric(**wanted: Any) -> dict[str, Any]:
    return {"detail": {"configuration": {"metrics": {"metricStat": {"metric": wanted}}}}}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param({"source": ["aws.cloudwatch"]}, True, id="exact"),
        pytest.param({"source": ["aws.ec2", "aws.cloudwatch"]}, True, id="one of several"),
        pytest.param({"source": ["aws.cloudwatch"], "account": ["1"]}, False, id="all fields count"),
        pytest.param({"resources": [{"prefix": "arn:aws:cloudwatch:"}]}, True, id="an element of an array"),
        pytest.param({"detail": {"alarmName": [{"prefix": "dagy-"}]}}, True, id="prefix"),
        pytest.param({"detail": {"alarmName": [{"suffix": "-runs"}]}}, True, id="suffix"),
        pytest.param(
            {"detail": {"alarmName": [{"prefix": {"equals-ignore-case": "DAGY"}}]}}, True, id="prefix, any case"
        ),
        pytest.param({"detail": {"alarmName": [{"equals-ignore-case": "DAGY-RUNS"}]}}, True, id="any case"),
        pytest.param({"detail": {"alarmName": [{"wildcard": "d*-r*s"}]}}, True, id="wildcard"),
        pytest.param({"detail": {"alarmName": [{"wildcard": "d*x"}]}}, False, id="wildcard that does not fit"),
        pytest.param({"detail": {"alarmName": [{"anything-but": ["x", "y"]}]}}, True, id="anything-but"),
        pytest.param(
            {"detail": {"alarmName": [{"anything-but": {"prefix": "dagy-"}}]}}, False, id="anything-but prefix"
        ),
        pytest.param({"detail": {"missing": [{"anything-but": "x"}]}}, False, id="anything-but of nothing"),
        pytest.param({"detail": {"muteDetail": [{"exists": False}]}}, True, id="exists false"),
        pytest.param({"detail": {"alarmName": [{"exists": True}]}}, True, id="exists true"),
        pytest.param({"missing": {"deep": [{"exists": False}]}}, True, id="exists false, deep"),
        pytest.param({"detail": {"count": [{"numeric": [">", 4, "<=", 5]}]}}, True, id="numeric"),
        pytest.param({"detail": {"count": [{"numeric": ["<", 5]}]}}, False, id="numeric that does not fit"),
        pytest.param({"detail": {"drill": [1]}}, False, id="true is not 1"),
        pytest.param({"detail": {"empty": [None]}}, False, id="an empty text is not null"),
        pytest.param({"detail": {"nothing": [None]}}, True, id="null"),
        pytest.param({"$or": [{"source": ["x"]}, {"detail": {"count": [5]}}]}, True, id="or"),
        pytest.param({"$or": [{"source": ["x"]}, {"detail": {"count": [6]}}]}, False, id="neither"),
        pytest.param(metric(namespace=["AWS/Lambda"]), True, id="inside an array of objects"),
        pytest.param(metric(namespace=["AWS/Lambda"], name=["Throttles"]), True, id="two conditions on one element"),
        pytest.param(metric(namespace=["AWS/Lambda"], name=["Consumed"]), False, id="conditions on two elements"),
    ],
)
def test_patterns_match_as_eventbridge_matches(pattern: Any, expected: bool) -> None:
    assert matches(pattern, EVENT) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param({"source": "aws.cloudwatch"}, id="a text where a list belongs"),
        pytest.param({}, id="nothing"),
        pytest.param({"source": []}, id="an empty list"),
        pytest.param({"other": [{"foo": "x"}]}, id="an unknown operator"),
        pytest.param({"detail": {"count": [{"numeric": ["~", 1]}]}}, id="an unknown sign"),
        pytest.param({"source": [{"prefix": "a", "suffix": "b"}]}, id="two operators in one"),
        pytest.param({"$or": [{"source": ["x"]}]}, id="an or of one"),
    ],
)
def test_a_pattern_that_is_not_understood_is_an_error_even_if_nothing_would_match(pattern: Any) -> None:
    with pytest.raises(PatternError):
        matches(pattern, EVENT)
    with pytest.raises(PatternError):
        Bus([(pattern, "Intake")])


def test_the_bus_calls_the_target_of_every_rule_that_matches() -> None:
    bus = Bus(
        [({"source": ["aws.cloudwatch"]}, "Intake"), ({"source": ["x"]}, "Other"), ({"detail": {"count": [5]}}, "C")]
    )
    assert bus.put(EVENT) == ["Intake", "C"]
