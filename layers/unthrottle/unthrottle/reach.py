"""Can the bot look into each of its accounts, and could it change something there? Asked by `unthrottle doctor`.

Only a function of the stack is let into a member account, so this runs in one of them (the sweep). It looks with the Observer
role, and takes the Actor role without using it. Changes nothing and writes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from unthrottle.errors import NotFound, Refused, TryAgain
from unthrottle.ports import Accounts

SOURCE, ASKED = "unthrottle", "Reach"
AT_ONCE = 10
"""Accounts and Regions tried in one call, so that it ends well before whoever waits for it gives up."""
SESSION = "INC-DOCTOR"
"""The Actor role is taken under an incident's name only; CloudTrail shows this one."""


def is_asked(event: object) -> TypeGuard[Mapping[str, Any]]:
    """Say whether a call of the sweep is doctor's question, and not its schedule."""
    return isinstance(event, Mapping) and (event.get("source"), event.get("detail-type")) == (SOURCE, ASKED)


def question(skip: int) -> dict[str, Any]:
    """Write the event that asks about the next places, after so many."""
    return {"source": SOURCE, "detail-type": ASKED, "detail": {"skip": skip}}


def reach(
    accounts: Accounts,
    places: Sequence[tuple[str, str]],
    asked: Mapping[str, Any],
    *,
    any_function: Callable[[str, str], str | None],
) -> list[dict[str, Any]]:
    """Try both roles in the next few accounts and Regions; none are left when the answer is empty.

    `observer` and `actor` of an answer are empty where it works, else they say why not. `any_function` names a function of an
    account and Region, None where there is none: its tags must be shown, or no function could be told from a protected one.
    """
    detail = asked.get("detail")
    skip = detail.get("skip") if isinstance(detail, Mapping) else None
    first = skip if isinstance(skip, int) and skip >= 0 else 0
    return [
        {
            "account": account,
            "region": region,
            "observer": _why_not_look(accounts, account, region, any_function),
            "actor": _why_not_change(accounts, account, region),
        }
        for account, region in places[first : first + AT_ONCE]
    ]


def _why_not_look(accounts: Accounts, account: str, region: str, any_function: Callable[[str, str], str | None]) -> str:
    try:
        observer = accounts.observe(account, region, SESSION)
        observer.functions.account()
        observer.alarms.firing()
        name = any_function(account, region)
        if name is not None:
            observer.functions.describe(name)
    except NotFound:  # it was deleted in between
        return ""
    except (Refused, TryAgain) as error:
        return str(error)
    return ""


def _why_not_change(accounts: Accounts, account: str, region: str) -> str:
    try:
        accounts.act(account, region, SESSION)
    except (Refused, TryAgain) as error:
        return str(error)
    return ""
