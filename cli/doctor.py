"""`unthrottle doctor`: could a deployment act now? Looks at each thing that acting needs, and says what is missing."""

from collections.abc import Callable, Iterator

from cli.checks import LOOKS, Check, State
from cli.deployment import Found, find
from cli.exits import Exit
from cli.printing import show, show_json
from unthrottle.audit.take_stock import FAILURES
from unthrottle.errors import BadInput, NotAllowed

_STYLES: dict[State, str] = {"ok": "green", "look": "yellow", "broken": "red", "unknown": "yellow"}
_ALLOW = " Use credentials that may (docs/audit.md lists what is needed)."


def doctor(stack: str | None, region: str | None, profile: str | None, *, as_json: bool) -> Exit:
    """Look at everything. FAILED when something could not be looked at, NEEDS_ACTION when something is not as it must be."""
    found = find(stack, region, profile, reads_only=True, tolerant=True)
    checks = [check for name, look in LOOKS for check in _tried(name, look, found)]
    if as_json:
        show_json(
            {
                "version": 1,
                "account": found.session.identity.account,
                "region": found.session.region,
                "checks": [{"name": one.name, "state": one.state, "text": one.text} for one in checks],
            }
        )
    else:
        show((f"{one.state:<8}{one.name}: {one.text}", _STYLES[one.state]) for one in checks)
        show([_sum_up(checks)])
    states = {one.state for one in checks}
    if "unknown" in states:
        return Exit.FAILED
    return Exit.FINE if states == {"ok"} else Exit.NEEDS_ACTION


def _tried(name: str, look: Callable[[Found], Iterator[Check]], found: Found) -> list[Check]:
    """Keep what a look said before it failed: one thing that cannot be read must not hide another."""
    said: list[Check] = []
    try:
        for check in look(found):
            said.append(check)  # noqa: PERF402  what was said before a failure is kept
    except (*FAILURES, BadInput) as error:
        advice = _ALLOW if isinstance(error, NotAllowed) else ""
        said.append(Check(name=name, state="unknown", text=f"{error}{advice}"))
    return said


def _sum_up(checks: list[Check]) -> tuple[str, str]:
    counts = {state: sum(one.state == state for one in checks) for state in _STYLES}
    if counts["ok"] == len(checks):
        return "All is as it must be. Nothing was changed.", "bold green"
    words: dict[State, str] = {"broken": "broken", "look": "to look at", "unknown": "could not be looked at"}
    found = ", ".join(f"{counts[state]} {text}" for state, text in words.items() if counts[state])
    return f"{counts['ok']} ok, {found}. Nothing was changed.", "bold"
