"""How do we look at an account, and how do we change it? By two roles that exist in every account, ours included.

The incident's id is the session name, so that CloudTrail names the incident. Which of the two roles is used is all that
separates looking from changing: in dry-run the Actor role does not exist. Credentials are good in every Region of their account,
so a role is assumed once for all of them.
"""

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from unthrottle.adapters.access import RENEW_BEFORE_END, Access, Clients, Credentials, assume
from unthrottle.adapters.actor import AwsActor
from unthrottle.adapters.alarms_api import AwsAlarms
from unthrottle.adapters.calendar import AwsCalendar
from unthrottle.adapters.clock import SystemClock
from unthrottle.adapters.functions import AwsFunctions
from unthrottle.adapters.metrics import AwsMetrics
from unthrottle.adapters.tables import AwsTables
from unthrottle.ports import Clock, Observer

if TYPE_CHECKING:
    from unthrottle.adapters.survey import AwsSurvey

MOST_KEPT = 64
"""Accounts and Regions whose clients are kept at once: a client with an open connection takes half a megabyte."""
MOST_CREDENTIALS = 1_024
"""Sets of credentials kept at once, of 2 KB each: both roles in some 200 accounts, and several incidents' own."""

_OBSERVER_ADVICE = "Deploy the Observer role there, and let this function assume it."
_ACTOR_ADVICE = (
    "In dry-run the Actor role does not exist, and that is what keeps dry-run harmless; to act, deploy it there "
    "with the mode approve or auto."
)


def observer(access: Access) -> Observer:
    """Look with the given identity."""
    return Observer(
        metrics=AwsMetrics(access),
        functions=AwsFunctions(access),
        tables=AwsTables(access),
        alarms=AwsAlarms(access),
        calendar=AwsCalendar(access),
    )


class _Taken:
    """One role taken under one session name. Safe to ask from several threads: AWS is asked once, and the others wait for it."""

    def __init__(self, take: Callable[[], Credentials], clock: Clock) -> None:
        self._take = take
        self._clock = clock
        self._credentials: Credentials | None = None
        self._lock = threading.Lock()

    def for_one_region(self) -> Callable[[], Credentials]:
        """Return what an Access obtains its credentials by: when it asks again, those it had are of no use any more."""
        had: Credentials | None = None

        def obtain() -> Credentials:
            nonlocal had
            had = self._other_than(had)
            return had

        return obtain

    def _other_than(self, had: Credentials | None) -> Credentials:
        with self._lock:
            kept = self._credentials
            if kept is None or kept is had or self._clock.now() >= kept.until - RENEW_BEFORE_END:
                self._credentials = None
                kept = self._credentials = self._take()
            return kept


class AwsAccounts:
    """The `Accounts` port, by STS.

    The same role names are used in every account. `external_id` is sent where the roles' trust asks for one.
    """

    def __init__(
        self,
        *,
        home_account: str,
        home_region: str,
        observer_role_name: str,
        actor_role_name: str,
        external_id: str | None = None,
        partition: str = "aws",
        clients: Clients | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.home_account = home_account
        self.home_region = home_region
        self._observer_role, self._actor_role = observer_role_name, actor_role_name
        self._external_id = external_id
        self._partition = partition
        self._clients = clients or Clients()
        self._clock = clock or SystemClock()
        self._own = Access(self._clients, home_region, clock=self._clock)
        self._kept: dict[tuple[str, str, str, str], Access] = {}
        self._taken: dict[tuple[str, str, str], _Taken] = {}
        self._lock = threading.Lock()

    def observe(self, account: str, region: str, incident_id: str) -> Observer:
        """Return ways to look. The role is assumed at the first read, which then may raise NotAllowed."""
        return observer(self._access(account, region, self._observer_role, incident_id, _OBSERVER_ADVICE))

    def survey(self, account: str, region: str, session: str) -> "AwsSurvey":
        """Return ways to list what is there, for the audit, with the same role as `observe`."""
        from unthrottle.adapters.survey import AwsSurvey  # noqa: PLC0415  # the workflow never takes stock

        return AwsSurvey(self._access(account, region, self._observer_role, session, _OBSERVER_ADVICE))

    def act(self, account: str, region: str, incident_id: str) -> AwsActor:
        """Assume the Actor role now. Raises NotAllowed where it does not exist, as in dry-run; TryAgain."""
        access = self._access(account, region, self._actor_role, incident_id, _ACTOR_ADVICE)
        access.ensure()
        return AwsActor(access)

    def _access(self, account: str, region: str, role: str, incident_id: str, advice: str) -> Access:
        key = (account, region, role, incident_id)
        with self._lock:
            kept = self._kept.pop(key, None)
            if kept is None:
                taken = self._role(account, role, incident_id, advice)
                kept = Access(self._clients, region, taken.for_one_region(), self._clock)
            # The key goes to the end again, so that the one unused for longest is the first to go.
            self._kept[key] = kept
            while len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            return kept

    def _role(self, account: str, role: str, incident_id: str, advice: str) -> _Taken:
        """Find a role taken under an incident's id; called with the lock held."""
        session_name = re.sub(r"[^\w+=,.@-]", "-", incident_id, flags=re.ASCII)[:64]
        key = (account, role, session_name)
        taken = self._taken.pop(key, None)
        if taken is None:
            role_arn = f"arn:{self._partition}:iam::{account}:role/{role}"
            taken = _Taken(
                lambda: assume(self._own, role_arn, session_name, self._external_id, advice),
                self._clock,
            )
        self._taken[key] = taken
        while len(self._taken) > MOST_CREDENTIALS:
            del self._taken[next(iter(self._taken))]
        return taken
