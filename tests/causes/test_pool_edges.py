"""How much a hog holds, rises and explains: each threshold from both sides."""

from dataclasses import replace

import pytest

from tests.causes.asked import against, look, text
from tests.causes.builders import ONSET, details, function, points, pool, series
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.pool import FunctionUse


def others(count: int, before: float, after: float) -> list[FunctionUse]:
    return [function(f"f{number:02d}", {0: before, ONSET: after}) for number in range(count)]


@pytest.mark.parametrize(
    ("held", "rest", "cause"),
    [
        pytest.param(500, 25, Cause.POOL_HOG, id="half of the use"),
        pytest.param(499, 35, Cause.POOL_GROWTH, id="neither half of the use nor half of the growth"),
        pytest.param(260, 37, Cause.POOL_GROWTH, id="above the share, and one of many that grew"),
    ],
)
def test_a_hog_explains_half_of_the_use_or_of_the_growth(held: float, rest: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 100, ONSET: 1000},
        functions=[function("big", {0: 10, ONSET: held}), *others(20, 0, rest)],
        throttled={"f00": {ONSET: 40}},
        candidates=[details("big")],
    )
    found = look(evidence)
    assert found.cause is cause
    assert cause is Cause.POOL_GROWTH or found.confidence is Confidence.HIGH


@pytest.mark.parametrize(("rest", "cause"), [(16.5, Cause.POOL_HOG), (16.6, Cause.POOL_GROWTH)])
def test_half_of_the_growth_is_enough_at_medium_confidence(rest: float, cause: Cause) -> None:
    """The hog grew by 330, twenty others by as much together, or by a little more."""
    evidence = pool(
        use={0: 300, ONSET: 1000},
        functions=[
            function("big", {0: 10, ONSET: 340}),
            function("steady", {0: 300}),
            *others(20, 0, rest),
        ],
        throttled={"f00": {ONSET: 40}},
        candidates=[details("big"), details("steady")],
    )
    found = look(evidence)
    assert found.cause is cause
    assert cause is Cause.POOL_GROWTH or found.confidence is Confidence.MEDIUM


def test_without_any_baseline_only_half_of_the_use_makes_a_hog() -> None:
    evidence = pool(
        use={0: 998},
        functions=[function("big", {0: 300}), *[function(f"f{n}", {0: 35}) for n in range(19)]],
        throttled={"f1": {0: 9}},
        candidates=[details("big")],
    )
    found = look(evidence)
    assert found.cause is Cause.POOL_GROWTH
    assert "big, held 300 at 04:57 UTC (unknown before)" in against(found, Cause.POOL_HOG)


@pytest.mark.parametrize(
    ("before", "cause"),
    [pytest.param(25, Cause.POOL_HOG, id="five times"), pytest.param(26, Cause.POOL_GROWTH, id="less")],
)
def test_below_the_share_only_a_fivefold_rise_makes_joint_hogs(before: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 200, ONSET: 1000},
        functions=[*(function(f"j{n}", {0: before, ONSET: 125}) for n in range(4)), *others(10, 0, 49)],
        throttled={"f00": {ONSET: 40}},
        candidates=[details(f"j{n}") for n in range(4)],
    )
    assert look(evidence).cause is cause


def test_a_function_that_did_not_run_at_all_rises_by_what_it_runs() -> None:
    evidence = pool(
        limit=40,
        use={0: 5, ONSET: 40},
        functions=[*(function(n, {0: 0, ONSET: 9}) for n in "ab"), function("c", {0: 0, ONSET: 5}),
                   *(function(f"s{n}", {0: 1, ONSET: 3}) for n in range(5))],
        throttled={"s1": {ONSET: 4}},
        candidates=[details(n) for n in "abc"],
    )  # fmt: skip
    assert look(evidence).targets == ("a", "b", "c")


@pytest.mark.parametrize(
    ("two", "targets"), [pytest.param(250, ("a", "b"), id="half"), pytest.param(249.5, ("a", "b", "c"), id="less")]
)
def test_joint_hogs_are_added_where_those_above_the_share_hold_less_than_half(
    two: float, targets: tuple[str, ...]
) -> None:
    evidence = pool(
        use={0: 100, ONSET: 1000},
        functions=[function("a", {0: 10, ONSET: 250}), function("b", {0: 10, ONSET: two}),
                   function("c", {0: 10, ONSET: 200}), *others(12, 3, 25)],
        throttled={"f00": {ONSET: 40}},
        candidates=[details(n) for n in "abc"],
    )  # fmt: skip
    assert look(evidence).targets == targets


