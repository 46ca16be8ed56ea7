"""Which open incidents does nobody get on with, neither their workflow nor the sweep? Pure: records in, ids out.

The sweep gives back what is overdue and starts again what has fallen silent. What stays like that for longer than both need is
for a person, by an alarm that does not depend on the incident's own reports.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from unthrottle.incident import Incident, Status

LEASE_OVER_FOR = timedelta(hours=2)
"""A lease is verified for up to an hour before it begins, and the sweep takes over a quarter of an hour after its end."""
SILENT_FOR = timedelta(hours=4)
"""A workflow that watches writes no line for up to two hours, and the sweep ends it after three."""


def stuck(found: Iterable[Incident], now: datetime) -> tuple[str, ...]:
    """Name the open incidents that are stuck at `now`."""
    return tuple(incident.id for incident in found if incident.is_open and _is_stuck(incident, now))


def _is_stuck(incident: Incident, now: datetime) -> bool:
    if incident.question is not None and incident.question.expires_at > now:
        return False  # a person is asked, or its lease is held by a workflow that waits
    if incident.status is Status.APPLIED and incident.lease_until is not None:
        return now - incident.lease_until > LEASE_OVER_FOR
    last = incident.timeline[-1].at if incident.timeline else incident.opened_at
    return now - last > SILENT_FOR
