"""Picturing: the drawing as a file for the browser to save, and as the picture that a notebook keeps."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from tfgraphwidget import protocol as p
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import last_part

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

_FARTHEST = 100_000_000.0  # pixels of the scene
_LEAST = 1.0  # pixel of the scene: no page draws closer
_SLIMMEST = 1_000.0
_MOST_BYTES = 32_000_000  # what reaches the browser in a few seconds


def pictured(editor: GraphEditor, asked: p.Picture) -> tuple[p.Pictured, bytes]:
    """The drawing, or an area of it, as the bytes of an SVG, PNG or PDF file. Raises GraphEditError."""
    from tfgraphwidget.scene.rendering import matplotlib_axes

    if not asked.whole and not _is_view(asked.area):
        raise GraphEditError("A picture of the view needs its left, top, width and height; reload the page.")
    left, top, width, height = asked.area if not asked.whole else (0.0, 0.0, 0.0, 0.0)
    area = None if asked.whole else (left, top, width, height)
    scene = editor.scene()
    file = io.BytesIO()
    matplotlib_axes.write(scene, file, asked.suffix, paint=editor.paint(scene), dark=asked.dark, area=area)
    if len(file.getvalue()) > _MOST_BYTES:
        raise GraphEditError(
            f"This picture is larger than a browser takes; write it with editor.save('graph.{asked.suffix}')."
        )
    title = re.sub(r"[^\w.-]+", "_", last_part(editor.breadcrumb[-1])) or "graph"
    return p.Pictured(f"{title}.{asked.suffix}"), file.getvalue()


def _is_view(area: tuple[float, ...]) -> bool:
    """Whether somebody can have this area in view: there is no screen of one by a million pixels, nor of none."""
    if len(area) != 4 or max(map(abs, area)) > _FARTHEST:
        return False
    return min(area[2:]) >= _LEAST and max(area[2:]) / min(area[2:]) < _SLIMMEST
