"""What does Slack send when a person types a command or presses a button?

Builds the HTTP API event (payload 2.0) that the front door would get, body in base64 as API Gateway delivers forms, and
signs it as Slack does, written here a second time so that the bot's own check is judged by something else. Knows
nothing of what is answered.
"""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackPeople:
    """The people of one workspace, acting in one channel. `home_team` is set for a guest from another workspace."""

    secret: str
    team: str = "T0SANDBOX"
    channel: str = "C0OPS"
    app: str = "A0UNTHROTTLE"
    home_team: str | None = None

    def say(self, user: str, text: str, now: datetime, response_url: str = "") -> dict[str, object]:
        """Type a slash command; *text* is the whole of it: `/unthrottle status`."""
        command, _, rest = text.partition(" ")
        form = {
            "team_id": self.team,
            "team_domain": "sandbox",
            "channel_id": self.channel,
            "channel_name": "ops",
            "user_id": user,
            "user_name": user.lower(),
            "command": command,
            "text": rest,
            "api_app_id": self.app,
            "is_enterprise_install": "false",
            "response_url": response_url or f"https://hooks.slack.com/commands/{self.team}/1/sandbox",
            "trigger_id": f"{int(now.timestamp())}.{user}.command",
        }
        return self._signed(urlencode(form), now)

    def click(
        self, user: str, action_id: str, value: str, now: datetime, *, message_ts: str, response_url: str = ""
    ) -> dict[str, object]:
        """Press the button *action_id* (`approve`, `reject`, `revert`, `keep`) with its *value* under a message."""
        payload = {
            "type": "block_actions",
            "user": {"id": user, "username": user.lower(), "team_id": self.home_team or self.team},
            "api_app_id": self.app,
            "container": {
                "type": "message",
                "message_ts": message_ts,
                "channel_id": self.channel,
                "is_ephemeral": False,
            },
            "trigger_id": f"{int(now.timestamp())}.{user}.{action_id}",
            "team": {"id": self.team, "domain": "sandbox"},
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": {"id": self.channel, "name": "ops"},
            "response_url": response_url or f"https://hooks.slack.com/actions/{self.team}/1/sandbox",
            "actions": [
                {
                    "type": "button",
                    "action_id": action_id,
                    "block_id": "decide",
                    "text": {"type": "plain_text", "text": action_id.capitalize(), "emoji": True},
                    "value": value,
                    "action_ts": f"{now.timestamp():.6f}",
                }
            ],
        }
        return self._signed(urlencode({"payload": json.dumps(payload)}), now)

    def _signed(self, body: str, now: datetime) -> dict[str, object]:
        timestamp = str(int(now.timestamp()))
        signed = hmac.new(self.secret.encode(), f"v0:{timestamp}:{body}".encode(), hashlib.sha256).hexdigest()
        return {
            "version": "2.0",
            "routeKey": "POST /slack",
            "rawPath": "/slack",
            "rawQueryString": "",
            "headers": {
                "content-type": "application/x-www-form-urlencoded",
                "user-agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
                "x-slack-request-timestamp": timestamp,
                "x-slack-signature": f"v0={signed}",
            },
            "requestContext": {
                "http": {"method": "POST", "path": "/slack", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.7"},
                "requestId": "sandbox",
                "timeEpoch": int(now.timestamp() * 1000),
            },
            "body": base64.b64encode(body.encode()).decode(),
            "isBase64Encoded": True,
        }
