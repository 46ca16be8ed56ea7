"""Does a built workflow heal a whole incident, and go on after its process was killed? The whole chain, in separate processes.

    python -m scripts.chain BUILD_DIRECTORY RUNTIME_DIRECTORY

AWS's local durable runner keeps the execution and calls the built function under AWS's runtime client; the function talks to
the sandbox's AWS and Slack over HTTP. The process is killed in the worst moment: AWS has made the change, and nothing of it is
written down yet. The runner skips pauses, so the function's clock is set to the time that has passed in its own history.
Afterwards the built sweep, audit and Slack functions answer in the same account, from what is there.
"""

import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import time_machine
import urllib3
from moto import mock_aws

from sandbox.rehearsal.isolation import isolated, simulated_time
from sandbox.rehearsal.parameters import checked
from sandbox.rehearsal.rehearse import Rehearsal
from sandbox.rehearsal.scene import Scene
from sandbox.scenario import load
from sandbox.slack_people import SlackPeople
from scripts.aws_bridge import AwsBridge, Call
from scripts.runtime_api import FunctionProcess, QuietServer, Replied
from unthrottle.answers import Answer, write_answer

SCENARIO = {
    "version": 1,
    "name": "a table out of capacity, healed by what was built",
    "start": "2026-08-24T09:00:00Z",
    "minutes": 120,
    "settings": {"Mode": "auto"},
    "tables": [
        {
            "name": "dagy-runs-develop",
            "billing": "provisioned",
            "read": 100,
            "write": 50,
            "demand": {"write": [[0, 20], [8, 150], [40, 20]], "read": [[0, 40]]},
        }
    ],
}
PATIENCE_S = 60

# Runs in the function's process, in front of the built handler: sets the clock by the pauses the runner has skipped.
CLOCK = """
import datetime, json, os
import time_machine
import app

def _passed(event):
    total = datetime.timedelta()
    for operation in event["InitialExecutionState"]["Operations"]:
        wait = operation.get("WaitDetails") or {}
        end = wait.get("ScheduledEndTimestamp")
        if operation["Type"] == "WAIT" and operation["Status"] == "SUCCEEDED" and end:
            total += _time(end) - _time(operation["StartTimestamp"])
    return total

def _time(value):
    if isinstance(value, (int, float)):
        return datetime.datetime.fromtimestamp(value / 1000, datetime.timezone.utc)
    return datetime.datetime.fromisoformat(str(value))

def handler(event, context):
    began = datetime.datetime.fromisoformat(os.environ["CHAIN_BEGAN"])
    with time_machine.travel(began + _passed(event), tick=True):
        return app.handler(event, context)
"""

# The same for a function that is called once: its clock is the sandbox's.
ONCE = """
import datetime, os
import time_machine
import app

def handler(event, context):
    with time_machine.travel(datetime.datetime.fromisoformat(os.environ["CHAIN_BEGAN"]), tick=True):
        return app.handler(event, context)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a built function is asked beside the workflow, and words of an answer that it can have from AWS only."""

    function: str
    event: object
    words: tuple[str, ...]


class _WithoutWorkflow(Rehearsal):
    """A rehearsal that is played minute by minute, and leaves the workflow to the built function."""

    _played = 0

    @property
    def next_begins(self) -> datetime:
        """When the next minute begins; never, after the last one."""
        is_over = self._played >= self.scenario.minutes
        return datetime.max.replace(tzinfo=UTC) if is_over else self.start + timedelta(minutes=self._played)

    def next_minute(self) -> None:
        """Play one minute of everything else."""
        self._minute = self._played
        self._play()
        self.world.tick(self._minute)
        self._played += 1

    def _run_executions(self, *, until: int) -> None:
        """Do nothing: the execution lives in AWS's runner."""


class World:
    """The sandbox around the workflow: everything but the respond function is played in this process."""

    def __init__(self, scene: Scene, clock: time_machine.Traveller) -> None:
        self.scene, self.clock = scene, clock
        self.rehearsal = _WithoutWorkflow(scene, clock)
        self.kill_at: str | None = "dynamodb.UpdateTable"
        self.killed = 0
        self.kill = threading.Event()

    def arrive(self, at: datetime) -> None:
        """Let the world go on until a request comes from the function."""
        while self.rehearsal.next_begins <= at:
            self.rehearsal.next_minute()
        if at > datetime.now(UTC):
            self.clock.move_to(at)

    def between(self, service: str, operation: str, call: Call) -> dict[str, Any]:
        """Make the call; have the function's process killed before it hears of the first change."""
        answer = call()
        if f"{service}.{operation}" == self.kill_at:
            self.kill_at, self.killed = None, self.killed + 1
            self.kill.set()
            while self.kill.is_set():
                time.sleep(0.01)
        return answer


