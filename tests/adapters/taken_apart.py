"""A DynamoDB client that makes a transaction's writes one by one, each under its own condition, and undoes them if one fails.

For a server that has conditional writes and no transactions. Nobody else may write meanwhile: transactions wait for each other
here, so what is judged is the conditions, by another implementation than moto's; not the isolation.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

Write = Mapping[str, Any]


class TakenApart:
    """Stands before a real client; all but transactions is its own."""

    _one_at_a_time = threading.RLock()

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transact_write_items(self, TransactItems: Sequence[Mapping[str, Write]]) -> dict[str, Any]:  # noqa: N803  boto3's name
        """Make every write, or none. Raises ClientError as DynamoDB does, with a reason for each."""
        with self._one_at_a_time:
            undo: list[Callable[[], object]] = []
            reasons = [self._made(kind, write, undo) for item in TransactItems for kind, write in item.items()]
            if all(reason == {"Code": "None"} for reason in reasons):
                return {}
            for step in reversed(undo):
                step()
        response: Any = {
            "Error": {"Code": "TransactionCanceledException", "Message": "Transaction cancelled"},
            "CancellationReasons": reasons,
        }
        raise ClientError(response, "TransactWriteItems")

    def _made(self, kind: str, write: Write, undo: list[Callable[[], object]]) -> dict[str, Any]:
        table = write["TableName"]
        key = write.get("Key") or {name: write["Item"][name] for name in ("pk", "sk")}
        before = self._client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
        asked = {name: value for name, value in write.items() if name != "ReturnValuesOnConditionCheckFailure"}
        call = {
            "Put": self._client.put_item,
            "Update": self._client.update_item,
            "Delete": self._client.delete_item,
            "ConditionCheck": self._client.update_item,  # an update that changes nothing
        }[kind]
        try:
            call(**asked)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            wants_old = write.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
            return {"Code": "ConditionalCheckFailed", **({"Item": before} if wants_old and before else {})}
        if before is None:
            undo.append(lambda: self._client.delete_item(TableName=table, Key=key))
        else:
            undo.append(lambda: self._client.put_item(TableName=table, Item=before))
        return {"Code": "None"}
