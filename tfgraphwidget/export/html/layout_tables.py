"""The layouts of all containers of a graph, which a page without a kernel combines when scopes are
opened.

A drawing is laid out bottom-up by scope (`layout`), so the layout of a container depends on the
rest only by the sizes of its open children. Here each container is laid out once with its children
closed, relative to its own corner, and those of the current view once more as the editor shows
them; `labextension/src/offline/compose.ts` grows the former to the sizes that it needs.

The containers of one level of the outline are laid out together, with all scopes above them open:
as the editor draws them, with badges and bookkeeping ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import GraphIndex, no_collections
from tfgraphwidget.hierarchy import Ints, Outline, outline_of
from tfgraphwidget.layout import (
    CompoundLayout,
    ContainerLayout,
    Frame,
    Layout,
    LayoutCache,
    level_of,
)
from tfgraphwidget.layout.free_form import pinned_items
from tfgraphwidget.scene.coloring import OpValues, color_items
from tfgraphwidget.visible import (
    BADGE,
    OP,
    OPEN,
    ViewSpec,
    VisibleGraph,
    build_visible_graph,
    item_sizes,
    place_badges,
)

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
        containers: The layouts of these containers.
        size: float64 (n, 2), the width and height of each item.
        badges: float64 (n, 2), the width and height of badges on the screen.
        pinned: The names of pinned items.
        saved: Whether it is the editor's current view, with its open scopes.
    """

    visible: VisibleGraph
    frame: Frame
    items: list[int]
    containers: list[ContainerLayout]
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


def lay_out_levels(
    index: GraphIndex, view_spec: ViewSpec, layout: Layout | None = None
) -> Iterator[ContainerLayouts]:
    """The layouts of all containers with their children closed, one level of the outline at a time;
    open scopes and pins are ignored.
    """
    outline, cache = outline_of(index, fold=view_spec.fold)[0], LayoutCache()
    open_scopes: frozenset[str] = frozenset()
    for depth, nodes in enumerate(outline.levels):
        open_scopes |= frozenset(outline.names[node] for node in nodes.tolist() if node)
        visible = build_visible_graph(index, replace(view_spec, opened=open_scopes, pinned={}))
        frame = Frame(
            visible,
            right=view_spec.direction == "right" and layout is None,
            aspect=view_spec.aspect,
        )
        size = item_sizes(visible)
        with no_collections():
            inside = _SingleContainers(visible, frame, size, cache, layout, {})
            items = np.flatnonzero((visible.kind == OPEN) & (visible.depth == depth)).tolist()
            layouts = [
                inside.lay_out_alone(item, _ASPECT if item else frame.aspect) for item in items
            ]
        yield ContainerLayouts(visible, frame, items, layouts, inside.size, size)


def lay_out_view(
    index: GraphIndex,
    view_spec: ViewSpec,
    layout: Layout | None = None,
    cache: LayoutCache | None = None,
) -> ContainerLayouts:
    """The layouts of the open containers as the editor shows them, with the cache of its layout."""
    visible = build_visible_graph(index, view_spec)
    frame = Frame(
        visible, right=view_spec.direction == "right" and layout is None, aspect=view_spec.aspect
    )
    with no_collections():
        size = item_sizes(visible)
        inside = CompoundLayout(
            visible, frame, size, cache or LayoutCache(), layout, view_spec.pinned
        )
        layouts = inside.lay_out()
    return ContainerLayouts(
        visible,
        frame,
        np.flatnonzero(visible.kind == OPEN).tolist(),
        layouts,
        inside.size,
        size,
        frozenset(view_spec.pinned),
        saved=True,
    )


