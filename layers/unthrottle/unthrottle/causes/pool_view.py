"""The pool as all its causes look at it: which minutes are visible, how full it was, when the pressure began.

Built once for a diagnosis. It concludes nothing; it only refuses to look where there is nothing recent to look at.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from unthrottle.causes import checks
from unthrottle.causes.usual import usual
from unthrottle.causes.wording import clock, number, percent
from unthrottle.diagnosis import Finding
from unthrottle.evidence.pool import Candidate, FunctionUse, PoolEvidence
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
"""An incomplete ranking that explains less than this part of the account's use may hide the hog."""

BASELINE_MINUTES = 5
"""Fewer minutes before the onset than this are no baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    def at_peak(self) -> float:
        return self.use.at(self.peak_at) or 0.0

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
        """Functions refused from the shared pool, most throttled first; those with a pool of their own are not."""
        return tuple(
            name
            for name in self.throttled_names
            if self.refused(name) > 0 and ((detail := self.candidate(name)) is None or detail.reserved is None)
        )

    @property
    def hides_functions(self) -> bool:
        """Say whether the ranking is incomplete and explains less than half of what the account ran."""
        ran, ranked = self._ran_and_ranked
        return not self.evidence.ranking_complete and ranked < RANKING_EXPLAINS * ran

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
        text = (
            f"At {clock(self.peak_at)} {number(self.at_peak)} of {number(self.size)} executions of the shared pool "
            "were in "
            f"use ({percent(self.at_peak, self.size)}); the account's limit is {number(account.limit)}, of which "
            f"{number(account.reserved)} are reserved."
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """Why the evidence cannot be looked at."""

    gap: str


def is_alias(row: FunctionUse) -> bool:
    """Say whether a row is the series of a version or alias, which would count its function twice."""
    return ":" in row.name


def fullness(in_use: float, size: float) -> float:
    """Say how full a pool is; one without any room is full."""
    return in_use / size if size > 0 else 1.0


def look(evidence: PoolEvidence, settings: Settings, itself: frozenset[str]) -> PoolView | Unusable:
    """Find the visible minutes, the peak and the onset, or say why there is nothing to look at."""
    use = evidence.unreserved_in_use
    if use.is_empty and evidence.account.reserved == 0:
        use = evidence.concurrency  # nothing is reserved, so all executions draw on the one pool
    newest = use.last_at
    if newest is None:
        return Unusable(
            gap="The account has no UnreservedConcurrentExecutions datapoint between "
            f"{clock(evidence.start)} and {clock(evidence.end)}; how full the pool is, is unknown."
        )
    if evidence.end - newest > STALE_AFTER:
        minutes = number((evidence.end - newest).total_seconds() // 60)
        return Unusable(
            gap=f"The newest datapoint of the account's concurrency is of {clock(newest)}, {minutes} minutes old; "
            "what happens now is unknown."
        )
    size = evidence.account.unreserved_limit - _held_by_provisioned(evidence, newest)
    peak_at = _peak(evidence, use, newest)
    pressure = EARLY if evidence.early_warning else FULL
    onset = _onset(use, peak_at, size * pressure)
    in_work = refused_since(evidence, newest - (WORK_MINUTES - 1) * MINUTE)
    return PoolView(
        evidence=evidence,
        settings=settings,
        itself=itself,
        use=use,
        size=size,
        newest=newest,
        peak_at=peak_at,
        onset=onset,
        calm=tuple(
            moment
            for index, value in enumerate(use.values)
            if value is not None and (moment := use.time_of(index)) < onset - MINUTE
        ),
        refused_in_work=dict(sorted(in_work.items(), key=lambda item: -item[1])),
        refused_recently=refused_since(evidence, newest - (RECENT_MINUTES - 1) * MINUTE),
    )


def refused_since(evidence: PoolEvidence, start: datetime) -> dict[str, float]:
    """Add up each function's throttles from `start` on. A candidate's own series counts where no ranking has it."""
    series = {item.name: item.throttles for item in evidence.candidates if item.throttles is not None}
    series.update(dict(evidence.throttled))
    return {name: values.between(start, evidence.end).sum() for name, values in series.items()}


def _held_by_provisioned(evidence: PoolEvidence, newest: datetime) -> float:
    """Return the part of the unreserved limit that provisioned concurrency holds.

    ClaimedAccountConcurrency is the unreserved pool's use plus all reservations plus all provisioned concurrency (AWS
    Lambda guide, monitoring concurrency). The smallest remainder counts: allocations are static, while a reservation
    changed meanwhile would make single minutes wrong.
    """
    remainders = []
    for back in range(WORK_MINUTES):
        moment = newest - back * MINUTE
        claimed, used = evidence.claimed.at(moment), evidence.unreserved_in_use.at(moment)
        if claimed is not None and used is not None:
            remainders.append(claimed - used - evidence.account.reserved)
    return max(0.0, min(remainders, default=0.0))


def _peak(evidence: PoolEvidence, use: Series, newest: datetime) -> datetime:
    work = use.between(newest - (WORK_MINUTES - 1) * MINUTE, newest + MINUTE)
    top = work.peak() or 0.0
    near = [
        work.time_of(index) for index, value in enumerate(work.values) if value is not None and value >= NEAR_PEAK * top
    ]
    throttled = [moment for moment in near if (evidence.throttles.at(moment) or 0.0) > 0]
    return max(throttled or near)


def _onset(use: Series, peak_at: datetime, pressed: float) -> datetime:
    """Walk back from the peak to where the pressure began; a dip or a gap of up to two minutes does not end it."""
    onset, quiet, moment = peak_at, 0, peak_at
    while moment > use.start and quiet <= 2:
        moment -= MINUTE
        value = use.at(moment)
        if value is not None and value >= pressed:
            onset, quiet = moment, 0
        else:
            quiet += 1
    return onset
