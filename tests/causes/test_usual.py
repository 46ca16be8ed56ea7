"""A function that held the pool before the window began: told from one that belongs there by the days before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.cloudwatch_api import CloudWatchApi
from sandbox.aws.cloudwatch_store import MetricStore
from sandbox.aws.records import FunctionRecord
from sandbox.generator.eyes import Eyes, losing
from tests.causes.builders import MINUTES, ONSET, START, at, function, pool
from unthrottle.actions.planning import make_plan
from unthrottle.causes import diagnose
from unthrottle.causes.usual import usual
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.evidence.pool import FunctionUse, PoolEvidence
from unthrottle.evidence.read_pool import read_pool
from unthrottle.evidence.series import Series
from unthrottle.plan import Action
from unthrottle.settings import Settings

SETTINGS = Settings()
QUARTERS = 7 * 24 * 4
BEGAN = START - timedelta(days=7)


def week(level: float | None, days: Mapping[int, float | None] | None = None) -> Series:
    """A week of quarters of an hour before the window: `days` back, the hours of the window run otherwise."""
    values: list[float | None] = [level] * QUARTERS
    for day, value in (days or {}).items():
        first = (7 - day) * 96
        for index in range(first, min(first + 12, QUARTERS)):
            values[index] = value
    return Series(start=BEGAN, period_s=900, values=tuple(values))


def read(own: Series, account: Series, *, before: float = 600) -> PoolEvidence:
    """A large function that runs 600 all through a window of three hours, and others that grew at the onset."""
    evidence = pool(
        use={0: before + 50, ONSET: 998},
        functions=[function("large", {0: before, ONSET: 600}), function("grown", {0: 20, ONSET: 100})],
        throttled={"grown": {ONSET: 10}},
    )
    return replace(
        evidence,
        end=START + timedelta(hours=3),
        earlier=(FunctionUse(name="large", concurrency=own),),
        earlier_account=account,
    )


@pytest.mark.parametrize(
    ("own", "level"),
    [
        pytest.param(week(0, {1: 500, 7: 20}), 500, id="the more of the two days, yesterday"),
        pytest.param(week(0, {1: 20, 7: 500}), 500, id="the more of the two days, last week: yesterday was a Sunday"),
        pytest.param(week(900, {1: 0, 7: 0}), 0, id="other hours and other days do not count"),
        pytest.param(week(None), 0, id="it did not run at all, and the account was measured"),
    ],
)
def test_the_same_hours_of_yesterday_and_of_last_week_are_what_is_usual(own: Series, level: float) -> None:
    assert usual(read(own, week(300)), "large") == level


def test_hours_that_were_not_measured_say_nothing() -> None:
    assert usual(read(week(None), week(None)), "large") is None
    assert usual(read(week(None), week(None, {1: 300})), "large") == 0
    assert usual(read(week(0), week(300)), "another") is None
    half = week(None, {1: 300})
    for measured, level in ((6, 0), (5, None)):
        values = [value if index < 6 * 96 + measured else None for index, value in enumerate(half.values)]
        assert usual(read(week(None), replace(half, values=tuple(values))), "large") == level


@pytest.mark.parametrize(
    ("usually", "cause"),
    [
        pytest.param(20, Cause.POOL_HOG, id="it began before the window"),
        pytest.param(300, Cause.POOL_HOG, id="twice of what is usual"),
        pytest.param(301, Cause.POOL_GROWTH, id="a little less than twice"),
        pytest.param(600, Cause.POOL_GROWTH, id="it always ran so: the others grew"),
    ],
)
def test_what_is_usual_decides_where_the_window_shows_no_rise(usually: float, cause: Cause) -> None:
    evidence = read(week(0, {1: usually}), week(700))
    assert usual(evidence, "large") == usually
    found = diagnose(_three_hours(evidence), SETTINGS, itself=frozenset())
    assert (found.cause, found.targets) == (cause, ("large",) if cause is Cause.POOL_HOG else ())


def _three_hours(evidence: PoolEvidence) -> PoolEvidence:
    """Move the hour of the builders to the end of a window of three hours."""
    begin = at(MINUTES) - timedelta(hours=3)
    shift = begin - START
    moved = tuple(
        replace(row, concurrency=replace(row.concurrency, start=row.concurrency.start + shift))
        for row in evidence.earlier
    )
    account = evidence.earlier_account
    return replace(
        evidence,
        start=begin,
        end=at(MINUTES),
        earlier=moved,
        earlier_account=None if account is None else replace(account, start=account.start + shift),
    )


@pytest.mark.parametrize(
    ("yesterday", "week_ago", "gap"),
    [
        pytest.param(600, 300, True, id="so yesterday, at most half a week ago"),
        pytest.param(600, 301, False, id="about so on both days"),
        pytest.param(20, 600, False, id="so a week ago: a weekly load"),
        pytest.param(600, None, False, id="a week ago was not measured"),
    ],
)
def test_what_is_usual_only_since_yesterday_is_told_as_a_gap(
    yesterday: float, week_ago: float | None, *, gap: bool
) -> None:
    """A hog of more than a day looks like a new load that is wanted: the metrics do not tell, and a person is asked."""
    account = week(None, {1: 700, 7: None if week_ago is None else 700})
    evidence = read(week(0, {1: yesterday, 7: week_ago}), account)
    found = diagnose(_three_hours(evidence), SETTINGS, itself=frozenset())
    assert (found.cause, found.targets) == (Cause.POOL_GROWTH, ())
    assert found.confidence is (Confidence.MEDIUM if gap else Confidence.HIGH)
    told = "large ran 600 at these hours yesterday, and 300 a week ago: whether that is wanted"
    assert any(each.startswith(told) for each in found.gaps) is gap


@pytest.mark.parametrize(("held", "gap"), [(250, True), (249, False)])
def test_only_of_a_function_above_the_share_it_matters_since_when_it_runs_so(held: float, *, gap: bool) -> None:
    evidence = pool(
        use={0: 650, ONSET: 998},
        functions=[function("large", {0: held}), *(function(f"g{n}", {0: 5, ONSET: 75}) for n in range(10))],
        throttled={"g1": {ONSET: 10}},
    )
    both = week(0, {1: held, 7: 10})
    evidence = replace(
        evidence,
        end=START + timedelta(hours=3),
        earlier=(FunctionUse(name="large", concurrency=both),),
        earlier_account=week(None, {1: 700, 7: 700}),
    )
    found = diagnose(_three_hours(evidence), SETTINGS, itself=frozenset())
    assert found.cause is Cause.POOL_GROWTH
    assert any(each.startswith(f"large ran {held:g} at these hours yesterday") for each in found.gaps) is gap


# --- with the real readers ---------------------------------------------------------------------------------------

NOW = datetime.fromisoformat("2026-08-24T09:30:00+00:00")
DAYS = 8 * 24 * 60


def looked_at(large: Mapping[int, float], others: Mapping[int, float]) -> tuple[Diagnosis, Action, int, PoolEvidence]:
    """Eight days of an account of 1,000: steps by minute before now; the others are ten small functions together."""
    account = EmbeddedAccount(concurrency_limit=1000)
    small = [f"small-{number}" for number in range(10)]
    for name in ("large", *small):
        account.functions[name] = FunctionRecord(
            name=name, arn=f"arn:aws:lambda:eu-west-1:111122223333:function:{name}"
        )
    store = MetricStore(NOW - timedelta(minutes=DAYS), DAYS + 1, delay_minutes=2)
    first = list(_minutes(large))
    second = list(_minutes(others))
    whole = [min(1000.0, one + other) for one, other in zip(first, second, strict=True)]
    published: list[tuple[str, dict[str, str], Sequence[float | None]]] = [
        ("ConcurrentExecutions", {"FunctionName": "large"}, first),
        *(("ConcurrentExecutions", {"FunctionName": name}, [each / 10 for each in second]) for name in small),
        ("ConcurrentExecutions", {}, whole),
        ("UnreservedConcurrentExecutions", {}, whole),
        ("ClaimedAccountConcurrency", {}, whole),
        ("Throttles", {"FunctionName": small[0]}, [90.0 if value >= 1000 else None for value in whole]),
        ("Throttles", {}, [90.0 if value >= 1000 else None for value in whole]),
        ("Invocations", {"FunctionName": "large"}, first),
        ("AsyncEventsReceived", {"FunctionName": "large"}, first),
    ]
    for metric, dimensions, values in published:
        stat = "Maximum" if "Concurren" in metric else "Sum"
        store.override("AWS/Lambda", metric, dimensions, stat=stat, start_minute=0, period_s=60, values=values)
    cloudwatch = CloudWatchApi(store, account_id=account.account_id, region=account.region)
    handlers = [cloudwatch.handle, *account.handlers]
    eyes = Eyes(handlers, region=account.region, now=lambda: NOW, lost=losing(1, 0.0))
    evidence = read_pool(eyes.observer, SETTINGS, NOW)
    found = diagnose(evidence, SETTINGS, itself=frozenset())
    return found, make_plan(found, evidence, SETTINGS).action, eyes.calls, evidence


def _minutes(steps: Mapping[int, float]) -> Iterator[float]:
    """Spell out steps, given by minutes before now, over eight days."""
    level = 0.0
    for minute in range(DAYS + 1):
        level = steps.get(DAYS - minute, level)
        yield level


OTHERS = {DAYS: 150.0, 12: 420.0}
"""They grew twelve minutes ago, over what the large function leaves."""


def test_a_hog_that_began_before_the_window_is_capped_at_the_price_of_one_call() -> None:
    found, action, calls, _ = looked_at({DAYS: 15.0, 300: 640.0}, OTHERS)
    assert (found.cause, found.confidence, found.targets) == (Cause.POOL_HOG, Confidence.HIGH, ("large",))
    assert action is Action.CAP_CONCURRENCY
    assert any("usually 15, the more of the same hours" in finding.text for finding in found.findings)
    assert calls == 6  # and one more to compare before the change: seven where a clear case takes six


def test_a_function_that_always_ran_so_is_no_hog() -> None:
    found, action, calls, _ = looked_at({DAYS: 640.0}, OTHERS)
    assert (found.cause, found.targets, action) == (Cause.POOL_GROWTH, (), Action.ESCALATE)
    assert calls == 6


def test_a_pool_full_all_through_the_window_still_tells_the_hog_from_the_resident() -> None:
    full = {DAYS: 150.0, 290: 420.0}
    hog, _, _, _ = looked_at({DAYS: 15.0, 300: 640.0}, full)
    resident, action, _, _ = looked_at({DAYS: 640.0}, full)
    assert (hog.cause, hog.confidence, hog.targets) == (Cause.POOL_HOG, Confidence.HIGH, ("large",))
    assert (resident.cause, resident.targets, action) == (Cause.POOL_GROWTH, (), Action.ESCALATE)


def test_a_hog_that_rose_within_the_window_needs_no_look_at_other_days() -> None:
    found, _, calls, evidence = looked_at({DAYS: 15.0, 40: 860.0}, OTHERS)
    assert (found.cause, found.targets) == (Cause.POOL_HOG, ("large",))
    assert (evidence.earlier, calls) == ((), 5)
