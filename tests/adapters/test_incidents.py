"""What a memory of incidents promises, whichever it is: the table (on moto) and its twin in memory."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import boto3
import pytest

from sandbox.memory_incidents import MemoryIncidents
from unthrottle.adapters.access import Access
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.errors import BadInput, Busy, Conflict, OverBudget
from unthrottle.evidence.table import Capacity
from unthrottle.incident import Incident, Settling, Status, Wish
from unthrottle.plan import Action, CapConcurrency, Change, Plan, SavedTable, SwitchToOnDemand
from unthrottle.ports import Clock, Duplicate, Incidents, Joined, Opened
from unthrottle.subjects import PoolSubject, TableSubject, fingerprint, incident_id

NOW = datetime(2026, 6, 1, 10, 0, tzinfo=UTC)
ACCOUNT, REGION = "111122223333", "eu-west-1"
TABLE_ARN = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/dagy-runs-develop"


@pytest.fixture(params=["table", "memory"])
def incidents(request: pytest.FixtureRequest) -> Incidents:
    if request.param == "memory":
        return MemoryIncidents()
    table_name: str = request.getfixturevalue("table_name")
    access: Access = request.getfixturevalue("access")
    clock: Clock = request.getfixturevalue("clock")
    return IncidentsTable(access, table_name, clock=clock)


def fresh(key: str, *, table: str | None = "dagy-runs-develop", opened_at: datetime = NOW) -> Incident:
    subject = PoolSubject() if table is None else TableSubject(table=table)
    mark = fingerprint(ACCOUNT, REGION, subject)
    return Incident(
        id=incident_id(mark, key),
        fingerprint=mark,
        account=ACCOUNT,
        region=REGION,
        kind="lambda" if table is None else "dynamodb",
        subject=subject,
        opened_at=opened_at,
        alarm_name="dagy <alarm> – ä",
    )


def planned(incident: Incident, *changes: Change) -> Incident:
    return replace(incident, plan=Plan(action=Action.SWITCH_TO_ON_DEMAND, why="short", changes=changes))


SWITCH = SwitchToOnDemand(
    table="dagy-runs-develop", arn=TABLE_ARN, before=SavedTable(capacity=Capacity(read=5, write=10))
)


def cap(name: str) -> CapConcurrency:
    arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
    return CapConcurrency(function=name, arn=arn, before=None, after=250, peak=700)


def opened(incidents: Incidents, key: str = "a", **kwargs: str | None) -> Incident:
    incident = fresh(key, **kwargs)  # type: ignore[arg-type]  # only the table's name is passed on here
    assert incidents.open_or_join(incident, key) == Opened(incident=incident)
    return incident


def test_an_incident_is_read_back_as_it_was_opened(incidents: Incidents) -> None:
    incident = opened(incidents)

    assert incidents.load(incident.id) == incident


def test_an_unknown_incident_is_none(incidents: Incidents) -> None:
    assert incidents.load("INC-AAAAAAAA") is None


def test_the_same_state_change_again_is_a_duplicate_of_the_incident_it_opened(incidents: Incidents) -> None:
    incident = opened(incidents, "a")

    assert incidents.open_or_join(fresh("a"), "a") == Duplicate(incident_id=incident.id)
    assert incidents.load(incident.id) == incident


def test_another_alarm_about_the_same_thing_joins_the_open_incident_and_is_counted(incidents: Incidents) -> None:
    incident = opened(incidents, "a")

    assert incidents.open_or_join(fresh("b"), "b") == Joined(incident_id=incident.id)
    assert incidents.open_or_join(fresh("c"), "c") == Joined(incident_id=incident.id)
    assert incidents.load(incident.id) == replace(incident, triggers=3)


def test_a_state_change_that_joined_is_a_duplicate_the_next_time(incidents: Incidents) -> None:
    incident = opened(incidents, "a")
    incidents.open_or_join(fresh("b"), "b")

    assert incidents.open_or_join(fresh("b"), "b") == Duplicate(incident_id=incident.id)
    loaded = incidents.load(incident.id)
    assert loaded is not None
    assert loaded.triggers == 2


def test_another_table_is_another_incident(incidents: Incidents) -> None:
    opened(incidents, "a")

    other = fresh("b", table="dagy-flows-develop")
    assert incidents.open_or_join(other, "b") == Opened(incident=other)


def test_saving_raises_the_version_and_keeps_the_triggers_counted_meanwhile(incidents: Incidents) -> None:
    incident = opened(incidents)
    incidents.open_or_join(fresh("b"), "b")

    saved = incidents.save(incident.told(NOW, "evidence.gathered"))

    assert saved.version == 1
    assert incidents.load(incident.id) == replace(saved, triggers=2)


def test_a_record_written_by_someone_else_is_a_conflict_and_stays(incidents: Incidents) -> None:
    incident = opened(incidents)
    first = incidents.save(incident.told(NOW, "first"))

    with pytest.raises(Conflict):
        incidents.save(incident.told(NOW, "second"))
    assert incidents.load(incident.id) == first


def test_saving_the_same_record_again_is_fine_since_a_resumed_run_does_that(incidents: Incidents) -> None:
    incident = opened(incidents).told(NOW, "evidence.gathered")

    assert incidents.save(incident) == incidents.save(incident)


def test_saving_what_was_never_opened_is_a_conflict(incidents: Incidents) -> None:
    with pytest.raises(Conflict):
        incidents.save(fresh("a"))


def test_an_intent_holds_the_resource_and_spends_the_budget(incidents: Incidents) -> None:
    incident = incidents.record_intent(planned(opened(incidents), SWITCH), NOW)

    ledger = incidents.ledger(ACCOUNT, REGION, [TABLE_ARN, "arn:other"], NOW + timedelta(minutes=5))

    assert incidents.load(incident.id) == incident
    assert ledger.acted == (NOW,)
    assert ledger.held_by == {TABLE_ARN: incident.id}
    assert ledger.last_on == {TABLE_ARN: NOW}
    assert ledger.switches == {TABLE_ARN: (NOW,)}


def test_a_capped_function_is_no_switch(incidents: Incidents) -> None:
    incident = incidents.record_intent(planned(opened(incidents, table=None), cap("hog"), cap("hog2")), NOW)

    ledger = incidents.ledger(ACCOUNT, REGION, incident.resources, NOW)

    assert ledger.switches == {}
    assert ledger.acted == (NOW,)
    assert ledger.held_by == dict.fromkeys(incident.resources, incident.id)


def test_recording_the_same_intent_again_spends_once(incidents: Incidents) -> None:
    incident = planned(opened(incidents), SWITCH)

    first = incidents.record_intent(incident, NOW)
    again = incidents.record_intent(incident, NOW + timedelta(minutes=1))

    ledger = incidents.ledger(ACCOUNT, REGION, [TABLE_ARN], NOW + timedelta(minutes=2))
    assert first == again
    assert ledger.acted == (NOW,)
    assert ledger.switches == {TABLE_ARN: (NOW,)}


def test_a_second_intent_of_the_same_incident_keeps_what_it_holds(incidents: Incidents) -> None:
    first = incidents.record_intent(planned(opened(incidents), SWITCH), NOW)

    second = incidents.record_intent(first.told(NOW, "refused"), NOW + timedelta(minutes=3))

    ledger = incidents.ledger(ACCOUNT, REGION, [TABLE_ARN], NOW + timedelta(minutes=3))
    assert second.version == 2
    assert ledger.acted == (NOW + timedelta(minutes=3),)
    assert ledger.last_on == {TABLE_ARN: NOW + timedelta(minutes=3)}
    assert ledger.switches == {TABLE_ARN: (NOW,)}


def test_a_resource_another_incident_holds_is_busy_and_nothing_is_written(incidents: Incidents) -> None:
    holder = incidents.record_intent(planned(opened(incidents, table=None), SWITCH), NOW)
    other = opened(incidents, "b")

    with pytest.raises(Busy) as busy:
        incidents.record_intent(planned(other, SWITCH), NOW)

    assert (busy.value.resource, busy.value.holder) == (TABLE_ARN, holder.id)
    assert incidents.load(other.id) == other
    assert incidents.ledger(ACCOUNT, REGION, [], NOW).acted == (NOW,)


def test_an_intent_on_a_stale_record_is_a_conflict_and_takes_nothing(incidents: Incidents) -> None:
    incident = opened(incidents)
    incidents.save(incident.told(NOW, "first"))

    with pytest.raises(Conflict):
        incidents.record_intent(planned(incident, SWITCH), NOW)
    assert incidents.ledger(ACCOUNT, REGION, [TABLE_ARN], NOW).held_by == {}


def test_closing_frees_the_fingerprint_and_every_resource_ever_taken(incidents: Incidents) -> None:
    incident = incidents.record_intent(planned(opened(incidents, table=None), cap("one"), cap("two")), NOW)
    changed = incidents.save(planned(incident, cap("one")).now(Status.APPLIED).now(Status.REVERTED))

    closed = incidents.close(replace(changed, closed_at=NOW + timedelta(hours=1)))

    later = NOW + timedelta(hours=1)
    assert incidents.load(closed.id) == closed
    assert incidents.open_incidents() == ()
    ledger = incidents.ledger(ACCOUNT, REGION, incident.resources, later)
    assert ledger.held_by == {}
    assert ledger.last_on == dict.fromkeys(incident.resources, NOW)
    reopened = fresh("z", table=None)
    assert incidents.open_or_join(reopened, "z") == Opened(incident=reopened)
    assert incidents.record_intent(planned(reopened, cap("one")), later).version == 1


def test_closing_again_is_fine_and_leaves_the_next_incident_alone(incidents: Incidents) -> None:
    incident = replace(opened(incidents), closed_at=NOW)
    closed = incidents.close(incident)
    following = opened(incidents, "b")

    assert incidents.close(incident) == closed
    assert incidents.open_incidents() == (following,)


def test_a_state_change_of_a_closed_incident_is_still_a_duplicate(incidents: Incidents) -> None:
    incident = incidents.close(replace(opened(incidents, "a"), closed_at=NOW))

    assert incidents.open_or_join(fresh("a"), "a") == Duplicate(incident_id=incident.id)


def test_closing_without_a_closing_time_is_a_programming_error(incidents: Incidents) -> None:
    with pytest.raises(ValueError, match="no closing time"):
        incidents.close(opened(incidents))


def test_the_budget_forgets_after_an_hour_and_switches_after_a_day(incidents: Incidents) -> None:
    incidents.record_intent(planned(opened(incidents), SWITCH), NOW)

    after_an_hour = incidents.ledger(ACCOUNT, REGION, [TABLE_ARN], NOW + timedelta(minutes=60))
    after_a_day = incidents.ledger(ACCOUNT, REGION, [TABLE_ARN], NOW + timedelta(hours=24))

    assert after_an_hour.acted == ()
    assert after_an_hour.switches == {TABLE_ARN: (NOW,)}
    assert after_a_day.switches == {}
    assert after_a_day.last_on == {TABLE_ARN: NOW}


def test_the_budget_of_another_account_is_its_own(incidents: Incidents) -> None:
    incidents.record_intent(planned(opened(incidents), SWITCH), NOW)

    assert incidents.ledger("444455556666", REGION, [], NOW).acted == ()
    assert incidents.ledger(ACCOUNT, "us-east-1", [], NOW).acted == ()


def test_a_pause_holds_until_its_time_or_until_it_is_ended(incidents: Incidents) -> None:
    until = NOW + timedelta(hours=2)
    incidents.set_pause(until, "U0OPS")

    def paused(at: datetime) -> datetime | None:
        return incidents.ledger(ACCOUNT, REGION, [], at).paused_until

    assert paused(NOW) == until
    assert paused(until) is None
    incidents.set_pause(None, "U0OPS")
    assert paused(NOW) is None


def test_open_incidents_come_oldest_first_and_recent_ones_newest_first(incidents: Incidents) -> None:
    months = [NOW - timedelta(days=40), NOW - timedelta(days=3), NOW - timedelta(minutes=1)]
    made = [fresh(str(at), table=f"t{number}", opened_at=at) for number, at in enumerate(months)]
    for incident in reversed(made):
        incidents.open_or_join(incident, incident.id)

    assert incidents.open_incidents() == tuple(made)
    assert incidents.recent(10) == tuple(reversed(made))
    assert incidents.recent(1) == (made[2],)
    assert incidents.recent(2) == (made[2], made[1])


# --- two at once: what is decided by whoever comes first ---------------------------------------------------------------

WISH = Wish(do="keep", by="U0OPS", at=NOW)


def test_no_wish_is_taken_once_the_end_has_begun_and_again_after_it_was_put_off(incidents: Incidents) -> None:
    """Nobody is told "taken" who is not heard: until the next write of the record."""
    settling = incidents.save(replace(opened(incidents), settling=Settling(by="workflow", at=NOW)))
    assert not incidents.wish(settling.id, WISH)

    incidents.save(replace(settling, settling=None))
    assert incidents.wish(settling.id, WISH)
    found = incidents.load(settling.id)
    assert found is not None
    assert found.wish == WISH


def test_a_wish_that_came_first_is_there_when_the_end_begins(incidents: Incidents) -> None:
    """Whoever ends the change reads it then."""
    incident = opened(incidents)
    assert incidents.wish(incident.id, WISH)
    incidents.save(replace(incident, settling=Settling(by="workflow", at=NOW)))

    found = incidents.load(incident.id)
    assert found is not None
    assert (found.wish, found.settling) == (WISH, Settling(by="workflow", at=NOW))


def test_the_newest_wish_counts_and_tells_what_it_puts_aside(incidents: Incidents) -> None:
    """Whoever was told "taken" before is named in the story; saying the same again puts nothing aside."""
    incident = opened(incidents)
    assert incidents.wish(incident.id, Wish(do="revert", by="U0ANN", at=NOW))
    assert incidents.wish(incident.id, WISH)

    found = incidents.load(incident.id)
    assert found is not None
    assert found.wish == replace(WISH, instead_of="U0ANN had said revert just before")
    assert incidents.wish(incident.id, WISH)
    again = incidents.load(incident.id)
    assert again is not None
    assert again.wish is not None
    assert again.wish.by == "U0OPS"


def test_the_last_action_of_the_budget_is_spent_once(incidents: Incidents) -> None:
    """Both were judged while it was there; who comes second is told so, and holds nothing."""
    first, second = opened(incidents, "a"), opened(incidents, "b", table="other")
    incidents.record_intent(planned(first, SWITCH), NOW, budget=1)

    with pytest.raises(OverBudget, match="budget of 1"):
        incidents.record_intent(planned(second, cap("hog")), NOW + timedelta(minutes=1), budget=1)
    assert incidents.load(second.id) == second
    ledger = incidents.ledger(ACCOUNT, REGION, [cap("hog").arn], NOW)
    assert (ledger.acted, ledger.held_by) == ((NOW,), {})


def test_a_budget_that_is_spent_is_no_bar_to_who_has_spent_it(incidents: Incidents) -> None:
    """A resumed run records the same intent again."""
    incident = planned(opened(incidents), SWITCH)
    first = incidents.record_intent(incident, NOW, budget=1)

    assert incidents.record_intent(incident, NOW, budget=1) == first


def test_an_hour_later_the_budget_is_new(incidents: Incidents) -> None:
    """The window rolls; at exactly an hour the earlier action does not count any more."""
    incidents.record_intent(planned(opened(incidents, "a"), SWITCH), NOW, budget=1)
    later = planned(opened(incidents, "b", table="other"), cap("hog"))

    assert incidents.record_intent(later, NOW + timedelta(hours=1), budget=1).version == 1


# --- the table alone --------------------------------------------------------------------------------------------------


@pytest.fixture
def table(access: Access, table_name: str, clock: Clock) -> IncidentsTable:
    return IncidentsTable(access, table_name, clock=clock, retention_days=30)


def stored(table_name: str) -> list[dict[str, object]]:
    answer = boto3.client("dynamodb", REGION).scan(TableName=table_name)
    return [dict(item) for item in answer["Items"]]


def edit(incident: Incident, document: Callable[[str], str]) -> None:
    client = boto3.client("dynamodb", REGION)
    key = {"pk": {"S": f"INCIDENT#{incident.id}"}, "sk": {"S": "INCIDENT"}}
    text = client.get_item(TableName="incidents", Key=key)["Item"]["document"]["S"]
    client.update_item(
        TableName="incidents",
        Key=key,
        UpdateExpression="SET document = :d",
        ExpressionAttributeValues={":d": {"S": document(text)}},
    )


def test_a_record_of_a_newer_version_is_read_without_what_we_do_not_know(table: IncidentsTable) -> None:
    incident = opened(table)
    edit(incident, lambda text: text.replace('{"id"', '{"mood":"calm","id"', 1))

    assert table.load(incident.id) == incident


def test_a_record_nobody_can_read_says_so_and_does_not_hide_the_others(table: IncidentsTable) -> None:
    broken, whole = opened(table), opened(table, "b", table="other")
    edit(broken, lambda _: "{")

    assert table.open_incidents() == (whole,)
    assert table.recent(5) == (whole,)
    with pytest.raises(BadInput, match=broken.id):
        table.load(broken.id)


def test_what_is_in_use_never_expires_and_what_is_over_does(table: IncidentsTable, table_name: str) -> None:
    incident = table.record_intent(planned(opened(table), SWITCH), NOW)
    in_use = {"INCIDENT#", "RESOURCE#", "OPEN"}
    held = [item for item in stored(table_name) if any(str(item["pk"]).find(mark) >= 0 for mark in in_use)]
    assert len(held) == 3
    assert all("expires_at" not in item for item in held)

    table.close(replace(incident, closed_at=NOW))

    expected = {"N": str(int((NOW + timedelta(days=30)).timestamp()))}
    over = [item for item in stored(table_name) if "BUDGET" not in str(item["pk"])]
    assert len(over) == 4
    assert all(item["expires_at"] == expected for item in over)


def test_opening_an_incident_loads_no_validator() -> None:
    program = (
        "import sys, unthrottle.adapters.incidents_table, unthrottle.adapters.starter, unthrottle.adapters.accounts; "
        "sys.exit('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
