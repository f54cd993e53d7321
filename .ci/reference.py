"""The API reference as HTML in `.reference`: what a person calls, from its docstrings."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pdoc

# What is shown of each module.
PUBLIC = {
    "tfgraphwidget": (
        "edit",
        "example",
        "sync",
        "renew",
        "layered",
        "GraphEditor",
        "GraphEditError",
    ),
    "tfgraphwidget.runtime.live.clone_result": ("Copy",),
    "tfgraphwidget.runtime.functions.module_clone": ("ModuleCopy",),
    "tfgraphwidget.graph.selection": ("Selection",),
    "tfgraphwidget.graph.op": ("Op",),
    "tfgraphwidget.graph.diff": ("Difference",),
    "tfgraphwidget.edits.patch": ("Preview", "State"),
    "tfgraphwidget.edits.command": ("Edits",),
    "tfgraphwidget.errors": None,
    "tfgraphwidget.graph_editor": None,  # with its modules
}


def flatten(cls: type) -> None:
    """Let a class hold what it inherits from this package, so that all of it stands on one page."""
    for base in cls.__mro__:
        if base.__module__.startswith("tfgraphwidget"):
            for name, member in vars(base).items():
                if not name.startswith("_") and name not in vars(cls):
                    # Of a command's method, the function.
                    setattr(cls, name, getattr(member, "function", member))


def main() -> None:
    """Write the pages."""
    for name, shown in PUBLIC.items():
        module = import_module(name)
        for public in shown or ():
            found = getattr(module, public)
            # What is loaded when it is asked for is there from now on.
            setattr(module, public, found)
            if isinstance(found, type):
                flatten(found)
        if shown:
            module.__all__ = list(shown)  # type: ignore[attr-defined]
    pdoc.render.configure(docformat="google", show_source=False)
    pdoc.pdoc(*PUBLIC, output_directory=Path(__file__).parents[1] / ".reference")


if __name__ == "__main__":
    main()
