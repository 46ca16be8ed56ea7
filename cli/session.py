"""With which credentials, in which accounts and Regions, and at what time does a command look?"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from unthrottle.adapters.access import Access
from unthrottle.adapters.accounts import observer
from unthrottle.adapters.clock import SystemClock
from unthrottle.adapters.laptop import Identity, PersonalClients, identify, with_role
from unthrottle.adapters.survey import AwsSurvey
from unthrottle.errors import BadInput
from unthrottle.ports import Observer

_RESOURCE = re.compile(
    r"(?:arn:[a-z0-9-]+:(?:dynamodb|lambda):[a-z0-9-]*:[0-9]{12}:)?(?:[0-9]{12}:)?(?:table/|function[:/])?"
    r"[A-Za-z0-9_.-]{1,255}(?:/index/[A-Za-z0-9_.-]{1,255})?(?::[A-Za-z0-9$_-]{1,129})?",
    re.ASCII,
)
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An account and Region to look at, with ways to look."""

    account: str
    region: str
    observer: Observer
    survey: AwsSurvey


class Session:
    """A person's AWS session. Making it asks AWS who the person is, so that missing credentials are said at once."""

    def __init__(self, profile: str | None, region: str | None, *, reads_only: bool = True) -> None:
        self.clients = PersonalClients(profile, reads_only=reads_only)
        found = region or self.clients.region
        if not found:
            raise BadInput(
                "No AWS Region is set. Nothing was sent. Name one with --region, or set AWS_REGION or the profile's region."
            )
        self.region = self.clients.check_region(found)
        self.access = Access(self.clients, self.region)
        self.identity: Identity = identify(self.access)
        self.now = SystemClock().now()

    def places(self, accounts: Sequence[str], regions: Sequence[str], role: str | None) -> list[Place]:
        """Combine accounts and Regions. Raises BadInput for what cannot be reached."""
        for account in accounts:
            if re.fullmatch(r"[0-9]{12}", account) is None:
                raise BadInput(f"{account[:40]!r} is no AWS account id. Nothing was sent. Write 12 digits.")
        where = [self.clients.check_region(region) for region in dict.fromkeys(regions)] or [self.region]
        which = list(dict.fromkeys(accounts)) or [self._account_of(role) or self.identity.account]
        if role is None and which != [self.identity.account]:
            other = next(account for account in which if account != self.identity.account)
            raise BadInput(
                f"These credentials are of account {self.identity.account}; to look at {other}, name a role to assume in each "
                "account with --role, for example the Observer role of the stack. Nothing was sent there."
            )
        return [self._place(account, region, role) for account in which for region in where]

    def _account_of(self, role: str | None) -> str | None:
        return role.split(":")[4] if role and role.startswith("arn:") and role.count(":") >= 5 else None

    def _place(self, account: str, region: str, role: str | None) -> Place:
        access = Access(self.clients, region)
        if role is not None:
            own = self._account_of(role)
            if own is not None and own != account:
                raise BadInput(
                    f"The role {role} is of account {own}, not {account}. Nothing was sent. For several accounts give the "
                    "role's name, which is the same in each."
                )
            arn = role if own is not None else f"arn:{self.identity.partition}:iam::{account}:role/{role}"
            session = f"unthrottle-{self.now:%Y%m%dT%H%M%S}"
            access = with_role(
                self.clients,
                self.access,
                role_arn=arn,
                region=region,
                session_name=session,
                external_id=os.environ.get("UNTHROTTLE_EXTERNAL_ID") or None,
            )
        return Place(account=account, region=region, observer=observer(access), survey=AwsSurvey(access))


def named(resource: str) -> str:
    """Return what names a table or a function, in any form that is understood. Raises BadInput for all else."""
    found = resource.strip()
    if _RESOURCE.fullmatch(found) is None:
        raise BadInput(
            f"{resource[:60]!r} is no name of a table or function. Nothing was sent. Write a name, table/NAME/index/NAME, an "
            "ARN of a table or function, or `pool`."
        )
    return found


def moment(text: str, now: datetime) -> datetime:
    """Read a time: ISO 8601 (UTC where it names no zone), or an age such as 90m, 6h, 14d, 5w.

    Raises BadInput for anything else, and for a time that is not past.
    """
    age = re.fullmatch(r"([0-9]{1,4})([mhdw])", text.strip())
    if age:
        found = now - int(age[1]) * _UNITS[age[2]]
    else:
        try:
            found = datetime.fromisoformat(text.strip())
        except ValueError:
            raise BadInput(
                f"{text[:40]!r} is no time. Nothing was sent. Write 2026-08-24, 2026-08-24T04:30 (UTC), or an age such as "
                "90m, 6h, 14d."
            ) from None
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    if found > now:
        raise BadInput(f"{text[:40]} has not happened yet: it is {now:%Y-%m-%d %H:%M} UTC. Nothing was sent.")
    return found


def span(text: str) -> timedelta:
    """Read a duration such as 90m, 2h or 1d. Raises BadInput."""
    found = re.fullmatch(r"([0-9]{1,4})([mhdw])", text.strip())
    if found is None or int(found[1]) == 0:
        raise BadInput(f"{text[:40]!r} is no duration. Nothing was changed. Write 90m, 2h or 1d.")
    return int(found[1]) * _UNITS[found[2]]
