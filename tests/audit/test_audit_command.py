"""`unthrottle audit` as a person types it, against an account behind real boto3."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.main import run
from sandbox.aws.calls import Fault
from tests.audit.world import ACCOUNT, HOG, PIPES, AuditWorld, quiet_pool, starve, tables
from tests.audit.world import NOW as NOON
from tests.report.chromium import dom_of
from unthrottle.adapters.laptop import READS

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "audit.schema.json"


def audited(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    run(["audit", "--json", "--quiet", *more])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def kinds(document: dict[str, Any], resource: str) -> set[str]:
    return {row["kind"] for row in document["exposures"] if row["resource"] == resource}


def test_on_the_day_before_the_incident_the_batch_processor_is_named_first(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet_pool(world)
    tables(world)
    first = audited(capsys)["exposures"][0]
    assert (first["resource"], first["kind"], first["severity"]) == (HOG, "takes-the-pool", "high")
    assert first["owner"] == "roster"
    assert "ReservedConcurrentExecutions: 250" in first["fix"]["cloudformation"]
    assert "reserved_concurrent_executions = 250" in first["fix"]["terraform"]
    assert first["fix"]["cli"].endswith(f"--function-name {HOG} --reserved-concurrent-executions 250")


def test_after_an_incident_it_is_still_the_batch_processor_and_not_the_most_throttled_function(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet_pool(world)
    starve(world, NOON.replace(hour=4))
    found = audited(capsys)
    assert found["exposures"][0]["resource"] == HOG
    assert found["exposures"][0]["title"] == "It took 970 of 1,000 executions"
    for pipe in PIPES:
        assert "starves-first" in kinds(found, pipe)
        assert "takes-the-pool" not in kinds(found, pipe)


def test_no_call_of_an_audit_changes_anything(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    quiet_pool(world)
    tables(world)
    found = audited(capsys)
    assert world.mutations() == []
    assert {call.call for call in world.gate.calls} <= READS
    assert found["aws_calls"] == {
        call: world.gate.count(call) for call in sorted({call.call for call in world.gate.calls})
    }


def test_a_call_that_is_no_read_is_refused_before_it_is_sent(world: AuditWorld) -> None:
    from cli.session import Session
    from unthrottle.adapters.actor import AwsActor
    from unthrottle.errors import NotAllowed

    quiet_pool(world)
    with pytest.raises(NotAllowed, match=r"Refused to send lambda\.PutFunctionConcurrency"):
        AwsActor(Session(None, None).access).set_reserved(HOG, 5)
    assert world.gate.count("lambda.PutFunctionConcurrency") == 0


def test_every_table_exposure_is_found_with_its_numbers(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    tables(world)
    found = audited(capsys)
    assert {"table-near-capacity", "no-autoscaling"} <= kinds(found, "dagy-runs-develop")
    assert "index-smaller-than-table" in kinds(found, "dagy-runs-develop/by-status")
    assert {"on-demand-near-maximum", "no-point-in-time-recovery", "tags-contradict"} <= kinds(found, "orders")
    assert {"autoscaling-at-maximum", "table-near-capacity"} <= kinds(found, "events")
    assert "no-autoscaling" not in kinds(found, "events")
    near = next(
        one for one in found["exposures"] if (one["resource"], one["kind"]) == ("events", "table-near-capacity")
    )
    assert "The busiest hour took 38.0 units/s in the mean (95 % of that), at 2026-08-22 07:00 UTC." in near["evidence"]


def test_reservations_that_do_nothing_and_functions_switched_off_are_named(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet_pool(world)
    world.account.set_reserved(PIPES[0], 300)
    world.account.set_reserved(PIPES[1], 0)
    world.account.set_reserved(PIPES[2], 600)
    found = audited(capsys)
    assert "useless-reservation" in kinds(found, PIPES[0])
    assert "switched-off" in kinds(found, PIPES[1])
    assert kinds(found, "concurrency pool") == {"no-room-above-floor"}


def test_an_account_without_a_reservation_is_not_asked_for_them(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet_pool(world)
    audited(capsys)
    assert world.gate.count("lambda.GetFunctionConcurrency") == 0


def test_what_may_not_be_read_is_named_and_the_rest_goes_on(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet_pool(world)
    tables(world)
    world.gate.faults.append(Fault(call="dynamodb.DescribeContinuousBackups", nth=1, error="AccessDeniedException"))
    world.gate.faults.append(Fault(call="resourcegroupstaggingapi.GetResources", nth=1, error="AccessDeniedException"))
    assert run(["audit", "--json", "--quiet"]) == 3
    found = json.loads(capsys.readouterr().out)
    gaps = " ".join(found["places"][0]["gaps"])
    assert "Not seen: point-in-time recovery." in gaps
    assert "Not seen: tags of functions and tables." in gaps
    assert found["exposures"][0]["resource"] == HOG


def test_a_busy_service_is_asked_again_and_leaves_no_gap(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    tables(world)
    for nth in (1, 2, 3):
        world.gate.faults.append(Fault(call="dynamodb.DescribeTable", nth=nth, error="ThrottlingException"))
        world.gate.faults.append(Fault(call="lambda.ListFunctions", nth=nth, error="TooManyRequestsException"))
    found = audited(capsys)
    assert (found["places"][0]["tables"], found["places"][0]["gaps"]) == (3, [])
    assert world.gate.seconds_slept > 0


def test_the_observer_role_of_the_template_may_make_every_call_of_an_audit(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The role holds reads only, and they suffice."""
    quiet_pool(world)
    tables(world)
    made = {call.replace("resourcegroupstaggingapi.", "tag.") for call in audited(capsys)["aws_calls"]}
    template = (Path(__file__).parents[2] / "template.yaml").read_text(encoding="utf-8")
    role = template.split("  ObserverRole:")[1].split("  ActorRole:")[0]
    granted = {action.replace(":", ".") for action in re.findall(r"[a-z-]+:[A-Z][A-Za-z]+", role)}
    assert made - granted - {"sts.GetCallerIdentity"} == set()


