"""The thresholds of a function's own limit and of the rates, one case for each side."""

from dataclasses import replace

import pytest

from tests.causes.asked import against, look, text
from tests.causes.builders import ONSET, details, function, nothing, points, pool, series
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.pool import PoolEvidence

# --- a function's own limit --------------------------------------------------------------------------------------


def own(theirs: float, rest: float, *, reserved: int = 20, ran: float | None = 20) -> PoolEvidence:
    """A roomy pool: one function at its own reservation, refused so often, and the rest of all throttles."""
    return pool(
        use={0: 120},
        reserved=reserved,
        throttles={ONSET: theirs + rest},
        functions=[] if ran is None else [function("own", {0: ran})],
        throttled={"own": {ONSET: theirs}, "other": {ONSET: rest}},
        candidates=[details("own", reserved=reserved), details("other")],
    )


@pytest.mark.parametrize(
    ("theirs", "confidence"),
    [
        pytest.param(90, Confidence.HIGH, id="nine tenths of all throttles"),
        pytest.param(89, Confidence.MEDIUM, id="less"),
        pytest.param(50, Confidence.MEDIUM, id="half"),
    ],
)
@pytest.mark.parametrize("reserved", [20, 0])
def test_nearly_all_throttles_make_a_limit_of_ones_own_sure(
    theirs: float, confidence: Confidence, reserved: int
) -> None:
    found = look(own(theirs, 100 - theirs, reserved=reserved))
    assert found.cause is (Cause.OWN_RESERVATION if reserved else Cause.SWITCHED_OFF)
    assert (found.confidence, found.victims) == (confidence, ("own",))
    assert found.findings[0].check == "aws lambda get-function-concurrency --function-name own"


def test_less_than_half_is_a_side_story() -> None:
    found = look(own(49, 51))
    assert found.cause is Cause.INCONCLUSIVE
    assert against(found, Cause.OWN_RESERVATION) == "own explains only 147 of 300 recent throttles (49 %)."


def test_what_a_small_function_ran_is_not_known_and_less_sure() -> None:
    found = look(own(100, 0, ran=None))
    assert (found.cause, found.confidence) == (Cause.OWN_RESERVATION, Confidence.MEDIUM)
    assert "what it ran was not among the largest" in text(found)
    assert "it ran 20" in text(look(own(100, 0)))
    assert "provisioned" not in text(look(own(100, 0)))


def test_a_function_below_its_reservation_is_not_at_it() -> None:
    found = look(own(100, 0, ran=17))
    assert found.cause is Cause.INCONCLUSIVE
    assert against(found, Cause.OWN_RESERVATION) == "own ran 17 of its own 20: not at its reservation."


def test_what_it_ran_is_looked_for_in_the_last_quarter_of_an_hour() -> None:
    def asked(minute: int) -> Cause:
        evidence = pool(
            use={0: 120},
            reserved=20,
            throttles={ONSET: 9},
            functions=[function("own", {0: 3, minute: 20, minute + 1: 3})],
            throttled={"own": {ONSET: 9}},
            candidates=[details("own", reserved=20)],
        )
        return look(evidence).cause

    assert asked(43) is Cause.OWN_RESERVATION
    assert asked(57) is Cause.OWN_RESERVATION
    assert asked(42) is Cause.INCONCLUSIVE


@pytest.mark.parametrize(("minute", "cause"), [(55, Cause.OWN_RESERVATION), (54, Cause.INCONCLUSIVE)])
def test_only_what_is_refused_now_is_at_its_limit(minute: int, cause: Cause) -> None:
    evidence = pool(
        use={0: 120},
        reserved=20,
        throttles={ONSET: 1},
        functions=[function("own", {0: 20})],
        throttled={"own": points({minute: 90.0})},
        candidates=[details("own", reserved=20)],
    )
    assert look(evidence).cause is cause


