"""Short incidents that together need every right the template grants, as scenario documents."""

from pathlib import Path
from typing import Any

EVENTS = Path(__file__).parents[2] / "events"
START = "2026-08-24T09:00:00Z"
PIPES = {
    "name": "svc-pipe-{i:02d}",
    "count": 4,
    "trigger": {"type": "msk", "partitions": 3},
    "duration_ms": 900,
    "demand": [[0, 3]],
}


def _hog(trigger: str, until: int = 60, **more: Any) -> list[dict[str, Any]]:
    demand = [[0, 20], [5, 2000], [until, 20]]
    hog = {"name": "svc-hog", "trigger": {"type": trigger}, "duration_ms": 45000, "demand": demand, **more}
    return [hog, PIPES]


def _table(name: str, **more: Any) -> dict[str, Any]:
    demand = {"write": [[0, 20], [8, 150]], "read": [[0, 40]]}
    capacity = {} if more.get("billing") == "on-demand" else {"read": 100, "write": 50}
    return {"name": name, "billing": "provisioned", **capacity, "demand": demand, **more}


_CALENDAR = "arn:aws:ssm:eu-west-1:111122223333:document/freeze"

SCENARIOS: dict[str, dict[str, Any]] = {
    "a function is capped after approval, people ask, and it is given back": {
        "minutes": 60,
        "settings": {"Mode": "approve", "CapLeaseMinutes": 20, "ChangeCalendarArn": _CALENDAR, "OpsItems": True},
        "functions": _hog("eventbridge", until=20, provisioned=2),
        "people": [
            {"when": "approval-requested", "after_minutes": 1, "do": "approve", "user": "U0OPS"},
            {"at": 6, "say": "/unthrottle check svc-hog", "user": "U0OPS"},
            {"at": 4, "say": "/unthrottle status", "user": "U0OPS"},
            {"at": 12, "say": "/unthrottle check svc-hog", "user": "U0OPS"},
            {"at": 13, "say": "/unthrottle check svc-hog", "user": "U0OPS"},
            {"at": 25, "say": "/unthrottle pause 1h", "user": "U0OPS"},
            {"at": 27, "say": "/unthrottle resume", "user": "U0OPS"},
            {"at": 28, "say": "/unthrottle audit", "user": "U0OPS"},
        ],
    },
    "an event source is slowed and given back": {
        "minutes": 60,
        "settings": {"Mode": "auto", "CapLeaseMinutes": 20},
        "functions": _hog("sqs", until=20),
        "people": [
            {"when": "acted", "after_minutes": 1, "do": "keep", "user": "U0VIEWER"},
            {"when": "acted", "after_minutes": 2, "do": "revert", "user": "U0OPS"},
        ],
    },
    "a table and its autoscaling are raised and given back": {
        "minutes": 35,
        "settings": {"Mode": "auto", "ProvisionedTableAction": "raise-capacity"},
        "tables": [_table("dagy-runs-develop", autoscaling={"write": {"min": 50, "max": 50}})],
        "people": [{"when": "acted", "after_minutes": 3, "do": "revert", "user": "U0OPS"}],
    },
    "a backfill is cancelled": {
        "minutes": 25,
        "settings": {"Mode": "auto"},
        "tables": [_table("dagy-tasks-develop", demand={"write": [[0, 20]], "read": [[0, 40]]})],
        "dagy": {
            "backfills": [
                {
                    "id": "bf-1",
                    "flow": "nightly",
                    "environment": "develop",
                    "requested_by": "data-eng",
                    "start": 8,
                    "end": 200,
                    "runs_total": 40000,
                    "dispatch_rate_per_minute": 900,
                    "writes": {"dagy-tasks-develop": 180},
                }
            ]
        },
    },
    "a hot index calls a person": {
        "minutes": 25,
        "settings": {"Mode": "auto", "OpsItems": True},
        "tables": [
            _table(
                "dagy-orders-develop",
                billing="on-demand",
                demand={"write": [[0, 200], [8, 3000]], "read": [[0, 40]]},
                indexes=[{"name": "by-status", "share": 1.0, "keys": 4, "hot_key_share": 0.8}],
            )
        ],
    },
    "the workflow is lost and the sweep gives back": {
        "minutes": 45,
        "settings": {"Mode": "auto", "CapLeaseMinutes": 10, "OpsItems": True},
        "functions": _hog("eventbridge", until=18),
        "faults": [
            {"call": "lambda.CheckpointDurableExecution", "nth": nth, "error": "ServiceException"}
            for nth in range(40, 160)
        ],
    },
    "the workflow is not started, Slack is down, and the sweep makes up for both": {
        "minutes": 40,
        "settings": {"Mode": "auto", "WhenSlackIsDown": "continue"},
        "slack": {"steps": [[0, "down"], [30, "up"]]},
        "functions": _hog("eventbridge"),
        "events": [{"at": 2, "file": str(EVENTS / "alarm-composite.json")}],
        "faults": [{"call": "lambda.Invoke", "nth": nth, "error": "ServiceException"} for nth in range(1, 28)],
    },
}


def document(name: str) -> dict[str, Any]:
    """A complete scenario."""
    return {"version": 1, "name": name, "start": START, **SCENARIOS[name]}
