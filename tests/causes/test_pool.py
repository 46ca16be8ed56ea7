"""The pool as a whole: how full it is, how fresh the evidence, what is missing of it."""

from dataclasses import replace

import pytest

from tests.causes.asked import against, look, text
from tests.causes.builders import MINUTES, ONSET, at, details, function, hog_incident, nothing, points, pool, series
from unthrottle.diagnosis import Cause, Confidence


@pytest.mark.parametrize(
    ("in_use", "cause"),
    [
        pytest.param(899, Cause.INCONCLUSIVE, id="below 90 %: throttled, but not by the pool"),
        pytest.param(900, Cause.POOL_HOG, id="exactly 90 %"),
        pytest.param(901, Cause.POOL_HOG, id="above"),
        pytest.param(29, Cause.INCONCLUSIVE, id="7: 29 in use is idle, not saturated"),
    ],
)
def test_the_pool_is_used_up_from_90_percent_of_its_limit(in_use: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 20, ONSET: in_use},
        functions=[function("hog", {0: 5, ONSET: in_use * 0.9})],
        throttled={"victim": {ONSET: 9}},
    )
    assert look(evidence).cause is cause


@pytest.mark.parametrize(
    ("newest", "cause"),
    [
        pytest.param(MINUTES - 10, Cause.POOL_HOG, id="ten minutes old"),
        pytest.param(MINUTES - 11, Cause.INCONCLUSIVE, id="eleven minutes old"),
    ],
)
def test_old_datapoints_are_not_acted_on(newest: int, cause: Cause) -> None:
    delay = MINUTES - newest - 1
    evidence = replace(hog_incident(), unreserved_in_use=series({0: 100, ONSET: 998}, delay=delay))
    found = look(evidence)
    assert found.cause is cause
    assert cause is not Cause.INCONCLUSIVE or "11 minutes old" in found.gaps[0]


def test_without_any_account_datapoint_nothing_is_concluded() -> None:
    evidence = replace(hog_incident(), unreserved_in_use=nothing(), concurrency=nothing())
    found = look(evidence)
    assert (found.cause, found.confidence, found.targets) == (Cause.INCONCLUSIVE, Confidence.LOW, ())
    assert "how full the pool is, is unknown" in found.gaps[0]


def test_where_nothing_is_reserved_the_accounts_concurrency_stands_for_the_pools() -> None:
    evidence = replace(hog_incident(), unreserved_in_use=nothing())
    assert look(evidence).cause is Cause.POOL_HOG


@pytest.mark.parametrize(
    ("last_throttle", "cause"),
    [
        pytest.param(55, Cause.INCONCLUSIVE, id="in the third newest visible minute"),
        pytest.param(54, Cause.ALREADY_OVER, id="four visible minutes ago"),
    ],
)
def test_it_is_over_when_three_visible_minutes_had_no_throttle_and_the_pool_has_room(
    last_throttle: int, cause: Cause
) -> None:
    # 22: the hog stopped before we looked
    throttles = points(dict.fromkeys(range(ONSET, last_throttle + 1), 50.0))
    evidence = pool(
        use={0: 100, ONSET: 998, 50: 80}, throttles=throttles, functions=[function("hog", {0: 9, ONSET: 900, 50: 9})]
    )
    found = look(evidence)
    assert (found.cause, found.targets) == (cause, ())


def test_a_pool_that_has_just_been_let_go_is_over_though_the_third_minute_was_throttled() -> None:
    evidence = pool(
        use={0: 100, ONSET: 998, 56: 80},
        throttles={ONSET: 50, 56: None},
        functions=[function("hog", {0: 9, ONSET: 900, 56: 9})],
    )
    found = look(evidence)
    assert (found.cause, found.confidence) == (Cause.ALREADY_OVER, Confidence.MEDIUM)


def test_a_queue_held_back_by_its_own_event_source_limit_is_not_throttling() -> None:
    # 14, 37, 11: no throttles, the pool has room
    evidence = pool(use={0: 50}, throttles=nothing(), functions=[function("sqs", {0: 50})])
    assert look(evidence).cause is Cause.ALREADY_OVER


def test_an_early_warning_names_the_hog_before_anyone_is_throttled() -> None:
    evidence = pool(
        use={0: 100, ONSET: 820},
        throttles=nothing(),
        functions=[function("hog", {0: 9, ONSET: 700})],
        early_warning=True,
    )
    found = look(evidence)
    assert (found.cause, found.confidence, found.targets) == (Cause.POOL_HOG, Confidence.MEDIUM, ("hog",))
    assert found.victims == ()
    assert "Nobody is throttled yet" in text(found)


