"""The documents for those who install and review it speak of what the templates really hold."""

import json
import re
import shlex
from collections.abc import Iterator

import botocore.session
import pytest
from botocore import xform_name
from botocore.model import StructureShape

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
    filters = [one["Properties"] for one in resources.values() if one["Type"] == "AWS::Logs::MetricFilter"]
    assert filters
    for one in filters:
        asked |= set(re.findall(r'"([a-z]+\.[a-z-]+)"', one["FilterPattern"]))
    library = "\n".join(file.read_text() for file in (ROOT / "layers/unthrottle/unthrottle").rglob("*.py"))
    assert len(asked) >= 5
    assert {event for event in asked if f'"{event}"' not in library} == set()


def test_the_dashboard_can_be_left_out() -> None:
    assert "Dashboard" not in hub(HealthDashboard="false").resources


def _commands() -> Iterator[tuple[str, str, dict[str, list[str]]]]:
    """The AWS CLI commands of the installation guide: service, operation, options with their values."""
    for block in re.findall(r"```\n(.*?)```", (DOCS / "install.md").read_text(), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["aws"]:
                given: dict[str, list[str]] = {}
                for word in words[3:]:
                    if word.startswith("--"):
                        given[word] = []
                    else:
                        given[list(given)[-1]].append(word)
                yield words[1], words[2], given


COMMANDS = {operation: (service, given) for service, operation, given in _commands()}


@pytest.mark.parametrize("operation", COMMANDS)
def test_commands_of_the_installation_guide_are_ones_that_aws_takes(operation: str) -> None:
    """By botocore's own model: names of options, of what is in them, and all that is required."""
    service, given = COMMANDS[operation]
    model = botocore.session.get_session().get_service_model(service)
    (name,) = [one for one in model.operation_names if xform_name(one, "-") == operation]
    shape = model.operation_model(name).input_shape
    assert isinstance(shape, StructureShape)
    options = {f"--{xform_name(member, '-')}": member for member in shape.members} | {"--template-body": "TemplateBody"}
    assert set(given) <= set(options)
    assert {options[option] for option in given} >= set(shape.required_members)
    for option, values in given.items():
        inner = shape.members[options[option]]
        if isinstance(inner, StructureShape):
            keys = [part.split("=")[0] for part in values[0].split(",") if "=" in part]
            assert set(keys) <= set(inner.members), option


def test_the_guide_deploys_members_to_the_end_and_leaves_the_hub_out() -> None:
    assert set(COMMANDS) == {"create-stack-set", "create-stack-instances"}
    _, given = COMMANDS["create-stack-instances"]
    (targets,) = given["--deployment-targets"]
    assert {"OrganizationalUnitIds", "AccountFilterType", "Accounts"} == set(re.findall(r"(\w+)=", targets))
    (hub_account,) = re.findall(r"HubAccount,ParameterValue=(\d+)", str(COMMANDS["create-stack-set"][1]))
    assert f"AccountFilterType=DIFFERENCE,Accounts={hub_account}" in targets
    assert given["--regions"][0] in str(COMMANDS["create-stack-set"][1]["--parameters"])  # RolesRegion is among them


@pytest.mark.parametrize(
    "told",
    [
        "must be one of them: add it to `MemberAccounts`",
        "you may be paged once for nothing",
        "`ConcurrencyAlarmThreshold` must come down, too, to 8 for a limit of 10 and to 40 for one of 50",
    ],
    ids=["accounts that join later", "the first minutes", "a small account"],
)
def test_the_guide_warns_of_what_a_first_installation_stumbles_over(told: str) -> None:
    assert told in " ".join((DOCS / "install.md").read_text().split())
