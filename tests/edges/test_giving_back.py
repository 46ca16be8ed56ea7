"""What is done, asked and given back at the edges: each action by its exact calls and values."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from tests.unit.fakes import FakeActor, FakeFunctions, arn_of, observer, series
from tests.unit.made_changes import CAP, SOURCE
from tests.unit.made_tables import NAME, PLAIN, capacity, evidence, table, unit
from unthrottle import actions
from unthrottle.actions import cap_concurrency, cap_event_source, raise_capacity, switch_to_on_demand
from unthrottle.actions.outcome import GivenBack, LeftAlone
from unthrottle.errors import Drifted, Refused
from unthrottle.evidence.pool import Candidate, ConcurrencyAccount, EventSource, SourceKind
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import (
    Billing,
    IndexSettings,
    ScalingTarget,
    TableSettings,
    UnitMetrics,
    Way,
)
from unthrottle.plan import CancelBackfill, Change, SavedTable
from unthrottle.settings import Settings

X = None
QUEUE = EventSource(uuid="u1", kind=SourceKind.SQS, source_arn="arn")


@dataclass(slots=True)
class Told(FakeActor):
    """An actor that remembers with what it was called."""

    bounds: list[tuple[ScalingTarget, ...]] = field(default_factory=list)
    from_on_demand: list[bool] = field(default_factory=list)

    def set_scaling(self, table: str, targets: Sequence[ScalingTarget]) -> None:
        FakeActor.set_scaling(self, table, targets)
        self.bounds.append(tuple(targets))

    def set_provisioned(self, table: str, wanted: SavedTable, *, from_on_demand: bool) -> None:
        self.from_on_demand.append(from_on_demand)
        FakeActor.set_provisioned(self, table, wanted, from_on_demand=from_on_demand)


def hog(**more: object) -> Candidate:
    plain = Candidate(name="hog", arn=arn_of("hog"), reserved=None, timeout_s=30)
    return replace(plain, **more)  # type: ignore[arg-type]  # any field, by name


# --- functions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "pool_share", "tags", "cap"),
    [
        pytest.param(100, 25, {}, 25, id="in an account of 100 the usual floor of 100 cannot be kept"),
        pytest.param(100, 100, {}, 99, id="one execution is left to the others there"),
        pytest.param(101, 25, {}, 1, id="above that it is kept"),
        pytest.param(1000, 25, {"unthrottle:max-concurrency": "1"}, 1, id="a tag may ask for a single execution"),
    ],
)
def test_a_cap_leaves_the_others_what_aws_keeps_and_one_execution_at_least(
    limit: int, pool_share: int, tags: dict[str, str], cap: int
) -> None:
    account = ConcurrencyAccount(limit=limit, unreserved_limit=limit, function_count=2)
    found = cap_concurrency.caps(account, (hog(tags=tags),), 0.0, Settings(max_pool_share=pool_share))
    assert found == {"hog": cap}


def test_a_function_that_only_feeds_itself_is_held_to_one_execution() -> None:
    """Whatever its share would be."""
    loop = hog(loops_stopped=series(100.0), invocations=series(1600.0))
    account = ConcurrencyAccount(limit=1000, unreserved_limit=1000, function_count=2)
    assert cap_concurrency.caps(account, (loop, hog(name="other")), 0.0, Settings()) == {"hog": 1, "other": 250}


FLOOR = "UnreservedConcurrentExecution below its minimum value of [100]."
PROVISIONED = "should not be lower than function's total provisioned concurrency [{}]."


@pytest.mark.parametrize(
    ("refusal", "made"),
    [
        pytest.param(FLOOR, None, id="there is room for the very cap that was refused"),
        pytest.param(PROVISIONED.format(249), None, id="the cap is above the provisioned already"),
        pytest.param(PROVISIONED.format(840), 841, id="just what it held at its peak"),
        pytest.param(PROVISIONED.format(841), None, id="more than it held at its peak"),
    ],
)
def test_a_refused_cap_is_tried_once_more_only_where_another_number_can_help(refusal: str, made: int | None) -> None:
    """Asking for the same again would only be refused again."""
    account = ConcurrencyAccount(limit=1000, unreserved_limit=350, function_count=1)
    actor = Told(said={"set_reserved": [Refused(refusal, code="InvalidParameterValueException")]})
    if made is None:
        with pytest.raises(Refused):
            cap_concurrency.apply(CAP, observer(functions=FakeFunctions(account)), actor)
        assert actor.made == []
    else:
        cap_concurrency.apply(CAP, observer(functions=FakeFunctions(account)), actor)
        assert actor.made == [f"reserve hog {made}"]


@pytest.mark.parametrize(
    ("invoked", "waits"),
    [
        pytest.param(series(1.0, X), True, id="one invocation that was no event"),
        pytest.param(series(2.0, X), True, id="two"),
    ],
)
def test_without_queued_events_callers_wait_however_few_they_are(invoked: Series, *, waits: bool) -> None:
    for events in (None, series(0.0, X)):
        change = cap_concurrency.change(hog(invocations=invoked, async_events=events), 250, 900.0, 120)
        assert (change.synchronous is not None) is waits
        assert "no queued events" in (change.synchronous or "")


def test_a_single_invocation_that_was_a_queued_event_keeps_nobody_waiting() -> None:
    change = cap_concurrency.change(hog(invocations=series(1.0), async_events=series(1.0)), 1, 1.0, 120)
    assert change.synchronous is None


def test_a_single_queued_event_is_told_as_such() -> None:
    change = cap_concurrency.change(hog(invocations=series(900.0), async_events=series(1.0)), 250, 900.0, 120)
    assert (change.synchronous or "").startswith("only 1 of its 900 invocations")


# --- event sources ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "cap", "peak", "after"),
    [
        pytest.param(replace(QUEUE, maximum_pollers=100), 5, 900.0, 2, id="a queue has two pollers at least"),
        pytest.param(replace(QUEUE, kind=SourceKind.KAFKA, maximum_pollers=100), 1, 900.0, 1, id="Kafka has one"),
        pytest.param(
            replace(QUEUE, kind=SourceKind.KINESIS, parallelization_factor=10), 1, 1.5, 6, id="a peak below two"
        ),
        pytest.param(
            replace(QUEUE, kind=SourceKind.OTHER, parallelization_factor=10), 250, 900.0, None, id="of no known kind"
        ),
    ],
)
def test_a_knob_is_turned_no_further_than_aws_allows(
    source: EventSource, cap: int, peak: float, after: int | None
) -> None:
    made = cap_event_source.change(hog(), source, cap, peak)
    assert (None if made is None else made.after) == after


def test_the_way_back_of_a_queue_without_a_limit_is_to_clear_it() -> None:
    """`{}` clears it; a number sets it."""
    call = "aws lambda update-event-source-mapping --uuid u1 --scaling-config "
    assert cap_event_source.commands(SOURCE) == (call + "MaximumConcurrency=250", call + "'{}'")
    assert cap_event_source.commands(replace(SOURCE, before=300))[1] == call + "MaximumConcurrency=300"


def test_a_source_is_set_and_given_back_and_the_record_says_from_what_to_what() -> None:
    actor = Told(sources={"u1": QUEUE})
    made = actions.apply(SOURCE, observer(), actor, None)
    assert actor.sources["u1"].maximum_concurrency == 250
    assert actions.give_back(made, actor) == GivenBack(detail="MaximumConcurrency of hog's event source: 250 -> unset")
    assert actor.made == ["MaximumConcurrency u1 250", "MaximumConcurrency u1 None"]
    assert actions.give_back(made, actor) == LeftAlone(
        found="MaximumConcurrency of hog's event source is None already: someone put it back", is_back=True
    )

    lowered = replace(SOURCE, before=300)
    actor = Told(sources={"u1": replace(QUEUE, maximum_concurrency=250)})
    assert actions.give_back(lowered, actor) == GivenBack(detail="MaximumConcurrency of hog's event source: 250 -> 300")


def test_a_stream_without_a_factor_has_a_factor_of_one() -> None:
    """AWS leaves it out where it is 1; one is back, then, and no drift."""
    stream = replace(SOURCE, source=SourceKind.KINESIS, knob="ParallelizationFactor", before=1, after=2)
    actor = Told(sources={"u1": replace(QUEUE, kind=SourceKind.KINESIS)})
    cap_event_source.compare(stream, actor)
    result = cap_event_source.give_back(stream, actor)
    assert isinstance(result, LeftAlone)
    assert result.is_back


# --- tables ----------------------------------------------------------------------------------------------------------


NEW_INDEX = replace(
    PLAIN, indexes=(*PLAIN.indexes, IndexSettings(name="new", status="ACTIVE", capacity=capacity(1, 1)))
)
TIGHT = (ScalingTarget(way=Way.WRITE, index=None, minimum=5, maximum=20),)
ROOMY = (ScalingTarget(way=Way.WRITE, index=None, minimum=5, maximum=26),)
RAISED = (ScalingTarget(way=Way.WRITE, index=None, minimum=26, maximum=26),)
SHORT = unit(writes=series(600.0), refused=series(600.0), short=600.0)
RAISE = raise_capacity.change(evidence(PLAIN, SHORT, unit("by-status"), scaling=TIGHT))
SWITCH = switch_to_on_demand.change(evidence(PLAIN, SHORT, scaling=TIGHT))


@pytest.mark.parametrize(
    ("writes", "refused"), [(series(6000.0), None), (None, series(6000.0))], ids=["taken", "refused"]
)
def test_a_raise_is_what_was_wanted_in_the_worst_minute_and_three_tenths_more(
    writes: Series | None, refused: Series | None
) -> None:
    """A hundred a second, whether they were taken or refused."""
    nothing = series(X)
    short = unit(writes=writes or nothing, refused=refused or nothing, short=60.0)
    assert raise_capacity.wanted_units(short, Way.WRITE, 100) == 130


def test_bounds_are_widened_before_a_raise_and_the_minimum_follows_it() -> None:
    """Autoscaling would otherwise pull the number back, or raise the table itself while ours is refused."""
    assert RAISE.after.scaling == RAISED
    actor = Told(tables={NAME: PLAIN})
    actions.apply(RAISE, observer(), actor, None)

    assert actor.made == [f"scaling {NAME}", f"provision {NAME}", f"scaling {NAME}"]
    assert actor.bounds == [ROOMY, RAISED]
    assert actor.from_on_demand == [False]


def test_where_the_maximum_is_wide_enough_only_the_minimum_moves() -> None:
    wide = (replace(TIGHT[0], maximum=50),)
    actor = Told(tables={NAME: PLAIN})
    actions.apply(raise_capacity.change(evidence(PLAIN, SHORT, scaling=wide)), observer(), actor, None)

    assert actor.made == [f"provision {NAME}", f"scaling {NAME}"]
    assert actor.bounds == [(replace(wide[0], minimum=26),)]


def test_a_table_that_autoscaling_leaves_alone_is_raised_with_one_call() -> None:
    actor = Told(tables={NAME: PLAIN})
    actions.apply(raise_capacity.change(evidence(PLAIN, SHORT)), observer(), actor, None)

    assert actor.made == [f"provision {NAME}"]


@pytest.mark.parametrize(
    ("scaling", "bounds"),
    [(TIGHT, [ROOMY, TIGHT]), ((replace(TIGHT[0], maximum=50),), []), ((), [])],
    ids=["widened and narrowed again", "wide enough", "none"],
)
@pytest.mark.parametrize(
    ("code", "is_there"),
    [("LimitExceededException", True), ("ValidationException", False), ("ResourceInUseException", False)],
)
def test_a_refused_raise_leaves_the_bounds_as_they_were(
    scaling: tuple[ScalingTarget, ...], bounds: list[tuple[ScalingTarget, ...]], code: str, *, is_there: bool
) -> None:
    """ "Nothing was changed" must be true, also of the bounds; numbers that are there excuse only AWS's own "in use"."""
    change = raise_capacity.change(evidence(PLAIN, SHORT, scaling=scaling))
    found = replace(PLAIN, capacity=change.after.capacity) if is_there else PLAIN
    actor = Told(tables={NAME: found}, said={"set_provisioned": [Refused("no", code=code)]})
    with pytest.raises(Refused, match="no"):
        actions.apply(change, observer(), actor, None)

    assert actor.bounds == bounds


