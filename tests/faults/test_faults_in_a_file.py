"""A scenario file can say which call breaks, from which on, how often and how; for AWS, Slack and dagy."""

from pathlib import Path

import pytest

from sandbox.scenario import ScenarioError, load
from sandbox.scenario.format import ALWAYS, Fault

PLAIN = "version: 1\nname: n\nminutes: 5\nfaults:\n"


def faults(tmp_path: Path, *lines: str) -> list[Fault]:
    file = tmp_path / "s.yaml"
    file.write_text(PLAIN + "".join(f"  - {{{line}}}\n" for line in lines), encoding="utf-8")
    return load(file).faults


def test_a_fault_strikes_once_unless_it_says_how_often(tmp_path: Path) -> None:
    once, some, good = faults(
        tmp_path,
        "call: lambda.Invoke, error: refused",
        "call: sts.AssumeRole, error: malformed, nth: 2, times: 3",
        "call: dynamodb.UpdateItem, error: slow, times: always",
    )
    assert (once.nth, once.times, some.times, good.times) == (1, 1, 3, ALWAYS)
    assert once.is_of_aws


def test_slack_and_dagy_break_by_status_and_code(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        "call: slack.chat.postMessage, error: 503",
        "call: slack.usergroups.users.list, error: token_revoked",
        "call: dagy.POST, error: truncated",
        "call: dagy.GET, error: crash-after",
    )
    assert [one.error for one in found] == ["503", "token_revoked", "truncated", "crash-after"]
    assert not any(one.is_of_aws for one in found)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("call: slack.postMessage.now-, error: 503", "slack.chat.postMessage"),
        ("call: lambda.Invoke, error: Timeout-after", "timeout- or crash-"),
        ("call: lambda.Invoke, error: refused, times: 0", "at least 1"),
        ("call: lambda.Invoke, error: refused, times: often", "faults[0].times"),
        ("call: lambda.Invoke, error: 200", "an HTTP status such as 503"),
    ],
)
def test_what_cannot_break_is_refused_with_what_can(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(ScenarioError) as found:
        faults(tmp_path, line)
    assert words in str(found.value)
