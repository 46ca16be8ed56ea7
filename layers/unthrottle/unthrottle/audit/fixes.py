"""How is an exposure removed, as a command, in Terraform and in CloudFormation? Text only; nothing is run.

Names are quoted for the shell. Terraform resource names are made from the resource's: where it is defined is not known here.
"""

import json
import re
import shlex

from unthrottle.audit.exposures import Fix
from unthrottle.evidence.table import Way


def _label(name: str) -> str:
    """Make a Terraform name of a resource's."""
    label = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return label if re.match(r"[A-Za-z_]", label) else f"_{label}"


def _text(value: str) -> str:
    return json.dumps(value)


def reserve(function: str, limit: int) -> Fix:
    words = f"Give it a reserved concurrency of {limit:,}: a reservation is also the most it can take."
    return _reservation(function, limit, words)


def protect(function: str, needed: int) -> Fix:
    words = f"Bound the functions that take the pool. If this one must never wait, reserve {needed:,} for it."
    return _reservation(function, needed, words)


def lower_reservation(function: str, needed: int) -> Fix:
    words = f"Lower the reservation to about {needed:,}, or remove it; what it does not use, nobody else can."
    return _reservation(function, needed, words)


def _reservation(function: str, executions: int, words: str) -> Fix:
    return Fix(
        words=words,
        cli=f"aws lambda put-function-concurrency --function-name {shlex.quote(function)} "
        f"--reserved-concurrent-executions {executions}",
        terraform=f'resource "aws_lambda_function" "{_label(function)}" {{\n  # ...\n'
        f"  reserved_concurrent_executions = {executions}\n}}",
        cloudformation=f"Type: AWS::Lambda::Function\nProperties:\n  FunctionName: {_text(function)}\n"
        f"  ReservedConcurrentExecutions: {executions}",
    )


def remove_reservation(function: str) -> Fix:
    return Fix(
        words="If it should run again, remove the reservation; if not, stop what invokes it.",
        cli=f"aws lambda delete-function-concurrency --function-name {shlex.quote(function)}",
        terraform=f'resource "aws_lambda_function" "{_label(function)}" {{\n  # ...\n'
        "  reserved_concurrent_executions = -1\n}",
        cloudformation=f"Type: AWS::Lambda::Function\nProperties:\n  FunctionName: {_text(function)}\n"
        "  # no ReservedConcurrentExecutions",
    )


def bound_queue(function: str, uuid: str, limit: int) -> Fix:
    return Fix(
        words=f"Give the queue's mapping a maximum concurrency of {limit:,}: messages then wait in the queue, not in retries.",
        cli=f"aws lambda update-event-source-mapping --uuid {shlex.quote(uuid)} "
        f"--scaling-config MaximumConcurrency={limit}",
        terraform=f'resource "aws_lambda_event_source_mapping" "{_label(function)}" {{\n  # ...\n'
        f"  scaling_config {{\n    maximum_concurrency = {limit}\n  }}\n}}",
        cloudformation=f"Type: AWS::Lambda::EventSourceMapping\nProperties:\n  FunctionName: {_text(function)}\n"
        f"  ScalingConfig:\n    MaximumConcurrency: {limit}",
    )


def keep_events(function: str) -> Fix:
    name = shlex.quote(function)
    return Fix(
        words="Give it an on-failure destination, and keep events for six hours.",
        cli=f"aws lambda put-function-event-invoke-config --function-name {name} --maximum-event-age-in-seconds 21600 "
        '--destination-config \'{"OnFailure":{"Destination":"<arn of a queue>"}}\'',
        terraform=f'resource "aws_lambda_function_event_invoke_config" "{_label(function)}" {{\n'
        f"  function_name                = {_text(function)}\n  maximum_event_age_in_seconds = 21600\n"
        "  destination_config {\n    on_failure {\n      destination = aws_sqs_queue.failures.arn\n    }\n  }\n}",
        cloudformation=f"Type: AWS::Lambda::EventInvokeConfig\nProperties:\n  FunctionName: {_text(function)}\n"
        "  Qualifier: $LATEST\n  MaximumEventAgeInSeconds: 21600\n  DestinationConfig:\n    OnFailure:\n"
        "      Destination: !GetAtt FailuresQueue.Arn",
    )


