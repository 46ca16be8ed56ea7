"""How long does each built function take from nothing to its first answer, and how long is its import alone?

Under AWS's own runtime client, with only what a managed runtime has, as a ratio to a handler that imports boto3 and makes one
client. AWS is a stand-in on loopback, so that no retry and no network is in a figure. Needs what `make build-host` builds.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from bench.front_of_aws import answering, refusing
from bench.section import Goal, Section, median
from scripts.runtime_api import FunctionProcess
from scripts.sizes import sizes
from scripts.smoke import CASES, ENVIRONMENT, libraries
from unthrottle.slack_front import sign

ROOT = Path(__file__).parent.parent
BUILD, RUNTIME = ROOT / ".build" / "host", ROOT / ".build" / "runtime"
BASE = "boto3 and one client"
MOST = {"IntakeFunction": 1.2, "SlackFunction": 1.2, "RespondFunction": 1.6}
"""The largest ratio each may have."""
WHY_NOT = {
    "RespondFunction": "the durable SDK, which cannot be left out, is most of it: see the table of imports",
}
BASELINE = """
import boto3
client = boto3.client("dynamodb")
def handler(event, context):
    return {"endpoint": client.meta.endpoint_url}
"""
SECRET = {"signing_secret": "8f742231b10e8888abcd99yyyzzz85a5", "bot_token": "xoxb-none"}  # Slack's own example of one
ALARM = {
    "version": "0",
    "id": "c4c1c1c9-6542-e61b-6ef0-8c4d36933a92",
    "detail-type": "CloudWatch Alarm State Change",
    "source": "aws.cloudwatch",
    "account": "111122223333",
    "time": "2026-11-29T10:00:00Z",
    "region": "eu-west-1",
    "resources": ["arn:aws:cloudwatch:eu-west-1:111122223333:alarm:orders-writes"],
    "detail": {
        "alarmName": "orders-writes",
        "state": {"value": "ALARM", "reason": "Threshold Crossed", "timestamp": "2026-11-29T10:00:00.000+0000"},
        "previousState": {"value": "OK", "reason": "-", "timestamp": "2026-11-29T09:00:00.000+0000"},
        "configuration": {
            "metrics": [
                {
                    "id": "m1",
                    "metricStat": {
                        "metric": {
                            "namespace": "AWS/DynamoDB",
                            "name": "WriteThrottleEvents",
                            "dimensions": {"TableName": "dagy-orders-prod"},
                        },
                        "period": 60,
                        "stat": "Sum",
                    },
                    "returnData": True,
                }
            ]
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One thing to start. `event` is made when it is sent: a signature is good for five minutes."""

    name: str
    folder: Path
    path: list[Path]
    event: Callable[[], object]
    aws: str


def signed_command(text: str) -> dict[str, object]:
    """Make the request of an operator's `/unthrottle` command, signed now."""
    now = str(int(time.time()))
    body = urlencode(
        {
            "command": "/unthrottle",
            "text": text,
            "user_id": "U0PERATOR",
            "team_id": "T0123ABCD",
            "channel_id": "C0123ABCD",
        }
    )
    return {
        "version": "2.0",
        "headers": {
            "content-type": "application/x-www-form-urlencoded",
            "x-slack-request-timestamp": now,
            "x-slack-signature": sign(SECRET["signing_secret"], now, body.encode()),
        },
        "requestContext": {"http": {"method": "POST", "path": "/slack"}},
        "body": body,
        "isBase64Encoded": False,
    }


def measure(*, quick: bool) -> list[Section]:
    """Start every function several times, in turn with the baseline, and take medians; then the imports alone."""
    section = Section(
        key="cold",
        title="Cold start under Lambda's runtime client (process start to first answer)",
        columns=["function", "median", f"ratio to {BASE}", "ratio of processor time", "memory", "zipped", "unpacked"],
    )
    if not BUILD.is_dir() or not (RUNTIME / "client").is_dir():
        section.notes.append("Not measured: nothing is built for this machine. `make bench` builds it first.")
        return [section]
    rounds = 3 if quick else 9
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        (folder / "app.py").write_text(BASELINE, encoding="utf-8")
        starts = _starts(folder, held.enter_context(refusing()), held.enter_context(answering(SECRET)))
        times: dict[str, list[tuple[float, float]]] = {start.name: [] for start in starts}
        memory: dict[str, float | None] = {}
        for number in range(rounds + 1):
            for start in starts:
                wall, used, memory[start.name] = _timed(start)
                if number:  # the first round warms the disk's cache
                    times[start.name].append((wall, used))
        imports = _imports(folder, rounds)
    _fill(section, times, memory)
    section.notes.append(
        f"Medians of {rounds} new processes each, on this machine; Lambda's sandbox start comes on top and is the same for "
        "all. AWS refuses every call of the first six, and answers those of the last two at once: RespondFunction answers "
        "that its first checkpoint and its first read were refused, SweepFunction and AuditFunction that their first read "
        "was. memory: the most that the process had held by then. Bytecode is in the build, as in Lambda's own boto3."
    )
    return [section, imports]


def _starts(baseline: Path, refuses: str, answers: str) -> list[Start]:
    client = RUNTIME / "client"
    given = {case.function: case for case in CASES}
    found = [
        Start(name=BASE, folder=baseline, path=[client, RUNTIME / "sdk"], event=dict, aws=refuses),
        *(
            Start(
                name=case.function,
                folder=BUILD / case.function,
                path=libraries(case, BUILD, RUNTIME),
                event=lambda event=case.event: event,  # type: ignore[misc]  # bound now, not at the call
                aws=refuses,
            )
            for case in CASES
        ),
    ]
    for name, function, event in (
        ("IntakeFunction: an alarm opens an incident", "IntakeFunction", lambda: ALARM),
        ("SlackFunction: a signed /unthrottle status", "SlackFunction", lambda: signed_command("status")),
    ):
        path = libraries(given[function], BUILD, RUNTIME)
        found.append(Start(name=name, folder=BUILD / function, path=path, event=event, aws=answers))
    return found


