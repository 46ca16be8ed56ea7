"""Who are we when we call AWS: this function itself, or a role in some account and Region?

Time-outs and attempts of every AWS call are set here, once. Clients are made at first use and share one loader, since
reading the service models is most of what a client costs. They are botocore's, which are boto3's: boto3 itself would add
its resources and S3's transfers to every cold start. Knows nothing of what is called.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, overload

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from unthrottle.adapters.aws_answers import reading
from unthrottle.adapters.aws_errors import EXPIRED, code_of, translate, words_of
from unthrottle.adapters.clock import SystemClock
from unthrottle.errors import MalformedAnswer, NotAllowed

if TYPE_CHECKING:
    from mypy_boto3_application_autoscaling import ApplicationAutoScalingClient
    from mypy_boto3_cloudtrail import CloudTrailClient
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_sts import STSClient

    from unthrottle.ports import Clock

CONNECT_TIMEOUT_S = 3
READ_TIMEOUT_S = 10
ATTEMPTS = 3
RENEW_BEFORE_END = timedelta(minutes=5)

# The standard mode repeats LimitExceededException (botocore 1.44), which these two services use for limits that asking
# again does not lift: switches of a table's mode, decreases of its capacity.
_LEGACY_RETRIES = frozenset({"dynamodb", "application-autoscaling"})

Service = Literal[
    "application-autoscaling",
    "cloudformation",
    "cloudtrail",
    "cloudwatch",
    "dynamodb",
    "events",
    "iam",
    "lambda",
    "resourcegroupstaggingapi",
    "secretsmanager",
    "sns",
    "ssm",
    "sts",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A set of temporary keys; `until` is when AWS stops taking them."""

    access_key: str
    secret_key: str
    token: str
    until: datetime

    def __repr__(self) -> str:
        return f"Credentials({self.access_key}, until {self.until})"


class Clients:
    """Makes clients that share one session, made at first use. Safe to use from several threads, unlike a session alone."""

    def __init__(self, session: botocore.session.Session | None = None) -> None:
        self._session = session
        self._lock = threading.Lock()

    def make(self, service: Service, region: str, credentials: Credentials | None) -> Any:
        """Make a client; without `credentials` it signs with those of the process."""
        keys: dict[str, str] = (
            {}
            if credentials is None
            else {
                "aws_access_key_id": credentials.access_key,
                "aws_secret_access_key": credentials.secret_key,
                "aws_session_token": credentials.token,
            }
        )
        with self._lock:
            return self._maker()(service, region_name=region, config=self._config(service), **keys)

    def _config(self, service: Service) -> Config:
        mode: Literal["legacy", "standard"] = "legacy" if service in _LEGACY_RETRIES else "standard"
        return Config(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            retries={"mode": mode, "total_max_attempts": ATTEMPTS},
            tcp_keepalive=True,
        )

    def _maker(self) -> Callable[..., Any]:
        """Give what makes a client of the shared session; called by one thread at a time."""
        if self._session is None:
            self._session = botocore.session.Session()
        return self._session.create_client


class Access:
    """Calls AWS in one Region as one identity. `obtain` fetches a role's credentials; None: those of the process.

    Nothing is fetched before the first call. Credentials are renewed five minutes before they end, or when AWS says
    they have ended.
    """

    def __init__(
        self,
        clients: Clients,
        region: str,
        obtain: Callable[[], Credentials] | None = None,
        clock: "Clock | None" = None,
    ) -> None:
        self.region = region
        self._clients = clients
        self._obtain = obtain
        self._clock = clock or SystemClock()
        self._credentials: Credentials | None = None
        self._made: dict[Service, Any] = {}
        self._lock = threading.RLock()

    def ensure(self) -> None:
        """Obtain credentials now if there are none. Raises what `obtain` raises."""
        with self._lock:
            if self._obtain is None:
                return
            if self._credentials is None or self._clock.now() >= self._credentials.until - RENEW_BEFORE_END:
                self._made.clear()
                self._credentials = None
                self._credentials = self._obtain()

    def forget(self) -> None:
        """Drop the credentials: AWS no longer takes them."""
        with self._lock:
            if self._obtain is not None:
                self._made.clear()
                self._credentials = None

    @overload
    def use(
        self, service: Literal["application-autoscaling"], doing: str
    ) -> "AbstractContextManager[ApplicationAutoScalingClient]": ...
    @overload
    def use(self, service: Literal["cloudtrail"], doing: str) -> "AbstractContextManager[CloudTrailClient]": ...
    @overload
    def use(self, service: Literal["cloudwatch"], doing: str) -> "AbstractContextManager[CloudWatchClient]": ...
    @overload
    def use(self, service: Literal["dynamodb"], doing: str) -> "AbstractContextManager[DynamoDBClient]": ...
    @overload
    def use(self, service: Literal["lambda"], doing: str) -> "AbstractContextManager[LambdaClient]": ...
    @overload
    def use(self, service: Literal["secretsmanager"], doing: str) -> "AbstractContextManager[SecretsManagerClient]": ...
    @overload
    def use(self, service: Literal["sns"], doing: str) -> "AbstractContextManager[SNSClient]": ...
    @overload
    def use(self, service: Literal["ssm"], doing: str) -> "AbstractContextManager[SSMClient]": ...
    @overload
    def use(self, service: Literal["sts"], doing: str) -> "AbstractContextManager[STSClient]": ...
    @overload
    def use(
        self, service: Literal["cloudformation", "events", "iam", "resourcegroupstaggingapi"], doing: str
    ) -> AbstractContextManager[Any]: ...
    def use(self, service: Service, doing: str) -> AbstractContextManager[Any]:
        """Lend a client for one piece of work, and let its errors out as ours.

        `doing` completes "Could not …". Raises TryAgain, NotFound, NotAllowed, Refused.
        """
        return self._lend(service, doing)

    @contextmanager
    def _lend(self, service: Service, doing: str) -> Iterator[Any]:
        self.ensure()
        with self._lock:
            client = self._made.get(service)
            if client is None:
                client = self._made[service] = reading(self._clients.make(service, self.region, self._credentials))
        try:
            yield client
        except ClientError as error:
            if code_of(error) in EXPIRED:
                self.forget()
            raise translate(error, doing) from error
        except (BotoCoreError, ResponseParserError) as error:  # the latter is none of the former (botocore 1.44)
            raise translate(error, doing) from error
        except MalformedAnswer as error:
            raise MalformedAnswer(f"Could not {doing}: {error}") from error


def assume(access: Access, role_arn: str, session_name: str, external_id: str | None, advice: str) -> Credentials:
    """Take a role for an hour. Raises NotAllowed, with `advice` on what it may mean, TryAgain, Refused.

    One hour is all AWS gives a role that takes another one (IAM guide, role chaining).
    """
    doing = f"assume the role {role_arn}"
    more: dict[str, Any] = {} if external_id is None else {"ExternalId": external_id}
    with access.use("sts", doing) as sts:
        try:
            answer = sts.assume_role(RoleArn=role_arn, RoleSessionName=session_name, **more)
        except ClientError as error:
            if not code_of(error).startswith("AccessDenied"):
                raise
            raise NotAllowed(
                f"Could not {doing}: AWS said {code_of(error)}: {words_of(error)} Nothing was changed. {advice}",
                code=code_of(error),
            ) from error
    keys = answer["Credentials"]
    return Credentials(
        access_key=keys["AccessKeyId"],
        secret_key=keys["SecretAccessKey"],
        token=keys["SessionToken"],
        until=keys["Expiration"].astimezone(UTC),
    )
