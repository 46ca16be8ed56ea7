"""The sample events are what the stack's rules let through, and what Slack signs."""

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

EVENTS = Path(__file__).parents[2] / "events"
SECRET = b"unthrottle-sample-signing-secret"
ON_THE_BUS = ["single-metric", "metric-math", "metrics-insights", "contributor", "composite"]


def _load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return loaded


@pytest.mark.parametrize("kind", ON_THE_BUS)
def test_every_alarm_on_the_bus_is_let_through_by_exactly_one_rule(resources: dict[str, Any], kind: str) -> None:
    event = _load(f"alarm-{kind}")
    rules = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::Events::Rule"]
    patterns = [rule.get("EventPattern") for rule in rules if "EventBusName" not in rule]  # the hub's bus is another
    matching = [
        pattern
        for pattern in patterns
        if pattern
        and event["source"] in pattern["source"]
        and event["detail-type"] in pattern["detail-type"]
        and event["detail"]["state"]["value"] in pattern["detail"]["state"]["value"]
    ]
    assert len(matching) == 1


@pytest.mark.parametrize("name", ["metrics-insights", "contributor"])
def test_samples_of_our_own_alarms_carry_the_templates_query(resources: dict[str, Any], name: str) -> None:
    event = _load(f"alarm-{name}")
    alarm = {"metrics-insights": "TableWriteThrottlesAlarm", "contributor": "IndexWriteThrottlesAlarm"}[name]
    (sent,) = event["detail"]["configuration"]["metrics"]
    (declared,) = resources[alarm]["Properties"]["Metrics"]
    assert sent["expression"] == declared["Expression"]
    assert event["detail"]["configuration"]["description"] == resources[alarm]["Properties"]["AlarmDescription"]


@pytest.mark.parametrize("path", sorted(EVENTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_sample_is_of_our_own_account_and_is_explained(path: Path) -> None:
    text = path.read_text()
    assert "111122223333" in text
    assert "eu-west-1" in text
    assert f"`{path.name}`" in (EVENTS / "README.md").read_text()


@pytest.mark.parametrize("name", ["slack-slash-command", "slack-button"])
def test_slack_samples_are_signed_with_the_documented_secret_and_time(name: str) -> None:
    event = _load(name)
    body = base64.b64decode(event["body"])
    sent_at = event["headers"]["x-slack-request-timestamp"]
    assert sent_at == "1787546100"
    expected = "v0=" + hmac.new(SECRET, f"v0:{sent_at}:".encode() + body, hashlib.sha256).hexdigest()
    assert event["headers"]["x-slack-signature"] == expected