@pytest.mark.parametrize(
    ("in_use", "cause"), [pytest.param(799, Cause.ALREADY_OVER, id="below"), pytest.param(800, Cause.POOL_HOG, id="at")]
)
def test_an_early_warning_counts_from_80_percent(in_use: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 100, ONSET: in_use},
        throttles=nothing(),
        functions=[function("hog", {0: 9, ONSET: 700})],
        early_warning=True,
    )
    assert look(evidence).cause is cause


def test_the_share_of_provisioned_concurrency_is_not_room_in_the_pool() -> None:
    evidence = pool(
        use={0: 100, ONSET: 695},
        claimed=series({0: 400, ONSET: 995}),
        functions=[function("hog", {0: 9, ONSET: 600})],
        throttled={"victim": {ONSET: 9}},
    )
    found = look(evidence)
    assert found.cause is Cause.POOL_HOG
    assert "695 of 700" in text(found)


def test_a_cap_in_force_does_not_make_the_pool_look_full() -> None:
    # 41: claimed counts a reservation whether it is used or not
    evidence = pool(use={0: 100}, reserved=250, claimed=series({0: 350}), throttles=nothing())
    assert look(evidence).cause is Cause.ALREADY_OVER


# --- what is missing ---------------------------------------------------------------------------------------------


def test_what_nothing_explains_is_inconclusive_with_its_gaps_and_runners_up() -> None:
    # 35, 38: throttled, the pool here is fine, nothing known of the function
    evidence = pool(use={0: 120}, throttled={"f": {ONSET: 9}}, candidates=[], gaps=["ListFunctions was refused."])
    found = look(evidence)
    assert (found.cause, found.confidence) == (Cause.INCONCLUSIVE, Confidence.LOW)
    assert found.gaps == ("ListFunctions was refused.", "The settings of throttled functions were not read: f.")
    assert "The shared pool has room" in against(found, Cause.POOL_HOG)


def test_a_limit_of_ten_is_a_pool_like_any_other() -> None:
    # 27
    evidence = pool(
        limit=10, use={0: 1, ONSET: 10}, functions=[function("hog", {0: 1, ONSET: 9})], throttled={"v": {ONSET: 3}}
    )
    assert look(evidence).targets == ("hog",)


def test_the_window_ends_where_we_looked() -> None:
    assert hog_incident().end == at(MINUTES)


def test_a_middling_function_nobody_read_does_not_hide_that_everything_grew() -> None:
    evidence = pool(
        functions=[function(f"f{number}", {0: 12, ONSET: 130}) for number in range(6)] + [function("rest", {0: 3})],
        throttled={"rest": {ONSET: 10}},
        candidates=[details(f"f{number}") for number in range(5)],
    )
    assert look(evidence).cause is Cause.POOL_GROWTH


def test_a_function_read_for_a_shorter_time_keeps_its_own_baseline() -> None:
    whole = function("steady", {0: 600})
    short = replace(
        whole, concurrency=whole.concurrency.between(at(ONSET - 10), at(MINUTES))
    )  # the account's series is longer; what is before the function's own is unknown, not zero
    evidence = pool(use={0: 650, ONSET: 998}, functions=[short], throttled={"victim": {ONSET: 9}})
    assert look(evidence).cause is Cause.POOL_GROWTH


def test_an_unread_function_keeps_idle_reservations_from_being_blamed() -> None:
    evidence = pool(
        use={0: 20, ONSET: 400},
        concurrency={0: 40, ONSET: 420},
        reserved=600,
        functions=[function("unread", {0: 10, ONSET: 390})],
        throttled={"victim": {ONSET: 40}},
        candidates=[],
    )
    assert look(evidence).cause is Cause.INCONCLUSIVE


def test_what_the_account_ran_must_be_known_to_blame_reservations() -> None:
    evidence = pool(
        use={0: 20, ONSET: 120},
        reserved=880,
        functions=[function("f", {0: 10, ONSET: 60})],
        throttled={"f": {ONSET: 40}},
    )
    found = look(replace(evidence, concurrency=nothing()))
    assert "what the account ran is unknown" in against(found, Cause.OVER_RESERVATION)


