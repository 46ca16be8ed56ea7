"""The rules by which the account's Lambda concurrency is shared, throttled and waited for."""

from collections.abc import Callable
from typing import Any

import pytest

Rehearse = Callable[..., Any]


def _function(name: str, wanted: float, trigger: str = "none", **keys: object) -> dict[str, object]:
    given = keys.pop("trigger_keys", {})
    assert isinstance(given, dict)
    return {"name": name, "demand": [[0, wanted]], "duration_ms": 1000, "trigger": {"type": trigger, **given}, **keys}


def test_with_room_for_all_everyone_gets_what_it_wants(rehearse: Rehearse) -> None:
    world = rehearse(functions=[_function("a", 300), _function("b", 700)])
    (facts,) = world.run()
    assert (world.served(facts, "a"), world.served(facts, "b")) == (300, 700)
    assert facts.throttled_functions == ()


def test_a_short_pool_is_shared_in_proportion_to_demand(rehearse: Rehearse) -> None:
    world = rehearse(functions=[_function("hog", 1800), _function("small", 200)])
    (facts,) = world.run()
    assert (world.served(facts, "hog"), world.served(facts, "small")) == pytest.approx((900, 100))
    assert facts.throttled_functions == ("hog", "small")


def test_a_reservation_serves_up_to_itself_and_shrinks_the_pool(rehearse: Rehearse) -> None:
    world = rehearse(functions=[_function("own", 500, reserved=400), _function("b", 900)])
    (facts,) = world.run()
    assert (world.served(facts, "own"), world.served(facts, "b")) == pytest.approx((400, 600))


def test_an_idle_reservation_shrinks_the_pool_all_the_same(rehearse: Rehearse) -> None:
    world = rehearse(functions=[_function("own", 0, reserved=880), _function("b", 150)])
    (facts,) = world.run()
    assert world.served(facts, "b") == pytest.approx(120)
    assert world.seen("ClaimedAccountConcurrency", 0, "Maximum") == 1000


def test_a_reservation_of_a_function_without_load_counts_too(rehearse: Rehearse) -> None:
    world = rehearse(functions=[_function("a", 2000)])
    world.account.add_function("the-bot", reserved=100)
    (facts,) = world.run()
    assert world.served(facts, "a") == pytest.approx(900)


def test_a_reservation_of_zero_runs_nothing(rehearse: Rehearse) -> None:
    world = rehearse(functions=[_function("off", 50, "api", reserved=0)])
    (facts,) = world.run()
    assert world.served(facts, "off") == 0
    assert facts.throttled_functions == ("off",)
    assert world.seen("ConcurrentExecutions", 0, "Maximum", FunctionName="off") is None
    assert world.seen("Invocations", 0, FunctionName="off") is None


@pytest.mark.parametrize(("on_failure", "kind"), [(True, "diverted"), (False, "lost")])
def test_events_of_a_switched_off_function_go_to_its_destination_or_are_lost(
    rehearse: Rehearse, on_failure: bool, kind: str
) -> None:
    world = rehearse(functions=[_function("off", 50, "sns", reserved=0, **{"async": {"on_failure": on_failure}})])
    (facts,) = world.run()
    assert facts.pool.waiting[0] == 0
    assert getattr(world.world.pool.ledger, kind)[0] == 50
    assert world.seen("AsyncEventsDropped", 0, FunctionName="off") == 3000


def test_provisioned_concurrency_is_kept_for_its_function(rehearse: Rehearse) -> None:
    world = rehearse(functions=[_function("warm", 300, provisioned=200), _function("hog", 1900)])
    (facts,) = world.run()
    assert world.served(facts, "warm") == pytest.approx(200 + 800 * 100 / 2000)
    assert world.served(facts, "hog") == pytest.approx(800 * 1900 / 2000)


def test_managed_instances_run_beside_the_pool(rehearse: Rehearse) -> None:
    world = rehearse(functions=[_function("fleet", 3000, managed_instances=True), _function("b", 1000)])
    (facts,) = world.run()
    assert facts.throttled_functions == ()
    assert facts.concurrency == 1000


