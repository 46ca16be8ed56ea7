"""Has the account's quota for the table been reached? Only AWS can raise it, and the code says which one.

AccountLimit throttles occur only on demand (AWS DynamoDB guide, diagnosing throttling); a quota on provisioned
capacity shows when a raise is refused, not here.
"""

from unthrottle.causes import checks
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.table_view import TableView
from unthrottle.causes.wording import number
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding
from unthrottle.evidence.table import Throttle, Way

CODES = {Way.READ: "L-CF0CBE56", Way.WRITE: "L-AB614373"}
"""Service Quotas: dynamodb, table-level read and write throughput."""

DEFAULT_QUOTA = 40_000
"""Units per second of a table where nobody has asked for more (AWS DynamoDB guide, quotas)."""


def consider(view: TableView) -> Opinion:
    """High: AWS's own reason names the account limit for at least a fifth of the throttles."""
    found = [item for item in view.throttled if item.reason is Throttle.ACCOUNT_LIMIT]
    events = sum(item.events for item in found)
    if not found:
        return None
    few = view.side_effect(Cause.TABLE_QUOTA, events)
    if few is not None:
        return few
    quotas = [
        Finding(
            text=f"The quota is the table-level {way} throughput, {CODES[way]}: {number(DEFAULT_QUOTA)} units a second "
            "unless it has been raised.",
            check=checks.table_quota(CODES[way]),
        )
        for way in dict.fromkeys(item.way for item in found)
    ]
    return Diagnosis(
        cause=Cause.TABLE_QUOTA,
        confidence=Confidence.HIGH,
        victims=(view.table,),
        index=found[0].index,
        findings=(*(view.finding(item) for item in found), *quotas),
    )
