"""An AWS account in process, with made-up credentials and a clock that stands still."""

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from sandbox.state_table import make_state_table
from tests.adapters.world import REGION, SHARED, Scripted, StillClock
from unthrottle.adapters.access import Access


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def script() -> Iterator[Scripted]:
    scripted = Scripted()
    yield scripted
    for stub in scripted.stubs.values():
        stub.assert_no_pending_responses()


@pytest.fixture
def scripted(script: Scripted) -> Access:
    return Access(script, REGION)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with mock_aws(config={"lambda": {"use_docker": False}}):
        yield


@pytest.fixture
def access(aws: None) -> Access:
    return Access(SHARED, REGION)


@pytest.fixture
def table_name(aws: None) -> str:
    return make_state_table(boto3.client("dynamodb", REGION))
