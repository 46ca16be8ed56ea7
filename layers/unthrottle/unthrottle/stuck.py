"""Which open incidents does nobody get on with, neither their workflow nor the sweep? Pure: records in, ids out.

The sweep gives back what is overdue and starts again what has fallen silent. What stays like that for longer than both need is
for a person, by an alarm that does not depend on the incident's own reports.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from unthrottle.incident import Incident, Outcome, Status

LEASE_OVER_FOR = timedelta(hours=2)
"""A lease is verified for up to an hour before it begins, and the sweep takes over a quarter of an hour after its end."""
UNJUDGED_FOR = timedelta(hours=2)
"""A change is judged within an hour. One that is not has lost its workflow, and perhaps nobody was told of it."""
SILENT_FOR = timedelta(hours=4)
"""A workflow that watches writes no line for up to two hours, and the sweep ends it after three."""


def stuck(found: Iterable[Incident], now: datetime) -> tuple[str, ...]:
    """Name the open incidents that are stuck at `now`."""
    return tuple(incident.id for incident in found if incident.is_open and _is_stuck(incident, now))


def _is_stuck(incident: Incident, now: datetime) -> bool:
    if incident.question is not None and incident.question.expires_at > now:
        return False  # a person is asked, or its lease is held by a workflow that waits
    last = incident.timeline[-1].at if incident.timeline else incident.opened_at
    if incident.status is Status.APPLIED and incident.lease_until is not None:
        is_unjudged = incident.outcome is Outcome.NONE and not incident.escalated and now - last > UNJUDGED_FOR
        return is_unjudged or now - incident.lease_until > LEASE_OVER_FOR
    return now - last > SILENT_FOR
