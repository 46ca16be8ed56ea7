"""Was it this alarm that somebody muted, so that the sweep leaves it as its event was left? Told by the incidents there are.

Of the alarms that joined a muted incident, no names are kept; knows nothing of mute rules that CloudWatch has.
"""

from collections.abc import Iterable
from datetime import timedelta

from unthrottle.incident import Incident
from unthrottle.ports import FiringAlarm
from unthrottle.subjects import muted_mark

LATEST_EVENT = timedelta(minutes=15)
"""How long after its alarm rang an event may have joined a muted incident; later, the sweep has taken the alarm up itself."""


def was_muted(alarm: FiringAlarm, marks: Iterable[str], found: Iterable[Incident]) -> bool:
    """Say whether the alarm, still in ALARM, was taken in as muted. `marks`: its fingerprints, `found`: the newest incidents.

    One that rings since the muted incident ended speaks for itself, and so does one of another name, unless it may be
    among those that joined.
    """
    mutes = {muted_mark(mark) for mark in marks}
    return any(_is_about(one, alarm) for one in found if one.fingerprint in mutes)


def _is_about(muted: Incident, alarm: FiringAlarm) -> bool:
    if muted.closed_at is not None and alarm.since > muted.closed_at:
        return False
    return alarm.name == muted.alarm_name or (muted.triggers > 1 and muted.opened_at - LATEST_EVENT <= alarm.since)
