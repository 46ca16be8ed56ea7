"""What the backfills of a rehearsal do, minute by minute."""

from dataclasses import replace

import pytest

from sandbox.dagy import DagyState, PlannedBackfill

INVOICES = PlannedBackfill(
    id="bf-20c4",
    flow="hourly-invoices",
    environment="develop",
    requested_by="data-eng",
    start=10,
    end=100,
    runs_total=1000,
    dispatch_rate_per_minute=150,
    writes={"dagy-runs-develop": 120.0, "dagy-task-runs-develop": 300.0},
)
REFUNDS = PlannedBackfill(
    id="bf-31aa",
    flow="refunds",
    environment="develop",
    requested_by="finance",
    start=20,
    end=30,
    runs_total=50,
    dispatch_rate_per_minute=0.5,
    writes={"dagy-runs-develop": 5.0},
)


def state() -> DagyState:
    return DagyState([INVOICES, REFUNDS])


@pytest.mark.parametrize(
    ("minute", "expected"),
    [
        pytest.param(9, "scheduled", id="the minute before it starts"),
        pytest.param(10, "running", id="its first minute"),
        pytest.param(99, "running", id="its last minute"),
        pytest.param(100, "completed", id="the minute it ends"),
    ],
)
def test_backfill_runs_from_its_start_to_before_its_end(minute: int, expected: str) -> None:
    assert state().state("bf-20c4", minute) == expected


def test_backfill_without_an_end_runs_until_it_is_cancelled() -> None:
    dagy = DagyState([replace(INVOICES, end=None)])
    assert dagy.state("bf-20c4", 100_000) == "running"
    assert dagy.runs_dispatched("bf-20c4", 12) == 300
    assert dagy.cancel("bf-20c4", 100_000) == "cancelled"


def test_writes_of_running_backfills_add_up_per_table() -> None:
    assert state().writes(15) == {"dagy-runs-develop": 120.0, "dagy-task-runs-develop": 300.0}
    assert state().writes(25) == {"dagy-runs-develop": 125.0, "dagy-task-runs-develop": 300.0}
    assert state().writes(100) == {}


def test_cancelled_backfill_adds_no_writes_from_that_minute_on() -> None:
    dagy = state()
    assert dagy.cancel("bf-20c4", 34) == "cancelled"
    assert dagy.state("bf-20c4", 33) == "running"
    assert [backfill.id for backfill in dagy.running(34)] == []
    assert dagy.writes(34) == {}
    assert dagy.final(240) == {"bf-20c4": "cancelled", "bf-31aa": "completed"}


def test_cancelling_again_or_after_the_end_finds_nothing_to_stop() -> None:
    dagy = state()
    dagy.cancel("bf-20c4", 34)
    assert dagy.cancel("bf-20c4", 35) == "already-ended"
    assert dagy.cancel("bf-31aa", 30) == "already-ended"
    assert dagy.cancel("bf-none", 35) == "unknown"
    assert dagy.final(240) == {"bf-20c4": "cancelled", "bf-31aa": "completed"}


def test_dispatched_runs_grow_with_the_rate_and_never_pass_the_total_or_the_cancel() -> None:
    dagy = state()
    assert [dagy.runs_dispatched("bf-20c4", minute) for minute in (0, 10, 12, 50)] == [0, 0, 300, 1000]
    dagy.cancel("bf-31aa", 24)
    assert dagy.runs_dispatched("bf-31aa", 200) == 2
