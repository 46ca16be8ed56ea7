"""A request to Slack or dagy can be broken on its way out and on its way back, under both HTTP clients."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from sandbox.aws.calls import Fault, ProcessDied
from sandbox.dagy import DagyStandIn, DagyState, PlannedBackfill
from sandbox.line import Line
from sandbox.slack import SlackStandIn
from unthrottle.adapters.dagy import DagyBackfills
from unthrottle.adapters.slack import SlackChannel
from unthrottle.backfills import BackfillsRefused, BackfillsUnavailable, CancelAccepted
from unthrottle.chat import ChatBroken, ChatLater

NOW = datetime(2026, 8, 24, 4, 0, tzinfo=UTC)
PLANNED = PlannedBackfill(
    id="bf-1", flow="f", environment="e", requested_by="r", start=0, end=9, runs_total=1, dispatch_rate_per_minute=1
)


def posted(*errors: str, times: int = 1) -> tuple[SlackStandIn, Line, Callable[[], str]]:
    slack = SlackStandIn(start=NOW, now=lambda: NOW)
    faults = [Fault(call="slack.chat.postMessage", error=error, times=times) for error in errors]
    line = Line(origins={slack.base_url: "slack"}, faults=faults, mark=lambda: 7)
    channel = SlackChannel(slack.token, slack.channel, base_url=slack.base_url, timeout_s=2)
    return slack, line, lambda: channel.post("hello", []).ts


@pytest.mark.parametrize(
    ("error", "raises", "arrived"),
    [
        ("refused", ChatLater, False),
        ("timeout-before", ChatLater, False),
        ("timeout-after", ChatLater, True),
        ("slow", ChatLater, True),
        ("malformed", ChatLater, True),
        ("truncated", ChatLater, True),
        ("503", ChatLater, False),
        ("429", ChatLater, False),
        ("token_revoked", ChatBroken, False),
        ("crash-before", ProcessDied, False),
        ("crash-after", ProcessDied, True),
    ],
)
def test_a_message_breaks_before_or_after_slack_has_it(error: str, raises: type[BaseException], arrived: bool) -> None:
    slack, line, post = posted(error)
    with slack, line:
        with pytest.raises(raises):
            post()
        assert len(slack.calls) == int(arrived)
        post()
    assert [(made.call, made.position, made.result) for made in line.calls] == [
        ("slack.chat.postMessage", 7, error),
        ("slack.chat.postMessage", 7, "sent"),
    ]


def test_a_fault_lasts_as_many_calls_as_it_says() -> None:
    slack, line, post = posted("503", times=2)
    with slack, line:
        for _ in range(2):
            with pytest.raises(ChatLater):
                post()
        post()
    assert len(slack.calls) == 1


@pytest.mark.parametrize("error", ["timeout-after", "malformed", "truncated", "502"])
def test_a_cancel_whose_answer_is_lost_is_settled_by_reading(error: str) -> None:
    """Where dagy carried it out, reading shows it; where it did not, that is what is said."""
    state = DagyState([PLANNED])
    dagy = DagyStandIn(state, start=NOW, now=lambda: NOW)
    line = Line(origins={dagy.base_url: "dagy"}, faults=[Fault(call="dagy.POST", error=error)], mark=lambda: 0)
    with dagy, line:
        client = DagyBackfills(dagy.base_url, lambda: dagy.token, timeout_s=1)
        if error == "502":
            with pytest.raises(BackfillsUnavailable, match="it is still running"):
                client.cancel("bf-1")
        else:
            assert client.cancel("bf-1") == CancelAccepted(backfill_id="bf-1", confirmed_by_reading=True)
    assert [made.call for made in line.calls] == ["dagy.POST", "dagy.GET"]


def test_a_refusal_of_dagy_is_one() -> None:
    dagy = DagyStandIn(DagyState([PLANNED]), start=NOW, now=lambda: NOW)
    with (
        dagy,
        Line(origins={dagy.base_url: "dagy"}, faults=[Fault(call="dagy.POST", error="403")], mark=lambda: 0),
        pytest.raises(BackfillsRefused),
    ):
        DagyBackfills(dagy.base_url, lambda: dagy.token, timeout_s=1).cancel("bf-1")


def test_other_connections_are_left_alone() -> None:
    slack, _, post = posted()
    with (
        slack,
        Line(origins={}, faults=[Fault(call="slack.chat.postMessage", error="refused")], mark=lambda: 0) as line,
    ):
        post()
    assert line.calls == []
