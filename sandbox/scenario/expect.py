"""Did a rehearsal end the way its scenario expects?

Compares `expect` with the JSON output of that scenario; the paths are those of the output. Rules:

- A mapping is compared key by key; keys of the output that `expect` does not name are free.
- A key may be a dotted path (`incidents.0.cause`); a whole number steps into a list, negative ones from the end.
- A list must have the same length; each element is compared by these rules.
- Anything else must be equal. A number equals a number of the same value; `true` never equals 1.
- A mapping with exactly one of these keys is a test of the value instead:
  `{min: n}`, `{max: n}` (inclusive), `{contains: x}` (text in text, element in list, key in mapping; an element that is
  a mapping may be given in part), `{length: n}` (n may itself be `{min: n}` or `{max: n}`), `{not: x}`,
  `{any_of: [x, ...]}`.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

_ABSENT = object()


def unmet(expect: Mapping[str, object], output: object) -> list[str]:
    """List what *output* does not fulfil, one line each: path, what was expected, what was found."""
    return _compare("", expect, output)


def _compare(path: str, expect: object, found: object) -> list[str]:
    if isinstance(expect, Mapping):
        if len(expect) == 1:
            (operator, operand), *_ = expect.items()
            if operator in _TESTS:
                return _test(path, str(operator), operand, found)
        if not isinstance(found, Mapping | list):
            return [_line(path, "a mapping with " + ", ".join(map(str, expect)), found)]
        return [
            line
            for key, wanted in expect.items()
            for line in _compare(_join(path, str(key)), wanted, _follow(found, str(key)))
        ]
    if isinstance(expect, list | tuple):
        if not isinstance(found, list | tuple):
            return [_line(path, expect, found)]
        if len(expect) != len(found):
            return [
                _line(path, f"{len(expect)} elements: {_text(list(expect))}", f"{len(found)}: {_text(found)}", raw=True)
            ]
        return [
            line
            for i, (wanted, value) in enumerate(zip(expect, found, strict=True))
            for line in _compare(_join(path, str(i)), wanted, value)
        ]
    return [] if _equal(expect, found) else [_line(path, expect, found)]


def _follow(found: object, path: str) -> object:
    """Find what a path leads to. Names may hold dots themselves, as table names do: the longest name that fits wins."""
    if isinstance(found, Mapping):
        parts = path.split(".")
        for length in range(len(parts), 0, -1):
            name = ".".join(parts[:length])
            if name in found:
                return found[name] if length == len(parts) else _follow(found[name], ".".join(parts[length:]))
    if isinstance(found, list | tuple):
        index, _, rest = path.partition(".")
        if _is_index(index) and -len(found) <= int(index) < len(found):
            return _follow(found[int(index)], rest) if rest else found[int(index)]
    return _ABSENT


def _is_index(part: str) -> bool:
    return part.removeprefix("-").isdecimal()


def _test(path: str, operator: str, operand: object, found: object) -> list[str]:
    if operator != "not" and found is _ABSENT:
        return [_line(path, {operator: operand}, found)]
    return [] if _TESTS[operator](operand, found) else [_line(path, {operator: operand}, found)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _at_least(operand: Any, found: Any) -> bool:
    return _is_number(found) and _is_number(operand) and bool(found >= operand)


def _at_most(operand: Any, found: Any) -> bool:
    return _is_number(found) and _is_number(operand) and bool(found <= operand)


def _contains(operand: object, found: object) -> bool:
    if isinstance(found, str):
        return isinstance(operand, str) and operand in found
    if isinstance(found, Mapping):
        return isinstance(operand, str) and operand in found
    return isinstance(found, list | tuple) and any(not _compare("", operand, element) for element in found)


def _length(operand: object, found: object) -> bool:
    return isinstance(found, str | list | tuple | Mapping) and not _compare("", operand, len(found))


def _not(operand: object, found: object) -> bool:
    return found is _ABSENT or bool(_compare("", operand, found))


def _any_of(operand: object, found: object) -> bool:
    return isinstance(operand, list | tuple) and any(not _compare("", choice, found) for choice in operand)


_TESTS: dict[object, Callable[[Any, Any], bool]] = {
    "min": _at_least,
    "max": _at_most,
    "contains": _contains,
    "length": _length,
    "not": _not,
    "any_of": _any_of,
}


def _equal(expect: object, found: object) -> bool:
    if isinstance(expect, bool) or isinstance(found, bool):
        return expect is found
    return expect == found


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _text(value: object) -> str:
    if value is _ABSENT:
        return "no such key"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 300 else text[:297] + "..."


def _line(path: str, expect: object, found: object, *, raw: bool = False) -> str:
    wanted = expect if isinstance(expect, str) and raw else _text(expect)
    got = found if isinstance(found, str) and raw else _text(found)
    return f"{path or 'the output'}: expected {wanted}, found {got}"
