"""Which alarms still in ALARM are opened again, and which are left because somebody is at work on them or knows."""

from dataclasses import replace
from datetime import timedelta

import pytest

from sandbox.memory_incidents import MemoryIncidents
from tests.unit.fakes import ACCOUNT, MINUTE, NOW, REGION, FakeAccounts, FakeAlarms, incident, observer
from unthrottle.alarms import Trigger
from unthrottle.errors import NotAllowed, UnthrottleError
from unthrottle.incident import Incident, Outcome, Status
from unthrottle.ports import FiringAlarm, Opened
from unthrottle.reopen import MOST_AT_ONCE, Place, reopen
from unthrottle.subjects import TableSubject, fingerprint

HOUR = timedelta(hours=1)


def alarm(name: str = "throttles", *, metric: str = "Throttles", minutes: int = 60) -> FiringAlarm:
    watched: dict[str, object] = {
        "metricStat": {"metric": {"namespace": "AWS/Lambda", "name": metric, "dimensions": {}}}
    }
    return FiringAlarm(name=name, arn=f"arn:{name}", since=NOW - minutes * MINUTE, metrics=(watched,))


def table_alarm(table: str) -> FiringAlarm:
    query = 'SELECT SUM(WriteThrottleEvents) FROM SCHEMA("AWS/DynamoDB", TableName) GROUP BY TableName'
    return FiringAlarm(
        name="tables",
        arn="arn:tables",
        since=NOW - HOUR,
        metrics=({"expression": query},),
        contributor=table,
        attributes={"TableName": table},
    )


class Ringing(FakeAlarms):
    """Alarms that are in ALARM."""

    def __init__(self, *ringing: FiringAlarm, error: UnthrottleError | None = None) -> None:
        super().__init__({}, error)
        self.ringing = ringing

    def firing(self) -> tuple[FiringAlarm, ...]:
        if self.error is not None:
            raise self.error
        return self.ringing


class Night:
    """Alarms, incidents, and what was opened."""

    def __init__(self, *ringing: FiringAlarm, known: Incident | None = None) -> None:
        self.alarms = Ringing(*ringing)
        self.incidents = MemoryIncidents()
        self.taken: list[Trigger] = []
        if known is not None:
            assert isinstance(self.incidents.open_or_join(replace(known, closed_at=None), "k"), Opened)
            if known.closed_at is not None:
                self.incidents.close(known)

    def sweep(self) -> tuple[str, ...]:
        def take(trigger: Trigger) -> list[str]:
            self.taken.append(trigger)
            return [f"INC-{len(self.taken)}"]

        accounts = FakeAccounts(observer(alarms=self.alarms))
        return reopen(accounts, self.incidents, [Place(account=ACCOUNT, region=REGION)], NOW, take)


def closed(ago: timedelta, **more: object) -> Incident:
    return incident(opened_at=NOW - ago - HOUR, closed_at=NOW - ago, **more)


@pytest.mark.parametrize(
    ("known", "is_opened"),
    [
        pytest.param(None, True, id="no incident was ever opened: its event was lost"),
        pytest.param(incident(), False, id="an incident is open"),
        pytest.param(
            closed(29 * MINUTE, status=Status.REVERTED), False, id="just closed: the alarm's metrics come late"
        ),
        pytest.param(closed(30 * MINUTE, status=Status.REVERTED), True, id="closed too early, and nobody knows"),
        pytest.param(closed(30 * MINUTE, status=Status.FAILED), True, id="failed, and no page went out"),
        pytest.param(
            closed(11 * HOUR, status=Status.FAILED, escalated=True), False, id="failed, and a person was paged"
        ),
        pytest.param(closed(12 * HOUR, status=Status.FAILED, escalated=True), True, id="paged half a day ago"),
        pytest.param(closed(11 * HOUR, status=Status.DENIED), False, id="a guardrail denied it"),
        pytest.param(closed(11 * HOUR, status=Status.REJECTED), False, id="a person rejected it"),
        pytest.param(
            closed(11 * HOUR, status=Status.KEPT, outcome=Outcome.RECOVERED), False, id="a person kept the cap"
        ),
        pytest.param(closed(11 * HOUR, muted_by="rule"), False, id="somebody muted it"),
        pytest.param(
            closed(11 * HOUR, status=Status.REVERTED, decided_because="asked by U0OPS"), False, id="given back by hand"
        ),
    ],
)
def test_an_alarm_is_opened_again_only_when_nobody_is_at_work_on_it_or_knows(
    known: Incident | None, is_opened: bool
) -> None:
    """Bounded: half an hour where nobody knows, half a day where a person does."""
    assert Night(alarm(), known=known).sweep() == (("INC-1",) if is_opened else ())


@pytest.mark.parametrize(
    "ringing",
    [
        pytest.param(alarm(minutes=9), id="too young: its event may still come"),
        pytest.param(alarm(metric="Errors"), id="about something else"),
        pytest.param(alarm("TargetTracking-table/x"), id="autoscaling's own"),
        pytest.param(
            replace(table_alarm("t"), attributes={}, contributor=None), id="a grouped query without its contributor"
        ),
    ],
)
def test_an_alarm_that_is_not_ours_or_too_young_is_left(ringing: FiringAlarm) -> None:
    """Only kinds that intake would take, and only after intake had its time."""
    assert Night(ringing).sweep() == ()


def test_an_early_warning_comes_back_only_when_its_own_ring_was_missed() -> None:
    """The pool may be four fifths full for days; that is told once for each time it rings."""
    rung = alarm(metric="ConcurrentExecutions", minutes=120)
    seen = closed(31 * MINUTE)  # opened 91 minutes ago, after the ring
    missed = replace(closed(5 * HOUR), id="INC-TEST0002")

    assert Night(rung, known=seen).sweep() == ()
    assert Night(rung, known=missed).sweep() == ("INC-1",)


def test_a_contributor_names_its_table_and_other_tables_are_not_held_up_by_it() -> None:
    """Each table has its own fingerprint."""
    mark = fingerprint(ACCOUNT, REGION, TableSubject(table="dagy-runs"))
    night = Night(table_alarm("dagy-runs"), table_alarm("dagy-flows"), known=incident(fingerprint=mark))

    assert night.sweep() == ("INC-1",)
    assert [trigger.subjects for trigger in night.taken] == [(TableSubject(table="dagy-flows"),)]


def test_one_sweep_opens_only_a_few() -> None:
    """Many at once mean that something else is wrong; the next sweep goes on."""
    night = Night(*(table_alarm(f"dagy-t{number:02d}") for number in range(20)))

    assert len(night.sweep()) == MOST_AT_ONCE


def test_an_account_that_cannot_be_read_does_not_stop_the_others() -> None:
    """It is logged, and looked at again in five minutes."""

    night = Night()
    night.alarms = Ringing(error=NotAllowed("no", code="AccessDenied"))

    assert night.sweep() == ()


def test_an_alarm_over_two_accounts_opens_an_incident_in_each() -> None:
    both: tuple[dict[str, object], ...] = tuple(
        {
            "accountId": account,
            "metricStat": {
                "metric": {
                    "namespace": "AWS/DynamoDB",
                    "name": "WriteThrottleEvents",
                    "dimensions": {"TableName": "dagy-runs-prod"},
                }
            },
        }
        for account in (ACCOUNT, "777788889999")
    )
    night = Night(FiringAlarm(name="tables", arn="arn:tables", since=NOW - HOUR, metrics=both))
    assert night.sweep() == ("INC-1", "INC-2")
    assert [trigger.account for trigger in night.taken] == [ACCOUNT, "777788889999"]
