"""What an error of AWS means for us."""

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
)

from unthrottle.adapters.aws_errors import translate, translated
from unthrottle.errors import NotAllowed, NotFound, Refused, TryAgain


def error(code: str | None, message: str | None = "text", status: int = 400) -> ClientError:
    details = {name: value for name, value in (("Code", code), ("Message", message)) if value is not None}
    return ClientError({"Error": details, "ResponseMetadata": {"HTTPStatusCode": status}}, "Operation")  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ThrottlingException", 200, TryAgain),
        ("TooManyRequestsException", 429, TryAgain),
        ("ServiceException", 500, TryAgain),
        ("ConcurrentUpdateException", 400, TryAgain),
        ("SomethingNew", 503, TryAgain),
        ("ExpiredTokenException", 403, TryAgain),
        ("ResourceNotFoundException", 404, NotFound),
        ("TableNotFoundException", 400, NotFound),
        ("AccessDenied", 403, NotAllowed),
        ("AccessDeniedException", 400, NotAllowed),
        ("UnrecognizedClientException", 403, NotAllowed),
        ("ValidationException", 400, Refused),
        ("LimitExceededException", 400, Refused),
        ("ResourceInUseException", 400, Refused),
        ("ResourceConflictException", 409, Refused),
    ],
)
def test_each_code_means_one_reaction(code: str, status: int, kind: type[Exception]) -> None:
    found = translate(error(code, status=status), "read table X")

    assert type(found) is kind
    assert str(found).startswith(f"Could not read table X: AWS said {code}: text")
    if isinstance(found, Refused):
        assert found.code == code
        assert str(found).endswith("Nothing was changed.")


def test_awss_own_text_is_quoted_on_one_line_and_cut() -> None:
    message = "  ReservedConcurrentExecutions  1 should not\nbe lower" + " x" * 400

    found = str(translate(error("InvalidParameterValueException", message), "cap it"))

    assert "InvalidParameterValueException: ReservedConcurrentExecutions 1 should not be lower x" in found
    assert len(found) < 600


def test_an_error_without_text_or_code_still_says_what_is_known() -> None:
    assert "no text with ResourceNotFound" in str(translate(error("ResourceNotFound", None), "do it"))
    assert "AWS said Unknown" in str(translate(error(None), "do it"))


@pytest.mark.parametrize(
    ("lost", "kind"),
    [
        (ReadTimeoutError(endpoint_url="https://x"), TryAgain),
        (ConnectTimeoutError(endpoint_url="https://x"), TryAgain),
        (EndpointConnectionError(endpoint_url="https://x"), TryAgain),
        (NoCredentialsError(), NotAllowed),
        (ParamValidationError(report="Unknown parameter"), Refused),
    ],
)
def test_an_answer_that_was_lost_is_asked_for_again_and_a_wrong_request_is_not(
    lost: BotoCoreError, kind: type[Exception]
) -> None:
    assert type(translate(lost, "do it")) is kind


def test_errors_that_are_not_awss_pass_untouched() -> None:
    with pytest.raises(KeyError), translated("do it"):
        raise KeyError("missing")
    with pytest.raises(NotFound), translated("do it"):
        raise error("ResourceNotFoundException")