# The layouts of containers as columns of numbers, which `labextension/src/offline/layout-tables.ts`
# reads. All arrays are flat or (n, k), of dtype u1, u4, i4 or f4; `Texts` numbers the texts that
# they refer to. Coordinates are pixels in the drawing's x and y (see Frame), relative to the upper
# left corner of the container's inside. A column with "one more" row says where the rows of each
# begin in another one.
#
# Per inside:
#   `inside_node` (i4)               of the outline
#   `inside_saved` (u1)              as it is seen in the editor
#   `inside_loop` (u1)
#   `inside_size` (f4, 2)
#   `inside_port` (f4, 2)            x of the lines from above and to below, NaN for none
#   `inside_child`, `inside_line` (u4, one more)
# Per child:
#   `child_is` (i4)                  a node, or -1 - op
#   `child_box` (f4, 4)              left, top, width, height
#   `child_open` (u1)                drawn open
#   `child_family`, `child_aside`, `child_calls`, `child_loop`, `child_pinned`, `child_part`,
#   `child_isolated` (u1)
#   `child_count`, `child_variables`, `child_omitted`, `child_label` (u4)
#   `child_aux` (u1)                 a badge at its consumers where these show
#   `child_badge` (u4, one more)
# Per badge:
#   `badge_op` (i4)
#   `badge_text`, `badge_count`, `badge_variables` (u4)
#   `badge_family` (u1)
#   `badge_box` (f4, 4)              on the screen, from its consumer's corner
# Per line:
#   `line_source`, `line_target` (i4)  child of the inside, -1 for the border
#   `line_tensors` (u4), `line_back` (u1), `line_bytes` (f4), `line_label` (u4)
#   `line_route`, `line_tensor` (u4, one more)
#   `route` (f4, 2), `tensor` (u4)   its points; its tensors, as in VisibleGraph
# Per way to color, k:
#   `child_tint_k`, `badge_tint_k` (u1), `child_note_k`, `badge_note_k` (u4)

Arrays = dict[str, np.ndarray]
# coordinates are rounded to this fraction of a pixel, which halves their compressed size
_STEP = 8.0


class Texts:
    """Texts by number, each once; the first is ""."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {"": 0}

    def code(self, text: str) -> int:
        """The number of a text."""
        return self._number.setdefault(text, len(self._number))

    def codes(self, texts: Iterable[str]) -> npt.NDArray[np.uint32]:
        """The numbers of some texts."""
        number = self._number
        return np.array([number.setdefault(text, len(number)) for text in texts], dtype=np.uint32)

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
    """The arrays of all containers, concatenated; texts that they refer to are added to the
    numbered ones, and `encodings` are color encodings per op.
    """
    rows = [_Rows(index, outline, layouts, texts) for layouts in insides]
    columns: dict[str, list[np.ndarray]] = {}
    for row in rows:
        for name, array in row.arrays.items():
            columns.setdefault(name, []).append(array)
    arrays = {name: np.concatenate(parts) for name, parts in columns.items()}
    for name in ("inside_child", "inside_line", "child_badge", "line_route", "line_tensor"):
        arrays[name] = np.concatenate([[0], np.cumsum(arrays[name])]).astype(np.uint32)
    badge_ops = {
        op for row in rows if not row.layouts.saved for op in row.layouts.visible.badge_op.tolist()
    }
    ops = -1 - arrays["child_is"]
    arrays["child_aux"] = np.isin(ops, np.fromiter(badge_ops, np.int64, len(badge_ops))).astype(
        np.uint8
    )
    return arrays | _colors(rows, texts, encodings)


def _colors(rows: Sequence[_Rows], texts: Texts, encodings: Sequence[OpValues]) -> Arrays:
    """The tints and notes of all children and badges; the editor's own rows come first."""
    views = [row for row in rows if row.layouts.saved]
    levels = [row for row in rows if not row.layouts.saved]
    drawings: list[tuple[VisibleGraph | _ClosedItems, dict[str, npt.NDArray[np.intp]]]] = []
    drawings += [(row.layouts.visible, {"child": row.child, "badge": row.badge}) for row in views]
    if levels:
        closed = _ClosedItems(levels)
        drawings.append((closed, {"child": closed.child, "badge": closed.badge}))
    arrays: Arrays = {}
    for k, values in enumerate(encodings):
        # color_items uses only what a Scene and these drawings have in common.
        colors = [color_items(cast("Scene", items), values) for items, _ in drawings]
        for kind in ("child", "badge"):
            chosen = [
                (tint, notes, items[kind])
                for (tint, notes), (_, items) in zip(colors, drawings, strict=True)
            ]
            arrays[f"{kind}_tint_{k}"] = np.concatenate([tint[items] for tint, _, items in chosen])
            notes = [notes[item] for _, notes, items in chosen for item in items.tolist()]
            arrays[f"{kind}_note_{k}"] = texts.codes(notes)
    return arrays


