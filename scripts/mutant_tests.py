"""Load the tests with pytest inside this process, see which of them runs which line, and put a changed function in place.

For `scripts.mutant_runs`, which does each of these in a fork of its own.
"""

import ast
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from scripts.mutation import Mutant, changed


class Plugin:
    """Keeps the wanted tests, in order of their length, and runs *loop* instead of pytest's own."""

    def __init__(
        self,
        loop: Callable[[Sequence[pytest.Item]], None] | None = None,
        order: Mapping[str, float] | None = None,
    ) -> None:
        self._loop, self._order = loop, order
        self.noticed: str | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings  # noqa: PLC0415

        # The same examples each time, and a failing one is not made smaller: that it failed is all that counts.
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", deadline=None, derandomize=True, database=None, phases=phases)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._order is not None:
            order = self._order
            items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if self._loop is None or session.testsfailed:
            return None
        self._loop(session.items)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.noticed is None:
            self.noticed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.noticed is None:
            self.noticed = report.nodeid


def run_pytest(files: Sequence[str], plugin: Plugin) -> int:
    options = [
        "-q",
        "-x",
        "-s",
        "--import-mode=importlib",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:timeout",
    ]
    return int(pytest.main([*options, "-o", "addopts=", "-o", "filterwarnings=", *files], plugins=[plugin]))


def covered(files: Sequence[str], modules: Sequence[str]) -> dict[str, Any]:
    import coverage  # noqa: PLC0415
    from _pytest.runner import runtestprotocol  # noqa: PLC0415

    measuring = coverage.Coverage(data_file=None, include=list(modules), config_file=False)
    tests: dict[str, dict[str, Any]] = {}

    def loop(items: Sequence[pytest.Item]) -> None:
        for item in items:
            measuring.switch_context(item.nodeid)
            began = time.monotonic()
            reports = runtestprotocol(item, log=False, nextitem=None)
            took = round(time.monotonic() - began, 4)
            passed = all(report.passed for report in reports)
            tests[item.nodeid] = {"took": took, "passed": passed, "lines": {}}

    measuring.start()
    run_pytest(files, Plugin(loop))
    measuring.stop()
    at_import: dict[str, list[int]] = {}
    for module in modules:
        for line, contexts in measuring.get_data().contexts_by_lineno(module).items():
            for context in contexts:
                if context in tests:
                    tests[context]["lines"].setdefault(module, []).append(line)
                elif not context:
                    at_import.setdefault(module, []).append(line)
    return {"tests": tests, "at_import": at_import}


def functions_of(files: set[str]) -> dict[tuple[str, str, int], list[FunctionType]]:
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename in files:
            key = (one.__code__.co_filename, one.__code__.co_qualname, one.__code__.co_firstlineno)
            found.setdefault(key, []).append(one)
    return found


def put_in_place(mutant: Mutant, functions: Mapping[tuple[str, str, int], list[FunctionType]]) -> bool:
    """Give every function made from the changed code the new one."""
    place = mutant.place
    targets = functions.get((str(mutant.file), place.outermost or "", place.outermost_line), [])
    code = _code_of(
        compile(changed(mutant), str(mutant.file), "exec", dont_inherit=True),
        place.outermost or "",
        place.outermost_line,
    )
    if not targets or code is None or any(one.__code__.co_freevars != code.co_freevars for one in targets):
        return False
    for one in targets:
        one.__code__ = code
    return True


def _code_of(code: CodeType, name: str, line: int) -> CodeType | None:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found = inner if (inner.co_qualname, inner.co_firstlineno) == (name, line) else _code_of(inner, name, line)
            if found is not None:
                return found
    return None


class Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the mutant where its module is imported."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._tree: ast.Module = changed(mutant)

    def find_spec(self, name: str, _path: object, _target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != self._mutant.module:
            return None
        is_package = self._mutant.file.name == "__init__.py"
        found = importlib.util.spec_from_loader(name, self, origin=str(self._mutant.file), is_package=is_package)
        if found is not None and is_package:
            found.submodule_search_locations = [str(self._mutant.file.parent)]
        return found

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._mutant.file)
        exec(compile(self._tree, str(self._mutant.file), "exec", dont_inherit=True), module.__dict__)  # noqa: S102
