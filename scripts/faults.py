"""Break everything, one thing at a time: `python -m scripts.faults [--quick]`.

Prints runs by kind of fault and every violated invariant, with the case that shows it, and ends with one line of totals.
Exit code 2 when anything was violated. One run in ten is played by the real durable SDK.
"""

import argparse
import json
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from sandbox.faults.cases import Case, Engine, cases, sampled
from sandbox.faults.play import Result, play, scenario_of, scenes, undisturbed
from sandbox.faults.tables import replaced, tables
from sandbox.races.report import disturb, race_all

QUICK = 70
"""Runs of a quick sweep: under a minute on two cores."""

QUICK_ORDERS, FULL_ORDERS = 6, 400
"""Orders of one race that are gone through in a quick and in a full sweep; for most races the latter is all of them."""

FULL = 1500
"""Runs of a full sweep: half an hour on two cores. All there are take an hour."""

ENGINES: tuple[Engine, ...] = ("simulated", "durable")
DOCUMENT = Path(__file__).parents[1] / "docs" / "faults.md"

Plain = dict[tuple[str, Engine], int]
"""How many calls an undisturbed run makes, by scene and engine."""


def main(arguments: Sequence[str]) -> int:
    """Run a sweep and report. Returns the exit code."""
    wanted = _parser().parse_args(arguments)
    if wanted.races:
        return _races(wanted)
    began = time.monotonic()
    chosen = [name for name in scenes() if not wanted.scene or name in wanted.scene]
    engines = [one for one in ENGINES if wanted.engine in {None, one}]
    with ProcessPoolExecutor(max_workers=wanted.workers) as pool:
        places = [(scene, engine) for engine in engines for scene in chosen]
        found = dict(zip(places, pool.map(undisturbed, *zip(*places, strict=True)), strict=True))
        wrong = [f"{scene} ({engine}): {what}" for (scene, engine), one in found.items() for what in one.violations]
        every = [
            case
            for (scene, engine), one in found.items()
            for case in cases(scene, one.called, wanted.seed, engine)
            if not wanted.call or wanted.call in case.call
        ]
        picked = _picked(every, engines, QUICK if wanted.quick else wanted.runs or len(every), wanted.seed)
        print(f"seed {wanted.seed}: {len(picked)} of {len(every)} runs, {len(chosen)} scenes", flush=True)
        results = _recorded(wanted.record, picked)
        left = [case for case in picked if str(case) not in results]
        usual = [found[case.scene, case.engine] for case in left]
        played = pool.map(play, left, usual)
        for result in _followed(played, len(results)):
            results[str(result.case)] = result
            _record(wanted.record, result)
    for line in wrong:
        print(f"VIOLATED  undisturbed {line}")
    text = tables(list(results.values()))
    print(text)
    broken = len(wrong) + sum(len(result.violations) for result in results.values())
    total = f"{len(results)} runs, {broken} violated invariants, seed {wanted.seed}"
    if wanted.write_docs:
        today = datetime.now(UTC).date()
        note = f"{total}, drawn from {len(every):,}, on {today}. Written by `python -m scripts.faults --write-docs`."
        DOCUMENT.write_text(
            replaced(DOCUMENT.read_text(encoding="utf-8"), "runs", f"{text}\n\n{note}"), encoding="utf-8"
        )
    print(f"{total}, {time.monotonic() - began:.0f} s")
    return 2 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.faults", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} runs, drawn by the seed")
    parser.add_argument("--runs", type=int, default=FULL, help=f"at most so many runs; 0: all (default {FULL})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scene", action="append", help="only this scene; may be given again")
    parser.add_argument("--call", help="only calls whose name holds this")
    parser.add_argument("--engine", choices=ENGINES, help="only this engine; without it, one run in ten is durable")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--races", action="store_true", help="instead, two writers in every order, and events out of order"
    )
    parser.add_argument("--record", type=Path, help="keep every run in this file, and do not play again what is in it")
    parser.add_argument("--write-docs", action="store_true", help="write the tables into docs/faults.md")
    return parser


def _races(wanted: argparse.Namespace) -> int:
    """Play every race in every order that matters, and stories with their events twice and swapped."""
    logging.disable(logging.CRITICAL)
    few = wanted.quick
    orders, lost = race_all(QUICK_ORDERS if few else FULL_ORDERS, QUICK_ORDERS // 2, wanted.seed, print)
    ways, other = disturb([scenario_of(name) for name in (("cap", "table") if few else scenes())], print)
    print(f"{orders} orders and {ways} ways of delivery, {lost + other} violated, seed {wanted.seed}")
    return 2 if lost + other else 0


def _picked(every: Sequence[Case], engines: Sequence[Engine], most: int, seed: int) -> list[Case]:
    """Draw *most* cases; with both engines, one in ten for the durable one."""
    if len(engines) == 1 or most >= len(every):
        return sampled(every, most, seed)
    durable = [case for case in every if case.engine == "durable"]
    few = sampled(durable, most // 10, seed)
    many = sampled([case for case in every if case.engine != "durable"], most - len(few), seed)
    for number, case in enumerate(few):
        many.insert(number * 10, case)  # spread, so that a sweep that is stopped has some of both
    return many


def _followed(results: Iterator[Result], before: int) -> Iterator[Result]:
    """Let results through; show what is violated at once, and now and then how far it is."""
    for number, result in enumerate(results, start=before + 1):
        for what in result.violations:
            print(f"VIOLATED  {result.case}: {what}", flush=True)
        if number % 100 == 0:
            print(f"  {number} runs", file=sys.stderr, flush=True)
        yield result


def _record(file: Path | None, result: Result) -> None:
    if file is None:
        return
    with file.open("a", encoding="utf-8") as out:
        one = {"case": str(result.case), "ending": result.ending, "violations": result.violations}
        out.write(json.dumps(one) + "\n")


def _recorded(file: Path | None, picked: Sequence[Case]) -> dict[str, Result]:
    """Read the runs that an earlier call of this command has played. Those of other cases are left out."""
    if file is None or not file.exists():
        return {}
    by_name = {str(case): case for case in picked}
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {
        line["case"]: Result(
            case=by_name[line["case"]], violations=tuple(line["violations"]), ending=tuple(line["ending"])
        )
        for line in lines
        if line["case"] in by_name
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
