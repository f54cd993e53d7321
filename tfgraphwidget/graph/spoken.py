"""A function as the Python that wrote it, for the expression of a selection."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def written(function: Callable[..., Any]) -> str:
    """The source of a lambda, else the function's name.

    Two lambdas in one statement cannot be told apart by their place in older Pythons; then the name it is.
    """
    name = getattr(function, "__name__", type(function).__name__)
    if name != "<lambda>":
        return name
    try:
        source = textwrap.dedent(inspect.getsource(function)).strip()
        found = _lambdas(source)
    except (OSError, TypeError, SyntaxError):
        return name
    return ast.unparse(found[0]) if len(found) == 1 else name


def _lambdas(source: str) -> list[ast.Lambda]:
    """The lambdas of a statement, or of a piece of one: getsource gives whole lines, which may begin in the middle."""
    try:
        tree: ast.AST = ast.parse(source)
    except SyntaxError:
        start = source.find("lambda")
        for stop in range(len(source), start, -1):
            try:
                tree = ast.parse(source[start:stop], mode="eval")
                break
            except SyntaxError:
                continue
        else:
            raise
    return [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
