"""A scene drawn with matplotlib: the same positions and colors as in the browser, for paper and
files.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from matplotlib import font_manager, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from PIL import Image  # with matplotlib, which needs it

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.scene.coloring.palette import Theme, default_theme
from tfgraphwidget.scene.rendering.display_list import (
    Area,
    Box,
    Label,
    Points,
    Polyline,
    Shape,
    Triangle,
    build_display_list,
)

if TYPE_CHECKING:
    from tfgraphwidget.scene.scene import Paint, Scene

_DPI = 100.0
_POINTS_PER_INCH = 72.0
_RESOLUTION = 2.0  # pixels of a saved PNG per pixel of the screen
_LARGEST = 300.0  # inches; matplotlib's image writers stop at 65,536 pixels
_MOST_PIXELS = 12.5e6  # of the scene: 200 MB while it is drawn
# Those of browsers, where they are installed; then matplotlib's own.
_FONTS = ("Segoe UI", "Helvetica", "Arial", "Liberation Sans")
# A line break or a tab in a name is a gap here, as it is in the browser.
_GAPS = dict.fromkeys([*range(32), 127], " ")
# matplotlib's own font has no East Asian letters and no emoji; the first of these that is installed
# has.
_MORE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Source Han Sans SC",
    "PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Microsoft YaHei", "Yu Gothic",
    "Malgun Gothic", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Arial Unicode MS", "Noto Emoji",
    "Segoe UI Emoji", "Symbola",
)  # fmt: skip


class GraphAxes(Axes):
    """The Axes of a figure that pyplot does not know: a notebook shows its picture, and no text."""

    _cell = -1  # the execution count of the cell that has shown it

    def show_in_notebook(self) -> bool:
        """Show the picture below the cell that runs, once; whether there is a notebook."""
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if shell is None or not hasattr(shell, "kernel"):
            return False
        if self._cell != shell.execution_count:
            self._cell = shell.execution_count
            file = io.BytesIO()
            cast("Figure", self.figure).savefig(file, format="png")
            ipython = import_module("IPython.display")
            ipython.display(ipython.Image(file.getvalue(), format="png"))
        return True

    def _ipython_display_(self) -> None:
        """What IPython calls for the value of a cell; a terminal prints the text."""
        if not self.show_in_notebook():
            raise NotImplementedError


def draw(
    scene: Scene,
    ax: Axes | None = None,
    *,
    paint: Paint | None = None,
    dark: bool = False,
    area: Area | None = None,
    theme: Theme | None = None,
) -> Axes:
    """Draw a scene on matplotlib axes, one unit per pixel. pyplot is not used: nothing is shown or
    kept.

    Args:
        ax: The axes; None for those of a new figure of fitting size.
        area: The part to draw as (left, top, width, height) in pixels; None for all.
        theme: Other colors than those of the light or dark theme.
    """
    display = build_display_list(scene, theme or default_theme(dark=dark), paint, area)
    left, top, width, height = display.area
    if ax is None:
        longest_side = _LARGEST * _DPI / max(width, height)
        most_pixels = (_MOST_PIXELS / (width * height)) ** 0.5
        shrink = min(1.0, longest_side, most_pixels)
        size = (width * shrink / _DPI, height * shrink / _DPI)
        figure = Figure(figsize=size, dpi=_DPI, facecolor=display.theme.background)
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0), axes_class=GraphAxes)
    _check(ax)
    ax.set_xlim(left, left + width)
    ax.set_ylim(top + height, top)
    ax.set_aspect("equal")
    ax.axis("off")
    # Text and lines are sized in points; this is how many points a pixel of the scene takes on
    # these axes, once they have the scene's proportions.
    extent = ax.get_window_extent()
    dots_per_pixel = min(extent.width / width, extent.height / height)
    point = _POINTS_PER_INCH / ax.figure.dpi * dots_per_pixel
    fonts = _fonts()
    for layer, (_, shapes) in enumerate(groupby(display.shapes, type)):
        _add_shapes(ax, list(shapes), point, 1.0 + layer, fonts)
    return ax


def write(
    scene: Scene,
    file: BinaryIO,
    kind: str,
    *,
    paint: Paint | None = None,
    dark: bool = False,
    area: Area | None = None,
    theme: Theme | None = None,
) -> None:
    """Write a picture to a file object.

    Args:
        kind: "png" or "pdf".
        area: The part to draw as (left, top, width, height) in pixels; None for all.
        theme: Other colors than those of the light or dark theme.
    """
    figure = draw(scene, paint=paint, dark=dark, area=area, theme=theme).get_figure(root=True)
    assert figure is not None
    with _without_missing_letters():
        figure.savefig(file, facecolor=figure.get_facecolor(), format=kind, dpi=_DPI * _RESOLUTION)


def pixels(scene: Scene, *, paint: Paint | None = None) -> Image.Image:
    """A picture as large as on the screen."""
    figure = draw(scene, paint=paint).get_figure(root=True)
    assert figure is not None
    canvas: Any = FigureCanvasAgg(figure)  # matplotlib gives its methods no types
    with _without_missing_letters():
        canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


@contextmanager
def _without_missing_letters() -> Iterator[None]:
    """A letter that no font here has is drawn as an empty box; a warning for each says no more."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _check(ax: object) -> None:
    if getattr(ax, "name", "") != "rectilinear":
        raise GraphEditError(
            f"A {type(ax).__name__} cannot be drawn on; give Axes as plt.subplots() makes them, or "
            "none."
        )