def test_an_account_that_may_not_be_looked_at_is_named_and_the_others_go_on(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet_pool(world)
    world.gate.known_roles = lambda arn: arn.startswith(f"arn:aws:iam::{ACCOUNT}:")
    code = run(["audit", "--json", "--quiet", "--account", ACCOUNT, "--account", "444455556666", "--role", "observer"])
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert code == 2
    assert [place["account"] for place in found["places"]] == [ACCOUNT]
    assert [one["account"] for one in found["failed"]] == ["444455556666"]
    assert "assume the role arn:aws:iam::444455556666:role/observer" in captured.err


def test_a_second_audit_says_what_is_new_and_what_is_gone(
    world: AuditWorld, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    quiet_pool(world)
    tables(world)
    before = tmp_path / "before.json"
    before.write_text(json.dumps(audited(capsys)), encoding="utf-8")
    world.account.set_reserved(HOG, 100)
    world.recovery["events"] = False
    found = audited(capsys, "--against", str(before))
    changes = {row["id"]: row["change"] for row in found["exposures"]}
    assert changes[f"{ACCOUNT}/eu-west-1/no-point-in-time-recovery/events"] == "new"
    assert changes[f"{ACCOUNT}/eu-west-1/no-point-in-time-recovery/orders"] == "same"
    assert [row["id"] for row in found["gone"]] == [f"{ACCOUNT}/eu-west-1/takes-the-pool/{HOG}"]
    assert run(["audit", "--quiet", "--against", str(before)]) == 3
    assert "gone since then: svc-roster-dev-batch-processor" in capsys.readouterr().out


def test_the_document_keeps_to_its_schema(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    import jsonschema  # type: ignore[import-untyped]  # no types are published with it

    quiet_pool(world)
    tables(world)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.validate(audited(capsys), schema)
    starve(world, NOON.replace(hour=4))
    jsonschema.validate(audited(capsys, "--from", "1d"), schema)


def test_an_account_in_which_nothing_is_exposed_exits_with_0(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    world.account.add_table("calm", billing="on-demand")
    world.gate.handlers.insert(0, _all_alarms)
    assert run(["audit", "--quiet"]) == 0
    assert "Nothing is exposed, as far as could be seen." in capsys.readouterr().out


def _all_alarms(request: Any) -> Any:
    from sandbox.aws.calls import Respond

    if request.call != "cloudwatch.DescribeAlarms":
        return None
    queries = [
        f'SELECT SUM({way}ThrottleEvents) FROM SCHEMA("AWS/DynamoDB", {by}) GROUP BY {by} ORDER BY SUM() DESC'
        for way in ("Read", "Write")
        for by in ("TableName", "TableName, GlobalSecondaryIndexName")
    ]
    metrics = [{"Id": "q", "Expression": query, "ReturnData": True} for query in queries]
    alarms = [{"AlarmName": f"fleet-{n}", "Metrics": [metric], "Threshold": 0.0} for n, metric in enumerate(metrics)]
    return Respond(parsed={"MetricAlarms": alarms, "CompositeAlarms": []})


def test_the_page_holds_everything_needs_no_network_and_escapes_names(
    world: AuditWorld, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    quiet_pool(world)
    tables(world)
    world.account.functions[HOG].tags["team"] = "<script>alert(1)</script>"
    file = tmp_path / "audit.html"
    assert run(["audit", "--quiet", "--html", str(file)]) == 3
    text = file.read_text(encoding="utf-8")
    assert HOG in text
    assert "reserved_concurrent_executions = 250" in text
    assert "<script" not in text
    assert "http" not in text.replace("https://", "http://") or "src=" not in text
    assert "<svg" in text
    assert f"Written to {file}." in capsys.readouterr().out.replace("\n", "")


def test_a_page_opens_in_a_browser_and_shows_the_exposures(world: AuditWorld, tmp_path: Path) -> None:
    """Chromium renders it without a script, a network or an error."""
    quiet_pool(world)
    file = tmp_path / "audit.html"
    run(["audit", "--quiet", "--json", "--html", str(file)])
    told = dom_of(file, tmp_path / "b")
    if told is None:
        assert "<article" in file.read_text(encoding="utf-8")
        return
    assert HOG in told


def test_progress_goes_to_standard_error_and_not_with_quiet(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet_pool(world)
    run(["audit", "--json"])
    captured = capsys.readouterr()
    json.loads(captured.out)
    assert "… account 111122223333, eu-west-1" in captured.err
    run(["audit", "--json", "--quiet"])
    assert capsys.readouterr().err == ""


def test_the_summary_is_posted_to_slack(
    world: AuditWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sandbox.slack import SlackStandIn

    quiet_pool(world)
    assert run(["audit", "--slack"]) == 1
    assert "--slack needs UNTHROTTLE_SLACK_TOKEN" in capsys.readouterr().err
    with SlackStandIn(start=NOON, now=lambda: NOON, mode="up", channel="C0OPS") as slack:
        monkeypatch.setenv("UNTHROTTLE_SLACK_TOKEN", slack.token)
        monkeypatch.setenv("UNTHROTTLE_SLACK_CHANNEL", "C0OPS")
        monkeypatch.setenv("UNTHROTTLE_SLACK_API_URL", slack.base_url)
        assert run(["audit", "--quiet", "--slack"]) == 3
        (posted,) = [call.as_json() for call in slack.calls]
    assert posted["method"] == "chat.postMessage"
    assert f"*high* `{HOG}` (roster): Nothing bounds it" in str(posted["text"])
