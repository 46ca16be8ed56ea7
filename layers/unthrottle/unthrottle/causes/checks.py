"""The AWS CLI command with which a person sees the same number as a finding.

Every name is quoted for the shell: names come from events and answers, and are pasted by people. Region and account are
those of the person's own shell, since a finding knows neither.
"""

import json
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

Dimensions = Sequence[tuple[str, str]]

RANKING = (
    'SELECT MAX(ConcurrentExecutions) FROM SCHEMA("AWS/Lambda", FunctionName) '
    "GROUP BY FunctionName ORDER BY MAX() DESC LIMIT 20"
)


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _command(*words: str) -> str:
    return "aws " + " ".join(shlex.quote(word) for word in words)


def metric(namespace: str, name: str, *, stat: str, dimensions: Dimensions, start: datetime, end: datetime) -> str:
    """Name the command that reads one metric with exactly these dimensions over [start, end)."""
    words = ["cloudwatch", "get-metric-statistics", "--namespace", namespace, "--metric-name", name]
    if dimensions:
        words += ["--dimensions", *(f"Name={key},Value={value}" for key, value in dimensions)]
    words += ["--statistics", stat, "--period", "60"]
    return _command(*words, "--start-time", _time(start), "--end-time", _time(end))


def lambda_metric(name: str, stat: str, start: datetime, end: datetime, *, function: str | None = None) -> str:
    """Name the command for a Lambda metric of one function, or of the account (no dimensions) for None."""
    dimensions = [("FunctionName", function)] if function else []
    return metric("AWS/Lambda", name, stat=stat, dimensions=dimensions, start=start, end=end)


def table_metric(
    name: str, start: datetime, end: datetime, *, table: str, index: str | None, more: Dimensions = ()
) -> str:
    """Name the command for the Sum of a DynamoDB metric of a table, or of one of its indexes; `more` are further dimensions.

    The table's own series leaves its indexes out (AWS DynamoDB guide, metrics and dimensions).
    """
    dimensions = [("TableName", table), *([("GlobalSecondaryIndexName", index)] if index else []), *more]
    return metric("AWS/DynamoDB", name, stat="Sum", dimensions=dimensions, start=start, end=end)


def ranking(start: datetime, end: datetime) -> str:
    """Name the command that ranks functions by concurrency, one Metrics Insights query."""
    query = [{"Id": "r", "Expression": RANKING, "Period": 60}]
    return _command(
        "cloudwatch", "get-metric-data", "--metric-data-queries", json.dumps(query),
        "--start-time", _time(start), "--end-time", _time(end),
    )  # fmt: skip


def account_settings() -> str:
    return _command("lambda", "get-account-settings")


def function_concurrency(function: str) -> str:
    return _command("lambda", "get-function-concurrency", "--function-name", function)


def function_tags(arn: str) -> str:
    return _command("lambda", "list-tags", "--resource", arn)


def describe_table(table: str) -> str:
    return _command("dynamodb", "describe-table", "--table-name", table)


def scaling_activities(table: str, index: str | None) -> str:
    resource = f"table/{table}/index/{index}" if index else f"table/{table}"
    return _command(
        "application-autoscaling", "describe-scaling-activities", "--service-namespace", "dynamodb",
        "--resource-id", resource, "--include-not-scaled-activities",
    )  # fmt: skip


def contributor_insights(table: str, index: str | None) -> str:
    words = ["dynamodb", "describe-contributor-insights", "--table-name", table]
    return _command(*words, *(["--index-name", index] if index else []))


def insight_report(rule: str, start: datetime, end: datetime) -> str:
    """Name the command that lists the most active keys of a Contributor Insights rule over [start, end).

    These rules report at most 25 keys (AWS DynamoDB guide, Contributor Insights).
    """
    return _command(
        "cloudwatch", "get-insight-rule-report", "--rule-name", rule, "--start-time", _time(start), "--end-time", _time(end),
        "--period", "60", "--max-contributor-count", "25", "--order-by", "Sum",
    )  # fmt: skip


def bulk_operation(arn: str) -> str:
    return _command("dynamodb", "describe-bulk-operation", "--bulk-operation-arn", arn)


def table_quota(code: str) -> str:
    return _command("service-quotas", "get-service-quota", "--service-code", "dynamodb", "--quota-code", code)


def concurrency_quota() -> str:
    """Lambda's quota of concurrent executions (AWS Service Quotas: lambda, L-B99A9384)."""
    return _command("service-quotas", "get-service-quota", "--service-code", "lambda", "--quota-code", "L-B99A9384")
