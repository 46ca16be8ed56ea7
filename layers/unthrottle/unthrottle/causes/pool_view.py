"""The pool as all its causes look at it: which minutes are visible, how full it was, when the pressure began.

Built once for a diagnosis, by `pool_look.look`. It concludes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from statistics import median

from unthrottle.causes import checks
from unthrottle.causes.usual import usual
from unthrottle.causes.wording import clock, number, percent
from unthrottle.diagnosis import Finding
from unthrottle.evidence.pool import RANKED_FUNCTIONS, Candidate, FunctionUse, PoolEvidence, large_from
from unthrottle.evidence.series import Series
from unthrottle.settings import Settings

MINUTE = timedelta(minutes=1)

STALE_AFTER = timedelta(minutes=10)
"""Older than this, the newest datapoint describes another situation: CloudWatch shows a minute after one to three."""

WORK_MINUTES = 15
"""How far back the peak is looked for. Lambda stamps metrics with a run's start, and a run may last 15 minutes."""

RECENT_MINUTES = 3
"""What counts as now: one minute may be missing or incomplete, three in a row are not."""

FULL = 0.90
"""A pool this full is used up. The Maximum of a minute is sampled, and what is refused is never seen as use, so a
pool that refuses work shows a few per cent below its limit."""

EARLY = 0.80
"""Where the early-warning alarm stands, and below which a pool has room again."""

NEAR_PEAK = 0.95
"""Minutes this close to the largest use are the same peak; the newest of them shows who holds the pool now."""

RANKING_EXPLAINS = 0.5
"""A ranking that explains less than this part of the account's use may hide the hog."""

GREW_SMALLER = 1.05
"""More in use than this part of what the pool can hold now shows that a reservation was made since."""

WITH_ROOM_MINUTES = 3
"""Refused in so many minutes in which the pool had room, a function is at a limit of its own."""

MOSTLY_RESERVED = 0.5
"""Reservations of at least this part of the limit make the shared pool small."""

IDLE = 0.5
"""An account that runs at most this part of its limit while its pool is used up has reservations that lie idle."""

BASELINE_MINUTES = 5
"""Fewer minutes before the onset than this are no baseline."""


