"""How does the account look at minute 0?

Puts a scenario's functions, event source mappings, tables, indexes and scaling targets into an embedded account, in the
state the scenario describes. It knows nothing of load.
"""

from datetime import datetime, timedelta

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.records import InvokeConfig, MappingKind, ScalingTarget
from sandbox.scenario.format import FunctionSpec, Scenario, TableSpec, TriggerType

PRINCIPALS: dict[TriggerType, str] = {
    "eventbridge": "events.amazonaws.com",
    "s3": "s3.amazonaws.com",
    "sns": "sns.amazonaws.com",
    "api": "apigateway.amazonaws.com",
}
"""The service that a function's resource policy lets in. Step Functions and event sources use roles instead."""
MAPPED: dict[TriggerType, MappingKind] = {
    "sqs": "sqs",
    "kinesis": "kinesis",
    "dynamodb-stream": "dynamodb-stream",
    "msk": "msk",
}


def furnish(account: EmbeddedAccount, scenario: Scenario) -> None:
    """Put everything that *scenario* describes into *account*."""
    for function in scenario.expanded_functions():
        _function(account, function)
    for table in scenario.tables:
        _table(account, table, scenario.start)


def _function(account: EmbeddedAccount, spec: FunctionSpec) -> None:
    trigger = spec.trigger
    config = None
    if spec.async_ is not None:
        destination = account.arn("sqs", f"{spec.name}-failures") if spec.async_.on_failure else None
        config = InvokeConfig(max_event_age_s=spec.async_.max_event_age_s, on_failure=destination)
    principal = PRINCIPALS.get(trigger.type)
    account.add_function(
        spec.name,
        tags=spec.tags,
        timeout_s=spec.timeout_s,
        reserved=spec.reserved,
        provisioned=spec.provisioned,
        managed_instances=spec.managed_instances,
        invoke_config=config,
        principals=() if principal is None else (principal,),
        function_url=trigger.type == "url",
    )
    kind = MAPPED.get(trigger.type)
    if kind is not None:
        account.add_mapping(
            spec.name,
            kind,
            f"{spec.name}-source",
            maximum_concurrency=trigger.maximum_concurrency,
            maximum_pollers=trigger.provisioned_pollers,
            parallelization_factor=trigger.parallelization_factor,
        )


def _table(account: EmbeddedAccount, spec: TableSpec, start: datetime) -> None:
    ceiling = spec.max_on_demand
    record = account.add_table(
        spec.name,
        billing=spec.billing,
        read=spec.read or 0,
        write=spec.write or 0,
        indexes=[(index.name, index.read or 0, index.write or 0) for index in spec.indexes],
        summary_present=spec.summary_present,
        # An hour apart, so that the rolling day does not free them all in the same minute.
        switches=[start - timedelta(hours=1 + i) for i in range(spec.switches_last_24h)],
        switch_takes=timedelta(minutes=spec.switch_takes_minutes),
        max_on_demand_read=None if ceiling is None else ceiling.read,
        max_on_demand_write=None if ceiling is None else ceiling.write,
        replicas=spec.replicas,
        tags=spec.tags,
        created=start - timedelta(days=200),
    )
    if spec.autoscaling is not None:
        for unit, bounds in (("read", spec.autoscaling.read), ("write", spec.autoscaling.write)):
            if bounds is not None:
                record.scaling.append(
                    ScalingTarget(
                        unit="read" if unit == "read" else "write",
                        minimum=bounds.min,
                        maximum=bounds.max,
                        target_percent=bounds.target,
                    )
                )
