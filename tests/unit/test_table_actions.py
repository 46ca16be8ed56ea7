"""A table comes back with exactly the numbers it had, index by index; a change never lowers anything on the way up."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.fakes import NOW, FakeActor, FakeBackfills, observer, series
from unthrottle import actions
from unthrottle.actions import cancel_backfill, raise_capacity, switch_to_on_demand
from unthrottle.actions.outcome import GivenBack, LeftAlone, NotYet
from unthrottle.backfills import Backfill, BackfillsUnavailable, CancelAccepted, CancelAlreadyEnded, CancelUnknown
from unthrottle.errors import Drifted, Refused, TryAgain
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import (
    Billing,
    Capacity,
    IndexSettings,
    ScalingTarget,
    TableEvidence,
    TableSettings,
    Throttle,
    UnitMetrics,
    Way,
)
from unthrottle.plan import CancelBackfill, RaiseCapacity, SavedTable, SwitchToOnDemand

NAME = "dagy-runs-develop"
ARN = f"arn:aws:dynamodb:eu-west-1:111122223333:table/{NAME}"


def capacity(read: int, write: int) -> Capacity:
    return Capacity(read=read, write=write)


def table(own: Capacity, indexes: dict[str, Capacity] | None = None) -> TableSettings:
    return TableSettings(
        name=NAME,
        arn=ARN,
        status="ACTIVE",
        billing=Billing.PROVISIONED,
        capacity=own,
        indexes=tuple(
            IndexSettings(name=name, status="ACTIVE", capacity=value) for name, value in (indexes or {}).items()
        ),
    )


def unit(
    index: str | None = None, writes: Series | None = None, refused: Series | None = None, short: float = 0.0
) -> UnitMetrics:
    """Metrics of one unit; `short` are write throttles for want of provisioned capacity."""
    nothing = series(None, None)
    causes = dict.fromkeys(Throttle, nothing)
    return UnitMetrics(
        index=index,
        consumed={Way.READ: nothing, Way.WRITE: writes or nothing},
        provisioned=dict.fromkeys(Way, nothing),
        throttle_events={Way.READ: nothing, Way.WRITE: refused or nothing},
        throttles={Way.READ: causes, Way.WRITE: {**causes, Throttle.PROVISIONED: series(None, short or None)}},
    )


def evidence(settings: TableSettings, *units: UnitMetrics, scaling: tuple[ScalingTarget, ...] = ()) -> TableEvidence:
    return TableEvidence(start=NOW, end=NOW, settings=settings, units=units or (unit(),), scaling=scaling)


SCALED = (
    ScalingTarget(way=Way.WRITE, index=None, minimum=5, maximum=50),
    ScalingTarget(way=Way.WRITE, index="by-status", minimum=5, maximum=50),
)
PLAIN = table(capacity(5, 10), {"by-status": capacity(5, 7)})
SWITCH = switch_to_on_demand.change(evidence(PLAIN, scaling=SCALED))


def after_switch() -> FakeActor:
    actor = FakeActor(tables={NAME: PLAIN})
    actions.apply(SWITCH, observer(), actor, None)
    return actor


numbers = st.builds(capacity, st.integers(1, 40_000), st.integers(1, 40_000))
tables = st.builds(
    table,
    numbers,
    st.dictionaries(st.sampled_from(["a", "b", "c"]), numbers),
)


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


# --- raising ---------------------------------------------------------------------------------------------------------


def raised(settings: TableSettings, *units: UnitMetrics, scaling: tuple[ScalingTarget, ...] = ()) -> RaiseCapacity:
    return raise_capacity.change(evidence(settings, *units, scaling=scaling))


@pytest.mark.parametrize(
    ("now", "per_minute", "short", "expected"),
    [
        pytest.param(10, 600.0, 1.0, 13, id="what was wanted and a third"),
        pytest.param(10, 60.0, 1.0, 11, id="short spikes: at least one more"),
        pytest.param(10, 1848.0, 1.0, 40, id="just four times"),
        pytest.param(10, 60_000.0, 1.0, 40, id="never more than four times"),
        pytest.param(30_000, 2_400_000.0, 1.0, 40_000, id="never above the quota"),
        pytest.param(40_000, 2_400_000.0, 1.0, 40_000, id="at the quota it stays"),
        pytest.param(50_000, 2_400_000.0, 1.0, 50_000, id="above the usual quota nothing is lowered"),
    ],
)
def test_capacity_is_raised_within_bounds(now: int, per_minute: float, short: float, expected: int) -> None:
    """Below, at and above each bound."""
    one = unit(writes=series(None, per_minute), short=short)

    assert raise_capacity.wanted_units(one, Way.WRITE, now) == expected


@given(
    now=st.integers(1, 60_000),
    used=st.none() | st.floats(0, 1e8),
    refused=st.none() | st.floats(0, 1e8),
    short=st.floats(0, 1e6),
)
def test_no_raise_lowers_anything_or_leaves_its_bounds(
    now: int, used: float | None, refused: float | None, short: float
) -> None:
    """Never below what is there, never above four times, never above the quota unless it was."""
    one = unit(writes=series(None, used), refused=series(None, refused), short=short)
    wanted = raise_capacity.wanted_units(one, Way.WRITE, now)

    assert now <= wanted <= max(now, min(now * 4, 40_000))


def test_only_what_is_short_is_raised_with_its_bounds() -> None:
    """An index that is short gets more; the table beside it and its bounds stay."""
    short_index = unit("by-status", writes=series(600.0), refused=series(60.0), short=60.0)
    change = raised(PLAIN, unit(writes=series(60.0)), short_index, scaling=SCALED)

    assert change.after.capacity == PLAIN.capacity
    assert change.after.indexes == {"by-status": capacity(5, 15)}
    assert change.after.scaling == (SCALED[0], replace(SCALED[1], minimum=15))
    assert not raise_capacity.raises_nothing(change)
    assert raise_capacity.raises_nothing(raised(PLAIN))


@pytest.mark.parametrize(
    ("minutes_ago", "raised_to"),
    [
        pytest.param(1, 13, id="now"),
        pytest.param(10, 13, id="at the beginning of the minutes that the diagnosis explains"),
        pytest.param(11, 10, id="before them"),
        pytest.param(150, 10, id="two and a half hours ago, and mended since"),
    ],
)
def test_what_was_short_before_the_minutes_of_the_diagnosis_is_not_raised(minutes_ago: int, raised_to: int) -> None:
    """It would stay raised for the whole lease beside the unit that is short now."""
    events = series(*(1.0 if back == minutes_ago else None for back in range(180, 0, -1)))
    one = unit(writes=series(*(600.0,) * 180))
    one = replace(
        one, throttles={**one.throttles, Way.WRITE: {**one.throttles[Way.WRITE], Throttle.PROVISIONED: events}}
    )

    assert raised(PLAIN, one).after.capacity == capacity(5, raised_to)
    assert raised(PLAIN).after.capacity == PLAIN.capacity


NUMBERS = f"aws dynamodb update-table --table-name {NAME} "
BOUNDS = "aws application-autoscaling register-scalable-target --service-namespace dynamodb --resource-id "
OWN = f"{BOUNDS}table/{NAME} --scalable-dimension dynamodb:table:WriteCapacityUnits "
ITS_INDEX = f"{BOUNDS}table/{NAME}/index/by-status --scalable-dimension dynamodb:index:WriteCapacityUnits "


def of_index(write: int) -> str:
    numbers = f"{{ReadCapacityUnits=5,WriteCapacityUnits={write}}}"
    return f"--global-secondary-index-updates 'Update={{IndexName=by-status,ProvisionedThroughput={numbers}}}'"


@pytest.mark.parametrize(
    ("units", "scaling", "there", "back"),
    [
        pytest.param(
            [unit(writes=series(600.0), short=1.0)],
            (),
            [f"{NUMBERS}--provisioned-throughput ReadCapacityUnits=5,WriteCapacityUnits=13"],
            [f"{NUMBERS}--provisioned-throughput ReadCapacityUnits=5,WriteCapacityUnits=10"],
            id="only the table: an index's number that stays would be refused",
        ),
        pytest.param(
            [unit(), unit("by-status", writes=series(600.0), short=1.0)],
            SCALED,
            [NUMBERS + of_index(13), f"{ITS_INDEX}--min-capacity 13 --max-capacity 50"],
            [f"{ITS_INDEX}--min-capacity 5 --max-capacity 50", NUMBERS + of_index(7)],
            id="only the index, with its bounds: those of the table stay",
        ),
        pytest.param(
            [unit(writes=series(600.0), short=1.0), unit("by-status", writes=series(600.0), short=1.0)],
            (replace(SCALED[0], maximum=10),),
            [
                f"{OWN}--min-capacity 5 --max-capacity 13",
                f"{NUMBERS}--provisioned-throughput ReadCapacityUnits=5,WriteCapacityUnits=13 {of_index(13)}",
                f"{OWN}--min-capacity 13 --max-capacity 13",
            ],
            [
                f"{OWN}--min-capacity 5 --max-capacity 10",
                f"{NUMBERS}--provisioned-throughput ReadCapacityUnits=5,WriteCapacityUnits=10 {of_index(7)}",
            ],
            id="both in one call, between the bounds",
        ),
    ],
)
def test_the_shown_commands_of_a_raise_name_what_changes_and_the_bounds_that_would_undo_it(
    units: list[UnitMetrics], scaling: tuple[ScalingTarget, ...], there: list[str], back: list[str]
) -> None:
    """A person who pastes them does what the bot would have done, and DynamoDB takes them."""
    shown = raise_capacity.commands(raised(PLAIN, *units, scaling=scaling))
    assert shown == (" && ".join(there), " && ".join(back))


def test_a_raise_that_a_quota_refuses_names_the_quotas() -> None:
    """It spends no decrease and no switch; whoever is paged needs the codes."""
    refusal = Refused("over the account's quota.", code="LimitExceededException")
    actor = FakeActor(tables={NAME: PLAIN}, said={"set_provisioned": [refusal]})
    with pytest.raises(
        Refused, match=r"^over the account's quota\. Request a higher quota: .*L-34F8CCC8 \(account write\)"
    ) as told:
        actions.apply(raised(PLAIN, SHORT, unit("by-status")), observer(), actor, None)
    assert told.value.code == "LimitExceededException"


@given(before=tables, extra=st.integers(0, 500), scaled=st.booleans())
def test_raising_then_giving_back_restores_the_table_and_every_index(
    before: TableSettings, extra: int, scaled: bool
) -> None:
    """Numbers and bounds are what they were, for the table and each index."""
    names: list[str | None] = [None, *(index.name for index in before.indexes)]
    scaling = tuple(ScalingTarget(way=Way.WRITE, index=name, minimum=1, maximum=9) for name in names if scaled)
    units = [unit(name, writes=series(600.0 + extra), short=1.0) for name in names]
    change = raised(before, *units, scaling=scaling)
    actor = FakeActor(tables={NAME: before}, scaling={NAME: scaling})

    raise_capacity.compare(change, actor)
    made = actions.apply(change, observer(), actor, None)
    assert all(target.maximum >= 9 for target in actor.scaling[NAME])
    result = actions.give_back(made, actor)

    assert isinstance(result, GivenBack)
    assert actor.tables[NAME] == before
    assert actor.scaling[NAME] == scaling


SHORT = unit(writes=series(600.0), refused=series(600.0), short=600.0)


def test_a_refused_raise_leaves_no_raised_bounds_behind() -> None:
    """The bounds go up first; when the numbers are refused they must come down again, for nothing was changed."""
    change = raised(PLAIN, SHORT, unit("by-status"), scaling=SCALED)
    refusal = Refused("over the account's quota", code="LimitExceededException")
    actor = FakeActor(tables={NAME: PLAIN}, scaling={NAME: SCALED}, said={"set_provisioned": [refusal]})

    with pytest.raises(Refused):
        actions.apply(change, observer(), actor, None)
    assert actor.tables[NAME] == PLAIN
    assert actor.scaling[NAME] == SCALED


def test_numbers_autoscaling_set_already_are_as_good_as_ours() -> None:
    """Raising the minimum makes autoscaling raise the table itself; AWS then says that nothing will change."""
    change = raised(PLAIN, SHORT, unit("by-status"), scaling=SCALED)
    there = replace(PLAIN, capacity=change.after.capacity)
    refusal = Refused("will not change", code="ValidationException")
    actor = FakeActor(tables={NAME: there}, said={"set_provisioned": [refusal]})

    assert actions.apply(change, observer(), actor, None) == change


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(PLAIN, id="the table was put back"),
        pytest.param(table(capacity(5, 26), {"by-status": capacity(5, 99)}), id="an index was changed"),
        pytest.param(replace(PLAIN, billing=Billing.ON_DEMAND), id="it is on-demand now"),
    ],
)
def test_raised_numbers_that_are_not_ours_any_more_are_left(found: TableSettings) -> None:
    """Autoscaling or a person set something else, for the table or an index."""
    change = raised(PLAIN, SHORT, unit("by-status"))
    assert change.after.capacity == capacity(5, 26)
    actor = FakeActor(tables={NAME: found})

    assert isinstance(raise_capacity.give_back(change, actor), LeftAlone)
    assert actor.made == []


def test_a_spent_decrease_budget_means_later() -> None:
    """AWS allows few decreases a day; the change stays until there is one."""
    change = raised(PLAIN, SHORT, unit("by-status"))
    there = replace(PLAIN, capacity=change.after.capacity)
    refusal = Refused("next decrease at 11:00", code="LimitExceededException")
    actor = FakeActor(tables={NAME: there}, said={"set_provisioned": [refusal]})

    assert raise_capacity.give_back(change, actor) == NotYet(because="next decrease at 11:00")


BOTH_SHORT = (SHORT, unit("by-status", writes=series(600.0), refused=series(600.0), short=600.0))
TIGHT = tuple(replace(target, minimum=5, maximum=20) for target in SCALED)
RAISED = raised(PLAIN, *BOTH_SHORT, scaling=TIGHT)
"""Both maxima and both minima go up, from 5 to 20 to 26 to 26."""
DENIED = Refused("not allowed", code="AccessDeniedException")


@pytest.mark.parametrize("first", [True, False], ids=["the first minimum", "the second minimum"])
def test_capacity_that_was_raised_is_a_change_though_a_minimum_was_refused(first: bool) -> None:
    """The capacity is in force: it is recorded, with the bounds as they are, and given back like any other."""
    assert [(one.minimum, one.maximum) for one in RAISED.after.scaling] == [(26, 26), (26, 26)]
    actor = FakeActor(tables={NAME: PLAIN}, scaling={NAME: TIGHT})
    may = actor.set_scaling
    refused = RAISED.after.scaling[0 if first else 1]

    class Refusing(FakeActor):
        def set_scaling(self, table: str, targets: Sequence[ScalingTarget]) -> None:
            if refused in targets:
                raise DENIED
            may(table, targets)

    refusing = Refusing(tables=actor.tables, scaling=actor.scaling)
    made = actions.apply(RAISED, observer(), refusing, None)

    assert isinstance(made, RaiseCapacity)
    assert made.after.scaling == actor.scaling[NAME]
    assert [one.minimum for one in made.after.scaling] == ([5, 26] if first else [26, 5])
    assert actions.give_back(made, actor).kind == "given-back"
    assert (actor.tables[NAME], actor.scaling[NAME]) == (PLAIN, TIGHT)


@pytest.mark.parametrize("calls", [0, 1], ids=["the first maximum is refused", "the second maximum is refused"])
def test_a_refused_maximum_leaves_no_other_one_raised(calls: int) -> None:
    """ "Nothing was changed" is true of every bound."""

    class Refusing(FakeActor):
        def set_scaling(self, table: str, targets: Sequence[ScalingTarget]) -> None:
            if self.made.count(f"scaling {table}") == calls and all(one not in TIGHT for one in targets):
                raise DENIED
            FakeActor.set_scaling(self, table, targets)

    actor = Refusing(tables={NAME: PLAIN}, scaling={NAME: TIGHT})
    with pytest.raises(Refused) as told:
        actions.apply(RAISED, observer(), actor, None)
    assert told.value is DENIED
    assert actor.scaling[NAME] == TIGHT
    assert actor.tables[NAME] == PLAIN


def test_bounds_that_cannot_be_put_back_are_told_with_what_they_were() -> None:
    """Nothing else would tell a person that autoscaling may go higher now."""
    no = Refused("Could not set. Nothing was changed.", code="LimitExceededException")

    class Refusing(FakeActor):
        def set_scaling(self, table: str, targets: Sequence[ScalingTarget]) -> None:
            if all(one in TIGHT for one in targets):
                raise DENIED
            FakeActor.set_scaling(self, table, targets)

    actor = Refusing(tables={NAME: PLAIN}, scaling={NAME: TIGHT}, said={"set_provisioned": [no]})
    words = r"by hand.*writes of the table 5 to 20, writes of index by-status 5 to 20"
    with pytest.raises(Refused, match=words) as told:
        actions.apply(RAISED, observer(), actor, None)
    assert told.value.code == "LimitExceededException"
    assert "Nothing was changed" not in str(told.value)


def test_a_raise_that_meets_a_change_under_way_is_tried_again() -> None:
    """It may be our own, whose answer was lost: DescribeTable shows the old numbers until it is done."""
    busy = replace(PLAIN, status="UPDATING")
    refusal = Refused("x", code="ResourceInUseException")
    actor = FakeActor(tables={NAME: busy}, scaling={NAME: TIGHT}, said={"set_provisioned": [refusal]})
    with pytest.raises(TryAgain, match="UPDATING"):
        actions.apply(RAISED, observer(), actor, None)
    assert actions.made_after_all(RAISED, actor) == RAISED
    actions.compare_again(RAISED, actor)


def test_widened_bounds_without_the_capacity_are_what_is_given_back() -> None:
    """Every try at the numbers was lost for good, or the process died: only the maxima are in force."""
    widened = tuple(replace(target, maximum=26) for target in TIGHT)
    actor = FakeActor(tables={NAME: PLAIN}, scaling={NAME: widened})

    made = actions.made_after_all(RAISED, actor)

    assert made == replace(RAISED, after=replace(RAISED.before, scaling=widened))
    actions.compare_again(RAISED, actor)
    assert actions.give_back(made, actor).kind == "given-back"
    assert (actor.tables[NAME], actor.scaling[NAME]) == (PLAIN, TIGHT)
    assert actions.made_after_all(RAISED, actor) is None


@pytest.mark.parametrize(
    "found",
    [replace(PLAIN, billing=Billing.ON_DEMAND), table(capacity(5, 99), {"by-status": capacity(5, 7)})],
    ids=["somebody switched it", "somebody raised it"],
)
def test_a_second_try_at_a_table_leaves_what_somebody_set_meanwhile(found: TableSettings) -> None:
    """Neither the before-state nor ours."""
    actor = FakeActor(tables={NAME: found})
    assert actions.made_after_all(RAISED, actor) is None
    with pytest.raises(Drifted):
        actions.compare_again(RAISED, actor)
    if found.billing is Billing.PROVISIONED:
        with pytest.raises(Drifted):
            actions.compare_again(SWITCH, actor)
    else:
        actions.compare_again(SWITCH, actor)


def bounds(minimum: int, maximum: int) -> tuple[ScalingTarget, ...]:
    return (ScalingTarget(way=Way.WRITE, index=None, minimum=minimum, maximum=maximum),)


@pytest.mark.parametrize(
    ("now", "back", "told"),
    [
        pytest.param(bounds(26, 26), bounds(5, 20), None, id="ours"),
        pytest.param(bounds(5, 26), bounds(5, 20), None, id="the minimum was never raised"),
        pytest.param(bounds(5, 20), bounds(5, 20), None, id="back already"),
        pytest.param(bounds(26, 400), bounds(5, 400), "now 5 to 400", id="the owner widened the maximum for good"),
        pytest.param(bounds(10, 26), bounds(10, 20), "now 10 to 20", id="the owner set a minimum"),
        pytest.param(bounds(22, 26), bounds(22, 26), "now 22 to 26", id="a minimum above the earlier maximum"),
        pytest.param(bounds(30, 40), bounds(30, 40), "now 30 to 40", id="both are the owner's"),
        pytest.param((), (), "is gone and was not registered again", id="somebody took it away"),
    ],
)
def test_raised_bounds_are_given_back_one_by_one_where_they_are_still_ours(
    now: tuple[ScalingTarget, ...], back: tuple[ScalingTarget, ...], told: str | None
) -> None:
    """What the owner set during the lease stays, and is told."""
    change = raised(PLAIN, SHORT, unit("by-status"), scaling=bounds(5, 20))
    assert change.after.scaling == bounds(26, 26)
    actor = FakeActor(tables={NAME: replace(PLAIN, capacity=change.after.capacity)}, scaling={NAME: now})

    result = raise_capacity.give_back(change, actor)

    assert isinstance(result, GivenBack)
    assert actor.scaling[NAME] == back
    assert actor.tables[NAME] == PLAIN
    assert [told in one for one in result.left] == [True] if told is not None else not result.left
    assert all(one in result.detail for one in result.left)


@pytest.mark.parametrize("was_switched_back", [False, True], ids=["given back by us", "somebody switched it back"])
def test_bounds_that_the_owner_set_during_a_switch_stay(was_switched_back: bool) -> None:
    """A switch leaves them alone, so none is written; only one that is gone is put back."""
    actor = after_switch()
    actor.scaling[NAME] = (replace(SCALED[0], maximum=400),)
    if was_switched_back:
        actor.tables[NAME] = PLAIN

    result = switch_to_on_demand.give_back(SWITCH, actor)

    assert actor.scaling[NAME] == (replace(SCALED[0], maximum=400), SCALED[1])
    text = result.detail if isinstance(result, GivenBack) else result.found if isinstance(result, LeftAlone) else ""
    assert "autoscaling of writes is 5 to 400, not 5 to 50: what somebody set stays" in text
    assert isinstance(result, LeftAlone) is was_switched_back


def test_bounds_that_nobody_changed_are_not_written_again() -> None:
    actor = after_switch()
    actor.scaling[NAME] = SCALED
    actor.made.clear()
    switch_to_on_demand.give_back(SWITCH, actor)
    assert actor.made == [f"provision {NAME}"]


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
