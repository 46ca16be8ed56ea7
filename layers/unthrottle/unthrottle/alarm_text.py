"""Take single values out of an event that a stranger may have sent: the wrong type is nothing, and every text is bounded.

Standard library only: it runs in the front door. Raises nothing.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime

REASON_LENGTH = 500
NAME_LENGTH = 255
"""CloudWatch's longest alarm name; what is longer is not one, and is cut (CloudWatch API, PutMetricAlarm)."""
LARGEST_TEXT = 1_000_000


def string(value: object) -> str:
    """Return a text that can be written down anywhere: half a surrogate pair, which JSON allows, becomes "?"."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def shown(value: object) -> str:
    text = string(value)
    return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 3] + "..."


def time_of(value: object) -> datetime | None:
    text = re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", string(value)[:40])
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # the year 1 or 9999, moved to UTC, is out of range
        return None


def parsed(text: object) -> object:
    if not isinstance(text, str) or len(text) > LARGEST_TEXT:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
