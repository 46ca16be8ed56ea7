"""A storm is one incident, a repeated delivery is none, and what is not ours opens nothing."""

import json
from collections.abc import Mapping

import pytest

from sandbox.memory_incidents import MemoryIncidents
from tests.unit.fakes import ACCOUNT, NOW, REGION, FakeAlarms, FakeStarter, StillClock
from unthrottle.errors import NotAllowed, TryAgain, UnthrottleError
from unthrottle.intake import Receiver
from unthrottle.settings import Settings
from unthrottle.subjects import FunctionSubject, PoolSubject, TableSubject, fingerprint, incident_id

OTHER, MEMBER = "999900001111", "555566667777"


class Intake:
    """A receiver with all it talks to."""

    def __init__(
        self, definitions: dict[str, list[dict[str, object]]] | None = None, error: UnthrottleError | None = None
    ) -> None:
        self.incidents, self.starter = MemoryIncidents(), FakeStarter()
        self.alarms = FakeAlarms(definitions or {}, error)
        self.looked: list[tuple[str, str]] = []
        self.receiver = Receiver(
            incidents=self.incidents,
            starter=self.starter,
            clock=StillClock(),
            settings=Settings(member_accounts=(MEMBER,)),
            home_account=ACCOUNT,
            home_region=REGION,
            alarms_of=self.alarms_of,
            own_prefix="unthrottle",
        )

    def alarms_of(self, account: str, region: str) -> FakeAlarms:
        self.looked.append((account, region))
        return self.alarms

    def results(self, event: object) -> list[object]:
        return [answer.get("reason", answer["result"]) for answer in self.receiver.receive(event)]


def metric(namespace: str, name: str, **dimensions: str) -> dict[str, object]:
    return {"metricStat": {"metric": {"namespace": namespace, "name": name, "dimensions": dimensions}}}


def throttles(function: str) -> dict[str, object]:
    return metric("AWS/Lambda", "Throttles", FunctionName=function)


def writes(table: str) -> dict[str, object]:
    return metric("AWS/DynamoDB", "WriteThrottleEvents", TableName=table)


def _query(table: str, account: str) -> dict[str, object]:
    where = f"TableName = '{table}' AND AWS.AccountId = '{account}'"
    return {"expression": f'SELECT SUM(WriteThrottleEvents) FROM SCHEMA("AWS/DynamoDB", TableName) WHERE {where}'}


def event(
    *metrics: Mapping[str, object], name: str = "a", second: int = 1, account: str = ACCOUNT, **detail: object
) -> dict[str, object]:
    return {
        "detail-type": "CloudWatch Alarm State Change",
        "account": account,
        "region": REGION,
        "resources": [f"arn:aws:cloudwatch:{REGION}:{account}:alarm:{name}"],
        "detail": {
            "alarmName": name,
            "state": {"value": "ALARM", "timestamp": f"2026-08-24T09:59:{second:02}.000+0000"},
            **({"configuration": {"metrics": list(metrics)}} if metrics else {}),
            **detail,
        },
    }


def test_a_storm_of_alarms_about_one_pool_is_one_incident() -> None:
    """Every function and the account draw from the same pool, so their alarms join; each starts by the same name."""
    intake = Intake()
    events = [event(throttles(f"f{number}"), name=f"f{number}") for number in range(28)]
    results = [
        intake.results(one) for one in [*events, event(metric("AWS/Lambda", "ConcurrentExecutions"), name="all")]
    ]

    assert results == [["opened"], *[["joined"]] * 28]
    (only,) = intake.incidents.open_incidents()
    assert only.triggers == 29
    assert set(intake.starter.started) == {only.id}


def test_the_same_state_change_twice_is_a_duplicate_that_starts_again() -> None:
    """The first delivery may have died between opening and starting; starting twice changes nothing."""
    intake = Intake()
    assert [intake.results(event(writes("t"))) for _ in range(2)] == [["opened"], ["duplicate"]]

    (only,) = intake.incidents.open_incidents()
    assert only.triggers == 1
    assert intake.starter.started == [only.id, only.id]


def test_one_alarm_over_two_tables_opens_two_incidents() -> None:
    """A table and its index are one; two tables are two."""
    intake = Intake()
    by_index = metric("AWS/DynamoDB", "WriteThrottleEvents", TableName="t1", GlobalSecondaryIndexName="by-status")
    assert intake.results(event(by_index, writes("t1"), writes("t2"))) == ["opened", "opened"]

    subjects = {incident.subject for incident in intake.incidents.open_incidents()}
    assert subjects == {TableSubject(table="t1", index="by-status"), TableSubject(table="t2")}


