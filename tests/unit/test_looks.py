"""A look costs few calls, however large the account is, and says what it could not see."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.fakes import (
    MINUTE,
    NOW,
    FakeBackfills,
    FakeFunctions,
    FakeMetrics,
    FakeTables,
    arn_of,
    incident,
    observer,
    series,
)
from unthrottle.backfills import Backfill, BackfillsUnavailable
from unthrottle.errors import Refused
from unthrottle.evidence.pool import ConcurrencyAccount, EventSource, PoolEvidence, SourceKind
from unthrottle.evidence.read_pool import is_own, read_pool
from unthrottle.evidence.read_table import environment_of, read_table
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import (
    BackfillsUnknown,
    Billing,
    Capacity,
    IndexSettings,
    RunningBackfills,
    ScalingTarget,
    TableSettings,
    Throttle,
    Way,
)
from unthrottle.incident import AppliedChange, Incident, Outcome
from unthrottle.plan import CapConcurrency, CapEventSource, Change, SavedTable, SwitchToOnDemand
from unthrottle.ports import FunctionSettings, Ranked
from unthrottle.pressure import Pressure, pressure_on
from unthrottle.settings import Settings
from unthrottle.subjects import TableSubject
from unthrottle.symptom import judge_symptom

SETTINGS = Settings()
LIMIT = 1000


def flat(value: float | None, minutes: int = 180) -> Series:
    return series(*(value,) * minutes)


def a_function(name: str, **changes: object) -> FunctionSettings:
    plain = FunctionSettings(name=name, arn=arn_of(name), reserved=None, timeout_s=900, tags={})
    return replace(plain, **changes)  # type: ignore[arg-type]  # any field, by name


def rows(**held: float) -> tuple[Ranked, ...]:
    return tuple(Ranked(label=name, series=flat(value)) for name, value in held.items())


def pool_metrics(
    ranking: tuple[Ranked, ...], throttled: tuple[Ranked, ...] = (), claimed: float | None = 995.0
) -> FakeMetrics:
    known = {
        ("ConcurrentExecutions", ""): flat(995.0),
        ("UnreservedConcurrentExecutions", ""): flat(995.0),
        ("ClaimedAccountConcurrency", ""): flat(claimed),
    }
    return FakeMetrics(known, {"MAX(ConcurrentExecutions)": ranking, "SUM(Throttles)": throttled})


def rising(low: float, high: float) -> Series:
    """Low for two and a half hours, then high."""
    return series(*(low,) * 150, *(high,) * 30)


def risen(metrics: FakeMetrics) -> FakeMetrics:
    """The pool was idle before the newest half hour."""
    for name in ("ConcurrentExecutions", "UnreservedConcurrentExecutions"):
        metrics.known[(name, "")] = rising(100.0, 995.0)
    return metrics


def account(functions: int = 362, reserved: int = 0) -> ConcurrencyAccount:
    return ConcurrencyAccount(limit=LIMIT, unreserved_limit=LIMIT - reserved, function_count=functions)


def look(metrics: FakeMetrics, functions: FakeFunctions, **more: object) -> PoolEvidence:
    return read_pool(observer(metrics=metrics, functions=functions), SETTINGS, NOW, **more)  # type: ignore[arg-type]


def queued(metrics: FakeMetrics, name: str, share: float = 1.0) -> FakeMetrics:
    metrics.known[("Invocations", name)] = flat(100.0)
    metrics.known[("AsyncEventsReceived", name)] = flat(100.0 * share)
    return metrics


@pytest.mark.parametrize("functions", [362, 10_000], ids=["362 functions", "10,000 functions"])
def test_an_asynchronous_hog_takes_five_calls_in_an_account_of_any_size(functions: int) -> None:
    """The account, two metric calls, the function, and how it keeps its events: with the check before acting, six."""
    ranking = (Ranked(label="hog", series=rising(20.0, 841.0)), *rows(small=6.0))
    metrics = queued(risen(pool_metrics(ranking, rows(small=43_000.0))), "hog")
    known = FakeFunctions(account(functions), a_function("hog"), a_function("small"))

    found = look(metrics, known)

    assert known.calls == ["account", "describe hog", "async_settings hog"]
    assert len(metrics.calls) == 2
    assert (found.earlier, found.earlier_account) == ((), None)
    assert [one.name for one in found.candidates] == ["hog"]
    assert [name for name, _ in found.throttled] == ["small"]
    assert found.ranking_complete
    assert found.gaps == ()


def test_what_feeds_a_function_is_read_only_where_events_do_not_explain_it() -> None:
    """At nine tenths queued events nothing else needs to be looked for; just below it is."""
    for share, calls in ((0.9, 0), (0.89, 1), (0.0, 1)):
        known = FakeFunctions(account(), a_function("hog"))
        look(queued(pool_metrics(rows(hog=841.0)), "hog", share), known)
        assert known.calls.count("event_sources hog") == calls


@pytest.mark.parametrize(
    ("claimed", "reserved", "reads"),
    [(995.0, 0, 0), (1025.0, 30, 0), (1026.0, 30, 1), (None, 0, 1)],
    ids=["nothing else is claimed", "reservations explain it", "one more than that", "unknown counts as yes"],
)
def test_provisioned_concurrency_is_read_only_where_some_is_claimed(
    claimed: float | None, reserved: int, reads: int
) -> None:
    """What the claimed concurrency holds beside the used and the reserved is provisioned somewhere."""
    known = FakeFunctions(account(reserved=reserved), a_function("hog"))
    found = look(queued(pool_metrics(rows(hog=841.0), claimed=claimed), "hog"), known)

    assert known.calls.count("provisioned hog") == reads
    assert found.candidates[0].provisioned == (0 if reads else None)


def test_only_functions_that_could_hold_the_pool_are_looked_at_and_at_most_five() -> None:
    """Half of the share is where a look begins; our own functions are never candidates."""
    held = {f"f{number}": 150.0 + number for number in range(7)} | {"just": 125.0, "less": 124.9, "unthrottle-x": 500.0}
    known = FakeFunctions(account(), *(a_function(name) for name in held))

    found = look(pool_metrics(rows(**held)), known, own_prefix="unthrottle")

    assert [one.name for one in found.candidates] == ["f6", "f5", "f4", "f3", "f2"]
    few = look(pool_metrics(rows(just=125.0, less=124.9)), FakeFunctions(account(), a_function("just")))
    assert [one.name for one in few.candidates] == ["just"]


def test_a_hog_that_was_deleted_meanwhile_is_a_gap_not_an_error() -> None:
    """Its metrics outlive it."""
    found = look(pool_metrics(rows(gone=841.0)), FakeFunctions(account()))

    assert found.candidates == ()
    assert found.gaps == ("function gone has metrics but is not there any more",)


def test_a_name_lambda_does_not_take_is_a_gap_and_another_refusal_is_not() -> None:
    """A replica of Lambda@Edge has metrics here under its home Region and name."""

    class Refusing(FakeFunctions):
        code = "ValidationException"

        def describe(self, name: str) -> FunctionSettings:
            raise Refused("no", code=self.code)

    edge = (Ranked(label="us-east-1.redirect", series=flat(841.0)),)
    found = look(pool_metrics(edge), Refusing(account()))
    assert found.candidates == ()
    assert found.gaps[0].startswith("us-east-1.redirect has metrics but is no function that Lambda can describe here")

    Refusing.code = "SomethingElse"
    with pytest.raises(Refused):
        look(pool_metrics(edge), Refusing(account()))


def test_a_hog_that_ran_all_through_the_window_costs_one_call_more_and_only_then() -> None:
    """The same hours of the days before: one call for the functions in doubt and the account."""
    metrics = queued(pool_metrics(rows(hog=841.0)), "hog")
    found = look(metrics, FakeFunctions(account(), a_function("hog")))

    assert len(metrics.calls) == 3
    assert [query.dimensions for query in metrics.calls[2]] == [(), (("FunctionName", "hog"),)]
    assert [use.name for use in found.earlier] == ["hog"]


@pytest.mark.parametrize(
    "settings",
    [{"reserved": 900}, {"managed_instances": True}],
    ids=["in its own reservation", "on Managed Instances"],
)
def test_a_function_outside_the_pool_is_never_in_doubt(settings: dict[str, object]) -> None:
    """Whatever it always ran, it takes nothing from the pool."""
    metrics = pool_metrics(rows(own=841.0))
    look(metrics, FakeFunctions(account(), a_function("own", **settings)))
    assert len(metrics.calls) == 2


def test_beside_a_hog_that_rose_a_steady_function_is_not_looked_up() -> None:
    """What has risen holds half of the pool, and the window tells enough."""
    ranking = (Ranked(label="hog", series=rising(20.0, 500.0)), *rows(steady=400.0))
    metrics = risen(pool_metrics(ranking))
    look(metrics, FakeFunctions(account(), a_function("hog"), a_function("steady")))
    assert len(metrics.calls) == 2

    ranking = (Ranked(label="hog", series=rising(20.0, 497.0)), *rows(steady=400.0))
    metrics = risen(pool_metrics(ranking))
    found = look(metrics, FakeFunctions(account(), a_function("hog"), a_function("steady")))
    assert [use.name for use in found.earlier] == ["steady"]


def test_where_nobody_holds_the_pool_the_sufferer_is_looked_at() -> None:
    """The reason is then likely in its own settings: the alarmed one, and the most throttled."""
    metrics = pool_metrics(rows(a=5.0), rows(worst=900.0, other=5.0))
    known = FakeFunctions(account(), a_function("alarmed", reserved=0), a_function("worst", reserved=10))

    found = look(metrics, known, alarmed=("alarmed",))

    assert [(one.name, one.reserved) for one in found.candidates] == [("alarmed", 0), ("worst", 10)]
    assert len(metrics.calls) == 3


def test_more_functions_than_a_ranking_looks_at_are_read_by_name_and_it_says_so() -> None:
    """AWS leaves the rest out without an error, so the hog might be among them."""
    names = ("hog", "small")
    metrics = pool_metrics(())
    metrics.known |= {("ConcurrentExecutions", "hog"): flat(841.0), ("Throttles", "small"): flat(3.0)}
    known = FakeFunctions(account(functions=10_001), *(a_function(name) for name in names))

    found = look(metrics, known)

    assert "names" in known.calls
    assert not found.ranking_complete
    assert "10,001 functions" in found.gaps[0]
    assert [use.name for use in found.ranking] == ["hog", "small"]
    assert [name for name, _ in found.throttled] == ["small"]


def test_the_group_other_is_no_function() -> None:
    """Metrics Insights puts what has no FunctionName into a group of that label."""
    found = look(pool_metrics((*rows(Other=999.0), *rows(hog=841.0))), FakeFunctions(account(), a_function("hog")))

    assert [use.name for use in found.ranking] == ["hog"]


def test_own_functions_are_told_by_the_stacks_name_and_a_dash() -> None:
    """A stack called bot does not own every function that begins with bot."""
    assert is_own("bot-intake-1A", "bot")
    assert not is_own("botany", "bot")
    assert not is_own("bot-intake", None)
    assert not is_own("bot-intake", "")


# --- tables ----------------------------------------------------------------------------------------------------------

NAME = "dagy-runs-develop"
TABLE = TableSettings(
    name=NAME,
    arn=f"arn:aws:dynamodb:eu-west-1:111122223333:table/{NAME}",
    status="ACTIVE",
    billing=Billing.PROVISIONED,
    capacity=Capacity(read=10, write=100),
    indexes=(IndexSettings(name="by-status", status="ACTIVE", capacity=Capacity(read=10, write=50)),),
)
BACKFILL = Backfill(
    id="bf-1",
    state="running",
    flow="f",
    environment="develop",
    requested_by="anna",
    started_at=NOW,
    runs_total=1,
    runs_dispatched=0,
    dispatch_rate_per_minute=1.0,
)


def test_a_table_with_its_indexes_takes_four_calls_and_five_with_autoscaling() -> None:
    """Table, metrics of all units at once, bounds, tags; and what autoscaling did, where there is any."""
    metrics, tables = FakeMetrics(), FakeTables(TABLE)
    found = read_table(observer(metrics=metrics, tables=tables), SETTINGS, NOW, table=NAME, backfills=FakeBackfills())

    assert (len(metrics.calls), tables.calls) == (1, [f"describe {NAME}", "scaling", "tags"])
    assert [unit.index for unit in found.units] == [None, "by-status"]
    assert all(unit.consumed[way].is_empty for unit in found.units for way in Way)

    tables.targets = (ScalingTarget(way=Way.WRITE, index=None, minimum=1, maximum=9),)
    tables.calls.clear()
    read_table(observer(metrics=metrics, tables=tables), SETTINGS, NOW, table=NAME, backfills=FakeBackfills())
    assert len(tables.calls) + 1 == 5


def test_hot_keys_are_asked_for_only_where_a_key_range_is_throttled() -> None:
    """Contributor Insights costs calls; only key-range throttles of the last half hour need it, for that unit."""
    old = series(5.0, *(None,) * 30)
    new = series(5.0, *(None,) * 29)
    for refused, calls in ((old, 0), (new, 1)):
        metrics = FakeMetrics({("WriteKeyRangeThroughputThrottleEvents", f"{NAME}/by-status"): refused})
        tables = FakeTables(TABLE)
        read_table(observer(metrics=metrics, tables=tables), SETTINGS, NOW, table=NAME)
        assert tables.calls.count("hot_keys") == calls


def test_each_metric_lands_where_it_belongs() -> None:
    """Reads, writes, and the four causes must not be mixed up, for the table and for each index."""
    names = {f"{way.value.capitalize()}{cause}ThrottleEvents": (way, cause) for way in Way for cause in ("", *Throttle)}
    known = {
        (name, place): flat(float(number + 100 * bool("/" in place)))
        for number, name in enumerate(names, start=1)
        for place in (NAME, f"{NAME}/by-status")
    }
    found = read_table(observer(metrics=FakeMetrics(known), tables=FakeTables(TABLE)), SETTINGS, NOW, table=NAME)

    for unit, more in zip(found.units, (0, 100), strict=True):
        for number, (way, cause) in enumerate(names.values(), start=1):
            read = unit.throttle_events[way] if cause == "" else unit.throttles[way][Throttle(cause)]
            assert read.peak() == number + more


@pytest.mark.parametrize(
    ("table", "prefix", "environment"),
    [
        ("dagy-runs-develop", "dagy-", "develop"),
        ("dagy-task-runs-develop", "dagy-", "develop"),
        ("dagy-rate-limits-eu-west", "dagy-", "eu-west"),
        ("dagy-new-thing-prod", "dagy-", "prod"),
        ("dagy-runs-", "dagy-", None),
        ("dagy-runs", "dagy-", None),
        ("orders-develop", "dagy-", None),
        ("dagy-runs-develop", "", None),
    ],
)
def test_a_tables_environment_is_the_end_of_its_name(table: str, prefix: str, environment: str | None) -> None:
    """Only dagy's tables have one; anything else is not asked about."""
    assert environment_of(table, prefix) == environment


