"""How many runs were there, by kind of fault and by what broke? Markdown, for the terminal and the documents.

Pure. Knows nothing of how a run is played.
"""

import re
from collections import Counter
from collections.abc import Sequence

from sandbox.aws.calls import ALWAYS
from sandbox.faults.cases import AWS, Case
from sandbox.faults.play import Result


def tables(results: Sequence[Result]) -> str:
    """Write both tables."""
    return f"{by_kind(results)}\n\n{by_place(results)}"


def by_kind(results: Sequence[Result]) -> str:
    """One line for each kind of fault: how often it struck once, some times in a row, and for good."""
    count: Counter[tuple[str, str]] = Counter((result.case.kind, _length(result.case)) for result in results)
    broken: Counter[str] = Counter(result.case.kind for result in results for _ in result.violations)
    lines = ["| fault | once | for a while | for good | violated |", "|---|---:|---:|---:|---:|"]
    rows = [(kind, [count[kind, length] for length in ("once", "while", "good")], broken[kind]) for kind in AWS]
    rows.append(("all", [sum(row[1][i] for row in rows) for i in range(3)], broken.total()))
    lines += [f"| {kind} | {' | '.join(f'{one:,}' for one in numbers)} | {bad} |" for kind, numbers, bad in rows]
    return "\n".join(lines)


def by_place(results: Sequence[Result]) -> str:
    """One line for each service whose calls broke."""
    count: Counter[tuple[str, str]] = Counter((_place(result.case), result.case.engine) for result in results)
    broken: Counter[str] = Counter(_place(result.case) for result in results for _ in result.violations)
    places = sorted({place for place, _ in count})
    lines = ["| what broke | runs | of these by the durable SDK | violated |", "|---|---:|---:|---:|"]
    lines += [
        f"| {place} | {count[place, 'simulated'] + count[place, 'durable']:,} | {count[place, 'durable']} | {broken[place]} |"
        for place in places
    ]
    return "\n".join(lines)


def replaced(document: str, name: str, text: str) -> str:
    """Put *text* between the marks `<!-- NAME -->` and `<!-- /NAME -->`. Raises ValueError where they are not."""
    marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not marked.search(document):
        raise ValueError(f"There are no marks <!-- {name} --> in the document. Nothing was written.")
    return marked.sub(lambda found: f"{found[1]}{text}\n{found[2]}", document, count=1)


def _length(case: Case) -> str:
    return {1: "once", ALWAYS: "good"}.get(case.times, "while")


def _place(case: Case) -> str:
    return case.call.partition(".")[0]
