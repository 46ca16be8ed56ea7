"""Which minutes of a pool are looked at, how full and how throttled they were: each threshold from both sides."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.causes.asked import ITSELF, against, look, text
from tests.causes.builders import MINUTES, ONSET, Steps, at, details, function, nothing, points, pool, series
from unthrottle.causes import pool_look
from unthrottle.causes.pool_view import PoolView
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.pool import FunctionUse, PoolEvidence
from unthrottle.settings import Settings


def seen(evidence: PoolEvidence) -> PoolView:
    view = pool_look.look(evidence, Settings(), ITSELF)
    assert isinstance(view, PoolView)
    return view


# --- which minutes are looked at ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "peak"),
    [
        pytest.param({0: 100, ONSET: 1000}, 57, id="of equal minutes the newest"),
        pytest.param({0: 100, 50: 1000, 51: 950}, 57, id="a minute of 95 % is the same peak"),
        pytest.param({0: 100, 50: 1000, 51: 949}, 50, id="below that it is not"),
        pytest.param({0: 100, 43: 1000, 44: 100}, 43, id="fourteen minutes before the newest"),
        pytest.param({0: 100, 42: 1000, 43: 100}, 57, id="fifteen are too long ago"),
    ],
)
def test_the_peak_is_the_newest_of_the_fullest_minutes(use: Steps, peak: int) -> None:
    view = seen(pool(use=use, throttles=nothing()))
    assert view.peak_at == at(peak)
    assert view.at_peak == (view.use.at(at(peak)) or 0.0)


def test_of_the_fullest_minutes_one_that_refused_counts() -> None:
    assert seen(pool(throttles=points({52: 1.0}))).peak_at == at(52)
    assert seen(pool(throttles=points({52: 0.0}))).peak_at == at(57)


@pytest.mark.parametrize(
    ("use", "onset"),
    [
        pytest.param({0: 100, 40: 900}, 40, id="90 % of the pool"),
        pytest.param({0: 899, 50: 900}, 50, id="below that is no pressure"),
        pytest.param({0: 100, 40: 998, 50: 100, 52: 998}, 40, id="a dip of two minutes"),
        pytest.param({0: 100, 40: 998, 55: 100, 57: 998}, 40, id="a dip of two minutes just before the peak"),
        pytest.param({0: 100, 40: 998, 50: 100, 53: 998}, 53, id="a dip of three ends it"),
        pytest.param({0: 100, 40: 998, 50: None, 52: 998}, 40, id="a gap of two minutes"),
        pytest.param({0: 998}, 0, id="all through the window"),
    ],
)
def test_the_pressure_began_where_the_pool_filled_up(use: Steps, onset: int) -> None:
    view = seen(pool(use=use, throttles=nothing()))
    assert view.onset == at(onset)
    assert all(moment < at(onset - 1) for moment in view.calm)


def test_the_minute_before_the_onset_is_no_baseline() -> None:
    """It may belong to the rise already; and what was not measured is none either."""
    view = seen(pool(use={0: None, 30: 100, 35: None, 36: 100, ONSET: 998}, throttles=nothing()))
    assert view.calm == tuple(at(minute) for minute in (30, 31, 32, 33, 34, 36, 37, 38))


@pytest.mark.parametrize(("first", "before"), [(33, 7.0), (34, 7.0), (35, None)])
def test_five_measured_minutes_make_a_baseline(first: int, before: float | None) -> None:
    """Minutes 34 to 38 are five; the one before the onset is left out."""
    view = seen(pool(use={0: None, first: 100, ONSET: 998}, throttles=nothing()))
    assert view.baseline(function("f", {0: 7})) == before


def test_the_baseline_is_the_median_and_what_did_not_run_counts_as_nothing() -> None:
    view = seen(pool(use={0: None, 34: 100, ONSET: 998}, throttles=nothing()))
    assert view.baseline(function("f", {34: 1, 35: 2, 36: 30, 37: 40, 38: 50})) == 30
    assert view.baseline(function("f", {36: 30})) == 30
    assert view.baseline(function("f", {37: 30})) == 0


@pytest.mark.parametrize(("first", "before"), [(34, 7.0), (35, None)])
def test_what_is_before_a_functions_own_series_is_unknown(first: int, before: float | None) -> None:
    """From its first minute on it was measured; the baseline is of minutes 34 to 38."""
    view = seen(pool(use={0: None, 34: 100, ONSET: 998}, throttles=nothing()))
    whole = function("f", {0: 7})
    assert view.baseline(replace(whole, concurrency=whole.concurrency.between(at(first), at(MINUTES)))) == before


@pytest.mark.parametrize(("in_use", "was_larger"), [(997.5, False), (997.6, True)])
def test_a_twentieth_more_than_there_is_room_for_shows_a_new_reservation(in_use: float, *, was_larger: bool) -> None:
    view = seen(pool(reserved=50, use={0: 100, ONSET: in_use}, throttles=nothing()))
    assert view.was_larger is was_larger
    assert ("it has been made smaller since, to 950" in view.fill_finding().text) is was_larger


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ({57: 5.0, 56: 9.0}, 5.0),
        ({56: 9.0, 55: 1.0}, 9.0),
        ({55: 9.0}, 9.0),
        ({54: 9.0}, None),
        ({59: 9.0}, 9.0),
    ],
    ids=["that minute", "the one before", "two before", "three before", "two after"],
)
def test_what_a_function_held_is_of_the_peak_minute_or_of_two_around_it(
    given: dict[int, float], held: float | None
) -> None:
    view = seen(pool(throttles=nothing()))
    assert view.peak_at == at(57)
    assert view.held(FunctionUse(name="f", concurrency=points(given))) == held
    later = FunctionUse(name="f", concurrency=points({60: 9.0}, minutes=61))
    assert view.held(later) is None


@pytest.mark.parametrize(
    ("claimed", "size"),
    [
        pytest.param({0: 1298}, 700, id="what is claimed beyond use and reservations is provisioned"),
        pytest.param({0: 998}, 1000, id="nothing is"),
        pytest.param({0: 900}, 1000, id="less than in use: nothing is"),
        pytest.param({0: 1298, 50: 1100}, 898, id="the smallest remainder counts"),
        pytest.param({0: 998, 43: 1298}, 700, id="older than a quarter of an hour does not count"),
        pytest.param({0: 1298, 42: 998, 43: 1298}, 700, id="fifteen minutes ago neither"),
        pytest.param({0: 1298, 43: 998, 44: 1298}, 1000, id="fourteen minutes ago does"),
        pytest.param({}, 1000, id="not measured"),
    ],
)
def test_provisioned_concurrency_is_taken_out_of_the_pool(claimed: Steps, size: float) -> None:
    assert seen(pool(use={0: 998}, claimed=series(claimed), throttles=nothing())).size == size


def test_reservations_are_no_provisioned_concurrency() -> None:
    evidence = pool(reserved=300, use={0: 698}, claimed=series({0: 1098}), throttles=nothing())
    assert seen(evidence).size == 600


# --- how full, how throttled -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("minute", "is_pressed"), [(55, True), (54, False)])
def test_used_up_now_means_in_the_three_newest_minutes(minute: int, *, is_pressed: bool) -> None:
    view = seen(pool(use={0: 100, minute: 950, minute + 1: 100}, throttles=nothing()))
    assert view.is_pressed is is_pressed


@pytest.mark.parametrize(("reserved", "is_pressed"), [(999, True), (1000, True)])
def test_a_pool_without_any_room_is_used_up(reserved: int, *, is_pressed: bool) -> None:
    view = seen(pool(use={0: 1}, reserved=reserved, throttles=nothing()))
    assert view.is_pressed is is_pressed


def test_throttles_are_counted_by_whichever_saw_more() -> None:
    view = seen(pool(throttles=points({55: 5.0, 54: 90.0}), throttled={"f": points({57: 9.0, 54: 90.0})}))
    assert view.throttled_now == 9
    assert seen(pool(throttles=points({55: 5.0, 57: 6.0}), throttled={"f": points({57: 9.0})})).throttled_now == 11
    assert view.refused("f") == 99
    assert view.refused("unknown") == 0


@pytest.mark.parametrize(("minute", "counts"), [(43, 4.0), (42, 0.0)])
def test_what_was_refused_is_counted_over_a_quarter_of_an_hour(minute: int, counts: float) -> None:
    view = seen(pool(throttles=nothing(), throttled={"f": points({minute: 4.0})}))
    assert view.refused("f") == counts
    assert view.victims == (("f",) if counts else ())


def test_a_candidates_own_throttles_count_where_no_ranking_has_it() -> None:
    evidence = pool(
        throttles=nothing(),
        throttled={"ranked": {ONSET: 1}},
        candidates=[details("ranked", throttles=series({ONSET: 900})), details("alone", throttles=series({ONSET: 2}))],
    )
    view = seen(evidence)
    assert (view.refused("ranked"), view.refused("alone")) == (15, 30)
    assert view.throttled_names == ("alone", "ranked")


def test_a_single_refusal_is_told() -> None:
    found = look(pool(use={0: 120}, throttles=points({57: 1.0}), candidates=[]))
    assert found.cause is Cause.INCONCLUSIVE
    assert "Which functions were throttled could not be read." in found.gaps
    assert "1 invocations were refused in the 15 minutes to 04:57 UTC." in text(found)
    named = look(pool(use={0: 120}, throttles=points({57: 1.0}), throttled={"f": points({57: 1.0})}, candidates=[]))
    assert named.gaps == ("The settings of throttled functions were not read: f.",)
    assert "1 invocations were refused in the 15 minutes to 04:57 UTC, most of f (1)." in text(named)


def test_of_a_quiet_pool_nothing_is_missing() -> None:
    """What nobody read does not matter where nothing is throttled and the pool has room."""
    evidence = pool(
        use={0: 100, ONSET: 998, 50: 100},
        throttles={ONSET: 9, 50: None},
        throttled={"f": {ONSET: 9, 50: None}},
        functions=[function("gone", {0: 20, ONSET: 900, 50: 10})],
        candidates=[],
    )
    found = look(evidence)
    assert (found.cause, found.gaps) == (Cause.ALREADY_OVER, ())


def test_a_used_up_pool_needs_no_settings_of_its_victims() -> None:
    evidence = pool(
        functions=[function("hog", {0: 20, ONSET: 841})], throttled={"v": {ONSET: 9}}, candidates=[details("hog")]
    )
    assert look(evidence).gaps == ()


def test_before_anybody_is_throttled_nobody_is_missed() -> None:
    evidence = pool(throttles=nothing(), functions=[function("hog", {0: 20, ONSET: 841})], candidates=[details("hog")])
    found = look(evidence)
    assert (found.cause, found.confidence, found.gaps) == (Cause.POOL_HOG, Confidence.MEDIUM, ())
    assert text(found).count("Nobody is throttled yet: no throttles in the 3 minutes to 04:57 UTC.") == 1


def test_who_was_refused_a_while_ago_is_named_though_nobody_is_now() -> None:
    evidence = pool(
        throttles=points({50: 40.0}),
        functions=[function("hog", {0: 20, ONSET: 841}), function("v", {0: 5})],
        throttled={"v": points({50: 40.0}), "hog": points({50: 4.0})},
        candidates=[details("hog")],
    )
    found = look(evidence)
    assert found.victims == ("v",)
    refused = "1 other function was refused 40 times in the 15 minutes to 04:57 UTC: v. The most throttled, v (40 times"
    assert refused in text(found)
    assert "Nobody is throttled yet" in text(found)
    throttled = look(replace(evidence, throttles=points({57: 40.0})))
    assert "Nobody is throttled yet" not in text(throttled)


def test_the_newest_minute_counts_for_the_room_that_is_left() -> None:
    found = look(pool(use={0: 100, 57: 300}, throttled={"f": {ONSET: 9}}, candidates=[]))
    assert "at most 300 of 1,000 in use (30 %)" in against(found, Cause.POOL_HOG)


@pytest.mark.parametrize(
    ("throttles", "rows", "confidence"),
    [
        pytest.param({57: 1.0}, {}, Confidence.HIGH, id="one that nobody named"),
        pytest.param({}, {"hog": {57: 5.0}, "v": {50: 1.0}}, Confidence.HIGH, id="another one, a while ago"),
        pytest.param({}, {"hog": {57: 5.0}}, Confidence.MEDIUM, id="nobody but the hog"),
    ],
)
def test_a_hog_is_sure_where_others_are_refused(
    throttles: dict[int, float], rows: dict[str, dict[int, float]], confidence: Confidence
) -> None:
    evidence = pool(
        throttles=points(throttles),
        functions=[function("hog", {0: 20, ONSET: 841})],
        throttled={name: points(given) for name, given in rows.items()},
        candidates=[details("hog")],
    )
    assert look(evidence).confidence is confidence


@pytest.mark.parametrize(("use", "cause"), [({0: 100, ONSET: 998, 56: 799}, Cause.ALREADY_OVER),
                                            ({0: 100, ONSET: 998, 56: 800}, Cause.POOL_HOG),
                                            ({0: 100, ONSET: 998, 57: 700}, Cause.POOL_HOG)])  # fmt: skip
def test_a_pool_is_let_go_when_two_minutes_had_room(use: Steps, cause: Cause) -> None:
    evidence = pool(
        use=use,
        throttles={ONSET: 9, 56: None},
        functions=[function("hog", {0: 20, ONSET: 841})],
        candidates=[details("hog")],
    )
    assert look(evidence).cause is cause


@pytest.mark.parametrize("where", ["account", "function"])
@pytest.mark.parametrize(("minute", "cause"), [(55, Cause.ALREADY_OVER), (56, Cause.POOL_HOG), (57, Cause.POOL_HOG)])
def test_a_pool_is_not_let_go_while_somebody_is_refused(minute: int, cause: Cause, where: str) -> None:
    refused = points({minute: 1.0})
    evidence = pool(
        use={0: 100, ONSET: 998, 56: 100},
        throttles=refused if where == "account" else nothing(),
        throttled={"f": refused} if where == "function" else {},
        functions=[function("hog", {0: 20, ONSET: 841})],
        candidates=[details("hog")],
    )
    assert look(evidence).cause is cause


def test_what_is_over_says_why() -> None:
    quiet = look(pool(use={0: 120}, throttles=nothing()))
    assert quiet.confidence is Confidence.HIGH
    assert "No throttles in the 3 minutes to 04:57 UTC; at 04:57 UTC 120 of 1,000 executions" in text(quiet)
    full = look(pool(throttles=nothing(), functions=[function("hog", {0: 20, ONSET: 841})]))
    assert against(full, Cause.ALREADY_OVER).startswith("Nobody is throttled, but at 04:57 UTC 998 of 1,000")
    going_on = look(pool(throttles=points({57: 7.0}), functions=[function("hog", {0: 20, ONSET: 841})]))
    assert against(going_on, Cause.ALREADY_OVER) == "7 throttles in the 3 minutes to 04:57 UTC."


@pytest.mark.parametrize(("reserved", "size"), [(10, 20)])
def test_a_tenth_above_its_reservation_is_no_sign_of_a_change(reserved: int, size: int) -> None:
    """Exactly a tenth may be how a minute is sampled; exactly half of the pool is enough to explain it."""

    def asked(held: float, in_use: float = 20) -> Cause:
        evidence = pool(
            limit=size,
            reserved=reserved,
            use={0: 1, ONSET: in_use},
            functions=[function("own", {0: 1, ONSET: held}), function("s", {0: 1, ONSET: 2})],
            throttled={"v": {ONSET: 4}},
            candidates=[details("own", reserved=reserved)],
        )
        return look(evidence).cause

    assert asked(11) is not Cause.CAPACITY_CHANGE_IN_PROGRESS
    assert asked(11.1) is Cause.CAPACITY_CHANGE_IN_PROGRESS
    assert asked(12, 24) is Cause.CAPACITY_CHANGE_IN_PROGRESS
    assert asked(12, 24.1) is not Cause.CAPACITY_CHANGE_IN_PROGRESS


def test_the_window_of_the_commands_is_the_quarter_of_an_hour_that_was_judged() -> None:
    view = seen(pool(throttles=nothing()))
    assert "--start-time 2026-08-24T04:43:00Z --end-time 2026-08-24T04:58:00Z" in view.check("Throttles", "Sum")
    assert view.newest - view.work_start == timedelta(minutes=14)
    assert MINUTES == 60


def test_a_pool_of_one_execution_has_room_for_one() -> None:
    assert not seen(pool(limit=1, use={0: 0}, throttles=nothing())).is_pressed
    assert seen(pool(limit=1, use={0: 1}, throttles=nothing())).is_pressed
