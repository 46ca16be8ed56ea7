"""What can be asked of an engine, and how does an execution end?

The face both engines show to the Lambda API and to the rehearsal's clock. Knows nothing of workflows.
"""

import base64
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class State(StrEnum):
    """How an execution stands, in AWS's words."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"


class Reply(StrEnum):
    """What became of an answer to a question."""

    TAKEN = "taken"
    UNKNOWN = "unknown"
    TOO_LATE = "too-late"


class NameTakenError(Exception):
    """An execution of this name was started with another payload (AWS: DurableExecutionAlreadyStartedException)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an execution ended, or died on the way. `error` is "Type: message"; None where all is well."""

    name: str
    at: datetime
    state: State
    result: object = None
    error: str | None = None


class Executions(Protocol):
    """The executions of one durable function. Times are simulated and in UTC."""

    @property
    def endings(self) -> list[Ending]:
        """Every execution that ended, oldest first."""

    def start(self, name: str, payload: str, now: datetime) -> str:
        """Start an execution by name and return its ARN; it runs at the next `run_due`.

        A second start with the same payload changes nothing. Raises NameTakenError.
        """

    def answer(self, callback: str, text: str, now: datetime) -> Reply:
        """Answer the question at this address."""

    def refuse(self, callback: str, message: str, now: datetime) -> Reply:
        """Answer the question with an error."""

    def next_due(self) -> datetime | None:
        """Say when something is due next; None: nothing ever, unless started or answered."""

    def run_due(self, now: datetime) -> int:
        """Run every execution that is due at *now*, once; return how many ran."""


def execution_arn(function_arn: str, name: str, number: int) -> str:
    """Name an execution as AWS does: version, execution name, and an id of its own."""
    return f"{function_arn}:1/durable-execution/{name}/{number:08d}"


def callback_id(execution: str, operation: str) -> str:
    """Make the address of a question; AWS's are base64 (botocore: CallbackId ``[A-Za-z0-9+/]+={0,2}``)."""
    return base64.b64encode(f"{execution}|{operation}".encode()).decode()
