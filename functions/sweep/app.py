"""The safety net, every few minutes: gives back what is overdue, whatever became of the execution that took it.

Overdue leases, incidents whose execution is gone, reports that were not sent.
"""

from functools import cache
from typing import Any

from unthrottle.adapters.logs import every_line_with, request_of
from unthrottle.entry.sweep import Sweep


@cache
def _sweep() -> Sweep:
    """Make the adapters at the first run, not at import: a broken setting is then an error that says so."""
    return Sweep.from_environment()


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer with what was found and done."""
    with every_line_with(function_request_id=request_of(context)):
        return _sweep().handle(event, context)