def test_a_used_up_pool_goes_before_the_request_rate() -> None:
    evidence = hog_incident()
    found = look(replace(evidence, invocations=series({0: 900, ONSET: 590_000})))
    assert found.cause is Cause.POOL_HOG
    assert "used up first" in against(found, Cause.REQUEST_RATE)


def test_a_used_up_pool_without_a_ranking_is_not_called_growth() -> None:
    found = look(pool(throttled={"victim": {ONSET: 40}}))
    assert found.cause is Cause.INCONCLUSIVE
    assert against(found, Cause.POOL_GROWTH) == "No function's share of the pool could be read."


@pytest.mark.parametrize(
    ("rest", "cause"),
    [
        pytest.param(49, Cause.INCONCLUSIVE, id="ten functions explain 49 %, and no others were left out"),
        pytest.param(50, Cause.POOL_GROWTH, id="half"),
    ],
)
def test_a_hog_without_datapoints_of_its_own_is_not_told_as_growth(rest: float, cause: Cause) -> None:
    """The ranking is complete, and yet does not add up: whoever holds the rest cannot be seen."""
    evidence = pool(
        use={0: 100, ONSET: 1000},
        functions=[function(f"f{number}", {0: 10, ONSET: rest}) for number in range(10)],
        throttled={"f1": {ONSET: 40}},
    )
    found = look(evidence)
    assert found.cause is cause
    gap = (
        "Whoever holds the rest of the pool has no datapoints of its own: the 10 ranked functions explain 490 of 1,000"
    )
    assert any(each.startswith(gap) for each in found.gaps) is (cause is Cause.INCONCLUSIVE)
    assert cause is Cause.POOL_GROWTH or "may hide a hog" in against(found, Cause.POOL_GROWTH)


@pytest.mark.parametrize(
    ("functions", "cause"),
    [
        pytest.param(150, Cause.POOL_GROWTH, id="a hundred that were cut off may hold four each"),
        pytest.param(124, Cause.INCONCLUSIVE, id="74 that were cut off cannot explain half"),
    ],
)
def test_what_a_ranking_cuts_off_holds_at_most_as_much_as_its_last_row(functions: int, cause: Cause) -> None:
    """Hundreds of small functions add up to a pool; the fifty largest explain little of it, and that is growth."""
    evidence = pool(
        use={0: 100, ONSET: 1000},
        functions=[function(f"f{number:02d}", {0: 1, ONSET: 4}) for number in range(50)],
        throttled={"f01": {ONSET: 40}},
        candidates=[],
    )
    evidence = replace(evidence, account=replace(evidence.account, function_count=functions))
    assert look(evidence).cause is cause


def test_the_last_row_and_not_the_first_bounds_what_was_cut_off() -> None:
    def asked(largest: float, rest: float, last: float, functions: int) -> Cause:
        rows = [
            function("first", {0: 1, ONSET: largest}),
            *(function(f"f{n:02d}", {0: 1, ONSET: rest}) for n in range(48)),
        ]
        evidence = pool(
            use={0: 100, ONSET: 1000},
            functions=[*rows, function("last", {0: 1, ONSET: last})],
            throttled={"f01": {ONSET: 40}},
            candidates=[],
        )
        return look(replace(evidence, account=replace(evidence.account, function_count=functions))).cause

    assert asked(30, 4, 4, 110) is Cause.INCONCLUSIVE  # 226, and 60 of at most 4
    assert asked(30, 4, 4, 119) is Cause.POOL_GROWTH
    assert asked(10, 10.1, 4, 50) is Cause.INCONCLUSIVE  # 498.8, and none was cut off
    assert asked(10, 10.1, 4, 51) is Cause.POOL_GROWTH
    assert asked(10, 10.1, 4, 40) is Cause.INCONCLUSIVE  # deleted ones have metrics still


def test_a_row_without_datapoints_at_the_peak_explains_nothing() -> None:
    evidence = pool(
        use={0: 100, ONSET: 1000},
        functions=[
            *(function(f"f{number}", {0: 10, ONSET: 49}) for number in range(10)),
            *(function(f"g{number}", {0: 3, 30: None}) for number in range(20)),
        ],
        throttled={"f1": {ONSET: 40}},
    )
    assert look(evidence).cause is Cause.INCONCLUSIVE


def test_in_a_pool_with_room_it_does_not_matter_who_holds_what() -> None:
    found = look(pool(use={0: 120}, throttled={"f": {ONSET: 9}}))
    assert not any("datapoints of its own" in gap for gap in found.gaps)
