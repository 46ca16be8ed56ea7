"""How are the faults of a scenario file told to the person who wrote it?

Turns key paths and pydantic's findings into sentences: where, what was found, what is allowed, and the close match for
a typo. It does not decide what is a fault.
"""

import difflib
import types
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from sandbox.scenario.format import PATTERNS

SHOWN = 25
"""More problems than this are counted, not listed."""

TYPE_WORDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text; write it in quotes",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "dataclass_type": "a mapping (key: value)",
    "datetime_type": "a moment such as 2026-08-24T04:00:00Z",
    "datetime_parsing": "a moment such as 2026-08-24T04:00:00Z",
    "datetime_from_date_parsing": "a moment such as 2026-08-24T04:00:00Z",
    "timezone_aware": "a moment with its time zone, such as 2026-08-24T04:00:00Z",
}
LIMIT_WORDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


class ScenarioError(Exception):
    """A scenario file cannot be used. The text names the file and lists every problem found; nothing was run."""

    def __init__(self, file: Path | str, problems: Sequence[str]) -> None:
        self.file = str(file)
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        lines = [f"Cannot use scenario {file}: {count}. Nothing was run."]
        lines += [f"  - {problem}" for problem in problems[:SHOWN]]
        if len(problems) > SHOWN:
            lines.append(f"  - and {len(problems) - SHOWN} more")
        lines.append("Correct the file and run it again.")
        super().__init__("\n".join(lines))


def key_path(loc: Iterable[str | int]) -> str:
    """Write a location the way the file's author thinks of it: functions[0].trigger.type."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text or "the file"


def shown(value: object) -> str:
    """Show a found value briefly, with YAML's spelling of true, false and null."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping with " + (", ".join(str(key) for key in list(value)[:6]) or "no keys")
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def hint(word: object, allowed: Iterable[str], lead: str = "allowed: ") -> str:
    """Go on after a mistyped word: the close match, if there is one, and then *lead*."""
    names = {name.lower(): name for name in allowed}
    matches = difflib.get_close_matches(str(word).lower(), names, n=1, cutoff=0.6)
    if not matches:
        return f"; {lead}"
    return f"; did you mean {names[matches[0]]!r}? {lead[:1].upper()}{lead[1:]}"


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Find the model behind an annotation such as `list[Model]`, `Model | None` or `dict[str, Model]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in {Union, types.UnionType, list, tuple, dict, typing.Annotated}:
        for inner in get_args(annotation):
            found = _model_in(inner)
            if found is not None:
                return found
    return None


def allowed_keys(root: type[BaseModel], loc: Sequence[str | int]) -> tuple[str, ...]:
    """Name the keys that the mapping at *loc* may hold."""
    model = root
    for part in loc:
        if isinstance(part, int):
            continue
        spec = model.model_fields.get(part) or next((f for f in model.model_fields.values() if f.alias == part), None)
        inner = None if spec is None else _model_in(spec.annotation)
        if inner is None:
            return ()
        model = inner
    return tuple(spec.alias or name for name, spec in model.model_fields.items())


def in_words(root: type[BaseModel], error: ErrorDetails) -> str:
    """Write one of pydantic's findings as: path, what was found, what is allowed."""
    loc, kind, found, context = error["loc"], error["type"], error["input"], error.get("ctx", {})
    where = key_path(loc)
    if kind == "extra_forbidden":
        keys = allowed_keys(root, loc[:-1])
        return f"{where}: unknown key {str(loc[-1])!r}{hint(loc[-1], keys)}{', '.join(keys)}"
    if kind == "missing":
        return f"{where}: " + (
            "a pair is needed, such as [0, 20]" if isinstance(loc[-1], int) else "this key is required"
        )
    if kind == "too_long":
        return f"{where}: found {shown(found)}; it must be a pair, such as [0, 20]"
    if kind == "invalid_key":
        return f"{key_path(loc[:-1])}: found the key {shown(loc[-1])}; keys are words"
    if kind == "literal_error":
        allowed = str(context.get("expected", ""))
        words = [word.strip("'") for word in allowed.replace(" or ", ", ").split(", ")]
        return f"{where}: found {shown(found)}{hint(found, words)}{', '.join(words)}"
    if kind in LIMIT_WORDS:
        key, word = LIMIT_WORDS[kind]
        return f"{where}: found {shown(found)}; it must be {word} {context.get(key)}"
    if kind in TYPE_WORDS:
        return f"{where}: found {shown(found)}; it must be {TYPE_WORDS[kind]}"
    if kind == "string_pattern_mismatch":
        return f"{where}: found {shown(found)}; it must be {PATTERNS[str(context.get('pattern'))]}"
    if kind == "finite_number":
        return f"{where}: found {shown(found)}; it must be a finite number"
    message = error["msg"].removeprefix("Value error, ")
    return f"{where}: found {shown(found)}; {message[:1].lower()}{message[1:]}"
