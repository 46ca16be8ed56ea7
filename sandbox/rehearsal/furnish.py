"""What is in the account at minute 0, and what do others change later? A scenario's parts, as records of the sandbox."""

from datetime import datetime, timedelta

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.records import BulkRecord, InvokeConfig, MappingKind, ScalingTarget, Unit
from sandbox.dagy import PlannedBackfill
from sandbox.scenario.format import FunctionSpec, OutsideChange, Scaling, ScalingBounds, Scenario, TableSpec

_PRINCIPALS = {
    "eventbridge": "events.amazonaws.com",
    "s3": "s3.amazonaws.com",
    "sns": "sns.amazonaws.com",
    "api": "apigateway.amazonaws.com",
}
"""Who may invoke the function, by its resource policy; event sources and Step Functions need no entry there."""
_MAPPINGS: dict[str, MappingKind] = {
    "sqs": "sqs",
    "kinesis": "kinesis",
    "dynamodb-stream": "dynamodb-stream",
    "msk": "msk",
}


def furnished(scenario: Scenario) -> EmbeddedAccount:
    """Build the account that a scenario describes."""
    given = scenario.account
    account = EmbeddedAccount(
        account_id=given.id,
        region=given.region,
        concurrency_limit=given.concurrency_limit,
        unreserved_floor=given.unreserved_floor,
    )
    account.calendar_state = "OPEN" if given.change_calendar == "open" else "CLOSED"
    furnish(account, scenario)
    return account


def furnish(account: EmbeddedAccount, scenario: Scenario) -> None:
    """Put the scenario's functions and tables into *account*."""
    for function in scenario.expanded_functions():
        _add_function(account, function, scenario)
    for table in scenario.tables:
        _add_table(account, table, scenario)


def planned(scenario: Scenario, *, ends: int | None = None) -> list[PlannedBackfill]:
    """Plan the scenario's backfills. *ends* is when one ends of which the scenario does not say; None: it never does."""
    return [
        PlannedBackfill(
            id=one.id,
            flow=one.flow,
            environment=one.environment,
            requested_by=one.requested_by,
            start=one.start,
            end=ends if one.end is None else one.end,
            runs_total=one.runs_total,
            dispatch_rate_per_minute=one.dispatch_rate_per_minute,
            writes=one.writes,
        )
        for one in scenario.dagy.backfills
    ]


def change(account: EmbeddedAccount, wanted: OutsideChange, now: datetime) -> None:
    """Change the account as somebody else does, who asks nobody."""
    if wanted.function is not None and "reserved" in wanted.model_fields_set:
        account.set_reserved(wanted.function, wanted.reserved)
    if wanted.table is None:
        return
    if wanted.index is not None:
        account.add_index(wanted.table, wanted.index, read=wanted.read or 1, write=wanted.write or 1)
    elif wanted.billing is not None:
        account.set_billing(wanted.table, wanted.billing, now, read=wanted.read, write=wanted.write)
    elif wanted.read is not None or wanted.write is not None:
        account.set_capacity(wanted.table, now, read=wanted.read, write=wanted.write)


def _add_function(account: EmbeddedAccount, spec: FunctionSpec, scenario: Scenario) -> None:
    trigger, settings = spec.trigger, spec.async_
    principal = _PRINCIPALS.get(trigger.type)
    invoke_config = None
    if settings is not None:
        destination = account.arn("sqs", f"{spec.name}-failures") if settings.on_failure else None
        invoke_config = InvokeConfig(max_event_age_s=settings.max_event_age_s, on_failure=destination)
    account.add_function(
        spec.name,
        tags=spec.tags,
        timeout_s=spec.timeout_s,
        reserved=spec.reserved,
        provisioned=spec.provisioned,
        managed_instances=spec.managed_instances,
        invoke_config=invoke_config,
        principals=[principal] if principal else [],
        function_url=trigger.type == "url",
        modified=scenario.start - timedelta(days=30),
    )
    kind = _MAPPINGS.get(trigger.type)
    if kind is not None:
        account.add_mapping(
            spec.name,
            kind,
            f"{spec.name}-source",
            maximum_concurrency=trigger.maximum_concurrency,
            maximum_pollers=trigger.provisioned_pollers,
            parallelization_factor=trigger.parallelization_factor,
        )


def _add_table(account: EmbeddedAccount, spec: TableSpec, scenario: Scenario) -> None:
    ceiling, created = spec.max_on_demand, scenario.start - timedelta(days=90)
    switches = [scenario.start - timedelta(hours=20 - 4 * i) for i in range(spec.switches_last_24h)]
    record = account.add_table(
        spec.name,
        billing=spec.billing,
        read=spec.read or 0,
        write=spec.write or 0,
        indexes=[(index.name, index.read or 0, index.write or 0) for index in spec.indexes],
        summary_present=spec.summary_present,
        switches=switches,
        switch_takes=timedelta(minutes=spec.switch_takes_minutes),
        max_on_demand_read=ceiling.read if ceiling else None,
        max_on_demand_write=ceiling.write if ceiling else None,
        replicas=spec.replicas,
        tags=spec.tags,
        created=created,
    )
    record.scaling += _targets(spec.autoscaling, None, created)
    for index in spec.indexes:
        record.scaling += _targets(index.autoscaling, index.name, created)
    for number, bulk in enumerate(spec.bulk_operations, start=1):
        account.bulk_operations.append(
            BulkRecord(
                arn=f"{record.arn}/bulk-operation/{number:014d}",
                table=spec.name,
                start=scenario.start + timedelta(minutes=bulk.start),
                end=None if bulk.end is None else scenario.start + timedelta(minutes=bulk.end),
                max_write=bulk.max_write,
            )
        )


def _targets(scaling: Scaling | None, index: str | None, created: datetime) -> list[ScalingTarget]:
    if scaling is None:
        return []
    bounds_by_unit: tuple[tuple[Unit, ScalingBounds | None], ...] = (("read", scaling.read), ("write", scaling.write))
    return [
        ScalingTarget(
            unit=unit,
            minimum=bounds.min,
            maximum=bounds.max,
            target_percent=bounds.target,
            index=index,
            created=created,
        )
        for unit, bounds in bounds_by_unit
        if bounds is not None
    ]
