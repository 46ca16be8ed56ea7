"""A rehearsed account for the tests of the model: the real account records, the real metric store, and no bot."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.cloudwatch_store import MetricStore
from sandbox.model.world import TickFacts, World
from sandbox.rehearsal.furnish import furnish
from sandbox.scenario import Scenario


@dataclass
class FakeBackfill:
    """A backfill that writes from `start` up to `end`."""

    start: int
    end: int
    writes: Mapping[str, float]


@dataclass
class FakeBackfills:
    """Backfills by minute."""

    planned: list[FakeBackfill] = field(default_factory=list)

    def running(self, minute: int) -> Iterable[FakeBackfill]:
        """List those that run."""
        return [backfill for backfill in self.planned if backfill.start <= minute < backfill.end]


class Rehearsal:
    """Runs a scenario minute by minute and reads what CloudWatch would show."""

    def __init__(self, history_minutes: int, keys: dict[str, object]) -> None:
        self.scenario = Scenario.model_validate({"version": 1, "name": "model", "minutes": 240} | keys)
        limits = self.scenario.account
        self.account = EmbeddedAccount(
            concurrency_limit=limits.concurrency_limit, unreserved_floor=limits.unreserved_floor
        )
        furnish(self.account, self.scenario)
        self.store = MetricStore(self.scenario.start, self.scenario.minutes)
        self.backfills = FakeBackfills()
        self.world = World(self.scenario, self.account, self.store, self.backfills, history_minutes=history_minutes)
        self.minute = 0

    def run(self, minutes: int = 1) -> list[TickFacts]:
        """Let that many minutes pass."""
        facts = [self.world.tick(self.minute + i) for i in range(minutes)]
        self.minute += minutes
        return facts

    @property
    def now(self) -> "object":
        """The simulated moment of the next minute."""
        return self.scenario.start + timedelta(minutes=self.minute)

    def served(self, facts: TickFacts, function: str) -> float:
        """Executions of a function that ran at once."""
        return self.world.served(function, facts)

    def seen(self, metric: str, minute: int, stat: str = "Sum", **dimensions: str) -> float | None:
        """The datapoint of a minute, None = a gap. The namespace follows from the dimensions."""
        namespace = "AWS/DynamoDB" if "TableName" in dimensions else "AWS/Lambda"
        start = self.scenario.start + timedelta(minutes=minute)
        points = self.store.query(
            namespace,
            metric,
            dimensions,
            stat=stat,
            period_s=60,
            start=start,
            end=start + timedelta(minutes=1),
            now=start + timedelta(days=30),
        )
        return points[0][1] if points else None


@pytest.fixture
def rehearse() -> Callable[..., Rehearsal]:
    """Begin a rehearsal with the given keys of a scenario; without history unless asked for."""
    return lambda *, history_minutes=0, **keys: Rehearsal(history_minutes, keys)
