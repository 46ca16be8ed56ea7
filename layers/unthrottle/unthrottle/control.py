"""What people ask of Unthrottle, from Slack or elsewhere: look, fix, say yes or no, give back, keep, pause.

Answers are sentences for the person who asked. Nothing is changed here: a request starts a workflow, or answers the question
of one that waits. Who may ask is decided first: operators act, viewers look, and nobody acts by a name that can be edited.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from unthrottle.answers import Answer, Do, write_answer
from unthrottle.errors import Conflict, NotAllowed, NotFound, Refused
from unthrottle.incident import Incident, Wish
from unthrottle.incident import Status as State
from unthrottle.ports import Accounts, Clock, Incidents, Joined, Starter
from unthrottle.settings import Mode, Settings
from unthrottle.slack_grammar import (
    Asked,
    Audit,
    Check,
    Fix,
    Help,
    Keep,
    NotUnderstood,
    Pause,
    Resume,
    Revert,
    Snooze,
    Status,
    help_text,
)
from unthrottle.subjects import FunctionSubject, Subject, TableSubject

log = logging.getLogger("unthrottle")

ONLY_WATCHING = frozenset({State.DENIED, State.EXPIRED, State.REJECTED})
WITHOUT_END = timedelta(days=3650)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who asks: an id that cannot be edited, never a display name."""

    id: str


