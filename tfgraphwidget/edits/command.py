"""Command: one edit as a frozen value. The Python call, the browser's message, the history entry and the
printed line of code are all this one object.
"""

from __future__ import annotations

import dataclasses
from typing import Protocol, runtime_checkable

from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.graph.index import GraphIndex


@runtime_checkable
class Command(Protocol):
    """An edit that can be planned."""

    def plan(self, index: GraphIndex) -> Patch:
        """What the edit will change; raises GraphEditError when it cannot be right. Pure."""


def arguments(command: Command) -> str:
    """The command's fields as Python keyword arguments; those at their default are left out.

    Tuples are written as lists, as people write them.
    """
    parts = []
    for field in dataclasses.fields(command):  # type: ignore[arg-type]  # every command is a frozen dataclass
        value = getattr(command, field.name)
        if value != field.default:
            parts.append(f"{field.name}={literal(value)}")
    return ", ".join(parts)


def literal(value: object) -> str:
    """Python source of a field's value; strings in double quotes.

    >>> literal(("a:0", "b"))
    '["a:0", "b"]'
    """
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    text = repr(value)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
