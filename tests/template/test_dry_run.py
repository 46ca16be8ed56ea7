"""In dry-run nothing can be changed: not because nobody tries, but because nobody may."""

from typing import Any

import pytest

from sandbox.aws.iam_policy import Allowed, Asked, judge
from tests.template.resolved import EVERYTHING, HUB, REGION, hub
from unthrottle.actions import PERMISSIONS

DRY = {**EVERYTHING, "Mode": "dry-run"}
TARGETS = [
    f"arn:aws:lambda:{REGION}:{HUB}:function:orders",
    f"arn:aws:lambda:{REGION}:{HUB}:event-source-mapping:11111111-2222-4333-8444-555555555555",
    f"arn:aws:dynamodb:{REGION}:{HUB}:table/orders",
    f"arn:aws:application-autoscaling:{REGION}:{HUB}:scalable-target/1a2b",
    f"arn:aws:cloudwatch:{REGION}:{HUB}:alarm:orders",
]
CHANGES = sorted(action for action in PERMISSIONS if not action.split(":")[1].startswith(("Get", "List", "Describe")))


def _holders(parameters: dict[str, Any], action: str) -> set[str]:
    """The roles that may do it to any of the targets."""
    context = {
        "application-autoscaling:service-namespace": "dynamodb",
        "aws:CalledViaLast": "application-autoscaling.amazonaws.com",
    }
    return {
        key
        for key, role in hub(**parameters).roles.items()
        for target in TARGETS
        if isinstance(judge(role.statements, Asked(action=action, resource=target, context=context)), Allowed)
    }


@pytest.mark.parametrize("action", CHANGES)
def test_no_role_of_the_stack_holds_any_right_to_change_in_dry_run(action: str) -> None:
    assert _holders(DRY, action) == set()
    assert _holders(EVERYTHING, action) == {"ActorRole"}


def test_the_actor_is_in_no_part_of_what_is_deployed_in_dry_run() -> None:
    deployed = hub(**DRY)
    assert "ActorRole" not in deployed.resources
    assert "unthrottle-actor" not in str(deployed.resources)
    assert "unthrottle-actor" in str(hub(**EVERYTHING).resources)


@pytest.mark.parametrize("mode", ["approve", "auto"])
def test_the_actor_exists_in_the_modes_that_act(mode: str) -> None:
    assert "ActorRole" in hub(Mode=mode).roles


def test_nobody_may_become_the_actor_in_dry_run_even_if_a_role_of_that_name_is_left_over() -> None:
    left_over = f"arn:aws:iam::{HUB}:role/unthrottle-actor"
    asked = Asked(action="sts:AssumeRole", resource=left_over, context={"aws:ResourceAccount": HUB})
    roles = hub(**DRY).roles.values()
    assert [role.arn for role in roles if isinstance(judge(role.statements, asked), Allowed)] == []
