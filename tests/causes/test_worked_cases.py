"""Every case that docs/diagnosis.md lists is asserted by a test or a scenario that is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = re.findall(r"^\| ([DL]\d+) \|.*\| ([^|]+) \|$", (ROOT / "docs/diagnosis.md").read_text("utf-8"), re.MULTILINE)
FILES = {"D": "test_worked_tables.py", "L": "test_worked_pools.py"}


def test_no_case_is_left_out() -> None:
    expected = [f"D{number}" for number in range(1, 29)] + [f"L{number}" for number in range(1, 43)]
    assert [case for case, _ in ROWS] == expected


@pytest.mark.parametrize(("case", "asserted_by"), ROWS)
def test_a_case_is_asserted_where_the_document_says(case: str, asserted_by: str) -> None:
    assert asserted_by.strip()
    for words in asserted_by.split(", "):
        if words.startswith("["):
            text = (ROOT / "tests/causes" / FILES[case[0]]).read_text("utf-8")
            assert re.search(rf'id="[^"]*\b{case}\b', text), f"{case} is no row"
            continue
        file, _, name = words.strip("`").partition("::")
        text = (ROOT / "tests" / file).read_text("utf-8")
        assert f"def {name}(" in text or not name, f"{file} has no {name}"