def test_an_alarmed_function_without_a_reservation_is_told_as_such() -> None:
    evidence = pool(
        use={0: 120}, throttles={ONSET: 9}, throttled={"f": {ONSET: 9}}, candidates=[details("f")], alarmed=["f"]
    )
    assert against(look(evidence), Cause.OWN_RESERVATION) == "f has no reservation of its own."
    unread = pool(use={0: 120}, throttles={ONSET: 9}, throttled={"f": {ONSET: 9}}, candidates=[], alarmed=["f"])
    assert Cause.OWN_RESERVATION not in {item.cause for item in look(unread).rejected}


def test_only_a_reservation_that_is_all_provisioned_is_told_so() -> None:
    def told(provisioned: int | None) -> str:
        evidence = pool(
            use={0: 120},
            reserved=20,
            throttles={ONSET: 9},
            functions=[function("own", {0: 20})],
            throttled={"own": {ONSET: 9}},
            candidates=[details("own", reserved=20, provisioned=provisioned)],
        )
        return text(look(evidence))

    assert "All of it is provisioned concurrency" in told(20)
    assert "provisioned" not in told(19)
    assert "provisioned" not in told(None)


# --- the request rate --------------------------------------------------------------------------------------------


def fast(
    rate: float, *, minute: int = ONSET, refused: dict[int, float] | None = None, use: float = 200
) -> PoolEvidence:
    return pool(
        use={0: use},
        invocations={0: 900, minute: rate, minute + 1: 900},
        throttles=points({57: 9.0} if refused is None else refused),
        throttled={"f": points({57: 9.0} if refused is None else refused)},
    )


@pytest.mark.parametrize(
    ("minute", "cause"),
    [(43, Cause.REQUEST_RATE), (57, Cause.REQUEST_RATE), (42, Cause.INCONCLUSIVE)],
    ids=["fourteen minutes ago", "now", "fifteen minutes ago"],
)
def test_the_request_rate_is_looked_for_in_the_last_quarter_of_an_hour(minute: int, cause: Cause) -> None:
    found = look(fast(600_000, minute=minute))
    assert found.cause is cause
    if cause is Cause.INCONCLUSIVE:
        assert against(found, Cause.REQUEST_RATE).startswith("Requests reached 0.1 % of the rate limit of 10 a second")


def test_the_request_rate_is_told_with_its_bound_and_its_quota() -> None:
    found = look(fast(590_000, minute=57))
    assert (found.confidence, found.victims) == (Confidence.MEDIUM, ("f",))
    assert "The account served 590,000 requests in a minute; with a concurrency of 1,000 at most 600,000" in text(found)
    assert "(98.3 %)" in text(found)
    assert "L-B99A9384" in text(found)


def test_without_throttles_or_requests_nothing_is_said_of_a_rate() -> None:
    causes = {item.cause for item in look(fast(600_000, minute=57, refused={})).rejected}
    assert Cause.REQUEST_RATE not in causes
    quiet = pool(use={0: 200}, throttled={"f": {ONSET: 9}}, invocations={0: None})
    assert Cause.REQUEST_RATE not in {item.cause for item in look(quiet).rejected}


@pytest.mark.parametrize(
    ("rate", "refused", "cause"),
    [
        pytest.param(27_000, 40, Cause.REQUEST_RATE, id="nine tenths of ten a second for each of its 50"),
        pytest.param(26_999, 40, Cause.INCONCLUSIVE, id="less"),
        pytest.param(27_000, 0, Cause.INCONCLUSIVE, id="it is another one that is refused"),
    ],
)
def test_a_reservation_bounds_the_rate_of_its_function(rate: float, refused: float, cause: Cause) -> None:
    evidence = pool(
        use={0: 120},
        reserved=50,
        functions=[function("short", {0: 10})],
        throttled={"short": {ONSET: refused}, "other": {ONSET: 40 - refused}},
        throttles={ONSET: 40},
        candidates=[details("short", reserved=50, invocations=series({0: rate}))],
    )
    found = look(evidence)
    assert found.cause is cause
    if cause is Cause.INCONCLUSIVE:
        assert "Requests reached" in against(found, Cause.REQUEST_RATE)
        assert "90 %" in against(found, Cause.REQUEST_RATE)


