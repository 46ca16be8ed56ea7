"""Where tracing is on, an incident's invocations can be found in X-Ray by its id; where it is off, nothing is sent or loaded."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LAYER = Path(__file__).parents[2] / "layers" / "unthrottle"
TRACE = "Root=1-5e1b4151-5ac6c58dc39a2f3b1bf2b9b9;Parent=53995c3f42cd8ad8;Sampled=1"


@pytest.fixture
def daemon() -> Iterator[socket.socket]:
    """The daemon that Lambda runs beside a function."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("127.0.0.1", 0))
        line.setblocking(False)
        yield line


def _run(daemon: socket.socket, code: str, **environment: str) -> str:
    """Run code in a process of its own, as a function is: X-Ray's SDK finds out at its import where it is."""
    said = subprocess.run(
        [sys.executable, "-c", f"import sys\nfrom unthrottle.adapters.traces import traced\n{code}"],
        env={
            "PATH": os.defpath,
            "PYTHONPATH": str(LAYER),
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "LAMBDA_TASK_ROOT": "/var/task",
            "AWS_XRAY_DAEMON_ADDRESS": f"127.0.0.1:{daemon.getsockname()[1]}",
            "_X_AMZN_TRACE_ID": TRACE,
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout


def _received(daemon: socket.socket) -> list[dict[str, Any]]:
    """Everything that was sent: it waits in the socket, since loopback delivers before `sendto` returns."""
    found: list[dict[str, Any]] = []
    while True:
        try:
            header, document = daemon.recv(65_536).split(b"\n", 1)
        except BlockingIOError:
            return found
        assert json.loads(header) == {"format": "json", "version": 1}
        found.append(json.loads(document))


def test_the_subsegment_hangs_under_the_invocation_and_bears_the_incident(daemon: socket.socket) -> None:
    _run(daemon, "with traced('respond') as annotations:\n    annotations['incident_id'] = 'INC-ABCD1234'")
    [found] = _received(daemon)
    assert (found["name"], found["type"]) == ("respond", "subsegment")
    assert (found["trace_id"], found["parent_id"]) == ("1-5e1b4151-5ac6c58dc39a2f3b1bf2b9b9", "53995c3f42cd8ad8")
    assert found["annotations"] == {"incident_id": "INC-ABCD1234"}
    assert found["end_time"] >= found["start_time"]
    assert "fault" not in found


def test_each_call_to_aws_is_a_part_of_it(daemon: socket.socket) -> None:
    code = (
        "import boto3\n"
        "from botocore.stub import Stubber\n"
        "client = boto3.client('dynamodb')\n"
        "stub = Stubber(client)\n"
        "stub.add_response('get_item', {})\n"
        "stub.activate()\n"
        "with traced('respond'):\n"
        "    client.get_item(TableName='incidents', Key={'pk': {'S': 'INC-ABCD1234'}})\n"
    )
    _run(daemon, code, AWS_DEFAULT_REGION="eu-west-1")
    call, work = _received(daemon)
    assert (call["name"], call["aws"]["operation"], call["aws"]["table_name"]) == ("dynamodb", "GetItem", "incidents")
    assert call["parent_id"] == work["id"]


def test_an_invocation_after_another_goes_into_its_own_trace(daemon: socket.socket) -> None:
    other = TRACE.replace("5ac6", "5ac7")
    _run(
        daemon, f"with traced('a'): pass\nimport os\nos.environ['_X_AMZN_TRACE_ID'] = {other!r}\nwith traced('b'): pass"
    )
    assert [one["trace_id"] for one in _received(daemon)] == [
        "1-5e1b4151-5ac6c58dc39a2f3b1bf2b9b9",
        "1-5e1b4151-5ac7c58dc39a2f3b1bf2b9b9",
    ]


def test_work_that_fails_is_a_fault_and_fails_as_before(daemon: socket.socket) -> None:
    code = "try:\n    with traced('respond'): raise ValueError('as before')\nexcept ValueError as error: print(error)"
    assert _run(daemon, code) == "as before\n"
    [found] = _received(daemon)
    assert found["fault"] is True


def test_a_workflow_that_goes_to_sleep_is_no_fault(daemon: socket.socket) -> None:
    code = (
        "class Suspend(BaseException): pass\n"
        "try:\n    with traced('respond'): raise Suspend\nexcept Suspend: print('asleep')"
    )
    assert _run(daemon, code) == "asleep\n"
    [found] = _received(daemon)
    assert "fault" not in found


@pytest.mark.parametrize(
    "environment",
    [
        {"_X_AMZN_TRACE_ID": ""},
        {"_X_AMZN_TRACE_ID": TRACE.replace("Sampled=1", "Sampled=0")},
        {"_X_AMZN_TRACE_ID": "Root=1-2;Sampled=1"},
        {"_X_AMZN_TRACE_ID": "nonsense;;="},
        {"LAMBDA_TASK_ROOT": ""},
    ],
    ids=["not traced", "not sampled", "no parent", "nonsense", "not in Lambda"],
)
def test_where_nobody_traces_nothing_is_sent_and_no_time_spent_on_it(
    daemon: socket.socket, environment: dict[str, str]
) -> None:
    code = "with traced('respond'): pass\nprint([one for one in sys.modules if 'xray' in one or 'powertools' in one])"
    assert _run(daemon, code, **environment) == "[]\n"
    assert _received(daemon) == []


def test_a_trace_that_nobody_takes_is_no_reason_to_lose_an_incident(daemon: socket.socket) -> None:
    code = "with traced('respond'): print('healed')"
    assert _run(daemon, code, AWS_XRAY_DAEMON_ADDRESS="127.0.0.1:1") == "healed\n"