@pytest.mark.parametrize(
    ("trigger", "keys", "limit"),
    [
        ("sqs", {}, 1250),
        ("sqs", {"maximum_concurrency": 40}, 40),
        ("sqs", {"provisioned_pollers": 7}, 70),
        ("kinesis", {"shards": 6}, 6),
        ("kinesis", {"shards": 6, "parallelization_factor": 10}, 60),
        ("dynamodb-stream", {"shards": 4, "parallelization_factor": 2}, 8),
        ("msk", {"partitions": 3}, 3),
        ("msk", {"partitions": 30, "provisioned_pollers": 2}, 10),
    ],
)
def test_an_event_source_limit_counts_first_and_is_no_throttle(
    rehearse: Rehearse, trigger: str, keys: dict[str, int], limit: int
) -> None:
    world = rehearse(account={"concurrency_limit": 5000}, functions=[_function("f", 2000, trigger, trigger_keys=keys)])
    (facts,) = world.run()
    assert world.served(facts, "f") == limit
    assert facts.pool.waiting[0] == 2000 - limit
    assert facts.throttled_functions == ()


def test_an_event_source_limit_set_meanwhile_acts_from_its_minute_on(rehearse: Rehearse) -> None:
    world = rehearse(functions=[_function("f", 900, "sqs")])
    world.run()
    world.account.functions["f"].mappings[0].maximum_concurrency = 50
    world.account.changed()
    (facts,) = world.run()
    assert world.served(facts, "f") == 50


def test_a_cap_acts_from_its_minute_on_and_frees_the_victims(rehearse: Rehearse) -> None:
    world = rehearse(functions=[_function("hog", 3000, "eventbridge"), _function("victim", 30, "api")])
    (before,) = world.run()
    world.account.set_reserved("hog", 250)
    (after,) = world.run()
    assert before.throttled_functions == ("hog", "victim")
    assert after.throttled_functions == ("hog",)
    assert (world.served(after, "hog"), world.served(after, "victim")) == (250, 30)


@pytest.mark.parametrize("trigger", ["api", "url", "step-functions", "none"])
def test_synchronous_work_that_is_not_served_is_gone(rehearse: Rehearse, trigger: str) -> None:
    world = rehearse(functions=[{"name": "f", "trigger": {"type": trigger}, "demand": [[0, 1500], [1, 0]]}])
    first, second = world.run(2)
    assert first.pool.refused[0] == 500
    assert second.pool.served[0] == 0


@pytest.mark.parametrize("trigger", ["eventbridge", "s3", "sns", "sqs"])
def test_asynchronous_and_queued_work_waits_and_comes_back(rehearse: Rehearse, trigger: str) -> None:
    world = rehearse(
        account={"concurrency_limit": 800},
        functions=[{"name": "f", "trigger": {"type": trigger}, "demand": [[0, 1000], [1, 0]]}],
    )
    first, second, third = world.run(3)
    assert (first.pool.served[0], second.pool.served[0], third.pool.served[0]) == pytest.approx((800, 200, 0))


def test_work_that_waited_takes_only_the_room_that_new_work_leaves(rehearse: Rehearse) -> None:
    world = rehearse(
        functions=[
            {"name": "hog", "trigger": {"type": "sns"}, "demand": [[0, 5000], [1, 0]]},
            {"name": "api", "trigger": {"type": "api"}, "demand": [[0, 0], [1, 600]]},
        ]
    )
    _, facts = world.run(2)
    assert (world.served(facts, "api"), world.served(facts, "hog")) == pytest.approx((600, 400))
    assert facts.throttled_functions == ("hog",)


def test_events_older_than_their_maximum_age_expire(rehearse: Rehearse) -> None:
    world = rehearse(
        functions=[
            {
                "name": "f",
                "trigger": {"type": "s3"},
                "demand": [[0, 100], [3, 0]],
                "reserved": 10,
                "async": {"max_event_age_s": 300},
            }
        ]
    )
    facts = world.run(9)
    assert [round(float(minute.pool.expired[0])) for minute in facts] == [0, 0, 0, 0, 0, 40, 90, 90, 0]
    assert facts[-1].pool.waiting[0] == 0
    assert world.world.pool.ledger.lost[0] == pytest.approx(220)


