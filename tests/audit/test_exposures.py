"""What counts as an exposure, and what does not: the pure judgement, at its edges."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from unthrottle.audit.document import OWNER_TAGS, exposures_of
from unthrottle.audit.exposures import Exposure, Kind, Severity, owner_of
from unthrottle.audit.inventory import AlarmFacts, FunctionFacts, Inventory, Peak, TableFacts
from unthrottle.evidence.pool import AsyncSettings, ConcurrencyAccount, EventSource, SourceKind
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import Billing, Capacity, HotKeys, IndexSettings, KeyShare, TableSettings, Way
from unthrottle.settings import Settings

END = datetime(2026, 8, 24, 10, tzinfo=UTC)
START = END - timedelta(days=14)
AT = END - timedelta(days=1)
FLEET = tuple(
    AlarmFacts(
        name=f"{way}-{by}",
        namespace="",
        metric="",
        expression=f'SELECT SUM({way}ThrottleEvents) FROM SCHEMA("AWS/DynamoDB", {by}) GROUP BY {by}',
    )
    for way in ("Read", "Write")
    for by in ("TableName", "TableName, GlobalSecondaryIndexName")
)
POOL_ALARMS = (
    AlarmFacts(name="throttles", namespace="AWS/Lambda", metric="Throttles", threshold=0),
    AlarmFacts(name="early", namespace="AWS/Lambda", metric="ConcurrentExecutions", threshold=800),
)


def function(name: str = "f", **more: Any) -> FunctionFacts:
    return replace(
        FunctionFacts(name=name, arn=f"arn:aws:lambda:eu-west-1:111122223333:function:{name}", timeout_s=30), **more
    )


def table(**more: Any) -> TableFacts:
    settings = TableSettings(
        name="orders",
        arn="arn:aws:dynamodb:eu-west-1:111122223333:table/orders",
        status="ACTIVE",
        billing=Billing.PROVISIONED,
        capacity=Capacity(read=100, write=100),
    )
    return replace(TableFacts(settings=settings), **more)


def found(
    *functions: FunctionFacts,
    tables: tuple[TableFacts, ...] = (),
    alarms: tuple[AlarmFacts, ...] | None = (*FLEET, *POOL_ALARMS),
    unreserved: int = 1000,
    peak: float = 100,
) -> tuple[Exposure, ...]:
    inventory = Inventory(
        account="111122223333",
        region="eu-west-1",
        start=START,
        end=END,
        concurrency=ConcurrencyAccount(limit=1000, unreserved_limit=unreserved, function_count=len(functions)),
        in_use=Series(start=START, period_s=3600, values=(peak,)),
        throttles=Series(start=START, period_s=3600, values=(None,)),
        functions=functions,
        tables=tables,
        alarms=alarms,
    )
    return exposures_of(inventory, Settings(), OWNER_TAGS)


def kinds(exposures: tuple[Exposure, ...]) -> list[tuple[Kind, Severity]]:
    return [(one.kind, one.severity) for one in exposures]


def at(value: float) -> Peak:
    return Peak(value=value, at=AT)


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        pytest.param(function(peak=at(249)), [Severity.MEDIUM], id="just below the share, called directly"),
        pytest.param(function(peak=at(250)), [Severity.HIGH], id="at the share"),
        pytest.param(function(peak=at(62)), [], id="a quarter of the share is not reached"),
        pytest.param(function(peak=at(900), reserved=900), [], id="in a reservation of its own"),
        pytest.param(function(peak=at(900), managed_instances=True), [], id="on instances of its own"),
        pytest.param(function(peak=at(5), events=9, mean_run_s=30.0), [Severity.HIGH], id="events and long runs"),
        pytest.param(function(peak=at(5), events=9, mean_run_s=29.9), [], id="events and short runs"),
        pytest.param(function(peak=at(5), events=9), [], id="events and unknown runs"),
        pytest.param(function(peak=at(5), mean_run_s=600.0), [], id="long runs for callers that wait"),
        pytest.param(function(), [], id="no run at all"),
    ],
)
def test_who_takes_the_pool(subject: FunctionFacts, expected: list[Severity]) -> None:
    assert [severity for kind, severity in kinds(found(subject)) if kind is Kind.TAKES_THE_POOL] == expected


def test_a_function_fed_by_shards_is_bounded_and_one_fed_by_a_queue_is_not() -> None:
    def fed(kind: SourceKind, **more: Any) -> FunctionFacts:
        source = EventSource(uuid="u", kind=kind, source_arn="arn", **more)
        return function(peak=at(10), mean_run_s=60.0, sources=(source,))

    assert found(fed(SourceKind.KINESIS)) == ()
    assert found(fed(SourceKind.SQS, maximum_concurrency=10)) == ()
    assert found(fed(SourceKind.SQS, maximum_pollers=4)) == ()
    assert [kind for kind, _ in kinds(found(fed(SourceKind.SQS)))] == [Kind.TAKES_THE_POOL, Kind.SOURCE_WITHOUT_MAXIMUM]


def test_the_longest_holder_comes_first_among_those_who_take_the_pool() -> None:
    short = function("short", peak=at(400), mean_run_s=1.0)
    long = function("long", peak=at(300), mean_run_s=300.0)
    assert [one.resource for one in found(short, long)] == ["long", "short"]


@pytest.mark.parametrize(
    ("reserved", "peak", "expected"),
    [
        pytest.param(100, None, [Kind.USELESS_RESERVATION], id="never ran"),
        pytest.param(100, 49, [Kind.USELESS_RESERVATION], id="less than half used"),
        pytest.param(100, 50, [], id="half used"),
        pytest.param(9, 0, [], id="too small to matter"),
        pytest.param(0, None, [Kind.SWITCHED_OFF], id="zero is switched off"),
    ],
)
def test_reservations(reserved: int, peak: float | None, expected: list[Kind]) -> None:
    subject = function(reserved=reserved, peak=None if peak is None else at(peak))
    assert [kind for kind, _ in kinds(found(subject))] == expected


@pytest.mark.parametrize(
    ("age", "destination", "throttles", "expected"),
    [
        pytest.param(60, False, 5, [Severity.HIGH], id="short age and throttled"),
        pytest.param(60, False, 0, [Severity.MEDIUM], id="short age"),
        pytest.param(21_600, False, 5, [Severity.MEDIUM], id="six hours and throttled"),
        pytest.param(21_600, False, 0, [], id="AWS's defaults"),
        pytest.param(60, True, 5, [], id="a destination keeps them"),
    ],
)
def test_events_that_would_be_lost(age: int, destination: bool, throttles: int, expected: list[Severity]) -> None:
    kept = AsyncSettings(max_event_age_s=age, has_destination=destination)
    exposures = found(function(events=100, async_settings=kept, throttles=throttles))
    assert [severity for kind, severity in kinds(exposures) if kind is Kind.LOSES_EVENTS] == expected


@pytest.mark.parametrize(
    ("unreserved", "expected"),
    [
        pytest.param(350, [], id="room for a whole share"),
        pytest.param(349, [(Kind.NO_ROOM_ABOVE_FLOOR, Severity.MEDIUM)], id="less than a share"),
        pytest.param(100, [(Kind.NO_ROOM_ABOVE_FLOOR, Severity.HIGH)], id="none"),
    ],
)
def test_room_above_the_floor(unreserved: int, expected: list[tuple[Kind, Severity]]) -> None:
    assert kinds(found(unreserved=unreserved)) == expected


def test_a_pool_at_80_percent_is_nearly_full() -> None:
    assert kinds(found(peak=799)) == []
    assert kinds(found(peak=800)) == [(Kind.POOL_NEARLY_FULL, Severity.MEDIUM)]


def test_an_index_smaller_than_its_table_is_worse_when_it_is_busy() -> None:
    settings = replace(
        table().settings, indexes=(IndexSettings(name="by", status="ACTIVE", capacity=Capacity(read=100, write=20)),)
    )
    idle = table(settings=settings)
    busy = replace(idle, busiest={("by", Way.WRITE): at(14)})
    assert (Kind.INDEX_SMALLER_THAN_TABLE, Severity.MEDIUM) in kinds(found(tables=(idle,)))
    assert (Kind.INDEX_SMALLER_THAN_TABLE, Severity.HIGH) in kinds(found(tables=(busy,)))


def test_throttled_capacity_is_high_and_a_busy_hour_medium() -> None:
    busy = table(busiest={(None, Way.WRITE): at(70)})
    throttled = table(throttles={(None, Way.WRITE): 3.0})
    calm = table(busiest={(None, Way.WRITE): at(69.9)})
    near = Kind.TABLE_NEAR_CAPACITY
    assert [one for one in kinds(found(tables=(busy,))) if one[0] is near] == [(near, Severity.MEDIUM)]
    assert [one for one in kinds(found(tables=(throttled,))) if one[0] is near] == [(near, Severity.HIGH)]
    assert [one for one in kinds(found(tables=(calm,))) if one[0] is near] == []


def test_one_key_that_takes_half_is_named_without_its_text() -> None:
    hot = HotKeys(index=None, source="accessed", keys=(KeyShare(key="customer-4711", share=0.5),))
    (exposure,) = found(tables=(table(hot_keys=(hot,)),))
    assert exposure.kind is Kind.FEW_KEYS
    assert "customer-4711" not in str(exposure)


def test_each_way_without_an_alarm_is_named_once_for_all_tables() -> None:
    exposures = found(tables=(table(),), alarms=POOL_ALARMS)
    assert [one.resource for one in exposures] == ["table-read-throttles", "table-write-throttles"]
    assert found(tables=(table(),)) == ()


def test_an_early_warning_above_the_limit_can_never_ring() -> None:
    late = replace(POOL_ALARMS[1], threshold=1000)
    (exposure,) = found(function(), alarms=(POOL_ALARMS[0], late))
    assert exposure.evidence == ("early stands at 1,000, and the limit is 1,000: it can never fire.",)


def test_alarms_that_could_not_be_read_are_not_said_to_be_missing() -> None:
    assert found(function(), tables=(table(),), alarms=None) == ()


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        pytest.param({"unthrottle:mode": "atuo"}, "is none of off, dry-run, approve, auto", id="a mode that is none"),
        pytest.param({"unthrottle:protected": "true", "unthrottle:mode": "auto"}, "forbids every change", id="both"),
        pytest.param({"unthrottle:max-concurrency": "many"}, "not a whole number", id="no number"),
        pytest.param({"unthrottle:max-concurrency": "10"}, "but 50 are reserved", id="less than reserved"),
    ],
)
def test_tags_that_cannot_be_meant(tags: dict[str, str], said: str) -> None:
    exposures = found(function(tags=tags, reserved=50, peak=at(40)))
    assert [one.kind for one in exposures] == [Kind.TAGS_CONTRADICT]
    assert said in exposures[0].evidence[0]


def test_the_owner_is_the_first_tag_that_is_set_whatever_its_case() -> None:
    assert owner_of({"Team": "crew", "Owner": " "}, OWNER_TAGS) == "crew"
    assert owner_of({"Name": "x"}, OWNER_TAGS) is None


def test_a_throttled_on_demand_table_is_not_told_to_take_more_capacity() -> None:
    settings = replace(table().settings, billing=Billing.ON_DEMAND)
    (exposure,) = found(tables=(table(settings=settings, throttles={(None, Way.WRITE): 9.0}),))
    assert (exposure.kind, exposure.severity) == (Kind.TABLE_NEAR_CAPACITY, Severity.HIGH)
    assert exposure.fix.cli == ""
    assert "although it is on-demand" in exposure.title
