"""Pictures of the drawing in the colors of the page."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import last_part
from tfgraphwidget.scene.coloring import theme_on
from tfgraphwidget.sentences import editor_call
from tfgraphwidget.widget import protocol as p

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

_FARTHEST = 100_000_000.0  # pixels of the scene
_LEAST = 1.0  # pixel of the scene: no page draws closer
_SLIMMEST = 1_000.0
_MOST_BYTES = 32_000_000  # what reaches the browser in a few seconds


def picture_reply(editor: GraphEditor, request: p.Picture) -> tuple[p.PictureReply, list[bytes]]:
    """A picture with a file name; GraphEditError for one too large for a browser, and as below."""
    data = picture_file(editor, request)
    if len(data) > _MOST_BYTES:
        raise GraphEditError(
            "This picture is larger than a browser takes; call "
            + editor_call("save", f"'graph.{request.suffix}'")
            + " in a cell."
        )
    title = re.sub(r"[^\w.-]+", "_", last_part(editor.view.breadcrumb[-1])) or "graph"
    return p.PictureReply(f"{title}.{request.suffix}"), [data]


def picture_file(editor: GraphEditor, request: p.Picture) -> bytes:
    """Draw the graph, or an area of the drawing, as an SVG, PNG or PDF file. Raises GraphEditError
    for an area that no screen can show, and colors that are none.
    """
    from tfgraphwidget.scene.rendering import picture_files

    if not request.whole and not _is_view(request.area):
        raise GraphEditError(
            "A picture of the view needs its left, top, width and height; reload the page."
        )
    left, top, width, height = request.area if not request.whole else (0.0, 0.0, 0.0, 0.0)
    area = None if request.whole else (left, top, width, height)
    try:
        theme = theme_on(*request.colors) if request.colors else None
    except (TypeError, ValueError) as error:
        raise GraphEditError(
            "A picture needs the colors of its background and of text; reload the page."
        ) from error
    scene, file = editor._core.view.scene(), io.BytesIO()
    picture_files.write(
        scene, file, request.suffix, paint=editor._core.paint(scene), area=area, theme=theme
    )
    return file.getvalue()


def _is_view(area: tuple[float, ...]) -> bool:
    """Whether a screen can show this area: none has one by a million pixels, or none."""
    if len(area) != 4 or max(map(abs, area)) > _FARTHEST:
        return False
    return min(area[2:]) >= _LEAST and max(area[2:]) / min(area[2:]) < _SLIMMEST
