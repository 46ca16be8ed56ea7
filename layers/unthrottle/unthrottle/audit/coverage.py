"""What would no alarm see, and which tags contradict each other? Pure: an inventory in, exposures out."""

import re
from collections.abc import Iterator, Mapping, Sequence

from unthrottle.audit import fixes
from unthrottle.audit.exposures import Exposure, Kind, Severity, owner_of
from unthrottle.audit.inventory import AlarmFacts, Inventory
from unthrottle.evidence.table import Way
from unthrottle.settings import Mode, Settings

EARLY = 0.8
_WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)
_NAMED = re.compile(r"\b(TableName|FunctionName)\s*=\s*['\"]([^'\"]+)['\"]")
_YES, _NO = {"true", "yes", "1"}, {"false", "no", "0", ""}


def unwatched(inventory: Inventory) -> Iterator[Exposure]:
    """Name what would be throttled without an alarm. One alarm over a query covers all of a kind."""
    alarms = inventory.alarms
    if alarms is None:
        return
    if inventory.tables:
        for way in Way:
            yield from _tables(inventory, alarms, way)
            yield from _indexes(inventory, alarms, way)
    if inventory.functions and inventory.concurrency is not None:
        names = [function.name for function in inventory.functions]
        yield from _functions(inventory.concurrency.limit, alarms, names)


def _throttles(way: Way) -> tuple[str, ...]:
    name = way.value.capitalize()
    return (
        f"{name}ThrottleEvents",
        f"{name}ProvisionedThroughputThrottleEvents",
        f"{name}KeyRangeThroughputThrottleEvents",
    )


def _is_fleet(alarm: AlarmFacts, names: Sequence[str], *, index: bool) -> bool:
    query = alarm.expression
    grouped = re.search(r"GROUP\s+BY(.*)", query, re.IGNORECASE | re.DOTALL)
    if not query.lstrip().upper().startswith("SELECT") or grouped is None or "AWS/DynamoDB" not in query:
        return False
    if _WHERE.search(query):  # it watches some of them, and which ones is told by its names only
        return False
    return any(f"({name})" in query for name in names) and ("GlobalSecondaryIndexName" in grouped[1]) is index


def _tables(inventory: Inventory, alarms: Sequence[AlarmFacts], way: Way) -> Iterator[Exposure]:
    names = _throttles(way)
    if any(_is_fleet(alarm, names, index=False) for alarm in alarms):
        return
    seen = {
        alarm.dimensions.get("TableName")
        for alarm in alarms
        if alarm.namespace == "AWS/DynamoDB"
        and alarm.metric in {*names, "ThrottledRequests"}
        and "GlobalSecondaryIndexName" not in alarm.dimensions
    } | _named(alarms, "TableName", names)
    blind = [table.settings.name for table in inventory.tables if table.settings.name not in seen]
    if blind:
        query = f'SELECT SUM({names[0]}) FROM SCHEMA("AWS/DynamoDB", TableName) GROUP BY TableName ORDER BY SUM() DESC'
        yield _blind(
            f"{way.value}s of {_count(len(blind), 'table', 'tables')}", blind, f"table-{way.value}-throttles", query
        )


def _indexes(inventory: Inventory, alarms: Sequence[AlarmFacts], way: Way) -> Iterator[Exposure]:
    names = _throttles(way)
    if any(_is_fleet(alarm, names, index=True) for alarm in alarms):
        return
    seen = {
        (alarm.dimensions.get("TableName"), alarm.dimensions.get("GlobalSecondaryIndexName"))
        for alarm in alarms
        if alarm.namespace == "AWS/DynamoDB" and alarm.metric in names
    }
    blind = [
        f"{table.settings.name}/{index.name}"
        for table in inventory.tables
        for index in table.settings.indexes
        if (table.settings.name, index.name) not in seen
    ]
    if blind:
        query = (
            f'SELECT SUM({names[0]}) FROM SCHEMA("AWS/DynamoDB", TableName, GlobalSecondaryIndexName) '
            "GROUP BY TableName, GlobalSecondaryIndexName ORDER BY SUM() DESC"
        )
        yield _blind(
            f"{way.value}s of {_count(len(blind), 'index', 'indexes')}", blind, f"index-{way.value}-throttles", query
        )


def _named(alarms: Sequence[AlarmFacts], dimension: str, metrics: Sequence[str]) -> set[str | None]:
    """Return the names that the WHERE of a query over one of the metrics spells out."""
    return {
        name
        for alarm in alarms
        if any(f"({metric})" in alarm.expression for metric in metrics)
        for key, name in _NAMED.findall(alarm.expression)
        if key == dimension
    }


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


def _blind(what: str, names: Sequence[str], alarm: str, query: str) -> Exposure:
    return Exposure(
        kind=Kind.NOT_WATCHED,
        severity=Severity.MEDIUM,
        resource=alarm,
        title=f"No alarm sees throttled {what}",
        risk="Nobody, Unthrottle included, hears of it before users do.",
        evidence=(f"No metric alarm watches them: {_some(names)}.",),
        fix=fixes.fleet_alarm(f"unthrottle-{alarm}", query),
        weight=float(len(names)),
    )


