"""Whatever comes in at a function's own entry costs bounded time and memory: 10 MB, nesting, long names, many of anything."""

import base64
import importlib.util
import json
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlencode

import pytest

from sandbox.memory_incidents import MemoryIncidents
from sandbox.slack_people import SlackPeople
from scripts.fuzz_intake import HOME, MEMBER, House
from tests.fuzz.test_alarm_events import alarm, by_sns, by_sqs
from tests.unit.fakes import ACCOUNT, NOW, REGION, FakeAccounts, FakeStarter, StillClock, observer
from unthrottle.entry.intake import Intake
from unthrottle.entry.slack import SlackDoor
from unthrottle.settings import Settings
from unthrottle.slack_front import sign

FUNCTIONS = Path(__file__).parents[2] / "functions"
SECRET = "a-signing-secret-for-tests"
PEOPLE = SlackPeople(secret=SECRET)
STAMP = str(int(NOW.timestamp()))
MOST_S, MOST_BYTES = 4.0, 120_000_000
"""Of one slow core, and beside the event itself; a function has 10 to 30 s and 256 MB or more."""


def handler(name: str, house: object) -> Any:
    """Load a function's own file and give its handler *house* in place of what it would make from the environment."""
    spec = importlib.util.spec_from_file_location(f"bounds_{name}", FUNCTIONS / name / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    setattr(module, f"_{name}", lambda: house)
    return module.handler


def measured(handle: Any, event: object) -> tuple[dict[str, Any], float, int]:
    tracemalloc.start()
    began = time.process_time()
    try:
        answer = handle(event, None)
        return answer, time.process_time() - began, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def watching(*metrics: dict[str, Any]) -> dict[str, Any]:
    return alarm(configuration={"metrics": list(metrics)})


def throttles(function: str, number: int = 0) -> dict[str, Any]:
    metric = {"namespace": "AWS/Lambda", "name": "Throttles", "dimensions": {"FunctionName": function}}
    return {"id": f"m{number}", "returnData": True, "metricStat": {"metric": metric, "period": 60, "stat": "Sum"}}


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(by_sqs("x" * 10_000_000), id="a body of 10 MB"),
        pytest.param(by_sqs(alarm(state={"value": "ALARM", "reason": "r" * 10_000_000})), id="a reason of 10 MB"),
        pytest.param(by_sqs("[" * 1_000_000), id="a body nested without end"),
        pytest.param(by_sqs('{"a":' * 200_000), id="objects nested without end"),
        pytest.param(by_sqs(by_sns(by_sqs(by_sns(by_sqs(alarm()))))), id="wrapped five times"),
        pytest.param({"Records": by_sqs(alarm())["Records"] * 1_000}, id="an alarm 1,000 times"),
        pytest.param({"Records": [{"body": "{}"}] * 20_000}, id="20,000 records"),
        pytest.param(watching(*(throttles(f"f{i}", i) for i in range(20_000))), id="20,000 functions"),
        pytest.param(watching(throttles("f" * 1000)), id="a function's name of 1,000 characters"),
        pytest.param(alarm(alarmName="n" * 1000), id="an alarm's name of 1,000 characters"),
        pytest.param(alarm(configuration={"alarmRule": 'ALARM("a") OR ' * 60_000}), id="a rule of 60,000 children"),
    ],
)
def test_the_intake_takes_any_event_in_bounded_time_and_memory(event: object) -> None:
    house = House()
    answer, seconds, peak = measured(handler("intake", Intake(cast("Any", house.wired()))), event)
    assert answer["alarms"]
    assert all(len(str(one)) < 20_000 for one in answer["alarms"])
    assert {account for account, _ in house.asked} <= {HOME, MEMBER}
    assert seconds < MOST_S
    assert peak < MOST_BYTES


def test_one_event_opens_one_incident_however_often_its_alarm_is_in_it() -> None:
    house = House()
    handle = handler("intake", Intake(cast("Any", house.wired())))
    handle({"Records": by_sqs(alarm())["Records"] * 500}, None)
    assert len(set(house.started)) == 1


