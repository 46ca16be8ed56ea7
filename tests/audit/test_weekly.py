"""The scheduled audit: every account, compared with last week, told and remembered."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import boto3
import pytest

from tests.audit.world import ACCOUNT, HOG, NOW, REGION, AuditWorld, quiet_pool, tables
from unthrottle.adapters.access import Access, Clients
from unthrottle.adapters.accounts import AwsAccounts
from unthrottle.adapters.audit_store import AuditStore
from unthrottle.adapters.clock import SystemClock
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.adapters.pager import SnsPager
from unthrottle.audit.weekly import Weekly, look_over
from unthrottle.chat import ChatBroken
from unthrottle.ports import Ports, Posted
from unthrottle.settings import Settings


@dataclass
class Channel:
    """Remembers what was posted."""

    posted: list[str] = field(default_factory=list)
    broken: bool = False

    def post(
        self, text: str, blocks: Sequence[dict[str, object]], *, thread_ts: str | None = None, broadcast: bool = False
    ) -> Posted:
        if self.broken:
            raise ChatBroken("Slack will not.", code="invalid_auth")
        self.posted.append(text)
        return Posted(ts="1.1")

    def update(self, ts: str, text: str, blocks: Sequence[dict[str, object]]) -> Posted:
        return Posted(ts=ts)


@dataclass
class Weeks:
    """Runs the audit as the function does."""

    channel: Channel
    store: AuditStore
    accounts: AwsAccounts

    def run(self, *accounts: str) -> Weekly:
        own = Access(Clients(), REGION)
        ports = Ports(
            accounts=self.accounts,
            incidents=IncidentsTable(own, "incidents"),
            backfills=None,
            chat=self.channel,
            pager=SnsPager(own, ""),
            clock=SystemClock(),
        )

        def ways(account: str) -> Any:
            return lambda: (
                self.accounts.observe(account, REGION, "audit"),
                self.accounts.survey(account, REGION, "audit"),
            )

        looked = [(account, REGION, ways(account)) for account in accounts or (ACCOUNT,)]
        return look_over(ports, Settings(), looked, self.store)


@pytest.fixture
def weeks(world: AuditWorld) -> Weeks:
    boto3.client("dynamodb", REGION).create_table(
        TableName="incidents",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    world.gate.known_roles = lambda arn: arn == f"arn:aws:iam::{ACCOUNT}:role/unthrottle-observer"
    accounts = AwsAccounts(
        home_account=ACCOUNT,
        home_region=REGION,
        observer_role_name="unthrottle-observer",
        actor_role_name="unthrottle-actor",
        clients=Clients(),
    )
    store = AuditStore(Access(Clients(), REGION), "incidents", retention=timedelta(days=400))
    return Weeks(channel=Channel(), store=store, accounts=accounts)


def test_the_second_week_tells_what_is_new_and_what_is_gone(world: AuditWorld, weeks: Weeks) -> None:
    quiet_pool(world)
    tables(world)
    first = weeks.run()
    assert first.kept
    assert HOG in weeks.channel.posted[0]
    world.account.set_reserved(HOG, 25)
    world.recovery["events"] = False
    world.traveller.shift(timedelta(hours=1))
    second = weeks.run()
    assert (second.new, second.gone) == (1, 1)
    told = weeks.channel.posted[1]
    assert "1 new, 1 gone" in told
    assert ":new: *low* `events`: Point-in-time recovery is off" in told
    assert f"gone: `{HOG}`" in told
    assert told.splitlines()[-1] == "Incidents this week: 0."


def test_an_account_without_the_role_is_named_and_the_rest_is_told(world: AuditWorld, weeks: Weeks) -> None:
    quiet_pool(world)
    found = weeks.run(ACCOUNT, "444455556666")
    assert found.not_looked_at == ("444455556666 eu-west-1",)
    assert "not looked at: 444455556666 eu-west-1" in weeks.channel.posted[0]
    assert HOG in weeks.channel.posted[0]


def test_a_slack_that_will_not_does_not_lose_the_audit(world: AuditWorld, weeks: Weeks) -> None:
    quiet_pool(world)
    weeks.channel.broken = True
    found = weeks.run()
    assert (found.posted, found.kept) == (False, True)
    stored = weeks.store.latest()
    assert stored is not None
    assert stored["exposures"][0]["resource"] == HOG


def test_the_observer_looks_and_only_the_own_table_is_written(world: AuditWorld, weeks: Weeks) -> None:
    quiet_pool(world)
    tables(world)
    before = len(world.gate.calls)
    weeks.run()
    written = [call for call in world.gate.calls[before:] if call.operation.startswith(("Put", "Update", "Delete"))]
    assert {(call.call, call.parameters["TableName"]) for call in written} == {("dynamodb.PutItem", "incidents")}


def test_an_audit_larger_than_an_item_is_kept_in_parts_and_read_back_whole(weeks: Weeks) -> None:
    import random

    noise = random.Random(7)
    large = {"rows": [noise.randbytes(40).hex() for _ in range(12_000)]}
    weeks.store.save({"rows": []}, NOW - timedelta(days=7))
    weeks.store.save(large, NOW)
    assert weeks.store.latest() == large


def test_the_deployed_function_answers_a_schedule(
    world: AuditWorld, weeks: Weeks, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unthrottle.entry.audit import Audit

    quiet_pool(world)
    monkeypatch.setenv("UNTHROTTLE_INCIDENTS_TABLE", "incidents")
    monkeypatch.setenv("UNTHROTTLE_OBSERVER_ROLE", "unthrottle-observer")
    monkeypatch.setenv("UNTHROTTLE_HOME_ACCOUNT", ACCOUNT)
    monkeypatch.setenv("UNTHROTTLE_MEMBER_ACCOUNTS", "444455556666")
    answer = Audit.from_environment().handle({})
    assert (answer["posted"], answer["kept"]) == (False, True)
    assert answer["not_looked_at"] == ("444455556666 eu-west-1",)
    assert HOG in answer["text"]
    json.dumps(answer)
