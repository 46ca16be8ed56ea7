"""What a rehearsal promises: the public format, the order of a minute, and that nothing reaches outside the sandbox."""

import json
import os
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sandbox.rehearsal import rehearse
from sandbox.scenario import load
from unthrottle.errors import SettingsError

POOL = """
version: 1
name: one function takes the pool
start: 2026-08-24T04:00:00Z
minutes: 60
settings: {Mode: auto}
functions:
  - name: hog
    trigger: {type: eventbridge}
    duration_ms: 45000
    async: {on_failure: true}
    demand: [[0, 20], [15, 2000]]
  - {name: "victim-{i:02d}", count: 12, trigger: {type: msk, partitions: 3}, duration_ms: 900, demand: [[0, 3]]}
"""

TABLE = """
version: 1
name: a table out of writes
minutes: 50
settings: {Mode: auto}
tables:
  - name: dagy-runs-develop
    read: 100
    write: 50
    demand: {write: [[0, 20], [15, 200]], read: [[0, 40]]}
"""

QUIET = """
version: 1
name: nothing happens
minutes: 12
settings: {Mode: auto}
functions: [{name: calm, trigger: {type: eventbridge}, demand: [[0, 5]]}]
"""


@pytest.fixture
def play(tmp_path: Path) -> Any:
    """Play a scenario given as text."""

    def played(text: str, *, more: str = "", mode: str | None = None, engine: Any = "simulated") -> dict[str, Any]:
        file = tmp_path / "scenario.yaml"
        file.write_text(text + more, encoding="utf-8")
        return rehearse(load(file), mode=mode, engine=engine)

    return played


@cache
def pool(mode: str | None = None, engine: Any = "simulated") -> dict[str, Any]:
    """Play the pool scenario once for all tests that only look at it."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pool.yaml"
        file.write_text(POOL, encoding="utf-8")
        return rehearse(load(file), mode=mode, engine=engine)


def test_the_outcome_holds_every_key_of_the_format() -> None:
    outcome = pool()
    assert {
        "name", "file", "minutes", "expectation", "unmet", "incidents", "mutations", "aws_calls",
        "aws_calls_until_action", "dagy_calls", "slack", "escalations", "final",
    } <= set(outcome)  # fmt: skip
    assert set(outcome["final"]) == {"functions", "tables", "backfills", "throttled_minutes"}
    assert {
        "id", "fingerprint", "kind", "opened_minute", "closed_minute", "triggers", "cause", "confidence", "targets",
        "victims", "findings", "rejected", "plan", "verdict", "reasons", "status", "acted_minute", "outcome",
        "recovered_minute", "escalated", "reverted_minute", "timeline",
    } <= set(outcome["incidents"][0])  # fmt: skip


def test_the_outcome_is_plain_json() -> None:
    assert json.loads(json.dumps(pool(), allow_nan=False)) == pool()


def test_the_alarm_goes_the_real_way_to_a_change_in_the_account() -> None:
    outcome = pool()
    (incident,) = outcome["incidents"]
    (change,) = outcome["mutations"]
    assert (incident["cause"], incident["status"]) == ("pool-hog", "applied")
    assert change["call"] == "lambda.PutFunctionConcurrency"
    assert change["parameters"] == {"FunctionName": "hog", "ReservedConcurrentExecutions": 250}
    assert (change["result"], change["incident"], change["role"]) == ("ok", incident["id"], "actor")
    assert outcome["final"]["functions"]["hog"]["reserved"] == 250
    assert outcome["errors"] == []


def test_minutes_count_from_the_start_and_follow_each_other() -> None:
    """Throttling begins in minute 15, is complete in 16, is shown two minutes late, and two of three must breach."""
    (incident,) = pool()["incidents"]
    assert incident["opened_minute"] == 19
    assert incident["opened_minute"] <= incident["acted_minute"] < incident["recovered_minute"]
    minutes = [moment["minute"] for moment in incident["timeline"]]
    assert minutes == sorted(minutes)
    assert incident["closed_minute"] is None


def test_a_change_counts_from_its_own_minute_on() -> None:
    """Throttled from minute 15 up to the one before the cap; a capped target's own throttles do not count."""
    outcome = pool()
    acted = outcome["incidents"][0]["acted_minute"]
    assert outcome["final"]["throttled_minutes"] == {"lambda": acted - 15, "dynamodb": 0}


def test_calls_until_the_action_are_those_that_looked() -> None:
    outcome = pool()
    (incident,) = outcome["incidents"]
    assert 2 <= outcome["aws_calls_until_action"][incident["id"]] <= 9
    # To look and to act for the incident; for the sweep to look at alarms, at what is out, and whether it came back.
    assert outcome["aws_calls"]["sts.AssumeRole"] == 5


def test_a_dry_run_changes_nothing_and_says_what_it_would_do() -> None:
    outcome = pool(mode="dry-run")
    assert outcome["mutations"] == []
    assert outcome["incidents"][0]["status"] == "would-apply"
    assert outcome["final"]["functions"]["hog"]["reserved"] is None
    assert outcome["slack"]


def test_the_durable_sdk_and_simulated_time_give_the_same_outcome() -> None:
    simulated, durable = dict(pool()), dict(pool(engine="durable"))
    # Only the durable engine checkpoints; the two were also loaded from different files.
    plumbing = {"lambda.CheckpointDurableExecution"}
    for outcome in (simulated, durable):
        outcome["aws_calls"] = {name: n for name, n in outcome["aws_calls"].items() if name not in plumbing}
        outcome.pop("file")
    assert durable == simulated


