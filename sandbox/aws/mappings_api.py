"""What does Lambda answer about event source mappings?

AWS facts kept, each with a test (source: Lambda API model, developer guide): 100 a page whatever MaxItems says; found
by function name or ARN; ScalingConfig is SQS's and an empty one takes the limit away; MaximumConcurrency and
provisioned pollers exclude each other; ParallelizationFactor belongs to streams; an update takes a moment, and a second
one meanwhile is refused. moto knows no Kafka mappings and checks none of this.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sandbox.aws.calls import Request
from sandbox.aws.lambda_wording import GONE, RefusedError, invalid, missing, page, parts
from sandbox.aws.records import MappingRecord

if TYPE_CHECKING:
    from sandbox.aws.account import EmbeddedAccount

MAPPINGS_A_PAGE = 100
_SECONDS_TO_UPDATE = 20


class MappingOperations:
    """The operations on event source mappings of one account, by name."""

    def __init__(self, account: "EmbeddedAccount") -> None:
        self._account = account
        self.operations: Mapping[str, Callable[[Request], Mapping[str, Any]]] = {
            "ListEventSourceMappings": self._list_mappings,
            "GetEventSourceMapping": lambda r: self._mapping_view(self._mapping(r)),
            "UpdateEventSourceMapping": self._update_mapping,
        }

    def _list_mappings(self, request: Request) -> Mapping[str, Any]:
        found: Sequence[MappingRecord] = list(self._account.mappings.values())
        if "FunctionName" in request.parameters:
            name = parts(str(request.parameters["FunctionName"]))[0]
            found = [mapping for mapping in found if mapping.function_name == name]
        if "EventSourceArn" in request.parameters:
            found = [mapping for mapping in found if mapping.source_arn == request.parameters["EventSourceArn"]]
        one_page, marker = page(found, request, MAPPINGS_A_PAGE)
        return {"EventSourceMappings": [self._mapping_view(mapping) for mapping in one_page], "NextMarker": marker}

    def _update_mapping(self, request: Request) -> Mapping[str, Any]:
        mapping, given = self._mapping(request), request.parameters
        if mapping.state == "Updating":
            message = f"Cannot update the event source mapping with UUID {mapping.uuid} because it is in use."
            raise RefusedError("ResourceInUseException", message, 400)
        concurrency, low, high = mapping.maximum_concurrency, mapping.minimum_pollers, mapping.maximum_pollers
        if "ScalingConfig" in given:
            concurrency = given["ScalingConfig"].get("MaximumConcurrency")
        if "ProvisionedPollerConfig" in given:
            pollers = given["ProvisionedPollerConfig"]
            low, high = pollers.get("MinimumPollers"), pollers.get("MaximumPollers")
        _check_limits(mapping, given, concurrency=concurrency, low=low, high=high)
        mapping.maximum_concurrency, mapping.minimum_pollers, mapping.maximum_pollers = concurrency, low, high
        if "ParallelizationFactor" in given:
            mapping.parallelization_factor = int(given["ParallelizationFactor"])
        mapping.state, mapping.last_modified = "Updating", request.now
        mapping.updating_until = request.now + timedelta(seconds=_SECONDS_TO_UPDATE)
        self._account.changed()
        return self._mapping_view(mapping)

    def _mapping_view(self, mapping: MappingRecord) -> Mapping[str, Any]:
        answer: dict[str, Any] = {
            "UUID": mapping.uuid,
            "EventSourceMappingArn": self._account.arn("lambda", f"event-source-mapping:{mapping.uuid}"),
            "EventSourceArn": mapping.source_arn,
            "FunctionArn": self._account.functions[mapping.function_name].arn,
            "BatchSize": mapping.batch_size,
            "State": mapping.state,
            "StateTransitionReason": "USER_INITIATED",
            "LastModified": mapping.last_modified,
            "ParallelizationFactor": mapping.parallelization_factor,
        }
        if mapping.maximum_concurrency is not None:
            answer["ScalingConfig"] = {"MaximumConcurrency": mapping.maximum_concurrency}
        if mapping.maximum_pollers is not None:
            low, high = mapping.minimum_pollers, mapping.maximum_pollers
            answer["ProvisionedPollerConfig"] = {"MinimumPollers": low, "MaximumPollers": high}
        return answer

    def _mapping(self, request: Request) -> MappingRecord:
        found = self._account.mappings.get(str(request.parameters["UUID"]))
        if found is None:
            raise missing(GONE)
        return found


def _check_limits(
    mapping: MappingRecord, given: Mapping[str, Any], *, concurrency: int | None, low: int | None, high: int | None
) -> None:
    """Which limit goes with which source, and that the two of SQS exclude each other."""
    if given.get("ScalingConfig") and mapping.kind != "sqs":
        raise invalid("ScalingConfig is only supported for Amazon SQS event sources.")
    if given.get("ProvisionedPollerConfig") and mapping.kind not in {"sqs", "msk"}:
        raise invalid("ProvisionedPollerConfig is only supported for Amazon SQS and Kafka event sources.")
    if "ParallelizationFactor" in given and mapping.kind not in {"kinesis", "dynamodb-stream"}:
        raise invalid("ParallelizationFactor is only supported for stream event sources.")
    if concurrency is not None and not 2 <= concurrency <= 1000:
        raise invalid("MaximumConcurrency must be between 2 and 1000.")
    if concurrency is not None and high is not None:
        raise invalid("MaximumConcurrency cannot be used together with ProvisionedPollerConfig.")
    if low is not None and high is not None and low > high:
        raise invalid("MinimumPollers must not be greater than MaximumPollers.")
