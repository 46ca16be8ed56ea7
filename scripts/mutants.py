"""Would the tests notice if the code were wrong? Mutation testing of what must not be wrong.

Each mutant is one small change of one module: a comparison, an `and`, a number, a condition turned round. A mutant is killed
when the module's tests fail with it, or do not end; one that survives shows a line nobody checks. Each runs in a process
of its own that sees the changed source in place of the module; no file is changed.

    python -m scripts.mutants [GROUP ...] [--most N] [--seed S]
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "layers" / "unthrottle"
GROUPS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "guardrails": (
        ("unthrottle/guardrails.py",),
        ("tests/unit/test_guardrails.py", "tests/faults/test_guardrail_edges.py"),
    ),
    "causes": (("unthrottle/causes/*.py",), ("tests/causes/test_pool.py", "tests/causes/test_table.py")),
    "planning": (
        ("unthrottle/plan.py", "unthrottle/actions/planning.py"),
        ("tests/unit/test_planning.py", "tests/unit/test_lambda_actions.py", "tests/unit/test_table_actions.py"),
    ),
    "give-back": (
        (
            "unthrottle/actions/cap_concurrency.py",
            "unthrottle/actions/cap_event_source.py",
            "unthrottle/actions/switch_to_on_demand.py",
            "unthrottle/actions/raise_capacity.py",
            "unthrottle/actions/cancel_backfill.py",
        ),
        ("tests/unit/test_planning.py", "tests/unit/test_lambda_actions.py", "tests/unit/test_table_actions.py"),
    ),
    "front door": (("unthrottle/slack_front.py",), ("tests/slack/test_front_door.py", "tests/fuzz/test_front_door.py")),
}
"""What is mutated, and the tests that should notice. Patterns are relative to the library and to the project."""
LOST = 99
LONGEST_S = 60
"""A mutant whose tests take longer has made something endless: killed."""

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One changed module. `what` says where and what."""

    module: str
    file: Path
    source: str
    what: str


