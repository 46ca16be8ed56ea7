"""What does an error of AWS mean for us: again later, not there, not allowed, or no?

The one place that knows AWS's error codes. It knows nothing of what was being done beyond the words it is given.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    PartialCredentialsError,
    ResponseStreamingError,
)
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from unthrottle.errors import NotAllowed, NotFound, Refused, TryAgain, UnthrottleError

LONGEST_QUOTE = 500

# AWS: "Retry behavior", AWS SDKs and tools reference guide (throttling and transient codes). LimitExceededException is
# left out on purpose: DynamoDB and Application Auto Scaling use it for limits that asking again does not lift.
_BUSY = frozenset(
    {
        "BandwidthLimitExceeded",
        "ConcurrentUpdateException",  # Application Auto Scaling: "already has a pending update"
        "EC2ThrottledException",
        "InternalFailure",
        "InternalServerError",
        "InternalServerErrorException",
        "InternalServiceError",
        "InternalServiceException",
        "InternalServiceFault",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
"""Codes that say the credentials are too old; new ones help."""

_ABSENT = frozenset(
    {
        "EntityNotFoundException",
        "NotFound",
        "NotFoundException",
        "ObjectNotFoundException",
        "ResourceNotFound",
        "ResourceNotFoundException",
        "TableNotFoundException",
    }
)
_FORBIDDEN = frozenset(
    {
        "AuthorizationError",
        "InvalidClientTokenId",
        "NotAuthorized",
        "OptInRequired",
        "SignatureDoesNotMatch",
        "UnauthorizedOperation",
        "UnrecognizedClientException",
    }
)
_LOST = (HTTPClientError, BotoConnectionError, IncompleteReadError, ResponseParserError, ResponseStreamingError)
_WITHOUT_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError)


def code_of(error: ClientError) -> str:
    """Return AWS's error code; a missing one is Unknown."""
    return str(error.response.get("Error", {}).get("Code") or "Unknown")


def words_of(error: Exception) -> str:
    """Return AWS's own text on one line, without doubled blanks, cut at 500 characters."""
    text = str(error)
    if isinstance(error, ClientError):
        details: dict[str, object] = {**error.response.get("Error", {})}
        # Lambda's own message has been seen under both spellings, beside Error or inside it.
        found = details.get("Message") or details.get("message") or error.response.get("message")
        text = str(found) if found else f"no text with {code_of(error)}"
    line = re.sub(r"\s+", " ", text).strip()
    return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + "…"


def translate(error: ClientError | BotoCoreError | ResponseParserError, doing: str) -> UnthrottleError:
    """Turn an error of AWS or of botocore into ours. `doing` completes "Could not …", for example ``read table X``.

    A no of AWS has changed nothing, and says so; TryAgain does not, since an answer that was lost may have been a yes.
    """
    if not isinstance(error, ClientError):
        said = f"Could not {doing}: {words_of(error)}"
        if isinstance(error, _LOST):
            return TryAgain(f"{said.rstrip('.')}. The answer was lost or never came; it is tried again.")
        if isinstance(error, _WITHOUT_CREDENTIALS):
            return NotAllowed(
                f"{said.rstrip('.')}. Nothing was changed. Give this process AWS credentials.", code="NoCredentials"
            )
        return Refused(f"{said.rstrip('.')}. Nothing was sent or changed.", code=type(error).__name__)
    code = code_of(error)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    said = f"Could not {doing}: AWS said {code}: {words_of(error)}"
    if code in _BUSY or code in EXPIRED or status >= 500 or status == 429:
        return TryAgain(said)
    said = f"{said.rstrip('.')}. Nothing was changed."
    if code in _ABSENT:
        return NotFound(said, code=code)
    if code in _FORBIDDEN or code.startswith("AccessDenied"):
        return NotAllowed(said, code=code)
    return Refused(said, code=code)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Let errors of AWS out as ours. Raises TryAgain, NotFound, NotAllowed, Refused."""
    try:
        yield
    except (
        ClientError,
        BotoCoreError,
        ResponseParserError,
    ) as error:  # the last one is no BotoCoreError (botocore 1.44)
        raise translate(error, doing) from error