def test_what_dagy_does_not_say_is_unknown_and_not_none_running() -> None:
    """A silent dagy must not look like one without backfills."""

    def asked(backfills: FakeBackfills | None, table: TableSettings = TABLE) -> object:
        seen = observer(tables=FakeTables(table))
        return read_table(seen, SETTINGS, NOW, table=table.name, backfills=backfills).backfills

    class Silent(FakeBackfills):
        def running(self, environment: str | None = None) -> tuple[Backfill, ...]:
            raise BackfillsUnavailable("timed out")

    assert asked(FakeBackfills(BACKFILL, replace(BACKFILL, id="x", environment="prod"))) == RunningBackfills(
        backfills=(BACKFILL,)
    )
    assert asked(Silent()) == BackfillsUnknown(reason="timed out")
    assert asked(None) == BackfillsUnknown(reason="dagy is not configured", configured=False)
    assert asked(None, replace(TABLE, name="orders")) == RunningBackfills(backfills=())


# --- is the cause still there ----------------------------------------------------------------------------------------

CAP = CapConcurrency(function="hog", arn=arn_of("hog"), before=None, after=250, peak=841)


def held(*changes: Change) -> Incident:
    return incident(applied=tuple(AppliedChange(change=change, at=NOW) for change in changes))


def on_function(
    use: Series | None, refused: Series | None = None, *changes: Change, whole: Series | None = None
) -> Pressure:
    known = {("ConcurrentExecutions", ""): whole or flat(300.0)}
    if use is not None:
        known[("ConcurrentExecutions", "hog")] = use
    if refused is not None:
        known[("Throttles", "hog")] = refused
    return pressure_on(observer(metrics=FakeMetrics(known)), held(*(changes or (CAP,))), NOW)


