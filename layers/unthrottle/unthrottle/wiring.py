"""Join the ports to the real adapters. The one place that reads the environment; who uses them is in `entry/`.

Everything is imported and made at first use: a broken setting is then an error at the first event that says what is wrong,
and a front door does not pay for what it does not use.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from unthrottle.adapters.access import Access, Clients
from unthrottle.adapters.clock import SystemClock
from unthrottle.adapters.logs import set_up_logging
from unthrottle.errors import BadInput, Refused, SettingsError, TryAgain
from unthrottle.settings import Settings, from_environment

if TYPE_CHECKING:
    from unthrottle.adapters.accounts import AwsAccounts
    from unthrottle.adapters.incidents_table import IncidentsTable
    from unthrottle.adapters.pager import SnsPager
    from unthrottle.adapters.secrets import AwsSecrets
    from unthrottle.adapters.slack import SlackChannel
    from unthrottle.adapters.slack_light import SlackLight
    from unthrottle.adapters.starter import LambdaStarter
    from unthrottle.ports import Actor, Backfills, Observer, Ports, Posted

log = logging.getLogger("unthrottle")

_REQUIRED = ("UNTHROTTLE_INCIDENTS_TABLE", "UNTHROTTLE_OBSERVER_ROLE", "UNTHROTTLE_HOME_ACCOUNT", "AWS_REGION")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Where this copy of Unthrottle runs: names that the stack gives its functions, beside the settings."""

    table: str
    observer_role: str
    actor_role: str
    account: str
    region: str
    stack: str | None
    respond_function: str
    audit_function: str
    slack_api_url: str | None
    dagy_timeout_s: float
    external_id: str | None = None
    ops_items: bool = False
    partition: str = "aws"

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Deployment":
        """Read the names. Raises SettingsError naming every missing one."""
        missing = [name for name in _REQUIRED if not environment.get(name)]
        if missing:
            raise SettingsError(
                f"Cannot start: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set. Nothing was changed. "
                "The stack's template sets these variables; deploy it again."
            )
        return cls(
            table=environment["UNTHROTTLE_INCIDENTS_TABLE"],
            observer_role=environment["UNTHROTTLE_OBSERVER_ROLE"],
            # The name stays known in dry-run, where the role is not created: asking for it is refused by AWS.
            actor_role=environment.get("UNTHROTTLE_ACTOR_ROLE") or "unthrottle-has-no-actor-in-dry-run",
            account=environment["UNTHROTTLE_HOME_ACCOUNT"],
            region=environment["AWS_REGION"],
            stack=environment.get("UNTHROTTLE_STACK") or None,
            respond_function=environment.get("UNTHROTTLE_RESPOND_FUNCTION", ""),
            audit_function=environment.get("UNTHROTTLE_AUDIT_FUNCTION", ""),
            slack_api_url=environment.get("UNTHROTTLE_SLACK_API_URL") or None,
            dagy_timeout_s=float(environment.get("UNTHROTTLE_DAGY_TIMEOUT_S") or 5),
            external_id=environment.get("UNTHROTTLE_EXTERNAL_ID") or None,
            ops_items=environment.get("UNTHROTTLE_OPS_ITEMS") == "true",
            partition=environment.get("UNTHROTTLE_PARTITION") or "aws",
        )


