"""Writers that are no backfill: named by a measurement of their own that rises with the writes, and stopped by nobody."""

from dataclasses import replace

import pytest

from tests.causes.builders import ONSET, Steps, at, backfill, index, series, settings, table, unit
from tests.causes.tables import INDEXED, ON_DEMAND, WRITE_HOT, WRITE_SHORT, burst, flooded, look, text
from unthrottle.actions.planning import make_plan
from unthrottle.diagnosis import Cause, WriterKind
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import (
    BackfillsUnknown,
    BulkOperation,
    OtherWriters,
    TableEvidence,
    Throttle,
    UnitMetrics,
    Way,
)
from unthrottle.plan import Action, Plan
from unthrottle.settings import Settings

GLOBAL = settings("orders", replicas=("us-east-1",))
ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/orders/bulk-operation/1"


def rate(steps: Steps) -> Series:
    """A series of consumed units a second, as a Sum of each minute."""
    return series({minute: None if value is None else 60 * value for minute, value in steps.items()})


def planned(evidence: TableEvidence) -> Plan:
    return make_plan(look(evidence), evidence, Settings())


def replicated(theirs: Steps, ours: Steps) -> OtherWriters:
    return OtherWriters(customer=rate(ours), replicated=rate(theirs))


def bulk(minute: float, most: int | None = 1200) -> OtherWriters:
    return OtherWriters(bulk=(BulkOperation(arn=ARN, started_at=at(minute), most=most),))


def scheduler(steps: Steps) -> OtherWriters:
    return OtherWriters(schedules_table="dagy-schedules-develop", schedules=rate(steps))


def with_writers(others: OtherWriters, *units: UnitMetrics, **more: object) -> TableEvidence:
    return replace(table(*(units or (flooded(),)), **more), writers=others)  # type: ignore[arg-type]  # the builder's


@pytest.mark.parametrize(
    ("evidence", "kind", "name", "said", "remedy"),
    [
        pytest.param(
            with_writers(replicated({0: 5, ONSET: 45}, {0: 15, ONSET: 5}), described=GLOBAL),
            WriterKind.OTHER_REGION,
            "us-east-1",
            "rose from 5 to 45 consumed units a second at 04:40 UTC, 90 % of all; this Region's own callers write 5.",
            "Find the writer in us-east-1 and slow it there",
            id="another Region",
        ),
        pytest.param(
            with_writers(bulk(38), described=settings("orders")),
            WriterKind.BULK_OPERATION,
            ARN,
            f"{ARN} into orders began at 04:38 UTC, at most 1,200 units a second, and is in progress; writes rose from 20 to "
            "600 units a second at 04:40 UTC.",
            f"cancel-bulk-operation --bulk-operation-arn {ARN}",
            id="a bulk operation",
        ),
        pytest.param(
            with_writers(scheduler({0: 2, ONSET: 60})),
            WriterKind.SCHEDULER,
            "dagy-schedules-develop",
            "rose with it, from 2 to 60 consumed units a second at 04:40 UTC",
            "In dagy, pause the schedules",
            id="dagy's scheduler",
        ),
    ],
)
def test_a_runaway_writer_that_is_no_backfill_is_named_and_a_person_is_told_what_stops_it(
    evidence: TableEvidence, kind: WriterKind, name: str, said: str, remedy: str
) -> None:
    found, plan = look(evidence), planned(evidence)
    assert found.writer is not None
    assert (found.writer.kind, found.writer.name, found.targets) == (kind, name, ())
    assert said in found.findings[0].text
    assert (found.findings[0].check or "").startswith("aws ")
    assert (plan.action, plan.changes) == (Action.ESCALATE, ())
    assert name in plan.why
    assert "more capacity would only feed it" in plan.why
    assert remedy in plan.follow_up
    assert plan.watch is not None
    assert plan.watch.table == evidence.settings.name


@pytest.mark.parametrize(
    ("evidence", "dimensions"),
    [
        pytest.param(
            with_writers(replicated({0: 5, ONSET: 45}, {0: 15, ONSET: 5}), described=GLOBAL),
            "Name=TableName,Value=orders Name=Source,Value=GlobalTable",
            id="another Region, by its source",
        ),
        pytest.param(
            with_writers(scheduler({0: 2, ONSET: 60})),
            "Name=TableName,Value=dagy-schedules-develop",
            id="the scheduler, by its own table",
        ),
    ],
)
def test_the_command_shows_the_writes_that_name_the_writer(evidence: TableEvidence, dimensions: str) -> None:
    assert look(evidence).findings[0].check == (
        "aws cloudwatch get-metric-statistics --namespace AWS/DynamoDB --metric-name ConsumedWriteCapacityUnits --dimensions "
        f"{dimensions} --statistics Sum --period 60 --start-time 2026-08-24T04:48:00Z --end-time 2026-08-24T04:58:00Z"
    )