def test_an_index_made_meanwhile_stands_in_the_way_neither_of_a_raise_nor_of_giving_it_back() -> None:
    """A provisioned table's call names the indexes that are to change, no others."""
    actor = Told(tables={NAME: NEW_INDEX})
    raise_capacity.compare(RAISE, actor)
    actions.apply(RAISE, observer(), actor, None)
    assert actor.tables[NAME].capacity == capacity(5, 26)
    assert isinstance(actions.give_back(RAISE, actor), GivenBack)
    assert actor.tables[NAME] == NEW_INDEX
    assert actor.bounds[-1] == TIGHT
    assert actor.from_on_demand == [False, False]


@pytest.mark.parametrize(
    ("found", "is_back"),
    [
        pytest.param(PLAIN, True, id="the numbers of before"),
        pytest.param(replace(PLAIN, billing=Billing.ON_DEMAND), False, id="on-demand"),
        pytest.param(table(capacity(5, 10), {"by-status": capacity(5, 99)}), False, id="an index has others"),
    ],
)
def test_a_raise_is_back_only_where_every_number_is_as_before_on_a_provisioned_table(
    found: TableSettings, *, is_back: bool
) -> None:
    """What is back needs nobody; what is not is told to a person."""
    result = raise_capacity.give_back(RAISE, Told(tables={NAME: found}))
    assert isinstance(result, LeftAlone)
    assert result.is_back is is_back


