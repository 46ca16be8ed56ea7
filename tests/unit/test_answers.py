"""What a person said is read on the safe side."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unthrottle.answers import Answer, Do, read_answer, write_answer


@pytest.mark.parametrize("do", ["approve", "reject", "revert", "keep"])
def test_an_answer_arrives_as_it_was_given(do: Do) -> None:
    """What was written is what is read, also when the wire quoted it once more."""
    answer = Answer(do=do, by="U0OPS")

    assert read_answer(write_answer(answer)) == answer
    assert read_answer(json.dumps(write_answer(answer))) == answer


@pytest.mark.parametrize(
    "text",
    ["", "yes", "approve", "[]", "null", '{"do": "APPROVE"}', '{"do": ["approve"]}', '"{', "[" * 100_000, '"' * 3],
    ids=["empty", "a word", "bare", "a list", "null", "shouted", "a list of one", "half", "deep", "quotes"],
)
def test_what_is_not_understood_is_a_no(text: str) -> None:
    """No text but a clear approve lets a change begin, and none makes the workflow fail."""
    assert read_answer(text) == Answer(do="reject", by="an unknown person")


@given(st.text())
def test_no_text_is_taken_for_a_yes_by_chance(text: str) -> None:
    """Any text gives an answer; an approve needs the word in it."""
    assert read_answer(text).do == "reject" or "do" in text
