"""What small changes of a module's code can be made? Makes the mutants; knows nothing of tests.

Changed are comparisons, `and`, `or` and `not`, conditions, arithmetic, numbers, truth values, `min` and `max`, `any` and `all`;
and calls made for their effect are left out. Not changed: annotations, decorators, messages (f-strings) and log lines.
"""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

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
_OTHER_NAME = {"min": "max", "max": "min", "any": "all", "all": "any"}
_HEADED = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a node stands: the function around it, the outermost one, and the lines of its statement."""

    within: str = ""
    outermost: str | None = None
    outermost_line: int = 0
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change. `key` names it without line numbers, so that it is the same after lines moved."""

    module: str
    file: Path
    source: str
    index: int
    change: str
    place: Place
    line: int
    what: str
    key: str

    @property
    def where(self) -> str:
        return f"{self.file.name}:{self.line}"

    @property
    def version(self) -> str:
        """Name the source that was changed."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]


def mutants(file: Path, module: str) -> Iterator[Mutant]:
    """Make every mutant of a file, in the order of its code."""
    seen: Counter[str] = Counter()
    source = file.read_text(encoding="utf-8")
    for index, (node, place) in enumerate(_places(ast.parse(source), Place())):
        for change in _changes(node):
            what = f"{change}: {ast.unparse(node)[:110]}".replace("\n", " ")
            named = f"{module.removeprefix('unthrottle.')} | {place.within or 'module'} | {what}"
            seen[named] += 1
            yield Mutant(
                module=module,
                file=file,
                source=source,
                index=index,
                change=change,
                place=place,
                line=getattr(node, "lineno", 0),
                what=what,
                key=named if seen[named] == 1 else f"{named} #{seen[named]}",
            )


def changed(mutant: Mutant) -> ast.Module:
    """Return the module's syntax tree with the change in it; line numbers are as before."""
    tree = ast.parse(mutant.source)
    node = next(node for index, (node, _) in enumerate(_places(tree, Place())) if index == mutant.index)
    _put(node, mutant.change)
    return ast.fix_missing_locations(tree)


def _places(node: ast.AST, place: Place) -> Iterator[tuple[ast.AST, Place]]:
    """Every node that may be changed, in order, with where it stands."""
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.stmt | ast.match_case):
        if _is_log_line(node):
            return
        first, last = _lines(node)
        place = replace(place, first=first, last=last)
    if isinstance(
        node,
        ast.Compare | ast.BoolOp | ast.BinOp | ast.UnaryOp | ast.Constant | ast.If | ast.IfExp | ast.Call | ast.Expr,
    ):
        yield node, place
    for child, around in _inside(node, place):
        yield from _places(child, around)


def _inside(node: ast.AST, place: Place) -> Iterator[tuple[ast.AST, Place]]:
    """The parts of a node that run: no annotations, no decorators."""
    match node:
        case ast.FunctionDef():
            inner = replace(place, within=_joined(place.within, node.name))
            if place.outermost is None:
                line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                inner = replace(inner, outermost=inner.within, outermost_line=line)
            defaults = (*node.args.defaults, *node.args.kw_defaults)
            yield from ((default, place) for default in defaults if default is not None)
            yield from ((child, inner) for child in node.body)
        case ast.ClassDef():
            yield from ((child, replace(place, within=_joined(place.within, node.name))) for child in node.body)
        case ast.AnnAssign():
            yield from ((value, place) for value in (node.value,) if value is not None)
        case _:
            yield from ((child, place) for child in ast.iter_child_nodes(node))


def _joined(outer: str, name: str) -> str:
    return f"{outer}.{name}" if outer else name


def _lines(node: ast.stmt | ast.match_case) -> tuple[int, int]:
    """Return the lines of a statement, of its head only where it holds others."""
    if isinstance(node, ast.match_case):
        first = node.pattern.lineno
        return first, max(first, node.body[0].lineno - 1)
    if isinstance(node, ast.Match):
        return node.lineno, max(node.lineno, node.cases[0].pattern.lineno - 1)
    if isinstance(node, _HEADED):
        return node.lineno, max(node.lineno, node.body[0].lineno - 1)
    return node.lineno, node.end_lineno or node.lineno


def _is_log_line(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
            return True
    return False


def _changes(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Compare(ops=operators):
            for number, operator in enumerate(operators):
                if type(operator) in _COMPARE:
                    nth = f" ({number + 1}.)" if len(operators) > 1 else ""
                    yield f"{type(operator).__name__} -> {_COMPARE[type(operator)].__name__}{nth}"
        case ast.BoolOp():
            yield "And -> Or" if isinstance(node.op, ast.And) else "Or -> And"
        case ast.BinOp() if type(node.op) in _ARITHMETIC and not _is_text(node):
            yield f"{type(node.op).__name__} -> {_ARITHMETIC[type(node.op)].__name__}"
        case ast.UnaryOp(op=ast.Not()):
            yield "not left out"
        case ast.Constant(value=bool() as truth):
            yield f"{truth} -> {not truth}"
        case ast.Constant(value=int() | float() as number):
            yield f"{number} -> {number + 1}"
        case ast.If() | ast.IfExp() if _is_turned(node.test):
            yield "condition turned round"
        case ast.Call(func=ast.Name(id=name)) if name in _OTHER_NAME:
            yield f"{name} -> {_OTHER_NAME[name]}"
        case ast.Expr(value=ast.Call()):
            yield "call left out"


def _is_turned(test: ast.expr) -> bool:
    """Say whether to turn a condition round: where no other change of it does so, and it is about more than types."""
    is_for_types = isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
    return isinstance(test, ast.Name | ast.Attribute | ast.Call) and not is_for_types


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        or (isinstance(side, ast.BinOp) and _is_text(side))
        for side in sides
    )


def _put(node: ast.AST, change: str) -> None:
    match node:
        case ast.Compare(ops=operators):
            number = int(change.rsplit("(", 1)[1][:-2]) - 1 if change.endswith(".)") else 0
            operators[number] = _COMPARE[type(operators[number])]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.BinOp():
            node.op = _ARITHMETIC[type(node.op)]()
        case ast.UnaryOp():
            node.operand = ast.UnaryOp(op=ast.Not(), operand=node.operand)
        case ast.Constant(value=bool() as truth):
            node.value = not truth
        case ast.Constant(value=int() | float() as number):
            node.value = number + 1
        case ast.If() | ast.IfExp():
            node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
        case ast.Call(func=ast.Name() as called):
            called.id = _OTHER_NAME[called.id]
        case ast.Expr():
            node.value = ast.Constant(value=None)
        case _:
            raise TypeError(type(node).__name__)
