"""What does a function usually run at this time of the day? From the same hours one and seven days before.

The larger of the two days counts: only what is unusual by both makes a hog of a function that was there all the time. An
hour that was not measured says nothing.
"""

from datetime import datetime, timedelta
from statistics import median

from unthrottle.evidence.pool import PoolEvidence
from unthrottle.evidence.series import Series

DAYS = (1, 7)
"""Yesterday, and the same day of the week before."""

ENOUGH = 6
"""Measured quarters of an hour that make a day's hours known: half of the three hours."""


def usual(evidence: PoolEvidence, name: str) -> float | None:
    """Return the most of the days' medians of a function's concurrency, or None where it was not read or not measured.

    A function has no datapoint where nothing of it ran; that is zero only where the account's series was measured.
    """
    return max((level for level in _levels(evidence, name) if level is not None), default=None)


def on_both_days(evidence: PoolEvidence, name: str) -> tuple[float, float] | None:
    """Return what a function ran yesterday and a week ago, or None where not both are known."""
    match _levels(evidence, name):
        case [float() | int() as yesterday, float() | int() as week_ago]:
            return yesterday, week_ago
        case _:
            return None


def _levels(evidence: PoolEvidence, name: str) -> list[float | None]:
    own = next((row.concurrency for row in evidence.earlier if row.name == name), None)
    account = evidence.earlier_account
    if own is None or account is None:
        return []
    return [
        _level(own, account, evidence.start - timedelta(days=day), evidence.end - timedelta(days=day)) for day in DAYS
    ]


def _level(own: Series, account: Series, start: datetime, end: datetime) -> float | None:
    hours = account.between(start, end)
    values = [own.at(hours.time_of(index)) or 0.0 for index, value in enumerate(hours.values) if value is not None]
    return median(values) if len(values) >= ENOUGH else None
