"""A report that Slack does not take reaches a person at once, and Slack later, under its number and marked as late."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from sandbox.memory_incidents import MemoryIncidents
from tests.report.samples import applied, pool_hog
from unthrottle import outbox
from unthrottle.chat import ChatBroken, ChatError, ChatGone, ChatLater, ChatRefusedFormat
from unthrottle.errors import Refused, TryAgain
from unthrottle.incident import Incident, Unsent
from unthrottle.ports import Ports, Posted
from unthrottle.report.moments import Step

NOW = datetime(2026, 8, 24, 5, 10, tzinfo=UTC)
DOWN = ChatLater("Slack is down.", code="service_unavailable", retry_after_s=10)
BROKEN = ChatBroken("The token was revoked.", code="token_revoked")


class Channel:
    """A channel that refuses what it is told to, and remembers what it took."""

    def __init__(self, *refusals: ChatError | None) -> None:
        self.refusals = list(refusals)
        self.posts: list[tuple[str, str | None, bool]] = []
        self.updates: list[str] = []

    def post(
        self, text: str, _: Sequence[dict[str, object]], *, thread_ts: str | None = None, broadcast: bool = False
    ) -> Posted:
        self._refuse()
        self.posts.append((text, thread_ts, broadcast))
        return Posted(ts=f"{len(self.posts)}.0")

    def update(self, ts: str, text: str, _: Sequence[dict[str, object]]) -> Posted:
        self._refuse()
        self.updates.append(text)
        return Posted(ts=ts)

    def _refuse(self) -> None:
        refusal = self.refusals.pop(0) if self.refusals else None
        if refusal is not None:
            raise refusal


class Pages:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.sent: list[tuple[str, str]] = []

    def page(self, subject: str, text: str) -> None:
        if self.error is not None:
            raise self.error
        self.sent.append((subject, text))


class StillClock:
    def now(self) -> datetime:
        return NOW


def ports(channel: Channel | None, incidents: MemoryIncidents | None = None, pages: Pages | None = None) -> Ports:
    return Ports(
        accounts=cast("Any", None),
        incidents=cast("Any", incidents or MemoryIncidents()),
        backfills=None,
        chat=channel,
        pager=pages or Pages(),
        clock=StillClock(),
    )


def waiting(*numbers: int, head: str | None = "9.0", reports: int | None = None, open_: bool = True) -> Incident:
    """An incident of which these reports wait."""
    steps = {1: "opened", 2: "diagnosed", 3: "acting", 4: "applied"}
    box = tuple(
        Unsent(number=number, step=steps[number], detail="", at=NOW - timedelta(minutes=30 - number))
        for number in numbers
    )
    base = replace(applied(pool_hog()), question=None, head=head, outbox=box, unsent=len(box))
    return replace(base, reports=reports or max(numbers), closed_at=None if open_ else NOW)


def stored(incident: Incident) -> MemoryIncidents:
    incidents = MemoryIncidents()
    incidents.open_or_join(replace(incident, closed_at=None), "key")
    if not incident.is_open:
        incidents.close(incident)
    return incidents


def test_a_report_slack_did_not_take_is_paged_with_its_number_and_kept() -> None:
    pages = Pages()
    before = replace(waiting(1), reports=1)
    after = outbox.page_instead(ports(None, pages=pages), before, Step.DIAGNOSED, "what it said", "Slack is down")
    ((_, text),) = pages.sent
    assert "#2 diagnosed: what it said" in text
    assert "Slack did not take this report: Slack is down" in text
    assert [unsent.number for unsent in after.outbox] == [1, 2]
    assert (after.unsent, after.reports, after.timeline[-1].event) == (2, 2, "report.unsent")


def test_a_report_that_cannot_even_be_paged_is_kept_for_later() -> None:
    with pytest.raises(TryAgain):
        outbox.page_instead(ports(None, pages=Pages(TryAgain("SNS"))), waiting(1), Step.ACTING, "", "down")
    assert outbox.kept(waiting(1), Step.ACTING, "", NOW).outbox[-1].number == 2


def test_what_waits_is_delivered_in_order_marked_late_and_the_head_is_made_current_once() -> None:
    channel = Channel()
    written: list[int] = []

    def save(record: Incident, number: int) -> Incident:
        written.append(number)
        return record

    after = outbox.deliver_late(ports(channel), waiting(2, 3, 4), save)
    assert [text.split()[0] for text, _, _ in channel.posts] == ["#2", "#3", "#4"]
    assert all("(delivered late at 05:10 UTC: Slack did not take it at 04:4" in text for text, _, _ in channel.posts)
    assert all(thread == "9.0" for _, thread, _ in channel.posts)
    assert len(channel.updates) == 1
    assert written == [2, 3, 4]
    assert (after.outbox, after.unsent, after.timeline[-1].event) == ((), 0, "report.late")


def test_without_a_head_one_is_posted_first() -> None:
    channel = Channel()
    after = outbox.deliver_late(ports(channel), waiting(1, 2, head=None), lambda record, _: record)
    assert [thread for _, thread, _ in channel.posts] == [None, "1.0", "1.0"]
    assert after.head == "1.0"


def test_a_head_that_was_deleted_is_posted_anew() -> None:
    channel = Channel(ChatGone("gone", code="message_not_found"))
    assert outbox.deliver_late(ports(channel), waiting(2), lambda record, _: record).head == "1.0"


def test_when_slack_refuses_again_the_rest_goes_on_waiting() -> None:
    after = outbox.deliver_late(ports(Channel(None, DOWN)), waiting(1, 2, 3, reports=5), lambda record, _: record)
    assert [unsent.number for unsent in after.outbox] == [2, 3]


def test_a_report_of_a_form_slack_never_takes_does_not_hold_up_the_others() -> None:
    channel = Channel(ChatRefusedFormat("too odd", code="invalid_blocks"))
    after = outbox.deliver_late(ports(channel), waiting(1, 2, reports=5), lambda record, _: record)
    assert after.outbox == ()
    assert [text.split()[0] for text, _, _ in channel.posts] == ["#2"]


def test_a_late_report_of_a_closed_incident_does_not_call_people_into_the_channel() -> None:
    for is_open in (True, False):
        channel = Channel()
        incident = waiting(1, open_=is_open)
        asked = replace(incident, outbox=(replace(incident.outbox[0], step=Step.ESCALATED.value),))
        outbox.deliver_late(ports(channel), asked, lambda record, _: record)
        assert channel.posts[-1][2] is is_open


def test_the_sweep_delivers_for_a_workflow_that_sleeps_and_for_one_that_has_ended() -> None:
    for is_open in (True, False):
        incident = waiting(1, 2, open_=is_open)
        incidents = stored(incident)
        assert outbox.deliver_all(ports(Channel(), incidents)) == outbox.Backlog(unsent=0, oldest_s=0, late=2)
        assert incidents.untold() == ()
        after = incidents.load(incident.id)
        assert after is not None
        assert after.outbox == ()


def test_the_sweep_leaves_a_workflow_that_is_awake_alone_and_counts_what_waits() -> None:
    incident = waiting(1, 2).told(NOW - timedelta(minutes=1), "action.applied")
    found = outbox.deliver_all(ports(Channel(), stored(incident)))
    assert found == outbox.Backlog(unsent=2, oldest_s=29 * 60, late=0)


def test_a_write_of_the_workflow_between_costs_no_report_and_brings_none_back() -> None:
    incident = waiting(1, 2, 3)
    incidents = stored(incident)

    class Busy(Channel):
        def post(self, text: str, *rest: Any, **more: Any) -> Posted:
            newest = incidents.load(incident.id)
            assert newest is not None
            incidents.save(newest.told(NOW, "verification.done"))
            return super().post(text, *rest, **more)

    channel = Busy()
    outbox.deliver_all(ports(channel, incidents))
    after = incidents.load(incident.id)
    assert after is not None
    assert after.outbox == ()
    assert [text.split()[0] for text, _, _ in channel.posts] == ["#1", "#2", "#3"]


def test_a_workflow_takes_over_what_the_sweep_delivered_and_keeps_what_is_new() -> None:
    mine = waiting(1, 2, 3)
    theirs = replace(mine, outbox=mine.outbox[1:2], reports=2, head="8.0")
    merged = outbox.merged(replace(mine, head=None), theirs)
    assert [unsent.number for unsent in merged.outbox] == [2, 3]
    assert (merged.unsent, merged.head) == (2, "8.0")


@pytest.mark.parametrize(
    ("minute", "is_time"),
    [
        pytest.param(-1, False, id="before"),
        pytest.param(0, True, id="at six"),
        pytest.param(4, True, id="the run of that hour"),
        pytest.param(5, False, id="the next run"),
    ],
)
def test_the_token_is_checked_by_one_run_a_day(minute: int, is_time: bool) -> None:
    at = datetime(2026, 8, 24, 6, 0, tzinfo=UTC) + timedelta(minutes=minute)
    assert outbox.is_time_to_check(at, timedelta(minutes=5)) is is_time


def test_a_dead_token_pages_before_an_incident_does() -> None:
    def whoami() -> str:
        raise BROKEN

    pages = Pages()
    assert outbox.check_token(whoami, pages) == "token_revoked"
    assert pages.sent[0][0] == "Slack does not take reports: token_revoked"


def test_a_slack_that_is_down_at_the_check_pages_nobody() -> None:
    def whoami() -> str:
        raise DOWN

    pages = Pages()
    assert outbox.check_token(whoami, pages) == "service_unavailable"
    assert pages.sent == []
    assert outbox.check_token(lambda: "T1", pages) is None


def test_a_check_that_cannot_be_paged_does_not_fail_the_sweep() -> None:
    def whoami() -> str:
        raise BROKEN

    assert outbox.check_token(whoami, Pages(Refused("no topic", code="NotFound"))) == "token_revoked"
