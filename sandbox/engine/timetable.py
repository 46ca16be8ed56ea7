"""Which executions are there, which are due, and how did they end? What both engines keep in the same way.

Knows nothing of how an execution runs: that is the engine's part.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from sandbox.aws.gate import ProcessDied
from sandbox.engine.executions import Ending, NameTakenError, State, execution_arn

RESTART = timedelta(seconds=5)
"""After a process died, until the execution is taken up again: as long as AWS's local runner of durable functions waits."""
LONGEST_RESTART = timedelta(hours=1)
"""Each further death in a row doubles the pause, up to this. A belief: AWS does not say how often the service tries."""
LIFE = timedelta(days=90)
"""How long an execution may take in all, as `template.yaml` says."""
FUNCTION_ARN = "arn:aws:lambda:eu-west-1:111122223333:function:respond"


class Entry(Protocol):
    """One execution. `due` None: it waits for an answer without an end, or has ended."""

    name: str
    arn: str
    payload: str
    started_at: datetime
    due: datetime | None
    state: State
    deaths: int
    """How often in a row its process died. One that only ever dies is due, and yet nobody's hope."""


E = TypeVar("E", bound=Entry)


class Timetable(ABC, Generic[E]):
    """The executions of one durable function, by name. *clock* tells the simulated time while one runs."""

    def __init__(
        self,
        *,
        clock: Callable[[], datetime],
        function_arn: str = FUNCTION_ARN,
        life: timedelta = LIFE,
        restarted: Callable[[], None] = lambda: None,
    ) -> None:
        self.endings: list[Ending] = []
        self.executions: dict[str, E] = {}
        self._clock = clock
        self._function_arn = function_arn
        self._life = life
        self._restarted = restarted

    @abstractmethod
    def _opened(self, name: str, arn: str, payload: str, now: datetime) -> E:
        """Make an entry that is due at once."""

    @abstractmethod
    def _run(self, entry: E, now: datetime) -> None:
        """Run it until it waits or ends. Raises ProcessDied where the sandbox kills it."""

    def start(self, name: str, payload: str, now: datetime) -> str:
        """Start an execution; see `Executions.start`."""
        known = self.executions.get(name)
        if known is not None:
            if json.loads(known.payload or "{}") != json.loads(payload or "{}"):
                raise NameTakenError(f"An execution named {name} was started with another payload.")
            return known.arn
        arn = execution_arn(self._function_arn, name, len(self.executions) + 1)
        self.executions[name] = self._opened(name, arn, payload, now)
        return arn

    def next_due(self) -> datetime | None:
        """Say when the next execution is due."""
        return min((entry.due for entry in self.executions.values() if entry.due is not None), default=None)

    def run_due(self, now: datetime) -> int:
        """Run what is due, in the order in which it became due."""
        due = [(entry.due, entry) for entry in self.executions.values() if entry.due is not None and entry.due <= now]
        for _, entry in sorted(due, key=lambda at_and_entry: at_and_entry[0]):
            self._run_or_end(entry, now)
        return len(due)

    def _run_or_end(self, entry: E, now: datetime) -> None:
        entry.due = None
        if now >= entry.started_at + self._life:
            self._end(entry, State.TIMED_OUT, error="TimedOut: the execution took too long")
            return
        try:
            self._run(entry, now)
        except ProcessDied:
            entry.due = self._clock() + min(RESTART * 2 ** min(entry.deaths, 20), LONGEST_RESTART)
            entry.deaths += 1
            self._restarted()
        else:
            entry.deaths = 0

    def _end(self, entry: E, state: State, *, result: object = None, error: str | None = None) -> None:
        entry.state, entry.due = state, None  # an answer that came while it ran has nothing left to wake
        self.endings.append(Ending(name=entry.name, at=self._clock(), state=state, result=result, error=error))
