"""A scene as SVG: text that can be selected, no fonts inside, nothing from outside; small enough
for a notebook.
"""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

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


def svg(
    scene: Scene,
    *,
    paint: Paint | None = None,
    dark: bool = False,
    area: Area | None = None,
    theme: Theme | None = None,
) -> str:
    """Draw a scene as an SVG document with one unit per pixel.

    Args:
        area: The part to draw as (left, top, width, height) in pixels; None for all.
        theme: Other colors than those of the light or dark theme.
    """
    display = build_display_list(scene, theme or default_theme(dark=dark), paint, area)
    left, top, width, height = display.area
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:g} {top:g} {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" font-family="system-ui, sans-serif" '
        'text-anchor="middle" '
        'dominant-baseline="central" fill="none">'
    )
    background = (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" '
        f'fill="{display.theme.background}"/>'
    )
    return "\n".join([start, background, *map(_element, display.shapes), "</svg>"])


def _element(shape: Shape) -> str:
    match shape:
        case Box():
            return _box(shape)
        case Polyline():
            return _polyline(shape)
        case Triangle():
            return _triangle(shape.points, shape.fill)
        case Label():
            return _label(shape)


def _box(box: Box) -> str:
    x, y, w, h = (f"{value:.1f}".removesuffix(".0") for value in box.place)
    fill = f' fill="{box.fill}"' if box.fill else ""
    line = _stroke(box.line, box.thick, box.dash) if box.line else ""
    return (
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" '
        f'rx="{box.radius:g}"{fill}{line}{_opacity(box.alpha)}/>'
    )


def _stroke(color: str, thick: float, dash: tuple[float, ...]) -> str:
    dashes = f' stroke-dasharray="{" ".join(f"{d:g}" for d in dash)}"' if dash else ""
    return f' stroke="{color}" stroke-width="{thick:g}"{dashes}'


def _opacity(alpha: float) -> str:
    return f' opacity="{alpha:.2g}"' if alpha < 1 else ""


def _polyline(line: Polyline) -> str:
    faint = _opacity(line.alpha)
    stroke = _stroke(line.line, line.thick, line.dash)
    path = f'<path d="{_round(line.points, line.corner)}"{stroke}{faint}/>'
    return path if line.head is None else path + _triangle(line.head, line.line, faint)


def _triangle(points: Points, fill: str, more: str = "") -> str:
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in points.tolist())
    return f'<polygon points="{corners}" fill="{fill}"{more}/>'


def _round(points: Points, radius: float) -> str:
    """The path data of a line with round corners."""
    # NumPy takes ten times as long for so few numbers.
    corners = [(float(x), float(y)) for x, y in points]
    steps = [f"M{corners[0][0]:.1f} {corners[0][1]:.1f}"]
    for (ax, ay), (x, y), (bx, by) in zip(corners, corners[1:], corners[2:], strict=False):
        long_a, long_b = hypot(ax - x, ay - y), hypot(bx - x, by - y)
        cut = min(radius, long_a / 2, long_b / 2)
        a, b = cut / max(long_a, 1e-9), cut / max(long_b, 1e-9)
        start, end = (x + (ax - x) * a, y + (ay - y) * a), (x + (bx - x) * b, y + (by - y) * b)
        if cut < 1:
            steps.append(f"L{x:.1f} {y:.1f}")
        else:
            steps.append(
                f"L{start[0]:.1f} {start[1]:.1f}Q{x:.1f} {y:.1f} {end[0]:.1f} {end[1]:.1f}"
            )
    return "".join([*steps, f"L{corners[-1][0]:.1f} {corners[-1][1]:.1f}"])


def _label(label: Label) -> str:
    place = f'x="{label.x:.1f}" y="{label.y:.1f}" font-size="{label.size:g}" fill="{label.color}"'
    if not label.middle:
        place += ' text-anchor="start"'
    if label.bold:
        place += ' font-weight="600"'
    turn = f' transform="rotate(-90 {label.x:.1f} {label.y:.1f})"' if label.upright else ""
    plate = ""
    if label.rim and label.middle:  # the text of a line, which is interrupted there
        x, y, width, height = label.plate
        plate = (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:g}" '
            f'fill="{label.rim}"{turn}/>'
        )
    elif label.rim:
        place += (
            f' stroke="{label.rim}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
        )
    text = escape("".join(c for c in label.text if c.isprintable()))
    return f"{plate}<text {place}{turn}>{text}</text>"
