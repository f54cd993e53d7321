"""Positions: a compound layered layout, bottom-up by scope.

The inside of each open scope is laid out knowing nothing of the rest but the shape that suits its surroundings; then
the scope is a box in its parent. Equal insides (a network has one block many times) are laid out once, and with a memo
of the caller's a toggled scope costs its own container and those around it, and leaves the rest where it was.

Lines enter an open scope at one point of its upper border and leave it at one point of its lower border, chosen by the
inside, so that the line outside and the line inside meet. Drawn from left to right, all is the same with x and y
exchanged, but for the headers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.edges import no_collections
from tfgraphwidget.layout.aspect import aspect_of, level_of, wished
from tfgraphwidget.layout.container import arranged
from tfgraphwidget.layout.frame import Frame, absolute
from tfgraphwidget.layout.free_form.pinning import Pins, moved
from tfgraphwidget.layout.geometry import Placed
from tfgraphwidget.layout.incremental.previous_layout import Drawing, Keep, Kept, Like, find, is_given_up, keep, nearest
from tfgraphwidget.layout.layered.column_wrapping import cost
from tfgraphwidget.layout.layered.components import BORDER, Line, Structure, connected, structured
from tfgraphwidget.progress import tell
from tfgraphwidget.visible.measure import LEAST_WIDTH, OP_HEIGHT, second_line, sizes
from tfgraphwidget.visible.view_spec import Direction
from tfgraphwidget.visible.visible_graph import OPEN, Visible

# The insides of all open scopes, each drawn once: what was drawn before is looked up.

Floats = npt.NDArray[np.float64]
Layout = Callable[[Any], Mapping[Any, Any]]
Memo = MutableMapping[Any, Any]
ROOT_ASPECT = 1.75
_MORE, _FRAME = 1.2, 55.0
# Drawings of so many boxes in all are remembered, 700 bytes a box; of large ones so many whole ones.
_MOST_KEPT, _AT_LEAST = 150_000, 3
# Up to so many boxes are drawn so many times; what a thing needs around it; what is true of any such scope.
_MOST, _TRIALS, _NEW = 8_000, 3, 0.75
_ROOM = np.array([16.0, 16.0])
_ANY = ("structure", "wished", "drawn")
_MADE = ("drawn", "after")
OF_WHAT_WAS = ("kept", "shape")  # what drawings look like those before them by


class Inside:
    """Draws the insides of what is visible, innermost first.

    `size` float64 (n, 2) is the width and height of every item and `offset` (n, 2) where its inside begins in it, both
    in the drawing's x and y (see Frame). The memo holds, by keys whose first element says what they are: "structure"
    (ranks of a container's inside), "drawn" (drawings by structure, shape and sizes), "kept" (by container's name:
    the drawings that others of it, with other sizes or lines, are made after), "given" (with the layout that gave
    it), "shape" (by name).
    """

    def __init__(
        self, visible: Visible, frame: Frame, size: Floats, memo: Memo, layout: Layout | None, pinned: Mapping[str, Any]
    ) -> None:
        _forget(memo, max(_MOST_KEPT, _AT_LEAST * len(visible)))
        self.visible, self.frame, self.memo, self.layout = visible, frame, memo, layout
        self.size = size[:, ::-1].copy() if frame.right else size
        self.offset = np.zeros_like(size)
        self.ports = np.full((len(visible), 2), np.nan)
        self.scopes = np.flatnonzero(visible.kind == OPEN)
        self.first = visible.child_start.tolist()
        self.pins = Pins(visible, pinned, frame)
        self.area = _areas(visible, self.size)
        self._read_lines()

    def _read_lines(self) -> None:
        visible = self.visible
        self.line = np.searchsorted(visible.container, np.arange(len(visible) + 1)).tolist()
        first = visible.child_start[visible.container][:, None]
        ends = np.stack([visible.source, visible.target], axis=1)
        flags = (visible.tensors == 0).astype(np.int32) + 2 * visible.back.astype(np.int32)
        own = ends == visible.container[:, None]
        self.lines = np.concatenate([np.where(own, BORDER, ends - first), flags[:, None]], axis=1).astype(np.int32)
        self.aside = visible.aside.astype(np.uint8)

    def is_new(self) -> bool:
        """Whether most of several open scopes have no shape yet, and they are few enough to be drawn several times."""
        names = [self.visible.names[item] for item in self.scopes.tolist()]
        known = sum(("shape", self.frame.right, name) in self.memo for name in names)
        return len(names) > 1 and len(self.visible) <= _MOST and known <= (1 - _NEW) * len(names)

    def placed(self) -> list[Placed]:
        """The insides of the open scopes, ascending; fills `size` and `offset`."""
        structures = [self._structure(item) for item in self.scopes.tolist()]
        levels = self._levels(structures)
        result: list[Placed] = []
        for item, (key, structure) in zip(self.scopes[::-1].tolist(), structures[::-1], strict=True):
            tell("Laying out the drawing", len(result), len(structures))
            placed = self._drawn(item, key, structure, int(levels[item]))
            result.append(placed)
            corner, width, height = self.frame.around(item, placed.width, placed.height)
            self.size[item], self.offset[item] = (width, height), corner
            middle = placed.width / 2
            self.ports[item] = (
                corner[0] + (middle if placed.enter is None else placed.enter),
                corner[0] + (middle if placed.leave is None else placed.leave),
            )
        return result[::-1]

    def _structure(self, item: int) -> tuple[bytes, Structure]:
        a, b = self.first[item], self.first[item + 1]
        lines = self.lines[self.line[item] : self.line[item + 1]]
        key = lines.tobytes() + b"|" + self.aside[a:b].tobytes()
        found = self.memo.get(("structure", key))
        if found is None:
            told = [Line(s, t, bool(f & 1), bool(f & 2)) for s, t, f in lines.tolist()]
            found = self.memo[("structure", key)] = structured(self.aside[a:b].tolist(), told)
        return key, found

    def _levels(self, structures: list[tuple[bytes, Structure]]) -> npt.NDArray[np.int8]:
        """The shape of each open scope's inside, from the outermost inwards; once known by name it stays."""
        visible = self.visible
        area = self.area
        rough = np.round(4 * np.log2(np.maximum(area, 1.0))).astype(np.int16)
        is_open = visible.kind == OPEN
        held = np.bincount(visible.parent[1:][is_open[1:]], minlength=len(visible)).tolist()
        levels = np.zeros(len(visible), dtype=np.int8)
        levels[0] = level_of(1 / ROOT_ASPECT if self.frame.right else ROOT_ASPECT)
        for item, (key, structure) in zip(self.scopes.tolist(), structures, strict=True):
            if not held[item]:
                continue
            a, b = self.first[item], self.first[item + 1]
            inner = is_open[a:b]
            whole = ("wished", key, rough[a:b].tobytes(), inner.tobytes(), int(levels[item]))
            found = self.memo.get(whole)
            if found is None:
                told = wished(structure, area[a:b].tolist(), inner.tolist(), aspect_of(int(levels[item])))
                found = self.memo[whole] = np.array(told, dtype=np.int8)
            levels[a:b] = found
            for child in (a + inner.nonzero()[0]).tolist():
                levels[child] = self.memo.setdefault(
                    ("shape", self.frame.right, visible.names[child]), int(levels[child])
                )
        return levels

    def _drawn(self, item: int, key: bytes, structure: Structure, level: int) -> Placed:
        """The inside of an open scope, whose children's sizes and ports are known."""
        a, b = self.first[item], self.first[item + 1]
        sizes = self.size[a:b]
        whole = ("drawn", key, level, sizes.tobytes(), self.ports[a:b].tobytes())
        if self.layout is not None:
            drawing = self._given(item, structure, level, whole)
        else:
            drawing = self._after(item, structure, level, whole)
        pinned = self.pins.of(item)
        if not pinned:
            return drawing.placed
        placed = self.frame.filled(item, drawing.placed)
        # The drawing is of these sizes and lines alone; a scope of a longer name may be wider than it.
        where = ("pinned", drawing.placed, placed.width, placed.height, *pinned.items())
        found: Placed | None = self.memo.get(where)
        if found is None:
            found = self.memo[where] = moved(placed, pinned, sizes, self.lines[self.line[item] : self.line[item + 1]])
        return found

    def _given(self, item: int, structure: Structure, level: int, whole: tuple[Any, ...]) -> Drawing:
        """What the given layout says, asked once of the same inside: it may be slow, or draw by lot."""
        names = self.visible.names[self.first[item] : self.first[item + 1]]
        key = ("given", self.frame.right, tuple(names), *whole[1:])
        known: tuple[Any, Drawing] | None = self.memo.get(key)
        if known is None or known[0] is not self.layout:
            known = self.memo[key] = self.layout, self._new(item, structure, level)
        return known[1]

    def _after(self, item: int, structure: Structure, level: int, whole: tuple[Any, ...]) -> Drawing:
        """The drawing in the memo, or one made after the drawing of the same scope that is most like it."""
        names = self.visible.names[self.first[item] : self.first[item + 1]]
        kept: Kept = self.memo.setdefault(("kept", self.frame.right, self.visible.names[item]), [])
        known = find(kept, whole)
        if known is not None:
            return known
        like = nearest(kept, structure, names)
        found: Drawing | None = None
        if like is not None:
            derived = ("after", kept[-1].whole, whole, tuple(like.number))
            found = self.memo.get(derived)
            if found is None:
                found = self.memo[derived] = self._new(item, structure, level, like)
        if found is None or is_given_up(found, aspect_of(level), lambda: self._anew(item, structure, level, whole)):
            found = self._anew(item, structure, level, whole)
        elif kept[-1].drawing.asked is structure:
            return found  # other sizes alone: what comes next is made after the same drawing
        keep(kept, Keep(whole, names, found))
        return found

    def _anew(self, item: int, structure: Structure, level: int, whole: tuple[Any, ...]) -> Drawing:
        found: Drawing | None = self.memo.get(whole)
        if found is None:
            found = self.memo[whole] = self._new(item, structure, level)
        return found

    def _new(self, item: int, structure: Structure, level: int, like: Like | None = None) -> Drawing:
        a, b = self.first[item], self.first[item + 1]
        sizes = [(w, h) for w, h in self.size[a:b].tolist()]
        ports = [None if isnan(x) else (x, y) for x, y in self.ports[a:b].tolist()]
        main = None
        if self.layout is not None:
            from tfgraphwidget.layout.free_form.external import given

            main = partial(given, self.layout, self.visible.names[a:b])
        return arranged(structure, sizes, ports, aspect_of(level), like, main)


