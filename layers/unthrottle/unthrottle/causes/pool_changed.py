"""Has somebody limited the function that held the pool, just before anyone looked?

Settings are read as they are now, metrics are minutes old. A function seen to run more than its reservation allows was given
that reservation since (AWS Lambda guide: a function never runs more than its reserved concurrency; runs that began before
go on). What that changes is not to be seen yet, so nothing is changed on top of it.
"""

from unthrottle.causes import checks
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.pool_holders import EXPLAINS
from unthrottle.causes.pool_view import PoolView, is_alias
from unthrottle.causes.wording import clock, number, percent
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected

ABOVE = 1.1
"""A function seen above this part of its reservation did not have it then; the Maximum of a minute is sampled."""


def consider(view: PoolView) -> Opinion:
    """High: what was limited since held half of the pool in use."""
    if not view.is_pressed:
        return None
    found = []
    for row in view.evidence.ranking:
        detail, held = view.candidate(row.name), view.held(row)
        if detail is None or held is None or is_alias(row) or row.name in view.itself or detail.managed_instances:
            continue
        if detail.reserved is not None and held > ABOVE * detail.reserved:
            found.append((row.name, held, detail.reserved))
    if not found:
        return None
    together = sum(held for _, held, _ in found)
    if together < EXPLAINS * view.at_peak:
        because = (
            f"{found[0][0]} was limited since, but held only {percent(together, view.at_peak)} of the pool in use."
        )
        return Rejected(cause=Cause.CAPACITY_CHANGE_IN_PROGRESS, because=because)
    return Diagnosis(
        cause=Cause.CAPACITY_CHANGE_IN_PROGRESS,
        confidence=Confidence.HIGH,
        victims=view.victims,
        findings=(
            *(
                Finding(
                    text=f"{name} held {number(held)} executions at {clock(view.peak_at)} and has a reservation of "
                    f"{reserved} now: somebody limited it since. What that changes is not visible yet.",
                    check=checks.function_concurrency(name),
                )
                for name, held, reserved in found
            ),
            view.fill_finding(),
            *view.throttle_findings(),
        ),
    )
