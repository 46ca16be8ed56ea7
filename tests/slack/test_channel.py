"""Messages reach the channel over real sockets, and every refusal becomes one clear reaction."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from sandbox.slack import Failure, SlackStandIn
from unthrottle.adapters.slack import SlackChannel, classify, wait_seconds
from unthrottle.chat import ChatBroken, ChatError, ChatGone, ChatLater, ChatRefusedFormat

START = datetime(2026, 8, 24, 4, 0, tzinfo=UTC)
SECTION: dict[str, object] = {"type": "section", "text": {"type": "mrkdwn", "text": "*crew-import* holds 71 %."}}
TABLE: dict[str, object] = {"type": "table", "rows": [[{"type": "raw_text", "text": "crew-import"}]]}
CHART: dict[str, object] = {
    "type": "data_visualization",
    "title": "Concurrency",
    "chart": {
        "type": "line",
        "axis_config": {"categories": ["04:30"]},
        "series": [{"name": "used", "data": [{"label": "04:30", "value": 962}]}],
    },
}


class Clock:
    """Simulated time that a test moves by hand."""

    def __init__(self) -> None:
        self.minute = 33.0

    def now(self) -> datetime:
        return START + timedelta(minutes=self.minute)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def slack(clock: Clock) -> Iterator[SlackStandIn]:
    steps = [(0, "up"), (60, "down"), (70, "429"), (80, "token-revoked"), (90, "invalid-blocks-charts"), (100, "up")]
    with SlackStandIn(
        start=START,
        now=clock.now,
        mode=steps,  # type: ignore[arg-type]
        usergroups={"S0OPS": ["U0OPS", "U1OPS"]},
    ) as stand_in:
        yield stand_in


@pytest.fixture
def channel(slack: SlackStandIn) -> SlackChannel:
    return SlackChannel(slack.token, slack.channel, base_url=slack.base_url, timeout_s=5)


def test_head_message_is_posted_updated_and_answered_in_its_thread(
    slack: SlackStandIn, channel: SlackChannel, clock: Clock
) -> None:
    head = channel.post("Diagnosing.", [SECTION])
    clock.minute = 35
    step = channel.post("#1 capped", thread_ts=head.ts)
    asked = channel.post("Please approve.", thread_ts=head.ts, broadcast=True)
    channel.update(head.ts, "Done.", [SECTION, TABLE])
    assert [call.as_json() for call in slack.calls] == [
        message(33, "chat.postMessage", head.ts, None, "Diagnosing.", [SECTION]),
        message(35, "chat.postMessage", step.ts, head.ts, "#1 capped", []),
        {**message(35, "chat.postMessage", asked.ts, head.ts, "Please approve.", []), "broadcast": True},
        message(35, "chat.update", head.ts, None, "Done.", [SECTION, TABLE]),
    ]
    assert [now.text for now in slack.messages] == ["Done.", "#1 capped", "Please approve."]
    assert [reply.ts for reply in slack.thread(head.ts)] == [step.ts, asked.ts]


def message(  # noqa: PLR0917 (the columns of a table)
    minute: int, method: str, ts: str, thread_ts: str | None, text: str, blocks: list[object]
) -> dict[str, object]:
    return {
        "minute": minute,
        "method": method,
        "channel": "C0OPS",
        "ts": ts,
        "thread_ts": thread_ts,
        "text": text,
        "blocks": blocks,
        "broadcast": False,
        "user": None,
    }


def test_same_run_gives_the_same_message_ids(channel: SlackChannel) -> None:
    assert [channel.post("a").ts, channel.post("b").ts] == ["1787545980.000001", "1787545980.000002"]


def test_ephemeral_answer_goes_to_one_person(slack: SlackStandIn, channel: SlackChannel) -> None:
    channel.ephemeral("U0OPS", "Already approved.")
    assert [(call.method, call.user, call.text) for call in slack.calls] == [
        ("chat.postEphemeral", "U0OPS", "Already approved.")
    ]
    assert slack.messages == ()


def test_members_of_a_group_and_the_workspace_can_be_asked(channel: SlackChannel) -> None:
    assert channel.members("S0OPS") == ("U0OPS", "U1OPS")
    assert channel.whoami() == "T0SANDBOX"
    with pytest.raises(ChatBroken, match="no_such_subteam"):
        channel.members("S0NONE")


def test_charts_are_left_out_where_slack_does_not_know_them(
    slack: SlackStandIn, channel: SlackChannel, clock: Clock
) -> None:
    clock.minute = 95
    posted = channel.post("Pool used up.", [SECTION, CHART, TABLE])
    channel.update(posted.ts, "Pool used up.", [SECTION, CHART])
    assert [list(call.blocks) for call in slack.calls] == [[SECTION, TABLE], [SECTION]]
    assert [(call.method, call.error) for call in slack.refused] == [
        ("chat.postMessage", "invalid_blocks"),
        ("chat.update", "invalid_blocks"),
    ]


def test_table_becomes_code_when_the_message_is_refused_without_charts_too(
    slack: SlackStandIn, channel: SlackChannel
) -> None:
    channel.post("Pool used up.", [SECTION, TABLE, TABLE])
    (sent,) = slack.calls
    code = {"type": "section", "text": {"type": "mrkdwn", "text": "```\ncrew-import\n```"}}
    assert list(sent.blocks) == [SECTION, code, code]


def test_message_that_is_wrong_in_every_form_is_sent_as_text(slack: SlackStandIn, channel: SlackChannel) -> None:
    too_long = {"type": "section", "text": {"type": "mrkdwn", "text": "y" * 3001}}
    channel.post("Pool used up.", [SECTION, too_long])
    (sent,) = slack.calls
    assert sent.blocks == ()
    assert sent.text.startswith("Pool used up.\n*crew-import* holds 71 %.\nyyy")


def test_update_in_text_removes_the_blocks_that_stood_there(slack: SlackStandIn, channel: SlackChannel) -> None:
    posted = channel.post("Approve?", [SECTION])
    channel.update(posted.ts, "Approved.")
    assert [(now.text, now.blocks) for now in slack.messages] == [("Approved.", ())]


@pytest.mark.parametrize(
    ("minute", "error", "code", "retry_after_s"),
    [
        pytest.param(60, ChatLater, "http_503", 10, id="down"),
        pytest.param(70, ChatLater, "ratelimited", 30, id="too many requests"),
        pytest.param(80, ChatBroken, "token_revoked", None, id="token revoked"),
    ],
)
def test_outage_becomes_one_reaction_and_nothing_is_sent_twice(
    slack: SlackStandIn,
    channel: SlackChannel,
    clock: Clock,
    *,
    minute: int,
    error: type[ChatError],
    code: str,
    retry_after_s: int | None,
) -> None:
    clock.minute = minute
    with pytest.raises(error) as found:
        channel.post("Pool used up.", [SECTION])
    assert found.value.code == code
    assert getattr(found.value, "retry_after_s", None) == retry_after_s
    assert (slack.calls, len(slack.refused)) == ((), 1)


@pytest.mark.parametrize("kind", ["drop", "lost"])
def test_lost_answer_says_that_the_message_may_have_arrived(
    slack: SlackStandIn, channel: SlackChannel, kind: str
) -> None:
    slack.fail("chat.postMessage", Failure(kind=kind))  # type: ignore[arg-type]
    with pytest.raises(ChatLater, match="no answer from Slack") as found:
        channel.post("Pool used up.")
    assert found.value.may_have_arrived
    assert len(slack.calls) == (1 if kind == "lost" else 0)


def test_deleted_message_is_gone_so_that_a_new_one_is_posted(slack: SlackStandIn, channel: SlackChannel) -> None:
    head = channel.post("Diagnosing.")
    slack.delete(head.ts)
    with pytest.raises(ChatGone, match="message_not_found"):
        channel.update(head.ts, "Done.")
    with pytest.raises(ChatGone, match="thread_not_found"):
        channel.post("#1 capped", thread_ts=head.ts)


def test_wrong_token_and_wrong_channel_need_a_person(slack: SlackStandIn) -> None:
    with pytest.raises(ChatBroken, match="invalid_auth"):
        SlackChannel("xoxb-other", slack.channel, base_url=slack.base_url).post("x")
    with pytest.raises(ChatBroken, match="channel_not_found"):
        SlackChannel(slack.token, "C0ELSE", base_url=slack.base_url).post("x")


def test_message_without_any_words_is_broken_not_retried(channel: SlackChannel) -> None:
    with pytest.raises(ChatBroken, match="no_text"), pytest.warns(UserWarning, match="text"):
        channel.post("")


@pytest.mark.parametrize(
    ("answer", "error", "code", "wait"),
    [
        pytest.param(Failure(status=429), ChatLater, "http_429", 30, id="429 without Retry-After"),
        pytest.param(Failure(status=429, headers={"Retry-After": "soon"}), ChatLater, "http_429", 30, id="in words"),
        pytest.param(Failure(status=429, headers={"Retry-After": "7"}), ChatLater, "http_429", 7, id="in seconds"),
        pytest.param(Failure(status=429, headers={"Retry-After": "86400"}), ChatLater, "http_429", 300, id="a day"),
        pytest.param(Failure(status=500, body="server_error"), ChatLater, "http_500", 10, id="500 with a word"),
        pytest.param(Failure(status=502, body="<html>"), ChatLater, "http_502", 10, id="502 with a page"),
        pytest.param(
            Failure(body='{"ok": false, "error": "fatal_error"}'), ChatLater, "fatal_error", 10, id="fatal_error"
        ),
        pytest.param(Failure(body="<html>proxy</html>"), ChatLater, "unreadable_answer", 10, id="200 with a page"),
        pytest.param(Failure(body=""), ChatLater, "unreadable_answer", 10, id="200 with nothing"),
        pytest.param(Failure(body="[1]"), ChatLater, "no_answer", 10, id="200 with a list"),
        pytest.param(Failure(body='{"ok": true}'), ChatLater, "unreadable_answer", 10, id="200 without an id"),
        pytest.param(
            Failure(body='{"ok": false, "error": "is_archived"}'), ChatBroken, "is_archived", None, id="archived"
        ),
        pytest.param(
            Failure(body='{"ok": false, "error": "not_in_channel"}'), ChatBroken, "not_in_channel", None, id="out"
        ),
        pytest.param(
            Failure(body='{"ok": false, "error": "brand_new"}'), ChatBroken, "brand_new", None, id="unheard of"
        ),
        pytest.param(
            Failure(body='{"ok": false, "error": "msg_too_long"}'),
            ChatRefusedFormat,
            "msg_too_long",
            None,
            id="too long",
        ),
    ],
)
def test_every_odd_answer_is_classified_and_its_body_is_not_logged(
    slack: SlackStandIn,
    channel: SlackChannel,
    caplog: pytest.LogCaptureFixture,
    *,
    answer: Failure,
    error: type[ChatError],
    code: str,
    wait: int | None,
) -> None:
    slack.fail("chat.postMessage", answer)
    with caplog.at_level("DEBUG"), pytest.raises(error) as found:
        channel.post("Pool used up.")
    assert caplog.text == ""
    assert type(found.value) is error
    assert (found.value.code, getattr(found.value, "retry_after_s", None)) == (code, wait)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("ratelimited", ChatLater),
        ("invalid_blocks", ChatRefusedFormat),
        ("invalid_attachments", ChatRefusedFormat),
        ("msg_blocks_too_long", ChatRefusedFormat),
        ("message_not_found", ChatGone),
        ("cant_update_message", ChatGone),
        ("edit_window_closed", ChatGone),
        ("missing_scope", ChatBroken),
        ("ekm_access_denied", ChatBroken),
    ],
)
def test_slack_error_codes_have_one_meaning_each(code: str, error: type[ChatError]) -> None:
    assert classify(code, status=200) is error


def test_waiting_time_is_bounded() -> None:
    assert [wait_seconds(text) for text in (None, "", "0", "12", "-1", "9999999999", "²")] == [
        30,
        30,
        1,
        12,
        30,
        30,
        30,
    ]


def test_command_is_answered_at_its_own_address_five_times_within_half_an_hour(
    slack: SlackStandIn, channel: SlackChannel, clock: Clock
) -> None:
    address = slack.reply_url("first")
    for _ in range(5):
        channel.reply(address, "Checking.")
    with pytest.raises(ChatGone, match="used_url"):
        channel.reply(address, "Done.")
    other = slack.reply_url("second")
    clock.minute += 31
    with pytest.raises(ChatLater):
        channel.reply(other, "Slack is down now.")
    clock.minute = 110
    with pytest.raises(ChatGone, match="expired_url"):
        channel.reply(other, "Done.")
    assert [call.method for call in slack.calls] == ["response_url"] * 5


def test_reply_goes_to_no_address_but_slacks(channel: SlackChannel) -> None:
    for address in (
        "http://169.254.169.254/latest",
        "https://hooks.slack.com.evil.example/x",
        "",
        "file:///etc/passwd",
    ):
        with pytest.raises(ChatBroken, match="not Slack's; nothing was sent"):
            channel.reply(address, "x")


def test_home_view_is_published_and_checked(slack: SlackStandIn) -> None:
    client = WebClient(slack.token, base_url=slack.base_url, retry_handlers=[])
    client.views_publish(user_id="U0OPS", view={"type": "home", "blocks": [SECTION]})
    with pytest.raises(SlackApiError, match="invalid_arguments"):
        client.views_publish(user_id="U0OPS", view={"type": "home", "blocks": [CHART]})
    assert [(call.method, call.user) for call in slack.calls] == [("views.publish", "U0OPS")]


def test_blocks_may_be_json_in_a_form_field(slack: SlackStandIn) -> None:
    client = WebClient(slack.token, base_url=slack.base_url, retry_handlers=[])
    client.api_call("chat.postMessage", params={"channel": "C0OPS", "text": "x", "blocks": json.dumps([SECTION])})
    assert slack.calls[0].blocks == (SECTION,)
    with pytest.raises(SlackApiError, match="unknown_method"):
        client.api_call("chat.scheduleMessage", json={"channel": "C0OPS"})
    with pytest.raises(SlackApiError, match="invalid_blocks_format"):
        client.api_call("chat.postMessage", params={"channel": "C0OPS", "text": "x", "blocks": "{"})
