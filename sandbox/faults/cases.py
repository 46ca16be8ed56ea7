"""Which call breaks, how, and when: the runs of a sweep, from what an undisturbed run called.

Pure: the undisturbed run's calls come in, cases come out, the same for the same seed.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sandbox.aws.calls import ALWAYS

Engine = Literal["simulated", "durable"]

AWS: Final[Mapping[str, tuple[str, ...]]] = {
    "throttled": ("ThrottlingException", "TooManyRequestsException"),
    "500": ("InternalServerError",),
    "503": ("ServiceUnavailable",),
    "refused": ("refused",),
    "time-out before": ("timeout-before",),
    "time-out after, or slow": ("timeout-after", "slow"),
    "access denied": ("AccessDeniedException",),
    "validation": ("ValidationException", "InvalidParameterValueException"),
    "conflict": ("ResourceInUseException", "ResourceConflictException"),
    "limit": ("LimitExceededException",),
    "expired credentials": ("ExpiredTokenException",),
    "malformed": ("malformed",),
    "truncated": ("truncated",),
    "process dies before": ("crash-before",),
    "process dies after": ("crash-after",),
}
"""Kinds of faults of AWS and the words for them; where there are two, they take turns."""
HTTP: Final[Mapping[str, tuple[str, ...]]] = {
    "throttled": ("429",),
    "500": ("500",),
    "503": ("503",),
    "refused": ("refused",),
    "time-out before": ("timeout-before",),
    "time-out after, or slow": ("timeout-after", "slow"),
    "access denied": ("403",),
    "validation": ("400",),
    "conflict": ("409",),
    "limit": ("429",),
    "expired credentials": ("401",),
    "malformed": ("malformed",),
    "truncated": ("truncated",),
    "process dies before": ("crash-before",),
    "process dies after": ("crash-after",),
}
SLACK_CODES: Final = {
    "access denied": ("token_revoked",),
    "validation": ("invalid_blocks",),
    "conflict": ("ratelimited",),
    "limit": ("message_limit_exceeded",),
    "expired credentials": ("token_expired",),
}
DURABLE: Final = frozenset({"lambda.CheckpointDurableExecution", "lambda.GetDurableExecutionState"})
"""The calls by which the durable SDK keeps what was done."""
CRASHES: Final = frozenset({"process dies before", "process dies after"})
LASTING: Final = 6
"""In how many ways, drawn, each call breaks for good."""
FOR_A_WHILE: Final = 12
"""As often as a step makes a call before it gives up: four attempts of three tries each."""
AGAIN_AND_AGAIN: Final = 4
"""How often a process dies at the same call where it does so more than once, and not for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """What an undisturbed run called: how often, and how often before its first change."""

    total: Mapping[str, int]
    before_acting: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run: the scene, and the one fault. `kind` is the column of the report."""

    scene: str
    call: str
    kind: str
    error: str
    nth: int
    times: int
    engine: Engine = "simulated"

    @property
    def dies_for_good(self) -> bool:
        """Whether every process that comes to this call dies there: only other functions can put things right."""
        return self.kind in CRASHES and self.times == ALWAYS

    @property
    def breaks_the_service(self) -> bool:
        """Whether the fault is in the durable service itself, which then may end the execution: the sweep has the rest."""
        return self.engine == "durable" and self.call in DURABLE

    def __str__(self) -> str:
        often = {1: "once", ALWAYS: "for good"}.get(self.times, f"{self.times} times")
        engine = "" if self.engine == "simulated" else f" ({self.engine})"
        return f"{self.scene}: {self.call} #{self.nth} {self.error} {often}{engine}"


def kinds_of(call: str) -> Mapping[str, tuple[str, ...]]:
    """Name the ways in which a call can break."""
    if call.startswith("slack."):
        return {**HTTP, **SLACK_CODES}
    return HTTP if call.startswith("dagy.") else AWS


def cases(scene: str, called: Called, seed: int, engine: Engine = "simulated") -> list[Case]:
    """List every run for one scene: each call in each way once, and each call in some ways for good.

    Which occurrence of the call it is, is drawn: as often one up to the first change as any of all. What breaks for good
    does so from the first occurrence on, or from the first after acting: then there is something to give back.
    """
    draw = random.Random(f"{seed}/{scene}")
    found: list[Case] = []
    for call, total in sorted(called.total.items()):
        kinds = kinds_of(call)
        late = called.before_acting.get(call, 0) + 1
        lasting = set(draw.sample(sorted(kinds), min(LASTING, len(kinds))))
        for kind, words in kinds.items():
            nth = draw.choice([draw.randint(1, min(total, late)), draw.randint(1, total)])
            found.append(
                Case(scene=scene, call=call, kind=kind, error=draw.choice(words), nth=nth, times=1, engine=engine)
            )
            if kind in lasting:
                times = draw.choice([ALWAYS, AGAIN_AND_AGAIN if kind in CRASHES else FOR_A_WHILE])
                first = draw.choice([1, late]) if late <= total else 1
                found.append(
                    Case(
                        scene=scene,
                        call=call,
                        kind=kind,
                        error=draw.choice(words),
                        nth=first,
                        times=times,
                        engine=engine,
                    )
                )
    return found


def sampled(every: Sequence[Case], most: int, seed: int) -> list[Case]:
    """Draw *most* of them, each kind and each scene about equally often; all where there are no more."""
    if len(every) <= most:
        return list(every)
    draw = random.Random(seed)
    left = draw.sample(list(every), len(every))
    taken: list[Case] = []
    kinds: Counter[tuple[str, bool]] = Counter()
    scenes: Counter[str] = Counter()
    for _ in range(most):
        best = min(left, key=lambda case: kinds[case.kind, case.times == 1] + scenes[case.scene] / 4)
        left.remove(best)
        taken.append(best)
        kinds[best.kind, best.times == 1] += 1
        scenes[best.scene] += 1
    return taken