class _Rows:
    """The arrays of one ContainerLayouts, with counts for offsets, which need those before."""

    def __init__(
        self, index: GraphIndex, outline: Outline, layouts: ContainerLayouts, texts: Texts
    ) -> None:
        self.index, self.outline, self.layouts, self.texts = index, outline, layouts, texts
        visible = layouts.visible
        mine = np.zeros(len(visible), dtype=bool)
        mine[layouts.items] = True
        around = np.maximum(visible.parent, 0)
        self.child = np.flatnonzero(mine[around] & (visible.parent >= 0))
        is_child = np.zeros(len(visible), dtype=bool)
        is_child[self.child] = True
        self.badge = np.flatnonzero((visible.kind == BADGE) & is_child[around])
        self.line = (
            np.flatnonzero(mine[visible.container])
            if len(visible.source)
            else np.zeros(0, dtype=np.intp)
        )
        self.arrays: Arrays = {
            **self._insides(),
            **self._children(),
            **self._badges(),
            **self._lines(),
        }

    def _insides(self) -> Arrays:
        visible, items, layouts = self.layouts.visible, self.layouts.items, self.layouts.containers
        names, ids = visible.names, self.outline.ids
        port = [((*p.enter, np.nan)[0], (*p.leave, np.nan)[0]) for p in layouts]
        per_item = np.bincount(visible.parent[self.child], minlength=len(visible))
        per_line = np.bincount(visible.container[self.line], minlength=len(visible))
        return {
            "inside_node": np.array(
                [ids[names[item]] if item else 0 for item in items], dtype=np.int32
            ),
            "inside_saved": np.full(len(items), self.layouts.saved, dtype=np.uint8),
            "inside_loop": visible.loop[items].astype(np.uint8),
            "inside_size": _round([(p.width, p.height) for p in layouts], 2),
            "inside_port": _round(port, 2),
            "inside_child": per_item[items],
            "inside_line": per_line[items],
        }

    def _children(self) -> Arrays:
        visible, rows = self.layouts.visible, self.child
        names = [visible.names[row] for row in rows.tolist()]
        is_op = visible.kind[rows] == OP
        ids, nodes = self.index.ids, self.outline.ids
        pairs = zip(names, is_op.tolist(), strict=True)
        pinned = pinned_items(visible, dict.fromkeys(self.layouts.pinned, (0.0, 0.0)))
        corner = np.concatenate(
            [np.zeros((0, 2)), *(layout.corner for layout in self.layouts.containers)]
        )
        columns = {
            f"child_{name}": getattr(visible, name)[rows].astype(np.uint8) for name in _FLAGS
        }
        counts = {
            f"child_{name}": getattr(visible, name)[rows].astype(np.uint32) for name in _COUNTS
        }
        return {
            "child_is": np.array(
                [-1 - ids[name] if op else nodes[name] for name, op in pairs], dtype=np.int32
            ),
            "child_box": _round(np.concatenate([corner, self.layouts.size[rows]], axis=1), 4),
            "child_open": (visible.kind[rows] == OPEN).astype(np.uint8),
            "child_label": self.texts.codes(visible.labels[row] for row in rows.tolist()),
            "child_pinned": np.isin(rows, list(pinned)).astype(np.uint8)
            * np.uint8(self.layouts.saved),
            "child_badge": np.bincount(visible.parent[self.badge], minlength=len(visible))[rows],
            **columns,
            **counts,
        }

    def _badges(self) -> Arrays:
        visible, rows = self.layouts.visible, self.badge
        box = np.zeros((len(visible), 4))
        box[:, 2:] = self.layouts.size[:, ::-1] if self.layouts.frame.right else self.layouts.size
        # The badges' own sizes are as on the screen whichever way the drawing runs.
        box[rows, 2:] = self.layouts.badges[rows]
        place_badges(visible, box)
        return {
            "badge_op": np.array(
                [self.index.ids[visible.names[row]] for row in rows.tolist()], dtype=np.int32
            ),
            "badge_text": self.texts.codes(visible.labels[row] for row in rows.tolist()),
            "badge_count": visible.count[rows].astype(np.uint32),
            "badge_variables": visible.variables[rows].astype(np.uint32),
            "badge_family": visible.family[rows].astype(np.uint8),
            "badge_box": _round(box[rows], 4),
        }

    def _lines(self) -> Arrays:
        visible, rows, layouts = self.layouts.visible, self.line, self.layouts.containers
        first = visible.child_start[visible.container[rows]]
        boxes = {
            f"line_{name}": _child_numbers(end[rows], visible.container[rows], first)
            for name, end in (("source", visible.source), ("target", visible.target))
        }
        none = np.zeros((0, 2))
        count = np.diff(visible.edge_tensor_start)
        of_line = np.isin(np.repeat(np.arange(len(count)), count), rows)
        return {
            **boxes,
            "line_tensors": count[rows].astype(np.uint32),
            "line_tensor": count[rows],
            "tensor": visible.edge_tensor[of_line].astype(np.uint32),
            "line_back": visible.back[rows].astype(np.uint8),
            "line_bytes": visible.bytes[rows].astype(np.float32),
            "line_label": self.texts.codes(visible.edge_labels[row] for row in rows.tolist()),
            "line_route": np.concatenate(
                [p.points for p in layouts] or [np.zeros(0, dtype=np.int64)]
            ),
            "route": _round(np.concatenate([p.route for p in layouts] or [none]), 2),
        }


