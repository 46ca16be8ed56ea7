"""The lines that the dashboard counts: when it was diagnosed, acted on, and over, each once and with the incident's id."""

import logging
from datetime import timedelta
from typing import Any

import pytest

from tests.edges.test_decided_anew import Warned, capping
from tests.unit.fakes import MINUTE, NOW, incident
from tests.unit.made_changes import CAP
from unthrottle.look import unread
from unthrottle.plan import Action, Plan


def lines(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, Any]]:
    return [record.__dict__ for record in caplog.records if record.message == message]


def test_the_line_of_an_action_says_how_long_after_the_incidents_opening_it_was(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    warned = Warned((False, capping(CAP)))
    warned.clock.time = NOW + timedelta(seconds=42.9)
    with caplog.at_level(logging.INFO, "unthrottle"):
        warned.play(monkeypatch)
    [line] = lines(caplog, "action.applied")
    assert (line["incident_id"], line["target"], line["seconds"]) == ("INC-TEST0001", CAP.target, 42)


def test_the_line_of_a_recovery_comes_once_and_says_how_long_it_took(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where nothing was changed, and it was only waited for."""
    warned = Warned((False, Plan(action=Action.WAIT, why="it is scaling")))
    warned.clock.time = NOW + 3 * MINUTE
    with caplog.at_level(logging.INFO, "unthrottle"):
        found = warned.play(monkeypatch)
    assert found.closed_at is not None
    [line] = lines(caplog, "symptom.recovered")
    assert (line["incident_id"], line["seconds"]) == ("INC-TEST0001", 180)


def test_evidence_that_cannot_be_read_is_a_diagnosis_in_the_log_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "unthrottle"):
        unread(incident(), "AWS said AccessDenied.", NOW)
    [line] = lines(caplog, "diagnosis.made")
    assert (line["incident_id"], line["cause"], line["targets"]) == ("INC-TEST0001", "inconclusive", [])
