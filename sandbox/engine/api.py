"""How does the bot start its workflow and answer its questions? By these Lambda calls, answered here for either engine.

AWS facts kept: a durable function is invoked by a qualified ARN only; a name started twice with the same payload is one
execution and with another payload an error (AWS: "Durable execution idempotency"); an answered question is not found,
one that timed out says so (service model: ResourceNotFoundException, CallbackTimeoutException).
"""

import json
from collections.abc import Callable
from typing import Any

from sandbox.aws.gate import Answer, NotEmulatedError, Refuse, Request, Respond
from sandbox.engine.executions import Executions, NameTakenError, Reply

_QUALIFIED_PARTS = 8  # arn:aws:lambda:region:account:function:name:alias


class DurableFunctionApi:
    """A gate handler for one durable function. *function* is its plain name."""

    def __init__(self, executions: Executions, *, function: str) -> None:
        self._executions = executions
        self._function = function
        self._unnamed = 0

    def __call__(self, request: Request) -> Answer | None:
        """Answer Invoke of the durable function and the callback operations; leave everything else to others."""
        if request.service != "lambda":
            return None
        known: dict[str, Callable[[Request], Answer | None]] = {
            "Invoke": self._invoke,
            "SendDurableExecutionCallbackSuccess": self._succeed,
            "SendDurableExecutionCallbackFailure": self._fail,
        }
        answer = known.get(request.operation)
        return answer(request) if answer else None

    def _invoke(self, request: Request) -> Answer | None:
        target = str(request.parameters["FunctionName"])
        parts = target.split(":")
        name = parts[6] if len(parts) >= _QUALIFIED_PARTS - 1 else parts[0]
        if name != self._function:
            return None
        if len(parts) < _QUALIFIED_PARTS and "Qualifier" not in request.parameters:
            return Refuse(
                code="InvalidParameterValueException",
                message="You cannot invoke a durable function using an unqualified ARN.",
            )
        if request.parameters.get("InvocationType") != "Event":
            raise NotEmulatedError(
                "Only asynchronous invocations (InvocationType Event) of a durable function exist here."
            )
        execution = request.parameters.get("DurableExecutionName")
        if execution is None:
            self._unnamed += 1
            execution = f"unnamed-{self._unnamed}"
        try:
            arn = self._executions.start(str(execution), _text(request.parameters.get("Payload")), request.now)
        except NameTakenError as error:
            return Refuse(code="DurableExecutionAlreadyStartedException", message=str(error), status=409)
        return Respond(parsed={"StatusCode": 202, "DurableExecutionArn": arn, "ExecutedVersion": "1"})

    def _succeed(self, request: Request) -> Answer:
        callback = str(request.parameters["CallbackId"])
        return _said(self._executions.answer(callback, _text(request.parameters.get("Result")), request.now), callback)

    def _fail(self, request: Request) -> Answer:
        callback = str(request.parameters["CallbackId"])
        error = request.parameters.get("Error") or {}
        message = str(error.get("ErrorMessage") or error.get("ErrorType") or "refused")
        return _said(self._executions.refuse(callback, message, request.now), callback)


def _said(reply: Reply, callback: str) -> Answer:
    match reply:
        case Reply.TAKEN:
            return Respond(parsed={})
        case Reply.UNKNOWN:
            return Refuse(code="ResourceNotFoundException", message=f"Callback {callback} is not in STARTED state.")
        case Reply.TOO_LATE:
            return Refuse(code="CallbackTimeoutException", message=f"Callback {callback} has timed out.", status=400)


def _text(payload: Any) -> str:
    """Read a payload, which boto3 takes as bytes, text or a file."""
    if payload is None:
        return ""
    if isinstance(payload, str):
        return payload
    if isinstance(payload, bytes | bytearray):
        return bytes(payload).decode()
    return json.dumps(payload) if isinstance(payload, dict) else str(payload.read().decode())
