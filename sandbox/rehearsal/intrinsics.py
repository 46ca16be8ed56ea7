"""What does a template say once its references are resolved?

Evaluates CloudFormation's intrinsic functions the way a deployment does, for the few resource types whose names and ARNs
matter here. What it does not know is an error, never an empty string.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_REFERENCE = re.compile(r"\$\{(!?)([A-Za-z0-9:._]+)\}")


class UnresolvedError(ValueError):
    """The template uses something that is not understood here."""


class NoValue:
    """AWS::NoValue: the property or element is left out."""


NO_VALUE = NoValue()


class Resolver:
    """Resolves values of one template. *attribute* answers Ref (attribute None) and GetAtt of a resource."""

    def __init__(
        self,
        *,
        names: Mapping[str, object],
        conditions: Mapping[str, object],
        attribute: Callable[[str, str | None], object],
    ) -> None:
        self._names = names
        self._conditions = conditions
        self._attribute = attribute
        self._functions: dict[str, Callable[[Any], object]] = {
            "Ref": lambda name: self._lookup(str(name)),
            "Condition": lambda name: self.holds(str(name)),
            "Fn::GetAtt": self._get_att,
            "Fn::Sub": self._sub,
            "Fn::Join": lambda a: str(a[0]).join(str(part) for part in self._list(a[1])),
            "Fn::Split": lambda a: str(self.resolve(a[1])).split(str(a[0])),
            "Fn::Select": lambda a: self._list(a[1])[int(str(self.resolve(a[0])))],
            "Fn::If": lambda a: self.resolve(a[1] if self.holds(str(a[0])) else a[2]),
            "Fn::Equals": lambda a: str(self.resolve(a[0])) == str(self.resolve(a[1])),
            "Fn::Not": lambda a: not self.resolve(a[0]),
            "Fn::And": lambda a: all(self.resolve(part) for part in a),
            "Fn::Or": lambda a: any(self.resolve(part) for part in a),
        }

    def holds(self, condition: str) -> bool:
        """Evaluate a named condition."""
        if condition not in self._conditions:
            raise UnresolvedError(f"There is no condition {condition} in the template.")
        return bool(self.resolve(self._conditions[condition]))

    def resolve(self, value: object) -> Any:
        """Resolve a value to its leaves; elements and properties that are AWS::NoValue are left out."""
        if isinstance(value, Mapping):
            if len(value) == 1:
                ((name, argument),) = value.items()
                if name in self._functions:
                    return self._functions[name](argument)
                if str(name).startswith("Fn::"):
                    raise UnresolvedError(f"The function {name} is not understood here: {argument!r}.")
            found = {key: self.resolve(item) for key, item in value.items()}
            return {key: item for key, item in found.items() if item is not NO_VALUE}
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [item for part in value if (item := self.resolve(part)) is not NO_VALUE]
        return value

    def _list(self, value: object) -> list[Any]:
        found = self.resolve(value)
        if not isinstance(found, list):
            raise UnresolvedError(f"A list is needed, not {found!r}.")
        return found

    def _get_att(self, argument: Any) -> object:
        resource, name = argument.split(".", 1) if isinstance(argument, str) else argument
        return self._attribute(str(resource), str(name))

    def _sub(self, argument: Any) -> str:
        text, given = (argument, {}) if isinstance(argument, str) else argument

        def replaced(match: re.Match[str]) -> str:
            literal, name = match.groups()
            if literal:
                return f"${{{name}}}"
            if name in given:
                return str(self.resolve(given[name]))
            if "." in name and name not in self._names:
                return str(self._get_att(name))
            return str(self._lookup(name))

        return _REFERENCE.sub(replaced, str(text))

    def _lookup(self, name: str) -> object:
        if name == "AWS::NoValue":
            return NO_VALUE
        return self._names[name] if name in self._names else self._attribute(name, None)
