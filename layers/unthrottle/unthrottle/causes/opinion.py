"""What one cause makes of the evidence, and how many opinions become one diagnosis.

An opinion is a diagnosis (it fits), a `Rejected` (it was a runner-up, and this spoke against it) or None (nothing in
the evidence speaks of it). The order of the opinions is the order of precedence.
"""

from collections.abc import Sequence
from dataclasses import replace

from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected

Opinion = Diagnosis | Rejected | None

_GOES_FIRST: dict[Cause, str] = {
    Cause.ALREADY_OVER: "nothing is throttled any more",
    Cause.RUNAWAY_BACKFILL: "more capacity would only feed the backfill",
    Cause.CAPACITY_CHANGE_IN_PROGRESS: "a change is already under way, and acting twice helps nobody",
    Cause.HOT_INDEX: "no capacity helps one partition of an index",
    Cause.SWITCHED_OFF: "the function was switched off on purpose",
    Cause.POOL_HOG: "what holds the pool explains the pool",
}


def settle(opinions: Sequence[Opinion], *, gaps: Sequence[str], findings: Sequence[Finding]) -> Diagnosis:
    """Take the first diagnosis; the others become runners-up. Where none fits, the answer is inconclusive.

    `gaps` are added to the winner's; `findings` are what was seen where nothing fits.
    """
    winner = next((opinion for opinion in opinions if isinstance(opinion, Diagnosis)), None)
    if winner is None:
        winner = inconclusive(*findings)
    rejected: dict[Cause, Rejected] = {}
    for opinion in opinions:
        if opinion is None or opinion.cause is winner.cause:
            continue
        against = opinion if isinstance(opinion, Rejected) else _beaten(opinion, winner)
        rejected.setdefault(against.cause, against)
    return replace(
        winner,
        rejected=(*winner.rejected, *rejected.values()),
        gaps=tuple(dict.fromkeys((*winner.gaps, *gaps))),
    )


def inconclusive(*findings: Finding, gaps: Sequence[str] = ()) -> Diagnosis:
    """Say that the evidence does not carry a conclusion: a person has to look."""
    return Diagnosis(cause=Cause.INCONCLUSIVE, confidence=Confidence.LOW, findings=findings, gaps=tuple(gaps))


def _beaten(loser: Diagnosis, winner: Diagnosis) -> Rejected:
    seen = loser.findings[0].text.rstrip(".") if loser.findings else "its signature is there"
    why = _GOES_FIRST.get(winner.cause, "its signature is the more specific one")
    return Rejected(cause=loser.cause, because=f"It fits too ({seen}), but {winner.cause} goes first: {why}.")
