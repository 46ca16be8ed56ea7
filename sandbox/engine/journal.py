"""What does the durable service remember of one execution, and what makes it run again?

Keeps operations in the shape of the Lambda API (Type, Status, StepDetails, ...), moves them by the SDK's updates, and
says when the next timer is due. Knows the clock as an argument; knows neither HTTP nor handlers.

AWS facts kept (Lambda API reference, CheckpointDurableExecution; local runner of the SDK's testing package): RETRY makes
a step PENDING until its next attempt, then READY; a wait SUCCEEDS at its time; a callback is TIMED_OUT at its own.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sandbox.engine.executions import State, callback_id

Document = dict[str, Any]

_ENDS = {"SUCCEED": "SUCCEEDED", "FAIL": "FAILED", "CANCEL": "CANCELLED"}
_DETAILS = {"STEP": "StepDetails", "CONTEXT": "ContextDetails", "CALLBACK": "CallbackDetails"}


class WrongUpdateError(ValueError):
    """An update that the service does not know, or that does not fit the operation's state."""


@dataclass(slots=True, kw_only=True)
class Journal:
    """One durable execution. `token` is the only one with which the running invocation may still write."""

    name: str
    arn: str
    payload: str
    started_at: datetime
    due: datetime | None
    state: State = State.RUNNING
    operations: dict[str, Document] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    """Operations that changed while nothing ran: told to the next invocation."""
    token: int = 0
    failed_invocations: int = 0
    deaths: int = 0
    result: str | None = None
    error: Document | None = None
    last_answer: tuple[str, list[Document], Document] | None = None
    deadlines: dict[str, datetime] = field(default_factory=dict)
    """When each open callback times out; the API does not show it."""

    def __post_init__(self) -> None:
        key = self.arn.rsplit("/", 1)[-1]  # the SDK looks for the input under the last part of the ARN
        self.operations[key] = {
            "Id": key,
            "Type": "EXECUTION",
            "Status": "STARTED",
            "StartTimestamp": self.started_at,
            "ExecutionDetails": {"InputPayload": self.payload},
        }

    def update(self, update: Mapping[str, Any], now: datetime) -> Document | None:
        """Apply one update of the SDK; return the operation as it now is. None for the end of the execution itself."""
        kind, action, key = str(update["Type"]), str(update["Action"]), str(update["Id"])
        if kind == "EXECUTION":
            self.state = State.SUCCEEDED if action == "SUCCEED" else State.FAILED
            self.result, self.error = update.get("Payload"), update.get("Error")
            return None
        operation = self.operations.get(key)
        if operation is None:
            operation = {"Id": key, "Type": kind, "StartTimestamp": now}
            operation.update({name: update[name] for name in ("ParentId", "Name", "SubType") if name in update})
        match kind, action:
            case "STEP", "START":
                operation["Status"] = "STARTED"
                operation.setdefault("StepDetails", {"Attempt": 0})
            case "STEP", "RETRY":
                delay = int(update["StepOptions"]["NextAttemptDelaySeconds"])
                attempt = int(operation.get("StepDetails", {}).get("Attempt", 0)) + 1
                operation["Status"] = "PENDING"
                operation["StepDetails"] = _kept(
                    {"Attempt": attempt, "NextAttemptTimestamp": now + timedelta(seconds=delay)}, update
                )
            case ("STEP", "SUCCEED" | "FAIL") | ("CONTEXT", "SUCCEED" | "FAIL"):
                self._finish(operation, kind, action, update, now)
            case "CONTEXT", "START":
                operation["Status"] = "STARTED"
                operation["ContextDetails"] = {}
            case "WAIT", "START":
                seconds = int(update["WaitOptions"]["WaitSeconds"])
                operation["Status"] = "STARTED"
                operation["WaitDetails"] = {"ScheduledEndTimestamp": now + timedelta(seconds=seconds)}
            case "CALLBACK", "START":
                operation["Status"] = "STARTED"
                operation["CallbackDetails"] = {"CallbackId": callback_id(self.name, key)}
                seconds = int(update.get("CallbackOptions", {}).get("TimeoutSeconds", 0))
                if seconds:
                    self.deadlines[key] = now + timedelta(seconds=seconds)
            case _:
                raise WrongUpdateError(f"{action} of a {kind} operation is not known here.")
        self.operations[key] = operation
        return operation

    def _finish(self, operation: Document, kind: str, action: str, update: Mapping[str, Any], now: datetime) -> None:
        operation["Status"], operation["EndTimestamp"] = _ENDS[action], now
        details: Document = {}
        if kind == "STEP":
            details["Attempt"] = int(operation.get("StepDetails", {}).get("Attempt", 0)) + 1
        if update.get("ContextOptions", {}).get("ReplayChildren"):
            details["ReplayChildren"] = True
        operation[_DETAILS[kind]] = _kept(details, update)

    def settle(self, now: datetime) -> None:
        """Let timers that are due go off."""
        for key, operation in self.operations.items():
            due = self._due(key, operation)
            if due is None or due > now:
                continue
            match operation["Type"]:
                case "WAIT":
                    operation["Status"], operation["EndTimestamp"] = "SUCCEEDED", now
                case "STEP":
                    operation["Status"] = "READY"
                    operation["StepDetails"].pop("NextAttemptTimestamp", None)
                case _:
                    operation["Status"], operation["EndTimestamp"] = "TIMED_OUT", now
                    operation["CallbackDetails"]["Error"] = {
                        "ErrorType": "Callback.Timeout",
                        "ErrorMessage": "Callback timed out",
                    }
            self.changed.append(key)

    def plan(self) -> None:
        """Work out when to run next, once an invocation has ended in PENDING."""
        times = [due for key, operation in self.operations.items() if (due := self._due(key, operation)) is not None]
        self.due = min(times, default=None)

    def _due(self, key: str, operation: Document) -> datetime | None:
        match operation["Type"], operation["Status"]:
            case "WAIT", "STARTED":
                return _moment(operation["WaitDetails"]["ScheduledEndTimestamp"])
            case "STEP", "PENDING":
                return _moment(operation["StepDetails"]["NextAttemptTimestamp"])
            case "CALLBACK", "STARTED":
                return self.deadlines.get(key)
            case _:
                return None

    def callback(self, address: str) -> Document | None:
        """Find the callback operation with this address."""
        for operation in self.operations.values():
            if operation.get("CallbackDetails", {}).get("CallbackId") == address:
                return operation
        return None

    def envelope(self, token: str) -> Document:
        """Write what the service hands to an invocation: all operations, times as milliseconds."""
        changed, self.changed = self.changed, []
        return {
            "DurableExecutionArn": self.arn,
            "CheckpointToken": token,
            "InitialExecutionState": {
                "Operations": [_in_milliseconds(operation) for operation in self.operations.values()],
                "NextMarker": "",
            },
            "UpdatedOperationIds": changed,
        }


def _kept(details: Document, update: Mapping[str, Any]) -> Document:
    if update.get("Payload") is not None:
        details["Result"] = update["Payload"]
    if update.get("Error"):
        details["Error"] = dict(update["Error"])
    return details


def _moment(value: object) -> datetime:
    if not isinstance(value, datetime):
        raise WrongUpdateError(f"{value!r} is not a time.")
    return value.astimezone(UTC)


def _in_milliseconds(value: Any) -> Any:
    match value:
        case datetime():
            return int(value.timestamp() * 1000)
        case dict():
            return {key: _in_milliseconds(item) for key, item in value.items()}
        case list():
            return [_in_milliseconds(item) for item in value]
        case _:
            return copy.copy(value)
