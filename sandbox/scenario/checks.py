"""What is impossible in a scenario although each key by itself is fine?

Rules over several keys, each answering with sentences that start with the key path. Knows AWS's own limits where a real
account could not be in the described state. Reads nothing but the scenario.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from sandbox.scenario.format import (
    NAME_PATTERN,
    FunctionSpec,
    IndexSpec,
    OutsideChange,
    Person,
    Scenario,
    TableSpec,
    Trigger,
)
from sandbox.scenario.problems import hint

SHOWN = 300
"""Characters of a name that are shown where it is wrong: longer than any that is right."""
LEGAL_FUNCTION = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
LEGAL_TABLE = re.compile(r"^[A-Za-z0-9_.-]{3,255}$")

TRIGGER_KEYS: dict[str, tuple[str, ...]] = {
    "sqs": ("maximum_concurrency", "provisioned_pollers", "max_receive_count"),
    "kinesis": ("shards", "parallelization_factor"),
    "dynamodb-stream": ("shards", "parallelization_factor"),
    "msk": ("partitions", "provisioned_pollers"),
}
ASYNC_TYPES = ("eventbridge", "s3", "sns")


def impossibilities(scenario: Scenario) -> list[str]:
    """List everything impossible in *scenario*, in the file's order."""
    return [
        *_start(scenario),
        *_functions(scenario),
        *_reservations(scenario),
        *_tables(scenario),
        *_backfills(scenario),
        *_people(scenario.people),
        *_outside(scenario),
        *_events(scenario),
        *_metrics(scenario),
        *_minutes_in_order("slack.steps", [minute for minute, _ in scenario.slack.steps]),
        *_members(scenario),
    ]


def _members(scenario: Scenario) -> Iterator[str]:
    home = (scenario.account.id, scenario.account.region)
    places = [" ".join(place) for place in (home, *(member.place for member in scenario.members))]
    yield from _twice("members", "account and Region", places)
    for i, member in enumerate(scenario.members):
        where, part = f"members[{i}]", scenario.of_member(member)
        judges = (_functions, _reservations, _tables, _outside, _events, _metrics)
        yield from (f"{where}.{problem}" for judge in judges for problem in judge(part))
        yield from _minutes_in_order(f"{where}.state.steps", [minute for minute, _ in member.state.steps])


def _start(scenario: Scenario) -> Iterator[str]:
    if scenario.start.second or scenario.start.microsecond:
        yield f"start: found {scenario.start.isoformat()}; minute 0 is a whole minute, without seconds"


def _functions(scenario: Scenario) -> Iterator[str]:
    for i, function in enumerate(scenario.functions):
        where = f"functions[{i}]"
        yield from _function_name(where, function)
        yield from _demand(f"{where}.demand", function.demand)
        yield from _trigger(f"{where}.trigger", function.trigger)
        if function.async_ is not None and function.trigger.type not in ASYNC_TYPES:
            yield (
                f"{where}.async: trigger type {function.trigger.type!r} is not asynchronous; "
                f"allowed with {', '.join(ASYNC_TYPES)}"
            )
        if function.duration_ms > function.timeout_s * 1000:
            yield (
                f"{where}.duration_ms: found {function.duration_ms:g}; a run cannot outlast "
                f"timeout_s, which is {function.timeout_s}"
            )
        if function.reserved is not None and function.provisioned > function.reserved:
            yield (
                f"{where}.provisioned: found {function.provisioned}; AWS allows at most the function's own "
                f"reservation, which is {function.reserved}"
            )
    names = [function.name for function in scenario.expanded_functions()]
    yield from _twice("functions", "function", names)


def _function_name(where: str, function: FunctionSpec) -> Iterator[str]:
    name = function.name
    is_pattern = NAME_PATTERN.search(name) is not None
    rest = NAME_PATTERN.sub("", name)
    if "{" in rest or "}" in rest or len(NAME_PATTERN.findall(name)) > 1:
        yield f"{where}.name: found {name!r}; braces hold the number only, once: {{i}} or {{i:03d}}"
        return
    if function.count > 1 and not is_pattern:
        yield f"{where}.name: found {name!r} with count {function.count}; add where the number goes, as in {name}-{{i:03d}}"
    longest = function.expanded()[-1].name if is_pattern else name
    if LEGAL_FUNCTION.match(longest) is None:
        yield f"{where}.name: {longest[:SHOWN]!r} is no legal function name; AWS allows 1 to 64 of letters, digits, - and _"


