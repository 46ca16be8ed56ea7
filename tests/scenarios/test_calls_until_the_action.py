"""How many AWS calls a table costs until its action: at most eight with 20 indexes, whatever has to be asked."""

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
