"""The scheduled audit: every account, compared with last week, told and remembered."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import boto3
import pytest

from sandbox.memory_incidents import MemoryIncidents
from sandbox.state_table import make_state_table
from tests.audit.world import ACCOUNT, HOG, NOW, REGION, AuditWorld, quiet_pool, tables
from tests.unit.fakes import StillClock
from unthrottle.adapters.access import Access, Clients
from unthrottle.adapters.accounts import AwsAccounts
from unthrottle.adapters.audit_store import AuditStore
from unthrottle.adapters.clock import SystemClock
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.adapters.pager import SnsPager
from unthrottle.audit.weekly import MOST_NAMED, WEEK, Weekly, look_over
from unthrottle.chat import ChatBroken
from unthrottle.evidence.pool import ConcurrencyAccount
from unthrottle.evidence.series import empty
from unthrottle.ports import Observer, Ports, Posted
from unthrottle.rounds import no_end
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

    def run(self, *accounts: str, left: Callable[[], float] = no_end) -> Weekly:
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
        return look_over(ports, Settings(), looked, self.store, left)


@pytest.fixture
def weeks(world: AuditWorld) -> Weeks:
    make_state_table(boto3.client("dynamodb", REGION))
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


# --- many accounts, and not time enough ------------------------------------------------------------------------------


@dataclass
class Kept:
    """Remembers the last audit, and has none to compare with."""

    document: dict[str, Any] = field(default_factory=dict)

    def save(self, document: dict[str, Any], at: datetime) -> None:
        self.document = document

    def latest(self) -> dict[str, Any] | None:
        return None


class Quiet:
    """Empty accounts, at any of whose calls a second passes."""

    def __init__(self) -> None:
        self.seconds = 0
        self._lock = threading.Lock()

    def ways(self) -> Any:
        def call(answer: object) -> Any:
            def called(*_: object, **__: object) -> object:
                with self._lock:
                    self.seconds += 1
                return answer

            return called

        limit = ConcurrencyAccount(limit=1000, unreserved_limit=1000, function_count=0)
        functions = SimpleNamespace(account=call(limit))
        metrics = SimpleNamespace(
            read=lambda queries, *, start, end, **_: SimpleNamespace(
                series={query.id: empty(start, end) for query in queries}, ranking=()
            )
        )
        lists = {name: call({}) for name in ("tags", "event_sources", "scaling")}
        rows = {name: call(()) for name in ("functions", "tables", "alarms", "contributor_insights")}
        observer = Observer(metrics=metrics, functions=functions, tables=None, alarms=None, calendar=None)  # type: ignore[arg-type]
        return lambda: (observer, SimpleNamespace(**lists, **rows))

    def audit(self, *, seconds: int, now: datetime = NOW) -> tuple[Weekly, dict[str, Any], str]:
        store, channel = Kept(), Channel()
        ports = Ports(
            accounts=cast("Any", None),
            incidents=cast("Any", MemoryIncidents()),
            backfills=None,
            chat=channel,
            pager=cast("Any", None),
            clock=StillClock(now),
        )
        places = [(f"{number:012d}", REGION, self.ways()) for number in range(200)]
        told = look_over(ports, Settings(), places, store, left=lambda: seconds - self.seconds)
        return told, store.document, channel.posted[0]


def test_accounts_that_there_was_no_time_for_are_named_and_the_report_is_posted_and_kept() -> None:
    told, kept, posted = Quiet().audit(seconds=300)
    late = [row for row in kept["failed"] if row["why"] == "out of time"]
    assert (told.posted, told.kept, len(late)) == (True, True, len(kept["failed"]))
    assert 120 < len(late) < 200
    assert len(kept["places"]) + len(late) == 200
    assert told.not_looked_at == tuple(f"{row['account']} {row['region']}" for row in late)
    assert [place["account"] for place in kept["places"]] == sorted(place["account"] for place in kept["places"])
    assert posted.count("not looked at: ") == MOST_NAMED + 1
    assert f"not looked at: {len(late) - MOST_NAMED} more accounts and Regions: out of time" in posted


def test_next_week_others_are_looked_at_first() -> None:
    first, second = (
        {place["account"] for place in Quiet().audit(seconds=300, now=NOW + weeks * WEEK)[1]["places"]}
        for weeks in range(2)
    )
    assert first
    assert second
    assert first.isdisjoint(second)


def test_an_account_in_whose_middle_the_time_is_over_is_named_and_nothing_more_is_asked(
    world: AuditWorld, weeks: Weeks
) -> None:
    """Half an inventory would read as a whole one."""
    quiet_pool(world)
    tables(world)
    left = iter([60.0] * 8 + [0.0] * 500)
    before = len(world.gate.calls)
    found = weeks.run(left=lambda: next(left))
    assert found.not_looked_at == (f"{ACCOUNT} {REGION}",)
    assert (found.posted, found.kept, found.exposures) == (True, True, 0)
    assert f"not looked at: {ACCOUNT} {REGION}: out of time" in weeks.channel.posted[0]
    assert 1 <= sum(call.call.startswith(("lambda.", "cloudwatch.")) for call in world.gate.calls[before:]) <= 8
