"""Run the tests that can notice a mutant against it, in forks of one process that has them loaded. Makes no mutants.

Three kinds of fork of this process, which itself loads third parties only: one that measures which test runs which line;
one that loads the tests and forks for each mutant of a function; and one for each mutant that acts at import.
"""

import gc
import hashlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scripts.mutant_tests import Instead, Plugin, covered, functions_of, put_in_place, run_pytest
from scripts.mutation import Mutant

AT_ONCE = 2
LEAST_S, TIMES = 20.0, 10
"""A mutant has ten times as long as its tests take without it, and 20 s; after that it is endless, and killed."""
FITS_NOT = "fits not"
"""The changed function cannot take the other's place; load everything anew."""
DIED = "no test: its process died"
ENDLESS = "no test: it did not end"
Measured = Mapping[str, str | None]
"""By mutant: the test that noticed it, None for a survivor."""


class Saved:
    """What earlier runs measured, in one file. Runs about other modules may write it at the same time."""

    def __init__(self, file: Path, *, anew: bool) -> None:
        self._file = file
        self.results: dict[str, dict[str, str | None]] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        if not anew:
            self.results, self.runs = self._read()

    def _read(self) -> tuple[dict[str, dict[str, str | None]], dict[str, dict[str, Any]]]:
        if not self._file.exists():
            return {}, {}
        document = json.loads(self._file.read_text(encoding="utf-8"))
        return document["results"], document["runs"]

    def write(self) -> None:
        results, runs = self._read()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        partial = self._file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps({"results": results | self.results, "runs": runs | self.runs}), encoding="utf-8")
        partial.replace(self._file)


def measure(wanted: Sequence[Mutant], files: Sequence[str], saved: Saved) -> Measured:
    """Measure what is not known yet, and return the result of each mutant."""
    _load_third_parties()
    hashes = {file: hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] for file in files}
    modules = {str(mutant.file): mutant.version for mutant in wanted}
    _measure_lines(files, hashes, modules, saved)
    tests = {test: found for file in files for test, found in saved.runs[file]["tests"].items() if found["passed"]}
    for file in files:
        for test, found in saved.runs[file]["tests"].items():
            if not found["passed"]:
                print(f"left out, it fails without a mutant: {test}", file=sys.stderr)
    everything = hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()[:16]
    left: list[tuple[Mutant, list[str]]] = []
    kept: list[str] = []
    for mutant in wanted:
        known = saved.results.get(mutant.key)
        if known is not None and known["module"] == modules[str(mutant.file)]:
            by = known["by"]
            deciding = everything if by is None else hashes.get(by.split("::")[0], "")
            if known["deciding"] == deciding:
                continue
        running = _running(mutant, tests)
        left.append((mutant, sorted(running, key=lambda test: (tests[test]["took"], test))))

    def keep(mutant: Mutant, by: str | None) -> None:
        saved.results[mutant.key] = {
            "by": by,
            "module": modules[str(mutant.file)],
            "deciding": everything if by is None else hashes.get(by.split("::")[0], ""),
        }
        kept.append(mutant.key)
        if len(kept) % 20 == 0:
            saved.write()

    at_import = {file: set(found) for run in saved.runs.values() for file, found in run["at_import"].items()}
    slow = [(mutant, some) for mutant, some in left if _acts_at_import(mutant, at_import)]
    quick = [(mutant, some) for mutant, some in left if not _acts_at_import(mutant, at_import)]
    for mutant, by in _quick(quick, files, tests):
        if by in {FITS_NOT, DIED}:
            slow.append((mutant, next(some for other, some in quick if other is mutant)))
        else:
            keep(mutant, by)
    for mutant, by in _slow(slow, tests):
        keep(mutant, by)
    saved.write()
    return remembered(wanted, saved)


def remembered(wanted: Sequence[Mutant], saved: Saved) -> Measured:
    """Return what is known of these mutants, of the modules as they are now."""
    known = ((mutant.key, saved.results.get(mutant.key), mutant.version) for mutant in wanted)
    return {key: found["by"] for key, found, version in known if found is not None and found["module"] == version}


def _load_third_parties() -> None:
    os.environ["CI"] = "true"
    import boto3  # noqa: F401, PLC0415  loaded once, for every fork
    import hypothesis  # noqa: F401, PLC0415
    import moto.core.botocore_stubber  # noqa: F401, PLC0415
    import pydantic  # noqa: F401, PLC0415


def _running(mutant: Mutant, tests: Mapping[str, Any]) -> list[str]:
    """Name the tests that run the changed statement; outside functions, all of each file in which one runs the module.

    The defaults of a dataclass are used without running a line of its module: files that import the module count, too.
    """
    lines_of = {test: found["lines"].get(str(mutant.file), []) for test, found in tests.items()}
    if mutant.place.outermost is None:
        files = {test.split("::")[0] for test, lines in lines_of.items() if lines}
        others = {test.split("::")[0] for test in tests} - files
        files |= {file for file in others if f"from {mutant.module} import" in Path(file).read_text(encoding="utf-8")}
        return [test for test in tests if test.split("::")[0] in files]
    first, last = mutant.place.first, mutant.place.last
    return [test for test, lines in lines_of.items() if any(first <= line <= last for line in lines)]


def _acts_at_import(mutant: Mutant, at_import: Mapping[str, set[int]]) -> bool:
    if mutant.place.outermost is None:
        return True
    return any(mutant.place.first <= line <= mutant.place.last for line in at_import.get(str(mutant.file), ()))


