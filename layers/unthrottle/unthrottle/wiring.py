"""Join the workflow and its neighbours to the real adapters. The one place that reads the environment.

Everything is made at first use: a broken setting is then an error at the first event that says what is wrong, and a front
door does not pay for what it does not use.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

from unthrottle.adapters.access import Access, Clients
from unthrottle.adapters.clock import SystemClock
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.adapters.pager import SnsPager
from unthrottle.adapters.secrets import AwsSecrets
from unthrottle.adapters.starter import LambdaStarter
from unthrottle.errors import BadInput, Refused, SettingsError, TryAgain
from unthrottle.settings import Settings, from_environment

if TYPE_CHECKING:
    from unthrottle.adapters.accounts import AwsAccounts
    from unthrottle.adapters.slack import SlackChannel
    from unthrottle.adapters.slack_light import SlackLight
    from unthrottle.audit.inventory import Survey
    from unthrottle.incident import Incident
    from unthrottle.intake import Receiver
    from unthrottle.ports import Actor, Backfills, Observer, Ports, Posted, Run

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
        )


class _Wired:
    """Adapters shared by the entry points, each made when it is first needed."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        _set_up_logging()
        self.settings: Settings = from_environment(environment)
        self.deployment = Deployment.read(environment)
        self.clock = SystemClock()

    @cached_property
    def clients(self) -> Clients:
        return Clients()

    @cached_property
    def own(self) -> Access:
        return Access(self.clients, self.deployment.region, clock=self.clock)

    @cached_property
    def incidents(self) -> IncidentsTable:
        return IncidentsTable(
            self.own, self.deployment.table, retention_days=self.settings.retention_days, clock=self.clock
        )

    @cached_property
    def accounts(self) -> "AwsAccounts":
        from unthrottle.adapters.accounts import AwsAccounts  # most commands need no account

        return AwsAccounts(
            home_account=self.deployment.account,
            home_region=self.deployment.region,
            observer_role_name=self.deployment.observer_role,
            actor_role_name=self.deployment.actor_role,
            external_id=self.deployment.external_id,
            clients=self.clients,
            clock=self.clock,
        )

    @cached_property
    def starter(self) -> LambdaStarter:
        return LambdaStarter(self.own, self.deployment.respond_function)

    @cached_property
    def secrets(self) -> AwsSecrets:
        return AwsSecrets(self.own, self.clock)

    @cached_property
    def pager(self) -> SnsPager:
        return SnsPager(self.own, self.settings.escalation_topic_arn, ops_items=self.deployment.ops_items)

    @cached_property
    def backfills(self) -> "Backfills | None":
        from unthrottle.adapters.dagy import DagyBackfills

        address, secret = self.settings.dagy_api_url, self.settings.dagy_secret_arn
        if not address:
            return None
        return DagyBackfills(
            address, lambda: self.secrets.token(secret) if secret else "", timeout_s=self.deployment.dagy_timeout_s
        )

    @cached_property
    def chat(self) -> "_LateChat | None":
        settings = self.settings
        if not settings.slack_channel or not settings.slack_secret_arn:
            return None
        return _LateChat(lambda: self.secrets.field(settings.slack_secret_arn, "bot_token"), self)

    @cached_property
    def slack_light(self) -> "SlackLight":
        from unthrottle.adapters.slack_light import SlackLight

        arn = self.settings.slack_secret_arn
        return SlackLight(
            lambda: self.secrets.field(arn, "bot_token"), self.clock, base_url=self.deployment.slack_api_url
        )

    def start_audit(self) -> None:
        """Start the audit function, and do not wait for it."""
        function = self.deployment.audit_function
        with self.own.use("lambda", f"start the audit {function}") as client:
            client.invoke(FunctionName=function, InvocationType="Event", Payload=b"{}")

    @cached_property
    def ports(self) -> "Ports":
        from unthrottle.ports import Ports

        return Ports(
            accounts=self.accounts,
            incidents=self.incidents,
            backfills=self.backfills,
            chat=self.chat,
            pager=self.pager,
            clock=self.clock,
        )


class _LateChat:
    """The channel, whose token is read when a message is sent and not before: inside a step, and after a rotation anew."""

    def __init__(self, token: Callable[[], str], wired: _Wired) -> None:
        self._token = token
        self._wired = wired

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
        return SlackChannel(token, wired.settings.slack_channel, base_url=wired.deployment.slack_api_url)


def _receiver(wired: _Wired) -> "Receiver":
    from unthrottle.intake import Receiver

    return Receiver(
        incidents=wired.incidents,
        starter=wired.starter,
        clock=wired.clock,
        settings=wired.settings,
        home_account=wired.deployment.account,
        alarms_of=lambda account, region: wired.accounts.observe(account, region, "intake").alarms,
        own_prefix=wired.deployment.stack,
    )


class _LateAccounts:
    """The accounts, made when one is first looked at: most of what people ask needs none."""

    def __init__(self, wired: _Wired) -> None:
        self._wired = wired

    def observe(self, account: str, region: str, incident_id: str) -> "Observer":
        return self._wired.accounts.observe(account, region, incident_id)

    def act(self, account: str, region: str, incident_id: str) -> "Actor":
        return self._wired.accounts.act(account, region, incident_id)