def drawn(
    visible: Visible, frame: Frame, size: Floats, memo: Memo, layout: Layout | None, pinned: Mapping[str, Any]
) -> tuple[Inside, list[Placed]]:
    """The insides of all open scopes. What is new for the most part is drawn several times, and the best is kept:
    how much room each inside needs is known only once it is drawn, and its shape, and that of all around, hangs on it.
    """
    first = Inside(visible, frame, size.copy(), memo, layout, pinned)
    if layout is not None or not first.is_new():
        return first, first.placed()
    best: tuple[float, Memo, Inside, list[Placed]] | None = None
    area = first.area
    for _ in range(_TRIALS):
        own = {key: list(value) if key[0] == "kept" else value for key, value in memo.items()}
        trial = Inside(visible, frame, size.copy(), own, None, pinned)
        trial.area = area
        placed = trial.placed()
        width, height = trial.size[0].tolist()
        now = cost(height, width, aspect_of(level_of(1 / ROOT_ASPECT if frame.right else ROOT_ASPECT)))
        if best is None or now < best[0]:
            best = now, own, trial, placed
        for key in (key for key in own if key[0] in _ANY):
            memo[key] = own[key]
        area = (trial.size + _ROOM).prod(axis=1)
    assert best is not None
    memo.update(best[1])
    return best[2:]


