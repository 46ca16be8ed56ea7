"""Whose settings are read: who may hold a used-up pool, or who suffers in one that has room."""

from tests.unit.fakes import NOW, FakeFunctions, FakeMetrics, arn_of, observer, series
from unthrottle.evidence.pool import ConcurrencyAccount, PoolEvidence
from unthrottle.evidence.read_pool import read_pool
from unthrottle.evidence.series import Series
from unthrottle.ports import FunctionSettings, Ranked
from unthrottle.settings import Settings


def flat(value: float) -> Series:
    return series(*(value,) * 180)


def rows(**held: float) -> tuple[Ranked, ...]:
    return tuple(Ranked(label=name, series=flat(value)) for name, value in held.items())


def look(
    in_use: float, *, throttled: tuple[Ranked, ...], claimed: float | None = None
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
    known = [FunctionSettings(name=name, arn=arn_of(name), reserved=9, timeout_s=900, tags={}) for name in names]
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
