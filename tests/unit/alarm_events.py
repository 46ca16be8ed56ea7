"""Alarm events of every shape, told in few words."""

import json
from datetime import UTC, datetime

from unthrottle.alarms import Firing, NotMine, Reading, read
from unthrottle.subjects import Subject

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
