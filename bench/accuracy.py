"""How often is the diagnosis right? Random incidents with a known cause, and the confusion table of what was said.

The seed is printed and gives the same figures again: `python -m bench --only diagnosis --seed 20261129`.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from sandbox.generator import Case, Looked, draw, look
from unthrottle.diagnosis import Cause

COUNT = 1000
SEED = 20_261_129


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One incident and what was made of it."""

    case: Case
    looked: Looked

    @property
    def truth(self) -> Cause:
        return self.looked.truth

    @property
    def said(self) -> Cause:
        return self.looked.diagnosis.cause

    @property
    def is_right(self) -> bool:
        return self.said is self.truth

    @property
    def is_control(self) -> bool:
        return self.truth is Cause.ALREADY_OVER

    @property
    def wrong_targets(self) -> frozenset[str]:
        """Name what would be changed without asking, and is not what is wrong."""
        return self.looked.changed - self.case.targets if not self.is_control else frozenset()

    @property
    def missed_targets(self) -> frozenset[str]:
        """Name what should be changed and would be left alone, where the cause itself was found."""
        planned = {change.target for change in self.looked.plan.changes}
        return self.case.targets - planned if self.is_right and not self.is_control else frozenset()


def score(seed: int) -> Score:
    """Draw an incident and look at it."""
    case = draw(seed)
    return Score(case=case, looked=look(case))


def scores(count: int, seed: int, processes: int = 1) -> Iterator[Score]:
    """Score *count* incidents, whose seeds follow each other."""
    seeds = range(seed, seed + count)
    if processes == 1:
        yield from map(score, seeds)
        return
    with ProcessPoolExecutor(processes) as workers:
        yield from workers.map(score, seeds, chunksize=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """The figures. `right` counts the right causes, `unsure` the inconclusive ones, `guessed` the wrong ones."""

    count: int
    right: int
    unsure: int
    guessed: int
    controls: int
    acted_in_controls: int
    acted_on_wrong: int
    missed: int
    most_calls: dict[str, int]
    confusion: Counter[tuple[Cause, Cause]]
    wrong_seeds: tuple[int, ...]

    @property
    def share(self) -> float:
        return self.right / self.count if self.count else 0.0


def add_up(given: Iterable[Score]) -> Accuracy:
    """Add up scores."""
    found = list(given)
    wrong = [one for one in found if not one.is_right]
    most: dict[str, int] = {}
    for one in found:
        about = "pool" if one.case.scenario.functions else "table"
        most[about] = max(most.get(about, 0), one.looked.calls)
    return Accuracy(
        count=len(found),
        right=len(found) - len(wrong),
        unsure=sum(one.said is Cause.INCONCLUSIVE for one in wrong),
        guessed=sum(one.said is not Cause.INCONCLUSIVE for one in wrong),
        controls=sum(one.is_control for one in found),
        acted_in_controls=sum(bool(one.looked.changed) for one in found if one.is_control),
        acted_on_wrong=sum(bool(one.wrong_targets) for one in found),
        missed=sum(bool(one.missed_targets) for one in found),
        most_calls=most,
        confusion=Counter((one.truth, one.said) for one in found),
        wrong_seeds=tuple(one.case.seed for one in (*wrong, *(one for one in found if one.wrong_targets))),
    )


def report(console: Console, *, count: int = COUNT, seed: int = SEED, processes: int = 2) -> Accuracy:
    """Measure, and print the confusion table and the figures."""
    before = time.perf_counter()
    found = add_up(scores(count, seed, processes))
    table = Table(title=f"Diagnoses of {count:,} random incidents, seed {seed}", title_justify="left")
    for column in ("what is wrong", "incidents", "right", "inconclusive", "said instead"):
        table.add_column(column, justify="right" if column in {"incidents", "right", "inconclusive"} else "left")
    for truth in Cause:
        row = {said: number for (real, said), number in found.confusion.items() if real is truth}
        if not row:
            continue
        others = {said: number for said, number in row.items() if said not in {truth, Cause.INCONCLUSIVE}}
        unsure = row.get(Cause.INCONCLUSIVE, 0) if truth is not Cause.INCONCLUSIVE else 0
        instead = ", ".join(f"{said.value} {number}" for said, number in others.items())
        table.add_row(truth.value, str(sum(row.values())), str(row.get(truth, 0)), str(unsure), instead)
    console.print(table)
    console.print(
        f"{100 * found.share:.2f} % right; {found.unsure} inconclusive, {found.guessed} guessed wrong; "
        f"{found.acted_on_wrong} actions on a wrong target, {found.acted_in_controls} in {found.controls} controls "
        f"({100 * found.controls / max(1, found.count):.0f} %); {found.missed} with a target missed."
    )
    calls = ", ".join(f"{about} {number}" for about, number in sorted(found.most_calls.items()))
    console.print(f"Most AWS calls of a look: {calls}. {time.perf_counter() - before:.0f} s in {processes} processes.")
    if found.wrong_seeds:
        console.print(f"Seeds of what was not right: {', '.join(map(str, found.wrong_seeds[:30]))}")
    return found
