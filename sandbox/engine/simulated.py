"""How does the workflow run on a simulated clock, without the durable SDK?

By replay, as the real service does it: each time an execution is due, the workflow runs from the top and gets the
remembered results of the steps it has done; where it must wait it leaves by `Suspended` and is called again when the
time has come. Step results are kept as JSON text, so that what does not survive a real execution does not survive here.
Knows nothing of AWS.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeVar

from sandbox.engine.executions import Reply, State, callback_id
from sandbox.engine.timetable import FUNCTION_ARN, LIFE, Timetable
from unthrottle.codec import from_json, to_json
from unthrottle.errors import StepFailed, TryAgain, UnthrottleError
from unthrottle.ports import Answered, Expired, Run

T = TypeVar("T")

PAUSES_S = (5, 10, 20)
"""Between the attempts of a step that raises TryAgain, or longer where it asks for it; after the last it fails."""

Workflow = Callable[[Run, dict[str, object]], object]


class Suspended(BaseException):
    """The execution waits. Not an Exception, as in the real SDK: a workflow that catches too much is found out."""


class NonDeterministicError(RuntimeError):
    """A resumed workflow did something else than before at the same point."""


@dataclass(slots=True, kw_only=True)
class Operation:
    """One remembered step, wait or question of an execution."""

    kind: Literal["step", "sleep", "ask"]
    name: str
    done: bool = False
    result: str | None = None
    failed: tuple[str, str] | None = None
    """Code and message of the error that ended a step."""
    attempts: int = 0
    due: datetime | None = None
    """When the wait ends, the step is tried again or the question expires."""


@dataclass(slots=True, kw_only=True)
class Execution:
    """One execution and its journal. `due` None: it waits for an answer without an end, or has ended."""

    name: str
    arn: str
    payload: str
    started_at: datetime
    due: datetime | None
    state: State = State.RUNNING
    journal: list[Operation] = field(default_factory=list)
    deaths: int = 0


class SerDesError(Exception):
    """A step's result has no JSON form. The name is the SDK's, since the workflow sees it."""


class SimulatedRun:
    """One pass of a workflow over its journal. A new one is made for each resume."""

    def __init__(self, execution: Execution, clock: Callable[[], datetime]) -> None:
        self._execution = execution
        self._clock = clock
        self._position = 0

    def step(self, name: str, work: Callable[[], T], returns: type[T]) -> T:
        """Do `work` once and remember its result; see `unthrottle.ports.Run`."""
        return self._step(self._at("step", name), work, returns)

    def sleep(self, name: str, duration: timedelta) -> None:
        """Wait; the runner of the execution comes back when the time is over. Whole seconds, rounded up, as in AWS."""
        seconds = math.ceil(duration.total_seconds())
        if seconds <= 0:
            return
        operation = self._at("sleep", name)
        if operation.due is None:
            operation.due = self._clock() + timedelta(seconds=seconds)
        if not operation.done:
            self._wait_until(operation)
            operation.done = True

    def ask(self, name: str, timeout: timedelta, submit: Callable[[str], None]) -> Answered | Expired:
        """Wait for an answer. One that was answered with an error counts as not answered."""
        question = self._at("ask", name)
        if question.due is None:
            question.due = self._clock() + timedelta(seconds=max(1, math.ceil(timeout.total_seconds())))
        address = callback_id(self._execution.name, str(self._position))
        submit(address)
        if not question.done:
            self._wait_until(question)
            question.done = True
        return Expired() if question.result is None else Answered(text=question.result)

    def _step(self, operation: Operation, work: Callable[[], T], returns: type[T]) -> T:
        if not operation.done:
            self._wait_until(operation)
            self._attempt(operation, work, returns)
        if operation.failed is not None:
            code, message = operation.failed
            raise StepFailed(message or code, step=operation.name, code=code)
        return from_json(returns, json.loads(operation.result or "null"))

    def _attempt(self, operation: Operation, work: Callable[[], object], returns: type[object]) -> None:
        operation.attempts += 1
        try:
            result = _stored(work())
            from_json(returns, json.loads(result))  # what could not be read back is no result
            operation.result = result
        except TryAgain as error:
            pause = error.pause_s(PAUSES_S, operation.attempts)
            if pause is not None:
                operation.due = self._clock() + timedelta(seconds=pause)
                self._wait_until(operation)
            operation.failed = (type(error).__name__, str(error))
        except UnthrottleError as error:
            operation.failed = (error.code, str(error))
        except Exception as error:  # noqa: BLE001  as the SDK does: any error ends the step, and the workflow is told
            operation.failed = (type(error).__name__, str(error))
        operation.done = True

    def _wait_until(self, operation: Operation) -> None:
        if operation.due is not None and self._clock() < operation.due:
            self._execution.due = operation.due
            raise Suspended

    def _at(self, kind: Literal["step", "sleep", "ask"], name: str) -> Operation:
        journal = self._execution.journal
        if self._position == len(journal):
            journal.append(Operation(kind=kind, name=name))
        found = journal[self._position]
        if (found.kind, found.name) != (kind, name):
            raise NonDeterministicError(
                f"{self._execution.name}: operation {self._position} was {found.kind} {found.name!r} and is now {kind} "
                f"{name!r}. A workflow must do the same on every resume; read clocks and settings inside steps."
            )
        self._position += 1
        return found


class SimulatedService(Timetable[Execution]):
    """All executions of one workflow. *clock* tells the simulated time while one runs."""

    def __init__(
        self,
        workflow: Workflow,
        *,
        clock: Callable[[], datetime],
        function_arn: str = FUNCTION_ARN,
        life: timedelta = LIFE,
        restarted: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(clock=clock, function_arn=function_arn, life=life, restarted=restarted)
        self._workflow = workflow

    def _opened(self, name: str, arn: str, payload: str, now: datetime) -> Execution:
        return Execution(name=name, arn=arn, payload=payload, started_at=now, due=now)

    def answer(self, callback: str, text: str, now: datetime) -> Reply:
        """Answer a question; the execution goes on at the next `run_due`."""
        return self._reply(callback, now, text)

    def refuse(self, callback: str, message: str, now: datetime) -> Reply:
        """Answer a question with an error."""
        del message  # the workflow only learns that there is no answer
        return self._reply(callback, now, None)

    def _reply(self, callback: str, now: datetime, text: str | None) -> Reply:
        for execution in self.executions.values():
            for position, question in enumerate(execution.journal, start=1):
                if question.kind != "ask" or callback_id(execution.name, str(position)) != callback:
                    continue
                if question.due is not None and now >= question.due and question.result is None:
                    return Reply.TOO_LATE
                if question.done or execution.state is not State.RUNNING:
                    return Reply.UNKNOWN
                question.done, question.result = True, text
                execution.due = now
                return Reply.TAKEN
        return Reply.UNKNOWN

    def _run(self, entry: Execution, now: datetime) -> None:
        del now  # the run asks the clock, which goes on while it works
        try:
            result = self._workflow(SimulatedRun(entry, self._clock), json.loads(entry.payload or "{}"))
        except Suspended:
            return
        except Exception as error:  # noqa: BLE001  as the service does: whatever a workflow raises ends it as FAILED
            self._end(entry, State.FAILED, error=f"{type(error).__name__}: {error}")
            return
        self._end(entry, State.SUCCEEDED, result=result)


def _stored(value: object) -> str:
    try:
        return json.dumps(to_json(value))
    except (TypeError, ValueError) as error:
        raise SerDesError(str(error)) from error
