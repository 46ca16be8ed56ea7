"""Who is a hog: what one looks like, and what looks like one and is not."""

import shlex
from dataclasses import replace

import pytest

from tests.causes.asked import look, text
from tests.causes.builders import ONSET, details, function, hog_incident, nothing, pool, series
from unthrottle.diagnosis import Cause, Confidence


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
