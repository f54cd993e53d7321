"""A scene drawn with matplotlib: the same positions and colours as in the browser, for paper and files."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.names import last_part
from tfgraphwidget.view.layout import HEADER, second_line
from tfgraphwidget.view.palette import DARK, FAMILIES, LIGHT, Theme
from tfgraphwidget.view.visible import CLOSED, OP, OPEN

if TYPE_CHECKING:
    from tfgraphwidget.view.scene import Paint, Scene

_DPI = 100.0
_LARGEST = 220.0  # inches; matplotlib's image writers stop at 65,536 pixels
_SUFFIXES = (".svg", ".png", ".pdf")
# Smaller than the browser's 12 and 10 pixels: matplotlib's own font is wider than those of browsers.
_TEXT, _SMALL_TEXT = 11.0, 9.0
_FAMILY_NAMES = tuple(FAMILIES)


def draw(scene: Scene, ax: Axes | None = None, *, paint: Paint | None = None, dark: bool = False) -> Axes:
    """The scene on matplotlib axes, one unit per pixel of the scene; a new figure of fitting size without `ax`.

    `paint` highlights a selection. pyplot is not used: nothing is shown or kept behind the caller's back.
    """
    theme = DARK if dark else LIGHT
    _, _, width, height = scene.box[0].tolist()
    if ax is None:
        shrink = min(1.0, _LARGEST * _DPI / max(width, height))
        figure = Figure(figsize=(width * shrink / _DPI, height * shrink / _DPI), dpi=_DPI, facecolor=theme.background)
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    ax.set_aspect("equal")
    ax.axis("off")
    # Text is sized in points; this is how many points a pixel of the scene takes on these axes.
    point = 72.0 / _DPI * ax.get_window_extent().width / width * _DPI / ax.figure.dpi
    _draw_boxes(scene, ax, theme, paint, point)
    _draw_edges(scene, ax, theme, point)
    _draw_labels(scene, ax, theme, point)
    return ax


def save(scene: Scene, path: str | FilePath, *, paint: Paint | None = None, dark: bool = False) -> None:
    """Write the picture as .svg, .png or .pdf; GraphEditError for another suffix."""
    path = FilePath(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise GraphEditError(f"A picture cannot be saved as {path.name!r}; use a name that ends in .svg, .png or .pdf.")
    figure = draw(scene, paint=paint, dark=dark).get_figure(root=True)
    assert figure is not None
    figure.savefig(path, facecolor=figure.get_facecolor())


def _draw_boxes(scene: Scene, ax: Axes, theme: Theme, paint: Paint | None, point: float) -> None:
    level = _levels(scene)
    for item in range(1, len(scene)):
        x, y, w, h = scene.box[item].tolist()
        kind, coverage = int(scene.kind[item]), int(paint.coverage[item]) if paint else 0
        radius = 10 if kind == OPEN else 15 if kind == OP else 6
        fill = theme.levels[min(level[item], len(theme.levels) - 1)]
        if kind != OPEN:
            fill = FAMILIES[_FAMILY_NAMES[int(scene.family[item])]][theme is DARK]
        line = (theme.border, theme.partly, theme.selected)[coverage]
        if paint and paint.fresh[item]:
            line = theme.fresh
        box = FancyBboxPatch(
            (x, y), w, h, boxstyle=f"round,pad=0,rounding_size={min(radius, h / 2)}", facecolor=fill, edgecolor=line,
            linewidth=(2.5 if coverage else 1.0) * point, alpha=0.75 if scene.aside[item] else 1.0, mutation_aspect=1,
            zorder=1 + level[item] * 0.01,
        )  # fmt: skip
        ax.add_patch(box)
        if kind == CLOSED:
            # The second edge says that there is something inside.
            ax.plot([x + 4, x + 4], [y + 8, y + h - 8], color=theme.border, linewidth=1.6 * point, zorder=2)
        for bit, colour, at in ((1, theme.input_mark, y), (2, theme.output_mark, y + h)):
            if paint and int(paint.mark[item]) & bit and kind != OPEN:
                ax.plot([x + w / 2], [at], "o", color=colour, markersize=9 * point, zorder=6)


def _draw_edges(scene: Scene, ax: Axes, theme: Theme, point: float) -> None:
    heads = []
    for edge in range(len(scene.source)):
        way = scene.route[scene.route_start[edge] : scene.route_start[edge + 1]].astype(float)
        if len(way) < 2:
            continue
        control = scene.tensors[edge] == 0
        colour = theme.control_edge if control else theme.edge
        width = (1.0 if control else 1.2 + 0.5 * np.log2(max(1, scene.tensors[edge]))) * point
        patch = PathPatch(
            _rounded(way), facecolor="none", edgecolor=colour, linewidth=min(width, 4 * point), zorder=3,
            linestyle=(0, (3, 2)) if control else "-", capstyle="butt",
        )  # fmt: skip
        ax.add_patch(patch)
        heads.append(Polygon(_head(way), closed=True, facecolor=colour, edgecolor="none"))
    ax.add_collection(PatchCollection(heads, match_original=True, zorder=4))


def _rounded(way: np.ndarray[Any, Any], radius: float = 7.0) -> Path:
    points, codes = [way[0]], [Path.MOVETO]
    for before, corner, after in zip(way, way[1:], way[2:], strict=False):
        a, b = before - corner, after - corner
        cut = min(radius, float(np.hypot(*a)) / 2, float(np.hypot(*b)) / 2)
        points += [corner + a / max(np.hypot(*a), 1e-9) * cut, corner, corner + b / max(np.hypot(*b), 1e-9) * cut]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path([*points, way[-1]], [*codes, Path.LINETO])


def _head(way: np.ndarray[Any, Any], size: float = 7.0) -> np.ndarray[Any, Any]:
    """The corners of the arrow head at the end of a way."""
    end, along = way[-1], way[-1] - way[-2]
    along = along / max(float(np.hypot(*along)), 1e-9)
    across = np.array([-along[1], along[0]])
    return np.array([end, end - along * size + across * size * 0.5, end - along * size - across * size * 0.5])


def _draw_labels(scene: Scene, ax: Axes, theme: Theme, point: float) -> None:
    for item in range(1, len(scene)):
        x, y, w, h = scene.box[item].tolist()
        name = last_part(scene.names[item])
        if scene.kind[item] == OPEN:
            text = _clipped(name, w - 20)
            ax.text(
                x + 12,
                y + HEADER / 2 + 1,
                text,
                fontsize=_TEXT * point,
                color=theme.text,
                va="center",
                zorder=5,
                parse_math=False,
            )
            continue
        middle = y + h / 2 if scene.kind[item] == OP else y + 16
        text = _clipped(name, w - 12)
        style: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 5, "parse_math": False}
        ax.text(x + w / 2, middle, text, fontsize=_TEXT * point, color=theme.text, **style)
        if scene.kind[item] == CLOSED:
            small = _clipped(second_line(int(scene.count[item]), int(scene.variables[item])), w - 8, 5.7)
            ax.text(x + w / 2, y + 33, small, fontsize=_SMALL_TEXT * point, color=theme.faint_text, **style)


def _clipped(text: str, width: float, letter: float = 6.8) -> str:
    """`text`, or its beginning and end around "…" when it is too wide: numbers at the end tell names apart."""
    room = int(width / letter)
    if len(text) <= room:
        return text
    tail = max(1, room // 3)
    return f"{text[: max(1, room - tail - 1)]}…{text[-tail:]}"


def _levels(scene: Scene) -> list[int]:
    level = [0] * len(scene)
    for item in range(1, len(scene)):
        level[item] = level[int(scene.parent[item])] + 1
    return level
