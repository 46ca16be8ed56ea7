"""One or few functions hold the shared pool: which, and what speaks against the others that look like it?

Ranks by the Maximum of concurrency at the account's peak minute, never by throttles (the most throttled function is a
victim) and never by invocations (a run of 14 minutes has no Invocations datapoint while it hogs). Knows nothing of
triggers or caps.
"""

from dataclasses import dataclass, replace

from unthrottle.causes import checks
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.pool_view import BASELINE_MINUTES, MINUTE, PoolView, is_alias
from unthrottle.causes.usual import usual
from unthrottle.causes.wording import clock, names, number, percent
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected
from unthrottle.evidence.pool import FunctionUse

STANDS_OUT = 2.0
"""A hog runs at least this many times its own baseline; one that always ran so is part of the normal load."""

JOINT_RISE = 5.0
"""Below the share, only a rise of this factor makes a function one of several joint hogs."""

JOINT_SHARE = 0.5
"""… and at least this part of the share, so that a handful of small functions is never taken for hogs."""

MOST_JOINT = 5
"""More functions than this are no few: that is growth."""

EXPLAINS = 0.5
"""Hogs hold at least this part of the pool's use, or of its growth."""

STILL_HOLDS = 0.5
"""A hog still runs at least this part of what it held at the peak; otherwise it has let go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A function of the shared pool at the peak minute. `before` None: no baseline. `may_be_hog` False: too small, not
    read, or no longer running."""

    name: str
    held: float
    before: float | None
    may_be_hog: bool = True

    @property
    def rise(self) -> float:
        """How many times its baseline it ran; from nothing, the executions themselves."""
        return self.held / max(self.before, 1.0) if self.before is not None else 0.0

    @property
    def stands_out(self) -> bool:
        """Say whether it runs well above its own baseline; without one it is taken to, at less confidence."""
        return self.before is None or self.rise >= STANDS_OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Hogs:
    """Who holds the pool. `skipped` are large functions that are no hog, and why; `unread` are those that cannot be
    judged.

    `explained_use` and `explained_growth` are the hogs' parts of the pool's use and of its growth, from 0 to 1.
    """

    hogs: tuple[Holding, ...]
    largest: Holding | None
    skipped: tuple[tuple[str, str], ...]
    unread: tuple[tuple[str, str], ...]
    explained_use: float
    explained_growth: float | None

    @property
    def unread_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.unread)

    @property
    def gaps(self) -> tuple[str, ...]:
        """Say what could not be judged, and the hogs whose own baseline is unknown."""
        unread = [f"{name} could not be judged: {why}." for name, why in self.unread]
        return (
            *unread,
            *(
                f"{item.name} has no baseline: less than {BASELINE_MINUTES} minutes before the pressure were read."
                for item in self.hogs
                if item.before is None
            ),
        )

    @property
    def explain(self) -> bool:
        return bool(self.hogs) and (
            self.explained_use >= EXPLAINS or (self.explained_growth is not None and self.explained_growth >= EXPLAINS)
        )


def find(view: PoolView) -> Hogs:
    """Sort the large functions of the ranking into hogs, those that are none, and those nobody can judge."""
    skipped: list[tuple[str, str]] = []
    unread: list[tuple[str, str]] = []
    shared: list[Holding] = []
    floor = view.share_in_executions * JOINT_SHARE
    for row in view.evidence.ranking:
        held = view.held(row)
        if held is None or is_alias(row):
            continue
        own, before = _provisioned(view, row), view.baseline(row)
        held = max(0.0, held - own)
        holding = Holding(name=row.name, held=held, before=None if before is None else max(0.0, before - own))
        if held < floor:
            if own and held + own >= view.share_in_executions:
                skipped.append((row.name, f"its {number(own)} provisioned executions serve nearly all of it"))
            shared.append(replace(holding, may_be_hog=False))
            continue
        outside = _not_in_pool(view, row)
        doubt = _doubt(view, row, held + own)
        if outside is not None:
            skipped.append((row.name, outside))
        elif doubt is not None and held >= view.share_in_executions:
            unread.append((row.name, doubt))
        else:
            shared.append(replace(holding, may_be_hog=doubt is None))
    shared.sort(key=lambda item: (-item.held, item.name))
    hogs = _choose(view, shared)
    growth = sum(max(0.0, item.held - item.before) for item in shared if item.before is not None)
    grown = sum(max(0.0, item.held - item.before) for item in hogs if item.before is not None)
    return Hogs(
        hogs=hogs,
        largest=shared[0] if shared else None,
        skipped=tuple(skipped),
        unread=tuple(unread),
        explained_use=sum(item.held for item in hogs) / view.at_peak if view.at_peak > 0 else 0.0,
        explained_growth=grown / growth if growth > 0 else None,
    )


