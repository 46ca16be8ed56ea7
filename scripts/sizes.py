"""How large is what is deployed, and how fast does it start?

    python -m scripts.sizes BUILD_DIRECTORY [HOST_BUILD_DIRECTORY RUNTIME_DIRECTORY]

Sizes are of the build for Lambda. Start times and memory need the build for this machine, and are of this machine:
from the start of the process until the answer to the sample event of `scripts.smoke`, under AWS's runtime client.
"""

import io
import statistics
import sys
import time
import zipfile
from pathlib import Path

from scripts.runtime_api import FunctionProcess
from scripts.smoke import CASES, ENVIRONMENT, Case, libraries

STARTS = 5


def sizes(folder: Path) -> tuple[int, int]:
    """Return bytes unpacked and zipped."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.relative_to(folder))
    return sum(file.stat().st_size for file in files), packed.getbuffer().nbytes


def starts(case: Case, build: Path, runtime: Path) -> tuple[float, float | None]:
    """Return the median milliseconds of some new processes until their answer, and the most memory one of them held."""
    took, peaks = [], []
    for _ in range(STARTS):
        before = time.perf_counter()
        with FunctionProcess(
            build / case.function, path=libraries(case, build, runtime), environment=dict(ENVIRONMENT)
        ) as running:
            running.send(case.event)
            took.append((time.perf_counter() - before) * 1000)
            peak = running.peak_mb()
            if peak is not None:
                peaks.append(peak)
    return statistics.median(took), max(peaks, default=None)


def main(build: Path, host: Path | None, runtime: Path | None) -> None:
    """Print one line for the layer and each function."""
    print(f"{'built':17}{'zipped':>10}{'unpacked':>11}{'start':>10}{'memory':>9}")
    cases = {case.function: case for case in CASES}
    for folder in sorted(one for one in build.iterdir() if one.is_dir()):
        unpacked, zipped = sizes(folder)
        line = f"{folder.name:17}{zipped / 1e6:7.2f} MB{unpacked / 1e6:8.2f} MB"
        if host is not None and runtime is not None and folder.name in cases:
            milliseconds, peak = starts(cases[folder.name], host, runtime)
            line += f"{milliseconds:7.0f} ms" + ("" if peak is None else f"{peak:6.0f} MB")
        print(line)


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    main(given[0], *(given[1:3] if len(given) > 2 else (None, None)))