@pytest.mark.parametrize(
    ("use", "refused", "is_gone"),
    [
        pytest.param(flat(224.0), None, True, id="just under nine tenths of the cap"),
        pytest.param(flat(225.0), None, False, id="at nine tenths"),
        pytest.param(flat(250.0), None, False, id="at the cap"),
        pytest.param(flat(5.0), flat(1.0), False, id="low, but throttled by the cap"),
        pytest.param(series(250.0, *(5.0,) * 10), series(9.0, *(None,) * 10), True, id="it was, ten minutes ago"),
        pytest.param(None, None, True, id="it does not run at all"),
    ],
)
def test_a_cap_is_needed_while_the_function_would_take_more(
    use: Series | None, refused: Series | None, is_gone: bool
) -> None:
    """Below, at and above the threshold; nothing running is proof where the account shows its minutes."""
    assert on_function(use, refused).is_gone is is_gone


@pytest.mark.parametrize("whole", [flat(None), series(300.0, *(None,) * 10)], ids=["never", "not for ten minutes"])
def test_without_recent_data_a_cap_stays(whole: Series) -> None:
    """What cannot be read counts as still there."""
    assert not on_function(None, whole=whole).is_gone


def source(knob: str, before: int | None, after: int, kind: SourceKind, uuid: str = "u1") -> CapEventSource:
    return CapEventSource(
        function="hog",
        arn=arn_of("hog"),
        uuid=uuid,
        source=kind,
        knob=knob,  # type: ignore[arg-type]  # the test's table names only real knobs
        before=before,
        after=after,
        peak=800,
    )


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        pytest.param((source("MaximumConcurrency", None, 200, SourceKind.SQS),), 200, id="a queue"),
        pytest.param((source("MaximumPollers", 100, 20, SourceKind.SQS),), 200, id="pollers of ten each"),
        pytest.param((source("MaximumPollers", 100, 40, SourceKind.KAFKA),), 200, id="pollers of five each"),
        pytest.param((source("ParallelizationFactor", 8, 2, SourceKind.KINESIS),), 200, id="a quarter of the peak"),
        pytest.param(
            (
                source("MaximumConcurrency", None, 100, SourceKind.SQS),
                source("MaximumConcurrency", None, 100, SourceKind.SQS, "u2"),
            ),
            200,
            id="two queues add up",
        ),
    ],
)
def test_a_slowed_source_is_needed_while_its_function_is_at_what_it_allows(
    changes: tuple[CapEventSource, ...], bound: int
) -> None:
    """Pollers and factors are no executions; they are turned into executions before they are compared."""
    assert not on_function(flat(bound * 0.9), None, *changes).is_gone
    assert on_function(flat(bound * 0.9 - 1), None, *changes).is_gone


