"""A rehearsal of several accounts: each is judged by its own template, and nothing of one is seen in another."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.aws.iam import PolicyGate
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.rehearse import Rehearsal
from sandbox.scenario import Scenario, ScenarioError, load
from sandbox.scenario.format import Slack

SCENARIOS = Path(__file__).parents[1] / "scenarios"
TEAM_A, TEAM_B = "222222222222", "333333333333"


@pytest.fixture(scope="module")
def three() -> tuple[PolicyGate, dict[str, Any]]:
    gates: list[PolicyGate] = []

    def watch(rehearsal: Rehearsal, _: object) -> None:
        gates[:] = [rehearsal.policies]

    outcome = rehearse(load(SCENARIOS / "members-three-accounts.yaml"), watch=watch)
    return gates[0], outcome


def test_calls_to_a_member_are_judged_by_member_yaml_and_none_is_refused(
    three: tuple[PolicyGate, dict[str, Any]],
) -> None:
    gate, outcome = three
    for account in (TEAM_A, TEAM_B):
        assert (f"{account}/actor", "CapAFunctionAndGiveBack", "lambda:PutFunctionConcurrency") in gate.used
        assert (f"{account}/actor", "CapAFunctionAndGiveBack", "lambda:DeleteFunctionConcurrency") in gate.used
        assert (f"{account}/observer", "MeasureThePressure", "cloudwatch:GetMetricData") in gate.used
    assert gate.refusals == []
    assert outcome["errors"] == []


def test_each_account_reports_to_its_own_channel(three: tuple[PolicyGate, dict[str, Any]]) -> None:
    heads = {one["channel"]: one["text"] for one in three[1]["slack"] if one["thread_ts"] is None}
    assert set(heads) == {"C0OPS", "C0TEAMA", "C0TEAMB"}
    by_ts = {one["ts"]: one["channel"] for one in three[1]["slack"] if one["thread_ts"] is None}
    assert all(by_ts[one["thread_ts"]] == one["channel"] for one in three[1]["slack"] if one["thread_ts"])


def test_a_change_is_made_where_the_incident_is_and_nowhere_else(three: tuple[PolicyGate, dict[str, Any]]) -> None:
    places = {one["id"]: (one["account"], one["region"]) for one in three[1]["incidents"]}
    assert len(set(places.values())) == 3
    for change in three[1]["mutations"]:
        assert (change["account"], change["region"]) == places[change["incident"]]


def _played(name: str, **changes: Any) -> dict[str, Any]:
    scenario = load(SCENARIOS / f"members-{name}.yaml").model_copy(update={"expect": {}, **changes})
    return rehearse(scenario)


@pytest.mark.parametrize("action", ["cloudwatch:GetMetricData", "lambda:*", "*:*"])
def test_what_an_organisation_denies_is_denied_whatever_the_role_holds(action: str) -> None:
    scenario = load(SCENARIOS / "members-denies-look.yaml")
    (member,) = scenario.members
    outcome = _played("denies-look", minutes=12, members=[member.model_copy(update={"denies": [action]})])
    (incident,) = outcome["incidents"]
    assert (incident["cause"], incident["escalated"]) == ("inconclusive", True)
    assert outcome["mutations"] == []


def test_what_slack_took_late_stands_in_the_accounts_own_channel_too() -> None:
    scenario = load(SCENARIOS / "members-denies-look.yaml")
    outcome = _played(
        "denies-look",
        minutes=22,
        settings={**scenario.settings, "SlackChannels": f"{TEAM_A}=C0TEAMA"},
        slack=Slack(steps=[(0, "down"), (12, "up")]),
    )
    posted = [one for one in outcome["slack"] if one["method"] == "chat.postMessage"]
    assert posted
    assert {one["channel"] for one in posted} == {"C0TEAMA"}


def test_a_member_that_speaks_of_another_account_is_refused_and_that_is_recorded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", logger="unthrottle")
    outcome = _played("speaks-of-another")
    (record,) = [one for one in caplog.records if one.message == "alarm.not-mine"]
    assert (record.levelname, record.__dict__["reason"]) == ("WARNING", "not-its-own")
    assert f"account {TEAM_A} forwards an alarm about account 111122223333" in record.__dict__["detail"]
    assert outcome["incidents"] == []
    assert outcome["mutations"] == []


def test_a_hub_that_asks_for_its_organisation_hears_its_members() -> None:
    scenario = load(SCENARIOS / "members-denies-look.yaml")
    outcome = _played("denies-look", minutes=12, settings={**scenario.settings, "OrganizationId": "o-a1b2c3d4e5"})
    assert len(outcome["incidents"]) == 1


def _broken(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "scenario.yaml"
    file.write_text(f"version: 1\nname: x\nminutes: 5\n{text}")
    with pytest.raises(ScenarioError) as refused:
        load(file)
    return str(refused.value).splitlines()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('members: [{account: {id: "111122223333"}}]', "'111122223333 eu-west-1' is there 2 times"),
        (
            'members: [{account: {id: "222222222222"}, state: gone}]',
            "allowed: ready, not-set-up, without-roles, suspended",
        ),
        ('members: [{account: {id: "222222222222"}, denies: [lambda]}]', "service:Action"),
        ('members: [{account: {id: "222222222222"}, functions: [{name: "a b"}]}]', "members[0].functions[0].name"),
        ('members: [{account: {id: "222222222222"}, events: [{at: 1, file: no.json}]}]', "members[0].events[0].file"),
        ("members: [{}]", "members[0].account"),
    ],
)
def test_an_impossible_member_is_an_error_that_names_the_key(tmp_path: Path, text: str, words: str) -> None:
    assert any(words in line for line in _broken(tmp_path, text)), _broken(tmp_path, text)


def test_a_scenario_without_members_is_as_before() -> None:
    assert Scenario(version=1, name="x", minutes=5).members == []
