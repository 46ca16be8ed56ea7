"""What holds for any evidence: a diagnosis always comes out, and never names somebody who cannot be at fault."""

from dataclasses import replace

from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.causes.builders import (
    MINUTES,
    START,
    backfill,
    details,
    function,
    hog_incident,
    hot_keys,
    index,
    pool,
    scaled,
    settings,
    table,
    unit,
)
from unthrottle.causes import diagnose
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import Billing, Throttle, UnitMetrics, Way
from unthrottle.settings import Settings

# Levels of five minutes each: cheap to draw, and long enough to be a baseline, a jump or a hole.
LEVELS = st.lists(st.none() | st.integers(0, 20_000), min_size=MINUTES // 5, max_size=MINUTES // 5)
SERIES = LEVELS.map(
    lambda levels: Series(start=START, period_s=60, values=tuple(value for value in levels for _ in range(5)))
)
ITSELF = frozenset({"unthrottle-respond"})


@examples(max_examples=60, deadline=None)
@given(
    st.lists(SERIES, min_size=5, max_size=5),
    st.lists(SERIES, min_size=4, max_size=4),
    st.integers(0, 1000),
    st.booleans(),
)
def test_any_pool_gets_a_diagnosis_and_nothing_outside_the_pool_is_a_target(
    account: list[Series], functions: list[Series], reserved: int, early: bool
) -> None:
    names = ["unthrottle-respond", "reserved", "managed", "plain"]
    evidence = replace(
        pool(
            reserved=reserved,
            early_warning=early,
            candidates=[
                details("unthrottle-respond"),
                details("reserved", reserved=10),
                details("managed", managed_instances=True),
                details("plain"),
            ],
        ),
        concurrency=account[0],
        unreserved_in_use=account[1],
        claimed=account[2],
        throttles=account[3],
        invocations=account[4],
        ranking=tuple(
            replace(function(name, {}), concurrency=values) for name, values in zip(names, functions, strict=True)
        ),
        throttled=tuple(zip(names, reversed(functions), strict=True)),
    )
    found = diagnose(evidence, Settings(), itself=ITSELF)
    assert set(found.targets) <= {"plain"}
    assert not set(found.targets) & set(found.victims)
    assert found.cause not in {item.cause for item in found.rejected}
    assert (found.cause is Cause.POOL_HOG) == bool(found.targets)


@examples(max_examples=60, deadline=None)
@given(st.sets(st.integers(0, MINUTES - 1), max_size=30), st.sets(st.integers(0, MINUTES - 1), max_size=30))
def test_missing_minutes_never_turn_a_victim_into_the_target(account: set[int], hog: set[int]) -> None:
    def holed(series: Series, missing: set[int]) -> Series:
        return replace(series, values=tuple(None if at in missing else value for at, value in enumerate(series.values)))

    evidence = hog_incident()
    first, *rest = evidence.ranking
    evidence = replace(
        evidence,
        unreserved_in_use=holed(evidence.unreserved_in_use, account),
        ranking=(replace(first, concurrency=holed(first.concurrency, hog)), *rest),
    )
    found = diagnose(evidence, Settings(), itself=ITSELF)
    assert found.targets in {("batch-processor",), ()}
    assert "batch-processor" not in found.victims or not found.targets


@st.composite
def units(draw: st.DrawFn, name: str | None) -> UnitMetrics:
    base = unit(name)
    return replace(
        base,
        consumed={way: draw(SERIES) for way in Way},
        provisioned={way: draw(SERIES) for way in Way},
        throttle_events={way: draw(SERIES) for way in Way},
        throttles={
            way: {reason: draw(st.just(base.throttles[way][reason]) | SERIES) for reason in Throttle} for way in Way
        },
    )


@examples(max_examples=60, deadline=None)
@given(units(None), units("by-status"), st.sampled_from(list(Billing)), st.integers(-60, 60), st.booleans())
def test_any_table_gets_a_diagnosis_and_only_capacity_or_a_backfill_is_a_target(
    own: UnitMetrics, other: UnitMetrics, billing: Billing, start: int, warm: bool
) -> None:
    evidence = table(
        own,
        other,
        described=settings(billing=billing, indexes=[index()], warm_write=4000 if warm else None),
        backfills=[backfill(start=start), backfill("bf-other", start=start + 1)],
        hot=[hot_keys(0.1, 0.1)],
        activities=[scaled(start)],
    )
    found = diagnose(evidence, Settings(), itself=ITSELF)
    assert bool(found.targets) == (found.cause in {Cause.PROVISIONED_CAPACITY, Cause.RUNAWAY_BACKFILL})
    assert found.cause is not Cause.INCONCLUSIVE or found.confidence is Confidence.LOW
    assert found.cause not in {item.cause for item in found.rejected}
