"""`unthrottle audit --from`: what would have been concluded and done, with what could be seen then."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from cli.main import run
from sandbox.aws.calls import Respond
from tests.audit.world import HOG, NOW, PIPES, AuditWorld, quiet_pool, starve

ONSETS = [NOW - timedelta(days=33, hours=3), NOW - timedelta(days=19, hours=5), NOW - timedelta(days=2, hours=8)]


def relived(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    run(["audit", "--json", "--quiet", *more])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def five_weeks(long_world: AuditWorld) -> AuditWorld:
    quiet_pool(long_world)
    for onset in ONSETS:
        starve(long_world, onset)
    return long_world


def test_five_weeks_hold_three_incidents_each_with_the_right_function(
    five_weeks: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    found = relived(capsys, "--from", "5w")
    incidents = found["incidents"]
    assert [one["from"] for one in incidents] == [onset.isoformat() for onset in ONSETS]
    assert [one["cause"] for one in incidents] == ["pool-hog"] * 3
    assert [one["targets"] for one in incidents] == [[HOG]] * 3
    assert [sorted(one["victims"]) for one in incidents] == [PIPES] * 3
    assert [one["verdict"] for one in incidents] == ["allowed"] * 3
    assert found["summary"]["would_act"] == 3
    assert five_weeks.mutations() == []


def test_where_cloudwatch_keeps_no_minutes_that_is_said_and_the_confidence_is_lower(
    five_weeks: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    old, _, fresh = relived(capsys, "--from", "5w")["incidents"]
    assert (old["resolution_s"], old["confidence"]) == (300, "medium")
    assert any("keeps no minutes of that time" in gap for gap in old["gaps"])
    assert (fresh["resolution_s"], fresh["confidence"]) == (60, "high")
    assert not any("keeps no minutes" in gap for gap in fresh["gaps"])


def test_each_is_looked_at_when_its_alarm_would_have_rung_and_minutes_after_are_counted_as_saved(
    five_weeks: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh = relived(capsys, "--from", "5d")["incidents"][0]
    onset = ONSETS[2]
    assert fresh["looked_at"] == (onset + timedelta(minutes=4)).isoformat()
    assert (fresh["throttled_minutes"], fresh["minutes_saved"]) == (30, 24)


def test_what_came_later_is_not_looked_at(five_weeks: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """The same past, with another ending: a second function takes over right after the look."""
    before = relived(capsys, "--from", "5d")["incidents"][0]
    later = ONSETS[2] + timedelta(minutes=3)
    five_weeks.put("ConcurrentExecutions", {"FunctionName": PIPES[0]}, later, [900.0] * 20)
    five_weeks.put("ConcurrentExecutions", {"FunctionName": HOG}, later, [1.0] * 20)
    after = relived(capsys, "--from", "5d")["incidents"][0]
    same = ("looked_at", "cause", "confidence", "targets", "victims", "findings", "plan", "verdict")
    assert [after[key] for key in same] == [before[key] for key in same]


def test_a_single_throttled_minute_is_no_incident(long_world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    quiet_pool(long_world)
    long_world.put("Throttles", {}, NOW - timedelta(days=3), [5.0], "sum")
    assert run(["audit", "--quiet", "--from", "7d"]) == 0
    assert "No incident: nothing was throttled long enough for an alarm." in capsys.readouterr().out


def test_a_short_one_of_which_no_minutes_are_kept_is_told_with_its_doubt(
    long_world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet_pool(long_world)
    starve(long_world, NOW - timedelta(days=20), minutes=1)
    (one,) = relived(capsys, "--from", "25d")["incidents"]
    assert "whether in two of three minutes, so that an alarm would have rung, can no longer be told" in one["gaps"][0]


def test_a_guardrail_that_would_have_held_it_back_is_named(
    five_weeks: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    five_weeks.account.functions[HOG].tags["unthrottle:protected"] = "true"
    found = relived(capsys, "--from", "5d")
    one = found["incidents"][0]
    assert one["verdict"] == "denied"
    assert [reason["guardrail"] for reason in one["reasons"]] == ["protected"]
    assert one["minutes_saved"] == 0
    assert found["summary"]["needs_a_person"] == 1


def test_two_incidents_within_the_cooldown_are_acted_on_once(
    world: AuditWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet_pool(world)
    first = NOW - timedelta(days=3, hours=6)
    starve(world, first, minutes=8)
    starve(world, first + timedelta(minutes=60), minutes=8, before=50)
    monkeypatch.setenv("UNTHROTTLE_COOLDOWN_MINUTES", "120")
    incidents = relived(capsys, "--from", "5d")["incidents"]
    assert [one["verdict"] for one in incidents] == ["allowed", "denied"]
    assert [reason["guardrail"] for reason in incidents[1]["reasons"]] == ["cooldown"]


def test_alarms_that_rang_are_named_with_the_incident(
    five_weeks: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    view = {"AlarmName": "team-lambda", "Namespace": "AWS/Lambda", "MetricName": "Throttles", "Threshold": 0.0}
    answer = Respond(parsed={"MetricAlarms": [view], "CompositeAlarms": []})
    five_weeks.gate.handlers.insert(0, lambda request: answer if request.call == "cloudwatch.DescribeAlarms" else None)
    five_weeks.rang.append(("team-lambda", ONSETS[2] + timedelta(minutes=3)))
    five_weeks.rang.append(("unrelated", ONSETS[2] + timedelta(minutes=3)))
    assert relived(capsys, "--from", "5d")["incidents"][0]["alarms"] == ["team-lambda"]


def alarmed(world: AuditWorld, name: str, **facts: Any) -> None:
    """Let the account have this alarm alone."""
    answer = Respond(parsed={"MetricAlarms": [{"AlarmName": name, "Threshold": 0.0, **facts}], "CompositeAlarms": []})
    world.gate.handlers.insert(0, lambda request: answer if request.call == "cloudwatch.DescribeAlarms" else None)


LAMBDA = {"Namespace": "AWS/Lambda", "MetricName": "Throttles"}
TABLES = {
    "Metrics": [
        {
            "Id": "q",
            "Expression": 'SELECT SUM(WriteThrottleEvents) FROM SCHEMA("AWS/DynamoDB", TableName) GROUP BY TableName',
        }
    ]
}


def test_an_incident_begins_when_its_alarm_rang_and_elsewhere_by_the_metrics(
    five_weeks: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A slow alarm of a team rang eleven minutes after the onset; of what is older than 30 days no history is kept."""
    alarmed(five_weeks, "team-lambda", **LAMBDA)
    for onset in ONSETS:
        five_weeks.rang.append(("team-lambda", onset + timedelta(minutes=11, seconds=20)))
    incidents = relived(capsys, "--from", "5w")["incidents"]
    assert [one["began_by"] for one in incidents] == ["metrics", "alarm", "alarm"]
    assert [one["alarms"] for one in incidents] == [[], ["team-lambda"], ["team-lambda"]]
    assert [one["looked_at"] for one in incidents[1:]] == [
        (onset + timedelta(minutes=12)).isoformat() for onset in ONSETS[1:]
    ]
    assert incidents[2]["minutes_saved"] == 16
    assert [one["targets"] for one in incidents] == [[HOG]] * 3


