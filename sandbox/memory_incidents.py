"""Where are incidents remembered when there is no table? In memory, with the same promises as the table's.

For tests and rehearsals of what uses incidents; one suite of tests runs over both. Keeps everything for ever.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from unthrottle.errors import Busy, Conflict, OverBudget
from unthrottle.incident import Incident, Wish
from unthrottle.plan import SwitchToOnDemand
from unthrottle.ports import Duplicate, Joined, Ledger, Opened

_HOUR, _DAY = timedelta(hours=1), timedelta(hours=24)


@dataclass(slots=True)
class _Resource:
    holder: str | None = None
    last_action_at: datetime | None = None
    switches: dict[str, datetime] = field(default_factory=dict)


class MemoryIncidents:
    """The `Incidents` port."""

    def __init__(self) -> None:
        self._records: dict[str, Incident] = {}
        self._open: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._resources: dict[str, _Resource] = {}
        self._acted: dict[tuple[str, str], dict[str, datetime]] = {}
        self._paused_until: datetime | None = None
        self._requests: set[str] = set()

    def open_or_join(self, incident: Incident, dedupe_key: str) -> Opened | Joined | Duplicate:
        """Open `incident`, unless its fingerprint is open already or this state change was seen."""
        if dedupe_key in self._seen:
            return Duplicate(incident_id=self._seen[dedupe_key])
        holder = self._open.get(incident.fingerprint)
        if holder is not None:
            self._seen[dedupe_key] = holder
            record = self._records[holder]
            self._records[holder] = replace(record, triggers=record.triggers + 1)
            return Joined(incident_id=holder)
        if incident.id in self._records:
            return Duplicate(incident_id=incident.id)
        self._seen[dedupe_key] = self._open[incident.fingerprint] = incident.id
        self._records[incident.id] = incident
        return Opened(incident=incident)

    def load(self, incident_id: str) -> Incident | None:
        """Return one record."""
        return self._records.get(incident_id)

    def save(self, incident: Incident) -> Incident:
        """Write the record if its version is the stored one. Raises Conflict."""
        written = replace(incident, version=incident.version + 1)
        stored = self._records.get(incident.id)
        if stored is None:
            raise Conflict(f"{incident.id} is not here. Nothing was changed.")
        kept = replace(written, triggers=stored.triggers, wish=stored.wish)
        if stored.version != incident.version and stored != kept:
            raise Conflict(f"{incident.id} is at version {stored.version}, not at {incident.version}.")
        self._records[incident.id] = kept
        return written

    def record_intent(self, incident: Incident, now: datetime, *, budget: int | None = None) -> Incident:
        """Write the record, take its resources and spend the action budget. Raises Busy, OverBudget, Conflict."""
        for resource in incident.resources:
            holder = self._resources.get(resource, _Resource()).holder
            if holder not in {None, incident.id}:
                raise Busy(resource, str(holder))
        acted = self._acted.get((incident.account, incident.region), {})
        spent = [by for by, at in acted.items() if now - at < _HOUR]
        if budget is not None and len(spent) >= budget and incident.id not in spent:
            raise OverBudget(len(spent), budget)
        changed = self._changes(incident)
        written = self.save(incident)
        if not changed:
            return written
        self._acted.setdefault((incident.account, incident.region), {})[incident.id] = now
        switched = {change.arn for change in _planned(incident) if isinstance(change, SwitchToOnDemand)}
        for name in incident.resources:
            entry = self._resources.setdefault(name, _Resource())
            entry.holder, entry.last_action_at = incident.id, now
            if name in switched:
                entry.switches.setdefault(incident.id, now)
        return written

    def _changes(self, incident: Incident) -> bool:
        """Say whether writing this record is new, and not the repetition of a write that was done."""
        stored = self._records.get(incident.id)
        return stored is not None and stored.version == incident.version

    def close(self, incident: Incident) -> Incident:
        """Write the record, free its fingerprint and everything it took. Raises Conflict, ValueError."""
        if incident.closed_at is None:
            raise ValueError(f"{incident.id} has no closing time, so it cannot be closed.")
        written = self.save(incident)
        if self._open.get(incident.fingerprint) == incident.id:
            del self._open[incident.fingerprint]
        for resource in self._resources.values():
            if resource.holder == incident.id:
                resource.holder = None
                resource.last_action_at = incident.asked_back_at or resource.last_action_at
                if not incident.may_have_acted:
                    resource.last_action_at = None
                    resource.switches.pop(incident.id, None)
        return written

    def wish(self, incident_id: str, wish: Wish) -> bool:
        """Note what a person wants done with an open incident's change. False: there is none, it is closed, or just ending."""
        stored = self._records.get(incident_id)
        if stored is None or not stored.is_open or stored.settling is not None:
            return False
        self._records[incident_id] = replace(stored, wish=wish.over(stored.wish))
        return True

    def ledger(self, account: str, region: str, resources: Sequence[str], now: datetime) -> Ledger:
        """Return what other incidents do and did; `held_by` names whoever holds a resource, the asker too."""
        known = {name: self._resources[name] for name in resources if name in self._resources}
        recent = {
            name: tuple(sorted(at for at in one.switches.values() if now - _DAY < at)) for name, one in known.items()
        }
        spent = self._acted.get((account, region), {}).values()
        paused = self._paused_until
        return Ledger(
            paused_until=paused if paused is not None and paused > now else None,
            acted=tuple(sorted(at for at in spent if now - _HOUR < at)),
            last_on={name: one.last_action_at for name, one in known.items() if one.last_action_at is not None},
            held_by={name: one.holder for name, one in known.items() if one.holder is not None},
            switches={name: times for name, times in recent.items() if times},
        )

    def set_pause(self, until: datetime | None, by: str) -> None:  # noqa: ARG002  # the table keeps who; nobody asks here
        """Stop new changes everywhere until then; None ends it."""
        self._paused_until = until

    def is_seen(self, delivery: str) -> bool:
        """Say whether a person's request was taken before, and note that it is now."""
        if delivery in self._requests:
            return True
        self._requests.add(delivery)
        return False

    def open_incidents(self) -> tuple[Incident, ...]:
        """Return the open incidents, oldest first."""
        found = [self._records[incident_id] for incident_id in self._open.values()]
        return tuple(sorted(found, key=lambda incident: (incident.opened_at, incident.id)))

    def untold(self) -> tuple[Incident, ...]:
        """Return the closed incidents of which Slack has not taken every report, oldest first."""
        found = [one for one in self._records.values() if one.closed_at is not None and one.outbox]
        return tuple(sorted(found, key=lambda incident: (incident.opened_at, incident.id)))

    def recent(self, limit: int, *, since: datetime | None = None) -> tuple[Incident, ...]:  # noqa: ARG002  nothing is old here
        """Return the newest incidents, newest first."""
        order = sorted(self._records.values(), key=lambda incident: (incident.opened_at, incident.id), reverse=True)
        return tuple(order[:limit])


def _planned(incident: Incident) -> Sequence[object]:
    return incident.plan.changes if incident.plan else ()
