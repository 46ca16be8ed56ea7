"""Where is the last audit remembered? In the incidents table, compressed, for as long as incidents are.

An audit of a large account is larger than an item may be (400 KB, DynamoDB quotas), so it lies in several; the newest one
that is whole is the last. Knows nothing of what is in it.
"""

import json
import zlib
from datetime import datetime, timedelta
from typing import Any

from unthrottle.adapters.access import Access
from unthrottle.errors import BadInput

PARTITION = "AUDIT"
PART_BYTES = 300_000


class AuditStore:
    """Keeps audits as JSON documents under the time they were made."""

    def __init__(self, access: Access, table: str, *, retention: timedelta) -> None:
        self._access, self._table, self._retention = access, table, retention

    def save(self, document: dict[str, Any], at: datetime) -> None:
        """Write an audit, its first part last: without that part it is not whole, and not found.

        Raises TryAgain, NotFound, NotAllowed, Refused.
        """
        data = zlib.compress(json.dumps(document, separators=(",", ":")).encode(), level=9)
        parts = [data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES)]
        expires = str(int((at + self._retention).timestamp()))
        with self._access.use("dynamodb", "keep the audit") as client:
            for number in reversed(range(len(parts))):
                client.put_item(
                    TableName=self._table,
                    Item={
                        "pk": {"S": PARTITION if number == 0 else f"{PARTITION}#{at.isoformat()}"},
                        "sk": {"S": at.isoformat() if number == 0 else f"{number:05d}"},
                        "parts": {"N": str(len(parts))},
                        "data": {"B": parts[number]},
                        "expires_at": {"N": expires},
                    },
                )

    def latest(self) -> dict[str, Any] | None:
        """Return the newest audit, or None. Raises BadInput for one that cannot be read; TryAgain, NotFound, NotAllowed."""
        with self._access.use("dynamodb", "read the last audit") as client:
            newest = client.query(
                TableName=self._table,
                KeyConditionExpression="pk = :audit",
                ExpressionAttributeValues={":audit": {"S": PARTITION}},
                ScanIndexForward=False,
                Limit=1,
            ).get("Items", [])
            if not newest:
                return None
            first = newest[0]
            rest = [
                client.get_item(
                    TableName=self._table,
                    Key={"pk": {"S": f"{PARTITION}#{first['sk']['S']}"}, "sk": {"S": f"{number:05d}"}},
                ).get("Item", {})
                for number in range(1, int(first["parts"]["N"]))
            ]
        try:
            data = b"".join(bytes(item["data"]["B"]) for item in [first, *rest])
            found = json.loads(zlib.decompress(data))
        except (KeyError, ValueError, zlib.error) as error:
            raise BadInput(
                f"Cannot read the audit of {first['sk']['S']}: it is not whole. Nothing was changed. The next one is compared "
                "with this one's successor."
            ) from error
        return found if isinstance(found, dict) else None
