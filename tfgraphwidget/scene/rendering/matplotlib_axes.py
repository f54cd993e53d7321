"""A scene drawn with matplotlib: the same positions and colors as in the browser, for paper and files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from matplotlib import font_manager, rcParams
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.patheffects import withStroke

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.scene.coloring.palette import DARK, LIGHT
from tfgraphwidget.scene.rendering.display_list import (
    Area,
    Box,
    Label,
    Points,
    Polyline,
    arrow_head,
    build_display_list,
)
from tfgraphwidget.scene.rendering.svg_text import svg

if TYPE_CHECKING:
    from tfgraphwidget.scene.scene import Paint, Scene

_DPI = 100.0
_LARGEST = 220.0  # inches; matplotlib's image writers stop at 65,536 pixels
_MOST_PIXELS = 50e6  # 200 MB while it is drawn
_SUFFIXES = (".svg", ".png", ".pdf")
# matplotlib's own font is wider than those of browsers.
_NARROWER = 0.9
_RADIUS = 7.0
# A line break or a tab in a name is a gap here, as it is in the browser.
_GAPS = dict.fromkeys([*range(32), 127], " ")
# matplotlib's own font has no East Asian letters and no emoji; the first of these that is installed has.
_MORE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Source Han Sans SC", "PingFang SC",
    "Hiragino Sans", "Apple SD Gothic Neo", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "WenQuanYi Zen Hei",
    "Droid Sans Fallback", "Arial Unicode MS", "Noto Emoji", "Segoe UI Emoji", "Symbola",
)  # fmt: skip


def draw(
    scene: Scene,
    ax: Axes | None = None,
    *,
    paint: Paint | None = None,
    dark: bool = False,
    area: Area | None = None,
) -> Axes:
    """Draw a scene on matplotlib axes, one unit per pixel. pyplot is not used: nothing is shown or kept.

    Args:
        scene: The scene.
        ax: The axes; None for those of a new figure of fitting size.
        paint: The selection and the colors.
        dark: Whether to use the dark theme.
        area: The part to draw as (left, top, width, height) in pixels; None for all.

    Returns:
        The axes.
    """
    display = build_display_list(scene, DARK if dark else LIGHT, paint, area)
    left, top, width, height = display.area
    if ax is None:
        shrink = min(1.0, _LARGEST * _DPI / max(width, height), (_MOST_PIXELS / (width * height)) ** 0.5)
        size = (width * shrink / _DPI, height * shrink / _DPI)
        ax = Figure(figsize=size, dpi=_DPI, facecolor=display.theme.background).add_axes((0.0, 0.0, 1.0, 1.0))
    _check(ax)
    ax.set_xlim(left, left + width)
    ax.set_ylim(top + height, top)
    ax.set_aspect("equal")
    ax.axis("off")
    # Text and lines are sized in points; this is how many points a pixel of the scene takes on these axes, once they
    # have the scene's proportions.
    extent = ax.get_window_extent()
    point = 72.0 / ax.figure.dpi * min(extent.width / width, extent.height / height)
    _add_boxes(ax, display.areas, point, 1.0)
    _add_polylines(ax, display.polylines, point)
    _add_boxes(ax, display.boxes, point, 4.0)
    fonts = _fonts()
    for label in display.labels:
        _add_label(ax, label, point, fonts)
    return ax


def save(
    scene: Scene,
    path: str | FilePath,
    *,
    paint: Paint | None = None,
    dark: bool = False,
    area: Area | None = None,
) -> None:
    """Write a picture in the format of the suffix.

    Args:
        scene: The scene.
        path: A file name that ends in .svg, .png or .pdf.
        paint: The selection and the colors.
        dark: Whether to use the dark theme.
        area: The part to draw as (left, top, width, height) in pixels; None for all.

    Raises:
        GraphEditError: For another suffix.
    """
    path = FilePath(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise GraphEditError(f"A picture cannot be saved as {path.name!r}; use a name that ends in .svg, .png or .pdf.")
    with path.open("wb") as file:
        write(scene, file, path.suffix[1:].lower(), paint=paint, dark=dark, area=area)


def write(
    scene: Scene,
    file: BinaryIO,
    kind: str,
    *,
    paint: Paint | None = None,
    dark: bool = False,
    area: Area | None = None,
) -> None:
    """Write a picture to a file object.

    Args:
        scene: The scene.
        file: A binary file.
        kind: "svg", "png" or "pdf".
        paint: The selection and the colors.
        dark: Whether to use the dark theme.
        area: The part to draw as (left, top, width, height) in pixels; None for all.
    """
    if kind == "svg":
        head = '<?xml version="1.0" encoding="UTF-8"?>\n'
        file.write((head + svg(scene, paint=paint, dark=dark, area=area)).encode())
        return
    figure = draw(scene, paint=paint, dark=dark, area=area).get_figure(root=True)
    assert figure is not None
    with warnings.catch_warnings():
        # A letter that no font here has is drawn as an empty box; a warning for each says no more.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(file, facecolor=figure.get_facecolor(), format=kind)


def _check(ax: object) -> None:
    if getattr(ax, "name", "") != "rectilinear":
        raise GraphEditError(
            f"A {type(ax).__name__} cannot be drawn on; give Axes as plt.subplots() makes them, or none."
        )


def _fonts() -> list[str]:
    """The fonts to look for a letter in, one after the other."""
    installed = set(font_manager.get_font_names())
    return [*rcParams["font.family"], *(name for name in _MORE_FONTS if name in installed)]


def _add_boxes(ax: Axes, boxes: Sequence[Box], point: float, layer: float) -> None:
    """Boxes as one collection, which keeps their order: thousands of patches would be slow."""
    ax.add_collection(
        PathCollection(
            [_outline(box) for box in boxes],
            facecolors=[to_rgba(box.fill, box.alpha) for box in boxes],
            edgecolors=[to_rgba(box.line, box.alpha) if box.line else "none" for box in boxes],
            linewidths=[box.thick * point for box in boxes],
            linestyles=[(0, box.dash) if box.dash else "-" for box in boxes],
            zorder=layer,
        )
    )


def _outline(box: Box) -> Path:
    x, y, w, h = box.place
    r = min(box.radius, w / 2, h / 2)
    corners = [
        ((x + w - r, y), (x + w, y), (x + w, y + r)),
        ((x + w, y + h - r), (x + w, y + h), (x + w - r, y + h)),
        ((x + r, y + h), (x, y + h), (x, y + h - r)),
        ((x, y + r), (x, y), (x + r, y)),
    ]
    points = [(x + r, y), *(point for corner in corners for point in corner), (x + r, y)]
    return Path(points, [Path.MOVETO, *([Path.LINETO, Path.CURVE3, Path.CURVE3] * 4), Path.CLOSEPOLY])


def _add_polylines(ax: Axes, lines: Sequence[Polyline], point: float) -> None:
    ax.add_collection(
        PathCollection(
            [_round(way.points) for way in lines],
            facecolors="none",
            edgecolors=[way.line for way in lines],
            linewidths=[way.thick * point for way in lines],
            linestyles=[(0, tuple(d / way.thick for d in way.dash)) if way.dash else "-" for way in lines],
            capstyle="butt",
            zorder=2.0,
        )
    )
    with_heads = [way for way in lines if way.head]
    heads = [Path(arrow_head(way.points, 5 + way.thick)) for way in with_heads]
    ax.add_collection(PathCollection(heads, facecolors=[way.line for way in with_heads], edgecolors="none", zorder=3.0))


def _round(way: Points) -> Path:
    points, codes = [way[0]], [Path.MOVETO]
    for before, corner, after in zip(way, way[1:], way[2:], strict=False):
        a, b = before - corner, after - corner
        cut = min(_RADIUS, float(np.hypot(*a)) / 2, float(np.hypot(*b)) / 2)
        points += [corner + a / max(np.hypot(*a), 1e-9) * cut, corner, corner + b / max(np.hypot(*b), 1e-9) * cut]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path([*points, way[-1]], [*codes, Path.LINETO])


def _add_label(ax: Axes, label: Label, point: float, fonts: Sequence[str]) -> None:
    ax.text(
        label.x,
        label.y,
        label.text.translate(_GAPS),
        fontsize=label.size * _NARROWER * point,
        color=label.color,
        family=fonts,
        ha="center" if label.middle else "left",
        va="center",
        zorder=5.0,
        parse_math=False,
        clip_on=True,
        path_effects=[withStroke(linewidth=4 * point, foreground=label.rim)] if label.rim else None,
    )
