"""Record: what all editors of a live graph must agree on; it lives on the graph itself, and goes when that goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tfgraphwidget.errors import GraphEditError

_RECORD = "_tfgraphwidget_record"


@dataclass
class Record:
    """What a graph's editors must agree on; `generation` grows whenever ops are hidden or shown again,
    `rewired` whenever ops are changed in place.

    `failed` are the NodeDefs of those hidden ops that an edit left when it failed, `functions` the names of library
    functions that only they call: the same edit shows them again. `growing` is the scope in which a person's function
    is making ops just now.
    """

    hidden: set[str] = field(default_factory=set)
    variables: dict[str, tf.Variable] = field(default_factory=dict)
    generation: int = 0
    rewired: int = 0
    failed: dict[str, Any] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    growing: str = ""
    veils: dict[str, str] = field(default_factory=dict)
    carriers: dict[tuple[str, bytes], str] = field(default_factory=dict)


def record_of(graph: tf.Graph) -> Record:
    """The record that lives on this graph."""
    record: Record | None = getattr(graph, _RECORD, None)
    if record is None:
        record = Record()
        setattr(graph, _RECORD, record)
    return record


@contextmanager
def growing(graph: tf.Graph, scope: str) -> Iterator[None]:
    """While this lasts, what comes to the graph is one edit."""
    record = record_of(graph)
    record.growing = scope
    try:
        yield
    finally:
        record.growing = ""


def check_still(graph: tf.Graph) -> None:
    """Raise while a person's function is making ops: an edit now would be a part of that one, and undone with it."""
    scope = record_of(graph).growing
    if scope:
        raise GraphEditError(
            f"A function is making {scope!r} in this graph, and until it has returned there can be no other edit; make "
            "it before or after editor.grow."
        )
