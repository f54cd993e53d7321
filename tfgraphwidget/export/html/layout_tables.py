"""The layouts of all containers of a graph, which a page without a kernel combines when scopes are opened.

A drawing is laid out bottom-up by scope (`layout`), so the layout of a container depends on the rest only by the sizes
of its open children. Here each container is laid out once with its children closed, relative to its own corner, and
those of the current view once more as the editor shows them; `labextension/src/offline/compose.ts` grows the former to
the sizes that it needs.

The containers of one level of the outline are laid out together, with all scopes above them open: as the editor draws
them, with badges and bookkeeping ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import GraphIndex, no_collections
from tfgraphwidget.hierarchy import Ints, Outline, outline_of
from tfgraphwidget.layout import CompoundLayout, ContainerLayout, Frame, Layout, LayoutCache, level_of
from tfgraphwidget.layout.free_form import pinned_items
from tfgraphwidget.scene.coloring import OpValues, color_items
from tfgraphwidget.visible import BADGE, OP, OPEN, ViewSpec, VisibleGraph, build_visible_graph, item_sizes, place_badges

if TYPE_CHECKING:
    from tfgraphwidget.scene import Scene

Floats = npt.NDArray[np.float64]
_ASPECT = 1.4


@dataclass(frozen=True, eq=False)
class ContainerLayouts:
    """The layouts of some containers of one VisibleGraph, in the drawing's x and y (see Frame).

    Attributes:
        visible: The items and edges.
        frame: The frame of the drawing.
        items: The numbers of the containers among the items.
        placed: The layouts of these containers.
        size: float64 (n, 2), the width and height of each item.
        badges: float64 (n, 2), the width and height of badges on the screen.
        pinned: The names of pinned items.
        saved: Whether it is the editor's current view, with its open scopes.
    """

    visible: VisibleGraph
    frame: Frame
    items: list[int]
    placed: list[ContainerLayout]
    size: Floats
    badges: Floats
    pinned: frozenset[str] = frozenset()
    saved: bool = False


class _SingleContainers(CompoundLayout):
    """Lays out containers one by one."""

    def lay_out_alone(self, item: int, aspect: float) -> ContainerLayout:
        """The layout of an open scope whose open children keep the size that they have here."""
        key, structure = self._structure(item)
        return self._lay_out_container(item, key, structure, level_of(aspect))


def lay_out_levels(index: GraphIndex, shown: ViewSpec, layout: Layout | None = None) -> Iterator[ContainerLayouts]:
    """The layouts of all containers with their children closed, one level of the outline at a time.

    Args:
        index: The graph.
        shown: What is visible; its open scopes and pins are ignored.
        layout: A layout callable, or None for the layered layout.
    """
    outline, cache = outline_of(index, fold=shown.fold)[0], LayoutCache()
    opened: frozenset[str] = frozenset()
    for depth, nodes in enumerate(outline.levels):
        opened |= frozenset(outline.names[node] for node in nodes.tolist() if node)
        seen = build_visible_graph(index, replace(shown, opened=opened, pinned={}))
        frame = Frame(seen, right=shown.direction == "right" and layout is None, aspect=shown.aspect)
        size = item_sizes(seen)
        with no_collections():
            inside = _SingleContainers(seen, frame, size, cache, layout, {})
            items = np.flatnonzero((seen.kind == OPEN) & (seen.depth == depth)).tolist()
            placed = [inside.lay_out_alone(item, _ASPECT if item else frame.aspect) for item in items]
        yield ContainerLayouts(seen, frame, items, placed, inside.size, size)


def lay_out_view(
    index: GraphIndex, shown: ViewSpec, layout: Layout | None = None, cache: LayoutCache | None = None
) -> ContainerLayouts:
    """The layouts of the open containers as the editor shows them.

    Args:
        index: The graph.
        shown: What is visible.
        layout: A layout callable, or None for the layered layout.
        cache: The cache of the editor's layout, so that the result is the same.
    """
    seen = build_visible_graph(index, shown)
    frame = Frame(seen, right=shown.direction == "right" and layout is None, aspect=shown.aspect)
    with no_collections():
        size = item_sizes(seen)
        inside = CompoundLayout(seen, frame, size, cache or LayoutCache(), layout, shown.pinned)
        placed = inside.lay_out()
    return ContainerLayouts(
        seen,
        frame,
        np.flatnonzero(seen.kind == OPEN).tolist(),
        placed,
        inside.size,
        size,
        frozenset(shown.pinned),
        saved=True,
    )


# The layouts of containers as columns of numbers, which `labextension/src/offline/layout-tables.ts` reads. All
# arrays are flat or (n, k), of dtype u1, u4, i4 or f4; `Texts` numbers the texts that they refer to. Coordinates
# are pixels in the drawing's x and y (see Frame), relative to the upper left corner of the container's inside.  Per
# inside: `inside_node` (i4, of the outline), `inside_saved` (u1: as it is seen in the editor), `inside_loop` (u1),
# `inside_size` (f4, 2), `inside_port` (f4, 2: x of the lines from above and to below, NaN for none),
# `inside_child`, `inside_line` (u4, one more: where its children and lines begin). Per child: `child_is` (i4: a
# node, or -1 - op), `child_box` (f4, 4: left, top, width, height), `child_open` (u1: drawn open), `child_family`,
# `child_aside`, `child_door`, `child_loop`, `child_pinned`, `child_part` (u1), `child_count`, `child_variables`,
# `child_omitted`, `child_label` (u4), `child_aux` (u1: a badge at its readers where these can be seen),
# `child_badge` (u4, one more). Per badge: `badge_op` (i4), `badge_text`, `badge_count`, `badge_variables` (u4),
# `badge_family` (u1), `badge_box` (f4, 4, on the screen, from its reader's corner). Per line: `line_source`,
# `line_target` (i4: child of the inside, -1 for the border), `line_tensors` (u4), `line_back` (u1), `line_bytes`
# (f4), `line_label` (u4), `line_route` (u4, one more: where its points begin); `route` (f4, 2). Per way to color, k:
# `child_tint_k`, `badge_tint_k` (u1), `child_note_k`, `badge_note_k` (u4).


Arrays = dict[str, npt.NDArray[Any]]
_STEP = 8.0  # coordinates are rounded to this fraction of a pixel, which halves their compressed size


class Texts:
    """Texts by number, each once; the first is ""."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {"": 0}

    def code(self, text: str) -> int:
        """The number of a text."""
        return self._number.setdefault(text, len(self._number))

    def codes(self, texts: Iterable[str]) -> npt.NDArray[np.uint32]:
        """The numbers of some texts."""
        return np.array([self.code(text) for text in texts], dtype=np.uint32)

    @property
    def all(self) -> list[str]:
        """All texts, in the order of their numbers."""
        return list(self._number)


