"""What counts as a mutation, and how calls are counted: an empty list of mutations is the proof of a dry run."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.gate import Call
from sandbox.rehearsal.output import aws_calls, calls_until_action, escalations, final_state, is_mutation, mutations
from unthrottle.incident import Incident
from unthrottle.subjects import PoolSubject

START = datetime(2026, 8, 24, 4, 0, tzinfo=UTC)
OWN = frozenset({"unthrottle-IncidentsTable"})


def call(name: str, minute: int = 0, result: str = "ok", role: str = "observer", **parameters: Any) -> Call:
    service, operation = name.split(".")
    return Call(
        minute=minute,
        at=START + timedelta(minutes=minute),
        service=service,
        operation=operation,
        parameters=parameters,
        access_key="ASIA",
        role=role,
        session_name="INC-AAAA1111",
        result=result,
    )


def incident() -> Incident:
    return Incident(
        id="INC-AAAA1111",
        fingerprint="111122223333/eu-west-1/lambda/pool",
        account="111122223333",
        region="eu-west-1",
        kind="lambda",
        subject=PoolSubject(),
        opened_at=START,
        alarm_name="throttles",
    )


@pytest.mark.parametrize(
    ("made", "counts"),
    [
        (call("lambda.PutFunctionConcurrency"), True),
        (call("lambda.DeleteFunctionConcurrency"), True),
        (call("lambda.UpdateEventSourceMapping"), True),
        (call("dynamodb.UpdateTable", TableName="t"), True),
        (call("application-autoscaling.RegisterScalableTarget"), True),
        (call("lambda.TagResource"), True),
        (call("iam.CreateRole"), True),
        (call("dynamodb.PutItem", TableName="dagy-runs"), True),
        (call("dynamodb.TransactWriteItems", TransactItems=[{"Put": {"TableName": "dagy-runs"}}]), True),
        (call("dynamodb.UpdateTable", TableName="unthrottle-IncidentsTable"), True),
        (call("dynamodb.PutItem", TableName="unthrottle-IncidentsTable"), False),
        (
            call("dynamodb.TransactWriteItems", TransactItems=[{"Put": {"TableName": "unthrottle-IncidentsTable"}}]),
            False,
        ),
        (call("dynamodb.BatchWriteItem", RequestItems={"unthrottle-IncidentsTable": []}), False),
        (call("lambda.GetFunction"), False),
        (call("cloudwatch.GetMetricData"), False),
        (call("dynamodb.DescribeTable"), False),
        (call("sts.AssumeRole"), False),
        (call("sns.Publish"), False),
        (call("ssm.CreateOpsItem"), False),
        (call("lambda.Invoke"), False),
    ],
    ids=lambda value: value.call if isinstance(value, Call) else str(value),
)
def test_whatever_is_not_known_to_be_harmless_is_a_mutation(made: Call, counts: bool) -> None:
    assert is_mutation(made, OWN) is counts


def test_an_attempt_counts_too_with_its_error() -> None:
    (found,) = mutations([call("lambda.PutFunctionConcurrency", 4, "AccessDeniedException", FunctionName="f")], OWN)
    assert (found["minute"], found["result"], found["incident"]) == (4, "AccessDeniedException", "INC-AAAA1111")


def test_calls_until_the_action_end_with_the_first_mutation() -> None:
    calls = [
        call("cloudwatch.GetMetricData"),
        call("lambda.GetFunction"),
        call("dynamodb.PutItem", role="respond", TableName="unthrottle-IncidentsTable"),
        call("lambda.GetFunctionConcurrency", role="actor"),
        call("lambda.PutFunctionConcurrency", role="actor"),
        call("cloudwatch.GetMetricData", 3),
    ]
    assert calls_until_action(calls, [incident()], OWN) == {"INC-AAAA1111": 3}


def test_without_an_action_the_calls_until_the_diagnosis_count() -> None:
    record = {":document": {"S": '{"id": "INC-AAAA1111", "timeline": [{"event": "diagnosis.made"}]}'}}
    calls = [
        call("cloudwatch.GetMetricData", 1),
        call("dynamodb.UpdateItem", 1, role="respond", TableName="t", ExpressionAttributeValues=record),
        call("cloudwatch.GetMetricData", 1),
    ]
    assert calls_until_action(calls, [incident()], OWN) == {"INC-AAAA1111": 1}


def test_without_an_action_and_without_a_diagnosis_all_calls_count() -> None:
    assert calls_until_action([call("cloudwatch.GetMetricData", 1)] * 2, [incident()], OWN) == {"INC-AAAA1111": 2}


def test_calls_are_counted_by_service_and_operation() -> None:
    calls = [call("lambda.GetFunction"), call("cloudwatch.GetMetricData"), call("lambda.GetFunction", result="Timeout")]
    assert aws_calls(calls) == {"cloudwatch.GetMetricData": 1, "lambda.GetFunction": 2}


def test_a_page_that_was_not_taken_is_no_escalation() -> None:
    calls = [
        call("sns.Publish", 2, Subject="s", Message="m"),
        call("sns.Publish", 3, "InternalError", Subject="s", Message="m"),
        call("ssm.CreateOpsItem", 4, Title="t", Description="d"),
    ]
    assert escalations(calls) == [
        {"minute": 2, "via": "sns", "subject": "s", "text": "m"},
        {"minute": 4, "via": "opsitem", "subject": "t", "text": "d"},
    ]


def test_the_final_state_uses_the_words_of_the_input() -> None:
    account = EmbeddedAccount()
    account.add_function("plain", reserved=0)
    account.add_function("queue")
    account.add_mapping("queue", "sqs", "orders", maximum_concurrency=20)
    account.add_function("stream")
    account.add_mapping("stream", "kinesis", "clicks", parallelization_factor=4)
    account.add_table("t", billing="provisioned", read=5, write=6, indexes=[("i", 7, 8)])
    account.set_billing("t", "on-demand", START)
    assert final_state(account) == {
        "functions": {
            "plain": {"reserved": 0, "event_source": {}},
            "queue": {"reserved": None, "event_source": {"maximum_concurrency": 20}},
            "stream": {"reserved": None, "event_source": {"parallelization_factor": 4}},
        },
        "tables": {
            "t": {"billing": "on-demand", "read": 0, "write": 0, "indexes": {"i": {"read": 0, "write": 0}}},
        },
    }