def mutants(file: Path, module: str) -> Iterator[Mutant]:
    """Make every mutant of a file, in the order of its lines."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for index, node in enumerate(_places(tree)):
        for name, changed in _changes(node):
            copied = copy.deepcopy(tree)
            place = list(_places(copied))[index]
            _put(place, changed)
            line = getattr(node, "lineno", 0)
            yield Mutant(
                module=module,
                file=file,
                source=ast.unparse(ast.fix_missing_locations(copied)),
                what=f"{file.name}:{line} {name}: {ast.unparse(node)[:90]}",
            )


def _places(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that may be changed: none in annotations, messages, decorators."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if node in skipped:
            skipped.update(ast.iter_child_nodes(node))
            continue
        if isinstance(node, ast.FunctionDef):
            skipped.update([*node.decorator_list, *([node.returns] if node.returns else [])])
            skipped.update(
                argument.annotation
                for argument in ast.walk(node.args)
                if isinstance(argument, ast.arg) and argument.annotation
            )
        if isinstance(node, ast.AnnAssign):
            skipped.add(node.annotation)
        if isinstance(node, ast.ClassDef):
            skipped.update(node.decorator_list)
        if isinstance(node, ast.JoinedStr):
            skipped.update(ast.iter_child_nodes(node))
        if isinstance(node, ast.Compare | ast.BoolOp | ast.BinOp | ast.UnaryOp | ast.Constant | ast.If | ast.IfExp):
            yield node


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARE:
            yield f"{type(operator).__name__} -> {_COMPARE[type(operator)].__name__}", _COMPARE[type(operator)]()
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield f"{type(node.op).__name__} -> {type(other).__name__}", other
        case ast.BinOp() if type(node.op) in _ARITHMETIC and not _is_text(node):
            yield f"{type(node.op).__name__} -> {_ARITHMETIC[type(node.op)].__name__}", _ARITHMETIC[type(node.op)]()
        case ast.UnaryOp(op=ast.Not()):
            yield "not left out", None
        case ast.Constant(value=bool() as truth):
            yield f"{truth} -> {not truth}", not truth
        case ast.Constant(value=int() | float() as number):
            yield f"{number} -> {number + 1}", number + 1
        case ast.If() | ast.IfExp() if isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
            yield "condition turned round", None
        case _:
            return


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


def _put(place: ast.AST, changed: object) -> None:
    match place:
        case ast.Compare():
            place.ops = [changed]  # type: ignore[list-item]  # made by _changes for this node
        case ast.BoolOp() | ast.BinOp():
            place.op = changed  # type: ignore[assignment]
        case ast.UnaryOp():
            place.op, place.operand = ast.Not(), ast.UnaryOp(op=ast.Not(), operand=place.operand)
        case ast.Constant():
            place.value = changed  # type: ignore[assignment]
        case ast.If() | ast.IfExp():
            place.test = ast.UnaryOp(op=ast.Not(), operand=place.test)
        case _:
            raise TypeError(type(place).__name__)


class _Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the mutant where its module is imported."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, _path: object, _target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != self._mutant.module:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(self._mutant.file))

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._mutant.file)
        exec(compile(self._mutant.source, str(self._mutant.file), "exec"), module.__dict__)  # noqa: S102  our own code


def is_killed(mutant: Mutant, tests: Sequence[str]) -> bool:
    """Run the tests against a mutant, in a child of this process, and say whether they noticed."""
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST_S)
        code = LOST
        try:
            sys.meta_path.insert(0, _Instead(mutant))
            code = _tested(tests)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) in {LOST, 4, 5}:  # pytest: wrong usage, no tests
        raise RuntimeError(f"The tests of {mutant.what} did not run.")
    return status != 0


def _tested(tests: Sequence[str]) -> int:
    import pytest  # noqa: PLC0415  loaded by the parent already

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-o", "filterwarnings=", *tests]))


def _unchanged(mutant: Mutant) -> Mutant:
    source = ast.unparse(ast.parse(mutant.file.read_text(encoding="utf-8")))
    return Mutant(module=mutant.module, file=mutant.file, source=source, what="no change")


def _of(patterns: Sequence[str]) -> list[Mutant]:
    files = [file for pattern in patterns for file in sorted(LIBRARY.glob(pattern)) if file.name != "__init__.py"]
    return [
        mutant
        for file in files
        for mutant in mutants(file, str(file.relative_to(LIBRARY).with_suffix("")).replace("/", "."))
    ]


def main(arguments: Sequence[str]) -> int:
    """Mutate and test. Prints a line per survivor and a table."""
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants")
    parser.add_argument("group", nargs="*", choices=[*GROUPS, []], help="all, if none is named")
    parser.add_argument("--most", type=int, default=0, help="at most so many mutants of a group, drawn by the seed")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args(arguments)
    os.chdir(ROOT)
    import boto3  # noqa: F401, PLC0415  loaded once, for every child
    import pytest  # noqa: F401, PLC0415

    rows = []
    for name in wanted.group or GROUPS:
        patterns, named = GROUPS[name]
        tests = [test for test in named if Path(test).exists()]
        every = _of(patterns)
        if wanted.most and len(every) > wanted.most:
            every = random.Random(wanted.seed).sample(every, wanted.most)  # noqa: S311
        began, survivors = time.monotonic(), []
        if is_killed(_unchanged(every[0]), tests):
            raise SystemExit(f"The tests of {name} fail without any mutant; nothing was measured.")
        for number, mutant in enumerate(every, start=1):
            if not is_killed(mutant, tests):
                survivors.append(mutant)
                print(f"survived  {mutant.what}", flush=True)
            if number % 50 == 0:
                print(f"  {name}: {number} of {len(every)}", file=sys.stderr, flush=True)
        killed = len(every) - len(survivors)
        rows.append(f"| {name} | {len(every)} | {killed} | {100 * killed / max(1, len(every)):.0f} % |")
        print(f"{rows[-1]}  {time.monotonic() - began:.0f} s", flush=True)
    print("\n".join(["| group | mutants | killed | rate |", "|---|---:|---:|---:|", *rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
