"""Who may be a hog by its own series: each threshold of the choice whom to ask about, from both sides."""

import pytest

from tests.causes.builders import ONSET, Steps, at, details, function, nothing, points, series
from unthrottle.evidence.pool import ConcurrencyAccount, FunctionUse, large_from
from unthrottle.evidence.suspects import Pool, in_doubt, large, near, pool_of, sufferers, suspects

PEAK = at(57)
ACCOUNT = ConcurrencyAccount(limit=1000, unreserved_limit=1000, function_count=9)


def a_pool(use: Steps | None = None) -> Pool:
    return Pool(use=series(use or {0: 100, ONSET: 1000}), size=1000.0, peak=PEAK, fullness=1.0)


@pytest.mark.parametrize(("minute", "value"), [(54, 0.0), (55, 9.0), (57, 9.0), (59, 9.0)])
def test_near_is_within_two_minutes(minute: int, value: float) -> None:
    assert near(points({minute: 9.0}), PEAK) == value
    assert near(points({60: 9.0}, minutes=61), PEAK) == 0.0
    assert near(nothing(), PEAK) == 0.0


@pytest.mark.parametrize(("held", "doubtful"), [(500, ()), (499, ("b",))])
def test_nobody_is_in_doubt_where_what_has_risen_holds_half(held: float, doubtful: tuple[str, ...]) -> None:
    uses = [function("a", {0: 5, ONSET: held}), function("b", {0: 300})]
    assert in_doubt([details("a"), details("b")], uses, a_pool(), full_from=900) == doubtful


@pytest.mark.parametrize(
    ("before", "is_doubtful"), [pytest.param(200, False, id="twice as much"), pytest.param(201, True, id="less")]
)
def test_a_function_has_risen_from_twice_its_median_on(before: float, *, is_doubtful: bool) -> None:
    uses = [function("a", {0: before, ONSET: 400})]
    assert bool(in_doubt([details("a")], uses, a_pool(), full_from=900)) is is_doubtful


@pytest.mark.parametrize(
    ("first", "is_known"), [pytest.param(35, True, id="five minutes"), pytest.param(36, False, id="four minutes")]
)
def test_five_calm_minutes_before_the_peak_tell_what_it_ran(first: int, *, is_known: bool) -> None:
    """A minute at the threshold is no calm one, and neither is the peak itself."""
    pool = a_pool({0: None, first: 100, ONSET: 900, 57: 1000})
    assert (in_doubt([details("a")], [function("a", {0: 5, ONSET: 900})], pool, full_from=900) == ()) is is_known
    short = function("a", {0: 5, ONSET: 900})
    cut = FunctionUse(name="a", concurrency=short.concurrency.between(at(first), at(60)))
    assert (in_doubt([details("a")], [cut], pool, full_from=900) == ()) is is_known


def test_what_ran_nothing_before_has_risen_and_what_runs_nothing_now_is_in_no_doubt() -> None:
    assert in_doubt([details("a")], [function("a", {ONSET: 900})], a_pool(), full_from=900) == ()
    assert in_doubt([details("a")], [function("a", {0: 900, 50: None})], a_pool(), full_from=900) == ()
    held = (("a", 900.0),)
    assert suspects(held, [function("a", {ONSET: 900})], a_pool(), share=250, full_from=900) == ("a",)


def test_without_a_peak_nobody_is_large_or_in_doubt() -> None:
    blind = Pool(use=nothing(), size=1000.0, peak=None, fullness=None)
    uses = [function("a", {0: 900})]
    assert large(uses, 250, None, None) == ()
    assert in_doubt([details("a")], uses, blind, full_from=900) == ()
    assert blind.at_peak == 0.0


def test_at_most_ten_are_large_the_largest_first() -> None:
    uses = [function(f"f{number:02d}", {0: 125 + number}) for number in range(12)] + [function("s", {0: 124})]
    found = large(uses, 250, PEAK, None)
    assert [name for name, _ in found] == [f"f{number:02d}" for number in range(11, 1, -1)]
    assert large([function("a", {0: 1}), function("b", {0: 0.9})], 1, PEAK, None) == (("a", 1.0),)


def test_sufferers_are_asked_until_they_explain_nine_tenths() -> None:
    def asked(*counts: float) -> int:
        return len(sufferers((), [(f"f{n}", points({50: count})) for n, count in enumerate(counts)], None))

    assert asked(90, 10) == 1
    assert asked(89, 11) == 2
    assert sufferers(("x", "y", "z", "w"), [("f", points({50: 9.0}))], None) == ("x", "y", "z")
    assert sufferers(("bot-intake",), [], "bot") == ()


@pytest.mark.parametrize(("minute", "fullness"), [(55, 0.95), (54, 0.1)])
def test_how_full_a_pool_is_is_of_its_three_newest_minutes(minute: int, fullness: float) -> None:
    series_of = {"unreserved": series({0: 100, minute: 950, minute + 1: 100}), "concurrency": series({0: 970}),
                 "claimed": nothing()}  # fmt: skip
    found = pool_of(series_of, ACCOUNT, at(60))
    assert (found.fullness, found.size) == (fullness, 1000)
    assert found.peak == at(minute)


def test_a_pool_that_was_not_measured_is_neither_full_nor_empty() -> None:
    reserved = ConcurrencyAccount(limit=1000, unreserved_limit=900, function_count=9)
    blind = {"unreserved": nothing(), "concurrency": series({0: 970}), "claimed": nothing()}
    assert pool_of(blind, reserved, at(60)).fullness is None
    assert pool_of(blind, ACCOUNT, at(60)).fullness == 0.97
    nothing_left = ConcurrencyAccount(limit=1000, unreserved_limit=0, function_count=9)
    assert pool_of({**blind, "unreserved": series({0: 5})}, nothing_left, at(60)).fullness is None
    claimed = {**blind, "unreserved": series({0: 600}), "claimed": series({0: 1000})}
    assert pool_of(claimed, reserved, at(60)).size == 600


@pytest.mark.parametrize(
    ("share", "size", "expected"),
    [
        pytest.param(250, 1000, 250, id="one's share"),
        pytest.param(250, 500, 250, id="a pool of twice that"),
        pytest.param(250, 499, 249.5, id="half of a smaller pool"),
        pytest.param(250, 1, 1, id="one execution at least"),
        pytest.param(250, -5, 1, id="no pool is left"),
        pytest.param(0.5, 3, 0.5, id="a share below one"),
    ],
)
def test_in_a_small_pool_half_of_it_is_large(share: float, size: float, expected: float) -> None:
    assert large_from(share, size) == expected
