"""What the racers of one ground talk to, beside the table: an account, a pager, a Slack, a clock, and runs that can be held up.

Each is as small as a race needs, and remembers what it was told. Whatever several actors share stops before it is touched.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from sandbox.engine.simulated import Execution, SimulatedRun
from sandbox.races.touches import touches_of
from sandbox.races.turns import Mode, Touch, Touches, Turns
from unthrottle.adapters.access import Clients, Credentials, Service
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.chat import ChatLater
from unthrottle.errors import Refused
from unthrottle.incident import Incident
from unthrottle.ports import Actor, Answered, Expired, Observer, Posted

Step = tuple[str, str, Touches]
"""Who (an actor's name), the call, and what it touched."""


NOW = datetime(2026, 8, 24, 10, 0, tzinfo=UTC)


class Clock:
    """Stands still but for a microsecond at each look: no two things happen at the same moment."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> datetime:
        self.time += timedelta(microseconds=1)
        return self.time


class WatchedClients(Clients):
    """Clients that stop before each call, to let others go first."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns
        self.log: list[Step] = []

    def make(self, service: Service, region: str, credentials: Credentials | None) -> Any:
        client = super().make(service, region, credentials)
        client.meta.events.register("before-parameter-build.dynamodb", self._stop)
        return client

    def _stop(self, params: Mapping[str, Any], model: Any, **_: object) -> None:
        touches = touches_of(model.name, params)
        self._turns.about_to(touches)
        self.log.append((threading.current_thread().name, model.name, touches))


@dataclass(slots=True)
class Account:
    """Reserved concurrency by function, and every change of it: by which incident, of which function, to what."""

    turns: Turns
    log: list[Step]
    busy: int = 0
    """How many of the next changes AWS puts off."""
    reserved_now: dict[str, int] = field(default_factory=dict)
    made: list[tuple[str, str, int | None]] = field(default_factory=list)

    def touch(self, function: str, mode: Mode) -> None:
        touches = frozenset({Touch("function", function, mode)})
        self.turns.about_to(touches)
        self.log.append((threading.current_thread().name, mode, touches))


class _Hands:
    """The part of the `Actor` port that caps need, for one incident."""

    def __init__(self, account: Account, incident_id: str) -> None:
        self._account = account
        self._incident_id = incident_id

    def reserved(self, function: str) -> int | None:
        self._account.touch(function, "read")
        return self._account.reserved_now.get(function)

    def set_reserved(self, function: str, value: int | None) -> None:
        self._account.touch(function, "write")
        if self._account.busy > 0:
            self._account.busy -= 1
            raise Refused("AWS is changing it", code="ResourceConflictException")
        self._account.made.append((self._incident_id, function, value))
        if value is None:
            self._account.reserved_now.pop(function, None)
        else:
            self._account.reserved_now[function] = value


class AccountsHere:
    def __init__(self, account: Account) -> None:
        self._account = account

    def observe(self, account: str, region: str, incident_id: str) -> Observer:
        del account, region, incident_id
        nothing: Any = None  # what is seen is given; see `Ground`
        return Observer(metrics=nothing, functions=nothing, tables=nothing, alarms=nothing, calendar=nothing)

    def act(self, account: str, region: str, incident_id: str) -> Actor:
        del account, region
        return cast("Actor", _Hands(self._account, incident_id))


class Pager:
    def __init__(self) -> None:
        self.pages: list[tuple[str, str]] = []

    def page(self, subject: str, text: str) -> None:
        self.pages.append((subject, text))


class Chat:
    """Slack, down or up. `told` are the lines of threads it took."""

    def __init__(self) -> None:
        self.is_down = True
        self.told: list[str] = []

    def post(
        self, text: str, blocks: Sequence[dict[str, object]], *, thread_ts: str | None = None, broadcast: bool = False
    ) -> Posted:
        del blocks, broadcast
        self._answer()
        if thread_ts is not None:
            self.told.append(text)
        return Posted(ts="1.0")

    def update(self, ts: str, text: str, blocks: Sequence[dict[str, object]]) -> Posted:
        del text, blocks
        self._answer()
        return Posted(ts=ts)

    def _answer(self) -> None:
        if self.is_down:
            raise ChatLater("Slack is down", code="503", retry_after_s=0)


class WatchedRun(SimulatedRun):
    """A run that stops before it looks whether its question was answered: the answer comes from others."""

    def __init__(self, execution: Execution, clock: Callable[[], datetime], turns: Turns) -> None:
        super().__init__(execution, clock)
        self._turns, self._name = turns, execution.name

    def ask(self, name: str, timeout: timedelta, submit: Callable[[str], None]) -> Answered | Expired:
        def submitted(callback: str) -> None:
            submit(callback)
            self._turns.about_to(frozenset({Touch("execution", self._name, "write")}))

        return super().ask(name, timeout, submitted)


class EarlierTable:
    """The `Incidents` port as a release sees it that knows nothing of `settling`: it neither reads nor writes it."""

    def __init__(self, table: IncidentsTable) -> None:
        self._table = table

    def load(self, incident_id: str) -> Incident | None:
        found = self._table.load(incident_id)
        return None if found is None else replace(found, settling=None)

    def save(self, incident: Incident) -> Incident:
        return self._table.save(replace(incident, settling=None))

    def close(self, incident: Incident) -> Incident:
        return self._table.close(replace(incident, settling=None))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)
