"""The insides of all containers of a graph: what a page without a kernel puts together while scopes are opened.

A drawing is laid out bottom-up by scope (`layout`), so the inside of a container depends on the rest only by the sizes
of what is open in it. Here each is drawn once with its children closed, relative to its own corner, and those of the
present view once more as they are seen; `labextension/src/page/compose.ts` grows the former to the sizes that it needs.

Each level of the outline is seen at once, with all above it open: what the editor draws there, badges and bookkeeping
included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.edges import no_collections
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.view.absolute import Frame
from tfgraphwidget.view.groups import outline_of
from tfgraphwidget.view.inside import ROOT_ASPECT, Inside, Layout, Memo
from tfgraphwidget.view.placed import Placed
from tfgraphwidget.view.shown import Shown
from tfgraphwidget.view.sizing import sizes
from tfgraphwidget.view.soft import level_of
from tfgraphwidget.view.visible import OPEN, Visible, visible

Floats = npt.NDArray[np.float64]
_ASPECT = 1.4


@dataclass(frozen=True, eq=False)
class Drawn:
    """The insides of some containers, in the drawing's x and y (see Frame), all of one Visible.

    `visible` is what is seen there, `items` the containers' numbers in it, `placed` their insides, `size` (n, 2) the
    width and height of each item, `badges` the same of badges as on the screen. `saved`: as they are seen in the
    editor, with what is open in them.
    """

    visible: Visible
    frame: Frame
    items: list[int]
    placed: list[Placed]
    size: Floats
    badges: Floats
    pinned: frozenset[str] = frozenset()
    saved: bool = False


class _Alone(Inside):
    """Draws containers one by one."""

    def alone(self, item: int, aspect: float) -> Placed:
        """The inside of an open scope, its open children left as small as they are here."""
        key, structure = self._structure(item)
        return self._drawn(item, key, structure, level_of(aspect))


def levels(index: GraphIndex, shown: Shown, layout: Layout | None = None) -> Iterator[Drawn]:
    """The insides of all containers with their children closed, a level of the outline at a time."""
    outline, memo = outline_of(index, fold=shown.fold)[0], dict[Any, Any]()
    opened: frozenset[str] = frozenset()
    for depth, nodes in enumerate(outline.levels):
        opened |= frozenset(outline.names[node] for node in nodes.tolist() if node)
        seen = visible(index, replace(shown, opened=opened, pinned={}))
        frame = Frame(seen, right=shown.direction == "right" and layout is None)
        size = sizes(seen)
        with no_collections():
            inside = _Alone(seen, frame, size, memo, layout, {})
            root = 1 / ROOT_ASPECT if frame.right else ROOT_ASPECT
            items = np.flatnonzero((seen.kind == OPEN) & (seen.depth == depth)).tolist()
            placed = [inside.alone(item, _ASPECT if item else root) for item in items]
        yield Drawn(seen, frame, items, placed, inside.size, size)


def drawn(index: GraphIndex, shown: Shown, layout: Layout | None = None, memo: Memo | None = None) -> Drawn:
    """The insides of the containers that are open, as they are seen; `memo` as for `layout.place`."""
    seen = visible(index, shown)
    frame = Frame(seen, right=shown.direction == "right" and layout is None)
    with no_collections():
        size = sizes(seen)
        inside = Inside(seen, frame, size, {} if memo is None else memo, layout, shown.pinned)
        placed = inside.placed()
    return Drawn(
        seen,
        frame,
        np.flatnonzero(seen.kind == OPEN).tolist(),
        placed,
        inside.size,
        size,
        frozenset(shown.pinned),
        saved=True,
    )
