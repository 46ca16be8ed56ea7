"""What is an exposure, how bad is it, and in which order are people told? Types and ranking. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Every kind of exposure. The ids are public. Their order is the order among equally bad ones."""

    TAKES_THE_POOL = "takes-the-pool"
    POOL_NEARLY_FULL = "pool-nearly-full"
    NO_ROOM_ABOVE_FLOOR = "no-room-above-floor"
    TABLE_NEAR_CAPACITY = "table-near-capacity"
    AUTOSCALING_AT_MAXIMUM = "autoscaling-at-maximum"
    INDEX_SMALLER_THAN_TABLE = "index-smaller-than-table"
    ON_DEMAND_NEAR_MAXIMUM = "on-demand-near-maximum"
    FEW_KEYS = "few-keys"
    STARVES_FIRST = "starves-first"
    LOSES_EVENTS = "loses-events"
    SOURCE_WITHOUT_MAXIMUM = "event-source-without-maximum"
    NO_AUTOSCALING = "no-autoscaling"
    NOT_WATCHED = "not-watched"
    TAGS_CONTRADICT = "tags-contradict"
    USELESS_RESERVATION = "useless-reservation"
    SWITCHED_OFF = "switched-off"
    NO_POINT_IN_TIME_RECOVERY = "no-point-in-time-recovery"


class Severity(StrEnum):
    """High: it has happened, or one ordinary event away. Medium: it takes growth or bad luck. Low: worth tidying."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """What removes the exposure: in words, as AWS CLI, as Terraform and as CloudFormation. Empty: there is no such form."""

    words: str
    cli: str = ""
    terraform: str = ""
    cloudformation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """One standing exposure. `weight` orders exposures of one kind, the heaviest first; its unit depends on the kind."""

    kind: Kind
    severity: Severity
    resource: str
    title: str
    risk: str
    evidence: tuple[str, ...]
    fix: Fix
    owner: str | None = None
    weight: float = 0.0
    checks: tuple[str, ...] = ()


_SEVERITIES = tuple(Severity)
_KINDS = tuple(Kind)


def ranked(exposures: Iterable[Exposure]) -> tuple[Exposure, ...]:
    """Put the worst first; equal ones in an order that two runs share."""
    return tuple(
        sorted(
            exposures,
            key=lambda item: (
                _SEVERITIES.index(item.severity),
                _KINDS.index(item.kind),
                -item.weight,
                item.resource,
            ),
        )
    )


def owner_of(tags: Mapping[str, str], keys: Iterable[str]) -> str | None:
    """Name the owner by the first of the tag keys that is set; keys are compared without case."""
    lower = {key.lower(): value.strip() for key, value in tags.items()}
    return next((lower[key.lower()] for key in keys if lower.get(key.lower())), None)
