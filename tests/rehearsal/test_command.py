"""`unthrottle rehearse`: what is printed where, and the exit codes."""

import json
from pathlib import Path

import pytest

from cli.main import run

QUIET = """
version: 1
name: nothing happens
minutes: 6
functions: [{name: calm, trigger: {type: eventbridge}, demand: [[0, 5]]}]
"""


@pytest.fixture
def quiet(tmp_path: Path) -> Path:
    file = tmp_path / "quiet.yaml"
    file.write_text(QUIET, encoding="utf-8")
    return file


def test_json_is_one_document_and_nothing_else_on_standard_output(
    quiet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rehearse", str(quiet), str(quiet), "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["version"] == 1
    assert [scenario["file"] for scenario in document["scenarios"]] == [str(quiet)] * 2
    assert captured.err == ""


def test_a_story_names_the_scenario_and_says_what_came_of_it(quiet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rehearse", str(quiet)]) == 0
    printed = capsys.readouterr().out
    assert "nothing happens" in printed
    assert "No incident." in printed


def test_an_expectation_that_is_not_met_exits_with_2_and_says_which(
    quiet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet.write_text(QUIET + "expect: {incidents: {length: 1}}\n", encoding="utf-8")
    assert run(["rehearse", str(quiet)]) == 2
    assert "incidents: expected" in capsys.readouterr().out


def test_a_scenario_that_cannot_be_used_exits_with_1_before_anything_is_played(
    quiet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(QUIET.replace("minutes", "minuets"), encoding="utf-8")
    assert run(["rehearse", str(quiet), str(bad), "--json"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "minuets" in captured.err
    assert "Traceback" not in captured.err


def test_a_wrong_setting_exits_with_1_and_names_file_and_setting(
    quiet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet.write_text(QUIET + "settings: {MaxPoolShare: 900}\n", encoding="utf-8")
    assert run(["rehearse", str(quiet)]) == 1
    error = capsys.readouterr().err
    assert str(quiet) in error
    assert "MaxPoolShare" in error


@pytest.mark.parametrize(
    "arguments",
    [
        ["rehearse"],
        ["rehearse", "--mode", "fast", "x.yaml"],
        ["rehearse", "--engine", "x", "x.yaml"],
        ["no-such"],
        ["--no"],
    ],
    ids=["no file", "unknown mode", "unknown engine", "unknown command", "unknown option"],
)
def test_wrong_usage_exits_with_1(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 1
    assert capsys.readouterr().out == ""


def test_help_is_no_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert "rehearse" in capsys.readouterr().out


def test_mode_is_put_over_the_scenarios_own(quiet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rehearse", str(quiet), "--mode", "auto", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scenarios"][0]["expectation"] == "none"
