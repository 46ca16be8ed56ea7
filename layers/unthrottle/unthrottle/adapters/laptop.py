"""Whose AWS credentials does a person at a terminal have, and what may a command send with them?

The default chain of boto3, or a profile. A command that only looks refuses to send anything that is not a read, whatever
the credentials would allow, and counts what it sends.
"""

import difflib
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, CredentialRetrievalError, SSOError, TokenRetrievalError

from unthrottle.adapters.access import CONNECT_TIMEOUT_S, Access, Clients, Service, assume
from unthrottle.adapters.aws_errors import EXPIRED, code_of
from unthrottle.errors import BadInput, NotAllowed, Refused, TryAgain

ATTEMPTS = 8
"""A person waits for an audit of thousands of calls; a service that is busy for a second must not end it."""

READS = frozenset({
    "application-autoscaling.DescribeScalableTargets",
    "application-autoscaling.DescribeScalingActivities",
    "cloudformation.DescribeStacks",
    "cloudformation.ListStackResources",
    "cloudtrail.LookupEvents",
    "cloudwatch.DescribeAlarmHistory",
    "cloudwatch.DescribeAlarms",
    "cloudwatch.GetInsightRuleReport",
    "cloudwatch.GetMetricData",
    "dynamodb.BatchGetItem",
    "dynamodb.DescribeBulkOperation",
    "dynamodb.DescribeContinuousBackups",
    "dynamodb.DescribeContributorInsights",
    "dynamodb.DescribeTable",
    "dynamodb.GetItem",
    "dynamodb.ListBulkOperations",
    "dynamodb.ListContributorInsights",
    "dynamodb.ListTables",
    "dynamodb.ListTagsOfResource",
    "dynamodb.Query",
    "events.DescribeRule",
    "events.ListTargetsByRule",
    "iam.GetRole",
    "iam.GetRolePolicy",
    "iam.ListRolePolicies",
    "lambda.GetAccountSettings",
    "lambda.GetFunction",
    "lambda.GetFunctionConcurrency",
    "lambda.GetFunctionEventInvokeConfig",
    "lambda.ListEventSourceMappings",
    "lambda.ListFunctions",
    "lambda.ListProvisionedConcurrencyConfigs",
    "resourcegroupstaggingapi.GetResources",
    "secretsmanager.GetSecretValue",
    "sns.GetTopicAttributes",
    "ssm.GetCalendarState",
    "sts.AssumeRole",
    "sts.GetCallerIdentity",
})  # fmt: skip
"""Every operation a command that only looks may send."""

_LOGGED_OUT = (CredentialRetrievalError, SSOError, TokenRetrievalError)
"""What botocore raises before it sends anything, for a login that is over or a credential process that fails."""

_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+){1,3}-[0-9]{1,2}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who the credentials are."""

    account: str
    arn: str

    @property
    def partition(self) -> str:
        return self.arn.split(":")[1] if self.arn.count(":") > 1 else "aws"


class PersonalClients(Clients):
    """Clients of a person's own session. `reads_only` refuses every operation outside READS before it is sent."""

    def __init__(self, profile: str | None, *, reads_only: bool) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self._reads_only, self._profile = reads_only, profile
        try:
            session = boto3.Session(profile_name=profile or None)
        except BotoCoreError as error:
            raise BadInput(
                f"Cannot use the AWS profile {profile or 'of the environment'}: {error}. Nothing was sent. Choose one that "
                "`aws configure list-profiles` shows, with --profile."
            ) from error
        session.events.register("before-call", self._note)
        self._personal = session

    def for_one_call(self) -> "PersonalClients":
        """Return clients of the same person that may send what is no read."""
        return PersonalClients(self._profile, reads_only=False)

    @property
    def region(self) -> str | None:
        """The Region of AWS_REGION, of AWS_DEFAULT_REGION, or of the profile; boto3 itself does not know the first."""
        return os.environ.get("AWS_REGION") or self._personal.region_name

    def check_region(self, region: str) -> str:
        """Return the Region as it is, or raise BadInput with those that are near."""
        known = self._known_regions()
        if region in known:
            return region
        near = difflib.get_close_matches(region, known, n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        newer = " If it is newer than your boto3, update boto3." if _REGION.fullmatch(region) else ""
        raise BadInput(f"There is no AWS Region {region[:40]!r} that boto3 knows.{hint} Nothing was sent.{newer}")

    def _known_regions(self) -> list[str]:
        return [
            region
            for partition in self._personal.get_available_partitions()
            for region in self._personal.get_available_regions("lambda", partition_name=partition)
        ]

    def _config(self, service: Service) -> Config:  # noqa: ARG002  for each service the same
        """Be patient with a busy service."""
        mode: Literal["standard"] = "standard"
        return Config(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=30,
            retries={"mode": mode, "total_max_attempts": ATTEMPTS},
        )

    def _maker(self) -> Callable[..., Any]:
        return self._personal.client

    def _note(self, model: Any, **_: object) -> None:
        call = f"{model.service_model.service_name}.{model.name}"
        if self._reads_only and call not in READS:
            raise NotAllowed(
                f"Refused to send {call}: this command only looks. Nothing was sent. Please report this as a bug.",
                code="read-only",
            )
        self.calls[call] += 1


def identify(access: Access) -> Identity:
    """Ask AWS who we are. Raises NotAllowed with what to do about missing or expired credentials; TryAgain, Refused."""
    try:
        with access.use("sts", "ask AWS whose credentials these are") as sts:
            answer = sts.get_caller_identity()
    except TryAgain as error:
        if isinstance(error.__cause__, ClientError) and code_of(error.__cause__) in EXPIRED:
            raise NotAllowed(
                "Could not ask AWS whose credentials these are: they have expired. Nothing was changed. Log in again (for "
                "example `aws sso login`), or take fresh ones, and repeat the command.",
                code="Expired",
            ) from error
        raise
    except Refused as error:
        if isinstance(error.__cause__, _LOGGED_OUT):
            raise NotAllowed(
                f"Could not ask AWS whose credentials these are: {error.__cause__} Nothing was changed. Log in again (for "
                "example `aws sso login`), and repeat the command.",
                code="Expired",
            ) from error
        raise
    return Identity(account=str(answer["Account"]), arn=str(answer["Arn"]))


def with_role(
    clients: Clients, own: Access, *, role_arn: str, region: str, session_name: str, external_id: str | None
) -> Access:
    """Look in an account through a role there; it is assumed at the first call."""
    advice = "Name a role that these credentials may assume, with --role, and check its trust policy."
    return Access(clients, region, lambda: assume(own, role_arn, session_name, external_id, advice))
