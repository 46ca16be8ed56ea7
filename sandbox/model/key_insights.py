"""What does Contributor Insights tell of a table's keys?

AWS facts kept (DynamoDB guide, "Contributor Insights: how it works"; DynamoDB API): rules named
`DynamoDBContributorInsights-PKC-...` (accessed partition keys) and `-PKT-` (throttled ones), the throttled-keys mode with the
second alone; the table and each index enabled apart; a value of PKC is three times the write units and the read units; at
most 25 contributors; and the blind spot: writes that an index throttles are counted nowhere among throttled keys. Beliefs:
keys are even but for the hot one, a minute shows as late as a metric does, and the rule's stamp is that of enabling.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sandbox.model.tables import Flow, TableMinute
from sandbox.scenario.format import IndexSpec, InsightsMode, TableSpec

MOST_CONTRIBUTORS = 25
KEPT_MINUTES = 24 * 60
_ENABLED = "20260101000000"
_OTHERS = ""
"""What the keys beyond those that can be listed did together."""

Where = tuple[str, str | None]


class KeyInsights:
    """Remembers what the keys of enabled tables and indexes did, minute by minute, and reports it by rule."""

    def __init__(self, tables: Sequence[TableSpec], start: datetime, *, delay_minutes: int) -> None:
        self._start, self._delay = start, delay_minutes
        units: dict[Where, TableSpec | IndexSpec] = {(table.name, None): table for table in tables}
        units |= {(table.name, index.name): index for table in tables for index in table.indexes}
        self._units = {where: unit for where, unit in units.items() if unit.contributor_insights != "off"}
        self._rules = {
            rule: (where, mark)
            for where, unit in self._units.items()
            for mark, rule in rules(where, unit.contributor_insights)
        }
        self._seen: dict[str, list[TableMinute]] = {table: [] for table, _ in self._units}

    def record(self, minute: TableMinute) -> None:
        """Remember a minute of a table whose keys are watched."""
        kept = self._seen.get(minute.name)
        if kept is not None:
            kept.append(minute)
            del kept[:-KEPT_MINUTES]

    def describe(self, table: str, index: str | None) -> Mapping[str, Any]:
        """Answer DescribeContributorInsights."""
        unit = self._units.get((table, index))
        if unit is None:
            return {"ContributorInsightsStatus": "DISABLED"}
        mode = unit.contributor_insights
        return {
            "ContributorInsightsStatus": "ENABLED",
            "ContributorInsightsRuleList": [rule for _, rule in rules((table, index), mode)],
            "ContributorInsightsMode": "THROTTLED_KEYS" if mode == "throttled" else "ACCESSED_AND_THROTTLED_KEYS",
        }

    def report(self, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Answer GetInsightRuleReport from its parameters; None for a rule that is not there."""
        found = self._rules.get(str(given["RuleName"]))
        if found is None:
            return None
        (table, index), mark = found
        start, end = given["StartTime"], given["EndTime"]
        minutes = self._seen[table]
        newest = minutes[-1].minute - self._delay if minutes else 0
        total: dict[str, float] = {}
        for one in minutes:
            if one.minute <= newest and start <= self._start + timedelta(minutes=one.minute) < end:
                for key, value in _values(self._units[table, index], one, index, mark).items():
                    total[key] = total.get(key, 0.0) + value
        most = min(int(given.get("MaxContributorCount") or 10), MOST_CONTRIBUTORS)
        named = [key for key in total if total[key] > 0 and key != _OTHERS]
        top = sorted(named, key=lambda key: (-total[key], key))
        return {
            "KeyLabels": ["pk"],
            "AggregationStatistic": "Sum",
            "AggregateValue": sum(total.values()),
            "ApproximateUniqueCount": len(top),
            "Contributors": [
                {"Keys": [key], "ApproximateAggregateValue": total[key], "Datapoints": []} for key in top[:most]
            ],
        }


def rules(where: Where, mode: InsightsMode) -> list[tuple[str, str]]:
    """Name the rules of a table or index by what they count: accessed keys (PKC) and throttled ones (PKT)."""
    table, index = where
    resource = table if index is None else f"{table}-{index}"
    marks = ("PKT",) if mode == "throttled" else ("PKC", "PKT")
    return [(mark, f"DynamoDBContributorInsights-{mark}-{resource}-{_ENABLED}") for mark in marks]


def _values(unit: TableSpec | IndexSpec, minute: TableMinute, index: str | None, mark: str) -> dict[str, float]:
    nothing = Flow(wanted=0, consumed=0)
    write = minute.write if index is None else minute.index_write.get(index, nothing)
    read = minute.read if index is None else minute.index_read.get(index, nothing)
    if mark == "PKC":
        return _added(_spread(unit, write, 3 * write.consumed), _spread(unit, read, read.consumed))
    flows = [write, read] if index is None else [read]  # an index's refused writes are counted nowhere
    found: dict[str, float] = {}
    for flow in flows:
        for cause, rate in flow.throttled.items():
            hot = cause == "KeyRangeThroughput" and unit.hot_key_share > 0
            found = _added(found, {_key(0): rate * 60} if hot else _spread(unit, flow, rate))
    return found


def _spread(unit: TableSpec | IndexSpec, flow: Flow, amount: float) -> dict[str, float]:
    """Spread units a second over the keys for a minute: what the hot key was refused is not its."""
    if amount <= 0 or flow.wanted <= 0:
        return {}
    even = flow.wanted * (1 - unit.hot_key_share) / unit.keys
    hot = flow.wanted * unit.hot_key_share + even
    if unit.hot_key_share > 0:
        hot = max(0.0, hot - flow.throttled.get("KeyRangeThroughput", 0.0))
    whole = hot + even * (unit.keys - 1)
    shown = min(unit.keys, MOST_CONTRIBUTORS)
    found = {_key(0): hot} | {_key(number): even for number in range(1, shown)}
    if unit.keys > shown:
        found[_OTHERS] = even * (unit.keys - shown)
    return {key: value / whole * amount * 60 for key, value in found.items()}


def _added(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {key: one.get(key, 0.0) + other.get(key, 0.0) for key in one | other}


def _key(number: int) -> str:
    return f"customer-{number + 1:06d}"
