"""Cancel the dagy backfill that explains the load. Capacity is not touched, and there is no way back but to start again."""

from dataclasses import replace

from unthrottle.actions.outcome import GiveBack, LeftAlone
from unthrottle.backfills import Backfill, CancelAccepted, CancelAlreadyEnded, CancelUnknown
from unthrottle.errors import Drifted, Refused
from unthrottle.evidence.table import TableEvidence
from unthrottle.plan import CancelBackfill
from unthrottle.ports import Backfills

PERMISSIONS: tuple[str, ...] = ()
"""None of AWS's: dagy's own token decides."""

HAD_ENDED = (
    "dagy says that it had ended when asked (409): by an earlier request of Unthrottle whose answer was lost, or by somebody "
    "else"
)


def change(backfill: Backfill, evidence: TableEvidence) -> CancelBackfill:
    left = max(0, backfill.runs_total - backfill.runs_dispatched)
    return CancelBackfill(
        backfill_id=backfill.id,
        flow=backfill.flow,
        environment=backfill.environment,
        table=evidence.settings.name,
        table_arn=evidence.settings.arn,
        tags=evidence.tags,
        started_at=backfill.started_at,
        dispatch_rate_per_minute=backfill.dispatch_rate_per_minute,
        resume=(
            f"{backfill.requested_by} can start backfill {backfill.id} of {backfill.flow} again in dagy for the "
            f"{left:,} of {backfill.runs_total:,} runs that were not dispatched; dispatched runs go on"
        ),
    )


def commands(item: CancelBackfill) -> tuple[str, str]:
    """Give dagy's call for the change, and no command for a way back: `resume` has words of dagy's, and is none."""
    return f"POST /backfills/{item.backfill_id}/cancel (dagy)", ""


def compare(item: CancelBackfill, backfills: Backfills) -> None:
    """Raise Drifted when the backfill is not running any more."""
    if all(found.id != item.backfill_id for found in backfills.running(item.environment)):
        raise Drifted(
            f"Cannot cancel backfill {item.backfill_id}: dagy no longer lists it as running in {item.environment}. "
            "Nothing was changed. Watch whether the writes fall by themselves."
        )


def apply(item: CancelBackfill, backfills: Backfills) -> CancelBackfill:
    """Ask dagy to cancel. That dagy accepted proves nothing yet: verification looks at the writes.

    A backfill that ended without us is not claimed: Drifted, as where it is no longer listed. Whether it was us a moment
    earlier, when a process died before it could write that down, cannot be known; then it is kept as made, and says so.
    """
    answer = backfills.cancel(item.backfill_id)
    match answer:
        case CancelAccepted():
            return item
        case CancelAlreadyEnded(was_running=True):
            raise Drifted(
                f"Cannot cancel backfill {item.backfill_id}: dagy answers that it has ended (409), a moment after it was "
                "listed as running. Somebody else cancelled it, or it was through; Unthrottle changed nothing. Watch whether "
                "the writes fall by themselves."
            )
        case CancelAlreadyEnded():
            return replace(item, resume=f"{HAD_ENDED}; {item.resume}")
        case CancelUnknown():
            raise Refused(
                f"Cannot cancel backfill {item.backfill_id}: dagy does not know it. Nothing was changed. Look at dagy's "
                "own list of backfills and cancel the right one there.",
                code="404",
            )


def give_back(item: CancelBackfill) -> GiveBack:
    return LeftAlone(found=item.resume)
