"""What type checkers see of the editor's methods: `python -m tests.editor.edit_method_types` writes
it.
"""

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
from typing import Any, Literal, overload

from tfgraphwidget import edits, runtime
from tfgraphwidget.graph import patterns
from tfgraphwidget.runtime import live
from tfgraphwidget.runtime.functions import ModuleCopy
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

from .pass_values import Pass, Repeat, Sequential
from .state import EditorCore
from .traced_growth import GrowthResult
"""
CLONED = "live.Copy | ModuleCopy | GrowthResult"
"""What `clone` gives in a graph, of a function, and into a function."""
RESULTS = {
    "add": "live.Copy | Any",
    "call": "GrowthResult",
}
LISTS = (edit_methods.EditMethods, edit_methods.SignatureMethods, edit_methods.Passes)


def text() -> str:
    """The text of `edit_methods.pyi`."""
    parts = [HEAD]
    for kind in LISTS:
        parts.append(f"\nclass {kind.__name__}:\n")
        if kind is edit_methods.Passes:
            parts.append("    def __init__(self, core: EditorCore, editor: Any) -> None: ...\n")
            parts.append(
                "    def grappler(self, outputs: TensorsLike | None = None) -> "
                "runtime.measure.OptimizedGraph: ...\n"
            )
        for name, member in vars(kind).items():
            if isinstance(member, EditMethod):
                written = parameters(member.function)
                parts += clone_overloads(written) if name == "clone" else [method(name, written)]
    makers = [*sorted(edit_methods.passes._names)]
    parts.append(
        "\nclass _PassValues:\n    Sequential: type[Sequential]\n    Repeat: type[Repeat]\n"
    )
    parts += [
        f"    def {name}{parameters(getattr(edit_methods.passes, name), has_self=False)} -> Pass: "
        "...\n"
        for name in makers
    ]
    parts.append("\npasses: _PassValues\n")
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", FILE.name, "-"]
    return subprocess.run(
        ruff, input="".join(parts), capture_output=True, text=True, check=True
    ).stdout


def method(name: str, written: str) -> str:
    """A method of a stub."""
    return f"    def {name}{written} -> {RESULTS.get(name, 'edits.Edits')}: ...\n"


def clone_overloads(written: str) -> list[str]:
    """The overloads of `clone`: one copy, or a list of so many or of one for each device."""
    times, devices = "times: int | None = None", "devices: str | Iterable[str] | None = None"
    assert times in written
    assert devices in written
    one = written.replace(times, "times: None = None").replace(devices, "devices: None = None")
    several = [
        written.replace(times, "times: int"),
        written.replace(devices, "devices: str | Iterable[str]"),
    ]
    overloads = [(one, CLONED), *((each, f"list[{CLONED}]") for each in several)]
    return [f"    @overload\n    def clone{each} -> {result}: ...\n" for each, result in overloads]


def parameters(function: Any, *, has_self: bool = True) -> str:
    """The parameters of a method as a stub writes them."""
    signature = inspect.signature(function)
    named = [
        each.replace(annotation=Written(each.annotation))
        if each.annotation is not each.empty
        else each
        for each in signature.parameters.values()
    ]
    text = str(inspect.Signature(named))
    return text.replace("(self, /, ", "(self, ") if has_self else text.replace("(", "(self, ", 1)


class Written:
    """An annotation as it is written in a stub."""

    def __init__(self, annotation: object) -> None:
        self.annotation = annotation

    def __repr__(self) -> str:
        if isinstance(self.annotation, str):
            return self.annotation
        text = re.sub(
            r"\b(typing|collections\.abc)\.", "", inspect.formatannotation(self.annotation)
        )
        text = re.sub(r"^Optional\[(.*)\]$", r"\1 | None", text)
        # The empty word is what a form of the page says.
        return text.replace("Literal['', ", "Literal[")


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
