"""Random tables that are, or seem to be, in trouble: one function for each kind of trouble."""

from collections.abc import Callable
from random import Random
from typing import Any

from sandbox.generator.case import ONSET
from sandbox.generator.loads import Steps, noisy, rise
from unthrottle.diagnosis import Cause

Drawn = dict[str, Any]
"""Keys: cause, table, and optionally beside (further tables), targets, backfills, outside, at, blind, longest, dagy_answers."""

NAMES = ("dagy-runs-develop", "dagy-task-runs-production", "dagy-usage-events-staging", "orders", "sessions-eu")


def _indexes(rng: Random, billing: str, write: int, most: int = 4) -> list[dict[str, Any]]:
    capacity = {"read": 200, "write": write * 2} if billing == "provisioned" else {}
    return [{"name": f"by-{i}", "share": rng.uniform(0.3, 1.0), **capacity} for i in range(rng.randint(0, most))]


def _table(rng: Random, billing: str, *, writes: Steps, reads: Steps | None = None, **parts: Any) -> dict[str, Any]:
    return {
        "name": rng.choice(NAMES),
        "billing": billing,
        "demand": {"write": noisy(rng, writes, 0.1), "read": noisy(rng, reads or [(0, 40)], 0.1)},
        **parts,
    }


def _provisioned(rng: Random) -> tuple[int, dict[str, Any]]:
    write = rng.choice((20, 50, 200, 600))
    return write, {"read": 400, "write": write, "keys": 100_000, "indexes": _indexes(rng, "provisioned", write)}


def _others(rng: Random) -> list[dict[str, Any]]:
    """Draw backfills that write other tables: in another environment, or long running when it begins."""
    return [
        {"id": f"bf-other-{i}", "environment": "sandbox", "start": rng.randint(0, 40), "runs_total": 900,
         "dispatch_rate_per_minute": 30.0}
        for i in range(rng.choice((0, 0, 1, 2)))
    ]  # fmt: skip


def short_of_writes(rng: Random) -> Drawn:
    write, parts = _provisioned(rng)
    if rng.random() < 0.25:
        parts["autoscaling"] = {"write": {"min": write, "max": write}}  # at its maximum: it cannot help
    load = rise(rng, write * rng.uniform(0.3, 0.6), write * rng.uniform(1.6, 4.0), ONSET)
    return _short(_table(rng, "provisioned", writes=load, **parts), backfills=_others(rng))


def short_of_reads(rng: Random) -> Drawn:
    _, parts = _provisioned(rng)
    table = _table(rng, "provisioned", writes=[(0, 10)], reads=rise(rng, 150, rng.uniform(700, 1500), ONSET), **parts)
    return _short(table, backfills=_others(rng))