def test_the_record_says_what_the_alarm_said() -> None:
    """Account, Region, time and reason are the alarm's; an alarm on use alone is an early warning."""
    intake = Intake()
    intake.results(event(metric("AWS/Lambda", "ClaimedAccountConcurrency"), account=MEMBER, name="claimed"))

    (found,) = intake.incidents.open_incidents()
    assert (found.account, found.region, found.kind, found.subject) == (MEMBER, REGION, "lambda", PoolSubject())
    assert (found.opened_at, found.alarm_name, found.early_warning) == (NOW, "claimed", True)
    assert [moment.event for moment in found.timeline] == ["incident.opened"]


def test_throttles_of_a_table_are_never_an_early_warning() -> None:
    """Consumption of a table may be watched, but only the pool has an early warning."""
    intake = Intake()
    intake.results(event(metric("AWS/DynamoDB", "ConsumedWriteCapacityUnits", TableName="t")))

    assert not intake.incidents.open_incidents()[0].early_warning


@pytest.mark.parametrize(
    ("given_event", "reason"),
    [
        (event(writes("t"), account=OTHER), "unknown-account"),
        (event(name="a", account=OTHER), "unknown-account"),
        (event({**writes("t"), "accountId": OTHER}), "unknown-account"),
        (event({**writes("t"), "accountId": ACCOUNT}, account=MEMBER), "not-its-own"),
        (event(writes("t"), {**writes("t"), "accountId": ACCOUNT}, account=MEMBER), "not-its-own"),
        (event(_query("t", ACCOUNT), account=MEMBER), "not-its-own"),
        (event(throttles("unthrottle-respond-1A")), "own-resource"),
        (event(metric("AWS/EC2", "CPUUtilization")), "other-metric"),
        ({"detail-type": "Scheduled Event"}, "not-an-alarm"),
        (None, "not-an-alarm"),
    ],
    ids=[
        "another account",
        "another account's definition",
        "another account's metric",
        "a member about home",
        "a member about itself and home",
        "a member's query about home",
        "itself",
        "EC2",
        "a schedule",
        "null",
    ],
)
def test_what_is_not_ours_opens_nothing(given_event: object, reason: str) -> None:
    """It is recorded as not mine, with the reason, and no workflow is started."""
    intake = Intake()

    assert intake.results(given_event) == [reason]
    assert intake.incidents.open_incidents() == ()
    assert intake.starter.started == []
    assert intake.looked == []


def test_a_muted_alarm_is_recorded_as_muted() -> None:
    """It is looked at and told, and the record carries who silenced it."""
    intake = Intake()
    intake.results(event(writes("t"), muteDetail={"mutedByArn": "arn:aws:cloudwatch:x:y:alarm-mute-rule:deploy"}))

    assert intake.incidents.open_incidents()[0].muted_by == "mute rule deploy"


MUTE = {"mutedByArn": "arn:aws:cloudwatch:x:y:alarm-mute-rule:load-test"}


@pytest.mark.parametrize("is_muted_first", [True, False], ids=["the muted one first", "the muted one last"])
def test_an_alarm_that_nobody_muted_never_joins_a_muted_one(is_muted_first: bool) -> None:
    """Both are of one pool: in either order one incident is worked on, and one says what was muted."""
    intake = Intake()
    muted, meant = event(throttles("f1"), name="muted", muteDetail=MUTE), event(throttles("f2"), name="meant")
    for one in (muted, meant) if is_muted_first else (meant, muted):
        assert intake.results(one) == ["opened"]

    found = {one.alarm_name: one for one in intake.incidents.open_incidents()}
    assert {name: (one.muted_by, one.triggers) for name, one in found.items()} == {
        "muted": ("mute rule load-test", 1),
        "meant": (None, 1),
    }
    assert found["meant"].fingerprint == fingerprint(ACCOUNT, REGION, PoolSubject())
    assert set(intake.starter.started) == {one.id for one in found.values()}


def test_a_state_change_that_is_delivered_muted_and_unmuted_is_worked_on() -> None:
    """The delivery that says nothing of a mute counts, whichever comes first."""
    muted, meant = event(writes("t"), muteDetail=MUTE), event(writes("t"))
    for order in (muted, meant), (meant, muted):
        intake = Intake()
        for one in order:
            intake.results(one)
        assert sorted(str(one.muted_by) for one in intake.incidents.open_incidents()) == ["None", "mute rule load-test"]


def test_muted_alarms_of_one_pool_are_one_incident() -> None:
    """A load test does not fill the channel."""
    intake = Intake()
    results = [intake.results(event(throttles(f"f{n}"), name=f"f{n}", muteDetail=MUTE)) for n in range(9)]
    assert results == [["opened"], *[["joined"]] * 8]


def _passed_on(inner: object) -> dict[str, object]:
    return {"Records": [{"body": json.dumps({"Type": "Notification", "Message": json.dumps(inner)})}]}