class FunctionEndpoint:
    """Lambda's Invoke for one built function: its process lives on from event to event, and is replaced when it has died."""

    def __init__(self, world: World, make: Any) -> None:
        self.processes = 0
        self._is_closed = False
        self.output: list[str] = []
        self._process: FunctionProcess | None = None
        self._make, self._world = make, world
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                event = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
                status, headers, body = endpoint._invoke(event)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class named it
                """Stay silent."""

        self._server = QuietServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        threading.Thread(target=self._killer, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """End the process and stop listening."""
        self._is_closed = True
        self._server.shutdown()
        self._drop()

    def _drop(self) -> None:
        if self._process is not None:
            self.output.append(self._process.output())
            self._process.__exit__(None, None, None)
            self._process = None

    def _killer(self) -> None:
        self._world.kill.wait()
        if self._process is not None:
            self._process.process.kill()
            self._process.process.wait()
        self._world.kill.clear()

    def _invoke(self, event: object) -> tuple[int, dict[str, str], bytes]:
        if self._process is None:
            self._process = self._make()
            self.processes += 1
        answer = self._process.send(event, PATIENCE_S)
        if isinstance(answer, Replied):
            return 200, {"X-Amz-Executed-Version": "1"}, json.dumps(answer.payload).encode()
        if answer.kind == "Ended":
            if not self._is_closed:
                self._drop()
            return 502, {}, b'{"Message": "the process ended"}'
        said = json.dumps({"errorType": answer.kind, "errorMessage": answer.message}).encode()
        return 200, {"X-Amz-Function-Error": "Unhandled", "X-Amz-Executed-Version": "1"}, said


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _runner(function: str) -> Iterator[str]:
    """AWS's local durable runner, which skips pauses."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    keys = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_DEFAULT_REGION": "eu-west-1"}
    command = [str(Path(sys.executable).with_name("dex-local-runner")), "start-server", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--lambda-endpoint", function, "--local-runner-endpoint", url]
    command += ["--local-runner-region", "eu-west-1", "--skip-time", "--log-level", "ERROR"]
    environment = {"PATH": os.defpath, "HOME": tempfile.gettempdir(), **keys}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(urllib3.exceptions.HTTPError):
                urllib3.request("GET", f"{url}/health", timeout=1, retries=False)
                break
            time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()


def _post(url: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = urllib3.request("POST", url, body=body, headers=headers, timeout=10, retries=False)
    if answer.status >= 300:
        raise OSError(f"{url} answered {answer.status}: {answer.data.decode()[:500]}")


def _opened(world: World) -> str:
    """Play until an alarm has opened the incident."""
    while not world.rehearsal.incidents():
        world.rehearsal.next_minute()
    return world.rehearsal.incidents()[0].id


def _wait(world: World, bridge: AwsBridge, is_there: Any, what: str) -> Any:
    """Wait in real time for something to appear in the incident's record."""
    last: object = None
    for _ in range(PATIENCE_S * 10):
        with bridge.lock:
            incident = world.rehearsal.incidents()[0]
        if is_there(incident):
            return incident
        last = incident.timeline[-1]
        time.sleep(0.1)
    raise TimeoutError(f"Waited {PATIENCE_S} s for {what}; the record ends with {last}.")


def _play(build: Path, runtime: Path, folder: Path) -> list[str]:
    """Play the incident and list what is not as it should be."""
    file = folder / "scenario.yaml"
    file.write_text(json.dumps(SCENARIO))
    (folder / "timed.py").write_text(CLOCK)
    (folder / "once.py").write_text(ONCE)
    scenario = load(file)
    with simulated_time(scenario.start) as clock, isolated(), mock_aws():
        scene = Scene(scenario, checked(scenario.settings, None), "simulated")
        world = World(scene, clock)
        with scene.dagy, scene.slack, scene.gate, AwsBridge(world.arrive, world.between) as bridge:
            return [*_heal(world, bridge, build, runtime, folder), *_beside(world, bridge, build, runtime, folder)]


def _heal(world: World, bridge: AwsBridge, build: Path, runtime: Path, folder: Path) -> list[str]:
    incident_id = _opened(world)
    began = datetime.now(UTC)
    host = world.scene.hosts["RespondFunction"]
    place = {"runner": ""}
    for name in ("time_machine", "_time_machine"):  # and nothing else of this environment
        module = Path(str(importlib.util.find_spec(name).origin))  # type: ignore[union-attr]  # it is imported above
        module = module.parent if module.name == "__init__.py" else module
        (folder / module.name).symlink_to(module)

    def start() -> FunctionProcess:
        environment = {
            **host.environment,
            "AWS_ENDPOINT_URL": bridge.url,
            "AWS_ENDPOINT_URL_LAMBDA": place["runner"],
            "CHAIN_BEGAN": began.isoformat(),
        }
        libraries = [folder, build / "UnthrottleLayer" / "python", runtime / "client"]
        return FunctionProcess(
            build / "RespondFunction", path=libraries, environment=environment, handler="timed.handler"
        )

    function = FunctionEndpoint(world, start)
    try:
        with _runner(function.url) as runner:
            place["runner"] = runner
            asked = {
                "AccountId": world.scene.account.account_id,
                "FunctionName": "respond",
                "FunctionQualifier": "$LATEST",
                "ExecutionName": incident_id,
                "ExecutionTimeoutSeconds": 86_400,
                "ExecutionRetentionPeriodDays": 1,
                "InvocationId": "chain",
                "Input": json.dumps({"incident_id": incident_id}),
            }
            _post(f"{runner}/start-durable-execution", json.dumps(asked).encode())
            held = _wait(world, bridge, lambda one: one.question is not None, "the lease")
            callback = urllib.parse.quote(held.question.callback, safe="")
            answer = json.dumps(write_answer(Answer(do="revert", by="U0OPS"))).encode()
            _post(f"{runner}/2025-12-01/durable-execution-callbacks/{callback}/succeed", answer)
            _wait(world, bridge, lambda one: one.closed_at is not None, "the end")
    except (TimeoutError, OSError) as error:
        function.close()
        return [str(error), *function.output]
    function.close()
    return _wrong(world, function.processes)


def _beside(world: World, bridge: AwsBridge, build: Path, runtime: Path, folder: Path) -> list[str]:
    """Ask the other built functions in the same account, and list what they did not answer."""
    wrong = []
    for asked in _questions(world):
        environment = {
            **world.scene.hosts[asked.function].environment,
            "AWS_ENDPOINT_URL": bridge.url,
            "CHAIN_BEGAN": datetime.now(UTC).isoformat(),
        }
        libraries = [folder, build / "UnthrottleLayer" / "python", runtime / "client", runtime / "sdk"]
        with FunctionProcess(
            build / asked.function, path=libraries, environment=environment, handler="once.handler"
        ) as running:
            answer = running.send(asked.event, PATIENCE_S)
            said = json.dumps(answer.payload) if isinstance(answer, Replied) else ""
            missing = [word for word in asked.words if word not in said]
            if missing:
                lines = running.output()[-1500:]
                wrong.append(f"{asked.function} answered {answer}, without {missing}; it wrote: {lines}")
    return wrong


def _questions(world: World) -> list[Question]:
    """Ask the sweep, the audit, and as a person in Slack: signed as Slack signs, and with a signature of something else."""
    incident = world.rehearsal.incidents()[0]
    now = datetime.now(UTC)
    command = world.scene.hands.say("U0OPS", f"/unthrottle status {incident.id}", now)
    other = SlackPeople(secret="another app's", team=world.scene.slack.team)  # noqa: S106  opens nothing
    return [
        Question(function="SweepFunction", event={}, words=('"reopened"',)),
        Question(function="AuditFunction", event={}, words=('"exposures"',)),
        Question(
            function="SlackFunction",
            event=command,
            words=('"statusCode": 200', incident.id, "provisioned-capacity", "reverted"),
        ),
        Question(
            function="SlackFunction",
            event=other.say("U0OPS", f"/unthrottle status {incident.id}", now),
            words=('"statusCode": 401',),
        ),
    ]


def _wrong(world: World, processes: int) -> list[str]:
    incident = world.rehearsal.incidents()[0]
    acted = [
        str(call.parameters["BillingMode"])
        for call in world.scene.gate.calls
        if call.role == "actor" and call.operation == "UpdateTable"
    ]
    found = {
        "cause": incident.diagnosis.cause.value if incident.diagnosis else None,
        "status": incident.status.value,
        "outcome": incident.outcome.value,
        # Asked again after the crash, AWS answers that the table is on-demand, and counts no second switch.
        "changes": list(dict.fromkeys(acted)),
        "switches": len(world.scene.account.tables["dagy-runs-develop"].switches),
        "processes killed": world.killed,
        "processes": processes,
        "refused by policy": [str(one.asked) for one in world.scene.policies.refusals],
    }
    expected = {
        "cause": "provisioned-capacity",
        "status": "reverted",
        "outcome": "recovered",
        "changes": ["PAY_PER_REQUEST", "PROVISIONED"],
        "switches": 1,
        "processes killed": 1,
        "processes": 2,
        "refused by policy": [],
    }
    return [f"{name}: {found[name]}, not {expected[name]}" for name in expected if found[name] != expected[name]]


def main(build: Path, runtime: Path) -> int:
    """Play it and print one line; 0 when all is as it should be."""
    before = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        wrong = _play(build.resolve(), runtime.resolve(), Path(folder))
    took = f"{time.perf_counter() - before:.1f} s"
    if wrong:
        print("whole chain      BROKEN: " + "\n".join(wrong))
        return 2
    print(
        "whole chain      ok: healed and given back by the built workflow in AWS's local runner; killed after the change, "
        f"it went on in a new process and changed nothing twice; sweep, audit and a signed Slack command answered ({took})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
