"""The least of everything: a pool nothing runs in, a pool of one execution, one refusal, one execution more."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.causes.asked import ITSELF, against, look, text
from tests.causes.builders import ONSET, START, details, function, hog_incident, nothing, points, pool, series
from unthrottle.causes import pool_look
from unthrottle.causes.pool_view import PoolView
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.pool import FunctionUse, PoolEvidence
from unthrottle.evidence.series import Series
from unthrottle.settings import Settings


def seen(evidence: PoolEvidence) -> PoolView:
    view = pool_look.look(evidence, Settings(), ITSELF)
    assert isinstance(view, PoolView)
    return view


# --- a pool in which next to nothing runs -------------------------------------------------------------------------


def test_a_pool_nothing_runs_in_is_told_as_empty() -> None:
    found = look(pool(use={0: 0}, throttles=nothing()))
    assert found.cause is Cause.ALREADY_OVER
    assert "at 04:57 UTC 0 of 1,000 executions of the shared pool were in use (0 %)" in text(found)
    assert "At 04:57 UTC 0 of 1,000 executions of the shared pool were in use (0 %)" in text(found)
    assert "at most 0 of 1,000 in use (0 %)" in against(found, Cause.POOL_HOG)


def test_who_runs_alone_in_a_pool_of_one_execution_holds_it() -> None:
    evidence = pool(
        limit=1,
        use={0: None, 50: 1},
        functions=[function("f", {50: 1})],
        throttled={"v": {50: 9}},
        candidates=[details("f")],
    )
    found = look(evidence)
    assert (found.cause, found.targets) == (Cause.POOL_HOG, ("f",))
    assert "f held 1 executions at 04:57 UTC, 100 % of the pool in use" in text(found)


def test_one_execution_more_is_all_the_growth_of_a_pool_of_five() -> None:
    evidence = pool(
        limit=5,
        use={0: 4, ONSET: 5},
        functions=[function("f", {0: 1, ONSET: 2}), *(function(name, {0: 1}) for name in "abc")],
        throttled={"v": {ONSET: 9}},
    )
    found = look(evidence)
    assert (found.cause, found.targets, found.confidence) == (Cause.POOL_HOG, ("f",), Confidence.MEDIUM)


def test_of_a_pool_seen_empty_nobody_holds_half() -> None:
    """All is reserved, and the two series contradict each other: a part of nothing is not all of it."""
    evidence = pool(
        reserved=1000,
        use={0: 0},
        concurrency={0: 998},
        functions=[function("f", {0: 3, ONSET: 600})],
        throttled={"v": {ONSET: 9}},
    )
    assert look(evidence).targets == ()


def test_a_function_served_by_what_is_provisioned_holds_nothing_of_the_pool() -> None:
    evidence = pool(
        use={0: 100, ONSET: 998},
        functions=[function("warm", {0: 100, ONSET: 480})],
        throttled={"v": {ONSET: 9}},
        candidates=[details("warm", provisioned=500)],
        ranking_complete=False,
    )
    evidence = replace(evidence, concurrency=series({0: 100, ONSET: 900}))
    assert "the largest in the shared pool, warm, held 0 at 04:57 UTC (0 before" in against(
        look(evidence), Cause.POOL_HOG
    )


# --- what makes a pool small ---------------------------------------------------------------------------------------


def left_by(*, reserved: int, provisioned: int, held: float, before: float = 10) -> PoolEvidence:
    """An account of 1,000 that runs 500, whose shared pool of 300 or more is used up; one function holds so much of it."""
    size = 1000 - reserved - provisioned
    use = {0: 50, ONSET: size}
    return pool(
        use=use,
        concurrency={0: 300, ONSET: 500},
        reserved=reserved,
        claimed=series({minute: value + reserved + provisioned for minute, value in use.items()}),
        functions=[function("f", {0: before, ONSET: held}), *(function(f"s{n}", {0: 3, ONSET: 9}) for n in range(20))],
        throttled={"v": {ONSET: 9}},
    )


@pytest.mark.parametrize("reserved", [0, 100])
def test_a_pool_made_small_by_provisioned_concurrency_is_not_over_reserved(reserved: int) -> None:
    """Whoever holds half of it holds it, though the account runs only half of its limit."""
    found = look(left_by(reserved=reserved, provisioned=700 - reserved, held=160))
    assert (found.cause, found.targets) == (Cause.POOL_HOG, ("f",))


@pytest.mark.parametrize(("reserved", "is_hog"), [(499, True), (500, False)])
def test_reservations_of_half_of_the_limit_make_the_pool_small(reserved: int, *, is_hog: bool) -> None:
    """Then nobody who holds less than one may keep, here 400, is to blame for it."""
    found = look(left_by(reserved=reserved, provisioned=0, held=300, before=100), share=40)
    assert (found.targets == ("f",)) is is_hog


def test_in_a_pool_of_the_whole_limit_a_hog_holds_what_one_may_keep() -> None:
    grown = look(
        pool(
            functions=[function(f"f{number:02d}", {0: 10, ONSET: 33}) for number in range(30)],
            throttled={"v": {ONSET: 9}},
        )
    )
    assert "a hog holds 25 % of the limit (250), runs 2 times" in against(grown, Cause.POOL_HOG)


@pytest.mark.parametrize(("least", "is_hidden"), [(None, True), (0, True), (1, False)])
def test_rows_that_were_cut_off_hold_at_most_what_the_last_one_held(least: float | None, *, is_hidden: bool) -> None:
    """350 of 400 functions are not shown: of a last row that ran nothing they ran nothing, and nobody knows who holds 598."""
    rows = [function(f"f{number:02d}", {0: 8}) for number in range(49)]
    last = FunctionUse(name="last", concurrency=series({} if least is None else {0: least}))
    evidence = replace(pool(throttled={"v": {ONSET: 9}}), ranking=(*rows, last))
    assert seen(evidence).hides_functions is is_hidden


# --- what is told of a hog -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ran", "said"),
    [({}, "cannot be told"), ({50: 1.0}, "most of what it ran belongs"), ({50: 900.0}, "few of its runs belong")],
)
def test_a_loop_is_told_with_its_part_of_what_ran(ran: dict[int, float], said: str) -> None:
    evidence = hog_incident()
    hog, *others = evidence.candidates
    looping = replace(hog, loops_stopped=points({50: 2.0}), invocations=points(ran))
    assert said in text(look(replace(evidence, candidates=(looping, *others))))


def long_running(*, week_ago: float, held: float, limit: int, provisioned: int | None = None) -> PoolEvidence:
    """A function that ran as much yesterday as now, and so much a week ago; others grew."""
    window = START - timedelta(hours=2)  # three hours, so that those of the days before are known by enough quarters
    begin = window - timedelta(days=7)
    own = Series(start=begin, period_s=900, values=(week_ago,) * 96 * 3 + (held,) * 96 * 4)
    account = Series(start=begin, period_s=900, values=(held,) * 96 * 7)
    evidence = pool(
        limit=limit + (provisioned or 0),
        use={0: held, ONSET: limit},
        functions=[function("f", {0: held}), function("grown", {0: 0, ONSET: limit - held})],
        throttled={"v": {ONSET: 9}},
        candidates=[details("f", provisioned=provisioned), details("grown")],
    )
    return replace(
        evidence,
        start=window,
        earlier=(FunctionUse(name="f", concurrency=own),),
        earlier_account=account,
    )


@pytest.mark.parametrize(
    ("evidence", "is_told"),
    [
        pytest.param(long_running(week_ago=0, held=3, limit=8), True, id="three, and nothing a week ago"),
        pytest.param(long_running(week_ago=200, held=400, limit=900), True, id="twice as much as a week ago"),
        pytest.param(long_running(week_ago=201, held=400, limit=900), False, id="less than twice"),
        pytest.param(
            long_running(week_ago=200, held=400, limit=900, provisioned=100), True, id="with what is provisioned for it"
        ),
    ],
)
def test_what_began_within_the_week_is_told_as_a_gap(evidence: PoolEvidence, *, is_told: bool) -> None:
    """Nobody can tell whether it is wanted, or has gone wrong for more than a day."""
    assert any("a week ago: whether that is wanted" in gap for gap in look(evidence).gaps) is is_told


# --- limits of one's own -------------------------------------------------------------------------------------------


def own(*, reserved: int, refused: dict[int, float], others: dict[int, float] | None = None) -> PoolEvidence:
    return pool(
        use={0: 120},
        reserved=reserved,
        throttles=nothing(),
        functions=[function("own", {0: reserved})],
        throttled={"own": points(refused), "other": points(others or {})},
        candidates=[details("own", reserved=reserved), details("other")],
    )


def test_a_single_refusal_shows_a_limit_of_ones_own() -> None:
    assert look(own(reserved=1, refused={57: 1.0})).cause is Cause.OWN_RESERVATION


def test_of_a_function_that_is_not_refused_now_no_limit_is_told() -> None:
    found = look(own(reserved=20, refused={54: 90.0}, others={57: 9.0}))
    assert Cause.OWN_RESERVATION not in {item.cause for item in found.rejected}


def test_a_switch_is_no_small_reservation() -> None:
    found = look(own(reserved=0, refused={57: 9.0}))
    assert found.cause is Cause.SWITCHED_OFF
    assert Cause.OWN_RESERVATION not in {item.cause for item in found.rejected}
