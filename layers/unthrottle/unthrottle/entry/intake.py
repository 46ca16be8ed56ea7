"""What does functions/intake do with an event? Opens or joins incidents. Knows nothing of causes."""

from typing import Any

from unthrottle.adapters.traces import traced
from unthrottle.intake import Receiver
from unthrottle.wiring import Wired


class Intake:
    """The entry point of functions/intake."""

    @classmethod
    def from_environment(cls) -> "Intake":
        """Wire it. Raises SettingsError."""
        return cls(Wired.from_environment())

    def __init__(self, wired: Wired) -> None:
        self._wired = wired

    def handle(self, event: object) -> dict[str, Any]:
        with traced("intake") as annotations:
            answers = receiver(self._wired).receive(event)
            ids = [str(answer["incident_id"]) for answer in answers if "incident_id" in answer]
            annotations.update({"incident_id": ids[0]} if ids else {})
        return {"alarms": answers}


def receiver(wired: Wired) -> Receiver:
    """Make what takes alarms in: from an event here, from the look at alarms in the sweep."""
    return Receiver(
        incidents=wired.incidents,
        starter=wired.starter,
        clock=wired.clock,
        settings=wired.settings,
        home_account=wired.deployment.account,
        home_region=wired.deployment.region,
        alarms_of=lambda account, region: wired.accounts.observe(account, region, "intake").alarms,
        own_prefix=wired.deployment.stack,
    )
