"""What an alarm event can be read as: firing, muted, needs a look-up, or not mine. Types only.

Standard library only: it runs in the front door.
"""

from dataclasses import dataclass
from datetime import datetime

from unthrottle.subjects import Subject

EARLY_METRICS = frozenset({"ConcurrentExecutions", "UnreservedConcurrentExecutions", "ClaimedAccountConcurrency"})
"""Metrics of use: an alarm on these alone may come before anybody is throttled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """One state change that asks for a look: who it is about and how to recognise it again.

    `dedupe_key` is alarm ARN + contributor + state time: the same for every delivery of one change, by any path.
    """

    dedupe_key: str
    alarm_name: str
    account: str
    region: str
    state_at: datetime
    subjects: tuple[Subject, ...]
    metrics: tuple[str, ...]
    reason: str = ""
    contributor: str | None = None
    sender: str = ""
    """The account the alarm is in, as EventBridge says; empty: it is `account`."""
    owners: tuple[str, ...] = ()
    """The accounts that its metrics name: a monitoring account's alarms may watch another's (CloudWatch guide, cross-account)."""
    is_passed_on: bool = False
    """Whether it came inside a message of SNS or SQS: whoever may send there wrote the account and the Region in it."""

    @property
    def strangers(self) -> tuple[str, ...]:
        """Name the accounts it speaks of that are not its own."""
        return tuple(owner for owner in self.owners if owner != (self.sender or self.account))

    @property
    def is_early_warning(self) -> bool:
        """Say whether the alarm watches use rather than throttling, so that nobody may be throttled yet."""
        return bool(self.metrics) and all(name in EARLY_METRICS for name in self.metrics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """The alarm entered ALARM and is about something Unthrottle heals."""

    trigger: Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Muted:
    """A person muted or suppressed this alarm on purpose: recorded, reported, not acted on."""

    trigger: Trigger
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """The event names no metric (a composite alarm, or no configuration): these alarms' definitions tell."""

    dedupe_key: str
    alarm_name: str
    names: tuple[str, ...]
    account: str
    region: str
    state_at: datetime
    reason: str = ""
    muted_by: str | None = None
    contributor: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    """What a contributor's event says of itself, such as its table; the definition alone does not name it."""
    is_passed_on: bool = False
    """As a trigger's. What the definitions then say is CloudWatch's own word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMine:
    """Nothing to do, and why. `reason` is one of a closed list of ids."""

    reason: str
    detail: str
    alarm_name: str | None = None


Reading = Firing | Muted | LookUp | NotMine
