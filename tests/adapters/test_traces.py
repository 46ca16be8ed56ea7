"""Where tracing is on, an incident's invocations can be found in X-Ray by its id; where it is off, nothing is sent."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from unthrottle.adapters.traces import traced

TRACE = "Root=1-5e1b4151-5ac6c58dc39a2f3b1bf2b9b9;Parent=53995c3f42cd8ad8;Sampled=1"


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The daemon that Lambda runs beside a function."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("127.0.0.1", 0))
        line.settimeout(0.2)
        monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", f"127.0.0.1:{line.getsockname()[1]}")
        monkeypatch.setenv("_X_AMZN_TRACE_ID", TRACE)
        yield line


def _received(daemon: socket.socket) -> dict[str, Any]:
    header, document = daemon.recv(65_536).split(b"\n", 1)
    assert json.loads(header) == {"format": "json", "version": 1}
    found: dict[str, Any] = json.loads(document)
    return found


def test_the_subsegment_hangs_under_the_invocation_and_bears_the_incident(daemon: socket.socket) -> None:
    with traced("respond") as annotations:
        annotations["incident_id"] = "INC-ABCD1234"
    found = _received(daemon)
    assert (found["name"], found["type"]) == ("respond", "subsegment")
    assert (found["trace_id"], found["parent_id"]) == ("1-5e1b4151-5ac6c58dc39a2f3b1bf2b9b9", "53995c3f42cd8ad8")
    assert found["annotations"] == {"incident_id": "INC-ABCD1234"}
    assert found["end_time"] >= found["start_time"]
    assert len(found["id"]) == 16
    assert "fault" not in found


def test_work_that_fails_is_a_fault_and_fails_as_before(daemon: socket.socket) -> None:
    with pytest.raises(ValueError, match="as before"), traced("respond"):
        raise ValueError("as before")
    assert _received(daemon)["fault"] is True


def test_a_workflow_that_goes_to_sleep_is_no_fault(daemon: socket.socket) -> None:
    class SuspendError(BaseException):
        pass

    with pytest.raises(SuspendError), traced("respond"):
        raise SuspendError
    assert "fault" not in _received(daemon)


@pytest.mark.parametrize(
    ("trace", "address"),
    [
        ("", None),
        (TRACE.replace("Sampled=1", "Sampled=0"), None),
        ("Root=1-2;Sampled=1", None),
        ("nonsense;;=", None),
        (TRACE, ""),
        (TRACE, "nowhere"),
    ],
    ids=["not traced", "not sampled", "no parent", "nonsense", "no daemon", "no port"],
)
def test_nothing_is_sent_where_nobody_traces(
    daemon: socket.socket, monkeypatch: pytest.MonkeyPatch, trace: str, address: str | None
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
    if address is not None:
        monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", address)
    with traced("respond"):
        pass
    daemon.setblocking(False)
    with pytest.raises(BlockingIOError):
        daemon.recv(1)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:99999", "no.such.host.invalid:2000"])
def test_a_trace_that_cannot_be_sent_is_no_reason_to_lose_an_incident(
    daemon: socket.socket, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", address)
    with traced("respond") as annotations:
        annotations["incident_id"] = "INC-ABCD1234"
