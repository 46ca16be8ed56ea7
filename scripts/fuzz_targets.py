"""What may a hostile input bring about? For each input of the bot: seeds of its own, and a judge that raises on a broken promise.

The promises: no exception but the documented ones, no action that nobody asked for, nothing quoted at length, and, held by who
calls the judge, bounded time. Inputs are bytes; most are read as JSON first, as the bot's own callers do.
"""

import base64
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sandbox.scenario import ScenarioError, load
from sandbox.slack_people import SlackPeople
from scripts import fuzz_aws, fuzz_intake, fuzz_slack_api
from unthrottle.adapters.dagy import _expect_id, _parse_list
from unthrottle.alarms import Firing, LookUp, Muted, NotMine, read
from unthrottle.answers import read_answer
from unthrottle.backfills import BackfillsRefused, BackfillsUnavailable
from unthrottle.errors import SettingsError
from unthrottle.report.permanent import owner_of
from unthrottle.settings import PARAMETERS, Mode, Settings, from_parameters
from unthrottle.slack_front import Click, Command, HomeOpened, Rejected, SslCheck, UrlVerification, receive, sign
from unthrottle.slack_grammar import understand
from unthrottle.subjects import FunctionSubject, PoolSubject, TableSubject
from unthrottle.tags import Unreadable, wished_maximum

ROOT = Path(__file__).parents[1]
NOW = datetime(2026, 8, 24, 4, 33, tzinfo=UTC)
SECRET = "a-signing-secret-to-fuzz-with"  # noqa: S105  opens nothing
STAMP = str(int(NOW.timestamp()))
PEOPLE = SlackPeople(secret=SECRET)
SAID_AT_MOST = 20_000
"""Characters of an error or a reason, whatever the input was."""


class BrokenPromiseError(AssertionError):
    """An input brought about what none may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One input of the bot. *judge* takes any bytes; `seeds` are good ones."""

    name: str
    seeds: Sequence[bytes]
    judge: Callable[[bytes], None]


def targets() -> tuple[Target, ...]:
    """List every input there is."""
    alarms = [file.read_bytes() for file in sorted((ROOT / "events").glob("alarm-*.json"))]
    by_sns = [_by_sns(one) for one in alarms]
    by_sqs = [_by_sqs(one) for one in [*alarms, by_sns[0]]]
    scenes = [file.read_bytes() for file in sorted((ROOT / "sandbox" / "faults" / "scenes").glob("*.yaml"))]
    people = [
        PEOPLE.say("U0OPS", "/unthrottle status INC-ABCD1234", NOW),
        PEOPLE.say("U0OPS", "/unthrottle fix dagy-runs --dry-run", NOW),
        PEOPLE.click("U0OPS", "approve", "INC-ABCD1234:7", NOW, message_ts="1.2"),
    ]
    return (
        Target(name="alarm", seeds=alarms, judge=_alarm),
        Target(name="sns", seeds=by_sns, judge=_alarm),
        Target(name="sqs", seeds=by_sqs, judge=_alarm),
        Target(name="intake", seeds=[*alarms, *by_sns, *by_sqs], judge=fuzz_intake.event),
        Target(name="slack body", seeds=[_body(one) for one in people], judge=_slack_body),
        Target(name="slack request", seeds=[json.dumps(one).encode() for one in people], judge=_slack_request),
        Target(
            name="slack words", seeds=[b"fix dagy-runs --dry-run", b"pause 2h", b"status INC-ABCD1234"], judge=_words
        ),
        Target(name="answer", seeds=[b'{"do": "approve", "by": "U0OPS"}', b'"{\\"do\\": \\"keep\\"}"'], judge=_answer),
        Target(name="dagy", seeds=_DAGY, judge=_dagy),
        Target(name="aws", seeds=fuzz_aws.SEEDS, judge=fuzz_aws.answer),
        Target(name="slack api", seeds=fuzz_slack_api.SEEDS, judge=fuzz_slack_api.answer),
        Target(name="settings", seeds=_SETTINGS, judge=_settings),
        Target(name="tags", seeds=_TAGS, judge=_tags),
        Target(name="scenario", seeds=scenes, judge=_scenario),
    )


def check(is_kept: bool, promise: str) -> None:  # noqa: FBT001  the first word of a sentence
    """Raise BrokenPromiseError unless it is kept."""
    if not is_kept:
        raise BrokenPromiseError(promise)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def _by_sns(event: bytes) -> bytes:
    return json.dumps({"Records": [{"EventSource": "aws:sns", "Sns": {"Message": event.decode()}}]}).encode()


def _by_sqs(event: bytes) -> bytes:
    return json.dumps({"Records": [{"eventSource": "aws:sqs", "body": event.decode()}]}).encode()


def _alarm(data: bytes) -> None:
    for reading in read(_json(data)):
        match reading:
            case Firing(trigger=trigger):
                kinds = TableSubject | FunctionSubject | PoolSubject
                check(all(isinstance(one, kinds) for one in trigger.subjects), "a subject of no kind")
                check(trigger.account.isdecimal() and len(trigger.account) == 12, "an account that is none")
                check(trigger.state_at.tzinfo is not None, "a time without a zone")
            case NotMine(detail=detail):
                check(len(detail) < SAID_AT_MOST, "a reason without end")
            case LookUp() | Muted():
                pass


