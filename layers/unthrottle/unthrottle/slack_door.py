"""Answer one HTTP request of Slack: verify, check who and where, carry out, and say what became of it.

Joins the pure front (`slack_front`, `slack_grammar`) to `control`. Every answer is private to the person; what is done is
told in the channel by the workflow itself.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from unthrottle.answers import Do
from unthrottle.control import Control, Person
from unthrottle.errors import UnthrottleError
from unthrottle.ports import Clock
from unthrottle.slack_front import (
    Click,
    Command,
    Rejected,
    SslCheck,
    UrlVerification,
    button_value,
    challenge_answer,
    http_answer,
    receive,
)
from unthrottle.slack_grammar import understand

log = logging.getLogger("unthrottle")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackApp:
    """What the app's secret tells: signing secrets (present and previous), and whose requests are taken.

    Empty `teams` or `app_id`: not checked, as the signature names the app already.
    """

    signing_secrets: tuple[str, ...]
    app_id: str = ""
    teams: frozenset[str] = frozenset()


class Door:
    """The front door. `app` fetches the secret at the first request."""

    def __init__(
        self,
        *,
        app: Callable[[], SlackApp],
        control: Callable[[], Control],
        clock: Clock,
        is_seen: Callable[[str], bool],
    ) -> None:
        self._app = app
        self._control = control
        self._clock = clock
        self._is_seen = is_seen

    def answer(self, event: object) -> dict[str, object]:
        """Answer with an HTTP response; never an exception for anything a stranger may send."""
        app = self._app()
        request = receive(event, app.signing_secrets, self._clock.now())
        match request:
            case Rejected():
                log.warning("slack.rejected", extra={"status": request.status, "reason": request.reason})
                return http_answer(request.status)
            case SslCheck():
                return http_answer(200)
            case UrlVerification():
                return challenge_answer(request)
            case Command() | Click():
                refused = _stranger(request, app)
                if refused is not None:
                    log.warning("slack.refused", extra={"reason": refused})
                    return http_answer(200, "This workspace or person is not known to Unthrottle. Nothing was run.")
                try:
                    if self._is_seen(request.delivery):
                        return http_answer(200)
                    return self._take(request)
                except UnthrottleError as error:
                    log.error("slack.failed", extra={"error": error.code})
                    return http_answer(200, f"That did not work: {error}")

    def _take(self, request: Command | Click) -> dict[str, object]:
        person = Person(id=request.user_id)
        if isinstance(request, Command):
            return http_answer(200, self._control().carry_out(understand(request.text), person))
        value = button_value(request.value)
        if value is None or request.action_id not in {"approve", "reject", "revert", "keep"}:
            return http_answer(200, "That button is not one of Unthrottle's. Nothing was changed.")
        do = cast("Do", request.action_id)
        return http_answer(200, self._control().decide(value.incident_id, value.version, do, person))


def _stranger(request: Command | Click, app: SlackApp) -> str | None:
    """Say why a signed request is still not taken: another app, workspace, or a guest of a shared channel."""
    if app.app_id and request.app_id and request.app_id != app.app_id:
        return "another app"
    if not app.teams:
        return None
    if request.team_id not in app.teams:
        return "another workspace"
    if isinstance(request, Click) and request.user_team_id is not None and request.user_team_id not in app.teams:
        return "a person of another workspace"
    return None
