"""What does functions/respond do with an incident? The story itself is `workflow`."""

from collections.abc import Mapping
from typing import Any

from unthrottle.adapters.access import Clients
from unthrottle.adapters.logs import every_line_with
from unthrottle.adapters.traces import traced
from unthrottle.ports import Run
from unthrottle.wiring import Wired
from unthrottle.workflow import respond


class Respond:
    """The entry point of functions/respond."""

    @classmethod
    def from_environment(cls, clients: Clients | None = None) -> "Respond":
        """Wire it. Raises SettingsError."""
        return cls(Wired.from_environment(clients))

    def __init__(self, wired: Wired) -> None:
        self._wired = wired

    def handle(self, run: Run, event: Mapping[str, Any]) -> dict[str, Any]:
        wired = self._wired
        incident_id = str(event["incident_id"])
        with traced("respond") as annotations, every_line_with(incident_id=incident_id):
            annotations["incident_id"] = incident_id
            incident = respond(run, wired.ports, wired.settings, wired.deployment.stack, incident_id)
        return {
            "incident_id": incident.id,
            "cause": incident.diagnosis.cause.value if incident.diagnosis else None,
            "status": incident.status.value,
            "outcome": incident.outcome.value,
        }
