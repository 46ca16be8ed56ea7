"""Slack's front door: slash commands and buttons, answered within three seconds.

Verifies the signature, then starts `respond` or answers the callback it waits on. Changes nothing itself.
"""

import gc

# What is imported stays: looking for garbage among it would be a fifth of a cold start, of which Slack waits three seconds.
gc.disable()

from functools import cache  # noqa: E402  after the line above
from typing import Any  # noqa: E402

from unthrottle.adapters.logs import every_line_with, request_of  # noqa: E402
from unthrottle.entry.slack import SlackDoor  # noqa: E402

gc.freeze()
gc.enable()


@cache
def _slack() -> SlackDoor:
    """Make the adapters at the first request, not at import: a broken setting is then an error that says so."""
    return SlackDoor.from_environment()


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the HTTP request (payload format 2.0) with an HTTP response."""
    with every_line_with(function_request_id=request_of(context)):
        return _slack().handle(event)
