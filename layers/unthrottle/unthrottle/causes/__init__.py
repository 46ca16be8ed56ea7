"""Why is it throttled? Pure: evidence in, one diagnosis out, with its numbers, its runners-up and its gaps.

A cause is one function that looks at the evidence and gives an opinion; `pool.py` and `table.py` list them in order of
precedence. Nothing here knows what is done about a cause.

Confidence means the same everywhere. High: the whole signature is there and nothing that could contradict it is
missing. Medium: it fits, and one supporting measurement is missing or cannot exist. Low: more than one explanation
fits, or the evidence is too thin to act on without a person; an inconclusive diagnosis is always low.

`targets` holds only what an action may change (a hog, a table short of capacity, a backfill); causes that are
answered by waiting or by a person have none, and name whom they hurt in `victims`.
"""

from unthrottle.causes.pool import diagnose_pool
from unthrottle.causes.table import diagnose_table
from unthrottle.diagnosis import Diagnosis
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.evidence.table import TableEvidence
from unthrottle.settings import Settings

__all__ = ["diagnose"]


def diagnose(evidence: PoolEvidence | TableEvidence, settings: Settings, *, itself: frozenset[str]) -> Diagnosis:
    """Conclude from one look at a pool or a table. `itself` are the names of Unthrottle's own functions.

    Never raises for missing, stale or contradictory evidence: that is the cause `inconclusive`, with its gaps.
    """
    match evidence:
        case PoolEvidence():
            return diagnose_pool(evidence, settings, itself)
        case TableEvidence():
            return diagnose_table(evidence, settings)
