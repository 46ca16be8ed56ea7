"""What is the value of an arithmetic expression over metrics?

Understands ids, numbers, + - * /, brackets and FILL(id, number); everything else is refused. A gap in any operand is a
gap in the result, and so is a division by zero. CloudWatch user guide, "Using math expressions with metrics".
"""

import ast
from collections.abc import Mapping

import numpy as np

from sandbox.aws.cloudwatch_store import Floats


class MathError(ValueError):
    """The expression is not in the part that is understood, or names an unknown id."""


def ids(expression: str) -> frozenset[str]:
    """The ids an expression refers to. Raises MathError."""
    names = {node.id for node in ast.walk(_tree(expression)) if isinstance(node, ast.Name)}
    return frozenset(names - {"FILL"})


def evaluate(expression: str, series: Mapping[str, Floats]) -> Floats:
    """Compute an expression bucket by bucket. All series have the same length. Raises MathError."""
    length = max((len(values) for values in series.values()), default=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = _value(_tree(expression), expression, series)
    whole = np.broadcast_to(np.asarray(result, dtype=np.float64), (length,))
    return np.where(np.isfinite(whole), whole, np.nan)


def _tree(expression: str) -> ast.expr:
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise _refusal(expression) from error


def _value(node: ast.expr, expression: str, series: Mapping[str, Floats]) -> Floats | float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name):
            if name not in series:
                raise MathError(f"Error in expression {expression!r}: there is no metric with the id {name}.")
            return series[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, expression, series)
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = _value(left, expression, series), _value(right, expression, series)
            match operator:
                case ast.Add():
                    return first + second
                case ast.Sub():
                    return first - second
                case ast.Mult():
                    return first * second
                case ast.Div():
                    return np.divide(first, second)
        case ast.Call(
            func=ast.Name(id="FILL"), args=[ast.Name() as name, ast.Constant(value=int() | float() as number)]
        ):
            filled = _value(name, expression, series)
            return np.where(np.isnan(filled), float(number), filled)
    raise _refusal(expression)


def _refusal(expression: str) -> MathError:
    return MathError(
        f"Error in expression {expression!r}: only ids, numbers, + - * /, brackets and FILL(id, number) are understood."
    )
