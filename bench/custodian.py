"""What does Cloud Custodian do, for real? The released package, with policies an expert would write, on the same account.

`make bench` installs it into an environment of its own, `.venv-c7n`; its packages are put at the end of the path, so that it
talks through the same boto3 as everybody else and meets the same embedded account. Knows nothing of what is right.
"""

import contextlib
import logging
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from bench.rivals import LARGE

ENVIRONMENT = Path(__file__).parent.parent / ".venv-c7n"
FOUR_MINUTES = 4 / 1440
POLICIES: dict[str, Any] = {
    "policies": [
        {
            "name": "cap-large-unreserved-functions",
            "resource": "aws.lambda",
            "filters": [
                {"type": "reserved-concurrency", "value": "absent"},
                {
                    "type": "metrics",
                    "name": "ConcurrentExecutions",
                    "statistics": "Maximum",
                    "days": FOUR_MINUTES,  # every datapoint of the window must match (c7n/filters/metrics.py)
                    "period": 60,
                    "op": "gt",
                    "value": LARGE,
                },
            ],
            "actions": [{"type": "set-concurrency", "value": LARGE}],
        },
        *(
            {
                "name": f"switch-tables-with-throttled-{way.lower()}s",
                "resource": "aws.dynamodb-table",
                "filters": [
                    {"not": [{"BillingModeSummary.BillingMode": "PAY_PER_REQUEST"}]},
                    {"TableStatus": "ACTIVE"},
                    {
                        "type": "metrics",
                        "name": f"{way}ThrottleEvents",
                        "statistics": "Sum",
                        "days": FOUR_MINUTES,
                        "period": 60,
                        "op": "gt",
                        "value": 0,
                    },
                ],
                "actions": [{"type": "update", "BillingMode": "PAY_PER_REQUEST"}],
            }
            for way in ("Write", "Read")
        ),
    ]
}


def version() -> str | None:
    """Name the installed version; None where it is not installed."""
    _import()
    try:
        return metadata.version("c7n")
    except metadata.PackageNotFoundError:
        return None


def custodian() -> str | None:
    """Run the policies once. The cause is what the policy that acted stands for."""
    acted = run()
    if acted["cap-large-unreserved-functions"]:
        return "pool-hog"
    return "provisioned-capacity" if any(acted.values()) else None


def run(only: str = "") -> dict[str, int]:
    """Run the policies whose resource begins with *only* once; how many resources each one acted on."""
    found: dict[str, int] = {policy["name"]: 0 for policy in POLICIES["policies"]}
    with _quiet(), tempfile.TemporaryDirectory() as folder:
        for policy in _policies(folder):
            if policy.data["resource"].startswith(only):
                found[policy.name] = _acted(policy)
    return found


def _acted(policy: Any) -> int:
    from botocore.exceptions import ClientError  # noqa: PLC0415  beside its only use

    try:
        return len(policy.run() or ())
    except ClientError:
        return 0  # AWS refused, for instance to go below the unreserved floor: the policy ends there


def _policies(folder: str) -> Any:
    config, loader = _import()
    options = config.Config.empty(
        region="eu-west-1",
        regions=["eu-west-1"],
        account_id="111122223333",
        output_dir=folder,
        cache="",
        cache_period=0,
    )
    return loader.PolicyLoader(options).load_data(POLICIES, "memory://", validate=False)


@cache
def _import() -> Any:
    """Load Custodian and the resources of the policies. None where it is not installed."""
    for folder in ENVIRONMENT.glob("lib/python3*/site-packages"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    try:
        from c7n import config, loader  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
        from c7n.resources import load_resources  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
    except ImportError:
        return None
    load_resources(("aws.lambda", "aws.dynamodb-table"))
    return config, loader


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep its log off the terminal."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