class Intake:
    """The entry point of functions/intake."""

    def __init__(self, wired: _Wired) -> None:
        self._wired = wired

    def handle(self, event: object) -> dict[str, Any]:
        return {"alarms": _receiver(self._wired).receive(event)}


class Respond:
    """The entry point of functions/respond."""

    def __init__(self, wired: _Wired) -> None:
        self._wired = wired

    def handle(self, run: "Run", event: Mapping[str, Any]) -> dict[str, Any]:
        from unthrottle.workflow import respond

        wired = self._wired
        incident = respond(run, wired.ports, wired.settings, wired.deployment.stack, str(event["incident_id"]))
        return {
            "incident_id": incident.id,
            "cause": incident.diagnosis.cause.value if incident.diagnosis else None,
            "status": incident.status.value,
            "outcome": incident.outcome.value,
        }


class SlackDoor:
    """The entry point of functions/slack."""

    def __init__(self, wired: _Wired) -> None:
        self._wired = wired

    def handle(self, event: object) -> dict[str, Any]:
        from unthrottle.slack_door import Door

        door = Door(
            app=self._app,
            control=self._control,
            clock=self._wired.clock,
            is_seen=self._wired.incidents.is_seen,
        )
        return door.answer(event)

    def _app(self) -> Any:
        from unthrottle.slack_door import SlackApp

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

    def _control(self) -> Any:
        from unthrottle.control import Control

        wired = self._wired
        return Control(
            incidents=wired.incidents,
            starter=wired.starter,
            accounts=_LateAccounts(wired),
            clock=wired.clock,
            settings=wired.settings,
            home_account=wired.deployment.account,
            home_region=wired.deployment.region,
            members=wired.slack_light.members,
            publish=wired.slack_light.publish,
            audit=wired.start_audit if wired.deployment.audit_function else None,
        )


class Sweep:
    """The entry point of functions/sweep."""

    def __init__(self, wired: _Wired) -> None:
        self._wired = wired

    def handle(self, _event: object) -> dict[str, Any]:
        from aws_lambda_powertools.metrics import MetricUnit

        from unthrottle.adapters.figures import write_figures
        from unthrottle.outbox import check_token, is_time_to_check
        from unthrottle.sweep import SWEEP_EVERY, sweep

        wired = self._wired
        found = wired.incidents.open_incidents()
        swept = sweep(wired.ports, wired.starter, found)
        reopened = self._reopen(None if swept.has_changed else found)
        if wired.chat is not None and is_time_to_check(wired.clock.now(), SWEEP_EVERY):
            check_token(wired.chat.whoami, wired.pager)
        write_figures(
            {
                "UnreportedSteps": (swept.backlog.unsent, MetricUnit.Count),
                "OldestUnsentAge": (swept.backlog.oldest_s, MetricUnit.Seconds),
            },
            stack=wired.deployment.stack,
        )
        return {**asdict(swept), "reopened": list(reopened)}

    def _reopen(self, still_open: "Sequence[Incident] | None") -> tuple[str, ...]:
        from unthrottle.reopen import Place, reopen

        wired = self._wired
        accounts = dict.fromkeys((wired.deployment.account, *wired.settings.member_accounts))
        places = [Place(account=account, region=wired.deployment.region) for account in accounts]
        return reopen(
            wired.accounts, wired.incidents, places, wired.clock.now(), _receiver(wired).take, still_open=still_open
        )


class Audit:
    """The entry point of functions/audit."""

    def __init__(self, wired: _Wired) -> None:
        self._wired = wired

    def handle(self, _event: object) -> dict[str, Any]:
        from unthrottle.adapters.audit_store import AuditStore
        from unthrottle.audit.weekly import look_over

        wired = self._wired
        region, session = wired.deployment.region, f"audit-{wired.clock.now():%Y%m%d}"
        accounts = dict.fromkeys((wired.deployment.account, *wired.settings.member_accounts))
        store = AuditStore(wired.own, wired.deployment.table, retention=timedelta(days=wired.settings.retention_days))
        ways = [
            (account, region, partial(_ways_to_look, wired.accounts, account, region, session)) for account in accounts
        ]
        return asdict(look_over(wired.ports, wired.settings, ways, store))


def _ways_to_look(accounts: "AwsAccounts", account: str, region: str, session: str) -> "tuple[Observer, Survey]":
    return accounts.observe(account, region, session), accounts.survey(account, region, session)


def intake_from_environment() -> Intake:
    """Wire the intake function. Raises SettingsError."""
    return Intake(_Wired(os.environ))


def respond_from_environment() -> Respond:
    """Wire the respond function. Raises SettingsError."""
    return Respond(_Wired(os.environ))


def slack_from_environment() -> SlackDoor:
    """Wire the slack function. Raises SettingsError."""
    return SlackDoor(_Wired(os.environ))


def sweep_from_environment() -> Sweep:
    """Wire the sweep function. Raises SettingsError."""
    return Sweep(_Wired(os.environ))


def audit_from_environment() -> Audit:
    """Wire the audit function. Raises SettingsError."""
    return Audit(_Wired(os.environ))


def _set_up_logging() -> None:
    """Write our log lines as JSON with their fields; once a process."""
    log = logging.getLogger("unthrottle")
    if log.handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(LambdaPowertoolsFormatter(service="unthrottle", utc=True))
    log.addHandler(handler)
    log.setLevel(os.environ.get("UNTHROTTLE_LOG_LEVEL", "INFO"))
    log.propagate = False
