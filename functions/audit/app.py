"""The scheduled audit: what is exposed now. Reads and reports; holds no right to change anything."""

from functools import cache
from typing import Any

from unthrottle.adapters.logs import every_line_with, request_of
from unthrottle.entry.audit import Audit


@cache
def _audit() -> Audit:
    """Make the adapters at the first run, not at import: a broken setting is then an error that says so."""
    return Audit.from_environment()


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer with the exposures found."""
    with every_line_with(function_request_id=request_of(context)):
        return _audit().handle(event, context)
