"""The Python expressions of selections: calls, names and functions."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from types import CodeType


def function_expression(function: Callable[..., object]) -> str:
    """The source of a lambda, or the name of a function; "" when neither would mean the same
    elsewhere.

    That is so for closures, for lambdas whose source is not available, and for callable objects.
    """
    code = getattr(function, "__code__", None)
    if code is None or code.co_freevars:
        return ""
    if "<locals>" in function.__qualname__.removesuffix("<locals>.<lambda>"):
        return ""
    if function.__name__ != "<lambda>":
        return function.__name__
    node = lambda_of(function)
    return "" if node is None else ast.unparse(node)


def lambda_of(function: Callable[..., object]) -> ast.Lambda | None:
    """The syntax tree of a lambda; None if its source is not available or not clear."""
    try:
        tree = ast.parse("".join(inspect.findsource(function)[0]))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    lambdas = [node for node in lambdas if _is_source_of(node, function.__code__)]
    return lambdas[0] if len({ast.dump(node) for node in lambdas}) == 1 else None


def _is_source_of(node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda stands where the code does, and reads and calls the same: the file may be
    another by now.
    """
    if node.lineno != code.co_firstlineno:
        return False
    names = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            names.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            names.add(inner.attr)
    body = node.body
    spans = set(getattr(code, "co_positions", tuple)())  # Python 3.10 has none
    place = (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset)
    return names.issuperset((*code.co_names, *code.co_freevars)) and (not spans or place in spans)


def call(name: str, arguments: Iterable[object], options: Iterable[str] = ()) -> str:
    """The source of the call of a method of `editor`."""
    return f"editor.{name}({', '.join([*map(literal, arguments), *options])})"


def literal(value: object) -> str:
    """A name, a number or a list of them as Python writes it, NumPy's too."""
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)
