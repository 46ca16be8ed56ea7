"""Stand-ins the adapters' tests share: a clock that stands still, clients whose answers are written down."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from botocore.stub import Stubber

from unthrottle.adapters.access import Clients, Credentials, Service

REGION = "eu-west-1"
NOW = datetime(2026, 6, 1, 10, 0, tzinfo=UTC)


class StillClock:
    """A clock that only a test moves."""

    def __init__(self, now: datetime = NOW) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time


class Scripted(Clients):
    """Real clients whose answers are written down beforehand, in order and checked against AWS's service models."""

    def __init__(self) -> None:
        super().__init__()
        self.stubs: dict[str, Stubber] = {}
        self.made: list[tuple[str, Credentials | None]] = []

    def on(self, service: Service) -> Stubber:
        if service not in self.stubs:
            keys = Credentials(access_key="AKIA", secret_key="x", token="x", until=NOW)
            stub = Stubber(super().make(service, REGION, keys))
            stub.activate()
            self.stubs[service] = stub
        return self.stubs[service]

    def make(self, service: Service, region: str, credentials: Credentials | None) -> Any:
        self.made.append((service, credentials))
        return self.on(service).client

    def answers(self, service: Service, operation: str, response: Mapping[str, Any], **expected: Any) -> None:
        self.on(service).add_response(operation, dict(response), expected or None)

    def refuses(self, service: Service, operation: str, code: str, message: str = "", status: int = 400) -> None:
        self.on(service).add_client_error(operation, code, message, http_status_code=status)


SHARED = Clients()
"""One loader for all tests: reading the service models is most of what a client costs."""
