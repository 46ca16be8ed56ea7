"""What does Unthrottle make of one resource, now or at a moment of the past? Looks, concludes, plans, judges; never acts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from unthrottle.actions.planning import make_plan
from unthrottle.audit.past import past_observer
from unthrottle.causes import diagnose
from unthrottle.diagnosis import Confidence, Diagnosis
from unthrottle.errors import NotAllowed, NotFound, Refused
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.evidence.read_pool import is_own, read_pool
from unthrottle.evidence.read_table import read_table
from unthrottle.evidence.table import TableEvidence
from unthrottle.guardrails import Context, judge
from unthrottle.incident import Verdict
from unthrottle.plan import Action, Plan
from unthrottle.ports import Backfills, Ledger, Observer
from unthrottle.settings import Mode, Settings
from unthrottle.subjects import FunctionSubject, PoolSubject, Subject, TableSubject


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen and concluded at a moment. `resolution_s` is how fine the metrics were."""

    subject: Subject
    at: datetime
    evidence: PoolEvidence | TableEvidence
    diagnosis: Diagnosis
    plan: Plan
    verdict: Verdict
    resolution_s: int = 60
    notes: tuple[str, ...] = ()

    @property
    def needs_a_person_or_acts(self) -> bool:
        """Say whether it would change something, or hand it to a person."""
        return self.plan.is_change or self.plan.action is Action.ESCALATE


def find(observer: Observer, resource: str) -> Subject:
    """Tell what a name, an ARN, ``table/X``, ``X/index/Y``, ``function/X`` or ``pool`` is, by asking.

    Raises NotFound when it is neither a table nor a function; NotAllowed, TryAgain, Refused.
    """
    if resource.strip().lower() in {"pool", "lambda", "concurrency"}:
        return PoolSubject()
    kind = "table" if ":table/" in resource or resource.startswith("table/") else None
    name, _, index = resource.rsplit("table/", 1)[-1].partition("/index/")
    if ":function:" in resource or resource.startswith("function/"):
        name = resource.rsplit("function:", 1)[-1].rsplit("function/", 1)[-1].split(":", maxsplit=1)[0]
        kind, index = "function", ""
    if kind != "function":
        try:
            table = observer.tables.describe(name)
        except NotFound:
            pass
        except NotAllowed:
            raise
        except Refused:  # not a name a table can have, but perhaps a function's
            if kind == "table":
                raise
        else:
            if index and index not in {one.name for one in table.indexes}:
                known = ", ".join(one.name for one in table.indexes) or "none"
                raise NotFound(
                    f"Table {name} has no index {index}; its indexes: {known}. Nothing was changed.",
                    code="no-such-index",
                )
            return TableSubject(table=table.name, index=index or None)
    if kind != "table":
        try:
            return FunctionSubject(function=observer.functions.describe(name.split(":", maxsplit=1)[0]).name)
        except NotFound:
            pass
    raise NotFound(
        f"There is no {kind or 'table or function'} {name} there. Nothing was changed.", code="no-such-resource"
    )


def look(
    observer: Observer,
    settings: Settings,
    subject: Subject,
    *,
    moment: datetime,
    now: datetime,
    names: Callable[[], Sequence[str]] | None = None,
    backfills: Backfills | None = None,
    ledger: Ledger | None = None,
    own_prefix: str | None = None,
) -> Look:
    """Look at a resource at `moment`; before `now` that is the past, seen as it could be seen then.

    The verdict is that of mode auto, narrowed by tags: what the guardrails themselves would hold back. Raises NotFound,
    TryAgain, NotAllowed, Refused.
    """
    is_past = moment < now
    metrics = None
    seen = observer
    if is_past:
        seen, metrics = past_observer(observer, moment=moment, now=now, names=names or observer.functions.names)
    evidence = _evidence(
        seen, settings, subject, moment, backfills=None if is_past else backfills, own_prefix=own_prefix
    )
    own = frozenset(use.name for use in evidence.ranking if is_own(use.name, own_prefix)) if isinstance(
        evidence, PoolEvidence
    ) else frozenset[str]()  # fmt: skip
    diagnosis = diagnose(evidence, settings, itself=own)
    if metrics is not None and metrics.resolution_s > 60 and diagnosis.confidence is Confidence.HIGH:
        diagnosis = replace(diagnosis, confidence=Confidence.MEDIUM)  # which minute it was is no longer known
    plan = make_plan(diagnosis, evidence, settings)
    verdict = judge(
        plan,
        Context(
            now=moment,
            settings=replace(settings, mode=Mode.AUTO),
            diagnosis=diagnosis,
            ledger=ledger or Ledger(),
            incident_id="none",
            itself=own,
            seen_at=evidence.end,
        ),
    )
    return Look(
        subject=subject,
        at=moment,
        evidence=evidence,
        diagnosis=diagnosis,
        plan=plan,
        verdict=verdict,
        resolution_s=metrics.resolution_s if metrics else 60,
        notes=tuple(_notes(metrics.resolution_s if metrics else None, evidence)),
    )


def _evidence(
    observer: Observer,
    settings: Settings,
    subject: Subject,
    moment: datetime,
    *,
    backfills: Backfills | None,
    own_prefix: str | None,
) -> PoolEvidence | TableEvidence:
    match subject:
        case TableSubject(table=table, index=index):
            return read_table(observer, settings, moment, table=table, index=index, backfills=backfills)
        case FunctionSubject(function=function):
            return read_pool(observer, settings, moment, alarmed=(function,), own_prefix=own_prefix)
        case PoolSubject():
            return read_pool(observer, settings, moment, own_prefix=own_prefix)


def _notes(resolution_s: int | None, evidence: PoolEvidence | TableEvidence) -> list[str]:
    if resolution_s is None:
        return []
    notes = [
        (
            "Limits, tags, triggers and autoscaling are those of today; only capacities and the sum of reservations are known "
            "of then."
        )
    ]
    if resolution_s > 60:
        notes.append(
            f"CloudWatch keeps no minutes of that time any more, only {resolution_s // 60} min: peaks are repeated and sums "
            "spread over the minutes they cover."
        )
    if isinstance(evidence, TableEvidence):
        notes.append("Which dagy backfills ran then is not known; one that explains the load would have come first.")
    return notes
