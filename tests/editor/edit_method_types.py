"""What type checkers see of the editor's methods: `python -m tests.editor.edit_method_types` writes it."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tfgraphwidget.editor import edit_methods
from tfgraphwidget.editor.command_methods import EditMethod

FILE = Path(edit_methods.__file__).with_suffix(".pyi")
HEAD = """from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Literal

from tfgraphwidget import edits
from tfgraphwidget.graph import Selection, patterns
from tfgraphwidget.runtime import live
from tfgraphwidget.tf_types import (
    DTypeLike,
    GraphLike,
    OpLike,
    OpsLike,
    SessionLike,
    TensorKey,
    TensorLike,
    TensorsLike,
    TensorSpec,
)

from .state import EditorCore
from .traced_growth import GrowthResult
"""
RESULTS = {
    "add": "live.Copy | Any",
    "clone": "Any",
    "command": "edits.Clone",
    "grow": "GrowthResult",
    "preview": "edits.Preview",
    "set_trainable": "Selection",
}
LISTS = (edit_methods.EditMethods, edit_methods.SignatureMethods, edit_methods.Passes)


def text() -> str:
    """The text of `edit_methods.pyi`."""
    parts = [HEAD]
    for kind in LISTS:
        parts.append(f"\nclass {kind.__name__}:\n")
        parts += ["    def __init__(self, core: EditorCore) -> None: ...\n"] if "__init__" in vars(kind) else []
        parts += [
            f"    def {name}{parameters(member.function)} -> {RESULTS.get(name, 'edits.Edits')}: ...\n"
            for name, member in vars(kind).items()
            if isinstance(member, EditMethod)
        ]
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", FILE.name, "-"]
    return subprocess.run(ruff, input="".join(parts), capture_output=True, text=True, check=True).stdout


def parameters(function: Any) -> str:
    """The parameters of a method as a stub writes them."""
    signature = inspect.signature(function)
    named = [
        each.replace(annotation=Written(each.annotation)) if each.annotation is not each.empty else each
        for each in signature.parameters.values()
    ]
    return str(inspect.Signature(named)).replace("(self, /, ", "(self, ")


class Written:
    """An annotation as it is written in a stub."""

    def __init__(self, annotation: object) -> None:
        self.annotation = annotation

    def __repr__(self) -> str:
        if isinstance(self.annotation, str):
            return self.annotation
        return re.sub(r"\b(typing|collections\.abc)\.", "", inspect.formatannotation(self.annotation))


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
