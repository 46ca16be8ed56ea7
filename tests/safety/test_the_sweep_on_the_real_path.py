"""What the sweep does when the workflow is gone for good, or never began: played with the real handlers."""

from pathlib import Path
from typing import Any

from sandbox.engine.simulated import SimulatedService
from sandbox.rehearsal import Rehearsal, rehearse
from sandbox.scenario import load

POOL = """
version: 1
name: {name}
start: 2026-08-24T09:00:00Z
minutes: {minutes}
settings: {{Mode: auto, CapLeaseMinutes: 5}}
account: {{id: "111122223333", region: eu-west-1}}
functions:
  - {{name: svc-hog-dev, trigger: {{type: eventbridge}}, duration_ms: 45000, demand: {demand}}}
  - {{name: "svc-uat-pipe-{{i:03d}}", count: 4, trigger: {{type: msk, partitions: 3}}, duration_ms: 900, demand: [[0, 3]]}}
{more}
"""


def _fails(call: str, first: int, last: int, error: str) -> str:
    return "".join(f"  - {{call: {call}, nth: {nth}, error: {error}}}\n" for nth in range(first, last + 1))


class _Killer:
    """Ends an execution for good once the change is made, as a stopped or timed-out durable execution ends."""

    def __init__(self, event: str) -> None:
        self.event = event

    def __call__(self, rehearsal: Rehearsal, _facts: object) -> None:
        for incident in rehearsal.incidents():
            if any(moment.event == self.event for moment in incident.timeline):
                service = rehearsal._scene.executions
                assert isinstance(service, SimulatedService)
                execution = service.executions[incident.id]
                execution.due = None
                execution.journal.clear()


def _play(tmp_path: Path, *, watch: Any = None, **words: object) -> dict[str, Any]:
    file = tmp_path / "night.yaml"
    file.write_text(POOL.format(**{"demand": "[[0, 20], [5, 1150], [10, 20]]", "more": "", **words}), encoding="utf-8")
    return rehearse(load(file), watch=watch)


def _events(incident: dict[str, Any]) -> list[str]:
    return [moment["event"] for moment in incident["timeline"]]


def test_a_change_whose_workflow_is_gone_for_good_is_given_back_and_a_person_is_paged(tmp_path: Path) -> None:
    """The lease is in the record before the change, so nobody needs the execution to know when it is over."""
    outcome = _play(tmp_path, name="dies after the act", minutes=100, watch=_Killer("action.applied"))
    (incident,) = outcome["incidents"]

    assert (incident["status"], incident["acted_minute"]) == ("reverted", 9)
    assert "sweep.overdue" in _events(incident)
    assert incident["reverted_minute"] <= 9 + 5 + 60 + 15 + 5
    assert outcome["final"]["functions"]["svc-hog-dev"]["reserved"] is None
    assert any("its workflow is gone" in page["text"] for page in outcome["escalations"])


def test_a_person_who_asks_for_a_revert_is_heard_when_no_workflow_lives(tmp_path: Path) -> None:
    """The wish waits in the record; after ten minutes the sweep carries it out instead of waiting for the lease's end."""
    more = "people:\n  - {at: 20, do: revert, user: U0OPS}\n"
    outcome = _play(tmp_path, name="asked in vain", minutes=40, more=more, watch=_Killer("action.applied"))
    (incident,) = outcome["incidents"]

    assert "Taken" in outcome["people"][0]["answer"]
    assert incident["status"] == "reverted"
    assert 30 <= incident["reverted_minute"] <= 35
    assert outcome["final"]["functions"]["svc-hog-dev"]["reserved"] is None


def test_an_alarm_whose_event_was_lost_is_taken_up_by_the_sweep(tmp_path: Path) -> None:
    """CloudWatch speaks only on a transition: without the sweep nobody would ever look."""
    faults = "faults:\n" + _fails("dynamodb.TransactWriteItems", 1, 18, "InternalServerError")
    outcome = _play(tmp_path, name="lost", minutes=45, demand="[[0, 20], [5, 2000]]", more=faults)
    (incident,) = outcome["incidents"]

    assert any(error["function"] == "IntakeFunction" for error in outcome["errors"])
    assert incident["opened_minute"] >= 19
    assert (incident["cause"], incident["status"], incident["outcome"]) == ("pool-hog", "applied", "recovered")


def test_an_alarm_that_goes_on_after_a_person_decided_is_not_opened_again_at_once(tmp_path: Path) -> None:
    """Who kept the cap knows that its function is throttled by it; nobody is told so every half hour."""
    more = "people:\n  - {when: recovered, after_minutes: 1, do: keep, user: U0OPS}\n"
    outcome = _play(tmp_path, name="decided", minutes=75, demand="[[0, 20], [5, 2000]]", more=more)

    assert [incident["status"] for incident in outcome["incidents"]] == ["kept"]


def test_a_cap_that_somebody_deletes_is_told_in_the_thread_within_minutes_and_not_made_again(tmp_path: Path) -> None:
    """Told once; the incident stays open under its lease, and the account is left as they want it."""
    file = tmp_path / "deleted.yaml"
    more = "outside:\n  - {at: 21, set: {function: svc-hog-dev, reserved: null}}\n"
    text = POOL.format(name="deleted", minutes=34, demand="[[0, 20], [5, 1150], [10, 20]]", more=more)
    file.write_text(text.replace("CapLeaseMinutes: 5", "CapLeaseMinutes: 30"), encoding="utf-8")
    outcome = rehearse(load(file))
    (incident,) = outcome["incidents"]

    seen = [moment["minute"] for moment in incident["timeline"] if moment["event"] == "lease.drift-seen"]
    assert len(seen) == 1
    assert 21 <= seen[0] <= 26
    told = [one for one in outcome["slack"] if "Somebody changed svc-hog-dev while the lease runs" in str(one["text"])]
    assert [one["method"] for one in told] == ["chat.postMessage"]
    assert (incident["status"], incident["closed_minute"]) == ("applied", None)
    assert len(outcome["mutations"]) == 1
    assert not outcome["errors"]
