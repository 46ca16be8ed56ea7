"""How often is the diagnosis alone right, on noisier incidents than those of the side-by-side comparison?

Puts what `bench.accuracy` measures into the words of a section.
"""

from bench import accuracy
from bench.section import Goal, Section, percent
from unthrottle.diagnosis import Cause


def measure(seed: int, count: int, processes: int) -> Section:
    """Diagnose *count* random incidents."""
    found = accuracy.add_up(accuracy.scores(count, seed, processes))
    section = Section(
        key="diagnosis",
        title=f"Diagnosis alone: {count:,} random incidents with noise and missing datapoints, seed {seed}",
        columns=["what is wrong", "incidents", "right", "inconclusive", "said instead"],
    )
    for truth in Cause:
        row = {said: number for (real, said), number in found.confusion.items() if real is truth}
        if not row:
            continue
        whole, right = sum(row.values()), row.get(truth, 0)
        unsure = row.get(Cause.INCONCLUSIVE, 0) if truth is not Cause.INCONCLUSIVE else 0
        others = {said: number for said, number in row.items() if said not in {truth, Cause.INCONCLUSIVE}}
        instead = ", ".join(f"{said.value} {number}" for said, number in others.items())
        section.rows.append([truth.value, f"{whole:,}", percent(right, whole), str(unsure), instead or "-"])
    section.notes.append(
        f"Most AWS calls of a look: {', '.join(f'{about} {number}' for about, number in sorted(found.most_calls.items()))}. "
        f"{found.missed} with a target missed."
        + (f" Seeds of what was not right: {', '.join(map(str, found.wrong_seeds[:20]))}." if found.wrong_seeds else "")
    )
    harmful = found.acted_on_wrong + found.acted_in_controls
    section.goals += [
        Goal(
            text="at least 99 % right diagnoses of noisy incidents",
            found=f"{100 * found.share:.2f} %",
            reached=found.share >= 0.99,
            why_not=f"{found.unsure} inconclusive, {found.guessed} guessed wrong",
        ),
        Goal(
            text="0 planned changes of a wrong target or in a control",
            found=f"{harmful} ({found.controls} controls)",
            reached=harmful == 0,
            why_not=f"seeds {list(found.wrong_seeds[:10])}",
        ),
    ]
    section.data = {
        "count": found.count,
        "right": found.right,
        "inconclusive": found.unsure,
        "guessed_wrong": found.guessed,
        "controls": found.controls,
        "acted_in_controls": found.acted_in_controls,
        "acted_on_wrong_target": found.acted_on_wrong,
        "confusion": {f"{real.value} -> {said.value}": number for (real, said), number in found.confusion.items()},
    }
    return section
