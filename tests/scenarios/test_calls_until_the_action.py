"""How many AWS calls an incident costs until its action: a table at most eight, a pool six, and two for each further hog."""

from typing import Any

import pytest

from sandbox.rehearsal import rehearse
from sandbox.scenario.format import Scenario

SCALED = {"write": {"min": 50, "max": 50}}


def indexes(number: int, **first: Any) -> list[dict[str, Any]]:
    every: list[dict[str, Any]] = [
        {"name": f"by-{n:02d}", "read": 100, "write": 400, "share": 0.1} for n in range(number)
    ]
    every[0] |= {"share": 1.0, "write": 50, **first}
    return every


def scenario(**table: Any) -> Scenario:
    shown = {"name": "orders", "read": 100, "write": 50, "demand": {"write": [[0, 15], [5, 200]]}} | table
    plain = {"version": 1, "name": "calls", "minutes": 18, "settings": {"Mode": "auto"}, "tables": [shown]}
    return Scenario.model_validate(plain)


@pytest.mark.parametrize(
    ("table", "most"),
    [
        pytest.param({"demand": {"write": [[0, 45], [1, 85]]}, "indexes": indexes(20)}, 5, id="20 indexes, no jump"),
        pytest.param(
            {
                "indexes": indexes(20, autoscaling=SCALED),
                "autoscaling": SCALED,
                "switches_last_24h": 3,
                "replicas": ["us-east-1"],
            },
            8,
            id="a jump, switches of today, autoscaling of table and index",
        ),
    ],
)
def test_a_table_takes_few_calls_until_its_action(table: dict[str, Any], most: int) -> None:
    outcome = rehearse(scenario(**table))
    (incident,) = outcome["incidents"]
    assert incident["status"] == "applied"
    assert outcome["aws_calls_until_action"] == {incident["id"]: most}


def pool(functions: int, *batches: int) -> Scenario:
    pipes = {
        "name": "pipe-{i:04d}",
        "count": functions,
        "trigger": {"type": "msk", "partitions": 3},
        "duration_ms": 900,
    }
    hogs = [
        {
            "name": f"batch-{n}",
            "trigger": {"type": "eventbridge"},
            "duration_ms": 45_000,
            "demand": [[0, 20], [5, runs]],
        }
        for n, runs in enumerate(batches)
    ]
    every = [*hogs, {**pipes, "demand": [[0, 0.3]]}]
    return Scenario.model_validate(
        {"version": 1, "name": "calls", "minutes": 13, "settings": {"Mode": "auto"}, "functions": every}
    )


@pytest.mark.parametrize(
    ("functions", "batches", "calls"),
    [
        pytest.param(30, (2000,), 6, id="one hog among 31"),
        pytest.param(700, (2000,), 6, id="one hog among 701"),
        pytest.param(30, (900, 900), 8, id="two hogs"),
    ],
)
def test_a_pool_takes_as_many_calls_whatever_its_size(functions: int, batches: tuple[int, ...], calls: int) -> None:
    outcome = rehearse(pool(functions, *batches))
    (incident,) = outcome["incidents"]
    assert (incident["cause"], incident["status"]) == ("pool-hog", "applied")
    assert outcome["aws_calls_until_action"] == {incident["id"]: calls}
