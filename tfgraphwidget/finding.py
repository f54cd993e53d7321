"""Finding: what the search box asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfgraphwidget import protocol as p
from tfgraphwidget.graph import query
from tfgraphwidget.naming import last_part

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

MOST_HITS = 1_000
"""What a list can show, and the drawing mark."""


def found(editor: GraphEditor, asked: p.Search) -> p.Found:
    """The first ops that fit a query, the nearest first, and how many there are in how many scopes."""
    index = editor.index
    ops, why = query.found(index, asked.text)
    some = ops[: max(0, min(asked.limit, MOST_HITS))]
    scopes = {name[: -len(last_part(name))] for name in map(index.names.__getitem__, ops)}
    return p.Found(tuple(p.Hit(index.names[i], index.types[i]) for i in some), len(ops), why, len(scopes))


def gather(editor: GraphEditor, asked: p.Gather) -> bool:
    """Select, hide or show only what a query finds; whether the drawing is another now. Raises GraphEditError."""
    ops, old = editor.find(asked.text), editor.selection
    match asked.use:
        case "hide":
            editor.hide(ops)
        case "only":
            editor.show_only(ops)
        case "add":
            editor.selection = ops if old is None else old | ops
        case "select":
            editor.selection = ops
    return asked.use in ("hide", "only")
