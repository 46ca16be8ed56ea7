"""The shared account of the post-mortem: 362 functions, one hog, and the victims that nobody had on the list."""

from collections.abc import Callable
from typing import Any

Rehearse = Callable[..., Any]

PIPES = 28
HOG = "svc-crew-batch"


def _account() -> dict[str, object]:
    return {
        "minutes": 90,
        "functions": [
            {
                "name": HOG,
                "trigger": {"type": "eventbridge"},
                "duration_ms": 45_000,
                "demand": [[0, 20], [30, 2000]],
                "async": {"on_failure": True},
            },
            {
                "name": "svc-pipe-{i:03d}",
                "count": PIPES,
                "trigger": {"type": "msk", "partitions": 6},
                "duration_ms": 900,
                "demand": [[0, 4]],
            },
            {"name": "svc-idle-{i:03d}", "count": 333, "trigger": {"type": "api"}, "demand": [[0, 0]]},
        ],
    }


def test_the_hog_takes_the_pool_and_the_victims_starve(rehearse: Rehearse) -> None:
    world = rehearse(**_account())
    assert len(world.world.pool.names) == 362
    facts = world.run(40)[-1]
    hog = world.seen("ConcurrentExecutions", 39, "Maximum", FunctionName=HOG)
    victims = [
        world.seen("ConcurrentExecutions", 39, "Maximum", FunctionName=f"svc-pipe-{i:03d}") for i in range(1, 29)
    ]
    assert 841 <= hog <= 962
    assert max(victims) <= 2
    assert set(facts.throttled_functions) == {HOG, *(f"svc-pipe-{i:03d}" for i in range(1, PIPES + 1))}
    assert world.seen("UnreservedConcurrentExecutions", 39, "Maximum") == 1000


def test_a_cap_of_250_ends_the_victims_throttling_in_the_next_minute(rehearse: Rehearse) -> None:
    world = rehearse(**_account())
    world.run(35)
    world.account.set_reserved(HOG, 250)
    after = world.run(20)
    assert all(facts.throttled_functions == (HOG,) for facts in after)
    assert world.seen("ConcurrentExecutions", 40, "Maximum", FunctionName=HOG) == 250
    assert world.seen("ConcurrentExecutions", 40, "Maximum") < 500


def test_the_capped_hog_loses_nothing_within_the_lease(rehearse: Rehearse) -> None:
    world = rehearse(**_account())
    world.run(35)
    world.account.set_reserved(HOG, 250)
    facts = world.run(55)[-1]
    ledger = world.world.pool.ledger
    assert (ledger.lost[0], ledger.diverted[0], ledger.refused[0]) == (0, 0, 0)
    assert facts.pool.waiting[0] + ledger.served[0] == ledger.wanted[0]
