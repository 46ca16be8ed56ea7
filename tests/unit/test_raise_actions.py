"""Raised capacity: only what is short, within its bounds, with autoscaling's bounds; and all of it back where it is ours."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.fakes import FakeActor, observer, series
from tests.unit.made_tables import (
    NAME,
    PLAIN,
    SCALED,
    SWITCH,
    after_switch,
    capacity,
    raised,
    table,
    tables,
    unit,
)
from unthrottle import actions
from unthrottle.actions import raise_capacity, switch_to_on_demand
from unthrottle.actions.outcome import GivenBack, LeftAlone, NotYet
from unthrottle.errors import Drifted, Refused, TryAgain
from unthrottle.evidence.table import (
    Billing,
    ScalingTarget,
    TableSettings,
    Throttle,
    UnitMetrics,
    Way,
)
from unthrottle.plan import RaiseCapacity


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
