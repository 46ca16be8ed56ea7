"""Growth, documents and pages: what turns measurements into figures people read."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.cold import ALARM, SECRET, signed_command
from bench.docs import BEGIN, END, OF_README, SHOWN, write_docs, write_readme
from bench.growth import fit
from bench.page import page
from bench.section import Curve, Goal, Section, median, percent
from unthrottle.alarms import Firing, read
from unthrottle.slack_front import Command, receive


def _section() -> Section:
    return Section(
        key="calls",
        title="Calls <of> a bot",
        columns=["size", "calls"],
        rows=[["100", "6"]],
        goals=[Goal(text="constant", found="6", reached=False, why_not="too | many")],
        curves=[Curve(title="Calls", x="functions", y="calls", lines={"<script>": [(100, 6), (1000, 6)]})],
        bars={"Share": {"us & them": 1.0}},
    )


def test_the_same_number_of_calls_at_every_size_is_constant() -> None:
    assert fit([(100, 6), (377, 6), (10_000, 6)]).in_words() == "constant: 6.0 (at most 0 % off)"


def test_two_calls_a_function_are_linear() -> None:
    found = fit([(100, 203), (1_000, 2_003), (10_000, 20_003)])
    assert (found.shape, round(found.base), round(found.slope, 3)) == ("linear", 3, 2)


def test_one_size_shows_no_growth() -> None:
    with pytest.raises(ValueError, match="measure at two sizes"):
        fit([(100, 6)])


def test_nothing_to_take_a_share_of_is_no_share_of_zero() -> None:
    assert (percent(0, 0), percent(1, 8), median([]), median([3.0, 1.0])) == ("-", "12.5 %", None, 2.0)


def test_figures_replace_only_what_is_between_the_marks(tmp_path: Path) -> None:
    file = tmp_path / "benchmarks.md"
    file.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    write_docs(file, {"seed": "7"}, [_section()])
    text = file.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "| constant | 6 | **no** | too \\| many |" in text


def test_a_document_without_marks_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "benchmarks.md"
    file.write_text("mine\n", encoding="utf-8")
    with pytest.raises(ValueError, match="Nothing was written"):
        write_docs(file, {}, [_section()])
    assert file.read_text(encoding="utf-8") == "mine\n"


def test_a_page_shows_names_as_text_and_says_what_is_not_reached() -> None:
    written = page({"seed": "7"}, [_section()])
    assert "<script>" not in written
    assert "not reached" in written
    assert "us &amp; them" in written
    assert "https://" not in written


def _parts() -> list[Section]:
    accuracy = Section(
        key="accuracy",
        title="Accuracy",
        columns=[*SHOWN, "of incidents"],
        rows=[
            ["Unthrottle", "99 %", "98 %", "97 %", "0", "18", "0", "9"],
            ["nobody", "-", "-", "-", "0", "396", "0", "9"],
        ],
    )
    goal = Goal(text="cold within 1.2 x", found="1.3 x", reached=False)
    return [accuracy, *(Section(key=key, title=key, columns=["a"], goals=[goal]) for key in OF_README[1:])]


def test_the_readme_gets_a_few_of_the_figures_and_says_what_is_not_reached(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    assert write_readme(file, {"date": "today", "mode": "full"}, _parts())
    text = file.read_text(encoding="utf-8")
    assert "| Unthrottle | 99 % | 98 % | 97 % | 0 | 18 | 0 |\n" in text
    assert "- cold within 1.2 x: 1.3 x (not reached)" in text
    assert "\nold\n" not in text


def test_the_readme_is_left_alone_when_a_part_was_not_measured(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text(f"{BEGIN}\nold\n{END}\n", encoding="utf-8")
    assert not write_readme(file, {"date": "today", "mode": "full"}, _parts()[1:])
    assert "old" in file.read_text(encoding="utf-8")


def test_both_documents_have_the_marks_that_the_figures_go_between() -> None:
    root = Path(__file__).parents[2]
    for name in ("README.md", "docs/benchmarks.md"):
        text = (root / name).read_text(encoding="utf-8")
        assert (text.count(BEGIN), text.count(END)) == (1, 1)


def test_what_the_front_doors_are_timed_with_is_a_genuine_command_and_a_genuine_alarm() -> None:
    command = receive(signed_command("status"), [SECRET["signing_secret"]], datetime.now(UTC))
    assert isinstance(command, Command)
    assert [type(reading) for reading in read(ALARM)] == [Firing]
