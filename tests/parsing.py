"""Code as a syntax tree, for tests that say what no module does."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from pathlib import Path

PYTHON = re.compile(
    r"`|\beditor\.\w|\btgw\.\w|(?<!['\"/])\btf\.(?:\w+\.)*[a-z]\w*\b(?![.\w])"
    r"|(?<![\w:./\[-])[a-z_]{1,24}=(?=[\w'\"{\[(…,;. ]|$)"
)
"""What only makes sense in a cell: an editor's method, a function of a module, an argument by its
name.
"""


def parsed(path: Path) -> ast.Module:
    """A file's syntax tree, made in a third of the time: the collector would go through new nodes
    again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        if was_enabled:
            gc.enable()


def definitions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """The functions and classes in a module, function or class, those inside of others too;
    expressions, most of a tree, are not looked at.
    """
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef):
            yield inner
        if isinstance(inner, ast.stmt | ast.excepthandler | ast.match_case):
            yield from definitions(inner)
