"""A record moves only along its legal ways, and its story is bounded line by line."""

import itertools

import pytest

from tests.unit.fakes import NOW, arn_of, incident
from tests.unit.made_changes import CAP
from unthrottle.errors import (
    BadInput,
    Busy,
    Drifted,
    NotAllowed,
    NotFound,
    Refused,
    SettingsError,
    StepFailed,
    TryAgain,
)
from unthrottle.incident import Moment, Status
from unthrottle.plan import Action, Plan

LEGAL = {
    (Status.NONE, Status.WOULD_APPLY),
    (Status.NONE, Status.DENIED),
    (Status.NONE, Status.REJECTED),
    (Status.NONE, Status.EXPIRED),
    (Status.NONE, Status.FAILED),
    (Status.NONE, Status.APPLIED),
    (Status.APPLIED, Status.REVERTED),
    (Status.APPLIED, Status.KEPT),
    (Status.APPLIED, Status.FAILED),
    (Status.FAILED, Status.REVERTED),
    (Status.FAILED, Status.KEPT),
}


@pytest.mark.parametrize(("before", "after"), list(itertools.product(Status, Status)))
def test_only_legal_transitions_are_made(before: Status, after: Status) -> None:
    """What was denied or given back is never applied afterwards; staying is always fine."""
    record = incident(status=before)
    if before is after or (before, after) in LEGAL:
        assert record.now(after).status is after
    else:
        with pytest.raises(ValueError, match="may not follow"):
            record.now(after)


def test_a_story_grows_by_one_cut_line() -> None:
    """No detail, however long, makes a record too large to store."""
    told = incident().told(NOW, "first").told(NOW, "second", "x" * 5000)

    assert told.timeline == (Moment(at=NOW, event="first"), Moment(at=NOW, event="second", detail="x" * 1000))


def test_a_records_resources_are_what_its_plan_would_change() -> None:
    """The keys under which only one incident may act; none without a plan."""
    assert incident().resources == ()
    assert incident(plan=Plan(action=Action.CAP_CONCURRENCY, why="w", changes=(CAP,))).resources == (arn_of("hog"),)


def test_an_error_carries_the_code_by_which_programs_tell_it_apart() -> None:
    """A service's own code where there is one, the guardrail for drift, else the class's name."""
    assert [error("x").code for error in (BadInput, SettingsError, TryAgain)] == [
        "BadInput",
        "SettingsError",
        "TryAgain",
    ]
    assert [error("x", code="C").code for error in (Refused, NotFound, NotAllowed)] == ["C", "C", "C"]
    assert Drifted("x").code == "changed-since"
    assert Drifted("x", guardrail="change-in-progress").code == "change-in-progress"
    assert StepFailed("x", step="act", code="C").code == "C"
    assert (Busy("r", "INC-1").code, Busy("r", "INC-1").holder) == ("Busy", "INC-1")
