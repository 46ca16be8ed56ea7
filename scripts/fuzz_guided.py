"""The process in which libFuzzer feeds one target, guided by the coverage of the bot's own code.

    python -m scripts.fuzz_guided TARGET LIBFUZZER_OPTIONS...

Started by `python -m scripts.fuzz --engine atheris`; needs atheris, which is no part of the development environment.
"""

import random
import sys
from collections.abc import Sequence

import atheris  # type: ignore[import-untyped]


def main(name: str, options: Sequence[str]) -> None:
    """Fuzz. libFuzzer ends the process itself."""
    with atheris.instrument_imports(include=["unthrottle", "sandbox.scenario"]):
        from scripts.fuzz import damaged  # noqa: PLC0415  what is imported here is instrumented
        from scripts.fuzz_targets import targets  # noqa: PLC0415  the same

    target = next(one for one in targets() if one.name == name)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        if seed % 2:
            return damaged(data, random.Random(seed), target.seeds)[:most]  # noqa: S311  nothing is secret here
        changed: bytes = atheris.Mutate(data, most)
        return changed

    atheris.Setup([sys.argv[0], *options], target.judge, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
