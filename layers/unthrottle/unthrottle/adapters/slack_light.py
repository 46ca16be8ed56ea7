"""What may the front door ask of Slack within its three seconds?

Who is in a user group, to show a home tab, and to answer a click: three calls, made with urllib3, which boto3 has loaded
already, because slack_sdk alone would cost a cold start a third of its budget. A failure never lets anybody in.
"""

import json
import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import urllib3

from unthrottle.ports import Clock

log = logging.getLogger(__name__)

KEPT_FOR = timedelta(minutes=5)
"""How long a group's members are believed: who left it may act for that long."""
TIMEOUT_S = 1.5
"""Slack gives the answer three seconds in all."""
_PRIVATE: dict[str, object] = {"response_type": "ephemeral", "replace_original": False}


class SlackLight:
    """Two calls of Slack's Web API, and its reply addresses. *token* is read at each call, so that a rotated one is picked up."""

    def __init__(self, token: Callable[[], str], clock: Clock, base_url: str | None = None) -> None:
        self._token = token
        self._clock = clock
        self._base_url = base_url or "https://slack.com/api/"
        self._reply_origins = {"https://hooks.slack.com", _origin(self._base_url)}
        self._pool = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=TIMEOUT_S))
        self._kept: dict[str, tuple[datetime, frozenset[str]]] = {}
        self._lock = threading.Lock()

    def members(self, usergroup: str) -> frozenset[str]:
        """List a user group's user ids (needs usergroups:read); empty when Slack does not say, so that nobody gets in."""
        now = self._clock.now()
        with self._lock:
            kept = self._kept.get(usergroup)
        if kept is not None and now - kept[0] < KEPT_FOR:
            return kept[1]
        answer = self._call("usergroups.users.list", {"usergroup": usergroup})
        users = answer.get("users")
        if not isinstance(users, list):
            return frozenset()
        found = frozenset(user for user in users if isinstance(user, str))
        with self._lock:
            self._kept[usergroup] = (now, found)
        return found

    def publish(self, user: str, blocks: Sequence[dict[str, object]]) -> None:
        """Show *blocks* as a person's home tab. A refusal is logged: the person sees the tab as it was."""
        self._call("views.publish", {"user_id": user, "view": {"type": "home", "blocks": list(blocks)}})

    def reply(self, address: str, text: str, replace: bool = False) -> None:  # noqa: FBT001, FBT002  a port of the door
        """Answer a click by its own address: privately, or in the place of the clicked message. A failure is logged.

        The address works 5 times within 30 minutes and needs no token (Slack: Handling user interaction).
        """
        if _origin(address) not in self._reply_origins:
            log.error("slack.foreign-reply-address")
            return
        said = {"text": text, "replace_original": True} if replace else {"text": text, **_PRIVATE}
        try:
            answer = self._pool.request(
                "POST", address, body=json.dumps(said).encode(), headers={"Content-Type": "application/json"}
            )
        except urllib3.exceptions.HTTPError as error:
            log.error("slack.no-answer", extra={"method": "response_url", "error": type(error).__name__})
            return
        if answer.status != 200:
            log.error("slack.refused-us", extra={"method": "response_url", "error": f"http_{answer.status}"})

    def _call(self, method: str, arguments: dict[str, object]) -> dict[str, object]:
        try:
            response = self._pool.request(
                "POST",
                f"{self._base_url}{method}",
                body=json.dumps(arguments).encode(),
                headers={
                    "Authorization": f"Bearer {self._token()}",
                    "Content-Type": "application/json; charset=utf-8",
                },
            )
            document = json.loads(response.data)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            log.error("slack.no-answer", extra={"method": method, "error": type(error).__name__})
            return {}
        if not isinstance(document, dict) or document.get("ok") is not True:
            code = str(document.get("error"))[:80] if isinstance(document, dict) else "no object"
            log.error("slack.refused-us", extra={"method": method, "error": code})
            return {}
        return document


def _origin(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"