def test_without_a_setting_events_wait_for_six_hours(rehearse: Rehearse) -> None:
    world = rehearse(
        minutes=400, functions=[{"name": "f", "trigger": {"type": "s3"}, "demand": [[0, 900], [1, 0]], "reserved": 1}]
    )
    facts = world.run(362)
    assert facts[359].pool.expired[0] == 0
    assert facts[360].pool.expired[0] == pytest.approx(900 - 361)


def test_messages_are_dead_lettered_when_a_reservation_is_smaller_than_the_pollers(rehearse: Rehearse) -> None:
    function = _function("f", 100, "sqs", reserved=20, trigger_keys={"max_receive_count": 3})
    world = rehearse(functions=[function])
    facts = world.run(6)
    assert [float(minute.pool.expired[0]) for minute in facts] == pytest.approx([0, 0, 0, 20, 80, 80])
    assert world.world.pool.ledger.dead_lettered[0] == pytest.approx(180)


def test_no_message_is_dead_lettered_under_an_event_source_limit(rehearse: Rehearse) -> None:
    keys = {"max_receive_count": 1, "maximum_concurrency": 20}
    world = rehearse(functions=[_function("f", 100, "sqs", reserved=20, trigger_keys=keys)])
    world.run(10)
    assert world.world.pool.ledger.dead_lettered[0] == 0


def test_a_stream_that_is_behind_grows_older(rehearse: Rehearse) -> None:
    world = rehearse(functions=[_function("f", 20, "kinesis", reserved=10, trigger_keys={"shards": 20})])
    world.run(10)
    ages = [world.seen("IteratorAge", minute, "Maximum", FunctionName="f") for minute in (0, 3, 9)]
    assert ages == [30_000, 60_000, 240_000]


@pytest.mark.parametrize(
    ("duration_ms", "wanted", "served"),
    [
        pytest.param(20, 190, 190, id="below ten a second for each execution"),
        pytest.param(20, 300, 200, id="above it"),
        pytest.param(100, 900, 900, id="runs of a tenth of a second reach their concurrency first"),
    ],
)
def test_synchronous_requests_are_bounded_by_ten_a_second_for_each_execution(
    rehearse: Rehearse, duration_ms: float, wanted: float, served: float
) -> None:
    """1,000 executions take 10,000 requests a second: 200 executions of 20 ms each. Queued events have no such bound."""
    fast = {**_function("fast", wanted, "api"), "duration_ms": duration_ms}
    queued = {**_function("queued", wanted, "sns"), "duration_ms": duration_ms}
    for function, runs in ((fast, served), (queued, wanted)):
        world = rehearse(functions=[function])
        (facts,) = world.run()
        assert world.served(facts, function["name"]) == pytest.approx(runs)
        assert bool(facts.throttled_functions) is (runs < wanted)


def test_a_reservation_bounds_the_requests_of_its_function(rehearse: Rehearse) -> None:
    """Ten reserved executions take a hundred requests a second: two executions of 20 ms."""
    world = rehearse(functions=[{**_function("fast", 5, "api", reserved=10), "duration_ms": 20}])
    (facts,) = world.run()
    assert world.served(facts, "fast") == pytest.approx(2)


@pytest.mark.parametrize(
    ("wanted", "first", "throttled_minutes"),
    [
        pytest.param(1000, 1000, 0, id="a thousand at once"),
        pytest.param(4000, 3250, 1, id="three thousand more in half a minute"),
        pytest.param(9000, 4000, 2, id="more than a minute adds"),
    ],
)
def test_new_environments_come_a_thousand_at_once_and_a_hundred_a_second(
    rehearse: Rehearse, wanted: float, first: float, throttled_minutes: int
) -> None:
    """The mean of the first minute, of a steady rise; a queue's pollers never outrun it."""
    steep = {**_function("steep", 0, "api"), "demand": [[0, 0], [1, wanted]]}
    world = rehearse(account={"concurrency_limit": 20_000}, functions=[steep])
    minutes = world.run(5)
    assert world.served(minutes[1], "steep") == pytest.approx(first)
    assert sum(bool(minute.throttled_functions) for minute in minutes) == throttled_minutes
    assert world.served(minutes[4], "steep") == wanted