def test_a_switched_off_function_has_no_rate() -> None:
    evidence = pool(
        use={0: 120},
        throttles={ONSET: 40},
        throttled={"off": {ONSET: 40}},
        candidates=[details("off", reserved=0, invocations=series({0: 5}))],
    )
    assert look(evidence).cause is Cause.SWITCHED_OFF


# --- the scaling rate --------------------------------------------------------------------------------------------


def steep(before: float, after: float, *, throttled: int = 57, rise: int = 57) -> PoolEvidence:
    return pool(
        limit=10_000,
        use={0: before, rise: after},
        throttles=points({throttled: 80.0}),
        throttled={"victim": points({throttled: 80.0})},
        functions=[function("f", {0: before, rise: after})],
    )


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        pytest.param(600, 1200, Cause.SCALING_RATE, id="twice as much"),
        pytest.param(601, 1200, Cause.INCONCLUSIVE, id="less than twice"),
        pytest.param(2000, 2500, Cause.INCONCLUSIVE, id="500 more, a quarter more"),
    ],
)
def test_a_steep_rise_at_least_doubles(before: float, after: float, cause: Cause) -> None:
    found = look(steep(before, after))
    assert found.cause is cause
    if cause is Cause.INCONCLUSIVE:
        assert "no steep rise" in against(found, Cause.SCALING_RATE)


@pytest.mark.parametrize(
    ("rise", "throttled", "cause"),
    [
        pytest.param(53, 57, Cause.INCONCLUSIVE, id="it rose four minutes before"),
        pytest.param(57, 57, Cause.SCALING_RATE, id="in the throttled minute"),
        pytest.param(57, 56, Cause.SCALING_RATE, id="in the minute after"),
        pytest.param(57, 55, Cause.INCONCLUSIVE, id="two minutes after"),
    ],
)
def test_the_rise_and_the_throttles_go_together(rise: int, throttled: int, cause: Cause) -> None:
    assert look(steep(100, 5000, rise=rise, throttled=throttled)).cause is cause


@pytest.mark.parametrize(("known", "cause"), [(52, Cause.INCONCLUSIVE), (51, Cause.SCALING_RATE)])
def test_the_level_before_is_looked_for_in_five_minutes(known: int, cause: Cause) -> None:
    """Where none of them has a datapoint nothing ran."""
    evidence = pool(
        limit=10_000,
        use={known: 4900, known + 1: None, 57: 5000},
        throttles=points({57: 80.0}),
        throttled={"victim": points({57: 80.0})},
        functions=[function("f", {57: 5000})],
    )
    assert look(evidence).cause is cause


def test_what_outruns_scaling_is_told_with_its_numbers() -> None:
    found = look(steep(100, 5000))
    assert (found.confidence, found.victims) == (Confidence.MEDIUM, ("victim",))
    assert (
        "The account went from 100 to 5,000 executions around 04:57 UTC and was throttled in 1 of the last 15"
        in text(found)
    )
    assert "minutes, 80 times; its limit is 10,000." in text(found)


def test_long_throttling_is_no_matter_of_scaling() -> None:
    evidence = pool(
        limit=10_000,
        use={0: 100, 50: 5000},
        throttles=points(dict.fromkeys(range(50, 58), 80.0)),
        throttled={"victim": points(dict.fromkeys(range(50, 58), 80.0))},
        functions=[function("f", {0: 100, 50: 5000})],
    )
    found = look(evidence)
    assert "Throttled in 8 of the last 15 minutes" in against(found, Cause.SCALING_RATE)
    older = pool(limit=10_000, use={0: 100}, throttles=points({42: 80.0}), throttled={"v": {ONSET: 9}})
    assert Cause.SCALING_RATE not in {item.cause for item in look(older).rejected}
    assert nothing().is_empty


def test_near_the_limit_it_is_not_scaling() -> None:
    """The account reached its limit; reservations make the pool look roomy."""
    evidence = pool(
        limit=10_000,
        reserved=1000,
        use={0: 100, 57: 8000},
        concurrency={0: 100, 57: 9000},
        throttles=points({57: 80.0}),
        throttled={"victim": points({57: 80.0})},
        functions=[function("f", {0: 100, 57: 8000})],
    )
    found = look(evidence)
    assert "The account reached 9,000 of its limit of 10,000" in against(found, Cause.SCALING_RATE)


