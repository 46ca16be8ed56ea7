"""Read the measurement that raised an incident's symptom again, and have it judged.

Joins the ports to the pure `verification`: what is read depends on the incident's watch, what it means does not.
"""

from datetime import datetime, timedelta

from unthrottle.errors import NotFound
from unthrottle.evidence.read_pool import BY_THROTTLES
from unthrottle.evidence.read_table import read_units
from unthrottle.evidence.series import Series
from unthrottle.incident import Incident
from unthrottle.plan import CapConcurrency, CapEventSource
from unthrottle.ports import MetricQuery, Observer
from unthrottle.subjects import TableSubject
from unthrottle.verification import BEFORE, Judgement, judge_pool, judge_table

FEW = 3
"""So many functions that are still throttled are looked at for a limit of their own; more are victims of the pool."""
LATELY = timedelta(minutes=6)


def judge_symptom(
    observer: Observer, incident: Incident, *, since: datetime, deadline: datetime, now: datetime
) -> Judgement:
    """Judge whether the symptom ended after `since`. Two calls, and up to three more for a pool that is nearly well.

    Raises what the ports raise.
    """
    watch = incident.plan.watch if incident.plan else None
    victims = frozenset(watch.functions if watch else ())
    minute = since.replace(second=0, microsecond=0)
    # Only of the pool is what was before the action read, too: a switch of a table cannot make it worse.
    start = minute - (timedelta(minutes=1) if isinstance(incident.subject, TableSubject) else BEFORE)
    end = now.replace(second=0, microsecond=0)
    if end < minute:
        return Judgement(outcome=None, because="no whole minute has passed")
    if isinstance(incident.subject, TableSubject):
        table = observer.tables.describe(incident.subject.table)
        written = watch.written.get(incident.subject.table) if watch else None
        return judge_table(
            acted_at=since,
            deadline=deadline,
            now=now,
            units=read_units(observer, table, start, end),
            is_settled=table.is_settled,
            writes_below=written,
        )
    answer = observer.metrics.read(
        [MetricQuery(id="concurrency", namespace="AWS/Lambda", name="ConcurrentExecutions", stat="Maximum")],
        start=start,
        end=end,
        ranking=BY_THROTTLES,
    )
    throttles = {row.label: row.series for row in answer.ranking if not victims or row.label in victims}
    capped = frozenset(
        made.change.function for made in incident.applied if isinstance(made.change, CapConcurrency | CapEventSource)
    )
    return judge_pool(
        acted_at=since,
        deadline=deadline,
        now=now,
        account=answer.series["concurrency"],
        throttles=throttles,
        capped=capped | (_by_their_own_limit(observer, throttles, capped, end) if capped else frozenset()),
    )


def _by_their_own_limit(
    observer: Observer, throttles: dict[str, Series], capped: frozenset[str], end: datetime
) -> frozenset[str]:
    """Name the functions that go on being throttled by a reservation of their own: the cap of another cannot help them."""
    still = [
        name for name, series in throttles.items() if name not in capped and series.between(end - LATELY, end).sum() > 0
    ]
    found = set()
    for name in still if len(still) <= FEW else ():
        try:
            if observer.functions.describe(name).reserved is not None:
                found.add(name)
        except NotFound:
            continue  # it is gone, and its last throttles with it
    return frozenset(found)