def test_a_switch_given_back_by_a_try_that_died_gets_its_bounds_too() -> None:
    """The numbers are back, the second call never came."""
    actor = Told(tables={NAME: PLAIN})
    result = actions.give_back(SWITCH, actor)
    assert isinstance(result, LeftAlone)
    assert result.is_back
    assert actor.made == [f"scaling {NAME}"]
    assert actor.bounds == [TIGHT]


def test_a_switch_is_given_back_with_a_number_for_every_index() -> None:
    """Coming from on-demand AWS wants one for each; an index made since gets the table's, and that is told."""
    nothing = capacity(0, 0)
    on_demand = table(nothing, {"by-status": nothing, "new": nothing}, Billing.ON_DEMAND)
    actor = Told(tables={NAME: on_demand})
    result = actions.give_back(SWITCH, actor)
    assert isinstance(result, GivenBack)
    assert result.detail.endswith(" (new indexes with the table's numbers: new)")
    assert actor.from_on_demand == [True]

    actor = Told(tables={NAME: replace(on_demand, indexes=on_demand.indexes[:1])})
    result = actions.give_back(SWITCH, actor)
    assert isinstance(result, GivenBack)
    assert "new" not in result.detail


@pytest.mark.parametrize(
    ("one", "cost"),
    [
        pytest.param(unit(writes=series(2e8)), 7500.0, id="two hundred million writes a minute"),
        pytest.param(unit(reads=series(2e8)), 1500.0, id="as many reads cost a fifth"),
        pytest.param(unit(writes=series(133.0)), 0.0, id="less than half a cent"),
        pytest.param(unit(writes=series(134.0)), 0.01, id="more than half a cent"),
        pytest.param(unit(writes=series(100.0, X), refused=series(X, 133.0)), 0.0, id="not taken, only refused"),
        pytest.param(unit(writes=series(100.0, 134.0), refused=series(1.0)), 0.0, id="series of unequal length"),
        pytest.param(unit(), None, id="nothing is known"),
    ],
)
def test_on_demand_is_estimated_by_its_worst_minute_to_the_cent(one: UnitMetrics, cost: float | None) -> None:
    assert switch_to_on_demand.hourly_cost(evidence(PLAIN, one)) == cost