# --- the shape of a used-up pool ---------------------------------------------------------------------------------


def test_why_reservations_are_not_to_blame_is_told_with_numbers() -> None:
    def asked(reserved: int, running: float) -> str:
        size = 1000 - reserved
        evidence = pool(
            use={0: 20, ONSET: size},
            concurrency={0: 40, ONSET: running},
            reserved=reserved,
            functions=[*(function(f"f{n}", {0: 10, ONSET: size / 10}) for n in range(10)),
                       function("r", {0: 20, ONSET: running - size})],
            throttled={"f1": {ONSET: 40}},
            candidates=[details("r", reserved=reserved)],
        )  # fmt: skip
        return against(look(evidence), Cause.OVER_RESERVATION)

    assert asked(400, 900) == "Only 400 of 1,000 executions are reserved (40 %)."
    assert asked(600, 900) == (
        "600 of 1,000 executions are reserved, but they are used: the account ran 900 (90 % of the limit) at 04:57 UTC."
    )


@pytest.mark.parametrize(
    ("minute", "is_small"), [(46, True), (47, True), (48, False), (50, False), (52, False), (53, True), (54, True)]
)
def test_what_the_account_ran_is_the_most_of_two_minutes_around_the_peak(minute: int, *, is_small: bool) -> None:
    evidence = pool(
        use={0: 20, ONSET: 120},
        concurrency={0: 150, minute: 501, minute + 1: 150},
        reserved=880,
        throttles=points({50: 9.0, 57: 1.0}),
        functions=[*(function(f"f{n}", {0: 10, ONSET: 12}) for n in range(10)), function("r", {0: 300})],
        throttled={"f1": {ONSET: 40}},
        candidates=[details("r", reserved=880)],
    )
    evidence = replace(evidence, unreserved_in_use=series({0: 20, ONSET: 120, 51: 113}))
    assert look(evidence).cause is (Cause.OVER_RESERVATION if is_small else Cause.POOL_GROWTH)


@pytest.mark.parametrize("throttles", [points({57: 1.0}), nothing()], ids=["one refusal", "none"])
def test_before_anybody_is_refused_the_shape_is_less_sure(throttles: object) -> None:
    sure = Confidence.MEDIUM if throttles == nothing() else Confidence.HIGH
    over = pool(
        use={0: 20, ONSET: 120},
        concurrency={0: 40, ONSET: 150},
        reserved=880,
        functions=[function(f"f{n}", {0: 10, ONSET: 12}) for n in range(10)],
        throttles=throttles,  # type: ignore[arg-type]  # a series
    )
    assert (look(over).cause, look(over).confidence) == (Cause.OVER_RESERVATION, sure)
    grown = pool(
        functions=[function(f"f{n:02d}", {0: 10, ONSET: 33}) for n in range(30)],
        throttles=throttles,  # type: ignore[arg-type]  # a series
    )
    assert (look(grown).cause, look(grown).confidence) == (Cause.POOL_GROWTH, sure)


def test_growth_is_told_with_its_largest_and_its_quota() -> None:
    evidence = pool(
        functions=[function(f"f{n:02d}", {0: 10, ONSET: 33}) for n in range(30)], throttled={"v": {ONSET: 9}}
    )
    found = look(evidence)
    assert "the largest of the shared pool, f00, held 33 of 998 (3.3 %) at 04:57 UTC; the 30 ranked functions" in text(
        found
    )
    assert "L-B99A9384" in text(found)
    (ranking,) = [finding.check for finding in found.findings if finding.check and "get-metric-data" in finding.check]
    assert "--start-time 2026-08-24T04:43:00Z --end-time 2026-08-24T04:58:00Z" in ranking
    hog = look(pool(functions=[function("hog", {0: 9, ONSET: 899})], throttled={"v": {ONSET: 9}}))
    assert against(hog, Cause.POOL_GROWTH) == "hog held 90.1 % of the pool in use."
