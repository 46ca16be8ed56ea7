"""What arrives in a storm: alarms of many tables, junk at the front door, and what people genuinely send.

Pure but for the clock of a genuine request's signature. Knows nothing of what is answered.
"""

import base64
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sandbox.slack_people import SlackPeople

ACCOUNT, REGION = "111122223333", "eu-west-1"
TABLES = 60
SIGNING_SECRET = "load-signing-secret"  # noqa: S105  opens nothing but this
BOT_TOKEN = "xoxb-load"  # noqa: S105  the same
PEOPLE = SlackPeople(secret=SIGNING_SECRET)
STRANGERS = SlackPeople(secret="another-secret")  # noqa: S106  the same


def alarm(number: int, start: datetime) -> dict[str, Any]:
    """Make the *number*-th state change of the storm: an event of EventBridge, of one table after the other."""
    at = (start + timedelta(seconds=number * 0.06)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "+0000"
    name, table = f"writes-{number % TABLES:03d}", f"dagy-runs-{number % TABLES:03d}"
    metric = {"namespace": "AWS/DynamoDB", "name": "WriteThrottleEvents", "dimensions": {"TableName": table}}
    return {
        "version": "0",
        "id": f"00000000-0000-4000-8000-{number:012d}",
        "detail-type": "CloudWatch Alarm State Change",
        "source": "aws.cloudwatch",
        "account": ACCOUNT,
        "region": REGION,
        "time": at[:19] + "Z",
        "resources": [f"arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm:{name}"],
        "detail": {
            "alarmName": name,
            "state": {"value": "ALARM", "reason": "Threshold Crossed", "timestamp": at},
            "previousState": {"value": "OK"},
            "configuration": {
                "metrics": [
                    {"id": "m", "returnData": True, "metricStat": {"metric": metric, "period": 60, "stat": "Sum"}}
                ]
            },
        },
    }


def genuine(number: int, response_url: str) -> dict[str, Any]:
    """Make what an operator sends: the open incidents, the help, or a press of a button of an incident long gone."""
    now = datetime.now(UTC)
    match number % 3:
        case 0:
            return dict(PEOPLE.say("U0OPS", "/unthrottle status", now, response_url))
        case 1:
            return dict(PEOPLE.say("U0OPS", "/unthrottle help", now, response_url))
        case _:
            click = PEOPLE.click(
                "U0OPS", "approve", "INC-ABCD1234:7", now, message_ts=f"{number}.2", response_url=response_url
            )
            return dict(click)


def junk(number: int) -> dict[str, Any]:
    """Make one of the ways in which a stranger knocks; they take turns."""
    return _WAYS[number % len(_WAYS)](datetime.now(UTC))


def _raw(body: str, **headers: str) -> dict[str, Any]:
    return {
        "version": "2.0",
        "routeKey": "POST /slack",
        "rawPath": "/slack",
        "headers": {"content-type": "application/x-www-form-urlencoded", **headers},
        "requestContext": {"http": {"method": "POST", "path": "/slack"}},
        "body": body,
        "isBase64Encoded": False,
    }


def _signed(now: datetime, body: str, age_s: int = 0) -> dict[str, Any]:
    stamp = str(int(now.timestamp()) - age_s)
    return _raw(body, **{"x-slack-request-timestamp": stamp, "x-slack-signature": "v0=" + "0" * 64})


def _encoded(now: datetime) -> dict[str, Any]:
    event = _signed(now, base64.b64encode(b"\xff\x00" * 2000).decode())
    return {**event, "isBase64Encoded": True}


_WAYS: Sequence[Callable[[datetime], dict[str, Any]]] = (
    lambda _: _raw("command=%2Funthrottle&text=status"),
    lambda now: _signed(now, "command=%2Funthrottle&text=pause"),
    lambda now: dict(STRANGERS.say("U0OPS", "/unthrottle pause", now)),
    lambda now: dict(PEOPLE.say("U0OPS", "/unthrottle status", now - timedelta(hours=1))),
    lambda now: _signed(now, "payload=" + "%5B" * 30_000),
    lambda now: _signed(now, "a" * 200_000),
    lambda _: _raw("\x00" * 500, **{"x-slack-signature": "v0=", "x-slack-request-timestamp": "9" * 500}),
    _encoded,
    lambda _: {"headers": {}, "body": None, "requestContext": {"http": {"method": "POST"}}},
)
