"""Is the cause still there, and is the symptom over? What cannot be read counts as still there."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.fakes import MINUTE, NOW, FakeMetrics, FakeTables, arn_of, incident, observer, series
from tests.unit.looked import NAME, TABLE, flat, pool_metrics, rows
from tests.unit.made_changes import CAP
from unthrottle.evidence.pool import SourceKind
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import Capacity
from unthrottle.incident import AppliedChange, Incident, Outcome
from unthrottle.plan import CapEventSource, Change, SavedTable, SwitchToOnDemand
from unthrottle.pressure import Pressure, pressure_on
from unthrottle.subjects import TableSubject
from unthrottle.symptom import judge_symptom


def held(*changes: Change) -> Incident:
    return incident(applied=tuple(AppliedChange(change=change, at=NOW) for change in changes))


def on_function(
    use: Series | None, refused: Series | None = None, *changes: Change, whole: Series | None = None
) -> Pressure:
    known = {("ConcurrentExecutions", ""): whole or flat(300.0)}
    if use is not None:
        known[("ConcurrentExecutions", "hog")] = use
    if refused is not None:
        known[("Throttles", "hog")] = refused
    return pressure_on(observer(metrics=FakeMetrics(known)), held(*(changes or (CAP,))), NOW)


@pytest.mark.parametrize(
    ("use", "refused", "is_gone"),
    [
        pytest.param(flat(224.0), None, True, id="just under nine tenths of the cap"),
        pytest.param(flat(225.0), None, False, id="at nine tenths"),
        pytest.param(flat(250.0), None, False, id="at the cap"),
        pytest.param(flat(5.0), flat(1.0), False, id="low, but throttled by the cap"),
        pytest.param(series(250.0, *(5.0,) * 10), series(9.0, *(None,) * 10), True, id="it was, ten minutes ago"),
        pytest.param(None, None, True, id="it does not run at all"),
    ],
)
def test_a_cap_is_needed_while_the_function_would_take_more(
    use: Series | None, refused: Series | None, is_gone: bool
) -> None:
    """Below, at and above the threshold; nothing running is proof where the account shows its minutes."""
    assert on_function(use, refused).is_gone is is_gone


@pytest.mark.parametrize("whole", [flat(None), series(300.0, *(None,) * 10)], ids=["never", "not for ten minutes"])
def test_without_recent_data_a_cap_stays(whole: Series) -> None:
    """What cannot be read counts as still there."""
    assert not on_function(None, whole=whole).is_gone


def source(knob: str, before: int | None, after: int, kind: SourceKind, uuid: str = "u1") -> CapEventSource:
    return CapEventSource(
        function="hog",
        arn=arn_of("hog"),
        uuid=uuid,
        source=kind,
        knob=knob,  # type: ignore[arg-type]  # the test's table names only real knobs
        before=before,
        after=after,
        peak=800,
    )


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        pytest.param((source("MaximumConcurrency", None, 200, SourceKind.SQS),), 200, id="a queue"),
        pytest.param((source("MaximumPollers", 100, 20, SourceKind.SQS),), 200, id="pollers of ten each"),
        pytest.param((source("MaximumPollers", 100, 40, SourceKind.KAFKA),), 200, id="pollers of five each"),
        pytest.param((source("ParallelizationFactor", 8, 2, SourceKind.KINESIS),), 200, id="a quarter of the peak"),
        pytest.param(
            (
                source("MaximumConcurrency", None, 100, SourceKind.SQS),
                source("MaximumConcurrency", None, 100, SourceKind.SQS, "u2"),
            ),
            200,
            id="two queues add up",
        ),
    ],
)
def test_a_slowed_source_is_needed_while_its_function_is_at_what_it_allows(
    changes: tuple[CapEventSource, ...], bound: int
) -> None:
    """Pollers and factors are no executions; they are turned into executions before they are compared."""
    assert not on_function(flat(bound * 0.9), None, *changes).is_gone
    assert on_function(flat(bound * 0.9 - 1), None, *changes).is_gone


SWITCH = SwitchToOnDemand(
    table=NAME,
    arn=TABLE.arn,
    before=SavedTable(capacity=TABLE.capacity, indexes={"by-status": Capacity(read=10, write=50)}),
)


@pytest.mark.parametrize(
    ("writes", "index_writes", "reads", "is_gone"),
    [
        pytest.param(flat(60 * 80.0), None, flat(0.0), True, id="exactly four fifths of the saved writes"),
        pytest.param(flat(60 * 80.1), None, flat(0.0), False, id="above"),
        pytest.param(flat(0.0), flat(60 * 40.1), flat(0.0), False, id="the index would be short"),
        pytest.param(flat(0.0), None, flat(60 * 8.1), False, id="reads would be short"),
        pytest.param(flat(60.0), None, None, True, id="nobody reads"),
        pytest.param(None, None, None, False, id="nothing can be read"),
        pytest.param(series(60.0, *(None,) * 10), None, None, False, id="nothing recent can be read"),
        pytest.param(series(60 * 90.0, *(60.0,) * 30), None, flat(0.0), False, id="a peak earlier in the lease"),
    ],
)
def test_a_table_is_given_back_only_when_its_load_fits_the_saved_numbers(
    writes: Series | None, index_writes: Series | None, reads: Series | None, is_gone: bool
) -> None:
    """Each unit, each way, with a fifth to spare; unread counts as still there."""
    given = {
        ("ConsumedWriteCapacityUnits", NAME): writes,
        ("ConsumedWriteCapacityUnits", f"{NAME}/by-status"): index_writes,
        ("ConsumedReadCapacityUnits", NAME): reads,
    }
    metrics = FakeMetrics({key: value for key, value in given.items() if value is not None})

    found = pressure_on(observer(metrics=metrics, tables=FakeTables(TABLE)), held(SWITCH), NOW)

    assert found.is_gone is is_gone


def test_all_changes_must_be_unneeded_before_any_is_given_back() -> None:
    """One function that still presses keeps both caps, and is the reason that is told."""
    quiet = replace(CAP, function="quiet", arn=arn_of("quiet"))
    found = on_function(flat(250.0), None, CAP, quiet)

    assert not found.is_gone
    assert "hog still holds 250" in found.because
    assert "quiet" not in found.because


# --- is the symptom over ---------------------------------------------------------------------------------------------


def test_a_pools_symptom_is_read_with_one_call_and_without_the_capped() -> None:
    """The cap's own throttles are as they should be."""
    metrics = pool_metrics((), rows(hog=900.0))
    judged = judge_symptom(
        observer(metrics=metrics), held(CAP), since=NOW - 10 * MINUTE, deadline=NOW + 10 * MINUTE, now=NOW
    )
    assert judged.outcome is Outcome.RECOVERED
    assert len(metrics.calls) == 1


def test_a_tables_symptom_is_read_with_two_calls() -> None:
    """The table, to see whether it is settled, and its metrics."""
    metrics, tables = FakeMetrics({("ConsumedWriteCapacityUnits", NAME): flat(60.0)}), FakeTables(TABLE)
    about = incident(subject=TableSubject(table=NAME), kind="dynamodb")
    judged = judge_symptom(
        observer(metrics=metrics, tables=tables), about, since=NOW - 10 * MINUTE, deadline=NOW, now=NOW
    )
    assert judged.outcome is Outcome.RECOVERED
    assert (len(metrics.calls), tables.calls) == (1, [f"describe {NAME}"])


def test_right_after_the_action_it_is_too_early() -> None:
    """No whole minute has passed, so nothing is said."""
    judged = judge_symptom(
        observer(metrics=pool_metrics(())), held(CAP), since=NOW, deadline=NOW + MINUTE, now=NOW + timedelta(seconds=5)
    )
    assert judged.outcome is None
