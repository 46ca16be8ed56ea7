"""Which alarms rang in the past, and what was each about? Pure: alarms and their state changes in, moments out.

An alarm's definition is that of today: whoever changed it since is not seen. Knows nothing of what was throttled.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from unthrottle.audit.inventory import AlarmFacts, Rang
from unthrottle.subjects import Subject, TableSubject

AROUND = timedelta(minutes=10)
"""An alarm with long periods rings so much later than the throttle it rings for."""
QUIET = timedelta(minutes=30)
"""A pause this long ends an incident: a next throttle is another one."""
WARNINGS = frozenset({"ConcurrentExecutions", "UnreservedConcurrentExecutions", "ClaimedAccountConcurrency"})

Scope = Literal["pool", "warning", "tables"] | TableSubject
"""What an alarm watches: throttled functions, a pool before anyone is throttled, every table, or one table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """A state change into ALARM of an alarm that speaks of throttling."""

    alarm: str
    at: datetime
    scope: Scope

    def is_about(self, subject: Subject) -> bool:
        """Say whether it may have rung for this subject; all functions share the pool, a table and its indexes are one."""
        if isinstance(subject, TableSubject):
            return self.scope == "tables" or (
                isinstance(self.scope, TableSubject) and self.scope.table == subject.table
            )
        return self.scope in {"pool", "warning"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rings:
    """All of a window. `warnings_count`: an early warning begins an incident, as ActBeforeThrottling has it."""

    rings: tuple[Ring, ...] = ()
    warnings_count: bool = False

    def for_throttles(self, subject: Subject, first: datetime, last: datetime) -> datetime | None:
        """Return when the first alarm rang for throttles from `first` to `last`; None where none did."""
        for ring in self.rings:
            if not ring.is_about(subject) or (ring.scope == "warning" and not self.warnings_count):
                continue
            early = QUIET if ring.scope == "warning" else timedelta()
            if first - early <= ring.at <= last + AROUND:
                return ring.at
        return None

    def names(self, subject: Subject, first: datetime, last: datetime) -> tuple[str, ...]:
        """Name the alarms that rang around an incident, warnings included, each once."""
        return tuple(
            dict.fromkeys(
                ring.alarm
                for ring in self.rings
                if ring.is_about(subject) and first - QUIET <= ring.at <= last + AROUND
            )
        )


def rings_of(rang: Iterable[Rang], alarms: Sequence[AlarmFacts]) -> tuple[Ring, ...]:
    """Sort out the state changes of alarms that speak of throttling, oldest first; of others none."""
    scopes: dict[str, list[Scope]] = {}
    for alarm in alarms:
        scopes.setdefault(alarm.name, []).extend(scopes_of(alarm))
    found = [
        Ring(alarm=one.alarm, at=one.at, scope=scope)
        for one in rang
        for scope in ([TableSubject(table=one.table)] if one.table else scopes.get(one.alarm, []))
        if scopes.get(one.alarm)
    ]
    return tuple(sorted(dict.fromkeys(found), key=lambda ring: (ring.at, ring.alarm)))


def scopes_of(alarm: AlarmFacts) -> Iterator[Scope]:
    """Say what an alarm watches; nothing for one that does not speak of throttling or of a pool that is used up."""
    is_throttle = "Throttle" in f"{alarm.metric} {alarm.expression}"
    if alarm.namespace == "AWS/DynamoDB" and is_throttle:
        table = alarm.dimensions.get("TableName")
        yield TableSubject(table=table) if table else "tables"
    elif alarm.namespace == "AWS/Lambda" and alarm.metric == "Throttles":
        yield "pool"
    elif alarm.namespace == "AWS/Lambda" and alarm.metric in WARNINGS and "FunctionName" not in alarm.dimensions:
        yield "warning"
    elif "AWS/DynamoDB" in alarm.expression and is_throttle:
        yield "tables"
    elif "AWS/Lambda" in alarm.expression:
        yield "pool" if is_throttle else "warning"
