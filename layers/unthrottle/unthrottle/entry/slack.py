"""What does functions/slack do with a request? Loads what an answer needs only when a signature has held."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from unthrottle.adapters.logs import every_line_with
from unthrottle.adapters.traces import traced
from unthrottle.slack_door import Door, SlackApp
from unthrottle.wiring import LateAccounts, Wired

if TYPE_CHECKING:
    from unthrottle.control import Control


class SlackDoor:
    """The entry point of functions/slack."""

    @classmethod
    def from_environment(cls) -> "SlackDoor":
        """Wire it. Raises SettingsError."""
        return cls(Wired.from_environment())

    def __init__(self, wired: Wired) -> None:
        self._wired = wired

    def handle(self, event: object) -> dict[str, Any]:
        with traced("slack") as annotations, ExitStack() as until_answered:

            def about(incident_id: str) -> None:
                """Put the incident's id on each line from here on, and into the trace: known once the request is read."""
                if "incident_id" not in annotations:
                    annotations["incident_id"] = incident_id
                    until_answered.enter_context(every_line_with(incident_id=incident_id))

            door = Door(
                app=self._app,
                control=lambda: self._control(about),
                clock=self._wired.clock,
                is_seen=self._is_seen,
                reply=self._reply,
            )
            return door.answer(event)

    # The table and the way to Slack are made when a signature has held, and not for junk.

    def _is_seen(self, delivery: str) -> bool:
        return self._wired.incidents.is_seen(delivery)

    def _reply(self, address: str, text: str, replace: bool) -> None:  # noqa: FBT001  a port of the door
        self._wired.slack_light.reply(address, text, replace)

    def _app(self) -> SlackApp:
        wired = self._wired
        arn = wired.settings.slack_secret_arn
        secrets = [
            wired.secrets.field(arn, "signing_secret"),
            wired.secrets.field(arn, "previous_signing_secret", default=""),
        ]
        teams = wired.secrets.field(arn, "team_id", default="")
        return SlackApp(
            signing_secrets=tuple(secret for secret in secrets if secret),
            app_id=wired.secrets.field(arn, "app_id", default=""),
            teams=frozenset(teams.replace(",", " ").split()),
            channels=frozenset(wired.secrets.field(arn, "channels", default="").replace(",", " ").split()),
        )

    def _control(self, about: Callable[[str], None]) -> "Control":
        from unthrottle.entry.asked import NamingControl  # noqa: PLC0415  junk is turned away without it

        wired = self._wired
        return NamingControl(
            about,
            incidents=wired.incidents,
            starter=wired.starter,
            accounts=LateAccounts(wired),
            clock=wired.clock,
            settings=wired.settings,
            home_account=wired.deployment.account,
            home_region=wired.deployment.region,
            members=wired.slack_light.members,
            publish=wired.slack_light.publish,
            audit=wired.start_audit if wired.deployment.audit_function else None,
        )
