"""How can a storm be played in less than an hour? moto copies a whole table for every operation of a transaction.

Its rollback needs only what the transaction touches. Here a table is copied with its structure, and in depth only where the
transaction writes; what a transaction does, and what a failed one leaves behind, stays the same.
"""

import contextlib
import copy
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table


class _Touched(threading.local):
    keys: frozenset[DynamoType] | None = None


_touched = _Touched()


@contextlib.contextmanager
def cheap_rollback() -> Iterator[None]:
    """Copy only what a transaction touches, as long as this lasts."""
    backend_type: Any = DynamoDBBackend
    table_type: Any = Table
    original = backend_type.transact_write_items

    def transact(backend: Any, transact_items: Sequence[Mapping[str, Any]]) -> None:
        _touched.keys = _hash_keys(backend, transact_items)
        try:
            original(backend, transact_items)
        finally:
            _touched.keys = None

    backend_type.transact_write_items = transact
    table_type.__deepcopy__ = _copied
    try:
        yield
    finally:
        backend_type.transact_write_items = original
        del table_type.__deepcopy__


def _hash_keys(backend: Any, transact_items: Sequence[Mapping[str, Any]]) -> frozenset[DynamoType]:
    found = set()
    for one in transact_items:
        operation = next(iter(one.values()))
        table = backend.tables[operation["TableName"]]
        key = operation.get("Key") or operation.get("Item")
        found.add(DynamoType(key[table.hash_key_attr]))
    return frozenset(found)


def _copied(table: Any, memo: dict[int, Any]) -> Any:
    """Copy a table: in depth where the transaction writes, or everywhere outside of one."""
    clone = object.__new__(type(table))  # past moto's register, which remembers every copy for ever
    clone.__dict__.update(table.__dict__)
    memo[id(table)] = clone
    clone.items = defaultdict(dict, table.items)
    touched = table.items.keys() if _touched.keys is None else _touched.keys
    for key in touched:
        if key in table.items:
            clone.items[key] = copy.deepcopy(table.items[key], memo)
    return clone
