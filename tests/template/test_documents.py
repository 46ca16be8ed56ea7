"""The documents for those who install and review it speak of what the templates really hold."""

import json
import re

import pytest

from sandbox.rehearsal.stack import Stack
from tests.template.resolved import ROOT, hub, member

DOCS = ROOT / "docs"


def _sids(file: str) -> set[str]:
    return set(re.findall(r"Sid: (\w+)", (ROOT / file).read_text()))


def test_every_statement_is_explained_and_no_explanation_is_left_over() -> None:
    explained = set(re.findall(r"^\| `([A-Z]\w+)`", (DOCS / "permissions.md").read_text(), re.MULTILINE))
    assert explained == _sids("template.yaml") | _sids("member.yaml")


@pytest.mark.parametrize("name", ["install", "permissions", "costs", "security", "runbook"])
def test_parameters_that_a_document_names_exist(name: str) -> None:
    known = Stack.parameter_names(ROOT / "template.yaml") | Stack.parameter_names(ROOT / "member.yaml")
    named = set(re.findall(r"`([A-Z][A-Za-z]+)=", (DOCS / f"{name}.md").read_text()))
    named |= set(re.findall(r"ParameterKey=(\w+)", (DOCS / f"{name}.md").read_text()))
    assert named <= known


@pytest.mark.parametrize("name", ["install", "permissions", "costs", "security", "runbook"])
def test_links_of_a_document_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", (DOCS / f"{name}.md").read_text())
    assert [link for link in links if not (DOCS / link).exists()] == []


def test_the_runbook_knows_every_alarm_about_the_bot() -> None:
    topic = "arn:aws:sns:eu-west-1:111122223333:on-call"
    alarms = hub(EscalationTopicArn=topic).alarms.values()
    about_the_bot = {alarm["AlarmName"].removeprefix("unthrottle-") for alarm in alarms if "AlarmActions" in alarm}
    told = set(re.findall(r"^\| `([a-z-]+)`", (DOCS / "runbook.md").read_text(), re.MULTILINE))
    assert told == about_the_bot
    assert all(alarm["AlarmActions"] == [topic] for alarm in alarms if "AlarmActions" in alarm)


def test_without_a_topic_there_is_no_alarm_that_would_tell_nobody() -> None:
    assert len(hub().alarms) == len(member().alarms) == 6


def test_silence_of_intake_or_sweep_is_an_alarm_by_itself() -> None:
    alarms = hub(EscalationTopicArn="arn:aws:sns:eu-west-1:111122223333:on-call").alarms
    for name in ("IntakeSilentAlarm", "SweepSilentAlarm"):
        assert alarms[name]["TreatMissingData"] == "breaching"


def test_the_heartbeat_comes_more_often_than_silence_is_noticed() -> None:
    resources = hub(EscalationTopicArn="arn:aws:sns:eu-west-1:111122223333:on-call").resources
    assert resources["IntakeFunctionHeartbeat"]["Properties"]["ScheduleExpression"] == "cron(0/10 * * * ? *)"
    alarm = resources["IntakeSilentAlarm"]["Properties"]
    assert alarm["Period"] * alarm["EvaluationPeriods"] >= 2 * 600


def test_the_dashboard_asks_for_log_lines_that_the_bot_writes() -> None:
    resources = hub(EscalationTopicArn="arn:aws:sns:eu-west-1:111122223333:on-call").resources
    board = json.loads(resources["Dashboard"]["Properties"]["DashboardBody"])
    queries = " ".join(widget["properties"].get("query", "") for widget in board["widgets"])
    asked = set(re.findall(r"'([a-z-]+\.[a-z-]+)'", queries))
    for name in ("OldestUnsentFilter", "StuckFilter"):
        asked |= set(re.findall(r'"([a-z]+\.[a-z-]+)"', resources[name]["Properties"]["FilterPattern"]))
    library = "\n".join(file.read_text() for file in (ROOT / "layers/unthrottle/unthrottle").rglob("*.py"))
    assert len(asked) >= 5
    assert {event for event in asked if f'"{event}"' not in library} == set()


def test_the_dashboard_can_be_left_out() -> None:
    assert "Dashboard" not in hub(HealthDashboard="false").resources
