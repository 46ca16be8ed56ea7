"""Before anybody is throttled a person is asked once, and reminded once: nobody suffers yet."""

import json
import re
from pathlib import Path
from typing import Any

from sandbox.rehearsal import rehearse
from sandbox.scenario import load

SCENARIO = """
version: 1
name: a hog that has not hurt anyone yet
start: 2026-08-24T09:00:00Z
minutes: 52
settings: {Mode: auto, ApprovalMinutes: 30}
functions:
  - {name: svc-loader, trigger: {type: eventbridge}, duration_ms: 20000, demand: [[0, 20], [12, 830]]}
  - {name: "svc-pipe-{i:02d}", count: 4, trigger: {type: msk, partitions: 3}, duration_ms: 900, demand: [[0, 3]]}
"""


def play(folder: Path, more: str = "") -> dict[str, Any]:
    file = folder / "scenario.yaml"
    file.write_text(SCENARIO + more, encoding="utf-8")
    return rehearse(load(file))


def test_a_person_is_asked_once_and_reminded_once_though_it_is_looked_at_every_five_minutes(tmp_path: Path) -> None:
    outcome = play(tmp_path)
    (incident,) = outcome["incidents"]
    assert incident["reasons"] == ["before-throttling"]
    looks = [moment["minute"] for moment in incident["timeline"] if moment["event"] == "diagnosis.made"]
    assert len(looks) >= 6
    asked = looks[0]
    told = [(moment["minute"], moment["event"]) for moment in incident["timeline"]]
    assert [line for line in told if line[1].startswith("approval.")] == [
        (asked, "approval.requested"),
        (asked + 15, "approval.reminded"),
        (asked + 30, "approval.expired"),
    ]
    shouted = [call["minute"] for call in outcome["slack"] if call["broadcast"]]
    assert shouted == [asked, asked + 15]


def test_the_button_of_the_first_message_still_decides_after_several_looks(tmp_path: Path) -> None:
    """And what is done is what the button said, number for number."""
    outcome = play(tmp_path, "people:\n  - {when: approval-requested, after_minutes: 12, do: approve, user: U0OPS}\n")
    (incident,) = outcome["incidents"]
    assert [deed["answer"] for deed in outcome["people"]] == ["200"]
    (call,) = outcome["mutations"]
    shown = next(call["text"] for call in outcome["slack"] if "needs a person's yes" in call["text"])
    assert f"cap `svc-loader` at {call['parameters']['ReservedConcurrentExecutions']}" in shown
    typed = f"unthrottle approve {incident['id']}:{{version}} --stack unthrottle --region eu-west-1"
    asked = [call["text"] + json.dumps(call["blocks"]) for call in outcome["slack"]]
    assert any(re.search(typed.format(version="[0-9]+"), text) for text in asked)
    assert incident["status"] == "applied"
    assert outcome["errors"] == []
