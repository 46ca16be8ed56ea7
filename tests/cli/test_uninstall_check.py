"""`unthrottle uninstall-check`: no open incident is forgotten when the stack goes, whatever its record says of it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cli.main import run
from sandbox.aws.calls import Fault
from tests.audit.world import ACCOUNT, NOW, REGION
from tests.cli.deployed import STACK, Deployed, deployment
from tests.unit.fakes import MINUTE, FakePager, FakeStarter, StillClock
from unthrottle.adapters.access import Access, Clients
from unthrottle.adapters.actor import AwsActor
from unthrottle.incident import Incident, Moment, Status
from unthrottle.ports import Accounts, Observer, Ports
from unthrottle.sweep import NOT_YET, sweep

CHECK = ["uninstall-check", "--stack", STACK]
BACK = [*CHECK, "--give-back"]
MEMBER = "222222222222"


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    with deployment(monkeypatch) as made:
        yield made


class _Actors(Accounts):
    """The sweep's way into the account: here by the same credentials."""

    def observe(self, account: str, region: str, incident_id: str) -> Observer:
        raise AssertionError(f"the sweep looks at nothing of {account}, {region} for {incident_id}")

    def act(self, account: str, region: str, incident_id: str) -> AwsActor:
        assert (account, incident_id) == (ACCOUNT, "INC-TEST0001")
        return AwsActor(Access(Clients(), region))


def _swept(deployed: Deployed, after: timedelta) -> tuple[str, ...]:
    ports = Ports(
        accounts=_Actors(),
        incidents=deployed.incidents,
        backfills=None,
        chat=None,
        pager=FakePager(),
        clock=StillClock(NOW + after),
    )
    return sweep(ports, FakeStarter()).given_back


def _begun(deployed: Deployed, ago: timedelta) -> str:
    """An incident whose process was killed after AWS had made the change, and before anything of it was written."""
    name = deployed.open(None)
    lines = (Moment(at=NOW - ago, event="action.intended", detail="batch"),)
    _save(deployed, name, timeline=lines, lease_until=NOW - ago + timedelta(hours=2))
    deployed.world.account.add_function("batch", reserved=250)
    return name


def _save(deployed: Deployed, name: str, **changes: Any) -> None:
    found = deployed.incidents.load(name)
    assert found is not None
    deployed.incidents.save(replace(found, **changes))


def _record(deployed: Deployed) -> Incident:
    found = deployed.incidents.load("INC-TEST0001")
    assert found is not None
    return found


def _reserved(deployed: Deployed) -> int | None:
    return AwsActor(Access(Clients(), REGION)).reserved("batch")


