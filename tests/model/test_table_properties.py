"""For any load, keys and settings: what is wanted is consumed or throttled, and no capacity is exceeded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.aws.records import IndexRecord, TableRecord
from sandbox.model.tables import TableModel
from sandbox.scenario import TableSpec

MINUTES = 12
RATES = st.lists(st.floats(0, 9000, allow_nan=False), min_size=MINUTES, max_size=MINUTES)
SKEW = {"keys": st.integers(1, 5000), "hot_key_share": st.floats(0, 1)}
INDEXES = st.lists(st.fixed_dictionaries({"write": st.integers(1, 4000), "share": st.floats(0, 2), **SKEW}), max_size=3)
TABLES = st.fixed_dictionaries({"write": st.integers(1, 6000), **SKEW})


def _model(
    table: dict[str, float], indexes: list[dict[str, float]], rates: list[float], *, on_demand: bool
) -> tuple[TableModel, TableRecord]:
    capacity = {} if on_demand else {"read": 10}
    named = [
        {key: value for key, value in index.items() if not (on_demand and key == "write")}
        | {"name": f"index-{i}"}
        | capacity
        for i, index in enumerate(indexes)
    ]
    steps = [[minute, rate] for minute, rate in enumerate(rates)]
    given_table = {key: value for key, value in table.items() if not (on_demand and key == "write")}
    spec = TableSpec.model_validate(
        {"name": "any", "billing": "on-demand" if on_demand else "provisioned", "indexes": named}
        | {"demand": {"write": steps, "read": steps}}
        | given_table
        | capacity
    )
    record = TableRecord(name="any", arn="arn", billing=spec.billing, read=spec.read or 0, write=spec.write or 0)
    for index in spec.indexes:
        record.indexes[index.name] = IndexRecord(name=index.name, read=index.read or 0, write=index.write or 0)
    return TableModel(spec, MINUTES), record


@settings(max_examples=200, deadline=None)
@given(TABLES, INDEXES, RATES, st.booleans())
def test_what_is_wanted_is_consumed_or_throttled(
    table: dict[str, float], indexes: list[dict[str, float]], rates: list[float], on_demand: bool
) -> None:
    model, record = _model(table, indexes, rates, on_demand=on_demand)
    for minute in range(MINUTES):
        result = model.tick(minute, record)
        by_table = sum(result.write.throttled.values())
        by_indexes = result.refused_writes - by_table
        assert result.write.wanted == rates[minute]
        assert by_indexes >= -1e-6
        if not indexes:
            assert by_indexes == pytest.approx(0, abs=1e-6)
        assert (by_indexes > 1e-6) <= any(flow.throttled for flow in result.index_write.values())
        assert result.read.consumed + sum(result.read.throttled.values()) == pytest.approx(result.read.wanted)
        assert result.write.consumed >= -1e-9


@settings(max_examples=200, deadline=None)
@given(TABLES, INDEXES, RATES)
def test_a_provisioned_resource_never_serves_more_than_its_capacity_and_burst(
    table: dict[str, float], indexes: list[dict[str, float]], rates: list[float]
) -> None:
    model, record = _model(table, indexes, rates, on_demand=False)
    results = [model.tick(minute, record) for minute in range(MINUTES)]
    budgets = {None: record.write} | {name: index.write for name, index in record.indexes.items()}
    for name, capacity in budgets.items():
        used = [r.write.consumed if name is None else r.index_write[name].consumed for r in results]
        assert sum(used) * 60 <= capacity * (60 * MINUTES + 300) + 1e-3


@settings(max_examples=100, deadline=None)
@given(TABLES, INDEXES, RATES, st.booleans())
def test_an_index_consumes_its_share_of_what_the_table_accepts(
    table: dict[str, float], indexes: list[dict[str, float]], rates: list[float], on_demand: bool
) -> None:
    model, record = _model(table, indexes, rates, on_demand=on_demand)
    for minute in range(MINUTES):
        result = model.tick(minute, record)
        for index in model.spec.indexes:
            assert result.index_write[index.name].consumed <= result.write.consumed * index.share + 1e-6
