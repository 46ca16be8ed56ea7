"""Random accounts whose Lambda concurrency is, or seems to be, in trouble: one function for each kind of trouble."""

from collections.abc import Callable
from random import Random
from typing import Any

from sandbox.generator.case import ONSET
from sandbox.generator.loads import background, harmless, hog, noisy, rise
from unthrottle.diagnosis import Cause

Drawn = dict[str, Any]
"""Keys: cause, functions, and optionally limit, targets, at, early, earlier, longest (the latest useful lag)."""


def limit_of(rng: Random) -> int:
    return rng.choice((1000, 1000, 1000, 500, 2000, 3000))


def one_hog(rng: Random) -> Drawn:
    limit = limit_of(rng)
    load = rise(rng, limit * rng.uniform(0, 0.03), limit * rng.uniform(1.2, 3.0), ONSET)
    functions = [
        *background(rng, limit, rng.uniform(0.02, 0.2)),
        *harmless(rng, limit),
        hog(rng, "the-hog", load),
    ]
    if rng.random() < 0.15:  # several things at once
        functions.append(
            {
                "name": "also-capped",
                "reserved": 5,
                "trigger": {"type": "api"},
                "demand": noisy(rng, [(0, 2), (ONSET + 5, 9)], 0.1),
            }
        )
    return {"cause": Cause.POOL_HOG, "functions": functions, "limit": limit, "targets": {"the-hog"}}


def bursty_hog(rng: Random) -> Drawn:
    limit = limit_of(rng)
    steps = [(0, limit * 0.02)]
    for begin in range(ONSET, 60, 6):
        steps += [(begin, limit * rng.uniform(1.3, 2.0)), (begin + 3, limit * 0.02)]
    spec = {
        "name": "the-hog",
        "trigger": {"type": "eventbridge"},
        "duration_ms": 20000.0,
        "demand": noisy(rng, steps, 0.05),
    }
    return {
        "cause": Cause.POOL_HOG,
        "functions": [*background(rng, limit, rng.uniform(0.02, 0.15)), spec],
        "limit": limit,
        "targets": {"the-hog"},
        "longest": 2,
    }


def joint_hogs(rng: Random) -> Drawn:
    limit, number = limit_of(rng), rng.randint(2, 4)
    names = [f"hog-{i}" for i in range(number)]
    functions = background(rng, limit, rng.uniform(0.02, 0.12))
    for name in names:
        load = rise(rng, limit * rng.uniform(0.005, 0.02), limit * rng.uniform(0.8, 1.1), ONSET)
        functions.append(hog(rng, name, load))
    return {"cause": Cause.POOL_HOG, "functions": functions, "limit": limit, "targets": set(names)}


def early_hog(rng: Random) -> Drawn:
    limit = limit_of(rng)
    load = rise(rng, limit * 0.02, limit * rng.uniform(0.8, 0.84), ONSET)
    functions = [*background(rng, limit, 0.06), hog(rng, "the-hog", load)]
    functions[-1]["demand"] = noisy(rng, load, 0.005)
    return {"cause": Cause.POOL_HOG, "functions": functions, "limit": limit, "targets": {"the-hog"}, "early": True}


def growth(rng: Random) -> Drawn:
    limit, number = limit_of(rng), rng.randint(15, 50)
    now = limit * rng.uniform(1.2, 1.7) / number
    functions = [
        {
            "name": f"svc-{i:02d}",
            "trigger": {"type": rng.choice(("api", "eventbridge", "sqs"))},
            "duration_ms": float(rng.choice((500, 2000))),
            "demand": noisy(rng, rise(rng, now / rng.uniform(2, 4), now * rng.uniform(0.7, 1.3), ONSET), 0.1),
        }
        for i in range(number)
    ]
    return {"cause": Cause.POOL_GROWTH, "functions": functions, "limit": limit}


def _held_all_along(rng: Random, limit: int, name: str, held: float) -> list[dict[str, Any]]:
    """Draw a function that is large through the whole window, and small ones that grow over what it leaves."""
    number = rng.randint(15, 40)
    now = (limit * rng.uniform(1.1, 1.3) - held) / number
    large = {"name": name, "trigger": {"type": "eventbridge"}, "duration_ms": 900.0,
             "demand": noisy(rng, [(0, held)], 0.03)}  # fmt: skip
    small = [
        {
            "name": f"svc-{i:02d}",
            "trigger": {"type": rng.choice(("api", "eventbridge", "sqs"))},
            "duration_ms": float(rng.choice((500, 2000))),
            "demand": noisy(rng, rise(rng, now * 0.2, now * rng.uniform(0.8, 1.2), ONSET), 0.1),
        }
        for i in range(number)
    ]
    return [large, *small]


def early_riser(rng: Random) -> Drawn:
    """A hog that took the pool before the window, and is no guest of other days."""
    limit = limit_of(rng)
    functions = _held_all_along(rng, limit, "the-hog", limit * rng.uniform(0.65, 0.8))
    usual = {"the-hog": limit * rng.uniform(0, 0.03)}
    return {"cause": Cause.POOL_HOG, "functions": functions, "limit": limit, "targets": {"the-hog"}, "earlier": usual}


def resident(rng: Random) -> Drawn:
    """Growth of many beside a function that runs as much every day."""
    limit = limit_of(rng)
    held = limit * rng.uniform(0.4, 0.7)
    functions = _held_all_along(rng, limit, "the-resident", held)
    usual = {"the-resident": held * rng.uniform(0.8, 1.2)}
    return {"cause": Cause.POOL_GROWTH, "functions": functions, "limit": limit, "earlier": usual}


