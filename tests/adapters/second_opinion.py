"""The contract of the incidents' memory, judged by dynalite instead of moto: `make second-opinion`.

Not a part of `make test`: it needs node. Another implementation of DynamoDB's conditions, over a real socket, and with real
threads against each other. What it does not have, transactions, is taken apart (`taken_apart`).
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, TypeVar

import boto3
import pytest
from botocore.config import Config

from sandbox.state_table import make_state_table
from tests.adapters.taken_apart import TakenApart
from tests.adapters.test_incidents import *  # noqa: F403  the contract
from tests.adapters.test_incidents import NOW, cap, fresh, opened, planned
from tests.adapters.world import REGION, StillClock
from unthrottle.adapters.access import Access, Clients, Credentials, Service
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.errors import Busy, Conflict, OverBudget
from unthrottle.incident import Settling, Wish
from unthrottle.ports import Duplicate, Incidents, Joined, Opened

T = TypeVar("T")
HERE = Path(__file__).parent / "dynalite"
ROUNDS = 10
AT_ONCE = 16


class _Dynalite(Clients):
    """Clients of the server, with transactions taken apart."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address

    def make(self, service: Service, region: str, credentials: Credentials | None) -> Any:
        client = boto3.client(
            service,
            region,
            endpoint_url=self._address,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            config=Config(max_pool_connections=AT_ONCE, retries={"total_max_attempts": 1}),
        )
        return TakenApart(client)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """dynalite on a free port, for this file."""
    with Popen(["node", "serve.js"], cwd=HERE, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        yield f"http://127.0.0.1:{port}"
        process.terminate()


@pytest.fixture
def access(server: str) -> Access:
    return Access(_Dynalite(server), REGION)


@pytest.fixture
def table_name(access: Access, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty table, and plain boto3 clients that find it too."""
    with access.use("dynamodb", "make the table") as client:
        make_state_table(client)
        client.get_waiter("table_exists").wait(TableName="incidents", WaiterConfig={"Delay": 1})
        monkeypatch.setattr(boto3, "client", lambda *_: client)
        yield "incidents"
        client.delete_table(TableName="incidents")
        client.get_waiter("table_not_exists").wait(TableName="incidents", WaiterConfig={"Delay": 1})


@pytest.fixture  # type: ignore[no-redef]  # the contract's own gives moto and memory
def incidents(access: Access, table_name: str) -> Incidents:
    return IncidentsTable(access, table_name, clock=StillClock())


def together(work: Callable[[int], T]) -> list[T]:
    """Do it so many times at once, each on a thread of its own, all let go in the same moment."""
    gate = threading.Barrier(AT_ONCE)

    def go(number: int) -> T:
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(go, range(AT_ONCE)))


def test_of_many_writers_of_one_version_exactly_one_wins(incidents: Incidents) -> None:
    """A conditional update of one item is indivisible: every round has one winner, and the winner's record is stored."""
    incident = opened(incidents)
    for _ in range(ROUNDS):
        known = incident

        def write(number: int, known: Any = known) -> Any:
            with suppress(Conflict):
                return incidents.save(known.told(NOW, f"writer-{number}"))
            return None

        won = [saved for saved in together(write) if saved is not None]
        assert len(won) == 1
        (incident,) = won
        assert incidents.load(incident.id) == incident


def test_of_many_deliveries_of_one_request_exactly_one_is_new(incidents: Incidents) -> None:
    """A replayed request is seen, whoever is faster."""
    for number in range(ROUNDS):
        assert together(lambda _, key=f"request-{number}": incidents.is_seen(key)).count(False) == 1  # type: ignore[misc]


def test_a_wish_is_taken_before_the_end_begins_or_not_at_all(incidents: Incidents) -> None:
    """Who was told yes is found by whoever ends the change and reads the record afterwards."""
    for number in range(ROUNDS):
        incident = opened(incidents, f"k{number}", table=f"t{number}")

        def race(who: int, incident: Any = incident) -> tuple[str, bool]:
            if who == 0:
                incidents.save(replace(incident, settling=Settling(by="workflow", at=NOW)))
                found = incidents.load(incident.id)
                return (found.wish.by if found and found.wish else "", True)
            by = f"U{who}"
            return by, incidents.wish(incident.id, Wish(do="keep", by=by, at=NOW))

        (seen, _), *people = together(race)
        taken = {by for by, is_taken in people if is_taken}
        assert (seen in taken) if taken else seen == ""
        late = incidents.load(incident.id)
        assert late is not None
        assert (late.wish.by if late.wish else "") == seen


def test_of_many_alarms_one_opens_and_all_others_join(incidents: Incidents) -> None:
    """However many come at once."""
    found = together(lambda number: incidents.open_or_join(fresh(f"k{number}"), f"k{number}"))

    assert sum(isinstance(one, Opened) for one in found) == 1
    assert sum(isinstance(one, Joined) for one in found) == AT_ONCE - 1
    (incident,) = incidents.open_incidents()
    assert incident.triggers == AT_ONCE


def test_of_many_deliveries_of_one_alarm_one_opens(incidents: Incidents) -> None:
    """The others are told whose it is."""
    found = together(lambda _: incidents.open_or_join(fresh("k"), "k"))

    assert sum(isinstance(one, Opened) for one in found) == 1
    assert sum(isinstance(one, Duplicate) for one in found) == AT_ONCE - 1


def test_the_budget_is_never_overspent_and_one_target_has_one_holder(incidents: Incidents) -> None:
    """Sixteen incidents, budget for three; half of them want the same function."""
    records = [opened(incidents, f"k{number}", table=f"t{number}") for number in range(AT_ONCE)]

    def act(number: int) -> str:
        target = "shared" if number % 2 else f"own-{number}"
        try:
            incidents.record_intent(planned(records[number], cap(target)), NOW, budget=3)
        except (Busy, OverBudget) as error:
            return error.code
        return "acts on " + target

    said = together(act)
    assert sum(one.startswith("acts") for one in said) == 3
    assert said.count("acts on shared") <= 1
    assert set(said) <= {"Busy", "OverBudget"} | {one for one in said if one.startswith("acts")}