def _provisioned(view: PoolView, row: FunctionUse) -> float:
    """Return a function's provisioned concurrency: its executions up to that do not draw on the shared pool."""
    detail = view.candidate(row.name)
    return 0.0 if detail is None or detail.reserved is not None else float(detail.provisioned or 0)


def _not_in_pool(view: PoolView, row: FunctionUse) -> str | None:
    detail = view.candidate(row.name)
    if row.name in view.itself:
        return "it is Unthrottle itself"
    if detail is None:
        return None
    if detail.reserved is not None:
        return f"it runs in its own reservation of {detail.reserved}, not in the shared pool"
    if detail.managed_instances:
        return "it runs on Managed Instances, which have quotas of their own"
    return None


def _doubt(view: PoolView, row: FunctionUse, held: float) -> str | None:
    """Say why a function of the pool cannot be judged; None when it can."""
    if view.candidate(row.name) is None:
        return f"it held {number(held)} executions, but its settings were not read"
    now = row.concurrency.between(view.recent_start, view.newest + MINUTE).peak()
    if now is None or now < STILL_HOLDS * held:
        return f"it held {number(held)} executions at {clock(view.peak_at)} and no longer does"
    return None


def _choose(view: PoolView, shared: list[Holding]) -> tuple[Holding, ...]:
    """Take the functions over the share; where they do not hold half, also the few just below it that rose steeply.

    One below the share that rose steeply and is refused itself wants more, and would take what the caps free: it belongs to
    them even where the others hold half.
    """
    share, half = view.share_in_executions, EXPLAINS * view.at_peak
    over = [item for item in shared if item.held >= share and item.stands_out]
    risen = [item for item in shared if JOINT_SHARE * share <= item.held < share and item.rise >= JOINT_RISE]
    if over and sum(item.held for item in over) >= half:
        wanting = [item for item in risen if item.may_be_hog and view.refused_recently.get(item.name, 0.0) > 0]
        return tuple(over) if len(over) + len(wanting) > MOST_JOINT else (*over, *wanting)
    both = [*over, *(item for item in risen if item.may_be_hog)]
    if len(over) + len(risen) <= MOST_JOINT and sum(item.held for item in both) >= half:
        return tuple(both)
    return tuple(over)


def consider(view: PoolView, found: Hogs) -> Opinion:
    """High: the hogs hold half of a used-up pool whose victims are throttled. Medium: nobody is throttled yet, there
    is no baseline, or the hogs explain the growth but not half of the use."""
    if not view.is_pressed:
        return Rejected(cause=Cause.POOL_HOG, because=_room(view))
    if view.hides_functions:
        return Rejected(cause=Cause.POOL_HOG, because=f"The ranking is incomplete: {view.coverage}.")
    share = f"{view.settings.max_pool_share} % of the limit ({number(view.share_in_executions)})"
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
    sure = view.throttled_now > 0 and not found.gaps and found.explained_use >= EXPLAINS
    targets = tuple(item.name for item in found.hogs)
    return Diagnosis(
        cause=Cause.POOL_HOG,
        confidence=Confidence.HIGH if sure else Confidence.MEDIUM,
        targets=targets,
        victims=tuple(name for name in view.victims if name not in targets),
        findings=(view.fill_finding(), *_hog_findings(view, found), *_victim_findings(view, targets)),
        gaps=found.gaps,
    )


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
    text = (
        f"{number(len(victims))} other functions were refused {number(total)} times since {clock(view.work_start)}: "
        f"{names(victims)}. The most throttled, {first} ({number(view.refused(first))} times{ran}), suffers; it is "
        "not the cause."
    )
    return (Finding(text=text, check=view.check("Throttles", "Sum", first)), *_not_yet(view))


def _not_yet(view: PoolView) -> tuple[Finding, ...]:
    return view.throttle_findings() if view.throttled_now == 0 else ()