def quota() -> Fix:
    return Fix(
        words="Lower reservations that are not used, or ask for a higher concurrency quota (lambda L-B99A9384).",
        cli="aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 "
        "--desired-value <executions>",
        terraform='resource "aws_servicequotas_service_quota" "lambda_concurrency" {\n  service_code = "lambda"\n'
        '  quota_code   = "L-B99A9384"\n  value        = 0 # executions wanted\n}',
    )


def raise_capacity(table: str, index: str | None, read: int, write: int) -> Fix:
    place = f"index {index}" if index else "the table"
    update = json.dumps([{
        "Update": {
            "IndexName": index,
            "ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write},
        }
    }])  # fmt: skip
    name = shlex.quote(table)
    cli = (
        f"aws dynamodb update-table --table-name {name} --global-secondary-index-updates {shlex.quote(update)}"
        if index
        else f"aws dynamodb update-table --table-name {name} "
        f"--provisioned-throughput ReadCapacityUnits={read},WriteCapacityUnits={write}"
    )
    numbers = f"read_capacity  = {read}\n{{0}}write_capacity = {write}"
    terraform = f'resource "aws_dynamodb_table" "{_label(table)}" {{\n  # ...\n' + (
        f"  global_secondary_index {{\n    name           = {_text(index)}\n    {numbers.format('    ')}\n  }}\n}}"
        if index
        else f"  {numbers.format('  ')}\n}}"
    )
    inner = "ProvisionedThroughput:\n{0}  ReadCapacityUnits: %d\n{0}  WriteCapacityUnits: %d" % (read, write)  # noqa: UP031
    cloudformation = f"Type: AWS::DynamoDB::Table\nProperties:\n  TableName: {_text(table)}\n" + (
        f"  GlobalSecondaryIndexes:\n    - IndexName: {_text(index)}\n      {inner.format('      ')}"
        if index
        else f"  {inner.format('  ')}"
    )
    return Fix(
        words=f"Give {place} {read:,} read and {write:,} write units, or switch the table to on-demand.",
        cli=cli,
        terraform=terraform,
        cloudformation=cloudformation,
    )


def autoscale(table: str, index: str | None, way: Way, low: int, high: int) -> Fix:
    resource = f"table/{table}" + (f"/index/{index}" if index else "")
    dimension = f"dynamodb:{'index' if index else 'table'}:{way.value.capitalize()}CapacityUnits"
    return Fix(
        words=f"Let autoscaling move its {way.value} capacity between {low:,} and {high:,}, or switch the table to on-demand.",
        cli="aws application-autoscaling register-scalable-target --service-namespace dynamodb "
        f"--resource-id {shlex.quote(resource)} --scalable-dimension {dimension} --min-capacity {low} --max-capacity {high}",
        terraform=f'resource "aws_appautoscaling_target" "{_label(resource)}_{way.value}" {{\n'
        f'  service_namespace  = "dynamodb"\n  resource_id        = {_text(resource)}\n'
        f"  scalable_dimension = {_text(dimension)}\n  min_capacity       = {low}\n  max_capacity       = {high}\n}}",
        cloudformation="Type: AWS::ApplicationAutoScaling::ScalableTarget\nProperties:\n  ServiceNamespace: dynamodb\n"
        f"  ResourceId: {_text(resource)}\n  ScalableDimension: {_text(dimension)}\n  MinCapacity: {low}\n"
        f"  MaxCapacity: {high}",
    )


def on_demand_maximum(table: str, way: Way, units: int) -> Fix:
    key = f"Max{way.value.capitalize()}RequestUnits"
    return Fix(
        words=f"Raise the table's own maximum to about {units:,} {way.value} units a second, or ask its owner why it is there.",
        cli=f"aws dynamodb update-table --table-name {shlex.quote(table)} --on-demand-throughput {key}={units}",
        terraform=f'resource "aws_dynamodb_table" "{_label(table)}" {{\n  # ...\n  on_demand_throughput {{\n'
        f"    max_{way.value}_request_units = {units}\n  }}\n}}",
        cloudformation=f"Type: AWS::DynamoDB::Table\nProperties:\n  TableName: {_text(table)}\n  OnDemandThroughput:\n"
        f"    {key}: {units}",
    )


