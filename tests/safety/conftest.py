"""Where the tests of safety keep their incidents: in memory, and in the table that the bot has in AWS."""

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from sandbox.memory_incidents import MemoryIncidents
from sandbox.state_table import make_state_table
from tests.unit.fakes import REGION, StillClock
from unthrottle.adapters.access import Access, Clients
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.ports import Incidents


@pytest.fixture(params=["memory", "table"])
def incidents(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Incidents]:
    if request.param == "memory":
        yield MemoryIncidents()
        return
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        table = make_state_table(boto3.client("dynamodb", REGION))
        yield IncidentsTable(Access(Clients(), REGION), table, clock=StillClock())
