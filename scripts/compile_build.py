"""Can a cold start in Lambda do without compiling? Makes bytecode of what was built, by any Python 3.13 there is.

    python -m scripts.compile_build .aws-sam/build

Lambda's file system is read-only: source without bytecode is compiled anew at each cold start. Bytecode depends on Python's
minor version only, not on the processor. It is made by a python3.13 that is found on PATH, with pyenv, uv or Homebrew; else,
where there are node and npm, by CPython 3.13 compiled to WebAssembly (Pyodide, pinned by its hash). Where there is neither, the
build stays as it is, and this says so.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VERSION = "3.13"
"""Of the template's Runtime."""
HERE = Path(__file__).parent / "bytecode"
KEPT = Path(__file__).parent.parent / ".build" / "bytecode"
WITHOUT = f"""\
No bytecode was made: neither Python {VERSION} nor node with npm is here. What was built works, but each cold start in Lambda
compiles it, which takes a multiple of the time (docs/benchmarks.md). Install one of them and run `make build` again."""


def interpreter(candidates: Iterator[Path]) -> Path | None:
    """Return the first candidate that runs and is Python VERSION; a shim of pyenv may be there and not run."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in candidates:
        try:
            said = subprocess.run([candidate, "-c", code], capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if said.returncode == 0 and said.stdout.strip() == VERSION:
            return candidate
    return None


def places() -> Iterator[Path]:
    """Name where a Python VERSION may be, the likeliest first."""
    name = f"python{VERSION}"
    yield Path(sys.executable)
    if found := shutil.which(name):
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from sorted(pyenv.glob(f"{VERSION}.*/bin/{name}"), reverse=True)
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or Path.home() / ".local" / "share" / "uv" / "python")
    yield from sorted(uv.glob(f"cpython-{VERSION}.*/bin/{name}"), reverse=True)
    for folder in ("/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"):
        yield Path(folder) / name


def compile_with(python: Path, built: Path) -> bool:
    """Compile by an interpreter; False when some file would not compile."""
    command: list[str | Path] = [
        python,
        "-m",
        "compileall",
        "-q",
        "-j",
        "0",
        "--invalidation-mode",
        "unchecked-hash",
        built,
    ]
    return subprocess.run(command, check=False).returncode == 0


def compile_with_node(built: Path, node: str, npm: str) -> bool:
    """Compile by Pyodide, fetched once into .build/bytecode by the lock that stands beside its script."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / name, KEPT / name)
    fetched = subprocess.run(
        [npm, "ci", "--no-audit", "--no-fund", "--silent", "--ignore-scripts"], cwd=KEPT, check=False
    )
    if fetched.returncode != 0:
        return False
    pyodide = KEPT / "node_modules" / "pyodide"
    return subprocess.run([node, HERE / "compile.mjs", pyodide, VERSION, built.resolve()], check=False).returncode == 0


def main(built: Path) -> int:
    """Compile, and say by what; 0 also where nothing could, for the build works without."""
    if not built.is_dir():
        print(f"There is no build at {built}. Nothing was compiled. Run `make build`.", file=sys.stderr)
        return 1
    python = interpreter(places())
    node, npm = shutil.which("node"), shutil.which("npm")
    if python is not None:
        made, by = compile_with(python, built), str(python)
    elif node and npm:
        made, by = compile_with_node(built, node, npm), "Pyodide in node"
    else:
        print(WITHOUT, file=sys.stderr)
        return 0
    if not made:
        print(
            f"{by} could not make bytecode of {built}. What was built works without, and starts slower.",
            file=sys.stderr,
        )
        return 0
    count = sum(1 for _ in built.rglob(f"*.cpython-{VERSION.replace('.', '')}.pyc"))
    print(f"bytecode for Python {VERSION}: {count:,} files, by {by}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
