"""The adapter reads and cancels backfills over real sockets, and trusts no answer that breaks the contract."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from sandbox.dagy import DagyStandIn, DagyState
from sandbox.loopback import Drop, Hold, HttpAnswer, HttpRequest, LoopbackServer
from tests.dagy.planned import NOW, START, planned
from unthrottle.adapters.dagy import DagyBackfills
from unthrottle.backfills import (
    Backfill,
    BackfillsRefused,
    BackfillsUnavailable,
    CancelAccepted,
    CancelAlreadyEnded,
    CancelUnknown,
)

TIMEOUT_S = 0.2


@pytest.fixture
def dagy() -> Iterator[DagyStandIn]:
    state = DagyState([planned("bf-20c4"), planned("bf-prod", "prod"), planned("bf-over", end=13)])
    with DagyStandIn(state, start=START, now=lambda: NOW) as stand_in:
        yield stand_in


def client(dagy: DagyStandIn, token: str | None = None) -> DagyBackfills:
    return DagyBackfills(dagy.base_url, lambda: token or dagy.token, timeout_s=TIMEOUT_S)


DOCUMENT: dict[str, object] = {
    "id": "bf-20c4",
    "state": "running",
    "flow": "hourly-invoices",
    "environment": "develop",
    "requested_by": "data-eng",
    "started_at": "2026-08-24T04:12:00Z",
    "runs_total": 12000,
    "runs_dispatched": 2700,
    "dispatch_rate_per_minute": 150,
}
RUNNING = Backfill(
    id="bf-20c4",
    state="running",
    flow="hourly-invoices",
    environment="develop",
    requested_by="data-eng",
    started_at=datetime(2026, 8, 24, 4, 12, tzinfo=UTC),
    runs_total=12000,
    runs_dispatched=2700,
    dispatch_rate_per_minute=150.0,
)


def listing(*documents: object) -> HttpAnswer:
    return HttpAnswer(status=200, body=json.dumps({"backfills": list(documents)}).encode())


class Odd:
    """A server that answers from a script and remembers what it was asked."""

    def __init__(self, *answers: HttpAnswer | Drop | Hold) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []
        self.server = LoopbackServer(self._serve)

    def _serve(self, request: HttpRequest) -> HttpAnswer | Drop | Hold:
        self.asked.append(request.method)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def __enter__(self) -> DagyBackfills:
        return DagyBackfills(self.server.start().origin, lambda: "t", timeout_s=TIMEOUT_S)

    def __exit__(self, *_: object) -> None:
        self.server.stop()


def test_running_backfills_are_read_whole_and_by_environment(dagy: DagyStandIn) -> None:
    assert client(dagy).running("develop") == (RUNNING,)
    assert [backfill.id for backfill in client(dagy).running()] == ["bf-20c4", "bf-prod"]
    assert client(dagy).running("test") == ()


def test_cancel_answers_accepted_ended_or_unknown(dagy: DagyStandIn) -> None:
    assert client(dagy).cancel("bf-20c4") == CancelAccepted(backfill_id="bf-20c4")
    assert client(dagy).cancel("bf-over") == CancelAlreadyEnded(backfill_id="bf-over")
    assert client(dagy).cancel("bf-none") == CancelUnknown(backfill_id="bf-none")
    assert dagy.state.final(30) == {"bf-20c4": "cancelled", "bf-prod": "running", "bf-over": "completed"}


def test_an_ended_backfill_tells_whether_it_was_running_a_moment_ago(dagy: DagyStandIn) -> None:
    """Only the process that has just seen it running, and asks for the first time, knows that it ended without it."""
    asked = client(dagy)
    asked.running()
    assert client(dagy).cancel("bf-20c4") == CancelAccepted(backfill_id="bf-20c4")
    assert asked.cancel("bf-20c4") == CancelAlreadyEnded(backfill_id="bf-20c4", was_running=True)
    assert client(dagy).cancel("bf-20c4") == CancelAlreadyEnded(backfill_id="bf-20c4", was_running=False)


def test_a_cancel_whose_answer_was_lost_is_ours_when_it_turns_out_ended() -> None:
    """The first answer is lost and the list still shows it; asked again, dagy says that it has ended."""
    ended = HttpAnswer(status=409, body=b'{"error": "already_ended", "message": "ended"}')
    with Odd(Drop(), listing(DOCUMENT), ended) as backfills:
        with pytest.raises(BackfillsUnavailable):
            backfills.cancel("bf-20c4")
        assert backfills.cancel("bf-20c4") == CancelAccepted(backfill_id="bf-20c4", confirmed_by_reading=True)


def test_cancel_without_the_right_is_refused_and_changes_nothing(dagy: DagyStandIn) -> None:
    dagy.api = "401"
    with pytest.raises(
        BackfillsRefused, match=r"answered 401, our token is not accepted\. Nothing was changed"
    ) as found:
        client(dagy).cancel("bf-20c4")
    assert found.value.status == 401
    assert [call.method for call in dagy.calls] == ["POST"]


def test_reading_with_a_wrong_token_is_unavailable_and_not_tried_again(dagy: DagyStandIn) -> None:
    with pytest.raises(BackfillsUnavailable, match="401, our token is not accepted"):
        client(dagy, token="stale").running()
    assert len(dagy.calls) == 1


def test_reading_is_tried_three_times_when_dagy_is_down(dagy: DagyStandIn) -> None:
    dagy.api = "down"
    with pytest.raises(BackfillsUnavailable, match="no answer came from dagy"):
        client(dagy).running()
    assert [(call.method, call.status) for call in dagy.calls] == [("GET", None)] * 3


def test_slow_dagy_is_given_up_after_the_timeout(dagy: DagyStandIn) -> None:
    dagy.api = "slow"
    with pytest.raises(BackfillsUnavailable, match="no answer came from dagy"):
        client(dagy).running()


def test_cancel_is_sent_once_when_dagy_is_down_and_says_what_is_unknown(dagy: DagyStandIn) -> None:
    dagy.api = "down"
    with pytest.raises(BackfillsUnavailable, match="may or may not have been cancelled: look in dagy"):
        client(dagy).cancel("bf-20c4")
    assert [call.method for call in dagy.calls] == ["POST", "GET", "GET", "GET"]


def test_nothing_was_sent_when_there_is_no_connection() -> None:
    server = LoopbackServer(lambda _: Drop())
    server.stop()
    with pytest.raises(BackfillsUnavailable, match=r"no connection to dagy .* Nothing was sent"):
        DagyBackfills(server.origin, lambda: "t", timeout_s=TIMEOUT_S).cancel("bf-20c4")


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(Drop(), id="connection dropped"),
        pytest.param(Hold(), id="answer too late"),
        pytest.param(HttpAnswer(status=502, body=b"Bad Gateway"), id="gateway error"),
        pytest.param(HttpAnswer(status=202, body=b'{"id": "bf-2'), id="answer cut inside the JSON"),
        pytest.param(
            HttpAnswer(status=202, body=b"{", headers={"Content-Length": "500"}), id="answer cut by the network"
        ),
    ],
)
class TestLostAnswerToACancel:
    def test_is_settled_by_reading_that_it_no_longer_runs(self, lost: HttpAnswer | Drop | Hold) -> None:
        odd = Odd(lost, listing())
        with odd as backfills:
            assert backfills.cancel("bf-20c4") == CancelAccepted(backfill_id="bf-20c4", confirmed_by_reading=True)
        assert odd.asked == ["POST", "GET"]

    def test_is_unavailable_while_it_still_runs(self, lost: HttpAnswer | Drop | Hold) -> None:
        odd = Odd(lost, listing(DOCUMENT))
        with odd as backfills, pytest.raises(BackfillsUnavailable, match="it is still running"):
            backfills.cancel("bf-20c4")
        assert odd.asked == ["POST", "GET"]


def test_answer_about_another_backfill_is_refused() -> None:
    answer = HttpAnswer(status=202, body=json.dumps({**DOCUMENT, "id": "bf-9999"}).encode())
    with Odd(answer) as backfills, pytest.raises(BackfillsRefused, match="it answered about 'bf-9999'"):
        backfills.cancel("bf-20c4")


def test_redirect_is_not_followed_so_the_token_goes_nowhere_else() -> None:
    elsewhere = Odd(listing())
    with elsewhere:
        odd = Odd(HttpAnswer(status=302, headers={"Location": elsewhere.server.origin}))
        with odd as backfills, pytest.raises(BackfillsUnavailable, match="302, a redirect, which is not followed"):
            backfills.running()
    assert elsewhere.asked == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param(b"", "no JSON", id="empty"),
        pytest.param(b"<html>login</html>", "no JSON", id="a login page"),
        pytest.param(b'{"backfills": [', "no JSON", id="truncated"),
        pytest.param(b"[" * 200_000, "no JSON", id="nested without end"),
        pytest.param(b'{"backfills": [{"runs_total": NaN}]}', "the number NaN", id="not a number"),
        pytest.param(b"[]", "no list named backfills", id="a bare list"),
        pytest.param(b'{"backfills": {}}', "no list named backfills", id="an object in place of the list"),
        pytest.param(b'{"backfills": [7]}', r"backfills\[0\] is no object", id="a number in place of a backfill"),
        pytest.param(b"x" * 1_000_001, "larger than 1000000 bytes", id="too large"),
    ],
)
def test_malformed_list_is_unavailable_and_says_what_was_found(body: bytes, found: str) -> None:
    with Odd(HttpAnswer(status=200, body=body)) as backfills, pytest.raises(BackfillsUnavailable, match=found):
        backfills.running()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        pytest.param({"id": "../../admin"}, r"backfills\[0\]\.id", id="an id that would be a path"),
        pytest.param({"id": 7}, r"backfills\[0\]\.id", id="an id that is a number"),
        pytest.param({"started_at": "yesterday"}, r"started_at is 'yesterday'", id="no time"),
        pytest.param({"started_at": "2026-08-24T04:12:00"}, "without a time zone", id="a time without a zone"),
        pytest.param({"runs_total": -1}, "runs_total", id="a negative count"),
        pytest.param({"runs_total": True}, "runs_total", id="a boolean count"),
        pytest.param({"runs_dispatched": None}, "runs_dispatched", id="a count that is not there"),
        pytest.param({"dispatch_rate_per_minute": "fast"}, "not a rate", id="a rate in words"),
        pytest.param({"flow": "a\nb"}, "flow", id="a flow of two lines"),
        pytest.param({"flow": "f" * 257}, "flow", id="an endless flow name"),
        pytest.param({"state": "completed"}, "bf-20c4 is 'completed'", id="one that does not run"),
    ],
)
def test_one_malformed_backfill_makes_the_whole_list_unavailable(change: dict[str, object], found: str) -> None:
    answer = listing({**DOCUMENT, "id": "bf-good"}, DOCUMENT)
    with Odd(answer) as backfills:
        assert [backfill.id for backfill in backfills.running()] == ["bf-good", "bf-20c4"]
    answer = listing({**DOCUMENT, **change}, {**DOCUMENT, "id": "bf-good"})
    with Odd(answer) as backfills, pytest.raises(BackfillsUnavailable, match=found):
        backfills.running()


def test_same_backfill_twice_is_unavailable() -> None:
    with Odd(listing(DOCUMENT, DOCUMENT)) as backfills, pytest.raises(BackfillsUnavailable, match="twice"):
        backfills.running()


@pytest.mark.parametrize("identifier", ["", "a/b", "bf 1", "bf-1\n", "b" * 65, "ｂf"])
def test_impossible_id_is_refused_before_anything_is_sent(identifier: str) -> None:
    odd = Odd(listing())
    with odd as backfills, pytest.raises(BackfillsRefused, match="Nothing was sent"):
        backfills.cancel(identifier)
    assert odd.asked == []


def test_unusable_token_is_named_but_never_shown() -> None:
    with pytest.raises(BackfillsUnavailable, match="token is empty or has characters") as found:
        DagyBackfills("https://dagy.example.com", lambda: "se\ncret").running()
    assert "cret" not in str(found.value)


@pytest.mark.parametrize(
    "address", ["dagy", "ftp://dagy.example.com", "http://dagy.example.com", "https://u:p@dagy.example.com"]
)
def test_address_that_must_not_get_the_token_is_a_wrong_setting(address: str) -> None:
    with pytest.raises(ValueError, match="dagy's address is"):
        DagyBackfills(address, lambda: "t")
