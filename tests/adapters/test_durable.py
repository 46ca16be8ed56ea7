"""The workflow's engine on the real durable SDK, run in process with waits skipped."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestResult, DurableFunctionTestRunner

from tests.adapters.run_contract import PROMISES, Engine, Workflow
from unthrottle.adapters.durable import DurableRun
from unthrottle.errors import StepFailed
from unthrottle.ports import Answered, Run

WAIT_S = 30


class SdkEngine:
    """Drives a workflow through DurableFunctionTestRunner."""

    def finish(self, workflow: Workflow) -> object:
        with self._runner(workflow) as runner:
            return _value(runner.run(input="{}", execution_timeout=WAIT_S))

    def answer(self, workflow: Workflow, name: str, text: str) -> object:
        with self._runner(workflow) as runner:
            arn = runner.run_async(input="{}")
            callback = runner.wait_for_callback(arn, name=name, timeout=WAIT_S)
            runner.send_callback_success(callback, text.encode())
            return _value(runner.wait_for_result(arn, WAIT_S))

    def refuse(self, workflow: Workflow, name: str) -> object:
        with self._runner(workflow) as runner:
            arn = runner.run_async(input="{}")
            callback = runner.wait_for_callback(arn, name=name, timeout=WAIT_S)
            runner.send_callback_failure(callback, None)
            return _value(runner.wait_for_result(arn, WAIT_S))

    @contextmanager
    def _runner(self, workflow: Workflow) -> Iterator[DurableFunctionTestRunner]:
        @durable_execution
        def handler(_event: Any, context: DurableContext) -> object:
            return workflow(DurableRun(context))

        runner = DurableFunctionTestRunner(handler=handler, poll_interval=0.02, skip_time=True)
        with runner:
            yield runner
        runner._scheduler._loop.close()  # which the runner leaves open


def _value(result: DurableFunctionTestResult) -> object:
    assert result.error is None, result.error
    return json.loads(result.result or "null")


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_the_durable_engine_keeps_the_promise(promise: Callable[[Engine], None]) -> None:
    promise(SdkEngine())


def test_a_question_refused_through_the_api_counts_as_not_answered() -> None:
    def workflow(run: Run) -> object:
        return isinstance(run.ask("approval", timedelta(minutes=30), lambda _: None), Answered)

    assert SdkEngine().refuse(workflow, "approval") is False


def test_an_error_nobody_expected_fails_the_step_under_its_own_name() -> None:
    def workflow(run: Run) -> object:
        try:
            return run.step("look", lambda: {"there": "x"}["missing"], str)
        except StepFailed as failed:
            return [failed.step, failed.code]

    assert SdkEngine().finish(workflow) == ["look", "KeyError"]


def test_a_result_of_another_type_than_promised_fails_the_step() -> None:
    def workflow(run: Run) -> object:
        wrong: Any = lambda: "not a number"  # noqa: E731  # a step that does not keep its word
        try:
            return run.step("count", wrong, int)
        except StepFailed as failed:
            return failed.step

    assert SdkEngine().finish(workflow) == "count"
