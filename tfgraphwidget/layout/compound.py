"""The layout of a whole drawing: a compound layered layout, bottom-up by scope.

Each open scope is laid out knowing nothing of the rest but the shape that suits its surroundings;
then the scope is a box in its parent. Equal containers (a network has one block many times) are
laid out once. With the `LayoutCache` of an earlier drawing, a toggled scope costs its own container
and those around it, and leaves the rest where it was.

Each tensor enters an open scope at a port of its upper border and leaves it at one of its lower
border, chosen by the layout of the inside, so that the edges outside and inside meet. A drawing
from left to right is the same with x and y exchanged, but for the headers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.argument_checks import names_its_call, value_text
from tfgraphwidget.errors import WrongType
from tfgraphwidget.graph import distinct, no_collections
from tfgraphwidget.layout.aspect import aspect_of, choose_child_levels, level_of
from tfgraphwidget.layout.cache import (
    DerivedKey,
    ExternalKey,
    Layout,
    LayoutCache,
    LevelsKey,
    PinnedKey,
    ScopeKey,
)
from tfgraphwidget.layout.container import layout_container
from tfgraphwidget.layout.frame import Frame, to_absolute
from tfgraphwidget.layout.free_form.pinning import Pins, apply_pins
from tfgraphwidget.layout.geometry import ContainerLayout
from tfgraphwidget.layout.incremental.previous_layout import (
    CachedLayout,
    LayoutKey,
    LayoutRecord,
    PreviousLayout,
    PreviousLayouts,
    find,
    is_too_distorted,
    most_similar,
    remember,
    translate_names,
)
from tfgraphwidget.layout.layered.column_wrapping import cost
from tfgraphwidget.layout.layered.components import (
    BORDER,
    LOOSE,
    Edge,
    Structure,
    build_structure,
)
from tfgraphwidget.layout.layered.layered_graph import NodePorts
from tfgraphwidget.optional_packages import import_package
from tfgraphwidget.progress import tell
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.visible import (
    LEAST_WIDTH,
    OP_HEIGHT,
    OPEN,
    ROOT_ASPECT,
    Direction,
    VisibleGraph,
    item_sizes,
    second_line,
)

__all__ = ["HEADER", "Layout", "LayoutCache", "Positions", "layered", "place", "second_line"]

Floats = npt.NDArray[np.float64]
# What an open scope needs for its children, by their area: so many times that, and for the gaps
# between them so many pixels times its root.
_MORE = 1.2
_FRAME = 55.0
_MOST_KEPT = 150_000  # boxes of all drawings that are remembered, 700 bytes each
_AT_LEAST = 3  # drawings that are remembered, however large they are
# A drawing is made several times, with better estimates of areas each time, if it has few boxes
# and most of its scopes are new.
_TRIALS = 3
_MOST = 8_000  # boxes
_NEW = 0.75  # the share of open scopes that have no shape yet
_ROOM = np.array([16.0, 16.0])  # pixels around a box
HEADER = Frame.header


@dataclass(frozen=True, eq=False)
class Positions:
    """The positions of items and edges, in absolute pixels, y downwards.

    Attributes:
        box: float32 (n, 4), left, top, width and height per item.
        route_start: uint32 (m + 1,), offsets of the edges into `route`.
        route: float32 (p, 2), the points of each edge, from its source to its target.
    """

    box: npt.NDArray[np.float32]
    route_start: npt.NDArray[np.uint32]
    route: npt.NDArray[np.float32]


def place(
    visible: VisibleGraph,
    *,
    direction: Direction = "down",
    pinned: Mapping[str, object] | None = None,
    layout: Layout | None = None,
    cache: LayoutCache | None = None,
    aspect: float = ROOT_ASPECT,
) -> Positions:
    """Lay out everything that is visible.

    Args:
        visible: the items and edges.
        direction: where the tensors flow, "down" or "right".
        pinned: the centers of items at fixed places, in pixels from the corner of what is around
            them, by name.
        layout: a callable like those of networkx, used for every container instead of the layered
            layout.
        cache: that of an earlier drawing. Only containers that have changed are laid out again, and
            similar to before.
        aspect: the wanted width : height of the whole drawing.

    Returns:
        The boxes and routes.
    """
    with no_collections():
        frame = Frame(visible, right=direction == "right" and layout is None, aspect=aspect)
        inside, containers = lay_out_open_scopes(
            visible, frame, item_sizes(visible), cache or LayoutCache(), layout, pinned or {}
        )
        return Positions(*to_absolute(visible, frame, inside.size, inside.offset, containers))


@names_its_call
def layered(graph: Any) -> dict[str, tuple[float, float]]:
    """Lay out a networkx DiGraph in layers.

    Args:
        graph: a DiGraph. Nodes may have `width` and `height` in pixels (64 and 30 else); cycles and
            self-loops are
        allowed.

    Returns:
        The center of each node as (x, y) in pixels; y grows downwards.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> places = tgw.layered(editor.to_networkx())
        >>> places["x"][1] < places["net/logits"][1]
        True
    """
    if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
        raise WrongType(
            "graph",
            f"{value_text(graph)} is not a networkx graph; "
            + in_cell("give one, as editor.to_networkx() does."),
        )
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    sized = [
        (float(d.get("width", LEAST_WIDTH)), float(d.get("height", OP_HEIGHT)))
        for _, d in graph.nodes(data=True)
    ]
    edges = [Edge(number[a], number[b]) for a, b in graph.edges() if a != b]
    record = layout_container(
        build_structure([0] * len(nodes), edges), sized, [None] * len(nodes), ROOT_ASPECT
    )
    corner = record.layout.corner.tolist()
    return {
        node: (x + w / 2, y + h / 2)
        for node, (x, y), (w, h) in zip(nodes, corner, sized, strict=True)
    }


class CompoundLayout:
    """The layout of all open scopes, innermost first.

    Attributes:
        size: float64 (n, 2), width and height of every item.
        offset: float64 (n, 2), where the inside of an item begins in it; both in the drawing's x
            and y (see Frame).
        ports: per item, the x of the ports where edges enter and leave an open scope; None for
            other items.
    """

    def __init__(
        self,
        visible: VisibleGraph,
        frame: Frame,
        size: Floats,
        cache: LayoutCache,
        layout: Layout | None,
        pinned: Mapping[str, Any],
    ) -> None:
        cache.drop_old_layouts(max(_MOST_KEPT, _AT_LEAST * len(visible)))
        self.visible, self.frame, self.cache, self.layout = visible, frame, cache, layout
        self.size = size[:, ::-1].copy() if frame.right else size
        self.offset = np.zeros_like(size)
        self.ports: list[NodePorts] = [None] * len(visible)
        self.scopes = np.flatnonzero(visible.kind == OPEN)
        self.scope_key = {
            item: ScopeKey(frame.right, visible.names[item]) for item in self.scopes.tolist()
        }
        self.alike = visible.alike.tolist()
        # An open scope with a history, by the number of those that are alike.
        self.with_history: dict[int, int] = {}
        self.first = visible.child_start.tolist()
        self.pins = Pins(visible, pinned, frame)
        self.area = _estimate_areas(visible, self.size)
        self._read_lines()

    def _read_lines(self) -> None:
        visible = self.visible
        self.edge_start = np.searchsorted(visible.container, np.arange(len(visible) + 1)).tolist()
        first = visible.child_start[visible.container][:, None]
        endpoints = np.stack([visible.source, visible.target], axis=1)
        # 0 for shared weights: a tower stands next to the one whose weights it reads.
        lengths = np.where(visible.tensors == 0, LOOSE, np.where(visible.shared, 0, 1))
        fork = endpoints == visible.container[:, None]
        ports = np.stack([visible.source_port, visible.target_port], axis=1)
        if self.layout is not None:  # a drawing of the user's has one port at each side
            ports = np.minimum(ports, 0)
        nodes = np.where(fork, BORDER, endpoints - first)
        self.edges = np.column_stack([nodes, lengths, visible.back, ports]).astype(np.int32)
        self.auxiliary = visible.aside.astype(np.uint8)

    def is_new(self) -> bool:
        """Return whether most of several open scopes have no shape yet, in a drawing small enough
        to be repeated.
        """
        if len(self.scopes) <= 1 or len(self.visible) > _MOST:
            return False
        count = sum(key in self.cache.scope_levels for key in self.scope_key.values())
        return count <= (1 - _NEW) * len(self.scopes)

    def lay_out(self) -> list[ContainerLayout]:
        """Return the layouts of the open scopes, ascending; fill `size`, `offset` and `ports`."""
        structures = [self._structure(item) for item in self.scopes.tolist()]
        levels = self._choose_levels(structures)
        result: list[ContainerLayout] = []
        for item, (key, structure) in zip(
            self.scopes[::-1].tolist(), structures[::-1], strict=True
        ):
            tell("Laying out the drawing", len(result), len(structures))
            container = self._lay_out_container(item, key, structure, int(levels[item]))
            result.append(container)
            corner, width, height = self.frame.enclose(item, container.width, container.height)
            self.size[item], self.offset[item] = (width, height), corner
            left, middle = corner[0], (container.width / 2,)
            enter, leave = container.enter or middle, container.leave or middle
            self.ports[item] = tuple([left + x for x in enter]), tuple([left + x for x in leave])
        return result[::-1]

    def _structure(self, item: int) -> tuple[bytes, Structure]:
        a, b = self.first[item], self.first[item + 1]
        edges = self.edges[self.edge_start[item] : self.edge_start[item + 1]]
        key = edges.tobytes() + b"|" + self.auxiliary[a:b].tobytes()
        structure = self.cache.structures.get(key)
        if structure is None:
            typed = [Edge(*fields) for fields in edges.tolist()]
            structure = build_structure(self.auxiliary[a:b].tolist(), typed)
            self.cache.structures[key] = structure
        return key, structure

    def _choose_levels(self, structures: list[tuple[bytes, Structure]]) -> npt.NDArray[np.int8]:
        """Return the shape of each open scope, outermost first; alike ones have one that stays."""
        visible = self.visible
        area = self.area
        rough = np.round(4 * np.log2(np.maximum(area, 1.0))).astype(np.int16)
        is_open = visible.kind == OPEN
        open_children = np.bincount(
            visible.parent[1:][is_open[1:]], minlength=len(visible)
        ).tolist()
        levels = np.zeros(len(visible), dtype=np.int8)
        levels[0] = level_of(self.frame.aspect)
        of_alike: dict[int, int] = {}
        for item, scope_key in self.scope_key.items():
            before = self.cache.scope_levels.get(scope_key)
            if before is not None:
                of_alike.setdefault(self.alike[item], before)
        for item, (key, structure) in zip(self.scopes.tolist(), structures, strict=True):
            if not open_children[item]:
                continue
            a, b = self.first[item], self.first[item + 1]
            inner = is_open[a:b]
            levels_key = LevelsKey(key, rough[a:b].tobytes(), inner.tobytes(), int(levels[item]))
            level_array = self.cache.child_levels.get(levels_key)
            if level_array is None:
                child_levels = choose_child_levels(
                    structure, area[a:b].tolist(), inner.tolist(), aspect_of(int(levels[item]))
                )
                level_array = self.cache.child_levels[levels_key] = np.array(
                    child_levels, dtype=np.int8
                )
            levels[a:b] = level_array
            for child in (a + inner.nonzero()[0]).tolist():
                level = of_alike.setdefault(self.alike[child], int(levels[child]))
                levels[child] = self.cache.scope_levels.setdefault(self.scope_key[child], level)
        return levels

    def _lay_out_container(
        self, item: int, key: bytes, structure: Structure, level: int
    ) -> ContainerLayout:
        """Return the layout of an open scope whose children's sizes and ports are known."""
        a, b = self.first[item], self.first[item + 1]
        sizes = self.size[a:b]
        layout_key = LayoutKey(
            key, level, sizes.tobytes(), tuple(self.ports[a:b]), self._title(item, structure)
        )
        if self.layout is not None:
            record = self._external_layout(item, structure, level, layout_key)
        else:
            record = self._incremental_layout(item, structure, level, layout_key)
        pinned = self.pins.of(item)
        if not pinned:
            return record.layout
        unpinned = self.frame.fill(item, record.layout)
        # The drawing is of these sizes and lines alone; a scope of a longer name may be wider than
        # it.
        pinned_key = PinnedKey(
            record.layout, unpinned.width, unpinned.height, tuple(pinned.items())
        )
        container = self.cache.pinned.get(pinned_key)
        if container is None:
            container = self.cache.pinned[pinned_key] = apply_pins(
                unpinned,
                pinned,
                sizes,
                self.edges[self.edge_start[item] : self.edge_start[item + 1]],
            )
        return container

    def _external_layout(
        self, item: int, structure: Structure, level: int, layout_key: LayoutKey
    ) -> LayoutRecord:
        """Return the layout by the user's callable, run once per container as it may be slow."""
        names = self.visible.names[self.first[item] : self.first[item + 1]]
        assert self.layout is not None
        key = ExternalKey(self.frame.right, tuple(names), layout_key)
        entry = self.cache.external.get(key)
        if entry is None or entry[0] is not self.layout:
            entry = self.cache.external[key] = self.layout, self._compute(item, structure, level)
        return entry[1]

    def _incremental_layout(
        self, item: int, structure: Structure, level: int, layout_key: LayoutKey
    ) -> LayoutRecord:
        """Return the cached layout, or one like the most similar earlier one of the same scope."""
        names = self.visible.names[self.first[item] : self.first[item + 1]]
        previous = self._previous_layouts(item, names)
        cached_layout = find(previous, layout_key)
        if cached_layout is not None:
            return cached_layout
        similar = most_similar(previous, structure, names)
        record: LayoutRecord | None = None
        if similar is not None:
            derived = DerivedKey(previous[-1].key, layout_key, tuple(similar.number))
            record = self.cache.layouts.get(derived)
            if record is None:
                record = self.cache.layouts[derived] = self._compute(
                    item, structure, level, similar
                )
        if record is None or is_too_distorted(
            record, aspect_of(level), lambda: self._fresh_layout(item, structure, level, layout_key)
        ):
            record = self._fresh_layout(item, structure, level, layout_key)
        elif similar is not None and similar.has_same_lines(structure):
            return (
                record  # other sizes or ports alone: what comes next is made after the same drawing
            )
        remember(previous, CachedLayout(layout_key, names, record))
        return record

    def _previous_layouts(self, item: int, names: Sequence[str]) -> PreviousLayouts:
        """Return the history of an open scope; a new one begins with that of one alike."""
        previous = self.cache.previous.get(self.scope_key[item])
        other = self.with_history.setdefault(self.alike[item], item)
        if previous is None:
            before = self.cache.previous.get(self.scope_key[other], ())
            previous = self.cache.previous[self.scope_key[item]] = []
            previous += translate_names(
                before, self.visible.names[self.first[other] : self.first[other + 1]], names
            )
        return previous

    def _fresh_layout(
        self, item: int, structure: Structure, level: int, layout_key: LayoutKey
    ) -> LayoutRecord:
        record = self.cache.layouts.get(layout_key)
        if record is None:
            record = self.cache.layouts[layout_key] = self._compute(item, structure, level)
        return record

    def _compute(
        self, item: int, structure: Structure, level: int, similar: PreviousLayout | None = None
    ) -> LayoutRecord:
        a, b = self.first[item], self.first[item + 1]
        sizes = [(w, h) for w, h in self.size[a:b].tolist()]
        main = None
        if self.layout is not None:
            import_package("networkx", "A layout by a function gets a graph of networkx")
            from tfgraphwidget.layout.free_form.external import apply_layout

            main = partial(apply_layout, self.layout, self.visible.names[a:b])
        title = self._title(item, structure)
        return layout_container(
            structure, sizes, self.ports[a:b], aspect_of(level), similar, main, title
        )

    def _title(self, item: int, structure: Structure) -> float:
        """How far a scope's title reaches inside, for lines that come in below it; 0 if none."""
        return float(self.frame.title[item]) if structure.has_entries else 0.0


