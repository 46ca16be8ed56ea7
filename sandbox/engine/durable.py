"""How does the real workflow handler run on a simulated clock, with the real durable SDK?

Plays the Lambda durable service: the SDK's own client sends its checkpoints by real boto3, which the gate hands here;
the handler is called with AWS's envelope and called again when a timer is due or a question was answered. Knows nothing
of what the handler does.
"""

import base64
import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from aws_durable_execution_sdk_python import state as sdk_state
from aws_durable_execution_sdk_python.exceptions import DurableExecutionsError
from aws_durable_execution_sdk_python.lambda_service import LambdaClient
from botocore.exceptions import BotoCoreError, ClientError

from sandbox.aws.calls import CRASH_AFTER, CRASH_BEFORE, ProcessDied
from sandbox.aws.gate import Answer, Refuse, Request, Respond
from sandbox.engine.executions import Reply, State
from sandbox.engine.journal import Document, Journal
from sandbox.engine.timetable import FUNCTION_ARN, LIFE, RESTART, Timetable

MOST_FAILED_INVOCATIONS = 6
"""In a row; then the execution is given up. The service tries for hours, with growing pauses."""
PAGE = 1000
"""Operations per page of GetDurableExecutionState."""

Handler = Callable[[Document, object], Document]


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaContext:
    """What Lambda tells a handler about its invocation."""

    function_name: str
    invoked_function_arn: str
    aws_request_id: str
    function_version: str = "1"
    memory_limit_in_mb: str = "512"
    log_group_name: str = "/aws/lambda/sandbox"
    log_stream_name: str = "sandbox"
    tenant_id: str | None = None
    client_context: object = None
    identity: object = None

    def get_remaining_time_in_millis(self) -> int:
        """Say that there is time enough: nothing here takes any."""
        return 300_000

    def log(self, message: object) -> None:
        """Drop the line; the bot logs by its logger."""


