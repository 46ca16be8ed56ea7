"""What do the scenario's people do, and when?

They see the channel: they press a button that is there, or type a command. What they do goes to the bot's front door as
Slack would send it, signed. They know nothing of the bot's inside except that something happened.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sandbox.scenario.format import Person, Scenario
from sandbox.slack import SlackCall, SlackStandIn
from sandbox.slack_people import SlackPeople
from unthrottle.incident import Incident

Door = Callable[[Mapping[str, object]], Mapping[str, Any]]
"""The bot's front door: an HTTP request in, an HTTP response out."""

_DOWN = frozenset({"down"})
_HAPPENED: Mapping[str, Callable[[Incident], bool]] = {
    "approval-requested": lambda incident: incident.question is not None and incident.question.about == "approval",
    "acted": lambda incident: incident.acted_at is not None,
    "recovered": lambda incident: incident.recovered_at is not None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One thing a person did, and what came of it."""

    minute: int
    user: str
    did: str
    incident: str | None
    answer: str

    def as_json(self) -> dict[str, object]:
        """Write it in the words of the output."""
        return {
            "minute": self.minute,
            "user": self.user,
            "did": self.did,
            "incident": self.incident,
            "answer": self.answer,
        }


@dataclass(slots=True, kw_only=True)
class _Intention:
    minute: int
    person: Person
    incident_id: str | None


@dataclass(slots=True)
class Crowd:
    """All people of a scenario. *incidents* tells the incidents as they are recorded now, oldest first."""

    scenario: Scenario
    slack: SlackStandIn
    hands: SlackPeople
    door: Door
    incidents: Callable[[], Sequence[Incident]]
    deeds: list[Deed] = field(default_factory=list)
    _intentions: list[_Intention] = field(default_factory=list)
    _seen: set[tuple[int, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._intentions += [
            _Intention(minute=person.at, person=person, incident_id=None)
            for person in self.scenario.people
            if person.at is not None
        ]

    @property
    def waits_for_something(self) -> bool:
        """Whether anybody acts on what happens, so that it is worth to look."""
        return any(person.when is not None for person in self.scenario.people)

    def notice(self, incidents: Sequence[Incident], minute: int) -> None:
        """See what happened; whoever acts on that will, so many minutes later. Once for each incident."""
        for number, person in enumerate(self.scenario.people):
            if person.when is None:
                continue
            for incident in incidents:
                if (number, incident.id) in self._seen or not _HAPPENED[person.when](incident):
                    continue
                self._seen.add((number, incident.id))
                due = minute + (person.after_minutes or 0)
                self._intentions.append(_Intention(minute=due, person=person, incident_id=incident.id))

    def act(self, minute: int, now: datetime) -> int:
        """Do what is due; return how much that was."""
        due = [one for one in self._intentions if one.minute <= minute]
        self._intentions = [one for one in self._intentions if one.minute > minute]
        for intention in due:
            self._do(intention, minute, now)
        return len(due)

    def _do(self, intention: _Intention, minute: int, now: datetime) -> None:
        person = intention.person
        incident_id = intention.incident_id or self._open(person)
        words = (person.say or "").replace("{incident}", incident_id or "{incident}")
        did = words or f"{person.do} {incident_id or ''}".strip()
        if self.scenario.slack.at(minute) in _DOWN:
            answer = "Slack is down: it did not reach the bot"
        elif words:
            answer = self._send(self.hands.say(person.user, words, now, self._reply_url()))
        else:
            answer = self._press(person, incident_id, now)
        self.deeds.append(Deed(minute=minute, user=person.user, did=did, incident=incident_id, answer=answer))

    def _press(self, person: Person, incident_id: str | None, now: datetime) -> str:
        if incident_id is None or person.do is None:
            return "there was no open incident"
        found = _button(self.slack.messages, person.do, incident_id)
        if found is not None:
            ts, value = found
            return self._send(
                self.hands.click(person.user, person.do, value, now, message_ts=ts, response_url=self._reply_url(ts))
            )
        if person.do in {"revert", "keep"}:
            said = f"/unthrottle {person.do} {incident_id}"
            return self._send(self.hands.say(person.user, said, now, self._reply_url()))
        return f"there was no button to {person.do}"

    def _open(self, person: Person) -> str | None:
        """Find the incident a person means without naming it: the newest open one that asks for this, else the newest."""
        about = "lease" if person.do in {"revert", "keep"} else "approval" if person.do else None
        still_open = [incident for incident in self.incidents() if incident.is_open]
        asking = [one for one in still_open if one.question is not None and one.question.about == about]
        found = asking or still_open
        return found[-1].id if found else None

    def _reply_url(self, ts: str | None = None) -> str:
        return self.slack.reply_url(f"{len(self.deeds) + 1}", ts)

    def _send(self, request: Mapping[str, object]) -> str:
        response = self.door(request)
        body = str(response.get("body") or "")
        return f"{response.get('statusCode')} {_words(body)}".strip()


def _words(body: str) -> str:
    """Read the text out of an answer that is JSON."""
    try:
        document = json.loads(body)
    except ValueError:
        return body
    return str(document.get("text") or "") if isinstance(document, dict) else body


def _button(messages: Sequence[SlackCall], action: str, incident_id: str) -> tuple[str, str] | None:
    """Find the newest button of this kind for this incident: the message's ts and the button's value."""
    for message in reversed(messages):
        for block in message.blocks:
            elements = block.get("elements")
            for element in elements if isinstance(elements, list) else []:
                if not isinstance(element, Mapping) or element.get("action_id") != action:
                    continue
                value = str(element.get("value", ""))
                if value.partition(":")[0] == incident_id:
                    return str(message.ts), value
    return None