@pytest.mark.parametrize("refused", [{57: 1.0}, {55: 1.0}], ids=["in the newest minute", "in the third newest"])
def test_one_refusal_shows_that_a_function_wants_more(refused: dict[int, float]) -> None:
    evidence = pool(
        functions=[function("a", {0: 10, ONSET: 600}), function("c", {0: 10, ONSET: 200})],
        throttled={"v": {ONSET: 40}, "c": points(refused)},
        candidates=[details(n) for n in "ac"],
    )
    assert look(evidence).targets == ("a", "c")
    earlier = replace(evidence, throttled=(*evidence.throttled[:1], ("c", points({54: 1.0}))))
    assert look(earlier).targets == ("a",)


def test_with_more_than_a_few_that_want_more_only_those_above_the_share_are_capped() -> None:
    def asked(wanting: int) -> tuple[str, ...]:
        names = [f"w{n}" for n in range(wanting)]
        evidence = pool(
            limit=2000,
            use={0: 100, ONSET: 2000},
            functions=[function("a", {0: 10, ONSET: 1000}), *(function(n, {0: 10, ONSET: 250}) for n in names)],
            throttled={"v": {ONSET: 40}, **{n: {ONSET: 9} for n in names}},
            candidates=[details("a"), *(details(n) for n in names)],
        )
        return look(evidence, share=25).targets

    assert asked(3) == ("a", "w0", "w1", "w2")
    assert len(asked(4)) == 5
    assert asked(5) == ("a",)


@pytest.mark.parametrize(
    ("now", "is_target"),
    [
        pytest.param(450, True, id="half of what it held"),
        pytest.param(449, False, id="less: it has let go"),
        pytest.param(None, False, id="nothing of it is seen any more"),
    ],
)
@pytest.mark.parametrize("provisioned", [None, 300])
def test_a_hog_still_holds_half_of_what_it_held(now: float | None, provisioned: int | None, *, is_target: bool) -> None:
    evidence = pool(
        use={0: 100, ONSET: 998, 55: 940},
        throttles={ONSET: 60},
        functions=[function("hog", {0: 20, ONSET: 900, 55: now}), *(function(f"s{n}", {0: 2}) for n in range(30))],
        throttled={"v": {ONSET: 40}},
        candidates=[details("hog", provisioned=provisioned)],
        limit=1000 + (provisioned or 0),
    )
    if provisioned:
        evidence = replace(evidence, account=replace(evidence.account, unreserved_limit=1000))
    evidence = replace(evidence, throttles=points(dict.fromkeys(range(ONSET, 55), 60.0) | {57: 5.0}))
    found = look(evidence)
    assert ("hog" in found.targets) is is_target
    if not is_target:
        assert any("hog could not be judged: it held 900 executions at 04:54 UTC" in gap for gap in found.gaps)


def test_a_joint_hog_that_has_let_go_is_no_target() -> None:
    evidence = pool(
        use={0: 100, ONSET: 998, 55: 940},
        functions=[function("a", {0: 10, ONSET: 700}), function("c", {0: 10, ONSET: 200, 55: 90})],
        throttles=points(dict.fromkeys(range(ONSET, 55), 60.0)),
        throttled={"v": points({54: 40.0, 57: 1.0}), "c": {ONSET: 9}},
        candidates=[details(n) for n in "ac"],
    )
    assert look(evidence).targets == ("a",)


@pytest.mark.parametrize(
    ("held", "is_told"), [pytest.param(500, True, id="as large as the share"), pytest.param(499, False, id="smaller")]
)
def test_a_large_function_served_by_provisioned_concurrency_is_told_as_no_target(held: float, *, is_told: bool) -> None:
    evidence = pool(
        limit=2000,
        use={0: 100, ONSET: 1500},
        claimed=series({0: 600, ONSET: 2000}),
        functions=[function("warm", {0: 490, ONSET: held}), function("tiny", {0: 4}),
                   function("hog", {0: 20, ONSET: 1400})],
        throttled={"v": {ONSET: 40}},
        candidates=[details("warm", provisioned=480), details("tiny", provisioned=20), details("hog", provisioned=0)],
    )  # fmt: skip
    found = look(evidence)
    assert found.targets == ("hog",)
    assert ("warm is no target: its 480 provisioned executions serve nearly all of it" in text(found)) is is_told
    assert "tiny" not in text(found)


