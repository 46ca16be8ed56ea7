"""Which incidents are everybody's bot tried on? Accounts made from a seed, each with what is true about it by construction.

An incident begins at `BEGINS` and its pressure ends by itself at `ENDS`; whoever healed it must have done so by then, and
after that whatever was changed should be given back. Knows nothing of any bot.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Document = dict[str, Any]
Fix = Literal["limit-function", "more-capacity", "cancel-backfill"]

BEGINS, ENDS = 5, 32
POOL_MINUTES, TWO_LEASES, TABLE_MINUTES, NOTHING_TO_GIVE_BACK = 55, 66, 84, ENDS + 4
"""How long is played: until a change should have been given back, or a little past the end where there should be none. A table
stays on-demand for two leases, since its load in the first one would not fit into its old capacity."""
SETTINGS: Mapping[str, object] = {"Mode": "auto", "CapLeaseMinutes": 15, "OnDemandLeaseMinutes": 30}
"""Short leases, so that giving back falls into the time that is played."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is true about an incident. `fix` is what heals it without a person; None: nothing should be changed."""

    kind: str
    cause: str | None
    """None: nothing is wrong."""
    targets: frozenset[str] = frozenset()
    fix: Fix | None = None
    excused: Fix | None = None
    """A change of the targets that is no harm and no merit: only the settings of one bot forbid it, which others lack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """An account with an incident in it, and the truth."""

    number: int
    document: Document
    truth: Truth


def generate(seed: int, count: int) -> list[Generated]:
    """Make *count* incidents, each kind in turn, so that no kind is left out. The same seed makes the same ones."""
    kinds = list(KINDS)
    made = []
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")  # noqa: S311  a benchmark must be repeatable
        kind = kinds[number % len(kinds)]
        document, truth = KINDS[kind](rng)
        base = {
            "version": 1,
            "name": f"{kind} {number}",
            "start": f"2026-08-{rng.randint(3, 28):02d}T{rng.randint(0, 23):02d}:00:00Z",
            "settings": dict(SETTINGS),
            "minutes": _minutes(document, truth),
        }
        made.append(Generated(number=number, document={**base, **document}, truth=truth))
    return made


def _minutes(document: Document, truth: Truth) -> int:
    if truth.fix is None or truth.fix == "cancel-backfill":
        return NOTHING_TO_GIVE_BACK
    return TABLE_MINUTES if "tables" in document else POOL_MINUTES


# --- the shared pool ----------------------------------------------------------------------------------------------------


def _word(rng: random.Random) -> str:
    return rng.choice(["booking", "cargo", "crew", "fleet", "fuel", "gates", "meals", "opslog", "roster"])


def _env(rng: random.Random) -> str:
    return rng.choice(["dev", "test", "uat", "prod"])


def _steps(quiet: float, loud: float) -> list[list[float]]:
    return [[0, quiet], [BEGINS, loud], [ENDS, quiet]]


def _fillers(rng: random.Random, limit: int) -> list[Document]:
    """Everybody else: pipelines that need a few executions, of which the hungriest is throttled most; and quiet ones."""
    share = limit / 1000
    return [
        {
            "name": f"svc-{_word(rng)}-{_env(rng)}-pipe-{{i:02d}}",
            "count": rng.randint(3, 6),
            "trigger": rng.choice([{"type": "msk", "partitions": 20}, {"type": "sqs"}, {"type": "api"}]),
            "duration_ms": rng.choice([200, 400, 900]),
            "demand": [[0, rng.randint(2, 6) * share]],
        },
        {
            # Many short runs: few executions, most of the throttles. The one that people blame.
            "name": f"svc-{_word(rng)}-{_env(rng)}-chatty",
            "trigger": rng.choice([{"type": "api"}, {"type": "sqs"}]),
            "duration_ms": rng.choice([60, 90, 120]),
            "demand": [[0, rng.randint(4, 9) * share]],
        },
        {
            # A large and harmless neighbour.
            "name": f"svc-{_word(rng)}-prod-large",
            "trigger": {"type": "eventbridge"},
            "duration_ms": 2000,
            "demand": [[0, rng.randint(40, 90) * share]],
        },
        {"name": "svc-quiet-{i:02d}", "count": 3, "trigger": {"type": "api"}, "demand": [[0, 0]]},
    ]


def _pool(rng: random.Random, *functions: Document, limit: int | None = None, **more: object) -> Document:
    limit = limit or rng.choice([500, 1000, 1000, 2000])
    return {
        "account": {"concurrency_limit": limit},
        "functions": [*functions, *_fillers(rng, limit)],
        **more,
    }


def _hog(
    rng: random.Random, name: str, trigger: Document, *, limit: int, loud: float | None = None, **more: object
) -> Document:
    return {
        "name": name,
        "trigger": trigger,
        "duration_ms": rng.choice([20_000, 45_000, 60_000]),
        "demand": _steps(limit * 0.02, loud or limit * rng.uniform(1.3, 2.5)),
        **more,
    }


def _hog_by(
    trigger: Callable[[random.Random, int], Document],
    limits: Sequence[int] = (500, 1000, 2000),
    events: Document | None = None,
) -> Callable[[random.Random], tuple[Document, Truth]]:
    def make(rng: random.Random) -> tuple[Document, Truth]:
        limit, name = rng.choice(limits), f"svc-{_word(rng)}-{_env(rng)}-batch-processor"
        chosen = trigger(rng, limit)
        needs_person = chosen["type"] in {"api", "url"}
        hog = _hog(rng, name, chosen, limit=limit)
        document = _pool(rng, {**hog, **({"async": events} if events else {})}, limit=limit)
        if events:
            document["minutes"] = TWO_LEASES
        truth = Truth(
            kind=f"pool-hog-{chosen['type']}",
            cause="pool-hog",
            targets=frozenset({name}),
            fix=None if needs_person else "limit-function",
        )
        return document, truth

    return make


def _two_hogs(rng: random.Random) -> tuple[Document, Truth]:
    limit = 1000
    names = [f"svc-{_word(rng)}-dev-import", f"svc-{_word(rng)}-test-export"]
    hogs = [_hog(rng, name, {"type": "s3"}, limit=limit, loud=limit * rng.uniform(0.8, 1.2)) for name in names]
    truth = Truth(kind="pool-hog-two", cause="pool-hog", targets=frozenset(names), fix="limit-function")
    return _pool(rng, *hogs, limit=limit), truth


def _protected_hog(rng: random.Random) -> tuple[Document, Truth]:
    name = f"svc-{_word(rng)}-prod-settlement"
    hog = _hog(rng, name, {"type": "sns"}, limit=1000, tags={"unthrottle:protected": "true"})
    truth = Truth(kind="pool-hog-protected", cause="pool-hog", targets=frozenset({name}))
    return _pool(rng, hog, limit=1000), truth


def _pool_growth(rng: random.Random) -> tuple[Document, Truth]:
    count = rng.randint(25, 40)
    grown = {
        "name": "svc-service-{i:02d}",
        "count": count,
        "trigger": {"type": "api"},
        "duration_ms": 800,
        "demand": _steps(5, 1000 * rng.uniform(1.2, 1.6) / count),
    }
    return _pool(rng, grown, limit=1000), Truth(kind="pool-growth", cause="pool-growth")


def _own_reservation(rng: random.Random) -> tuple[Document, Truth]:
    name, reserved = f"svc-{_word(rng)}-prod-worker", rng.randint(5, 40)
    worker = {
        "name": name,
        "trigger": {"type": "api"},
        "duration_ms": 3000,
        "reserved": reserved,
        "demand": _steps(reserved * 0.4, reserved * rng.uniform(1.4, 3)),
    }
    return _pool(rng, worker, limit=1000), Truth(kind="own-reservation", cause="own-reservation")


def _switched_off(rng: random.Random) -> tuple[Document, Truth]:
    off = {
        "name": f"svc-{_word(rng)}-dev-paused",
        "trigger": {"type": "api"},
        "duration_ms": 500,
        "reserved": 0,
        "demand": _steps(0, rng.randint(2, 30)),
    }
    return _pool(rng, off, limit=1000), Truth(kind="switched-off", cause="switched-off")


def _over_reservation(rng: random.Random) -> tuple[Document, Truth]:
    idle = {"name": "svc-reserved-{i}", "count": 4, "trigger": {"type": "sqs"}, "reserved": 215, "demand": [[0, 10]]}
    busy = {
        "name": "svc-web-{i:02d}",
        "count": 14,
        "trigger": {"type": "api"},
        "duration_ms": 700,
        "demand": _steps(2, rng.uniform(14, 20)),
    }
    document = {"account": {"concurrency_limit": 1000}, "functions": [idle, busy]}
    return document, Truth(kind="over-reservation", cause="over-reservation")


def _busy_but_well(rng: random.Random) -> tuple[Document, Truth]:
    """A control: one function is large, the pool is not used up, nobody is throttled."""
    large = {
        "name": f"svc-{_word(rng)}-prod-nightly",
        "trigger": {"type": "eventbridge"},
        "duration_ms": 30_000,
        "demand": _steps(50, rng.uniform(260, 500)),
    }
    return _pool(rng, large, limit=1000), Truth(kind="control-large-function", cause=None)


# --- tables ---------------------------------------------------------------------------------------------------------------


def _table(rng: random.Random, load: list[list[float]], **more: object) -> Document:
    name = f"dagy-{rng.choice(['runs', 'task-runs', 'schedules', 'usage-events'])}-{rng.choice(['develop', 'prod'])}"
    return {
        "name": name,
        "billing": "provisioned",
        "read": 100,
        "write": 100,
        "demand": {"write": load, "read": [[0, 30]]},
        **more,
    }


def _tables(*tables: Document, **more: object) -> Document:
    bystander = {
        "name": "dagy-flows-prod",
        "billing": "provisioned",
        "read": 50,
        "write": 50,
        "demand": {"write": [[0, 15]], "read": [[0, 20]]},
    }
    return {"tables": [*tables, bystander], **more}


def _short_writes(rng: random.Random) -> tuple[Document, Truth]:
    table = _table(rng, _steps(rng.randint(20, 60), rng.randint(170, 600)))
    return _tables(table), _capacity("table-writes", table)


def _short_reads(rng: random.Random) -> tuple[Document, Truth]:
    table = _table(rng, [[0, 20]])
    table["demand"]["read"] = _steps(rng.randint(20, 60), rng.randint(170, 600))
    return _tables(table), _capacity("table-reads", table)


def _short_index(rng: random.Random) -> tuple[Document, Truth]:
    index = {"name": "by-status", "read": 50, "write": 50, "keys": 500}
    table = _table(rng, _steps(20, rng.randint(110, 190)), write=400, indexes=[index])
    return _tables(table), _capacity("index-writes", table)


def _capacity(kind: str, table: Document) -> Truth:
    targets = frozenset({str(table["name"])})
    return Truth(kind=f"capacity-{kind}", cause="provisioned-capacity", targets=targets, fix="more-capacity")


def _hot_index(rng: random.Random) -> tuple[Document, Truth]:
    index = {"name": "by-status", "read": 3000, "write": 6000, "keys": 3, "hot_key_share": rng.uniform(0.7, 0.95)}
    table = _table(rng, _steps(100, rng.randint(1700, 2600)), write=6000, read=3000, keys=50_000, indexes=[index])
    return _tables(table), Truth(kind="hot-index", cause="hot-index")


def _hot_key(rng: random.Random) -> tuple[Document, Truth]:
    table = _table(
        rng, _steps(100, rng.randint(1700, 2600)), write=6000, read=3000, hot_key_share=rng.uniform(0.75, 0.95)
    )
    return _tables(table), Truth(kind="hot-key", cause="hot-key")


def _ramp(rng: random.Random) -> tuple[Document, Truth]:
    table = _table(rng, _steps(500, rng.randint(5000, 7000)), billing="on-demand", keys=200_000)
    del table["read"], table["write"]
    return _tables(table), Truth(kind="on-demand-ramp", cause="on-demand-ramp")


def _ceiling(rng: random.Random) -> tuple[Document, Truth]:
    table = _table(
        rng, _steps(100, rng.randint(450, 900)), billing="on-demand", max_on_demand={"write": 300}, keys=50_000
    )
    del table["read"], table["write"]
    return _tables(table), Truth(kind="on-demand-ceiling", cause="on-demand-ceiling")


def _backfill(rng: random.Random) -> tuple[Document, Truth]:
    table = _table(rng, [[0, rng.randint(20, 60)]])
    backfill = {
        "id": f"bf-{rng.randrange(16**4):04x}",
        "flow": "nightly-orders",
        "environment": str(table["name"]).rsplit("-", 1)[-1],
        "requested_by": "data-eng",
        "start": BEGINS,
        "end": ENDS,
        "runs_total": 40_000,
        "dispatch_rate_per_minute": 900,
        "writes": {table["name"]: rng.randint(180, 600)},
    }
    targets = frozenset({str(backfill["id"])})
    truth = Truth(kind="runaway-backfill", cause="runaway-backfill", targets=targets, fix="cancel-backfill")
    return _tables(table, dagy={"backfills": [backfill]}), truth


def _healthy_table(rng: random.Random) -> tuple[Document, Truth]:
    """A control: the load doubles and still fits."""
    return _tables(_table(rng, _steps(30, rng.randint(60, 95)))), Truth(kind="control-table", cause=None)


KINDS: Mapping[str, Callable[[random.Random], tuple[Document, Truth]]] = {
    "hog by schedule": _hog_by(lambda _rng, _limit: {"type": "eventbridge"}),
    "hog by queue": _hog_by(lambda _rng, _limit: {"type": "sqs"}, limits=(500, 700)),  # a queue brings 1,000 at most
    "hog by stream": _hog_by(lambda _, limit: {"type": "kinesis", "shards": limit // 5, "parallelization_factor": 10}),
    # Its events go to a destination after five minutes: no backlog keeps the cap for hours, and it is given back.
    "hog by bucket": _hog_by(lambda _rng, _limit: {"type": "s3"}, events={"max_event_age_s": 300, "on_failure": True}),
    "hog by api": _hog_by(lambda rng, _limit: {"type": rng.choice(["api", "url"])}),
    "two hogs": _two_hogs,
    "protected hog": _protected_hog,
    "pool growth": _pool_growth,
    "own reservation": _own_reservation,
    "switched off": _switched_off,
    "over-reservation": _over_reservation,
    "busy but well": _busy_but_well,
    "short writes": _short_writes,
    "short reads": _short_reads,
    "short index": _short_index,
    "hot index": _hot_index,
    "hot key": _hot_key,
    "on-demand ramp": _ramp,
    "on-demand ceiling": _ceiling,
    "backfill": _backfill,
    "healthy table": _healthy_table,
}
