"""A name without end is wrong, and is not told without end."""

from pathlib import Path

import pytest

from sandbox.scenario import ScenarioError, load


@pytest.mark.parametrize("part", ["functions: [{name: %s}]", "tables: [{name: %s, read: 1, write: 1}]"])
def test_a_name_without_end_is_shown_by_its_beginning(tmp_path: Path, part: str) -> None:
    file = tmp_path / "long.yaml"
    file.write_text(f"version: 1\nname: long\nminutes: 5\n{part % ('a' * 70_000)}\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="is no legal") as raised:
        load(file)
    assert len(str(raised.value)) < 2_000
