"""What is over, what cannot be seen, and what every diagnosis of a table carries."""

import shlex
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.causes.builders import (
    ONSET,
    at,
    every_five_minutes,
    index,
    nothing,
    points,
    series,
    settings,
    short_of_writes,
    table,
    unit,
)
from tests.causes.tables import (
    INDEXED,
    WRITE_HOT,
    WRITE_SHORT,
    blind,
    flooded,
    look,
)
from unthrottle.diagnosis import Cause, Confidence
from unthrottle.evidence.table import (
    Way,
)


@pytest.mark.parametrize(
    ("last", "cause"),
    [
        pytest.param(55, Cause.HOT_KEY, id="in the third newest visible minute"),
        pytest.param(54, Cause.ALREADY_OVER, id="9: four visible minutes ago, split for heat"),
    ],
)
def test_it_is_over_when_three_visible_minutes_had_no_throttle(last: int, cause: Cause) -> None:
    events = points(dict.fromkeys(range(52, last + 1), 30.0))
    found = look(table(unit(throttles={WRITE_HOT: events})))
    assert found.cause is cause


def test_no_throttles_at_all_are_over_where_consumption_was_measured() -> None:
    found = look(table(unit()))
    assert (found.cause, found.confidence) == (Cause.ALREADY_OVER, Confidence.HIGH)


def test_empty_answers_are_no_evidence_and_never_health() -> None:
    # 26
    found = look(table(blind(), blind(index="by-status"), described=INDEXED))
    assert (found.cause, found.confidence) == (Cause.INCONCLUSIVE, Confidence.LOW)
    assert found.gaps[0].startswith("No evidence: neither consumed capacity nor throttles of table dagy-runs-develop")


def test_an_unmeasured_index_the_alarm_is_about_is_not_healthy() -> None:
    evidence = table(unit(), blind(index="by-status"), described=INDEXED)
    assert look(replace(evidence, alarmed_index="by-status")).cause is Cause.INCONCLUSIVE
    found = look(evidence)
    assert (found.cause, found.confidence) == (Cause.ALREADY_OVER, Confidence.MEDIUM)
    assert "No consumed capacity was read of by-status" in found.gaps[0]


@pytest.mark.parametrize(
    ("minutes_old", "cause"),
    [pytest.param(10, Cause.PROVISIONED_CAPACITY, id="at"), pytest.param(11, Cause.INCONCLUSIVE, id="above")],
)
def test_datapoints_older_than_ten_minutes_are_not_acted_on(minutes_old: int, cause: Cause) -> None:
    evidence = table(short_of_writes())
    late = replace(evidence, end=at(57) + timedelta(minutes=minutes_old))
    found = look(late)
    assert found.cause is cause
    assert cause is not Cause.INCONCLUSIVE or "11 minutes old" in found.gaps[0]


def test_throttles_without_a_reason_are_real_and_unexplained() -> None:
    found = look(table(unit(unexplained={Way.WRITE: {ONSET: 30}})))
    assert found.cause is Cause.INCONCLUSIVE
    assert "AWS counted 300 throttle events without a reason." in found.gaps


def test_throttles_without_consumption_are_still_throttles() -> None:
    lost = unit(write={}, read={}, throttles={WRITE_SHORT: series({ONSET: 30})})
    found = look(table(lost))
    assert found.cause is Cause.PROVISIONED_CAPACITY
    assert "No consumed capacity was read of dagy-runs-develop" in " ".join(found.gaps)


def test_an_index_being_built_without_throttles_says_nothing() -> None:
    # 24
    found = look(table(unit(), described=settings(indexes=[index(status="CREATING")])))
    assert found.cause is Cause.ALREADY_OVER


def test_gaps_of_the_reading_stay_in_the_diagnosis() -> None:
    assert look(table(unit(), gaps=["Tags were refused."])).gaps == ("Tags were refused.",)


def test_provisioned_capacity_is_read_every_five_minutes() -> None:
    assert every_five_minutes({0: 50}).known == (50,) * 12
    assert nothing().is_empty


def test_every_finding_of_a_table_comes_with_a_command_that_shows_it() -> None:

    found = look(table(flooded(), described=settings("dagy-it's-develop")))
    assert found.findings
    for finding in found.findings:
        words = shlex.split(finding.check or "")
        assert words[0] == "aws"
        assert any("dagy-it's-develop" in word for word in words)
