"""Whose settings are read: who may hold a used-up pool, or who suffers in one that has room."""

from dataclasses import replace

from tests.unit.fakes import NOW, FakeFunctions, FakeMetrics, arn_of, observer, series
from unthrottle.actions.cap_concurrency import change
from unthrottle.actions.planning import make_plan
from unthrottle.causes import diagnose
from unthrottle.evidence.pool import ConcurrencyAccount, EventSource, PoolEvidence, SourceKind
from unthrottle.evidence.read_pool import read_pool
from unthrottle.evidence.series import Series
from unthrottle.plan import Action
from unthrottle.ports import FunctionSettings, Ranked
from unthrottle.settings import Settings


def flat(value: float) -> Series:
    return series(*(value,) * 180)


def rows(**held: float) -> tuple[Ranked, ...]:
    return tuple(Ranked(label=name, series=flat(value)) for name, value in held.items())


def look(
    in_use: float, *, throttled: tuple[Ranked, ...], claimed: float | None = None, free: bool = False
) -> tuple[PoolEvidence, list[str]]:
    """Look at a pool of 1,000 in which `large` runs 300, and say what was asked of Lambda."""
    metrics = FakeMetrics(
        {
            ("ConcurrentExecutions", ""): flat(in_use),
            ("UnreservedConcurrentExecutions", ""): flat(in_use),
            ("ClaimedAccountConcurrency", ""): flat(in_use if claimed is None else claimed),
        },
        {"MAX(ConcurrentExecutions)": rows(large=300.0), "SUM(Throttles)": throttled},
    )
    names = ("large", *(row.label for row in throttled))
    known = [FunctionSettings(name=name, arn=arn_of(name), reserved=None if free else 9, timeout_s=900, tags={})
             for name in names]  # fmt: skip
    functions = FakeFunctions(ConcurrencyAccount(limit=1000, unreserved_limit=1000, function_count=362), *known)
    found = read_pool(observer(metrics=metrics, functions=functions), Settings(), NOW)
    return found, functions.calls


def read(calls: list[str]) -> list[str]:
    return [call.removeprefix("describe ") for call in calls if call.startswith("describe ")]


def test_in_a_pool_with_room_the_sufferer_is_read_and_not_whoever_is_large() -> None:
    """A large function harms nobody there; the reason is in the throttled one's own settings."""
    found, calls = look(500.0, throttled=rows(capped=40.0))
    assert read(calls) == ["capped"]
    assert [one.name for one in found.candidates] == ["capped"]


def test_in_a_used_up_pool_who_holds_it_is_read_and_no_sufferer() -> None:
    """Six calls until the action leave room for no more."""
    assert read(look(950.0, throttled=rows(capped=40.0))[1]) == ["large"]


def test_just_below_used_up_both_are_read() -> None:
    """Between the early warning and a full pool either may be the reason."""
    assert read(look(850.0, throttled=rows(capped=40.0))[1]) == ["large", "capped"]


def test_what_provisioned_concurrency_holds_is_not_room() -> None:
    """500 in use of the 520 that provisioned concurrency leaves is a used-up pool."""
    assert read(look(500.0, throttled=rows(capped=40.0), claimed=980.0)[1]) == ["large"]


def test_sufferers_are_read_until_they_explain_nearly_all_throttles_and_at_most_three() -> None:
    """One of many is no explanation; each costs a call."""
    assert read(look(500.0, throttled=rows(a=95.0, b=5.0))[1]) == ["a"]
    assert read(look(500.0, throttled=rows(a=50.0, b=45.0, c=5.0))[1]) == ["a", "b"]
    assert read(look(500.0, throttled=rows(a=25.0, b=25.0, c=25.0, d=25.0))[1]) == ["a", "b", "c"]


# --- who may be a hog by its own series --------------------------------------------------------------------------


def risen(**held: tuple[float, float]) -> tuple[Ranked, ...]:
    """Functions that ran the first number for two and a half hours, and the second one since."""
    rows = [
        Ranked(label=name, series=series(*(low,) * 150, *(high,) * 30)) for name, (low, high) in held.items()
    ]  # fmt: skip
    return tuple(sorted(rows, key=lambda row: -(row.series.peak() or 0)))


