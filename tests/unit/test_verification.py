"""An action helped only where data shows that it did: a gap is never health, and too early is not an answer."""

from datetime import datetime, timedelta

import pytest

from tests.unit.fakes import MINUTE, NOW, series
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import Throttle, UnitMetrics, Way
from unthrottle.incident import Outcome
from unthrottle.verification import Judgement, judge_pool, judge_table

ACTED = NOW - 10 * MINUTE - timedelta(seconds=30)
"""In the middle of minute 09:49, so that the first whole minute after it is 09:50, index 0 of ten values."""
EARLY, LATE = NOW + 10 * MINUTE, NOW
X = None


def pool(
    proof: tuple[float | None, ...], victim: tuple[float | None, ...], deadline: datetime = EARLY, **more: Series
) -> Judgement:
    return judge_pool(
        acted_at=ACTED,
        deadline=deadline,
        now=NOW,
        account=series(*proof),
        throttles={"victim": series(*victim), **more},
        capped=frozenset({"hog"}),
    )


ALL = (9.0,) * 10
NONE: tuple[float | None, ...] = (X,) * 10


@pytest.mark.parametrize(
    ("proof", "victim", "early", "late"),
    [
        pytest.param(ALL, NONE, "recovered", "recovered", id="no throttles at all"),
        pytest.param(ALL, (5.0,) * 8 + (X, X), "recovered", "recovered", id="two clean minutes"),
        pytest.param(ALL, (5.0,) * 8 + (0.0, 0.0), "recovered", "recovered", id="two minutes of zero"),
        pytest.param(ALL, (5.0,) * 9 + (X,), None, "not-recovered", id="one clean minute"),
        pytest.param(ALL, (5.0,) * 10, None, "not-recovered", id="none"),
        pytest.param(ALL, (X,) * 9 + (1.0,), None, "not-recovered", id="clean, then throttled again"),
        pytest.param(ALL, (1.0, X) * 5, None, "not-recovered", id="every second minute"),
        pytest.param((X,) * 10, NONE, None, "inconclusive", id="no data at all"),
        pytest.param((X,) * 9 + (9.0,), NONE, None, "inconclusive", id="one minute shown"),
        pytest.param((X,) * 7 + (9.0, X, 9.0), NONE, None, "inconclusive", id="two minutes with a gap between"),
        pytest.param((9.0,) * 8 + (X, X), NONE, "recovered", "recovered", id="the newest minutes are not there yet"),
        pytest.param(
            (9.0,) * 8 + (X, X),
            (X,) * 9 + (50.0,),
            None,
            "not-recovered",
            id="a throttle is newer than what proves the minute",
        ),
        pytest.param(
            (9.0, 9.0, X, 9.0) + (X,) * 6, (X, X, 50.0) + (X,) * 7, None, "not-recovered", id="throttled in the gap"
        ),
    ],
)
def test_a_pool_has_recovered_after_two_clean_minutes_that_are_shown(
    proof: tuple[float | None, ...], victim: tuple[float | None, ...], early: str | None, late: str
) -> None:
    """Before the deadline the answer may be "too early"; at the deadline it is one of three."""
    assert pool(proof, victim, EARLY).outcome == (None if early is None else Outcome(early))
    assert pool(proof, victim, LATE).outcome == Outcome(late)


def test_the_capped_functions_own_throttles_do_not_count() -> None:
    """A cap that throttles its target does what it is for."""
    assert pool(ALL, NONE, hog=series(*(900.0,) * 10)).outcome is Outcome.RECOVERED


def test_what_happened_before_the_action_does_not_count() -> None:
    """The minute of the action itself is neither clean nor dirty."""
    judged = judge_pool(
        acted_at=NOW - 2 * MINUTE - timedelta(seconds=1),
        deadline=EARLY,
        now=NOW,
        account=series(9.0, 9.0, 9.0, 9.0),
        throttles={"victim": series(7.0, 7.0, X, X)},
        capped=frozenset(),
    )
    assert judged.outcome is Outcome.RECOVERED

    just_acted = judge_pool(
        acted_at=NOW - MINUTE - timedelta(seconds=30),
        deadline=EARLY,
        now=NOW,
        account=series(9.0, 9.0, 9.0),
        throttles={},
        capped=frozenset(),
    )
    assert just_acted.outcome is None


def test_not_recovered_names_the_last_throttled_minute() -> None:
    """The words say a number that was really throttled, not the clean minute after it."""
    judged = pool(ALL, (X,) * 8 + (12.0, X), LATE)

    assert judged == Judgement(
        outcome=Outcome.NOT_RECOVERED, because="the others still had 12 throttles in the minute 09:58"
    )


