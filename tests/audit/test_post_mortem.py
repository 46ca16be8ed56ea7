"""The post-mortem's own account, as the sandbox models it: 362 functions of four environments, before the incident."""

import json
from pathlib import Path

import pytest

from cli.main import run
from sandbox.dagy import DagyState
from sandbox.model.world import World
from sandbox.rehearsal.furnish import furnished
from sandbox.scenario import load
from tests.audit.world import AuditWorld, audit_world

STORY = Path(__file__).parents[2] / "sandbox" / "demo" / "pool.yaml"


def play(world: AuditWorld, minutes: int) -> None:
    """Put the story's account and its metrics into the audited one, up to a minute of the story."""
    scenario = load(STORY)
    account = furnished(scenario)
    world.account.functions, world.account.mappings = account.functions, account.mappings
    world.account.changed()
    model = World(scenario, world.account, world.store, DagyState([]))
    for minute in range(minutes):
        model.tick(minute)


def test_before_the_incident_the_batch_processor_is_named_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with audit_world(monkeypatch, now=load(STORY).start, days=0) as world:
        play(world, 0)
        assert run(["audit", "--json", "--quiet"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["places"][0]["functions"] == 362
    first = found["exposures"][0]
    assert (first["resource"], first["kind"], first["severity"]) == (
        "svc-roster-dev-batch-processor",
        "takes-the-pool",
        "high",
    )
    assert [row["resource"] for row in found["exposures"] if row["severity"] == "high"] == [first["resource"]]
