"""Answer one HTTP request of Slack: verify, check who and where, carry out, and say what became of it.

Joins the pure front (`slack_front`, `slack_grammar`) to `control`. Every answer is private to the person; what is done is
told in the channel by the workflow itself.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from unthrottle.errors import UnthrottleError
from unthrottle.slack_front import (
    BUTTON_ACTIONS,
    Click,
    Command,
    HomeOpened,
    Rejected,
    SslCheck,
    UrlVerification,
    button_value,
    challenge_answer,
    http_answer,
    receive,
)

if TYPE_CHECKING:
    from unthrottle.answers import Do
    from unthrottle.control import Control
    from unthrottle.ports import Clock

log = logging.getLogger("unthrottle")

SNOOZED = "Taken. The thread says until when, within five minutes."
"""A snooze of what is only watched is seen at the next look, and nobody likes to press a button twice."""

COPY = "This was a copy of {}, left by an answer of Slack's that was lost. The message with the thread is kept current."
"""What takes the place of a head that is not the one kept current, once a button in it tells where it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackApp:
    """What the app's secret tells: signing secrets (present and previous), and whose requests are taken.

    Empty `teams`, `app_id` or `channels`: not checked, as the signature names the app already. `teams` may hold workspaces
    (T...) and Enterprise Grid organisations (E...); in an organisation, each workspace whose people may use it.
    """

    signing_secrets: tuple[str, ...] = field(repr=False)
    app_id: str = ""
    teams: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()


class Door:
    """The front door. `app` fetches the secret at the first request."""

    def __init__(
        self,
        *,
        app: Callable[[], SlackApp],
        control: "Callable[[], Control]",
        clock: "Clock",
        is_seen: Callable[[str], bool],
        reply: Callable[[str, str, bool], None] | None = None,
    ) -> None:
        """`reply` sends a text to a click's own address, in the place of the clicked message if the last argument is True."""
        self._app = app
        self._control = control
        self._clock = clock
        self._is_seen = is_seen
        self._reply = reply

    def answer(self, event: object) -> dict[str, object]:
        """Answer with an HTTP response; never an exception for anything a stranger may send."""
        try:
            app = self._app()
        except UnthrottleError as error:  # without the secret nothing can be believed, so nothing is done
            log.error("slack.no-secret", extra={"error": error.code})
            return http_answer(
                503, "Unthrottle cannot read its Slack secret now. Nothing was run; try again in a minute."
            )
        request = receive(event, app.signing_secrets, self._clock.now())
        match request:
            case Rejected():
                log.warning("slack.rejected", extra={"status": request.status, "reason": request.reason})
                return http_answer(request.status)
            case SslCheck():
                return http_answer(200)
            case UrlVerification():
                return challenge_answer(request)
            case Command() | Click() | HomeOpened():
                refused = _stranger(request, app)
                if refused is not None:
                    log.warning("slack.refused", extra={"reason": refused})
                    return self._privately(
                        request, f"Unthrottle does not take requests from {refused}. Nothing was run."
                    )
                try:
                    if self._is_seen(request.delivery):
                        return http_answer(200)
                    return self._take(request)
                except UnthrottleError as error:
                    log.error("slack.failed", extra={"error": error.code})
                    return self._privately(request, f"That did not work: {error}")

    def _privately(self, request: Command | Click | HomeOpened, text: str) -> dict[str, object]:
        """Tell the person alone. Of an HTTP answer Slack shows the text to who typed a command, but not to who clicked: that
        goes to the click's own address (Slack: Handling user interaction, message responses)."""
        if isinstance(request, Click) and self._reply is not None and text:
            self._reply(request.response_url, text, False)  # noqa: FBT003  the port is a plain function
        return http_answer(200, text)

    def _take(self, request: Command | Click | HomeOpened) -> dict[str, object]:
        # Imported when a request has proved to be ours: a cold start for junk, and the verification itself, need neither.
        from unthrottle.control import Person  # noqa: PLC0415
        from unthrottle.slack_grammar import understand  # noqa: PLC0415

        if isinstance(request, HomeOpened):
            self._control().show_home(Person(id=request.user_id))
            return http_answer(200)
        person = Person(id=request.user_id, channel=request.channel_id)
        if isinstance(request, Command):
            return http_answer(200, self._control().carry_out(understand(request.text), person))
        value = button_value(request.value)
        if value is None or request.action_id not in BUTTON_ACTIONS:
            return self._privately(request, "That button is not one of Unthrottle's. Nothing was changed.")
        control = self._control()
        said = control.decide(value.incident_id, value.version, cast("Do", request.action_id), person)
        if self._reply is not None and control.is_stale_copy(value.incident_id, request.message_ts):
            # One reply only: Slack waits three seconds for all of this.
            self._reply(request.response_url, COPY.format(value.incident_id), True)  # noqa: FBT003
            return http_answer(200, said)
        if request.action_id == "snooze" and self._reply is not None and not said:
            self._reply(request.response_url, SNOOZED, False)  # noqa: FBT003
        return self._privately(request, said)


def _stranger(request: Command | Click | HomeOpened, app: SlackApp) -> str | None:
    """Say why a signed request is still not taken: another app, workspace or channel, or a guest of a shared channel."""
    if app.app_id and request.app_id and request.app_id != app.app_id:
        return "another app"
    known = app.teams or {request.team_id, request.enterprise_id} - {""}
    if app.teams and not {request.team_id, request.enterprise_id} & app.teams:
        return "another workspace"
    if isinstance(request, HomeOpened):
        return None
    # Slack Connect: the request bears our workspace, and only the person's own says that it is a guest's. A typed command
    # says nothing of it, so there the list of operators has to decide.
    if isinstance(request, Click) and request.user_team_id is not None and request.user_team_id not in known:
        return "a person of another workspace"
    if app.channels and request.channel_id not in app.channels:
        return "another channel"
    return None