def pressed(
    ranking: tuple[Ranked, ...], *settings: FunctionSettings, queued: tuple[str, ...] = ()
) -> tuple[PoolEvidence, list[str], FakeMetrics]:
    """Look at a pool of 1,000 that is used up since half an hour."""
    use = series(*(100.0,) * 150, *(995.0,) * 30)
    metrics = FakeMetrics(
        {
            ("ConcurrentExecutions", ""): use,
            ("UnreservedConcurrentExecutions", ""): use,
            ("ClaimedAccountConcurrency", ""): use,
        },
        {"MAX(ConcurrentExecutions)": ranking, "SUM(Throttles)": rows(victim=40.0)},
    )
    for name in queued:
        metrics.known |= {("Invocations", name): flat(100.0), ("AsyncEventsReceived", name): flat(100.0)}
    known = {row.label: plain(row.label) for row in ranking} | {one.name: one for one in settings}
    functions = FakeFunctions(
        ConcurrencyAccount(limit=1000, unreserved_limit=1000, function_count=362), *known.values()
    )
    return (
        read_pool(observer(metrics=metrics, functions=functions), Settings(), NOW, own_prefix="unthrottle"),
        functions.calls,
        metrics,
    )


def plain(name: str, **changes: object) -> FunctionSettings:
    base = FunctionSettings(name=name, arn=arn_of(name), reserved=None, timeout_s=900, tags={})
    return replace(base, **changes)  # type: ignore[arg-type]  # any field, by name


def test_beside_a_hog_functions_that_are_always_large_cost_no_call() -> None:
    """One hog takes five calls of the look, however many large functions run as they always do."""
    ranking = risen(hog=(20, 500), steady=(180, 180), other=(150, 150))
    found, calls, metrics = pressed(ranking, queued=("hog",))
    assert calls == ["account", "describe hog", "async_settings hog"]
    assert len(metrics.calls) == 2
    assert {use.name for use in found.ranking} == {"hog", "steady", "other"}


def test_a_function_that_rose_by_half_is_read_in_case_of_doubt() -> None:
    """Between half as much again and twice as much nobody is sure."""
    assert read(pressed(risen(hog=(20, 500), more=(119, 180)))[1]) == ["hog", "more"]
    assert read(pressed(risen(hog=(20, 500), more=(120, 180)))[1]) == ["hog"]


def test_where_what_has_risen_holds_less_than_half_all_large_ones_are_read() -> None:
    """Then the steady ones may hold the rest for longer than the window."""
    assert read(pressed(risen(hog=(20, 497), steady=(300, 300)))[1]) == ["hog", "steady"]
    assert read(pressed(risen(hog=(20, 498), steady=(300, 300)))[1]) == ["hog"]


def test_where_the_risen_one_has_a_pool_of_its_own_the_steady_ones_are_read_too() -> None:
    for outside in ({"reserved": 600}, {"managed_instances": True}):
        ranking = risen(own=(20, 600), steady=(300, 300), other=(200, 200))
        assert read(pressed(ranking, plain("own", **outside))[1]) == ["own", "steady", "other"]
    both = risen(own=(20, 300), hog=(20, 500), steady=(200, 200))
    assert read(pressed(both, plain("own", reserved=300))[1]) == ["hog", "own"]


def test_of_more_than_a_few_that_rose_only_those_above_the_share_are_read() -> None:
    """Six just below it are growth, whatever their settings say."""
    six = {f"f{number}": (20.0, 160.0) for number in range(6)}
    assert read(pressed(risen(**six))[1]) == []
    assert read(pressed(risen(**six | {"large": (20.0, 250.0)}))[1]) == ["large"]
    five = {f"f{number}": (20.0, 160.0) for number in range(5)}
    assert len(read(pressed(risen(**five))[1])) == 5


def test_the_bots_own_functions_and_small_ones_are_never_read() -> None:
    ranking = risen(hog=(20, 600), small=(1, 124)) + risen(**{"unthrottle-x": (1, 300)})
    assert read(pressed(ranking)[1]) == ["hog"]


def test_the_metrics_of_large_functions_ride_along_with_the_ranking_of_throttles() -> None:
    """They cost no call, and are there where the settings turn out to be needed."""
    _, _, metrics = pressed(risen(hog=(20, 600), steady=(200, 200)))
    asked = {(query.name, query.stat, value) for query in metrics.calls[1] for _, value in query.dimensions}
    for name in ("hog", "steady"):
        assert {("Invocations", "Sum", name), ("AsyncEventsReceived", "Sum", name)} <= asked
        assert {("AsyncEventAge", "SampleCount", name), ("RecursiveInvocationsDropped", "Sum", name)} <= asked
        assert ("Throttles", "Sum", name) in asked


