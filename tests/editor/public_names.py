"""The names that an editor and its nouns have: "clone", "view.expand", "passes.cast"."""

from __future__ import annotations

import inspect
from functools import cache
from types import FunctionType
from typing import Any

from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.editor.command_methods import EditMethod
from tfgraphwidget.editor.edit_methods import Passes
from tfgraphwidget.editor.history_api import EditHistory
from tfgraphwidget.editor.signature_api import Signatures
from tfgraphwidget.editor.source_api import OpenedSource
from tfgraphwidget.editor.view_api import View

NOUNS = {
    "view": View,
    "passes": Passes,
    "signatures": Signatures,
    "history": EditHistory,
    "source": OpenedSource,
}
"""The classes of the nouns."""


def public_members() -> dict[str, Any]:
    """Methods and properties by their dotted names; of a command's method the function."""
    found = {}
    for prefix, kind in {
        "": GraphEditor,
        **{f"{noun}.": each for noun, each in NOUNS.items()},
    }.items():
        ours = [
            base for base in kind.__mro__ if base.__module__.startswith("tfgraphwidget.editor.")
        ]
        for name in sorted(
            {name for base in ours for name in vars(base) if not name.startswith("_")}
        ):
            member = inspect.getattr_static(kind, name)
            found[prefix + name] = member.function if isinstance(member, EditMethod) else member
    return found


@cache
def public_methods() -> set[str]:
    """The dotted names of what is called."""
    return {name for name, member in public_members().items() if isinstance(member, FunctionType)}
