"""How does a workflow start, and how does it get its answers? By Lambda's API for durable executions."""

import json

from botocore.exceptions import ClientError

from unthrottle.adapters.access import Access
from unthrottle.adapters.aws_errors import code_of

# The callback was answered before or has expired; the service model names two codes for it (Lambda API).
_NO_LONGER_WAITING = frozenset({"ResourceNotFoundException", "CallbackTimeoutException"})


class LambdaStarter:
    """The `Starter` port. `function` is the ARN of an alias or version: Lambda refuses to start an unqualified one."""

    def __init__(self, access: Access, function: str) -> None:
        self._access = access
        self._function = function

    def start(self, incident_id: str) -> None:
        """Start the workflow with the incident's id as its name; a second start changes nothing.

        Raises TryAgain, NotFound, NotAllowed, Refused.
        """
        with self._access.use("lambda", f"start the workflow of {incident_id}") as client:
            try:
                client.invoke(
                    FunctionName=self._function,
                    InvocationType="Event",
                    DurableExecutionName=incident_id,
                    Payload=json.dumps({"incident_id": incident_id}).encode(),
                )
            except ClientError as error:
                if code_of(error) != "DurableExecutionAlreadyStartedException":
                    raise

    def answer(self, callback: str, text: str) -> bool:
        """Answer a workflow's question with `text` as it is. False when it is no longer waiting."""
        with self._access.use("lambda", "answer the workflow") as client:
            try:
                client.send_durable_execution_callback_success(CallbackId=callback, Result=text.encode())
            except ClientError as error:
                if code_of(error) not in _NO_LONGER_WAITING:
                    raise
                return False
        return True
