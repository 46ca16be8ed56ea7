"""The sandbox runs what the template deploys: its roles, rules, schedules, alarms and environments."""

from typing import Any

import pytest

from sandbox.rehearsal.intrinsics import NO_VALUE, Resolver, UnresolvedError
from sandbox.rehearsal.parameters import TEMPLATE, checked, deployed
from sandbox.rehearsal.stack import Stack
from unthrottle.errors import SettingsError

SUPPLIED = {"SlackChannel": "C0OPS", "SlackSecretArn": "arn:aws:secretsmanager:eu-west-1:111122223333:secret:slack"}


def stack(**settings: object) -> Stack:
    parameters = deployed(checked(settings, None), SUPPLIED, 1000)
    return Stack(TEMPLATE, parameters, account="111122223333", region="eu-west-1")


def test_in_dry_run_there_is_no_actor_role() -> None:
    assert not any(arn.endswith("-actor") for arn in stack().role_arns.values())
    assert any(arn.endswith("-actor") for arn in stack(Mode="auto").role_arns.values())


def test_alarms_of_both_kinds_go_to_intake_and_the_sweep_comes_every_five_minutes() -> None:
    deployment = stack()
    kinds = {rule.pattern["detail-type"][0] for rule in deployment.rules if rule.target == "IntakeFunction"}
    assert kinds == {"CloudWatch Alarm State Change", "CloudWatch Alarm Contributor State Change"}
    assert [(one.every_minutes, one.target) for one in deployment.schedules] == [(5, "SweepFunction")]


def test_an_alarm_that_is_switched_off_is_not_there() -> None:
    assert "LambdaThrottlesAlarm" in stack().alarms
    assert "LambdaThrottlesAlarm" not in stack(AlarmLambdaThrottles=False).alarms


def test_settings_reach_the_functions_as_environment_variables() -> None:
    environment = stack(Mode="approve", MaxPoolShare=40).functions["RespondFunction"].environment
    assert environment["UNTHROTTLE_MODE"] == "approve"
    assert environment["UNTHROTTLE_MAX_POOL_SHARE"] == "40"
    assert environment["UNTHROTTLE_SLACK_CHANNEL"] == "C0OPS"
    assert all(isinstance(value, str) for value in environment.values())


def test_intake_starts_respond_by_its_alias() -> None:
    variables = stack().functions["IntakeFunction"].environment
    assert variables["UNTHROTTLE_RESPOND_FUNCTION"].endswith(":function:unthrottle-RespondFunction:live")


def test_a_mode_given_on_the_command_line_is_put_over_the_scenarios() -> None:
    assert checked({"Mode": "auto"}, "dry-run") == {"Mode": "dry-run"}


def test_a_wrong_value_is_refused_before_anything_runs() -> None:
    with pytest.raises(SettingsError, match="MaxPoolShare"):
        checked({"MaxPoolShare": 0}, None)


def resolver() -> Resolver:
    names: dict[str, object] = {"Name": "x", "List": ["a", "b"], "AWS::Region": "eu-west-1", "Empty": ""}
    conditions = {"IsX": {"Fn::Equals": [{"Ref": "Name"}, "x"]}, "IsNot": {"Fn::Not": [{"Condition": "IsX"}]}}
    return Resolver(names=names, conditions=conditions, attribute=lambda resource, name: f"{resource}/{name}")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"Ref": "Name"}, "x"),
        ({"Ref": "List"}, ["a", "b"]),
        ({"Ref": "AWS::NoValue"}, NO_VALUE),
        ({"Fn::GetAtt": ["Table", "Arn"]}, "Table/Arn"),
        ({"Fn::GetAtt": "Table.Arn"}, "Table/Arn"),
        ({"Fn::Sub": "${Name}-${AWS::Region}-${Table.Arn}-${!Kept}"}, "x-eu-west-1-Table/Arn-${Kept}"),
        ({"Fn::Sub": ["${A}/${Name}", {"A": {"Ref": "Name"}}]}, "x/x"),
        ({"Fn::Join": [",", {"Ref": "List"}]}, "a,b"),
        ({"Fn::Select": [1, {"Ref": "List"}]}, "b"),
        ({"Fn::Split": [",", "a,b"]}, ["a", "b"]),
        ({"Fn::If": ["IsX", 1, 2]}, 1),
        ({"Fn::If": ["IsNot", 1, 2]}, 2),
        ({"a": {"Fn::If": ["IsNot", 1, {"Ref": "AWS::NoValue"}]}, "b": 2}, {"b": 2}),
        ([{"Ref": "AWS::NoValue"}, 3], [3]),
    ],
)
def test_an_intrinsic_function_is_resolved(value: Any, found: Any) -> None:
    assert resolver().resolve(value) == found


def test_an_unknown_function_or_condition_is_an_error_and_never_empty() -> None:
    with pytest.raises(UnresolvedError, match="Fn::ImportValue"):
        resolver().resolve({"Fn::ImportValue": "x"})
    with pytest.raises(UnresolvedError, match="IsMissing"):
        resolver().holds("IsMissing")
