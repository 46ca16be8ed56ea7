"""What people ask of Unthrottle, from Slack or elsewhere: look, fix, say yes or no, give back, keep, pause.

Answers are sentences for the person who asked. Nothing is changed here: a request starts a workflow, or answers the question
of one that waits. Who may ask is decided first: operators act, viewers look, and nobody acts by a name that can be edited.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from unthrottle.answers import MOST_SNOOZE_MINUTES, SNOOZE_MINUTES, Answer, Do, write_answer
from unthrottle.brief import WITHOUT_END, pause_ends, stands
from unthrottle.incident import Incident, Wish
from unthrottle.ports import Accounts, Clock, Incidents, Starter
from unthrottle.settings import Settings
from unthrottle.slack_grammar import (
    LONGEST_PAUSE,
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
    hours,
)

log = logging.getLogger("unthrottle")

SHOWN_OPEN = 20
"""Open incidents that an answer names: an answer in Slack stays short."""
HOME_LOOKS_AT = 100
"""Newest incidents in which the last ten actions are looked for."""
ABOUT: dict[Do, tuple[str, ...]] = {
    "approve": ("approval",),
    "reject": ("approval",),
    "snooze": ("approval", "lease"),
    "revert": ("lease",),
    "keep": ("lease",),
    "keep-24h": ("lease",),
}
"""Which question each decision answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who asks: an id that cannot be edited, never a display name. `channel` is where they asked, if in one."""

    id: str
    channel: str = ""


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
        """Say whether this person may look: a viewer, an operator; without a list of viewers, who asks where it is told anyway.

        What is typed does not say of which workspace a person is, so a guest of a shared channel looks like anybody (Slack
        Connect). In a channel of the bot's own they learn nothing that is not posted there.
        """
        if self._is_on(self._settings.viewers, person) or self.may_act(person):
            return True
        return not self._settings.viewers and bool(person.channel) and person.channel in self._settings.channels

    def _is_on(self, allowed: Sequence[str], person: Person) -> bool:
        if person.id in allowed:
            return True
        groups = [entry for entry in allowed if entry.startswith("S")]
        return self._members is not None and any(person.id in self._members(group) for group in groups)

    def show_home(self, person: Person) -> None:
        """Show the app's home tab to those who are named: what is open, whether it is paused, the last ten actions."""
        if self._publish is None:
            return
        from unthrottle.report.home import home, not_for_you  # noqa: PLC0415  no command has to pay for it

        if not self.may_look(person):
            if not self._settings.viewers:
                self._publish(person.id, not_for_you())
            return
        now = self._clock.now()
        account, region = self._home
        paused = self._incidents.ledger(account, region, (), now).paused_until
        newest = self._incidents.recent(HOME_LOOKS_AT)
        still_open = self._incidents.open_incidents()
        self._publish(person.id, home(still_open, newest, mode=self._settings.mode, paused_until=paused, now=now))

    def carry_out(self, asked: Asked, person: Person) -> str:
        """Do what was asked and answer in words. Whatever was not understood runs nothing."""
        if not self.may_look(person):
            return self._turned_away()
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
            case Snooze() | Revert() | Keep():
                return self._answered(asked, person)
            case Pause():
                return self._pause(asked.duration, person)
            case Resume():
                return self._resume(person)
            case Audit():
                return self._look_over()

    def _turned_away(self) -> str:
        if self._settings.viewers:
            return "You are not on the list of people who may use Unthrottle here. Nothing was run."
        where = " or ".join(f"<#{channel}>" for channel in self._settings.channels if channel.startswith(("C", "G")))
        return (
            "You are not on the list of people who may use Unthrottle here. Nothing was run. Without being on it, ask in "
            f"{where or 'its own channel'}; an admin adds people to `Viewers`."
        )

    def decide(
        self, incident_id: str, version: int | None, do: Do, person: Person, *, minutes: int = SNOOZE_MINUTES
    ) -> str:
        """Answer the question of an incident. `version` is what the person saw; None for a typed command.

        `minutes` is how long a snooze lasts.

        Returns the empty string when it was taken, else why not.
        """
        if not self.may_act(person):
            return "Only operators may decide this. Nothing was changed."
        incident = self._incidents.load(incident_id)
        if incident is None:
            return f"There is no incident {incident_id}. Nothing was changed. `/unthrottle status` lists the open ones."
        question = incident.question
        if do in {"revert", "keep"} and question is None and incident.is_in_force:
            return self._wish(incident, do, person)
        is_waiting = question.about in ABOUT[do] if question else do == "snooze" and incident.is_snoozed_by_wish
        if not is_waiting:
            return f"{incident_id} is not waiting for that now: {stands(incident)} Nothing was changed."
        if question is not None and version is not None and version != question.version:
            return f"That is from an earlier state of {incident_id}: {stands(incident)} Nothing was changed."
        if do == "snooze" and incident.why_no_snooze:
            return f"{incident_id} cannot be snoozed: {incident.why_no_snooze} Nothing was changed."
        if question is None:
            return self._wish(incident, do, person, minutes)
        answer = Answer(do=do, by=person.id, minutes=minutes)
        if not self._starter.answer(question.callback, write_answer(answer)):
            if do in {"revert", "keep"} and incident.is_in_force:  # nobody waits for it: the sweep will take it
                return self._wish(incident, do, person)
            return f"{incident_id} was decided already, or its time ran out. Nothing was changed."
        log.info("person.decided", extra={"incident_id": incident_id, "by": person.id, "decision": do})
        return ""

    def is_stale_copy(self, incident_id: str, message_ts: str) -> bool:
        """Say whether a button stood in a message that is not the incident's head: a copy that nobody keeps current."""
        incident = self._incidents.load(incident_id)
        return incident is not None and incident.head is not None and incident.head != message_ts

    def _wish(self, incident: Incident, do: Do, person: Person, minutes: int = 0) -> str:
        """Leave word for a workflow that is not waiting just now: it reads it within a few minutes."""
        now = self._clock.now()
        if do == "snooze":
            wish = Wish(do="snooze", by=person.id, at=now, until=now + timedelta(minutes=minutes))
        else:
            wish = Wish(do="keep" if do == "keep" else "revert", by=person.id, at=now)
        if not self._incidents.wish(incident.id, wish):
            return f"{incident.id} is closed already, or its change is being given back or kept just now. Nothing was changed."
        log.info("person.wished", extra={"incident_id": incident.id, "by": person.id, "wish": wish.do})
        return ""

    def _answered(self, asked: Snooze | Revert | Keep, person: Person) -> str:
        match asked:
            case Snooze():
                return self._snooze(asked, person)
            case Revert():
                return self._answer(asked.incident_id, person, "revert")
            case Keep():
                return self._answer(asked.incident_id, person, "keep-24h" if asked.for_a_day else "keep")

    def _snooze(self, asked: Snooze, person: Person) -> str:
        minutes = SNOOZE_MINUTES if asked.duration is None else int(asked.duration.total_seconds() // 60)
        if minutes > MOST_SNOOZE_MINUTES:
            return f"The longest snooze is {MOST_SNOOZE_MINUTES // 60}h. Nothing was changed."
        refused = self.decide(asked.incident_id, None, "snooze", person, minutes=minutes)
        return refused or f"Taken: snooze {asked.incident_id}. Its thread says when it is done."

    def _answer(self, incident_id: str, person: Person, do: Do) -> str:
        refused = self.decide(incident_id, None, do, person)
        return refused or f"Taken: {do} {incident_id}. Its thread says when it is done."

    def _pause(self, duration: timedelta | None, person: Person) -> str:
        if not self.may_act(person):
            return "Only operators may pause. Nothing was changed."
        if duration is not None and duration > LONGEST_PAUSE:
            return f"The longest pause that ends by itself is {hours(LONGEST_PAUSE)}. Nothing was changed."
        now = self._clock.now()
        until = now + (WITHOUT_END if duration is None else duration)
        self._incidents.set_pause(until, person.id)
        log.warning("paused", extra={"by": person.id, "until": until.isoformat()})
        ends = pause_ends(until, now)
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
            return f"{incident_id}: {stands(incident)}"
        found = self._incidents.open_incidents()
        account, region = self._home
        paused = self._incidents.ledger(account, region, (), self._clock.now()).paused_until
        mode = f"Mode {self._settings.mode.value}"
        if paused is not None and paused > self._clock.now():
            mode += f", paused {pause_ends(paused, self._clock.now())}"
        if not found:
            return f"{mode}. No open incident."
        lines = [f"{mode}. Open incidents: {len(found)}"]
        lines.extend(f"{incident.id}: {stands(incident)}" for incident in found[:SHOWN_OPEN])
        if len(found) > SHOWN_OPEN:
            lines.append(f"and {len(found) - SHOWN_OPEN} more: `unthrottle incidents` in a terminal lists all")
        return "\n".join(lines)

    def _start(self, resource: str, person: Person, *, dry_run: bool) -> str:
        from unthrottle.requested import Requests  # noqa: PLC0415  a click does not wait for what it does not need

        requests = Requests(
            incidents=self._incidents,
            starter=self._starter,
            accounts=self._accounts,
            clock=self._clock,
            mode=self._settings.mode,
            home=self._home,
        )
        return requests.start(resource, person.id, dry_run=dry_run)
