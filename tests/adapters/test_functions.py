"""What is configured in Lambda, as AWS answers it."""

from typing import Any

import pytest

from tests.adapters.world import Scripted
from unthrottle.adapters.access import Access
from unthrottle.adapters.functions import AwsFunctions, event_source, function_settings
from unthrottle.errors import NotAllowed, NotFound, Refused, TryAgain
from unthrottle.evidence.pool import AsyncSettings, ConcurrencyAccount, SourceKind

ARN = "arn:aws:lambda:eu-west-1:111122223333:function:hog"
HELD_BACK = f"User: arn:aws:sts::111122223333:assumed-role/observer/INC-7 may not lambda:ListTags on {ARN}"
QUEUE = "arn:aws:sqs:eu-west-1:111122223333:jobs"


def test_the_pool_is_the_accounts_limit_less_what_is_reserved(script: Scripted, scripted: Access) -> None:
    answer = {
        "AccountLimit": {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 971},
        "AccountUsage": {"FunctionCount": 362},
    }
    script.answers("lambda", "get_account_settings", answer)

    account = AwsFunctions(scripted).account()

    assert account == ConcurrencyAccount(limit=1000, unreserved_limit=971, function_count=362)
    assert account.reserved == 29


def test_an_account_without_a_limit_in_the_answer_is_not_one_with_zero(script: Scripted, scripted: Access) -> None:
    script.answers("lambda", "get_account_settings", {"AccountLimit": {"ConcurrentExecutions": 1000}})

    with pytest.raises(Refused, match="names no limit"):
        AwsFunctions(scripted).account()


@pytest.mark.parametrize(("concurrency", "reserved"), [({}, None), ({"ReservedConcurrentExecutions": 0}, 0)])
def test_no_reservation_is_none_and_a_reservation_of_zero_is_zero(
    concurrency: dict[str, int], reserved: int | None
) -> None:
    found: Any = {"Configuration": {"FunctionName": "hog", "FunctionArn": ARN}, "Concurrency": concurrency}

    assert function_settings(found, "hog").reserved == reserved


def test_a_function_is_described_with_what_decides_what_may_be_done_to_it(script: Scripted, scripted: Access) -> None:
    script.answers(
        "lambda",
        "get_function",
        {
            "Configuration": {
                "FunctionName": "hog",
                "FunctionArn": f"{ARN}:live",
                "Timeout": 60,
                "DeadLetterConfig": {"TargetArn": QUEUE},
                "DurableConfig": {"ExecutionTimeout": 60},
            },
            "Tags": {"unthrottle:protected": "true"},
        },
        FunctionName="hog",
    )

    found = AwsFunctions(scripted).describe("hog")

    assert (found.arn, found.timeout_s, found.tags) == (ARN, 60, {"unthrottle:protected": "true"})
    assert (found.has_dead_letter, found.durable, found.managed_instances) == (True, True, False)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("AccessDeniedException", NotAllowed, "Allow lambda:ListTags on functions"),
        ("ThrottlingException", TryAgain, "AWS said ThrottlingException: User"),
        ("ServiceException", TryAgain, "Nothing was changed"),
    ],
)
def test_tags_that_are_held_back_are_not_no_tags(
    script: Scripted, scripted: Access, code: str, kind: type[Exception], words: str
) -> None:
    """GetFunction works without the right to see tags (Lambda API, GetFunctionResponse): TagsError stands in their place."""
    found = {"FunctionName": "hog", "FunctionArn": ARN}
    script.answers(
        "lambda", "get_function", {"Configuration": found, "TagsError": {"ErrorCode": code, "Message": HELD_BACK}}
    )

    with pytest.raises(kind, match=words):
        AwsFunctions(scripted).describe("hog")


def test_no_tags_and_no_error_are_no_tags(script: Scripted, scripted: Access) -> None:
    script.answers("lambda", "get_function", {"Configuration": {"FunctionName": "hog", "FunctionArn": ARN}})

    assert AwsFunctions(scripted).describe("hog").tags == {}


