"""How is one call to AWS described, answered, broken and remembered?

The words that the gate and its handlers share. Knows nothing of HTTP.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

TIMEOUT_BEFORE: Final = "timeout-before"
TIMEOUT_AFTER: Final = "timeout-after"
CRASH_BEFORE: Final = "crash-before"
CRASH_AFTER: Final = "crash-after"
REFUSED: Final = "refused"
SLOW: Final = "slow"
MALFORMED: Final = "malformed"
TRUNCATED: Final = "truncated"

BEFORE: Final = frozenset({TIMEOUT_BEFORE, CRASH_BEFORE, REFUSED})
"""Words of faults that strike before the call has an effect."""
AFTER: Final = frozenset({TIMEOUT_AFTER, CRASH_AFTER, SLOW, MALFORMED, TRUNCATED})
"""Words of faults that lose the answer: the call had its effect."""
ALWAYS: Final = 1_000_000_000
"""As many times as anybody calls."""

# Throttling and server errors come with these statuses; the client decides by them whether to try again.
STATUS: Final[Mapping[str, int]] = {
    "TooManyRequestsException": 429,
    "ResourceConflictException": 409,
    "ResourceNotFoundException": 404,
    "ServiceException": 500,
    "InternalServerError": 500,
    "InternalFailure": 500,
    "InternalServiceFault": 500,
    "InternalServiceError": 500,
    "ServiceUnavailable": 503,
    "ServiceUnavailableException": 503,
    "AccessDenied": 403,
    "AccessDeniedException": 403,
    "ExpiredToken": 403,
    "ExpiredTokenException": 403,
}


class ProcessDied(BaseException):
    """The process was killed in the middle of a call. Not an Exception: nothing in a process survives that."""


class DiedInThread(OSError):
    """The same inside the thread in which the durable SDK writes checkpoints.

    The SDK tells its other threads of errors only, and would wait for ever for a thread that was killed; so this is an
    error, under which everything else of the invocation ends, and the durable engine takes it for a death.
    """


class NotEmulatedError(RuntimeError):
    """Nothing here answers this call truthfully; moto would answer it wrongly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call as a handler sees it. `role` and `session_name` are None for plain credentials."""

    service: str
    """As in `boto3.client(service)`."""
    operation: str
    parameters: Mapping[str, Any]
    now: datetime
    region: str
    access_key: str | None
    account: str | None
    """The account of the role that signed; None for plain credentials."""
    role: str | None
    session_name: str | None

    @property
    def call(self) -> str:
        """`service.Operation`, as faults and reports name it."""
        return f"{self.service}.{self.operation}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Respond:
    """The result of an operation, as the client is to parse it. A missing key stays missing."""

    parsed: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """An AWS error. A status left out is the usual one of the code, else 400."""

    code: str
    message: str
    status: int | None = None


Answer = Respond | Refuse
Handler = Callable[[Request], Answer | None]
"""Answers a request, or returns None to leave it to the next handler and finally to moto."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The *nth* matching request fails, and the next ones up to *times*, counting every attempt a client makes from 1.

    `error` is an AWS code, or timeout-before, refused (no connection), timeout-after (the change happens, the answer is
    lost), slow (it comes after the client's limit, which is the same to the client), malformed, truncated (it comes and
    cannot be read), crash-before, crash-after (the process dies).
    """

    call: str
    nth: int = 1
    times: int = 1
    error: str

    def strikes(self, number: int) -> bool:
        """Say whether the *number*-th call fails."""
        return self.nth <= number < self.nth + self.times


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that was made. `result` is "ok", an AWS error code, or the word of the fault that struck."""

    minute: int
    at: datetime
    service: str
    operation: str
    parameters: Mapping[str, Any]
    access_key: str | None
    role: str | None
    session_name: str | None
    result: str
    account: str | None = None
    region: str = ""
    """Where it went: the account of the role that signed (None: plain credentials), and the Region."""

    @property
    def call(self) -> str:
        """`service.Operation`."""
        return f"{self.service}.{self.operation}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose credentials an access key is."""

    role: str | None
    session_name: str | None = None
    account: str | None = None
