"""What the operator has decided, validated once. Names are those of the stack's parameters.

Reads nothing by itself: it is given a mapping of parameters, or an environment. A wrong value never becomes a default:
all wrong values are reported together in one `SettingsError`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from unthrottle.errors import SettingsError


class Mode(StrEnum):
    """How far the bot may go. Order matters: a tag may narrow the stack's mode, never widen it."""

    OFF = "off"
    DRY_RUN = "dry-run"
    APPROVE = "approve"
    AUTO = "auto"

    def narrowed_by(self, other: "Mode") -> "Mode":
        """Return the more careful of the two."""
        order = list(Mode)
        return min(self, other, key=order.index)


class WhenSlackIsDown(StrEnum):
    """Whether new changes go on when no report can reach Slack."""

    CONTINUE = "continue"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The stack's parameters, typed. Defaults are those of `template.yaml`."""

    mode: Mode = Mode.DRY_RUN
    slack_channel: str = ""
    slack_channels: tuple[str, ...] = ()
    slack_secret_arn: str = ""
    dagy_api_url: str = ""
    dagy_secret_arn: str = ""
    table_prefix: str = "dagy-"
    max_pool_share: int = 25
    cap_lease_minutes: int = 120
    on_demand_lease_minutes: int = 1440
    approval_minutes: int = 30
    cooldown_minutes: int = 30
    max_actions_per_hour: int = 5
    provisioned_table_action: str = "switch-to-on-demand"
    escalation_topic_arn: str = ""
    change_calendar_arn: str = ""
    member_accounts: tuple[str, ...] = ()
    member_regions: tuple[str, ...] = ()
    tag_prefix: str = "unthrottle"
    operators: tuple[str, ...] = ()
    viewers: tuple[str, ...] = ()
    when_slack_is_down: WhenSlackIsDown = WhenSlackIsDown.CONTINUE
    max_hourly_cost: float = 25.0
    retention_days: int = 400
    act_before_throttling: bool = False

    @property
    def cap_lease(self) -> timedelta:
        return timedelta(minutes=self.cap_lease_minutes)

    @property
    def on_demand_lease(self) -> timedelta:
        return timedelta(minutes=self.on_demand_lease_minutes)

    @property
    def approval_time(self) -> timedelta:
        return timedelta(minutes=self.approval_minutes)

    @property
    def cooldown(self) -> timedelta:
        return timedelta(minutes=self.cooldown_minutes)

    def channel_of(self, account: str, region: str) -> str:
        """Name the channel for what happens in an account and Region: the closest entry of SlackChannels, else SlackChannel."""
        named = dict(entry.split("=", 1) for entry in self.slack_channels)
        return named.get(f"{account}/{region}") or named.get(account) or self.slack_channel

    @property
    def channels(self) -> tuple[str, ...]:
        """Name every channel that gets reports, the default first, each once."""
        return tuple(dict.fromkeys([self.slack_channel, *(entry.split("=", 1)[1] for entry in self.slack_channels)]))

    def places(self, account: str, region: str) -> tuple[tuple[str, str], ...]:
        """List every account and Region looked after; those given are home. Without MemberRegions members are in its Region.

        The home account's other Regions are looked after where it is its own member.
        """
        regions = self.member_regions or (region,)
        there = [(member, one) for member in self.member_accounts for one in regions]
        return tuple(dict.fromkeys([(account, region), *there]))


class _Wrong(ValueError):
    """What is allowed, in words."""


def _text(pattern: str, allowed: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if re.fullmatch(pattern, value) is None:
            raise _Wrong(allowed)
        return value

    return parse


def _whole(low: int, high: int, unit: str) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if re.fullmatch(r"[0-9]{1,7}", value) is None or not low <= int(value) <= high:
            raise _Wrong(f"write a whole number of {unit} from {low} to {high}, e.g. {max(low, min(high, 30))}")
        return int(value)

    return parse


def _number(low: float, high: float, unit: str) -> Callable[[str], float]:
    def parse(value: str) -> float:
        if re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,4})?", value) is None or not low <= float(value) <= high:
            raise _Wrong(f"write a number of {unit} from {low:g} to {high:g}, e.g. 25")
        return float(value)

    return parse