class DurableService(Timetable[Journal]):
    """All executions of one durable function. *invoke* calls its handler in its own environment.

    It is a gate handler too: it must be among the gate's `handlers` to receive the SDK's checkpoints.
    """

    def __init__(
        self,
        invoke: Handler,
        *,
        clock: Callable[[], datetime],
        function_arn: str = FUNCTION_ARN,
        life: timedelta = LIFE,
        restarted: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(clock=clock, function_arn=function_arn, life=life, restarted=restarted)
        self._invoke = invoke
        self._invocations = 0

    # -- the service's own operations, called by the SDK ----------------------------------------------------------------

    def __call__(self, request: Request) -> Answer | None:
        """Answer CheckpointDurableExecution and GetDurableExecutionState."""
        match request.call:
            case "lambda.CheckpointDurableExecution":
                return self._checkpoint(request)
            case "lambda.GetDurableExecutionState":
                return self._state(request)
            case _:
                return None

    def _checkpoint(self, request: Request) -> Answer:
        journal = self._by_arn(str(request.parameters["DurableExecutionArn"]))
        if journal is None:
            return Refuse(code="InvalidParameterValueException", message="There is no such durable execution.")
        token, updates = str(request.parameters["CheckpointToken"]), list(request.parameters.get("Updates", []))
        if journal.last_answer is not None and journal.last_answer[:2] == (token, updates):
            return Respond(parsed=journal.last_answer[2])  # the answer was lost and the client asks again
        if token != _token(journal):
            return Refuse(code="InvalidParameterValueException", message="Invalid checkpoint token")
        changed = [journal.update(update, request.now) for update in updates]
        journal.token += 1
        parsed: Document = {
            "NewExecutionState": {"Operations": [dict(operation) for operation in changed if operation is not None]}
        }
        if journal.state is State.RUNNING:
            parsed["CheckpointToken"] = _token(journal)
        journal.last_answer = (token, updates, parsed)
        return Respond(parsed=parsed)

    def _state(self, request: Request) -> Answer:
        journal = self._by_arn(str(request.parameters["DurableExecutionArn"]))
        if journal is None:
            return Refuse(code="InvalidParameterValueException", message="There is no such durable execution.")
        first = int(request.parameters.get("Marker") or 0)
        operations = list(journal.operations.values())
        parsed: Document = {"Operations": operations[first : first + PAGE]}
        if first + PAGE < len(operations):
            parsed["NextMarker"] = str(first + PAGE)
        return Respond(parsed=parsed)

    def _by_arn(self, arn: str) -> Journal | None:
        return next((journal for journal in self.executions.values() if journal.arn == arn), None)

    # -- what the bot and the clock ask for -----------------------------------------------------------------------------

    def _opened(self, name: str, arn: str, payload: str, now: datetime) -> Journal:
        return Journal(name=name, arn=arn, payload=payload, started_at=now, due=now)

    def answer(self, callback: str, text: str, now: datetime) -> Reply:
        """Answer a question; the execution is invoked again at the next `run_due`."""
        return self._reply(callback, now, "SUCCEEDED", {"Result": text})

    def refuse(self, callback: str, message: str, now: datetime) -> Reply:
        """Answer a question with an error."""
        error = {"ErrorType": "CallbackError", "ErrorMessage": message}
        return self._reply(callback, now, "FAILED", {"Error": error})

    def _reply(self, callback: str, now: datetime, status: str, said: Document) -> Reply:
        for journal in self.executions.values():
            operation = journal.callback(callback)
            if operation is None:
                continue
            deadline = journal.deadlines.get(str(operation["Id"]))
            late = deadline is not None and now >= deadline
            if operation["Status"] == "TIMED_OUT" or (operation["Status"] == "STARTED" and late):
                return Reply.TOO_LATE
            if operation["Status"] != "STARTED" or journal.state is not State.RUNNING:
                return Reply.UNKNOWN
            operation["Status"], operation["EndTimestamp"] = status, now
            operation["CallbackDetails"] |= said
            journal.changed.append(str(operation["Id"]))
            journal.due = now
            return Reply.TAKEN
        return Reply.UNKNOWN

    def _run(self, entry: Journal, now: datetime) -> None:
        entry.settle(now)
        self._invocations += 1
        entry.token += 1  # a token of an invocation that died is worth nothing any more
        context = LambdaContext(
            function_name=self._function_arn.rsplit(":", 1)[-1],
            invoked_function_arn=f"{self._function_arn}:live",
            aws_request_id=f"00000000-0000-4000-8000-{self._invocations:012d}",
        )
        try:
            output = self._invoke(entry.envelope(_token(entry)), context)
        except (BotoCoreError, ClientError, DurableExecutionsError, RuntimeError, OSError) as error:
            if str(error).startswith((CRASH_BEFORE, CRASH_AFTER)):  # from the SDK's own thread, see DiedInThread
                raise ProcessDied(str(error)) from error
            self._invocation_failed(entry, error)
            return
        entry.failed_invocations = 0
        self._after(entry, output)

    def _invocation_failed(self, journal: Journal, error: Exception) -> None:
        """The SDK raises to have the invocation repeated; so does Lambda, for a while."""
        journal.failed_invocations += 1
        if journal.failed_invocations >= MOST_FAILED_INVOCATIONS:
            self._end(journal, State.FAILED, error=f"{type(error).__name__}: {error}")
        else:
            journal.due = self._clock() + RESTART

    def _after(self, journal: Journal, output: Document) -> None:
        match output.get("Status"):
            case "PENDING":
                journal.plan()
            case "SUCCEEDED":
                result = output.get("Result") or journal.result
                self._end(journal, State.SUCCEEDED, result=json.loads(result) if result else None)
            case _:
                error: dict[str, Any] = output.get("Error") or journal.error or {}
                text = f"{error.get('ErrorType', 'Error')}: {error.get('ErrorMessage', 'without a message')}"
                self._end(journal, State.FAILED, error=text)


def _token(journal: Journal) -> str:
    """Tokens are base64 (botocore: CheckpointToken ``[A-Za-z0-9+/]+={0,2}``)."""
    return base64.b64encode(f"{journal.name}|{journal.token}".encode()).decode()


@contextlib.contextmanager
def fresh_client() -> Iterator[None]:
    """Let the SDK make its Lambda client anew, and end an invocation at once.

    The SDK keeps one client for the whole process and its checkpoint thread looks for the end of an invocation only
    every 0.1 s of real time; both are fine in Lambda and would be wrong, or slow, when many processes are played in one.
    """
    client, pause = LambdaClient._cached_boto_client, sdk_state._STOP_SIGNAL_POLL_SECONDS
    LambdaClient._cached_boto_client, sdk_state._STOP_SIGNAL_POLL_SECONDS = None, 0.002
    try:
        yield
    finally:
        LambdaClient._cached_boto_client, sdk_state._STOP_SIGNAL_POLL_SECONDS = client, pause