def anew(memo: Memo) -> None:
    """Let the next drawings be as if nothing had been drawn before; what was worked out for them stays known."""
    for key in [key for key in memo if key[0] in OF_WHAT_WAS]:
        del memo[key]


def _forget(memo: Memo, most: int) -> None:
    """Forget the older half of all drawings when they are of more boxes than that, or they would fill the memory."""
    boxes = {key: len(made.sizes) for key, made in memo.items() if key[0] in _MADE}
    if sum(boxes.values()) <= most:
        return
    gone = 0
    for key, count in boxes.items():
        if gone > most // 2:
            break
        gone += count
        del memo[key]


def _areas(visible: Visible, size: Floats) -> Floats:
    """A guess at the area that each item will need, in pixels²."""
    area = (size[:, 0] + 16) * (size[:, 1] + 24)
    start = np.searchsorted(visible.depth, np.arange(int(visible.depth[-1]) + 2))
    is_open = visible.kind == OPEN
    for a, b in zip(start[-2:0:-1].tolist(), start[:1:-1].tolist(), strict=True):
        around = visible.parent[a:b]
        held = np.bincount(around, weights=area[a:b] * (visible.kind[a:b] != 3), minlength=len(visible))
        outer = np.unique(around[is_open[around]])
        area[outer] = _MORE * held[outer] + _FRAME * np.sqrt(held[outer]) + 1000
    return area


