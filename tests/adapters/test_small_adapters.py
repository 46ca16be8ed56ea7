"""Paging a person, starting and answering workflows, secrets, the change calendar, the clock."""

import json
import logging
from datetime import UTC, timedelta
from typing import Any

import pytest

from tests.adapters.world import NOW, Scripted, StillClock
from unthrottle.adapters.access import Access
from unthrottle.adapters.calendar import AwsCalendar
from unthrottle.adapters.clock import SystemClock
from unthrottle.adapters.pager import LARGEST_MESSAGE_BYTES, SnsPager, subject_line
from unthrottle.adapters.secrets import AwsSecrets
from unthrottle.adapters.starter import LambdaStarter
from unthrottle.errors import BadInput, NotAllowed, NotFound, TryAgain

TOPIC = "arn:aws:sns:eu-west-1:111122223333:on-call"
SECRET = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:slack-AbCdEf"
RESPOND = "arn:aws:lambda:eu-west-1:111122223333:function:respond:live"


def test_a_page_is_published_with_a_subject_sns_takes(script: Scripted, scripted: Access) -> None:
    script.answers(
        "sns", "publish", {}, TopicArn=TOPIC, Subject="Unthrottle: ?? runs throttled", Message="Wer leidet: Läufe"
    )

    SnsPager(scripted, TOPIC).page("é–\n\truns throttled", "Wer leidet: Läufe")


@pytest.mark.parametrize("subject", ["", "   ", "\n", "x" * 300, "ü" * 300, "a\r\nb", "…", "-start", "\x00\x1b[31m"])
def test_any_subject_becomes_one_line_of_ascii_that_is_short_enough(subject: str) -> None:
    line = subject_line(subject)

    assert line.isascii()
    assert line.isprintable()
    assert 1 <= len(line) <= 100
    assert line[0].isalnum()


def test_a_message_that_is_too_large_is_cut_and_says_so(script: Scripted, scripted: Access) -> None:
    published: dict[str, Any] = {}
    script.answers("sns", "publish", {})
    client = script.on("sns").client
    client.meta.events.register("provide-client-params.sns.Publish", lambda params, **_: published.update(params))

    SnsPager(scripted, TOPIC).page("s", "ü" * LARGEST_MESSAGE_BYTES)

    assert len(published["Message"].encode()) <= LARGEST_MESSAGE_BYTES
    assert published["Message"].endswith("the rest is in the incident's record.")


def test_without_a_topic_the_page_is_an_error_in_the_log(scripted: Access, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        SnsPager(scripted, "").page("runs throttled", "text")

    assert [record.getMessage() for record in caplog.records] == ["page.not-sent"]


def start(script: Scripted) -> None:
    script.answers(
        "lambda",
        "invoke",
        {"StatusCode": 202},
        FunctionName=RESPOND,
        InvocationType="Event",
        DurableExecutionName="INC-AAAA",
        Payload=json.dumps({"incident_id": "INC-AAAA"}).encode(),
    )


def test_a_workflow_starts_under_its_incidents_id_and_a_second_start_changes_nothing(
    script: Scripted, scripted: Access
) -> None:
    start(script)
    script.refuses("lambda", "invoke", "DurableExecutionAlreadyStartedException", "started", 409)

    starter = LambdaStarter(scripted, RESPOND)
    starter.start("INC-AAAA")
    starter.start("INC-AAAA")


def test_a_workflow_that_could_not_start_is_tried_again(script: Scripted, scripted: Access) -> None:
    script.refuses("lambda", "invoke", "TooManyRequestsException", "Rate exceeded", 429)
    with pytest.raises(TryAgain):
        LambdaStarter(scripted, RESPOND).start("INC-AAAA")

    script.refuses("lambda", "invoke", "ResourceNotFoundException", "Function not found", 404)
    with pytest.raises(NotFound):
        LambdaStarter(scripted, RESPOND).start("INC-AAAA")


@pytest.mark.parametrize("code", ["ResourceNotFoundException", "CallbackTimeoutException"])
def test_an_answer_reaches_the_workflow_once(script: Scripted, scripted: Access, code: str) -> None:
    starter = LambdaStarter(scripted, RESPOND)
    script.answers("lambda", "send_durable_execution_callback_success", {}, CallbackId="cb", Result=b'{"by": "U0OPS"}')
    assert starter.answer("cb", '{"by": "U0OPS"}') is True

    script.refuses("lambda", "send_durable_execution_callback_success", code, "not in STARTED state")
    assert starter.answer("cb", "{}") is False


def test_an_answer_that_was_not_permitted_is_not_called_late(script: Scripted, scripted: Access) -> None:
    script.refuses("lambda", "send_durable_execution_callback_success", "AccessDeniedException", "no", 403)

    with pytest.raises(NotAllowed):
        LambdaStarter(scripted, RESPOND).answer("cb", "{}")


def secret(script: Scripted, text: str) -> None:
    script.answers("secretsmanager", "get_secret_value", {"SecretString": text}, SecretId=SECRET)


def test_a_secret_is_asked_for_every_five_minutes(script: Scripted, scripted: Access, clock: StillClock) -> None:
    secrets = AwsSecrets(scripted, clock)
    secret(script, "first")
    assert [secrets.text(SECRET), secrets.text(SECRET)] == ["first", "first"]

    clock.time = NOW + timedelta(minutes=5)
    secret(script, "rotated")
    assert secrets.text(SECRET) == "rotated"

    secrets.forget()
    secret(script, "again")
    assert secrets.text(SECRET) == "again"


def test_a_token_is_plain_text_or_a_field_of_json(script: Scripted, scripted: Access, clock: StillClock) -> None:
    secrets = AwsSecrets(scripted, clock)
    secret(script, "  plain\n")
    assert secrets.token(SECRET) == "plain"

    secrets.forget()
    secret(script, '{"token": "in-json", "signing_secret": "s"}')
    assert secrets.token(SECRET) == "in-json"
    assert secrets.field(SECRET, "signing_secret") == "s"
    assert secrets.field(SECRET, "previous_signing_secret", default="") == ""


@pytest.mark.parametrize("text", ["geheim", '["geheim"]', '{"other": "geheim"}', '{"token": 7}'])
def test_a_secret_without_the_field_says_which_and_never_what_it_holds(
    script: Scripted, scripted: Access, clock: StillClock, text: str
) -> None:
    secret(script, text)

    with pytest.raises(BadInput, match="token") as wrong:
        AwsSecrets(scripted, clock).field(SECRET, "token")
    assert "geheim" not in str(wrong.value)


def test_a_binary_secret_is_refused(script: Scripted, scripted: Access, clock: StillClock) -> None:
    script.answers("secretsmanager", "get_secret_value", {"SecretBinary": b"x"})

    with pytest.raises(BadInput, match="binary"):
        AwsSecrets(scripted, clock).text(SECRET)


@pytest.mark.parametrize(("state", "frozen"), [("OPEN", False), ("CLOSED", True)])
def test_a_closed_calendar_freezes_changes(script: Scripted, scripted: Access, state: str, frozen: bool) -> None:
    arn = "arn:aws:ssm:eu-west-1:111122223333:document/freeze"
    script.answers("ssm", "get_calendar_state", {"State": state}, CalendarNames=[arn])

    assert AwsCalendar(scripted).is_frozen(arn) is frozen


def test_the_clock_tells_utc() -> None:
    assert SystemClock().now().tzinfo is UTC
