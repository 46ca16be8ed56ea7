"""How long does each built function take from nothing to its first answer?

Under AWS's own runtime client, with only what a managed runtime has, as a ratio to a handler that imports boto3 and makes one
client. AWS is a stand-in that refuses every call at once, so that no retry and no network is in the figure. Needs what
`make build-host` builds.
"""

import io
import resource
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.section import Goal, Section, median
from scripts.runtime_api import FunctionProcess
from scripts.smoke import CASES, ENVIRONMENT

ROOT = Path(__file__).parent.parent
BUILD, RUNTIME = ROOT / ".build" / "host", ROOT / ".build" / "runtime"
MOST = {"IntakeFunction": 1.2, "SlackFunction": 1.2, "RespondFunction": 1.6}
"""The largest ratio each may have."""
BASELINE = """
import boto3
client = boto3.client("dynamodb")
def handler(event, context):
    return {"endpoint": client.meta.endpoint_url}
"""
REFUSAL = b'{"__type":"AccessDeniedException","message":"The benchmark refuses every call."}'


def measure(*, quick: bool) -> Section:
    """Start every function several times, in turn with the baseline, and take medians."""
    rounds = 2 if quick else 7
    section = Section(
        key="cold",
        title="Cold start under Lambda's runtime client (process start to first answer)",
        columns=["function", "median", "ratio to boto3 and one client", "ratio of processor time", "zipped"],
    )
    if not BUILD.is_dir() or not (RUNTIME / "client").is_dir():
        section.notes.append("Not measured: nothing is built for this machine. `make bench` builds it first.")
        return section
    layer = BUILD / "UnthrottleLayer" / "python"
    with tempfile.TemporaryDirectory() as folder, refusing() as address:
        baseline = Path(folder)
        (baseline / "app.py").write_text(BASELINE, encoding="utf-8")
        environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL": address}
        times: dict[str, list[tuple[float, float]]] = {
            "boto3 and one client": [],
            **{case.function: [] for case in CASES},
        }
        for number in range(rounds + 1):
            taken = {"boto3 and one client": _timed(baseline, {}, [RUNTIME / "client", RUNTIME / "sdk"], environment)}
            for case in CASES:
                path = [layer, RUNTIME / "client", *([] if case.has_own_boto3 else [RUNTIME / "sdk"])]
                taken[case.function] = _timed(BUILD / case.function, case.event, path, environment)
            if number:  # the first round warms the disk's cache
                for name, seconds in taken.items():
                    times[name].append(seconds)
    base, base_used = _medians(times["boto3 and one client"])
    for name, values in times.items():
        middle, used = _medians(values)
        ratio, share = middle / base, used / base_used
        size = "-" if name not in {case.function for case in CASES} else f"{zipped(BUILD / name) / 1e6:,.2f} MB"
        section.rows.append([name, f"{middle * 1000:,.0f} ms", f"{ratio:.2f} x", f"{share:.2f} x", size])
        section.data[name] = {"seconds": middle, "ratio": ratio, "processor_ratio": share, "all": values}
        if name in MOST:
            section.goals.append(
                Goal(
                    text=f"{name} cold within {MOST[name]} x of the boto3-only handler",
                    found=f"{ratio:.2f} x ({share:.2f} x of its processor time)",
                    reached=ratio <= MOST[name],
                    why_not="the managed runtime's boto3 comes with bytecode; what we ship is compiled at every cold start",
                )
            )
    section.rows.append(
        ["UnthrottleLayer (in each)", "-", "-", "-", f"{zipped(BUILD / 'UnthrottleLayer') / 1e6:,.2f} MB"]
    )
    section.bars["Cold start, x of boto3 and one client"] = {name: one["ratio"] for name, one in section.data.items()}
    section.notes.append(
        f"Medians of {rounds} new processes each, on this machine; Lambda's sandbox start comes on top and is the same for "
        "all. SweepFunction and AuditFunction answer with the refusal of their first call to AWS."
    )
    return section


def _timed(folder: Path, event: object, path: list[Path], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds from the start of the process to its first answer, and of the processor that it used until then."""
    before, used = time.perf_counter(), _processor_seconds()
    with FunctionProcess(folder, path=path, environment=environment) as running:
        running.send(event)
        seconds = time.perf_counter() - before
    return seconds, _processor_seconds() - used


def _medians(values: list[tuple[float, float]]) -> tuple[float, float]:
    wall, used = median([one for one, _ in values]), median([one for _, one in values])
    return wall or 0.0, used or 0.0


def _processor_seconds() -> float:
    """Count the processor time of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def zipped(folder: Path) -> int:
    """Count the bytes of a folder as `sam package` would upload it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(folder))
    return buffer.getbuffer().nbytes


@contextmanager
def refusing() -> Iterator[str]:
    """Serve an AWS that refuses everything; yields its address."""

    class Refuse(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(400)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(REFUSAL)))
            self.end_headers()
            self.wfile.write(REFUSAL)

        do_GET = do_POST  # noqa: N815  the base class names its methods so

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class named it
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refuse)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
