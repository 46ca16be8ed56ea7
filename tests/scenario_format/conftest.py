"""Scenario files for the tests of the format: a small valid one, and ways to break it."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from sandbox.scenario import Scenario, ScenarioError, load


@pytest.fixture
def write(tmp_path: Path) -> Callable[[object], Path]:
    """Write a scenario: a mapping as YAML, text as it is."""

    def write_file(content: object) -> Path:
        file = tmp_path / "case.yaml"
        text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
        file.write_text(text, encoding="utf-8")
        return file

    return write_file


@pytest.fixture
def read(write: Callable[[object], Path]) -> Callable[..., Scenario]:
    """Load a minimal scenario with the given keys."""
    return lambda **keys: load(write({"version": 1, "name": "small", "minutes": 60} | keys))


@pytest.fixture
def problems(write: Callable[[object], Path]) -> Callable[..., list[str]]:
    """List what is wrong with a minimal scenario with the given keys."""

    def list_problems(content: str | None = None, /, **keys: object) -> list[str]:
        given = {"version": 1, "name": "small", "minutes": 60} | keys if content is None else content
        with pytest.raises(ScenarioError) as caught:
            load(write(given))
        return list(caught.value.problems)

    return list_problems
