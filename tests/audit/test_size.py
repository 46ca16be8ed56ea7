"""A large account is audited within bounds: calls linear in what there is, memory that does not grow with it."""

import json
import tracemalloc
from collections import Counter

import pytest

from cli.main import run
from tests.audit.world import HOG, AuditWorld, quiet_pool
from unthrottle.audit import take_stock

# Pages of each list: functions 50, mappings 100, tables 100 (Lambda and DynamoDB API); tags 100.


def filled(world: AuditWorld, *, functions: int, tables: int) -> None:
    for number in range(functions):
        world.account.add_function(f"svc-{number:05d}", timeout_s=30)
    for number in range(tables):
        world.account.add_table(f"t-{number:05d}", billing="on-demand")


def calls(world: AuditWorld) -> Counter[str]:
    return Counter(call.call for call in world.gate.calls)


def test_calls_grow_with_pages_and_tables_and_with_nothing_else(
    world: AuditWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(world, functions=120, tables=110)
    run(["audit", "--json", "--quiet"])
    assert json.loads(capsys.readouterr().out)["places"][0]["tables"] == 110
    made = calls(world)
    assert made["lambda.ListFunctions"] == 3
    assert made["dynamodb.ListTables"] == 2
    assert made["dynamodb.DescribeTable"] == 110
    assert made["dynamodb.DescribeContinuousBackups"] == 110
    # Three rankings, the account, run lengths; throttle events of 220 ways in one batch.
    assert made["cloudwatch.GetMetricData"] <= 6
    assert sum(made.values()) < 250


def test_memory_stays_small(world: AuditWorld, capsys: pytest.CaptureFixture[str]) -> None:
    filled(world, functions=1_000, tables=100)
    tracemalloc.start()
    run(["audit", "--json", "--quiet"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    capsys.readouterr()
    assert peak < 60_000_000


def test_more_functions_than_a_ranking_looks_at_are_read_by_name_and_that_is_said(
    world: AuditWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet_pool(world)
    monkeypatch.setattr(take_stock, "INSIGHTS_METRICS", 10)
    monkeypatch.setattr(take_stock, "AT_ONCE", 4)
    run(["audit", "--json", "--quiet"])
    found = json.loads(capsys.readouterr().out)
    assert found["exposures"][0]["resource"] == HOG
    assert found["places"][0]["gaps"] == [
        "15 functions are more than one ranking query looks at; each was read by its name."
    ]