def container_tables(
    index: GraphIndex,
    outline: Outline,
    insides: Iterable[ContainerLayouts],
    texts: Texts,
    encodings: Sequence[OpValues] = (),
) -> Arrays:
    """The arrays of all containers, concatenated.

    Args:
        index: The graph.
        outline: Its outline.
        insides: The layouts of containers.
        texts: The numbered texts that arrays refer to; texts are added.
        encodings: The values of the color encodings per op.
    """
    rows = [_Rows(index, outline, drawn, texts, encodings) for drawn in insides]
    found: dict[str, list[npt.NDArray[Any]]] = {}
    for row in rows:
        for name, array in row.arrays.items():
            found.setdefault(name, []).append(array)
    arrays = {name: np.concatenate(parts) for name, parts in found.items()}
    for name in ("inside_child", "inside_line", "child_badge", "line_route"):
        arrays[name] = np.concatenate([[0], np.cumsum(arrays[name])]).astype(np.uint32)
    seen = {op for row in rows if not row.drawn.saved for op in row.drawn.visible.badge_op.tolist()}
    ops = -1 - arrays["child_is"]
    arrays["child_aux"] = np.isin(ops, np.fromiter(seen, np.int64, len(seen))).astype(np.uint8)
    return arrays


class _Rows:
    """The arrays of one ContainerLayouts; counts in place of offsets, which need the arrays before them."""

    def __init__(
        self, index: GraphIndex, outline: Outline, drawn: ContainerLayouts, texts: Texts, encodings: Sequence[OpValues]
    ) -> None:
        self.index, self.outline, self.drawn, self.texts = index, outline, drawn, texts
        seen = drawn.visible
        mine = np.zeros(len(seen), dtype=bool)
        mine[drawn.items] = True
        around = np.maximum(seen.parent, 0)
        self.child = np.flatnonzero(mine[around] & (seen.parent >= 0))
        held = np.zeros(len(seen), dtype=bool)
        held[self.child] = True
        self.badge = np.flatnonzero((seen.kind == BADGE) & held[around])
        self.line = np.flatnonzero(mine[seen.container]) if len(seen.source) else np.zeros(0, dtype=np.intp)
        self.arrays: Arrays = {**self._insides(), **self._children(), **self._badges(), **self._lines()}
        for k, known in enumerate(encodings):
            self._add_colors(k, known)

    def _insides(self) -> Arrays:
        seen, items, placed = self.drawn.visible, self.drawn.items, self.drawn.placed
        names, ids = seen.names, self.outline.ids
        port = [(np.nan if p.enter is None else p.enter, np.nan if p.leave is None else p.leave) for p in placed]
        per_item = np.bincount(seen.parent[self.child], minlength=len(seen))
        per_line = np.bincount(seen.container[self.line], minlength=len(seen))
        return {
            "inside_node": np.array([ids[names[item]] if item else 0 for item in items], dtype=np.int32),
            "inside_saved": np.full(len(items), self.drawn.saved, dtype=np.uint8),
            "inside_loop": seen.loop[items].astype(np.uint8),
            "inside_size": _round([(p.width, p.height) for p in placed], 2),
            "inside_port": _round(port, 2),
            "inside_child": per_item[items],
            "inside_line": per_line[items],
        }

    def _children(self) -> Arrays:
        seen, rows = self.drawn.visible, self.child
        names = [seen.names[row] for row in rows.tolist()]
        is_op = seen.kind[rows] == OP
        ids, nodes = self.index.ids, self.outline.ids
        told = zip(names, is_op.tolist(), strict=True)
        pinned = pinned_items(seen, dict.fromkeys(self.drawn.pinned, (0.0, 0.0)))
        corner = np.concatenate([np.zeros((0, 2)), *(placed.corner for placed in self.drawn.placed)])
        columns = {f"child_{name}": getattr(seen, name)[rows].astype(np.uint8) for name in _FLAGS}
        counts = {f"child_{name}": getattr(seen, name)[rows].astype(np.uint32) for name in _COUNTS}
        return {
            "child_is": np.array([-1 - ids[name] if op else nodes[name] for name, op in told], dtype=np.int32),
            "child_box": _round(np.concatenate([corner, self.drawn.size[rows]], axis=1), 4),
            "child_open": (seen.kind[rows] == OPEN).astype(np.uint8),
            "child_label": self.texts.codes(seen.labels[row] for row in rows.tolist()),
            "child_pinned": np.isin(rows, list(pinned)).astype(np.uint8) * np.uint8(self.drawn.saved),
            "child_badge": np.bincount(seen.parent[self.badge], minlength=len(seen))[rows],
            **columns,
            **counts,
        }

    def _badges(self) -> Arrays:
        seen, rows = self.drawn.visible, self.badge
        box = np.zeros((len(seen), 4))
        box[:, 2:] = self.drawn.size[:, ::-1] if self.drawn.frame.right else self.drawn.size
        place_badges(seen, box)
        # The badges' own sizes are as on the screen whichever way the drawing runs.
        box[rows, 2:] = self.drawn.badges[rows]
        return {
            "badge_op": np.array([self.index.ids[seen.names[row]] for row in rows.tolist()], dtype=np.int32),
            "badge_text": self.texts.codes(seen.labels[row] for row in rows.tolist()),
            "badge_count": seen.count[rows].astype(np.uint32),
            "badge_variables": seen.variables[rows].astype(np.uint32),
            "badge_family": seen.family[rows].astype(np.uint8),
            "badge_box": _round(box[rows], 4),
        }

    def _lines(self) -> Arrays:
        seen, rows, placed = self.drawn.visible, self.line, self.drawn.placed
        first = seen.child_start[seen.container[rows]]
        ends = {
            f"line_{name}": _child_numbers(end[rows], seen.container[rows], first)
            for name, end in (("source", seen.source), ("target", seen.target))
        }
        none = np.zeros((0, 2))
        return {
            **ends,
            "line_tensors": seen.tensors[rows].astype(np.uint32),
            "line_back": seen.back[rows].astype(np.uint8),
            "line_bytes": seen.bytes[rows].astype(np.float32),
            "line_label": self.texts.codes(seen.edge_labels[row] for row in rows.tolist()),
            "line_route": np.concatenate([p.points for p in placed] or [np.zeros(0, dtype=np.int64)]),
            "route": _round(np.concatenate([p.route for p in placed] or [none]), 2),
        }

    def _add_colors(self, k: int, known: OpValues) -> None:
        # color_items uses only what a Scene and a VisibleGraph have in common.
        tint, notes = color_items(cast("Scene", self.drawn.visible), known)
        for kind, rows in (("child", self.child), ("badge", self.badge)):
            self.arrays[f"{kind}_tint_{k}"] = tint[rows]
            self.arrays[f"{kind}_note_{k}"] = self.texts.codes(notes[row] for row in rows.tolist())


_COUNTS = ("count", "variables", "omitted")
_FLAGS = ("family", "aside", "door", "part", "loop")


def _child_numbers(end: Ints, container: Ints, first: Ints) -> Ints:
    return np.where(end == container, -1, end - first).astype(np.int32)


def _round(places: npt.ArrayLike, width: int) -> npt.NDArray[np.float32]:
    """As float32 (n, width), to parts of a pixel."""
    return (np.round(np.asarray(places, dtype=np.float64) * _STEP) / _STEP).astype(np.float32).reshape(-1, width)
