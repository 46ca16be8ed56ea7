"""A backfill that another incident cancelled, or found ended, still explains a load for half an hour."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.causes.builders import MINUTES, at, backfill, table
from tests.causes.tables import flooded, look
from tests.unit.fakes import incident
from unthrottle.actions import cancel_backfill
from unthrottle.diagnosis import Cause
from unthrottle.evidence.cancelled import with_cancelled
from unthrottle.evidence.table import BackfillsUnknown, RunningBackfills, TableEvidence
from unthrottle.incident import AppliedChange, Decision, Incident, Moment, Reason, Verdict
from unthrottle.plan import Action, Plan

NOW = at(MINUTES)
CANCEL = cancel_backfill.change(backfill(), table(flooded()))
PLAN = Plan(action=Action.CANCEL_BACKFILL, why="", changes=(CANCEL,))


def cancelled(when: datetime) -> Incident:
    return incident(id="INC-OTHER001", applied=(AppliedChange(change=CANCEL, at=when),))


def found_ended(when: datetime, guardrail: str = "changed-since") -> Incident:
    told = (Moment(at=when - timedelta(hours=1), event="plan.made"), Moment(at=when, event="plan.refused"))
    refused = Verdict(decision=Decision.DENIED, reasons=(Reason(guardrail=guardrail, text=""),))
    return incident(id="INC-OTHER001", plan=PLAN, verdict=refused, timeline=told)


def known(evidence: TableEvidence, other: Incident, *, own: str = "INC-OWN00001") -> list[tuple[str, str]]:
    found = with_cancelled(evidence, [other], own, NOW).backfills
    return [(one.id, one.state) for one in found.backfills] if isinstance(found, RunningBackfills) else []


ENDED = [("bf-7f3a", "cancelled")]


@pytest.mark.parametrize(
    ("other", "added"),
    [
        pytest.param(cancelled(NOW - timedelta(minutes=30)), ENDED, id="cancelled half an hour ago"),
        pytest.param(cancelled(NOW - timedelta(minutes=31)), [], id="cancelled longer ago"),
        pytest.param(found_ended(NOW - timedelta(minutes=30)), ENDED, id="found ended half an hour ago"),
        pytest.param(found_ended(NOW - timedelta(minutes=31)), [], id="found ended longer ago"),
        pytest.param(found_ended(NOW, "protected"), [], id="not cancelled for another reason"),
        pytest.param(replace(found_ended(NOW), plan=None), [], id="without a plan"),
        pytest.param(replace(found_ended(NOW), verdict=None), [], id="without a verdict"),
        pytest.param(replace(found_ended(NOW), timeline=()), [], id="refused at an unknown time"),
        pytest.param(replace(found_ended(NOW), plan=replace(PLAN, changes=())), [], id="nothing was to be cancelled"),
    ],
)
def test_what_ended_lately_is_known_beside_what_runs(other: Incident, added: list[tuple[str, str]]) -> None:
    assert known(table(flooded()), other) == added


def test_its_own_incident_adds_nothing_and_what_still_runs_is_there_once() -> None:
    assert known(table(flooded()), cancelled(NOW), own="INC-OTHER001") == []
    assert known(table(flooded(), backfills=[backfill()]), cancelled(NOW)) == [("bf-7f3a", "running")]


def test_where_dagy_cannot_be_asked_nothing_is_added() -> None:
    unknown = table(flooded(), backfills=BackfillsUnknown(reason="it is down"))
    assert with_cancelled(unknown, [cancelled(NOW)], "INC-OWN00001", NOW) is unknown


def test_a_second_table_waits_for_the_last_runs_of_a_backfill_found_ended() -> None:
    evidence = with_cancelled(table(flooded()), [found_ended(NOW)], "INC-OWN00001", NOW)
    assert look(evidence).cause is Cause.RUNAWAY_BACKFILL
