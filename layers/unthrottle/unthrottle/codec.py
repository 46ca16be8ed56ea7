"""How does a value become JSON, and the same value again? One answer for the incident record and for step results.

Writing needs the standard library only, so that the front door can store a record without loading a validator. Reading
checks every field against its type, through pydantic, loaded at the first read. Knows nothing of where JSON is kept.
"""

import dataclasses
import math
from collections.abc import Hashable, Mapping
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from unthrottle.errors import BadInput

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


def to_json(value: object) -> Json:
    """Turn dataclasses, enums, aware datetimes, tuples and mappings into plain JSON values.

    Datetimes become ISO 8601 with their offset. Raises ValueError for a naive datetime or a number that is not finite
    (a gap is None, never NaN), TypeError for anything that has no JSON form.
    """
    match value:
        case Enum():
            return to_json(value.value)
        case None | bool() | int() | str():
            return value
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value} has no JSON form; a missing number is None.")
            return value
        case datetime():
            if value.tzinfo is None:
                raise ValueError(f"{value} has no time zone; times here are UTC.")
            return value.isoformat()
        case Mapping():
            return {_key(key): to_json(item) for key, item in value.items()}
        case list() | tuple():
            return [to_json(item) for item in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
        case _:
            raise TypeError(f"A {type(value).__name__} has no JSON form here.")


def from_json(kind: type[T], data: object) -> T:
    """Build a `kind` from what `to_json` made of one; unions are told apart by their `kind` field.

    Fields this version does not know are ignored and fields it has meanwhile gained take their defaults, so that
    records of older and newer versions stay readable. Raises BadInput when a field is missing or of another type.
    """
    from pydantic import ValidationError  # noqa: PLC0415  # costs 100 ms, and the front door never reads

    try:
        read: T = _adapter(kind).validate_python(data)  # type: ignore[arg-type]  # every type is hashable
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc']) or 'the value'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False, include_context=False)[:5]
        )
        name = getattr(kind, "__name__", str(kind))
        raise BadInput(
            f"Cannot read this as {name}: {wrong}. Nothing was changed. It was written by another version or by hand."
        ) from error
    return read


@lru_cache(maxsize=256)
def _adapter(kind: Hashable) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # noqa: PLC0415  # as above

    return TypeAdapter(kind)


def _key(key: object) -> str:
    text = key.value if isinstance(key, Enum) else key
    if not isinstance(text, str):
        raise TypeError(f"A JSON object's keys are strings, not {type(key).__name__}.")
    return text
