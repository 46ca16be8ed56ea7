"""What holds after every race, in whatever order it was run?

One incident for a symptom, one change for an incident, one end of every change, nothing left behind, nobody misled, no noise.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from sandbox.races.ground import Ground
from unthrottle.incident import Incident, Status

_ENDS = frozenset({"action.reverted", "action.kept", "lease.drifted", "lease.handed-over", "sweep.overdue"})
"""Lines of the story with which a change ends; exactly one of them in each incident that made one."""
_ONCE = frozenset({"incident.opened", "action.intended", "action.applied", "incident.closed", *_ENDS})
_NOT_ACTED = frozenset({Status.NONE, Status.WOULD_APPLY, Status.DENIED, Status.REJECTED, Status.EXPIRED, Status.FAILED})


def broken(ground: Ground) -> list[str]:
    """List every promise that does not hold now that the story is over, one sentence each."""
    found = ground.incidents()
    return [
        *_nothing_left(ground, found),
        *(what for incident in found for what in _one_change(ground, incident)),
        *(what for incident in found for what in _one_story(incident)),
        *_no_noise(ground),
    ]


def _nothing_left(ground: Ground, found: Sequence[Incident]) -> Iterator[str]:
    for incident in found:
        if incident.is_open:
            yield f"{incident.id} is never closed"
    for row in ground.rows():
        if row["pk"]["S"] == "OPEN":
            yield f"{row['sk']['S']} stays locked"
        if "holder" in row:
            yield f"{row['pk']['S']} stays held by {row['holder']['S']}"
    for endings in Counter(ending.name for ending in ground.service.endings).items():
        if endings[1] > 1:
            yield f"the workflow of {endings[0]} ended {endings[1]} times"
    for ending in ground.service.endings:
        if ending.error is not None:
            yield f"the workflow of {ending.name} failed: {ending.error}"


def _one_change(ground: Ground, incident: Incident) -> Iterator[str]:
    mine = [value for by, _, value in ground.account.made if by == incident.id]
    if incident.status in _NOT_ACTED and mine:
        yield f"{incident.id} is {incident.status} and changed something: {mine}"
    if incident.status is Status.REVERTED and (len(mine) != 2 or mine[1] is not None):
        yield f"{incident.id} is reverted, and made these changes: {mine}"
    if incident.status is Status.KEPT and len(mine) != 1:
        yield f"{incident.id} is kept, and made these changes: {mine}"
    if incident.status is Status.APPLIED:
        yield f"{incident.id} ended with its change neither given back nor kept"


def _one_story(incident: Incident) -> Iterator[str]:
    told = Counter(moment.event for moment in incident.timeline)
    for event in sorted(_ONCE):
        if told[event] > 1:
            yield f"{incident.id} tells {event} {told[event]} times"
    ends = sum(told[event] for event in _ENDS)
    if incident.applied and ends != 1:
        yield f"{incident.id} tells {ends} ends of its change"
    if incident.timeline != tuple(sorted(incident.timeline, key=lambda moment: moment.at)):
        yield f"{incident.id} tells its story out of order"


def _no_noise(ground: Ground) -> Iterator[str]:
    """A race is no failure: nobody is paged for it, and nobody twice."""
    for subject, text in ground.pager.pages:
        if "failed" in text or "cannot be written" in text:
            yield f"a person was paged for nothing: {subject}: {text[:300]}"
    for page, times in Counter(ground.pager.pages).items():
        if times > 1:
            yield f"the same page came {times} times: {page[0]}"
