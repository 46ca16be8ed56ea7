"""What is deployed: five functions that survive the incident, rules that wake them, a table that is kept."""

from typing import Any

import pytest

from tests.template.resolved import hub

NAMES = ["IntakeFunction", "RespondFunction", "SlackFunction", "SweepFunction", "AuditFunction"]
FAILURES = {"Fn::GetAtt": ["FailuresQueue", "Arn"]}
ALARM_SWITCHES = {
    "TableWriteThrottlesAlarm": "AlarmTableWriteThrottles",
    "TableReadThrottlesAlarm": "AlarmTableReadThrottles",
    "IndexWriteThrottlesAlarm": "AlarmIndexWriteThrottles",
    "IndexReadThrottlesAlarm": "AlarmIndexReadThrottles",
    "LambdaThrottlesAlarm": "AlarmLambdaThrottles",
    "LambdaConcurrencyAlarm": "AlarmLambdaConcurrency",
}


def _of_type(resources: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name: r["Properties"] for name, r in resources.items() if r["Type"] == kind}


def test_there_are_five_functions_cut_by_privilege(functions: dict[str, dict[str, Any]]) -> None:
    assert sorted(functions) == sorted(NAMES)
    assert {name: f["Role"] for name, f in functions.items()} == {
        name: {"Fn::GetAtt": [f"{name}Role", "Arn"]} for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_function_runs_on_python_3_13_and_arm64_with_the_layer(
    functions: dict[str, dict[str, Any]], name: str
) -> None:
    assert functions[name]["Runtime"] == "python3.13"
    assert functions[name]["Architectures"] == ["arm64"]
    assert functions[name]["Layers"][0]["Ref"].startswith("UnthrottleLayer")


@pytest.mark.parametrize("name", NAMES)
def test_every_function_keeps_concurrency_of_its_own(functions: dict[str, dict[str, Any]], name: str) -> None:
    condition, reserved, otherwise = functions[name]["ReservedConcurrentExecutions"]["Fn::If"]
    assert (condition, otherwise) == ("IsReserving", {"Ref": "AWS::NoValue"})
    assert reserved >= 1


def test_the_parameter_names_the_sum_of_all_reservations(
    functions: dict[str, dict[str, Any]], parameters: dict[str, dict[str, Any]]
) -> None:
    total = sum(f["ReservedConcurrentExecutions"]["Fn::If"][1] for f in functions.values())
    assert f"{total} concurrent executions" in parameters["ReserveConcurrency"]["Description"]
    assert parameters["ReserveConcurrency"]["Default"] == "true"


def test_a_small_account_is_deployed_without_any_reservation_and_with_the_alarm_that_says_what_that_costs() -> None:
    """AWS refuses a reservation that leaves less than its floor unreserved: with a limit of 10 or 50 that is any."""
    topic = "arn:aws:sns:eu-west-1:111122223333:on-call"
    small, usual = hub(ReserveConcurrency="false", EscalationTopicArn=topic), hub(EscalationTopicArn=topic)
    reserved = {key: usual.resources[key]["Properties"]["ReservedConcurrentExecutions"] for key in usual.functions}
    assert sum(reserved.values()) == 14
    assert not any("ReservedConcurrentExecutions" in small.resources[key]["Properties"] for key in small.functions)
    assert "OwnThrottlesAlarm" in small.resources


@pytest.mark.parametrize("name", NAMES)
def test_every_function_has_a_failure_destination(
    resources: dict[str, Any], functions: dict[str, dict[str, Any]], name: str
) -> None:
    asynchronous = resources[f"{name}EventInvokeConfig"]["Properties"]
    destination = asynchronous.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    dead_letters = functions[name].get("DeadLetterConfig", {}).get("TargetArn")
    assert FAILURES in (destination, dead_letters)
    assert asynchronous["MaximumEventAgeInSeconds"] <= 3600


@pytest.mark.parametrize("name", NAMES)
def test_every_functions_log_is_kept_for_a_set_time(
    resources: dict[str, Any], functions: dict[str, dict[str, Any]], name: str
) -> None:
    group = resources[functions[name]["LoggingConfig"]["LogGroup"]["Ref"]]
    assert group["Type"] == "AWS::Logs::LogGroup"
    assert group["Properties"]["RetentionInDays"] == {"Ref": "RetentionDays"}


@pytest.mark.parametrize("name", NAMES)
def test_the_bot_is_protected_from_itself(functions: dict[str, dict[str, Any]], name: str) -> None:
    assert {"Key": "unthrottle:protected", "Value": "true"} in functions[name]["Tags"]


def test_the_workflow_is_durable_and_called_by_its_alias(
    resources: dict[str, Any], functions: dict[str, dict[str, Any]]
) -> None:
    assert resources["RespondFunctionAliaslive"]["Properties"]["Name"] == "live"
    assert functions["RespondFunction"]["DurableConfig"]["RetentionPeriodInDays"] <= 90
    for name in ("IntakeFunction", "SlackFunction", "SweepFunction"):
        assert functions[name]["Environment"]["Variables"]["UNTHROTTLE_RESPOND_FUNCTION"] == {
            "Ref": "RespondFunctionAliaslive"
        }
    assert [name for name, f in functions.items() if "DurableConfig" in f] == ["RespondFunction"]
    assert [name for name, f in functions.items() if "FunctionName" in f] == []  # a replacement needs a free name


def test_an_execution_outlives_the_longest_approval_and_lease(
    functions: dict[str, dict[str, Any]], parameters: dict[str, dict[str, Any]]
) -> None:
    longest = sum(parameters[name]["MaxValue"] for name in ("ApprovalMinutes", "OnDemandLeaseMinutes")) * 60
    timeout = functions["RespondFunction"]["DurableConfig"]["ExecutionTimeout"]
    assert 2 * longest < timeout <= 31_622_400  # AWS: at most 366 days


@pytest.mark.parametrize("detail_type", ["CloudWatch Alarm State Change", "CloudWatch Alarm Contributor State Change"])
def test_both_kinds_of_alarm_event_wake_intake_and_none_is_lost(resources: dict[str, Any], detail_type: str) -> None:
    rules = _of_type(resources, "AWS::Events::Rule").values()
    (rule,) = [r for r in rules if r.get("EventPattern", {}).get("detail-type") == [detail_type]]
    assert rule["EventPattern"] == {
        "source": ["aws.cloudwatch"],
        "detail-type": [detail_type],
        "detail": {"state": {"value": ["ALARM"]}},
    }
    (target,) = rule["Targets"]
    assert target["Arn"] == {"Fn::GetAtt": ["IntakeFunction", "Arn"]}
    assert target["DeadLetterConfig"] == {"Arn": FAILURES}
    assert target["RetryPolicy"]["MaximumRetryAttempts"] > 0


def test_the_sweep_runs_every_five_minutes_and_the_audit_every_week(resources: dict[str, Any]) -> None:
    rules = _of_type(resources, "AWS::Events::Rule")
    assert rules["SweepFunctionEveryFiveMinutes"]["ScheduleExpression"] == "rate(5 minutes)"
    assert rules["AuditFunctionMondayMorning"]["ScheduleExpression"] == "cron(0 6 ? * MON *)"


def test_strangers_cannot_use_up_the_slack_functions_slots(resources: dict[str, Any]) -> None:
    settings = resources["SlackApiApiGatewayDefaultStage"]["Properties"]["DefaultRouteSettings"]
    assert settings == {"ThrottlingRateLimit": 10, "ThrottlingBurstLimit": 20}


def test_the_incidents_table_cannot_throttle_be_lost_or_grow_for_ever(resources: dict[str, Any]) -> None:
    table = resources["IncidentsTable"]
    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert table["Properties"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["Properties"]["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["Properties"]["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert [key["AttributeName"] for key in table["Properties"]["KeySchema"]] == ["pk", "sk"]


@pytest.mark.parametrize(("alarm", "switch"), ALARM_SWITCHES.items(), ids=ALARM_SWITCHES)
def test_every_default_alarm_can_be_left_out_and_names_its_price(
    resources: dict[str, Any],
    template: dict[str, Any],
    parameters: dict[str, dict[str, Any]],
    alarm: str,
    switch: str,
) -> None:
    condition = resources[alarm]["Condition"]
    assert template["Conditions"][condition] == {"Fn::Equals": [{"Ref": switch}, "true"]}
    assert parameters[switch]["Default"] == "true"
    assert "USD a month" in parameters[switch]["Description"]


@pytest.mark.parametrize("alarm", ALARM_SWITCHES)
def test_default_alarms_take_silence_for_peace(resources: dict[str, Any], alarm: str) -> None:
    assert resources[alarm]["Properties"]["TreatMissingData"] == "notBreaching"


@pytest.mark.parametrize("alarm", ALARM_SWITCHES)
def test_default_alarms_cover_everything_without_listing_anything(resources: dict[str, Any], alarm: str) -> None:
    properties = resources[alarm]["Properties"]
    if "Metrics" in properties:
        (query,) = properties["Metrics"]
        assert " GROUP BY TableName" in query["Expression"]
        assert "WHERE" not in query["Expression"]
        assert ("Index" in alarm) == ("GROUP BY TableName, GlobalSecondaryIndexName" in query["Expression"])
    else:
        assert properties["Namespace"] == "AWS/Lambda"
        assert "Dimensions" not in properties


def test_failures_of_the_bot_itself_page_a_person(resources: dict[str, Any]) -> None:
    alarm = resources["FailuresAlarm"]
    assert alarm["Condition"] == "HasEscalationTopic"
    assert alarm["Properties"]["AlarmActions"] == [{"Ref": "EscalationTopicArn"}]
