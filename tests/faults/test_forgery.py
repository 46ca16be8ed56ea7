"""While the bot waits for a yes, nobody gives it but an operator who saw this change: the whole way, through the front door."""

import base64
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from typing import Any
from urllib.parse import quote

from sandbox.faults.play import SCENES
from sandbox.model.world import TickFacts
from sandbox.rehearsal import Rehearsal, rehearse
from sandbox.scenario import load
from sandbox.slack_people import SlackPeople
from unthrottle.incident import Incident

Request = dict[str, Any]


def click(people: SlackPeople, value: str, at: Any, *, user: str = "U0OPS", do: str = "approve") -> Request:
    """Press a button; later answers go nowhere, since the address is not Slack's."""
    return dict(people.click(user, do, value, at, message_ts="1.2", response_url="http://127.0.0.1:9/"))


def version_shown(incident: Incident) -> int:
    assert incident.question is not None
    return incident.question.version


def forged(played: Rehearsal, incident: Incident) -> Iterator[tuple[str, Request]]:
    """Every way in which somebody else might say yes; each is a genuine request but for one thing."""
    now, hands = played.now, played._scene.hands
    shown = version_shown(incident)
    right = f"{incident.id}:{shown}"

    def other(**changes: Any) -> SlackPeople:
        mine = {"secret": hands.secret, "team": hands.team, "channel": hands.channel, "app": hands.app}
        return SlackPeople(**{**mine, **changes})

    genuine = click(hands, right, now - timedelta(seconds=1))
    body = base64.b64decode(genuine["body"])

    def with_headers(**headers: str) -> Request:
        return {**genuine, "headers": {**genuine["headers"], **headers}}

    signature = genuine["headers"]["x-slack-signature"]
    yield "another secret", click(other(secret="guessed"), right, now)
    yield "another workspace", click(other(team="T0OTHER"), right, now)
    yield "a guest", click(other(home_team="T0GUEST"), right, now)
    yield "another app", click(other(app="A0OTHER"), right, now)
    yield "somebody who is no operator", click(hands, right, now, user="U0NOBODY")
    yield "an hour old", click(hands, right, now - timedelta(hours=1))
    yield "from the future", click(hands, right, now + timedelta(hours=1))
    yield "another incident", click(hands, f"INC-AAAA1111:{shown}", now)
    yield "an earlier version", click(hands, f"{incident.id}:{shown - 1}", now)
    yield "a later version", click(hands, f"{incident.id}:{shown + 1}", now)
    yield "no version", click(hands, incident.id, now)
    yield "a value with more in it", click(hands, f"{right}:999", now)
    yield "an answer to another question", click(hands, right, now, do="keep")
    yield "an unknown button", click(hands, right, now, do="approve-all")
    yield "no signature", with_headers(**{"x-slack-signature": ""})
    yield "no time", with_headers(**{"x-slack-request-timestamp": ""})
    yield "another version of signatures", with_headers(**{"x-slack-signature": signature.replace("v0=", "v1=")})
    yield "no version of signatures", with_headers(**{"x-slack-signature": signature.removeprefix("v0=")})
    yield "a fresh time over an old signature", with_headers(**{"x-slack-request-timestamp": str(int(now.timestamp()))})
    yield "encoded again", {**genuine, "body": base64.b64encode(quote(body.decode()).encode()).decode()}
    yield "encoded, and not said to be", {**genuine, "isBase64Encoded": False}
    yield "one byte more", {**genuine, "body": base64.b64encode(body + b"&").decode()}
    yield "by GET", {**genuine, "requestContext": {"http": {"method": "GET"}}}


class Attack:
    """Tries everything in the minute in which the question is open; then, if wanted, says yes and repeats itself."""

    def __init__(self, after: Callable[["Attack", Rehearsal, Incident], None]) -> None:
        self.answers: dict[str, str] = {}
        self.changed_by: list[str] = []
        self._after = after

    def __call__(self, played: Rehearsal, _: TickFacts) -> None:
        waiting = [one for one in played.incidents() if one.question is not None and one.status.value == "none"]
        if self.answers or not waiting:
            return
        incident = waiting[0]
        for name, request in forged(played, incident):
            answer = played._door(request)
            self.answers[name] = f"{answer['statusCode']} {answer.get('body', '')}"
            played._run_executions(until=59)
            if changes(played) or played.incidents()[0].question != incident.question:
                self.changed_by.append(name)
        self._after(self, played, incident)


def changes(played: Rehearsal) -> list[str]:
    return [call.call for call in played.gate.calls if call.role == "actor" and call.call.startswith("lambda.Put")]


def attacked(after: Callable[[Attack, Rehearsal, Incident], None]) -> tuple[Attack, dict[str, Any]]:
    attack = Attack(after)
    scenario = load(SCENES / "approve.yaml").model_copy(update={"people": [], "minutes": 25})
    return attack, dict(rehearse(scenario, watch=attack))


@cache
def resisted() -> tuple[Attack, dict[str, Any]]:
    return attacked(lambda *_: None)


def test_no_forged_yes_is_taken_and_the_question_stays_open() -> None:
    attack, outcome = resisted()
    assert len(attack.answers) == 23
    assert attack.changed_by == []
    assert outcome["mutations"] == []
    assert [error for error in outcome["errors"] if not error["expected"]] == []


def test_the_genuine_yes_after_all_of_them_is_taken_once() -> None:
    """Or the test above would prove nothing. The same request again, as Slack and attackers send it, changes no more."""

    def say_yes(_: Attack, played: Rehearsal, incident: Incident) -> None:
        request = click(played._scene.hands, f"{incident.id}:{version_shown(incident)}", played.now)
        for _time in range(3):
            assert played._door(request)["statusCode"] == 200
            played._run_executions(until=59)
        assert changes(played) == ["lambda.PutFunctionConcurrency"]

    attack, outcome = attacked(say_yes)
    assert attack.changed_by == []
    assert [one["call"] for one in outcome["mutations"]].count("lambda.PutFunctionConcurrency") == 1


def test_a_refusal_tells_a_stranger_nothing() -> None:
    """Neither the incident nor why: what is unsigned gets a status and no word."""
    attack, _ = resisted()
    for name in ("another secret", "no signature", "no time", "an hour old", "one byte more"):
        assert attack.answers[name].split() == ["401"], name
