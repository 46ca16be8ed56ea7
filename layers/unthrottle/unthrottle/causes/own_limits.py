"""A function is throttled by its own reservation while the shared pool has room: switched off, or at its own number.

Both are somebody's decision, so nothing is changed. Reserved 0 is a switch, not a small number (AWS Lambda API: an
absent reservation and 0 are different answers).
"""

from unthrottle.causes import checks
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.pool_view import MINUTE, PoolView
from unthrottle.causes.wording import names, number, percent
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected
from unthrottle.evidence.pool import Candidate

MAJORITY = 0.5
"""The functions at their own limit must have at least this part of the throttles; otherwise they are a side story."""

NEARLY_ALL = 0.9
"""With this part of the throttles they are the whole story."""

FLAT = 0.9
"""A function that ran at least this part of its reservation was at it: the Maximum of a minute is sampled."""


def switched_off(view: PoolView) -> Opinion:
    """High: nearly all throttles are of functions with reserved concurrency 0. Medium: at least half of them are."""
    off = [item for item in _throttled(view) if item.reserved == 0]
    if not off:
        return None
    findings = [
        Finding(
            text=f"{item.name} has reserved concurrency 0 and was refused {number(view.refused(item.name))} times: "
            "it was switched off on purpose.",
            check=checks.function_concurrency(item.name),
        )
        for item in off
    ]
    return _own(view, Cause.SWITCHED_OFF, off, findings, measured=True)


def own_reservation(view: PoolView) -> Opinion:
    """High: nearly all throttles are of functions seen at their own reservation. Medium: at least half are, or what
    they ran was not measured (a small function is not in the ranking)."""
    capped = [item for item in _throttled(view) if item.reserved is not None and item.reserved > 0]
    if not capped:
        named = [name for name in view.evidence.alarmed if (detail := view.candidate(name)) and detail.reserved is None]
        because = f"{names(named)} has no reservation of its own."
        return Rejected(cause=Cause.OWN_RESERVATION, because=because) if named else None
    below = [item for item in capped if (ran := _ran(view, item)) is not None and ran < FLAT * (item.reserved or 0)]
    at_limit = [item for item in capped if item not in below]
    if not at_limit:
        item = below[0]
        because = f"{item.name} ran {number(_ran(view, item) or 0)} of its own {item.reserved}: not at its reservation."
        return Rejected(cause=Cause.OWN_RESERVATION, because=because)
    measured = all(_ran(view, item) is not None for item in at_limit)
    return _own(view, Cause.OWN_RESERVATION, at_limit, [_at_limit(view, item) for item in at_limit], measured=measured)


def _throttled(view: PoolView) -> list[Candidate]:
    """Return the functions refused in the recent minutes whose settings were read, most throttled first."""
    details = [view.candidate(name) for name in view.throttled_names if view.refused_recently[name] > 0]
    return [item for item in details if item is not None and not item.managed_instances]


def _ran(view: PoolView, item: Candidate) -> float | None:
    row = view.use_of(item.name)
    return None if row is None else row.concurrency.between(view.work_start, view.newest + MINUTE).peak()


def _at_limit(view: PoolView, item: Candidate) -> Finding:
    ran = _ran(view, item)
    seen = "what it ran was not among the largest" if ran is None else f"it ran {number(ran)}"
    text = (
        f"{item.name} has a reservation of its own of {item.reserved}; {seen}, and was refused "
        f"{number(view.refused(item.name))} times while the shared pool had room."
    )
    if item.provisioned is not None and item.provisioned == item.reserved:
        text += " All of it is provisioned concurrency, so that versions without it, $LATEST too, get nothing."
    return Finding(text=text, check=checks.function_concurrency(item.name))


def _own(view: PoolView, cause: Cause, found: list[Candidate], findings: list[Finding], *, measured: bool) -> Opinion:
    """Judge functions at their own limit by the part of the throttles that is theirs."""
    theirs = sum(view.refused_recently[item.name] for item in found)
    total = max(view.throttled_now, theirs)
    who = names([item.name for item in found])
    part = f"{number(theirs)} of {number(total)} recent throttles ({percent(theirs, total)})"
    if view.is_pressed:
        return Rejected(cause=cause, because=f"{who} explains {part}, but the shared pool is used up.")
    if theirs < MAJORITY * total:
        return Rejected(cause=cause, because=f"{who} explains only {part}.")
    sure = measured and theirs >= NEARLY_ALL * total
    return Diagnosis(
        cause=cause,
        confidence=Confidence.HIGH if sure else Confidence.MEDIUM,
        victims=tuple(item.name for item in found),
        findings=(*findings, view.fill_finding()),
    )