def test_one_throttled_minute_is_an_incident_when_an_alarm_rang_for_it(
    long_world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet_pool(long_world)
    at = NOW - timedelta(days=3)
    long_world.put("Throttles", {}, at, [5.0], "sum")
    alarmed(long_world, "touchy", **LAMBDA)
    long_world.rang.append(("touchy", at + timedelta(minutes=2)))
    (one,) = relived(capsys, "--from", "7d")["incidents"]
    assert (one["began_by"], one["throttled_minutes"]) == ("alarm", 1)


def test_alarms_of_other_things_begin_no_incident(five_weeks: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    alarmed(five_weeks, "errors", Namespace="AWS/Lambda", MetricName="Errors")
    five_weeks.rang.append(("errors", ONSETS[2] + timedelta(minutes=1)))
    one = relived(capsys, "--from", "5d")["incidents"][0]
    assert (one["began_by"], one["alarms"]) == ("metrics", [])


def test_a_warning_while_nothing_was_throttled_is_told_and_is_no_incident(
    long_world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet_pool(long_world)
    alarmed(long_world, "early", Namespace="AWS/Lambda", MetricName="ConcurrentExecutions")
    long_world.rang.append(("early", NOW - timedelta(days=3)))
    found = relived(capsys, "--from", "7d")
    assert found["incidents"] == []
    assert any(
        "Rang while no throttle is known" in note and "early at 2026-08-21 10:00" in note for note in found["notes"]
    )


def test_an_early_warning_begins_the_incident_where_it_may_act_on_one(
    five_weeks: AuditWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alarmed(five_weeks, "early", Namespace="AWS/Lambda", MetricName="ConcurrentExecutions")
    five_weeks.rang.append(("early", ONSETS[2] - timedelta(minutes=4)))
    one = relived(capsys, "--from", "5d")["incidents"][0]
    assert (one["began_by"], one["alarms"]) == ("metrics", ["early"])
    monkeypatch.setenv("UNTHROTTLE_ACT_BEFORE_THROTTLING", "true")
    one = relived(capsys, "--from", "5d")["incidents"][0]
    assert one["began_by"] == "alarm"
    assert one["looked_at"] == (ONSETS[2] - timedelta(minutes=3)).isoformat()


def test_a_table_of_an_alarm_over_all_tables_begins_when_the_table_itself_did(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    onset = NOW - timedelta(days=2)
    for number, name in enumerate(("first", "second")):
        world.account.add_table(name, billing="provisioned", read=10, write=10)
        begins = onset + timedelta(minutes=5 * number)
        world.put("WriteThrottleEvents", {"TableName": name}, begins, [30.0] * 20, "sum")
    alarmed(world, "tables", **TABLES)
    world.rang.append(("tables", onset + timedelta(minutes=2)))
    world.rang_for_table.append(("tables", onset + timedelta(minutes=2), "first"))
    world.rang_for_table.append(("tables", onset + timedelta(minutes=12), "second"))
    incidents = relived(capsys, "--from", "5d")["incidents"]
    assert [(one["resource"], one["began_by"], one["looked_at"]) for one in incidents] == [
        ("first", "alarm", (onset + timedelta(minutes=3)).isoformat()),
        ("second", "alarm", (onset + timedelta(minutes=13)).isoformat()),
    ]


def test_the_page_draws_each_incident_and_all_of_them(
    five_weeks: AuditWorld, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "past.html"
    found = relived(capsys, "--from", "5w", "--html", str(file))
    page = file.read_text(encoding="utf-8")
    assert page.count("<svg") == 1 + 3
    assert "Incidents over the window, as high as their throttled minutes: at most 30" in page
    assert page.count("<figcaption>Throttles in each minute: at most 400") == 1
    assert page.count("<figcaption>Throttles in each 5 minutes: at most 2,000") == 2
    assert f">looked at {ONSETS[2] + timedelta(minutes=4):%H:%M}</text>" in page
    assert "<script" not in page
    fresh = found["incidents"][2]
    assert fresh["throttles_over_time"] == {"from": fresh["from"], "period_s": 60, "values": [400.0] * 30}
    drawing = ET.fromstring("<svg" + page.rsplit("<svg", 1)[1].split("</svg>")[0] + "</svg>")
    bars = [bar.get("fill") for bar in drawing.iter("rect")]
    assert (bars.count("var(--bad)"), bars.count("var(--good)")) == (6, 24)


def test_a_table_that_was_provisioned_then_is_judged_as_provisioned(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Today it is on-demand; its metrics tell the capacity of then."""
    world.account.add_table("orders", billing="on-demand")
    onset = NOW - timedelta(days=2)
    name = {"TableName": "orders"}
    first = onset - timedelta(hours=3)
    world.put("ConsumedWriteCapacityUnits", name, first, [20 * 60.0] * 180 + [50 * 60.0] * 20, "sum")
    world.put("ConsumedReadCapacityUnits", name, first, [60.0] * 200, "sum")
    for metric, units in (("ProvisionedWriteCapacityUnits", 50.0), ("ProvisionedReadCapacityUnits", 100.0)):
        world.put(metric, name, first, [units if minute % 5 == 0 else None for minute in range(200)])
    for metric in ("WriteThrottleEvents", "WriteProvisionedThroughputThrottleEvents"):
        world.put(metric, name, onset, [300.0] * 20, "sum")
    one = relived(capsys, "--from", "5d")["incidents"][0]
    assert (one["resource"], one["cause"], one["plan"]["action"]) == (
        "orders",
        "provisioned-capacity",
        "switch-to-on-demand",
    )
    assert one["plan"]["changes"] == [{"target": "orders", "before": "provisioned", "after": "on-demand"}]
    assert one["cost_usd"] is not None
    assert one["cost_usd"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--to", "1d"], "--to needs --from", id="an end without a beginning"),
        pytest.param(["--from", "yesterday"], "'yesterday' is no time", id="no time"),
        pytest.param(["--from", "1d", "--to", "2d"], "is not before", id="the wrong way round"),
        pytest.param(["--from", "2031-01-01"], "has not happened yet", id="the future"),
    ],
)
def test_a_window_that_is_none_is_wrong_input(
    world: AuditWorld, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(["audit", *arguments]) == 1
    assert words in capsys.readouterr().err
