"""`unthrottle doctor` finds each way in which a deployment can be set up wrongly, and says what to do."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest

from cli.checks.alarms import EARLY_WARNING
from cli.checks.alarms import RULES as LOOKED_FOR
from cli.main import run
from sandbox.aws.calls import Fault, Request, Respond
from sandbox.dagy import DagyStandIn, DagyState
from sandbox.slack.server import SlackStandIn
from tests.audit.world import NOW, REGION
from tests.cli.deployed import ALARM, RULES, STACK, Deployed, delete_role, deployment, make_role, sees_tags


@dataclass
class SetUp:
    """A deployment as it must be, with a Slack, a dagy, a topic and a secret, for a test to break one thing of."""

    deployed: Deployed
    slack: SlackStandIn
    dagy: DagyStandIn
    topic: str
    secret: str
    capsys: pytest.CaptureFixture[str]
    alarms: list[str]
    subscribed: dict[str, str]
    thresholds: dict[str, float]

    def parameter(self, name: str, value: str) -> None:
        rows = self.deployed.world.stacks[STACK]["Parameters"]
        rows[:] = [row for row in rows if row["ParameterKey"] != name]
        rows.append({"ParameterKey": name, "ParameterValue": value})

    def store(self, secret: str) -> None:
        boto3.client("secretsmanager", REGION).put_secret_value(SecretId=self.secret, SecretString=secret)

    def examined(self, code: int) -> dict[str, dict[str, Any]]:
        assert run(["doctor", "--stack", STACK, "--json"]) == code
        return {one["name"]: one for one in json.loads(self.capsys.readouterr().out)["checks"]}

    def wrong(self, code: int = 3) -> dict[str, tuple[str, str]]:
        checks = self.examined(code)
        assert not any("{" in one["text"] for one in checks.values())
        return {name: (one["state"], one["text"]) for name, one in checks.items() if one["state"] != "ok"}


@pytest.fixture
def sound(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[SetUp]:
    with deployment(monkeypatch) as deployed:
        clock: Callable[[], datetime] = lambda: datetime.now(UTC)  # noqa: E731
        with (
            SlackStandIn(start=NOW, now=clock) as slack,
            DagyStandIn(DagyState([]), start=NOW, now=clock) as dagy,
        ):
            monkeypatch.setenv("UNTHROTTLE_SLACK_API_URL", slack.base_url)
            _recovery(on=True)
            secrets = boto3.client("secretsmanager", REGION)
            fields = json.dumps({"bot_token": slack.token, "signing_secret": "not-a-secret"})
            secret = secrets.create_secret(Name="slack", SecretString=fields)["ARN"]
            dagy_secret = secrets.create_secret(Name="dagy", SecretString=dagy.token)["ARN"]
            sns = boto3.client("sns", REGION)
            topic = sns.create_topic(Name="pager")["TopicArn"]
            alarms, subscribed = [ALARM], {topic: "1"}
            thresholds: dict[str, float] = {}

            def described(request: Request) -> Respond | None:
                if request.call == "sns.GetTopicAttributes" and request.parameters["TopicArn"] in subscribed:
                    # moto counts no subscriptions
                    confirmed = subscribed[request.parameters["TopicArn"]]
                    return Respond(parsed={"Attributes": {"SubscriptionsConfirmed": confirmed}})
                if request.call != "cloudwatch.DescribeAlarms":
                    return None
                facts = {"Namespace": "AWS/Lambda", "MetricName": "Throttles"}
                rows = [{"AlarmName": name, **facts, "Threshold": thresholds.get(name, 0.0)} for name in alarms]
                return Respond(parsed={"MetricAlarms": rows, "CompositeAlarms": []})

            deployed.world.gate.handlers.insert(0, described)
            made = SetUp(
                deployed=deployed,
                slack=slack,
                dagy=dagy,
                topic=topic,
                secret=secret,
                capsys=capsys,
                alarms=alarms,
                subscribed=subscribed,
                thresholds=thresholds,
            )
            for name, value in (
                ("SlackSecretArn", secret),
                ("DagyApiUrl", dagy.base_url),
                ("DagySecretArn", dagy_secret),
                ("EscalationTopicArn", topic),
            ):
                made.parameter(name, value)
            yield made


def _recovery(*, on: bool) -> None:
    boto3.client("dynamodb", REGION).update_continuous_backups(
        TableName="incidents", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": on}
    )


def test_a_sound_deployment_is_fine(sound: SetUp) -> None:
    before = len(sound.slack.messages)
    assert sound.wrong(0) == {}
    assert len(sound.slack.messages) == before
    assert run(["doctor", "--stack", STACK]) == 0
    assert "All is as it must be. Nothing was changed." in sound.capsys.readouterr().out


@pytest.mark.parametrize("trusted", [None, "AROAEXAMPLEOFADELETEDROLE"])
def test_an_observer_that_cannot_be_assumed(sound: SetUp, trusted: str | None) -> None:
    delete_role("observer")
    if trusted is not None:
        make_role("observer", trusted)
    found = sound.wrong()
    assert list(found) == ["observer"]
    state, text = found["observer"]
    assert state == "broken"
    assert ("make it by hand as template.yaml has it" if trusted is None else "Put it into the trust policy") in text
    assert ("no Observer role unthrottle-observer" if trusted is None else "does not name the workflow's role") in text


@pytest.mark.parametrize("mode", ["approve", "auto"])
def test_a_mode_that_acts_without_an_actor(sound: SetUp, mode: str) -> None:
    sound.parameter("Mode", mode)
    boto3.client("iam").delete_role(RoleName="unthrottle-actor")
    assert sound.wrong() == {
        "mode": (
            "broken",
            (
                f"Mode {mode}, but there is no Actor role unthrottle-actor: no change can be made. Deploy with Mode dry-run, "
                f"then with {mode} again: that makes it anew."
            ),
        )
    }


def test_a_dry_run_with_an_actor(sound: SetUp) -> None:
    sound.parameter("Mode", "dry-run")
    state, text = sound.wrong()["mode"]
    assert state == "broken"
    assert "Mode dry-run, but the Actor role unthrottle-actor exists" in text
    boto3.client("iam").delete_role(RoleName="unthrottle-actor")
    assert sound.wrong(0) == {}


def test_a_slack_secret_that_is_not_there(sound: SetUp) -> None:
    boto3.client("secretsmanager", REGION).delete_secret(SecretId=sound.secret, ForceDeleteWithoutRecovery=True)
    state, text = sound.wrong()["slack secret"]
    assert state == "broken"
    assert "Could not read the secret" in text


def test_a_slack_secret_this_person_may_not_read_is_unknown_and_not_broken(sound: SetUp) -> None:
    sound.deployed.world.gate.faults.append(
        Fault(call="secretsmanager.GetSecretValue", nth=1, error="AccessDeniedException")
    )
    state, text = sound.wrong(2)["slack"]
    assert state == "unknown"
    assert "AccessDeniedException" in text
    assert "Use credentials that may" in text


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        pytest.param('{"bot_token": "xoxb-sandbox"}', "has no text field signing_secret", id="no signing secret"),
        pytest.param('{"signing_secret": "x"}', "has no text field bot_token", id="no token"),
        pytest.param("xoxb-sandbox", "is not a JSON object", id="the token alone"),
    ],
)
def test_a_slack_secret_without_its_fields(sound: SetUp, secret: str, words: str) -> None:
    sound.store(secret)
    state, text = sound.wrong()["slack secret"]
    assert state == "broken"
    assert words in text
    assert "docs/slack.md" in text
    assert "xoxb-sandbox" not in text


def test_a_slack_token_that_was_revoked(sound: SetUp) -> None:
    sound.slack._steps = ((0, "token-revoked"),)
    assert sound.wrong() == {
        "slack": (
            "broken",
            (
                "Slack answered token_revoked. The token was revoked: install the app again and store its new bot token in "
                "the secret."
            ),
        )
    }


def test_an_app_that_is_not_in_the_channel(sound: SetUp) -> None:
    sound.parameter("SlackChannel", "C0OTHER")
    state, text = sound.wrong()["slack"]
    assert state == "broken"
    assert "invite the app with /invite" in text


@pytest.mark.parametrize(("api", "words"), [("down", "Cannot read the running backfills"), ("401", "401")])
def test_a_dagy_that_does_not_answer_or_refuses_the_token(sound: SetUp, api: str, words: str) -> None:
    if api == "down":
        sound.dagy.api = "down"
    else:
        sound.dagy.token = "another-token-entirely"
    found = sound.wrong()
    assert list(found) == ["dagy"]
    state, text = found["dagy"]
    assert state == "broken"
    assert words in text
    assert "check DagyApiUrl" in text


def test_a_dagy_whose_token_would_travel_in_clear_text(sound: SetUp) -> None:
    sound.parameter("DagyApiUrl", "http://dagy.example.com")
    found = sound.wrong()
    assert list(found) == ["settings"]
    state, text = found["settings"]
    assert state == "broken"
    assert "DagyApiUrl is 'http://dagy.example.com'; write an https address" in text


def test_a_channel_that_is_named_and_not_given_by_its_id(sound: SetUp) -> None:
    sound.parameter("SlackChannel", "#ops")
    state, text = sound.wrong()["settings"]
    assert state == "broken"
    assert "write the channel's id such as C0123ABCD, in Slack at the bottom of the channel's details" in text


def test_an_observer_that_is_shown_no_tags_of_functions(sound: SetUp) -> None:
    sees_tags(allowed=False)
    found = sound.wrong()
    assert list(found) == ["function tags"]
    state, text = found["function tags"]
    assert state == "broken"
    assert "unthrottle-observer may not lambda:ListTags" in text


def test_an_escalation_topic_that_is_missing_or_reaches_nobody(sound: SetUp) -> None:
    sound.subscribed[sound.topic] = "0"
    assert "Nobody has confirmed a subscription" in sound.wrong()["paging"][1]
    sound.subscribed.clear()
    boto3.client("sns", REGION).delete_topic(TopicArn=sound.topic)
    found = sound.wrong()
    assert list(found) == ["paging"]
    assert found["paging"][0] == "broken"
    assert f"There is no topic {sound.topic}: an escalation pages nobody" in found["paging"][1]


def test_a_workflow_that_is_missing(sound: SetUp) -> None:
    del sound.deployed.world.account.functions["unthrottle-respond"]
    found = sound.wrong()
    assert list(found) == ["workflow"]
    assert "no incident can be worked on. A deployment does not make again" in found["workflow"][1]


def test_a_workflow_without_concurrency_of_its_own_or_switched_off(sound: SetUp) -> None:
    sound.deployed.world.account.set_reserved("unthrottle-respond", None)
    state, text = sound.wrong()["own concurrency"]
    assert (state, "ReserveConcurrency true" in text) == ("look", True)
    sound.deployed.world.account.set_reserved("unthrottle-respond", 0)
    state, text = sound.wrong()["own concurrency"]
    assert (state, "is switched off" in text) == ("broken", True)


def test_an_incidents_table_that_is_missing(sound: SetUp) -> None:
    boto3.client("dynamodb", REGION).delete_table(TableName="incidents")
    found = sound.wrong()
    assert list(found) == ["incidents table"]
    assert found["incidents table"][0] == "broken"
    assert "There is no table incidents: no incident can be opened" in found["incidents table"][1]


def test_an_incidents_table_without_point_in_time_recovery(sound: SetUp) -> None:
    _recovery(on=False)
    found = sound.wrong()
    assert list(found) == ["incidents table"]
    assert "aws dynamodb update-continuous-backups --table-name incidents" in found["incidents table"][1]


def test_alarms_that_are_missing(sound: SetUp) -> None:
    sound.alarms[:] = ["team-lambda"]
    found = sound.wrong()
    assert found == {
        "own alarms": (
            "broken",
            (
                f"Of the stack's alarms these are gone: {ALARM}. Deploy with their Alarm… parameters false, then true "
                "again: that makes them anew."
            ),
        )
    }
    sound.alarms.clear()
    sound.deployed.world.resources[STACK].pop("LambdaThrottlesAlarm")
    assert "so nothing is ever heard" in sound.wrong()["alarms"][1]


@pytest.mark.parametrize(
    ("threshold", "limit", "state"),
    [
        pytest.param(800, 1000, "ok", id="the default in a usual account"),
        pytest.param(800, 50, "look", id="the default in a small account"),
        pytest.param(50, 50, "look", id="only when the pool is full"),
        pytest.param(49, 50, "ok", id="just before"),
    ],
)
def test_an_early_warning_that_could_only_come_too_late(sound: SetUp, threshold: int, limit: int, state: str) -> None:
    sound.alarms.append("unthrottle-lambda-concurrency")
    sound.thresholds["unthrottle-lambda-concurrency"] = float(threshold)
    resources = sound.deployed.world.resources[STACK]
    resources[EARLY_WARNING] = ("AWS::CloudWatch::Alarm", "unthrottle-lambda-concurrency")
    sound.deployed.world.account.concurrency_limit = limit
    found = sound.examined(3 if state == "look" else 0)["early warning"]
    assert found["state"] == state
    assert ("ConcurrencyAlarmThreshold 40," in found["text"]) is (state == "look")
    assert f"the account's limit is {limit:,}." in found["text"]


def test_the_rules_and_the_alarm_looked_for_are_those_of_the_template() -> None:
    template = (Path(__file__).parents[2] / "template.yaml").read_text(encoding="utf-8")
    warning = template.split(f"\n  {EARLY_WARNING}:\n")[1].split("\n\n")[0]
    assert "Threshold: !Ref ConcurrencyAlarmThreshold" in warning
    intake = template.split("\n  IntakeFunction:\n")[1].split("\n  RespondFunction:\n")[0]
    for logical in LOOKED_FOR:  # SAM names an event's rule after its function and itself
        event = intake.split(f"\n        {logical.removeprefix('IntakeFunction')}:\n")[1]
        assert event.split("Type: ")[1].startswith("EventBridgeRule")


@pytest.mark.parametrize("how", ["deleted", "disabled", "without a target"])
def test_alarms_that_no_rule_brings_to_intake(sound: SetUp, how: str) -> None:
    events, name = boto3.client("events", REGION), RULES["IntakeFunctionAlarmStateChange"]
    if how == "disabled":
        events.disable_rule(Name=name)
    else:
        events.remove_targets(Rule=name, Ids=["intake"])
    if how == "deleted":
        events.delete_rule(Name=name)
    found = sound.wrong()
    assert list(found) == ["rules"]
    state, text = found["rules"]
    assert state == "broken"
    words = {"deleted": "is not there", "disabled": "is disabled", "without a target": "has no target"}[how]
    assert f"The EventBridge rule {name} {words}: no alarm opens an incident." in text


def test_settings_that_cannot_be_read_do_not_hide_the_rest(sound: SetUp) -> None:
    sound.parameter("MaxPoolShare", "250")
    delete_role("observer")
    found = sound.wrong()
    assert sorted(found) == ["observer", "settings"]
    state, text = found["settings"]
    assert state == "broken"
    assert "MaxPoolShare is '250'; write a whole number of percent from 1 to 90" in text


def test_what_cannot_be_looked_at_is_unknown_and_the_rest_goes_on(sound: SetUp) -> None:
    sound.deployed.world.gate.faults.append(Fault(call="iam.GetRole", nth=1, error="AccessDenied"))
    found = sound.wrong(2)
    assert list(found) == ["roles"]
    assert found["roles"][0] == "unknown"
    assert run(["doctor", "--stack", STACK]) == 0


BROKEN_SET_UPS = (
    test_an_observer_that_cannot_be_assumed,
    test_a_mode_that_acts_without_an_actor,
    test_a_dry_run_with_an_actor,
    test_a_slack_secret_that_is_not_there,
    test_a_slack_secret_without_its_fields,
    test_a_slack_token_that_was_revoked,
    test_an_app_that_is_not_in_the_channel,
    test_a_dagy_that_does_not_answer_or_refuses_the_token,
    test_a_dagy_whose_token_would_travel_in_clear_text,
    test_an_escalation_topic_that_is_missing_or_reaches_nobody,
    test_a_workflow_that_is_missing,
    test_a_workflow_without_concurrency_of_its_own_or_switched_off,
    test_an_incidents_table_that_is_missing,
    test_an_incidents_table_without_point_in_time_recovery,
    test_alarms_that_are_missing,
    test_alarms_that_no_rule_brings_to_intake,
    test_settings_that_cannot_be_read_do_not_hide_the_rest,
)


def test_more_than_ten_kinds_of_broken_set_up_are_found() -> None:
    """Each by name, and none of them by another's words; members and routed channels are beside this file."""
    assert len(set(BROKEN_SET_UPS)) >= 10