def recovery(table: str) -> Fix:
    return Fix(
        words="Turn point-in-time recovery on.",
        cli=f"aws dynamodb update-continuous-backups --table-name {shlex.quote(table)} "
        "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true",
        terraform=f'resource "aws_dynamodb_table" "{_label(table)}" {{\n  # ...\n  point_in_time_recovery {{\n'
        "    enabled = true\n  }\n}",
        cloudformation=f"Type: AWS::DynamoDB::Table\nProperties:\n  TableName: {_text(table)}\n"
        "  PointInTimeRecoverySpecification:\n    PointInTimeRecoveryEnabled: true",
    )


def fleet_alarm(name: str, query: str) -> Fix:
    metrics = json.dumps([{"Id": "throttles", "Expression": query, "Period": 60, "ReturnData": True}])
    return Fix(
        words="Deploy Unthrottle's default alarms, or add this one: one alarm sees every such resource, present and future.",
        cli=f"aws cloudwatch put-metric-alarm --alarm-name {shlex.quote(name)} --metrics {shlex.quote(metrics)} "
        "--comparison-operator GreaterThanThreshold --threshold 0 --evaluation-periods 3 --datapoints-to-alarm 2 "
        "--treat-missing-data notBreaching",
        terraform=f'resource "aws_cloudwatch_metric_alarm" "{_label(name)}" {{\n  alarm_name          = {_text(name)}\n'
        '  comparison_operator = "GreaterThanThreshold"\n  threshold           = 0\n  evaluation_periods  = 3\n'
        '  datapoints_to_alarm = 2\n  treat_missing_data  = "notBreaching"\n  metric_query {\n    id          = "throttles"\n'
        f"    expression  = {_text(query)}\n    period      = 60\n    return_data = true\n  }}\n}}",
        cloudformation=f"Type: AWS::CloudWatch::Alarm\nProperties:\n  AlarmName: {_text(name)}\n  Metrics:\n"
        f"    - Id: throttles\n      Expression: {_text(query)}\n      Period: 60\n      ReturnData: true\n"
        "  ComparisonOperator: GreaterThanThreshold\n  Threshold: 0\n  EvaluationPeriods: 3\n  DatapointsToAlarm: 2\n"
        "  TreatMissingData: notBreaching",
    )


def account_alarm(name: str, metric: str, stat: str, threshold: int) -> Fix:
    comparison = "GreaterThanOrEqualToThreshold" if threshold else "GreaterThanThreshold"
    return Fix(
        words="Deploy Unthrottle's default alarms, or add this one.",
        cli=f"aws cloudwatch put-metric-alarm --alarm-name {shlex.quote(name)} --namespace AWS/Lambda --metric-name {metric} "
        f"--statistic {stat} --period 60 --comparison-operator {comparison} --threshold {threshold} "
        "--evaluation-periods 3 --datapoints-to-alarm 2 --treat-missing-data notBreaching",
        terraform=f'resource "aws_cloudwatch_metric_alarm" "{_label(name)}" {{\n  alarm_name          = {_text(name)}\n'
        f'  namespace           = "AWS/Lambda"\n  metric_name         = "{metric}"\n  statistic           = "{stat}"\n'
        f'  period              = 60\n  comparison_operator = "{comparison}"\n  threshold           = {threshold}\n'
        '  evaluation_periods  = 3\n  datapoints_to_alarm = 2\n  treat_missing_data  = "notBreaching"\n}',
        cloudformation=f"Type: AWS::CloudWatch::Alarm\nProperties:\n  AlarmName: {_text(name)}\n  Namespace: AWS/Lambda\n"
        f"  MetricName: {metric}\n  Statistic: {stat}\n  Period: 60\n  ComparisonOperator: {comparison}\n"
        f"  Threshold: {threshold}\n  EvaluationPeriods: 3\n  DatapointsToAlarm: 2\n  TreatMissingData: notBreaching",
    )


def retag(arn: str, key: str, *, is_function: bool) -> Fix:
    return Fix(
        words=f"Decide which is meant, and correct or remove the tag {key}.",
        cli=f"aws lambda untag-resource --resource {shlex.quote(arn)} --tag-keys {shlex.quote(key)}"
        if is_function
        else f"aws dynamodb untag-resource --resource-arn {shlex.quote(arn)} --tag-keys {shlex.quote(key)}",
        terraform=f"tags = {{\n  # {_text(key)} = ...\n}}",
        cloudformation=f"Tags:\n  # {_text(key)}: ...",
    )
