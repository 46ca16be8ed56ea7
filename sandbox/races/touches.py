"""Which items does a call to DynamoDB read or write? What is needed to tell whether two calls commute.

An item is a thing (its partition) and a part (its sort key); a query reads every part. Each call is taken as one indivisible
step, as DynamoDB promises for one item under a condition and for a transaction (developer guide: conditional writes,
transactions). Reads here are always consistent ones, as the store's are.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.races.turns import Mode, Touch, Touches


def touches_of(operation: str, parameters: Mapping[str, Any]) -> Touches:
    """Name what a call touches. Raises ValueError for a call the state table's store does not make."""
    return frozenset(_found(operation, parameters))


def _found(operation: str, parameters: Mapping[str, Any]) -> Iterator[Touch]:
    match operation:
        case "GetItem":
            yield _item(parameters["Key"], "read")
        case "PutItem":
            yield _item(parameters["Item"], "write")
        case "UpdateItem" | "DeleteItem":
            yield _item(parameters["Key"], "write")
        case "Query":
            (wanted,) = parameters["ExpressionAttributeValues"].values()
            yield Touch(wanted["S"], None, "read")
        case "BatchGetItem":
            for asked in parameters["RequestItems"].values():
                for key in asked["Keys"]:
                    yield _item(key, "read")
        case "TransactWriteItems":
            for write in parameters["TransactItems"]:
                for kind, one in write.items():
                    yield _item(one.get("Key") or one["Item"], "read" if kind == "ConditionCheck" else "write")
        case _:
            raise ValueError(f"{operation} is not a call of the state table's store")


def _item(key: Mapping[str, Any], mode: Mode) -> Touch:
    return Touch(key["pk"]["S"], key["sk"]["S"], mode)