def _choice(*allowed: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value not in allowed:
            raise _Wrong("write one of " + ", ".join(allowed))
        return value

    return parse


def _flag(value: str) -> bool:
    if value.lower() not in {"true", "false"}:
        raise _Wrong("write true or false")
    return value.lower() == "true"


def _list_of(pattern: str, allowed: str) -> Callable[[str], tuple[str, ...]]:
    def parse(value: str) -> tuple[str, ...]:
        items = tuple(item for item in re.split(r"[,\s]+", value) if item)
        if any(re.fullmatch(pattern, item) is None for item in items):
            raise _Wrong(allowed)
        return items

    return parse


_CHANNEL = r"[CG][A-Z0-9]{2,20}"
_CHANNEL_ID = "in Slack at the bottom of the channel's details; messages cannot be updated by a name such as #ops"
_LOOPBACK = r"http://(127\.0\.0\.1|localhost)"
"""Without TLS the token reaches this computer only, as in a rehearsal."""
_ARN = r"|arn:aws[a-z-]*:{service}:[a-z0-9-]*:[0-9]{{12}}:.+"

_PARSERS: dict[str, Callable[[str], object]] = {
    "Mode": lambda value: Mode(_choice("dry-run", "approve", "auto")(value)),
    "SlackChannel": _text(rf"|{_CHANNEL}", f"write the channel's id such as C0123ABCD, {_CHANNEL_ID}"),
    "SlackChannels": _list_of(
        rf"[0-9]{{12}}(/[a-z]{{2}}(-[a-z]+)+-[0-9])?={_CHANNEL}",
        "write account=channel or account/Region=channel, separated by commas, e.g. 222222222222/eu-west-1=C0123ABCD; "
        f"the channel's id stands {_CHANNEL_ID}",
    ),
    "SlackSecretArn": _text(_ARN.format(service="secretsmanager"), "write the ARN of a Secrets Manager secret"),
    "DagyApiUrl": _text(
        rf"|(https://[A-Za-z0-9._-]{{1,200}}|{_LOOPBACK})(:[0-9]{{1,5}})?(/[A-Za-z0-9._/-]{{0,200}})?",
        "write an https address without query or user name: dagy's token must not travel in clear text",
    ),
    "DagySecretArn": _text(_ARN.format(service="secretsmanager"), "write the ARN of a Secrets Manager secret"),
    "TablePrefix": _text(r"[A-Za-z0-9_.-]{0,200}", "write the first letters of dagy's table names, e.g. dagy-"),
    "MaxPoolShare": _whole(1, 90, "percent"),
    "CapLeaseMinutes": _whole(5, 10080, "minutes"),
    "OnDemandLeaseMinutes": _whole(30, 43200, "minutes"),
    "ApprovalMinutes": _whole(1, 1440, "minutes"),
    "CooldownMinutes": _whole(0, 1440, "minutes"),
    "MaxActionsPerHour": _whole(0, 100, "actions"),
    "ProvisionedTableAction": _choice("switch-to-on-demand", "raise-capacity"),
    "EscalationTopicArn": _text(_ARN.format(service="sns"), "write the ARN of an SNS topic"),
    "ChangeCalendarArn": _text(
        r"|arn:aws[a-z-]*:ssm:[a-z0-9-]*:[0-9]{12}:document/.+", "write the ARN of an SSM Change Calendar document"
    ),
    "MemberAccounts": _list_of(r"[0-9]{12}", "write account ids of 12 digits, separated by commas"),
    "MemberRegions": _list_of(r"[a-z]{2}(-[a-z]+)+-[0-9]", "write Regions such as eu-west-1, separated by commas"),
    "TagPrefix": _text(r"[A-Za-z0-9_.-]{1,60}", "write letters, digits, '_', '.', '-'"),
    "Operators": _list_of(r"[UWS][A-Z0-9]{2,20}", "write Slack user ids (U... or W...) or user group ids (S...)"),
    "Viewers": _list_of(r"[UWS][A-Z0-9]{2,20}", "write Slack user ids (U... or W...) or user group ids (S...)"),
    "WhenSlackIsDown": lambda value: WhenSlackIsDown(_choice("continue", "pause")(value)),
    "MaxHourlyCost": _number(0, 100000, "USD"),
    "RetentionDays": _whole(1, 3650, "days"),
    "ActBeforeThrottling": _flag,
}


def snake(parameter: str) -> str:
    """Turn a parameter's name into a field's: MaxPoolShare -> max_pool_share."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", parameter).lower()


def variable(parameter: str) -> str:
    """Name the environment variable that carries a parameter: MaxPoolShare -> UNTHROTTLE_MAX_POOL_SHARE."""
    return "UNTHROTTLE_" + snake(parameter).upper()


PARAMETERS: tuple[str, ...] = tuple(_PARSERS)
"""Every setting by its stack parameter's name."""


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    return str(value)


def _build(given: Mapping[str, object], name_of: Callable[[str], str], unknown: Sequence[str] = ()) -> Settings:
    wrong: list[str] = []
    if unknown:
        wrong.append(f"Unknown: {', '.join(unknown)}; known settings are {', '.join(PARAMETERS)}.")
    values: dict[str, object] = {}
    for parameter, parse in _PARSERS.items():
        name = name_of(parameter)
        if name not in given:
            continue
        text = _in_words(given[name]).strip()
        try:
            values[snake(parameter)] = parse(text)
        except _Wrong as allowed:
            shown = text if len(text) <= 60 else text[:57] + "..."
            wrong.append(f"{name} is {shown!r}; {allowed}.")
    if wrong:
        raise SettingsError(
            "Cannot start with these settings. Nothing was changed. " + " ".join(wrong) + " Correct them and try again."
        )
    return Settings(**values)  # type: ignore[arg-type]  # the parsers' table holds each field's type


def from_parameters(parameters: Mapping[str, object]) -> Settings:
    """Read settings given by the stack's parameter names; unknown names are an error.

    Raises SettingsError naming every unknown name and every wrong value.
    """
    unknown = sorted(str(name)[:60] for name in set(parameters) - set(_PARSERS))
    return _build(parameters, lambda parameter: parameter, unknown)


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Read settings from UNTHROTTLE_* variables; absent or empty ones keep their defaults.

    Raises SettingsError naming every wrong variable.
    """
    # An empty table prefix is a value: every table is dagy's. For all others empty stands for "not set".
    kept = {name: value for name, value in environment.items() if value or name == variable("TablePrefix")}
    return _build(kept, variable)
