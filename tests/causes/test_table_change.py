"""A change of capacity under way, and what is none."""

from dataclasses import replace

import pytest

from tests.causes.builders import (
    ONSET,
    Steps,
    at,
    index,
    scaled,
    settings,
    short_of_writes,
    table,
    unit,
)
from tests.causes.tables import (
    INDEXED,
    ON_DEMAND,
    WRITE_SHORT,
    look,
    text,
)
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.table import (
    TableSettings,
    Way,
)


@pytest.mark.parametrize(
    "described",
    [
        pytest.param(settings(status="UPDATING"), id="the table is changing"),
        pytest.param(replace(ON_DEMAND, status="UPDATING"), id="17: switching, PAY_PER_REQUEST already shown"),
        pytest.param(settings(indexes=[index(status="UPDATING")]), id="an index is changing"),
        pytest.param(replace(ON_DEMAND, on_demand_since=at(52)), id="switched eight minutes ago"),
    ],
)
def test_a_change_under_way_is_waited_for(described: TableSettings) -> None:
    found = look(table(short_of_writes(), described=described))
    assert (found.cause, found.targets) == (Cause.CAPACITY_CHANGE_IN_PROGRESS, ())


FALLING: Steps = {ONSET: 900, 55: 300}

LEVEL: Steps = {ONSET: 900, 55: 800}


@pytest.mark.parametrize(
    ("events", "capacity", "cause"),
    [
        pytest.param(FALLING, {0: 50, 50: 100}, Cause.CAPACITY_CHANGE_IN_PROGRESS, id="4: rose, throttles falling"),
        pytest.param(LEVEL, {0: 50, 50: 100}, Cause.PROVISIONED_CAPACITY, id="rose, throttles go on"),
        pytest.param(FALLING, {0: 100}, Cause.PROVISIONED_CAPACITY, id="throttles falling, nothing rose"),
        pytest.param({ONSET: 900, 55: 600}, {0: 50, 50: 100}, Cause.CAPACITY_CHANGE_IN_PROGRESS, id="at two thirds"),
        pytest.param({ONSET: 900, 55: 601}, {0: 50, 50: 100}, Cause.PROVISIONED_CAPACITY, id="above two thirds"),
    ],
)
def test_capacity_that_rose_is_trusted_only_while_the_throttles_fall(
    events: Steps, capacity: Steps, cause: Cause
) -> None:
    rising = unit(write={0: 40}, provisioned={Way.WRITE: capacity}, throttles={WRITE_SHORT: events})
    assert look(table(rising, described=settings(capacity=replace(settings().capacity, write=100)))).cause is cause


@pytest.mark.parametrize(
    ("minute", "status", "cause"),
    [
        pytest.param(51, "InProgress", Cause.CAPACITY_CHANGE_IN_PROGRESS, id="still running"),
        pytest.param(57, "Successful", Cause.CAPACITY_CHANGE_IN_PROGRESS, id="done three minutes ago: not seen yet"),
        pytest.param(56, "Successful", Cause.PROVISIONED_CAPACITY, id="done four minutes ago, throttles go on"),
        pytest.param(57, "Failed", Cause.PROVISIONED_CAPACITY, id="it failed"),
    ],
)
def test_autoscaling_that_reacts_is_waited_for(minute: float, status: str, cause: Cause) -> None:
    assert look(table(short_of_writes(), activities=[scaled(minute, status=status)])).cause is cause


@pytest.mark.parametrize(
    "activity",
    [
        pytest.param(scaled(58, to=25), id="it scaled in, by its number"),
        pytest.param(scaled(58, way=Way.READ), id="it scaled the reads"),
        pytest.param(scaled(58, index="by-status"), id="it scaled the index"),
    ],
)
def test_scaling_something_else_is_no_change_under_way(activity: object) -> None:
    found = look(table(short_of_writes(), activities=[activity]))  # type: ignore[list-item]  # a ScalingActivity
    assert found.cause is Cause.PROVISIONED_CAPACITY


def test_scaling_in_is_known_by_the_tables_last_decrease() -> None:
    described = settings(last_decrease_at=at(58))
    assert look(table(short_of_writes(), described=described, activities=[scaled(58)])).cause is (
        Cause.PROVISIONED_CAPACITY
    )


def test_a_raise_too_new_to_show_is_waited_for() -> None:
    raised = settings(capacity=replace(settings().capacity, write=200))
    found = look(table(short_of_writes(), described=raised))
    assert (found.cause, found.confidence) == (Cause.CAPACITY_CHANGE_IN_PROGRESS, Confidence.MEDIUM)
    assert "raised from 50 to 200" in text(found)


def test_scaling_of_an_index_without_metrics_is_believed() -> None:
    events = {WRITE_SHORT: {ONSET: 30}}
    dropped = replace(unit("by-status", throttles=events), provisioned={})
    found = look(table(unit(), dropped, described=INDEXED, activities=[scaled(58, index="by-status")]))
    assert found.cause is Cause.CAPACITY_CHANGE_IN_PROGRESS