def door() -> tuple[Any, FakeStarter]:
    incidents, starter, accounts = MemoryIncidents(), FakeStarter(), FakeAccounts(observer())
    secrets = {"signing_secret": SECRET}
    wired = SimpleNamespace(
        clock=StillClock(NOW),
        incidents=incidents,
        accounts=accounts,
        starter=starter,
        settings=Settings(operators=("U0OPS",), slack_channel="C0OPS"),
        deployment=SimpleNamespace(stack="prod", account=ACCOUNT, region=REGION, audit_function=""),
        secrets=SimpleNamespace(field=lambda _arn, name, default="": secrets.get(name, default)),
        slack_light=SimpleNamespace(members=lambda _: frozenset(), publish=lambda *_: None, reply=lambda *_: None),
    )
    return handler("slack", SlackDoor(cast("Any", wired))), starter


def signed(body: bytes) -> dict[str, Any]:
    return {
        "requestContext": {"http": {"method": "POST"}},
        "headers": {"x-slack-request-timestamp": STAMP, "x-slack-signature": sign(SECRET, STAMP, body)},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }


def typed(text: str, **more: str) -> bytes:
    fields = {"user_id": "U0OPS", "team_id": "T0", "channel_id": "C0OPS", "command": "/unthrottle", "text": text}
    return urlencode(fields | more).encode()


def clicked(**more: object) -> bytes:
    click = {"type": "block_actions", "user": {"id": "U0OPS"}, "actions": [{"action_id": "approve", "value": "x"}]}
    return urlencode({"payload": json.dumps({**click, **more})}).encode()


@pytest.mark.parametrize(
    ("body", "statuses"),
    [
        pytest.param(b"a" * 10_000_000, {400, 413}, id="10 MB"),
        pytest.param(b"payload=" + b"[" * 900_000, {400}, id="nested without end"),
        pytest.param(b"payload=" + b'{"a":' * 150_000, {400}, id="objects nested without end"),
        pytest.param(typed("fix " + "d" * 1000), {200}, id="a target of 1,000 characters"),
        pytest.param(typed("fix " + "d" * 900_000), {200}, id="a command of 900 kB"),
        pytest.param(typed("status " + "<" * 100_000), {200}, id="100,000 angle brackets"),
        pytest.param(typed("status", user_id="U" * 1000), {200}, id="a person of 1,000 characters"),
        pytest.param(typed("status") + b"&a=" * 50_000, {400}, id="50,000 fields"),
        pytest.param(clicked(user={"id": "U" * 1000}), {200}, id="a click of a person of 1,000 characters"),
        pytest.param(
            clicked(actions=[{"action_id": "approve", "value": "x"}] * 10_000), {200, 400}, id="10,000 clicks"
        ),
        pytest.param(
            clicked(actions=[{"action_id": "approve", "value": "INC-" * 1000}]), {200, 400}, id="a value of 4,000"
        ),
    ],
)
def test_the_front_door_answers_any_signed_request_in_bounded_time_and_memory(body: bytes, statuses: set[int]) -> None:
    handle, starter = door()
    answer, seconds, peak = measured(handle, signed(body))
    assert answer["statusCode"] in statuses
    assert len(json.dumps(answer)) < 20_000
    assert not starter.started
    assert not starter.answers
    assert seconds < MOST_S
    assert peak < MOST_BYTES


@pytest.mark.parametrize("body", ["A" * 10_000_000, "é" * 5_000_000, "[" * 1_000_000])
def test_the_front_door_turns_unsigned_junk_away_in_bounded_time_and_memory(body: str) -> None:
    handle, starter = door()
    answer, seconds, peak = measured(handle, {**signed(b""), "body": body})
    assert answer["statusCode"] in {400, 401, 413}
    assert not starter.started
    assert not starter.answers
    assert seconds < MOST_S
    assert peak < MOST_BYTES


def test_the_front_door_still_takes_a_plain_command() -> None:
    """Or nothing above would prove anything."""
    handle, _ = door()
    request: Any = PEOPLE.say("U0OPS", "/unthrottle status", NOW)
    assert handle(request, None)["statusCode"] == 200
