"""A value that becomes JSON becomes the same value again."""

import dataclasses
import json
import types
import typing
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unthrottle.codec import from_json, to_json
from unthrottle.diagnosis import Diagnosis
from unthrottle.errors import BadInput
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import TableEvidence
from unthrottle.incident import Incident
from unthrottle.plan import Plan
from unthrottle.subjects import FunctionSubject, PoolSubject, Subject, TableSubject

NOW = datetime(2026, 6, 1, 10, 0, 0, 123456, tzinfo=UTC)

_LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=12),
    int: st.integers(-(10**12), 10**12),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    object: st.integers() | st.text(max_size=5),
    types.NoneType: st.none(),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Generate any value of one of our types, from its annotations."""
    if kind in _LEAVES:
        return _LEAVES[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in {typing.Union, types.UnionType}:
        return st.one_of([values_of(argument) for argument in arguments])
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(values_of(argument) for argument in arguments))
    if origin is dict:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=2)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{field.name: _later(hints[field.name]) for field in dataclasses.fields(kind)})


@cache
def _later(kind: Any) -> st.SearchStrategy[Any]:
    return st.deferred(lambda: values_of(kind))


@pytest.mark.parametrize("kind", [Incident, Plan, Diagnosis, TableEvidence, PoolEvidence])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_every_record_survives_json(kind: type[Any], data: st.DataObject) -> None:
    value = data.draw(values_of(kind))

    text = json.dumps(to_json(value), allow_nan=False)

    assert from_json(kind, json.loads(text)) == value


@pytest.mark.parametrize(
    "subject",
    [TableSubject(table="t"), TableSubject(table="t", index="i"), FunctionSubject(function="f"), PoolSubject()],
)
def test_a_union_is_told_apart_by_its_kind(subject: Subject) -> None:
    union: Any = Subject

    assert from_json(union, to_json(subject)) == subject


@pytest.mark.parametrize(
    ("kind", "value"), [(type(None), None), (int, 3), (str, "x"), (dict[str, int], {"a": 1}), (list[str], ["a"])]
)
def test_plain_values_are_themselves(kind: type[Any], value: object) -> None:
    assert from_json(kind, to_json(value)) == value


def test_fields_of_a_newer_version_are_ignored_and_missing_ones_take_their_defaults() -> None:
    written = {"start": NOW.isoformat(), "period_s": 60, "values": [1.0, None], "mood": "calm"}

    assert from_json(Series, written) == Series(start=NOW, period_s=60, values=(1.0, None))
    assert from_json(TableSubject, {"table": "t"}) == TableSubject(table="t")


@pytest.mark.parametrize("broken", [{"period_s": 60}, {"start": "soon", "period_s": 60, "values": []}, [], None, "x"])
def test_what_is_no_such_value_says_so_and_where(broken: object) -> None:
    with pytest.raises(BadInput, match="Cannot read this as Series"):
        from_json(Series, broken)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_never_written(number: float) -> None:
    with pytest.raises(ValueError, match="missing number is None"):
        to_json(Series(start=NOW, period_s=60, values=(number,)))


def test_a_time_without_a_zone_is_never_written() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        to_json(datetime(2026, 6, 1))  # noqa: DTZ001  # that is the point


@pytest.mark.parametrize("thing", [object(), {1: "x"}, {1, 2}, b"bytes", Incident])
def test_things_without_a_json_form_are_a_programming_error(thing: object) -> None:
    with pytest.raises(TypeError, match="JSON"):
        to_json(thing)
