"""What is judged to be over, and what still presses, at the edges where one minute or one unit decides."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.unit.fakes import (
    MINUTE,
    NOW,
    FakeFunctions,
    FakeMetrics,
    FakeTables,
    arn_of,
    incident,
    observer,
    series,
)
from tests.unit.made_changes import CAP
from unthrottle.evidence.pool import ConcurrencyAccount, SourceKind
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import Billing, Capacity, IndexSettings, TableSettings, Throttle, UnitMetrics, Way
from unthrottle.incident import AppliedChange, Incident, Outcome
from unthrottle.plan import (
    Action,
    CancelBackfill,
    CapEventSource,
    Change,
    Plan,
    SavedTable,
    SwitchToOnDemand,
    Watch,
)
from unthrottle.ports import FunctionSettings, MetricQuery, MetricsAnswer, Ranked
from unthrottle.pressure import Pressure, pressure_on
from unthrottle.subjects import TableSubject
from unthrottle.symptom import judge_symptom
from unthrottle.verification import Judgement, judge_pool, judge_table

X = None
HOUR = timedelta(hours=1)
LATE, EARLY = NOW, NOW + 10 * MINUTE
ALL = (9.0,) * 10


def pool(account: Series, victim: Series, *, deadline: datetime, acted_at: datetime | None = None) -> Judgement:
    return judge_pool(
        acted_at=acted_at or NOW - 10 * MINUTE - timedelta(seconds=30),
        deadline=deadline,
        now=NOW,
        account=account,
        throttles={"victim": victim},
        capped=frozenset({"hog"}),
    )


def test_a_minute_that_began_ten_minutes_ago_still_tells_how_it_stands() -> None:
    """Both for the proof and for the throttle: older than ten minutes is too old, exactly ten is not."""
    judged = pool(series(9.0, *(X,) * 9), series(5.0, *(X,) * 9), deadline=LATE, acted_at=NOW - 30 * MINUTE)

    assert judged == Judgement(
        outcome=Outcome.NOT_RECOVERED, because="the others still had 5 throttles in the minute 09:50"
    )


def test_of_several_throttled_minutes_the_newest_is_named() -> None:
    """A person compares the sentence with the metric as it is now."""
    judged = pool(series(*ALL), series(*(X,) * 7, 3.0, X, 12.0), deadline=LATE)

    assert judged.because == "the others still had 12 throttles in the minute 09:59"


def test_a_throttle_newer_than_the_proof_makes_every_earlier_clean_minute_count_for_nothing() -> None:
    """There was an early throttle, then clean minutes that are shown, then one that the proof does not reach."""
    victim = series(X, X, 4.0, *(X,) * 6, 50.0)
    judged = pool(series(*(9.0,) * 8, X, X), victim, deadline=EARLY)

    assert judged == Judgement(outcome=None, because="0 of 2 clean minutes so far")


@pytest.mark.parametrize("minutes_before", [1, 14])
def test_the_worst_minute_of_the_quarter_of_an_hour_before_the_action_is_the_measure(minutes_before: int) -> None:
    """One bad minute, just before the action or long before it: what follows is not yet twice as bad."""
    before = [1.0] * 19
    before[-minutes_before] = 10.0
    judged = pool(series(*(9.0,) * 30), series(*before, *(15.0,) * 11), deadline=EARLY)

    assert judged.outcome is None


def test_the_rate_of_writes_is_that_of_the_newest_minute() -> None:
    """It is falling; an older minute would say that the backfill still writes."""
    nothing = series(*(X,) * 10)
    unit = UnitMetrics(
        index=None,
        consumed={Way.READ: nothing, Way.WRITE: series(*(6000.0,) * 8, 3000.0, 600.0)},
        provisioned=dict.fromkeys(Way, nothing),
        throttle_events=dict.fromkeys(Way, nothing),
        throttles={way: dict.fromkeys(Throttle, nothing) for way in Way},
    )
    judged = judge_table(
        acted_at=NOW - 11 * MINUTE, deadline=LATE, now=NOW, units=(unit,), is_settled=True, writes_below=20.0
    )
    assert judged.outcome is Outcome.RECOVERED
    assert judged.because.endswith("and writes fell to 10/s, below 20/s")


# --- what is read for it ---------------------------------------------------------------------------------------------

NAME = "dagy-runs"
TABLE = TableSettings(
    name=NAME,
    arn="arn:table",
    status="ACTIVE",
    billing=Billing.ON_DEMAND,
    capacity=Capacity(read=0, write=0),
    indexes=(IndexSettings(name="by-status", status="ACTIVE", capacity=Capacity(read=0, write=0)),),
)
SWITCH = SwitchToOnDemand(
    table=NAME,
    arn="arn:table",
    before=SavedTable(capacity=Capacity(read=10, write=100), indexes={"by-status": Capacity(read=10, write=50)}),
)


class Windows(FakeMetrics):
    """Metrics that remember which time they were asked about."""

    def __init__(
        self, known: dict[tuple[str, str], Series] | None = None, rankings: dict[str, tuple[Ranked, ...]] | None = None
    ) -> None:
        super().__init__(known, rankings)
        self.asked: list[tuple[datetime, datetime]] = []

    def read(
        self,
        queries: Sequence[MetricQuery],
        *,
        start: datetime,
        end: datetime,
        period_s: int = 60,
        ranking: str | None = None,
    ) -> MetricsAnswer:
        self.asked.append((start, end))
        return super().read(queries, start=start, end=end, period_s=period_s, ranking=ranking)


def held(*changes: Change, **more: object) -> Incident:
    return incident(applied=tuple(AppliedChange(change=change, at=NOW) for change in changes), **more)


def test_a_symptom_is_read_in_whole_minutes_and_of_a_pool_from_before_the_action() -> None:
    """What was before the action is needed only where the change could have made it worse."""
    since, now = NOW - 10 * MINUTE + timedelta(seconds=7.5), NOW + timedelta(seconds=42.5)
    metrics = Windows({("ConcurrentExecutions", ""): series(*ALL)})
    judge_symptom(observer(metrics=metrics), held(CAP), since=since, deadline=now, now=now)
    about = held(SWITCH, subject=TableSubject(table=NAME), kind="dynamodb")
    judge_symptom(observer(metrics=metrics, tables=FakeTables(TABLE)), about, since=since, deadline=now, now=now)

    assert metrics.asked == [(NOW - 25 * MINUTE, NOW), (NOW - 11 * MINUTE, NOW)]


def test_a_look_in_the_minute_of_the_action_is_already_made() -> None:
    """The action fell on a whole minute, and that minute is not over: it is asked, and shows nothing yet."""
    judged = judge_symptom(
        observer(metrics=Windows()), held(CAP), since=NOW, deadline=EARLY, now=NOW + timedelta(seconds=30)
    )
    assert judged == Judgement(outcome=None, because="CloudWatch does not show a minute after the action yet")


@pytest.mark.parametrize(("reserved", "outcome"), [(5, Outcome.RECOVERED), (None, Outcome.NOT_RECOVERED)])
def test_a_function_throttled_by_a_reservation_of_its_own_is_no_victim_of_the_pool(
    reserved: int | None, outcome: Outcome
) -> None:
    """No cap of another can help it, so it must not be what the cap is judged by."""
    settings = FunctionSettings(name="small", arn=arn_of("small"), reserved=reserved, timeout_s=3, tags={})
    account = ConcurrencyAccount(limit=1000, unreserved_limit=995, function_count=2)
    metrics = Windows(
        {("ConcurrentExecutions", ""): series(*ALL)},
        {"Throttles": (Ranked(label="small", series=series(*(7.0,) * 10)),)},
    )
    judged = judge_symptom(
        observer(metrics=metrics, functions=FakeFunctions(account, settings)),
        held(CAP),
        since=NOW - 10 * MINUTE,
        deadline=NOW,
        now=NOW,
    )
    assert judged.outcome is outcome


# --- what still presses ----------------------------------------------------------------------------------------------


def on_hog(use: float, change: Change) -> Pressure:
    known = {
        ("ConcurrentExecutions", ""): series(*(300.0,) * 20),
        ("ConcurrentExecutions", "hog"): series(*(use,) * 20),
    }
    return pressure_on(observer(metrics=FakeMetrics(known)), held(change), NOW)


def stream(before: int | None, after: int, peak: int) -> CapEventSource:
    return CapEventSource(
        function="hog",
        arn=arn_of("hog"),
        uuid="u1",
        source=SourceKind.KINESIS,
        knob="ParallelizationFactor",
        before=before,
        after=after,
        peak=peak,
    )


@pytest.mark.parametrize(("refused", "is_gone"), [(1.0, False), (0.0, True)])
def test_a_single_throttle_by_the_cap_within_ten_minutes_says_that_it_is_needed(refused: float, is_gone: bool) -> None:
    known = {
        ("ConcurrentExecutions", ""): series(*(300.0,) * 20),
        ("ConcurrentExecutions", "hog"): series(*(5.0,) * 20),
        ("Throttles", "hog"): series(*(X,) * 15, refused, *(X,) * 4),
    }
    assert pressure_on(observer(metrics=FakeMetrics(known)), held(CAP), NOW).is_gone is is_gone


def test_a_slowed_stream_is_expected_to_run_at_least_once_at_a_time() -> None:
    """A tenth of three executions is not none: one running execution is all that the stream may have."""
    assert not on_hog(1.0, stream(10, 1, 3)).is_gone


def test_a_stream_whose_factor_was_not_set_had_a_factor_of_one() -> None:
    """Then one more of one allows what it had at its peak."""
    assert on_hog(60.0, stream(None, 1, 100)).is_gone
    assert not on_hog(91.0, stream(None, 1, 100)).is_gone


def test_a_cancelled_backfill_presses_no_more() -> None:
    """There is nothing to give back, so nothing has to be waited for."""
    cancel = CancelBackfill(backfill_id="bf-1", flow="f", environment="develop", table="t", table_arn="arn")
    assert pressure_on(observer(), held(cancel), NOW).is_gone


def on_table(peak_ago: timedelta, minutes: int | None = 600, now: datetime = NOW) -> tuple[Pressure, Windows]:
    count = int(peak_ago / MINUTE)
    writes = series(60 * 90.0, *(60.0,) * (count - 1))
    metrics = Windows({("ConsumedWriteCapacityUnits", NAME): writes})
    plan = Plan(action=Action.SWITCH_TO_ON_DEMAND, why="because", changes=(SWITCH,), lease_minutes=minutes)
    about = replace(held(SWITCH), plan=plan)
    return pressure_on(observer(metrics=metrics, tables=FakeTables(TABLE)), about, now), metrics


@pytest.mark.parametrize(
    ("peak_ago", "minutes", "is_gone"),
    [
        pytest.param(3 * HOUR, 600, False, id="three hours ago"),
        pytest.param(3 * HOUR + MINUTE, 600, True, id="longer ago than three hours"),
        pytest.param(3 * HOUR, None, False, id="no lease is known"),
        pytest.param(2 * HOUR, 120, False, id="within a lease of two hours"),
        pytest.param(2 * HOUR + MINUTE, 120, True, id="before a lease of two hours"),
    ],
)
def test_a_tables_peak_counts_for_three_hours_and_never_longer_than_its_lease(
    peak_ago: timedelta, minutes: int | None, is_gone: bool
) -> None:
    """What raised the symptom is no measure of what is now."""
    assert on_table(peak_ago, minutes)[0].is_gone is is_gone


def test_a_tables_load_is_read_in_whole_minutes() -> None:
    """The minute that is not over would look like a fall."""
    assert on_table(HOUR, 120, NOW + timedelta(seconds=33.5))[1].asked == [(NOW - 2 * HOUR, NOW)]


@pytest.mark.parametrize(("place", "name"), [(NAME, NAME), (f"{NAME}/by-status", f"{NAME}/by-status")])
def test_what_would_not_fit_is_named_table_or_index(place: str, name: str) -> None:
    """A person must know which of the numbers is too small."""
    known = {("ConsumedWriteCapacityUnits", place): series(*(60 * 99.0,) * 20)}
    known.setdefault(("ConsumedWriteCapacityUnits", NAME), series(*(60.0,) * 20))
    found = pressure_on(observer(metrics=FakeMetrics(known), tables=FakeTables(TABLE)), held(SWITCH), NOW)

    assert found.because.startswith(f"{name} took up to 99 write units/s")


def test_a_minute_that_began_eleven_minutes_ago_tells_nothing_about_now() -> None:
    judged = pool(series(9.0, *(X,) * 10), series(5.0, *(X,) * 10), deadline=LATE, acted_at=NOW - 30 * MINUTE)
    assert judged.because == "the newest datapoint is too old to judge by"


def ranked(**throttles: Series) -> Windows:
    return Windows(
        {("ConcurrentExecutions", ""): series(*ALL)},
        {"Throttles": tuple(Ranked(label=name, series=one) for name, one in throttles.items())},
    )


def still_throttled(metrics: Windows, about: Incident) -> tuple[Judgement, FakeFunctions]:
    account = ConcurrencyAccount(limit=1000, unreserved_limit=995, function_count=9)
    known = (
        FunctionSettings(name=f"f{number}", arn=arn_of(f"f{number}"), reserved=5, timeout_s=3, tags={})
        for number in range(9)
    )
    functions = FakeFunctions(account, *known)
    seen = observer(metrics=metrics, functions=functions)
    return judge_symptom(seen, about, since=NOW - 10 * MINUTE, deadline=NOW, now=NOW), functions


@pytest.mark.parametrize(("count", "outcome"), [(3, Outcome.RECOVERED), (4, Outcome.NOT_RECOVERED)])
def test_up_to_three_throttled_functions_are_looked_at_for_a_limit_of_their_own(count: int, outcome: Outcome) -> None:
    """More than that are victims of the pool, and each would cost a call."""
    rows = {f"f{number}": series(*(7.0,) * 10) for number in range(count)}
    judged, functions = still_throttled(ranked(**rows), held(CAP))
    assert judged.outcome is outcome
    assert len(functions.calls) == (count if count < 4 else 0)


def test_only_what_was_throttled_in_the_last_six_minutes_and_is_not_capped_is_looked_at() -> None:
    metrics = ranked(
        f0=series(*(X,) * 4, 1.0, *(X,) * 5),  # six minutes ago
        f1=series(*(X,) * 3, 9.0, *(X,) * 6),  # seven
        f2=series(*(0.0,) * 10),
        hog=series(*(900.0,) * 10),
    )
    assert still_throttled(metrics, held(CAP))[1].calls == ["describe f0"]


def test_the_cap_is_judged_by_those_it_was_made_for() -> None:
    """Others may be throttled for reasons of their own."""
    watch = Watch(service="lambda", functions=("victim",))
    plan = Plan(action=Action.CAP_CONCURRENCY, why="because", changes=(CAP,), watch=watch)
    about = replace(held(CAP), plan=plan)
    rows = {f"f{number}": series(*(7.0,) * 10) for number in range(5)}

    assert still_throttled(ranked(**rows), about)[0].outcome is Outcome.RECOVERED
    assert still_throttled(ranked(victim=series(*(7.0,) * 10)), about)[0].outcome is Outcome.NOT_RECOVERED


def test_the_use_of_a_capped_function_is_read_for_twenty_whole_minutes() -> None:
    metrics = Windows({("ConcurrentExecutions", ""): series(*(300.0,) * 20)})
    found = pressure_on(observer(metrics=metrics), held(CAP), NOW + timedelta(seconds=59.5))
    assert metrics.asked == [(NOW - 20 * MINUTE, NOW)]
    assert found == Pressure(is_gone=True, because="hog holds 0, well under its cap of 250")
