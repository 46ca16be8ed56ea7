"""The causes of Lambda throttling: what each looks like, and what looks like it and is not."""

import shlex
from dataclasses import replace

import pytest

from tests.causes.builders import (
    MINUTES,
    ONSET,
    at,
    details,
    function,
    hog_incident,
    nothing,
    points,
    pool,
    series,
)
from unthrottle.causes import diagnose
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.settings import Settings

ITSELF = frozenset({"unthrottle-respond"})


def look(evidence: PoolEvidence, *, share: int = 25) -> Diagnosis:
    return diagnose(evidence, Settings(max_pool_share=share), itself=ITSELF)


def against(diagnosis: Diagnosis, cause: Cause) -> str:
    return next(item.because for item in diagnosis.rejected if item.cause is cause)


def text(diagnosis: Diagnosis) -> str:
    return " ".join(finding.text for finding in diagnosis.findings)


# --- the hog -----------------------------------------------------------------------------------------------------


def test_the_function_that_holds_the_pool_is_the_target_and_not_the_most_throttled_one() -> None:
    # 1, 2, 4, 19: thousands of throttles at a handful of executions make a victim
    found = look(hog_incident())
    assert (found.cause, found.confidence) == (Cause.POOL_HOG, Confidence.HIGH)
    assert found.targets == ("batch-processor",)
    assert found.victims[0] == "uat-pipe-028"
    assert len(found.victims) == 28
    assert "batch-processor held 841 executions at 04:57 UTC, 84.3 % of the pool in use" in text(found)
    assert all(finding.check for finding in found.findings)


def test_the_hog_may_be_the_one_function_that_is_not_throttled_itself() -> None:
    evidence = pool(
        functions=[function("quiet", {0: 30, ONSET: 955}), function("victim", {0: 5, ONSET: 2})],
        throttled={"victim": {ONSET: 900}},
    )
    assert look(evidence).targets == ("quiet",)


def test_two_functions_that_share_the_pool_are_both_targets_the_larger_first() -> None:
    # 3: 345 + 502 in the same minute, neither above 60 %
    evidence = pool(
        functions=[function("a", {0: 10, ONSET: 345}), function("b", {0: 10, ONSET: 502}), function("c", {0: 9})],
        throttled={"c": {ONSET: 40}},
    )
    found = look(evidence)
    assert (found.cause, found.targets, found.victims) == (Cause.POOL_HOG, ("b", "a"), ("c",))


@pytest.mark.parametrize(
    ("held", "before", "refused", "is_hog"),
    [
        pytest.param(224, 14, 50, True, id="just below the share, risen sixteenfold, and wanting more"),
        pytest.param(224, 14, 0, False, id="it has what it wants"),
        pytest.param(224, 60, 50, False, id="it always ran nearly as much"),
        pytest.param(120, 5, 50, False, id="below half of the share: a victim"),
    ],
)
def test_a_function_that_would_take_what_the_caps_free_is_a_hog_too(
    held: float, before: float, refused: float, *, is_hog: bool
) -> None:
    evidence = pool(
        functions=[
            function("a", {0: 10, ONSET: 375}),
            function("b", {0: 10, ONSET: 360}),
            function("third", {0: before, ONSET: held}),
        ],
        throttled={"victim": {ONSET: 40}, "third": {ONSET: refused}},
    )
    found = look(evidence)
    assert found.cause is Cause.POOL_HOG
    assert ("third" in found.targets) is is_hog


@pytest.mark.parametrize(
    ("provisioned", "cause"),
    [
        pytest.param(0, Cause.POOL_HOG, id="all of it from the pool"),
        pytest.param(300, Cause.POOL_HOG, id="most of it from the pool"),
        pytest.param(780, Cause.POOL_GROWTH, id="nearly none of it from the pool"),
    ],
)
def test_what_provisioned_concurrency_serves_is_not_held_of_the_pool(provisioned: int, cause: Cause) -> None:
    evidence = pool(
        use={0: 100, ONSET: 998 - provisioned},
        claimed=series({0: 100 + provisioned, ONSET: 998}),
        functions=[function("big", {0: 20, ONSET: 841}), *(function(f"f{i}", {0: 3}) for i in range(20))],
        throttled={"f1": {ONSET: 40}},
        candidates=[details("big", provisioned=provisioned)],
    )
    assert look(evidence).cause is cause


