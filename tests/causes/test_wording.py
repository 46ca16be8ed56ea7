"""How numbers, names, keys and commands are written in findings."""

from datetime import timedelta

import pytest

from tests.causes.builders import START, at
from unthrottle.causes import checks
from unthrottle.causes.wording import masked, names, percent

WINDOW = "--start-time 2026-08-24T04:00:00Z --end-time 2026-08-24T04:15:00Z"


@pytest.mark.parametrize(
    ("count", "listed"),
    [(1, "a"), (5, "a, b, c, d, e"), (6, "a, b, c, d, e and 1 more"), (8, "a, b, c, d, e and 3 more")],
)
def test_five_names_are_listed_and_the_rest_is_counted(count: int, listed: str) -> None:
    assert names("abcdefgh"[:count]) == listed


@pytest.mark.parametrize(
    ("part", "whole", "said"), [(1, 8, "12.5 %"), (1, 1, "100 %"), (3, 0, "unknown"), (0, 0, "unknown")]
)
def test_a_share_of_nothing_is_unknown(part: float, whole: float, said: str) -> None:
    assert percent(part, whole) == said


@pytest.mark.parametrize(("key", "shown"), [("user", "… (short key)"), ("users", "us… (5 characters)")])
def test_a_key_is_told_by_two_of_at_least_five_characters(key: str, shown: str) -> None:
    """Half of a short key would give it away."""
    assert masked(key) == shown


def test_a_command_names_the_function_the_index_or_the_whole() -> None:
    window = (START, START + timedelta(minutes=15))
    of_all = checks.lambda_metric("Throttles", "Sum", *window)
    of_one = checks.lambda_metric("Throttles", "Sum", *window, function="f")
    assert of_all == (
        "aws cloudwatch get-metric-statistics --namespace AWS/Lambda --metric-name Throttles --statistics Sum --period 60 "
        + WINDOW
    )
    assert "--metric-name Throttles --dimensions Name=FunctionName,Value=f --statistics Sum" in of_one
    assert checks.contributor_insights("t", None).endswith("describe-contributor-insights --table-name t")
    assert checks.contributor_insights("t", "by-x").endswith("--table-name t --index-name by-x")
    assert "--resource-id table/t --include" in checks.scaling_activities("t", None)
    assert "--resource-id table/t/index/by-x --include" in checks.scaling_activities("t", "by-x")


def test_the_ranking_is_of_minutes_as_it_was_read() -> None:
    command = checks.ranking(START, at(15))
    assert '"Period": 60}' in command
    assert command.endswith(WINDOW)
