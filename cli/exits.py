"""What do the exit codes mean? The same for every subcommand."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes. Public."""

    FINE = 0
    WRONG_INPUT = 1
    FAILED = 2
    NEEDS_ACTION = 3
