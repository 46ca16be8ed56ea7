"""How is a message put into Slack, and what does a refusal mean for us?

Every answer is classified here, once, into what the caller does next: later, repost, give up on Slack. A refusal of the
form is answered here too, with a simpler message. slack_sdk's own retry is off: it repeats a post whose answer was lost
and knows nothing of 429 (observed with slack_sdk 3.48). Knows nothing of incidents.
"""

import logging
import re
from collections.abc import Callable, Sequence
from functools import partial
from http.client import HTTPException
from typing import NoReturn
from urllib.parse import urlsplit

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web import SlackResponse
from slack_sdk.webhook import WebhookClient

from unthrottle.chat import (
    THROTTLED,
    Block,
    ChatBroken,
    ChatError,
    ChatGone,
    ChatLater,
    ChatRefusedFormat,
    ladder,
)
from unthrottle.ports import Posted

LATER = THROTTLED | {
    "internal_error",
    "fatal_error",
    "service_unavailable",
    "request_timeout",
    "unreadable_answer",
}
FORMAT = {
    "invalid_blocks",
    "invalid_blocks_format",
    "invalid_attachments",
    "msg_too_long",
    "msg_blocks_too_long",
    "invalid_metadata_format",
    "block_mismatch",
}
GONE = {"message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found"}

# slack_sdk logs every failure, with the body of the answer. We raise each one, with what matters of it.
_SILENT = logging.getLogger("unthrottle.adapters.slack.sdk")
_SILENT.setLevel(logging.CRITICAL)

_CODE = re.compile(r"[a-z0-9_.]{1,80}", re.ASCII)

DEFAULT_WAIT_S = 30  # for a 429 that names no usable Retry-After
SHORTEST_WAIT_S = 10  # for a Slack that is down
LONGEST_WAIT_S = 300


def classify(code: str, *, status: int) -> type[ChatError]:
    """Say what a failed call means, from Slack's error code and the HTTP status. An unknown code needs a person."""
    if status == 429 or status >= 500 or code in LATER:
        return ChatLater
    if code in FORMAT:
        return ChatRefusedFormat
    return ChatGone if code in GONE else ChatBroken


def wait_seconds(retry_after: str | None) -> int:
    """Read Slack's Retry-After; it has been seen missing and as a word. Never less than 1 s, never more than 300 s."""
    if retry_after is None or not retry_after.isascii() or not retry_after.isdecimal() or len(retry_after) > 9:
        return DEFAULT_WAIT_S
    return min(LONGEST_WAIT_S, max(1, int(retry_after)))


