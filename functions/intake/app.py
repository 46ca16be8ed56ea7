"""Alarms in: opens or joins an incident and starts `respond` for it.

Called by EventBridge for both alarm detail-types, or by an alarm directly. Knows nothing of causes and changes nothing.
"""

from functools import cache
from typing import Any

from unthrottle.adapters.logs import every_line_with, request_of
from unthrottle.entry.intake import Intake


@cache
def _intake() -> Intake:
    """Make the adapters at the first event, not at import: a broken setting is then an error that says so."""
    return Intake.from_environment()


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer with what became of the event: opened, joined or not mine."""
    with every_line_with(function_request_id=request_of(context)):
        return _intake().handle(event)
