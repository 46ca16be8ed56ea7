"""What an incident is about: a table (or one of its indexes), a function, or the account's concurrency pool.

Pure names; knows nothing of how they are read or changed.
"""

import hashlib
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSubject:
    """A DynamoDB table; `index` names the global secondary index the symptom was seen on, if it was one."""

    table: str
    index: str | None = None
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSubject:
    """A Lambda function that shows a symptom. It is a victim until the evidence says otherwise."""

    function: str
    kind: Literal["function"] = "function"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSubject:
    """The concurrency all functions of one account and Region draw from."""

    kind: Literal["pool"] = "pool"


Subject = TableSubject | FunctionSubject | PoolSubject


def fingerprint(account: str, region: str, subject: Subject) -> str:
    """Name the incident a subject belongs to; equal fingerprints are the same incident while it is open.

    All functions of an account and Region share one pool, so their alarms are one incident; a table and its indexes
    are one, since a short index throttles the table's writes.
    """
    match subject:
        case TableSubject(table=table):
            return f"{account}/{region}/dynamodb/{table}"
        case FunctionSubject() | PoolSubject():
            return f"{account}/{region}/lambda/pool"


def muted_mark(mark: str) -> str:
    """Name the incident of the muted alarms of a fingerprint: one of its own, so that no alarm that is meant joins it."""
    return f"{mark}/muted"


def is_own(name: str, own_prefix: str | None) -> bool:
    """Say whether a function belongs to Unthrottle's own stack (CloudFormation begins its names with the stack's)."""
    return bool(own_prefix) and name.startswith(f"{own_prefix}-")


def incident_id(mark: str, dedupe_key: str) -> str:
    """Derive an incident's id from its fingerprint and the state change that opened it.

    The same state change delivered twice gives the same id, so that a duplicate start is harmless.
    """
    digest = hashlib.sha256(f"{mark}|{dedupe_key}".encode()).digest()
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    return "INC-" + "".join(alphabet[byte % 32] for byte in digest[:8])
