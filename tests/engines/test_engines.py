"""Both engines of the sandbox keep the promises of the `Run` port, on the simulated clock and with real boto3 calls."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Self

import boto3
import pytest
import time_machine
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from botocore.exceptions import ClientError
from moto import mock_aws

from sandbox.aws.gate import Gate, ProcessDied
from sandbox.engine.api import DurableFunctionApi
from sandbox.engine.durable import DurableService, fresh_client
from sandbox.engine.executions import State
from sandbox.engine.simulated import SimulatedService
from tests.adapters.run_contract import PROMISES, Engine
from unthrottle.adapters.durable import DurableRun
from unthrottle.errors import StepFailed, TryAgain
from unthrottle.ports import Answered, Expired, Run

START = datetime(2026, 8, 24, 4, 0, tzinfo=UTC)
FUNCTION = "arn:aws:lambda:eu-west-1:111122223333:function:respond"
LIVE = f"{FUNCTION}:live"
Workflow = Callable[[Run], object]


@dataclass
class Bench:
    """An engine with its clock and a Lambda client, driven by hand."""

    kind: Literal["simulated", "durable"]
    life: timedelta = timedelta(days=90)
    workflow: Workflow = field(default=lambda run: None)
    inputs: list[object] = field(default_factory=list)
    processes: int = 1

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        self.clock = self._stack.enter_context(time_machine.travel(START, tick=False))
        self._stack.enter_context(mock_aws())
        self._stack.enter_context(fresh_client())
        self.service: SimulatedService | DurableService
        if self.kind == "simulated":
            self.service = SimulatedService(
                self._simulated, clock=now, function_arn=FUNCTION, life=self.life, restarted=self._restarted
            )
            handlers: list[Any] = []
        else:
            self.service = DurableService(
                self._handler(), clock=now, function_arn=FUNCTION, life=self.life, restarted=self._restarted
            )
            handlers = [self.service]
        handlers.append(DurableFunctionApi(self.service, function="respond"))
        self.gate = self._stack.enter_context(Gate(start=START, handlers=handlers))
        self.client = boto3.client("lambda", region_name="eu-west-1")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _restarted(self) -> None:
        self.processes += 1

    def _simulated(self, run: Run, event: dict[str, object]) -> object:
        self.inputs.append(event)
        return self.workflow(run)

    def _handler(self) -> Callable[[Any, Any], Any]:
        @durable_execution
        def handler(event: Any, context: DurableContext) -> object:
            self.inputs.append(event)
            return self.workflow(DurableRun(context))

        return handler

    def start(self, name: str = "INC-1", **payload: object) -> str:
        """Start an execution as the bot does; return its ARN."""
        response = self.client.invoke(
            FunctionName=LIVE,
            InvocationType="Event",
            DurableExecutionName=name,
            Payload=json.dumps(payload or {"incident_id": name}).encode(),
        )
        assert response["StatusCode"] in {200, 202}
        return str(response.get("DurableExecutionArn"))

    def run(self, *, until: datetime | None = None) -> None:
        """Let time pass to what is due, again and again."""
        for _ in range(50):
            due = self.service.next_due()
            if due is None or (until is not None and due > until):
                break
            if due > now():
                self.clock.move_to(due)
            self.service.run_due(now())
        if until is not None:
            self.clock.move_to(until)

    # -- the face that the shared promises ask for --

    def finish(self, workflow: Workflow) -> object:
        self.workflow = workflow
        self.start(f"INC-{len(self.service.executions) + 1}")
        self.run()
        return self.result()

    def answer(self, workflow: Workflow, name: str, text: str) -> object:
        del name
        addresses: list[str] = []

        def listening(run: Run) -> object:
            return workflow(Listening(run, addresses))

        self.workflow = listening
        self.start()
        self.run(until=now() + timedelta(minutes=3))
        self.client.send_durable_execution_callback_success(CallbackId=addresses[-1], Result=text.encode())
        self.run()
        return self.result()

    def result(self) -> object:
        ending = self.service.endings[-1]
        assert ending.error is None, ending.error
        return ending.result


@dataclass
class Listening:
    """A run that tells the addresses of its questions."""

    run: Run
    addresses: list[str]

    def step(self, name: str, work: Callable[[], Any], returns: type[Any]) -> Any:
        return self.run.step(name, work, returns)

    def sleep(self, name: str, duration: timedelta) -> None:
        self.run.sleep(name, duration)

    def ask(self, name: str, timeout: timedelta, submit: Callable[[str], None]) -> Answered | Expired:
        def listening(address: str) -> None:
            self.addresses.append(address)
            submit(address)

        return self.run.ask(name, timeout, listening)


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture(autouse=True)
def _region(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lambda sets it for the SDK's own client."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")


@pytest.fixture(params=["simulated", "durable"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with Bench(kind=request.param) as made:
        yield made


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_an_engine_keeps_the_promise(bench: Bench, promise: Callable[[Engine], None]) -> None:
    promise(bench)


def test_waits_end_at_their_time_and_not_before(bench: Bench) -> None:
    def workflow(run: Run) -> object:
        before = run.step("before", lambda: now().isoformat(), str)
        run.sleep("settle", timedelta(minutes=7))
        return [before, run.step("after", lambda: now().isoformat(), str)]

    bench.workflow = workflow
    bench.start()
    bench.run(until=START + timedelta(minutes=6, seconds=59))
    assert bench.service.endings == []
    assert bench.service.next_due() == START + timedelta(minutes=7)
    bench.run()
    assert bench.result() == [START.isoformat(), (START + timedelta(minutes=7)).isoformat()]


def test_a_step_is_tried_again_after_5_10_and_20_seconds(bench: Bench) -> None:
    times: list[datetime] = []

    def busy() -> str:
        times.append(now())
        raise TryAgain("busy")

    def workflow(run: Run) -> object:
        try:
            return run.step("look", busy, str)
        except StepFailed as failed:
            return failed.code

    bench.workflow = workflow
    bench.start()
    bench.run()
    assert bench.result() == "TryAgain"
    assert times == [START + timedelta(seconds=seconds) for seconds in (0, 5, 15, 35)]


def test_the_workflow_gets_the_payload_it_was_started_with(bench: Bench) -> None:
    bench.start("INC-7", incident_id="INC-7")
    bench.run()
    assert bench.inputs == [{"incident_id": "INC-7"}]


def test_a_second_start_of_the_same_name_and_payload_is_the_same_execution(bench: Bench) -> None:
    first, second = bench.start("INC-7", incident_id="INC-7"), bench.start("INC-7", incident_id="INC-7")
    bench.run()
    assert first == second
    assert len(bench.service.endings) == 1


def test_a_name_started_with_another_payload_is_refused(bench: Bench) -> None:
    bench.start("INC-7", incident_id="INC-7")
    with pytest.raises(ClientError, match="DurableExecutionAlreadyStartedException"):
        bench.start("INC-7", incident_id="INC-8")


def test_an_unqualified_name_cannot_be_invoked(bench: Bench) -> None:
    with pytest.raises(ClientError, match="unqualified ARN"):
        bench.client.invoke(FunctionName=FUNCTION, InvocationType="Event", Payload=b"{}")


def asking(addresses: list[str]) -> Workflow:
    def workflow(run: Run) -> object:
        match run.ask("approval", timedelta(minutes=30), addresses.append):
            case Answered(text=text):
                return text
            case Expired():
                return f"expired at {run.step('when', lambda: now().isoformat(), str)}"

    return workflow


def test_the_second_answer_is_told_that_nobody_waits(bench: Bench) -> None:
    addresses: list[str] = []
    bench.workflow = asking(addresses)
    bench.start()
    bench.run(until=START + timedelta(minutes=5))
    bench.client.send_durable_execution_callback_success(CallbackId=addresses[0], Result=b"yes")
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        bench.client.send_durable_execution_callback_success(CallbackId=addresses[0], Result=b"no")
    bench.run()
    assert bench.result() == "yes"


def test_an_answer_after_the_time_is_told_so_and_changes_nothing(bench: Bench) -> None:
    addresses: list[str] = []
    bench.workflow = asking(addresses)
    bench.start()
    bench.run()
    assert bench.result() == f"expired at {(START + timedelta(minutes=30)).isoformat()}"
    with pytest.raises(ClientError, match="CallbackTimeoutException"):
        bench.client.send_durable_execution_callback_success(CallbackId=addresses[0], Result=b"yes")


def test_an_answer_in_the_moment_of_expiry_is_too_late(bench: Bench) -> None:
    addresses: list[str] = []
    bench.workflow = asking(addresses)
    bench.start()
    bench.run(until=START + timedelta(minutes=29, seconds=59))
    bench.clock.move_to(START + timedelta(minutes=30))
    with pytest.raises(ClientError, match="CallbackTimeoutException"):
        bench.client.send_durable_execution_callback_success(CallbackId=addresses[0], Result=b"yes")


def test_an_unknown_address_is_not_found(bench: Bench) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        bench.client.send_durable_execution_callback_success(CallbackId="bm9ib2R5", Result=b"yes")


def test_a_refused_answer_counts_as_none(bench: Bench) -> None:
    addresses: list[str] = []
    bench.workflow = asking(addresses)
    bench.start()
    bench.run(until=START + timedelta(minutes=5))
    bench.client.send_durable_execution_callback_failure(CallbackId=addresses[0], Error={"ErrorMessage": "no"})
    bench.run()
    assert bench.result() == f"expired at {(START + timedelta(minutes=5)).isoformat()}"


def test_a_process_that_dies_in_a_step_does_that_step_again_and_no_earlier_one(bench: Bench) -> None:
    done: list[str] = []

    def act() -> str:
        done.append("act")
        if done.count("act") == 1:
            raise ProcessDied("killed after the change")
        return "acted"

    def workflow(run: Run) -> object:
        run.step("look", lambda: done.append("look"), type(None))
        return run.step("act", act, str)

    bench.workflow = workflow
    bench.start()
    bench.run()
    assert bench.result() == "acted"
    assert done == ["look", "act", "act"]
    assert bench.processes == 2


def test_a_workflow_that_does_something_else_when_resumed_fails(bench: Bench) -> None:
    passes: list[int] = []

    def workflow(run: Run) -> object:
        passes.append(1)
        run.step("first" if len(passes) == 1 else "other", lambda: "x", str)
        run.sleep("settle", timedelta(minutes=1))
        return "done"

    bench.workflow = workflow
    bench.start()
    bench.run()
    assert bench.service.endings[-1].state is State.FAILED
    assert "eterministic" in str(bench.service.endings[-1].error)


def test_an_error_outside_a_step_fails_the_execution(bench: Bench) -> None:
    def workflow(_: Run) -> object:
        raise KeyError("missing")

    bench.workflow = workflow
    bench.start()
    bench.run()
    ending = bench.service.endings[-1]
    assert (ending.state, ending.error) == (State.FAILED, "KeyError: 'missing'")


@pytest.mark.parametrize("kind", ["simulated", "durable"])
def test_an_execution_that_outlives_its_time_is_ended_without_running_again(
    kind: Literal["simulated", "durable"],
) -> None:
    with Bench(kind=kind, life=timedelta(hours=1)) as bench:

        def workflow(run: Run) -> object:
            run.sleep("long", timedelta(hours=2))
            return "done"

        bench.workflow = workflow
        bench.start()
        bench.run()
        assert bench.service.endings[-1].state is State.TIMED_OUT


def test_executions_that_are_due_at_once_run_in_the_order_of_their_start(bench: Bench) -> None:
    order: list[str] = []

    def workflow(run: Run) -> object:
        name = str(bench.inputs[-1]["incident_id"])  # type: ignore[index]  # the payload
        run.step("first", lambda: order.append(name), type(None))
        run.sleep("settle", timedelta(minutes=1))
        return name

    bench.workflow = workflow
    for name in ("INC-2", "INC-1", "INC-3"):
        bench.start(name)
    bench.run()
    assert order == ["INC-2", "INC-1", "INC-3"]


def test_a_checkpoint_whose_answer_was_lost_is_made_once() -> None:
    """A client that asks again with the same token and updates gets the answer it did not get."""
    with Bench(kind="durable") as bench:
        done: list[str] = []

        def workflow(run: Run) -> object:
            run.step("act", lambda: done.append("act"), type(None))
            return "done"

        bench.workflow = workflow
        bench.start()
        assert isinstance(bench.service, DurableService)
        journal = bench.service.executions["INC-1"]
        assert bench.service.run_due(now()) == 1
        made = [call for call in bench.gate.calls if call.operation == "CheckpointDurableExecution"]
        again = bench.client.checkpoint_durable_execution(**dict(made[-1].parameters))
        assert again["CheckpointToken"]
        assert done == ["act"]
        assert len(journal.operations) == 2  # the execution itself and its step
