"""One race on a ground: how it begins, what else must have come out. And the places from which races begin."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.races.ground import LEASE_MINUTES, MINUTE, Ground
from sandbox.races.promises import broken
from sandbox.races.stand_ins import NOW
from sandbox.races.turns import Turns

Works = dict[str, Callable[[], None]]
LEASE = LEASE_MINUTES * MINUTE
SECOND = MINUTE / 60
LATE = LEASE + 16 * MINUTE
"""When a lease is overdue for the sweep: its workflow was held up for so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One race on a ground. `begins` arranges it and names the actors; `ends` says what is wrong besides."""

    name: str
    ground: Ground
    begins: Callable[[Ground], Works]
    ends: Callable[[Ground], Iterator[str]]
    is_long: bool = True
    """Whether the rest of the story belongs to it; without, only what is in the table is judged."""
    keeps_all: bool = True
    """Whether the promises of all races hold, or only its own."""

    @property
    def turns(self) -> Turns:
        return self.ground.turns

    def arrange(self) -> Mapping[str, Callable[[], None]]:
        return self.begins(self.ground)

    def judge(self) -> Sequence[str]:
        if not self.is_long:
            return list(self.ends(self.ground))
        self.ground.let_it_end()
        return [*(broken(self.ground) if self.keeps_all else ()), *self.ends(self.ground)]


# --- arranging -----------------------------------------------------------------------------------------------------------


def does(work: Callable[..., Any], *words: Any) -> Callable[[], None]:
    def do() -> None:
        work(*words)

    return do


def to_the_lease(ground: Ground) -> None:
    ground.alarm("a")
    ground.run_what_is_due()


def to_the_question(ground: Ground) -> None:
    ground.alarm("a")
    ground.run_what_is_due()
    ground.clock.time = (ground.service.next_due() or NOW) + SECOND  # the reminder
    ground.run_what_is_due()


def to_verifying(ground: Ground) -> None:
    ground.symptom = None
    ground.alarm("a")
    ground.run_what_is_due()


def opened_and_lost(ground: Ground) -> None:
    ground.alarm("a")
    ground.service.executions.clear()


def open_two(ground: Ground) -> None:
    ground.alarm("a", "t-one")
    ground.alarm("b", "t-two")
    ground.blamed = {}
