"""What the panel shows beside the drawing, and how the drawing's numbers travel."""

from __future__ import annotations

import dataclasses
from typing import Literal

from tfgraphwidget.protocol.requests import Init


@dataclasses.dataclass(frozen=True)
class Field:
    """One array inside the buffer: `dtype` is u1, u4, i4 or f4 (little-endian), `offset` in bytes, a multiple of 4."""

    name: str
    dtype: Literal["u1", "u4", "i4", "f4"]
    shape: tuple[int, ...]
    offset: int


@dataclasses.dataclass(frozen=True)
class Group:
    """The first 200 names of one kind in graph order, and how many there are."""

    kind: str
    names: tuple[str, ...]
    total: int


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line of a legend: `tint` as in the scene's paint, and how many ops have it."""

    label: str
    tint: int
    ops: int


@dataclasses.dataclass(frozen=True)
class Legend:
    """What the colours mean: categories as `entries`, or a ramp from `low` to `high` (texts with their unit).

    `notice` is what else to know: which batch was assumed, how many ops are unknown.
    """

    by: str
    entries: tuple[Entry, ...] = ()
    low: str = ""
    high: str = ""
    notice: str = ""


@dataclasses.dataclass(frozen=True)
class State:
    """What the panel shows beside the drawing.

    `path` names the rooms one stands in, outermost first; `warnings` are sentences about what can only be looked at;
    `editable` says why Clone will not work here, or "". `expression` is the Python that gives the selection, or "".
    `proposal` is a scope name still free, `values` what a clone's variables can be given. `code` are the lines of
    Python that do what was done so far, oldest first, `ahead` those of what was undone, the next to redo first;
    `notice` is what just happened, or "". While `comparing`, `changes` are the ops "added", "removed" and "changed".
    `colours` are the ways to colour the drawing, `legend` what the colours mean, or null. `hidden` ops and `pinned`
    items are counts; `direction` is where the tensors flow; `likely` are closed scopes and groups worth foreseeing.
    """

    revision: int
    path: tuple[str, ...]
    warnings: tuple[str, ...]
    editable: str
    expression: str
    ops: int
    variables: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    selected_ops: int
    selected_variables: int
    proposal: str
    values: Init
    undo: str
    redo: str
    code: tuple[str, ...]
    ahead: tuple[str, ...]
    comparing: bool
    changes: tuple[Group, ...]
    colours: tuple[str, ...]
    legend: Legend | None
    hidden: int
    direction: Literal["down", "right"]
    likely: tuple[str, ...]
    pinned: int
    notice: str
