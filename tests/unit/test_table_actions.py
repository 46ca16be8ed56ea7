"""A table comes back with exactly the numbers it had, index by index; a change never lowers anything on the way up."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.fakes import NOW, FakeActor, FakeBackfills, observer, series
from tests.unit.made_tables import (
    ARN,
    NAME,
    PLAIN,
    SCALED,
    SWITCH,
    after_switch,
    capacity,
    evidence,
    raised,
    table,
    tables,
    unit,
)
from unthrottle import actions
from unthrottle.actions import cancel_backfill, switch_to_on_demand
from unthrottle.actions.outcome import GivenBack, LeftAlone, NotYet
from unthrottle.backfills import Backfill, BackfillsUnavailable, CancelAccepted, CancelAlreadyEnded, CancelUnknown
from unthrottle.errors import Drifted, Refused, TryAgain
from unthrottle.evidence.table import (
    Billing,
    IndexSettings,
    TableSettings,
)
from unthrottle.plan import CancelBackfill, SavedTable, SwitchToOnDemand


@given(before=tables, gone=st.sets(st.sampled_from(["a", "b", "c"])), new=st.sets(st.sampled_from(["x", "y"])))
def test_switching_then_giving_back_restores_the_table_and_every_index(
    before: TableSettings, gone: set[str], new: set[str]
) -> None:
    """Indexes created since get the table's numbers, those deleted since are left out, all others what they had."""
    actor = FakeActor(tables={NAME: before})
    change = switch_to_on_demand.change(evidence(before))
    switch_to_on_demand.compare(change, actor)
    made = actions.apply(change, observer(), actor, None)
    switched = actor.tables[NAME]
    kept = [index for index in switched.indexes if index.name not in gone]
    created = [IndexSettings(name=name, status="ACTIVE", capacity=capacity(0, 0)) for name in sorted(new)]
    actor.tables[NAME] = replace(switched, indexes=(*kept, *created))

    result = actions.give_back(made, actor)

    assert isinstance(result, GivenBack)
    back = actor.tables[NAME]
    old = {index.name: index.capacity for index in before.indexes}
    assert (back.billing, back.capacity) == (Billing.PROVISIONED, before.capacity)
    assert {index.name: index.capacity for index in back.indexes} == {
        index.name: old.get(index.name, before.capacity) for index in back.indexes
    }


def test_giving_back_sets_the_scaling_bounds_as_they_were() -> None:
    """Without them autoscaling would pull the numbers elsewhere, and those of an index that is gone are left out."""
    actor = after_switch()
    switch_to_on_demand.give_back(SWITCH, actor)
    assert actor.scaling == {NAME: SCALED}

    actor = after_switch()
    actor.tables[NAME] = replace(actor.tables[NAME], indexes=())
    switch_to_on_demand.give_back(SWITCH, actor)
    assert actor.scaling == {NAME: SCALED[:1]}


def test_a_table_someone_switched_back_is_left_alone() -> None:
    """Their numbers and their bounds are theirs."""
    actor = after_switch()
    actor.tables[NAME] = table(capacity(99, 99))
    actor.made.clear()

    result = switch_to_on_demand.give_back(SWITCH, actor)

    assert isinstance(result, LeftAlone)
    assert "99 read and 99 write units: someone switched it back" in result.found
    assert actor.made == []


def test_a_table_that_is_changing_is_given_back_later() -> None:
    """AWS refuses a second change while the first is under way."""
    actor = after_switch()
    actor.tables[NAME] = replace(actor.tables[NAME], status="UPDATING")
    actor.made.clear()

    assert switch_to_on_demand.give_back(SWITCH, actor) == NotYet(because=f"table {NAME} is UPDATING")
    assert actor.made == []


