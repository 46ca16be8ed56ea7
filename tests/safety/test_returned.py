"""A symptom that comes back while a change is in force reaches a person, once, and is not answered by a second change."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from sandbox.memory_incidents import MemoryIncidents
from sandbox.rehearsal import rehearse
from sandbox.scenario import load
from tests.safety.test_reopen import HOUR, Ringing, alarm, table_alarm
from tests.unit.fakes import (
    ACCOUNT,
    MINUTE,
    NOW,
    REGION,
    FakeAccounts,
    FakePager,
    StillClock,
    incident,
    observer,
)
from tests.unit.made_changes import CAP
from unthrottle import returned
from unthrottle.errors import Conflict, Refused, TryAgain
from unthrottle.incident import AppliedChange, Incident, Outcome, Question, Status
from unthrottle.plan import Action, Plan, Watch
from unthrottle.ports import FiringAlarm, Opened, Ports
from unthrottle.reopen import Place, reopen
from unthrottle.report.moments import Step
from unthrottle.subjects import TableSubject
from unthrottle.verification import Judgement

WATCH = Watch(service="lambda", functions=("victim",))
ANEW, STUCK = alarm(minutes=60), alarm(minutes=200)


def held(**more: object) -> Incident:
    """A cap that helped two hours ago and is in force for another hour."""
    return incident(
        status=Status.APPLIED,
        outcome=Outcome.RECOVERED,
        opened_at=NOW - 3 * HOUR,
        recovered_at=NOW - 2 * HOUR,
        lease_until=NOW + HOUR,
        question=Question(about="lease", callback="cb", version=3, expires_at=NOW + HOUR),
        plan=Plan(action=Action.CAP_CONCURRENCY, why="because", changes=(CAP,), lease_minutes=120, watch=WATCH),
        applied=(AppliedChange(change=CAP, at=NOW - 3 * HOUR),),
        **more,
    )


class Lease:
    """An incident under its lease, alarms that ring, and what is measured when it is looked at again."""

    def __init__(self, patch: pytest.MonkeyPatch, *ringing: FiringAlarm, known: Incident, seen: Outcome | None) -> None:
        self.alarms, self.incidents, self.pager, self.clock = (
            Ringing(*ringing),
            MemoryIncidents(),
            FakePager(),
            StillClock(),
        )
        self.seen: Outcome | Exception | None = seen
        self.watched: list[tuple[str, ...]] = []
        assert isinstance(self.incidents.open_or_join(known, "k"), Opened)
        patch.setattr(returned, "judge_symptom", self._judge)

    def sweep(self) -> tuple[str, ...]:
        accounts = FakeAccounts(observer(alarms=self.alarms))
        ports = Ports(
            accounts=accounts,
            incidents=self.incidents,
            backfills=None,
            chat=None,
            pager=self.pager,
            clock=self.clock,
        )
        now, place = self.clock.now(), Place(account=ACCOUNT, region=REGION)
        return reopen(
            accounts,
            self.incidents,
            [place],
            now,
            lambda _trigger: ["INC-NEW"],
            at_it=lambda one, ringing: returned.notice(ports, one, ringing, now),
        )

    def record(self) -> Incident:
        found = self.incidents.load("INC-TEST0001")
        assert found is not None
        return found

    def _judge(
        self, _observer: object, about: Incident, *, since: datetime, deadline: datetime, now: datetime
    ) -> Judgement:
        assert (since, deadline) == (now - 7 * MINUTE, now)
        self.watched.append(about.plan.watch.functions if about.plan and about.plan.watch else ())
        if isinstance(self.seen, Exception):
            raise self.seen
        return Judgement(outcome=self.seen, because="measured")


def test_an_alarm_that_rings_again_during_a_lease_reaches_a_person_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what is in force, that nothing more is done, and what to do; no second incident, no second change."""
    lease = Lease(monkeypatch, ANEW, known=held(), seen=Outcome.NOT_RECOVERED)
    assert lease.sweep() == ()
    lease.clock.time += 5 * MINUTE
    assert lease.sweep() == ()

    ((subject, text),) = lease.pager.pages
    assert subject.startswith("INC-TEST0001")
    assert "Alarm throttles rings, since 09:00 UTC, though the change had helped" in text
    assert "The change of hog stays in force until 11:00 UTC, and nothing more is done by itself" in text
    for command in ("/unthrottle check hog", "/unthrottle revert INC-TEST0001", "/unthrottle keep INC-TEST0001"):
        assert command in text
    (line,) = [moment for moment in lease.record().timeline if moment.event == returned.SEEN]
    assert line.at == NOW
    assert (lease.record().status, lease.record().question is not None) == (Status.APPLIED, True)