def _fill(section: Section, times: dict[str, list[tuple[float, float]]], memory: dict[str, float | None]) -> None:
    base, base_used = _medians(times[BASE])
    for name, values in times.items():
        middle, used = _medians(values)
        ratio, share = middle / base, used / base_used
        built = BUILD / name
        unpacked, zipped = (f"{size / 1e6:,.2f} MB" for size in sizes(built)) if built.is_dir() else ("-", "-")
        held = memory[name]
        peak = "-" if held is None else f"{held:,.0f} MB"
        section.rows.append(
            [name, f"{middle * 1000:,.0f} ms", f"{ratio:.2f} x", f"{share:.2f} x", peak, zipped, unpacked]
        )
        section.data[name] = {
            "seconds": middle,
            "ratio": ratio,
            "processor_ratio": share,
            "memory_mb": held,
            "all": values,
        }
        if name in MOST:
            section.goals.append(
                Goal(
                    text=f"{name} cold within {MOST[name]} x of the boto3-only handler",
                    found=f"{ratio:.2f} x ({share:.2f} x of its processor time)",
                    reached=ratio <= MOST[name],
                    why_not=WHY_NOT.get(
                        name, "other work on this machine weighs on a single start: repeat it when it is quiet"
                    ),
                )
            )
    unpacked, zipped = (f"{size / 1e6:,.2f} MB" for size in sizes(BUILD / "UnthrottleLayer"))
    section.rows.append(["UnthrottleLayer (in each)", "-", "-", "-", "-", zipped, unpacked])
    section.bars["Cold start, x of boto3 and one client"] = {name: one["ratio"] for name, one in section.data.items()}


def _imports(nowhere: Path, rounds: int) -> Section:
    """Time imports alone, without the runtime client: a new interpreter that imports, and nothing else."""
    section = Section(
        key="imports",
        title="Imports alone (a new interpreter, from its start to its end)",
        columns=["what is imported", "median", f"ratio to {BASE}", "ratio of processor time"],
    )
    given = {case.function: case for case in CASES}
    layer, sdk = BUILD / "UnthrottleLayer" / "python", RUNTIME / "sdk"
    respond = [BUILD / "RespondFunction", *libraries(given["RespondFunction"], BUILD, RUNTIME)]
    things = {
        BASE: ("import boto3; boto3.client('dynamodb')", nowhere, [sdk]),
        "IntakeFunction's app": ("import app", BUILD / "IntakeFunction", [layer, sdk]),
        "SlackFunction's app": ("import app", BUILD / "SlackFunction", [layer, sdk]),
        "RespondFunction's app": ("import app", BUILD / "RespondFunction", respond),
        "SweepFunction's app": ("import app", BUILD / "SweepFunction", [layer, sdk]),
        "AuditFunction's app": ("import app", BUILD / "AuditFunction", [layer, sdk]),
        "of which the durable SDK, with boto3": ("import aws_durable_execution_sdk_python", nowhere, respond),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in things}
    for number in range(rounds + 1):
        for name, (code, folder, path) in things.items():
            taken = _imported(code, folder, path)
            if number:
                times[name].append(taken)
    base, base_used = _medians(times[BASE])
    for name, values in times.items():
        middle, used = _medians(values)
        row = [name, f"{middle * 1000:,.0f} ms", f"{middle / base:.2f} x", f"{used / base_used:.2f} x"]
        section.rows.append(row)
        section.data[name] = {"seconds": middle, "ratio": middle / base, "processor_ratio": used / base_used}
    for name in ("IntakeFunction's app", "SlackFunction's app"):
        ratio = section.data[name]["ratio"]
        section.goals.append(
            Goal(
                text=f"importing {name} within 1.2 x of `import boto3` and one client",
                found=f"{ratio:.2f} x",
                reached=ratio <= 1.2,
                why_not="other work on this machine weighs on a single start: repeat it when it is quiet",
            )
        )
    return section


def _imported(code: str, folder: Path, path: list[Path]) -> tuple[float, float]:
    environment = {
        **ENVIRONMENT,
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(str(part.resolve()) for part in path),
    }
    before, used = time.perf_counter(), _processor_seconds()
    subprocess.run([sys.executable, "-S", "-c", code], cwd=folder, env=environment, check=True)  # noqa: S603  fixed texts
    return time.perf_counter() - before, _processor_seconds() - used


def _timed(start: Start) -> tuple[float, float, float | None]:
    """Seconds from the start of the process to its first answer, of the processor until then, and the memory in MB."""
    environment = {**ENVIRONMENT, "UNTHROTTLE_OPERATORS": "U0PERATOR", "AWS_ENDPOINT_URL": start.aws}
    event = start.event()
    before, used = time.perf_counter(), _processor_seconds()
    with FunctionProcess(start.folder, path=start.path, environment=environment) as running:
        running.send(event)
        seconds = time.perf_counter() - before
        held = running.peak_mb()
    return seconds, _processor_seconds() - used, held


def _medians(values: list[tuple[float, float]]) -> tuple[float, float]:
    wall, used = median([one for one, _ in values]), median([one for _, one in values])
    return wall or 0.0, used or 0.0


def _processor_seconds() -> float:
    """Count the processor time of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