@pytest.mark.parametrize(
    ("held", "cause"),
    [
        pytest.param(
            [249, 249, 249], Cause.POOL_HOG, id="each just below the share, each risen twentyfold: joint hogs"
        ),
        pytest.param([250, 250, 250], Cause.POOL_HOG, id="each exactly at the share"),
        pytest.param([124, 124, 124, 124, 124], Cause.POOL_GROWTH, id="each below half of the share: growth"),
        pytest.param([130] * 6, Cause.POOL_GROWTH, id="six functions are no few: growth"),
        pytest.param([130] * 5, Cause.POOL_HOG, id="five functions are few"),
    ],
)
def test_functions_below_the_share_are_hogs_only_together_and_only_if_they_are_few(
    held: list[float], cause: Cause
) -> None:
    evidence = pool(
        functions=[function(f"f{number}", {0: 12, ONSET: each}) for number, each in enumerate(held)]
        + [function("rest", {0: 3})],
        throttled={"rest": {ONSET: 10}},
    )
    assert look(evidence).cause is cause


@pytest.mark.parametrize(
    ("before", "cause"),
    [
        pytest.param(300, Cause.POOL_HOG, id="twice its baseline"),
        pytest.param(301, Cause.POOL_GROWTH, id="a little less than twice: part of the normal load"),
        pytest.param(600, Cause.POOL_GROWTH, id="it always ran so, the others grew"),
    ],
)
def test_a_hog_stands_out_of_its_own_baseline(before: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 650, ONSET: 998},
        functions=[function("big", {0: before, ONSET: 600}), function("grown", {0: 20, ONSET: 100})],
        throttled={"grown": {ONSET: 10}},
    )
    assert look(evidence).cause is cause


def test_a_grown_function_below_half_of_the_use_is_a_hog_when_the_growth_is_its_own() -> None:
    evidence = pool(
        use={0: 650, ONSET: 998},
        functions=[function("steady", {0: 300, ONSET: 290}), function("risen", {0: 5, ONSET: 345})],
        throttled={"steady": {ONSET: 10}},
    )
    found = look(evidence)
    assert (found.cause, found.confidence, found.targets) == (Cause.POOL_HOG, Confidence.MEDIUM, ("risen",))


@pytest.mark.parametrize(
    ("top", "why"),
    [
        pytest.param(details("top", reserved=600), "own reservation of 600", id="9: it runs in its own reservation"),
        pytest.param(
            details("top", managed_instances=True), "Managed Instances", id="10: it runs on Managed Instances"
        ),
        pytest.param(details("unthrottle-respond"), "Unthrottle itself", id="33: it is the bot"),
    ],
)
def test_a_large_function_outside_the_pool_is_skipped_and_the_next_one_taken(top: object, why: str) -> None:
    name = top.name  # type: ignore[attr-defined]  # a Candidate; the parametrization only widens it
    evidence = pool(
        functions=[function(name, {0: 50, ONSET: 900}), function("hog", {0: 20, ONSET: 700})],
        throttled={"victim": {ONSET: 40}},
        candidates=[top, details("hog")],  # type: ignore[list-item]  # the same
    )
    found = look(evidence)
    assert found.targets == ("hog",)
    assert why in text(found)


def test_a_function_whose_settings_were_not_read_is_never_a_target() -> None:
    evidence = pool(
        functions=[function("unread", {0: 20, ONSET: 900})], throttled={"victim": {ONSET: 9}}, candidates=[]
    )
    found = look(evidence)
    assert (found.cause, found.targets) == (Cause.INCONCLUSIVE, ())
    assert "unread could not be judged: it held 900 executions, but its settings were not read." in found.gaps


