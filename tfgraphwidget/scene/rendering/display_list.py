"""The display list of a scene: shapes in the order of painting, for SVG and matplotlib.

It is the picture of the browser at a zoom of 1. Each layer has its twin in
`labextension/src/render/canvas`: `_areas`, `_boxes`, `_hatching` in boxes.ts, `_polylines` in
edges.ts, `_edge_labels` in edge-labels.ts, `_names` in labels.ts, the others in marks.ts.
tests/scene/test_display_list.py and labextension/tests/render/pictures.test.ts compare them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import DIFFERS
from tfgraphwidget.hierarchy import TRAINS
from tfgraphwidget.layout import HEADER, second_line
from tfgraphwidget.naming import last_part
from tfgraphwidget.progress import report_each
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.scene.coloring.palette import RAMP_STEPS, BoxColors, Theme
from tfgraphwidget.visible import (
    BADGE,
    CLOSED,
    LOOP_SIGN,
    OP,
    OPEN,
    SMALL,
    TEXT,
    WIDEST_TITLE,
    scope_title,
    shorten,
    text_width,
)

if TYPE_CHECKING:
    from tfgraphwidget.scene.coloring.legend import Legend
    from tfgraphwidget.scene.scene import Paint, Scene

Points = npt.NDArray[np.float64]
Area = tuple[float, float, float, float]
_RADIUS = {OP: 4.0, CLOSED: 8.0, OPEN: 8.0, BADGE: 7.0}

# Sizes of text
_CHIP = 11.0  # of the name of a badge
_MARK = 10.5  # of signs, and of the marks of the boundary
_EDGE_LABEL = 9.5
_BOLD = 1.08  # how much wider bold letters are
_LEADING = 1.15  # height of a line of text at a size of 1
_LEAST_LETTERS = 3  # of a name that was shortened
_NUMBER = re.compile(r"(-?[\d.]+(?:e[+-]?\d+)?)(?: ([kMGTP]?)([A-Za-zµ]*))?$")

# Lengths in pixels
_PADDING = 6.0  # between a border and the name in it
_BEFORE_NOTE = 8.0  # between the title of a scope and its number
_BESIDE_LINES = 4.0  # between that number and the lines beside it
_PLATE_HEIGHT = 13.0  # of what covers the line below its text
_PLATE_SIDES = 4.0  # by which it is wider than the text
_SIGN = 8.0  # the radius of a loop's sign
_WARNING = 8.5  # half the width of a warning sign
_RIM = 3.0  # around a warning sign
_WARNING_OUTSIDE = 7.0  # from the left border of a box to the middle of its warning sign
_OUTSIDE = 5.0  # from the border of a box to the middle of its sign: names begin at the border
_OUTSIDE_BADGE = 7.0  # the same of a badge
_COUNT_HEIGHT = 15.0  # of the number of a group
_COUNT_ABOVE = 11.0  # how much of it is above the group's box
_CORNER = 10.0  # radius of the corners of a line
_ARROW = 6.0  # least length of an arrow head
_WIDEST = 5.0  # width of a line
_CONTROL_DASH = (4.0, 3.0)
_DOT = 4.0  # radius
_LEGEND_SIDES = 16.0
_LEGEND_ROW = 20.0
_LEGEND_GAP = 12.0
_RAMP_WIDTH = 96.0

_DIFFERENCE_SIGNS = "+~\u2212→"  # in the order of DIFFERS


@dataclass(frozen=True)
class Box:
    """A rectangle with round corners; without `line` it has no border, without `fill` only it."""

    place: Area
    radius: float
    fill: str
    line: str = ""
    thick: float = 1.0
    dash: tuple[float, ...] = ()
    alpha: float = 1.0


@dataclass(frozen=True)
class Polyline:
    """A line; `corner` is the radius of its corners, `head` the corners of its end's triangle."""

    points: Points
    line: str
    thick: float
    dash: tuple[float, ...] = ()
    alpha: float = 1.0
    corner: float = 0.0
    head: Points | None = None


@dataclass(frozen=True)
class Triangle:
    """A filled triangle, float64 (3, 2)."""

    points: Points
    fill: str


@dataclass(frozen=True)
class Label:
    """A line of text; `x` is its middle, or its left end; `y` its middle.

    A `rim` of that color covers lines below: around the letters, or on the `plate` of a text in the
    middle of a line.
    """

    x: float
    y: float
    text: str
    size: float
    color: str
    middle: bool = True
    rim: str = ""
    bold: bool = False
    upright: bool = False

    @property
    def plate(self) -> Area:
        """Left, top, width and height of what covers an edge's line at its text, unturned."""
        wide = text_width(self.text) * self.size + _PLATE_SIDES
        return self.x - wide / 2, self.y - _PLATE_HEIGHT / 2, wide, _PLATE_HEIGHT


Shape = Box | Polyline | Triangle | Label


@dataclass(frozen=True, eq=False)
class DisplayList:
    """The list of shapes to paint in `area` (left, top, width, height); `theme` has the colors."""

    area: Area
    theme: Theme
    shapes: tuple[Shape, ...]


