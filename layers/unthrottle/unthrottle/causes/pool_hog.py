"""One or few functions hold the shared pool: what speaks for it, and what a person should know of each of them.

Who they are is `pool_holders`'. Knows nothing of triggers or caps.
"""

from unthrottle.causes import checks
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.pool_holders import EXPLAINS, STANDS_OUT, Hogs
from unthrottle.causes.pool_view import MINUTE, WORK_MINUTES, PoolView
from unthrottle.causes.usual import usual
from unthrottle.causes.wording import clock, names, number, percent
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected
from unthrottle.tags import Unreadable, forbidden_by, wished_maximum

MOST_BESIDE = 3
"""Functions at limits of their own that are named beside the hog; more would hide what matters."""


def consider(view: PoolView, found: Hogs) -> Opinion:
    """High: the hogs hold half of a used-up pool whose victims are throttled. Medium: nobody else is throttled, there
    is no baseline, or the hogs explain the growth but not half of the use. Low: who is throttled is so by limits of
    its own, so that nobody suffers from the hogs."""
    if not view.is_pressed:
        return Rejected(cause=Cause.POOL_HOG, because=_room(view))
    if view.hides_functions:
        return Rejected(cause=Cause.POOL_HOG, because=f"The ranking is incomplete: {view.coverage}.")
    share = f"{view.settings.max_pool_share} % of the limit ({number(view.share_in_executions)})"
    if view.hog_from < view.share_in_executions:
        share = f"half of the shared pool ({number(view.hog_from)})"
    if not found.explain:
        if found.largest is None:
            return Rejected(
                cause=Cause.POOL_HOG, because="No function of the shared pool is known to hold a large part."
            )
        top = found.largest
        before = "unknown before" if top.before is None else _before(view, top.name, top.before)
        because = (
            f"No function stands out: the largest in the shared pool, {top.name}, held {number(top.held)} at "
            f"{clock(view.peak_at)} ({before}); a hog holds {share}, runs {number(STANDS_OUT)} times its own "
            "baseline, and "
            "explains half of the use or of its growth."
        )
        return Rejected(cause=Cause.POOL_HOG, because=because)
    harms = view.refused_by_pool > 0
    sure = harms and _others(view, found) and not found.gaps and found.explained_use >= EXPLAINS
    confidence = Confidence.HIGH if sure else Confidence.MEDIUM
    gaps = found.gaps
    if view.throttled_now > 0 and not harms:
        confidence = Confidence.LOW
        gaps = (
            *gaps,
            f"Nobody is known to be refused for the pool's sake: {names(view.beside)} has a limit of its own.",
        )
    targets = tuple(item.name for item in found.hogs)
    return Diagnosis(
        cause=Cause.POOL_HOG,
        confidence=confidence,
        targets=targets,
        victims=tuple(name for name in view.victims if name not in targets),
        findings=(
            view.fill_finding(),
            *_hog_findings(view, found),
            *_what_else(view, targets),
            *_victim_findings(view, targets),
            *_beside_findings(view),
        ),
        gaps=gaps,
    )


def _others(view: PoolView, found: Hogs) -> bool:
    """Say whether anybody but the hogs was refused: by name, or in the account's count where no names were read."""
    targets = {item.name for item in found.hogs}
    own = sum(view.refused_recently.get(name, 0.0) for name in targets)
    return any(name not in targets for name in view.victims) or view.refused_by_pool > own


def _room(view: PoolView) -> str:
    recent = view.use.between(view.recent_start, view.newest + MINUTE).peak() or 0.0
    return (
        f"The shared pool has room: at most {number(recent)} of {number(view.size)} in use "
        f"({percent(recent, view.size)}) in the last minutes."
    )


