"""Which incident is a person's request about? Known once it is read; told before it is carried out, for logs and traces."""

from collections.abc import Callable
from typing import Any

from unthrottle.answers import SNOOZE_MINUTES, Do
from unthrottle.control import Control, Person
from unthrottle.ports import Starter
from unthrottle.slack_grammar import Asked, Keep, Revert, Snooze, Status


class NamingControl(Control):
    """A `Control` that names the incident of each request to `about`, before anything is done or logged about it."""

    def __init__(self, about: Callable[[str], None], *, starter: Starter, **ports: Any) -> None:
        super().__init__(starter=_NamingStarter(about, starter), **ports)
        self._about = about

    def carry_out(self, asked: Asked, person: Person) -> str:
        if isinstance(asked, Status | Snooze | Revert | Keep) and asked.incident_id is not None:
            self._about(asked.incident_id)
        return super().carry_out(asked, person)

    def decide(
        self, incident_id: str, version: int | None, do: Do, person: Person, *, minutes: int = SNOOZE_MINUTES
    ) -> str:
        self._about(incident_id)
        return super().decide(incident_id, version, do, person, minutes=minutes)


class _NamingStarter:
    """A `Starter` that names the incident it starts: of `check` and `fix` it is known only then."""

    def __init__(self, about: Callable[[str], None], starter: Starter) -> None:
        self._about = about
        self._starter = starter

    def start(self, incident_id: str) -> None:
        self._about(incident_id)
        self._starter.start(incident_id)

    def answer(self, callback: str, text: str) -> bool:
        return self._starter.answer(callback, text)
