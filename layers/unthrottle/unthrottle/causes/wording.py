"""How numbers and times are written in findings, so that every cause writes them the same way.

Knows no cause and no metric.
"""

from collections.abc import Sequence
from datetime import datetime

MOST_NAMES = 5


def number(value: float) -> str:
    """Write 1234.56 as 1,234.6 and 1234.0 as 1,234."""
    text = f"{value:,.1f}"
    return text.removesuffix(".0")


def percent(part: float, whole: float) -> str:
    """Write a share in percent; of nothing it is unknown, not zero."""
    return f"{number(100 * part / whole)} %" if whole > 0 else "unknown"


def clock(moment: datetime) -> str:
    """Write a UTC time to the minute."""
    return moment.strftime("%H:%M UTC")


def names(given: Sequence[str]) -> str:
    """List up to five names and count the rest."""
    shown = ", ".join(given[:MOST_NAMES])
    rest = len(given) - MOST_NAMES
    return f"{shown} and {rest} more" if rest > 0 else shown


def masked(key: str) -> str:
    """Show enough of a key to recognise it and not enough to leak it: keys may be personal data."""
    return f"{key[:2]}… ({len(key)} characters)" if len(key) > 4 else "… (short key)"
