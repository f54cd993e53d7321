"""How a selection prints: calls, names and functions as the Python that a person writes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any


def written(function: Callable[..., Any]) -> str:
    """The source of a lambda, or the name of a function; "" when neither would mean the same elsewhere.

    That is so for closures, for lambdas whose source nobody has, and for callable objects.
    """
    code = getattr(function, "__code__", None)
    if code is None or code.co_freevars or "<locals>" in function.__qualname__.removesuffix("<locals>.<lambda>"):
        return ""
    if function.__name__ != "<lambda>":
        return function.__name__
    try:
        tree = ast.parse("".join(inspect.findsource(function)[0]))
    except (OSError, TypeError, SyntaxError, ValueError):
        return ""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and _compiles_to(node, code)]
    return ast.unparse(found[0]) if len({ast.dump(node) for node in found}) == 1 else ""


def _compiles_to(node: ast.Lambda, code: Any) -> bool:
    """Whether a lambda begins on the line that the code does, and reads and calls the same."""
    if node.lineno != code.co_firstlineno:
        return False
    compiled = compile(ast.Expression(node), "<lambda>", "eval")  # compiled only: nothing of it runs
    alike = next(held for held in compiled.co_consts if isinstance(held, CodeType))
    return (alike.co_code, alike.co_consts, alike.co_names) == (code.co_code, code.co_consts, code.co_names)


def call(name: str, arguments: Iterable[object], options: Iterable[str] = ()) -> str:
    """The expression `editor.name(…)`."""
    return f"editor.{name}({', '.join([*map(literal, arguments), *options])})"


def literal(value: object) -> str:
    """A name, a number or a list of them as Python writes it, NumPy's too."""
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)