class _ClosedItems:
    """The children of containers, and their badges, of several drawings in which these children are
    closed.

    They are colored at once, as if they were one drawing.
    """

    def __init__(self, rows: Sequence[_Rows]) -> None:
        self.names: list[str] = []
        kinds, homes, badge_ops, badge_items = [], list[Ints](), list[Ints](), list[Ints]()
        children, badges = list[npt.NDArray[np.intp]](), list[npt.NDArray[np.intp]]()
        for row in rows:
            visible, members = row.layouts.visible, np.concatenate([row.child, row.badge])
            number = np.full(len(visible), -1, dtype=np.int32)  # of what is in another container
            first = len(self.names)
            number[members] = np.arange(first, first + len(members), dtype=np.int32)
            self.names += [visible.names[item] for item in members.tolist()]
            kinds.append(visible.kind[members])
            homes.append(number[visible.home_of_op])
            badge_ops.append(visible.badge_op)
            badge_items.append(number[visible.badge_item])
            children.append(np.arange(first, first + len(row.child)))
            badges.append(np.arange(first + len(row.child), len(self.names)))
        self.kind = np.concatenate(kinds)
        self.child = np.concatenate(children)
        self.badge = np.concatenate(badges)
        self.home_of_op = np.stack(homes, axis=1)
        self.badge_op, self.badge_item = np.concatenate(badge_ops), np.concatenate(badge_items)

    def __len__(self) -> int:
        return len(self.names)


_COUNTS = ("count", "variables", "omitted")
_FLAGS = ("family", "aside", "calls", "part", "loop", "isolated")


def _child_numbers(end: Ints, container: Ints, first: Ints) -> Ints:
    return np.where(end == container, -1, end - first).astype(np.int32)


def _round(places: npt.ArrayLike, width: int) -> npt.NDArray[np.float32]:
    """Round to parts of a pixel, as float32 (n, width)."""
    return (
        (np.round(np.asarray(places, dtype=np.float64) * _STEP) / _STEP)
        .astype(np.float32)
        .reshape(-1, width)
    )
