"""`unthrottle doctor` tries each member account by the bot's own way in, and each channel that accounts are routed to."""

import json
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest

from sandbox.aws.calls import Answer, Refuse, Request, Respond
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.rehearse import Rehearsal
from sandbox.scenario import Scenario
from tests.audit.world import ACCOUNT, REGION
from tests.cli.deployed import HUB_BUS, HUB_RULE, SWEEP
from tests.cli.test_doctor import SetUp, sound
from unthrottle.reach import AT_ONCE, is_asked, question, reach

__all__ = ["sound"]
TEAM_A, TEAM_B = "222222222222", "333333333333"
WHY = "Could not assume the role arn:aws:iam::222222222222:role/unthrottle-observer: AWS said AccessDenied: no."


@dataclass
class Sweep:
    """The sweep function, which answers doctor's question about its accounts."""

    places: list[dict[str, Any]]
    answers: bool = True
    asked: list[dict[str, Any]] = field(default_factory=list)

    def handle(self, request: Request) -> Answer | None:
        if request.call != "lambda.Invoke":
            return None
        if request.parameters["FunctionName"] != SWEEP:
            return Refuse(code="ResourceNotFoundException", message="Function not found")
        event = json.loads(request.parameters["Payload"])
        self.asked.append(event)
        skip = event["detail"]["skip"]
        said = {"places": self.places[skip : skip + AT_ONCE]} if self.answers else {"errorMessage": "Task timed out"}
        return Respond(parsed={"StatusCode": 200, "Payload": json.dumps(said).encode()})


def _place(account: str, observer: str = "", actor: str = "", region: str = REGION) -> dict[str, Any]:
    return {"account": account, "region": region, "observer": observer, "actor": actor}


@pytest.fixture
def hub(sound: SetUp) -> tuple[SetUp, Sweep]:
    sweep = Sweep(places=[_place(ACCOUNT), _place(TEAM_A), _place(TEAM_B)])
    sound.deployed.world.gate.handlers.insert(0, sweep.handle)
    sound.parameter("MemberAccounts", f"{TEAM_A},{TEAM_B}")
    sound.parameter("ExternalId", "a-long-external-id")
    return sound, sweep


def test_members_that_can_be_looked_at_and_changed_are_fine(hub: tuple[SetUp, Sweep]) -> None:
    sound, sweep = hub
    checks = sound.examined(0)
    assert checks[f"member {TEAM_A} {REGION}"]["text"] == "It can be looked at and changed."
    assert checks["hub rule"]["state"] == "ok"
    assert [event["detail"]["skip"] for event in sweep.asked] == [0, 3]
    assert all(is_asked(event) for event in sweep.asked)


def test_without_members_nobody_is_asked(sound: SetUp) -> None:
    sweep = Sweep(places=[])
    sound.deployed.world.gate.handlers.insert(0, sweep.handle)
    assert sound.wrong(0) == {}
    assert sweep.asked == []


def test_a_member_that_is_not_set_up_is_named_with_what_to_do(hub: tuple[SetUp, Sweep]) -> None:
    sound, sweep = hub
    sweep.places[1] = _place(TEAM_A, observer=WHY, actor=WHY)
    found = sound.wrong()
    assert list(found) == [f"member {TEAM_A} {REGION}"]
    state, text = found[f"member {TEAM_A} {REGION}"]
    assert state == "broken"
    assert WHY in text
    assert "Deploy member.yaml there" in text


def test_a_member_without_an_actor_is_to_be_looked_at_unless_nobody_acts(hub: tuple[SetUp, Sweep]) -> None:
    sound, sweep = hub
    sweep.places[1] = _place(TEAM_A, actor="AccessDenied")
    state, text = sound.wrong()[f"member {TEAM_A} {REGION}"]
    assert (state, "nothing can be changed there though Mode is approve" in text) == ("look", True)
    sound.parameter("Mode", "dry-run")
    boto3.client("iam").delete_role(RoleName="unthrottle-actor")
    assert sound.wrong(0) == {}