def test_a_function_that_has_let_go_is_not_capped_for_what_it_held_before() -> None:
    evidence = pool(
        functions=[function("gone", {0: 20, ONSET: 900, 55: 10}), function("slow", {0: 20, 55: 100})],
        throttled={"victim": {ONSET: 9}},
        throttles={ONSET: 20, 55: 0, 57: 5},
    )
    evidence = replace(evidence, unreserved_in_use=series({0: 100, ONSET: 998, 55: 910}))
    found = look(evidence)
    assert (found.cause, found.targets) == (Cause.INCONCLUSIVE, ())


def test_no_invocations_are_needed_to_be_a_hog() -> None:
    # 23: runs of 14 minutes have no Invocations datapoint while they run
    evidence = replace(hog_incident(), invocations=nothing())
    assert look(evidence).targets == ("batch-processor",)


def test_a_missing_peak_minute_of_a_function_is_filled_from_its_neighbours() -> None:
    evidence = hog_incident()
    hog = evidence.ranking[0]
    holed = replace(hog.concurrency, values=(*hog.concurrency.values[:57], None, *hog.concurrency.values[58:]))
    evidence = replace(evidence, ranking=(replace(hog, concurrency=holed), *evidence.ranking[1:]))
    assert look(evidence).targets == ("batch-processor",)


def test_without_minutes_before_the_pressure_the_hog_is_named_with_medium_confidence() -> None:
    evidence = pool(use={0: 998}, functions=[function("hog", {0: 900})], throttled={"victim": {0: 9}})
    found = look(evidence)
    assert (found.cause, found.confidence) == (Cause.POOL_HOG, Confidence.MEDIUM)
    assert "hog has no baseline: less than 5 minutes before the pressure were read." in found.gaps


def test_the_series_of_an_alias_does_not_count_its_function_twice() -> None:
    # 25
    evidence = pool(
        functions=[function("f:live", {0: 9, ONSET: 900}), function("f", {0: 9, ONSET: 900})],
        throttled={"victim": {ONSET: 9}},
    )
    assert look(evidence).targets == ("f",)


def test_the_owners_of_a_dev_hog_and_uat_victims_share_one_pool() -> None:
    # 34
    found = look(hog_incident("svc-dev-batch"))
    assert found.targets == ("svc-dev-batch",)


@pytest.mark.parametrize("name", ["f;rm -rf ~", "it's", "$(whoami)"])
def test_a_name_cannot_break_out_of_the_command_that_shows_the_finding(name: str) -> None:
    found = look(hog_incident(name))
    commands = [finding.check or "" for finding in found.findings]
    assert any("FunctionName" in command for command in commands)

    for command in commands:
        assert shlex.split(command)[0] == "aws"
        assert ";" not in shlex.split(command, posix=True)


# --- how full, how fresh -----------------------------------------------------------------------------------------


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


# --- the pool's shape --------------------------------------------------------------------------------------------


def test_a_pool_used_up_by_everybody_has_grown() -> None:
    evidence = pool(
        functions=[function(f"f{number:02d}", {0: 10, ONSET: 33}) for number in range(30)],
        throttled={"f01": {ONSET: 40}},
        candidates=[details("f00")],
    )
    found = look(evidence)
    assert (found.cause, found.confidence, found.targets, found.victims) == (
        Cause.POOL_GROWTH,
        Confidence.HIGH,
        (),
        ("f01",),
    )
    assert "No function stands out" in against(found, Cause.POOL_HOG)


@pytest.mark.parametrize(
    ("held", "cause"),
    [
        pytest.param(49, Cause.INCONCLUSIVE, id="39: ten functions explain 49 %"),
        pytest.param(50, Cause.POOL_GROWTH, id="ten functions explain half"),
    ],
)
def test_an_incomplete_ranking_must_explain_half_of_what_ran(held: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 100, ONSET: 1000},
        functions=[function(f"f{number}", {0: 10, ONSET: held}) for number in range(10)],
        throttled={"f1": {ONSET: 40}},
        ranking_complete=False,
    )
    found = look(evidence)
    assert found.cause is cause
    assert cause is Cause.POOL_GROWTH or any("does not look at every function" in gap for gap in found.gaps)


