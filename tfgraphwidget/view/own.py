"""A person's own colours: a value for each op, as a mapping of names, a column, or a function of the op."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfgraphwidget.arguments import shown
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import Op
from tfgraphwidget.graph.table import COLUMNS, rows
from tfgraphwidget.names import did_you_mean, split_tensor
from tfgraphwidget.view.tints import Categories, Numbers

COUNTED = ("inputs", "control_inputs")
OWN_COLUMNS = tuple(name for name in COLUMNS if name not in ("name", "type", "scope", "device"))
Valued = Callable[[GraphIndex], Categories | Numbers]


def own(by: Any, index: GraphIndex) -> tuple[str, Valued]:
    """What to call a person's own values, and what gives them for an index; names are looked for in this one now.

    Raises UnknownName for a name that is no op's, tensor's or scope's, GraphEditError for what holds no values.
    """
    if callable(by):
        name = getattr(by, "__name__", "own values")
        first = of_values(_called(by, index))
        # Ops that come later may be beyond what the function knows; they have no colour then.
        later = lambda graph: first if graph is index else of_values(_called(by, graph, strict=False))  # noqa: E731
        return "own values" if name == "<lambda>" else str(name), later
    if isinstance(by, Mapping) or (hasattr(by, "items") and hasattr(by, "index")):
        told = _named(by, index)
        for name in told:
            if _ops(index, name) is None:
                raise UnknownName(
                    f"This graph has no op, tensor or scope {name[:60]!r}.{did_you_mean(name, index.names)}"
                )
        return str(getattr(by, "name", None) or "own values"), lambda graph: of_values(_spread(told, graph))
    raise GraphEditError(
        f"{shown(by)} says nothing of ops; give a dict of names and values, a column, or a function of an op."
    )


def column(name: str, index: GraphIndex) -> Categories | Numbers:
    """A column of `editor.table()`; of tuples of names how many there are."""
    values = [row[name] for row in rows(index)]
    if name in COUNTED:
        return of_values([len(value) for value in values])
    return of_values([", ".join(value) if isinstance(value, tuple) else value for value in values])


def of_values(values: list[Any]) -> Categories | Numbers:
    """Numbers when all are numbers, else categories; None, NaN, pandas's NA and NaT, "" and infinity are no values."""
    held = [None if _is_nothing(value) else value for value in values]
    known = [value for value in held if value is not None]
    if known and all(isinstance(v, numbers.Real) and not isinstance(v, bool | np.bool_) for v in known):
        return Numbers(np.array([np.nan if v is None else float(v) for v in held]), "", total=False)
    return Categories.of(["" if v is None else str(v)[:60] for v in held], none="no value")


def _is_nothing(value: Any) -> bool:
    if isinstance(value, numbers.Real):
        try:
            return not math.isfinite(value)
        except OverflowError:  # an int beyond all floats
            return True
    # Of pandas's NA nobody can ask whether it is "", and of an array neither.
    return value is None or (isinstance(value, str) and not value) or type(value).__name__ in ("NAType", "NaTType")


def _called(by: Callable[[Op], Any], index: GraphIndex, *, strict: bool = True) -> list[Any]:
    def value(i: int) -> Any:
        try:
            return by(Op(index, i))
        except Exception as error:
            if not strict:
                return None
            raise GraphEditError(
                f"The colour of op {index.names[i]!r} is not known: {type(error).__name__}: {str(error)[:200]}.",
                [index.names[i]],
            ) from error

    return [value(i) for i in range(len(index))]


def _named(by: Any, index: GraphIndex) -> dict[str, Any]:
    """The values by name; a column as long as the graph that has numbers for an index is in the order of the ops."""
    pairs = [(getattr(key, "name", key), value) for key, value in by.items()]
    if pairs and not any(isinstance(key, str) for key, _ in pairs):
        if len(pairs) != len(index):
            raise GraphEditError(
                f"The {len(pairs):,} values have no names, and the graph has {len(index):,} ops; name the ops: "
                "table.set_index('name')[column]."
            )
        return dict(zip(index.names, (value for _, value in pairs), strict=True))
    return {str(key): value for key, value in pairs}


def _spread(told: Mapping[str, Any], index: GraphIndex) -> list[Any]:
    """The value of each op: its own, or that of the innermost scope around it that has one."""
    values: list[Any] = [None] * len(index)
    for name in sorted(told, key=lambda name: (name in index.ids, name.count("/"))):
        for i in _ops(index, name) or ():  # some may be gone since
            values[i] = told[name]
    return values


def _ops(index: GraphIndex, name: str) -> list[int] | None:
    """The ops that an op's, a tensor's or a scope's name stands for; None for an unknown one."""
    tree = index.scopes
    if name in index.ids:
        return [index.ids[name]]
    if name.rstrip("/") in tree.ids:
        scope = tree.ids[name.rstrip("/")]
        found: list[int] = tree.order[tree.start[scope] : tree.stop[scope]].tolist()
        return found
    op = split_tensor(name)[0]
    return [index.ids[op]] if op in index.ids else None
