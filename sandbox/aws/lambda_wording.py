"""How does Lambda name functions, cut pages and refuse? Shared by its two groups of operations."""

import base64
from collections.abc import Sequence
from typing import TypeVar

from sandbox.aws.calls import Refuse, Request

T = TypeVar("T")
GONE = "The resource you requested does not exist."


class RefusedError(Exception):
    """Carries a refusal to where the call is answered."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.refusal = Refuse(code=code, message=message, status=status)


def parts(given: str) -> tuple[str, str | None]:
    """Name and qualifier of a function given as a name, name:qualifier, partial or full ARN."""
    pieces = given.split(":")
    if "function" in pieces:
        pieces = pieces[pieces.index("function") + 1 :]
    return pieces[0], pieces[1] if len(pieces) > 1 else None


def page(items: Sequence[T], request: Request, size: int) -> tuple[Sequence[T], str | None]:
    """One page; MaxItems can only make it smaller."""
    marker = request.parameters.get("Marker")
    start = int(base64.b64decode(str(marker))) if marker else 0
    stop = start + min(size, int(request.parameters.get("MaxItems") or size))
    following = base64.b64encode(str(stop).encode()).decode() if stop < len(items) else None
    return items[start:stop], following


def invalid(message: str) -> RefusedError:
    """HTTP 400, InvalidParameterValueException."""
    return RefusedError("InvalidParameterValueException", message)


def missing(message: str) -> RefusedError:
    """HTTP 404, ResourceNotFoundException."""
    return RefusedError("ResourceNotFoundException", message, 404)
