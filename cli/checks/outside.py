"""Does the bot reach people and dagy? Sends nothing that a person sees."""

import os
from collections.abc import Iterator

from cli.checks.check import Check
from cli.deployment import Found
from unthrottle.adapters.dagy import DagyBackfills
from unthrottle.adapters.own_setup import OwnSetUp
from unthrottle.adapters.slack import SlackChannel
from unthrottle.backfills import BackfillsRefused, BackfillsUnavailable
from unthrottle.chat import ChatError, ChatLater
from unthrottle.errors import BadInput, NotFound

_SLACK_HELP = {
    "token_revoked": "The token was revoked: install the app again and store its new bot token in the secret.",
    "account_inactive": "The app was removed: install it again and store its new bot token in the secret.",
    "invalid_auth": "Slack does not know the token: store the app's bot token (xoxb-…) as bot_token in the secret.",
    "not_in_channel": "The app is not in the channel: invite it there with /invite @unthrottle.",
    "user_not_in_channel": "The app is not in the channel: invite it there with /invite @unthrottle.",
    "channel_not_found": "The app sees no such channel: check SlackChannel, and invite the app with /invite @unthrottle.",
    "is_archived": "The channel is archived: name another one as SlackChannel.",
    "missing_scope": "The app lacks a scope: install it again from slack-app-manifest.yaml.",
}


def slack(found: Found) -> Iterator[Check]:
    settings = found.settings
    if not settings.slack_channel or not settings.slack_secret_arn:
        yield Check(
            name="slack",
            state="broken",
            text="SlackChannel or SlackSecretArn is not set: no report reaches anyone. Set both (docs/slack.md).",
        )
        return
    fields: dict[str, str] = {}
    for field in ("bot_token", "signing_secret"):
        try:
            fields[field] = found.secrets.field(settings.slack_secret_arn, field)
        except (NotFound, BadInput) as error:
            yield Check(name="slack secret", state="broken", text=f"{error} docs/slack.md says what is in it.")
            if isinstance(error, NotFound):
                return
    if len(fields) == 2 and all(fields.values()):
        yield Check(name="slack secret", state="ok", text="It has bot_token and signing_secret.")
    elif "" in fields.values():
        yield Check(
            name="slack secret", state="broken", text="A field of it is empty. docs/slack.md says what is in it."
        )
    if fields.get("bot_token"):
        for number, channel in enumerate(settings.channels):
            yield from _channel(fields["bot_token"], channel, also="" if number == 0 else f" {channel}")


def _channel(token: str, name: str, *, also: str) -> Iterator[Check]:
    """Try a channel. `also` ends the names of checks about a channel of SlackChannels."""
    channel = SlackChannel(token, name, base_url=os.environ.get("UNTHROTTLE_SLACK_API_URL") or None)
    try:
        if not also:
            team = channel.whoami()
            yield Check(name="slack", state="ok", text=f"The token is good for workspace {team}.")
        channel.try_channel()
    except ChatLater as error:
        words = f"Slack cannot be reached now: {error.code}. Try again later."
        yield Check(name=f"slack{also}", state="broken", text=words)
    except ChatError as error:
        advice = _SLACK_HELP.get(error.code, str(error))
        yield Check(name=f"slack{also}", state="broken", text=f"Slack answered {error.code}. {advice}")
    else:
        yield Check(name=f"slack channel{also}", state="ok", text=f"The app may write to {name}.")


def dagy(found: Found) -> Iterator[Check]:
    settings = found.settings
    if not settings.dagy_api_url:
        yield Check(name="dagy", state="ok", text="Not configured: backfills are neither seen nor cancelled.")
        return
    if not settings.dagy_secret_arn:
        yield Check(
            name="dagy", state="broken", text="DagyApiUrl is set and DagySecretArn is not: dagy asks for a token."
        )
        return
    try:
        token = found.secrets.token(settings.dagy_secret_arn)
        running = DagyBackfills(settings.dagy_api_url, lambda: token, timeout_s=5).running()
    except (BackfillsUnavailable, BackfillsRefused, ValueError) as error:
        yield Check(
            name="dagy",
            state="broken",
            text=f"{error} Backfills are neither seen nor cancelled: check DagyApiUrl, that it is reached from here, and the "
            "token in DagySecretArn.",
        )
    except (NotFound, BadInput) as error:
        yield Check(name="dagy", state="broken", text=f"{error} Store dagy's token in DagySecretArn.")
    else:
        yield Check(name="dagy", state="ok", text=f"It answers; {len(running)} backfills run.")


def paging(found: Found) -> Iterator[Check]:
    topic = found.settings.escalation_topic_arn
    if not topic:
        words = "No EscalationTopicArn: an escalation is a Slack message only. Name an SNS topic that pages a person."
        yield Check(name="paging", state="look", text=words)
        return
    try:
        subscribers = OwnSetUp(found.session.access).subscribers(topic)
    except NotFound:
        words = (
            f"There is no topic {topic}: an escalation pages nobody. Make it, or name another as EscalationTopicArn."
        )
        yield Check(name="paging", state="broken", text=words)
        return
    yield Check(
        name="paging",
        state="ok" if subscribers else "broken",
        text=f"The topic has {subscribers} confirmed subscriptions."
        if subscribers
        else f"Nobody has confirmed a subscription of {topic}: an escalation pages nobody. Subscribe your pager to it.",
    )