class Wired:
    """Adapters shared by the entry points, each made when it is first needed."""

    def __init__(self, environment: Mapping[str, str], clients: Clients | None = None) -> None:
        set_up_logging()
        self.clients = clients or Clients()
        self.settings: Settings = from_environment(environment)
        self.deployment = Deployment.read(environment)
        self.clock = SystemClock()

    @classmethod
    def from_environment(cls, clients: Clients | None = None) -> "Wired":
        """Wire what a function's own environment says. Raises SettingsError."""
        return cls(os.environ, clients)

    @cached_property
    def own(self) -> Access:
        return Access(self.clients, self.deployment.region, clock=self.clock)

    @cached_property
    def incidents(self) -> "IncidentsTable":
        from unthrottle.adapters.incidents_table import IncidentsTable

        return IncidentsTable(
            self.own, self.deployment.table, retention_days=self.settings.retention_days, clock=self.clock
        )

    @cached_property
    def accounts(self) -> "AwsAccounts":
        from unthrottle.adapters.accounts import AwsAccounts

        return AwsAccounts(
            home_account=self.deployment.account,
            home_region=self.deployment.region,
            observer_role_name=self.deployment.observer_role,
            actor_role_name=self.deployment.actor_role,
            external_id=self.deployment.external_id,
            partition=self.deployment.partition,
            clients=self.clients,
            clock=self.clock,
        )

    @cached_property
    def starter(self) -> "LambdaStarter":
        from unthrottle.adapters.starter import LambdaStarter

        return LambdaStarter(self.own, self.deployment.respond_function)

    @cached_property
    def secrets(self) -> "AwsSecrets":
        from unthrottle.adapters.secrets import AwsSecrets

        return AwsSecrets(self.own, self.clock)

    @cached_property
    def pager(self) -> "SnsPager":
        from unthrottle.adapters.pager import SnsPager

        return SnsPager(self.own, self.settings.escalation_topic_arn, ops_items=self.deployment.ops_items)

    @cached_property
    def backfills(self) -> "Backfills | None":
        from unthrottle.adapters.dagy import DagyBackfills, UnusableDagy

        address, secret = self.settings.dagy_api_url, self.settings.dagy_secret_arn
        if not address:
            return None
        try:
            return DagyBackfills(
                address, lambda: self.secrets.token(secret) if secret else "", timeout_s=self.deployment.dagy_timeout_s
            )
        except ValueError as error:  # healing tables and functions does not wait for a correct address
            log.error("dagy.unusable", extra={"error": str(error)})
            return UnusableDagy(str(error))

    @cached_property
    def chat(self) -> "LateChat | None":
        return self.chat_at(self.settings.slack_channel)

    def chat_at(self, channel: str) -> "LateChat | None":
        """Make the way to a channel; None where there is no Slack."""
        arn = self.settings.slack_secret_arn
        if not channel or not arn:
            return None
        return LateChat(lambda: self.secrets.field(arn, "bot_token"), self, channel)

    @cached_property
    def slack_light(self) -> "SlackLight":
        from unthrottle.adapters.slack_light import SlackLight

        arn = self.settings.slack_secret_arn
        return SlackLight(
            lambda: self.secrets.field(arn, "bot_token"), self.clock, base_url=self.deployment.slack_api_url
        )

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Every account and Region looked after, home first."""
        return self.settings.places(self.deployment.account, self.deployment.region)

    def start_audit(self) -> None:
        """Start the audit function, and do not wait for it."""
        function = self.deployment.audit_function
        with self.own.use("lambda", f"start the audit {function}") as client:
            client.invoke(FunctionName=function, InvocationType="Event", Payload=b"{}")

    @cached_property
    def ports(self) -> "Ports":
        from unthrottle.ports import Ports
        from unthrottle.report import shell

        shell.reported_by(self.deployment.stack, self.deployment.region)
        return Ports(
            accounts=LateAccounts(self),
            incidents=self.incidents,
            backfills=self.backfills,
            chat=self.chat,
            pager=self.pager,
            clock=self.clock,
            channels=lambda account, region: self.chat_at(self.settings.channel_of(account, region)),
        )


class LateChat:
    """A channel, whose token is read when a message is sent and not before: inside a step, and after a rotation anew."""

    def __init__(self, token: Callable[[], str], wired: Wired, channel: str) -> None:
        self._token = token
        self._wired = wired
        self._name = channel

    def post(
        self, text: str, blocks: "Sequence[dict[str, object]]", *, thread_ts: str | None = None, broadcast: bool = False
    ) -> "Posted":
        return self._channel().post(text, blocks, thread_ts=thread_ts, broadcast=broadcast)

    def update(self, ts: str, text: str, blocks: "Sequence[dict[str, object]]") -> "Posted":
        return self._channel().update(ts, text, blocks)

    def whoami(self) -> str:
        """Ask Slack whether the token is good. Raises as `post` does."""
        return self._channel().whoami()

    def _channel(self) -> "SlackChannel":
        from unthrottle.adapters.slack import SlackChannel
        from unthrottle.chat import ChatBroken, ChatLater

        wired = self._wired
        try:
            token = self._token()
        except TryAgain as error:  # no token is as good as one that Slack does not take: the report goes another way
            raise ChatLater(str(error), code="no-token", retry_after_s=0) from error
        except (BadInput, Refused) as error:
            raise ChatBroken(str(error), code="no-token") from error
        return SlackChannel(token, self._name, base_url=wired.deployment.slack_api_url)


class LateAccounts:
    """The accounts, made when one is first looked at: most of what people ask, and of what a workflow resumes for, needs none."""

    def __init__(self, wired: Wired) -> None:
        self._wired = wired

    def observe(self, account: str, region: str, incident_id: str) -> "Observer":
        return self._wired.accounts.observe(account, region, incident_id)

    def act(self, account: str, region: str, incident_id: str) -> "Actor":
        return self._wired.accounts.act(account, region, incident_id)


def clients_shared_with_boto3() -> Clients:
    """Make ours and boto3's default session one: by the latter the durable SDK makes its client, and two would cost twice."""
    import boto3
    import botocore.session

    session = botocore.session.Session()
    boto3.setup_default_session(botocore_session=session)
    return Clients(session)