def _said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_a_change_whose_end_was_never_written_may_be_in_force_and_keeps_the_stack(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    _begun(deployed, ago=20 * MINUTE)
    assert run(CHECK) == 3
    said = _said(capsys)
    assert "1 change may be in force: begun, and the end was never written" in said
    assert "by hand: aws lambda delete-function-concurrency --function-name batch" in said
    assert "can be deleted" not in said


def test_a_change_of_unknown_end_is_given_back_by_the_next_sweep_instead_of_after_its_lease(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    name = _begun(deployed, ago=20 * MINUTE)
    assert _swept(deployed, MINUTE) == ()
    assert run(BACK) == 3
    said = _said(capsys)
    assert "Paused until somebody says `unthrottle resume`" in said
    assert f"{name}: the sweep compares it and gives it back within 5 minutes." in said
    wish = _record(deployed).wish
    assert wish is not None
    assert wish.do == "revert"

    assert _swept(deployed, 2 * MINUTE) == (name,)
    assert _reserved(deployed) is None
    assert run(CHECK) == 0


def test_somebody_elses_value_is_left_where_the_change_was_never_made(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compared first: what was only begun may never have been made."""
    _begun(deployed, ago=20 * MINUTE)
    deployed.world.account.set_reserved("batch", 99)
    run(BACK)
    _swept(deployed, 2 * MINUTE)
    assert _reserved(deployed) == 99
    assert run(CHECK) == 0
    assert "The stack can be deleted" in _said(capsys)


def test_a_workflow_that_may_be_making_the_change_just_now_is_not_disturbed(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    """It reads what is wanted once it has made it; if it died, the sweep takes its place when it has been silent."""
    name = _begun(deployed, ago=2 * MINUTE)
    version = _record(deployed).version
    assert run(BACK) == 3
    assert "and then gives it back; if it is gone, the sweep does, after 10:13 UTC." in _said(capsys)
    assert _record(deployed).version == version
    assert _swept(deployed, 13 * MINUTE) == ()
    assert _reserved(deployed) == 250
    assert _swept(deployed, 14 * MINUTE) == (name,)
    assert _reserved(deployed) is None


def test_what_the_sweep_cannot_give_back_is_told_with_its_reason(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    name = _begun(deployed, ago=20 * MINUTE)
    _save(
        deployed, name, timeline=(*_record(deployed).timeline, Moment(at=NOW, event=NOT_YET, detail="No Actor role."))
    )
    run(CHECK)
    assert "The sweep could not give it back yet and goes on trying: No Actor role." in _said(capsys)


def test_an_incident_that_waits_for_a_yes_could_still_act_and_is_rejected(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    name = deployed.open("approval")
    assert run(CHECK) == 3
    said = _said(capsys)
    assert "1 incident is open without a change in force" in said
    assert f"reject it in Slack, or with `unthrottle reject {name}:1`" in said
    assert deployed.answered == []

    assert run(BACK) == 3
    said = _said(capsys)
    assert f"{name}: rejected: it will change nothing." in said
    assert "Paused until somebody says `unthrottle resume`" in said
    assert [answer["Result"]["do"] for answer in deployed.answered] == ["reject"]
    run(["incidents", "--stack", STACK])
    assert "paused" in _said(capsys)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        pytest.param(Status.NONE, "Its workflow is at it, and may still act or ask", id="being worked on"),
        pytest.param(Status.REJECTED, "It is only watched: it changes nothing any more", id="only watched"),
    ],
)
def test_an_incident_that_asks_nothing_keeps_the_stack_too_and_is_told_for_what_it_is(
    status: Status, words: str, deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed.open(None, status=status)
    assert run(BACK) == 3
    said = _said(capsys)
    assert words in said
    is_left = "deleting the stack now only leaves their records open" in said
    assert is_left is (status is Status.REJECTED)
    assert deployed.answered == []


def test_what_could_not_be_asked_is_named_after_the_pause_and_is_a_failure(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    name = deployed.open("lease", status=Status.APPLIED)
    call = "lambda.SendDurableExecutionCallbackSuccess"
    deployed.world.gate.faults.append(Fault(call=call, nth=1, error="AccessDeniedException"))
    assert run(BACK) == 2
    said = _said(capsys)
    assert "Paused until somebody says `unthrottle resume`" in said
    assert f"{name}: could not be asked: " in said
    assert "repeat the command" in said


def test_settings_that_stop_the_bot_do_not_stop_its_removal(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = deployed.world.stacks[STACK]["Parameters"]
    rows.append({"ParameterKey": "MaxPoolShare", "ParameterValue": "250"})
    deployed.open("lease", status=Status.APPLIED)
    assert run(BACK) == 3
    assert [answer["Result"]["do"] for answer in deployed.answered] == ["revert"]


def test_without_its_table_nobody_knows_what_is_in_force(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNTHROTTLE_INCIDENTS_TABLE", "unthrotle")
    for command in (["uninstall-check"], ["uninstall-check", "--give-back"], ["incidents"], ["incidents", "INC-0"]):
        assert run(command) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert f"There is no incidents table unthrotle in account {ACCOUNT}, {REGION}: what is in force is" in said.err
        assert "Check --region and UNTHROTTLE_INCIDENTS_TABLE" in said.err


def test_the_groups_are_told_to_programs_too(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CHECK, "--json"]) == 0
    empty = json.loads(_said(capsys))
    assert empty == {
        "version": 1,
        "can_be_deleted": True,
        "paused": None,
        "in_force": [],
        "may_be_in_force": [],
        "could_still_act": [],
    }
    name = deployed.open("lease", status=Status.APPLIED)
    for number, event in enumerate(("action.intended", "incident.opened")):
        other = replace(
            _record(deployed),
            id=f"INC-OTHER{number}",
            fingerprint=f"{MEMBER}/eu-central-1/{number}",
            account=MEMBER,
            region="eu-central-1",
            status=Status.NONE,
            version=0,
            question=None,
            timeline=(Moment(at=NOW, event=event),),
        )
        deployed.incidents.open_or_join(other, f"key-{number}")
    assert run([*BACK, "--json"]) == 3
    found = json.loads(_said(capsys))
    assert (found["can_be_deleted"], found["paused"]) == (False, "until somebody says `unthrottle resume`")
    groups = ("in_force", "may_be_in_force", "could_still_act")
    assert [[one["id"] for one in found[group]] for group in groups] == [[name], ["INC-OTHER0"], ["INC-OTHER1"]]
    assert found["in_force"][0]["asked"] == {"taken": True, "text": "it is being given back."}
    assert found["in_force"][0]["by_hand"] == [
        "aws lambda delete-function-concurrency --function-name batch --region eu-west-1"
    ]
    assert found["could_still_act"][0]["asked"] is None
    run(CHECK)
    said = _said(capsys)
    assert (
        f"by hand, in account {MEMBER}: aws lambda delete-function-concurrency --function-name batch --region" in said
    )