def build_display_list(
    scene: Scene, theme: Theme, paint: Paint | None = None, area: Area | None = None
) -> DisplayList:
    """Compute the shapes of a scene.

    Args:
        area: The part to draw as (left, top, width, height) in pixels; None for all.
    """
    whole: Area = tuple(scene.box[0].tolist())
    area = whole if area is None else area
    if paint is None:
        paint = scenes.paint(scene, np.zeros(len(scene.index), dtype=bool))
    shapes = tuple(_Painter(scene, theme, paint, area).shapes())
    if paint.legend is None:
        return DisplayList(area, theme, shapes)
    left, top, width, height = area
    legend, strip = _legend(paint.legend, theme, (left, top + height, width))
    return DisplayList((left, top, width, height + strip), theme, (*shapes, *legend))


class _Painter:
    def __init__(self, scene: Scene, theme: Theme, paint: Paint, area: Area) -> None:
        self._scene, self._theme, self._paint, self._marks = scene, theme, paint, theme.marks
        self._boxes_of: list[Area] = [tuple(box) for box in scene.box.tolist()]
        self._items = [item for item in np.flatnonzero(_touches(scene.box, area)).tolist() if item]
        self._edges = _edges_in(scene, area)
        self._notes, self._values = paint.notes, paint.values
        self._selecting, self._colored = bool(paint.coverage.any()), bool(paint.tint.any())
        self._comparing = bool(paint.differs.any())
        self._depth = [0] * len(scene)
        for item, parent in enumerate(scene.parent.tolist()):
            self._depth[item] = self._depth[parent] + 1 if item else 0
        self._tall = scene.box[:, 3].copy()  # the part of a box above its badges
        badges = np.flatnonzero(scene.kind == BADGE)
        around = scene.parent[badges]
        np.minimum.at(self._tall, around, scene.box[badges, 1] - scene.box[around, 1])

    def shapes(self) -> Iterator[Shape]:
        """All, layer by layer. In a layer boxes are below lines, lines below text."""
        yield from self._areas()
        yield from self._polylines()
        yield from self._boxes()
        yield from self._hatching()
        marks: tuple[Callable[[int], Iterator[Shape]], ...]
        marks = (self._dotted_frame, self._function_mark, self._count, self._pin, self._glow)
        for layer in marks:
            yield from _in_order(shape for item in self._items for shape in layer(item))
        yield from _in_order(self._loop_signs())
        yield from self._edge_labels()
        for item in self._items:
            yield from self._header(item) if self._scene.kind[item] == OPEN else self._names(item)
        for layer in (self._boundary_marks, self._signs, self._effect_sign):
            yield from _in_order(shape for item in self._items for shape in layer(item))

    def _areas(self) -> Iterator[Box]:
        scene = self._scene
        for item in self._items:
            if scene.kind[item] == OPEN:
                colors = self._area_colors(item)
                line, thick = colors.border, 1.0
                if self._paint.coverage[item] == 2:
                    line, thick = self._marks["selected"], 2.0
                dash = (5.0, 3.0) if scene.members[item] else ()
                yield self._box(item, colors.fill, line, thick, dash)

    def _area_colors(self, item: int) -> BoxColors:
        levels = self._theme.training if self._scene.part[item] else self._theme.levels
        return levels[min(self._depth[item], len(levels) - 1)]

    def _box(
        self,
        item: int,
        fill: str,
        line: str,
        thick: float = 1.0,
        dash: tuple[float, ...] = (),
        gap: float = -0.5,
    ) -> Box:
        """An item's box, grown by a gap on every side."""
        radius = _RADIUS[int(self._scene.kind[item])] + max(gap, 0.0)
        return Box(_expand_place(self._boxes_of[item], gap), radius, fill, line, thick, dash)

    def _boxes(self) -> Iterator[Box]:
        """Ops, closed scopes with cards under them, and badges, which lie in consumers' boxes."""
        scene = self._scene
        for badges in (False, True):
            for item in self._items:
                kind = int(scene.kind[item])
                if kind == OPEN or (kind == BADGE) is not badges:
                    continue
                colors = self._colors(item)
                thick = 2.0 if colors in self._theme.selection else 1.0
                for card in range(self._cards(item), 0, -1):
                    x, y, w, h = _expand_place(self._boxes_of[item], -0.5)
                    place = x + 3 * card, y + 3 * card, w - 6 * card, h
                    yield Box(place, _RADIUS[kind], colors.fill, colors.border, thick)
                yield self._box(item, colors.fill, colors.border, thick)

    def _cards(self, item: int) -> int:
        """How many cards are under a box: one under a closed scope, two under a group of them."""
        if self._scene.kind[item] != CLOSED:
            return 0
        return 2 if self._scene.members[item] else 1

    def _colors(self, item: int) -> BoxColors:
        scene, paint, theme = self._scene, self._paint, self._theme
        code = int(paint.differs[item])
        difference_colors = theme.differs[code]
        # Where numbers are colored, a sign beside the box is enough for another name.
        is_sign_enough = self._colored and DIFFERS[code] == "renamed"
        if difference_colors and not is_sign_enough:
            return difference_colors
        covered, kind = int(paint.coverage[item]), int(scene.kind[item])
        if self._colored and covered < 2:
            return theme.tints[int(paint.tint[item])]
        noted = paint.mark[item] or paint.fresh[item]
        aside = scene.aside[item] and kind != BADGE
        pale = self._selecting or self._comparing or aside or paint.unused[item]
        quiet = not covered and not noted and pale
        if scene.part[item] and kind == CLOSED and not covered and not quiet:
            return theme.training_box
        family = int(scene.family[item])
        if covered == 2:
            return theme.selection[family]
        return theme.quiet[family] if quiet else theme.box[family]

    def _hatching(self) -> Iterator[Shape]:
        """Diagonal lines over what is partly selected."""
        for item in self._items:
            if self._paint.coverage[item] != 1 or self._scene.kind[item] != CLOSED:
                continue
            box = self._box(item, "", self._marks["partly"], 2.0)
            x, y, w, h = box.place
            for start in np.arange(x - h, x + w, 9.0).tolist():
                left, right = max(start, x), min(start + h, x + w)
                if left < right:
                    diagonal = np.array(
                        [[left, y + h - (left - start)], [right, y + h - (right - start)]]
                    )
                    yield Polyline(diagonal, self._marks["partly"], 1.5, alpha=0.3)
            yield box

    def _dotted_frame(self, item: int) -> Iterator[Shape]:
        if self._paint.unused[item] and self._scene.kind[item] not in (OPEN, BADGE):
            yield self._box(item, "", self._marks["faint"], 1.5, (2.0, 3.0))

    def _function_mark(self, item: int) -> Iterator[Shape]:
        """The second frame and arrow of an op that calls a function; a closed scope's arrow."""
        scene, calls = self._scene, int(self._scene.calls[item])
        if not calls or (calls == 2 and scene.kind[item] != CLOSED):
            return
        colors, (x, y, w, h) = self._colors(item), self._boxes_of[item]
        if calls == 1:  # the op itself calls a function
            yield self._box(item, "", colors.border, gap=-3.5)
            size, color, at_y = 1.0, colors.text, y + 1.0
        else:  # ops in the scope do
            size, color = 0.72, colors.faint
            at_y = y + h - 2 * size
        at_x, half, thick = x + w - 2 * size, 3 * size, max(1.0, 1.4 * size)
        yield _circle(at_x, at_y, 7.5 * size, colors.fill, colors.border)
        yield Polyline(
            np.array([[at_x + half, at_y - half], [at_x - half, at_y + half]]), color, thick
        )
        head = [
            [at_x - half, at_y - 0.6 * half],
            [at_x - half, at_y + half],
            [at_x + 0.6 * half, at_y + half],
        ]
        yield Polyline(np.array(head), color, thick)

    def _count(self, item: int) -> Iterator[Shape]:
        """The number of siblings, on the upper right corner of a group."""
        members = int(self._scene.members[item])
        if members < 2 or self._scene.kind[item] != CLOSED:
            return
        text, theme = f"×{members}", self._theme
        place = _count_place(self._boxes_of[item], members)
        _, y, wide, high = place
        yield Box(place, 7.5, theme.background, self._colors(item).border, 1.25)
        yield Label(place[0] + wide / 2, y + high / 2 + 0.5, text, _MARK, theme.text, bold=True)

    def _pin(self, item: int) -> Iterator[Shape]:
        if self._scene.pinned[item]:
            x, y = self._boxes_of[item][0] + 5, self._boxes_of[item][1] - 1
            yield Polyline(np.array([[x, y], [x, y + 7]]), self._theme.text, 1.25)
            yield _circle(x, y, 3.5, self._marks["selected"], self._theme.background, 1.25)

    def _glow(self, item: int) -> Iterator[Shape]:
        if self._paint.fresh[item]:
            for gap, alpha in ((4.0, 0.15), (2.5, 0.3), (1.0, 0.8)):
                frame = self._box(item, "", self._marks["fresh"], 1.75, gap=gap)
                yield replace(frame, alpha=alpha)

    def _boundary_marks(self, item: int) -> Iterator[Shape]:
        """The marks of the boundary: "in" above a consumer or below its source; "out" below."""
        mark = int(self._paint.mark[item])
        if not mark or self._scene.kind[item] == OPEN:
            return
        x, y, w, h = self._boxes_of[item]
        inputs, outputs = self._marks["input_mark"], self._marks["output_mark"]
        above, below, left = y - 7, y + h + 7, x + min(8.0, w / 2)
        for bit, text, middle, color in (
            (scenes.INPUT_MARK, "in", above, inputs),
            (scenes.SOURCE_MARK, "in", below, inputs),
            (scenes.OUTPUT_MARK, "out", below, outputs),
        ):
            if not mark & bit:
                continue
            wide, down = text_width(text) * _MARK * _BOLD + 24, 1 if text == "in" else -1
            yield Box((left, middle - 8, wide, 16.0), 8.0, color, self._theme.background, 1.5)
            tip = left + 10, middle + 3.15 * down
            corners = [[left + 6.5, middle - 2.8 * down], [left + 13.5, middle - 2.8 * down], tip]
            yield Triangle(np.array(corners), self._marks["on_mark"])
            yield Label(
                left + 16,
                middle + 0.5,
                text,
                _MARK,
                self._marks["on_mark"],
                middle=False,
                bold=True,
            )

    def _signs(self, item: int) -> Iterator[Shape]:
        """On the left border differences, `_DIFFERENCE_SIGNS`, on the right probes ("✓", "!").

        A badge has a sign only if it differs in another way than the op that reads it, and beside
        its name.
        """
        if self._scene.kind[item] == OPEN:
            return
        x, y, w, h = self._boxes_of[item]
        differs, probed = int(self._paint.differs[item]), int(self._paint.probed[item])
        is_badge = self._scene.kind[item] == BADGE
        if is_badge and differs == self._paint.differs[self._scene.parent[item]]:
            differs = 0
        left = x - (_OUTSIDE_BADGE if is_badge else _OUTSIDE)
        right = x + w + (0 if is_badge else _OUTSIDE)
        signs = []
        if differs:
            signs.append((left, _DIFFERENCE_SIGNS[differs - 1], DIFFERS[differs]))
        if probed:
            signs.append((right, "!", "warned") if probed == 2 else (right, "✓", "input_mark"))
        for at_x, sign, color in signs:
            yield _circle(at_x, y + h / 2, 7.0, self._marks[color], self._theme.background, 1.5)
            yield Label(at_x, y + h / 2 + 0.5, sign, _MARK, self._marks["on_mark"], bold=True)

    def _effect_sign(self, item: int) -> Iterator[Shape]:
        """A warning sign at the lower left of what does more than compute, in an untrusted file."""
        if not self._paint.effects[item] or self._scene.kind[item] == OPEN:
            return
        x, y, _, h = self._boxes_of[item]
        x -= _WARNING_OUTSIDE
        for size, color in (
            (_WARNING + _RIM, self._theme.background),
            (_WARNING, self._marks["output_mark"]),
        ):
            corners = [
                [x - size, y + h + 0.8 * size],
                [x + size, y + h + 0.8 * size],
                [x, y + h - 0.9 * size],
            ]
            yield Triangle(np.array(corners), color)
        yield Label(x, y + h + 1.5, "!", _MARK, self._marks["on_mark"], bold=True)

    def _polylines(self) -> Iterator[Polyline]:
        """The lines, the palest first."""
        lines = [self._polyline(edge) for edge in report_each(self._edges, "Drawing the lines")]
        yield from sorted(lines, key=lambda line: line.alpha)

    def _polyline(self, edge: int) -> Polyline:
        scene = self._scene
        points = _route(scene, edge)
        source, target = int(scene.source[edge]), int(scene.target[edge])
        tensors = int(scene.tensors[edge])
        comes_from_outside = source and scene.parent[target] == source
        if comes_from_outside and points[0, 1] - scene.box[source, 1] <= HEADER + 2:
            # From the border on, it is one with the outside.
            points[0, 1] = min(scene.box[source, 1], points[0, 1])
        thick = thickness(tensors, float(scene.bytes[edge])) if tensors else 1.0
        if scene.back[edge]:
            thick = max(thick, 2.0)
        goes_outside = scene.parent[source] == target
        return Polyline(
            points,
            self._line_color(edge),
            thick,
            dash=() if tensors else _CONTROL_DASH,
            alpha=self._line_alpha(edge),
            corner=_CORNER,
            head=None if goes_outside else _arrow_head(points, thick),
        )

    def _line_color(self, edge: int) -> str:
        if self._paint.selected_line[edge]:
            return self._marks["selected"]
        if self._scene.back[edge]:
            return self._marks["back"]
        return self._marks["edge" if self._scene.tensors[edge] else "control_edge"]

    def _line_alpha(self, edge: int) -> float:
        """The opacity of a line: pale at what nothing uses, and outside of a selection."""
        scene, paint = self._scene, self._paint
        if scene.back[edge]:
            return 1.0
        if paint.unused[scene.source[edge]] or paint.unused[scene.target[edge]]:
            alpha = 0.35
        elif self._selecting and not paint.selected_line[edge]:
            alpha = 0.45
        else:
            alpha = 0.85
        return alpha if scene.tensors[edge] else 0.8 * alpha

    def _loop_signs(self) -> Iterator[Shape]:
        """A circular arrow on the back edge of a loop."""
        back = self._marks["back"]
        for edge in self._edges:
            if not self._scene.back[edge]:
                continue
            (x1, y1), (x2, y2) = self._longest_pieces[edge].tolist()
            x, y, radius = (x1 + x2) / 2, (y1 + y2) / 2, 4.0
            yield _circle(x, y, _SIGN, self._theme.background, back, 1.5)
            angles = np.linspace(-0.25 * np.pi, 1.35 * np.pi, 24)
            ring = np.array([x, y]) + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
            yield Polyline(ring, back, 1.5)
            yield Polyline(
                ring[0] + radius * np.array([[-0.75, -0.05], [0.1, 0.1], [0.15, -0.8]]), back, 1.5
            )

    @cached_property
    def _longest_pieces(self) -> npt.NDArray[np.float64]:
        """The ends of the longest straight piece of each edge, float64 (m, 2, 2)."""
        scene = self._scene
        result = np.zeros((len(scene.source), 2, 2))
        for edge in range(len(scene.source)):
            points = scene.route[scene.route_start[edge] : scene.route_start[edge + 1]]
            if len(points) > 1:
                longest = int(np.argmax(np.hypot(*np.diff(points, axis=0).T)))
                result[edge] = points[longest : longest + 2]
        return result

    def _pieces_for_label(self, edge: int) -> npt.NDArray[np.float64]:
        """The pieces of an edge that a label may be on, longest first, float64 (k, 2, 2)."""
        scene = self._scene
        if scene.tensors[edge] == 1 and not self._edge_value(edge):
            return self._longest_pieces[edge : edge + 1]
        points = scene.route[scene.route_start[edge] : scene.route_start[edge + 1]].astype(float)
        lengths = np.hypot(*np.diff(points, axis=0).T)
        return np.stack([points[:-1], points[1:]], axis=1)[np.argsort(-lengths, kind="stable")]

    def _keep_free_of_labels(self, places: _LabelPlaces) -> None:
        """Take the places of the signs on edges that lead back, and of the marks on boxes."""
        for edge in np.flatnonzero(self._scene.back).tolist():
            x, y = self._longest_pieces[edge].mean(axis=0).tolist()
            places.keep((x - _SIGN, y - _SIGN, x + _SIGN, y + _SIGN))
        for item in self._items:
            marks = (self._boundary_marks(item), self._signs(item), self._effect_sign(item))
            for shape in chain.from_iterable(marks):
                if isinstance(shape, Box):
                    x, y, wide, high = shape.place
                    places.keep((x, y, x + wide, y + high))
                elif isinstance(shape, Triangle):
                    left, top = shape.points.min(axis=0).tolist()
                    right, bottom = shape.points.max(axis=0).tolist()
                    places.keep((left, top, right, bottom))

    def _edge_labels(self) -> Iterator[Shape]:
        """The shape, value or number of the tensors of a line, where no box, mark, other line or
        other label is.

        Of a value a shorter text or a dot remains where there is no room.
        """
        places, labeled = _LabelPlaces(self._scene), set[int]()
        self._keep_free_of_labels(places)
        for edge in self._edges:
            source = int(self._scene.source[edge])
            # Lines with a value that leave the same box have the same one.
            may_cover = source if self._edge_value(edge) else -1
            for text in self._edge_texts(edge):
                pieces, wide = self._pieces_for_label(edge), text_width(text) * 12 + 4
                place = places.take(edge, pieces, wide, may_cover)
                if place:
                    labeled.add(source)
                    yield self._edge_label(edge, text, *place)
                    break
        for edge in self._edges:
            source = int(self._scene.source[edge])
            if self._edge_value(edge) and source not in labeled:
                x, y = self._longest_pieces[edge].mean(axis=0).tolist()
                color = self._marks["warned" if self._paint.probed[source] == 2 else "input_mark"]
                yield _circle(x, y, _DOT, color, "")

    def _edge_label(self, edge: int, text: str, x: float, y: float, upright: bool) -> Label:
        scene = self._scene
        source, target = int(scene.source[edge]), int(scene.target[edge])
        around = source if scene.parent[target] == source else int(scene.parent[source])
        rim = self._area_colors(max(around, 0)).fill
        return Label(x, y, text, _EDGE_LABEL, self._marks["faint"], rim=rim, upright=upright)

    def _edge_value(self, edge: int) -> str:
        return self._values[int(self._scene.source[edge])] if self._scene.tensors[edge] else ""

    def _edge_texts(self, edge: int) -> tuple[str, ...]:
        """The texts that a line may have, the longest first."""
        if self._scene.back[edge]:
            return ()  # a way back has its sign there
        if value := self._edge_value(edge):
            return tuple(dict.fromkeys([value, value.split(",")[0]]))
        tensors = int(self._scene.tensors[edge])
        if tensors > 1:
            return (f"×{tensors}",)
        text = self._scene.edge_labels[edge] if tensors else ""
        return (text,) if text else ()

    def _names(self, item: int) -> Iterator[Label]:
        """The name of a box, and the small line below it."""
        kind, colors = int(self._scene.kind[item]), self._colors(item)
        x, y, w, _ = self._boxes_of[item]
        tall, below = float(self._tall[item]), self._second(item)
        two = bool(below) and tall >= (TEXT + SMALL) * _LEADING
        shift = min(6.5, tall * 0.23) if two else 0.0
        size, padding = (_CHIP, 4.0) if kind == BADGE else (TEXT, _PADDING)
        sign = LOOP_SIGN if self._scene.loop[item] else ""
        if tall >= size * _LEADING:
            text = _shorten_to(f"{sign}{self._name(item)}", w - 2 * padding, size)
            yield from _label(x + w / 2, y + tall / 2 - shift, text, size, colors.text)
        if two:
            yield from _label(x + w / 2, y + tall / 2 + shift * 1.25, below, SMALL, colors.faint)

    def _second(self, item: int) -> str:
        """The text below a name: the coloring's note, a run's mean, or a closed scope's size."""
        scene, kind = self._scene, int(self._scene.kind[item])
        if kind == BADGE:
            return ""
        room = self._boxes_of[item][2] - 2 * _PADDING + 4
        if self._notes[item]:
            return _note_in(self._notes[item], room)
        mean = self._values[item].split(",")[0]
        texts = [mean, mean.removeprefix("mean ")]
        if kind == CLOSED:
            count = int(scene.count[item])
            texts += [second_line(count, int(scene.variables[item])), second_line(count, 0)]
        return next((text for text in texts if text and text_width(text) * SMALL <= room), "")

    def _header(self, item: int) -> Iterator[Label]:
        """The text of an open scope's header."""
        scene, colors = self._scene, self._area_colors(item)
        x, y, w, _ = self._boxes_of[item]
        title = scope_title(
            self._name(item),
            int(scene.members[item]),
            is_loop=bool(scene.loop[item]),
            is_training=scene.part[item] == TRAINS != scene.part[scene.parent[item]],
        )
        text = shorten(title, min(w - 2 * _PADDING, WIDEST_TITLE) / _BOLD / TEXT)
        color = self._marks["selected"] if self._paint.coverage[item] == 2 else colors.text
        yield Label(
            x + _PADDING,
            y + HEADER / 2,
            text,
            TEXT,
            color,
            middle=False,
            rim=colors.fill,
            bold=True,
        )
        note = self._notes[item]
        left = x + _PADDING + text_width(text) * TEXT * _BOLD + _BEFORE_NOTE
        width = text_width(note) * SMALL
        for line in self._header_lines.get(item, ()):
            if left - _BESIDE_LINES < line < left + width + _BESIDE_LINES:
                left = line + _BESIDE_LINES
        if note and left + width <= x + w - _PADDING:
            yield Label(
                left, y + HEADER / 2, note, SMALL, colors.faint, middle=False, rim=colors.fill
            )

    @cached_property
    def _header_lines(self) -> Mapping[int, list[float]]:
        """The x of the lines that come in through the header of each open scope, ascending."""
        scene = self._scene
        edges = np.flatnonzero(scene.source == scene.parent[scene.target])
        first = scene.route[scene.route_start[edges].astype(np.int64)]
        scopes = scene.source[edges]
        from_above = first[:, 0] > scene.box[scopes, 0] + 1
        lines: dict[int, list[float]] = {}
        pairs = zip(scopes[from_above].tolist(), first[from_above, 0].tolist(), strict=True)
        for item, x in sorted(pairs):
            lines.setdefault(item, []).append(x)
        return lines

    def _name(self, item: int) -> str:
        """The label of a box: "(w)" on an op in the scope of its own name."""
        scene = self._scene
        name = scene.names[item]
        if scene.labels[item]:
            return scene.labels[item]
        in_own_scope = scene.kind[item] == OP and name == scene.names[scene.parent[item]]
        return f"({last_part(name)})" if in_own_scope else last_part(name)


