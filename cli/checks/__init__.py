"""What does a deployment need to be able to act? One function for each thing; each yields what it found and what to do.

They only read. A look that cannot read what it looks at raises, and says so instead of guessing.
"""

from collections.abc import Callable, Iterator

from cli.checks.alarms import alarms
from cli.checks.check import Check, State
from cli.checks.members import members
from cli.checks.outside import dagy, paging, slack
from cli.checks.own import pool, settings, stack, table, workflow
from cli.checks.roles import roles
from cli.deployment import Found

LOOKS: tuple[tuple[str, Callable[[Found], Iterator[Check]]], ...] = (
    ("stack", stack),
    ("settings", settings),
    ("roles", roles),
    ("workflow", workflow),
    ("incidents table", table),
    ("pool", pool),
    ("alarms", alarms),
    ("members", members),
    ("slack", slack),
    ("dagy", dagy),
    ("paging", paging),
)

__all__ = ["LOOKS", "Check", "State"]
