"""Diagnose a DynamoDB table and its indexes: which of its causes fits, in order of precedence.

Order: over already; a capacity change that already helps; a backfill that explains the writes, since capacity would
only feed it; an index's hot partition, since no capacity helps it; a change under way, since acting twice is wrong;
then the reasons only a person can answer; then the capacity causes.
"""

from collections.abc import Sequence
from dataclasses import replace

from unthrottle.causes import (
    capacity_change,
    hot_keys,
    on_demand,
    other_writers,
    provisioned_capacity,
    runaway_backfill,
    table_quiet,
    table_quota,
)
from unthrottle.causes.opinion import inconclusive, settle
from unthrottle.causes.table_view import PREFIX, TableView, Unusable, look
from unthrottle.causes.wording import clock, names, number
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding
from unthrottle.evidence.table import BackfillsUnknown, TableEvidence, Way
from unthrottle.settings import Settings

_MAY_BE_A_BACKFILL = frozenset({Cause.PROVISIONED_CAPACITY, Cause.ON_DEMAND_RAMP})
"""Causes a backfill that nobody could see would explain away."""


def diagnose_table(evidence: TableEvidence, settings: Settings) -> Diagnosis:
    """Conclude from one look at a table and its indexes."""
    view = look(evidence, settings)
    if isinstance(view, Unusable):
        return inconclusive(Finding(text=view.gap), gaps=(view.gap, *evidence.gaps))
    opinions = [
        table_quiet.consider(view),
        capacity_change.easing(view),
        runaway_backfill.consider(view),
        hot_keys.hot_index(view),
        capacity_change.consider(view),
        table_quota.consider(view),
        on_demand.ceiling(view),
        on_demand.ramp(view),
        hot_keys.hot_key(view),
        provisioned_capacity.consider(view),
    ]
    diagnosis = settle(opinions, gaps=_gaps(view), findings=[view.finding(item) for item in view.throttled])
    named = other_writers.name(view, diagnosis)
    if named is None:
        return _with_load(view, diagnosis)
    # Nothing of the table is to be changed, so nothing is a target.
    return replace(diagnosis, targets=(), writer=named.writer, findings=(named.finding, *diagnosis.findings))


def _gaps(view: TableView) -> Sequence[str]:
    gaps = list(view.evidence.gaps)
    blind = table_quiet.unmeasured(view)
    if blind:
        gaps.append(f"No consumed capacity was read of {names(blind)}; that nothing is throttled there is not known.")
    if view.unknown > 0:
        gaps.append(f"AWS counted {number(view.unknown)} throttle events without a reason.")
    known = view.evidence.backfills
    if isinstance(known, BackfillsUnknown) and runaway_backfill.is_dagys(view) and view.total > 0:
        gaps.append(f"dagy could not be asked for running backfills: {known.reason}.")
    return gaps


def _with_load(view: TableView, diagnosis: Diagnosis) -> Diagnosis:
    """Add what a sudden jump in writes means for a capacity cause: a writer nobody has named may be behind it."""
    jump = view.jump(Way.WRITE)
    written = any(item.way is Way.WRITE for item in view.throttled)
    if diagnosis.cause not in _MAY_BE_A_BACKFILL or jump is None or not written:
        return diagnosis
    known = view.evidence.backfills
    blind = isinstance(known, BackfillsUnknown) and runaway_backfill.is_dagys(view)
    text = (
        f"Writes wanted rose from {number(jump.before)} to {number(jump.after)} units a second at {clock(jump.onset)}; "
    )
    if blind:
        text += "a backfill may be behind it, but dagy could not be asked."
    else:
        text += "no running backfill explains it"
        text += "".join(f", {said}" for said in other_writers.excluded(view, jump))
        text += ": look for another writer"
        replicas = view.evidence.settings.replicas
        text += f", also in another Region ({names(replicas)})." if replicas else "."
        text += " One that writes in batches may show in no ThrottledRequests."
    finding = Finding(text=text, check=view.check(f"Consumed{PREFIX[Way.WRITE]}CapacityUnits"))
    confidence = diagnosis.confidence
    if isinstance(known, BackfillsUnknown) and blind:
        # A dagy that does not answer may be running just that backfill, and capacity would feed it: a person decides.
        lowest = Confidence.LOW if known.configured else Confidence.MEDIUM
        confidence = lowest if confidence is Confidence.HIGH or known.configured else confidence
    return replace(diagnosis, confidence=confidence, findings=(*diagnosis.findings, finding))