def test_each_region_of_a_member_is_a_place_of_its_own(hub: tuple[SetUp, Sweep]) -> None:
    sound, sweep = hub
    sweep.places += [_place(TEAM_A, observer=WHY, region="eu-central-1")] + [
        _place(TEAM_B, region=f"r-{n}") for n in range(20)
    ]
    found = sound.wrong()
    assert list(found) == [f"member {TEAM_A} eu-central-1"]
    assert len(sweep.asked) == 4


def test_members_without_an_external_id(hub: tuple[SetUp, Sweep]) -> None:
    sound, _ = hub
    sound.parameter("ExternalId", "")
    assert list(sound.wrong()) == ["external id"]


@pytest.mark.parametrize("how", ["deleted", "disabled"])
def test_a_hub_that_does_not_hear_its_members(hub: tuple[SetUp, Sweep], how: str) -> None:
    sound, _ = hub
    events = boto3.client("events", REGION)
    if how == "disabled":
        events.disable_rule(Name=HUB_RULE, EventBusName=HUB_BUS)
    else:
        events.remove_targets(Rule=HUB_RULE, EventBusName=HUB_BUS, Ids=["Intake"])
        events.delete_rule(Name=HUB_RULE, EventBusName=HUB_BUS)
    found = sound.wrong()
    assert list(found) == ["hub rule"]
    assert found["hub rule"][0] == "broken"


@pytest.mark.parametrize("how", ["no answer", "no function"])
def test_a_sweep_that_does_not_say_leaves_members_unknown(hub: tuple[SetUp, Sweep], how: str) -> None:
    sound, sweep = hub
    if how == "no answer":
        sweep.answers = False
    else:
        sound.deployed.world.resources["unthrottle"].pop("SweepFunction")
    found = sound.wrong(2)
    assert list(found) == ["members"]
    assert found["members"][0] == "unknown"


def test_a_channel_of_one_account_that_the_app_is_not_in(sound: SetUp) -> None:
    sound.parameter("SlackChannels", f"{TEAM_A}=C0TEAMA")
    found = sound.wrong()
    assert list(found) == ["slack C0TEAMA"]
    assert "invite the app" in found["slack C0TEAMA"][1]


def test_the_real_sweep_answers_for_each_account_and_changes_nothing() -> None:
    """By the real handler, the templates' policies and STS: one member as it must be, one dry, one not set up."""
    said: list[dict[str, Any]] = []

    def watch(rehearsal: Rehearsal, _: object) -> None:
        before = len(rehearsal.gate.calls)
        answer = rehearsal._scene.hosts["SweepFunction"].invoke(question(0))
        said.extend(answer["places"])
        assert {call.call for call in rehearsal.gate.calls[before:]} == {
            "sts.AssumeRole",
            "lambda.GetAccountSettings",
            "lambda.ListFunctions",
            "cloudwatch.DescribeAlarms",
        } | ({"lambda.GetFunction"} if rehearsal.account.functions else set())

    members = [
        {"account": {"id": TEAM_A}},
        {"account": {"id": TEAM_B}, "mode": "dry-run"},
        {"account": {"id": "444444444444"}, "state": "not-set-up"},
    ]
    outcome = rehearse(
        Scenario.model_validate(
            {"version": 1, "name": "x", "minutes": 1, "settings": {"Mode": "auto"}, "members": members}
        ),
        watch=watch,
    )
    assert [(bool(one["observer"]), bool(one["actor"])) for one in said] == [
        (False, False),
        (False, False),
        (False, True),
        (True, True),
    ]
    assert outcome["mutations"] == []


def test_a_strange_question_is_answered_from_the_start() -> None:
    class Nothing:
        def observe(self, *_: str) -> Any:
            raise AssertionError

    assert reach(Nothing(), [], {"detail": {"skip": -3}}, any_function=lambda *_: None) == []  # type: ignore[arg-type]