def lay_out_open_scopes(
    visible: VisibleGraph,
    frame: Frame,
    size: Floats,
    cache: LayoutCache,
    layout: Layout | None,
    pinned: Mapping[str, object],
) -> tuple[CompoundLayout, list[ContainerLayout]]:
    """Lay out all open scopes.

    If most of them are new, this is done several times and the best is taken: the space that a
    scope needs, and the shape of all scopes around it, are known only once it is laid out.

    Args:
        visible: The items and edges.
        frame: The frame of the drawing.
        size: float64 (n, 2), the width and height of each item.
        cache: The cache of an earlier drawing; results are added.
        layout: A layout callable, or None for the layered layout.
        pinned: The centers of items at fixed places by name.

    Returns:
        The compound layout, and the layouts of the open scopes in the order of their items.
    """
    first = CompoundLayout(visible, frame, size.copy(), cache, layout, pinned)
    if layout is not None or not first.is_new():
        return first, first.lay_out()
    best: tuple[float, LayoutCache, CompoundLayout, list[ContainerLayout]] | None = None
    area = first.area
    for _ in range(_TRIALS):
        fork = cache.fork()
        trial = CompoundLayout(visible, frame, size.copy(), fork, None, pinned)
        trial.area = area
        containers = trial.lay_out()
        width, height = trial.size[0].tolist()
        now = cost(height, width, aspect_of(level_of(frame.aspect)))
        if best is None or now < best[0]:
            best = now, fork, trial, containers
        cache.add_fresh_results(fork)
        area = (trial.size + _ROOM).prod(axis=1)
    assert best is not None
    cache.adopt(best[1])
    return best[2:]


def _estimate_areas(visible: VisibleGraph, size: Floats) -> Floats:
    """Estimate the area that each item will need, in pixels²."""
    area = (size[:, 0] + 16) * (size[:, 1] + 24)
    start = np.searchsorted(visible.depth, np.arange(int(visible.depth[-1]) + 2))
    is_open = visible.kind == OPEN
    for a, b in zip(start[-2:0:-1].tolist(), start[:1:-1].tolist(), strict=True):
        around = visible.parent[a:b]
        open_children = np.bincount(
            around, weights=area[a:b] * (visible.kind[a:b] != 3), minlength=len(visible)
        )
        outer = distinct(around[is_open[around]])
        area[outer] = _MORE * open_children[outer] + _FRAME * np.sqrt(open_children[outer]) + 1000
    return area