def _trigger(where: str, trigger: Trigger) -> Iterator[str]:
    allowed = TRIGGER_KEYS.get(trigger.type, ())
    for key in sorted(trigger.model_fields_set - {"type"}):
        if getattr(trigger, key) is not None and key not in allowed:
            yield f"{where}.{key}: a trigger of type {trigger.type!r} takes " + (
                f"only type, {', '.join(allowed)}" if allowed else "no further keys"
            )
    if trigger.type == "sqs" and trigger.maximum_concurrency is not None and trigger.provisioned_pollers is not None:
        yield f"{where}: maximum_concurrency and provisioned_pollers exclude each other in AWS; leave one out"


def _reservations(scenario: Scenario) -> Iterator[str]:
    account = scenario.account
    if account.unreserved_floor > account.concurrency_limit:
        yield (
            f"account.unreserved_floor: found {account.unreserved_floor}; it cannot exceed "
            f"concurrency_limit, which is {account.concurrency_limit}"
        )
        return
    taken = sum(
        (spec.provisioned if spec.reserved is None else spec.reserved) * spec.count for spec in scenario.functions
    )
    room = account.concurrency_limit - account.unreserved_floor
    if taken > room:
        yield (
            f"functions: reserved and provisioned concurrency add up to {taken}; with concurrency_limit "
            f"{account.concurrency_limit} and unreserved_floor {account.unreserved_floor} AWS allows at most {room}"
        )


def _tables(scenario: Scenario) -> Iterator[str]:
    for i, table in enumerate(scenario.tables):
        where = f"tables[{i}]"
        yield from _legal(f"{where}.name", "table", table.name)
        yield from _billing(where, table)
        yield from _demand(f"{where}.demand.write", table.demand.write)
        yield from _demand(f"{where}.demand.read", table.demand.read)
        yield from _demand(f"{where}.demand.replicated", table.demand.replicated)
        if not table.replicas and any(amount > 0 for _, amount in table.demand.replicated):
            yield f"{where}.demand.replicated: only a table with replicas takes writes of other Regions"
        for j, bulk in enumerate(table.bulk_operations):
            if bulk.end is not None and bulk.end <= bulk.start:
                yield f"{where}.bulk_operations[{j}].end: found {bulk.end}; it must come after start, which is {bulk.start}"
        for j, index in enumerate(table.indexes):
            here = f"{where}.indexes[{j}]"
            yield from _legal(f"{here}.name", "index", index.name)
            yield from _capacity(here, table.billing, read=index.read, write=index.write)
            yield from _demand(f"{here}.demand.read", index.demand.read)
        yield from _twice(f"{where}.indexes", "index", [index.name for index in table.indexes])
    yield from _twice("tables", "table", [table.name for table in scenario.tables])


def _legal(where: str, kind: str, name: str) -> Iterator[str]:
    if LEGAL_TABLE.match(name) is None:
        yield f"{where}: {name[:SHOWN]!r} is no legal {kind} name; AWS allows 3 to 255 of letters, digits, - _ and ."


def _billing(where: str, table: TableSpec) -> Iterator[str]:
    yield from _capacity(where, table.billing, read=table.read, write=table.write)
    if table.billing == "on-demand" and table.billing_summary == "absent":
        yield f"{where}.billing_summary: found 'absent'; AWS always shows it on an on-demand table; allowed: present"
    if table.switches_last_24h > 0 and table.billing_summary == "absent":
        yield (
            f"{where}.billing_summary: found 'absent' with switches_last_24h {table.switches_last_24h}; "
            "AWS omits it only on a table that never was on-demand"
        )
    yield from _bounds(where, table)
    for j, index in enumerate(table.indexes):
        yield from _bounds(f"{where}.indexes[{j}]", index)


def _bounds(where: str, part: TableSpec | IndexSpec) -> Iterator[str]:
    if part.autoscaling is not None:
        for unit, bounds in (("read", part.autoscaling.read), ("write", part.autoscaling.write)):
            if bounds is not None and bounds.min > bounds.max:
                yield f"{where}.autoscaling.{unit}.min: found {bounds.min}; it cannot exceed max, which is {bounds.max}"


