"""What do the bot's incident records say now? Read beside the gate, so that looking leaves no trace in the outcome."""

from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.aws.gate import Gate
from unthrottle.adapters.access import Access, Clients
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.incident import Incident

_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"})
MOST = 10_000
"""More incidents than any scenario has."""


class IncidentReader:
    """Reads the incidents table, and again only after something was written to it."""

    def __init__(self, gate: Gate, table: str, *, region: str) -> None:
        self._gate = gate
        self._table = IncidentsTable(Access(Clients(), region), table)
        self._read_up_to = 0
        self._kept: tuple[Incident, ...] = ()

    @property
    def has_news(self) -> bool:
        """Whether the bot wrote to a table since the last look."""
        fresh = self._gate.calls[self._read_up_to :]
        return any(call.service == "dynamodb" and call.operation in _WRITES for call in fresh)

    def all(self) -> tuple[Incident, ...]:
        """Return every incident, oldest first."""
        if self.has_news:
            with _beside(self._gate):
                found = self._table.recent(MOST)
            self._kept = tuple(sorted(found, key=lambda incident: (incident.opened_at, incident.id)))
        self._read_up_to = len(self._gate.calls)
        return self._kept


@contextmanager
def _beside(gate: Gate) -> Iterator[None]:
    """Take the gate away for a moment: no call is recorded, none is counted for a fault."""
    gate.__exit__(None, None, None)
    try:
        yield
    finally:
        gate.__enter__()
