"""Break everything, one thing at a time: `python -m scripts.faults [--quick]`.

Prints runs by kind of fault and every violated invariant, with the case that shows it, and ends with one line of totals.
Exit code 2 when anything was violated.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from sandbox.faults.cases import AWS, Case, cases, sampled
from sandbox.faults.play import Result, play, scenes, undisturbed

QUICK = 120
"""Runs of a quick sweep: under four minutes on two cores."""

FULL = 1500
"""Runs of a full sweep: under twenty minutes on two cores. All there are take half an hour."""


def main(arguments: Sequence[str]) -> int:
    """Run a sweep and report. Returns the exit code."""
    wanted = _parser().parse_args(arguments)
    began = time.monotonic()
    chosen = [name for name in scenes() if not wanted.scene or name in wanted.scene]
    with ProcessPoolExecutor(max_workers=wanted.workers) as pool:
        plain = dict(zip(chosen, pool.map(undisturbed, chosen), strict=True))
        wrong = [f"{name}: {what}" for name, one in plain.items() for what in one.violations]
        every = [case for name, one in plain.items() for case in cases(name, one.called, wanted.seed)]
        picked = [case for case in every if not wanted.call or wanted.call in case.call]
        picked = sampled(picked, QUICK if wanted.quick else wanted.runs or len(picked), wanted.seed)
        print(f"seed {wanted.seed}: {len(picked)} of {len(every)} runs, {len(chosen)} scenes", flush=True)
        results = list(_followed(pool.map(play, picked, [plain[case.scene].calls for case in picked])))
    for line in wrong:
        print(f"VIOLATED  undisturbed {line}")
    print(_table(results))
    broken = len(wrong) + sum(len(result.violations) for result in results)
    if wanted.json:
        Path(wanted.json).write_text(json.dumps([_as_json(result) for result in results], indent=1), encoding="utf-8")
    print(f"{len(results)} runs, {broken} violated invariants, seed {wanted.seed}, {time.monotonic() - began:.0f} s")
    return 2 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.faults", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} runs, drawn by the seed")
    parser.add_argument("--runs", type=int, default=FULL, help=f"at most so many runs; 0: all (default {FULL})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scene", action="append", help="only this scene; may be given again")
    parser.add_argument("--call", help="only calls whose name holds this")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", help="write every run to this file")
    return parser


def _followed(results: Iterator[Result]) -> Iterator[Result]:
    """Let results through; show what is violated at once, and now and then how far it is."""
    for number, result in enumerate(results, start=1):
        for what in result.violations:
            print(f"VIOLATED  {result.case}: {what}", flush=True)
        if number % 100 == 0:
            print(f"  {number} runs", file=sys.stderr, flush=True)
        yield result


def _table(results: Sequence[Result]) -> str:
    once: Counter[str] = Counter(result.case.kind for result in results if result.case.times == 1)
    often: Counter[str] = Counter(result.case.kind for result in results if result.case.times != 1)
    broken: Counter[str] = Counter(result.case.kind for result in results for _ in result.violations)
    lines = ["| fault | once | for good | violated |", "|---|---:|---:|---:|"]
    lines += [f"| {kind} | {once[kind]} | {often[kind]} | {broken[kind]} |" for kind in AWS]
    lines.append(f"| all | {once.total()} | {often.total()} | {broken.total()} |")
    return "\n".join(lines)


def _as_json(result: Result) -> dict[str, object]:
    case: Case = result.case
    return {"case": str(case), "kind": case.kind, "ending": result.ending, "violations": result.violations}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