# --- by the kind of the change ---------------------------------------------------------------------------------------


def test_each_kind_of_change_is_compared_before_it_is_made() -> None:
    """Somebody set a number meanwhile."""
    actor = Told(reservations={"hog": 3}, sources={"u1": replace(QUEUE, maximum_concurrency=3)})
    for change in (CAP, SOURCE):
        with pytest.raises(Drifted):
            actions.compare(change, actor, None)


CANCEL = CancelBackfill(backfill_id="bf-1", flow="f", environment="develop", table="t", table_arn="arn")


@pytest.mark.parametrize(
    ("change", "there", "gone"),
    [
        pytest.param(CAP, Told(reservations={"hog": 250}), Told(reservations={"hog": 251}), id="a reservation"),
        pytest.param(
            SOURCE,
            Told(sources={"u1": replace(QUEUE, maximum_concurrency=250)}),
            Told(sources={"u1": QUEUE}),
            id="an event source",
        ),
        pytest.param(
            SWITCH,
            Told(tables={NAME: replace(PLAIN, billing=Billing.ON_DEMAND)}),
            Told(tables={NAME: PLAIN}),
            id="a switch",
        ),
        pytest.param(
            RAISE,
            Told(tables={NAME: replace(PLAIN, capacity=RAISE.after.capacity)}),
            Told(tables={NAME: PLAIN}),
            id="a raise",
        ),
    ],
)
def test_what_is_in_force_is_read_from_the_target_itself(change: Change, there: Told, gone: Told) -> None:
    """After an answer that never came, this decides whether there is anything to hold under a lease."""
    assert actions.is_in_force(change, there)
    assert not actions.is_in_force(change, gone)
    assert not actions.is_in_force(CANCEL, there)