@dataclass(frozen=True, kw_only=True)
class PoolView:
    """The evidence with the derived times. `size` is the pool on-demand executions share: the unreserved limit, less
    what provisioned concurrency holds of it. `peak_at` and `onset` are minutes, `calm` the measured ones
    before the onset. `refused_in_work` (most first) and `refused_recently` are the throttles of each function.
    `newest` is the newest visible one."""

    evidence: PoolEvidence
    settings: Settings
    itself: frozenset[str]
    use: Series
    size: float
    newest: datetime
    peak_at: datetime
    onset: datetime
    calm: tuple[datetime, ...]
    refused_in_work: dict[str, float]
    refused_recently: dict[str, float]

    @property
    def pressure(self) -> float:
        """How full the pool must be to count: lower for the early warning, which comes before anyone is throttled."""
        return EARLY if self.evidence.early_warning else FULL

    @property
    def work_start(self) -> datetime:
        return self.newest - (WORK_MINUTES - 1) * MINUTE

    @property
    def recent_start(self) -> datetime:
        return self.newest - (RECENT_MINUTES - 1) * MINUTE

    @property
    def share_in_executions(self) -> float:
        """The largest part of the account's limit one function may keep, in executions."""
        return self.settings.max_pool_share / 100 * self.evidence.account.limit

    @property
    def hog_from(self) -> float:
        """The executions from which on a function may be a hog: what one may keep, or half of a pool smaller than twice that.

        Where reservations that lie idle made the pool small, nobody who runs in it is to blame for that.
        """
        share = self.share_in_executions
        return share if self.may_be_over_reserved else large_from(share, self.size)

    @property
    def running(self) -> float | None:
        """What the account ran at the peak, with all its pools; None where it was not measured."""
        return self.evidence.concurrency.between(self.peak_at - 2 * MINUTE, self.peak_at + 3 * MINUTE).peak()

    @property
    def may_be_over_reserved(self) -> bool:
        """Say whether half of the limit is reserved, and the account is not known to use it."""
        account, running = self.evidence.account, self.running
        if account.reserved < MOSTLY_RESERVED * account.limit:
            return False
        return running is None or running <= IDLE * account.limit

    @property
    def at_peak(self) -> float:
        return self.use.at(self.peak_at) or 0.0

    @property
    def was_larger(self) -> bool:
        """Say whether more was in use at the peak than the pool can hold by its settings of now."""
        return self.at_peak > GREW_SMALLER * self.size

    @property
    def is_pressed(self) -> bool:
        """Say whether the pool is used up now."""
        recent = self.use.between(self.recent_start, self.newest + MINUTE).peak()
        return recent is not None and fullness(recent, self.size) >= self.pressure

    @property
    def throttled_now(self) -> float:
        """Throttles in the recent minutes, by the account's series or by the functions', whichever saw more."""
        account = self.evidence.throttles.between(self.recent_start, self.evidence.end).sum()
        return max(account, sum(self.refused_recently.values()))

    @property
    def throttled_names(self) -> tuple[str, ...]:
        """Every function whose throttles were read, most throttled in the work window first."""
        return tuple(self.refused_in_work)

    def refused(self, name: str) -> float:
        """Add up a function's throttles in the work window."""
        return self.refused_in_work.get(name, 0.0)

    def candidate(self, name: str) -> Candidate | None:
        return next((item for item in self.evidence.candidates if item.name == name), None)

    def use_of(self, name: str) -> FunctionUse | None:
        return next((row for row in self.evidence.ranking if row.name == name), None)

    def held(self, row: FunctionUse) -> float | None:
        """Return what a function ran at the peak minute; where that minute is missing, the most within two minutes."""
        exact = row.concurrency.at(self.peak_at)
        if exact is not None:
            return exact
        return row.concurrency.between(self.peak_at - 2 * MINUTE, self.peak_at + 3 * MINUTE).peak()

    def baseline(self, row: FunctionUse) -> float | None:
        """Return the median of what a function ran before the onset, or None without enough minutes.

        A function has no datapoint in a minute in which nothing of it ran; that is zero only where the account's own
        series shows that the minute was measured. Where the same hours of earlier days were read, they count: the window
        could not tell.
        """
        earlier = usual(self.evidence, row.name)
        if earlier is not None:
            return earlier
        first = row.concurrency.start  # a function read on its own may cover less than the account's series
        values = [row.concurrency.at(moment) or 0.0 for moment in self.calm if moment >= first]
        return median(values) if len(values) >= BASELINE_MINUTES else None

    @property
    def victims(self) -> tuple[str, ...]:
        """Functions refused from the shared pool, most throttled first; those held back by a limit of their own are not."""
        return tuple(
            name for name in self.throttled_names if self.refused(name) > 0 and name not in self._held_by_themselves
        )

    @property
    def beside(self) -> tuple[str, ...]:
        """Functions refused by a limit of their own while the pool is used up too: no victims of whoever holds it."""
        if not self.is_pressed:
            return ()
        return tuple(name for name in self.throttled_names if name in self._held_by_themselves)

    @property
    def refused_by_pool(self) -> float:
        """Recent throttles that a limit of the function's own does not explain."""
        return self.throttled_now - sum(self.refused_recently.get(name, 0.0) for name in self.beside)

    # Found once: there may be very many victims, and they are asked for again and again.
    @cached_property
    def _held_by_themselves(self) -> frozenset[str]:
        return frozenset(name for name in self.throttled_names if self.refused(name) > 0 and self._has_own_limit(name))

    @cached_property
    def _rows(self) -> Mapping[str, Series]:
        return dict(reversed(self.evidence.throttled))

    def _has_own_limit(self, name: str) -> bool:
        """Say whether a function is refused by a limit of its own: it has a reservation, or was refused without need.

        In a pool with room nobody is refused for the pool's sake. Few such minutes may be a rise that outran scaling.
        """
        detail = self.candidate(name)
        if detail is not None and (detail.reserved is not None or detail.managed_instances):
            return True
        return self.is_pressed and len(self.refused_with_room(name)) >= WITH_ROOM_MINUTES

    def refused_with_room(self, name: str) -> tuple[datetime, ...]:
        """Name the minutes in which a function was refused though the pool had room."""
        row = self._rows.get(name)
        if row is None:
            return ()
        refused = [row.time_of(index) for index, value in enumerate(row.values) if value]
        return tuple(
            moment
            for moment in refused
            if (used := self.use.at(moment)) is not None and fullness(used, self.size) < EARLY
        )

    @property
    def hides_functions(self) -> bool:
        """Say whether the ranking explains less than half of what the account ran, counting all it may leave out.

        Rows that were cut off hold at most what the last one shown held at any time; where none was cut off, whoever holds
        the rest has no datapoints.
        """
        ran, ranked = self._ran_and_ranked
        rows = self.evidence.ranking
        if self.evidence.ranking_complete and len(rows) >= RANKED_FUNCTIONS:
            unseen = max(0, self.evidence.account.function_count - len(rows))
            ranked += unseen * min(row.concurrency.peak() or 0.0 for row in rows)
        return ranked < RANKING_EXPLAINS * ran

    @property
    def coverage(self) -> str:
        """Say in words how much of the account's use the ranking explains."""
        ran, ranked = self._ran_and_ranked
        rows = number(len(self.evidence.ranking))
        return (
            f"the {rows} ranked functions explain {number(ranked)} of {number(ran)} executions ({percent(ranked, ran)})"
        )

    @property
    def _ran_and_ranked(self) -> tuple[float, float]:
        ran = self.evidence.concurrency.at(self.peak_at)
        ranked = sum(self.held(row) or 0.0 for row in self.evidence.ranking if not is_alias(row))
        return (self.at_peak if ran is None else ran), ranked

    def fill_finding(self) -> Finding:
        """State how full the pool was at its peak."""
        account = self.evidence.account
        limit = f"the account's limit is {number(account.limit)}, of which {number(account.reserved)} are reserved"
        if self.was_larger:
            text = (
                f"At {clock(self.peak_at)} {number(self.at_peak)} executions of the shared pool were in use; it has been "
                f"made smaller since, to {number(self.size)}: {limit} now."
            )
        else:
            text = (
                f"At {clock(self.peak_at)} {number(self.at_peak)} of {number(self.size)} executions of the shared pool "
                f"were in use ({percent(self.at_peak, self.size)}); {limit}."
            )
        return Finding(text=text, check=self.check("UnreservedConcurrentExecutions", "Maximum"))

    def throttle_findings(self) -> tuple[Finding, ...]:
        """State who was refused how often, or that nobody is throttled yet."""
        minutes = f"in the {WORK_MINUTES} minutes to {clock(self.newest)}"
        account = self.evidence.throttles.between(self.work_start, self.evidence.end).sum()
        if self.throttled_now == 0:
            text = f"Nobody is throttled yet: no throttles in the {RECENT_MINUTES} minutes to {clock(self.newest)}."
            return (Finding(text=text, check=self.check("Throttles", "Sum")),)
        victims = self.victims
        refused = max(account, sum(self.refused(name) for name in victims))
        text = f"{number(refused)} invocations were refused {minutes}"
        text += f", most of {victims[0]} ({number(self.refused(victims[0]))})." if victims else "."
        return (Finding(text=text, check=self.check("Throttles", "Sum")),)

    def check(self, name: str, stat: str, function: str | None = None) -> str:
        """Name the command for a Lambda metric over the work window."""
        return checks.lambda_metric(name, stat, self.work_start, self.newest + MINUTE, function=function)


def is_alias(row: FunctionUse) -> bool:
    """Say whether a row is the series of a version or alias, which would count its function twice."""
    return ":" in row.name


def fullness(in_use: float, size: float) -> float:
    """Say how full a pool is; one without any room is full."""
    return in_use / size if size > 0 else 1.0


def refused_since(evidence: PoolEvidence, start: datetime) -> dict[str, float]:
    """Add up each function's throttles from `start` on. A candidate's own series counts where no ranking has it."""
    series = {item.name: item.throttles for item in evidence.candidates if item.throttles is not None}
    series.update(dict(evidence.throttled))
    return {name: values.between(start, evidence.end).sum() for name, values in series.items()}