def test_a_function_that_is_not_there_is_not_found(script: Scripted, scripted: Access) -> None:
    script.refuses("lambda", "get_function", "ResourceNotFoundException", f"Function not found: {ARN}", 404)

    with pytest.raises(NotFound, match="Could not read function hog"):
        AwsFunctions(scripted).describe("hog")


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"EventSourceArn": QUEUE}, SourceKind.SQS),
        ({"EventSourceArn": "arn:aws:kinesis:eu-west-1:1:stream/s"}, SourceKind.KINESIS),
        ({"EventSourceArn": "arn:aws:dynamodb:eu-west-1:1:table/t/stream/x"}, SourceKind.DYNAMODB_STREAM),
        ({"EventSourceArn": "arn:aws:kafka:eu-west-1:1:cluster/c/x"}, SourceKind.KAFKA),
        ({"SelfManagedEventSource": {"Endpoints": {}}}, SourceKind.KAFKA),
        ({"EventSourceArn": "arn:aws:mq:eu-west-1:1:broker:b"}, SourceKind.OTHER),
        ({}, SourceKind.OTHER),
    ],
)
def test_what_feeds_a_function_is_told_by_its_arn(entry: dict[str, Any], kind: SourceKind) -> None:
    assert event_source({"UUID": "u", **entry}).kind is kind


def test_a_scaling_config_that_is_empty_is_none(script: Scripted, scripted: Access) -> None:
    capped = {
        "UUID": f"{1:036}",
        "EventSourceArn": QUEUE,
        "State": "Enabled",
        "ScalingConfig": {"MaximumConcurrency": 2},
    }
    free = {"UUID": f"{2:036}", "EventSourceArn": QUEUE, "State": "Disabled", "ScalingConfig": {}}
    polled = {
        "UUID": f"{3:036}",
        "EventSourceArn": QUEUE,
        "State": "Updating",
        "ProvisionedPollerConfig": {"MinimumPollers": 2, "MaximumPollers": 20},
    }
    script.answers(
        "lambda",
        "list_event_source_mappings",
        {"EventSourceMappings": [capped, free], "NextMarker": "more"},
        FunctionName="hog",
    )
    script.answers(
        "lambda",
        "list_event_source_mappings",
        {"EventSourceMappings": [polled]},
        FunctionName="hog",
        Marker="more",
    )

    first, second, third = AwsFunctions(scripted).event_sources("hog")

    assert (first.maximum_concurrency, first.enabled, first.max_receive_count) == (2, True, None)
    assert (second.maximum_concurrency, second.enabled) == (None, False)
    assert (third.minimum_pollers, third.maximum_pollers, third.enabled, third.is_provisioned) == (2, 20, True, True)


def test_events_are_kept_as_the_function_says_or_for_six_hours(script: Scripted, scripted: Access) -> None:
    functions = AwsFunctions(scripted)
    script.answers(
        "lambda",
        "get_function_event_invoke_config",
        {"MaximumEventAgeInSeconds": 60, "DestinationConfig": {"OnFailure": {"Destination": QUEUE}}},
    )
    script.answers("lambda", "get_function_event_invoke_config", {"MaximumRetryAttempts": 0})
    script.refuses(
        "lambda",
        "get_function_event_invoke_config",
        "ResourceNotFoundException",
        f"The function {ARN} doesn't have an EventInvokeConfig",
        404,
    )

    assert functions.async_settings("hog") == AsyncSettings(max_event_age_s=60, has_destination=True)
    assert functions.async_settings("hog") == AsyncSettings(max_event_age_s=21600)
    assert functions.async_settings("hog") == AsyncSettings(max_event_age_s=21600)


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("ResourceNotFoundException", f"Function not found: {ARN}", NotFound),
        ("TooManyRequestsException", "Rate exceeded", TryAgain),
    ],
)
def test_settings_that_could_not_be_read_are_not_the_defaults(
    script: Scripted, scripted: Access, code: str, message: str, kind: type[Exception]
) -> None:
    script.refuses("lambda", "get_function_event_invoke_config", code, message)

    with pytest.raises(kind):
        AwsFunctions(scripted).async_settings("hog")


def test_provisioned_concurrency_is_what_was_asked_for_over_all_versions(script: Scripted, scripted: Access) -> None:
    pages = [[5, 10], [1]]
    for number, page in enumerate(pages):
        configs = [
            {"RequestedProvisionedConcurrentExecutions": n, "AllocatedProvisionedConcurrentExecutions": 0} for n in page
        ]
        more = {"NextMarker": "more"} if number == 0 else {}
        script.answers(
            "lambda", "list_provisioned_concurrency_configs", {"ProvisionedConcurrencyConfigs": configs, **more}
        )

    assert AwsFunctions(scripted).provisioned("hog") == 16


def test_all_functions_are_listed_page_by_page(script: Scripted, scripted: Access) -> None:
    script.answers("lambda", "list_functions", {"Functions": [{"FunctionName": "a"}], "NextMarker": "more"})
    script.answers("lambda", "list_functions", {"Functions": [{"FunctionName": "b"}]}, Marker="more")

    assert AwsFunctions(scripted).names() == ("a", "b")
