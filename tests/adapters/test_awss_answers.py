"""Shapes of AWS's answers that are seen rarely: none of them may be misread, and none may end in a traceback.

Texts of DynamoDB's refusals vary in their numbers and times; what counts is the code, and that a person sees the text.
"""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.adapters.world import NOW, Scripted
from unthrottle.adapters.access import Access
from unthrottle.adapters.aws_errors import translate
from unthrottle.adapters.functions import AwsFunctions, event_source, function_settings
from unthrottle.adapters.tables import table_settings
from unthrottle.errors import NotFound, Refused, TryAgain
from unthrottle.evidence.pool import SourceKind
from unthrottle.evidence.table import Billing, Capacity

REGION_ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/orders"
LAMBDA_ARN = "arn:aws:lambda:us-east-1:111122223333:function"

LIMIT, IN_USE, INVALID = "LimitExceededException", "ResourceInUseException", "ValidationException"
SUBSCRIBER = "Subscriber limit exceeded: "
STILL = "Attempt to change a resource which is still in use: "
PARAMETERS = "One or more parameter values were invalid: "


@pytest.mark.parametrize(
    ("code", "said", "kind"),
    [
        pytest.param(
            LIMIT,
            f"{SUBSCRIBER}Provisioned throughput decreases are limited within a given UTC day. After the first 4 decreases, "
            "each subsequent decrease in the same UTC day can be performed at most once every 3600 seconds. Number of "
            "decreases today: 4. Last decrease at Monday, August 24, 2026 at 8:20:11 AM Coordinated Universal Time. Next "
            "decrease can be made at Monday, August 24, 2026 at 9:20:11 AM Coordinated Universal Time",
            Refused,
            id="no decrease is left",
        ),
        pytest.param(
            LIMIT,
            f"{SUBSCRIBER}Update to PayPerRequest mode are limited to once in 1 day(s). Last update at x. Next update can "
            "be made at y",
            Refused,
            id="no switch is left",
        ),
        pytest.param(
            LIMIT,
            f"{SUBSCRIBER}Only 1 online index can be created or deleted simultaneously per table",
            Refused,
            id="an index is being built",
        ),
        pytest.param(
            LIMIT,
            f"{SUBSCRIBER}Only 10 tables can be created, updated, or deleted simultaneously",
            Refused,
            id="many tables change at once",
        ),
        pytest.param(
            LIMIT,
            "The requested ReadCapacityUnits, 50000, is above the per table maximum for the table. Per table maximum: 40000.",
            Refused,
            id="above the quota of a table",
        ),
        pytest.param(IN_USE, f"{STILL}Table is being updated: orders", Refused, id="the table changes"),
        pytest.param(
            IN_USE, f"{STILL}Index is being updated. Table: orders Index: by-day", Refused, id="an index changes"
        ),
        pytest.param(IN_USE, f"{STILL}Table IOPS are currently being updated", Refused, id="its throughput changes"),
        pytest.param(
            IN_USE, "The resource which you are attempting to change is in use.", Refused, id="a replica changes"
        ),
        pytest.param(
            INVALID,
            "The provisioned throughput for the table will not change. The requested value equals the current value.",
            Refused,
            id="nothing would change",
        ),
        pytest.param(
            INVALID,
            f"{PARAMETERS}ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
            Refused,
            id="back to provisioned without numbers",
        ),
        pytest.param(
            INVALID,
            f"{PARAMETERS}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST",
            Refused,
            id="on-demand with numbers",
        ),
        pytest.param(
            INVALID,
            f"{PARAMETERS}ProvisionedThroughput must be specified for index: by-day",
            Refused,
            id="an index without numbers",
        ),
        pytest.param(
            INVALID,
            "Table write capacity should either be Pay-Per-Request or AutoScaled",
            Refused,
            id="a global table with fixed writes",
        ),
        pytest.param("ThrottlingException", "Rate exceeded", TryAgain, id="asked too often"),
        pytest.param(
            "ThrottlingException",
            "The rate of control plane requests made by this account is too high",
            TryAgain,
            id="the account asks too often",
        ),
        pytest.param(
            "ResourceNotFoundException",
            "Requested resource not found: Table: orders not found",
            NotFound,
            id="no such table",
        ),
        pytest.param("InternalServerError", "", TryAgain, id="AWS failed, and says nothing"),
    ],
)
def test_what_dynamodb_says_to_a_change_has_one_meaning(code: str, said: str, kind: type[Exception]) -> None:
    error = ClientError({"Error": {"Code": code, "Message": said}}, "UpdateTable")

    found = translate(error, "switch table orders to on-demand")

    assert type(found) is kind
    assert said[:300] in str(found)
    assert (kind is TryAgain) is ("Nothing was changed." not in str(found))


def test_a_throttled_answer_without_a_text_and_with_status_200_is_asked_again() -> None:
    error = ClientError(
        {"Error": {"Code": "ThrottlingException"}, "ResponseMetadata": {"HTTPStatusCode": 200}},  # type: ignore[typeddict-item]
        "DescribeTable",
    )
    assert type(translate(error, "read it")) is TryAgain


def described(status: str, **more: Any) -> dict[str, Any]:
    return {"TableName": "orders", "TableArn": REGION_ARN, "TableStatus": status, **more}


NOTHING = {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0}


