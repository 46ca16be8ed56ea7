"""Which inputs of the bot is a file a good example of? For `python -m scripts.fuzz --seeds DIR`.

A JSON object is a seed for each target whose own seeds have one of its keys at the top; so are the objects inside it, since
examples often stand in a description of them. A form is one of Slack's, YAML a scenario. Nothing is copied.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from scripts.fuzz_targets import Target

MOST_BYTES = 1_000_000
DEEPEST = 3
"""How far inside a file an example is looked for."""
FORMS = ("payload=", "command=", "token=", "ssl_check=")


def with_seeds(targets: Sequence[Target], folder: Path) -> tuple[tuple[Target, ...], int]:
    """Give each target the examples below a folder that fit it. Returns also how many files fitted any."""
    more: dict[str, dict[bytes, None]] = {target.name: {} for target in targets}
    known = {target.name: _keys(target.seeds) for target in targets}
    used = 0
    for file in sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size <= MOST_BYTES):
        fitting = set(_fitting(file, known))
        used += bool(fitting)
        for name, seed in fitting:
            more[name][seed] = None
    return tuple(replace(one, seeds=[*one.seeds, *sorted(more[one.name])]) for one in targets), used


def _fitting(file: Path, known: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, bytes]]:
    data = file.read_bytes()
    if file.suffix in {".yaml", ".yml"}:
        yield from (("scenario", data) for name in known if name == "scenario")
        return
    try:
        document = json.loads(data, object_hook=_plain)
    except (ValueError, RecursionError):
        if data.decode("utf-8", "replace").startswith(FORMS):
            yield from (("slack body", data.strip()) for name in known if name == "slack body")
        return
    for one in _objects(document, DEEPEST):
        seed = json.dumps(one).encode("utf-8", "replace")
        yield from ((name, seed) for name, keys in known.items() if keys & one.keys())
        if "slack body" in known and {"type", "user"} <= one.keys():  # what a person clicked, as Slack sends it
            yield "slack body", urlencode({"payload": seed}).encode()


def _plain(one: dict[str, Any]) -> Any:
    """Take a value out of the object that some notations put around it: `{"$datetime": "2026-08-24T04:33:00Z"}`."""
    names = list(one)
    return one[names[0]] if len(names) == 1 and names[0].startswith("$") else one


def _objects(value: Any, deepest: int) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    if deepest:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for each in inside:
            yield from _objects(each, deepest - 1)


def _keys(seeds: Sequence[bytes]) -> frozenset[str]:
    found: set[str] = set()
    for seed in seeds:
        try:
            document = json.loads(seed)
        except (ValueError, RecursionError):
            continue
        found |= document.keys() if isinstance(document, dict) else set()
    return frozenset(found)
