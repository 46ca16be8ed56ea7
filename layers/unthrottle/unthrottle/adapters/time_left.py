"""How long may this invocation still run? As Lambda says it; where nobody says, as in a rehearsal, there is no end."""

from collections.abc import Callable
from datetime import timedelta

from unthrottle.rounds import no_end


def time_left(context: object, keep: timedelta) -> Callable[[], float]:
    """Return what tells the seconds until only `keep` is left of the function's timeout; below 0 once it is over.

    Lambda's context tells milliseconds (Lambda developer guide, "Lambda context object in Python"). Safe from any thread.
    """
    remaining_ms: Callable[[], float] | None = getattr(context, "get_remaining_time_in_millis", None)
    if remaining_ms is None:
        return no_end
    return lambda: remaining_ms() / 1000 - keep.total_seconds()
