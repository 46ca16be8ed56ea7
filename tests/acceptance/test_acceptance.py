"""What somebody sees who only has scenario files and `unthrottle rehearse --json`: the outcome, and its promised shape."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.yaml"))
WHOLE = int
MAYBE_WHOLE = (int, type(None))

SCENARIO: dict[str, type] = {
    "name": str,
    "file": str,
    "minutes": int,
    "expectation": str,
    "unmet": list,
    "incidents": list,
    "mutations": list,
    "aws_calls": dict,
    "aws_calls_until_action": dict,
    "dagy_calls": list,
    "slack": list,
    "escalations": list,
    "final": dict,
}
INCIDENT: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "fingerprint": str,
    "kind": str,
    "opened_minute": WHOLE,
    "closed_minute": MAYBE_WHOLE,
    "triggers": WHOLE,
    "cause": str,
    "confidence": str,
    "targets": list,
    "victims": list,
    "findings": list,
    "rejected": list,
    "plan": dict,
    "verdict": str,
    "reasons": list,
    "status": str,
    "acted_minute": MAYBE_WHOLE,
    "outcome": str,
    "recovered_minute": MAYBE_WHOLE,
    "escalated": bool,
    "reverted_minute": MAYBE_WHOLE,
    "timeline": list,
}
WORDS = {
    "kind": {"dynamodb", "lambda"},
    "confidence": {"high", "medium", "low"},
    "verdict": {"allowed", "denied", "needs-approval", "none"},
    "status": {"applied", "would-apply", "denied", "rejected", "expired", "failed", "reverted", "kept", "none"},
    "outcome": {"recovered", "not-recovered", "inconclusive", "none"},
}
PARTS = {
    "mutations": {"minute", "call", "parameters", "result", "incident"},
    "dagy_calls": {"minute", "method", "path", "status"},
    "slack": {"minute", "method", "ts", "thread_ts", "text", "blocks"},
    "escalations": {"minute", "via", "subject", "text"},
}


@cache
def _outcomes() -> dict[str, dict[str, Any]]:
    """Rehearse all files by one command, as a user would. Exit code 2 says that some expectation is not met."""
    command = [sys.executable, "-m", "cli.main", "rehearse", *map(str, FILES), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parents[1])
    assert done.returncode in {0, 2}, done.stderr
    document = json.loads(done.stdout)
    assert document["version"] == 1
    return {Path(one["file"]).stem: one for one in document["scenarios"]}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_comes_out_as_the_file_says(file: Path) -> None:
    """What happened is what must have happened, and nothing broke that no fault explains."""
    outcome = _outcomes()[file.stem]
    assert outcome["expectation"] == "met", "\n".join(outcome["unmet"])
    assert [error for error in outcome["errors"] if not error["expected"]] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_document_has_every_promised_key_of_its_type(file: Path) -> None:
    """Outside checks read these keys and words; more of them may come, none may go."""
    outcome = _outcomes()[file.stem]
    assert {key: type(outcome.get(key)) for key in SCENARIO} == SCENARIO
    for part, keys in PARTS.items():
        assert all(keys <= set(one) for one in outcome[part]), part
    assert set(outcome["final"]) == {"functions", "tables", "backfills", "throttled_minutes"}
    assert set(outcome["final"]["throttled_minutes"]) == {"lambda", "dynamodb"}
    ids = {incident["id"] for incident in outcome["incidents"]}
    assert {mutation["incident"] for mutation in outcome["mutations"]} <= ids
    assert set(outcome["aws_calls_until_action"]) == ids
    for incident in outcome["incidents"]:
        for key, kind in INCIDENT.items():
            assert isinstance(incident[key], kind), key
        for key, allowed in WORDS.items():
            assert incident[key] in allowed, key
        assert set(incident["plan"]) == {"action", "changes", "lease_minutes"}
        assert all({"minute", "event", "detail"} <= set(moment) for moment in incident["timeline"])


def test_a_quiet_sweep_lists_the_open_incidents_once() -> None:
    """Every five minutes, day and night: two queries, of what is open and of what is untold, and one look at the alarms."""
    outcome = _outcomes()["a-quiet-quarter-of-an-hour"]
    calls = {
        call: count for call, count in outcome["aws_calls"].items() if call.startswith(("dynamodb.", "cloudwatch."))
    }
    assert calls == {"cloudwatch.DescribeAlarms": 3, "dynamodb.Query": 6}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_incident_reached_a_person(file: Path) -> None:
    """Slack has a message that names it, whatever became of it."""
    outcome = _outcomes()[file.stem]
    told = [message["text"] for message in outcome["slack"] if message["method"] == "chat.postMessage"]
    assert all(any(incident["id"] in text for text in told) for incident in outcome["incidents"])
