"""How do loads look that nobody smoothed? Steps with noise, minute by minute, and the functions that carry them."""

from random import Random
from typing import Any

from sandbox.generator.case import MINUTES

Steps = list[tuple[int, float]]
TRIGGERS = ("eventbridge", "s3", "sns", "api", "step-functions", "sqs", "url")


def noisy(rng: Random, steps: Steps, sigma: float) -> Steps:
    """Spell steps out and shake every minute; 0 stays 0."""
    values = [0.0] * MINUTES
    for start, amount in steps:
        values[start:] = [amount] * (MINUTES - start)
    return [(minute, round(value * rng.lognormvariate(0, sigma), 3)) for minute, value in enumerate(values)]


def rise(rng: Random, before: float, after: float, onset: int, minutes: int | None = None) -> Steps:
    """Go from one level to another within some minutes, one to four if not said."""
    ramp = rng.randint(1, 4) if minutes is None else minutes
    steps: Steps = [(0, before)]
    steps += [(onset + i, before + (after - before) * (i + 1) / ramp) for i in range(ramp)]
    return steps


def background(rng: Random, limit: int, share: float, *, count: int | None = None) -> list[dict[str, Any]]:
    """Draw ordinary functions that together run *share* of the limit, none of them large."""
    number = count or rng.randint(6, 30)
    weights = [rng.uniform(0.5, 2.0) for _ in range(number)]
    whole = sum(weights)
    return [
        {
            "name": f"svc-{i:02d}",
            "trigger": {"type": rng.choice(TRIGGERS)},
            "duration_ms": float(rng.choice((200, 500, 900, 2000, 5000))),
            "demand": noisy(rng, [(0, share * limit * weight / whole)], 0.15),
        }
        for i, weight in enumerate(weights)
    ]


def harmless(rng: Random, limit: int) -> list[dict[str, Any]]:
    """Draw large functions that do not share the pool, or always were large: none, one or two of them."""
    reserved = rng.randint(limit // 20, limit // 4)
    provisioned = rng.randint(limit // 20, limit // 8)
    kinds: list[dict[str, Any]] = [
        {"name": "large-reserved", "reserved": reserved, "trigger": {"type": "api"},
         "demand": noisy(rng, [(0, reserved * 0.7)], 0.05)},
        {"name": "large-managed", "managed_instances": True, "trigger": {"type": "api"},
         "demand": noisy(rng, [(0, limit * rng.uniform(0.2, 1.0))], 0.1)},
        {"name": "large-provisioned", "provisioned": provisioned, "trigger": {"type": "api"},
         "demand": noisy(rng, [(0, provisioned * 0.8)], 0.05)},
        {"name": "large-always", "trigger": {"type": "eventbridge"},
         "demand": noisy(rng, [(0, limit * rng.uniform(0.1, 0.25))], 0.05)},
    ]  # fmt: skip
    return rng.sample(kinds, rng.choice((0, 0, 1, 1, 2)))


def hog(rng: Random, name: str, steps: Steps) -> dict[str, Any]:
    """Draw a function with a load that may take the pool, and a trigger that can bring that much."""
    kind = rng.choice(("eventbridge", "s3", "sns", "api", "step-functions", "sqs", "kinesis", "dynamodb-stream", "msk"))
    trigger: dict[str, Any] = {"type": kind}
    most = max(amount for _, amount in steps)
    if kind in {"kinesis", "dynamodb-stream"}:
        factor = rng.choice((1, 4, 10))
        trigger |= {"parallelization_factor": factor, "shards": max(1, int(1.3 * most / factor) + 1)}
    if kind == "msk":
        trigger |= {"partitions": int(1.3 * most) + 1, "provisioned_pollers": max(2, int(1.3 * most / 5) + 1)}
    if kind == "sqs" and rng.random() < 0.3:
        trigger |= {"provisioned_pollers": max(2, int(1.3 * most / 10) + 1)}
    waits = kind not in {"api", "step-functions"}
    return {
        "name": name,
        "trigger": trigger,
        "duration_ms": float(rng.choice((5000, 20000, 60000, 400000) if waits else (800, 2000, 5000))),
        "demand": noisy(rng, steps, 0.08),
    }