# --- what need not be asked --------------------------------------------------------------------------------------


def test_a_dead_letter_queue_takes_what_is_dropped_whatever_its_age() -> None:
    """How long events are kept needs no call then."""
    found, calls, _ = pressed(risen(hog=(20, 900)), plain("hog", has_dead_letter=True), queued=("hog",))
    assert calls == ["account", "describe hog"]
    kept = found.candidates[0].async_settings
    assert kept is not None
    assert kept.has_destination


def test_of_a_sufferer_only_the_settings_are_read() -> None:
    """Nothing of it will be slowed, so that it does not matter what feeds it."""
    calls = look(500.0, throttled=rows(free=40.0), free=True)[1]
    assert calls == ["account", "describe free"]


def test_a_backlog_from_before_the_window_shows_that_a_function_is_asynchronous() -> None:
    """Its events were received an hour ago; what counts is what is handed over now."""
    ranking = risen(hog=(20, 900))
    found, _, metrics = pressed(ranking)
    assert found.candidates[0].queued == 0
    for handed, reads, waits in ((90.0, 0, False), (50.0, 1, False), (49.0, 1, True)):
        metrics.known |= {("Invocations", "hog"): flat(100.0), ("AsyncEventAge", "hog"): flat(handed)}
        functions = FakeFunctions(
            ConcurrencyAccount(limit=1000, unreserved_limit=1000, function_count=362), plain("hog")
        )
        found = read_pool(observer(metrics=metrics, functions=functions), Settings(), NOW)
        assert functions.calls.count("event_sources hog") == reads
        assert "async_settings hog" in functions.calls
        (hog,) = found.candidates
        assert (change(hog, 250, 900, 120).synchronous is not None) is waits


def test_no_function_is_read_twice() -> None:
    """A sufferer may be large as well, and is asked about once."""
    calls = look(850.0, throttled=rows(large=40.0))[1]
    assert read(calls) == ["large"]
    found, calls = look(850.0, throttled=rows(large=40.0, small=30.0))
    assert read(calls) == ["large", "small"]
    assert [one.name for one in found.candidates] == ["large", "small"]


def test_a_hog_whose_runs_have_not_ended_is_not_taken_for_a_queued_one() -> None:
    """Invocations come when a run has ended: six pings are all there is to see of 900 executions of a queue's consumer."""
    queue = EventSource(uuid="u1", kind=SourceKind.SQS, source_arn="arn")
    metrics = pressed(risen(hog=(1, 900)))[2]
    pings = series(*(1.0 if minute % 30 == 0 else None for minute in range(180)))
    metrics.known |= {("Invocations", "hog"): pings, ("AsyncEventsReceived", "hog"): pings}
    functions = FakeFunctions(ConcurrencyAccount(limit=1000, unreserved_limit=1000, function_count=362), plain("hog"))
    functions.sources["hog"] = (queue,)
    found = read_pool(observer(metrics=metrics, functions=functions), Settings(), NOW)
    assert found.candidates[0].event_sources == (queue,)
    plan = make_plan(diagnose(found, Settings(), itself=frozenset()), found, Settings())
    assert plan.action is Action.CAP_EVENT_SOURCE


def test_in_a_small_pool_who_holds_half_of_it_is_read() -> None:
    """A quarter of the account's limit is more than a pool of 240 lets anybody hold."""
    use = series(*(100.0,) * 150, *(239.0,) * 30)
    metrics = FakeMetrics(
        {
            ("ConcurrentExecutions", ""): series(*(860.0,) * 150, *(999.0,) * 30),
            ("UnreservedConcurrentExecutions", ""): use,
            ("ClaimedAccountConcurrency", ""): series(*(860.0,) * 150, *(999.0,) * 30),
        },
        {"MAX(ConcurrentExecutions)": risen(hog=(30, 120), small=(5, 59)), "SUM(Throttles)": rows(victim=40.0)},
    )
    account = ConcurrencyAccount(limit=1000, unreserved_limit=240, function_count=362)
    functions = FakeFunctions(account, plain("hog"), plain("small"))
    read_pool(observer(metrics=metrics, functions=functions), Settings(), NOW)
    assert read(functions.calls) == ["hog"]