def _functions(limit: int, alarms: Sequence[AlarmFacts], names: Sequence[str]) -> Iterator[Exposure]:
    of_account = [
        alarm for alarm in alarms if alarm.namespace == "AWS/Lambda" and not alarm.dimensions and not alarm.expression
    ]
    fleet = any(
        "AWS/Lambda" in alarm.expression and "(Throttles)" in alarm.expression and not _WHERE.search(alarm.expression)
        for alarm in alarms
    )
    seen = {
        alarm.dimensions.get("FunctionName")
        for alarm in alarms
        if alarm.namespace == "AWS/Lambda" and alarm.metric == "Throttles"
    } | _named(alarms, "FunctionName", ("Throttles",))
    blind = [name for name in names if name not in seen]
    if blind and not fleet and not any(alarm.metric == "Throttles" for alarm in of_account):
        yield Exposure(
            kind=Kind.NOT_WATCHED,
            severity=Severity.MEDIUM,
            resource="lambda-throttles",
            title=f"No alarm sees throttled {_count(len(blind), 'function', 'functions')} of the account",
            risk="A used-up pool shows at the victims only, and each of them would need an alarm of its own.",
            evidence=(
                "No alarm watches AWS/Lambda Throttles without a dimension, or a query over all functions.",
                f"None watches these: {_some(blind)}.",
            ),
            fix=fixes.account_alarm("unthrottle-lambda-throttles", "Throttles", "Sum", 0),
            weight=1e6,
        )
    early = [
        alarm
        for alarm in of_account
        if alarm.metric in {"ConcurrentExecutions", "UnreservedConcurrentExecutions", "ClaimedAccountConcurrency"}
        and alarm.threshold is not None
    ]
    useful = [alarm for alarm in early if (alarm.threshold or 0) < limit]
    if not useful:
        found = (
            f"{early[0].name} stands at {early[0].threshold:,.0f}, and the limit is {limit:,}: it can never fire."
            if early
            else "No alarm watches the account's ConcurrentExecutions."
        )
        yield Exposure(
            kind=Kind.NOT_WATCHED,
            severity=Severity.LOW,
            resource="lambda-concurrency",
            title="Nothing warns before the pool is used up",
            risk="The first sign of a full pool is a throttled function.",
            evidence=(found,),
            fix=fixes.account_alarm(
                "unthrottle-lambda-concurrency", "ConcurrentExecutions", "Maximum", round(EARLY * limit)
            ),
        )


def contradictions(inventory: Inventory, settings: Settings, owner_tags: Sequence[str]) -> Iterator[Exposure]:
    """Name tags that cannot both be meant, or that nobody can read."""
    for function in inventory.functions:
        for key, found in _conflicts(function.tags, settings, function.reserved):
            yield _tagged(
                function.name, function.arn, key, found, owner_of(function.tags, owner_tags), is_function=True
            )
    for table in inventory.tables:
        for key, found in _conflicts(table.tags, settings, None):
            name, arn = table.settings.name, table.settings.arn
            yield _tagged(name, arn, key, found, owner_of(table.tags, owner_tags), is_function=False)


def _conflicts(tags: Mapping[str, str], settings: Settings, reserved: int | None) -> Iterator[tuple[str, str]]:
    prefix = settings.tag_prefix
    mode = tags.get(f"{prefix}:mode")
    protected = tags.get(f"{prefix}:protected")
    most = tags.get(f"{prefix}:max-concurrency")
    if mode is not None and mode.strip().lower() not in set(Mode):
        yield f"{prefix}:mode", f"{prefix}:mode is {mode!r}, which is none of {', '.join(Mode)}; it counts as dry-run."
    if protected is not None and protected.strip().lower() not in _YES | _NO:
        yield f"{prefix}:protected", f"{prefix}:protected is {protected!r}; whatever is not false protects."
    is_protected = protected is not None and protected.strip().lower() not in _NO
    if is_protected and mode is not None and mode.strip().lower() in {Mode.AUTO, Mode.APPROVE}:
        yield f"{prefix}:mode", f"{prefix}:protected forbids every change, {prefix}:mode {mode} asks for them."
    if most is not None:
        number = int(most) if most.strip().isascii() and most.strip().isdigit() else None
        if number is None or number < 1:
            yield (
                f"{prefix}:max-concurrency",
                f"{prefix}:max-concurrency is {most!r}, not a whole number from 1; it is ignored.",
            )
        elif reserved is not None and reserved > number:
            yield (
                f"{prefix}:max-concurrency",
                f"{prefix}:max-concurrency allows {number:,}, but {reserved:,} are reserved for it.",
            )


def _tagged(name: str, arn: str, key: str, found: str, owner: str | None, *, is_function: bool) -> Exposure:
    return Exposure(
        kind=Kind.TAGS_CONTRADICT,
        severity=Severity.LOW,
        resource=name,
        title=f"Its tag {key} cannot be meant so",
        risk="In doubt Unthrottle does the more careful thing, which may not be what the owner wants.",
        evidence=(found,),
        fix=fixes.retag(arn, key, is_function=is_function),
        owner=owner,
    )
