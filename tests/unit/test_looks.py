"""A look costs few calls, however large the account is, and says what it could not see."""

from dataclasses import replace

import pytest

from tests.unit.fakes import NOW, FakeFunctions, FakeMetrics, arn_of, observer, series
from tests.unit.looked import flat, pool_metrics, rows
from unthrottle.errors import Refused
from unthrottle.evidence.pool import ConcurrencyAccount, EventSource, PoolEvidence, SourceKind
from unthrottle.evidence.read_pool import is_own, read_pool
from unthrottle.evidence.series import Series
from unthrottle.ports import FunctionSettings, Ranked
from unthrottle.settings import Settings

SETTINGS = Settings()
LIMIT = 1000


def a_function(name: str, **changes: object) -> FunctionSettings:
    plain = FunctionSettings(name=name, arn=arn_of(name), reserved=None, timeout_s=900, tags={})
    return replace(plain, **changes)  # type: ignore[arg-type]  # any field, by name


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


def test_a_queues_feed_is_part_of_the_evidence() -> None:
    """What feeds the hog decides what may be done to it."""
    known = FakeFunctions(account(), a_function("hog"))
    fed = EventSource(uuid="u1", kind=SourceKind.SQS, source_arn="arn")
    known.sources["hog"] = (fed,)

    assert look(pool_metrics(rows(hog=841.0)), known).candidates[0].event_sources == (fed,)
