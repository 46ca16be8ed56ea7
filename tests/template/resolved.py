"""The two templates as deployed with some parameters, without an AWS account."""

from pathlib import Path
from typing import Any

from sandbox.rehearsal.stack import Stack

ROOT = Path(__file__).parents[2]
HUB, MEMBER, STRANGER = "111122223333", "222222222222", "333333333333"
REGION = "eu-west-1"
EVERYTHING = {
    "Mode": "auto",
    "EscalationTopicArn": f"arn:aws:sns:{REGION}:{HUB}:on-call",
    "DagySecretArn": f"arn:aws:secretsmanager:{REGION}:{HUB}:secret:dagy",
    "ChangeCalendarArn": f"arn:aws:ssm:{REGION}:{HUB}:document/freeze",
    "KmsKeyArn": f"arn:aws:kms:{REGION}:{HUB}:key/11111111-2222-4333-8444-555555555555",
    "MemberAccounts": MEMBER,
    "OrganizationId": "o-a1b2c3d4e5",
    "ExternalId": "a-long-external-id",
    "OpsItems": "true",
}
"""Every optional part of the template switched on."""


def hub(**parameters: Any) -> Stack:
    """Deploy template.yaml; what is not given is as by default."""
    given = {
        "SlackChannel": "C0OPS",
        "SlackSecretArn": f"arn:aws:secretsmanager:{REGION}:{HUB}:secret:slack",
        **parameters,
    }
    return Stack(ROOT / "template.yaml", given, account=HUB, region=REGION)


def member(*, region: str = REGION, **parameters: Any) -> Stack:
    """Deploy member.yaml into the member account."""
    given = {
        "HubAccount": HUB,
        "HubBusArn": f"arn:aws:events:{REGION}:{HUB}:event-bus/unthrottle-hub",
        "ExternalId": "a-long-external-id",
        "RolesRegion": REGION,
        **parameters,
    }
    return Stack(ROOT / "member.yaml", given, account=MEMBER, region=region)