def _hog_findings(view: PoolView, found: Hogs) -> tuple[Finding, ...]:
    findings = []
    for item in found.hogs:
        before = "its use before is unknown" if item.before is None else _before(view, item.name, item.before)
        text = (
            f"{item.name} held {number(item.held)} executions at {clock(view.peak_at)}, "
            f"{percent(item.held, view.at_peak)} of the pool in use and "
            f"{percent(item.held, view.evidence.account.limit)} of the limit; {before}; "
            f"{number(view.refused(item.name))} of its own were throttled."
        )
        findings.append(Finding(text=text, check=view.check("ConcurrentExecutions", "Maximum", item.name)))
    findings += [Finding(text=f"{name} is no target: {why}.", check=checks.function_concurrency(name))
                 for name, why in found.skipped]  # fmt: skip
    return tuple(findings)


def _before(view: PoolView, name: str, before: float) -> str:
    """Say what a function ran before, and which hours that is of."""
    if usual(view.evidence, name) is None:
        return f"{number(before)} before {clock(view.onset)}"
    return f"usually {number(before)}, the more of the same hours one and seven days before"


def _victim_findings(view: PoolView, targets: tuple[str, ...]) -> tuple[Finding, ...]:
    victims = [name for name in view.victims if name not in targets]
    if not victims:
        return view.throttle_findings()
    total = sum(view.refused(name) for name in victims)
    first = victims[0]
    row = view.use_of(first)
    held = None if row is None else view.held(row)
    ran = "" if held is None else f" while it ran {number(held)} at the peak"
    others = "1 other function was" if len(victims) == 1 else f"{number(len(victims))} other functions were"
    text = (
        f"{others} refused {number(total)} times in the {WORK_MINUTES} minutes to {clock(view.newest)}: {names(victims)}. "
        f"The most throttled, {first} ({number(view.refused(first))} times{ran}), suffers; it is not the cause."
    )
    return (Finding(text=text, check=view.check("Throttles", "Sum", first)), *_not_yet(view))


def _not_yet(view: PoolView) -> tuple[Finding, ...]:
    return view.throttle_findings() if view.throttled_now == 0 else ()


def _what_else(view: PoolView, targets: tuple[str, ...]) -> tuple[Finding, ...]:
    """Tell what a person must know of a hog: that it invokes itself, and what its owner's tags say."""
    findings = []
    for detail in filter(None, map(view.candidate, targets)):
        stopped = detail.loops_stopped.sum() if detail.loops_stopped is not None else 0.0
        if stopped > 0:
            counted = detail.invocations is not None and detail.invocations.sum() > 0
            most = "how many of its runs belong to such loops cannot be told"
            if counted:
                most = (
                    "most of what it ran belongs" if detail.is_loop else "few of its runs belong"
                ) + " to such loops"
            findings.append(
                Finding(
                    text=f"{detail.name} is part of a recursive loop: Lambda stopped {number(stopped)} chains of its "
                    f"invocations within half an hour; {most}.",
                    check=view.check("RecursiveInvocationsDropped", "Sum", detail.name),
                )
            )
        forbidden = forbidden_by(detail.tags, view.settings)
        if forbidden is not None:
            text = f"{detail.name} is not changed, however much it holds: its tag {forbidden} forbids that."
            findings.append(Finding(text=text, check=checks.function_tags(detail.arn)))
        wished = wished_maximum(detail.tags, view.settings)
        if isinstance(wished, Unreadable):
            findings.append(
                Finding(
                    text=f"The tag {wished.key} of {detail.name} is {wished.value!r}, no whole number from 1 on. It is not "
                    f"followed; the stack's share of {number(view.share_in_executions)} counts.",
                    check=checks.function_tags(detail.arn),
                )
            )
    return tuple(findings)


def _beside_findings(view: PoolView) -> tuple[Finding, ...]:
    """Tell of functions that are throttled at the same time by a limit of their own."""
    findings = []
    for name in view.beside:
        detail = view.candidate(name)
        why = (
            f"refused in {len(view.refused_with_room(name))} minutes in which the pool had room"
            if detail is None or detail.reserved is None
            else f"at a reservation of its own of {detail.reserved}"
        )
        text = f"{name} was {why}: its {number(view.refused(name))} throttles are its own limit's, not the pool's."
        findings.append(Finding(text=text, check=checks.function_concurrency(name)))
    return tuple(findings[:MOST_BESIDE])
