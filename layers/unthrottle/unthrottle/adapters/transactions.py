"""Did a group of writes to DynamoDB happen, and if not, whose condition did not hold?

All or nothing, in one TransactWriteItems call. Knows nothing of what is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from unthrottle.adapters.access import Access
from unthrottle.adapters.aws_errors import code_of, words_of
from unthrottle.errors import Refused, TryAgain

MOST_WRITES = 100
"""DynamoDB API, TransactWriteItems."""

_HARMLESS = frozenset({"None", "ConditionalCheckFailed", "TransactionConflict"})
_BUSY = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """Nothing was written. `failed` holds the positions whose condition did not hold, with the item found there.

    Empty: another transaction was under way; the same may succeed now.
    """

    failed: Mapping[int, Mapping[str, Any]]


def write_together(access: Access, writes: Sequence[dict[str, Any]], doing: str) -> Cancelled | None:
    """Write all of `writes`, or nothing and say why. None: done.

    Raises TryAgain, NotFound, NotAllowed, Refused.
    """
    if len(writes) > MOST_WRITES:
        raise Refused(
            f"Could not {doing}: {len(writes)} items at once are more than the {MOST_WRITES} DynamoDB takes. "
            f"Nothing was changed.",
            code="TooManyWrites",
        )
    items: Any = list(writes)
    with access.use("dynamodb", doing) as client:
        try:
            client.transact_write_items(TransactItems=items)
        except ClientError as error:
            if code_of(error) != "TransactionCanceledException":
                raise
            return _reasons(error, doing)
    return None


def _reasons(error: ClientError, doing: str) -> Cancelled:
    response: Mapping[str, Any] = error.response
    reasons: Sequence[Mapping[str, Any]] = response.get("CancellationReasons") or []
    codes = [str(reason.get("Code") or "None") for reason in reasons]
    if not reasons or _BUSY.intersection(codes):
        raise TryAgain(f"Could not {doing}: AWS said {code_of(error)}: {words_of(error)}") from error
    refused = [(code, reason.get("Message", "")) for code, reason in zip(codes, reasons, strict=True)]
    refused = [(code, message) for code, message in refused if code not in _HARMLESS]
    if refused:
        code, message = refused[0]
        raise Refused(f"Could not {doing}: AWS said {code}: {message}. Nothing was changed.", code=code) from error
    return Cancelled(
        failed={
            position: reasons[position].get("Item") or {}
            for position, code in enumerate(codes)
            if code == "ConditionalCheckFailed"
        }
    )