def over_reservation(rng: Random) -> Drawn:
    limit, number = limit_of(rng), rng.randint(3, 6)
    each = int(limit * rng.uniform(0.7, 0.85) / number)
    rest = limit - each * number
    functions: list[dict[str, Any]] = [
        {
            "name": f"idle-{i}",
            "reserved": each,
            "trigger": {"type": "api"},
            "demand": noisy(rng, [(0, each * 0.05)], 0.2),
        }
        for i in range(number)
    ]
    many = rng.randint(12, 30)
    for i in range(many):
        load = rise(rng, rest * 0.5 / many, rest * rng.uniform(1.2, 1.6) / many, ONSET)
        functions.append(
            {"name": f"svc-{i:02d}", "trigger": {"type": "api"}, "duration_ms": 800.0, "demand": noisy(rng, load, 0.1)}
        )
    return {"cause": Cause.OVER_RESERVATION, "functions": functions, "limit": limit}


def own_reservation(rng: Random) -> Drawn:
    limit, own = limit_of(rng), rng.randint(2, 80)
    spec = {
        "name": "the-capped",
        "reserved": own,
        "trigger": {"type": rng.choice(("api", "eventbridge", "step-functions"))},
        "duration_ms": float(rng.choice((800, 3000))),
        "demand": noisy(rng, rise(rng, own * 0.4, own * rng.uniform(2.0, 4.0), ONSET), 0.1),
    }
    functions = [*background(rng, limit, rng.uniform(0.05, 0.3)), *harmless(rng, limit), spec]
    return {"cause": Cause.OWN_RESERVATION, "functions": functions, "limit": limit}


def switched_off(rng: Random) -> Drawn:
    limit = limit_of(rng)
    spec = {
        "name": "the-stopped",
        "reserved": 0,
        "trigger": {"type": rng.choice(("api", "eventbridge", "sns"))},
        "duration_ms": 1000.0,
        "demand": noisy(rng, [(0, 0), (ONSET, rng.uniform(2, 30))], 0.2),
    }
    functions = [*background(rng, limit, rng.uniform(0.05, 0.4)), *harmless(rng, limit), spec]
    return {"cause": Cause.SWITCHED_OFF, "functions": functions, "limit": limit}


def request_rate(rng: Random) -> Drawn:
    limit, duration = limit_of(rng), float(rng.choice((10, 20, 30)))
    slots = 600 * limit * duration / 60000
    spec = {
        "name": "the-fast",
        "trigger": {"type": "api"},
        "duration_ms": duration,
        "demand": noisy(rng, rise(rng, slots * 0.3, slots * rng.uniform(1.3, 1.9), ONSET), 0.03),
    }
    return {"cause": Cause.REQUEST_RATE, "functions": [*background(rng, limit, 0.1), spec], "limit": limit}


def scaling_rate(rng: Random) -> Drawn:
    limit = rng.choice((10_000, 20_000, 40_000))
    spec = {
        "name": "the-steep",
        "trigger": {"type": rng.choice(("api", "eventbridge"))},
        "duration_ms": float(rng.choice((1000, 3000))),
        "demand": noisy(rng, [(0, 5), (ONSET, rng.uniform(3500, min(9000, limit * 0.6)))], 0.01),
    }
    return {"cause": Cause.SCALING_RATE, "functions": [*background(rng, 1000, 0.1), spec], "limit": limit, "longest": 2}


def passed(rng: Random) -> Drawn:
    """A hog that had ended when somebody looked."""
    limit, ended = limit_of(rng), ONSET + rng.randint(3, 6)
    steps = [(0, limit * 0.02), (ONSET, limit * 1.5), (ended, limit * 0.02)]
    spec = {"name": "the-hog", "trigger": {"type": "api"}, "duration_ms": 900.0, "demand": noisy(rng, steps, 0.05)}
    functions = [*background(rng, limit, rng.uniform(0.05, 0.3)), *harmless(rng, limit), spec]
    return {"cause": Cause.ALREADY_OVER, "functions": functions, "limit": limit, "at": ended + rng.randint(7, 16)}


def well(rng: Random) -> Drawn:
    """Nothing is wrong: a drill, or a flapping alarm."""
    limit = limit_of(rng)
    functions = [*background(rng, limit, rng.uniform(0.05, 0.55)), *harmless(rng, limit)]
    if rng.random() < 0.3:  # held back by its own limit: a queue grows, and nobody is throttled
        trigger = {"type": "sqs", "maximum_concurrency": 50}
        functions.append({"name": "slow-queue", "trigger": trigger, "demand": noisy(rng, [(0, 5), (ONSET, 400)], 0.1)})
    return {"cause": Cause.ALREADY_OVER, "functions": functions, "limit": limit, "at": rng.randint(20, 55)}


KINDS: tuple[tuple[str, int, Callable[[Random], Drawn]], ...] = (
    ("one hog", 12, one_hog),
    ("a bursty hog", 3, bursty_hog),
    ("joint hogs", 5, joint_hogs),
    ("a hog before throttling", 3, early_hog),
    ("a hog from before the window", 2, early_riser),
    ("growth", 5, growth),
    ("growth beside a resident", 2, resident),
    ("over-reserved", 4, over_reservation),
    ("at its own reservation", 4, own_reservation),
    ("switched off", 3, switched_off),
    ("request rate", 3, request_rate),
    ("scaling rate", 3, scaling_rate),
    ("a hog that ended", 6, passed),
    ("a healthy pool", 8, well),
)
"""Name, weight, and how it is drawn."""