@pytest.mark.parametrize(
    ("inner", "result"),
    [
        (event(writes("t")), "opened"),
        (event(name="a"), "opened"),
        (event(writes("t"), account=MEMBER), "not-its-own"),
        (event(name="a", account=MEMBER), "not-its-own"),
        ({**event(writes("t")), "region": "ap-south-1"}, "not-its-own"),
        ({**event(name="a"), "region": "ap-south-1"}, "not-its-own"),
        (event({**writes("t"), "accountId": MEMBER}), "not-its-own"),
        (event(writes("t"), {**writes("t"), "accountId": MEMBER}), "not-its-own"),
    ],
    ids=[
        "of home",
        "of home, by its definition",
        "of a member",
        "of a member, by its definition",
        "of another Region",
        "of another Region, by its definition",
        "home's about a member",
        "home's about itself and a member",
    ],
)
def test_a_message_of_sns_or_sqs_speaks_only_for_the_account_and_region_it_runs_in(inner: object, result: str) -> None:
    """Whoever may send there wrote the account in it; EventBridge writes an event's account itself."""
    intake = Intake({"a": [writes("t")]})

    assert intake.results(_passed_on(inner)) == [result]
    assert len(intake.incidents.open_incidents()) == (1 if result == "opened" else 0)


def test_what_definitions_say_counts_though_the_alarm_came_by_a_message() -> None:
    """CloudWatch gave them, and the account Unthrottle runs in may watch its members' metrics."""
    intake = Intake({"a": [{**writes("t"), "accountId": MEMBER}]})
    assert intake.results(_passed_on(event(name="a"))) == ["opened"]


def test_a_composite_is_resolved_by_its_childrens_definitions() -> None:
    """With the Observer's credentials of the account the alarm is in."""
    intake = Intake({"first": [throttles("f")], "second": [writes("t")]})
    rule = {"alarmRule": "ALARM(first) OR ALARM(second)"}

    assert intake.results(event(account=MEMBER, configuration=rule)) == ["opened", "opened"]
    assert intake.looked == [(MEMBER, REGION)]
    assert {one.subject for one in intake.incidents.open_incidents()} == {
        FunctionSubject(function="f"),
        TableSubject(table="t"),
    }


def test_a_members_composite_whose_children_watch_another_account_is_refused() -> None:
    """What its definitions say counts as little as what its event says."""
    intake = Intake({"first": [{**throttles("f"), "accountId": ACCOUNT}]})
    given_event = event(account=MEMBER, configuration={"alarmRule": "ALARM(first)"})

    assert intake.results(given_event) == ["not-its-own"]
    assert intake.incidents.open_incidents() == ()


def test_a_contributor_without_configuration_is_about_the_table_it_names() -> None:
    """The definition gives the query, the event gave the table."""
    query: dict[str, object] = {
        "expression": 'SELECT SUM(WriteThrottleEvents) FROM SCHEMA("AWS/DynamoDB", TableName) GROUP BY TableName'
    }
    intake = Intake({"a": [query]})
    given_event = event(alarmContributor={"id": "c1", "attributes": {"TableName": "t"}})
    given_event["detail-type"] = "CloudWatch Alarm Contributor State Change"

    assert intake.results(given_event) == ["opened"]
    assert intake.incidents.open_incidents()[0].subject == TableSubject(table="t")


def test_a_definition_that_says_nothing_or_may_not_be_read_opens_nothing() -> None:
    """An unknown alarm, an unrelated one, and missing permission are each a reason."""
    assert Intake().results(event()) == ["other-metric"]
    assert Intake({"a": [metric("AWS/EC2", "CPUUtilization")]}).results(event()) == ["other-metric"]
    refused = Intake(error=NotAllowed("may not DescribeAlarms", code="AccessDenied"))
    assert refused.results(event()) == ["unreadable-definition"]


def test_a_definition_that_cannot_be_read_now_is_asked_again() -> None:
    """Raising is the retry; the alarm must not be lost because CloudWatch was busy."""
    with pytest.raises(TryAgain):
        Intake(error=TryAgain("busy")).results(event())


def test_ids_are_the_same_for_the_same_change_and_differ_otherwise() -> None:
    """An incident's id is derived, so that a second delivery names the same workflow."""
    mark = fingerprint(ACCOUNT, REGION, TableSubject(table="t"))

    assert incident_id(mark, "k") == incident_id(mark, "k")
    assert len({incident_id(mark, "k"), incident_id(mark, "l"), incident_id("other", "k")}) == 3
    assert mark == fingerprint(ACCOUNT, REGION, TableSubject(table="t", index="i"))
    assert fingerprint(ACCOUNT, REGION, PoolSubject()) == fingerprint(ACCOUNT, REGION, FunctionSubject(function="f"))
    assert fingerprint(ACCOUNT, REGION, PoolSubject()) != fingerprint(MEMBER, REGION, PoolSubject())
