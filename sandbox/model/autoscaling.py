"""What does Application Auto Scaling do to a provisioned table?

Target tracking, once a minute: two minutes above the target scale out at once, fifteen well below it scale in, and
every decision is an activity that DescribeScalingActivities shows (AWS: "Managing throughput capacity automatically
with DynamoDB auto scaling"). The only part of the model that changes anything in the account, and only through it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Protocol

from sandbox.aws.records import IndexRecord, ScalingActivity, ScalingTarget, TableRecord
from sandbox.model.tables import TableMinute

SCALE_OUT_AFTER = 2
SCALE_IN_AFTER = 15
SCALE_IN_BELOW = 0.9
"""Of the target: AWS's scale-in alarm sits a little below the target, so that capacity does not swing."""
PULL_BACK_AFTER = 2
"""A value set by hand inside the bounds, on a table that does not need it, is taken back within two minutes."""
FREE_DECREASES = 4
"""Decreases available at midnight UTC; one more each hour (AWS: "Quotas", decreasing throughput)."""
REPEAT_AFTER = timedelta(minutes=5)
"""How often the same refusal to scale is listed again."""


class CapacityControl(Protocol):
    """The part of the account that scales tables."""

    def set_capacity(
        self, name: str, now: datetime, *, read: int | None = None, write: int | None = None, index: str | None = None
    ) -> None:
        """Begin a change of the provisioned capacity of a table or of one of its indexes."""


@dataclass(slots=True)
class _Watch:
    """What the two alarms of one target have seen so far."""

    over: int = 0
    under: int = 0
    capacity: int | None = None
    by_hand: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One scaling target in one minute, with the table or index that it scales."""

    record: TableRecord
    part: TableRecord | IndexRecord
    target: ScalingTarget
    watch: _Watch
    now: datetime
    account: CapacityControl

    @property
    def capacity(self) -> int:
        """Units per second in force."""
        return self.part.write if self.target.unit == "write" else self.part.read

    def scale(self, capacity: int, cause: str) -> None:
        """Have the capacity set and list the activity."""
        read, write = (None, capacity) if self.target.unit == "write" else (capacity, None)
        self.account.set_capacity(self.record.name, self.now, read=read, write=write, index=self.target.index)
        self.watch.over = self.watch.under = 0
        self.watch.capacity, self.watch.by_hand = capacity, False
        self._list(f"Setting {self.target.unit} capacity units to {capacity}.", cause, not_scaled=None)

    def refuse(self, reason: str) -> None:
        """List why nothing was scaled, unless that was listed a moment ago."""
        for activity in reversed(self.record.activities):
            same = (activity.unit, activity.index, activity.not_scaled) == (self.target.unit, self.target.index, reason)
            if same and self.now - activity.at < REPEAT_AFTER:
                return
        cause = f"the bounds are {self.target.minimum} to {self.target.maximum}"
        self._list(f"Attempting to scale {self.target.unit} capacity units.", cause, not_scaled=reason)

    def _list(self, description: str, cause: str, *, not_scaled: str | None) -> None:
        self.record.activities.append(
            ScalingActivity(
                at=self.now,
                unit=self.target.unit,
                index=self.target.index,
                description=description,
                cause=cause,
                status="Successful" if not_scaled is None else "Failed",
                not_scaled=not_scaled,
            )
        )


class Autoscaler:
    """Watches the scaling targets of all tables. Call `tick` after each minute of a table."""

    def __init__(self, account: CapacityControl) -> None:
        self._account = account
        self._watches: dict[tuple[str, str | None, str], _Watch] = {}

    def tick(self, record: TableRecord, minute: TableMinute, now: datetime) -> None:
        """Scale what needs it, for the next minute on. Does nothing on-demand or while a change is under way."""
        if record.billing != "provisioned" or record.status != "ACTIVE" or record.wanted_billing is not None:
            return
        for target in record.scaling:
            part = record if target.index is None else record.indexes.get(target.index)
            if part is not None and part.status == "ACTIVE":
                watch = self._watches.setdefault((record.name, target.index, target.unit), _Watch())
                case = _Case(record=record, part=part, target=target, watch=watch, now=now, account=self._account)
                _judge(case, _consumed(minute, target))


def _judge(case: _Case, consumed: float) -> None:
    """Count this minute in, and scale if it is time."""
    watch, target, capacity = case.watch, case.target, case.capacity
    if watch.capacity is not None and capacity != watch.capacity:
        watch.by_hand = capacity > watch.capacity
        watch.over = watch.under = 0
    watch.capacity = capacity
    share = consumed / capacity * 100 if capacity else 0.0
    watch.over = watch.over + 1 if share > target.target_percent else 0
    watch.under = watch.under + 1 if share < target.target_percent * SCALE_IN_BELOW else 0
    needed = max(1, ceil(consumed / target.target_percent * 100))
    if watch.over >= SCALE_OUT_AFTER:
        if capacity >= target.maximum:
            case.refuse("AlreadyAtMaxCapacity")
        else:
            cause = f"consumption was above {target.target_percent:g} % for {SCALE_OUT_AFTER} minutes"
            case.scale(min(target.maximum, max(needed, capacity + 1)), cause)
    elif watch.under >= (PULL_BACK_AFTER if watch.by_hand else SCALE_IN_AFTER):
        wanted = min(target.maximum, max(target.minimum, needed))
        if wanted < capacity and not _may_decrease(case.part, case.now):
            case.refuse("DecreaseLimitReached")
        elif wanted < capacity:
            case.scale(wanted, f"consumption was below {target.target_percent:g} % for {watch.under} minutes")


def _consumed(minute: TableMinute, target: ScalingTarget) -> float:
    if target.index is None:
        return minute.write.consumed if target.unit == "write" else minute.read.consumed
    flows = minute.index_write if target.unit == "write" else minute.index_read
    return flows[target.index].consumed if target.index in flows else 0.0


def _may_decrease(part: TableRecord | IndexRecord, now: datetime) -> bool:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return sum(1 for moment in part.decreases if moment >= midnight) < FREE_DECREASES + now.hour