def test_old_data_says_nothing_about_now() -> None:
    """At the deadline, a newest datapoint older than ten minutes is no basis for giving back."""
    judged = judge_pool(
        acted_at=NOW - 30 * MINUTE,
        deadline=LATE,
        now=NOW,
        account=series(9.0, *(X,) * 12),
        throttles={"victim": series(5.0, *(X,) * 12)},
        capped=frozenset(),
    )
    assert judged.outcome is Outcome.INCONCLUSIVE


def unit(
    index: str | None = None,
    writes: tuple[float | None, ...] = NONE,
    throttled: tuple[float | None, ...] = NONE,
    reads: tuple[float | None, ...] = NONE,
    read_throttles: tuple[float | None, ...] = NONE,
) -> UnitMetrics:
    nothing = series(*NONE)
    return UnitMetrics(
        index=index,
        consumed={Way.READ: series(*reads), Way.WRITE: series(*writes)},
        provisioned=dict.fromkeys(Way, nothing),
        throttle_events={Way.READ: series(*read_throttles), Way.WRITE: series(*throttled)},
        throttles={way: dict.fromkeys(Throttle, nothing) for way in Way},
    )


def table(
    *units: UnitMetrics, deadline: datetime = EARLY, is_settled: bool = True, below: float | None = None
) -> Judgement:
    return judge_table(
        acted_at=ACTED, deadline=deadline, now=NOW, units=units, is_settled=is_settled, writes_below=below
    )


WRITES = (6000.0,) * 10
"""100 write units a second."""


def test_a_table_recovers_only_when_its_indexes_do() -> None:
    """A short index throttles the table's writes while the table's own metrics look healthy."""
    short = unit("by-status", throttled=(4.0,) * 10)

    assert table(unit(writes=WRITES)).outcome is Outcome.RECOVERED
    assert table(unit(writes=WRITES), short).outcome is None
    assert table(unit(writes=WRITES), short, deadline=LATE).outcome is Outcome.NOT_RECOVERED
    assert table(unit(writes=WRITES, read_throttles=(4.0,) * 10), deadline=LATE).outcome is Outcome.NOT_RECOVERED


def test_a_table_that_is_only_read_is_proven_by_its_reads() -> None:
    """Where nothing is written, consumed reads show that the minutes exist."""
    assert table(unit(reads=WRITES)).outcome is Outcome.RECOVERED


def test_a_table_without_any_data_is_inconclusive_not_healthy() -> None:
    """A wrong name or Region shows nothing at all; that is not "no throttles"."""
    assert table(unit(), deadline=LATE).outcome is Outcome.INCONCLUSIVE
    assert table(unit("by-status", writes=WRITES)).outcome is Outcome.INCONCLUSIVE


def test_a_switch_under_way_is_too_early_to_judge() -> None:
    """AWS serves the old capacity until the table is ACTIVE; at the deadline the metrics decide."""
    assert table(unit(writes=WRITES), is_settled=False).outcome is None
    assert table(unit(writes=WRITES), is_settled=False, deadline=LATE).outcome is Outcome.RECOVERED


@pytest.mark.parametrize(
    ("below", "writes", "early", "late"),
    [
        pytest.param(101.0, WRITES, "recovered", "recovered", id="below"),
        pytest.param(100.0, WRITES, "recovered", "recovered", id="exactly at it"),
        pytest.param(99.0, WRITES, None, "not-recovered", id="above"),
        pytest.param(101.0, NONE, None, "inconclusive", id="writes cannot be read"),
        pytest.param(0.0, (*(6000.0,) * 8, 0.0, 0.0), "recovered", "recovered", id="nothing is written any more"),
    ],
)
def test_a_backfill_is_cancelled_when_writes_fell(
    below: float, writes: tuple[float | None, ...], early: str | None, late: str
) -> None:
    """Whatever dagy answered, and even if nothing is throttled: the writes must have fallen, and be readable."""
    only = unit(writes=writes, reads=WRITES)

    assert table(only, below=below).outcome == (None if early is None else Outcome(early))
    assert table(only, below=below, deadline=LATE).outcome == Outcome(late)


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        pytest.param(10.0, 10.0, None, id="as before"),
        pytest.param(10.0, 20.0, None, id="twice as much"),
        pytest.param(10.0, 21.0, Outcome.NOT_RECOVERED, id="more than twice"),
        pytest.param(X, 1000.0, None, id="nothing is known of before"),
    ],
)
def test_worse_than_before_the_action_is_not_waited_for(
    before: float | None, after: float, outcome: Outcome | None
) -> None:
    """A cap that more than doubles the throttles is given back at once, not at the deadline."""
    judged = judge_pool(
        acted_at=ACTED,
        deadline=EARLY,
        now=NOW,
        account=series(*(9.0,) * 30),
        throttles={"victim": series(*(before,) * 19, *(after,) * 11)},
        capped=frozenset(),
    )
    assert judged.outcome is outcome
