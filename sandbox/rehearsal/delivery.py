"""Which function gets an event, and what if it fails? EventBridge to Lambda, asynchronously.

AWS facts kept (Lambda developer guide, "Error handling for asynchronous invocation"): a function that fails is called
again after one minute and after two more; then the event goes to the failure destination. Times are arguments.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sandbox.aws.eventbridge import Bus
from sandbox.aws.gate import ProcessDied
from unthrottle.errors import UnthrottleError

RETRIES: Sequence[timedelta] = (timedelta(minutes=1), timedelta(minutes=2))

Invoke = Callable[[str, Mapping[str, Any]], object]
"""Calls a function by its logical id with an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedInvocation:
    """One invocation that ended in an error. `expected`: it is of the kind that faults and outages bring about."""

    at: datetime
    function: str
    error: str
    expected: bool
    last: bool
    """Whether it was the last try: the event went to the failures queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Again:
    due: datetime
    function: str
    event: Mapping[str, Any]
    retries: int


class Delivery:
    """Sends events to functions. *die* is told when a function's process died in the middle."""

    def __init__(self, bus: Bus, invoke: Invoke, die: Callable[[str], None]) -> None:
        self.failures: list[FailedInvocation] = []
        self._bus = bus
        self._invoke = invoke
        self._die = die
        self._waiting: list[_Again] = []

    def put(self, event: Mapping[str, Any], now: datetime) -> list[str]:
        """Put an event on the bus; return the functions that got it."""
        targets = self._bus.put(event)
        for target in targets:
            self.send(target, event, now)
        return targets

    def send(self, function: str, event: Mapping[str, Any], now: datetime) -> None:
        """Call one function with an event, asynchronously: an error is for later, not for the caller."""
        self._try(function, event, now, 0)

    def retry(self, now: datetime) -> int:
        """Call again what failed, once its pause is over; return how many."""
        due = [again for again in self._waiting if again.due <= now]
        self._waiting = [again for again in self._waiting if again.due > now]
        for again in due:
            self._try(again.function, again.event, now, again.retries)
        return len(due)

    def _try(self, function: str, event: Mapping[str, Any], now: datetime, retries: int) -> None:
        try:
            self._invoke(function, copy.deepcopy(dict(event)))
        except ProcessDied as died:
            self._die(function)
            self._failed(function, event, now, retries, died)
        except Exception as error:  # noqa: BLE001  as Lambda does: any error is a failed invocation
            self._failed(function, event, now, retries, error)

    def _failed(
        self, function: str, event: Mapping[str, Any], now: datetime, retries: int, error: BaseException
    ) -> None:
        last = retries == len(RETRIES)
        text = f"{type(error).__name__}: {error}"
        self.failures.append(
            FailedInvocation(at=now, function=function, error=text, expected=is_expected(error), last=last)
        )
        if not last:
            due = now + RETRIES[retries]
            self._waiting.append(_Again(due=due, function=function, event=event, retries=retries + 1))


def is_expected(error: BaseException) -> bool:
    """Say whether an error is of the kind that faults and outages bring about, and not a mistake of the bot."""
    return isinstance(error, ProcessDied | UnthrottleError | BotoCoreError | ClientError)