SWITCH = SwitchToOnDemand(
    table=NAME,
    arn=TABLE.arn,
    before=SavedTable(capacity=TABLE.capacity, indexes={"by-status": Capacity(read=10, write=50)}),
)


@pytest.mark.parametrize(
    ("writes", "index_writes", "reads", "is_gone"),
    [
        pytest.param(flat(60 * 80.0), None, flat(0.0), True, id="exactly four fifths of the saved writes"),
        pytest.param(flat(60 * 80.1), None, flat(0.0), False, id="above"),
        pytest.param(flat(0.0), flat(60 * 40.1), flat(0.0), False, id="the index would be short"),
        pytest.param(flat(0.0), None, flat(60 * 8.1), False, id="reads would be short"),
        pytest.param(flat(60.0), None, None, True, id="nobody reads"),
        pytest.param(None, None, None, False, id="nothing can be read"),
        pytest.param(series(60.0, *(None,) * 10), None, None, False, id="nothing recent can be read"),
        pytest.param(series(60 * 90.0, *(60.0,) * 30), None, flat(0.0), False, id="a peak earlier in the lease"),
    ],
)
def test_a_table_is_given_back_only_when_its_load_fits_the_saved_numbers(
    writes: Series | None, index_writes: Series | None, reads: Series | None, is_gone: bool
) -> None:
    """Each unit, each way, with a fifth to spare; unread counts as still there."""
    given = {
        ("ConsumedWriteCapacityUnits", NAME): writes,
        ("ConsumedWriteCapacityUnits", f"{NAME}/by-status"): index_writes,
        ("ConsumedReadCapacityUnits", NAME): reads,
    }
    metrics = FakeMetrics({key: value for key, value in given.items() if value is not None})

    found = pressure_on(observer(metrics=metrics, tables=FakeTables(TABLE)), held(SWITCH), NOW)

    assert found.is_gone is is_gone