class Control:
    """Carries out what a person asked, as far as that person may."""

    def __init__(
        self,
        *,
        incidents: Incidents,
        starter: Starter,
        accounts: Accounts,
        clock: Clock,
        settings: Settings,
        home_account: str,
        home_region: str,
        members: Callable[[str], frozenset[str]] | None = None,
        publish: Callable[[str, Sequence[dict[str, object]]], None] | None = None,
        audit: Callable[[], None] | None = None,
    ) -> None:
        """`members` lists a Slack user group's people, `publish` shows a home tab, `audit` starts an audit; None: cannot."""
        self._incidents = incidents
        self._starter = starter
        self._accounts = accounts
        self._clock = clock
        self._settings = settings
        self._home = (home_account, home_region)
        self._members = members
        self._publish = publish
        self._audit = audit

    def may_act(self, person: Person) -> bool:
        """Say whether this is an operator, by id or as a member of a user group. What cannot be asked is a no."""
        return self._is_on(self._settings.operators, person)

    def may_look(self, person: Person) -> bool:
        return not self._settings.viewers or self._is_on(self._settings.viewers, person) or self.may_act(person)

    def _is_on(self, allowed: Sequence[str], person: Person) -> bool:
        if person.id in allowed:
            return True
        groups = [entry for entry in allowed if entry.startswith("S")]
        return self._members is not None and any(person.id in self._members(group) for group in groups)

    def show_home(self, person: Person) -> None:
        """Show the app's home tab to those who may look: what is open, whether it is paused, the last ten incidents."""
        if self._publish is None or not self.may_look(person):
            return
        now = self._clock.now()
        account, region = self._home
        paused = self._incidents.ledger(account, region, (), now).paused_until
        newest = self._incidents.recent(10)
        still_open = self._incidents.open_incidents()
        from unthrottle.report.home import home  # noqa: PLC0415  no command has to pay for it

        self._publish(person.id, home(still_open, newest, mode=self._settings.mode, paused_until=paused, now=now))

    def carry_out(self, asked: Asked, person: Person) -> str:
        """Do what was asked and answer in words. Whatever was not understood runs nothing."""
        if not self.may_look(person):
            return "You are not on the list of people who may use Unthrottle here. Nothing was run."
        match asked:
            case Help():
                return help_text()
            case NotUnderstood():
                return asked.message + (f" Did you mean `{asked.suggestion}`?" if asked.suggestion else "")
            case Status():
                return self._status(asked.incident_id)
            case Check():
                return self._start(asked.resource, person, dry_run=True)
            case Fix():
                dry_run = asked.dry_run or not self.may_act(person)
                return self._start(asked.resource, person, dry_run=dry_run)
            case Snooze() | Revert():
                return self._answer(asked.incident_id, person, "snooze" if isinstance(asked, Snooze) else "revert")
            case Keep():
                return self._answer(asked.incident_id, person, "keep-24h" if asked.for_a_day else "keep")
            case Pause():
                return self._pause(asked.duration, person)
            case Resume():
                return self._resume(person)
            case Audit():
                return self._look_over()

    def decide(self, incident_id: str, version: int | None, do: Do, person: Person) -> str:
        """Answer the question of an incident. `version` is what the person saw; None for a typed command.

        Returns the empty string when it was taken, else why not.
        """
        if not self.may_act(person):
            return "Only operators may decide this. Nothing was changed."
        incident = self._incidents.load(incident_id)
        if incident is None:
            return f"There is no incident {incident_id}. Nothing was changed. `/unthrottle status` lists the open ones."
        question = incident.question
        wanted = "approval" if do in {"approve", "reject", "snooze"} else "lease"
        if do in {"revert", "keep"} and question is None and incident.is_in_force:
            return self._wish(incident, do, person)
        if question is None or question.about != wanted:
            return f"{incident_id} is not waiting for that now: {_stands(incident)} Nothing was changed."
        if version is not None and version != question.version:
            return f"That button is from an earlier state of {incident_id}: {_stands(incident)} Nothing was changed."
        if do == "snooze" and incident.why_no_snooze:
            return f"{incident_id} cannot be snoozed: {incident.why_no_snooze} Nothing was changed."
        if not self._starter.answer(question.callback, write_answer(Answer(do=do, by=person.id))):
            if do in {"revert", "keep"} and incident.is_in_force:  # nobody waits for it: the sweep will take it
                return self._wish(incident, do, person)
            return f"{incident_id} was decided already, or its time ran out. Nothing was changed."
        log.info("person.decided", extra={"incident_id": incident_id, "by": person.id, "decision": do})
        return ""

    def _wish(self, incident: Incident, do: Do, person: Person) -> str:
        """Leave word for a workflow that is not waiting just now: it reads it within a minute or two."""
        wish = Wish(do="keep" if do == "keep" else "revert", by=person.id, at=self._clock.now())
        if not self._incidents.wish(incident.id, wish):
            return f"{incident.id} is closed already. Nothing was changed."
        log.info("person.wished", extra={"incident_id": incident.id, "by": person.id, "wish": wish.do})
        return ""

    def _answer(self, incident_id: str, person: Person, do: Do) -> str:
        refused = self.decide(incident_id, None, do, person)
        return refused or f"Taken: {do} {incident_id}. Its thread says when it is done."

    def _pause(self, duration: timedelta | None, person: Person) -> str:
        if not self.may_act(person):
            return "Only operators may pause. Nothing was changed."
        now = self._clock.now()
        until = now + (WITHOUT_END if duration is None else duration)
        self._incidents.set_pause(until, person.id)
        log.warning("paused", extra={"by": person.id, "until": until.isoformat()})
        ends = "until somebody says `/unthrottle resume`" if duration is None else f"until {until:%Y-%m-%d %H:%M} UTC"
        return f"Paused {ends}: no new changes anywhere. Diagnosing, reporting and giving back go on."

    def _resume(self, person: Person) -> str:
        if not self.may_act(person):
            return "Only operators may resume. Nothing was changed."
        self._incidents.set_pause(None, person.id)
        log.warning("resumed", extra={"by": person.id})
        return "The pause has ended: new changes are possible again."

    def _look_over(self) -> str:
        if self._audit is None:
            return (
                "The audit runs by itself each week and posts here. To look now, run `unthrottle audit` on a computer "
                "with read-only credentials. Nothing was run."
            )
        self._audit()
        return "The audit has been started. It changes nothing; what it finds comes in the channel."

    def _status(self, incident_id: str | None) -> str:
        if incident_id is not None:
            incident = self._incidents.load(incident_id)
            if incident is None:
                return f"There is no incident {incident_id}. `/unthrottle status` lists the open ones."
            return f"{incident_id}: {_stands(incident)}"
        found = self._incidents.open_incidents()
        account, region = self._home
        paused = self._incidents.ledger(account, region, (), self._clock.now()).paused_until
        mode = f"Mode {self._settings.mode.value}"
        if paused is not None and paused > self._clock.now():
            mode += f", paused until {paused:%Y-%m-%d %H:%M} UTC"
        if not found:
            return f"{mode}. No open incident."
        lines = [f"{mode}. Open incidents: {len(found)}"]
        lines.extend(f"{incident.id}: {_stands(incident)}" for incident in found[:20])
        return "\n".join(lines)

    def _start(self, resource: str, person: Person, *, dry_run: bool) -> str:
        # Only here, so that a click does not wait for what it does not need.
        from unthrottle.alarms import Trigger  # noqa: PLC0415
        from unthrottle.intake import new_incident  # noqa: PLC0415

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
            dedupe_key=f"person|{person.id}|{resource}|{now.isoformat()}",
            alarm_name=f"asked by {person.id}",
            account=account,
            region=region,
            state_at=now,
            subjects=(subject,),
            metrics=(),
        )
        incident = new_incident(
            trigger, subject, muted_by=None, now_at=now, requested_by=person.id, forced_dry_run=dry_run
        )
        if dry_run:
            # A look must not stand in the way of an alarm, which would join it and then be answered by a dry run.
            known = next(
                (one for one in self._incidents.open_incidents() if one.fingerprint == incident.fingerprint), None
            )
            if known is not None:
                return f"{known.id} is open for this already: {_stands(known)} Its thread has what is known."
            incident = replace(incident, fingerprint=f"{incident.fingerprint}/look/{incident.id}")
        outcome = self._incidents.open_or_join(incident, trigger.dedupe_key)
        if not dry_run and isinstance(outcome, Joined) and self._made_way(outcome.incident_id, person, now):
            outcome = self._incidents.open_or_join(incident, f"{trigger.dedupe_key}|again")
        if isinstance(outcome, Joined):
            return f"{outcome.incident_id} is open for this already; its thread has what is known."
        self._starter.start(incident.id)
        log.info("person.asked", extra={"incident_id": incident.id, "by": person.id, "dry_run": dry_run})
        if not dry_run and self._settings.mode is not Mode.DRY_RUN:
            return f"On it: {incident.id}. What is found and done comes in the channel."
        return f"Looking, as a dry run that changes nothing: {incident.id}. What is found comes in the channel."

    def _made_way(self, incident_id: str, person: Person, now: datetime) -> bool:
        """Close an incident that only watches, since nothing was done about it: a person wants it looked at again.

        Else what was denied while paused, or what nobody approved in time, could not be mended until it closes by itself.
        """
        known = self._incidents.load(incident_id)
        if known is None or known.status not in ONLY_WATCHING or known.question is not None:
            return False
        told = known.told(now, "incident.superseded", f"{person.id} asks for a fresh look").told(now, "incident.closed")
        try:
            self._incidents.close(replace(told, closed_at=now))
        except Conflict:  # its workflow is just writing; the person reads that it is open, and may ask again
            return False
        return True

    def _subject(self, resource: str, now: datetime) -> Subject | None:
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


def _is_elsewhere(resource: str, account: str, region: str) -> bool:
    """Say whether an ARN names another account or Region: the same name here is another resource."""
    parts = resource.split(":")
    return parts[0] == "arn" and len(parts) > 5 and (parts[3], parts[4]) != (region, account)


def _stands(incident: Incident) -> str:
    """Say in one line how an incident stands."""
    cause = incident.diagnosis.cause.value if incident.diagnosis else "diagnosing"
    action = incident.plan.action.value if incident.plan else "no plan yet"
    words = f"{cause}; {action}, {incident.status.value}; since {incident.opened_at:%Y-%m-%d %H:%M} UTC."
    if incident.closed_at is not None:
        return words + f" Closed {incident.closed_at:%H:%M} UTC."
    if incident.question is not None:
        words += f" Waits for {incident.question.about} until {incident.question.expires_at:%H:%M} UTC."
    return words
