"""How do the figures get into the documentation? Between two marks of a file, by a command and not by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.section import Section

BEGIN, END = "<!-- figures: begin (python -m bench --write-docs) -->", "<!-- figures: end -->"
OF_README = ("accuracy", "time", "calls", "storms", "cold")
"""The parts that the README's figures are taken from; without one of them it is left as it is."""
SHOWN = ("who", "right cause", "right target", "healed", "harmful", "throttled min", "not given back")


def write_docs(file: Path, header: Mapping[str, str], sections: Sequence[Section]) -> None:
    """Replace what is between the marks. Raises ValueError where the file has not both, and changes nothing then."""
    _write_between(file, figures(header, sections))


def write_readme(file: Path, header: Mapping[str, str], sections: Sequence[Section]) -> bool:
    """Replace the README's figures by a few of these; False, and nothing changed, where one of its parts is missing.

    Raises ValueError as `write_docs` does.
    """
    found = {section.key: section for section in sections}
    if not set(OF_README) <= set(found):
        return False
    _write_between(file, summary(header, found))
    return True


def _write_between(file: Path, between: str) -> None:
    text = file.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{file.name} must hold the marks {BEGIN!r} and {END!r} once each. Nothing was written.")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    file.write_text(f"{before}{BEGIN}\n{between}{END}{after}", encoding="utf-8")


def figures(header: Mapping[str, str], sections: Sequence[Section]) -> str:
    """Write all sections as Markdown."""
    lines = ["", " · ".join(f"{name} {value}" for name, value in header.items()), "", "### Figures to reach", ""]
    goals = [goal for section in sections for goal in section.goals]
    lines += _table(
        ["figure", "found", "reached", "why not"],
        [
            [goal.text, goal.found, "yes" if goal.reached else "**no**", "" if goal.reached else goal.why_not]
            for goal in goals
        ],
    )
    for section in sections:
        lines += ["", f"### {section.title}", "", *_table(section.columns, section.rows), ""]
        lines += [f"- {note}" for note in section.notes]
    return "\n".join(lines) + "\n\n"


def summary(header: Mapping[str, str], found: Mapping[str, Section]) -> str:
    """Write the README's few figures: who heals and who harms, then the goals of the other parts in one line each."""
    accuracy = found["accuracy"]
    at = [accuracy.columns.index(name) for name in SHOWN]
    lines = ["", f"{accuracy.title} (date {header['date']}, mode {header['mode']}):", ""]
    lines += _table(SHOWN, [[row[place] for place in at] for row in accuracy.rows])
    goals = [goal for part in OF_README[1:] for goal in found[part].goals]
    lines += ["", *(f"- {goal.text}: {goal.found}{'' if goal.reached else ' (not reached)'}" for goal in goals)]
    return "\n".join(lines) + "\n\n"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [row(columns), row(["---"] * len(columns)), *(row(cells) for cells in rows)]
