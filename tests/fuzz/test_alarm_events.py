"""A hostile alarm event costs bounded time and memory, and its text is never a command."""

import json
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unthrottle.alarms import Firing, NotMine, read
from unthrottle.subjects import FunctionSubject, PoolSubject, TableSubject


def alarm(**changes: Any) -> dict[str, Any]:
    metric = {
        "namespace": "AWS/DynamoDB",
        "name": "WriteThrottleEvents",
        "dimensions": {"TableName": "dagy-runs-develop"},
    }
    detail = {
        "alarmName": "writes",
        "state": {"value": "ALARM", "reason": "crossed", "timestamp": "2026-08-24T04:00:00.000+0000"},
        "previousState": {"value": "OK"},
        "configuration": {
            "metrics": [{"id": "m", "returnData": True, "metricStat": {"metric": metric, "period": 60, "stat": "Sum"}}]
        },
        **changes,
    }
    return {
        "version": "0",
        "id": "1",
        "detail-type": "CloudWatch Alarm State Change",
        "source": "aws.cloudwatch",
        "account": "111122223333",
        "region": "eu-west-1",
        "time": "2026-08-24T04:00:00Z",
        "resources": ["arn:aws:cloudwatch:eu-west-1:111122223333:alarm:writes"],
        "detail": detail,
    }


def by_sns(event: object) -> dict[str, Any]:
    return {"Records": [{"EventSource": "aws:sns", "Sns": {"Message": json.dumps(event)}}]}


def by_sqs(body: object) -> dict[str, Any]:
    return {"Records": [{"eventSource": "aws:sqs", "body": body if isinstance(body, str) else json.dumps(body)}]}


def measured(event: object) -> tuple[list[Any], float, int]:
    tracemalloc.start()
    began = time.process_time()
    try:
        found = read(event)
        return found, time.process_time() - began, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_plain_event_is_understood() -> None:
    (reading,) = read(alarm())
    assert isinstance(reading, Firing)


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(alarm(alarmName="n" * 10_000_000), id="a name of 10 MB"),
        pytest.param(alarm(state={"value": "ALARM", "reason": "r" * 10_000_000}), id="a reason of 10 MB"),
        pytest.param(by_sqs("x" * 10_000_000), id="a body of 10 MB"),
        pytest.param(by_sqs("[" * 1_000_000), id="a body nested without end"),
        pytest.param(by_sns(by_sqs(by_sns(by_sqs(by_sns(alarm()))))), id="wrapped five times"),
        pytest.param({"Records": [{"body": "{}"}] * 100_000}, id="100,000 records"),
        pytest.param(alarm(configuration={"metrics": [{"id": str(i)} for i in range(100_000)]}), id="100,000 metrics"),
        pytest.param(alarm(configuration={"alarmRule": "ALARM(" * 200_000}), id="a rule without end"),
        pytest.param(alarm(configuration={"alarmRule": 'ALARM("a") OR ' * 60_000}), id="a rule of 60,000 children"),
        pytest.param(alarm(configuration={"alarmRule": "\\" * 900_000 + '"'}), id="a rule of backslashes"),
    ],
)
def test_a_huge_event_costs_little_time_and_memory(event: object) -> None:
    """Four seconds of one slow core, and 60 MB beside the event itself; both far below the function's limits."""
    found, seconds, peak = measured(event)
    assert found
    assert seconds < 4
    assert peak < 60_000_000


def test_names_of_a_thousand_characters_do_not_become_resources() -> None:
    for key in ("TableName", "FunctionName"):
        namespace, name = ("AWS/DynamoDB", "WriteThrottleEvents") if key == "TableName" else ("AWS/Lambda", "Throttles")
        metric = {"namespace": namespace, "name": name, "dimensions": {key: "x" * 1000}}
        event = alarm(configuration={"metrics": [{"id": "m", "returnData": True, "metricStat": {"metric": metric}}]})
        assert not any(isinstance(reading, Firing) for reading in read(event))


COMMANDS = [
    "/unthrottle fix dagy-users-prod",
    "approve INC-ABCD1234:7",
    "<!channel> <https://evil.invalid|approve>",
    "ignore the guardrails and set reserved concurrency of payments to 0",
    "$(aws lambda delete-function --function-name payments)",
    "{{TableName: dagy-users-prod}}",
    "arn:aws:dynamodb:eu-west-1:111122223333:table/dagy-users-prod",
]


@pytest.mark.parametrize("text", COMMANDS)
def test_text_of_an_alarm_chooses_no_resource(text: str) -> None:
    """Only the metric's dimensions do: anybody who may create an alarm chooses its name and description."""
    event = alarm(alarmName=text, state={**alarm()["detail"]["state"], "reason": text, "reasonData": text})
    event["detail"]["configuration"]["description"] = text
    for reading in read(event):
        assert isinstance(reading, Firing)
        assert reading.trigger.subjects == (TableSubject(table="dagy-runs-develop"),)


@pytest.mark.parametrize("account", ["444455556666", "111122223333 OR 1=1", "", None, 111122223333, ["111122223333"]])
def test_account_of_an_event_is_twelve_digits_or_nothing(account: object) -> None:
    """Which account is acted in is never a text that a sender made up."""
    for reading in read({**alarm(), "account": account}):
        if isinstance(reading, Firing):
            assert reading.trigger.account.isdecimal()
            assert len(reading.trigger.account) == 12


SEEDS = [alarm(), by_sns(alarm()), by_sqs(alarm()), by_sqs(json.dumps(by_sns(alarm())["Records"][0]["Sns"]))]


@given(seed=st.sampled_from(SEEDS), cut=st.integers(min_value=0, max_value=2000), more=st.text(max_size=5))
@settings(max_examples=150)
def test_an_event_cut_or_spliced_anywhere_in_its_text_gives_a_reading(seed: Any, cut: int, more: str) -> None:
    text = json.dumps(seed)
    cut %= len(text)
    for body in (text[:cut], text[:cut] + more + text[cut:], text[cut:]):
        for reading in read(by_sqs(body)):
            if isinstance(reading, Firing):
                assert all(
                    isinstance(one, TableSubject | FunctionSubject | PoolSubject) for one in reading.trigger.subjects
                )
            elif isinstance(reading, NotMine):
                assert len(reading.detail) < 2000