@pytest.mark.parametrize(
    ("reserved", "running", "cause"),
    [
        pytest.param(880, 150, Cause.OVER_RESERVATION, id="8: 880 of 1,000 reserved, 150 running"),
        pytest.param(880, 500, Cause.OVER_RESERVATION, id="half of the limit running"),
        pytest.param(880, 501, Cause.POOL_GROWTH, id="the reservations are used"),
        pytest.param(500, 500, Cause.OVER_RESERVATION, id="half of the limit reserved"),
        pytest.param(499, 500, Cause.POOL_GROWTH, id="less than half reserved"),
    ],
)
def test_reservations_that_lie_idle_make_the_pool_small(reserved: int, running: float, cause: Cause) -> None:
    size = 1000 - reserved
    evidence = pool(
        use={0: 20, ONSET: size},
        concurrency={0: 40, ONSET: running},
        reserved=reserved,
        functions=[function(f"f{number}", {0: 10, ONSET: size / 10}) for number in range(10)],
        throttled={"f1": {ONSET: 40}},
    )
    found = look(evidence)
    assert (found.cause, found.targets) == (cause, ())


# --- a function's own limit --------------------------------------------------------------------------------------


def test_a_function_flat_at_its_own_reservation_is_not_a_pool_problem() -> None:
    # 5
    evidence = pool(
        use={0: 120},
        reserved=1,
        functions=[function("own", {0: 1}), function("other", {0: 90})],
        throttled={"own": {ONSET: 40}},
        throttles={ONSET: 40},
        candidates=[details("own", reserved=1), details("other")],
        alarmed=["own"],
    )
    found = look(evidence)
    assert (found.cause, found.confidence, found.targets, found.victims) == (
        Cause.OWN_RESERVATION,
        Confidence.HIGH,
        (),
        ("own",),
    )


def test_a_starved_victim_is_not_taken_for_one_with_a_reservation_of_one() -> None:
    # 4: it runs 1 or 2, but has no reservation
    evidence = hog_incident()
    found = look(replace(evidence, alarmed=("uat-pipe-001",)))
    assert found.cause is Cause.POOL_HOG
    assert "uat-pipe-001 has no reservation of its own." in against(found, Cause.OWN_RESERVATION)


@pytest.mark.parametrize(
    ("ran", "cause"),
    [pytest.param(45, Cause.OWN_RESERVATION, id="at 90 %"), pytest.param(44, Cause.INCONCLUSIVE, id="below")],
)
def test_own_reservation_means_running_at_it(ran: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 120},
        reserved=50,
        functions=[function("own", {0: ran})],
        throttled={"own": {ONSET: 40}},
        throttles={ONSET: 40},
        candidates=[details("own", reserved=50)],
    )
    assert look(evidence).cause is cause


def test_a_reservation_that_is_all_provisioned_leaves_nothing_for_other_versions() -> None:
    evidence = pool(
        use={0: 120},
        reserved=5,
        throttled={"own": {ONSET: 40}},
        throttles={ONSET: 40},
        candidates=[details("own", reserved=5, provisioned=5)],
    )
    found = look(evidence)
    assert (found.cause, found.confidence) == (Cause.OWN_RESERVATION, Confidence.MEDIUM)
    assert "$LATEST" in text(found)


def test_a_function_switched_off_is_left_off() -> None:
    # 6
    evidence = pool(
        use={0: 120},
        throttles={ONSET: 40},
        throttled={"off": {ONSET: 40}},
        candidates=[details("off", reserved=0, throttles=series({ONSET: 40}))],
    )
    found = look(evidence)
    assert (found.cause, found.confidence, found.targets) == (Cause.SWITCHED_OFF, Confidence.HIGH, ())


