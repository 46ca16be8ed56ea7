"""Everybody is judged by one rule, on what they changed and on how the account was."""

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from bench import rivals
from bench.arena import play_ours, play_rival
from bench.incidents import KINDS, Generated, generate
from bench.stage import credentials
from bench.storms import race
from sandbox.cheap_rollback import cheap_rollback
from sandbox.rehearsal.isolation import isolated

SEED = 2


def _incident(kind: str) -> Generated:
    return generate(SEED, len(KINDS))[list(KINDS).index(kind)]


def test_a_seed_makes_the_same_incidents_again_and_leaves_no_kind_out() -> None:
    first, second = generate(SEED, len(KINDS)), generate(SEED, len(KINDS))
    assert first == second
    assert generate(SEED + 1, 1) != generate(SEED, 1)
    assert len({one.truth.kind for one in first}) == len(KINDS)


def test_unthrottle_heals_a_hog_and_is_seen_to() -> None:
    played = play_ours(_incident("hog by schedule"))
    assert (played.cause, played.right_target, played.healed, played.harmful) == ("pool-hog", True, True, ())


def test_nobody_heals_nothing_and_harms_nobody() -> None:
    played = play_rival(_incident("short writes"), rivals.nobody)
    assert (played.cause, played.healed, played.harmful, played.not_given_back) == (None, False, (), 0)
    assert played.throttled_minutes > 15


def test_the_runbooks_query_finds_a_throttled_table_healthy() -> None:
    played = play_rival(_incident("short writes"), rivals.runbook)
    assert (played.cause, played.acted_minute, played.healed) == (None, None, False)


def test_capping_the_most_throttled_function_is_harm_to_a_victim() -> None:
    played = play_rival(_incident("hog by schedule"), rivals.most_throttled)
    assert not played.healed
    assert played.harmful
    assert all(one.startswith("limit-function on ") and "batch-processor" not in one for one in played.harmful)


def test_capacity_for_a_hot_key_is_harm() -> None:
    played = play_rival(_incident("hot key"), rivals.alarm_threshold)
    assert len(played.harmful) == 1
    assert played.not_given_back == 1


def test_a_right_change_that_stays_is_not_given_back() -> None:
    played = play_rival(_incident("short writes"), rivals.alarm_threshold)
    assert (played.right_target, played.healed, played.not_given_back) == (True, True, 1)


def test_five_workers_at_once_open_one_incident_and_lose_no_alarm() -> None:
    raced = race(SEED, 28)
    assert (raced.incidents, raced.lost, raced.wrong_starts, raced.counted) == (1, 0, 0, 28)
    assert raced.answers == {"opened": 1, "joined": 27, "duplicate": 5}


def test_a_transaction_that_fails_leaves_the_table_as_it_was() -> None:
    with isolated(), mock_aws(), credentials(), cheap_rollback():
        client = boto3.client("dynamodb")
        client.create_table(
            TableName="t",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        for key in ("counted", "there", "other"):
            client.put_item(TableName="t", Item={"pk": {"S": key}, "n": {"N": "1"}})
        before = client.scan(TableName="t")["Items"]
        add = {
            "TableName": "t",
            "Key": {"pk": {"S": "counted"}},
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        put = {"TableName": "t", "Item": {"pk": {"S": "there"}}, "ConditionExpression": "attribute_not_exists(pk)"}
        with pytest.raises(ClientError, match="TransactionCanceled"):
            client.transact_write_items(TransactItems=[{"Update": add}, {"Put": put}])  # type: ignore[typeddict-item]
        assert client.scan(TableName="t")["Items"] == before
