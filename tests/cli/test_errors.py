"""What a person reads who has no credentials, the wrong Region, an expired token or too few rights."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.main import run
from sandbox.aws.calls import Fault
from tests.audit.world import AuditWorld, audit_world, quiet_pool


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[AuditWorld]:
    with audit_world(monkeypatch) as made:
        yield made


COMMANDS = [pytest.param(["audit"], id="audit"), pytest.param(["diagnose", "orders"], id="diagnose")]


_OF_A_STACK = [
    pytest.param([*words, "--stack", "unthrottle"], id=words[0])
    for words in (["doctor"], ["incidents"], ["uninstall-check", "--give-back"], ["approve", "INC-0:1"])
]


@pytest.mark.parametrize("command", [*COMMANDS, *_OF_A_STACK])
def test_without_credentials(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert run([*command, "--region", "eu-west-1"]) == 2
    said = capsys.readouterr().err
    assert "Unable to locate credentials. Nothing was changed. Give this process AWS credentials." in said
    assert "`aws sso login`) and name a --profile" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("command", [*COMMANDS, pytest.param(["doctor", "--stack", "unthrottle"], id="doctor")])
def test_with_a_login_that_is_over(
    command: list[str],
    world: AuditWorld,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """A profile of AWS IAM Identity Center whose token is gone: botocore knows before anything is sent."""
    config = tmp_path / "config"
    config.write_text(
        "[profile work]\nsso_session = it\nsso_account_id = 111122223333\nsso_role_name = look\nregion = eu-west-1\n"
        "[sso-session it]\nsso_start_url = https://example.awsapps.com/start\nsso_region = eu-west-1\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    assert run([*command, "--profile", "work"]) == 2
    said = capsys.readouterr().err
    assert "Log in again (for example `aws sso login`), and repeat the command." in said
    assert world.gate.calls == []


@pytest.mark.parametrize("command", COMMANDS)
def test_with_an_expired_token(command: list[str], world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    world.gate.faults.append(Fault(call="sts.GetCallerIdentity", nth=1, error="ExpiredToken"))
    assert run(command) == 2
    said = capsys.readouterr().err
    assert "they have expired. Nothing was changed. Log in again" in said


def test_when_aws_does_not_answer(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    for nth in range(1, 9):
        world.gate.faults.append(Fault(call="sts.GetCallerIdentity", nth=nth, error="timeout-before"))
    assert run(["audit"]) == 2
    assert "The answer was lost or never came. Repeat the command later." in capsys.readouterr().err


def test_with_a_region_that_does_not_exist(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--region", "eu-wets-1"]) == 1
    said = capsys.readouterr().err
    assert "There is no AWS Region 'eu-wets-1' that boto3 knows. Did you mean eu-west-1" in said
    assert world.gate.calls == []


def test_without_a_region(
    world: AuditWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert run(["audit"]) == 1
    assert "No AWS Region is set. Nothing was sent. Name one with --region" in capsys.readouterr().err


def test_the_region_of_aws_region_counts_which_boto3_does_not_know(
    world: AuditWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert run(["incidents", "--stack", "unthrotle"]) == 2
    assert "There is no stack unthrotle in account 111122223333, eu-central-1." in capsys.readouterr().err


@pytest.mark.parametrize(
    "resource", ["", " ", "arn:aws:sqs:eu-west-1:111122223333:orders", "two words", "table/", "arn:aws:lambda"]
)
def test_what_can_name_nothing_is_sent_nowhere(
    resource: str, world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", resource]) == 1
    assert f"{resource!r} is no name of a table or function. Nothing was sent." in capsys.readouterr().err
    assert world.gate.calls == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["approve", "INC-TEST:1"], "Stopped. What was sent stands: `unthrottle incidents` shows it.\n"),
        (["uninstall-check", "--give-back"], "Stopped. What was sent stands: `unthrottle incidents` shows it.\n"),
        (["uninstall-check"], "Stopped.\n"),
        (["incidents"], "Stopped.\n"),
    ],
    ids=["changes", "gives back", "only looks", "lists"],
)
def test_who_stops_a_command_is_told_that_what_was_sent_stands(
    command: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cli.deployment.Session", interrupted)
    assert run([*command, "--stack", "unthrottle"]) == 130
    assert capsys.readouterr().err.strip() == said.strip()


def test_with_a_profile_that_does_not_exist(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--profile", "prodd"]) == 1
    assert "Cannot use the AWS profile prodd" in capsys.readouterr().err


def test_without_the_right_to_look(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    quiet_pool(world)
    world.gate.faults.append(Fault(call="lambda.GetAccountSettings", nth=1, error="AccessDeniedException"))
    assert run(["audit", "--quiet"]) == 2
    said = capsys.readouterr().out
    assert "NOT LOOKED AT: account 111122223333, eu-west-1: Could not read the account's concurrency" in said


def test_a_diagnosis_without_the_right_to_look_says_what_to_do(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    world.account.add_table("orders", billing="on-demand")
    world.gate.faults.append(Fault(call="dynamodb.DescribeTable", nth=1, error="AccessDeniedException"))
    assert run(["diagnose", "orders"]) == 2
    said = capsys.readouterr().err
    assert "Could not read table orders: AWS said AccessDeniedException" in said
    assert "docs/audit.md" in said


def test_another_account_needs_a_role(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--account", "444455556666"]) == 1
    assert "to look at 444455556666, name a role to assume in each account with --role" in capsys.readouterr().err


def test_a_wrong_account_id(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--account", "production"]) == 1
    assert "'production' is no AWS account id" in capsys.readouterr().err


def test_a_wrong_option_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--jsno"]) == 1
    assert "No such option: --jsno" in capsys.readouterr().err


def test_a_wrong_command_is_told_what_may_have_been_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doktor"]) == 1
    assert "No such command 'doktor'. Did you mean 'doctor'?\nRun `unthrottle --help`" in capsys.readouterr().err


def test_wrong_usage_points_to_the_help_of_that_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose"]) == 1
    assert "Run `unthrottle diagnose --help` for what there is." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        pytest.param(["audit", "--html", "/nonexistent/a.html"], "Cannot write /nonexistent/a.html", id="no directory"),
        pytest.param(["audit", "--from", "5d", "--html", "/"], "Cannot write /", id="a directory"),
        pytest.param(["audit", "--against", "/nonexistent.json"], "No such file or directory. Nothing", id="no file"),
        pytest.param(["audit", "--from", "soon"], "'soon' is no time", id="no time"),
        pytest.param(["diagnose", "orders", "--at", "tomorrow"], "'tomorrow' is no time", id="no moment"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_sent(
    command: list[str], words: str, world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command) == 1
    said = capsys.readouterr().err
    assert words in said
    assert "Errno" not in said
    assert world.gate.calls == []


def test_the_help_names_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert "Exit codes: 0 fine, 1 wrong usage or input, 2 something failed" in " ".join(capsys.readouterr().out.split())


def test_a_share_that_is_no_percentage(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--max-pool-share", "250"]) == 1
    assert "a whole number of percent from 1 to 90" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "audit",
        "diagnose",
        "incidents",
        "approve",
        "reject",
        "snooze",
        "revert",
        "keep",
        "pause",
        "resume",
        "doctor",
        "uninstall-check",
    ],
)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    assert "Usage:" in capsys.readouterr().out
