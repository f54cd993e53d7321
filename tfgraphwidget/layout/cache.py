"""The cache of a layout from one drawing to the next: computed results, and the history of each
open scope.

*Results* are functions of their keys, so that any drawing can use them: the structure of a
container, the shapes of its children, the layout of a container for given sizes. The *history* is
what the next drawing is kept similar to: the last layouts and the shape of each scope, by name. A
fork has its own history, so that a drawing can be tried or prefetched without a change of the
drawings that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tfgraphwidget.layout.geometry import ContainerLayout, Point
from tfgraphwidget.layout.incremental.previous_layout import (
    LayoutKey,
    LayoutRecord,
    PreviousLayouts,
)
from tfgraphwidget.layout.layered.components import Structure

Layout = Callable[[Any], Mapping[Any, Any]]


class ScopeKey(NamedTuple):
    """An open scope by name; a drawing from left to right has a history of its own."""

    right: bool
    name: str


class LevelsKey(NamedTuple):
    """The key of the shapes of a container's children: structure, areas, open ones, own shape."""

    structure: bytes
    areas: bytes
    is_open: bytes
    level: int


class DerivedKey(NamedTuple):
    """A drawing like an earlier one; `numbers` are its nodes' earlier numbers, -1 for new."""

    earlier: LayoutKey
    drawing: LayoutKey
    numbers: tuple[int, ...]


class ExternalKey(NamedTuple):
    """A drawing by a layout callable, which sees the names of the nodes."""

    right: bool
    names: tuple[str, ...]
    drawing: LayoutKey


class PinnedKey(NamedTuple):
    """A drawing of this size with some nodes at fixed places; `free` is one without them."""

    free: ContainerLayout
    width: float
    height: float
    pinned: tuple[tuple[int, Point], ...]


@dataclass
class LayoutCache:
    """Results and history of the layout of one graph, see above.

    `layouts` has both fresh and derived drawings, in the order in which they were made: the oldest
    are dropped first. `external` has with each drawing the callable that made it. `scope_levels`
    and `previous` are the history.

    Example:
        >>> cache = LayoutCache()
        >>> cache.scope_levels[ScopeKey(False, "hyperedge")] = 1
        >>> fork = cache.fork()
        >>> fork.forget_history()
        >>> len(cache.scope_levels), len(fork.scope_levels)
        (1, 0)
    """

    structures: dict[bytes, Structure] = field(default_factory=dict)
    child_levels: dict[LevelsKey, npt.NDArray[np.int8]] = field(default_factory=dict)
    layouts: dict[LayoutKey | DerivedKey, LayoutRecord] = field(default_factory=dict)
    external: dict[ExternalKey, tuple[Layout, LayoutRecord]] = field(default_factory=dict)
    pinned: dict[PinnedKey, ContainerLayout] = field(default_factory=dict)
    scope_levels: dict[ScopeKey, int] = field(default_factory=dict)
    previous: dict[ScopeKey, PreviousLayouts] = field(default_factory=dict)

    def fork(self) -> LayoutCache:
        """Copy the cache; results are shared objects, the histories are independent."""
        return LayoutCache(
            structures=dict(self.structures),
            child_levels=dict(self.child_levels),
            layouts=dict(self.layouts),
            external=dict(self.external),
            pinned=dict(self.pinned),
            scope_levels=dict(self.scope_levels),
            previous={key: list(layouts) for key, layouts in self.previous.items()},
        )

    def add_fresh_results(self, other: LayoutCache) -> None:
        """Take over what depends on no earlier drawing: structures, shapes, fresh drawings."""
        self.structures |= other.structures
        self.child_levels |= other.child_levels
        self.layouts |= {
            key: drawing for key, drawing in other.layouts.items() if isinstance(key, LayoutKey)
        }

    def add_results(self, other: LayoutCache) -> None:
        """Take over all results that are missing here, without the history."""
        self.structures |= other.structures | self.structures
        self.child_levels |= other.child_levels | self.child_levels
        self.layouts |= other.layouts | self.layouts
        self.external |= other.external | self.external
        self.pinned |= other.pinned | self.pinned

    def adopt(self, other: LayoutCache) -> None:
        """Take over the results and the history of a fork: its drawing is the one that is shown."""
        self.add_results(other)
        self.scope_levels |= other.scope_levels
        self.previous |= other.previous

    def forget_history(self) -> None:
        """Make the next drawings independent of the earlier ones; results stay."""
        self.scope_levels.clear()
        self.previous.clear()

    def drop_old_layouts(self, most_boxes: int) -> None:
        """Drop the older half of the drawings if all together have more boxes than `most_boxes`."""
        boxes = {key: len(drawing.sizes) for key, drawing in self.layouts.items()}
        if sum(boxes.values()) <= most_boxes:
            return
        drop_row = 0
        for key, count in boxes.items():
            if drop_row > most_boxes // 2:
                break
            drop_row += count
            del self.layouts[key]
