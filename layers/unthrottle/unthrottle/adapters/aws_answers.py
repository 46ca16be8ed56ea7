"""Is an answer of AWS of the form its service promises?

botocore takes a JSON answer as it comes: a text where a number should be goes through. Here each answer is held against the
service's own model, once, where it arrives: what is of another type, or cannot be parsed at all, is a `MalformedAnswer`, and so
is asking such an answer for what it does not have. Any other KeyError or TypeError is a mistake of ours, and comes out as one.
Knows nothing of what is asked.
"""

import json
import types
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from unthrottle.errors import MalformedAnswer

_PARSING = frozenset({"botocore.parsers", "botocore.handlers"})
"""Where botocore reads an answer (botocore 1.44), with the help of others; elsewhere it does so by itself."""
_UNREADABLE = (AttributeError, KeyError, IndexError, RuntimeError, TypeError, ValueError)
"""What it raises there for an answer of no known form; RuntimeError for nesting, and for a date beyond every calendar."""
_NO_CONTENT, _NO_SUCCESS = 204, 300
_SCALARS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "character": (str,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "boolean": (bool,),
    "timestamp": (datetime,),
}


_DECODED = "policyDocumentType"
"""A text of IAM that botocore has turned into a mapping by then."""


class _MissingPart(MalformedAnswer, KeyError):
    """A part of an answer that is not there; also a KeyError, for those who can do without it."""

    __str__ = Exception.__str__


class Part(dict[str, Any]):
    """A mapping in an answer. Asking for what it does not have is a `MalformedAnswer`; `get` is for what may be missing."""

    __slots__ = ()

    def __missing__(self, key: str) -> Any:
        raise _MissingPart(f"AWS's answer has no {key}. It is tried again.")


def reading(client: Any) -> Any:
    """Let a client hold each of its answers against the service's model. Does nothing the second time."""
    if getattr(client, "_unthrottle_reads", False):
        return client
    send: Callable[[str, Mapping[str, Any]], Any] = client._make_api_call  # noqa: SLF001  every call, also a paginator's, goes through it

    def checked(operation: str, parameters: Mapping[str, Any]) -> Any:
        try:
            answer = send(operation, parameters)
        except _UNREADABLE as error:
            if not _is_of_botocore(error.__traceback__):
                raise
            raise MalformedAnswer(
                f"AWS's answer cannot be read ({type(error).__name__}). It is tried again."
            ) from error
        shape = client.meta.service_model.operation_model(operation).output_shape
        return answer if shape is None else _structure(answer, shape, operation)

    client.meta.events.register("before-parse", _is_json)
    client._make_api_call = checked  # noqa: SLF001
    client._unthrottle_reads = True  # noqa: SLF001
    return client


def _is_json(operation_model: Any, response_dict: Mapping[str, Any], **_: Any) -> None:
    """Refuse a success that is no JSON where JSON is promised: botocore would take it for an answer without any part.

    A function without tags, a table's batch without items: that is how a pause or a protection would be overlooked. A body
    that is an item of its own (what an invoked function answers) is not looked at.
    """
    if response_dict["status_code"] >= _NO_SUCCESS or operation_model.output_shape is None:
        return
    if "json" not in operation_model.service_model.resolved_protocol or operation_model.has_streaming_output:
        return
    if response_dict["status_code"] == _NO_CONTENT and not response_dict["body"]:
        return
    try:
        # As UTF-8 and nothing else, as botocore does: of bytes, json would also take what it then cannot read.
        told = json.loads(response_dict["body"].decode("utf-8"))
        has_lists = _has_lists(told, operation_model.output_shape)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswer(
            f"AWS's answer to {operation_model.name} is no JSON ({len(response_dict['body'])} bytes). It is tried again."
        ) from error
    if not has_lists:
        raise MalformedAnswer(
            f"AWS's answer to {operation_model.name} has something else where a list is promised. It is tried again."
        )


def _has_lists(told: Any, shape: Any) -> bool:
    """Say whether lists stand where they are promised: botocore makes one of a text or an object, an empty one of `""`."""
    kind = shape.type_name
    if kind == "list" and told is not None:
        return isinstance(told, list) and (
            shape.member.type_name in _SCALARS or all(_has_lists(item, shape.member) for item in told)
        )
    if not isinstance(told, dict):
        return True
    if kind == "map":
        return shape.value.type_name in _SCALARS or all(_has_lists(item, shape.value) for item in told.values())
    if kind != "structure" or getattr(shape, "is_document_type", False):
        return True
    return all(
        _has_lists(told.get(member.serialization.get("name", name)), member)
        for name, member in shape.members.items()
        if member.type_name not in _SCALARS
    )


def text_as_json(text: str, what: str) -> Any:
    """Parse a JSON text that an answer carries. Raises MalformedAnswer."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswer(f"AWS's answer has {what} that is no JSON. It is tried again.") from error


def _is_of_botocore(trace: types.TracebackType | None) -> bool:
    """Say whether an error was raised where botocore reads an answer, and not by what is hooked into it."""
    name = ""
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__", ""))
        if name in _PARSING:
            return True
        trace = trace.tb_next
    return name.startswith("botocore.")


def _structure(value: Any, shape: Any, path: str) -> Part:
    if not isinstance(value, dict):
        raise _other(path, "an object", value)
    members = shape.members
    return Part(
        (name, part if name not in members or part is None else _checked(part, members[name], f"{path}.{name}"))
        for name, part in value.items()
    )


def _checked(value: Any, shape: Any, path: str) -> Any:
    kind = shape.type_name
    if kind == "structure":
        return value if getattr(shape, "is_document_type", False) else _structure(value, shape, path)
    if kind == "list":
        if not isinstance(value, list):
            raise _other(path, "a list", value)
        allowed = _SCALARS.get(shape.member.type_name)
        if allowed is None:
            return [_checked(item, shape.member, path) for item in value]
        for item in value:
            _scalar(item, allowed, shape.member.type_name, path)
        return value
    if kind == "map":
        if not isinstance(value, dict):
            raise _other(path, "an object", value)
        return Part((key, _checked(item, shape.value, f"{path}.{key}")) for key, item in value.items())
    if kind in _SCALARS and shape.name != _DECODED:
        _scalar(value, _SCALARS[kind], kind, path)
    return value


def _scalar(value: Any, allowed: tuple[type, ...], kind: str, path: str) -> None:
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind != "boolean"):
        raise _other(path, f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}", value)


def _other(path: str, promised: str, value: Any) -> MalformedAnswer:
    return MalformedAnswer(
        f"AWS's answer has {type(value).__name__} as {path[:200]}, which is to be {promised}. It is tried again."
    )
