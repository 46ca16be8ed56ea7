"""What does dagy answer, and what do its backfills do to the tables, in a rehearsal?

`DagyState` is the orchestrator itself: which backfill runs in which simulated minute. `DagyStandIn` serves it over HTTP
as `docs/dagy-api.yaml` says, and can be down, slow, or refuse to cancel. Neither knows the bot.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Literal
from urllib.parse import parse_qs, unquote

from sandbox.loopback import Drop, Hold, HttpAnswer, HttpRequest, LoopbackServer, StandIn

ApiMode = Literal["up", "down", "slow", "401", "409", "404"]
BackfillState = Literal["scheduled", "running", "cancelled", "completed"]
CancelResult = Literal["cancelled", "already-ended", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBackfill:
    """Runs from minute `start` to before minute `end` (None: on and on), unless cancelled.

    `writes` are write units per second that it adds to each table while it runs.
    """

    id: str
    flow: str
    environment: str
    requested_by: str
    start: int
    end: int | None
    runs_total: int
    dispatch_rate_per_minute: float
    writes: Mapping[str, float] = field(default_factory=dict)


class DagyState:
    """The backfills over simulated time. Minutes are arguments; it has no clock. Safe to use from several threads."""

    def __init__(self, backfills: Iterable[PlannedBackfill]) -> None:
        self._backfills = {backfill.id: backfill for backfill in backfills}
        self._cancelled: dict[str, int] = {}
        self._lock = Lock()

    @property
    def backfills(self) -> tuple[PlannedBackfill, ...]:
        return tuple(self._backfills.values())

    def state(self, backfill_id: str, minute: int) -> BackfillState:
        """Name the state in *minute*. KeyError for an unknown id."""
        backfill = self._backfills[backfill_id]
        cancelled = self._cancelled.get(backfill_id)
        if cancelled is not None and minute >= cancelled:
            return "cancelled"
        if minute < backfill.start:
            return "scheduled"
        return "running" if backfill.end is None or minute < backfill.end else "completed"

    def running(self, minute: int) -> tuple[PlannedBackfill, ...]:
        """List the backfills that add their writes in *minute*."""
        return tuple(b for b in self._backfills.values() if self.state(b.id, minute) == "running")

    def writes(self, minute: int) -> dict[str, float]:
        """Add up the write units per second that running backfills put on each table in *minute*."""
        total: dict[str, float] = {}
        for backfill in self.running(minute):
            for table, units in backfill.writes.items():
                total[table] = total.get(table, 0.0) + units
        return total

    def runs_dispatched(self, backfill_id: str, minute: int) -> int:
        """Count the runs started before *minute*; a cancelled backfill starts no more."""
        backfill = self._backfills[backfill_id]
        ended = minute if backfill.end is None else backfill.end
        until = min(minute, ended, self._cancelled.get(backfill_id, minute))
        return min(backfill.runs_total, int(max(0, until - backfill.start) * backfill.dispatch_rate_per_minute))

    def cancel(self, backfill_id: str, minute: int) -> CancelResult:
        """Stop a backfill from *minute* on. One that was only scheduled can be cancelled too."""
        with self._lock:
            if backfill_id not in self._backfills:
                return "unknown"
            if self.state(backfill_id, minute) in ("cancelled", "completed"):
                return "already-ended"
            self._cancelled[backfill_id] = minute
            return "cancelled"

    def final(self, minute: int) -> dict[str, BackfillState]:
        """Name the state of every backfill in *minute*, the last of the rehearsal."""
        return {backfill_id: self.state(backfill_id, minute) for backfill_id in self._backfills}


@dataclass(frozen=True, slots=True, kw_only=True)
class DagyCall:
    """One request that reached the stand-in; `status` is None where no answer was given."""

    minute: int
    method: str
    path: str
    status: int | None

    def as_json(self) -> dict[str, object]:
        return {"minute": self.minute, "method": self.method, "path": self.path, "status": self.status}


class DagyStandIn(StandIn):
    """Serve *state* over HTTP. *now* gives the simulated time and *start* is that of minute 0.

    In mode `slow` the request is carried out and its answer comes too late for any client: the hard case, since the
    client cannot know. The modes that are numbers answer POST only.
    """

    def __init__(
        self,
        state: DagyState,
        *,
        start: datetime,
        now: Callable[[], datetime],
        api: ApiMode = "up",
        token: str = "dagy-sandbox-token",  # noqa: S107 (opens nothing but this stand-in)
    ) -> None:
        self.state = state
        self.api: ApiMode = api
        self.token = token
        self._start = start
        self._now = now
        self._calls: list[DagyCall] = []
        self._server = LoopbackServer(self._serve)

    @property
    def base_url(self) -> str:
        return self._server.origin

    @property
    def calls(self) -> tuple[DagyCall, ...]:
        return tuple(self._calls)

    def _serve(self, request: HttpRequest) -> HttpAnswer | Drop | Hold:
        minute = int((self._now() - self._start).total_seconds() // 60)
        status: int | None = None
        answer: HttpAnswer | Drop | Hold
        if self.api == "down":
            answer = Drop()
        else:
            found = self._answer(request, minute)
            answer = Hold() if self.api == "slow" else found
            status = None if self.api == "slow" else found.status
        path = request.path + (f"?{request.query}" if request.query else "")
        self._calls.append(DagyCall(minute=minute, method=request.method, path=path, status=status))
        return answer

    def _answer(self, request: HttpRequest, minute: int) -> HttpAnswer:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _error(401, "unauthorized", "The token is not accepted.")
        match [unquote(part) for part in request.path.strip("/").split("/")]:
            case ["backfills"]:
                if request.method != "GET":
                    return _error(405, "method_not_allowed", "Backfills are listed with GET.")
                if parse_qs(request.query) != {"state": ["running"]}:
                    return _error(400, "bad_request", "state must be running.")
                return _json(200, {"backfills": [self._document(b, minute) for b in self.state.running(minute)]})
            case ["backfills", backfill_id, "cancel"]:
                if request.method != "POST":
                    return _error(405, "method_not_allowed", "A backfill is cancelled with POST.")
                return self._cancel(backfill_id, minute)
            case _:
                return _error(404, "not_found", "There is nothing here.")

    def _cancel(self, backfill_id: str, minute: int) -> HttpAnswer:
        if self.api == "401":
            return _error(401, "unauthorized", "The token may not cancel backfills.")
        result = self.state.cancel(backfill_id, minute) if self.api in ("up", "slow") else None
        if self.api == "404" or result == "unknown":
            return _error(404, "not_found", f"There is no backfill {backfill_id}.")
        if self.api == "409" or result == "already-ended":
            return _error(409, "already_ended", f"Backfill {backfill_id} has already ended.")
        backfill = next(b for b in self.state.backfills if b.id == backfill_id)
        return _json(202, self._document(backfill, minute))

    def _document(self, backfill: PlannedBackfill, minute: int) -> dict[str, object]:
        started_at = self._start.astimezone(UTC) + timedelta(minutes=backfill.start)
        return {
            "id": backfill.id,
            "state": self.state.state(backfill.id, minute),
            "flow": backfill.flow,
            "environment": backfill.environment,
            "requested_by": backfill.requested_by,
            "started_at": started_at.isoformat().replace("+00:00", "Z"),
            "runs_total": backfill.runs_total,
            "runs_dispatched": self.state.runs_dispatched(backfill.id, minute),
            "dispatch_rate_per_minute": backfill.dispatch_rate_per_minute,
        }


def _json(status: int, document: object) -> HttpAnswer:
    body = json.dumps(document).encode()
    return HttpAnswer(status=status, body=body, headers={"Content-Type": "application/json"})


def _error(status: int, code: str, message: str) -> HttpAnswer:
    return _json(status, {"error": code, "message": message})
