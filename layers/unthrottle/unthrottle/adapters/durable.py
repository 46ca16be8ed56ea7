"""How does the workflow wait for days? As a Lambda durable function: this is the `Run` port on the SDK.

Suspension is a BaseException that passes through here untouched. Everything a resumed run needs was stored as JSON by
its step. Knows nothing of incidents.
"""

import json
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from aws_durable_execution_sdk_python import (
    CallbackExternalError,
    CallbackTimeoutError,
    DurableContext,
    SerDesError,
    StepContext,
    StepError,
)
from aws_durable_execution_sdk_python.config import CallbackConfig, Duration, StepConfig
from aws_durable_execution_sdk_python.retries import RetryDecision
from aws_durable_execution_sdk_python.serdes import SerDes, SerDesContext

from unthrottle.codec import from_json, to_json
from unthrottle.errors import StepFailed, TryAgain, UnthrottleError
from unthrottle.ports import Answered, Expired

T = TypeVar("T")

PAUSES_S = (5, 10, 20)
"""Seconds between the attempts of a step that raises TryAgain, or longer where the service asks for it."""


class DurableRun:
    """The `Run` port, on one invocation's DurableContext."""

    def __init__(self, context: DurableContext) -> None:
        self._context = context

    def step(self, name: str, work: Callable[[], T], returns: type[T]) -> T:
        """Do `work` once and remember its result as JSON; a resumed run gets the remembered one.

        TryAgain is retried after 5, 10 and 20 seconds. Raises StepFailed, with the error's own `code` (or its class's name),
        then, and at once for any other error; a resumed run gets the same StepFailed.
        """

        def attempt(_: StepContext) -> T:
            try:
                return work()
            except TryAgain:
                raise
            except UnthrottleError as error:
                raise _Coded(f"{error.code}\n{error}") from error

        config = StepConfig(retry_strategy=_retry, serdes=_AsJson(returns))
        try:
            return self._context.step(attempt, name=name, config=config)
        except StepError as error:
            # What escaped the step, as it was stored: `error_type` is the qualified name of its class.
            code, message = error.error_type.rsplit(".", 1)[-1], error.message or ""
            if code == _Coded.__name__:
                code, _, message = message.partition("\n")
            raise StepFailed(message or code, step=name, code=code) from error
        except SerDesError as error:
            raise StepFailed(error.message or "unreadable result", step=name, code="SerDesError") from error

    def sleep(self, name: str, duration: timedelta) -> None:
        """Wait without running. Part of a second counts as a whole one; nothing to wait for is no wait."""
        seconds = math.ceil(duration.total_seconds())
        if seconds > 0:
            self._context.wait(Duration.from_seconds(seconds), name=name)

    def ask(self, name: str, timeout: timedelta, submit: Callable[[str], None]) -> Answered | Expired:
        """Wait for an answer from outside; `submit` is given the callback's id on every resume, and does its work in steps.

        A callback ended by SendDurableExecutionCallbackFailure counts as not answered. Raises StepFailed when `submit`
        fails.
        """
        seconds = max(1, math.ceil(timeout.total_seconds()))
        config = CallbackConfig(timeout=Duration.from_seconds(seconds))
        callback: Any = self._context.create_callback(name=name, config=config)
        submit(callback.callback_id)
        try:
            text = callback.result()
        except (CallbackTimeoutError, CallbackExternalError):
            return Expired()
        return Answered(text="" if text is None else str(text))


def _retry(error: Exception, attempt: int) -> RetryDecision:
    """Decide after the `attempt`-th attempt, counted from 1."""
    pause = error.pause_s(PAUSES_S, attempt) if isinstance(error, TryAgain) else None
    return RetryDecision.no_retry() if pause is None else RetryDecision.retry(Duration.from_seconds(pause))


class _Coded(Exception):
    """Carries an error's own code through the SDK, which stores only a class's name and a message."""


class _AsJson(SerDes[Any]):
    """Stores step results by our own codec, so that they are checked when they are read back."""

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind

    def serialize(self, value: Any, _: SerDesContext) -> str:
        return json.dumps(to_json(value), separators=(",", ":"))

    def deserialize(self, data: str, _: SerDesContext) -> Any:
        return from_json(self._kind, json.loads(data))