@pytest.mark.parametrize(
    ("off", "cause"),
    [
        pytest.param(50, Cause.SWITCHED_OFF, id="half of the throttles"),
        pytest.param(49, Cause.INCONCLUSIVE, id="less than half: a side story"),
    ],
)
def test_a_switched_off_function_explains_only_its_own_throttles(off: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 120},
        throttles={ONSET: 100},
        throttled={"off": {ONSET: off}, "other": {ONSET: 100 - off}},
        candidates=[details("off", reserved=0), details("other")],
    )
    assert look(evidence).cause is cause


def test_a_used_up_pool_goes_before_a_function_that_was_switched_off() -> None:
    evidence = hog_incident()
    evidence = replace(
        evidence,
        throttled=(*evidence.throttled, ("off", series({ONSET: 99999}))),
        candidates=(*evidence.candidates, details("off", reserved=0)),
    )
    found = look(evidence)
    assert found.cause is Cause.POOL_HOG
    assert "off" not in found.victims
    assert "the shared pool is used up" in against(found, Cause.SWITCHED_OFF)


def test_throttles_of_managed_instances_are_not_explained_by_the_pool() -> None:
    evidence = pool(
        use={0: 120},
        throttles={ONSET: 100},
        throttled={"mi": {ONSET: 100}},
        candidates=[details("mi", managed_instances=True)],
    )
    assert look(evidence).cause is Cause.INCONCLUSIVE


# --- rates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "cause"),
    [
        pytest.param(600_000, Cause.REQUEST_RATE, id="12: at ten a second for each execution"),
        pytest.param(540_000, Cause.REQUEST_RATE, id="at 90 % of it"),
        pytest.param(539_999, Cause.INCONCLUSIVE, id="below"),
    ],
)
def test_many_short_runs_reach_the_request_rate_before_the_concurrency(rate: float, cause: Cause) -> None:
    evidence = pool(use={0: 200}, invocations={0: 900, ONSET: rate}, throttled={"f": {ONSET: 9}})
    found = look(evidence)
    assert (found.cause, found.targets) == (cause, ())


def test_a_functions_own_reservation_limits_its_request_rate_too() -> None:
    evidence = pool(
        use={0: 120},
        reserved=50,
        functions=[function("short", {0: 10})],
        throttled={"short": {ONSET: 40}},
        throttles={ONSET: 40},
        candidates=[details("short", reserved=50, invocations=series({0: 29_000}))],
    )
    found = look(evidence)
    assert (found.cause, found.victims) == (Cause.REQUEST_RATE, ("short",))


@pytest.mark.parametrize(
    ("throttled", "after", "cause"),
    [
        pytest.param([57], 1000, Cause.SCALING_RATE, id="13: 0 to 1,000 at once, one minute throttled"),
        pytest.param([56, 57], 1000, Cause.SCALING_RATE, id="two minutes that touch"),
        pytest.param([55, 57], 1000, Cause.INCONCLUSIVE, id="two minutes apart"),
        pytest.param([55, 56, 57], 1000, Cause.INCONCLUSIVE, id="three minutes"),
        pytest.param([57], 500, Cause.SCALING_RATE, id="a rise of 500"),
        pytest.param([57], 499, Cause.INCONCLUSIVE, id="a rise below 500"),
        pytest.param([57], 8999, Cause.SCALING_RATE, id="below 90 % of the limit"),
        pytest.param([57], 9000, Cause.POOL_HOG, id="at the limit it is the pool"),
    ],
)
def test_a_steep_rise_far_below_the_limit_outruns_scaling_for_a_moment(
    throttled: list[int], after: float, cause: Cause
) -> None:
    first = throttled[0]
    evidence = pool(
        limit=10_000,
        use={0: 0, first: after},
        throttles=points(dict.fromkeys(throttled, 80.0)),
        functions=[function("f", {0: 0, first: after})],
        throttled={"victim": points(dict.fromkeys(throttled, 80.0))},
    )
    found = look(evidence)
    assert found.cause is cause


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
