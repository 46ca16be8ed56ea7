"""`unthrottle incidents`, `approve`, `revert`, `pause`, `doctor` and the others, against a deployment."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from cli.main import run
from tests.audit.world import ACCOUNT, NOW, REGION
from tests.cli.deployed import RESPOND, STACK, Deployed, deployment
from unthrottle.incident import Status


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    with deployment(monkeypatch) as made:
        yield made


def test_a_question_can_be_answered_without_slack(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    incident = deployed.open("approval")
    assert run(["approve", f"{incident}:1", "--stack", STACK]) == 0
    assert "Taken: approve INC-TEST0001." in capsys.readouterr().out
    (answer,) = deployed.answered
    assert answer["CallbackId"] == "callback-1"
    assert answer["Result"]["do"] == "approve"
    assert answer["Result"]["by"].startswith("arn:aws:")


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_an_answer_to_what_was_shown_before_is_none_to_what_is_asked_now(
    verb: str, deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    incident = deployed.open("approval")
    assert run([verb, f"{incident}:7", "--stack", STACK]) == 1
    assert "is from an earlier state of INC-TEST0001" in capsys.readouterr().err
    assert deployed.answered == []


def test_a_yes_without_a_version_is_shown_what_it_would_be_to_and_not_taken(
    deployed: Deployed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))  # no terminal, whatever stands there
    incident = deployed.open("approval")
    assert run(["approve", incident, "--stack", STACK]) == 1
    said = capsys.readouterr()
    assert "batch: unset -> 250" in said.out
    assert "Nothing was changed. To approve what is shown above, run `unthrottle approve INC-TEST0001:1`." in said.err
    assert deployed.answered == []


@pytest.mark.parametrize(("typed", "taken"), [("y\n", ["approve"]), ("n\n", []), ("\n", [])])
def test_at_a_terminal_a_yes_without_a_version_is_asked_for_what_is_shown(
    typed: str,
    taken: list[str],
    deployed: Deployed,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = io.StringIO(typed)
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", terminal)
    incident = deployed.open("approval")
    assert run(["approve", incident, "--stack", STACK]) == (0 if taken else 1)
    assert "batch: unset -> 250" in capsys.readouterr().out
    assert [answer["Result"]["do"] for answer in deployed.answered] == taken


def test_what_names_no_incident_is_sent_nowhere(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    before = len(deployed.world.gate.calls)
    assert run(["approve", "INC-TEST0001:soon", "--stack", STACK]) == 1
    assert "names no incident. Nothing was changed." in capsys.readouterr().err
    assert len(deployed.world.gate.calls) == before


@pytest.mark.parametrize("verb", ["revert", "keep"])
def test_a_lease_can_be_ended_or_kept(verb: str, deployed: Deployed) -> None:
    incident = deployed.open("lease", status=Status.APPLIED)
    assert run([verb, incident.lower(), "--stack", STACK]) == 0
    assert [answer["Result"]["do"] for answer in deployed.answered] == [verb]


@pytest.mark.parametrize(("words", "minutes"), [([], None), (["2h"], 120)], ids=["for an hour", "for two hours"])
def test_a_question_can_be_put_off_without_slack(words: list[str], minutes: int | None, deployed: Deployed) -> None:
    incident = deployed.open("approval")
    assert run(["snooze", incident.lower(), *words, "--stack", STACK]) == 0
    (answer,) = deployed.answered
    assert (answer["Result"]["do"], answer["Result"].get("minutes")) == ("snooze", minutes)


@pytest.mark.parametrize(
    ("words", "said"),
    [(["9h"], "The longest snooze is 8h. Nothing was changed."), (["soon"], "'soon' is no duration.")],
    ids=["too long", "no duration"],
)
def test_a_snooze_of_no_usable_length_changes_nothing(
    words: list[str], said: str, deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    incident = deployed.open("approval")
    assert run(["snooze", incident, *words, "--stack", STACK]) == 1
    assert said in capsys.readouterr().err
    assert deployed.answered == []


def test_an_answer_nobody_asked_for_changes_nothing(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    incident = deployed.open("lease", status=Status.APPLIED)
    assert run(["approve", incident, "--stack", STACK]) == 1
    assert "is not waiting for that now" in capsys.readouterr().err
    assert run(["reject", "INC-NOBODY00", "--stack", STACK]) == 1
    assert "There is no incident INC-NOBODY00. Nothing was changed. `unthrottle incidents`" in capsys.readouterr().err
    assert deployed.answered == []


def test_incidents_are_listed_and_one_that_waits_needs_a_person(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["incidents", "--stack", STACK]) == 0
    assert "Mode approve. 0 incidents" in capsys.readouterr().out
    deployed.open("approval")
    assert run(["incidents", "--stack", STACK]) == 3
    assert "pool-hog of batch; cap-concurrency, none; WAITS for approval until 10:10 UTC" in capsys.readouterr().out
    assert run(["incidents", "--stack", STACK, "--json"]) == 3
    (row,) = json.loads(capsys.readouterr().out)["incidents"]
    assert (row["id"], row["waits_for"], row["cause"]) == ("INC-TEST0001", "approval", "pool-hog")


def test_an_old_incident_that_waits_is_listed_first_and_needs_a_person_however_many_came_since(
    deployed: Deployed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.incidents.RECENT", 2)  # of the 50, each of which takes its time to be written
    old = deployed.incidents.load(deployed.open("approval"))
    assert old is not None
    for number in range(3):
        later = replace(
            old, id=f"INC-LATE{number:04}", fingerprint=f"f{number}", question=None, version=0, opened_at=NOW
        )
        deployed.incidents.open_or_join(later, f"later {number}")
        deployed.incidents.close(replace(later, closed_at=NOW))
    assert run(["incidents", "--stack", STACK]) == 3
    words, first, *others = capsys.readouterr().out.splitlines()
    assert words.endswith("the open ones first, then newest first; of the others the newest 2 of more.")
    assert first.startswith("INC-TEST0001")
    assert [one.split()[0] for one in others] == ["INC-LATE0002", "INC-LATE0001"]
    assert run(["incidents", "--stack", STACK, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["has_more"] is True


def test_one_incident_is_told_and_its_record_exported(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    deployed.open(None)
    assert run(["incidents", "INC-TEST0001", "--stack", STACK]) == 0
    told = capsys.readouterr().out
    assert "batch held 900 executions." in told
    assert "batch: unset -> 250" in told
    assert f"way back: aws lambda delete-function-concurrency --function-name batch --region {REGION}" in told
    assert "1 trigger;" in told
    assert run(["incidents", "INC-TEST0001", "--export", "--stack", STACK]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["plan"]["changes"][0]["after"] == 250
    assert run(["incidents", "INC-0", "--stack", STACK]) == 1


def test_looking_at_incidents_writes_nothing(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    deployed.open("approval")
    before = len(deployed.world.gate.calls)
    run(["incidents", "--stack", STACK])
    run(["uninstall-check", "--stack", STACK])
    run(["doctor", "--stack", STACK])
    capsys.readouterr()
    sent = {call.call for call in deployed.world.gate.calls[before:]}
    assert not {call for call in sent if call.split(".")[1].startswith(("Put", "Update", "Delete", "Transact", "Send"))}


def test_what_is_no_incidents_name_is_said_before_anything_is_sent(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    before = len(deployed.world.gate.calls)
    for verb in ("incidents", "snooze", "revert"):
        for named in ("", "  ", "INC-", "INC-TEST0001:1:2", "INC-ÄÖ", "../x"):
            assert run([verb, named, "--stack", STACK]) == 1
            assert f"{named!r} names no incident. Nothing was changed." in capsys.readouterr().err
    assert len(deployed.world.gate.calls) == before


def test_an_incident_is_told_by_the_name_and_version_that_were_shown(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed.open("approval")
    assert run(["incidents", "INC-TEST0001:1", "--stack", STACK]) == 3
    assert "batch held 900 executions." in capsys.readouterr().out


def test_a_duration_that_a_script_left_empty_is_no_pause_without_end(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pause", "", "--stack", STACK]) == 1
    assert "'' is no duration" in capsys.readouterr().err
    run(["incidents", "--stack", STACK])
    assert "paused" not in capsys.readouterr().out


def test_a_pause_without_an_end_is_told_as_one(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    run(["pause", "--stack", STACK])
    capsys.readouterr()
    run(["incidents", "--stack", STACK])
    assert "paused until somebody says `unthrottle resume`." in capsys.readouterr().out
    run(["doctor", "--stack", STACK])
    assert "pause: Paused until somebody says `unthrottle resume`.\n" in capsys.readouterr().out


def test_a_pause_holds_until_it_is_over_or_resumed(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pause", "2h", "--stack", STACK]) == 0
    assert "Paused until 2026-08-24 12:00 UTC" in capsys.readouterr().out
    run(["incidents", "--stack", STACK])
    assert "paused until 2026-08-24 12:00 UTC" in capsys.readouterr().out
    assert run(["resume", "--stack", STACK]) == 0
    capsys.readouterr()
    run(["incidents", "--stack", STACK])
    assert "paused" not in capsys.readouterr().out
    assert run(["pause", "soon", "--stack", STACK]) == 1
    assert "'soon' is no duration" in capsys.readouterr().err
    assert run(["pause", "999h", "--stack", STACK]) == 0
    assert run(["pause", "6w", "--stack", STACK]) == 1
    assert "The longest pause that ends by itself is 999h. Nothing was changed." in capsys.readouterr().err


def test_variables_name_a_deployment_too(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNTHROTTLE_INCIDENTS_TABLE", "incidents")
    monkeypatch.setenv("UNTHROTTLE_RESPOND_FUNCTION", RESPOND)
    incident = deployed.open("approval")
    assert run(["reject", incident]) == 0
    assert [answer["Result"]["do"] for answer in deployed.answered] == ["reject"]
    assert deployed.world.gate.count("cloudformation.DescribeStacks") == 0


def test_without_a_deployment_nothing_is_sent(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["incidents"]) == 1
    assert "No deployment is named. Nothing was sent. Name the stack with --stack" in capsys.readouterr().err
    assert run(["incidents", "--stack", "unthrotle"]) == 2
    assert f"There is no stack unthrotle in account {ACCOUNT}, {REGION}." in capsys.readouterr().err


def test_a_stack_must_not_be_deleted_while_a_change_is_in_force(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["uninstall-check", "--stack", STACK]) == 0
    deployed.open("lease", status=Status.APPLIED)
    assert run(["uninstall-check", "--stack", STACK]) == 3
    told = capsys.readouterr().out
    assert "1 change is in force; deleting the stack would leave it for ever" in told
    assert "by hand: aws lambda delete-function-concurrency --function-name batch" in told


def test_the_doctor_says_what_is_missing(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--stack", STACK, "--json"]) == 3
    checks = {one["name"]: one for one in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["stack"]["state"] == "ok"
    assert checks["mode"]["state"] == "ok"
    assert checks["own concurrency"]["state"] == "ok"
    assert checks["slack"]["state"] == "broken"
    assert checks["alarms"]["state"] == "broken"
    assert checks["paging"]["state"] == "look"
    deployed.world.account.set_reserved("unthrottle-respond", None)
    run(["doctor", "--stack", STACK])
    assert "the incident it heals can starve it" in capsys.readouterr().out


def test_before_a_stack_goes_its_changes_are_given_back_and_no_new_one_is_made(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    incident = deployed.open("lease", status=Status.APPLIED)
    assert run(["uninstall-check", "--give-back", "--stack", STACK]) == 3
    said = capsys.readouterr().out
    assert [answer["Result"]["do"] for answer in deployed.answered] == ["revert"]
    assert f"{incident}: it is being given back." in said
    assert "Paused until somebody says" in said
    assert "Look again in a few minutes" in said


def test_with_nothing_in_force_there_is_nothing_to_give_back_and_nothing_is_paused(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["uninstall-check", "--give-back", "--stack", STACK]) == 0
    run(["incidents", "--stack", STACK])
    assert "paused" not in capsys.readouterr().out
