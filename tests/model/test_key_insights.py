"""What Contributor Insights tells of keys: which rules there are, whose keys they count, and what they leave out."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

Rehearse = Callable[..., Any]

HOT = {"keys": 100_000, "hot_key_share": 0.9}


def _table(**keys: object) -> dict[str, object]:
    return {"name": "orders", "billing": "on-demand", "demand": {"write": [[0, 2000]]}} | keys


def _report(
    world: Any, mark: str, resource: str = "orders", *, most: int = 25, minutes: int = 60
) -> dict[str, float] | None:
    start = world.scenario.start
    given = {
        "RuleName": f"DynamoDBContributorInsights-{mark}-{resource}-20260101000000",
        "StartTime": start,
        "EndTime": start + timedelta(minutes=minutes),
        "MaxContributorCount": most,
    }
    found = world.store.rule_report(given)
    if found is None:
        return None
    assert found["AggregateValue"] >= sum(one["ApproximateAggregateValue"] for one in found["Contributors"]) - 1e-6
    return {one["Keys"][0]: one["ApproximateAggregateValue"] for one in found["Contributors"]}


@pytest.mark.parametrize(
    ("mode", "marks", "named"),
    [
        ("accessed-and-throttled", ["PKC", "PKT"], "ACCESSED_AND_THROTTLED_KEYS"),
        ("throttled", ["PKT"], "THROTTLED_KEYS"),
    ],
)
def test_each_mode_has_its_rules(rehearse: Rehearse, mode: str, marks: list[str], named: str) -> None:
    world = rehearse(tables=[_table(contributor_insights=mode)])
    told = world.account.contributor_insights("orders", None)
    assert (told["ContributorInsightsStatus"], told["ContributorInsightsMode"]) == ("ENABLED", named)
    assert [rule.split("-")[1] for rule in told["ContributorInsightsRuleList"]] == marks


def test_a_table_and_its_indexes_are_enabled_apart(rehearse: Rehearse) -> None:
    index = {"name": "by-day", "contributor_insights": "throttled"}
    world = rehearse(tables=[_table(indexes=[index, {"name": "by-status"}])])
    statuses = [
        world.account.contributor_insights("orders", name)["ContributorInsightsStatus"]
        for name in (None, "by-day", "by-status")
    ]
    assert statuses == ["DISABLED", "ENABLED", "DISABLED"]
    assert _report(world, "PKT") is None


def test_a_hot_key_is_the_throttled_one_and_the_most_accessed(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(contributor_insights="accessed-and-throttled", **HOT)])
    world.run(10)
    throttled, accessed = _report(world, "PKT"), _report(world, "PKC")
    assert throttled is not None
    assert accessed is not None
    assert list(throttled) == ["customer-000001"]
    # Minutes 0 to 7 are shown, two are late; three write units for each consumed one of the partition's 1,000.
    assert accessed["customer-000001"] == pytest.approx(8 * 60 * 3 * 1000, rel=0.01)
    assert throttled["customer-000001"] == pytest.approx(8 * 60 * 800, rel=0.01)


def test_even_keys_share_alike_and_at_most_so_many_are_listed(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(contributor_insights="accessed-and-throttled", keys=100)])
    world.run(5)
    found, few = _report(world, "PKC"), _report(world, "PKC", most=3)
    assert found is not None
    assert few is not None
    assert (len(found), len(few)) == (25, 3)
    assert len(set(found.values())) == 1


def test_writes_that_an_index_throttles_are_nobodys_throttled_keys(rehearse: Rehearse) -> None:
    index = {"name": "by-status", "contributor_insights": "accessed-and-throttled", "keys": 6, "hot_key_share": 0.9}
    world = rehearse(tables=[_table(contributor_insights="accessed-and-throttled", keys=100_000, indexes=[index])])
    world.run(10)
    assert _report(world, "PKT", "orders-by-status") == {}
    assert _report(world, "PKT") == {}
    accessed = _report(world, "PKC", "orders-by-status")
    assert accessed is not None
    assert max(accessed, key=lambda key: accessed[key]) == "customer-000001"


def test_throttled_reads_of_an_index_are_counted(rehearse: Rehearse) -> None:
    index = {"name": "by-status", "read": 10, "write": 9000, "contributor_insights": "throttled", "keys": 4}
    index |= {"demand": {"read": [[0, 100]]}}
    world = rehearse(tables=[_table(billing="provisioned", read=100, write=9000, keys=100_000, indexes=[index])])
    world.run(10)
    found = _report(world, "PKT", "orders-by-status")
    assert found is not None
    assert len(found) == 4


def test_a_report_holds_the_minutes_that_were_asked_for(rehearse: Rehearse) -> None:
    world = rehearse(tables=[_table(contributor_insights="throttled", **HOT)])
    world.run(10)
    short, whole = _report(world, "PKT", minutes=3), _report(world, "PKT")
    assert short is not None
    assert whole is not None
    assert whole["customer-000001"] == pytest.approx(short["customer-000001"] / 3 * 8)
