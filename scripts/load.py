"""Does the built bot hold in a storm of alarms, and is a person answered under a flood of junk? On this machine, over loopback.

    python -m scripts.load BUILD_DIRECTORY RUNTIME_DIRECTORY [--seconds N] [--write-docs]

The built intake and front door run under AWS's runtime client, two processes each, as in Lambda with two slots. They talk to
an AWS behind real HTTP that keeps their table. First 1,000 alarms a minute arrive, of 60 tables, every tenth of them twice;
then the front door gets 20 junk requests a second, twice what its API lets through, and every second a genuine one in
between. Exit code 2 when an alarm is lost, a genuine request waits for three seconds or is not answered, junk is let in, or
memory grows.
"""

import argparse
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sandbox.faults.tables import replaced
from scripts.load_cloud import Cloud
from scripts.load_events import BOT_TOKEN, SIGNING_SECRET, alarm, genuine, junk
from scripts.runtime_api import Answer, FunctionProcess, Replied
from scripts.smoke import CASES, libraries

SECONDS = 300
SLOTS = 2
"""Processes of each function; the template reserves as many for the front door."""
ALARMS_A_MINUTE = 1000
JUNK_A_SECOND = 20
SLACK_WAITS_S = 3.0
"""Slack API docs, "Acknowledging requests": after three seconds the person sees an error."""
RETRIES = 2
"""As often as Lambda calls again for an event that failed (developer guide, "Error handling for asynchronous invocation")."""
MAY_GROW_MB = 15.0
DOCUMENT = Path(__file__).parents[1] / "docs" / "faults.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One event, made when it is sent, since signatures age; and when it is due, in seconds from the start."""

    due: float
    kind: str
    event: Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What came of a job, and how long after it was due."""

    kind: str
    answer: Answer
    took_s: float
    tries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """What was measured of one function. Memory is of its processes together: after a warm-up, and at the end."""

    handled: Sequence[Handled]
    seconds: float
    before_mb: float
    after_mb: float
    has_told_a_secret: bool

    @property
    def has_grown(self) -> bool:
        """Whether memory is not flat. Python's allocator moves by some megabytes on its own."""
        return self.after_mb - self.before_mb > MAY_GROW_MB


def play(
    function: str, places: tuple[Path, Path], environment: dict[str, str], jobs: Iterator[Job], last: float
) -> Storm:
    """Feed *jobs* to the processes of a function, each as soon as it is due and one of them is free."""
    case = next(one for one in CASES if one.function == function)
    build, runtime = places
    with ExitStack() as held:
        processes = [
            held.enter_context(
                FunctionProcess(build / function, path=libraries(case, build, runtime), environment=environment)
            )
            for _ in range(SLOTS)
        ]
        for process in processes:  # their start is measured elsewhere (`make sizes`)
            process.send(case.event)
        line = _Line(jobs)
        threads = [threading.Thread(target=line.serve, args=(process,), daemon=True) for process in processes]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        time.sleep(min(last / 4, 30))
        before = sum(process.held_mb() or 0 for process in processes)
        for thread in threads:
            thread.join(last * 4 + 60)
        after = sum(process.held_mb() or 0 for process in processes)
        told = any(secret in process.output() for process in processes for secret in (SIGNING_SECRET, BOT_TOKEN))
        return Storm(
            handled=tuple(line.handled),
            seconds=time.monotonic() - began,
            before_mb=before,
            after_mb=after,
            has_told_a_secret=told,
        )


class _Line:
    """The jobs in the order in which they are due. What fails is tried again, as often as Lambda would."""

    def __init__(self, jobs: Iterator[Job]) -> None:
        self.handled: list[Handled] = []
        self._jobs = jobs
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def serve(self, process: FunctionProcess) -> None:
        """Take one job after the other until there are no more."""
        while True:
            with self._lock:
                job = next(self._jobs, None)
            if job is None:
                return
            pause = self._began + job.due - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            answer, tries = process.send(job.event()), 1
            while not isinstance(answer, Replied) and tries <= RETRIES:
                answer, tries = process.send(job.event()), tries + 1
            took = time.monotonic() - self._began - job.due
            self.handled.append(Handled(kind=job.kind, answer=answer, took_s=took, tries=tries))


def storm(seconds: float) -> Iterator[Job]:
    """Yield the alarms of a storm; every tenth is delivered twice, as EventBridge may."""
    now = datetime.now(UTC)
    for number in range(int(seconds * ALARMS_A_MINUTE / 60)):
        due = number * 60 / ALARMS_A_MINUTE
        for _ in range(2 if number % 10 == 0 else 1):
            yield Job(due=due, kind="alarm", event=lambda number=number: alarm(number, now))  # type: ignore[misc]