def _capacity(where: str, billing: str, *, read: int | None, write: int | None) -> Iterator[str]:
    for key, value in (("read", read), ("write", write)):
        if billing == "provisioned" and value is None:
            yield f"{where}.{key}: required with billing 'provisioned' (capacity units per second, 1 or more)"
        if billing == "on-demand" and value is not None:
            yield f"{where}.{key}: found {value}; an on-demand table and its indexes have none, leave it out"


def _demand(where: str, steps: Sequence[tuple[int, float]]) -> Iterator[str]:
    if not steps:
        yield f"{where}: found an empty list; write at least one [minute, amount]"
    yield from _minutes_in_order(where, [minute for minute, _ in steps])


def _minutes_in_order(where: str, minutes: Sequence[int]) -> Iterator[str]:
    for i in range(1, len(minutes)):
        if minutes[i] <= minutes[i - 1]:
            yield (
                f"{where}[{i}]: found minute {minutes[i]} after minute {minutes[i - 1]}; "
                "steps are in order of their minutes, each minute once"
            )


def _backfills(scenario: Scenario) -> Iterator[str]:
    # A backfill may write to tables that are not part of this small account: those writes go unseen.
    for i, backfill in enumerate(scenario.dagy.backfills):
        where = f"dagy.backfills[{i}]"
        if backfill.end is not None and backfill.end <= backfill.start:
            yield f"{where}.end: found {backfill.end}; it must come after start, which is {backfill.start}"
    yield from _twice("dagy.backfills", "backfill", [backfill.id for backfill in scenario.dagy.backfills])


def _people(people: Sequence[Person]) -> Iterator[str]:
    for i, person in enumerate(people):
        where = f"people[{i}]"
        if (person.at is None) == (person.when is None):
            yield f"{where}: write exactly one of at (a minute) and when (approval-requested, acted, recovered)"
        if (person.do is None) == (person.say is None):
            yield f"{where}: write exactly one of do (approve, reject, revert, keep) and say (a slash command)"
        if person.after_minutes is not None and person.when is None:
            yield f"{where}.after_minutes: only goes with when"


def _outside(scenario: Scenario) -> Iterator[str]:
    functions = [function.name for function in scenario.expanded_functions()]
    tables = [table.name for table in scenario.tables]
    for i, outside in enumerate(scenario.outside):
        where, change = f"outside[{i}].set", outside.set
        if (change.function is None) == (change.table is None):
            yield f"{where}: write exactly one of function and table"
        elif change.function is not None:
            yield from _known(f"{where}.function", "function", change.function, functions)
            yield from _only(where, change, "function", ("reserved",))
        elif change.table is not None:
            yield from _known(f"{where}.table", "table", change.table, tables)
            yield from _only(where, change, "table", ("billing", "read", "write", "index"))
            if change.billing == "on-demand":
                yield from _capacity(where, "on-demand", read=change.read, write=change.write)


def _only(where: str, change: OutsideChange, kind: str, allowed: tuple[str, ...]) -> Iterator[str]:
    given = change.model_fields_set - {kind}
    if not given:
        yield f"{where}: says nothing to set; a {kind} takes {', '.join(allowed)}"
    for key in sorted(given - set(allowed)):
        yield f"{where}.{key}: a {kind} takes only {', '.join(allowed)}"
    for key in sorted(given & {"billing", "read", "write"} & set(allowed)):
        if getattr(change, key) is None:
            yield f"{where}.{key}: found nothing (null); leave the key out to keep what is there"


def _events(scenario: Scenario) -> Iterator[str]:
    for i, event in enumerate(scenario.events):
        if (event.file is None) == (event.event is None):
            yield f"events[{i}]: write exactly one of file (a JSON file beside the scenario) and event (inline)"


def _metrics(scenario: Scenario) -> Iterator[str]:
    names = [
        f"{metric.namespace} {metric.name} {sorted(metric.dimensions.items())} {metric.stat}"
        for metric in scenario.metrics
    ]
    yield from _twice("metrics", "series", names)


def _twice(where: str, kind: str, names: Iterable[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{where}: {kind} {name!r} is there {count} times; each name may be there once"


def _known(where: str, kind: str, name: str, names: Sequence[str]) -> Iterator[str]:
    if name not in names:
        some = ", ".join(names[:10]) or "none"
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        yield f"{where}: this scenario has no {kind} {name!r}{hint(name, names, 'it has: ')}{some}{more}"
