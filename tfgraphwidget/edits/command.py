"""Command: one edit as a frozen value. The Python call, the browser's message, the history entry and the
printed line of code are all this one object. Most plan; what a Python function makes (Grow) nobody can.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol, runtime_checkable

from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.part import Part
from tfgraphwidget.graph.spoken import written

# A larger array is printed as the name of a variable that the person has.
_MOST_NUMBERS = 16


@runtime_checkable
class Command(Protocol):
    """An edit that can be planned."""

    def plan(self, index: GraphIndex, target: GraphIndex | None = None) -> Patch:
        """What the edit will change in `target`, which is `index` if left out; pure.

        Raises GraphEditError when it cannot be right.
        """


def arguments(command: Command) -> str:
    """The command's fields as Python keyword arguments; those at their default are left out, unless marked "always";
    those "aside" are not written.

    Tuples are written as lists, as people write them. A field's metadata say how it differs: "pairs" are written as a
    dict, and what cannot be written (a graph) goes by the name it is "called"; a
    "spoken" function by its own. What is "positional" are the arguments. A selection comes first.
    """
    parts: list[str] = []
    for field in dataclasses.fields(command):  # type: ignore[arg-type]  # every command is a frozen dataclass
        value = getattr(command, field.name)
        usual = value is field.default or (isinstance(value, str | int | tuple) and value == field.default)
        if "aside" in field.metadata or (usual and "always" not in field.metadata):
            continue
        if "positional" in field.metadata:
            parts += map(literal, value)
        elif isinstance(value, Part):
            parts.insert(0, literal(value))  # the first argument of the call
        else:
            parts.append(f"{field.name}={_written(value, field)}")
    return ", ".join(parts)


def _written(value: object, field: Any) -> str:
    if "called" in field.metadata and not isinstance(value, str):
        return str(field.metadata["called"])
    if "spoken" in field.metadata and callable(value):
        return written(value) or getattr(value, "__name__", "function")
    if "pairs" in field.metadata and isinstance(value, tuple):
        return "{" + ", ".join(f"{literal(key)}: {literal(held, key)}" for key, held in value) + "}"
    return literal(value)


def literal(value: object, called: object = "") -> str:
    """Python source of a field's value; strings in double quotes. A large array is the entry `called` of `values`.

    >>> literal(("a:0", "b"))
    '["a:0", "b"]'
    """
    if isinstance(value, Part):
        return str(getattr(value, "expression", ""))
    if hasattr(value, "tolist"):
        return repr(value.tolist()) if getattr(value, "size", 0) <= _MOST_NUMBERS else f"values[{literal(called)}]"
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    text = repr(value)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