__all__ = ["HEADER", "Layout", "Memo", "Positions", "layered", "place", "second_line"]

HEADER = Frame.header


@dataclass(frozen=True, eq=False)
class Positions:
    """`box` float32 (n, 4): left, top, width, height per item, absolute pixels, y down.

    `route_start` (m + 1 offsets) and `route` float32 (p, 2): each edge's points, from source to target.
    """

    box: npt.NDArray[np.float32]
    route_start: npt.NDArray[np.uint32]
    route: npt.NDArray[np.float32]


def place(
    visible: Visible,
    *,
    direction: Direction = "down",
    pinned: Mapping[str, tuple[float, float]] | None = None,
    layout: Layout | None = None,
    memo: Memo | None = None,
) -> Positions:
    """Where items and lines are drawn; `direction` and `pinned` as in Shown.

    `memo` is any dict; give the same one again and only containers whose inside has changed are laid out anew, and
    those near to what they were. `layout` is any networkx layout callable, used for every container instead of the
    layered one.
    """
    with no_collections():
        frame = Frame(visible, right=direction == "right" and layout is None)
        inside, placed = drawn(visible, frame, sizes(visible), {} if memo is None else memo, layout, pinned or {})
        return Positions(*absolute(visible, frame, inside.size, inside.offset, placed))


def layered(graph: Any) -> dict[Any, tuple[float, float]]:
    """Positions of the nodes of a networkx DiGraph in layers, node -> (x, y) of the centre; y grows downwards.

    Nodes may carry `width` and `height` in pixels (64 and 30 else). Cycles and self-loops are welcome.

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> places = tgw.layered(editor.networkx())
    >>> places["x"][1] < places["net/logits"][1]
    True
    """
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    sized = [(float(d.get("width", LEAST_WIDTH)), float(d.get("height", OP_HEIGHT))) for _, d in graph.nodes(data=True)]
    lines = [Line(number[a], number[b]) for a, b in graph.edges() if a != b]
    drawing = arranged(connected(lines, len(nodes)), sized, [None] * len(nodes), ROOT_ASPECT)
    corner = drawing.placed.corner.tolist()
    return {node: (x + w / 2, y + h / 2) for node, (x, y), (w, h) in zip(nodes, corner, sized, strict=True)}
