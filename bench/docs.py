"""How do the figures get into the documentation? Between two marks of docs/benchmarks.md, by a command and not by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.section import Section

BEGIN, END = "<!-- figures: begin (python -m bench --write-docs) -->", "<!-- figures: end -->"


def write_docs(file: Path, header: Mapping[str, str], sections: Sequence[Section]) -> None:
    """Replace what is between the marks. Raises ValueError where the file has not both, and changes nothing then."""
    text = file.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{file.name} must hold the marks {BEGIN!r} and {END!r} once each. Nothing was written.")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    file.write_text(f"{before}{BEGIN}\n{figures(header, sections)}{END}{after}", encoding="utf-8")


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


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [row(columns), row(["---"] * len(columns)), *(row(cells) for cells in rows)]
