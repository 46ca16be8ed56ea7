"""Open an incident because a person asks for a look, or a fix, of one table or function.

Answers are sentences for the person who asked. Who may ask is decided before, by `control`; what is found and done is the
workflow's.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from unthrottle.alarms import Trigger
from unthrottle.brief import stands
from unthrottle.errors import Conflict, NotAllowed, NotFound, Refused
from unthrottle.incident import Incident, Status
from unthrottle.intake import new_incident
from unthrottle.ports import Accounts, Clock, Incidents, Joined, Starter
from unthrottle.settings import Mode
from unthrottle.subjects import FunctionSubject, TableSubject

log = logging.getLogger("unthrottle")

ONLY_WATCHING = frozenset({Status.DENIED, Status.EXPIRED, Status.REJECTED})
MOST_LOOKS = 5
"""Looks that are open at once: anybody in the channel may ask, and each is a workflow. Two who ask at the same moment may
both still get one."""
_LOOK = "/look/"
"""Between a fingerprint and a resource's name: the fingerprint of a look at it, so that there is one look at a time."""


class Requests:
    """Takes requests for one account and Region: those of the deployment."""

    def __init__(
        self,
        *,
        incidents: Incidents,
        starter: Starter,
        accounts: Accounts,
        clock: Clock,
        mode: Mode,
        home: tuple[str, str],
    ) -> None:
        self._incidents = incidents
        self._starter = starter
        self._accounts = accounts
        self._clock = clock
        self._mode = mode
        self._home = home

    def start(self, resource: str, who: str, *, dry_run: bool) -> str:
        """Start a workflow for this table or function, unless one is at it. `who` is a Slack user id."""
        account, region = self._home
        now = self._clock.now()
        if _is_elsewhere(resource, account, region):
            return (
                f"{resource} is not in account {account}, {region}, which is all this command looks at. Nothing was run. "
                "Its alarms are still taken in, where the stack looks after that account."
            )
        subject = self._subject(resource, now)
        if subject is None:
            return (
                f"There is no table or function {resource} in account {account}, {region}. Nothing was run. "
                "Check the name; aliases, versions and index names are left out."
            )
        trigger = Trigger(
            dedupe_key=f"person|{who}|{resource}|{now.isoformat()}",
            alarm_name=f"asked by {who}",
            account=account,
            region=region,
            state_at=now,
            subjects=(subject,),
            metrics=(),
        )
        incident = new_incident(trigger, subject, muted_by=None, now_at=now, requested_by=who, forced_dry_run=dry_run)
        if dry_run:
            # A look must not stand in the way of an alarm, which would join it and then be answered by a dry run.
            look = replace(incident, fingerprint=f"{incident.fingerprint}{_LOOK}{_name(subject)}")
            still_open = self._incidents.open_incidents()
            in_the_way = _in_the_way(still_open, incident, look)
            if in_the_way is not None:
                return f"{in_the_way.id} is open for this already: {stands(in_the_way)} Its thread has what is known."
            looks = [one for one in still_open if _LOOK in one.fingerprint]
            if len(looks) >= MOST_LOOKS:
                return _too_many(looks, resource)
            incident = look
        outcome = self._incidents.open_or_join(incident, trigger.dedupe_key)
        if not dry_run and isinstance(outcome, Joined) and self._made_way(outcome.incident_id, who, now):
            outcome = self._incidents.open_or_join(incident, f"{trigger.dedupe_key}|again")
        if isinstance(outcome, Joined):
            return f"{outcome.incident_id} is open for this already; its thread has what is known."
        self._starter.start(incident.id)
        log.info("person.asked", extra={"incident_id": incident.id, "by": who, "dry_run": dry_run})
        if not dry_run and self._mode is not Mode.DRY_RUN:
            return f"On it: {incident.id}. What is found and done comes in the channel."
        return f"Looking, as a dry run that changes nothing: {incident.id}. What is found comes in the channel."

    def _made_way(self, incident_id: str, who: str, now: datetime) -> bool:
        """Close an incident that only watches, since nothing was done about it: a person wants it looked at again.

        Else what was denied while paused, or what nobody approved in time, could not be mended until it closes by itself.
        """
        known = self._incidents.load(incident_id)
        if known is None or known.status not in ONLY_WATCHING or known.question is not None:
            return False
        told = known.told(now, "incident.superseded", f"{who} asks for a fresh look").told(now, "incident.closed")
        try:
            self._incidents.close(replace(told, closed_at=now))
        except Conflict:  # its workflow is just writing; the person reads that it is open, and may ask again
            return False
        return True

    def _subject(self, resource: str, now: datetime) -> TableSubject | FunctionSubject | None:
        """Tell whether a name is a table's or a function's, by asking; ARNs and kinds in front are understood."""
        name = resource.rsplit("table/", 1)[-1].split("/index/", maxsplit=1)[0]
        kind = "table" if "table/" in resource else None
        if ":function:" in resource or resource.startswith("function/"):
            name = resource.rsplit("function:", 1)[-1].rsplit("function/", 1)[-1].split(":", maxsplit=1)[0]
            kind = "function"
        account, region = self._home
        observer = self._accounts.observe(account, region, f"check-{now:%Y%m%d%H%M%S}")
        try:
            if kind != "function":
                return TableSubject(table=observer.tables.describe(name).name)
        except NotFound:
            if kind == "table":
                return None
        except NotAllowed:
            raise
        except Refused:  # not a name a table can have (too short, or with an alias), but perhaps a function's
            if kind == "table":
                raise
        try:
            return FunctionSubject(function=observer.functions.describe(name).name)
        except NotFound:
            return None


def _name(subject: TableSubject | FunctionSubject) -> str:
    return subject.table if isinstance(subject, TableSubject) else subject.function


def _in_the_way(still_open: Iterable[Incident], incident: Incident, look: Incident) -> Incident | None:
    """Find what is at work on this already: an incident, or a look that somebody asked for before."""
    for one in still_open:
        only_waits = one.is_in_force and one.recovered_at is not None  # what is wrong now may be something else
        if one.fingerprint == look.fingerprint or (one.fingerprint == incident.fingerprint and not only_waits):
            return one
    return None


def _too_many(looks: Sequence[Incident], resource: str) -> str:
    listed = ", ".join(f"{one.id} ({one.fingerprint.rsplit('/', 1)[-1]})" for one in looks)
    return (
        f"{len(looks)} looks are open already, and no more than {MOST_LOOKS} run at once: {listed}. {resource} was not looked "
        "at. Each ends by itself, mostly within minutes, with its report in the channel; ask again then. Alarms do not wait "
        "for looks."
    )


def _is_elsewhere(resource: str, account: str, region: str) -> bool:
    """Say whether an ARN, or a partial one, names another account or Region: the same name here is another resource.

    Lambda takes `123456789012:function:name` for a function (Lambda API, FunctionName).
    """
    parts = resource.split(":")
    if parts[0] == "arn":
        return len(parts) > 5 and (parts[3], parts[4]) != (region, account)
    return len(parts) > 2 and parts[1] == "function" and parts[0] != account
