"""A scene as SVG: text that can be selected, no fonts inside, nothing from outside; small enough for a notebook."""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from tfgraphwidget.progress import report_each
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

if TYPE_CHECKING:
    from tfgraphwidget.scene.scene import Paint, Scene

_RADIUS = 8.0


def svg(scene: Scene, *, paint: Paint | None = None, dark: bool = False, area: Area | None = None) -> str:
    """Draw a scene as an SVG document with one unit per pixel.

    Args:
        scene: The scene.
        paint: The selection and the colors.
        dark: Whether to use the dark theme.
        area: The part to draw as (left, top, width, height) in pixels; None for all.

    Returns:
        The document.
    """
    display = build_display_list(scene, DARK if dark else LIGHT, paint, area)
    left, top, width, height = display.area
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:g} {top:g} {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" font-family="system-ui, sans-serif" text-anchor="middle" '
        'dominant-baseline="central" fill="none">'
    )
    parts = [
        start,
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" fill="{display.theme.background}"/>',
        *map(_box, display.areas),
        *map(_polyline, report_each(display.polylines, "Drawing the lines")),
        *map(_box, display.boxes),
        *map(_label, display.labels),
        "</svg>",
    ]
    return "\n".join(parts)


def _box(box: Box) -> str:
    x, y, w, h = (f"{value:.1f}".removesuffix(".0") for value in box.place)
    border = f' stroke="{box.line}" stroke-width="{box.thick:g}"' if box.line else ""
    dash = f' stroke-dasharray="{" ".join(f"{d:g}" for d in box.dash)}"' if box.dash else ""
    faint = f' opacity="{box.alpha:g}"' if box.alpha < 1 else ""
    return (
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="{box.radius:g}" fill="{box.fill}"{border}{dash}{faint}/>'
    )


def _polyline(line: Polyline) -> str:
    dash = f' stroke-dasharray="{" ".join(f"{d:g}" for d in line.dash)}"' if line.dash else ""
    path = f'<path d="{_round(line.points)}" stroke="{line.line}" stroke-width="{line.thick:.2g}"{dash}/>'
    if not line.head:
        return path
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow_head(line.points, 5 + line.thick).tolist())
    return f'{path}<polygon points="{corners}" fill="{line.line}"/>'


def _round(points: Points) -> str:
    """The path data of a way with round corners."""
    corners = [(float(x), float(y)) for x, y in points]  # NumPy takes ten times as long for so few numbers
    steps = [f"M{corners[0][0]:.1f} {corners[0][1]:.1f}"]
    for (ax, ay), (x, y), (bx, by) in zip(corners, corners[1:], corners[2:], strict=False):
        long_a, long_b = hypot(ax - x, ay - y), hypot(bx - x, by - y)
        cut = min(_RADIUS, long_a / 2, long_b / 2)
        a, b = cut / max(long_a, 1e-9), cut / max(long_b, 1e-9)
        start, end = (x + (ax - x) * a, y + (ay - y) * a), (x + (bx - x) * b, y + (by - y) * b)
        steps.append(f"L{start[0]:.1f} {start[1]:.1f}Q{x:.1f} {y:.1f} {end[0]:.1f} {end[1]:.1f}")
    return "".join([*steps, f"L{corners[-1][0]:.1f} {corners[-1][1]:.1f}"])


def _label(label: Label) -> str:
    start = "" if label.middle else ' text-anchor="start"'
    if label.rim:
        start += f' stroke={quoteattr(label.rim)} stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
    text = escape("".join(c for c in label.text if c.isprintable()))
    return (
        f'<text x="{label.x:.1f}" y="{label.y:.1f}" font-size="{label.size:g}" fill={quoteattr(label.color)}{start}>'
        f"{text}</text>"
    )
