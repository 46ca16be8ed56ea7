"""Whatever is written into a scenario file, the answer is a scenario or a ScenarioError, and never a crash."""

import copy
import tempfile
from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.scenario import ScenarioError, load

VALID: dict[str, object] = {
    "version": 1,
    "name": "valid",
    "minutes": 30,
    "start": "2026-08-24T04:00:00Z",
    "account": {"concurrency_limit": 1000},
    "functions": [
        {"name": "f-{i:02d}", "count": 2, "trigger": {"type": "sqs"}, "demand": [[0, 1], [5, 2]], "async": None},
        {"name": "g", "tags": {"a": "b"}, "reserved": 3},
    ],
    "tables": [
        {
            "name": "orders",
            "read": 5,
            "write": 5,
            "autoscaling": {"write": {"min": 5, "max": 9}},
            "indexes": [{"name": "by-day", "read": 5, "write": 5}],
        }
    ],
    "dagy": {"backfills": [{"id": "b", "start": 1, "end": 3, "writes": {"orders": 5}}], "api": "up"},
    "people": [{"at": 3, "do": "keep"}],
    "outside": [{"at": 3, "set": {"table": "orders", "write": 9}}],
    "events": [{"at": 3, "event": {"a": 1}}],
    "metrics": [{"namespace": "n", "name": "m", "values": [1, None]}],
    "slack": {"steps": [[0, "up"]]},
    "faults": [{"call": "lambda.Invoke", "error": "Throttled"}],
    "expect": {"incidents": []},
}
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**12),
    st.floats(),
    st.sampled_from(["", "up", "{i", "{i:03d}", "a b", "f-01", "12:30", "é", "2026-08-24", "x" * 300]),
    st.just([]),
    st.just({}),
    st.just([[0]]),
    st.just({"type": []}),
    st.lists(st.integers(0, 5), max_size=3),
)


def _damage(node: object, draw: st.DataObject, junk: object) -> object:
    """Replace a random part of the document."""
    if isinstance(node, dict) and node and draw.draw(st.integers(0, 4)) > 0:
        key = draw.draw(st.sampled_from(list(node)))
        return node | {key: _damage(node[key], draw, junk)}
    if isinstance(node, list) and node and draw.draw(st.integers(0, 4)) > 0:
        place = draw.draw(st.integers(0, len(node) - 1))
        return [_damage(part, draw, junk) if i == place else part for i, part in enumerate(node)]
    return junk


def _answer(text: str) -> tuple[str, ...] | None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.yaml"
        file.write_text(text, encoding="utf-8")
        try:
            load(file)
        except ScenarioError as error:
            return error.problems
    return None


def test_the_undamaged_file_is_valid() -> None:
    assert _answer(yaml.safe_dump(VALID)) is None


@settings(max_examples=250, deadline=None)
@given(st.data(), JUNK)
def test_a_damaged_value_is_told_or_harmless(data: st.DataObject, junk: object) -> None:
    problems = _answer(yaml.safe_dump(_damage(copy.deepcopy(VALID), data, junk), allow_unicode=True))
    assert problems is None or all(problems)


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("abv:-[]{}'\"\n \t#&*!|>%@`1?,"), max_size=40))
def test_any_text_is_told(text: str) -> None:
    assert _answer(text)
