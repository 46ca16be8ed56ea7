"""What alarms watch, when the event did not say."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from sandbox.memory_incidents import MemoryIncidents
from tests.adapters.world import NOW, REGION, Scripted
from tests.unit.fakes import FakeAccounts, observer
from unthrottle import alarms
from unthrottle.adapters.access import Access
from unthrottle.adapters.alarms_api import AwsAlarms
from unthrottle.reopen import Place, reopen
from unthrottle.subjects import FunctionSubject, TableSubject


def table_alarm(name: str, *, state: str = "ALARM", table: str = "runs") -> dict[str, Any]:
    return {
        "AlarmName": name,
        "StateValue": state,
        "Namespace": "AWS/DynamoDB",
        "MetricName": "WriteThrottleEvents",
        "Dimensions": [{"Name": "TableName", "Value": table}],
    }


def describe(script: Scripted, names: list[str], *, metric: Any = (), composite: Any = ()) -> None:
    script.answers(
        "cloudwatch",
        "describe_alarms",
        {"MetricAlarms": list(metric), "CompositeAlarms": list(composite)},
        AlarmNames=names,
        AlarmTypes=["MetricAlarm", "CompositeAlarm"],
    )


def test_a_metric_alarm_gives_what_an_event_would_have_said(script: Scripted, scripted: Access) -> None:
    describe(script, ["runs-writes"], metric=[table_alarm("runs-writes")])

    metrics = AwsAlarms(scripted).metrics_of(["runs-writes"])

    assert metrics == [
        {
            "metricStat": {
                "metric": {
                    "namespace": "AWS/DynamoDB",
                    "name": "WriteThrottleEvents",
                    "dimensions": {"TableName": "runs"},
                }
            }
        }
    ]
    found = alarms.subjects_of(list(metrics), {})
    assert isinstance(found, alarms.Found)
    assert found.subjects == (TableSubject(table="runs"),)


def test_metric_math_gives_its_metrics_and_its_expression(script: Scripted, scripted: Access) -> None:
    metric = {
        "Namespace": "AWS/Lambda",
        "MetricName": "Throttles",
        "Dimensions": [{"Name": "FunctionName", "Value": "checkout"}],
    }
    alarm = {
        "AlarmName": "rate",
        "Metrics": [
            {"Id": "e1", "Expression": "m1 / 60"},
            {"Id": "m1", "AccountId": "444455556666", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}},
        ],
    }
    describe(script, ["rate"], metric=[alarm])

    metrics = AwsAlarms(scripted).metrics_of(["rate"])

    assert metrics[0] == {"expression": "m1 / 60"}
    found = alarms.subjects_of(list(metrics), {})
    assert isinstance(found, alarms.Found)
    assert (found.subjects, found.account) == ((FunctionSubject(function="checkout"),), "444455556666")


def test_a_composite_is_resolved_to_the_children_that_are_in_alarm(script: Scripted, scripted: Access) -> None:
    rule = (
        'ALARM("runs writes") OR (ALARM(arn:aws:cloudwatch:eu-west-1:111122223333:alarm:flows) AND NOT ALARM(deploy))'
    )
    describe(script, ["any"], composite=[{"AlarmName": "any", "AlarmRule": rule}])
    describe(
        script,
        ["runs writes", "flows", "deploy"],
        metric=[
            table_alarm("runs writes"),
            table_alarm("flows", table="flows", state="OK"),
            table_alarm("deploy", table="deploys", state="INSUFFICIENT_DATA"),
        ],
    )

    found = alarms.subjects_of(list(AwsAlarms(scripted).metrics_of(["any"])), {})

    assert isinstance(found, alarms.Found)
    assert found.subjects == (TableSubject(table="runs"),)


def test_a_composite_over_a_grouped_alarm_is_about_the_contributors_in_alarm(
    script: Scripted, scripted: Access
) -> None:
    """The query names no table; its contributors do, and they are asked for only where it is in ALARM."""

    def grouped(name: str, *, state: str = "ALARM", query: str = "WriteThrottleEvents") -> dict[str, Any]:
        schema = 'SCHEMA("AWS/DynamoDB", TableName)' if "Write" in query else 'SCHEMA("AWS/Lambda", FunctionName)'
        expression = f"SELECT SUM({query}) FROM {schema} GROUP BY TableName"
        return {
            "AlarmName": name,
            "StateValue": state,
            "StateTransitionedTimestamp": NOW,
            "Metrics": [{"Id": "q1", "Expression": expression}],
        }

    describe(script, ["any"], composite=[{"AlarmName": "any", "AlarmRule": "ALARM(fleet) OR ALARM(quiet)"}])
    describe(script, ["fleet", "quiet"], metric=[grouped("fleet"), grouped("quiet", state="OK")])
    contributors = [
        {"ContributorId": name, "ContributorAttributes": {"TableName": name}, "StateReason": ""} for name in ("a", "b")
    ]
    script.answers("cloudwatch", "describe_alarm_contributors", {"AlarmContributors": contributors}, AlarmName="fleet")

    found = alarms.subjects_of(list(AwsAlarms(scripted).metrics_of(["any"])), {})

    assert isinstance(found, alarms.Found)
    assert found.subjects == (TableSubject(table="a"), TableSubject(table="b"))
    describe(script, ["pool"], metric=[grouped("pool", query="Throttles")])
    assert len(AwsAlarms(scripted).metrics_of(["pool"])) == 1


def test_composites_of_composites_end_three_levels_down(script: Scripted, scripted: Access) -> None:
    for level in range(4):
        rule = {"AlarmName": f"level{level}", "AlarmRule": f"ALARM(level{level + 1})"}
        describe(script, [f"level{level}"], composite=[rule])

    assert AwsAlarms(scripted).metrics_of(["level0"]) == []


def test_composites_that_name_each_other_are_asked_once(script: Scripted, scripted: Access) -> None:
    describe(script, ["a"], composite=[{"AlarmName": "a", "AlarmRule": "ALARM(b) OR ALARM(a)"}])
    describe(script, ["b"], composite=[{"AlarmName": "b", "AlarmRule": "ALARM(a)"}])

    assert AwsAlarms(scripted).metrics_of(["a"]) == []


def test_at_most_a_hundred_alarms_are_read(script: Scripted, scripted: Access) -> None:
    rule = " OR ".join(f"ALARM(child{number})" for number in range(300))
    describe(script, ["any"], composite=[{"AlarmName": "any", "AlarmRule": rule}])
    describe(script, [f"child{number}" for number in range(99)])

    assert AwsAlarms(scripted).metrics_of(["any"]) == []


def test_an_alarm_nobody_knows_watches_nothing(script: Scripted, scripted: Access) -> None:
    describe(script, ["gone"])

    assert AwsAlarms(scripted).metrics_of(["gone"]) == []


GROUPED = 'SELECT SUM(WriteThrottleEvents) FROM SCHEMA("AWS/DynamoDB", TableName) GROUP BY TableName'


def ringing(name: str, **more: Any) -> dict[str, Any]:
    return {
        "AlarmName": name,
        "AlarmArn": f"arn:aws:cloudwatch:{REGION}:111122223333:alarm:{name}",
        "StateValue": "ALARM",
        "StateReason": "because",
        "StateTransitionedTimestamp": NOW - timedelta(hours=1),
        **more,
    }


def grouped(name: str) -> dict[str, Any]:
    return ringing(name, Metrics=[{"Id": "q", "Expression": GROUPED, "Period": 60}])


def contributor(name: str) -> dict[str, Any]:
    return {
        "ContributorId": f"id-{name}",
        "ContributorAttributes": {"TableName": name},
        "StateReason": f"{name} is throttled",
        "StateTransitionedTimestamp": NOW - timedelta(minutes=20),
    }


def test_a_grouped_alarm_that_rings_stands_for_its_contributors(script: Scripted, scripted: Access) -> None:
    silenced = {**grouped("silenced"), "ActionsEnabled": False}
    single = {**table_alarm("one"), **ringing("one")}
    script.answers("cloudwatch", "describe_alarms", {"MetricAlarms": [silenced, grouped("fleet"), single]})
    script.answers(
        "cloudwatch",
        "describe_alarm_contributors",
        {"AlarmContributors": [contributor("runs"), contributor("flows")]},
        AlarmName="fleet",
    )

    found = AwsAlarms(scripted).firing()

    assert [(one.name, one.contributor, one.attributes) for one in found] == [
        ("fleet", "id-runs", {"TableName": "runs"}),
        ("fleet", "id-flows", {"TableName": "flows"}),
        ("one", None, {}),
    ]
    assert (found[0].since, found[0].reason) == (NOW - timedelta(minutes=20), "runs is throttled")


def test_a_table_whose_contributors_event_never_came_is_opened_by_the_sweep(script: Scripted, scripted: Access) -> None:
    """A rule of one's own may let only the parent's event through, which names no table."""
    parent = alarms.subjects_of([{"expression": GROUPED}], {})
    assert isinstance(parent, alarms.NotMine)
    assert parent.reason == "contributors-follow"
    script.answers("cloudwatch", "describe_alarms", {"MetricAlarms": [grouped("fleet")]})
    script.answers("cloudwatch", "describe_alarm_contributors", {"AlarmContributors": [contributor("runs")]})
    taken: list[alarms.Trigger] = []

    def take(trigger: alarms.Trigger) -> list[str]:
        taken.append(trigger)
        return ["INC-1"]

    accounts = FakeAccounts(replace(observer(), alarms=AwsAlarms(scripted)))
    place = Place(account="111122223333", region=REGION)

    assert reopen(accounts, MemoryIncidents(), [place], NOW, take) == ("INC-1",)
    assert [trigger.subjects for trigger in taken] == [(TableSubject(table="runs"),)]
