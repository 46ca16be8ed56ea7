"""Did somebody change what is in force, while its lease still runs? Seen by the sweep: told once, and nothing is touched.

The workflow sleeps then and looks at the end of the lease only. It is not made again, for whoever changed it had a reason; and
the incident stays open, so that later alarms of the same symptom join it and do not make it again either.
"""

import logging
from datetime import datetime

from unthrottle import actions, outbox
from unthrottle.errors import Conflict, NotFound, Refused, TryAgain
from unthrottle.incident import Incident
from unthrottle.plan import CancelBackfill, Change, RaiseCapacity
from unthrottle.ports import Actor, Ports
from unthrottle.report.moments import Step

log = logging.getLogger("unthrottle")

SEEN = "lease.drift-seen"
"""The line of the story that says so; with it, it is not said again."""


def notice(ports: Ports, incident: Incident, now: datetime) -> bool:
    """Tell people where a change of this incident is not in force any more, while its workflow sleeps. True: told now.

    What cannot be read counts as in force. Raises what the state table raises, but for a conflict: then its workflow wakes.
    """
    if not _is_asleep(incident, now) or any(moment.event == SEEN for moment in incident.timeline):
        return False
    gone = _gone(ports, incident)
    if not gone:
        return False
    until = f", until {incident.lease_until:%H:%M} UTC" if incident.lease_until else ""
    why = (
        f"Somebody changed {', '.join(gone)} while the lease runs{until}. It is not made again and stays as it is; the "
        "incident stays open until then."
    )
    try:
        seen = ports.incidents.save(incident.told(now, SEEN, why))
        outbox.tell_asleep(ports, seen, Step.DRIFTED, why)
    except Conflict:
        log.info("drift.conflict", extra={"incident_id": incident.id})
        return False
    log.warning("drift.seen", extra={"incident_id": incident.id, "targets": list(gone)})
    return True


def _is_asleep(incident: Incident, now: datetime) -> bool:
    question = incident.question
    return incident.is_in_force and question is not None and question.about == "lease" and now < question.expires_at


def _gone(ports: Ports, incident: Incident) -> tuple[str, ...]:
    """Name the targets that do not have our after-state any more. Raised numbers are autoscaling's to move, and left out."""
    watched = [one.change for one in incident.applied if not isinstance(one.change, RaiseCapacity | CancelBackfill)]
    if not watched:
        return ()
    try:
        actor = ports.accounts.act(incident.account, incident.region, incident.id)
        return tuple(change.target for change in watched if not _is_there(change, actor))
    except (Refused, TryAgain) as error:
        log.info("drift.unread", extra={"incident_id": incident.id, "error": str(error)})
        return ()


def _is_there(change: Change, actor: Actor) -> bool:
    try:
        return actions.is_in_force(change, actor)
    except NotFound:
        return False