@pytest.mark.parametrize(
    ("found", "guardrail"),
    [
        pytest.param(replace(PLAIN, billing=Billing.ON_DEMAND), "changed-since", id="on-demand already"),
        pytest.param(replace(PLAIN, capacity=capacity(5, 11)), "changed-since", id="the table was raised"),
        pytest.param(table(capacity(5, 10), {"by-status": capacity(5, 8)}), "changed-since", id="an index was raised"),
        pytest.param(replace(PLAIN, status="UPDATING"), "change-in-progress", id="a change is under way"),
    ],
)
def test_a_table_that_changed_since_the_diagnosis_is_not_touched(found: TableSettings, guardrail: str) -> None:
    """Whoever changed it is working on it; the text shows what differs."""
    actor = FakeActor(tables={NAME: found})
    for change in (SWITCH, replace(raised(PLAIN), before=SWITCH.before)):
        with pytest.raises(Drifted, match=r"Nothing was changed\.") as told:
            actions.compare(change, actor, None)
        assert told.value.code == guardrail
        assert "10 write units, index by-status 5/7, ACTIVE, as read" in str(told.value)
    assert actor.made == []


def test_a_resumed_switch_goes_on_with_its_own_change() -> None:
    """The process died after asking: AWS says in use, and the table shows on-demand."""
    actor = after_switch()
    actor.said["switch_to_on_demand"] = [Refused("in use", code="ResourceInUseException")]

    assert switch_to_on_demand.apply(SWITCH, actor) == SWITCH


@pytest.mark.parametrize("code", ["LimitExceededException", "ResourceInUseException", "ValidationException"])
def test_a_refused_switch_is_told(code: str) -> None:
    """A spent switch budget, or someone else's change, is not ours to get around."""
    actor = FakeActor(tables={NAME: PLAIN}, said={"switch_to_on_demand": [Refused("no", code=code)]})

    with pytest.raises(Refused) as told:
        switch_to_on_demand.apply(SWITCH, actor)
    assert told.value.code == code


def test_the_cost_is_that_of_the_highest_minute_and_unknown_without_data() -> None:
    """A gap is not free; refused requests would be paid for on-demand."""
    busy = unit(writes=series(60_000.0, None, 100_000.0), refused=series(None, 900_000.0, 20_000.0))

    assert switch_to_on_demand.hourly_cost(evidence(PLAIN, busy)) == round(900_000 * 60 / 1e6 * 0.625, 2)
    assert switch_to_on_demand.hourly_cost(evidence(PLAIN)) is None
    assert switch_to_on_demand.hourly_cost(evidence(PLAIN, unit(writes=series(0.0, 0.0)))) == 0.0


def test_the_commands_restore_every_index_in_one_call() -> None:
    """AWS wants a number for every index in the same call and has no default."""
    there, back = switch_to_on_demand.commands(SWITCH)

    assert there.endswith(f"--table-name {NAME} --billing-mode PAY_PER_REQUEST")
    assert "ReadCapacityUnits=5,WriteCapacityUnits=10" in back
    assert "Update={IndexName=by-status,ProvisionedThroughput={ReadCapacityUnits=5,WriteCapacityUnits=7}}" in back


# --- backfills -------------------------------------------------------------------------------------------------------

BACKFILL = Backfill(
    id="bf-1",
    state="running",
    flow="nightly",
    environment="develop",
    requested_by="anna",
    started_at=NOW,
    runs_total=5000,
    runs_dispatched=1200,
    dispatch_rate_per_minute=60.0,
)
CANCEL = cancel_backfill.change(BACKFILL, evidence(PLAIN))


def test_a_cancelled_backfill_says_how_to_resume() -> None:
    """There is no way back, so the record says what is left and who can start it again."""
    assert "anna can start backfill bf-1 of nightly again" in CANCEL.resume
    assert "3,800 of 5,000 runs" in CANCEL.resume
    more = replace(BACKFILL, runs_dispatched=6000)
    assert cancel_backfill.commands(CANCEL) == ("POST /backfills/bf-1/cancel (dagy)", "")
    assert "the 0 of 5,000 runs" in cancel_backfill.change(more, evidence(PLAIN)).resume
    assert actions.give_back(CANCEL, FakeActor()) == LeftAlone(found=CANCEL.resume)


