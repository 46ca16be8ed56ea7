"""An embedded account behind real boto3 clients, on a clock that stands still unless a test moves it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import moto
import pytest
import time_machine

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.alarms import AlarmEvaluator
from sandbox.aws.cloudwatch_api import CloudWatchApi
from sandbox.aws.cloudwatch_store import MetricStore
from sandbox.aws.gate import Gate

START = datetime(2026, 8, 24, 4, tzinfo=UTC)


@dataclass
class World:
    """What a test needs: the account, its metrics, the gate, and a clock to move."""

    account: EmbeddedAccount
    store: MetricStore
    gate: Gate
    traveller: Any

    def client(self, service: str, **credentials: str) -> Any:
        return boto3.client(service, region_name="eu-west-1", **credentials)  # type: ignore[call-overload]

    def now(self) -> datetime:
        return datetime.now(UTC)

    def wait(self, **duration: float) -> None:
        self.traveller.shift(timedelta(**duration))

    def go_to(self, minute: float) -> None:
        self.traveller.move_to(START + timedelta(minutes=minute))

    def attach(self, alarms: AlarmEvaluator) -> None:
        """Let CloudWatch answer about alarms too."""
        account = self.account
        api = CloudWatchApi(self.store, account_id=account.account_id, region=account.region, alarms=alarms)
        self.gate.handlers.insert(0, api.handle)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTFUNCTION")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    account = EmbeddedAccount()
    store = MetricStore(START, 60, history=60)
    metrics = CloudWatchApi(store, account_id=account.account_id, region=account.region)
    with (
        time_machine.travel(START, tick=False) as traveller,
        moto.mock_aws(),
        Gate(start=START, handlers=[*account.handlers, metrics.handle]) as gate,
    ):
        yield World(account=account, store=store, gate=gate, traveller=traveller)