def _body(event: dict[str, Any] | Any) -> bytes:
    return base64.b64decode(event["body"])


def _slack_body(data: bytes) -> None:
    """Signed: a stolen secret, or Slack itself sending something new."""
    event = {
        "requestContext": {"http": {"method": "POST"}},
        "headers": {"x-slack-request-timestamp": STAMP, "x-slack-signature": sign(SECRET, STAMP, data)},
        "body": base64.b64encode(data).decode(),
        "isBase64Encoded": True,
    }
    answer = receive(event, [SECRET], NOW)
    known = (Click, Command, HomeOpened, Rejected, SslCheck, UrlVerification)
    check(isinstance(answer, known), "a request of no kind")


def _slack_request(data: bytes) -> None:
    """Whatever the request is, only with the genuine signature over the genuine body is it a person's."""
    event = _json(data)
    answer = receive(event, [SECRET], NOW)
    if isinstance(answer, Click | Command | HomeOpened):
        encoded = str(event["body"])
        raw = base64.b64decode(encoded) if event.get("isBase64Encoded") else encoded.encode()
        stamp, signature = (
            _only([value for spelled, value in event["headers"].items() if str(spelled).lower() == name])
            for name in ("x-slack-request-timestamp", "x-slack-signature")
        )
        check(signature == sign(SECRET, stamp, raw), "somebody unsigned was let in")


def _only(values: Sequence[Any]) -> str:
    """Return the one value of a header that may be there more than once, and spelled otherwise."""
    found = [one for value in values for one in (value if isinstance(value, list) else [value])]
    check(all(isinstance(one, str) for one in found), "a header that is no text")
    check(len(set(found)) == 1, "a header that says two things")
    return str(found[0])


def _words(data: bytes) -> None:
    understand(data.decode("utf-8", "replace"))


def _answer(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    if read_answer(text).do == "approve":
        check("approve" in text or "\\u" in text, "an approval nobody gave")


def _dagy(data: bytes) -> None:
    try:
        for backfill in _parse_list(data):
            check(0 < len(backfill.id) <= 200, "a name that is none")
            check(backfill.runs_total >= 0, "fewer runs than none")
            check(backfill.started_at.tzinfo is not None, "a time without a zone")
    except BackfillsUnavailable as error:
        check(len(str(error)) < SAID_AT_MOST, "an error without end")
    try:
        _expect_id(data, "bf-20c4")
    except (BackfillsUnavailable, BackfillsRefused) as error:
        check(len(str(error)) < SAID_AT_MOST, "an error without end")


def _settings(data: bytes) -> None:
    given = _json(data)
    if not isinstance(given, dict):
        return
    try:
        found = from_parameters(given)
    except SettingsError as error:
        check(len(str(error)) < SAID_AT_MOST, "an error without end")
        return
    check(found.mode in set(Mode), "a mode that is none")
    said = given.get("Mode")
    chosen = said[0] if isinstance(said, list) and len(said) == 1 else said
    # Blanks around it are nobody's other choice.
    is_chosen = isinstance(chosen, str) and chosen.strip() == found.mode.value
    check(found.mode is Mode.DRY_RUN or is_chosen, "a mode that nobody chose")
    check(1 <= found.max_pool_share <= 90 and found.cap_lease_minutes >= 5, "a number out of its bounds")


def _tags(data: bytes) -> None:
    given = _json(data)
    if not isinstance(given, dict):
        return
    tags = {str(key): str(value) for key, value in given.items()}
    wished = wished_maximum(tags, Settings())
    check(wished is None or isinstance(wished, Unreadable) or 1 <= wished <= 999_999, "a wish that is none")
    owner_of(tags)


def _scenario(data: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(data)
        file.flush()
        try:
            load(Path(file.name))
        except ScenarioError as error:
            check(len(str(error)) < SAID_AT_MOST, "an error without end")


_DAGY = [
    json.dumps({"backfills": [one]}).encode()
    for one in (
        {
            "id": "bf-20c4",
            "state": "running",
            "flow": "hourly-invoices",
            "environment": "develop",
            "requested_by": "data-eng",
            "started_at": "2026-08-24T04:12:00Z",
            "runs_total": 12000,
            "runs_dispatched": 2700,
            "dispatch_rate_per_minute": 150.0,
        },
    )
] + [b'{"id": "bf-20c4", "state": "cancelling"}']
_SETTINGS = [
    json.dumps({"Mode": "approve", "MaxPoolShare": "25", "CapLeaseMinutes": 30, "Operators": "U0OPS,U0TWO"}).encode(),
    json.dumps(dict.fromkeys(sorted(PARAMETERS), "")).encode(),
]
_TAGS = [
    b'{"unthrottle:max-concurrency": "50", "unthrottle:protected": "true"}',
    b'{"aws:cloudformation:stack-name": "svc", "unthrottle:mode": "approve", "terraform": "x"}',
]