def test_two_runs_are_the_same_to_the_letter(play: Any) -> None:
    assert play(TABLE) == play(TABLE)


def test_a_quiet_account_leaves_no_trace_but_the_sweep(play: Any) -> None:
    outcome = play(QUIET)
    assert (outcome["incidents"], outcome["mutations"], outcome["slack"], outcome["escalations"]) == ([], [], [], [])
    memory = {"dynamodb.Query", "dynamodb.GetItem", "dynamodb.BatchGetItem"}
    assert set(outcome["aws_calls"]) <= memory | {"cloudwatch.DescribeAlarms", "sts.AssumeRole"}
    assert outcome["expectation"] == "none"


def test_without_alarms_nothing_is_delivered(play: Any) -> None:
    assert play(POOL, more="alarms: none\n")["incidents"] == []


def test_an_expectation_is_judged_on_the_outcome(play: Any) -> None:
    met = play(QUIET, more="expect: {incidents: [], mutations: {length: 0}}\n")
    assert (met["expectation"], met["unmet"]) == ("met", [])
    unmet = play(QUIET, more="expect: {incidents: {length: 2}}\n")
    assert unmet["expectation"] == "not met"
    assert "incidents" in unmet["unmet"][0]


def test_a_switch_of_a_table_shows_in_the_final_state(play: Any) -> None:
    outcome = play(TABLE)
    assert [change["call"] for change in outcome["mutations"]] == ["dynamodb.UpdateTable"]
    assert outcome["final"]["tables"] == {"dagy-runs-develop": {"billing": "on-demand", "read": 0, "write": 0}}
    assert outcome["final"]["throttled_minutes"]["dynamodb"] > 0


def test_a_process_that_dies_after_its_change_resumes_and_ends_as_if_it_had_not(play: Any) -> None:
    calm = play(TABLE)
    died = play(TABLE, more="faults: [{call: dynamodb.UpdateTable, nth: 1, error: crash-after}]\n")
    assert died["mutations"][0]["result"] == "crash-after"
    assert died["final"]["tables"] == calm["final"]["tables"]
    assert died["incidents"][0]["status"] == calm["incidents"][0]["status"]
    assert [one for one in died["errors"] if not one["expected"]] == []


def test_an_intake_that_dies_is_called_again_a_minute_later(play: Any) -> None:
    outcome = play(TABLE, more="faults: [{call: dynamodb.TransactWriteItems, nth: 1, error: crash-before}]\n")
    assert outcome["errors"][0]["expected"] is True
    assert outcome["errors"][0]["function"] == "IntakeFunction"
    assert len(outcome["incidents"]) == 1
    assert outcome["incidents"][0]["opened_minute"] == outcome["errors"][0]["minute"] + 1


def test_what_others_change_is_no_mutation_and_counts_from_its_minute_on(play: Any) -> None:
    more = """outside:
  - {at: 3, set: {function: calm, reserved: 7}}
  - {at: 5, set: {function: calm, reserved: null}}
  - {at: 6, set: {function: calm, reserved: 9}}
"""
    outcome = play(QUIET, more=more)
    assert outcome["mutations"] == []
    assert outcome["final"]["functions"]["calm"] == {"reserved": 9, "event_source": {}}


def test_an_extra_event_goes_on_the_bus_as_it_is(play: Any) -> None:
    more = """events:
  - at: 4
    event: {source: aws.cloudwatch, detail-type: CloudWatch Alarm State Change, account: "111122223333",
            region: eu-west-1, time: "2026-08-24T04:04:00Z", resources: ["arn:aws:cloudwatch:eu-west-1:111122223333:alarm:mine"],
            detail: {alarmName: mine, state: {value: ALARM, timestamp: "2026-08-24T04:04:00.000+0000", reason: because},
                     configuration: {metrics: [{id: m1, metricStat: {metric: {namespace: AWS/Lambda, name: Throttles,
                                     dimensions: {FunctionName: calm}}, period: 60, stat: Sum}, returnData: true}]}}}
  - {at: 5, event: {source: some.thing, detail-type: else, detail: {}}}
"""
    outcome = play(QUIET, more=more)
    (incident,) = outcome["incidents"]
    assert (incident["opened_minute"], incident["cause"]) == (4, "already-over")


def test_the_early_warning_follows_the_accounts_own_limit(play: Any) -> None:
    """80 % of 500 are 400 concurrent executions; the template's default is for a limit of 1,000."""
    scenario = """
version: 1
name: a small account
minutes: 20
settings: {AlarmLambdaThrottles: "false"}
account: {concurrency_limit: 500}
functions: [{name: busy, trigger: {type: eventbridge}, duration_ms: 60000, demand: [[0, 10], [5, 420]]}]
"""
    outcome = play(scenario)
    assert [moment["detail"] for moment in outcome["incidents"][0]["timeline"][:1]] == ["unthrottle-lambda-concurrency"]


def test_an_unknown_setting_is_named_with_what_is_known(play: Any) -> None:
    with pytest.raises(SettingsError, match=r"MaxPoolshare.*MaxPoolShare"):
        play(QUIET.replace("{Mode: auto}", "{MaxPoolshare: 5}"))


def test_the_machines_own_credentials_and_clock_are_left_as_they_were(
    play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://192.0.2.1:1")
    before, year = dict(os.environ), datetime.now().astimezone().year
    play(QUIET)
    assert dict(os.environ) == before
    assert datetime.now().astimezone().year == year


def test_the_bot_logs_nothing_on_the_terminal(play: Any, capsys: pytest.CaptureFixture[str]) -> None:
    play(TABLE)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
