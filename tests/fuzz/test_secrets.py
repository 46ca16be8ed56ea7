"""A secret is in no error, no log line and no repr, whatever goes wrong with it."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox.loopback import HttpAnswer, LoopbackServer
from unthrottle.adapters.access import Credentials
from unthrottle.adapters.dagy import DagyBackfills
from unthrottle.adapters.secrets import AwsSecrets
from unthrottle.adapters.slack import SlackChannel
from unthrottle.backfills import BackfillsRefused, BackfillsUnavailable
from unthrottle.chat import ChatError
from unthrottle.errors import UnthrottleError
from unthrottle.slack_door import SlackApp

CANARY = "xoxb-CANARY-0123456789"


class _Secrets:
    """Secrets Manager, with one secret."""

    def __init__(self, text: str) -> None:
        self._text = text

    def use(self, *_: object) -> Any:
        import contextlib

        return contextlib.nullcontext(self)

    def get_secret_value(self, **_: object) -> dict[str, str]:
        return {"SecretString": self._text}


def is_clean(error: BaseException, log: pytest.LogCaptureFixture) -> bool:
    texts = [str(error), repr(error), log.text, *(str(record.__dict__) for record in log.records)]
    return not any(CANARY in text for text in texts)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(SlackApp(signing_secrets=(CANARY,), app_id="A0"), id="the app's secrets"),
        pytest.param(
            Credentials(access_key="AKIA", secret_key=CANARY, token=CANARY, until=datetime.now(UTC)), id="keys"
        ),
        pytest.param(SlackChannel(CANARY, "C0OPS"), id="the channel"),
        pytest.param(DagyBackfills("https://dagy.invalid", lambda: CANARY), id="dagy"),
        pytest.param(AwsSecrets(_Secrets(CANARY)), id="the secrets"),  # type: ignore[arg-type]  # stands in for Access
    ],
)
def test_no_secret_is_in_a_repr(value: object) -> None:
    assert CANARY not in repr(value)
    assert CANARY not in f"{value}"


@pytest.mark.parametrize(
    "text", [CANARY, f'"{CANARY}"', json.dumps({"token": [CANARY]}), json.dumps([CANARY]), f'{{"token": "{CANARY}"']
)
def test_a_secret_of_the_wrong_form_is_not_quoted(text: str, caplog: pytest.LogCaptureFixture) -> None:
    secrets = AwsSecrets(_Secrets(text))  # type: ignore[arg-type]  # stands in for Access
    with caplog.at_level(logging.DEBUG), pytest.raises(UnthrottleError) as found:
        secrets.field("arn:secret", "bot_token")
    assert is_clean(found.value, caplog)


ANSWERS = [
    HttpAnswer(status=200, body=json.dumps({"ok": False, "error": f"not_allowed {CANARY}"}).encode()),
    HttpAnswer(status=200, body=CANARY.encode()),
    HttpAnswer(status=500, body=CANARY.encode()),
    HttpAnswer(status=401, body=json.dumps({"message": f"bad token {CANARY}"}).encode()),
    HttpAnswer(status=429, body=CANARY.encode(), headers={"Retry-After": CANARY}),
    HttpAnswer(status=302, headers={"Location": f"https://evil.invalid/?token={CANARY}"}),
    HttpAnswer(status=200, body=b"[" * 100_000),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: f"{answer.status} {answer.body[:20]!r}")
def test_slack_that_echoes_the_token_does_not_get_it_into_an_error_or_a_log(
    answer: HttpAnswer, caplog: pytest.LogCaptureFixture
) -> None:
    server = LoopbackServer(lambda _: answer)
    with server, caplog.at_level(logging.DEBUG, logger="unthrottle"), pytest.raises(ChatError) as found:
        SlackChannel(CANARY, "C0OPS", base_url=f"{server.origin}/api/", timeout_s=2).post("hello", [])
    assert is_clean(found.value, caplog)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: f"{answer.status} {answer.body[:20]!r}")
def test_dagy_that_echoes_the_token_does_not_get_it_into_an_error_or_a_log(
    answer: HttpAnswer, caplog: pytest.LogCaptureFixture
) -> None:
    server = LoopbackServer(lambda _: answer)
    with (
        server,
        caplog.at_level(logging.DEBUG, logger="unthrottle"),
        pytest.raises((BackfillsUnavailable, BackfillsRefused)) as found,
    ):
        DagyBackfills(server.origin, lambda: CANARY, timeout_s=1).running()
    assert is_clean(found.value, caplog)
