"""The record of the incident a workflow run is about: read it, change it, close it, each as one step.

A step of a run is done once and remembered, so that a resumed run does nothing twice. Knows nothing of what is written, nor
of anybody who reads it.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from unthrottle import outbox
from unthrottle.errors import Conflict, NotFound, Refused, TryAgain
from unthrottle.incident import Incident, Outcome, Settling, Wish
from unthrottle.ports import Ports, Run

log = logging.getLogger("unthrottle")

CLOSED_ELSEWHERE = "closed-elsewhere"
"""The code of a write that was refused because the sweep has closed the incident: this run has nothing more to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A step without a result of its own."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The record from which the end of a change begins, and the newest that a person wanted by then."""

    incident: Incident
    wish: Wish | None


class Records:
    """The steps that only touch the record. Holds no state of the incident; each method is given it and returns it."""

    def __init__(self, run: Run, ports: Ports) -> None:
        self._run = run
        self._ports = ports
        self._count: dict[str, int] = {}

    def _name(self, step: str) -> str:
        """Number the steps of one kind, so that every step of a run has its own name, the same on every resume."""
        self._count[step] = self._count.get(step, 0) + 1
        number = self._count[step]
        return step if number == 1 else f"{step}-{number}"

    def _save(self, incident: Incident) -> Incident:
        """Write the record. A conflict is a write of this run's own that was not remembered, or a late delivery.

        Raises Refused when the incident was closed without this run: the sweep took over, and has the last word.
        """
        self._not_taken_over(incident)
        try:
            return self._ports.incidents.save(incident)
        except Conflict:
            stored = self._ports.incidents.load(incident.id)
            if stored is not None:
                self._not_taken_over(stored)
            mine = outbox.merged(incident, stored) if stored else incident
            try:
                return self._ports.incidents.save(replace(mine, version=stored.version if stored else 0))
            except Conflict as conflict:  # somebody wrote it twice in this moment; the step reads it again
                raise TryAgain(str(conflict)) from conflict

    def _not_taken_over(self, stored: Incident) -> None:
        if stored.is_taken_over or not stored.is_open:
            raise _closed_elsewhere(stored)

    def load(self, incident_id: str) -> Incident:
        """Read the record. Raises StepFailed when there is none."""

        def work() -> Incident:
            try:
                found = self._ports.incidents.load(incident_id)
            except (
                Refused
            ) as refusal:  # without the record nothing can be done, not even told: ask again before giving up
                raise TryAgain(str(refusal)) from refusal
            if found is None:
                raise NotFound(f"There is no incident {incident_id}. Nothing was done.", code="no-incident")
            return found

        return self._run.step(self._name("load"), work, Incident)

    def change(self, incident: Incident, name: str, alter: Callable[[Incident, datetime], Incident]) -> Incident:
        """Alter and write the record in one step. The one place where an incident's outcome is written, so it is logged here."""

        def work() -> Incident:
            now = self._ports.clock.now()
            written = self._save(alter(incident, now))
            if written.outcome is Outcome.RECOVERED and incident.outcome is not Outcome.RECOVERED:
                seconds = int((now - incident.opened_at).total_seconds())
                log.info("symptom.recovered", extra={"incident_id": incident.id, "seconds": seconds})
            return written

        return self._run.step(self._name(name), work, Incident)

    def settle(self, incident: Incident) -> Settled:
        """Say in the record that the end of its change begins, then read what people wanted up to that moment.

        From then on nobody is told any more that a wish is taken, until the record says otherwise.
        """

        def work() -> Settled:
            now = self._ports.clock.now()
            mine = self._save(replace(incident, settling=Settling(by="workflow", at=now)))
            stored = self._ports.incidents.load(incident.id)
            wish = stored.wish if stored and stored.wish and stored.wish.do != "snooze" else None
            return Settled(incident=replace(mine, wish=wish), wish=wish)

        return self._run.step(self._name("settle"), work, Settled)

    def wait(self, name: str, duration: timedelta) -> None:
        self._run.sleep(self._name(name), duration)

    def now(self) -> datetime:
        """Read the clock, as a step: the same on every resume."""
        return self._run.step(self._name("clock"), lambda: Done(at=self._ports.clock.now()), Done).at

    def close(self, incident: Incident) -> Incident:
        """End the incident: free its fingerprint and its resources."""

        def work() -> Incident:
            now = self._ports.clock.now()
            stored = self._ports.incidents.load(incident.id)
            if stored is not None and stored.closed_at is not None:
                return stored
            if stored is not None:
                self._not_taken_over(stored)
            version = stored.version if stored else incident.version
            mine = outbox.merged(incident, stored) if stored else incident
            ended = replace(mine, version=version, closed_at=now, question=None, settling=None)
            try:
                return self._ports.incidents.close(ended.told(now, "incident.closed"))
            except Conflict as conflict:  # the sweep delivered a late report in this very moment: read again
                raise TryAgain(str(conflict)) from conflict

        return self._run.step(self._name("close"), work, Incident)


def _closed_elsewhere(incident: Incident) -> Refused:
    return Refused(f"{incident.id} was closed by the sweep. Nothing was changed.", code=CLOSED_ELSEWHERE)
