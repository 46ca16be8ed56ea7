"""Who holds the shared pool: which functions are hogs, and what speaks against the others that look like it?

Ranks by the Maximum of concurrency at the account's peak minute, never by throttles (the most throttled function is a
victim) and never by invocations (a run of 14 minutes has no Invocations datapoint while it hogs). Knows nothing of
triggers or caps.
"""

from dataclasses import dataclass, replace

from unthrottle.causes.pool_view import BASELINE_MINUTES, MINUTE, PoolView, is_alias
from unthrottle.causes.usual import on_both_days
from unthrottle.causes.wording import clock, number
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
    judged; `since_yesterday` ran so yesterday too but not a week ago, in words.

    `explained_use` and `explained_growth` are the hogs' parts of the pool's use and of its growth, from 0 to 1.
    """

    hogs: tuple[Holding, ...]
    largest: Holding | None
    skipped: tuple[tuple[str, str], ...]
    unread: tuple[tuple[str, str], ...]
    explained_use: float
    explained_growth: float | None
    since_yesterday: tuple[str, ...] = ()

    @property
    def unread_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.unread)

    @property
    def gaps(self) -> tuple[str, ...]:
        """Say what could not be judged, and the hogs whose own baseline is unknown."""
        unread = [f"{name} could not be judged: {why}." for name, why in self.unread]
        return (
            *unread,
            *self.since_yesterday,
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
    recent: list[str] = []
    floor = view.hog_from * JOINT_SHARE
    for row in view.evidence.ranking:
        held = view.held(row)
        if held is None or is_alias(row):
            continue
        own, before = _provisioned(view, row), view.baseline(row)
        held = max(0.0, held - own)
        holding = Holding(name=row.name, held=held, before=None if before is None else max(0.0, before - own))
        if held < floor:
            if own and held + own >= view.hog_from:
                skipped.append((row.name, f"its {number(own)} provisioned executions serve nearly all of it"))
            shared.append(replace(holding, may_be_hog=False))
            continue
        outside = _not_in_pool(view, row)
        doubt = _doubt(view, row, held + own, holding)
        if outside is not None:
            skipped.append((row.name, outside))
        elif doubt is not None and held >= view.hog_from:
            unread.append((row.name, doubt))
        else:
            shared.append(replace(holding, may_be_hog=doubt is None and view.candidate(row.name) is not None))
            if held >= view.hog_from and not holding.stands_out:
                recent.extend(_since_yesterday(view, row.name, held + own))
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
        since_yesterday=tuple(recent),
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


def _since_yesterday(view: PoolView, name: str, held: float) -> tuple[str, ...]:
    """Name the gap of a function that is usual only by yesterday: new, or a hog that began more than a day ago?"""
    days = on_both_days(view.evidence, name)
    if days is None or held < STANDS_OUT * max(days[1], 1.0):
        return ()
    ran = f"{name} ran {number(days[0])} at these hours yesterday, and {number(days[1])} a week ago"
    return (f"{ran}: whether that is wanted, or has gone wrong for more than a day, the metrics do not tell.",)


def _doubt(view: PoolView, row: FunctionUse, held: float, holding: Holding) -> str | None:
    """Say why a function of the pool cannot be judged; None when it can.

    One that runs as it always did is no hog, whatever its settings.
    """
    if view.candidate(row.name) is None and holding.stands_out:
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
    share, half = view.hog_from, EXPLAINS * view.at_peak
    over = [item for item in shared if item.held >= share and item.stands_out]
    risen = [item for item in shared if JOINT_SHARE * share <= item.held < share and item.rise >= JOINT_RISE]
    if over and sum(item.held for item in over) >= half:
        wanting = [item for item in risen if item.may_be_hog and view.refused_recently.get(item.name, 0.0) > 0]
        return tuple(over) if len(over) + len(wanting) > MOST_JOINT else (*over, *wanting)
    both = [*over, *(item for item in risen if item.may_be_hog)]
    if len(over) + len(risen) <= MOST_JOINT and sum(item.held for item in both) >= half:
        return tuple(both)
    return tuple(over)