def _measure_lines(files: Sequence[str], hashes: Mapping[str, str], modules: Mapping[str, str], saved: Saved) -> None:
    stale = [
        file
        for file in files
        if file not in saved.runs or saved.runs[file]["hash"] != hashes[file] or saved.runs[file]["modules"] != modules
    ]
    if not stale:
        return
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _quiet()
        code = 1
        with suppress(BaseException):
            found = covered(stale, list(modules))
            with os.fdopen(writing, "w") as out:
                json.dump(found, out)
            code = 0
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    if not text:
        raise SystemExit("The tests could not be run without any mutant; nothing was measured.")
    found = json.loads(text)
    empty = set(stale) - {test.split("::")[0] for test in found["tests"]}
    if empty:  # else whatever they notice would be told as surviving
        raise SystemExit(
            f"No test of {', '.join(sorted(empty))} could be run without any mutant; nothing was measured."
        )
    for file in stale:
        tests = {test: one for test, one in found["tests"].items() if test.split("::")[0] == file}
        saved.runs[file] = {
            "hash": hashes[file],
            "modules": dict(modules),
            "tests": tests,
            "at_import": found["at_import"],
        }
    saved.write()


def _quiet() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _in_forks(
    work: Sequence[tuple[Mutant, float]], run: Callable[[Mutant], str | None], label: str
) -> Iterator[tuple[Mutant, str | None]]:
    """Run each in a fork of its own, two at a time, and yield the answers as they come."""
    waiting = list(reversed(work))
    running: dict[int, tuple[int, Mutant, float]] = {}
    done = 0
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            mutant, limit = waiting.pop()
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                signal.alarm(int(limit) + 5)  # also when this process is stopped
                _quiet()
                answer: str | None = DIED
                with suppress(BaseException):
                    answer = run(mutant)
                os.write(writing, json.dumps(answer).encode()[:4000])
                os._exit(0)
            os.close(writing)
            running[reading] = (child, mutant, time.monotonic() + limit)
        ready, _, _ = select.select(list(running), [], [], 0.5)
        for reading, (child, mutant, until) in list(running.items()):
            if reading in ready:
                text = os.read(reading, 4096).decode()
                by = json.loads(text) if text else DIED
            elif time.monotonic() > until:
                by = ENDLESS
            else:
                continue
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            del running[reading]
            done += 1
            if done % 100 == 0:
                print(f"  {label}: {done} of {len(work)}", file=sys.stderr, flush=True)
            yield mutant, by


def _limit(some: Sequence[str], tests: Mapping[str, Any]) -> float:
    return LEAST_S + TIMES * float(sum(tests[test]["took"] for test in some))


def _quick(
    work: Sequence[tuple[Mutant, list[str]]], files: Sequence[str], tests: Mapping[str, Any]
) -> Iterator[tuple[Mutant, str | None]]:
    """Load the tests in a fork, and let that fork for each mutant. Answers come through a pipe, a line each."""
    yield from ((mutant, None) for mutant, some in work if not some)
    chosen = [(mutant, some) for mutant, some in work if some]
    if not chosen:
        return
    needed = {test.split("::")[0] for _, some in chosen for test in some}
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with suppress(BaseException):
            _serve(chosen, [file for file in files if file in needed], tests, writing)
        os._exit(0)
    os.close(writing)
    answered = 0
    with os.fdopen(reading) as answers:
        for line in answers:
            number, by = json.loads(line)
            answered += 1
            yield chosen[number][0], by
    os.waitpid(child, 0)
    if answered != len(chosen):
        raise SystemExit(f"Only {answered} of {len(chosen)} mutants were run: the tests could not be loaded.")


def _serve(
    chosen: Sequence[tuple[Mutant, list[str]]], files: Sequence[str], tests: Mapping[str, Any], writing: int
) -> None:
    from _pytest.runner import runtestprotocol  # noqa: PLC0415

    def loop(items: Sequence[pytest.Item]) -> None:
        by_id = {item.nodeid: item for item in items}
        functions = functions_of({str(mutant.file) for mutant, _ in chosen})
        tests_of = {mutant.key: some for mutant, some in chosen}
        number_of = {mutant.key: number for number, (mutant, _) in enumerate(chosen)}
        gc.collect()
        gc.freeze()

        def run(mutant: Mutant) -> str | None:
            if not put_in_place(mutant, functions):
                return FITS_NOT
            for test in tests_of[mutant.key]:
                if test in by_id and any(
                    report.failed for report in runtestprotocol(by_id[test], log=False, nextitem=None)
                ):
                    return test
            return None

        work = [(mutant, _limit(some, tests)) for mutant, some in chosen]
        for mutant, by in _in_forks(work, run, "functions"):
            os.write(writing, (json.dumps([number_of[mutant.key], by]) + "\n").encode())

    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        sys.stdout, shown = nowhere, sys.stdout
        run_pytest(files, Plugin(loop))
        sys.stdout = shown


def _slow(work: Sequence[tuple[Mutant, list[str]]], tests: Mapping[str, Any]) -> Iterator[tuple[Mutant, str | None]]:
    tests_of = {mutant.key: some for mutant, some in work}

    def run(mutant: Mutant) -> str | None:
        some = tests_of[mutant.key]
        if not some:
            return None
        sys.meta_path.insert(0, Instead(mutant))
        order = {test: float(tests[test]["took"]) for test in some}
        plugin = Plugin(order=order)
        code = run_pytest(sorted({test.split("::")[0] for test in some}), plugin)
        return (plugin.noticed or "the import") if code else None

    yield from _in_forks([(mutant, _limit(some, tests)) for mutant, some in work], run, "at import")
