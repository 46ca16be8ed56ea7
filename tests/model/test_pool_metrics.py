"""What CloudWatch shows of the pool: AWS's names, statistics and gaps."""

from collections.abc import Callable
from typing import Any

Rehearse = Callable[..., Any]


def test_concurrency_is_a_whole_number_and_the_account_never_exceeds_its_limit(rehearse: Rehearse) -> None:
    world = rehearse(functions=[{"name": f"f{i}", "demand": [[0, 7.3]]} for i in range(300)])
    world.run()
    assert world.seen("ConcurrentExecutions", 0, "Maximum", FunctionName="f7") == 4
    assert world.seen("ConcurrentExecutions", 0, "Maximum") == 1000


def test_a_function_in_which_nothing_ran_has_no_datapoints(rehearse: Rehearse) -> None:
    world = rehearse(functions=[{"name": "idle"}, {"name": "busy", "demand": [[0, 1]]}])
    world.run()
    for metric in ("ConcurrentExecutions", "Invocations", "Errors", "Throttles", "Duration"):
        assert world.seen(metric, 0, FunctionName="idle") is None
        assert world.store.find("AWS/Lambda", metric, {"FunctionName": "idle"}) is None


def test_invocations_follow_from_concurrency_and_duration(rehearse: Rehearse) -> None:
    world = rehearse(functions=[{"name": "f", "demand": [[0, 3]], "duration_ms": 900}])
    world.run()
    assert world.seen("Invocations", 0, FunctionName="f") == 200
    assert world.seen("Errors", 0, FunctionName="f") == 0
    assert world.seen("Duration", 0, "Average", FunctionName="f") == 900
    assert world.seen("Invocations", 0) == 200


def test_a_long_run_shows_at_its_start_once_it_has_finished(rehearse: Rehearse) -> None:
    world = rehearse(functions=[{"name": "f", "demand": [[0, 28]], "duration_ms": 840_000}])
    world.run(14)
    assert world.seen("ConcurrentExecutions", 13, "Maximum", FunctionName="f") == 28
    assert world.seen("Invocations", 0, FunctionName="f") is None
    world.run(1)
    assert world.seen("Invocations", 0, FunctionName="f") == 2
    assert world.seen("Invocations", 1, FunctionName="f") is None


def test_throttles_are_published_only_when_there_were_some(rehearse: Rehearse) -> None:
    world = rehearse(functions=[{"name": "f", "demand": [[0, 5], [1, 1500]], "duration_ms": 30_000}])
    world.run(2)
    assert [world.seen("Throttles", minute, FunctionName="f") for minute in (0, 1)] == [None, 1000]
    assert [world.seen("Throttles", minute) for minute in (0, 1)] == [None, 1000]


def test_the_victim_may_show_more_throttles_than_the_hog(rehearse: Rehearse) -> None:
    world = rehearse(
        functions=[
            {"name": "hog", "demand": [[0, 2000]], "duration_ms": 45_000},
            {"name": "victim", "demand": [[0, 60]], "duration_ms": 400},
        ]
    )
    world.run()
    throttles = {name: world.seen("Throttles", 0, FunctionName=name) for name in ("hog", "victim")}
    running = {name: world.seen("ConcurrentExecutions", 0, "Maximum", FunctionName=name) for name in throttles}
    assert throttles["victim"] > throttles["hog"]
    assert running["victim"] < running["hog"] / 10


def test_account_metrics_tell_the_unreserved_pool_from_what_is_claimed(rehearse: Rehearse) -> None:
    world = rehearse(
        functions=[
            {"name": "own", "demand": [[0, 20]], "reserved": 100},
            {"name": "warm", "demand": [[0, 5]], "provisioned": 30},
            {"name": "free", "demand": [[0, 400]]},
        ]
    )
    world.run()
    assert world.seen("ConcurrentExecutions", 0, "Maximum") == 425
    assert world.seen("UnreservedConcurrentExecutions", 0, "Maximum") == 400
    assert world.seen("ClaimedAccountConcurrency", 0, "Maximum") == 530


def test_asynchronous_events_are_counted_when_received_and_age_while_they_wait(rehearse: Rehearse) -> None:
    world = rehearse(
        functions=[{"name": "f", "trigger": {"type": "sns"}, "demand": [[0, 2000]], "duration_ms": 60_000}]
    )
    world.run(5)
    assert world.seen("AsyncEventsReceived", 0, FunctionName="f") == 2000
    assert world.seen("AsyncEventAge", 4, "Maximum", FunctionName="f") == 120_000
    assert world.seen("AsyncEventAge", 4, "SampleCount", FunctionName="f") == 1000  # the events handed over


def test_every_run_of_more_than_a_minute_has_an_event_of_its_own(rehearse: Rehearse) -> None:
    """A thousand runs of ten minutes do not begin with a hundred events; later only what has ended is replaced."""
    world = rehearse(
        functions=[{"name": "f", "trigger": {"type": "sns"}, "demand": [[0, 0], [2, 2000]], "duration_ms": 600_000}]
    )
    world.run(5)
    received = [world.seen("AsyncEventsReceived", minute, FunctionName="f") for minute in (2, 3)]
    handed_over = [world.seen("AsyncEventAge", minute, "SampleCount", FunctionName="f") for minute in (2, 3)]
    assert (received, handed_over) == ([2000, 200], [1000, 100])


def test_the_hours_before_minute_0_show_the_load_of_minute_0_unthrottled(rehearse: Rehearse) -> None:
    world = rehearse(history_minutes=180, functions=[{"name": "f", "demand": [[0, 20], [5, 50]]}])
    ce = [world.seen("ConcurrentExecutions", minute, "Maximum", FunctionName="f") for minute in (-181, -180, -1)]
    assert ce == [None, 20, 20]
    assert world.seen("Throttles", -1) is None


def test_an_overload_from_minute_0_on_begins_there_and_not_in_the_history(rehearse: Rehearse) -> None:
    world = rehearse(history_minutes=60, functions=[{"name": "f", "trigger": {"type": "sns"}, "demand": [[0, 4000]]}])
    assert world.seen("Throttles", -1) is None
    (facts,) = world.run()
    assert facts.pool.waiting[0] == 3000


def test_a_raw_series_replaces_what_the_model_would_publish(rehearse: Rehearse) -> None:
    series = {"namespace": "AWS/Lambda", "name": "ConcurrentExecutions", "dimensions": {"FunctionName": "f"},
              "start": 0, "stat": "Maximum", "values": [1, None, 3]}  # fmt: skip
    world = rehearse(metrics=[series], functions=[{"name": "f", "demand": [[0, 50]]}])
    world.run(3)
    seen = [world.seen("ConcurrentExecutions", minute, "Maximum", FunctionName="f") for minute in range(3)]
    assert seen == [1, None, 3]
