"""Feed hostile input to everything that reads some: `python -m scripts.fuzz [--minutes 60] [--seeds DIR] [--engine ...]`.

`drawn` damages the seeds by a seeded chance, byte by byte and in their structure. `atheris` does the same guided by coverage
(libFuzzer), in a process for each target; it is no part of the development environment: `pip install atheris==3.0.0` into it.
What breaks a promise is kept in .build/fuzz and printed; it belongs into tests/fuzz. Exit code 2 when there was any.
"""

import argparse
import hashlib
import json
import logging
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scripts.fuzz_seeds import with_seeds
from scripts.fuzz_targets import Target, targets

KEPT = Path(__file__).parents[1] / ".build" / "fuzz"
SLOWEST_S = 4.0
"""Of one core for one input of at most a megabyte."""
MOST_BYTES = 1_000_000
MOST_MB = 900
ODD: Sequence[Any] = (
    None, True, 0, -1, 1e308, 10**40, "", "0", "-1", "NaN", "\x00", "\ud83d", "<!channel>", "x" * 1000, [], {}, [[]],
    {"": ""}, "111122223333", "2026-02-30T25:61:00Z", "arn:aws:lambda:::", "true", "${jndi:x}", "../../etc", "é" * 300,
)  # fmt: skip


def damaged(data: bytes, draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Damage a good input once or a few times: in its bytes, or in its structure where it has one."""
    for _ in range(draw.choice([1, 1, 2, 4])):
        data = (_structure if draw.random() < 0.6 else _bytes)(data, draw, seeds)[:MOST_BYTES]
    return data


def _bytes(data: bytes, draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    at = draw.randrange(len(data) + 1)
    match draw.randrange(6):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + draw.randbytes(draw.choice([1, 2, 8])) + data[at:]
        case 2:
            return data[:at] + data[min(len(data), at + draw.randrange(1, 9)) :]
        case 3:
            other = draw.choice(seeds)
            return data[:at] + other[draw.randrange(len(other) + 1) :]
        case 4:
            piece = data[at : at + draw.randrange(1, 40)]
            return data[:at] + piece * draw.choice([2, 10, 2000]) + data[at:]
        case _:
            return (
                data[:at]
                + draw.choice([b"[" * 5000, b'{"a":' * 5000, b"\xff\xfe", b"&", b"=", b"%00", b"\n- "])
                + data[at:]
            )


def _structure(data: bytes, draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return _bytes(data, draw, seeds)
    places: list[tuple[Any, Any]] = []
    left = [document]
    while left:
        node = left.pop()
        inside: list[tuple[Any, Any]] = list(node.items()) if isinstance(node, dict) else []
        inside = list(enumerate(node)) if isinstance(node, list) else inside
        places += [(node, key) for key, _ in inside]
        left += [value for _, value in inside if isinstance(value, dict | list)]
    if not places:
        return json.dumps(draw.choice(ODD)).encode()
    node, key = draw.choice(places)
    match draw.randrange(5):
        case 0:
            del node[key]
        case 1 if isinstance(node, dict):
            node[draw.choice(["", "x" * 1000, key + "\x00", key.upper(), "__proto__"])] = node[key]
        case 2 if isinstance(node[key], str):  # a text with something inside, as wrappers have: damage that
            node[key] = _structure(node[key].encode("utf-8", "replace"), draw, seeds).decode("utf-8", "replace")
        case 3:
            copies = MOST_BYTES // len(json.dumps(node[key]))  # more would only be cut off, and fill the memory first
            node[key] = [node[key]] * min(draw.choice([1, 3, 1000]), copies + 1)
        case _:
            node[key] = draw.choice(ODD)
    return json.dumps(document).encode("utf-8", "replace")


def judged(target: Target, data: bytes) -> str | None:
    """Give an input to a target; say what it broke, if anything."""
    began = time.process_time()
    try:
        target.judge(data)
    except Exception:  # noqa: BLE001  that is what is looked for
        return traceback.format_exc(limit=-4)
    took = time.process_time() - began
    return f"took {took:.1f} s" if took > SLOWEST_S else None


def drawn(target: Target, seconds: float, seed: int) -> tuple[int, list[str]]:
    """Damage seeds for some time. Returns how many inputs there were, and what they broke, each kind once."""
    draw = random.Random(f"{seed}/{target.name}")  # noqa: S311  nothing is secret here
    wrong: dict[str, str] = {}
    tried, end = 0, time.monotonic() + seconds
    for data in target.seeds:
        _keep(target, data, judged(target, data), wrong)
    while time.monotonic() < end:
        data = damaged(draw.choice(target.seeds), draw, target.seeds)
        _keep(target, data, judged(target, data), wrong)
        tried += 1
    return tried, list(wrong.values())


def _keep(target: Target, data: bytes, broke: str | None, wrong: dict[str, str]) -> None:
    if broke is None:
        return
    kind = re.sub(r"0x[0-9a-f]+|\d+", "N", broke.strip().splitlines()[-1])[:80]
    if kind in wrong:
        return
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"{target.name.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:12]}"
    file.write_bytes(data)
    wrong[kind] = f"{target.name}: {broke}\n  the input is in {file}"


def guided(target: Target, seconds: float, seed: int) -> tuple[int, list[str]]:
    """Let libFuzzer damage seeds for some time, in a process of its own."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(target.seeds):
            (Path(corpus) / str(number)).write_bytes(data)
        options = [
            f"-max_total_time={int(seconds)}",
            f"-artifact_prefix={KEPT}/{target.name.replace(' ', '-')}-",
            "-timeout=100",  # of real time, and the machine may be busy
            f"-rss_limit_mb={MOST_MB}",
            "-max_len=100000",
            f"-seed={seed}",
            "-print_final_stats=1",
        ]
        command = [sys.executable, "-m", "scripts.fuzz_guided", target.name, *options, corpus]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    lines = done.stderr.splitlines()
    runs = next((int(line.split()[-1]) for line in lines if "number_of_executed_units" in line), 0)
    tail = "\n".join(line for line in lines if not line.startswith(("#", "INFO", "stat::")))[-3000:]
    return runs, [f"{target.name}: {tail}"] if done.returncode else []


def main(arguments: Sequence[str]) -> int:
    """Fuzz every target for its share of the time. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--engine", choices=["drawn", "atheris"], default="drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="only the target of this name")
    parser.add_argument("--seeds", type=Path, help="a folder of further examples; each becomes a seed where it fits")
    wanted = parser.parse_args(arguments)
    if wanted.seeds is not None and not wanted.seeds.is_dir():
        parser.error(f"{wanted.seeds} is no folder. Nothing was tried.")
    chosen: Sequence[Target] = [target for target in targets() if wanted.only in {None, target.name}]
    if wanted.seeds is not None:
        own = sum(len(target.seeds) for target in chosen)
        chosen, used = with_seeds(chosen, wanted.seeds)
        print(f"{used} files gave {sum(len(target.seeds) for target in chosen) - own} seeds more", flush=True)
    fuzz: Callable[[Target, float, int], tuple[int, list[str]]] = guided if wanted.engine == "atheris" else drawn
    logging.disable()  # the bot's own lines about each input
    total, broken = 0, 0
    for target in chosen:
        tried, wrong = fuzz(target, wanted.minutes * 60 / len(chosen), wanted.seed)
        total, broken = total + tried, broken + len(wrong)
        print(f"{target.name:14}{tried:>10,} inputs, {len(wrong)} broken", flush=True)
        for what in wrong:
            print(f"BROKEN {what}", flush=True)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if held > MOST_MB:
        broken += 1
        print(f"BROKEN the process held {held:.0f} MB at most; {MOST_MB} MB are allowed")
    print(f"fuzz: {total:,} inputs in {wanted.minutes:g} minutes, {broken} broken promises, {held:.0f} MB at most")
    return 2 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