@pytest.mark.parametrize(
    "status",
    [
        "CREATING",
        "UPDATING",
        "DELETING",
        "ARCHIVING",
        "ARCHIVED",
        "INACCESSIBLE_ENCRYPTION_CREDENTIALS",
        "SOMETHING_NEW",
    ],
)
def test_a_table_in_any_state_but_active_is_not_settled(status: str) -> None:
    capacity = {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 10, "WriteCapacityUnits": 10}

    found = table_settings(described(status, ProvisionedThroughput=capacity), "orders")

    assert (found.status, found.is_settled, found.billing) == (status, False, Billing.PROVISIONED)


def test_a_table_that_is_being_deleted_keeps_its_mode_and_needs_no_keys() -> None:
    told = described(
        "DELETING",
        ProvisionedThroughput=NOTHING,
        BillingModeSummary={"BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": NOW},
        TableClassSummary={"TableClass": "STANDARD_INFREQUENT_ACCESS"},
        DeletionProtectionEnabled=False,
    )
    found = table_settings(told, "orders")

    assert (found.billing, found.capacity, found.is_settled) == (Billing.ON_DEMAND, Capacity(read=0, write=0), False)


def test_a_table_of_the_infrequent_access_class_is_read_like_any_other() -> None:
    told = described(
        "ACTIVE",
        ProvisionedThroughput=NOTHING,
        BillingModeSummary={"BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": NOW},
        TableClassSummary={"TableClass": "STANDARD_INFREQUENT_ACCESS"},
        DeletionProtectionEnabled=True,
        SSEDescription={"Status": "ENABLED", "SSEType": "KMS"},
        LatestStreamArn=f"{REGION_ARN}/stream/x",
    )

    found = table_settings(told, "orders")

    assert (found.billing, found.on_demand_since, found.is_settled) == (Billing.ON_DEMAND, NOW, True)


def test_indexes_of_uneven_capacity_that_are_built_or_dropped_are_kept_apart() -> None:
    indexes = [
        {"IndexName": "a", "IndexStatus": "ACTIVE", "ProvisionedThroughput": {**NOTHING, "WriteCapacityUnits": 7}},
        {"IndexName": "b", "IndexStatus": "CREATING", "Backfilling": True, "ProvisionedThroughput": NOTHING},
        {"IndexName": "c", "IndexStatus": "DELETING"},
    ]
    found = table_settings(described("ACTIVE", GlobalSecondaryIndexes=indexes), "orders")

    assert [(one.name, one.status, one.capacity.write) for one in found.indexes] == [
        ("a", "ACTIVE", 7),
        ("b", "CREATING", 0),
        ("c", "DELETING", 0),
    ]
    assert not found.is_settled


def test_functions_at_the_edge_and_of_images_are_listed_like_any_other(script: Scripted, scripted: Access) -> None:
    edge = {
        "FunctionName": "redirect",
        "FunctionArn": f"{LAMBDA_ARN}:redirect",
        "Runtime": "nodejs22.x",
        "Timeout": 1,
        "Version": "$LATEST",
        "SnapStart": {"ApplyOn": "None", "OptimizationStatus": "Off"},
    }
    image = {"FunctionName": "image", "FunctionArn": f"{LAMBDA_ARN}:image", "PackageType": "Image"}
    script.answers("lambda", "list_functions", {"Functions": [edge, image]})

    assert AwsFunctions(scripted).names() == ("redirect", "image")


def test_an_account_without_functions_has_none(script: Scripted, scripted: Access) -> None:
    script.answers("lambda", "list_functions", {"Functions": []})

    assert AwsFunctions(scripted).names() == ()


def test_a_function_at_the_edge_is_described_by_its_own_arn_without_a_version() -> None:
    told: Any = {"Configuration": {"FunctionName": "redirect", "FunctionArn": f"{LAMBDA_ARN}:redirect:3", "Timeout": 1}}

    found = function_settings(told, "redirect")

    assert (found.arn, found.reserved, found.tags) == (f"{LAMBDA_ARN}:redirect", None, {})


@pytest.mark.parametrize(
    ("state", "is_enabled"),
    [
        ("Creating", True),
        ("Enabling", True),
        ("Enabled", True),
        ("Updating", True),
        ("Disabling", False),
        ("Disabled", False),
        ("Deleting", False),
    ],
)
def test_a_mapping_in_any_state_is_read(state: str, is_enabled: bool) -> None:
    told = {
        "UUID": "u",
        "EventSourceArn": "arn:aws:dynamodb:eu-west-1:111122223333:table/orders/stream/x",
        "State": state,
        "MaximumRecordAgeInSeconds": -1,
        "ParallelizationFactor": 1,
        "DestinationConfig": {"OnFailure": {"Destination": "arn:aws:sqs:eu-west-1:111122223333:lost"}},
        "FilterCriteriaError": {"ErrorCode": "KMSAccessDeniedException", "Message": "no"},
    }
    found = event_source(told)

    assert (found.kind, found.enabled, found.max_record_age_s) == (SourceKind.DYNAMODB_STREAM, is_enabled, None)


@pytest.mark.parametrize("limit", [10, 50])
def test_a_new_account_is_as_small_as_it_says(script: Scripted, scripted: Access, limit: int) -> None:
    script.answers(
        "lambda",
        "get_account_settings",
        {
            "AccountLimit": {"ConcurrentExecutions": limit, "UnreservedConcurrentExecutions": limit},
            "AccountUsage": {"FunctionCount": 1},
        },
    )

    found = AwsFunctions(scripted).account()

    assert (found.limit, found.reserved) == (limit, 0)
