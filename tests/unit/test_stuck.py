"""An incident that nobody gets on with is told by an alarm of its own; one that waits for somebody is not."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.fakes import MINUTE, NOW, incident
from unthrottle.incident import Incident, Moment, Outcome, Question, Status
from unthrottle.stuck import LEASE_OVER_FOR, SILENT_FOR, UNJUDGED_FOR, stuck


def _incident(**more: Any) -> Incident:
    opened = NOW - timedelta(days=1)
    told = (Moment(at=opened, event="incident.opened", detail=""),)
    return incident(**{"opened_at": opened, "timeline": told, **more})


def _judged(**more: Any) -> Incident:
    return _incident(status=Status.APPLIED, outcome=Outcome.RECOVERED, **more)


def _unjudged(ago: timedelta, **more: Any) -> Incident:
    """A change under a lease of a day, whose workflow wrote its last line so long ago."""
    last = (Moment(at=NOW - ago, event="action.applied", detail=""),)
    return _incident(status=Status.APPLIED, lease_until=NOW + timedelta(hours=20), timeline=last, **more)


def _question(minutes: int) -> Question:
    return Question(about="approval", callback="c", version=1, expires_at=NOW + minutes * MINUTE)


@pytest.mark.parametrize(
    ("found", "is_stuck"),
    [
        (_incident(), True),
        (_incident(timeline=(Moment(at=NOW - SILENT_FOR + MINUTE, event="e", detail=""),)), False),
        (_incident(timeline=()), True),
        (_incident(question=_question(1)), False),
        (_incident(question=_question(-1)), True),
        (_incident(closed_at=NOW), False),
        (_judged(lease_until=NOW + MINUTE), False),
        (_judged(lease_until=NOW - LEASE_OVER_FOR + MINUTE), False),
        (_unjudged(UNJUDGED_FOR - MINUTE), False),
        (_unjudged(UNJUDGED_FOR + MINUTE), True),
        (_unjudged(UNJUDGED_FOR + MINUTE, escalated=True), False),
        (_incident(status=Status.APPLIED, lease_until=NOW - LEASE_OVER_FOR - MINUTE), True),
        (_incident(status=Status.APPLIED, lease_until=None), True),
    ],
    ids=[
        "a day without a line",
        "a line within four hours",
        "no line at all",
        "a person is asked",
        "nobody is asked any more",
        "closed",
        "a lease that runs",
        "a lease just over",
        "a change that may still be judged",
        "a change that its workflow never judged",
        "a change that a person was paged for",
        "a lease long over",
        "a change without a lease",
    ],
)
def test_what_is_stuck(found: Incident, is_stuck: bool) -> None:
    assert stuck([found], NOW) == (("INC-TEST0001",) if is_stuck else ())
