"""What can be asked of the orchestrator that runs backfills, and what it can answer?

Knows the words (backfill, cancel, unavailable, refused). Knows nothing of HTTP, of dagy's JSON, or of what a backfill
does to a table: an adapter turns one orchestrator into these values, and a cause turns these values into a diagnosis.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from unthrottle.errors import Refused, UnthrottleError

BACKFILL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """One backfill as the orchestrator reported it; `started_at` is an aware time."""

    id: str
    state: str
    flow: str
    environment: str
    requested_by: str
    started_at: datetime
    runs_total: int
    runs_dispatched: int
    dispatch_rate_per_minute: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelAccepted:
    """The orchestrator stops the backfill. `confirmed_by_reading`: its answer was lost, and it no longer runs."""

    backfill_id: str
    confirmed_by_reading: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelAlreadyEnded:
    """The backfill had ended when we asked. `was_running`: this process had seen it running moments before and had not asked
    yet, so that it ended without us. Otherwise an earlier request of ours, of a process that died, may have done it.
    """

    backfill_id: str
    was_running: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelUnknown:
    """The orchestrator knows no backfill of that id."""

    backfill_id: str


CancelAnswer = CancelAccepted | CancelAlreadyEnded | CancelUnknown


class BackfillsUnavailable(UnthrottleError):
    """The orchestrator cannot be read or asked now: no answer, or none that can be trusted. Asking later may help."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BackfillsRefused(Refused):
    """The orchestrator answered, and the answer is no. Asking again will not help; a person has to look."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason, code=str(status))
        self.status = status
        self.reason = reason


def is_backfill_id(text: str) -> bool:
    """Say whether *text* can be the id of a backfill, so that it is safe in a path, a log line and a message."""
    return BACKFILL_ID.fullmatch(text) is not None