def short_index(rng: Random) -> Drawn:
    write, parts = _provisioned(rng)
    if rng.random() < 0.5:
        reads = {"read": noisy(rng, rise(rng, 10, rng.uniform(100, 300), ONSET), 0.1)}
        parts["indexes"] = [{"name": "by-short", "read": 25, "write": write * 2, "demand": reads}]
        return _short(_table(rng, "provisioned", writes=[(0, write * 0.4)], **parts))
    parts["indexes"] = [{"name": "by-short", "read": 25, "write": max(2, write // 5)}]
    load = rise(rng, write * 0.12, write * rng.uniform(0.45, 0.8), ONSET)
    return _short(_table(rng, "provisioned", writes=load, **parts), backfills=_others(rng))


def _short(table: dict[str, Any], **more: Any) -> Drawn:
    return {"cause": Cause.PROVISIONED_CAPACITY, "table": table, "targets": {table["name"]}, **more}


def backfill(rng: Random) -> Drawn:
    write, parts = _provisioned(rng)
    table = _table(rng, "provisioned", writes=[(0, write * rng.uniform(0.2, 0.5))], **parts)
    environment = rng.choice(("develop", "production", "staging"))
    table["name"] = f"dagy-{rng.choice(('runs', 'task-runs', 'usage-events'))}-{environment}"
    units = write * rng.uniform(1.5, 5.0)
    guilty = {
        "id": "bf-guilty",
        "environment": environment,
        "start": ONSET,
        "runs_total": 40_000,
        "dispatch_rate_per_minute": round(units * 60 / rng.uniform(5, 300), 1),
        "writes": {table["name"]: units},
    }
    others = _others(rng)
    if rng.random() < 0.3:  # in the same environment, and there for long
        others.append({**guilty, "id": "bf-old", "start": 0, "writes": {}, "dispatch_rate_per_minute": 5.0})
    return {
        "cause": Cause.RUNAWAY_BACKFILL,
        "table": table,
        "targets": {"bf-guilty"},
        "backfills": [*others, guilty],
    }


def unknown_backfill(rng: Random) -> Drawn:
    """The same, while dagy does not answer: nobody may act on the table's capacity by themselves."""
    return {**backfill(rng), "cause": Cause.PROVISIONED_CAPACITY, "targets": set(), "dagy_answers": False}


def writer_elsewhere(rng: Random) -> Drawn:
    """Another Region of a global table floods it. Nothing of the table may be changed: capacity would feed it."""
    drawn = _flooded(rng)
    table, flood = drawn["table"], drawn.pop("flood")
    table["replicas"] = rng.choice((["us-east-1"], ["us-east-1", "ap-south-1"]))
    table["autoscaling"] = {"write": {"min": table["write"], "max": table["write"]}}
    table["demand"]["replicated"] = noisy(rng, rise(rng, flood * 0.03, flood, ONSET, 1), 0.1)
    return drawn


def bulk_operation(rng: Random) -> Drawn:
    """A bulk load of DynamoDB's own floods the table."""
    drawn = _flooded(rng)
    table, flood = drawn["table"], drawn.pop("flood")
    table["bulk_operations"] = [{"start": ONSET, "writes": flood}]
    if rng.random() < 0.5:
        table["bulk_operations"].append({"start": rng.randint(0, 5), "end": 8, "writes": 0.0})
    return drawn


def scheduler(rng: Random) -> Drawn:
    """Schedules of dagy that become due together: its scheduler writes them and the runs in the same minutes."""
    drawn = _flooded(rng)
    table, flood = drawn["table"], drawn.pop("flood")
    environment = rng.choice(("develop", "production", "staging"))
    table["name"] = f"dagy-{rng.choice(('runs', 'task-runs'))}-{environment}"
    table["demand"]["write"] = noisy(rng, [(0, 0.1 * table["write"]), (ONSET, 0.1 * table["write"] + flood)], 0.1)
    due = [(0, rng.uniform(0.5, 5)), (ONSET, rng.uniform(20, 100))]
    beside = {
        "name": f"dagy-schedules-{environment}",
        "read": 100,
        "write": 500,
        "demand": {"write": noisy(rng, due, 0.1)},
    }
    return {**drawn, "beside": [beside]}


def _flooded(rng: Random) -> Drawn:
    """Draw a table at ease, and how many units a second somebody else will write, which it cannot take."""
    write, parts = _provisioned(rng)
    table = _table(rng, "provisioned", writes=[(0, write * rng.uniform(0.05, 0.2))], **parts)
    return {"cause": Cause.PROVISIONED_CAPACITY, "table": table, "flood": write * rng.uniform(1.8, 5.0)}


def hot_index(rng: Random) -> Drawn:
    billing = rng.choice(("provisioned", "on-demand"))
    capacity: dict[str, Any] = {"read": 4000, "write": 9000} if billing == "provisioned" else {}
    index = {"name": "by-status", "keys": rng.randint(2, 8), "hot_key_share": rng.uniform(0.6, 0.95), **capacity}
    load = rise(rng, 200, rng.uniform(2000, 3600), ONSET)
    table = _table(rng, billing, writes=load, keys=100_000, indexes=[index], **capacity)
    return {"cause": Cause.HOT_INDEX, "table": table}


def hot_key(rng: Random) -> Drawn:
    billing = rng.choice(("provisioned", "on-demand"))
    capacity: dict[str, Any] = {"read": 20_000, "write": 9000} if billing == "provisioned" else {}
    share = rng.uniform(0.6, 0.95)
    writes: Steps = [(0, 30)]
    reads: Steps = [(0, 40)]
    if billing == "on-demand" and rng.random() < 0.3:  # as much as a ramp brings, and still one key
        # With less on that key, what is served looks like a ramp, and only Contributor Insights could tell.
        share, writes = rng.uniform(0.8, 0.95), rise(rng, 200, rng.uniform(5000, 8000), ONSET)
    elif rng.random() < 0.3:
        reads = rise(rng, 300, rng.uniform(6000, 9000), ONSET)
    else:
        writes = rise(rng, 200, rng.uniform(2000, 3400), ONSET)
    table = _table(rng, billing, writes=writes, reads=reads, keys=100_000, hot_key_share=share, **capacity)
    return {"cause": Cause.HOT_KEY, "table": table}


def ramp(rng: Random) -> Drawn:
    load = rise(rng, rng.uniform(300, 1500), rng.uniform(5500, 9000), ONSET)
    return {"cause": Cause.ON_DEMAND_RAMP, "table": _table(rng, "on-demand", writes=load, keys=1_000_000)}


def ceiling(rng: Random) -> Drawn:
    most = rng.choice((100, 300, 1000))
    load = rise(rng, most * 0.4, most * rng.uniform(1.4, 3.0), ONSET)
    table = _table(rng, "on-demand", writes=load, keys=1_000_000, max_on_demand={"write": most})
    return {"cause": Cause.ON_DEMAND_CEILING, "table": table}


def quota(rng: Random) -> Drawn:
    load = rise(rng, 32_000, rng.uniform(50_000, 60_000), ONSET, 1)
    return {"cause": Cause.TABLE_QUOTA, "table": _table(rng, "on-demand", writes=load, keys=10_000_000)}


def being_switched(rng: Random) -> Drawn:
    """Somebody switches the table; it takes longer than it takes to look."""
    drawn = short_of_writes(rng)
    drawn["table"] |= {"switch_takes_minutes": 20}
    drawn["table"].pop("autoscaling", None)
    change = {"at": ONSET, "set": {"table": drawn["table"]["name"], "billing": "on-demand"}}
    return {**drawn, "cause": Cause.CAPACITY_CHANGE_IN_PROGRESS, "targets": set(), "outside": [change]}


def being_scaled(rng: Random) -> Drawn:
    """Autoscaling has reacted a moment ago, and there is room up to its maximum."""
    write = rng.choice((50, 200))
    load = rise(rng, write * 0.6, write * rng.uniform(8, 12), ONSET, 1)
    table = _table(
        rng,
        "provisioned",
        writes=load,
        read=400,
        write=write,
        autoscaling={"write": {"min": write, "max": write * 40}},
        keys=1_000_000,
    )
    return {"cause": Cause.CAPACITY_CHANGE_IN_PROGRESS, "table": table, "longest": 2}


def passed(rng: Random) -> Drawn:
    write, parts = _provisioned(rng)
    ended = ONSET + rng.randint(8, 12)
    load = [(0, write * 0.3), (ONSET, write * 4.0), (ended, write * 0.3)]
    table = _table(rng, "provisioned", writes=load, **parts)
    return {"cause": Cause.ALREADY_OVER, "table": table, "at": ended + rng.randint(7, 14), "backfills": _others(rng)}


def well(rng: Random) -> Drawn:
    """Nothing is wrong; now and then a peak that the burst takes."""
    write, parts = _provisioned(rng)
    load: Steps = [(0, write * rng.uniform(0.2, 0.6))]
    if rng.random() < 0.4:
        load += [(ONSET, write * 1.5), (ONSET + 2, load[0][1])]
    return {
        "cause": Cause.ALREADY_OVER,
        "table": _table(rng, "provisioned", writes=load, **parts),
        "at": rng.randint(20, 55),
        "backfills": _others(rng),
    }


def nothing_to_see(rng: Random) -> Drawn:
    """The table suffers, and CloudWatch shows nothing of it."""
    return {**short_of_writes(rng), "cause": Cause.INCONCLUSIVE, "targets": set(), "blind": True}


KINDS: tuple[tuple[str, int, Callable[[Random], Drawn]], ...] = (
    ("short of writes", 6, short_of_writes),
    ("short of reads", 3, short_of_reads),
    ("a short index", 5, short_index),
    ("a runaway backfill", 6, backfill),
    ("a backfill nobody can see", 2, unknown_backfill),
    ("a writer in another Region", 2, writer_elsewhere),
    ("a bulk operation", 2, bulk_operation),
    ("dagy's scheduler", 2, scheduler),
    ("a hot index", 4, hot_index),
    ("a hot key", 4, hot_key),
    ("an on-demand ramp", 3, ramp),
    ("an on-demand ceiling", 2, ceiling),
    ("the table's quota", 2, quota),
    ("being switched", 3, being_switched),
    ("being scaled", 2, being_scaled),
    ("a shortage that ended", 6, passed),
    ("a healthy table", 7, well),
    ("nothing to see", 2, nothing_to_see),
)
"""Name, weight, and how it is drawn."""