def test_what_is_written_now_is_the_median_of_the_five_newest_minutes() -> None:
    """One minute that is missing half of its datapoints does not hide a writer, and one that is high does not make one."""
    risen = look(with_writers(replicated({0: 5, 55: 45}, {0: 5}), described=GLOBAL))
    assert "rose from 5 to 45" in risen.findings[0].text
    dipped = look(with_writers(replicated({0: 5, ONSET: 45, 57: 5}, {0: 5}), described=GLOBAL))
    assert "rose from 5 to 45" in dipped.findings[0].text


@pytest.mark.parametrize(
    ("theirs", "ours", "named"),
    [
        pytest.param({0: 5, ONSET: 25}, {0: 15, ONSET: 25}, True, id="half of what is consumed"),
        pytest.param({0: 5, ONSET: 24}, {0: 15, ONSET: 26}, False, id="less than half: this Region's own callers"),
        pytest.param({0: 20, ONSET: 40}, {0: 5, ONSET: 10}, True, id="it doubled"),
        pytest.param({0: 20.5, ONSET: 40}, {0: 5, ONSET: 10}, False, id="less than doubled: it always wrote so"),
        pytest.param({0: 40}, {0: 5, ONSET: 10}, False, id="it writes as ever"),
        pytest.param({}, {0: 15, ONSET: 50}, False, id="no datapoint of it"),
    ],
)
def test_another_region_is_named_from_half_of_the_writes_on_where_they_doubled(
    theirs: Steps, ours: Steps, named: bool
) -> None:
    found = look(with_writers(replicated(theirs, ours), described=GLOBAL))
    assert (found.writer is not None) is named
    assert found.cause is Cause.PROVISIONED_CAPACITY


def test_a_table_without_replicas_has_no_writer_in_another_region() -> None:
    found = look(with_writers(replicated({0: 5, ONSET: 45}, {0: 15, ONSET: 5}), described=settings("orders")))
    assert found.writer is None


def test_another_region_alone_writes_all_of_it() -> None:
    for customer in (None, rate({})):
        others = OtherWriters(replicated=rate({0: 5, ONSET: 45}), customer=customer)
        found = look(with_writers(others, described=GLOBAL))
        assert "100 % of all; this Region's own callers write 0." in found.findings[0].text


@pytest.mark.parametrize(
    ("minute", "named"),
    [
        pytest.param(43, False, id="began three minutes after the jump"),
        pytest.param(42, True, id="two minutes after: clocks differ"),
        pytest.param(25, True, id="a quarter of an hour before"),
        pytest.param(24, False, id="longer before"),
    ],
)
def test_a_bulk_operation_is_named_only_when_the_writes_jump_at_its_start(minute: float, named: bool) -> None:
    found = look(with_writers(bulk(minute), described=settings("orders")))
    assert (found.writer is not None) is named


def test_of_two_bulk_operations_the_nearer_is_named() -> None:
    far, near = (BulkOperation(arn=f"{ARN}{minute}", started_at=at(minute)) for minute in (30, 39))
    found = look(with_writers(OtherWriters(bulk=(far, near)), described=settings("orders")))
    assert found.writer is not None
    assert found.writer.name == f"{ARN}39"
    assert "began at 04:39 UTC and is in progress" in found.findings[0].text


@pytest.mark.parametrize(
    ("steps", "named"),
    [
        pytest.param({0: 30, ONSET: 60}, True, id="it doubled"),
        pytest.param({0: 31, ONSET: 60}, False, id="less than doubled"),
        pytest.param({0: 0, ONSET: 1}, True, id="one unit a second"),
        pytest.param({0: 0, ONSET: 0.9}, False, id="less: next to nothing"),
        pytest.param({0: 60}, False, id="busy all along"),
        pytest.param({0: 2, ONSET + 3: 60}, True, id="three minutes later"),
        pytest.param({0: 2, ONSET + 4: 60}, False, id="four minutes later"),
        pytest.param({0: 2, ONSET - 3: 60}, True, id="three minutes earlier"),
        pytest.param({0: 2, ONSET - 4: 60}, False, id="four minutes earlier"),
        pytest.param({0: 30, 35: 40, ONSET: 60}, True, id="busier for some minutes before, and then doubled"),
        pytest.param({0: 2, 36: 31, ONSET: 60}, False, id="half way up already four minutes before"),
        pytest.param({39: 2, ONSET: 60}, True, id="measured for a minute before"),
        pytest.param({38: 2, ONSET: 60}, True, id="measured for two minutes before"),
        pytest.param({ONSET: 60}, True, id="never written before"),
        pytest.param({}, False, id="no datapoint"),
    ],
)
def test_the_scheduler_is_named_only_where_its_own_table_rises_with_the_writes(steps: Steps, named: bool) -> None:
    found = look(with_writers(scheduler(steps)))
    assert (found.writer is not None) is named


def test_a_table_that_was_never_written_before_rises_from_nothing() -> None:
    assert "rose with it, from 0 to 60 consumed units" in look(with_writers(scheduler({ONSET: 60}))).findings[0].text


