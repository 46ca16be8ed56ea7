"""The scheduled audit: what is exposed now. Reads and reports; holds no right to change anything."""

from functools import cache
from typing import Any

from unthrottle.entry.audit import Audit


@cache
def _audit() -> Audit:
    """Make the adapters at the first run, not at import: a broken setting is then an error that says so."""
    return Audit.from_environment()


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Answer with the exposures found."""
    return _audit().handle(event)