def test_a_backfill_that_dagy_stops_for_us_is_cancelled() -> None:
    """Asked once, after it was seen running."""
    dagy = FakeBackfills(BACKFILL, answer=CancelAccepted(backfill_id="bf-1"))

    actions.compare(CANCEL, FakeActor(), dagy)
    assert actions.apply(CANCEL, observer(), FakeActor(), dagy) == CANCEL
    assert dagy.cancelled == ["bf-1"]


def test_a_backfill_that_ended_without_us_is_not_claimed() -> None:
    """It was running a moment ago and this is the first request: somebody else stopped it, or it was through."""
    dagy = FakeBackfills(BACKFILL, answer=CancelAlreadyEnded(backfill_id="bf-1", was_running=True))
    with pytest.raises(Drifted, match=r"has ended \(409\).*Unthrottle changed nothing") as refused:
        actions.apply(CANCEL, observer(), FakeActor(), dagy)
    assert refused.value.code == "changed-since"


def test_where_an_earlier_request_may_have_stopped_it_the_record_says_that_it_is_not_known() -> None:
    """A process that died after the request leaves nobody who knows; nothing is given back either way."""
    dagy = FakeBackfills(BACKFILL, answer=CancelAlreadyEnded(backfill_id="bf-1"))
    made = actions.apply(CANCEL, observer(), FakeActor(), dagy)
    assert isinstance(made, CancelBackfill)
    assert made == replace(CANCEL, resume=f"{cancel_backfill.HAD_ENDED}; {CANCEL.resume}")
    assert actions.give_back(made, FakeActor()) == LeftAlone(found=made.resume)


def test_a_backfill_that_is_gone_or_unknown_is_not_cancelled() -> None:
    """Another environment's backfill of the same id is not the one."""
    with pytest.raises(Drifted, match=r"Nothing was changed\."):
        actions.compare(CANCEL, FakeActor(), FakeBackfills(replace(BACKFILL, environment="production")))
    with pytest.raises(Refused, match=r"dagy does not know it\. Nothing was changed\."):
        actions.apply(CANCEL, observer(), FakeActor(), FakeBackfills(answer=CancelUnknown(backfill_id="bf-1")))


def test_a_second_request_to_dagy_is_not_stopped_by_a_backfill_that_is_listed_no_more() -> None:
    """It may have ended by our first one; what is known of it, dagy says when asked again."""
    actions.compare_again(CANCEL, FakeActor())


def test_dagy_that_does_not_answer_is_asked_again_and_dagy_that_is_not_there_is_a_no() -> None:
    """Silence may pass; a missing configuration does not."""
    with pytest.raises(TryAgain):
        actions.apply(CANCEL, observer(), FakeActor(), FakeBackfills(answer=BackfillsUnavailable("timed out")))
    with pytest.raises(Refused, match="Set DagyApiUrl"):
        actions.compare(CANCEL, FakeActor(), None)


def test_every_permission_is_declared_once_for_the_actor() -> None:
    """The Actor role is exactly this union; nothing in it only looks wider than it must."""
    declared = {one for module in actions.MODULES for one in module.PERMISSIONS}
    assert declared == actions.PERMISSIONS
    assert all(":" in one and "*" not in one for one in actions.PERMISSIONS)


def test_the_saved_state_is_a_copy_of_all_there_is() -> None:
    """What is saved before acting is the table, every index and the bounds."""
    expected = SwitchToOnDemand(
        table=NAME,
        arn=ARN,
        before=SavedTable(capacity=capacity(5, 10), indexes={"by-status": capacity(5, 7)}, scaling=SCALED),
    )
    assert expected == SWITCH