def test_a_steady_function_nobody_read_does_not_stand_in_the_way() -> None:
    """It runs as it always did, so that its settings do not matter; one that rose must be known."""
    evidence = pool(
        functions=[function("hog", {0: 20, ONSET: 600}), function("steady", {0: 300})],
        throttled={"v": {ONSET: 40}},
        candidates=[details("hog")],
    )
    found = look(evidence)
    assert (found.targets, found.confidence, found.gaps) == (("hog",), Confidence.HIGH, ())
    rose = pool(
        functions=[function("hog", {0: 20, ONSET: 600}), function("risen", {0: 150, ONSET: 300})],
        throttled={"v": {ONSET: 40}},
        candidates=[details("hog")],
    )
    assert "risen could not be judged: it held 300 executions, but its settings were not read." in look(rose).gaps


@pytest.mark.parametrize(("held", "is_told"), [(250, True), (249, False)])
def test_a_function_nobody_read_stands_in_the_way_from_the_share_on(held: float, *, is_told: bool) -> None:
    evidence = pool(
        functions=[function("hog", {0: 20, ONSET: 700}), function("unread", {0: 20, ONSET: held})],
        throttled={"v": {ONSET: 40}},
        candidates=[details("hog")],
    )
    found = look(evidence)
    assert found.targets == ("hog",)
    assert any(gap.startswith("unread could not be judged") for gap in found.gaps) is is_told
    assert found.confidence is (Confidence.MEDIUM if is_told else Confidence.HIGH)


def test_the_order_is_of_the_peak_minute_and_not_of_the_window() -> None:
    """The ranking is of the whole window; who peaked before the others came comes after them."""
    evidence = pool(
        functions=[function("a", {0: 10, 30: 700, 31: 10, ONSET: 345}), function("b", {0: 10, ONSET: 502})],
        throttled={"v": {ONSET: 40}},
    )
    assert [row.name for row in evidence.ranking] == ["a", "b"]
    assert look(evidence).targets == ("b", "a")


@pytest.mark.parametrize(
    ("held", "before", "running", "cause"),
    [
        pytest.param(200, 60, 999, Cause.POOL_HOG, id="most of what reservations leave, though less than the share"),
        pytest.param(120, 60, 999, Cause.POOL_HOG, id="half of it"),
        pytest.param(119, 59, 999, Cause.POOL_GROWTH, id="less than half"),
        pytest.param(200, 101, 999, Cause.POOL_GROWTH, id="it always ran so"),
        pytest.param(200, 60, 501, Cause.POOL_HOG, id="the reservations are used"),
        pytest.param(200, 60, 500, Cause.OVER_RESERVATION, id="the reservations lie idle: they made the pool small"),
    ],
)
def test_in_a_small_pool_half_of_it_makes_a_hog(held: float, before: float, running: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 100, ONSET: 240},
        concurrency={0: 400, ONSET: running},
        reserved=760,
        functions=[function("hog", {0: before, ONSET: held}), function("own", {0: 300, ONSET: running - 240}),
                   *others(10, 3, (240 - held) / 10)],
        throttled={"f00": {ONSET: 40}},
        candidates=[details("hog"), details("own", reserved=760)],
    )  # fmt: skip
    found = look(evidence)
    assert found.cause is cause
    if cause is Cause.POOL_GROWTH:
        assert "a hog holds half of the shared pool (120)" in against(found, Cause.POOL_HOG)


def test_what_the_account_runs_must_be_known_for_a_hog_below_the_share() -> None:
    """Without it, nobody can tell whether reservations lie idle."""
    evidence = pool(
        use={0: 100, ONSET: 240},
        concurrency={0: 400, ONSET: 999},
        reserved=760,
        functions=[function("hog", {0: 60, ONSET: 200}), function("own", {0: 700}), *others(10, 3, 4)],
        throttled={"f00": {ONSET: 40}},
        candidates=[details("hog"), details("own", reserved=760)],
    )
    assert look(evidence).targets == ("hog",)
    assert look(replace(evidence, concurrency=points({}))).targets == ()
