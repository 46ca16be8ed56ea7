"""What Application Auto Scaling does to a provisioned table while it is loaded."""

from collections.abc import Callable
from typing import Any

Rehearse = Callable[..., Any]


def _table(steps: list[list[int]], **keys: object) -> dict[str, object]:
    scaling = {"autoscaling": {"write": {"min": 50, "max": 200, "target": 70}}}
    return {"name": "orders", "read": 100, "write": 50, "demand": {"write": steps}} | scaling | keys


def test_two_minutes_above_the_target_scale_out(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table([[0, 45]])])
    world.run(4)
    record = world.account.tables["orders"]
    assert record.write == 65
    assert [activity.description for activity in record.activities] == ["Setting write capacity units to 65."]


def test_scaling_out_stops_at_the_maximum_and_says_so(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table([[0, 400]])])
    world.run(20)
    record = world.account.tables["orders"]
    assert record.write == 200
    refused = [activity for activity in record.activities if activity.not_scaled]
    assert {activity.not_scaled for activity in refused} == {"AlreadyAtMaxCapacity"}
    assert len(refused) <= 4


def test_a_quiet_table_is_scaled_in_only_after_a_quarter_of_an_hour(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table([[0, 100], [60, 10]], write=180)])
    world.run(60)
    assert world.account.tables["orders"].write < 180
    high = world.account.tables["orders"].write
    world.run(14)
    assert world.account.tables["orders"].write == high
    world.run(3)
    assert world.account.tables["orders"].write == 50


def test_a_value_set_by_hand_on_a_table_that_does_not_need_it_is_taken_back(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table([[0, 10]])])
    world.run(5)
    world.account.set_capacity("orders", world.now, write=150)
    world.run(5)
    assert world.account.tables["orders"].write == 50
    assert len(world.account.tables["orders"].decreases) == 1


def test_an_on_demand_table_is_left_alone(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table([[0, 400]])])
    world.account.set_billing("orders", "on-demand", world.now)
    world.run(20)
    assert world.account.tables["orders"].activities == []


def test_a_table_without_targets_is_left_alone(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table([[0, 400]], autoscaling=None)])
    world.run(20)
    assert world.account.tables["orders"].write == 50
