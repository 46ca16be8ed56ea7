"""What a DynamoDB table serves, what it refuses and why, and how an index holds its table back."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

Rehearse = Callable[..., Any]

BURST = 300
TABLE = "orders"


def _table(write: float = 0, read: float = 0, **keys: object) -> dict[str, object]:
    given: dict[str, object] = {"name": TABLE, "demand": {"write": [[0, write]], "read": [[0, read]]}}
    if keys.get("billing", "provisioned") == "provisioned":
        given |= {"read": 100, "write": 50}
    return given | keys


def _causes(facts: Any, direction: str = "write", index: str | None = None) -> Mapping[str, float]:
    table = facts.tables[0]
    flow = getattr(table, direction) if index is None else getattr(table, f"index_{direction}")[index]
    return dict(flow.throttled)


def test_a_provisioned_table_spends_its_burst_before_it_throttles(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(write=100)])
    facts = world.run(7)
    assert [minute.throttled_tables for minute in facts] == [()] * 5 + [(TABLE,)] * 2
    assert _causes(facts[5]) == {"ProvisionedThroughput": 50}
    assert facts[5].tables[0].write.consumed == 50


def test_a_quiet_table_saves_five_minutes_of_capacity_and_no_more(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(demand={"write": [[0, 0], [100, 5050]]}, keys=100_000)])
    facts = world.run(103)
    consumed = [minute.tables[0].write.consumed for minute in facts[100:]]
    assert consumed == pytest.approx([50 + 50 * BURST / 60, 50, 50])


def test_reads_and_writes_have_their_own_capacity(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(write=10, read=700)])
    facts = world.run(3)
    assert _causes(facts[2], "read") == {"ProvisionedThroughput": 600}
    assert _causes(facts[2]) == {}


@pytest.mark.parametrize("mode", [{"billing": "on-demand"}, {"read": 100, "write": 20_000}])
def test_a_hot_key_is_refused_by_its_partition_in_either_mode(rehearse: Rehearse, mode: dict[str, object]) -> None:
    load = {"demand": {"write": [[0, 2000]]}, "keys": 1_000_000, "hot_key_share": 0.9}
    world = rehearse(tables=[{"name": TABLE} | load | mode])
    (facts,) = world.run()
    assert _causes(facts) == {"KeyRangeThroughput": pytest.approx(800, rel=1e-3)}
    assert facts.tables[0].write.consumed == pytest.approx(1200, rel=1e-3)


def test_a_partition_serves_three_thousand_reads(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(read=5000, keys=1, billing="on-demand")])
    (facts,) = world.run()
    assert facts.tables[0].read.consumed == 3000
    assert _causes(facts, "read") == {"KeyRangeThroughput": 2000}


def test_load_on_many_keys_is_not_held_back_by_partitions(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(write=3900, keys=1000, billing="on-demand")])
    (facts,) = world.run()
    assert facts.throttled_tables == ()


def test_a_ramp_beyond_twice_the_earlier_peak_is_a_key_range_throttle(rehearse: Rehearse) -> None:
    table = _table(demand={"write": [[0, 100], [10, 12_000]]}, keys=100_000, billing="on-demand")
    world = rehearse(history_minutes=60, tables=[table])
    facts = world.run(12)
    assert facts[9].throttled_tables == ()
    assert _causes(facts[10]) == {"KeyRangeThroughput": 8000}
    assert facts[10].tables[0].write.consumed == 4000


def test_an_on_demand_table_adapts_half_an_hour_after_a_new_peak(rehearse: Rehearse) -> None:
    table = _table(demand={"write": [[0, 100], [10, 12_000]]}, keys=100_000, billing="on-demand")
    world = rehearse(tables=[table])
    consumed = [minute.tables[0].write.consumed for minute in world.run(80)]
    assert consumed[40] == 4000
    assert consumed[41] == 8000
    assert consumed[72] == 12_000


def test_the_load_of_the_history_is_an_earlier_peak(rehearse: Rehearse) -> None:
    table = _table(demand={"write": [[0, 6000], [5, 11_900]]}, keys=100_000, billing="on-demand")
    world = rehearse(history_minutes=180, tables=[table])
    assert all(minute.throttled_tables == () for minute in world.run(10))


def test_the_owners_maximum_on_demand_is_its_own_cause(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(write=900, billing="on-demand", max_on_demand={"write": 500})])
    (facts,) = world.run()
    assert _causes(facts) == {"MaxOnDemandThroughput": 400}


def test_beyond_the_table_quota_the_account_limit_is_the_cause(rehearse: Rehearse) -> None:
    table = _table(demand={"write": [[0, 39_000], [1, 45_000]]}, keys=1_000_000, billing="on-demand")
    world = rehearse(history_minutes=60, tables=[table])
    facts = world.run(2)
    assert facts[0].throttled_tables == ()
    assert _causes(facts[1]) == {"AccountLimit": 5000}


def test_a_short_index_throttles_the_tables_writes_and_its_consumption_falls(rehearse: Rehearse) -> None:
    index = {"name": "by-status", "read": 10, "write": 20}
    world = rehearse(tables=[_table(write=40, indexes=[index])])
    facts = world.run(10)[-1]
    table = facts.tables[0]
    assert (table.write.consumed, table.index_write["by-status"].consumed) == (20, 20)
    assert _causes(facts) == {}
    assert _causes(facts, index="by-status") == {"ProvisionedThroughput": 20}
    assert table.refused_writes == 20


def test_a_hot_index_throttles_a_table_with_even_keys(rehearse: Rehearse) -> None:
    index = {"name": "by-status", "keys": 4, "hot_key_share": 0.8}
    world = rehearse(tables=[_table(write=3000, keys=100_000, billing="on-demand", indexes=[index])])
    (facts,) = world.run()
    assert _causes(facts) == {}
    assert _causes(facts, index="by-status") == {"KeyRangeThroughput": pytest.approx(1550)}
    assert facts.tables[0].write.consumed == pytest.approx(1450)


def test_writes_that_do_not_touch_a_short_index_go_through(rehearse: Rehearse) -> None:
    index = {"name": "sparse", "read": 10, "write": 1, "share": 0.1}
    world = rehearse(tables=[_table(write=40, indexes=[index])])
    facts = world.run(10)[-1]
    assert facts.tables[0].write.consumed == pytest.approx(40 - 3)


def test_reads_of_a_short_index_do_not_touch_the_table(rehearse: Rehearse) -> None:
    index = {"name": "by-day", "read": 10, "write": 50, "demand": {"read": [[0, 90]]}}
    world = rehearse(tables=[_table(read=50, indexes=[index])])
    facts = world.run(5)[-1]
    assert _causes(facts, "read", "by-day") == {"ProvisionedThroughput": 80}
    assert _causes(facts, "read") == {}


def test_a_backfill_adds_its_writes_while_it_runs(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(write=20)])
    world.backfills.planned.append(type("Running", (), {"start": 2, "end": 4, "writes": {TABLE: 180.0}})())
    consumed = [minute.tables[0].write.wanted for minute in world.run(5)]
    assert consumed == [20, 20, 200, 200, 20]


def test_while_a_switch_is_under_way_the_old_capacity_stays_in_force(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(write=200)])
    world.run(5)
    world.account.set_billing(TABLE, "on-demand", world.now)
    facts = world.run(4)
    assert [round(minute.tables[0].write.consumed) for minute in facts] == [50, 50, 50, 200]
    assert facts[3].throttled_tables == ()


def test_a_table_switched_to_on_demand_serves_four_thousand_writes_at_once(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(write=5000, keys=100_000)])
    world.account.set_billing(TABLE, "on-demand", world.now)
    facts = world.run(4)[-1]
    assert facts.tables[0].write.consumed == 4000
    assert _causes(facts) == {"KeyRangeThroughput": 1000}
