"""Read the measurement that raised an incident's symptom again, and have it judged.

Joins the ports to the pure `verification`: what is read depends on the incident's watch, what it means does not.
"""

from datetime import datetime, timedelta

from unthrottle.evidence.read_pool import BY_THROTTLES
from unthrottle.evidence.read_table import read_units
from unthrottle.incident import Incident
from unthrottle.plan import CapConcurrency, CapEventSource
from unthrottle.ports import MetricQuery, Observer
from unthrottle.subjects import TableSubject
from unthrottle.verification import Judgement, judge_pool, judge_table


def judge_symptom(
    observer: Observer, incident: Incident, *, since: datetime, deadline: datetime, now: datetime
) -> Judgement:
    """Judge whether the symptom ended after `since`. Two calls at most. Raises what the ports raise."""
    watch = incident.plan.watch if incident.plan else None
    victims = frozenset(watch.functions if watch else ())
    start = since.replace(second=0, microsecond=0) - timedelta(minutes=1)
    end = now.replace(second=0, microsecond=0)
    if end <= start:
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
    return judge_pool(
        acted_at=since,
        deadline=deadline,
        now=now,
        account=answer.series["concurrency"],
        throttles={row.label: row.series for row in answer.ranking if not victims or row.label in victims},
        capped=frozenset(
            made.change.function
            for made in incident.applied
            if isinstance(made.change, CapConcurrency | CapEventSource)
        ),
    )
