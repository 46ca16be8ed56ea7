"""The table and the charts show what was measured, and a gap is never drawn as zero."""

import json
from dataclasses import asdict, replace

from tests.report.samples import (
    HOG,
    OPENED,
    hot_index,
    pool_evidence,
    pool_hog,
    provisioned_capacity,
    series,
    table_evidence,
)
from unthrottle.diagnosis import Diagnosis
from unthrottle.evidence.series import empty
from unthrottle.evidence.table import Billing
from unthrottle.incident import Incident
from unthrottle.report import drawing
from unthrottle.report.moments import Step, message
from unthrottle.report.picture import Chart, Line, Picture, picture_of


def diagnosis_of(incident: Incident) -> Diagnosis:
    assert incident.diagnosis is not None
    return incident.diagnosis


def pool() -> Picture:
    return picture_of(pool_evidence(), diagnosis_of(pool_hog()))


def drawn(picture: Picture) -> list[dict[str, object]]:
    return drawing.charts(picture)


def test_functions_are_sorted_by_concurrency_with_throttles_and_role_beside_it() -> None:
    assert [(row.name, *row.cells) for row in pool().rows] == [
        (HOG, "841", "7", "HOG"),
        ("svc-orders", "31", "–", "bystander"),
        ("svc-uat-pipe-002", "6", "418", "victim"),
        ("svc-uat-pipe-001", "–", "614", "victim"),
    ]


def test_rows_that_are_not_shown_are_counted() -> None:
    assert pool().left_out == 26


def test_a_picture_is_small_and_can_be_stored_as_json() -> None:
    for picture in (pool(), picture_of(table_evidence(), diagnosis_of(provisioned_capacity()))):
        assert len(json.dumps(asdict(picture))) < 6000


def test_the_concurrency_chart_shows_the_cap_as_a_level_line() -> None:
    told = message(pool_hog(), Step.DIAGNOSED, number=2, picture=pool())
    chart = next(block for block in told.blocks if block["type"] == "data_visualization")
    lines = {line["name"]: [point["value"] for point in line["data"]] for line in chart["chart"]["series"]}  # type: ignore[index]
    assert lines["cap 250"] == [250.0] * 7
    assert lines["pool in use"] == [100, 102, 130, 420, 760, 970, 971]


def test_throttles_without_a_datapoint_are_zero_only_where_the_work_was_measured() -> None:
    throttles = pool().charts[1].lines[0].values
    assert throttles == (0.0, 0.0, 0.0, 0.0, 12, 800, 812)


def test_a_minute_with_a_gap_is_left_out_of_the_chart() -> None:
    one = pool_evidence()
    gap = replace(one, unreserved_in_use=series(100, 102, None, 420, 760, 970, 971, None))
    chart = drawn(picture_of(gap, diagnosis_of(pool_hog())))[0]
    assert "04:27" not in chart["chart"]["axis_config"]["categories"]  # type: ignore[index]


def test_nothing_measured_is_no_chart_and_no_table_of_zeros() -> None:
    nothing = empty(pool_evidence().start, OPENED)
    blind = replace(
        pool_evidence(),
        concurrency=nothing,
        unreserved_in_use=nothing,
        throttles=nothing,
        invocations=nothing,
        ranking=(),
        throttled=(),
    )
    picture = picture_of(
        blind, Diagnosis(cause=diagnosis_of(pool_hog()).cause, confidence=diagnosis_of(pool_hog()).confidence)
    )
    assert picture.rows == ()
    assert drawn(picture) == []
    assert drawing.table(picture) == []


def test_a_table_is_shown_reads_and_writes_apart_with_its_capacity() -> None:
    picture = picture_of(table_evidence(), diagnosis_of(provisioned_capacity()))
    assert [(row.name, *row.cells) for row in picture.rows] == [
        ("write, by-status", "50", "50", "22,600"),
        ("write, table", "50", "50", "22,600"),
        ("read, by-status", "40", "100", "0"),
        ("read, table", "40", "100", "0"),
    ]


def test_consumed_is_drawn_a_second_against_provisioned_and_throttles_by_their_cause() -> None:
    capacity, throttles = picture_of(table_evidence(), diagnosis_of(provisioned_capacity())).charts
    assert {line.name: line.values for line in capacity.lines} == {
        "consumed": (20.0, 20.0, 50.0, 50.0, 50.0, 40.0)[:5] + capacity.lines[0].values[5:],
        "provisioned": (50.0,) * len(capacity.labels),
    }
    assert [line.name for line in throttles.lines] == ["ProvisionedThroughput"]


def test_the_index_at_fault_is_the_one_drawn() -> None:
    assert "index by-status" in picture_of(table_evidence(), diagnosis_of(hot_index())).charts[0].title


def test_an_on_demand_table_has_no_provisioned_line() -> None:
    one = table_evidence()
    on_demand = replace(one, settings=replace(one.settings, billing=Billing.ON_DEMAND))
    picture = picture_of(on_demand, diagnosis_of(hot_index()))
    assert [line.name for line in picture.charts[0].lines] == ["consumed"]
    assert all(row.cells[1] == "–" for row in picture.rows)


def test_names_cut_to_the_same_length_stay_apart_in_a_chart() -> None:
    chart = pool().charts[0]
    twins = tuple(replace(chart.lines[0], name=f"{'x' * 30}{middle}{'y' * 30}") for middle in "abc")
    block = drawn(replace(pool(), charts=(replace(chart, lines=twins),)))[0]
    names = [line["name"] for line in block["chart"]["series"]]  # type: ignore[index]
    assert len(set(names)) == 3
    assert all(len(name) <= 20 for name in names)


def test_a_chart_shows_the_last_twelve_minutes_since_more_times_run_into_each_other() -> None:
    labels = tuple(f"04:{minute:02d}" for minute in range(20))
    line = Line(name="pool in use", values=tuple(map(float, range(20))))
    chart = Chart(kind="concurrency", title="Concurrency", unit="executions", labels=labels, lines=(line,))
    (drawn,) = drawing.charts(Picture(columns=(), rows=(), charts=(chart,)))
    assert drawn["chart"]["axis_config"]["categories"] == list(labels[-12:])  # type: ignore[index]
    assert [point["value"] for point in drawn["chart"]["series"][0]["data"]] == list(line.values[-12:])  # type: ignore[index]