def flood(seconds: float, response_url: str) -> Iterator[Job]:
    """Yield junk, and every second something genuine."""
    for number in range(int(seconds * JUNK_A_SECOND)):
        due = number / JUNK_A_SECOND
        if number % JUNK_A_SECOND == 0:
            yield Job(
                due=due,
                kind="genuine",
                event=lambda number=number: genuine(number // JUNK_A_SECOND, response_url),  # type: ignore[misc]
            )
        yield Job(due=due, kind="junk", event=lambda number=number: junk(number))  # type: ignore[misc]


def judged_storm(found: Storm, cloud: Cloud) -> tuple[str, list[str]]:
    """Say what came of the alarms, in one row of the table, and what is wrong."""
    results = Counter(result for one in found.handled for result in _taken_in(one))
    lost = sum(not _taken_in(one) for one in found.handled)
    wrong = [f"{lost} alarms were lost"] if lost else []
    if cloud.open_incidents() != len(cloud.started) or results["opened"] != len(cloud.started):
        wrong.append(f"{results['opened']} opened, {cloud.open_incidents()} in the table, {len(cloud.started)} started")
    return _row("1,000 alarms a minute", found, found.handled, f"{lost} lost"), wrong + _amiss(found)


def judged_flood(found: Storm) -> tuple[str, list[str]]:
    """Say how the genuine ones fared, in one row of the table, and what is wrong."""
    people = [one for one in found.handled if one.kind == "genuine"]
    late = sum(one.took_s >= SLACK_WAITS_S for one in people)
    unanswered = sum(_status(one) != 200 for one in people)
    let_in = sum(_status(one) not in {400, 401} for one in found.handled if one.kind == "junk")
    wrong = [
        f"{count} {what}"
        for count, what in [
            (late, "genuine requests waited three seconds or longer"),
            (unanswered, "genuine requests were not answered"),
            (let_in, "junk requests were not refused"),
        ]
        if count
    ]
    many = len(found.handled) - len(people)
    row = _row(f"genuine requests among {many:,} of junk", found, people, f"{unanswered + late} not in time")
    return row, wrong + _amiss(found)


def _taken_in(one: Handled) -> list[str]:
    """Return what became of each alarm of an event; nothing where one of them was not taken in."""
    results = (
        [str(entry["result"]) for entry in one.answer.payload["alarms"]] if isinstance(one.answer, Replied) else []
    )
    return results if set(results) <= {"opened", "joined", "duplicate"} else []


def _status(one: Handled) -> int | None:
    return one.answer.payload.get("statusCode") if isinstance(one.answer, Replied) else None


def _amiss(found: Storm) -> list[str]:
    wrong = [f"memory went from {found.before_mb:.0f} to {found.after_mb:.0f} MB"] if found.has_grown else []
    return [*wrong, *(["a secret is in the log"] if found.has_told_a_secret else [])]


def _row(what: str, found: Storm, measured: Sequence[Handled], bad: str) -> str:
    took = sorted(one.took_s * 1000 for one in measured)
    again = sum(one.tries > 1 for one in found.handled)
    return (
        f"| {what} | {found.seconds:.0f} s | {len(measured):,} | {bad} | {again} | {statistics.median(took):.0f} ms | "
        f"{took[int(len(took) * 0.99)]:.0f} ms | {took[-1]:.0f} ms | {found.before_mb:.0f} to {found.after_mb:.0f} MB |"
    )


HEAD = """| load | time | measured | wrong | tried again | median | 99 % | longest | memory of two processes |
|---|---:|---:|---:|---:|---:|---:|---:|---:|"""


def main(arguments: Sequence[str]) -> int:
    """Play both and print a table. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.load", description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("runtime", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--write-docs", action="store_true", help="write the table into docs/faults.md")
    wanted = parser.parse_args(arguments)
    places, seconds = (wanted.build.resolve(), wanted.runtime.resolve()), wanted.seconds
    with Cloud() as cloud:
        alarms = play("IntakeFunction", places, cloud.environment("IntakeFunction"), storm(seconds), seconds)
        storm_row, wrong = judged_storm(alarms, cloud)
        door = cloud.environment("SlackFunction")
        people = play("SlackFunction", places, door, flood(seconds, cloud.response_url), seconds)
        flood_row, more = judged_flood(people)
    table = f"{HEAD}\n{storm_row}\n{flood_row}"
    print(table)
    for what in [*wrong, *more]:
        print(f"BROKEN: {what}")
    if wanted.write_docs:
        note = f"On {datetime.now(UTC).date()}. Written by `python -m scripts.load .build/host .build/runtime --write-docs`."
        text = f"{table}\n\n{note}"
        DOCUMENT.write_text(replaced(DOCUMENT.read_text(encoding="utf-8"), "load", text), encoding="utf-8")
    print(f"load: {len(wrong) + len(more)} promises broken in {seconds:g} s of alarms and {seconds:g} s of junk")
    return 2 if wrong or more else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
