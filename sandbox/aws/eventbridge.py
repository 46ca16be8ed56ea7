"""Does an event match a rule's pattern, and whom does the bus call?

Understands exact values, prefix, suffix, anything-but (also of prefix, suffix, wildcard and equals-ignore-case),
exists, equals-ignore-case, numeric, wildcard and $or, and reaches into arrays of objects: all conditions on one array
must hold for one of its elements. An unknown operator is an error, since a rule that silently never fires is worse.

EventBridge user guide, "Creating event patterns" and "Comparison operators".
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_COMPARE: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ABSENT: Final = object()
Pattern = Mapping[str, Any]


class PatternError(ValueError):
    """The pattern is not one EventBridge would take, or uses an operator that is not understood."""


def matches(pattern: Pattern, event: Mapping[str, Any]) -> bool:
    """Whether an event matches a pattern. Raises PatternError, whatever the event is."""
    check(pattern)
    return _object(pattern, event)


def check(pattern: Pattern) -> None:
    """Raise PatternError unless every part of the pattern is understood."""
    if not pattern:
        raise PatternError(f"An event pattern must be an object with at least one field, not {pattern!r}.")
    for name, wanted in pattern.items():
        if name == "$or":
            if not isinstance(wanted, Sequence) or len(wanted) < 2:
                raise PatternError(f"$or wants a list of at least two patterns, not {wanted!r}.")
            for part in wanted:
                if not isinstance(part, Mapping):
                    raise PatternError(f"$or wants patterns, not {part!r}.")
                check(part)
        elif isinstance(wanted, Mapping):
            check(wanted)
        elif isinstance(wanted, Sequence) and not isinstance(wanted, str) and wanted:
            for choice in wanted:
                _condition(choice)
        else:
            raise PatternError(f"The field {name!r} of an event pattern must be an object or a list, not {wanted!r}.")


class Bus:
    """Rules in the order given: (pattern, logical name of the function it calls)."""

    def __init__(self, rules: Sequence[tuple[Pattern, str]]) -> None:
        for pattern, _ in rules:
            check(pattern)
        self._rules = list(rules)

    def put(self, event: Mapping[str, Any]) -> list[str]:
        """The functions that get the event, one entry for each rule that matches."""
        return [target for pattern, target in self._rules if matches(pattern, event)]


def _object(pattern: Pattern, event: Mapping[str, Any]) -> bool:
    for name, wanted in pattern.items():
        if name == "$or":
            if not any(_object(part, event) for part in wanted):
                return False
        elif not _field(wanted, event.get(name, _ABSENT)):
            return False
    return True


def _field(wanted: Pattern | Sequence[Any], found: Any) -> bool:
    if isinstance(wanted, Mapping):
        if isinstance(found, list):
            return any(isinstance(item, Mapping) and _object(wanted, item) for item in found)
        # Below a field that is not there, everything is absent: {"exists": false} may still hold.
        return _object(wanted, found if isinstance(found, Mapping) else {})
    conditions = [_condition(choice) for choice in wanted]
    values = found if isinstance(found, list) and found else [found]
    return any(condition(value) for condition in conditions for value in values)


def _condition(choice: Any) -> Callable[[Any], bool]:
    """What one entry of a list in a pattern demands of a value."""
    if not isinstance(choice, Mapping):
        return lambda value: _same(choice, value)
    if len(choice) != 1:
        raise PatternError(f"A condition of an event pattern has exactly one operator, not {dict(choice)!r}.")
    name, argument = next(iter(choice.items()))
    match name:
        case "exists":
            return lambda value: (value is not _ABSENT) is bool(argument)
        case "numeric":
            return _numeric(argument)
        case "anything-but":
            unwanted = _unwanted(argument)
            return lambda value: value is not _ABSENT and not any(condition(value) for condition in unwanted)
        case _:
            return _text(name, argument)


def _unwanted(argument: Any) -> list[Callable[[Any], bool]]:
    if isinstance(argument, Mapping):
        name, inner = next(iter(argument.items()))
        inners = inner if isinstance(inner, list) else [inner]
        return [_text(name, one) for one in inners]
    arguments = argument if isinstance(argument, list) else [argument]
    return [_condition(one) for one in arguments]


def _text(name: str, argument: Any) -> Callable[[Any], bool]:
    if name in {"prefix", "suffix"} and isinstance(argument, Mapping) and set(argument) == {"equals-ignore-case"}:
        folded = str(argument["equals-ignore-case"]).casefold()
        inner = _text(name, folded)
        return lambda value: isinstance(value, str) and inner(value.casefold())
    if not isinstance(argument, str):
        raise PatternError(f"The operator {name!r} of an event pattern is not understood with {argument!r}.")
    match name:
        case "prefix":
            return lambda value: isinstance(value, str) and value.startswith(argument)
        case "suffix":
            return lambda value: isinstance(value, str) and value.endswith(argument)
        case "equals-ignore-case":
            return lambda value: isinstance(value, str) and value.casefold() == argument.casefold()
        case "wildcard":
            regex = re.compile(".*".join(re.escape(part) for part in argument.split("*")), re.DOTALL)
            return lambda value: isinstance(value, str) and regex.fullmatch(value) is not None
    raise PatternError(f"The operator {name!r} of an event pattern is not understood.")


def _numeric(argument: Any) -> Callable[[Any], bool]:
    if (
        not isinstance(argument, list)
        or len(argument) not in {2, 4}
        or any(sign not in _COMPARE for sign in argument[::2])
    ):
        raise PatternError(f"numeric wants [sign, number] or [sign, number, sign, number], not {argument!r}.")
    tests = [(_COMPARE[sign], float(number)) for sign, number in zip(argument[::2], argument[1::2], strict=True)]
    return lambda value: (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and all(compare(float(value), number) for compare, number in tests)
    )


def _same(wanted: Any, found: Any) -> bool:
    """Equality of JSON values: true is not 1, and null is not absent."""
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    return bool(wanted == found) and found is not _ABSENT