def _fonts() -> list[str]:
    """The fonts to look for a letter in, one after the other."""
    installed = set(font_manager.get_font_names())
    plain = [name for name in _FONTS if name in installed]
    return [*plain, *rcParams["font.family"], *(name for name in _MORE_FONTS if name in installed)]


def _add_shapes(
    ax: Axes, shapes: Sequence[Shape], point: float, layer: float, fonts: Sequence[str]
) -> None:
    """Shapes of one type as one ordered collection: thousands of patches would be slow."""
    boxes = [shape for shape in shapes if isinstance(shape, Box)]
    lines = [shape for shape in shapes if isinstance(shape, Polyline)]
    triangles = [shape for shape in shapes if isinstance(shape, Triangle)]
    if boxes:
        _add_boxes(ax, boxes, point, layer)
    if lines:
        _add_polylines(ax, lines, point, layer)
    if triangles:
        _add_filled(ax, [(shape.points, shape.fill) for shape in triangles], layer)
    labels = [shape for shape in shapes if isinstance(shape, Label)]
    if plates := [_plate(label) for label in labels if label.rim and label.middle]:
        _add_boxes(ax, plates, point, layer)
    for label in labels:
        _add_label(ax, label, point, layer, fonts)


def _add_boxes(ax: Axes, boxes: Sequence[Box], point: float, layer: float) -> None:
    paths = [_outline(box) for box in boxes]
    fills = [_color(box.fill, box.alpha) for box in boxes]
    ax.add_collection(PathCollection(paths, facecolors=fills, **_strokes(boxes, point, layer)))


def _strokes(shapes: Sequence[Box | Polyline], point: float, layer: float) -> dict[str, Any]:
    """The colors, widths and dashes of lines, as PathCollection takes them."""
    return {
        "edgecolors": [_color(shape.line, shape.alpha) for shape in shapes],
        "linewidths": [shape.thick * point for shape in shapes],
        "linestyles": list(map(_line_style, shapes)),
        "zorder": layer,
    }


def _color(color: str, alpha: float) -> Any:
    """A color with its opacity, as matplotlib takes it; "none" for ""."""
    return to_rgba(color, alpha) if color else "none"


def _line_style(shape: Box | Polyline) -> Any:
    """The dashes of a line, whose lengths matplotlib counts in widths of the line."""
    if not shape.dash:
        return "-"
    return 0, tuple(length / shape.thick for length in shape.dash)


def _plate(label: Label) -> Box:
    """What covers the line below the text of an edge."""
    left, top, wide, high = label.plate
    if label.upright:
        left, top, wide, high = label.x - high / 2, label.y - wide / 2, high, wide
    return Box((left, top, wide, high), 0.0, label.rim)


def _outline(box: Box) -> Path:
    """The border of a box, clockwise from its upper left: a side, then its round corner."""
    left, top, width, height = box.place
    right, bottom = left + width, top + height
    r = min(box.radius, width / 2, height / 2)
    start = (left + r, top)
    upper_right = (right - r, top), (right, top), (right, top + r)
    lower_right = (right, bottom - r), (right, bottom), (right - r, bottom)
    lower_left = (left + r, bottom), (left, bottom), (left, bottom - r)
    upper_left = (left, top + r), (left, top), start
    side_and_corner = [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path(
        [start, *upper_right, *lower_right, *lower_left, *upper_left, start],
        [Path.MOVETO, *(side_and_corner * 4), Path.CLOSEPOLY],
    )


def _add_polylines(ax: Axes, lines: Sequence[Polyline], point: float, layer: float) -> None:
    paths = [_with_round_corners(line.points, line.corner) for line in lines]
    strokes = _strokes(lines, point, layer)
    ax.add_collection(PathCollection(paths, facecolors="none", capstyle="butt", **strokes))
    heads = [(line.head, _color(line.line, line.alpha)) for line in lines if line.head is not None]
    if heads:
        _add_filled(ax, heads, layer)


def _add_filled(ax: Axes, areas: Sequence[tuple[Points, Any]], layer: float) -> None:
    """Areas without a border, by their corners and colors."""
    paths = [Path(corners) for corners, _ in areas]
    colors = [color for _, color in areas]
    ax.add_collection(PathCollection(paths, facecolors=colors, edgecolors="none", zorder=layer))


def _with_round_corners(line: Points, radius: float) -> Path:
    """The path of a line; a corner between two short pieces takes at most half of each."""
    points, codes = [line[0]], [Path.MOVETO]
    for before, corner, after in zip(line, line[1:], line[2:], strict=False):
        back, ahead = before - corner, after - corner
        length_back, length_ahead = float(np.hypot(*back)), float(np.hypot(*ahead))
        cut = min(radius, length_back / 2, length_ahead / 2)
        start = corner + back / max(length_back, 1e-9) * cut
        end = corner + ahead / max(length_ahead, 1e-9) * cut
        points += [start, corner, end]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path([*points, line[-1]], [*codes, Path.LINETO])


def _add_label(ax: Axes, label: Label, point: float, layer: float, fonts: Sequence[str]) -> None:
    has_rim = label.rim and not label.middle  # else it has a plate
    rim = [withStroke(linewidth=4 * point, foreground=label.rim)] if has_rim else None
    ax.text(
        label.x,
        label.y,
        label.text.translate(_GAPS),
        fontsize=label.size * point,
        fontweight="bold" if label.bold else "normal",
        color=label.color,
        family=fonts,
        ha="center" if label.middle else "left",
        va="center_baseline" if label.upright else "center",
        # aligned as it is read, then turned: its middle is that of its plate
        rotation_mode="anchor",
        rotation=90 if label.upright else 0,
        zorder=layer,
        parse_math=False,
        clip_on=True,
        path_effects=rim,
    )