def _count_place(box: Area, members: int) -> Area:
    """The place of the number of siblings on a box."""
    x, y, width, _ = box
    wide = text_width(f"×{members}") * _MARK + 13
    return x + width - wide + 7, y - _COUNT_ABOVE, wide, _COUNT_HEIGHT


class _LabelPlaces:
    """The free places for labels of lines; boxes and lines are sought in a label's bands."""

    # Pixels
    _BAND = 256.0  # height of a band
    _HEIGHT = 15.0  # of a label
    _ROOM = 16.0  # that the piece of a line has beyond its label
    _BESIDE = 3.0  # between a line and the label beside it

    def __init__(self, scene: Scene) -> None:
        starts = scene.route_start.astype(np.int64)
        edges = np.repeat(np.arange(len(scene.source)), starts[1:] - starts[:-1])
        pieces = np.flatnonzero(edges[1:] == edges[:-1])
        low = np.minimum(scene.route[pieces], scene.route[pieces + 1])
        high = np.maximum(scene.route[pieces], scene.route[pieces + 1])
        self._lines = np.concatenate([low, high], axis=1).astype(float)
        self._line_edge = edges[pieces]
        self._line_source = scene.source[self._line_edge]
        self._tensors = scene.tensors
        corners = scene.box.astype(float)
        corners[:, 2:] += corners[:, :2]
        counts = []
        for item in np.flatnonzero((scene.members > 1) & (scene.kind == CLOSED)).tolist():
            box = tuple(scene.box[item].tolist())
            x, y, wide, tall = _count_place(box, int(scene.members[item]))
            counts.append((x, y, x + wide, y + tall))
        self._boxes = np.concatenate([corners[1:], np.reshape(counts, (-1, 4))])
        self._open = np.concatenate([scene.kind[1:] == OPEN, np.zeros(len(counts), bool)])
        self._line_bands, self._box_bands = self._in_bands(self._lines), self._in_bands(self._boxes)
        self._areas: dict[int, list[Area]] = {}

    def _in_bands(self, corners: np.ndarray) -> dict[int, npt.NDArray[np.intp]]:
        """The numbers of the rectangles by band."""
        bands: dict[int, list[int]] = {}
        first = np.floor(corners[:, 1] / self._BAND).astype(int).tolist()
        last = np.floor(corners[:, 3] / self._BAND).astype(int).tolist()
        for number, (top, bottom) in enumerate(zip(first, last, strict=True)):
            for band in range(top, bottom + 1):
                bands.setdefault(band, []).append(number)
        return {band: np.array(numbers) for band, numbers in bands.items()}

    def take(
        self, edge: int, pieces: npt.NDArray[np.float64], wide: float, source: int
    ) -> tuple[float, float, bool] | None:
        """The middle of the label of an edge, and whether it is upright; None without room.

        The label may be on one of the pieces, and cover lines from the item `source`. Without such
        an item, the label of several tensors may be beside an upright piece that is short.
        """
        places = (self._place(edge, piece, wide, source) for piece in pieces.tolist())
        corners, upright = next((place for place in places if place), (None, False))
        if corners is None:
            return None
        near = chain.from_iterable(self._areas.get(band, ()) for band in self._bands(corners))
        is_free = not any(_overlap(corners, other) for other in near)
        self.keep(corners)  # of two that overlap the first has its text
        if not is_free:
            return None
        left, top, right, bottom = corners
        return (left + right) / 2, (top + bottom) / 2, upright

    def _place(
        self, edge: int, piece: list[list[float]], wide: float, source: int
    ) -> tuple[Area, bool] | None:
        (x1, y1), (x2, y2) = piece
        x, y, across, down = (x1 + x2) / 2, (y1 + y2) / 2, abs(x2 - x1), abs(y2 - y1)
        half, low = wide / 2, self._HEIGHT / 2
        lying = (x - half, y - low, x + half, y + low)
        standing = (x - low, y - half, x + low, y + half)
        lies = across >= wide + self._ROOM or (across < 1 and down >= self._HEIGHT + self._ROOM)
        if lies and self._is_free(edge, lying, source):
            return lying, False
        if across < 1 and down >= wide + self._ROOM and self._is_free(edge, standing, source):
            return standing, True
        if across >= 1 or down < self._HEIGHT or source >= 0 or self._tensors[edge] < 2:
            return None
        sides = (x + self._BESIDE, x - self._BESIDE - wide)
        for left in sides:
            beside = (left, y - low, left + wide, y + low)
            if self._is_free(-1, beside, source):
                return beside, False
        return None

    def keep(self, corners: Area) -> None:
        """Keep labels away from a rectangle."""
        for band in self._bands(corners):
            self._areas.setdefault(band, []).append(corners)

    def _bands(self, corners: Area) -> range:
        return range(int(corners[1] // self._BAND), int(corners[3] // self._BAND) + 1)

    def _is_free(self, edge: int, corners: Area, source: int) -> bool:
        for band in self._bands(corners):
            lines = self._line_bands.get(band, _NONE)
            others = (self._line_edge[lines] != edge) & (self._line_source[lines] != source)
            if np.any(_overlaps(self._lines[lines], corners) & others):
                return False
            boxes = self._box_bands.get(band, _NONE)
            near = self._boxes[boxes]
            left, top, right, bottom = corners
            around = (
                (near[:, 0] < left)
                & (near[:, 1] < top)
                & (near[:, 2] > right)
                & (near[:, 3] > bottom)
            )
            if np.any(_overlaps(near, corners) & ~(self._open[boxes] & around)):
                return False
        return True


_NONE = np.zeros(0, dtype=np.intp)


def _overlaps(all_corners: np.ndarray, corners: Area) -> npt.NDArray[np.bool_]:
    left, top, right, bottom = corners
    overlaps: npt.NDArray[np.bool_] = (
        (all_corners[:, 0] < right)
        & (all_corners[:, 2] > left)
        & (all_corners[:, 1] < bottom)
        & (all_corners[:, 3] > top)
    )
    return overlaps


def _overlap(a: Area, b: Area) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _in_order(shapes: Iterator[Shape]) -> list[Shape]:
    """Boxes, lines, triangles, texts: matplotlib draws each run of a type at once."""
    return sorted(shapes, key=lambda shape: (Box, Polyline, Triangle, Label).index(type(shape)))


def _touches(box: np.ndarray, area: Area) -> npt.NDArray[np.bool_]:
    left, top, width, height = area
    touching: npt.NDArray[np.bool_] = (
        (box[:, 0] <= left + width)
        & (box[:, 0] + box[:, 2] >= left)
        & (box[:, 1] <= top + height)
        & (box[:, 1] + box[:, 3] >= top)
    )
    return touching


def _edges_in(scene: Scene, area: Area) -> list[int]:
    """The edges with a line that touches the area."""
    edges = []
    for edge in range(len(scene.source)):
        points = scene.route[scene.route_start[edge] : scene.route_start[edge + 1]]
        if len(points) > 1:
            low = points.min(axis=0)
            if _touches(np.array([[*low, *(points.max(axis=0) - low)]]), area)[0]:
                edges.append(edge)
    return edges


def _route(scene: Scene, edge: int) -> Points:
    return scene.route[scene.route_start[edge] : scene.route_start[edge + 1]].astype(float)


def thickness(tensors: int, size: float) -> float:
    """The width of a line in pixels, by the largest tensor's bytes and the tensors' number."""
    by_size = by_number = 0.0
    if size > 0:  # half a pixel for each factor of ten above a kilobyte, up to six
        by_size = 0.55 * min(max(float(np.log10(size)) - 3, 0.0), 6.0)
    if tensors > 1:  # a third of a pixel for each doubling, up to four
        by_number = min(0.35 * float(np.log2(tensors)), 1.4)
    half_pixels = int((1.2 + by_size + by_number) * 2 + 0.5)
    return min(half_pixels / 2, _WIDEST)


def _arrow_head(points: Points, thick: float) -> Points:
    """The corners of the arrow head at the end of a route, float64 (3, 2)."""
    end, along = points[-1], points[-1] - points[-2]
    along = along / max(float(np.hypot(*along)), 1e-9)
    size = max(_ARROW, 1.2 * thick)
    across = max(size * 0.55, 0.9 * thick) * np.array([-along[1], along[0]])
    return np.array([end, end - along * size + across, end - along * size - across])


def _circle(x: float, y: float, radius: float, fill: str, line: str, thick: float = 1.0) -> Box:
    return Box((x - radius, y - radius, 2 * radius, 2 * radius), radius, fill, line, thick)


def _expand_place(place: Area, gap: float) -> Area:
    x, y, w, h = place
    return x - gap, y - gap, w + 2 * gap, h + 2 * gap


def _shorten_to(text: str, room: float, size: float) -> str:
    """The text, shortened to a width in pixels; "" where hardly a letter of it would be left."""
    cut = shorten(text, room / size)
    return cut if cut == text or len(cut) >= _LEAST_LETTERS else ""


def _note_in(note: str, room: float) -> str:
    """Fit the note of a box: text is cut, FLOPs and bytes lose their unit or are left out."""
    number = _NUMBER.match(note)
    if number is None:
        return _shorten_to(note, room, SMALL)
    short = f"{number[1]} {number[2] or ''}".strip() if number[3] in {"FLOP", "B"} else note
    return next((text for text in (note, short) if text_width(text) * SMALL <= room), "")


def _legend(
    legend: Legend, theme: Theme, place: tuple[float, float, float]
) -> tuple[list[Shape], float]:
    """What the colors mean, as rows below the drawing at (left, top, width), and their height."""
    left, top, width = place
    start, end = left + _LEGEND_SIDES, left + width - _LEGEND_SIDES
    x, y = start, top + _LEGEND_ROW
    shapes: list[Shape] = []

    def write(text: str, *, bold: bool = False, faint: bool = False) -> None:
        nonlocal x
        cut = shorten(text, max(end - x, 0.0) / SMALL / _BOLD)
        color = theme.tints[0].faint if faint else theme.text
        shapes.append(Label(x, y, cut, SMALL, color, middle=False, bold=bold))
        x += text_width(cut) * SMALL * _BOLD + _LEGEND_GAP

    def begin_row(wide: float) -> None:
        nonlocal x, y
        if x > start and x + wide > end:
            x, y = start, y + _LEGEND_ROW

    write(f"Color by {legend.by}", bold=True)
    for entry in legend.entries:
        colors = theme.tints[entry.tint]
        count = f"{entry.label} · {entry.ops:,} op{'s' * (entry.ops != 1)}"
        begin_row(26 + text_width(count) * SMALL * _BOLD)
        shapes.append(Box((x, y - 8, 20.0, 16.0), 3.0, colors.fill, colors.border))
        shapes.append(
            Label(x + 10, y, str(entry.tint or "\N{EN DASH}"), SMALL, colors.text, bold=True)
        )
        x += 26
        write(count)
    if legend.high:
        texts_width = text_width(f"{legend.low}{legend.high}") * SMALL * _BOLD
        begin_row(texts_width + 2 * _LEGEND_GAP + _RAMP_WIDTH)
        write(legend.low)
        steps = [colors.fill for colors in theme.tints[-RAMP_STEPS:]]
        wide = _RAMP_WIDTH / len(steps)
        shapes.extend(
            Box((x + wide * k, y - 6, wide + 0.5, 12.0), 0.0, fill) for k, fill in enumerate(steps)
        )
        x += _RAMP_WIDTH + _LEGEND_GAP
        write(legend.high)
    if legend.notice:
        x, y = start, y + _LEGEND_ROW
        write(legend.notice, faint=True)
    strip = y + _LEGEND_ROW - top
    # Of a part of the drawing, what goes on below it is covered.
    return [Box((left, top, width, strip), 0.0, theme.background), *shapes], strip


def _label(x: float, y: float, text: str, size: float, color: str) -> Iterator[Label]:
    if text:
        yield Label(x, y, text, size, color)
