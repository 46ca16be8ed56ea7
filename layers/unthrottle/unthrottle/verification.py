"""Judge by the measurement that raised the symptom whether an action helped. Pure.

Three answers: recovered, not recovered, or cannot be told; and "look again later" while it is too early. Missing
datapoints are never health: a minute counts as clean only where the account or the table shows data for that minute.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from unthrottle.evidence.series import Series
from unthrottle.evidence.table import UnitMetrics, Way
from unthrottle.incident import Outcome

CLEAN_MINUTES = 2
"""Whole minutes in a row without a throttle that end the symptom: one could be a gap between two retries."""
TOO_OLD = timedelta(minutes=10)


WORSE_AFTER = timedelta(minutes=5)
"""How long after an action it is not yet called worse: clients that were refused come back in a burst."""
WORSE_MINUTES = 3
"""Whole minutes in a row that must be worse, so that one burst is not."""
WORSE_TIMES = 2.0
"""Each of them by this factor more than the worst minute before the action."""
BEFORE = timedelta(minutes=15)
"""How far back before the action is looked for its worst minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The answer, and what it rests on in words. `outcome` None: too early to tell."""

    outcome: Outcome | None
    because: str


def judge_pool(
    *,
    acted_at: datetime,
    deadline: datetime,
    now: datetime,
    account: Series,
    throttles: dict[str, Series],
    capped: frozenset[str],
) -> Judgement:
    """Judge a cap by the others' throttles. `account` is the account's ConcurrentExecutions: it shows which minutes exist.

    A capped function that is now throttled by its own cap is as it should be, and is left out. A reservation takes from the
    others' pool, so it can do harm: worse than before is not recovered, at once. `throttles` reach back before the action.
    """
    others = {name: series for name, series in throttles.items() if name not in capped}
    worse = _worse(acted_at, account, list(others.values()))
    if worse is not None:
        return Judgement(outcome=Outcome.NOT_RECOVERED, because=worse)
    return _judge(
        acted_at=acted_at,
        deadline=deadline,
        now=now,
        proof=account,
        counts=list(others.values()),
        who="the others",
    )


def judge_table(
    *,
    acted_at: datetime,
    deadline: datetime,
    now: datetime,
    units: tuple[UnitMetrics, ...],
    is_settled: bool,
    writes_below: float | None,
) -> Judgement:
    """Judge a table by the throttle events of the table and its indexes, read and write.

    `is_settled` False: a change is still under way, so it is too early. `writes_below` (units/s) is set for a cancelled
    backfill: the writes wanted must have fallen below it, whatever dagy said.
    """
    table = next((unit for unit in units if unit.index is None), None)
    if table is None:
        return Judgement(outcome=Outcome.INCONCLUSIVE, because="the table's metrics could not be read")
    proof = table.consumed[Way.WRITE] if not table.consumed[Way.WRITE].is_empty else table.consumed[Way.READ]
    counts = [unit.throttle_events[way] for unit in units for way in Way]
    if not is_settled and now < deadline:
        return Judgement(outcome=None, because="the change of the table is still under way")
    judged = _judge(acted_at=acted_at, deadline=deadline, now=now, proof=proof, counts=counts, who="the table")
    if judged.outcome is not Outcome.RECOVERED or writes_below is None:
        return judged
    rate = _latest_rate(table.consumed[Way.WRITE], [unit.throttle_events[Way.WRITE] for unit in units], acted_at)
    if rate is not None and rate <= writes_below:
        return Judgement(
            outcome=Outcome.RECOVERED,
            because=f"{judged.because}, and writes fell to {rate:,.0f}/s, below {writes_below:,.0f}/s",
        )
    found = "cannot be read" if rate is None else f"are still {rate:,.0f}/s, not below {writes_below:,.0f}/s"
    if now < deadline:
        return Judgement(outcome=None, because=f"nothing is throttled, but writes {found}")
    if rate is None:
        return Judgement(outcome=Outcome.INCONCLUSIVE, because=f"nothing is throttled, but writes {found}")
    return Judgement(outcome=Outcome.NOT_RECOVERED, because=f"writes {found}: the backfill is still writing")


def _judge(
    *, acted_at: datetime, deadline: datetime, now: datetime, proof: Series, counts: list[Series], who: str
) -> Judgement:
    seen = _minutes_after(acted_at, proof)
    late = now >= deadline
    throttled = _throttles_after(acted_at, counts)
    if not seen:
        if late:
            return Judgement(outcome=Outcome.INCONCLUSIVE, because="no datapoint since the action could be read")
        return Judgement(outcome=None, because="CloudWatch does not show a minute after the action yet")
    clean = _clean_minutes(seen, throttled)
    if clean >= CLEAN_MINUTES:
        return Judgement(outcome=Outcome.RECOVERED, because=f"{clean} min in a row without a throttle of {who}")
    if not late:
        return Judgement(outcome=None, because=f"{clean} of {CLEAN_MINUTES} clean minutes so far")
    if now - seen[-1] > TOO_OLD:
        return Judgement(outcome=Outcome.INCONCLUSIVE, because="the newest datapoint is too old to judge by")
    last = max((minute for minute in throttled if now - minute <= TOO_OLD), default=None)
    if last is None:
        return Judgement(
            outcome=Outcome.INCONCLUSIVE,
            because=f"no throttle of {who} is shown, but not {CLEAN_MINUTES} whole minutes in a row either",
        )
    return Judgement(
        outcome=Outcome.NOT_RECOVERED,
        because=f"{who} still had {throttled[last]:,.0f} throttles in the minute {last:%H:%M}",
    )


def _worse(acted_at: datetime, proof: Series, counts: list[Series]) -> str | None:
    """Say by how much it is worse than before the action; None where it is not, or cannot be told."""
    first = acted_at.replace(second=0, microsecond=0)
    seen = [minute for minute in _minutes_after(acted_at, proof) if minute >= first + WORSE_AFTER][-WORSE_MINUTES:]
    if len(seen) < WORSE_MINUTES or seen[-1] - seen[0] != (WORSE_MINUTES - 1) * timedelta(minutes=1):
        return None
    earlier = [first - number * timedelta(minutes=1) for number in range(1, int(BEFORE / timedelta(minutes=1)))]
    before = max((_refused(minute, counts) for minute in earlier), default=0.0)
    least = min(_refused(minute, counts) for minute in seen)
    if least <= before * WORSE_TIMES or before == 0:
        return None
    return (
        f"worse than before: the others had at least {least:,.0f} throttles in each of the last {WORSE_MINUTES} minutes, "
        f"and at most {before:,.0f} in a minute before the change"
    )


def _refused(minute: datetime, counts: list[Series]) -> float:
    return sum(series.at(minute) or 0.0 for series in counts)


def _throttles_after(acted_at: datetime, counts: list[Series]) -> dict[datetime, float]:
    """Return the whole minutes after the action in which something was throttled, with how often."""
    found: dict[datetime, float] = {}
    for series in counts:
        for minute in _minutes_after(acted_at, series):
            found[minute] = found.get(minute, 0.0) + (series.at(minute) or 0.0)
    return {minute: count for minute, count in found.items() if count > 0}


def _clean_minutes(seen: list[datetime], throttled: dict[datetime, float]) -> int:
    """Count the newest minutes in a row that are shown and clean. A minute that is missing breaks the row, and so does a
    throttle in a minute for which the proof has not arrived yet."""
    if throttled and max(throttled) > seen[-1]:
        return 0
    clean, minute = 0, seen[-1]
    shown = set(seen)
    while minute in shown and minute not in throttled:
        clean, minute = clean + 1, minute - timedelta(minutes=1)
    return clean


def _minutes_after(acted_at: datetime, proof: Series) -> list[datetime]:
    """Return the whole minutes after the action that CloudWatch shows, oldest first."""
    first = acted_at.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return [
        proof.time_of(index)
        for index, value in enumerate(proof.values)
        if value is not None and proof.time_of(index) >= first
    ]


def _latest_rate(consumed: Series, throttled: list[Series], acted_at: datetime) -> float | None:
    """Return the units per second wanted in the newest minute after the action that is shown."""
    seen = _minutes_after(acted_at, consumed)
    if not seen:
        return None
    used = consumed.at(seen[-1]) or 0.0
    return (used + sum(series.at(seen[-1]) or 0.0 for series in throttled)) / 60
