"""The display list of a scene: shapes in the order of painting, for SVG and matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.layout import HEADER, second_line
from tfgraphwidget.naming import last_part
from tfgraphwidget.scene.coloring.palette import DARK, FAMILIES, TINTS, Theme, ramp
from tfgraphwidget.visible import BADGE, CLOSED, LOOP_SIGN, OP, OPEN, SMALL, TEXT, shorten, text_width

if TYPE_CHECKING:
    from tfgraphwidget.scene.scene import Paint, Scene

Points = npt.NDArray[np.float64]
Area = tuple[float, float, float, float]
CHIP = 9.5
_FAMILY_NAMES = tuple(FAMILIES)
_CHIP_HEIGHT = 15.0
_RADIUS = {OP: 5.0, CLOSED: 8.0, OPEN: 8.0, BADGE: 6.5}


@dataclass(frozen=True)
class Box:
    """A rectangle with round corners; without a `line` it has no border."""

    place: Area
    radius: float
    fill: str
    line: str = ""
    thick: float = 1.0
    dash: tuple[float, ...] = ()
    alpha: float = 1.0


@dataclass(frozen=True)
class Polyline:
    """A line with round corners, and with a head at its end."""

    points: Points
    line: str
    thick: float
    dash: tuple[float, ...] = ()
    head: bool = True


@dataclass(frozen=True)
class Label:
    """A line of text; `x` is its middle, or its left end; `y` its middle. A `rim` of that color covers lines below."""

    x: float
    y: float
    text: str
    size: float
    color: str
    middle: bool = True
    rim: str = ""


Shape = Box | Polyline | Label


@dataclass(frozen=True, eq=False)
class DisplayList:
    """What there is to paint in `area` (left, top, width, height), layer by layer; `theme` has its colors."""

    area: Area
    theme: Theme
    areas: tuple[Box, ...]
    polylines: tuple[Polyline, ...]
    boxes: tuple[Box, ...]
    labels: tuple[Label, ...]


def build_display_list(scene: Scene, theme: Theme, paint: Paint | None = None, area: Area | None = None) -> DisplayList:
    """Compute the shapes of a scene.

    Args:
        scene: The scene.
        theme: The colors of the theme.
        paint: The selection and the colors.
        area: The part to draw as (left, top, width, height) in pixels; None for all.
    """
    whole: Any = tuple(scene.box[0].tolist())
    area = whole if area is None else area
    pen = _Pen(scene, theme, paint)
    items = [item for item in np.flatnonzero(_touches(scene.box, area)).tolist() if item]
    opened = [item for item in items if scene.kind[item] == OPEN]
    others = [item for item in items if scene.kind[item] != OPEN]
    return DisplayList(
        area,
        theme,
        tuple(pen.open_scope(item) for item in opened),
        tuple(way for edge in range(len(scene.source)) if (way := pen.polyline(edge, area)) is not None),
        tuple(box for item in others for box in pen.boxes(item)),
        tuple(label for item in (*others, *opened) for label in pen.labels(item)),
    )


def _touches(box: npt.NDArray[Any], area: Area) -> npt.NDArray[np.bool_]:
    left, top, width, height = area
    touching: npt.NDArray[np.bool_] = (
        (box[:, 0] <= left + width)
        & (box[:, 0] + box[:, 2] >= left)
        & (box[:, 1] <= top + height)
        & (box[:, 1] + box[:, 3] >= top)
    )
    return touching


class _Pen:
    def __init__(self, scene: Scene, theme: Theme, paint: Paint | None) -> None:
        self._scene, self._theme, self._paint = scene, theme, paint
        self._dark = theme is DARK
        self._ramp = ramp(dark=self._dark)
        self._notes = () if paint is None else paint.notes
        self._level = [0] * len(scene)
        for item, parent in enumerate(scene.parent.tolist()):
            self._level[item] = self._level[parent] + 1 if item else 0
        self._chips = np.bincount(scene.parent[scene.kind == BADGE], minlength=len(scene))

    def open_scope(self, item: int) -> Box:
        """The area of an open scope or group."""
        scene, theme = self._scene, self._theme
        levels = theme.training if scene.part[item] else theme.levels
        fill = levels[min(self._level[item], len(levels) - 1)]
        dash = (5.0, 4.0) if scene.members[item] else ()
        return Box(_place(scene, item), _RADIUS[OPEN], fill, self._line(item), 1.0, dash)

    def boxes(self, item: int) -> Iterator[Box]:
        """The box of an op, a badge, a closed scope or group: of a group with two more behind."""
        scene, theme, paint = self._scene, self._theme, self._paint
        x, y, w, h = _place(scene, item)
        kind = int(scene.kind[item])
        coverage = int(paint.coverage[item]) if paint else 0
        line, alpha = self._line(item), 0.75 if scene.aside[item] else 1.0
        stacked = 0 if kind != CLOSED else 2 if scene.members[item] else 1
        for shift in range(3 * stacked, 0, -3):
            yield Box(
                (x + shift, y + shift, w - 2 * shift, h), _RADIUS[kind], self._fill(item), theme.border, alpha=alpha
            )
        yield Box((x, y, w, h), _RADIUS[kind], self._fill(item), line, 2.5 if coverage else 1.0, alpha=alpha)
        if scene.members[item]:
            wide = _pill(int(scene.members[item]))
            yield Box((x + w - wide + 4, y - 7, wide, 15.0), 7.5, theme.border)
        for bit, color, at in ((1, theme.input_mark, y), (2, theme.output_mark, y + h), (4, theme.input_mark, y + h)):
            if paint and int(paint.mark[item]) & bit:
                yield Box((x + w / 2 - 5, at - 5, 10.0, 10.0), 5.0, color)

    def _line(self, item: int) -> str:
        theme, paint = self._theme, self._paint
        if paint is None:
            return theme.border
        if paint.fresh[item]:
            return theme.fresh
        return (theme.border, theme.partly, theme.selected)[int(paint.coverage[item])]

    def _fill(self, item: int) -> str:
        paint = self._paint
        tint = int(paint.tint[item]) if paint is not None else 0
        if tint:
            return self._ramp[tint - 128] if tint >= 128 else TINTS[tint - 1][self._dark]
        scene = self._scene
        family = _FAMILY_NAMES[int(scene.family[item])]
        if paint is not None and paint.tint.any():
            family = "other"
        elif scene.part[item] and scene.kind[item] == CLOSED:
            return self._theme.training[3]
        return FAMILIES[family][self._dark]

    def polyline(self, edge: int, area: Area) -> Polyline | None:
        """A line; None where there is none or outside of the area."""
        scene, theme = self._scene, self._theme
        points = scene.route[scene.route_start[edge] : scene.route_start[edge + 1]].astype(float)
        if len(points) < 2:
            return None
        low, high = points.min(axis=0), points.max(axis=0)
        if not _touches(np.array([[*low, *(high - low)]]), area)[0]:
            return None
        source, target = int(scene.source[edge]), int(scene.target[edge])
        if source and scene.parent[target] == source and points[0][1] - scene.box[source, 1] <= HEADER + 2:
            points[0][1] = scene.box[source, 1]  # from the border on, it is one with the line outside
        tensors = int(scene.tensors[edge])
        color = theme.back if scene.back[edge] else theme.edge if tensors else theme.control_edge
        return Polyline(
            points,
            color,
            thickness(tensors, float(scene.bytes[edge])),
            () if tensors else (4.0, 3.0),
            scene.parent[source] != target,
        )

    def labels(self, item: int) -> Iterator[Label]:
        """What is written on an item."""
        scene, theme = self._scene, self._theme
        x, y, w, h = _place(scene, item)
        kind, members = int(scene.kind[item]), int(scene.members[item])
        name = scene.labels[item] or last_part(scene.names[item])
        sign = LOOP_SIGN if scene.loop[item] else ""
        if kind == BADGE:
            yield Label(x + 6, y + h / 2, shorten(name, (w - 8) / CHIP), CHIP, theme.text, middle=False)
            return
        if kind == OPEN:
            text = f"{sign}{name}" + (f"  ×{members}" if members else "")
            text, rim = shorten(text, (w - 20) / TEXT), self.open_scope(item).fill
            yield Label(x + 12, y + HEADER / 2 + 1, text, TEXT, theme.text, middle=False, rim=rim)
            return
        chips = int(self._chips[item])
        tall = h - (_CHIP_HEIGHT * chips + 3 if chips else 0)
        below = self._below(item)
        middle = y + tall / 2 - (0.22 * tall if below else 0)
        yield Label(x + w / 2, middle, shorten(f"{sign}{name}", (w - 10) / TEXT), TEXT, theme.text)
        if below:
            at = y + tall / 2 + min(0.24 * tall, 10)
            yield Label(x + w / 2, at, shorten(below, (w - 6) / SMALL), SMALL, theme.faint_text)
        if members:
            yield Label(x + w + 4 - _pill(members) / 2, y + 0.5, f"×{members}", SMALL, theme.background)

    def _below(self, item: int) -> str:
        """The second line: the note of the color, else how much is in a closed scope."""
        scene = self._scene
        note = self._notes[item] if item < len(self._notes) else ""
        if note or scene.kind[item] != CLOSED:
            return note
        return second_line(int(scene.count[item]), int(scene.variables[item]))


def thickness(tensors: int, size: float) -> float:
    """The width of a line in pixels, by the bytes of its largest tensor; by the number of tensors if unknown."""
    if not tensors:
        return 1.0
    if size > 0:
        return float(min(max(0.18 * np.log2(size) - 1.2, 1.0), 3.5))
    return float(min(1.2 + 0.4 * np.log2(tensors), 3.5))


def _pill(members: int) -> float:
    """How wide the number on a group is."""
    return SMALL * text_width(f"×{members}") + 10


def arrow_head(points: Points, size: float) -> Points:
    """Return the corners of the arrow head at the end of a route, float64 (3, 2)."""
    end, along = points[-1], points[-1] - points[-2]
    along = along / max(float(np.hypot(*along)), 1e-9)
    across = np.array([-along[1], along[0]])
    return np.array([end, end - along * size + across * size * 0.5, end - along * size - across * size * 0.5])


def _place(scene: Scene, item: int) -> Area:
    x, y, w, h = scene.box[item].tolist()
    return x, y, w, h
