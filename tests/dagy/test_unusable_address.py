"""An address of dagy that is of no use takes dagy away, and nothing else."""

from dataclasses import replace

import pytest

from unthrottle.backfills import BackfillsUnavailable
from unthrottle.wiring import Wired

ENVIRONMENT = {
    "UNTHROTTLE_INCIDENTS_TABLE": "incidents",
    "UNTHROTTLE_OBSERVER_ROLE": "unthrottle-observer",
    "UNTHROTTLE_HOME_ACCOUNT": "111122223333",
    "AWS_REGION": "eu-west-1",
}


@pytest.mark.parametrize(
    "address", ["http://dagy.internal", "dagy.internal", "https://", "https://u:p@dagy", "https://d?x"]
)
def test_everything_is_wired_and_dagy_answers_why_it_cannot_be_asked(address: str) -> None:
    wired = Wired(ENVIRONMENT)
    wired.settings = replace(wired.settings, dagy_api_url=address)

    backfills = wired.ports.backfills

    assert backfills is not None
    with pytest.raises(BackfillsUnavailable, match=r"Cannot read the running backfills: dagy's address is .*https"):
        backfills.running()
    with pytest.raises(BackfillsUnavailable, match=r"Cannot cancel backfill bf-1: .* Nothing was sent"):
        backfills.cancel("bf-1")


def test_roles_are_assumed_in_the_partition_that_the_stack_is_in() -> None:
    wired = Wired({**ENVIRONMENT, "UNTHROTTLE_PARTITION": "aws-us-gov"})

    assert wired.accounts._partition == "aws-us-gov"
    assert Wired(ENVIRONMENT).accounts._partition == "aws"
