"""What is configured in Lambda: the account's pool, a function, what feeds it?

Absent is not zero: a function without a reservation has None, one with 0 is switched off. Changes nothing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from unthrottle.adapters.access import Access
from unthrottle.adapters.aws_errors import code_of, words_of
from unthrottle.errors import NotAllowed, Refused, TryAgain
from unthrottle.evidence.pool import AsyncSettings, ConcurrencyAccount, EventSource, SourceKind
from unthrottle.ports import FunctionSettings

if TYPE_CHECKING:
    from mypy_boto3_lambda.type_defs import GetFunctionResponseTypeDef

_STOPPED = frozenset({"Disabled", "Disabling", "Deleting"})
_KINDS = {
    "sqs": SourceKind.SQS,
    "kinesis": SourceKind.KINESIS,
    "dynamodb": SourceKind.DYNAMODB_STREAM,
    "kafka": SourceKind.KAFKA,
}
_KAFKA_FIELDS = ("AmazonManagedKafkaEventSourceConfig", "SelfManagedKafkaEventSourceConfig", "SelfManagedEventSource")


class AwsFunctions:
    """The `Functions` port."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def account(self) -> ConcurrencyAccount:
        """Read the account's concurrency limit and what reservations leave of it."""
        with self._access.use("lambda", "read the account's concurrency") as client:
            answer = client.get_account_settings()
        limits = answer.get("AccountLimit", {})
        limit, unreserved = limits.get("ConcurrentExecutions"), limits.get("UnreservedConcurrentExecutions")
        if limit is None or unreserved is None:
            raise Refused(
                "Could not read the account's concurrency: the answer names no limit. Nothing was changed.",
                code="IncompleteAnswer",
            )
        return ConcurrencyAccount(
            limit=limit,
            unreserved_limit=unreserved,
            function_count=answer.get("AccountUsage", {}).get("FunctionCount", 0),
        )

    def describe(self, name: str) -> FunctionSettings:
        """Read one function, with its reservation and its tags, in one call."""
        with self._access.use("lambda", f"read function {name}") as client:
            answer = client.get_function(FunctionName=name)
        return function_settings(answer, name)

    def event_sources(self, name: str) -> tuple[EventSource, ...]:
        """Read the event source mappings of a function. How often a queue retries is the queue's and not read here."""
        with self._access.use("lambda", f"read what feeds function {name}") as client:
            pages = client.get_paginator("list_event_source_mappings").paginate(FunctionName=name)
            return tuple(event_source(entry) for page in pages for entry in page.get("EventSourceMappings", []))

    def async_settings(self, name: str) -> AsyncSettings:
        """Read how long events are kept; a function without such settings has AWS's defaults (six hours)."""
        with self._access.use("lambda", f"read how function {name} keeps events") as client:
            try:
                answer = client.get_function_event_invoke_config(FunctionName=name)
            except ClientError as error:
                # One code says both that the function is not there and that it has no such settings.
                if code_of(error) != "ResourceNotFoundException" or "Function not found" in words_of(error):
                    raise
                return AsyncSettings()
        destination = answer.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
        return AsyncSettings(
            max_event_age_s=answer.get("MaximumEventAgeInSeconds", AsyncSettings().max_event_age_s),
            has_destination=bool(destination),
        )

    def provisioned(self, name: str) -> int:
        """Add up the provisioned concurrency asked for, over all versions and aliases."""
        with self._access.use("lambda", f"read the provisioned concurrency of function {name}") as client:
            pages = client.get_paginator("list_provisioned_concurrency_configs").paginate(FunctionName=name)
            return sum(
                entry.get("RequestedProvisionedConcurrentExecutions", 0)
                for page in pages
                for entry in page.get("ProvisionedConcurrencyConfigs", [])
            )

    def names(self) -> tuple[str, ...]:
        """List every function: one call for 50 of them, whatever is asked for (Lambda API, ListFunctions)."""
        with self._access.use("lambda", "list the functions") as client:
            pages = client.get_paginator("list_functions").paginate()
            return tuple(entry["FunctionName"] for page in pages for entry in page.get("Functions", []))


def function_settings(answer: "GetFunctionResponseTypeDef", name: str) -> FunctionSettings:
    """Put GetFunction's answer into our words; `name` stands in where the answer has none.

    Raises NotAllowed, or TryAgain, where the tags were held back: they may say that nothing must be done to it.
    """
    _need_tags(answer, name)
    found = answer.get("Configuration", {})
    return FunctionSettings(
        name=found.get("FunctionName", name),
        arn=":".join(found.get("FunctionArn", "").split(":")[:7]),
        reserved=answer.get("Concurrency", {}).get("ReservedConcurrentExecutions"),
        timeout_s=found.get("Timeout", 3),
        tags=dict(answer.get("Tags") or {}),
        managed_instances=bool(found.get("CapacityProviderConfig")),
        durable=bool(found.get("DurableConfig")),
        has_dead_letter=bool((found.get("DeadLetterConfig") or {}).get("TargetArn")),
    )


def _need_tags(answer: Mapping[str, Any], name: str) -> None:
    """Raise where Lambda did not show the tags; without tags and without an error there are none.

    Lambda API, GetFunctionResponse (botocore 1.44): `Tags` come only to who may lambda:ListTags; for others the call works,
    and `TagsError` says why they are missing.
    """
    error = answer.get("TagsError")
    if not error:
        return
    code = error.get("ErrorCode", "")
    found = (
        f"Could not read the tags of function {name}: AWS said {code}: {error.get('Message', '')} Nothing was changed."
    )
    if not code.startswith("AccessDenied"):
        raise TryAgain(found)
    raise NotAllowed(
        f"{found} They may say that it is protected. Allow lambda:ListTags on functions: the Observer role of this version "
        "does, so deploy template.yaml, and member.yaml in other accounts, anew.",
        code=code,
    )


def event_source(entry: Mapping[str, Any]) -> EventSource:
    """Put one event source mapping into our words. An empty ScalingConfig is none (Lambda API)."""
    arn = str(entry.get("EventSourceArn") or "")
    parts = arn.split(":")
    kind = _KINDS.get(parts[2] if len(parts) > 2 else "", SourceKind.OTHER)
    if any(entry.get(field) for field in _KAFKA_FIELDS):
        kind = SourceKind.KAFKA
    pollers = entry.get("ProvisionedPollerConfig") or {}
    return EventSource(
        uuid=str(entry.get("UUID", "")),
        kind=kind,
        source_arn=arn,
        enabled=entry.get("State") not in _STOPPED,
        maximum_concurrency=(entry.get("ScalingConfig") or {}).get("MaximumConcurrency"),
        maximum_pollers=pollers.get("MaximumPollers"),
        minimum_pollers=pollers.get("MinimumPollers"),
        parallelization_factor=entry.get("ParallelizationFactor"),
        max_record_age_s=_age(entry.get("MaximumRecordAgeInSeconds")),
    )


def _age(seconds: int | None) -> int | None:
    """-1 is how Lambda writes "as long as the stream keeps it" (Lambda API, MaximumRecordAgeInSeconds)."""
    return None if seconds is None or seconds < 0 else seconds
