"""What should change in the code that owns the resource, so that the fix outlives the lease and the next deployment?

Gives Terraform and CloudFormation attributes and whose stack it is, as far as tags say. Knows nothing of the stack's
source. Facts: terraform-provider-aws (reserved_concurrent_executions defaults to -1, so an apply removes a cap; plans
show PAY_PER_REQUEST going back to PROVISIONED), AWS CloudFormation guide (classic change sets do not compare with what
is live, drift-aware ones do).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from unthrottle.incident import Incident
from unthrottle.plan import CancelBackfill, CapConcurrency, CapEventSource, Change, RaiseCapacity, SwitchToOnDemand
from unthrottle.report.words import changes

_STACK = "aws:cloudformation:stack-name"
_LOGICAL_ID = "aws:cloudformation:logical-id"
_OWNER_TAGS = (
    "terraform-workspace",
    "terraform:workspace",
    "terraform",
    "ManagedBy",
    "managed-by",
    "owner",
    "Owner",
    "team",
)
_SHOWN_INDEXES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PermanentFix:
    """One change's lasting form. `owner` is untrusted text from tags, None when no tag tells; `caution` is ours."""

    target: str
    owner: str | None
    terraform: str
    cloudformation: str
    caution: str


def permanent_fixes(incident: Incident) -> tuple[PermanentFix, ...]:
    """Give the lasting form of each change; a cancelled backfill has none in infrastructure code."""
    return tuple(fix for change in changes(incident) if (fix := _fix(change)) is not None)


def owner_of(tags: Mapping[str, str]) -> str | None:
    """Name the stack a resource belongs to. CloudFormation tags what it makes; Terraform does only when told to."""
    if stack := tags.get(_STACK):
        logical = tags.get(_LOGICAL_ID)
        return f"CloudFormation stack {stack}" + (f", resource {logical}" if logical else "")
    known = [f"{tag} = {tags[tag]}" for tag in _OWNER_TAGS if tags.get(tag)]
    return f"tag {known[0]}" if known else None


def _until_then(tags: Mapping[str, str], undone: str) -> str:
    if tags.get(_STACK):
        return "Until then a drift-aware deployment of that stack may undo it."
    return f"Until then the next terraform apply {undone}."


def _fix(change: Change) -> PermanentFix | None:
    match change:
        case CapConcurrency():
            return PermanentFix(
                target=change.function,
                owner=owner_of(change.tags),
                terraform=f"reserved_concurrent_executions = {change.after}",
                cloudformation=f"ReservedConcurrentExecutions: {change.after}",
                caution=_until_then(change.tags, "removes the cap"),
            )
        case CapEventSource():
            terraform, cloudformation = _knob(change)
            return PermanentFix(
                target=change.function,
                owner=owner_of(change.tags),
                terraform=terraform,
                cloudformation=cloudformation,
                caution=f"It belongs to the event source mapping. {_until_then(change.tags, 'removes it')}",
            )
        case SwitchToOnDemand():
            return PermanentFix(
                target=change.table,
                owner=owner_of(change.tags),
                terraform='billing_mode = "PAY_PER_REQUEST"',
                cloudformation="BillingMode: PAY_PER_REQUEST",
                caution=(
                    "Or keep it provisioned, with enough capacity. "
                    + _until_then(
                        change.tags, "switches it back; with ignore_changes on the capacities it sets them to 1"
                    )
                ),
            )
        case RaiseCapacity():
            return PermanentFix(
                target=change.table,
                owner=owner_of(change.tags),
                terraform=_terraform_capacity(change),
                cloudformation=_cloudformation_capacity(change),
                caution=f"Raise autoscaling bounds too, if any. {_until_then(change.tags, 'lowers it again')}",
            )
        case CancelBackfill():
            return None


def _knob(change: CapEventSource) -> tuple[str, str]:
    match change.knob:
        case "MaximumConcurrency":
            return (
                f"scaling_config {{\n  maximum_concurrency = {change.after}\n}}",
                f"ScalingConfig:\n  MaximumConcurrency: {change.after}",
            )
        case "MaximumPollers":
            return (
                f"provisioned_poller_config {{\n  maximum_pollers = {change.after}\n}}",
                f"ProvisionedPollerConfig:\n  MaximumPollers: {change.after}",
            )
        case "ParallelizationFactor":
            return f"parallelization_factor = {change.after}", f"ParallelizationFactor: {change.after}"


def _terraform_capacity(change: RaiseCapacity) -> str:
    own = change.after.capacity
    lines = [f"read_capacity  = {own.read}", f"write_capacity = {own.write}"]
    for name, capacity in _raised_indexes(change):
        lines += [
            "global_secondary_index {",
            f"  name           = {json.dumps(name)}",
            f"  read_capacity  = {capacity[0]}",
            f"  write_capacity = {capacity[1]}",
            "}",
        ]
    return "\n".join(lines)


def _cloudformation_capacity(change: RaiseCapacity) -> str:
    own = change.after.capacity
    lines = ["ProvisionedThroughput:", f"  ReadCapacityUnits: {own.read}", f"  WriteCapacityUnits: {own.write}"]
    indexes = _raised_indexes(change)
    if indexes:
        lines.append("GlobalSecondaryIndexes:")
    for name, capacity in indexes:
        lines += [
            f"  - IndexName: {json.dumps(name)}",
            "    ProvisionedThroughput:",
            f"      ReadCapacityUnits: {capacity[0]}",
            f"      WriteCapacityUnits: {capacity[1]}",
        ]
    return "\n".join(lines)


def _raised_indexes(change: RaiseCapacity) -> list[tuple[str, tuple[int, int]]]:
    raised = [
        (name, (capacity.read, capacity.write))
        for name, capacity in change.after.indexes.items()
        if change.before.indexes.get(name) != capacity
    ]
    return raised[:_SHOWN_INDEXES]
