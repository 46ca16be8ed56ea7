"""Asynchronous delivery: who gets an event, and what happens when a function fails."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sandbox.aws.eventbridge import Bus
from sandbox.aws.gate import ProcessDied
from sandbox.rehearsal.delivery import Delivery
from unthrottle.errors import TryAgain

START = datetime(2026, 8, 24, 4, 0, tzinfo=UTC)
EVENT = {"source": "aws.cloudwatch", "detail": {"n": 1}}


class Functions:
    """Functions that fail as often as they are told to."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.calls: list[tuple[str, object]] = []
        self.died: list[str] = []

    def invoke(self, function: str, event: Mapping[str, Any]) -> None:
        self.calls.append((function, event))
        if self.errors:
            raise self.errors.pop(0)

    def delivery(self) -> Delivery:
        rules: list[tuple[Mapping[str, Any], str]] = [({"source": ["aws.cloudwatch"]}, "Intake")]
        return Delivery(Bus(rules), self.invoke, self.died.append)


def test_an_event_reaches_the_functions_whose_rule_matches() -> None:
    functions = Functions()
    assert functions.delivery().put(EVENT, START) == ["Intake"]
    assert functions.delivery().put({"source": "else"}, START) == []
    assert functions.calls == [("Intake", EVENT)]


def test_a_failed_function_is_called_again_after_one_minute_and_after_two_more() -> None:
    functions = Functions(TryAgain("busy"), TryAgain("busy"), TryAgain("busy"))
    delivery = functions.delivery()
    delivery.put(EVENT, START)
    ran = {second: delivery.retry(START + timedelta(seconds=second)) for second in (59, 60, 179, 180, 600)}
    assert ran == {59: 0, 60: 1, 179: 0, 180: 1, 600: 0}
    assert [failure.last for failure in delivery.failures] == [False, False, True]


def test_a_function_that_recovers_is_not_called_once_more() -> None:
    functions = Functions(TryAgain("busy"))
    delivery = functions.delivery()
    delivery.put(EVENT, START)
    assert delivery.retry(START + timedelta(minutes=1)) == 1
    assert delivery.retry(START + timedelta(minutes=9)) == 0
    assert len(functions.calls) == 2


def test_a_mistake_of_the_bot_is_told_apart_from_an_outage() -> None:
    functions = Functions(KeyError("x"), TryAgain("busy"), ProcessDied("killed"))
    delivery = functions.delivery()
    for _ in range(3):
        delivery.put(EVENT, START)
    assert [failure.expected for failure in delivery.failures] == [False, True, True]
    assert functions.died == ["Intake"]


def test_a_function_cannot_change_the_event_of_its_retry() -> None:
    class Greedy(Functions):
        def invoke(self, function: str, event: Mapping[str, Any]) -> None:
            super().invoke(function, dict(event))
            event["detail"].clear()

    functions = Greedy()
    delivery = functions.delivery()
    event = {"source": "aws.cloudwatch", "detail": {"n": 1}}
    delivery.put(event, START)
    assert event == {"source": "aws.cloudwatch", "detail": {"n": 1}}