def test_all_changes_must_be_unneeded_before_any_is_given_back() -> None:
    """One function that still presses keeps both caps, and is the reason that is told."""
    quiet = replace(CAP, function="quiet", arn=arn_of("quiet"))
    found = on_function(flat(250.0), None, CAP, quiet)

    assert not found.is_gone
    assert "hog still holds 250" in found.because
    assert "quiet" not in found.because


# --- is the symptom over ---------------------------------------------------------------------------------------------


def test_a_pools_symptom_is_read_with_one_call_and_without_the_capped() -> None:
    """The cap's own throttles are as they should be."""
    metrics = pool_metrics((), rows(hog=900.0))
    judged = judge_symptom(
        observer(metrics=metrics), held(CAP), since=NOW - 10 * MINUTE, deadline=NOW + 10 * MINUTE, now=NOW
    )
    assert judged.outcome is Outcome.RECOVERED
    assert len(metrics.calls) == 1


def test_a_tables_symptom_is_read_with_two_calls() -> None:
    """The table, to see whether it is settled, and its metrics."""
    metrics, tables = FakeMetrics({("ConsumedWriteCapacityUnits", NAME): flat(60.0)}), FakeTables(TABLE)
    about = incident(subject=TableSubject(table=NAME), kind="dynamodb")
    judged = judge_symptom(
        observer(metrics=metrics, tables=tables), about, since=NOW - 10 * MINUTE, deadline=NOW, now=NOW
    )
    assert judged.outcome is Outcome.RECOVERED
    assert (len(metrics.calls), tables.calls) == (1, [f"describe {NAME}"])


def test_right_after_the_action_it_is_too_early() -> None:
    """No whole minute has passed, so nothing is said."""
    judged = judge_symptom(
        observer(metrics=pool_metrics(())), held(CAP), since=NOW, deadline=NOW + MINUTE, now=NOW + timedelta(seconds=5)
    )
    assert judged.outcome is None


def test_a_queues_feed_is_part_of_the_evidence() -> None:
    """What feeds the hog decides what may be done to it."""
    known = FakeFunctions(account(), a_function("hog"))
    fed = EventSource(uuid="u1", kind=SourceKind.SQS, source_arn="arn")
    known.sources["hog"] = (fed,)

    assert look(pool_metrics(rows(hog=841.0)), known).candidates[0].event_sources == (fed,)
