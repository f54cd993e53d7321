"""The specification of a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["down", "right"]
ROOT_ASPECT = 1.75
"""The width : height of a drawing for most screens."""


@dataclass(frozen=True)
class ViewSpec:
    """The specification of a drawing of a graph.

    Attributes:
        opened: the names of the open scopes and groups.
        hidden: the names of the ops and scopes that are left out.
        direction: where the tensors flow, "down" or "right".
        pinned: the centers of items at fixed places, in pixels from the corner of what is around
            them, by name.
        fold: whether repeated siblings and layers are grouped.
        badges: whether constants and variables are drawn in the boxes of their consumers.
        aspect: the wanted width : height of the whole drawing.
    """

    opened: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    direction: Direction = "down"
    pinned: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    fold: bool = True
    badges: bool = True
    aspect: float = ROOT_ASPECT