class SlackChannel:
    """The `Chat` port, for one channel. Making it calls nobody.

    *channel* is an id (C…): Slack posts to a name too, but updates by id only. *base_url* ends in /api/ and is for
    rehearsals.
    """

    def __init__(self, token: str, channel: str, base_url: str | None = None, timeout_s: int = 5) -> None:
        self._channel = channel
        self._timeout_s = timeout_s
        self._reply_origins = ["https://hooks.slack.com"]
        if base_url is None:
            self._client = WebClient(token=token, timeout=timeout_s, retry_handlers=[], logger=_SILENT)
        else:
            self._client = WebClient(
                token=token, timeout=timeout_s, retry_handlers=[], logger=_SILENT, base_url=base_url
            )
            parts = urlsplit(base_url)
            self._reply_origins.append(f"{parts.scheme}://{parts.netloc}")

    def post(
        self, text: str, blocks: Sequence[Block] = (), thread_ts: str | None = None, *, broadcast: bool = False
    ) -> Posted:
        """Post a new message, in a thread if *thread_ts* is given. *broadcast* shows a reply in the channel as well.

        Raises ChatLater, ChatGone (the thread is gone), ChatRefusedFormat or ChatBroken.
        """
        return self._send(
            text,
            blocks,
            lambda words, shown: self._client.chat_postMessage(
                channel=self._channel,
                text=words,
                blocks=shown,
                thread_ts=thread_ts,
                reply_broadcast=True if broadcast and thread_ts is not None else None,
                unfurl_links=False,
                unfurl_media=False,
            ),
            doing=f"post to {self._channel}",
        )

    def update(self, ts: str, text: str, blocks: Sequence[Block] = ()) -> Posted:
        """Replace the message *ts*. It notifies nobody. Raises as `post` does; ChatGone means: post a new one."""
        return self._send(
            text,
            blocks,
            lambda words, shown: self._client.chat_update(channel=self._channel, ts=ts, text=words, blocks=shown),
            doing=f"update message {ts} in {self._channel}",
        )

    def ephemeral(self, user: str, text: str) -> None:
        """Say something only *user* sees. Raises as `post` does."""
        self._call(
            lambda: self._client.chat_postEphemeral(channel=self._channel, user=user, text=text),
            doing=f"answer {user} in {self._channel}",
        )

    def reply(self, response_url: str, text: str, *, replace_original: bool = False) -> None:
        """Answer a command or a click by its own address, which works 5 times within 30 minutes.

        Raises ChatGone when it is used up, ChatBroken for an address that is not Slack's, ChatLater when Slack is down.
        """
        parts = urlsplit(response_url)
        if f"{parts.scheme}://{parts.netloc}" not in self._reply_origins:
            raise ChatBroken("The address to reply to is not Slack's; nothing was sent.", code="foreign_response_url")
        client = WebhookClient(response_url, timeout=self._timeout_s, retry_handlers=[], logger=_SILENT)
        try:
            answer = client.send(text=text, response_type="ephemeral", replace_original=replace_original)
        except (OSError, HTTPException, UnicodeDecodeError) as error:
            _lost("reply to a command", error)
        if answer.status_code != 200:
            code = answer.body[:80]
            reaction = ChatGone if answer.status_code in (404, 410) else classify(code, status=answer.status_code)
            _raise(reaction, "reply to a command", code, None)

    def members(self, usergroup: str) -> tuple[str, ...]:
        """List the user ids of a Slack user group (needs usergroups:read). Raises as `post` does."""
        answer = self._call(
            lambda: self._client.usergroups_users_list(usergroup=usergroup), doing=f"read the user group {usergroup}"
        )
        users = answer.get("users")
        return tuple(user for user in users if isinstance(user, str)) if isinstance(users, list) else ()

    def whoami(self) -> str:
        """Ask Slack whether the token is good (auth.test); give back the workspace's id. Raises as `post` does."""
        return str(self._call(self._client.auth_test, doing="test the token").get("team_id", ""))

    def try_channel(self) -> None:
        """Ask whether the app may write to the channel, by a message that only the app itself could see.

        Raises as `post` does; the code of a ChatBroken is user_not_in_channel, not_in_channel or channel_not_found where
        it was not invited (Slack API, chat.postEphemeral).
        """
        own = str(self._call(self._client.auth_test, doing="test the token").get("user_id", ""))
        self.ephemeral(own, "Unthrottle's doctor looked whether it may write here.")

    def _send(
        self,
        text: str,
        blocks: Sequence[Block],
        send: Callable[[str, list[dict[str, object]] | None], SlackResponse],
        *,
        doing: str,
    ) -> Posted:
        refused: ChatRefusedFormat | None = None
        for rung in ladder(text, blocks):
            shown = [dict(block) for block in rung.blocks] or None
            try:
                answer = self._call(partial(send, rung.text, shown), doing=doing)
            except ChatRefusedFormat as error:
                refused = error
                continue
            ts = answer.get("ts")
            if not isinstance(ts, str):
                raise ChatLater(
                    f"Tried to {doing}: Slack's answer names no message.",
                    code="unreadable_answer",
                    retry_after_s=SHORTEST_WAIT_S,
                    may_have_arrived=True,
                )
            return Posted(ts=ts)
        raise refused if refused is not None else AssertionError("a ladder has at least one rung")

    def _call(self, call: Callable[[], SlackResponse], *, doing: str) -> dict[str, object]:
        try:
            response = call()
        except SlackApiError as error:
            _refused(doing, error)
        except (OSError, HTTPException, SlackClientError, UnicodeDecodeError, AttributeError, RecursionError) as error:
            # AttributeError: slack_sdk 3.48 calls .get on an answer that is JSON but no object. RecursionError: an answer
            # nested without end.
            _lost(doing, error)
        if not isinstance(response.data, dict):
            _lost(doing, TypeError("the answer is no JSON object"))
        return response.data


def _refused(doing: str, error: SlackApiError) -> NoReturn:
    response = error.response
    if not isinstance(response, SlackResponse):
        _lost(doing, error)
    data = response.data if isinstance(response.data, dict) else {}
    code = str(data.get("error") or f"http_{response.status_code}")
    status = response.status_code or 0
    if not _CODE.fullmatch(code):  # slack_sdk puts its own sentence there when the body is a page and not Slack's JSON
        code = "unreadable_answer" if status == 200 else f"http_{status}"
    retry_after = {name.lower(): value for name, value in response.headers.items()}.get("retry-after")
    metadata = data.get("response_metadata")
    messages = metadata.get("messages") if isinstance(metadata, dict) else None
    detail = "; ".join(str(message)[:200] for message in messages[:3]) if isinstance(messages, list) else None
    _raise(classify(code, status=status), doing, code, retry_after, detail)


def _raise(
    reaction: type[ChatError],
    doing: str,
    code: str,
    retry_after: str | None,
    detail: str | None = None,
) -> NoReturn:
    said = f"Tried to {doing}: Slack answered {code}" + (f" ({detail})" if detail else "")
    if reaction is ChatLater:
        throttled = code in THROTTLED
        wait = wait_seconds(retry_after) if throttled else SHORTEST_WAIT_S
        # Slack on fatal_error: "It's possible some aspect of the operation succeeded before the error was raised."
        arrived = "Nothing was posted" if throttled else "It may have been posted"
        raise ChatLater(
            f"{said}. {arrived}; it is sent again in {wait} s.",
            code=code,
            retry_after_s=wait,
            may_have_arrived=not throttled,
        )
    advice = {
        ChatRefusedFormat: "the message's form has to be repaired.",
        ChatGone: "a new message is posted instead.",
    }.get(reaction, "check the app's token, its scopes, and that it is invited to the channel.")
    raise reaction(f"{said}. Nothing was posted; {advice}", code=code)


def _lost(doing: str, error: Exception) -> NoReturn:
    raise ChatLater(
        f"Tried to {doing}: no answer from Slack ({type(error).__name__}). It may have been posted; "
        f"it is sent again in {SHORTEST_WAIT_S} s.",
        code="no_answer",
        retry_after_s=SHORTEST_WAIT_S,
        may_have_arrived=True,
    ) from error
