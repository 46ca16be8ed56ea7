"""Draw one incident from a seed. The same seed gives the same incident, to the letter."""

from random import Random

from sandbox.generator import pools, tables
from sandbox.generator.case import Case, scenario_of
from unthrottle.subjects import PoolSubject, TableSubject

POOL_PART = 0.5
LONGEST_LAG = 6
"""Minutes after the first symptom: an alarm takes two or three, metrics are late, and a storm takes its time."""


def draw(seed: int) -> Case:
    """Draw what goes wrong, in which account, and how well it can be seen."""
    rng = Random(seed)
    about_pool = rng.random() < POOL_PART
    kinds = pools.KINDS if about_pool else tables.KINDS
    name, _, make = rng.choices(kinds, weights=[weight for _, weight, _ in kinds])[0]
    drawn = make(rng)
    parts: dict[str, object] = {"metric_delay_minutes": rng.choice((1, 2, 2, 3))}
    if about_pool:
        parts |= {"account": {"concurrency_limit": drawn["limit"]}, "functions": drawn["functions"]}
    else:
        parts |= {"tables": [drawn["table"], *drawn.get("beside", [])], "outside": drawn.get("outside", [])}
        parts["dagy"] = {"backfills": drawn.get("backfills", [])}
    return Case(
        seed=seed,
        kind=name,
        scenario=scenario_of(seed, name, **parts),
        cause=drawn["cause"],
        targets=frozenset(drawn.get("targets", ())),
        subject=PoolSubject() if about_pool else TableSubject(table=drawn["table"]["name"]),
        lag=rng.randint(1, drawn.get("longest", LONGEST_LAG)),
        at=drawn.get("at"),
        dropped=rng.choice((0.0, 0.0, 0.02, 0.05)),
        blind=drawn.get("blind", False),
        early=drawn.get("early", False),
        dagy_answers=drawn.get("dagy_answers", True),
        earlier=drawn.get("earlier"),
    )