@pytest.mark.parametrize(
    ("ringing", "seen", "is_told"),
    [
        pytest.param(ANEW, Outcome.NOT_RECOVERED, True, id="it rang anew, and it is seen"),
        pytest.param(ANEW, Outcome.INCONCLUSIVE, True, id="it rang anew, and it cannot be told"),
        pytest.param(ANEW, TryAgain("busy"), True, id="it rang anew, and cannot be read"),
        pytest.param(ANEW, Refused("no", code="X"), True, id="it rang anew, and may not be read"),
        pytest.param(ANEW, Outcome.RECOVERED, False, id="it rings for the capped function only"),
        pytest.param(STUCK, Outcome.NOT_RECOVERED, True, id="it never stopped, and those of before suffer again"),
        pytest.param(STUCK, Outcome.INCONCLUSIVE, False, id="it never stopped, and it cannot be told"),
        pytest.param(STUCK, Outcome.RECOVERED, False, id="it never stopped, for the cap throttles the capped"),
        pytest.param(STUCK, TryAgain("busy"), False, id="it never stopped, and cannot be read"),
        pytest.param(alarm(minutes=9), Outcome.NOT_RECOVERED, False, id="too young"),
        pytest.param(alarm(metric="ConcurrentExecutions"), Outcome.NOT_RECOVERED, False, id="nobody suffers"),
    ],
)
def test_an_alarm_is_believed_as_far_as_it_says_something_new(
    monkeypatch: pytest.MonkeyPatch, ringing: FiringAlarm, seen: Outcome | Exception, is_told: bool
) -> None:
    lease = Lease(monkeypatch, ringing, known=held(), seen=None)
    lease.seen = seen
    lease.sweep()
    assert len(lease.pager.pages) == is_told


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(replace(held(), recovered_at=None, outcome=Outcome.NONE), id="it is still verified"),
        pytest.param(replace(held(), status=Status.KEPT), id="it is not ours any more"),
        pytest.param(replace(held(), recovered_at=NOW - 10 * MINUTE), id="it has just ended"),
    ],
)
def test_what_has_not_come_back_is_not_told(monkeypatch: pytest.MonkeyPatch, known: Incident) -> None:
    lease = Lease(monkeypatch, ANEW, known=known, seen=Outcome.NOT_RECOVERED)
    lease.sweep()
    assert lease.pager.pages == []


def test_who_suffers_now_counts_for_a_new_ring_and_who_suffered_for_an_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another hog has other victims; an alarm that never stopped may ring for functions it was never about."""
    for ringing, watched in ((ANEW, ()), (STUCK, ("victim",))):
        lease = Lease(monkeypatch, ringing, known=held(), seen=Outcome.RECOVERED)
        lease.sweep()
        assert lease.watched == [watched]


def test_each_ring_is_told_but_not_more_than_once_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(monkeypatch, ANEW, known=held(), seen=Outcome.NOT_RECOVERED)
    lease.sweep()
    for minutes, pages in ((59, 1), (60, 2)):
        lease.clock.time = NOW + minutes * MINUTE
        lease.alarms.ringing = (replace(ANEW, since=NOW + 20 * MINUTE),)
        lease.sweep()
        assert len(lease.pager.pages) == pages


def test_a_table_is_named_with_what_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    rung = table_alarm("dagy-runs")
    about = held(subject=TableSubject(table="dagy-runs"), fingerprint=f"{ACCOUNT}/{REGION}/dynamodb/dagy-runs")
    lease = Lease(monkeypatch, rung, known=about, seen=Outcome.NOT_RECOVERED)
    lease.sweep()
    assert "/unthrottle fix dagy-runs" in lease.pager.pages[0][1]


def test_a_page_that_cannot_be_sent_leaves_the_report_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the outbox then, which is an alarm of its own when it waits too long."""
    lease = Lease(monkeypatch, ANEW, known=held(), seen=Outcome.NOT_RECOVERED)
    lease.pager.error = Refused("gone", code="NotFound")
    lease.sweep()
    (waiting,) = lease.record().outbox
    assert waiting.step == Step.RETURNED


@pytest.mark.parametrize("error", [Conflict("written meanwhile"), TryAgain("busy"), Refused("too large", code="X")])
def test_a_record_that_cannot_be_written_is_left_to_the_next_sweep(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The other alarms are looked at all the same."""
    lease = Lease(monkeypatch, ANEW, table_alarm("dagy-flows"), known=held(), seen=Outcome.NOT_RECOVERED)

    def refuse(_record: Incident) -> Incident:
        raise error

    monkeypatch.setattr(lease.incidents, "save", refuse)
    assert lease.sweep() == ("INC-NEW",)
    assert lease.pager.pages == []


NIGHT = """
version: 1
name: another hog during the lease
start: 2026-08-24T09:00:00Z
minutes: 75
settings: {{Mode: auto, CapLeaseMinutes: 120}}
account: {{id: "111122223333", region: eu-west-1}}
functions:
  - {{name: svc-hog-dev, trigger: {{type: eventbridge}}, duration_ms: 45000, demand: {demand}}}
  - {{name: svc-new-dev, trigger: {{type: eventbridge}}, duration_ms: 45000, demand: [[0, 20], [40, 1400]]}}
  - {{name: "svc-uat-pipe-{{i:03d}}", count: 4, trigger: {{type: msk, partitions: 3}}, duration_ms: 900, demand: [[0, 3]]}}
"""


@pytest.mark.parametrize(
    "demand",
    [
        pytest.param("[[0, 20], [5, 1150], [12, 20]]", id="the first has calmed down, and the alarm rings anew"),
        pytest.param("[[0, 20], [5, 1150]]", id="the first goes on at its cap, and the alarm has never stopped"),
    ],
)
def test_another_hog_that_takes_the_pool_during_the_lease_is_told_on_the_real_path(tmp_path: Path, demand: str) -> None:
    """In the thread, in the channel and by a page; the first cap stays alone."""
    file = tmp_path / "another.yaml"
    file.write_text(NIGHT.format(demand=demand), encoding="utf-8")
    outcome = rehearse(load(file))
    (incident,) = outcome["incidents"]

    assert (incident["status"], incident["outcome"], incident["targets"]) == ("applied", "recovered", ["svc-hog-dev"])
    seen = [moment["minute"] for moment in incident["timeline"] if moment["event"] == returned.SEEN]
    assert len(seen) == 1
    assert 42 <= seen[0] <= 60
    assert [page["minute"] for page in outcome["escalations"]] == seen
    told = [one for one in outcome["slack"] if "throttled again while the change is in force" in str(one["text"])]
    assert [(one["method"], one["broadcast"]) for one in told] == [("chat.postMessage", True)]
    assert len(outcome["mutations"]) == 1
    assert outcome["errors"] == []