def test_a_schedules_table_that_was_not_read_names_nobody() -> None:
    assert look(with_writers(OtherWriters(schedules_table="dagy-schedules-develop"))).writer is None


def test_throttled_writes_without_a_reason_are_writes() -> None:
    reads = {(Way.READ, Throttle.PROVISIONED): {ONSET: 40.0}}
    mixed = unit(write={0: 20, ONSET: 45}, throttles=reads, unexplained={Way.WRITE: {ONSET: 60}})
    found = look(with_writers(scheduler({0: 2, ONSET: 60}), mixed))
    assert (found.cause, found.writer is not None) == (Cause.PROVISIONED_CAPACITY, True)


def test_a_running_backfill_that_explains_the_writes_goes_before_any_other_writer() -> None:
    found = look(with_writers(scheduler({0: 2, ONSET: 60}), backfills=[backfill()]))
    assert (found.cause, found.targets, found.writer) == (Cause.RUNAWAY_BACKFILL, ("bf-7f3a",), None)


def test_throttled_reads_have_no_runaway_writer() -> None:
    reads = unit(
        write={0: 20, ONSET: 45}, read={0: 40, ONSET: 100}, throttles={(Way.READ, Throttle.PROVISIONED): {ONSET: 900}}
    )
    assert look(with_writers(scheduler({0: 2, ONSET: 60}), reads)).writer is None


@pytest.mark.parametrize(("writes", "named"), [(50, True), (49, False)])
def test_half_of_the_throttles_must_be_writes(writes: float, named: bool) -> None:
    mixed = unit(
        write={0: 20, ONSET: 45},
        throttles={WRITE_SHORT: {ONSET: writes}, (Way.READ, Throttle.PROVISIONED): {ONSET: 100 - writes}},
    )
    assert (look(with_writers(scheduler({0: 2, ONSET: 60}), mixed)).writer is not None) is named


def test_a_load_that_did_not_jump_has_no_runaway_writer() -> None:
    found = look(with_writers(scheduler({0: 2, ONSET: 60}), flooded(before=301)))
    assert found.writer is None


@pytest.mark.parametrize(
    ("evidence", "cause"),
    [
        pytest.param(with_writers(bulk(38), burst(), described=ON_DEMAND), Cause.ON_DEMAND_RAMP, id="a ramp"),
        pytest.param(with_writers(bulk(38), burst()), Cause.HOT_KEY, id="a hot key: ordered writes"),
        pytest.param(
            with_writers(
                bulk(38), unit(), unit("by-status", throttles={WRITE_HOT: {ONSET: 40_000}}), described=INDEXED
            ),
            Cause.HOT_INDEX,
            id="a hot index",
        ),
        pytest.param(
            with_writers(
                bulk(38),
                unit(write={0: 20, ONSET: 500}, throttles={(Way.WRITE, Throttle.MAX_ON_DEMAND): {ONSET: 900}}),
                described=replace(ON_DEMAND, max_on_demand_write=500),
            ),
            Cause.ON_DEMAND_CEILING,
            id="a maximum somebody set",
        ),
    ],
)
def test_whatever_throttles_the_writer_is_named_instead_of_waiting_or_blaming_the_keys(
    evidence: TableEvidence, cause: Cause
) -> None:
    found = look(evidence)
    assert found.cause is cause
    assert found.writer is not None
    assert planned(evidence).action is Action.ESCALATE


def test_a_change_under_way_is_waited_for_whoever_writes() -> None:
    evidence = with_writers(bulk(38), described=settings("orders", status="UPDATING"))
    assert (look(evidence).writer, planned(evidence).action) == (None, Action.WAIT)


def test_where_none_is_named_it_says_which_were_looked_for() -> None:
    others = OtherWriters(
        customer=rate({0: 15, ONSET: 45}),
        replicated=rate({0: 5}),
        schedules_table="dagy-schedules-develop",
        schedules=rate({0: 3}),
        bulk=(),
    )
    found = look(with_writers(others, described=settings(replicas=("us-east-1",))))
    assert (
        "no running backfill explains it, other Regions write 5 units a second of it, the writes of dagy-schedules-develop "
        "did not rise with it, no bulk operation into the table began near 04:40 UTC: look for another writer, also in "
        "another Region (us-east-1)."
    ) in text(found)


def test_what_was_not_read_is_not_said_to_be_excluded() -> None:
    others = OtherWriters(schedules_table="dagy-schedules-develop", schedules=rate({}))
    found = look(with_writers(others, flooded(), described=settings(indexes=[index()])))
    assert "no running backfill explains it: look for another writer." in text(found)


def test_a_dagy_that_cannot_be_asked_leaves_a_gap_beside_the_writer_that_was_found() -> None:
    """The jump may be a backfill nobody could see, too; nothing is changed either way."""
    evidence = with_writers(scheduler({0: 2, ONSET: 60}), backfills=BackfillsUnknown(reason="it answered 503"))
    found = look(evidence)
    assert found.writer is not None
    assert "dagy could not be asked for running backfills: it answered 503." in found.gaps
    assert planned(evidence).changes == ()
