"""`unthrottle diagnose`: one resource, now or then."""

import json
from datetime import timedelta

import pytest

from cli.main import run
from tests.audit.world import ACCOUNT, HOG, NOW, PIPES, AuditWorld, quiet_pool, starve, tables


def test_a_victim_leads_to_the_function_that_holds_the_pool(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet_pool(world)
    starve(world, NOW - timedelta(minutes=10))
    assert run(["diagnose", PIPES[0], "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["cause"], found["targets"]) == ("pool-hog", [HOG])
    assert found["plan"]["changes"] == [{"target": HOG, "before": None, "after": 250}]
    assert world.mutations() == []


def test_the_past_is_diagnosed_as_it_was_seen_then(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    quiet_pool(world)
    onset = NOW - timedelta(days=1)
    starve(world, onset)
    assert run(["diagnose", HOG, "--at", f"{onset + timedelta(minutes=10):%Y-%m-%dT%H:%M}"]) == 3
    told = capsys.readouterr().out
    assert "pool-hog, high confidence" in told
    assert "Nothing was changed." in told
    assert f"put-function-concurrency --function-name {HOG} --reserved-concurrent-executions 250" in told


def test_nothing_wrong_exits_with_0(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    quiet_pool(world)
    starve(world, NOW - timedelta(hours=2), minutes=10)
    recent = NOW - timedelta(minutes=90)
    for metric in ("ConcurrentExecutions", "UnreservedConcurrentExecutions"):
        world.put(metric, {}, recent, [40.0] * 90)
    assert run(["diagnose", "pool"]) == 0
    assert "already-over" in capsys.readouterr().out


def test_a_name_that_is_nowhere_says_where_it_was_looked_for(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    tables(world)
    assert run(["diagnose", "ordres"]) == 2
    said = capsys.readouterr().err
    assert (
        f"There is no table or function ordres there. Nothing was changed. Looked in account {ACCOUNT}, eu-west-1."
        in said
    )
    assert "--region" in said


def test_an_index_that_is_not_there_names_those_that_are(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    tables(world)
    assert run(["diagnose", "table/dagy-runs-develop/index/by-state"]) == 2
    assert "has no index by-state; its indexes: by-status" in capsys.readouterr().err


def test_an_arn_of_another_region_is_looked_for_there(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    tables(world)
    arn = f"arn:aws:dynamodb:eu-north-1:{ACCOUNT}:table/orders"
    assert run(["diagnose", arn]) == 2
    assert "eu-north-1" in capsys.readouterr().err


def test_dagy_is_asked_where_it_is_named_and_only_asked(
    world: AuditWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sandbox.dagy import DagyStandIn, DagyState

    tables(world)
    with DagyStandIn(DagyState([]), start=NOW, now=lambda: NOW, api="up") as dagy:
        monkeypatch.setenv("UNTHROTTLE_DAGY_API_URL", dagy.base_url)
        monkeypatch.setenv("UNTHROTTLE_DAGY_TOKEN", dagy.token)
        run(["diagnose", "dagy-runs-develop", "--json"])
        assert [call.as_json()["method"] for call in dagy.calls] == ["GET"]
    assert "dagy is not configured" not in capsys.readouterr().out
